"""Products with an epilogue: in the kernel or after it, what the function of NumPy's product is; types, refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shares import tries

from cutepy import gpu, ops
from cutepy.errors import CutepyError, KernelError
from cutepy.gpu import Plan
from cutepy.gpu.matmul import api as multiply
from cutepy.gpu.matmul import contraction as products
from cutepy.gpu.matmul.epilogue import epilogue_kernel
from cutepy.gpu.matmul.int8 import of_bytes
from cutepy.gpu.matmul.plan import MatrixPlan
from cutepy.tensor import make_tensor

MATRICES = MatrixPlan((32, 32, 32))
BYTES = of_bytes(MATRICES, ("i8", "i32"))
FORMULA = "max(c * scale + bias, 0) + r"
SIZES = ((70, 65, 33), (64, 64, 16), (200, 9, 40), (3, 5, 7), (33, 40, 3000), (1, 5, 7), (6, 1, 8), (4, 5, 0))


def operands(m: int, n: int, k: int, dtype: str) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    rng = np.random.default_rng(m)
    shapes = {"a": (m, k), "b": (k, n), "bias": (n,), "scale": (m, 1), "r": (m, n)}
    made = {name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}
    return [made.pop("a"), made.pop("b")], made


def wanted(ab: list[np.ndarray], others: dict[str, np.ndarray]) -> np.ndarray:
    a, b = (x.astype(np.float64) for x in ab)
    return np.maximum(a @ b * others["scale"] + others["bias"], 0) + others["r"]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_an_epilogue(size: tuple[int, int, int], dtype: str) -> None:
    ab, others = operands(*size, dtype)
    found = ops.matmul(*ab, epilogue=FORMULA, **others, engine="interpreter").numpy()
    assert found.dtype == dtype
    exact = wanted(ab, others)
    np.testing.assert_allclose(found, exact, atol=np.abs(exact).max() * (2e-3 if dtype == "float16" else 1e-5))


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that are traced."""
    names: list[str] = []
    trace = gpu.KernelFunction._trace

    def noted(self: gpu.KernelFunction, *args: Any) -> Any:
        names.append(self.__name__)
        return trace(self, *args)

    monkeypatch.setattr(gpu.KernelFunction, "_trace", noted)
    return names


def test_it_is_in_the_kernel(traced: list[str]) -> None:
    """Of two matrices that one pass multiplies, the product is never stored."""
    ab, others = operands(70, 65, 33, "float32")
    ops.matmul(*ab, epilogue="c * c + bias", bias=others["bias"], engine="interpreter")
    assert traced == ["epilogue_kernel"]


def test_matrices_of_a_subgroup_multiply_where_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    ab, others = operands(70, 65, 33, "float16")
    taken, brought = [], products.as_planned
    monkeypatch.setattr(products, "matrix_plan", lambda *_: MatrixPlan((32, 32, 32)))
    monkeypatch.setattr(products, "as_planned", lambda *given: (taken.append(given[2].tile), brought(*given))[1])
    found, exact = ops.matmul(*ab, epilogue=FORMULA, **others, engine="interpreter").numpy(), wanted(ab, others)
    np.testing.assert_allclose(found, exact, atol=np.abs(exact).max() * 2e-3)
    assert taken == [(32, 32, 32)]


def test_batches_transposed_operands_and_functions() -> None:
    rng = np.random.default_rng(0)
    a, b, bias = (rng.standard_normal(s).astype(np.float32) for s in ((3, 20, 30), (30, 40), (3, 1, 40)))

    @gpu.pointwise
    def leaky(c, bias):
        return gpu.select(c + bias > 0, c + bias, 0.1 * (c + bias))

    for one, other in ((a, b), (np.asfortranarray(a), np.asfortranarray(b)), (a[1], b.T.copy().T)):
        used = bias if one.ndim == 3 else bias[1]
        exact = one @ other + used
        found = ops.matmul(one, other, epilogue=leaky, bias=used, engine="interpreter").numpy()
        np.testing.assert_allclose(found, np.where(exact > 0, exact, 0.1 * exact), atol=1e-4)


@given(st.data())
@tries(25)
def test_operands_broadcast_in_any_batch(data: st.DataObject) -> None:
    """In the kernel, by either kind of plan and of 8-bit integers: the product is never stored."""
    m, n, k = (data.draw(st.integers(2, 40)) for _ in "mnk")
    batch = data.draw(st.sampled_from([(), (3,), (2, 3), (1, 2)]))
    kind, plan = data.draw(
        st.sampled_from(
            [
                ("i4", None),
                ("i4", Plan((16, 64, 16), (4, 16))),
                ("i4", Plan((16, 16, 32), (1, 4, 4), ahead=2)),
                ("f2", MATRICES),
                ("i1", BYTES),
            ]
        )
    )
    rng, shape = np.random.default_rng(0), (*batch, m, n)
    a, b = (rng.integers(-3, 4, (*batch, *matrix)).astype(kind) for matrix in ((m, k), (k, n)))
    wide = "i4" if kind == "i1" else kind
    others = {}
    for name in "xy":
        kept = [size if data.draw(st.booleans()) else 1 for size in shape][data.draw(st.integers(0, len(shape) - 1)) :]
        others[name] = rng.integers(-4, 5, kept).astype(wide)
        if data.draw(st.booleans()):
            others[name] = np.asfortranarray(others[name])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multiply, "contract", lambda *given: pytest.fail("a pass of its own"))
        sums = "i32" if kind == "i1" else "f32"
        found = ops.matmul(a, b, plan=plan, sums=sums, epilogue="x * c - y", **others, engine="interpreter").numpy()
    assert found.dtype == wide
    np.testing.assert_array_equal(found, others["x"] * (a.astype(int) @ b.astype(int)) - others["y"])


