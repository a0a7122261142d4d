"""Operands on which the functions of the table are compared, and how near two results must be."""

import numpy as np

from cutepy.tensor.functions import Function

SPECIAL = np.array(
    [0.0, -0.0, 1, -1, 0.5, -0.5, 0.1, -0.25, 2.5, -3.5, 7, 1.5, 100, -80, 1e-3, -1e-5, 3e4, np.nan, np.inf, -np.inf]
)
ABOVE_0 = ("log", "log2", "log10", "sqrt", "rsqrt", "power", "cbrt")


def operands_of(function: Function) -> list[np.ndarray]:
    """64 elements of each operand, where the function is a number."""
    x, y = np.linspace(-0.95, 0.95, 64), np.linspace(0.25, 3, 64)
    x = y + 1 if function.name in (*ABOVE_0, "arccosh") else 2.5 * x if not function.name.startswith("arc") else x
    return [np.float32(v) for v in (x, y, np.full(64, 3.5))][: function.arity]


def special_operands(function: Function, dtype: str) -> list[np.ndarray]:
    """Every special value, or every pair of them; of three operands pairs and numbers."""
    with np.errstate(all="ignore"):
        special = SPECIAL.astype(dtype)
    if function.name in ("sin", "cos", "tan"):  # how near a device comes is said up to pi
        special = special[~(np.isfinite(special) & (np.abs(special) > np.pi))]
    if function.arity == 1:
        return [special]
    pairs = [np.ascontiguousarray(v.ravel()) for v in np.meshgrid(special, special)]
    if function.name in ("mod", "floordiv"):  # of quotients from 2**23 on no rest is known
        with np.errstate(all="ignore"):
            far = np.isfinite(pairs[0] / np.float32(pairs[1])) & (np.abs(pairs[0] / np.float32(pairs[1])) >= 2**23)
        pairs = [x[~far] for x in pairs]
    return pairs if function.arity == 2 else [*pairs, np.roll(pairs[0], 7)]


def close(found: np.ndarray, want: np.ndarray, steps: float, error: float = 0) -> bool:
    """Whether results are alike to so many units in the last place, or to `error`; NaN and infinities are the same."""
    found, want = np.asarray(found), np.asarray(want)
    if want.dtype.kind != "f":
        return bool(np.array_equal(found, want))
    with np.errstate(all="ignore"):
        a, b = found.astype(np.float64), want.astype(np.float64)
        unit = 2.0 ** (-10 if want.dtype == np.float16 else -23)
        least = 6e-8 if want.dtype == np.float16 else 1.2e-38
        near = np.abs(a - b) <= steps * unit * np.abs(b) + steps * least + error
    return bool((near | (a == b) | (np.isnan(a) & np.isnan(b))).all())


def edges(dtype: str) -> list[np.ndarray]:
    """Pairs of integers of a type: its ends, powers of two and what is beside them, and others."""
    limits, rng = np.iinfo(dtype), np.random.default_rng(5)
    one = [limits.min, limits.max, 0, 1, limits.max - 1, limits.min + 1, 65535, 65536, 1 << 30, 12345]
    some = rng.integers(limits.min, limits.max, (2, 400), dtype, endpoint=True)
    pairs = np.array([(a, b) for a in one for b in one], dtype).T
    return [np.concatenate([pairs[i], some[i]]) for i in range(2)]


#: What the functions of bits give of Python's integers, for a word of 32 bits without a sign.
BITS = {
    "bitwise_count": lambda bits: f"{bits:b}".count("1"),
    "leading_zeros": lambda bits: 32 if not bits else f"{bits:032b}".index("1"),
    "trailing_zeros": lambda bits: 32 if not bits else f"{bits:032b}"[::-1].index("1"),
    "reverse_bits": lambda bits: int(f"{bits:032b}"[::-1], 2),
}
