"""Numbers as arguments: a Python number takes the type it meets, a NumPy scalar and an annotated one have theirs."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.ir import Param
from cutepy.tensor import make_tensor
from cutepy.tensor.algorithms import axpby

TYPES = ("f2", "f4", "i4", "u4")


@gpu.kernel
def saxpy(a, x, y):
    gpu.launch(threads=64)
    y[gpu.thread] = a * x[gpu.thread] + y[gpu.thread]


def params_of(kernel: gpu.KernelFunction, *arguments: object) -> list[tuple[str, str]]:
    return [(p.name, p.dtype.name) for p in kernel.ir(*arguments).params]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("a", [2, -5, 2.0, -0.5])
def test_a_number_takes_the_type_it_meets(dtype: str, a: float) -> None:
    x, y = np.arange(64).astype(dtype), np.ones(64, dtype)
    if x.dtype.kind != "f" and isinstance(a, float):
        with pytest.raises(KernelError, match=r"\* of f32 and [iu]32; convert one with gpu\.cast"):
            saxpy.interpret(a, x, y)
        return
    if dtype == "u4" and a < 0:
        with pytest.raises(KernelError, match=r"argument a is -5, which u32 does not hold, the type that it meets"):
            saxpy.interpret(a, x, y)
        return
    saxpy.interpret(a, x, y)
    assert y.tolist() == (a * np.arange(64) + 1).tolist()


def test_its_type_does_not_hang_on_its_value() -> None:
    x, y = np.ones(64, np.float32), np.ones(64, np.float32)
    assert saxpy.ir(2, x, y) is saxpy.ir(-2, x, y) is saxpy.ir(10**9, x, y)
    assert params_of(saxpy, 2, x, y) == [("a", "f32")]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("scalar", TYPES)
def test_a_numpy_scalar_inside_a_kernel_keeps_its_type(dtype: str, scalar: str) -> None:
    """As two tensors of these types meet, whichever stands first and however the operation is written."""
    number = np.dtype(scalar).type(3)

    @gpu.kernel
    def product(x, y, *, way):
        gpu.launch(threads=64)
        v = x[gpu.thread]
        both = {"right": lambda: v * number, "left": lambda: number * v, "numpy": lambda: np.multiply(v, number)}
        both["function"] = lambda: gpu.maximum(v, number)
        y[gpu.thread] = gpu.cast(both[way]() + 0, "f32")

    @gpu.kernel
    def added(n, x, y):
        gpu.launch(threads=64)
        y[gpu.thread] = gpu.cast((n + number) * x[gpu.thread], "f32")

    x, y = np.arange(64).astype(dtype), np.zeros(64, np.float32)
    for way in ("right", "left", "numpy", "function"):
        if dtype[0] != scalar[0]:
            with pytest.raises(KernelError, match=r"convert (one )?with gpu\.cast"):
                product.interpret(x, y, way=way)
        else:
            product.interpret(x, y, way=way)
            want = np.maximum(x, number) if way == "function" else x * number
            np.testing.assert_array_equal(y, want.astype(np.float32))
    if dtype[0] == scalar[0]:
        added.interpret(1, x, y)
        np.testing.assert_array_equal(y, 4 * x)


BESIDE = {"below": -1, "far below": -(2**31) - 1, "beyond i32": 2**31, "beyond u32": 2**32}
WHERE = {
    "<": lambda v, n: gpu.select(v < n, 1, 0), "> from the left": lambda v, n: gpu.select(n > v, 1, 0),
    "==": lambda v, n: gpu.select(v == n, 1, 0), "//": lambda v, n: v // n, "%": lambda v, n: v % n,
    ">> from the left": lambda v, n: n >> v, "maximum": gpu.maximum, "np.minimum": np.minimum,
    "clip": lambda v, n: np.clip(v, n, 3), "select": lambda v, n: gpu.select(v > 3, n, v),
    "if": lambda v, n: n if v > 3 else v, "store": lambda v, n: n,
    "+": lambda v, n: v + n, "-": lambda v, n: n - v, "*": lambda v, n: v * n, "&": lambda v, n: v & n,
    "^": lambda v, n: v ^ n, "| from the left": lambda v, n: n | v, "<<": lambda v, n: n << v,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
@pytest.mark.parametrize("number", BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("how", WHERE)
def test_a_literal_that_the_type_does_not_hold_is_refused_where_it_would_tell(
    how: str, number: int, dtype: str
) -> None:
    """What is right modulo 2^32 takes any; of the rest none is silently another number."""

    @gpu.kernel
    def met(x, y, *, number):
        gpu.launch(threads=64)
        y[gpu.thread] = WHERE[how](x[gpu.thread], number)

    limits, x = np.iinfo(dtype), np.arange(64).astype(dtype)
    y = np.zeros(64, dtype)
    wraps = how[0] in "+-*&^|" or how == "<<"
    if wraps or limits.min <= number <= limits.max:
        met.interpret(x, y, number=number)
        if wraps:
            plain = {"+": x.astype(int) + number, "-": number - x.astype(int), "*": x.astype(int) * number}
            plain |= {"&": x.astype(int) & number, "^": x.astype(int) ^ number, "|": number | x.astype(int)}
            wanted = plain.get(how[0], np.array([number << int(v) % 32 for v in x], object) % 2**32)
            np.testing.assert_array_equal(y.astype(int) % 2**32, wanted.astype(int) % 2**32)
    else:
        with pytest.raises(KernelError, match=rf"test_numbers\.py:\d+: .*{'' if how == 'if' else number}"):
            met.interpret(x, y, number=number)


@pytest.mark.parametrize("update", ["add", "sub", "and", "or", "xor", "min", "max", "exchange", "store"])
def test_an_atomic_takes_the_literals_that_its_operator_takes(update: str) -> None:
    @gpu.kernel
    def counted(y):
        gpu.launch(threads=1)
        getattr(gpu, f"atomic_{update}")(y, 0, -1)

    y = np.array([5], np.uint32)
    if update in ("min", "max", "exchange", "store"):
        with pytest.raises(KernelError, match="-1 meets a u32 value, which holds 0 to 4294967295"):
            counted.interpret(y)
    else:
        counted.interpret(y)
        assert y[0] == {"add": 4, "sub": 6, "and": 5, "or": 2**32 - 1, "xor": 2**32 - 6}[update]


def test_a_choice_of_literals_meets_as_a_literal_does() -> None:
    @gpu.kernel
    def stepped(x, y):
        gpu.launch(threads=64)
        t = gpu.thread
        step = gpu.select(x[t] > 3, 1, -1)
        y[t] = gpu.cast(t + 1 + step, "f32") + gpu.cast((step - 1) // 2, "f32")

    @gpu.kernel
    def compared(x, y):
        gpu.launch(threads=64)
        y[gpu.thread] = gpu.select(gpu.thread > gpu.select(x[gpu.thread] > 3, 1, -1), 1.0, 0.0)

    x, y = np.arange(64, dtype=np.float32) % 7, np.zeros(64, np.float32)
    stepped.interpret(x, y)
    step = np.where(x > 3, 1, -1)
    np.testing.assert_array_equal(y, np.arange(64) + 1 + step + (step - 1) // 2)
    with pytest.raises(KernelError, match="may lie below 0 meets a u32 value"):
        compared.interpret(x, y)


SCALARS = {np.float16: "f16", np.float32: "f32", np.int32: "i32", np.uint32: "u32"}


@pytest.mark.parametrize("scalar", SCALARS)
def test_a_numpy_scalar_keeps_its_type(scalar: type) -> None:
    @gpu.kernel
    def doubled(a, y):
        gpu.launch(threads=64)
        y[gpu.thread] = gpu.cast(a + a, "f32")

    y = np.zeros(64, np.float32)
    doubled.interpret(scalar(3), y)
    assert y[0] == 6 and params_of(doubled, scalar(3), y) == [("a", SCALARS[scalar])]


def test_a_half_is_a_half() -> None:
    @gpu.kernel
    def halves(a, y):
        gpu.launch(threads=64)
        y[gpu.thread] = a

    y = np.zeros(64, np.float32)
    halves.interpret(np.float16(0.1), y)
    assert y[0] == np.float32(np.float16(0.1))
    text = halves.wgsl(np.float16(0.1), y)
    assert "a: f32," in text and "f16(params.a)" in text and "enable f16;" in text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.float64(1.0), r"a GPU has no numbers of type float64; give it a type by np\.float32, or write float\(a\)"),
        (np.int64(1), r"no numbers of type int64; give it a type by np\.int32 or np\.uint32, or write int\(a\)"),
        (np.uint8(1), r"no numbers of type uint8"),
        (True, "argument a is a bool; make it keyword-only"),
        (np.bool_(True), "argument a is a bool; make it keyword-only"),
        (10**40, r"argument a is 1000.*, which f32 does not hold, the type that it meets"),
        (1e300, "argument a is 1e.300, which f32 does not hold"),
    ],
)
def test_numbers_that_are_refused(value: object, message: str) -> None:
    with pytest.raises(KernelError, match=rf"test_numbers\.py:\d+: saxpy: .*{message}"):
        saxpy.interpret(value, np.ones(64, np.float32), np.ones(64, np.float32))


def test_an_annotation_is_a_type() -> None:
    @gpu.kernel
    def annotated(a: "f32", n: np.int32, s: "np.uint32", w: int, y):  # noqa: F821  a name of cutepy's, not of Python's
        gpu.launch(threads=64)
        y[gpu.thread] = a + gpu.cast(n, "f32") + gpu.cast(s, "f32") + w

    y = np.zeros(64, np.float32)
    annotated.interpret(1, -2, 3, 4, y)
    assert y[0] == 6
    assert params_of(annotated, 1, -2, 3, 4, y) == [("a", "f32"), ("n", "i32"), ("s", "u32"), ("w", "f32")]
    with pytest.raises(KernelError, match=r"argument n is 1\.5, and annotated as i32; give a whole number"):
        annotated.interpret(1, 1.5, 3, 4, y)
    with pytest.raises(KernelError, match="argument s is -1, which u32 does not hold"):
        annotated.interpret(1, 1, -1, 4, y)


def test_one_number_meets_two_types() -> None:
    @gpu.kernel
    def both(a, x, k):
        gpu.launch(threads=64)
        x[gpu.thread] = x[gpu.thread] * a
        k[gpu.thread] = k[gpu.thread] - a

    x, k = np.ones(64, np.float32), np.zeros(64, np.int32)
    both.interpret(3, x, k)
    assert (x[0], k[0]) == (3, -3) and params_of(both, 3, x, k) == [("a", "f32"), ("a", "i32")]
    text = both.wgsl(3, x, k)
    assert "a: f32," in text and "a_1: i32," in text
    assert [p.type for p in both.program(3, x, k).params] == ["f32", "i32"]


def test_a_number_that_nothing_uses_is_no_parameter() -> None:
    @gpu.kernel
    def unused(a, y):
        gpu.launch(threads=64)
        y[gpu.thread] = 1.0

    assert params_of(unused, 3, np.zeros(64, np.float32)) == []


def test_numbers_in_loops_conditions_and_indices_are_u32() -> None:
    @gpu.kernel
    def counted(n, x, y):
        gpu.launch(threads=64)
        with gpu.when(gpu.thread == 0):
            for k in gpu.loop(n):
                y[k] = x[n - 1]
        with gpu.when(n < 2):
            y[n] = 9.0

    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    counted.interpret(3, x, y)
    assert y[:5].tolist() == [2, 2, 2, 0, 0]
    counted.interpret(1, x, y)
    assert y[:3].tolist() == [0, 9, 2]


def test_a_difference_may_be_negative() -> None:
    @gpu.kernel
    def signs(n, y):
        gpu.launch(threads=64)
        y[gpu.thread] = gpu.select(n - 5 < 0, 1, 2) + 10 * gpu.select(-n > -3, 1, 2) + y[gpu.thread]

    y = np.zeros(64, np.int32)
    signs.interpret(3, y)
    assert y[0] == 21
    signs.interpret(7, y)
    assert y[0] == 21 + 22


def test_whole_numbers_in_functions_of_fractions() -> None:
    @gpu.kernel
    def mixed(n, x):
        gpu.launch(threads=64)
        x[gpu.thread] = gpu.exp(n) + n / 2 + gpu.maximum(n, x[gpu.thread]) + n**2 + 2.0**n + n * 0.5

    x = np.zeros(64, np.float32)
    mixed.interpret(3, x)
    assert abs(x[0] - (np.exp(3) + 1.5 + 3 + 9 + 8 + 1.5)) < 1e-4


def test_axpby_with_whole_numbers() -> None:
    @gpu.kernel
    def scaled(a, x, y):
        gpu.launch(threads=1)
        axpby(a, x, 1, y)

    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    scaled.interpret(2, x, y)
    assert y.tolist() == [2.0 * i + 1 for i in range(8)]


# The law: what is computed from weak numbers in one type is what NumPy computes in it.

OPERATORS: dict[str, Callable[[object, object], object]] = {
    "+": lambda a, b: a + b,  # type: ignore[operator]
    "-": lambda a, b: a - b,  # type: ignore[operator]
    "*": lambda a, b: a * b,  # type: ignore[operator]
    "max": lambda a, b: gpu.maximum(a, b),
    "select": lambda a, b: gpu.select(a < b, a, b),  # type: ignore[operator]
}
LEAVES = st.sampled_from(["a", "b", "c"]) | st.integers(-20, 20)
TREES = st.recursive(LEAVES, lambda t: st.tuples(st.sampled_from(sorted(OPERATORS)), t, t), max_leaves=6)


def value_of(tree: object, names: dict[str, object]) -> object:
    if isinstance(tree, tuple):
        return OPERATORS[tree[0]](value_of(tree[1], names), value_of(tree[2], names))
    return names[tree] if isinstance(tree, str) else tree


def by_numpy(tree: object, names: dict[str, np.ndarray], dtype: str) -> np.ndarray:
    if not isinstance(tree, tuple):
        return names[tree] if isinstance(tree, str) else np.int64(tree).astype(dtype)
    one, two = by_numpy(tree[1], names, dtype), by_numpy(tree[2], names, dtype)
    if tree[0] in OPERATORS and tree[0] in "+-*":
        return {"+": np.add, "-": np.subtract, "*": np.multiply}[tree[0]](one, two)
    return np.maximum(one, two) if tree[0] == "max" else np.where(one < two, one, two)


def names_in(tree: object) -> set[str]:
    parts = tree[1:] if isinstance(tree, tuple) else ()
    return {tree} if isinstance(tree, str) else set().union(*map(names_in, parts))


@settings(max_examples=150)
@given(tree=TREES.filter(names_in), numbers=st.tuples(*[st.integers(0, 50)] * 3), dtype=st.sampled_from(["f4", "i4"]))
def test_weak_expressions_are_those_of_the_type_they_meet(tree: object, numbers: tuple[int, ...], dtype: str) -> None:
    def body(a, b, c, y):
        gpu.launch(threads=4)
        y[gpu.thread] = value_of(tree, {"a": a, "b": b, "c": c})

    y = np.zeros(4, dtype)
    gpu.kernel(body).interpret(*numbers, y)
    with np.errstate(all="ignore"):
        want = by_numpy(tree, {n: np.array(v, dtype) for n, v in zip("abc", numbers, strict=True)}, dtype)
    assert y[0] == want, (tree, numbers)


# Tensors in tuples, and behind a star.


def test_tuples_and_lists_of_tensors() -> None:
    @gpu.kernel
    def added(xs, y):
        gpu.launch(threads=64)
        (first, scale), rest = xs
        y[gpu.thread] = scale * first[gpu.thread] + sum(r[gpu.thread] for r in rest)

    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    added.interpret(((x, 2), [x.copy(), x + 1]), y)
    assert y.tolist() == [4.0 * i + 1 for i in range(64)]
    text = added.wgsl(((x, 2), [x.copy(), x + 1]), y)
    assert "xs_0_0: array" in text and "xs_1_1: array" in text and "params.xs_0_1" in text
    added.interpret(((x, 1), [x]), y)
    assert y.tolist() == [2.0 * i for i in range(64)], "another form: traced anew, one memory bound once"


def test_star_arguments() -> None:
    @gpu.kernel
    def total(out, *xs, **options):
        gpu.launch(threads=64)
        out[gpu.thread] = options["scale"] * sum(x[gpu.thread] for x in xs)

    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    for n in (1, 2, 3):
        total.interpret(out, *[x + i for i in range(n)], scale=2.0)
        assert out[1] == 2 * sum(1 + i for i in range(n))


def test_names_of_parts_do_not_collide() -> None:
    @gpu.kernel
    def clash(x_0, x, y):
        gpu.launch(threads=4)
        y[gpu.thread] = x_0 - x[0]

    y = np.zeros(4, np.int32)
    clash.interpret(5, (3,), y)
    assert y[0] == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, 2.0], r"argument x is a list of numbers; write np\.array\(x, np\.float32\)"),
        (np.zeros(64), r"dtype .*float64.* no such element type .*\.astype\(np\.float32\)"),
        (np.zeros(64, np.int64), r"int64.* no such element type .*\.astype\(np\.int32\)"),
        (np.zeros(64, np.uint64), r"uint64.* no such element type .*\.astype\(np\.uint32\)"),
        (None, "argument x: a view of NoneType"),
    ],
)
def test_arguments_that_are_no_tensors_say_what_to_write(value: object, message: str) -> None:
    @gpu.kernel
    def taken(x):
        gpu.launch(threads=64)
        x[gpu.thread] = 1

    with pytest.raises(KernelError, match=rf"test_numbers\.py:\d+: taken: .*{message}"):
        taken.interpret(value)


def test_params_are_leaves_of_the_ir() -> None:
    x = make_tensor(np.zeros(64, np.float32))
    assert all(type(p) is Param for p in saxpy.ir(1, x, x).params)
