"""Integers in a kernel are Python's, wrapped: every operator, any divisor and amount, loops as `range` has them."""

from collections.abc import Callable

import numpy as np
import pytest
from integer_kernels import Case, cases
from shares import share

from cutepy import ceil_div, gpu
from cutepy.errors import KernelError


def interpreted(case: Case) -> list[np.ndarray] | None:
    """The arrays after the interpreter; None where a shift by a negative constant is refused."""
    arrays = [a.copy() for a in case.arrays]
    try:
        case.kernel.interpret(*arrays, **case.static)
    except KernelError as error:
        assert "shift the other way" in str(error)
        return None
    return arrays


def test_random_kernels_give_what_python_gives() -> None:
    refused = 0
    for seed, case in cases(len(share(range(150)))):
        arrays = interpreted(case)
        if arrays is None:
            refused += 1
            continue
        for got, wanted in zip(arrays, case.expected, strict=True):
            assert np.array_equal(got, wanted), seed
    assert refused < 15


def operand(name: str) -> np.ndarray:
    """64 numbers with the extremes among them: a i32, b i32 and not 0, u u32, s u32 amounts from 0 to 40."""
    g = np.random.default_rng(0)
    a = g.integers(-(2**31), 2**31, 64, dtype=np.int32)
    a[:20] = [*range(-8, 8), -(2**31), 2**31 - 1, -(2**31) + 1, -(2**30)]
    b = g.integers(1, 9, 64, dtype=np.int32)
    b[1::2] *= -1
    u = g.integers(0, 2**32, 64, dtype=np.uint32)
    u[:4] = [0, 1, 2**32 - 1, 2**31]
    return {"a": a, "b": b, "u": u, "s": np.arange(64, dtype=np.uint32) % 41}[name]


