"""Pointwise operations against NumPy: 200 random operands each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ops.operands import ALL, FLOATS, NUMBERS, random_array, random_operand, random_sizes, same, stretched

from cutepy import gpu, ops
from cutepy.errors import KernelError, TensorError
from cutepy.layout import Layout
from cutepy.tensor import Tensor, make_tensor

CASES = 200
ULP = {"float32": 3e-7, "float16": 1.1e-3}

FLOATING = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log1p": np.log1p,
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "reciprocal": np.reciprocal,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip
EXACT = {
    "abs": np.abs, "neg": np.negative, "sign": np.sign, "square": np.square, "floor": np.floor, "ceil": np.ceil,
    "round": np.rint, "trunc": np.trunc,
}  # fmt: skip
TESTS = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "logical_not": np.logical_not}
ARITHMETIC = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "minimum": np.minimum,
    "maximum": np.maximum, "pow": np.power, "atan2": np.arctan2, "mod": np.remainder, "floordiv": np.floor_divide,
}  # fmt: skip
COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or,
}  # fmt: skip


def working(array: np.ndarray, dtype: str = "") -> np.ndarray:
    """The array in the type in which it is computed."""
    dtype = dtype or array.dtype.name
    return array.astype("float32" if dtype == "float16" else dtype)


@pytest.mark.parametrize("name", FLOATING)
def test_floating(name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    for _case in range(CASES):
        operand, array = random_operand(rng, random_sizes(rng), rng.choice(NUMBERS))
        result = array.dtype.name if array.dtype.kind == "f" else "float32"
        with np.errstate(all="ignore"):
            expected = np.asarray(FLOATING[name](working(array, result))).astype(result)
        assert same(getattr(ops, name)(operand).numpy(), expected, relative=4 * ULP[result]), (array, expected)


@pytest.mark.parametrize("name", EXACT)
def test_exact(name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    for _case in range(CASES):
        operand, array = random_operand(rng, random_sizes(rng), rng.choice(NUMBERS))
        whole = array.dtype.kind in "iu" and name in ("floor", "ceil", "round", "trunc")
        with np.errstate(all="ignore"):
            expected = array if whole else np.asarray(EXACT[name](working(array))).astype(array.dtype)
        assert same(getattr(ops, name)(operand).numpy(), expected)


@pytest.mark.parametrize("name", TESTS)
def test_tests(name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    for _case in range(CASES):
        operand, array = random_operand(rng, random_sizes(rng), rng.choice(ALL))
        assert same(getattr(ops, name)(operand).numpy(), np.asarray(TESTS[name](array)))


def paired(rng: np.random.Generator, kinds: tuple[str, ...]) -> tuple[list[object], list[np.ndarray], str]:
    """Two operands that broadcast, one now and then a Python number, and the type of the result."""
    shape = random_sizes(rng)
    one, other = rng.choice(kinds), rng.choice(kinds)
    while {one, other} == {"int32", "uint32"}:
        other = rng.choice(kinds)
    order = ["bool", "int32", "uint32", "float16", "float32"]
    result = max(one, other, key=order.index)
    operands, arrays = zip(*(random_operand(rng, stretched(rng, shape), dtype) for dtype in (one, other)), strict=True)
    if rng.random() < 0.25:
        number = float(rng.normal()) if np.dtype(one).kind == "f" else int(rng.integers(0, 9))
        result = "int32" if one == "bool" else one
        return [operands[0], number], [arrays[0], np.asarray(number)], result
    return list(operands), list(arrays), result


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    refused_for_bool = name in ("sub", "mod", "floordiv", "pow")
    for _case in range(CASES):
        operands, arrays, result = paired(rng, NUMBERS if refused_for_bool else ALL)
        if name in ("div", "atan2") and np.dtype(result).kind != "f":
            result = "float32"
        if name == "pow" and np.dtype(result).kind in "iu":
            operands[1] = arrays[1] = np.abs(arrays[1]).astype(result) % 5
        values = [working(array, result) for array in arrays]
        with np.errstate(all="ignore"):
            expected = np.asarray(ARITHMETIC[name](*values)).astype(result)
        close = 4 * ULP.get(result, 0) if name in ("pow", "atan2", "mod") else 0
        found = getattr(ops, name)(*operands).numpy()
        assert same(found, expected, relative=close), (operands, found, expected)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    for _case in range(CASES):
        operands, arrays, result = paired(rng, ALL)
        values = [working(array, result) for array in arrays]
        assert same(getattr(ops, name)(*operands).numpy(), np.asarray(COMPARISONS[name](*values)))


def test_where() -> None:
    rng = np.random.default_rng(1)
    for _case in range(CASES):
        operands, arrays, result = paired(rng, ALL)
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        condition, chosen = random_operand(rng, stretched(rng, shape), rng.choice(["bool", "int32"]))
        with np.errstate(all="ignore"):
            expected = np.where(chosen.astype(bool), *(array.astype(result) for array in arrays))
        assert same(ops.where(condition, *operands).numpy(), expected)


def test_fma_rounds_f16_once() -> None:
    rng = np.random.default_rng(2)
    for _case in range(CASES):
        shape, dtype = random_sizes(rng), rng.choice(FLOATS)
        (x, a), (y, b), (z, c) = (random_operand(rng, stretched(rng, shape), dtype) for _operand in range(3))
        with np.errstate(all="ignore"):
            expected = np.asarray(working(a) * working(b) + working(c)).astype(dtype)
        assert same(ops.fma(x, y, z).numpy(), expected)


def test_astype() -> None:
    rng = np.random.default_rng(3)
    for _case in range(CASES):
        operand, array = random_operand(rng, random_sizes(rng), rng.choice(ALL))
        wanted = rng.choice(ALL)
        if array.dtype.kind == "f" and np.dtype(wanted).kind in "iu":
            continue  # what is out of range is the machine's business
        with np.errstate(all="ignore"):
            assert same(ops.astype(operand, wanted).numpy(), array.astype(wanted))


def test_nested_modes_stay_nested() -> None:
    tensor = make_tensor(np.arange(24, dtype=np.float32), ((2, 3), 4), ((1, 8), 2))
    found = ops.add(tensor, tensor)
    assert found.shape == ((2, 3), 4) and all(found[i] == 2 * tensor[i] for i in range(24))
    assert ops.add(tensor, 1).shape == ((2, 3), 4) and ops.exp(tensor).shape == ((2, 3), 4)
    assert ops.add(tensor, np.zeros(4, np.float32)).shape == (6, 4)


def test_swizzled_and_computed_operands() -> None:
    from cutepy.layout import ComposedLayout, Swizzle
    from cutepy.tensor import make_counting_tensor, make_identity_tensor

    swizzled = make_tensor(np.arange(32, dtype=np.float32), ComposedLayout(Swizzle(2, 0, 3), 0, Layout((8, 4))))
    assert (ops.neg(swizzled).numpy() == -swizzled.numpy()).all()
    counted = make_counting_tensor(Layout((4, 5), (5, 1)))
    assert (ops.mul(counted, 2).numpy() == 2 * np.arange(20).reshape(4, 5)).all()
    assert make_identity_tensor((2, 3)).numpy()[1, 2].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ops.add(np.zeros((2, 3), np.float32), np.zeros((4, 3), np.float32)),
            r"axis -2 has the sizes \[2, 4\]",
        ),
        (lambda: ops.add(np.zeros(2, np.int32), np.zeros(2, np.uint32)), "i32 and u32 do not mix"),
        (lambda: ops.add(np.zeros(2, np.int32), 2**40), "out of range for i32"),
        (lambda: ops.add(np.zeros(2, np.uint32), -1), "out of range for u32"),
        (lambda: ops.exp(np.zeros(2, "datetime64[s]")), "no such element type"),
        (lambda: ops.floor(np.zeros(2, np.complex64)), "floor: it is not defined on c64"),
        (lambda: ops.astype(np.zeros(2, np.complex64), "f32"), "loses the imaginary part"),
        (lambda: ops.exp("text"), "no buffer, __array_interface__ or DLPack"),
        (lambda: ops.pow(np.ones(2, np.int32), -1), "an integer to a negative power"),
        (lambda: ops.neg(np.ones(2, bool)), "neg: it is not defined on bool, but on signed integers"),
        (lambda: ops.sub(np.ones(2, bool), np.ones(2, bool)), "sub: it is not defined on bool"),
        (lambda: ops.add([2**40], 1), "a number is beyond i32"),
    ],
)
def test_bad_operands(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TensorError, match=message):
        call()


def test_operands_are_not_changed() -> None:
    rng = np.random.default_rng(4)
    array = random_array(rng, (3, 4), "float32").copy()
    before = array.copy()
    ops.maximum(ops.exp(array), ops.sum(array, 0))
    assert np.array_equal(array, before, equal_nan=True)


def test_values_of_a_kernel_follow_the_same_rules() -> None:
    @gpu.kernel
    def smooth(x: Tensor, mask: Tensor, y: Tensor) -> None:
        gpu.launch(threads=8)
        value = ops.mul(ops.sigmoid(x[gpu.thread]), 2)
        y[gpu.thread] = ops.where(mask[gpu.thread], ops.add(mask[gpu.thread], value), ops.astype(value, "f32"))

    x, mask, y = np.arange(-4, 4, dtype=np.int32), np.arange(8) % 3 == 0, np.zeros(8, np.float32)
    smooth.interpret(x, mask, y)
    expected = ops.where(mask, ops.add(mask, ops.mul(ops.sigmoid(x), 2)), ops.mul(ops.sigmoid(x), 2))
    np.testing.assert_allclose(y, expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
def test_conversions_inside_a_kernel(dtype: str) -> None:
    @gpu.kernel
    def whole(x: Tensor, y: Tensor, z: Tensor) -> None:
        gpu.launch(threads=5)
        y[gpu.thread], z[gpu.thread] = ops.astype(x[gpu.thread], "i32"), ops.astype(x[gpu.thread], "bool")

    x, y, z = np.array([1.75, -2.5, np.nan, 0, 300], dtype), np.zeros(5, np.int32), np.zeros(5, bool)
    whole.interpret(x, y, z)
    assert y.tolist() == ops.astype(x, "i32").numpy().tolist() == [1, -2, 0, 0, 300]
    assert z.tolist() == [True, True, True, False, True]


@pytest.mark.parametrize("call", [ops.exp, ops.sum, ops.softmax, lambda t: ops.matmul(t, t)])
def test_tensors_of_a_kernel_say_what_to_use(call: Callable[[object], object]) -> None:
    @gpu.kernel
    def wrong(x: Tensor, y: Tensor) -> None:
        gpu.launch(threads=4)
        call(x)

    with pytest.raises(KernelError, match=r"transform\(x, out, op=...\)"):
        wrong.interpret(np.zeros(4, np.float32), np.zeros(4, np.float32))


def test_numbers_of_calls_at_new_sizes(home: Any) -> None:
    """A number beside a tensor is that of the call, at each size, as Python has it and as NumPy does."""
    for count in (7, 9, 11, 5):
        whole = np.arange(count, dtype=np.int32) - 3
        x, y = home(whole), home(whole.astype(np.float32))
        for number in (0, 5, -2, np.int32(3)):
            assert np.array_equal(ops.ne(x, number).numpy(), whole != number)
            assert np.array_equal(ops.maximum(x, number).numpy(), np.maximum(whole, number))
        for number in (0, 0.5, np.float32(0.1)):
            assert np.array_equal(ops.mul(y, number).numpy(), whole.astype(np.float32) * np.float32(number))
