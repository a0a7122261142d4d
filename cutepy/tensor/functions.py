"""The functions of elements, as one table: what each is called, what it is in NumPy and in WGSL, its types and its law.

A record is all there is of a function. `ops` and formulas know it by its name and its other names, over tensors of the
host and of a device; kernels as `gpu.NAME`, and as NumPy's function of a kernel's values; the interpreter computes
WGSL's function by NumPy's. `types` is the one place that says in which type a call is computed and what its result is.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from math import erf, inf, nan
from typing import Any, Literal

import numpy as np

from ..errors import TensorError
from . import decompositions as by
from .dtypes import DType, bool_, f32, i32, u32
from .engine import Array
from .rules import KINDS, Typed, fraction_type, result_type


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of one element of each operand.

    `takes` are the kinds in which its operands may meet; it `gives` that type, a type of fractions, or bool. The first
    operand of a `conditional` one is taken as bool. In a kernel it is `ir`, a function of the IR which has that
    meaning for operands of the kinds `on`, up to `accuracy`; where that is not NumPy's law at every element, or there
    is none, it is `spelt`, or `python` is the operator that means it. `kernel` is its name there, where it has another.
    """

    name: str
    numpy: Callable[..., Array]
    law: str
    aliases: tuple[str, ...] = ()
    takes: str = "biufc"
    gives: Literal["same", "fraction", "bool"] = "same"
    arity: int = 1
    ir: str = ""
    on: str = "f"
    spelt: by.Decomposition | None = None
    python: Callable[..., Any] | None = None
    kernel: str = ""
    accuracy: str = ""
    conditional: bool = False

    def types(self, *operands: Typed) -> tuple[tuple[DType, ...], DType]:
        """The type in which each operand takes part, and the type of the result.

        >>> taken, result = FUNCTIONS["lt"].types(FUNCTIONS["div"].types(bool_, 2)[1], 3)
        >>> [str(dtype) for dtype in taken], str(result)
        (['f32', 'f32'], 'bool')

        Raises TensorError for types that do not meet or are not taken, and for numbers out of range.
        """
        # The condition of a choice takes no part in where the others meet.
        met = result_type(self.name, *operands[self.conditional :])
        if met.kind not in self.takes:
            taken = ", ".join(words for kind, words in KINDS.items() if kind in self.takes)
            raise TensorError(f"{self.name}: it is not defined on {met}, but on {taken}; convert with astype")
        if self.name == "power" and met.kind in "iu" and isinstance(operands[1], int) and operands[1] < 0:
            raise TensorError(
                f"power: {met} to the power {operands[1]}: an integer to a negative power is none; "
                "convert the base to f32"
            )
        used = fraction_type(met) if self.gives == "fraction" else met
        taken_as = (used,) * len(operands)
        if self.conditional:
            taken_as = bool_, *taken_as[1:]
        return taken_as, bool_ if self.gives == "bool" else used

    @property
    def sample(self) -> tuple[tuple[float, ...], ...]:
        """A few elements of each operand, at which the result is finite, as examples show them."""
        if self.gives == "bool":
            return ((-inf, nan, 0.0),) if self.arity == 1 else ((1.0, 2.0, 0.0), (2.0, 0.0, 0.0))
        if self.conditional:
            return (True, False), (1.5, 2.5), (-1.5, -2.5)
        if "f" not in self.takes:
            return ((2000000000, 14), (5, 3), (-1, 7), (100, 9))[: self.arity]
        others = ((2.0, 0.25), (3.0, 1.0), (0.5, 0.0))[: self.arity - 1]
        with np.errstate(all="ignore"):
            for first in (-1.5, 0.5), (0.25, 0.75), (1.5, 2.5):
                if np.isfinite(self.numpy(*np.array((first, *others)))).all():
                    break
        return first, *others

    @property
    def refused(self) -> str:
        """What it is not defined on, in words; "" where it takes every number."""
        return ", ".join(words for kind, words in KINDS.items() if kind not in self.takes)

    @property
    def in_kernels(self) -> str:
        """Its name in kernels, `gpu.NAME`."""
        return self.kernel or self.name

    @property
    def kinds(self) -> str:
        """The kinds of operands that it takes in kernels."""
        return "f" if self.gives == "fraction" else self.takes