#: What a kernel says, on expressions; and on arrays, where NumPy says it otherwise, the same on those.
SAID: dict[str, tuple[Callable[..., object], Callable[..., np.ndarray] | None]] = {
    "a >> 2": (lambda a, b, u, s: a >> 2, None),
    "(a + 1) >> 3": (lambda a, b, u, s: (a + 1) >> 3, None),
    "a >> 31": (lambda a, b, u, s: a >> 31, None),
    "a >> s": (lambda a, b, u, s: a >> s, lambda a, b, u, s: a >> (s % 32).astype(np.int32)),
    "a << s": (lambda a, b, u, s: a << s, lambda a, b, u, s: a << (s % 32).astype(np.int32)),
    "u >> a": (lambda a, b, u, s: u >> a, lambda a, b, u, s: u >> (a & 31).astype(np.uint32)),
    "u << 33": (lambda a, b, u, s: u << 33, lambda a, b, u, s: u << np.uint32(1)),
    "(a << 28) >> 28": (lambda a, b, u, s: (a << 28) >> 28, None),
    "(u >> 24) & 15": (lambda a, b, u, s: (u >> 24) & 15, None),
    "f32((u << 2) >> 20)": (
        lambda a, b, u, s: gpu.cast(gpu.cast((u << 2) >> 20, "f32"), "u32"),
        lambda a, b, u, s: (u << 2) >> 20,
    ),
    "f32(i32(u) >> 28)": (
        lambda a, b, u, s: gpu.cast(gpu.cast(gpu.cast(u, "i32") >> 28, "f32"), "i32"),
        lambda a, b, u, s: u.view(np.int32) >> 28,
    ),
    "-u": (lambda a, b, u, s: -u, None),
    "~a": (lambda a, b, u, s: ~a, None),
    "abs(a)": (lambda a, b, u, s: abs(a), None),
    "a // 4": (lambda a, b, u, s: a // 4, None),
    "a % 4": (lambda a, b, u, s: a % 4, None),
    "a // -3": (lambda a, b, u, s: a // -3, None),
    "a // b": (lambda a, b, u, s: a // b, lambda a, b, u, s: a.astype(np.int64) // b),
    "a % b": (lambda a, b, u, s: a % b, None),
    "a // 0": (lambda a, b, u, s: a // 0, lambda a, b, u, s: a),
    "a % (b - b)": (lambda a, b, u, s: a % (b - b), lambda a, b, u, s: 0 * a),
    "u // (s // 41)": (lambda a, b, u, s: u // (s // 41), lambda a, b, u, s: u),
    "u % (s // 64)": (lambda a, b, u, s: u % (s // 64), lambda a, b, u, s: 0 * u),
    "a // -1": (lambda a, b, u, s: a // -1, lambda a, b, u, s: -a),
    "a & 7 * 2": (lambda a, b, u, s: (a & 7) * 2, None),
    "a ^ -8": (lambda a, b, u, s: a ^ -8, None),
    "a * b - a": (lambda a, b, u, s: a * b - a, None),
    "(a * 4) // 4": (lambda a, b, u, s: (a * 4) // 4, None),
    "(u + 7) // 8 * 8": (lambda a, b, u, s: (u + 7) // 8 * 8, None),
    "(u * u >> 3) % 16": (lambda a, b, u, s: ((u * u) >> 3) % 16, None),
    "(u * 6 + 1) // 3": (lambda a, b, u, s: (u * 6 + 1) // 3, None),
}


@gpu.kernel
def table(a, b, u, s, out, *, name):
    gpu.launch(threads=64)
    t = gpu.thread
    out[t] = gpu.cast(SAID[name][0](a[t], b[t], u[t], s[t]), "u32")


def by_numpy(name: str) -> np.ndarray:
    """What NumPy gives for an entry of the table, as bits."""
    in_kernel, in_numpy = SAID[name]
    with np.errstate(all="ignore"):
        found = (in_numpy or in_kernel)(*map(operand, "abus"))
    return np.asarray(found).astype(np.int64).astype(np.uint32)


@pytest.mark.parametrize("name", SAID)
def test_operators_are_those_of_numpy(name: str) -> None:
    out = np.zeros(64, np.uint32)
    table.interpret(*map(operand, "abus"), out, name=name)
    assert np.array_equal(out, by_numpy(name))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda v: v << -1, "<< by -1; shift the other way, by 1"),
        (lambda v: v >> gpu.constant(-3, "i32"), ">> by -3; shift the other way, by 3"),
        (lambda v: v >> gpu.cast(v, "f32"), ">> by a f32 value; an amount is a whole number"),
    ],
)
def test_amounts_that_are_none_are_refused(wrong: Callable[[object], object], message: str) -> None:
    with pytest.raises(KernelError, match=r"test_integers.py:\d+: ") as caught:
        wrong(gpu.constant(1, "u32"))
    assert message in str(caught.value)


@gpu.kernel
def counting(out, n, *, bounds):
    gpu.launch(threads=1)
    out[15] = 0
    for k in gpu.loop(bounds(n)[1], start=bounds(n)[0], step=bounds(n)[2]):
        out[gpu.cast(out[15], "u32")] = gpu.cast(k, "i32")
        out[15] = out[15] + 1


#: Start, stop and step, of n = 5 that is known on the GPU only; and what they are in Python.
COUNTED: list[tuple[Callable[[object], tuple[object, ...]], range]] = [
    (lambda n: (0, -3, 1), range(0)),
    (lambda n: (-2, 4, 1), range(-2, 4)),
    (lambda n: (-5, -1, 3), range(-5, -1, 3)),
    (lambda n: (0, 4, -1), range(0)),
    (lambda n: (2**32 - 3, 2**32 - 1, 1), range(-3, -1)),
    (lambda n: (0, gpu.cast(n, "i32"), 1), range(5)),
    (lambda n: (-2, gpu.cast(n, "i32") - 3, 1), range(-2, 2)),
    (lambda n: (gpu.cast(n, "i32") - 8, 3, 2), range(-3, 3, 2)),
    (lambda n: (n, -3, 1), range(0)),
    (lambda n: (1, n, n - 3), range(1, 5, 2)),
]


@pytest.mark.parametrize(("bounds", "turns"), COUNTED)
def test_a_loop_counts_as_range_does(bounds: object, turns: range) -> None:
    out = np.zeros(16, np.int32)
    counting.interpret(out, 5, bounds=bounds)
    assert out[: out[15]].tolist() == list(turns)
    counting.wgsl(out, 5, bounds=bounds)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (lambda n: (5, 0, -1), "a loop counts up by 1 or more; turn it round"),
        (lambda n: (n, 0, -1), "a loop counts up by 1 or more; turn it round"),
        (lambda n: (0, 4, 0), "a loop counts up by 1 or more"),
        (lambda n: (gpu.thread, gpu.cast(n, "i32"), 1), "it counts in i32 and in u32; convert one with gpu.cast"),
        (lambda n: (-2, n, 1), "it counts in u32, from 0 to 4294967295; gpu.cast what is known on the GPU"),
        (lambda n: (0, 2**33, 1), "it counts in u32, from 0 to 4294967295"),
        (lambda n: (0, 2**32 - 1, 2**31), "it counts in u32, from 0 to 4294967295"),
        (lambda n: (0, 2.5, 1), "counts with whole numbers, not with 2.5"),
        (lambda n: (0, gpu.cast(n, "f32"), 1), "counts with whole numbers, not with "),
    ],
)
def test_loops_that_do_not_count_are_refused_at_their_line(bounds: object, message: str) -> None:
    with pytest.raises(KernelError, match=r"test_integers.py:\d+: ") as caught:
        counting.ir(np.zeros(16, np.int32), 5, bounds=bounds)
    assert message in str(caught.value)


def test_a_float_becomes_an_integer_of_its_type_within_the_range() -> None:
    @gpu.kernel
    def convert(x, i, u, *, half):
        gpu.launch(threads=8)
        value = gpu.cast(x[gpu.thread], "f16") if half else x[gpu.thread]
        i[gpu.thread], u[gpu.thread] = gpu.cast(value, "i32"), gpu.cast(value, "u32")

    x = np.array([np.inf, -np.inf, np.nan, 3e9, -3e9, -2.7, 2.7, 1e30], np.float32)
    for half, (most, least) in {False: (2**31 - 128, -(2**31)), True: (65504, -65504)}.items():
        i, u = np.zeros(8, np.int32), np.zeros(8, np.uint32)
        convert.interpret(x, i, u, half=half)
        assert i.tolist() == [most, least, 0, most, least, -2, 2, most]
        assert u.tolist() == [65504 if half else 2**32 - 256, 0, 0, 65504 if half else 3000000000, 0, 0, 2, u[0]]


#: Arithmetic on literals alone, which WGSL would refuse where it overflows or leaves a function's domain.
LITERALS: dict[str, Callable[[], object]] = {
    "overflow": lambda: gpu.constant(1e30, "f32") * 1e30,
    "a third": lambda: gpu.constant(1.0, "f32") / 3.0,
    "1 / 0": lambda: gpu.constant(1.0, "f32") / 0.0,
    "exp": lambda: gpu.exp(gpu.constant(100.0, "f32")),
    "nested": lambda: gpu.sqrt(gpu.constant(1e30, "f32") * 1e30) + 1.0,
    "beyond f16": lambda: gpu.cast(gpu.cast(gpu.constant(70000.0, "f32"), "f16"), "f32"),
    "equal in f32": lambda: gpu.select(gpu.constant(0.1, "f32") == 0.1000000001, gpu.constant(1.0, "f32"), 0.0),
    "to u32": lambda: gpu.cast(gpu.cast(gpu.constant(-2.5, "f32"), "u32"), "f32"),
}


@gpu.kernel
def literals(y, *, name):
    gpu.launch(threads=1)
    y[0] = LITERALS[name]()


def test_arithmetic_on_literals_is_done_in_their_type() -> None:
    wanted = {"overflow": np.inf, "a third": np.float32(1) / np.float32(3), "1 / 0": np.inf, "exp": np.inf}
    wanted |= {"nested": np.inf, "beyond f16": np.inf, "equal in f32": 1.0, "to u32": 0.0}
    for name in LITERALS:
        y = np.zeros(1, np.float32)
        literals.interpret(y, name=name)
        assert y[0] == wanted[name], name


@pytest.mark.parametrize("by", [1, 3, 64])
def test_quotients_are_rounded_up_of_numbers_without_sign_too(by: int) -> None:
    @gpu.kernel
    def quotients(y, z, *, by):
        gpu.launch(grid=4, threads=64)
        t = gpu.workgroup.x * 64 + gpu.thread
        y[t], z[t] = ceil_div(t, by), ceil_div(1000 - t * 3, by)

    y, z = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    quotients.interpret(y, z, by=by)
    assert y.tolist() == [ceil_div(t, by) for t in range(256)]
    assert z.tolist() == [ceil_div(1000 - t * 3, by) for t in range(256)]
