"""What is computed by NumPy, by the interpreter and by a device is alike: types, shapes, elements, refusals."""

from collections.abc import Callable

import numpy as np
import pytest
from ops.operands import random_values
from ops.same_calls import HOST_TYPES, differences
from shares import share

from cutepy import gpu, ops
from cutepy.errors import TensorError
from cutepy.tensor import bool_, f16, f32, i32, rules, u32


def test_the_same_calls_give_the_same() -> None:
    found = [line for seed in share(range(150)) for line in differences(seed, ["interpreter"])]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("met", "expected"),
    [
        ((bool_, bool_), bool_), ((bool_, i32), i32), ((bool_, u32), u32), ((bool_, f16), f16),
        ((i32, f16), f16), ((u32, f32), f32), ((f16, f32), f32), ((i32, 3), i32), ((u32, 3), u32),
        ((f16, 3), f16), ((f16, 2.5), f16), ((i32, 2.5), f32), ((bool_, 3), i32), ((bool_, 2.5), f32),
        ((bool_, True), bool_), ((u32, True), u32), ((3,), i32), ((2.5, 3), f32), ((True,), bool_),
        ((u32, f32, -3), f32), ((u32, rules.WeakNumber("f")), f32), ((f16, 2**40), f16),
    ],
)  # fmt: skip
def test_result_types(met: tuple[rules.Typed, ...], expected: object) -> None:
    assert rules.result_type("add", *met) is expected
    assert rules.result_type("add", *met[::-1]) is expected


def both(call: str, formula: str, *operands: object) -> list[Callable[[], object]]:
    return [lambda: getattr(ops, call)(*operands), lambda: gpu.pointwise(formula)(*operands, engine="interpreter")]


@pytest.mark.parametrize(
    ("call", "formula", "operands", "message"),
    [
        ("add", "a + b", (np.uint32([1]), -3), "add: -3 is out of range for u32, which holds 0 to 4294967295"),
        ("add", "a + b", (np.uint32([1]), 2**33), "add: 8589934592 is out of range for u32"),
        ("mul", "a * b", (np.int32([1]), -(2**31) - 1), "mul: -2147483649 is out of range for i32"),
        ("mul", "a * b", (np.float32([1]), 10**400), "mul: an integer of 1329 bits is out of range for f32"),
        ("add", "a + b", (np.int32([1]), np.uint32(3)), "add: i32 and u32 do not mix, neither holds the other"),
        ("sub", "a - b", (np.ones(2, bool), np.ones(2, bool)), "sub: it is not defined on bool"),
        ("bitwise_and", "a & b", (np.ones(2, "f4"), 1), "bitwise_and: it is not defined on f32, but on bool, signed"),
        ("pow", "a ** b", (np.ones(2, "i4"), -1), "an integer to a negative power is none; convert the base to f32"),
    ],
)
def test_refused_alike(call: str, formula: str, operands: tuple[object, ...], message: str) -> None:
    for run in both(call, formula, *operands):
        with pytest.raises(TensorError, match=message):
            run()


@pytest.mark.parametrize(
    ("call", "formula", "operands", "dtype"),
    [
        ("mul", "a * b", (np.float16([1]), np.float32(2.5)), "float32"),
        ("mul", "a * b", (np.float16([1]), 2.5), "float16"),
        ("add", "a + b", (np.ones(2, bool), 3), "int32"),
        ("div", "a / b", (np.int32([1]), 2), "float32"),
        ("sqrt", "sqrt(a)", (np.uint32([9]),), "float32"),
        ("lt", "a < b", (np.uint32([9]), 2.5), "bool"),
    ],
)
def test_types_alike(call: str, formula: str, operands: tuple[object, ...], dtype: str) -> None:
    first, second = (run().numpy() for run in both(call, formula, *operands))  # type: ignore[attr-defined]
    assert first.dtype == second.dtype == dtype and np.array_equal(first, second)


def test_sums_alike() -> None:
    for x, dtype in ((np.ones(3, np.float16), "float16"), (np.ones(3, bool), "int32"), ([1, 2, 3], "int32")):
        assert ops.sum(x).numpy().dtype == ops.sum(x, engine="interpreter").numpy().dtype == dtype
        assert ops.sum(x).numpy() == ops.sum(x, engine="interpreter").numpy()
    means = [ops.mean(np.ones(3, bool), engine=engine).numpy() for engine in ("numpy", "interpreter")]
    assert means[0] == means[1] == np.float32(1)


@pytest.mark.parametrize("name", HOST_TYPES)
def test_types_that_only_the_host_has(name: str) -> None:
    x = random_values(np.random.default_rng(1), (5, 6), name)
    wide = {"float64": "float64", "int64": "float64", "uint64": "float64", "complex64": "complex64"}
    fraction = wide.get(name, "complex128" if name == "complex128" else "float32")
    total = name if x.dtype.itemsize >= 4 else "uint32" if x.dtype.kind == "u" else "int32"
    found = {
        "twice": (ops.add(x, x), x + x),
        "three": (ops.mul(x, 3), x * x.dtype.type(3)),
        "half": (ops.div(x, 2), x.astype(fraction) / np.dtype(fraction).type(2)),
        "root": (ops.exp(ops.minimum(x, 2) if x.dtype.kind in "iuf" else x), None),
        "sum": (ops.sum(x, 0), x.sum(0, dtype=total)),
        "mean": (ops.mean(x, 1), x.mean(1, dtype=np.complex128 if x.dtype.kind == "c" else None).astype(fraction)),
        "matmul": (ops.matmul(x, x.T), x @ x.T),
    }
    for call, (got, expected) in found.items():
        assert got.numpy().dtype == (fraction if expected is None else expected.dtype), call
        if expected is not None:
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, err_msg=call)
    with pytest.raises(TensorError, match="no such element type on a GPU"):
        ops.sum(x, engine="interpreter")
    with pytest.raises(TensorError, match="no such element type on a GPU"):
        gpu.pointwise("a + b")(np.float32([1]), x.dtype.type(1), engine="interpreter")
