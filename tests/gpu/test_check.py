"""`interpret_checked` against the oracle: on random kernels no fault is missed, and none is invented."""

from collections import Counter

import numpy as np
import pytest
from judging import contents, made_up
from oracle import by_order, faults, observe
from random_kernels import Maker
from shares import in_share, share

from cutepy import gpu
from cutepy.errors import KernelError, VerificationError
from cutepy.gpu.inspect.race_detector import interpret_checked
from cutepy.gpu.ir import Kernel, check_constants, new_arena
from cutepy.gpu.lower import finish


def claim(kernel: Kernel, values: dict) -> str:
    arrays = [np.array(values.get(b, [1] * b.length), b.dtype.numpy) for b in kernel.buffers]
    before = [a.copy() for a in arrays]
    try:
        interpret_checked(kernel, arrays, {})
    except KernelError as error:
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(arrays, before, strict=True))
        text = str(error)
        for part, meaning in (
            ("has a race for", "no races"),
            ("nobody has written", "written before read"),
            ("parts a workgroup", "uniform barriers"),
        ):
            if part in text:
                return meaning
        assert "element" in text, text
        return "in bounds"
    return ""


@pytest.mark.parametrize("data", [False, True])
def test_it_finds_what_happens_and_nothing_else(data: bool) -> None:
    found: Counter[str] = Counter()
    for seed in share(range(160)):
        with new_arena():
            kernel = Maker(seed, data=data).kernel()
            try:
                check_constants(kernel)
            except KernelError:  # refused wherever the access stands, before anything runs
                continue
            draw = np.random.default_rng(seed)
            for values in [made_up(kernel), *([contents(kernel, draw, 64)] if data else [])]:
                run = observe(kernel, values)
                said = claim(kernel, values)
                wrong = {what for what, _ in faults(run)} - {"aligned"}  # which only a proof is about
                assert said in wrong if wrong else said == "", (seed, said, faults(run))
                found[said] += 1
    assert min(found[c] for c in ("", "no races", "written before read", "uniform barriers", "in bounds")) > in_share(
        5
    ), found


def test_many_chunks_find_what_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutepy.gpu.targets.interpreter.LANES", 1)
    test_it_finds_what_happens_and_nothing_else(False)


@gpu.kernel
def scatter(ids, x, y):
    gpu.launch(grid=4, threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    y[ids[i]] = x[i]


def test_a_scatter_is_decided_by_its_data() -> None:
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    ids = np.random.default_rng(0).permutation(256).astype(np.uint32)
    assert [v.claim for v in scatter.verify(ids, x, y).undecided] == ["in bounds", "no races"]
    scatter.interpret(ids, x, y, check=True)
    assert np.array_equal(y[ids], x)
    ids[200] = ids[7]
    before = y.copy()
    with pytest.raises(VerificationError) as error:
        scatter.interpret(ids, x, y, check=True)
    text = str(error.value)
    assert f"race for element {ids[7]} of y, (256):(1):" in text
    assert "workgroup (0, 0, 0), thread 7 writes y[" in text and "): 7.0" in text
    assert "workgroup (3, 0, 0), thread 8 writes y[" in text and "): 200.0" in text
    assert "no barrier orders workgroups" in text
    assert np.array_equal(y, before)
    ids[200] = 256
    with pytest.raises(
        KernelError, match=r"test_check.py:\d+: kernel scatter writes y at element 256, .*thread 8, value"
    ):
        scatter.interpret(ids, x, y, check=True)


@gpu.kernel
def bitonic(x, *, barriers):
    gpu.launch(threads=64)
    keys = gpu.shared("f32", 64)
    i = gpu.thread
    keys[i] = x[i]
    gpu.barrier()
    for size in (2, 4, 8, 16, 32, 64):
        stride = size // 2
        while stride:
            with gpu.when((i & stride) == 0):
                a, b = keys[i], keys[i + stride]
                up = (i & size) == 0
                with gpu.when((a > b) == up):
                    keys[i] = b
                    keys[i + stride] = a
            if barriers or size < 64:
                gpu.barrier()
            stride //= 2
    x[i] = keys[i]


def test_a_bitonic_sort_without_its_last_barriers_is_found() -> None:
    data = np.random.default_rng(1).permutation(64).astype(np.float32)
    x = data.copy()
    bitonic.interpret(x, barriers=True, check=True)
    assert np.array_equal(x, np.arange(64))
    with pytest.raises(
        VerificationError, match=r"race for element \d+ of keys(.|\n)*put gpu.barrier\(\) between the two"
    ):
        bitonic.interpret(data, barriers=False, check=True)


@gpu.kernel
def half(y):
    gpu.launch(threads=64)
    s = gpu.shared("f32", 64)
    if gpu.thread < 32:
        s[gpu.thread] = 1.0
    gpu.barrier()
    y[gpu.thread] = s[gpu.thread]


def test_shared_memory_that_nobody_wrote_is_named() -> None:
    with pytest.raises(
        VerificationError, match=r"nobody has written, element 32 of s, 64:1: .* thread 32 reads s\[tid\]"
    ):
        half.interpret(np.zeros(64, np.float32), check=True)


@gpu.kernel
def global_exchange(x, *, ordered):
    gpu.launch(threads=64)
    x[gpu.thread] = 1.0
    gpu.barrier(storage=ordered)
    x[gpu.thread] = x[63 - gpu.thread] + 1.0


def test_a_barrier_orders_its_own_memory_only() -> None:
    x = np.zeros(64, np.float32)
    with pytest.raises(VerificationError, match=r"race for element (.|\n)*put gpu.barrier\(storage=True\) between"):
        global_exchange.interpret(x, ordered=False, check=True)
    with pytest.raises(VerificationError, match=r"reads x.*(.|\n)*writes x"):  # the last line reads what others write
        global_exchange.interpret(x, ordered=True, check=True)


def test_a_million_accesses_are_looked_over() -> None:
    x, y = np.ones(1 << 19, np.float32), np.zeros(1 << 19, np.float32)

    @gpu.kernel
    def copy(x, y):
        gpu.launch(grid=2048, threads=256)
        i = gpu.workgroup.x * 256 + gpu.thread
        y[i] = x[i]

    copy.interpret(x, y, check=True)
    assert y.all()


def test_an_element_that_two_threads_set_and_update_hangs_on_their_order():
    """Two workgroups: the first sets elements 2 and 4 and adds to 0 and 1, the second sets 3 and 5 and adds to 2 and
    3. On a GPU element 2 was 1, in the interpreter 2."""
    seed = 3010500
    with new_arena():
        kernel = finish(Maker(seed, wild=True, rounding=False).kernel())
        run = observe(kernel, contents(kernel, np.random.default_rng(seed), 64))
    assert {(b.name, element) for b, element in by_order(run)} == {("y", 2), ("y", 3)}


@gpu.kernel
def by_lanes(y):
    gpu.launch(threads=8)
    y[gpu.thread % gpu.subgroup_size] = gpu.thread


def test_a_race_of_small_subgroups_alone_is_named() -> None:
    y = np.zeros(8, np.uint32)
    by_lanes.interpret(y, check=True)
    with pytest.raises(VerificationError, match="has a race for element 0 of y"):
        by_lanes.interpret(y, check=True, subgroup=4)
