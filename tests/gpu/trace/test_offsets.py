"""Offsets of views are launch parameters: one kernel for all of them, and a proof that holds for each."""

import random

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.ir import new_arena, substitute
from cutepy.gpu.trace.call import origin_of
from cutepy.gpu.verify import verify
from cutepy.layout import Layout, _
from cutepy.tensor import Tensor, copy, local_partition, make_tensor


@gpu.kernel
def append(cache: Tensor, row: Tensor) -> None:
    gpu.launch(threads=32)
    copy(local_partition(row, (32,)), local_partition(cache, (32,)))


@gpu.kernel
def by_element(x: Tensor, y: Tensor) -> None:
    gpu.launch(grid=2, threads=32)
    i = gpu.workgroup.x * 32 + gpu.thread
    if i < y.size:
        y[i] = x[i] + 1


@gpu.kernel
def one_too_far(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=32)
    y[gpu.thread] = x[gpu.thread + 1]


@gpu.kernel
def onto_one(y: Tensor) -> None:
    gpu.launch(threads=32)
    y[gpu.thread // 2] = 1.0


@gpu.kernel
def in_pairs(y: Tensor) -> None:
    """Each index is found by trying: a product of remainders is no sum."""
    gpu.launch(threads=16)
    t = gpu.thread
    y[(t % 4) * (t // 4) % 3 * 16 + t] = 1.0


def view(memory: np.ndarray, at: int, count: int, step: int = 1) -> Tensor:
    """`count` elements from `at` on, in the memory of all of them: NumPy's slices begin where they begin."""
    return Tensor(make_tensor(memory).engine, Layout(count, step), at)


def forms(kernel: object) -> int:
    return len({id(form) for form in kernel._traced.values()})  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [64, 63, 32, 6])
def test_a_row_is_appended_at_256_places_by_two_kernels_at_most(width: int) -> None:
    cache, row = np.zeros((256, width), np.float32), np.arange(width, dtype=np.float32)
    append._traced.clear()
    for place in range(256):
        append.interpret(make_tensor(cache)(place, _), row + place)
    assert (cache == np.arange(width) + np.arange(256)[:, None]).all()
    assert forms(append) <= 2
    assert append.verify(make_tensor(cache)(7, _), row).ok


def test_vectors_stay_where_four_divides_the_offset() -> None:
    @gpu.kernel
    def quarters(x: Tensor, y: Tensor) -> None:
        gpu.launch(threads=16)
        copy(local_partition(x, (16,), gpu.thread), local_partition(y, (16,), gpu.thread))

    @gpu.kernel
    def rows(x: Tensor, y: Tensor) -> None:
        gpu.launch(threads=4)
        copy(x(gpu.thread, _), y(gpu.thread, _))

    x, y = make_tensor(np.zeros((32, 8), np.float32)), np.zeros((4, 8), np.float32)
    aligned = Tensor(x.engine, Layout((4, 8), (8, 1)), 16)
    other = Tensor(x.engine, Layout((4, 8), (8, 1)), 18)
    assert "array<vec4<f32>>" in rows.wgsl(aligned, y) and "params.x_offset_4" in rows.wgsl(aligned, y)
    text = rows.wgsl(other, y)
    assert "var<storage, read> x: array<f32>" in text and "params.x_offset;" in text + ";"


def test_no_offset_is_no_parameter() -> None:
    x = np.zeros(64, np.float32)
    assert "params" not in by_element.wgsl(x, x.copy())
    assert "params" in by_element.wgsl(view(x, 5, 35), np.zeros(35, np.float32))


def test_a_name_that_is_taken_is_left_alone() -> None:
    @gpu.kernel
    def named(x: Tensor, x_offset: "np.float32", y: Tensor) -> None:
        gpu.launch(threads=8)
        y[gpu.thread] = x[gpu.thread] + x_offset

    x, y = np.arange(32, dtype=np.float32), np.zeros(8, np.float32)
    named.interpret(view(x, 3, 8), 0.5, y)
    assert "x_offset_:" in named.wgsl(view(x, 3, 8), 0.5, y)
    assert (y == x[3:11] + 0.5).all()


def test_every_offset_gives_the_same_kernel_and_the_right_elements() -> None:
    x = np.arange(500, dtype=np.float32)
    pick = random.Random(3)
    by_element._traced.clear()
    for _turn in range(200):
        begin, step = pick.randrange(20, 440), pick.choice([1, 1, 2, -1])
        y = np.zeros(20, np.float32)
        by_element.interpret(view(x, begin, 20, step), y)
        assert (y == x[begin + step * np.arange(20)] + 1).all()
    assert forms(by_element) <= 6  # of three layouts


def test_a_proof_for_all_offsets_agrees_with_the_proof_for_each() -> None:
    """What is said of all offsets that the host admits is said of each of them, by the prover of known offsets."""
    memory = np.zeros(100, np.float32)
    for kernel, views in (
        (by_element, lambda at: (view(memory, at, 40), np.zeros(40, np.float32))),
        (by_element, lambda at: (np.zeros(40, np.float32), view(memory, at, 40))),
        (onto_one, lambda at: (view(memory, at, 40),)),
        (in_pairs, lambda at: (view(memory, at, 48),)),
    ):
        for all_offsets in (views(8), views(9)):
            call = kernel._bind(all_offsets, {})
            (argument,) = (a for a in call.arguments if a.origin is not None)
            assert argument.origin is not None and argument.tensor is not None
            form = kernel._form(call).kernel
            said = {(v.claim, v.array): v.status for v in verify(form).verdicts}
            lowest, highest = argument.origin.low, argument.origin.high
            for number in {lowest, lowest + 1, (lowest + highest) // 2, highest - 1, highest}:
                with new_arena():
                    known = verify(substitute(form, {argument.origin_param: number}))
                assert {(v.claim, v.array): v.status for v in known.verdicts} == said


def test_what_leaves_the_memory_at_some_offset_is_refuted() -> None:
    memory = np.zeros(64, np.float32)
    found = one_too_far.verify(view(memory, 8, 32), np.zeros(32, np.float32))
    (verdict,) = (v for v in found.verdicts if v.array == "x" and str(v.claim) == "in bounds")
    assert verdict.status == "refuted" and verdict.witness is not None and verdict.witness.element == 64


def test_offsets_that_the_host_does_not_admit() -> None:
    x = make_tensor(np.zeros(64, np.float32))
    assert origin_of(x, 0, 64) is None  # a known one
    assert origin_of(x, 4, 64) is None  # its end is outside
    inner = Tensor(x.engine, Layout(8), 4)
    found = origin_of(inner, 4, 64)
    assert found is not None and (found.unit, found.low, found.high) == (4, 0, 14)
    turned = origin_of(Tensor(x.engine, Layout(8, -1), 9), 9, 64)
    assert turned is not None and (turned.unit, turned.low, turned.high) == (1, 7, 63)
    assert origin_of(Tensor(x.engine, Layout(8, -1), 4), 4, 64) is None


def test_two_views_of_one_memory_keep_their_offsets() -> None:
    """How they lie to each other is known while the kernel is traced."""
    x = make_tensor(np.arange(64, dtype=np.float32))
    one, two = (Tensor(x.engine, Layout(16), at) for at in (16, 32))
    assert "params" not in by_element.wgsl(one, two)
    assert by_element.verify(one, two).ok
    near = Tensor(x.engine, Layout(16), 17)
    assert not by_element.verify(one, near).ok


def test_atomics_and_loops_at_an_offset() -> None:
    @gpu.kernel
    def counted(x: Tensor, y: Tensor) -> None:
        gpu.launch(grid=2, threads=16)
        for k in gpu.loop(3):
            gpu.atomic_add(y, x[gpu.workgroup.x * 16 + gpu.thread] % 5, k)

    x, memory = np.arange(32, dtype=np.uint32), np.zeros(40, np.uint32)
    counted.interpret(x, view(memory, 7, 5))
    wanted = np.zeros(40, np.uint32)
    np.add.at(wanted, 7 + x % 5, 3)
    assert (memory == wanted).all()


def test_what_asks_for_more_of_an_offset_is_traced_for_it() -> None:
    @gpu.kernel
    def refuses(x: Tensor, y: Tensor) -> None:
        gpu.launch(threads=8)
        if x.offset < 2:
            raise KernelError("of one offset alone")
        y[gpu.thread] = x[gpu.thread]

    memory, y = np.arange(64, dtype=np.float32), np.zeros(8, np.float32)
    for begin in (8, 9, 20):
        refuses.interpret(view(memory, begin, 8), y)
        assert (y == memory[begin : begin + 8]).all()
        assert "params" not in refuses.wgsl(view(memory, begin, 8), y)
