"""Products with an epilogue: in the kernel or after it, what the function of NumPy's product is; types, refusals."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutepy import gpu
from cutepy.errors import CutepyError, KernelError
from cutepy.gpu import Plan, multiply, products
from cutepy.gpu.epilogue import epilogue_kernel
from cutepy.gpu.matmul_bytes import of_bytes
from cutepy.gpu.matmul_matrices import MatrixPlan
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
    found = gpu.matmul(*ab, epilogue=FORMULA, **others, engine="numpy").numpy()
    assert found.dtype == dtype
    exact = wanted(ab, others)
    np.testing.assert_allclose(found, exact, atol=np.abs(exact).max() * (2e-3 if dtype == "float16" else 1e-5))


def test_it_is_in_the_kernel() -> None:
    """Of two matrices that one pass multiplies, the product is never stored."""
    ab, others = operands(70, 65, 33, "float32")
    before = {id(form) for form in epilogue_kernel._traced.values()}
    gpu.matmul(*ab, epilogue="c * c + bias", bias=others["bias"], engine="numpy")
    assert len({id(form) for form in epilogue_kernel._traced.values()} - before) == 1


def test_matrices_of_a_subgroup_multiply_where_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    ab, others = operands(70, 65, 33, "float16")
    taken, brought = [], products.as_planned
    monkeypatch.setattr(products, "matrix_plan", lambda *_: MatrixPlan((32, 32, 32)))
    monkeypatch.setattr(products, "as_planned", lambda *given: (taken.append(given[2].tile), brought(*given))[1])
    found, exact = gpu.matmul(*ab, epilogue=FORMULA, **others, engine="numpy").numpy(), wanted(ab, others)
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
        found = gpu.matmul(one, other, epilogue=leaky, bias=used, engine="numpy").numpy()
        np.testing.assert_allclose(found, np.where(exact > 0, exact, 0.1 * exact), atol=1e-4)


@given(st.data())
@settings(max_examples=25, deadline=None)
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
        found = gpu.matmul(a, b, plan=plan, sums=sums, epilogue="x * c - y", **others, engine="numpy").numpy()
    assert found.dtype == wide
    np.testing.assert_array_equal(found, others["x"] * (a.astype(int) @ b.astype(int)) - others["y"])


def times(factor: float) -> Callable[[gpu.Expr], gpu.Expr]:
    return lambda c: c * factor


def test_what_an_epilogue_captures_is_seen() -> None:
    """Values that change are; a function that is written anew is no new kernel."""
    a = np.ones((16, 16), np.float32)
    before = {id(form) for form in epilogue_kernel._traced.values()}
    for factor in (2.0, 3.0) * 3:
        found = gpu.matmul(a, a, epilogue=times(factor), engine="numpy")
        assert (found.numpy() == 16 * factor).all()
    assert len({id(form) for form in epilogue_kernel._traced.values()} - before) == 2


def test_results_of_other_types() -> None:
    (a, b), _ = operands(20, 30, 40, "float16")
    c = np.zeros((20, 30), np.float32)
    gpu.matmul(a, b, make_tensor(c), engine="numpy")
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-5)
    half = np.zeros((20, 30), np.float16)
    gpu.matmul(a.astype(np.float32), b, make_tensor(half), engine="numpy")
    assert np.array_equal(half, c.astype(np.float16))
    found = gpu.matmul(a, b, epilogue="c > 0", engine="numpy").numpy()
    assert found.dtype == bool and np.array_equal(found, c > 0)
    gpu.matmul(a, b, make_tensor(c), epilogue="c * 2", engine="numpy")
    assert np.abs(c / 2 - half).max() < 0.01


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a, b: gpu.matmul(a, b, epilogue="c + bias", engine="numpy"), "takes c, bias"),
        (lambda a, b: gpu.matmul(a, b, epilogue="x + 1", engine="numpy"), "takes x"),
        (lambda a, b: gpu.matmul(a, b, epilogue=3, engine="numpy"), "epilogue=3.: a formula such as"),
        (lambda a, b: gpu.matmul(a, b, epilogue="c * s", s=2.0, engine="numpy"), "write it into the epilogue"),
        (lambda a, b: gpu.matmul(a, b, epilogue="c * s", s=np.ones((2, 4, 4), "f4"), engine="numpy"), "larger than"),
        (
            lambda a, b: gpu.matmul(a, b, make_tensor(np.ones((4, 5), "f4")), epilogue="c", engine="numpy"),
            "C must be f32",
        ),
        (lambda a, b: gpu.matmul(a, b, epilogue="c * s", s=np.ones(3, "f4"), engine="numpy"), "do not broadcast"),
    ],
)
def test_refused(call: Callable[[np.ndarray, np.ndarray], object], message: str) -> None:
    with pytest.raises(CutepyError, match=message):
        call(np.ones((4, 4), np.float32), np.ones((4, 4), np.float32))


def test_an_operand_that_overlaps_is_refused() -> None:
    x = np.ones((8, 8), np.float32)
    with pytest.raises(KernelError, match="overlap"):
        gpu.matmul(x, x.copy(), make_tensor(x.T), epilogue="c + r", r=x, engine="numpy")