@dataclass(frozen=True, slots=True, eq=False)
class Word(Function):
    """A function of numbers packed in a word of 32 bits, or that packs them: in kernels alone.

    It gives `lanes` values of type `dtype`; where it has several, `numpy` gives them along a first axis. The
    operands are one vector where they are `joined`; and no operand is a vector of several threads' work.
    """

    dtype: DType = u32
    lanes: int = 1
    joined: bool = False


FUNCTIONS: dict[str, Function] = {}
"""Every function by its name, but those of packed words."""
NAMED: dict[str, Function] = {}
"""By its name or another: NumPy's, or a short one."""
IN_KERNELS: dict[str, Function] = {}
"""By its name in kernels."""
IR_FUNCTIONS: dict[str, Function] = {}
"""By the function of the IR that means it."""


#: What other libraries have a name for, in the functions that there are.
MADE_OF = {
    "relu6": "clip(x, 0, 6)",
    "leaky_relu": "maximum(x, 0.01 * x)",
    "elu": "where(x > 0, x, expm1(x))",
    "swish": "silu(x)",
    "gelu": "0.5 * x * (1 + erf(x * 0.7071067811865476))",
    "mish": "x * tanh(softplus(x))",
    "softsign": "x / (1 + absolute(x))",
    "hardtanh": "clip(x, -1, 1)",
    "logit": "log(x / (1 - x))",
    "sinc": "sin(x) / x",
    "clamp": "clip(x, low, high)",
    "exp10": "exp(x * 2.302585092994046)",
}


def made_of(name: str, module: str) -> str:
    """What to write for a function that other libraries have, with the functions of a module; "" for another name.

    >>> made_of("gelu", "ops")
    '0.5 * x * (1 + ops.erf(x * 0.7071067811865476))'
    """
    return re.sub(r"(\w+)\(", rf"{module}.\1(", MADE_OF.get(name, ""))


def session(call: str, operands: Iterable[object], shown: Any) -> str:
    """A call of these operands as somebody types it, and what it prints, fractions to four places.

    >>> print(session("np.sqrt({})", [[2.0, inf]], np.sqrt([2.0, inf])).replace(">>>", "$"))
    $ print(np.round(np.sqrt([2.0, np.inf]), 4))
    [1.4142    inf]
    """
    written = call.format(", ".join(re.sub(r"\b(inf|nan)\b", r"np.\1", repr(operand)) for operand in operands))
    if np.asarray(shown).dtype.kind == "f":
        written, shown = f"np.round({written}, 4)", np.round(shown, 4)
    return f">>> print({written})\n{shown}"


def define(function: Function) -> Function:
    """Put a function in the table: from then on `ops`, formulas, kernels, the interpreter and devices have it.

    Raises TensorError for a name that is taken.
    """
    # Packed words are of kernels alone. No name is taken twice, in no table, before any table is changed.
    everywhere = not isinstance(function, Word)
    tables = (
        (FUNCTIONS, {function.name} if everywhere else set()),
        (NAMED, {function.name, *function.aliases} if everywhere else set()),
        (IN_KERNELS, {function.in_kernels}),
        (IR_FUNCTIONS, {function.ir} - {""}),
    )
    for table, names in tables:
        if taken := names & table.keys():
            raise TensorError(f"the table of functions has {', '.join(sorted(taken))} already; give another name")
    for table, names in tables:
        table.update(dict.fromkeys(sorted(names), function))
    return function


def _power(base: Array, exponent: Array) -> Array:
    """Of integers, 0 for a negative power: the elements are not known beforehand where a device computes."""
    if base.dtype.kind in "iu":
        return np.where(exponent < 0, 0, np.power(base, np.maximum(exponent, 0))).astype(base.dtype)
    return np.asarray(np.power(base, exponent))


