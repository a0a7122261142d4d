"""matmul and sum on the interpreter: sizes that no tile divides, every kind of layout, wrong operands."""

import sys
import time

import numpy as np
import pytest

from cutepy import gpu, ops
from cutepy.errors import KernelError, TensorError
from cutepy.gpu.matmul.kernel_fma import matmul_kernel
from cutepy.gpu.matmul.plan import Plan
from cutepy.gpu.matmul.staging import copy_layout
from cutepy.layout import Layout, Swizzle, make_composed_layout
from cutepy.tensor import i32, make_tensor

FLAGSHIP = Plan((128, 128, 8), (8, 16), ((4, 2), (4, 2)), stages=2, unrolled=True)


def operands(m: int, n: int, k: int, kind: str = "C") -> tuple[np.ndarray, np.ndarray]:
    g = np.random.default_rng(m + n + k)
    a, b = (g.random((2 * r, 2 * c), dtype=np.float32) - np.float32(0.5) for r, c in ((m, k), (k, n)))
    if kind == "strided":
        return a[::2, ::2], b[1::2, ::2]
    if kind == "transposed":
        return np.asfortranarray(a[:m, :k]), np.asfortranarray(b[:k, :n])
    if kind == "reversed":
        return a[:m, :k][::-1], b[:k, :n][:, ::-1]
    return a[:m, :k].copy(), b[:k, :n].copy()


def error(got: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize("size", [(1, 1, 1), (7, 1, 13), (127, 129, 131), (64, 64, 64)])
@pytest.mark.parametrize("kind", ["C", "transposed", "strided", "reversed"])
def test_matmul(size: tuple[int, int, int], kind: str) -> None:
    a, b = operands(*size, kind)
    assert error(ops.matmul(a, b, engine="interpreter").numpy(), a, b) <= 1e-6


def test_large_matmul() -> None:
    a, b = operands(1000, 900, 700)
    start = time.perf_counter()
    assert error(ops.matmul(a, b, engine="interpreter").numpy(), a, b) <= 1e-6
    assert time.perf_counter() - start < 30


@pytest.mark.parametrize("size", [(7, 1, 13), (130, 140, 20), (128, 128, 16)])
def test_the_fast_plan_on_the_interpreter(size: tuple[int, int, int]) -> None:
    a, b = operands(*size)
    assert error(ops.matmul(a, b, plan=FLAGSHIP, engine="interpreter").numpy(), a, b) <= 1e-6


def test_the_fast_plan_has_vectors_and_registers() -> None:
    a = np.zeros((256, 256), np.float32)
    text = matmul_kernel.wgsl(a, a.copy(), a.copy(), plan=FLAGSHIP)
    assert text.count("fma(vec4<f32>(") == 256
    assert text.count("var acc") == 32 and "array<f32" not in text
    assert "var<workgroup> sA: array<vec4<f32>" in text


def test_tracing_and_printing_the_fast_plan_takes_few_calls() -> None:
    """Calls of Python's functions, not time: 234,717, on whatever machine."""
    a = np.zeros((4096, 4096), np.float32)
    b, c = a.copy(), a.copy()
    matmul_kernel.wgsl(a, b, c, plan=FLAGSHIP)  # what is kept for all kernels is there
    matmul_kernel._traced.clear()
    calls = 0

    def count(_frame: object, event: str, _value: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        matmul_kernel.wgsl(a, b, c, plan=FLAGSHIP)
    finally:
        sys.setprofile(None)
    assert calls < 280_000


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.uint32])
def test_matmul_of_other_types(dtype: type) -> None:
    g = np.random.default_rng(1)
    a, b = (g.integers(0, 9, shape).astype(dtype) for shape in ((20, 30), (30, 10)))
    got = ops.matmul(a, b, engine="interpreter").numpy()
    assert got.dtype == dtype and np.array_equal(got, (a.astype(np.int64) @ b.astype(np.int64)).astype(dtype))


