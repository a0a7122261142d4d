"""The tracing language: what kernels compute, what they print, and which mistakes it names with the user's line."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import traced

from cutepy import gpu
from cutepy.errors import CutepyError, KernelError
from cutepy.gpu.ir import For, Store, new_arena, statements
from cutepy.gpu.lower import lower
from cutepy.gpu.targets.interpreter import interpret
from cutepy.layout import Layout, size
from cutepy.tensor import TensorIndexError, make_fragment_like, make_tensor
from cutepy.tensor.algorithms import copy
from cutepy.tensor.partition import local_tile

CASES = traced.cases()


@pytest.mark.parametrize("name", CASES)
def test_interpreted(name: str) -> None:
    case = CASES[name]()
    case.kernel.interpret(*case.arguments, **case.static)
    case.check()


@pytest.mark.parametrize("name", CASES)
def test_lowering_keeps_the_meaning(name: str) -> None:
    case = CASES[name]()
    case.arguments = tuple(np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in case.arguments)
    kernel = case.kernel.ir(*case.arguments, **case.static)
    params = {p.name: next(a for a in case.arguments if not isinstance(a, np.ndarray)) for p in kernel.params}
    with new_arena():
        interpret(lower(kernel), [a.reshape(-1) for a in case.arrays], params)
    case.check()


@pytest.mark.parametrize("name", ["saxpy", "transpose swizzled", "histogram", "softmax"])
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    case = CASES[name]()
    golden(f"traced_{name.replace(' ', '_')}.wgsl", case.kernel.wgsl(*case.arguments, **case.static))


def test_a_text_names_every_layout() -> None:
    x = np.zeros((8, 4), np.float32)
    text = traced.transpose.wgsl(x, x.T.copy(), swizzled=True)
    head = text[: text.index("@group")]
    assert "// x f32 (8,4):(4,1)" in head and "// y f32 (4,8):(8,1)" in head and "tile f32 " in head


def test_dialects() -> None:
    x, y = np.zeros(64, np.float32), np.zeros((64, 3), np.float32)
    assert "enable subgroups;" in traced.lanes.wgsl(x, y, dialect="tint")
    assert "enable subgroups;" not in traced.lanes.wgsl(x, y)


def test_layouts_decide_the_width_of_an_access() -> None:
    def element(n: int, step: int, offset: int = 0) -> str:
        base = np.zeros(n * step + offset, np.float32)[offset:][::step]
        text = traced.saxpy.wgsl(1.0, base, np.zeros(n, np.float32))
        return text[text.index("> x: array<") + 5 :].split(";")[0]

    assert element(1024, 1) == "array<vec4<f32>>"
    assert element(1024, 2) == "array<f32>"
    assert element(1002, 1) == "array<vec2<f32>>"


def test_traced_once_for_each_layout() -> None:
    @gpu.kernel
    def counted(a, x, *, n):
        gpu.launch(threads=1)
        x[0] = a

    forms = []
    for n, size_, dtype in ((1, 4, "f4"), (1, 4, "f4"), (2, 4, "f4"), (1, 8, "f4"), (1, 4, "i4")):
        x = np.zeros(size_, dtype)
        counted.interpret(7, x, n=n)
        assert x[0] == 7
        forms.append(id(counted.ir(7, x, n=n)))
    assert forms[0] == forms[1] and len(set(forms)) == 4


def test_parameters_stay_out_of_the_source() -> None:
    x = np.zeros(8, np.float32)
    assert traced.saxpy.wgsl(1.0, x, x.copy()) == traced.saxpy.wgsl(2.0, x, x.copy())
    assert "params.a" in traced.saxpy.wgsl(1.0, x, x.copy())


def test_one_memory_is_bound_once() -> None:
    x = np.arange(8, dtype=np.float32)
    traced.saxpy.interpret(1.0, x, x)
    assert x.tolist() == [2.0 * i for i in range(8)]
    assert len(traced.saxpy.program(1.0, x, x).bindings) == 1


def test_names_come_from_the_source() -> None:
    x = np.zeros(128, np.float32)
    text = traced.scaled.wgsl(x, np.zeros(32, np.float32), factor=2.0, rolled=True)
    assert "for (var i = 0u; i < 4u; i++)" in text and "var mine: array<f32, 4>" in text and "total" in text


def test_a_loop_stays_a_loop() -> None:
    x, y = np.zeros(128, np.float32), np.zeros(32, np.float32)
    loops = [
        sum(isinstance(s, For) for s in statements(traced.scaled.ir(x, y, factor=2.0, rolled=r).body))
        for r in (True, False)
    ]
    assert loops == [2, 1]


def test_more_workgroups_than_a_dimension_has() -> None:
    @gpu.kernel
    def mark(x):
        gpu.launch(grid=size(x), threads=1)
        x[gpu.workgroup.x] = gpu.workgroup.x

    for count, grid in ((70000, (35000, 2, 1)), (131071, (43691, 3, 1))):
        x = np.zeros(count, np.uint32)
        assert mark.program(x).grid == grid
        mark.interpret(x)
        assert np.array_equal(x, np.arange(count))


def test_values_read_before_a_write_are_the_old_ones() -> None:
    @gpu.kernel
    def swap(x):
        gpu.launch(threads=4)
        mine = make_tensor("f32", 4)
        tid = gpu.thread
        for i in gpu.unroll(4):
            mine[i] = x[tid * 4 + i]
        first, last = mine[0], mine[3]
        mine[0] = last
        mine[3] = first
        for _i in gpu.loop(2):
            old = mine[1]
            mine[1] = mine[2]
            mine[2] = old + 10
        for i in gpu.unroll(4):
            x[tid * 4 + i] = mine[i]

    wanted = np.arange(16, dtype=np.float32).reshape(4, 4)
    wanted = np.stack([wanted[:, 3], wanted[:, 1] + 10, wanted[:, 2] + 10, wanted[:, 0]], 1)
    x = np.arange(16, dtype=np.float32)
    swap.interpret(x)
    assert np.array_equal(x.reshape(4, 4), wanted)
    x = np.arange(16, dtype=np.float32)
    with new_arena():
        interpret(lower(swap.ir(x)), [x])
    assert np.array_equal(x.reshape(4, 4), wanted)


def test_stores_of_neighbours_are_one_vector_computation() -> None:
    case = CASES["saxpy whole"]()
    stores = [s for s in statements(case.kernel.ir(*case.arguments).body) if isinstance(s, Store)]
    assert [s.value.lanes for s in stores] == [4]


def trouble(body: Callable[..., None], *arguments: object, **static: object) -> str:
    with pytest.raises(CutepyError) as caught:
        gpu.kernel(body).interpret(*arguments, **static)
    return str(caught.value)


X = np.zeros(64, np.float32)


def steered(x):
    gpu.launch(threads=64)
    if bool(gpu.thread < 3):
        x[0] = 1


def indexed_by_value(x):
    gpu.launch(threads=64)
    "ab"[gpu.thread]


def late_launch(x):
    x[gpu.thread] = 1


def no_launch(x):
    x[0] = 1


def launched_twice(x):
    gpu.launch(threads=4)
    gpu.launch(threads=4)


def bad_launch(x):
    gpu.launch(threads=0)


def read_only(x):
    gpu.launch(threads=64)
    x[gpu.thread] = 1


def divergent_barrier(x):
    gpu.launch(threads=64)
    with gpu.when(gpu.thread < 3):
        gpu.barrier()


def divergent_loop(x):
    gpu.launch(threads=64)
    for _i in gpu.loop(gpu.thread):
        gpu.barrier()


def unknown_dtype(x):
    gpu.launch(threads=64)
    gpu.shared("f64", 4)


def endless(x):
    gpu.launch(threads=64)
    while gpu.thread < 3:
        x[0] = 1


def unroll_unknown(x):
    gpu.launch(threads=64)
    gpu.unroll(gpu.thread)


def lost_fraction(x):
    gpu.launch(threads=64)
    gpu.shared("u32", 4)[0] = x[gpu.thread]


def float_atomic(x):
    gpu.launch(threads=64)
    gpu.atomic_xor(x, 0, 1)


def wrong_type(x):
    gpu.launch(threads=64)
    x[gpu.thread] = gpu.exp(gpu.thread)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (steered, "the result of < (bool) is known only on the GPU"),
        (indexed_by_value, "cannot serve as a Python integer"),
        (late_launch, "begin the kernel with gpu.launch"),
        (no_launch, "begin the kernel with gpu.launch"),
        (launched_twice, "gpu.launch is called twice"),
        (bad_launch, "whole numbers from 1 on"),
        (divergent_barrier, "gpu.barrier inside the condition at test_trace.py:"),
        (divergent_loop, "gpu.barrier inside the loop at test_trace.py:"),
        (unknown_dtype, "no such element type on a GPU"),
        (endless, "never ends where it begins a second turn"),
        (unroll_unknown, "use gpu.loop"),
        (lost_fraction, "convert it with gpu.cast"),
        (float_atomic, "it needs a shared or global tensor of i32 or u32"),
        (wrong_type, "exp is defined on f16 and f32, not on u32"),
    ],
)
def test_mistakes_in_a_kernel_name_its_line(body: Callable[..., None], message: str) -> None:
    text = trouble(body, X)
    first = body.__code__.co_firstlineno
    lines = {f"test_trace.py:{n}" for n in range(first, first + 6)}
    assert message in text, text
    assert any(line in text for line in lines) or body in (no_launch,), text


def test_mistakes_in_arguments() -> None:
    frozen = X.copy()
    frozen.flags.writeable = False
    assert "it is read-only" in trouble(read_only, frozen) and "test_trace.py:" in trouble(read_only, frozen)
    assert "argument x is a bool" in trouble(steered, True)
    assert "argument x: dtype" in trouble(steered, np.zeros(3, complex))
    assert "missing a required argument" in trouble(steered)
    overlapping = X.copy()
    assert "overlaps another argument in part" in trouble(traced.saxpy.function, 1.0, overlapping[:-1], overlapping[1:])
    with pytest.raises(KernelError, match=r"static argument factor, an array, .* as an argument of its own"):
        traced.scaled.interpret(X, X.copy(), factor=X, rolled=True)


def test_ids_have_no_meaning_outside() -> None:
    with pytest.raises(KernelError, match=r"inside a @gpu\.kernel function only"):
        _ = gpu.thread
    with pytest.raises(KernelError, match=r"inside a @gpu\.kernel function only"):
        _ = gpu.workgroup.x
    with pytest.raises(AttributeError):
        _ = gpu.nonsense


def test_leaving_a_tensor_is_caught_by_the_interpreter() -> None:
    def beyond(x):
        gpu.launch(threads=64)
        x[gpu.thread + 1] = 1

    text = trouble(beyond, X)
    assert "writes x at element 64, it has 64 elements: workgroup (0, 0, 0), thread 63" in text
    assert "test_trace.py:" in text


def test_a_known_coordinate_outside_is_refused_at_once() -> None:
    def beyond(x):
        gpu.launch(threads=64)
        copy(local_tile(x, (8,), (9,)), make_fragment_like(local_tile(x, (8,), (0,))))

    with pytest.raises(TensorIndexError):
        gpu.kernel(beyond).interpret(X)
    assert Layout(64).size == 64


TURNED = """@gpu.kernel
def turned(x, y):
    gpu.launch(threads=32)
    staged = gpu.shared(x, 32)
    staged[gpu.thread] = x[gpu.thread]
    gpu.barrier()
    y[gpu.thread] = staged[31 - gpu.thread]
"""


@pytest.mark.parametrize(("dtype", "words"), [("float32", "f32"), ("bool", "u32")])
def test_a_tile_without_a_text_to_read(dtype: str, words: str) -> None:
    """At a prompt and under `exec` the pass has no text: what is stored next says the name. Truths are words: from
    arrays of bool that a workgroup shares NVIDIA's compiler gave other values back."""
    space: dict[str, Any] = {"gpu": gpu}
    exec(TURNED, space)
    x = (np.arange(32) % 3 == 0).astype(dtype)
    y = np.zeros_like(x)
    assert f"var<workgroup> staged: array<{words}, 32>" in space["turned"].wgsl(x, y)
    space["turned"].interpret(x, y)
    assert np.array_equal(y, x[::-1])