def _whole(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Rounding, which leaves integers as they are."""
    return lambda x: x if x.dtype.kind in "iu" else function(x)


def _error_function(x: Array) -> Array:
    """NumPy has none: Python's, of each element."""
    return np.asarray(np.frompyfunc(erf, 1, 1)(x.astype(np.float64)), x.dtype)


def _of_bits(function: Callable[[int, int], int]) -> Callable[[Array], Array]:
    """A function of the bits of integers, read without a sign, and of their number."""

    def of_array(x: Array) -> Array:
        unsigned = x.view(f"u{x.itemsize}").astype(object)
        found = np.frompyfunc(lambda bits: function(bits, 8 * x.itemsize), 1, 1)(unsigned)
        return np.asarray(found, f"u{x.itemsize}").view(x.dtype)

    return of_array


def _high_product(a: Array, b: Array) -> Array:
    """In Python's integers, whose products are as long as they need to be."""
    return np.asarray((a.astype(object) * b.astype(object)) >> 8 * a.itemsize, a.dtype)


def _parts(word: Array, bits: int, signed: bool) -> Array:
    """The parts of words, along a first axis."""
    steps = np.arange(0, 32, bits).reshape(-1, *[1] * word.ndim)
    fields = (word[None].astype(np.int64) >> steps) & ((1 << bits) - 1)
    # (f ^ h) - h extends the sign bit h of a field f.
    half = (1 << bits - 1) * signed
    return (fields ^ half) - half


def _word(*parts: Array) -> Array:
    """A word of parts, of which the low bits count."""
    bits = 32 // len(parts)
    fields = [(part.astype(np.int64) & ((1 << bits) - 1)) << bits * at for at, part in enumerate(parts)]
    return np.asarray(sum(fields[1:], fields[0]), np.uint32)


def _dot(signed: bool) -> Callable[[Array, Array], Array]:
    """The sum of the products of four 8-bit numbers in each word."""
    return lambda a, b: (_parts(a, 8, signed) * _parts(b, 8, signed)).sum(0).astype(np.int32 if signed else np.uint32)


def _normal(bits: int, signed: bool) -> Callable[..., Array]:
    """Numbers from -1 or 0 to 1 as fractions of the largest integer."""
    most = (1 << bits - signed) - 1
    return lambda *parts: _word(*[np.floor(0.5 + most * np.clip(x.astype(np.float64), -signed, 1)) for x in parts])


def _fractions(bits: int, signed: bool) -> Callable[[Array], Array]:
    """The parts of words as fractions of the largest integer, not below -1."""
    most = (1 << bits - signed) - 1
    return lambda word: np.maximum(_parts(word, bits, signed) / most, -1).astype(np.float32)


def _parts_as(dtype: type, bits: int, signed: bool, word: Array) -> Array:
    """The parts of words as numbers of a type, along a first axis."""
    return _parts(word, bits, signed).astype(dtype)


def _word_of(name: str, numpy: Callable[..., Array], law: str, **more: Any) -> Word:
    """A record of packed words, whose name in the IR is its own."""
    takes = more.pop("takes")
    return Word(name, numpy, law, takes=takes, on=takes, ir=name, accuracy=more.pop("accuracy", "exact"), **more)


# A record a row or two, to be read as a table: hence no formatting.
_REAL, _NUMBERS, _BITS = "biuf", "iuf", "biu"
_EXACT, _OPEN = "exact", "exact; of NaN the device decides"
_fraction = partial(Function, gives="fraction")
_test = partial(Function, gives="bool")
_compared = partial(Function, arity=2, gives="bool")
_within_1 = partial(by.within, lambda x: abs(x) <= 1)

# fmt: off
_TABLE = (
    _fraction("exp", np.exp, "e to the power of x.", ir="exp", accuracy="3 + 2 |x| ULP"),
    _fraction("exp2", np.exp2, "2 to the power of x.", ir="exp2", accuracy="3 + 2 |x| ULP"),
    _fraction("expm1", np.expm1, "e to the power of x, less 1, also right for small x.", spelt=by.exp_less_1),
    _fraction("log", np.log, "The natural logarithm.", ir="log", accuracy="3 ULP; 2^-21 from 0.5 to 2"),
    _fraction("log2", np.log2, "The logarithm to base 2.", ir="log2", accuracy="3 ULP; 2^-21 from 0.5 to 2"),
    _fraction("log10", np.log10, "The logarithm to base 10.", spelt=lambda k, x: k.call("log2", x) * by.LOG10_2),
    _fraction("log1p", np.log1p, "The logarithm of 1 + x, also right for small x.", spelt=by.log_of_1_and),
    _fraction("sqrt", np.sqrt, "The square root.", ir="sqrt", accuracy="as 1 / rsqrt"),
    _fraction("rsqrt", lambda x: np.reciprocal(np.sqrt(x)), "1 over the square root.", ir="rsqrt",
              accuracy="2 ULP"),
    _fraction("cbrt", np.cbrt, "The cube root.", takes=_REAL, spelt=by.cube_root),
    _fraction("reciprocal", np.reciprocal, "1 / x.", spelt=lambda k, x: 1.0 / x),
    _fraction("sin", np.sin, "The sine.", ir="sin", accuracy="2^-11 up to pi"),
    _fraction("cos", np.cos, "The cosine.", ir="cos", accuracy="2^-11 up to pi"),
    _fraction("tan", np.tan, "The tangent.", ir="tan", accuracy="as sin / cos"),
    _fraction("arcsin", np.arcsin, "The angle of which x is the sine.", ("asin",), ir="asin",
              spelt=_within_1(by.angle_of_sine),
              accuracy="4096 ULP, as arctan2; beyond 1 the device decides"),
    _fraction("arccos", np.arccos, "The angle of which x is the cosine.", ("acos",), ir="acos",
              spelt=_within_1(by.angle_of_cosine),
              accuracy="4096 ULP, as arctan2; beyond 1 the device decides"),
    _fraction("arctan", np.arctan, "The angle of which x is the tangent.", ("atan",), ir="atan",
              spelt=by.odd("atan"), accuracy="4096 ULP"),
    _fraction("arctan2", np.arctan2, "The angle of the point (x, y), for operands y, x.", ("atan2",), takes=_REAL,
              arity=2, ir="atan2", spelt=by.angle, accuracy="4096 ULP; of the origin the device decides"),
    _fraction("sinh", np.sinh, "The hyperbolic sine.", ir="sinh", spelt=by.odd("sinh"),
              accuracy="as (exp(x) - exp(-x)) / 2"),
    _fraction("cosh", np.cosh, "The hyperbolic cosine.", ir="cosh", accuracy="as (exp(x) + exp(-x)) / 2"),
    _fraction("tanh", np.tanh, "The hyperbolic tangent.", ir="tanh", spelt=by.odd("tanh"),
              accuracy="as sinh / cosh, and 1 beyond 10; of NaN the device decides"),
    _fraction("arcsinh", np.arcsinh, "The number of which x is the hyperbolic sine.", ("asinh",), ir="asinh",
              spelt=by.area_sine, accuracy="as log(x + sqrt(x * x + 1))"),
    _fraction("arccosh", np.arccosh, "The number of which x is the hyperbolic cosine.", ("acosh",), ir="acosh",
              spelt=by.area_cosine, accuracy="as log(x + sqrt(x * x - 1))"),
    _fraction("arctanh", np.arctanh, "The number of which x is the hyperbolic tangent.", ("atanh",), ir="atanh",
              spelt=by.area_tangent, accuracy="as log((1 + x) / (1 - x)) / 2"),
    _fraction("degrees", np.degrees, "An angle in degrees, of x in radians.", ("rad2deg",), takes=_REAL,
              ir="degrees", accuracy="as x * 57.29578"),
    _fraction("radians", np.radians, "An angle in radians, of x in degrees.", ("deg2rad",), takes=_REAL,
              ir="radians", accuracy="as x * 0.01745329"),
    _fraction("sigmoid", lambda x: 1 / (1 + np.exp(-x)), "1 / (1 + exp(-x)).",
              spelt=lambda k, x: 1.0 / (1.0 + k.call("exp", -x))),
    _fraction("logaddexp", np.logaddexp, "log(exp(a) + exp(b)), also where a power is beyond the type.", takes=_REAL,
              arity=2, spelt=by.log_of_added_powers),
    _fraction("softplus", lambda x: np.logaddexp(x, np.zeros((), x.dtype)), "log(1 + exp(x)).", takes=_REAL,
              spelt=by.log_of_1_and_power),
    _fraction("silu", lambda x: x / (1 + np.exp(-x)), "x * sigmoid(x).", takes=_REAL,
              spelt=lambda k, x: x / (1.0 + k.call("exp", -x))),
    _fraction("erf", _error_function, "How likely a normal number of variance 1/2 is within x of 0.", takes=_REAL,
              spelt=by.error_function),
    _fraction("hypot", np.hypot, "The length of (x, y), also where a square is beyond the type.", takes=_REAL,
              arity=2, spelt=by.hypotenuse),
    _fraction("copysign", np.copysign, "The magnitude of x with the sign of y.", takes=_REAL, arity=2,
              spelt=by.copy_sign),
    _fraction("heaviside", np.heaviside, "0 below 0, 1 above, y at 0.", takes=_REAL, arity=2, spelt=by.step),
    _fraction("div", np.true_divide, "a / b.", ("divide", "true_divide"), arity=2, python=operator.truediv),
    Function("absolute", np.abs, "The magnitude.", ("abs", "fabs"), takes=_REAL, ir="abs", on=_NUMBERS,
             spelt=by.absolute, accuracy=_EXACT),
    Function("neg", np.negative, "-x; unsigned integers wrap.", ("negative",), takes="iufc", spelt=by.negative,
             python=operator.neg),
    Function("sign", np.sign, "-1, 0 or 1, as x is below, equal to or above 0.", takes=_NUMBERS, ir="sign",
             spelt=by.sign, accuracy=_OPEN),
    Function("relu", lambda x: np.maximum(x, np.zeros((), x.dtype)), "x, but 0 below 0.", takes=_NUMBERS,
             spelt=lambda k, x: k.call("nan_max", x, 0.0 if x.dtype.kind == "f" else 0)),
    Function("square", np.square, "x * x.", takes="iufc", spelt=lambda k, x: x * x),
    Function("floor", _whole(np.floor), "The greatest whole number that is not greater.", takes=_NUMBERS,
             ir="floor", spelt=by.rounding("floor"), accuracy=_EXACT),
    Function("ceil", _whole(np.ceil), "The least whole number that is not less.", takes=_NUMBERS, ir="ceil",
             spelt=by.rounding("ceil"), accuracy=_EXACT),
    Function("round", _whole(np.rint), "The whole number next to it, the even one of two as near.",
             ("rint", "around"), takes="iufc", ir="round", spelt=by.rounding("round"), accuracy=_EXACT),
    Function("trunc", _whole(np.trunc), "The whole number next to it, towards zero.", takes=_NUMBERS, ir="trunc",
             spelt=by.rounding("trunc"), accuracy=_EXACT),
    Function("fract", lambda x: x - np.floor(x).astype(x.dtype), "What x has above its floor.", takes=_NUMBERS,
             ir="fract", spelt=lambda k, x: x - by.rounding("floor")(k, x), accuracy="as x - floor(x)"),
    Function("bitwise_not", np.invert, "Every bit turned; of bool, not x.", ("invert", "bitwise_invert"), takes=_BITS,
             python=operator.invert),
    _test("isnan", np.isnan, "True where x is not a number.", spelt=by.for_floats(by.is_nan, False)),
    _test("isinf", np.isinf, "True where x is infinite.", spelt=by.for_floats(by.is_infinite, False)),
    _test("isfinite", np.isfinite, "True where x is neither infinite nor NaN.",
          spelt=by.for_floats(by.is_finite, True)),
    _test("signbit", np.signbit, "True where x has a minus, as -0.0 has.", takes=_NUMBERS, spelt=by.sign_bit),
    _test("logical_not", np.logical_not, "True where x is 0.", spelt=lambda k, x: ~by.is_true(k, x)),
    Function("add", np.add, "a + b; of bool, a or b.", arity=2,
             spelt=by.or_bool(by.operation(operator.or_), by.operation(operator.add)), python=operator.add),
    Function("sub", np.subtract, "a - b.", ("subtract",), takes="iufc", arity=2, python=operator.sub),
    Function("mul", np.multiply, "a * b; of bool, a and b.", ("multiply",), arity=2,
             spelt=by.or_bool(by.operation(operator.and_), by.operation(operator.mul)), python=operator.mul),
    Function("floordiv", np.floor_divide, "The greatest whole number that is not above a / b; of integers by 0, 0.",
             ("floor_divide",), takes=_NUMBERS, arity=2, spelt=by.floor_quotient),
    Function("mod", np.remainder, "a - b * floordiv(a, b); of integers by 0, 0.", ("remainder",), takes=_NUMBERS,
             arity=2, spelt=by.floor_remainder),
    Function("power", _power, "x to the power of y; 0 for an integer to a negative power.", ("pow",), takes="iufc",
             arity=2, ir="pow", spelt=by.power, python=operator.pow,
             accuracy="as exp2(y * log2(x)); below 0 the device decides"),
    Function("minimum", np.minimum, "The smaller of two; NaN where one is.", takes=_REAL, arity=2, ir="nan_min",
             on=_NUMBERS, spelt=by.or_bool(by.operation(operator.and_), by.called("nan_min")), kernel="nan_minimum",
             accuracy=_EXACT),
    Function("maximum", np.maximum, "The greater of two; NaN where one is.", takes=_REAL, arity=2, ir="nan_max",
             on=_NUMBERS, spelt=by.or_bool(by.operation(operator.or_), by.called("nan_max")), kernel="nan_maximum",
             accuracy=_EXACT),
    Function("fmin", np.fmin, "The smaller of two; where one is NaN, the other.", takes=_REAL, arity=2, ir="min",
             on=_NUMBERS, spelt=by.or_bool(by.operation(operator.and_), by.lesser), kernel="minimum", accuracy=_OPEN),
    Function("fmax", np.fmax, "The greater of two; where one is NaN, the other.", takes=_REAL, arity=2, ir="max",
             on=_NUMBERS, spelt=by.or_bool(by.operation(operator.or_), by.greater), kernel="maximum", accuracy=_OPEN),
    Function("clip", np.clip, "x, but not below the second and not above the third.", takes=_NUMBERS, arity=3,
             ir="clamp", on=_NUMBERS, spelt=by.clip, accuracy=_OPEN),
    Function("bitwise_and", np.bitwise_and, "The bits that both have; of bool, a and b.", takes=_BITS, arity=2,
             python=operator.and_),
    Function("bitwise_or", np.bitwise_or, "The bits that either has; of bool, a or b.", takes=_BITS, arity=2,
             python=operator.or_),
    Function("bitwise_xor", np.bitwise_xor, "The bits that one of both has.", takes=_BITS, arity=2,
             python=operator.xor, spelt=by.or_bool(by.on_bits(operator.ne), by.operation(operator.xor))),
    Function("left_shift", np.left_shift,
             "a * 2**b, the bits beyond the type lost: 0 where b is its width or more, or negative.",
             ("bitwise_left_shift",), takes="iu", arity=2, python=operator.lshift, spelt=by.left_shift),
    Function("right_shift", np.right_shift,
             "floor(a / 2**b): 0 or -1, by the sign, where b is the type's width or more, or negative.",
             ("bitwise_right_shift",), takes="iu", arity=2, python=operator.rshift, spelt=by.right_shift),
    Function("bitwise_count", _of_bits(lambda bits, width: bits.bit_count()), "How many bits are 1.", ("popcount",),
             takes="iu", ir="count_ones", on="iu", accuracy=_EXACT),
    Function("leading_zeros", _of_bits(lambda bits, width: width - bits.bit_length()),
             "How many bits are 0 above the highest 1.", ("clz",), takes="iu", ir="leading_zeros", on="iu",
             accuracy=_EXACT),
    Function("trailing_zeros", _of_bits(lambda bits, width: (bits & -bits).bit_length() - 1 if bits else width),
             "How many bits are 0 below the lowest 1.", ("ctz",), takes="iu", ir="trailing_zeros", on="iu",
             accuracy=_EXACT),
    Function("reverse_bits", _of_bits(lambda bits, width: int(f"{bits:0{width}b}"[::-1], 2)), "The bits in reverse.",
             takes="iu", ir="reverse_bits", on="iu", accuracy=_EXACT),
    Function("mulhi", _high_product, "What a * b has above the width of the type.", takes="iu", arity=2,
             spelt=by.high_product),
    _compared("eq", np.equal, "a == b, as bool.", ("equal",), spelt=by.on_bits(operator.eq), python=operator.eq),
    _compared("ne", np.not_equal, "a != b, as bool.", ("not_equal",), spelt=by.differ, python=operator.ne),
    _compared("lt", np.less, "a < b, as bool.", ("less",), takes=_REAL, spelt=by.on_bits(operator.lt),
              python=operator.lt),
    _compared("le", np.less_equal, "a <= b, as bool.", ("less_equal",), takes=_REAL, spelt=by.on_bits(operator.le),
              python=operator.le),
    _compared("gt", np.greater, "a > b, as bool.", ("greater",), takes=_REAL, spelt=by.on_bits(operator.gt),
              python=operator.gt),
    _compared("ge", np.greater_equal, "a >= b, as bool.", ("greater_equal",), takes=_REAL,
              spelt=by.on_bits(operator.ge), python=operator.ge),
    _compared("logical_and", np.logical_and, "True where both are not 0.",
              spelt=lambda k, a, b: by.is_true(k, a) & by.is_true(k, b)),
    _compared("logical_or", np.logical_or, "True where one is not 0.",
              spelt=lambda k, a, b: by.is_true(k, a) | by.is_true(k, b)),
    _compared("logical_xor", np.logical_xor, "True where one of both is not 0.",
              spelt=lambda k, a, b: by.is_true(k, a) != by.is_true(k, b)),
    Function("fma", lambda a, b, c: a * b + c, "a * b + c, rounded once where the device can.", takes="iufc", arity=3,
             ir="fma", spelt=by.by_kind(lambda k, a, b, c: a * b + c, by.called("fma")), accuracy="as a * b + c"),
    Function("where", np.where, "`a` where `condition` is not 0, else `b`.", arity=3,
             spelt=lambda k, *values: k.select(*values), conditional=True),
    _word_of("dot4I8Packed", _dot(True), "The sum of the products of four i8 in each word.", takes="u", arity=2,
             dtype=i32),
    _word_of("dot4U8Packed", _dot(False), "The sum of the products of four u8 in each word.", takes="u", arity=2),
    _word_of("pack4xI8", _word, "The low 8 bits of four i32 as a word, the first lowest.", takes="i", arity=4,
             joined=True),
    _word_of("pack4xU8", _word, "The low 8 bits of four u32 as a word, the first lowest.", takes="u", arity=4,
             joined=True),
    _word_of("unpack4xI8", partial(_parts_as, np.int32, 8, True), "The four i8 of a word, as i32.", takes="u", lanes=4,
             dtype=i32),
    _word_of("unpack4xU8", partial(_parts_as, np.uint32, 8, False), "The four u8 of a word, as u32.", takes="u",
             lanes=4),
    _word_of("pack2x16float", lambda a, b: _word(*[x.astype(np.float16).view(np.uint16) for x in (a, b)]),
             "Two f32 as f16 in a word.", takes="f", arity=2, joined=True,
             accuracy="to one of the two nearest; beyond f16 the device decides"),
    _word_of("unpack2x16float", lambda w: _parts(w, 16, False).astype(np.uint16).view(np.float16).astype(np.float32),
             "The two f16 of a word, as f32.", takes="u", lanes=2, dtype=f32),
    _word_of("pack4x8snorm", _normal(8, True), "Four numbers from -1 to 1 as i8, of which 127 is 1.", takes="f",
             arity=4, joined=True, accuracy="floor(0.5 + 127 * x)"),
    _word_of("pack4x8unorm", _normal(8, False), "Four numbers from 0 to 1 as u8, of which 255 is 1.", takes="f",
             arity=4, joined=True, accuracy="floor(0.5 + 255 * x)"),
    _word_of("unpack4x8snorm", _fractions(8, True), "The four i8 of a word, as numbers from -1 to 1.", takes="u",
             lanes=4, dtype=f32, accuracy="3 ULP"),
    _word_of("unpack4x8unorm", _fractions(8, False), "The four u8 of a word, as numbers from 0 to 1.", takes="u",
             lanes=4, dtype=f32, accuracy="3 ULP"),
)
# fmt: on
for _row in _TABLE:
    define(_row)
