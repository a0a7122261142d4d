"""The table of functions: in kernels, of arrays, through NumPy and by `ops`, each record is NumPy's function."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gpu.function_cases import BITS, SPECIAL, close, edges, operands_of, special_operands

from cutepy import gpu, ops
from cutepy.errors import KernelError, TensorError
from cutepy.gpu.ir import Expr
from cutepy.gpu.targets.wgsl_tokens import spelling
from cutepy.tensor.algorithms import transform
from cutepy.tensor.functions import FUNCTIONS, IN_KERNELS, IR_FUNCTIONS, NAMED, Function, Word, define

X = np.linspace(-2.5, 2.5, 64).astype(np.float32)
Y = np.linspace(0.25, 3, 64).astype(np.float32)
Z = np.full(64, 3.5, np.float32)
ROWS = [f for f in FUNCTIONS.values() if "f" in f.takes and not f.conditional]


def applying(function: Callable[..., object], count: int, gives: str = "float32") -> gpu.Kernel:
    """A kernel of three operands, which applies the function to the first `count` of them."""

    @gpu.kernel
    def applied(x, y, z, out):
        gpu.launch(threads=64, grid=-(-x.size // 64))
        i = gpu.workgroup.x * 64 + gpu.thread
        with gpu.when(i < x.size):
            values = [t[i] for t in (x, y, z)]
            out[i] = gpu.cast(function(*values[:count]), gives)

    return applied


def computed(function: Callable[..., object], *operands: np.ndarray, gives: str = "float32") -> np.ndarray:
    """What a kernel gives for the elements of the operands."""
    given = [np.ascontiguousarray(operands[min(i, len(operands) - 1)]) for i in range(3)]
    out = np.zeros(operands[0].shape, gives)
    applying(function, len(operands), gives).interpret(*given, out)
    return out


def gives(function: Function, dtype: str = "float32") -> str:
    return "bool" if function.gives == "bool" else dtype


@pytest.mark.parametrize("function", ROWS, ids=lambda f: f.name)
def test_in_a_kernel_as_on_arrays(function: Function) -> None:
    own = getattr(gpu, function.in_kernels)
    assert own.__name__ == function.in_kernels and function.law in own.__doc__
    given = operands_of(function)
    with np.errstate(all="ignore"):
        want = own(*given)
    found = computed(own, *given, gives=gives(function))
    if function.ir or function.python:
        np.testing.assert_array_equal(found, want)
    assert close(found, want, 8)


@pytest.mark.parametrize("function", ROWS, ids=lambda f: f.name)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_by_the_law_of_numpy_at_special_values(function: Function, dtype: str) -> None:
    given = special_operands(function, dtype)
    with np.errstate(all="ignore"):
        want = np.asarray(function.numpy(*[x.astype(np.float32) for x in given]))
        want = want if function.gives == "bool" else want.astype(dtype)
    found = getattr(ops, function.name)(*given).numpy()
    assert found.dtype == want.dtype and close(found, want, 0)
    by_formula = gpu.pointwise(f"{function.name}({', '.join('abc'[: function.arity])})")(
        *given, engine="interpreter"
    ).numpy()
    assert by_formula.dtype == want.dtype and close(by_formula, want, 8)
    inside = computed(getattr(ops, function.name), *given, gives=gives(function, dtype))
    assert close(inside, want, 8)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        (n, f)
        for n, f in sorted(NAMED.items(), key=lambda pair: pair[0])
        if "f" in f.takes and isinstance(getattr(np, n, None), np.ufunc)
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_numpys_functions_are_the_same(name: str, function: Function) -> None:
    numpys, given = getattr(np, name), operands_of(function)
    with np.errstate(all="ignore"):
        want = numpys(*given)
    assert close(computed(numpys, *given, gives=gives(function)), want, 8)
    assert close(computed(lambda *v: getattr(ops, name)(*v), *given, gives=gives(function)), want, 8)
    if name in ("arctan2", "atan2", "hypot") or (numpys.nin == 1 and function.gives == "fraction"):
        # Other functions of arrays of objects NumPy takes apart itself.
        assert close(computed(lambda *v: numpys(*[np.array([x, x]) for x in v])[1], *given), want, 8)


@pytest.mark.parametrize("name", [n for n, f in NAMED.items() if f in ROWS and callable(getattr(np, n, None))])
def test_numpys_names_and_those_of_ops_are_one_text(name: str) -> None:
    """What the law asks of NaN is in the text: a device has functions that are right for all else."""
    arity, result = NAMED[name].arity, gives(NAMED[name])
    arrays = X, Y, Z, np.zeros(64, result)
    texts = [applying(getattr(where, name), arity, result).wgsl(*arrays) for where in (np, ops)]
    assert texts[0] == texts[1]


def test_every_function_has_its_names() -> None:
    assert all(hasattr(ops, name) for name in NAMED) and all(hasattr(gpu, name) for name in IN_KERNELS)
    words = [f for f in IN_KERNELS.values() if isinstance(f, Word)]
    assert len(IN_KERNELS) == len(FUNCTIONS) + len(words) and {"nan_min", "rsqrt", "clamp"} <= set(IR_FUNCTIONS)
    assert set(NAMED) <= set(dir(ops)) and set(IN_KERNELS) <= set(dir(gpu))


def test_one_record_is_a_function_everywhere() -> None:
    """`log2(exp2(x) + exp2(y))`: one record, and it is used through every name that a function has."""
    tables = FUNCTIONS, NAMED, IN_KERNELS
    assert not any("logaddexp2" in table for table in tables) and not hasattr(gpu, "logaddexp2")

    def spelt(k, x, y):
        large = k.call("max", x, y)
        return large + k.call("log2", k.call("exp2", x - large) + k.call("exp2", y - large))

    define(
        Function("logaddexp2", np.logaddexp2, "The logarithm of 2^x + 2^y to base 2.", ("joined",),
                 takes="biuf", gives="fraction", arity=2, spelt=spelt)
    )  # fmt: skip
    try:
        want = np.logaddexp2(X, Y)
        for function in (gpu.logaddexp2, np.logaddexp2, ops.logaddexp2, ops.joined):
            assert close(computed(function, X, Y), want, 8)
        assert close(gpu.logaddexp2(X, Y), want, 0) and close(ops.joined(X, Y).numpy(), want, 0)
        assert ops.logaddexp2(np.int32([1, 2]), 1).dtype.name == "f32"
        for formula in ("logaddexp2(a, b)", "2 * joined(a, b) / 2"):
            assert close(gpu.pointwise(formula)(X, Y, engine="interpreter").numpy(), want, 8)
        assert "exp2(" in gpu.pointwise("logaddexp2(a, b)").wgsl(X, Y) and gpu.logaddexp2.__doc__
        with pytest.raises(TensorError, match="logaddexp2: it is not defined on c64"):
            ops.logaddexp2(np.zeros(2, np.complex64), 1)
        with pytest.raises(KernelError, match=r"gpu\.logaddexp2 takes 2 operands, given are 1"):
            computed(gpu.logaddexp2, X)
        with pytest.raises(TensorError, match="has logaddexp2 already"):
            define(FUNCTIONS["logaddexp2"])
    finally:
        for table in tables:
            for name in ("logaddexp2", "joined"):
                table.pop(name, None)


def test_one_record_is_a_function_of_the_ir_too() -> None:
    """`step` is in WGSL: with its record the IR, the printer and the interpreter have it."""
    define(Function("step", lambda edge, x: (edge <= x).astype(x.dtype), "Whether x >= edge.", arity=2, ir="step"))
    try:

        @gpu.kernel
        def stepped(x, out):
            gpu.launch(threads=64)
            step = x[gpu.thread] + 1.0
            out[gpu.thread] = gpu.step(step, 2.0) + step

        out = np.zeros(64, np.float32)
        stepped.interpret(X, out)
        np.testing.assert_array_equal(out, (X + 1 <= 2) + (X + 1))
        text = stepped.wgsl(X, out)
        assert "step(" in text and "let step " not in text
    finally:
        for table in (FUNCTIONS, NAMED, IN_KERNELS, IR_FUNCTIONS):
            del table["step"]


@pytest.mark.parametrize(
    ("function", "want"),
    [
        (lambda x, y, z: np.where(x > 0, x, -1.0), np.where(X > 0, X, -1)),
        (lambda x, y, z: gpu.where(x > 0, x, -1.0), np.where(X > 0, X, -1)),
        (lambda x, y, z: np.round(x), np.round(X)),
        (lambda x, y, z: np.around(x) + np.clip(x, -1, y), np.round(X) + np.clip(X, -1, Y)),
        (lambda x, y, z: np.maximum(0.0, x) + np.minimum(x, y), np.maximum(0, X) + np.minimum(X, Y)),
        (lambda x, y, z: np.fmax(0.0, x) + np.fmin(x, y), np.maximum(0, X) + np.minimum(X, Y)),
        (lambda x, y, z: 2.0**x, np.float32(2) ** X),
        (lambda x, y, z: abs(x) ** 3, np.abs(X) ** 3),
        (lambda x, y, z: np.float32(2) * x - np.square(y), 2 * X - Y * Y),
        (lambda x, y, z: np.power(y, 2), Y * Y),
        (lambda x, y, z: np.mod(x, 0.75) + np.floor_divide(x, y), np.mod(X, np.float32(0.75)) + X // Y),
        (lambda x, y, z: gpu.select(np.float32(0.5) < x, 1.0, 2), np.where(X > 0.5, 1, 2)),
        (lambda x, y, z: gpu.select(np.array(0.5) >= x, 1, y), np.where(X <= 0.5, 1, Y)),
        (lambda x, y, z: gpu.select(np.logical_and(x, np.less(x, y)), 1.0, 2.0), np.where((X != 0) & (X < Y), 1, 2)),
    ],
)
def test_other_ways_to_say_it(function: Callable[..., object], want: np.ndarray) -> None:
    np.testing.assert_allclose(computed(function, X, Y, Z), want, rtol=1e-6, atol=1e-6)


def test_of_whole_fragments() -> None:
    @gpu.kernel
    def rounded(x, out):
        gpu.launch(threads=1)
        transform(x, out, op=lambda v: np.rint(v) + gpu.clip(v, -1.0, 1.0) + gpu.hypot(v, 1.0))

    out = np.zeros(64, np.float32)
    rounded.interpret(X, out)
    np.testing.assert_allclose(out, np.rint(X) + np.clip(X, -1, 1) + np.hypot(X, 1), rtol=1e-6)


@pytest.mark.parametrize("function", [f for f in FUNCTIONS.values() if "i" in f.takes], ids=lambda f: f.name)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "bool"])
def test_of_integers_and_bool(function: Function, dtype: str) -> None:
    if np.dtype(dtype).kind not in function.takes:
        with pytest.raises(TensorError, match="it is not defined on"):
            getattr(ops, function.name)(*[np.ones(2, dtype)] * function.arity)
        return
    x, y, z = (np.arange(-32, 32) % m - k for m, k in ((97, 0), (7, 0 if dtype == "uint32" else 3), (5, 0)))
    given = [v.astype(dtype) for v in (x, y, z)[: function.arity]]
    want = getattr(ops, function.name)(*given).numpy()
    formula = f"{function.name}({', '.join('abc'[: function.arity])})"
    found = gpu.pointwise(formula)(*given, engine="interpreter").numpy()
    assert found.dtype == want.dtype and close(found, want, 8)
    assert close(computed(getattr(ops, function.name), *given, gives=want.dtype.name), want, 8)
    taken = function.on if function.ir else function.kinds
    if np.dtype(dtype).kind in taken and not function.conditional and dtype != "bool":
        with np.errstate(all="ignore"):
            plain = function.numpy(*given)
        assert close(computed(getattr(gpu, function.in_kernels), *given, gives=gives(function, dtype)), plain, 8)


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_bits(dtype: str) -> None:
    x, y = edges(dtype)
    for name, of_bits in BITS.items():
        want = np.array([of_bits(int(v)) for v in x.view(np.uint32)], np.uint32).view(dtype)
        assert np.array_equal(getattr(ops, name)(x).numpy(), want), name
        assert np.array_equal(computed(getattr(gpu, name), x, gives=dtype), want), name
    high = np.array([int(a) * int(b) >> 32 for a, b in zip(x, y, strict=True)], dtype)
    assert np.array_equal(ops.mulhi(x, y).numpy(), high) and np.array_equal(
        computed(gpu.mulhi, x, y, gives=dtype), high
    )
    assert ops.popcount(np.int64([-1])).numpy() == 64 and ops.clz(np.uint8([1])).numpy() == 7


@pytest.mark.parametrize("function", ROWS, ids=lambda f: f.name)
@pytest.mark.parametrize("more", [-1, 1])
def test_the_number_of_operands(function: Function, more: int) -> None:
    count = function.arity + more
    if count == 0:
        return

    @gpu.kernel
    def applied(x):
        gpu.launch(threads=64)
        getattr(gpu, function.in_kernels)(*[x[gpu.thread]] * count)

    takes = rf"gpu\.{function.in_kernels} takes {function.arity} operands"
    with pytest.raises(KernelError, match=rf"test_functions\.py:\d+: {takes}, given are {count}"):
        applied.interpret(X.copy())
    with pytest.raises(KernelError, match=takes):
        getattr(gpu, function.in_kernels)(*[X] * count)
    if function.name == "clip":  # in `ops` it takes one limit or two
        return
    with pytest.raises(TensorError, match=f"{function.name}: it takes {function.arity} operands, given are {count}"):
        getattr(ops, function.name)(*[X] * count)


NUMPYS = sorted(
    name
    for name in dir(np)
    if isinstance(getattr(np, name), np.ufunc) or type(getattr(np, name)).__name__ == "_ArrayFunctionDispatcher"
)


@pytest.mark.parametrize("name", NUMPYS)
def test_every_function_of_numpys_is_what_it_is_there_or_refused(name: str) -> None:
    for count in range(1, getattr(getattr(np, name), "nin", 3) + 1):
        given = (X, Y, Z)[:count]
        try:
            found = computed(getattr(np, name), *given)
        except KernelError as error:
            assert str(error).startswith("test_functions.py:"), error
            told = (
                f"np.{name} has no meaning for values of a kernel; ",
                f"np.{getattr(np, name).__name__} has no",
                "f32",
            )
            assert any(words in str(error) for words in told) or "TypeError" in str(error), error
        else:
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(found, getattr(np, name)(*given), rtol=1e-5)


def test_arrays_of_values_are_numpys() -> None:
    def function(x, y):
        return np.sum([x, y]) + np.array([x, 1.0]).dot(np.array([2.0, y]))

    np.testing.assert_allclose(computed(function, X, Y), X + Y + 2 * X + Y, rtol=1e-5)


def test_ids_are_listed_and_slips_corrected() -> None:
    assert {"thread", "lane", "subgroup", "subgroup_size", "arctan2"} <= set(dir(gpu))
    for slip, right in (("clamp", "clip"), ("atan2", "arctan2"), ("inverseSqrt", "rsqrt"), ("threads", "thread")):
        with pytest.raises(AttributeError, match=f"has no attribute '{slip}'; is it '{right}'?"):
            getattr(gpu, slip)
    with pytest.raises(AttributeError, match=r"has no attribute 'sigmoids'; is it 'sigmoid'\?"):
        ops.sigmoids  # noqa: B018
    assert issubclass(gpu.Expr, Expr)


def test_python_knows_the_same_values() -> None:
    for name in ("erf", "expm1", "log1p", "cbrt", "asinh", "atanh", "degrees", "log10", "exp2", "acosh"):
        x = np.linspace(1.0, 1.5, 9) if name == "acosh" else np.linspace(0.001, 0.9, 9)
        want = [getattr(math, name)(float(v)) for v in x]
        np.testing.assert_allclose(getattr(ops, name)(x).numpy(), want, rtol=1e-13)


def function_table() -> str:
    """The table of docs/kernels/functions.md."""
    lines = ["| in a kernel | what it gives | WGSL | as exact as |", "|---|---|---|---|"]
    for row in sorted(IN_KERNELS.values(), key=lambda f: f.in_kernels):
        if row.python and not row.ir:
            continue
        law = row.law[:-1].replace("|", r"\|")
        made = f"`{spelling(row.ir)}`" if row.ir else "-"
        accuracy = row.accuracy.replace("|", r"\|") if row.ir else "the parts it is made of"
        lines.append(f"| `gpu.{row.in_kernels}` | {law} | {made} | {accuracy} |")
    return "\n".join(lines)


def test_the_docs_list_the_table(request: pytest.FixtureRequest) -> None:
    page = Path(__file__).parents[2] / "docs" / "kernels" / "functions.md"
    text = page.read_text()
    begin, end = "<!-- functions: begin -->\n", "\n<!-- functions: end -->"
    if request.config.getoption("--update-golden"):
        page.write_text(re.sub(f"(?s){begin}.*?{end.strip()}", lambda _: begin + function_table() + end, text))
        return
    assert f"{begin}{function_table()}{end}" in text


def test_special_values_are_special() -> None:
    assert np.isnan(SPECIAL).any() and np.isinf(SPECIAL).sum() == 2 and np.signbit(SPECIAL[SPECIAL == 0]).any()