def times(factor: float) -> Callable[[gpu.Expr], gpu.Expr]:
    return lambda c: c * factor


def test_what_an_epilogue_captures_is_seen(traced: list[str]) -> None:
    """Values that change are; a function that is written anew is no new kernel."""
    a = np.ones((16, 16), np.float32)
    for factor in (2.0, 3.0) * 3:
        found = ops.matmul(a, a, epilogue=times(factor), engine="interpreter")
        assert (found.numpy() == 16 * factor).all()
    assert traced == ["epilogue_kernel"] * 2


def test_results_of_other_types() -> None:
    (a, b), _ = operands(20, 30, 40, "float16")
    c = np.zeros((20, 30), np.float32)
    ops.matmul(a, b, make_tensor(c), engine="interpreter")
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-5)
    half = np.zeros((20, 30), np.float16)
    ops.matmul(a.astype(np.float32), b, make_tensor(half), engine="interpreter")
    assert np.array_equal(half, c.astype(np.float16))
    found = ops.matmul(a, b, epilogue="c > 0", engine="interpreter").numpy()
    assert found.dtype == bool and np.array_equal(found, c > 0)
    ops.matmul(a, b, make_tensor(c), epilogue="c * 2", engine="interpreter")
    assert np.abs(c / 2 - half).max() < 0.01


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a, b: ops.matmul(a, b, epilogue="c + bias", engine="interpreter"), "takes c, bias"),
        (lambda a, b: ops.matmul(a, b, epilogue="x + 1", engine="interpreter"), "takes x"),
        (lambda a, b: ops.matmul(a, b, epilogue=3, engine="interpreter"), "epilogue=3.: a formula such as"),
        (lambda a, b: ops.matmul(a, b, epilogue="c * s", s=2j, engine="interpreter"), "no such element type"),
        (
            lambda a, b: ops.matmul(a, b, epilogue="c * s", s=np.ones((2, 4, 4), "f4"), engine="interpreter"),
            "larger than",
        ),
        (
            lambda a, b: ops.matmul(a, b, make_tensor(np.ones((4, 5), "f4")), epilogue="c", engine="interpreter"),
            "C must be f32",
        ),
        (lambda a, b: ops.matmul(a, b, epilogue="c * s", s=np.ones(3, "f4"), engine="interpreter"), "do not broadcast"),
    ],
)
def test_refused(call: Callable[[np.ndarray, np.ndarray], object], message: str) -> None:
    with pytest.raises(CutepyError, match=message):
        call(np.ones((4, 4), np.float32), np.ones((4, 4), np.float32))


def test_an_operand_that_overlaps_is_refused() -> None:
    x = np.ones((8, 8), np.float32)
    with pytest.raises(KernelError, match="overlap"):
        ops.matmul(x, x.copy(), make_tensor(x.T), epilogue="c + r", r=x, engine="interpreter")


@pytest.mark.parametrize("alpha", [2.0, -3, True, np.float32(0.5), np.int32(7), 2**31])
@pytest.mark.parametrize("options", [{}, {"plan": Plan((32, 32, 16), (8, 8), splits=2)}])
def test_numbers_of_an_epilogue(alpha: object, options: dict[str, Plan]) -> None:
    """In one pass or two, beside tensors, in the order of the formula: what `pointwise` gives for the same number."""
    g = np.random.default_rng(0)
    a, b, d = (g.standard_normal(shape, dtype=np.float32) for shape in ((20, 40), (40, 30), (20, 30)))
    formula = "beta * d + c * alpha"
    found = ops.matmul(a, b, epilogue=formula, alpha=alpha, beta=0.25, d=d, engine="interpreter", **options)
    product = ops.matmul(a, b, engine="interpreter", **options)
    wanted = gpu.pointwise(formula)(0.25, d, product, alpha, engine="interpreter")
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-5)


def test_a_new_number_is_no_new_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []

    def printed(self: gpu.KernelFunction, *args: object, **static: object) -> None:
        texts.append(self.wgsl(*args, **static))

    monkeypatch.setattr(type(epilogue_kernel), "interpret", printed)
    x = np.ones((64, 64), np.float32)
    for alpha in (1.0, 2.5, -7.0):
        ops.matmul(x, x, epilogue="alpha * c", alpha=alpha, engine="interpreter")
    assert len(texts) == 3 and len(set(texts)) == 1 and "alpha" not in texts[0].partition("fn ")[0].partition("plan")[0]