def test_matmul_into_a_tensor() -> None:
    a, b = operands(5, 6, 7)
    out = np.zeros((6, 5), np.float32).T
    c = ops.matmul(a, b, make_tensor(out), engine="interpreter")
    assert error(out, a, b) < 1e-6 and c.shape == (5, 6)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.zeros((2, 3), "f4"), np.zeros((4, 5), "f4"), "the inner sizes 3 and 4 differ"),
        (np.zeros((2, 3), "u4"), np.zeros((3, 5), "i4"), "i32 and u32 do not mix"),
        (np.zeros((2, 1, 3), "f4"), np.zeros((4, 3, 5), "f4"), "do not broadcast"),
        (np.float32(2), np.zeros((3, 5), "f4"), "an operand is a number"),
    ],
)
def test_matmul_refuses(a: np.ndarray, b: np.ndarray, message: str) -> None:
    with pytest.raises(TensorError, match=message):
        ops.matmul(a, b, engine="interpreter")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Plan((0, 4, 4)),
        lambda: Plan((60, 64, 16)),
        lambda: Plan((64, 64, 16), copies=((3, 1), (4, 1))),
        lambda: Plan(stages=3),
    ],
)
def test_impossible_plans_are_refused(wrong: object) -> None:
    with pytest.raises(KernelError, match="Plan"):
        wrong()


def test_a_copy_layout_covers_its_tile_once() -> None:
    for block, threads, along in (((4, 2), 128, True), ((4, 1), 64, False), ((1, 4), 32, True), ((2, 2), 16, False)):
        layout = copy_layout((128, 8), block, threads, along_k=along)
        assert sorted(layout.offsets().ravel().tolist()) == list(range(1024))


@pytest.mark.parametrize("n", [0, 1, 255, 4096, 100_003, 1_000_003])
def test_sum(n: int) -> None:
    x = np.random.default_rng(n).random(n, dtype=np.float32)
    wanted = x.astype(np.float64).sum()
    assert abs(ops.sum(x, engine="interpreter").numpy() - wanted) <= 1e-6 * max(wanted, 1e-30)


def test_sum_of_any_layout() -> None:
    x = np.random.default_rng(0).random((300, 200), dtype=np.float32)
    for view in (x, x.T, x[::2, ::3], x[::-1], x[:, :1], np.broadcast_to(x[0], (5, 200))):
        assert abs(ops.sum(view, engine="interpreter").numpy() / view.astype(np.float64).sum() - 1) < 1e-6


def test_sum_of_other_types() -> None:
    g = np.random.default_rng(0)
    x = g.integers(0, 2**32, 5000, dtype=np.uint32)
    assert ops.sum(x, engine="interpreter").numpy() == x.sum(dtype=np.uint32)
    halves = g.random(5000).astype(np.float16)
    total = ops.sum(halves, engine="interpreter").numpy()
    assert total.dtype == np.float16 and total == halves.sum(dtype=np.float32).astype(np.float16)
    assert ops.sum(np.ones(3, bool), engine="interpreter").dtype is i32


def test_a_sum_has_the_same_bits_every_time() -> None:
    x = np.random.default_rng(0).standard_normal(50_000).astype(np.float32)
    assert len({ops.sum(x, engine="interpreter").numpy().tobytes() for _ in range(3)}) == 1


STORES = {
    "copy": lambda x, out: gpu.copy(x, out, engine="interpreter"),
    "pointwise": lambda x, out: gpu.pointwise("a + b")(x, x, out=out, engine="interpreter"),
    "matmul": lambda x, out: ops.matmul(x, x, out, engine="interpreter"),
}


@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
@pytest.mark.parametrize("strides", [(0, 0), (1, 0), (0, 1), (4, 1), (8, 8), (7, 2)], ids=str)
def test_a_target_whose_elements_share_memory_is_refused(store, strides: tuple[int, int]) -> None:
    """Threads would store into one element, and which of them comes last no launch says."""
    x, memory = np.ones((8, 8), np.float32), np.zeros(200, np.float32)
    layout = Layout((8, 8), strides)
    for kind in (layout, make_composed_layout(Swizzle(2, 0, 3), 0, layout)):
        with pytest.raises(KernelError, match="elements of the target share memory"):
            store(x, make_tensor(memory, kind))
    for kind in (Layout((8, 8), (9, 1)), make_composed_layout(Swizzle(2, 0, 3), 0, Layout((8, 8), (8, 1)))):
        store(x, make_tensor(memory, kind))
        assert memory.any()
    nothing = np.zeros((0, 0), np.float32)
    store(nothing, make_tensor(nothing))
