"""The table of functions: gpu's, NumPy's of kernel values and the interpreter's are NumPy's own, on every row."""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.evaluate import FUNCTIONS as MEANING
from cutepy.gpu.ir import Expr
from cutepy.gpu.ir.operators import BY_NAME, BY_WGSL, FUNCTIONS, Function
from cutepy.tensor.algorithms import transform

X = np.linspace(-2.5, 2.5, 64).astype(np.float32)
Y = np.linspace(0.25, 3, 64).astype(np.float32)
Z = np.full(64, 3.5, np.float32)
UNARY = [f for f in FUNCTIONS if f.operands == 1]


def computed(function: object, operands: int) -> np.ndarray:
    @gpu.kernel
    def applied(x, y, z, out):
        gpu.launch(threads=64)
        values = [t[gpu.thread] for t in (x, y, z)]
        out[gpu.thread] = function(*values[:operands])  # type: ignore[operator]

    out = np.zeros(64, np.float32)
    applied.interpret(X, Y, Z, out)
    return out


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_in_a_kernel_as_on_arrays(function: Function) -> None:
    own = getattr(gpu, function.name)
    assert own.__name__ == function.name and own.__doc__ == function.law
    with np.errstate(all="ignore"):
        want = own(*(X, Y, Z)[: function.operands])
    np.testing.assert_array_equal(computed(own, function.operands), want)


@pytest.mark.parametrize(("name", "function"), [(n, f) for f in FUNCTIONS for n in f.numpy], ids=str)
def test_numpys_functions_are_the_same(name: str, function: Function) -> None:
    numpys = getattr(np, name)
    with np.errstate(all="ignore"):
        want = numpys(*(X, Y, Z)[: function.operands])
        np.testing.assert_array_equal(computed(getattr(gpu, function.name), function.operands), want)
        np.testing.assert_array_equal(computed(numpys, function.operands), want)


def test_every_function_of_the_ir_has_a_name() -> None:
    assert set(BY_WGSL) == set(MEANING) and all(hasattr(gpu, name) for name in BY_NAME)
    assert len({f.wgsl for f in FUNCTIONS}) == len(FUNCTIONS) == len(BY_NAME)


@pytest.mark.parametrize(
    ("function", "want"),
    [
        (lambda x, y, z: np.where(x > 0, x, -1.0), np.where(X > 0, X, -1)),
        (lambda x, y, z: np.round(x), np.round(X)),
        (lambda x, y, z: np.maximum(0.0, x) + np.minimum(x, y), np.maximum(0, X) + np.minimum(X, Y)),
        (lambda x, y, z: 2.0**x, np.float32(2) ** X),
        (lambda x, y, z: abs(x) ** 3, np.abs(X) ** 3),
        (lambda x, y, z: np.float32(2) * x - np.square(y), 2 * X - Y * Y),
        (lambda x, y, z: np.power(y, 2), Y * Y),
        (lambda x, y, z: gpu.select(np.float32(0.5) < x, 1.0, 2), np.where(X > 0.5, 1, 2)),
        (lambda x, y, z: gpu.select(np.array(0.5) >= x, 1, y), np.where(X <= 0.5, 1, Y)),
    ],
)
def test_other_ways_to_say_it(function: object, want: np.ndarray) -> None:
    np.testing.assert_allclose(computed(function, 3), want, rtol=1e-6)


def test_of_whole_fragments() -> None:
    @gpu.kernel
    def rounded(x, out):
        gpu.launch(threads=1)
        transform(x, out, op=lambda v: np.rint(v) + gpu.clip(v, -1.0, 1.0))

    out = np.zeros(64, np.float32)
    rounded.interpret(X, out)
    np.testing.assert_array_equal(out, np.rint(X) + np.clip(X, -1, 1))


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if not f.floats and f.operands < 3], ids=lambda f: f.name)
def test_of_integers(function: Function) -> None:
    @gpu.kernel
    def applied(x, y, out):
        gpu.launch(threads=64)
        out[gpu.thread] = getattr(gpu, function.name)(*[x[gpu.thread], y[gpu.thread]][: function.operands])

    x, y, out = np.arange(-32, 32, dtype=np.int32), np.full(64, 3, np.int32), np.zeros(64, np.int32)
    applied.interpret(x, y, out)
    np.testing.assert_array_equal(out, MEANING[function.wgsl](*(x, y)[: function.operands]))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
@pytest.mark.parametrize("more", [-1, 1])
def test_the_number_of_operands(function: Function, more: int) -> None:
    count = function.operands + more
    if count == 0:
        return

    @gpu.kernel
    def applied(x):
        gpu.launch(threads=64)
        getattr(gpu, function.name)(*[x[gpu.thread]] * count)

    message = rf"test_functions\.py:\d+: gpu\.{function.name} takes {function.operands} operands, given are {count}"
    with pytest.raises(KernelError, match=message):
        applied.interpret(X.copy())
    with pytest.raises(KernelError, match=rf"gpu\.{function.name} takes {function.operands} operands"):
        getattr(gpu, function.name)(*[X] * count)


@pytest.mark.parametrize("name", ["hypot", "copysign", "logaddexp", "nextafter"])
def test_numpy_functions_that_kernels_lack(name: str) -> None:
    with pytest.raises(KernelError, match=rf"test_functions\.py:\d+: np\.{name} has no meaning for values of a kernel"):
        computed(lambda x, y: getattr(np, name)(x, y), 2)


def test_ids_are_listed_and_slips_corrected() -> None:
    assert {"thread", "lane", "subgroup", "subgroup_size", "arctan2"} <= set(dir(gpu))
    for slip, right in (("clamp", "clip"), ("atan2", "arctan2"), ("inverseSqrt", "rsqrt"), ("threads", "thread")):
        with pytest.raises(AttributeError, match=f"has no attribute '{slip}'; is it '{right}'?"):
            getattr(gpu, slip)
    assert issubclass(gpu.Expr, Expr)
