"""The functions of elements, as one table: name, NumPy's function, the kinds it takes, what it gives, its law.

A row serves NumPy and devices alike: `types` is the one place that says in which type a call is computed and what its
result is. In kernels a function has the row's name; `cutepy.gpu` knows how it is spelt there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import TensorError
from ..tensor.dtypes import DType, bool_
from ..tensor.engine import Array
from .rules import KINDS, Typed, fraction_type, result_type


@dataclass(frozen=True, slots=True)
class Function:
    """A function of one element of each operand.

    `takes` are the kinds in which its operands may meet; it `gives` that type, a type of fractions, or bool. The first
    operand of one that is `chosen_by` a condition is taken as bool.
    """

    name: str
    numpy: Callable[..., Array]
    law: str
    takes: str = "biufc"
    gives: Literal["same", "fraction", "bool"] = "same"
    arity: int = 2
    conditional: bool = False

    def types(self, *operands: Typed) -> tuple[tuple[DType, ...], DType]:
        """The type in which each operand takes part, and the type of the result.

        >>> taken, result = FUNCTIONS["lt"].types(FUNCTIONS["div"].types(bool_, 2)[1], 3)
        >>> [str(dtype) for dtype in taken], str(result)
        (['f32', 'f32'], 'bool')

        Raises TensorError for types that do not meet or are not taken, and for numbers out of range.
        """
        met = result_type(self.name, *operands[self.conditional :])
        if met.kind not in self.takes:
            taken = ", ".join(words for kind, words in KINDS.items() if kind in self.takes)
            raise TensorError(f"{self.name}: it is not defined on {met}, but on {taken}; convert with astype")
        if self.name == "pow" and met.kind in "iu":
            self._check_exponent(operands[1], met)
        used = fraction_type(met) if self.gives == "fraction" else met
        taken_as = (used,) * len(operands)
        if self.conditional:
            taken_as = bool_, *taken_as[1:]
        return taken_as, bool_ if self.gives == "bool" else used

    def _check_exponent(self, exponent: Typed, met: DType) -> None:
        if isinstance(exponent, int) and exponent < 0:
            raise TensorError(
                f"pow: {met} to the power {exponent}: an integer to a negative power is none; convert the base to f32"
            )


def _power(base: Array, exponent: Array) -> Array:
    """Of integers, 0 for a negative power: the elements are not known beforehand where a device computes."""
    if base.dtype.kind in "iu":
        return np.where(exponent < 0, 0, np.power(base, np.maximum(exponent, 0))).astype(base.dtype)
    return np.asarray(np.power(base, exponent))


def _shift(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: function(a, b & b.dtype.type(8 * b.itemsize - 1))


def converted(array: Array, dtype: DType) -> Array:
    """`array` as `dtype`: floats to integers without their fraction, clamped to the range, NaN to 0.

    >>> from cutepy.tensor import u32
    >>> converted(np.float32([1.75, -1, 1e20, np.nan]), u32).tolist()
    [1, 0, 4294967295, 0]

    Raises TensorError for complex numbers that would lose their imaginary part.
    """
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        raise TensorError(f"astype: {array.dtype} as {dtype} loses the imaginary part; convert .numpy().real or .imag")
    with np.errstate(all="ignore"):
        if array.dtype.kind != "f" or dtype.kind not in "iu":
            return array.astype(dtype.numpy)
        least, most = np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max
        wide = np.where(np.isnan(array), 0, np.clip(array.astype(np.float64), least, most))
        return np.where(wide < float(most), wide.astype(dtype.numpy), np.asarray(most, dtype.numpy))


def _whole(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Rounding, which leaves integers as they are."""
    return lambda x: x if x.dtype.kind in "iu" else function(x)


def _row(
    names: str, law: str, function: Callable[..., Array], takes: str = "biufc", gives: str = "same", arity: int = 2
) -> Function:
    return Function(names, function, law, takes, gives, arity)  # type: ignore[arg-type]


_REAL, _NUMBERS, _ALL = "biuf", "iuf", "biufc"
_FRACTIONS = (
    ("exp", "e to the power x.", np.exp, _ALL),
    ("exp2", "2 to the power x.", np.exp2, _ALL),
    ("expm1", "e to the power x, less 1, also right for small x.", np.expm1, _ALL),
    ("log", "The natural logarithm; -inf at 0, NaN below.", np.log, _ALL),
    ("log2", "The logarithm to base 2.", np.log2, _ALL),
    ("log1p", "The logarithm of 1 + x, also right for small x.", np.log1p, _ALL),
    ("sqrt", "The square root; NaN below 0.", np.sqrt, _ALL),
    ("rsqrt", "1 over the square root.", lambda x: np.reciprocal(np.sqrt(x)), _ALL),
    ("reciprocal", "1 / x.", np.reciprocal, _ALL),
    ("sin", "The sine, x in radians.", np.sin, _ALL),
    ("cos", "The cosine, x in radians.", np.cos, _ALL),
    ("tan", "The tangent, x in radians.", np.tan, _ALL),
    ("asin", "The inverse sine, in radians; NaN beyond 1.", np.arcsin, _ALL),
    ("acos", "The inverse cosine, in radians; NaN beyond 1.", np.arccos, _ALL),
    ("atan", "The inverse tangent, in radians.", np.arctan, _ALL),
    ("sinh", "The hyperbolic sine.", np.sinh, _ALL),
    ("cosh", "The hyperbolic cosine.", np.cosh, _ALL),
    ("tanh", "The hyperbolic tangent.", np.tanh, _ALL),
    ("sigmoid", "1 / (1 + exp(-x)).", lambda x: 1 / (1 + np.exp(-x)), _ALL),
)
_UNARY = (
    ("abs", "The absolute value.", np.abs, _REAL),
    ("neg", "-x; unsigned integers wrap.", np.negative, "iufc"),
    ("sign", "-1, 0 or 1; NaN of NaN.", np.sign, _NUMBERS),
    ("square", "x * x.", np.square, "iufc"),
    ("floor", "The greatest whole number that is not above x.", _whole(np.floor), _NUMBERS),
    ("ceil", "The least whole number that is not below x.", _whole(np.ceil), _NUMBERS),
    ("round", "The nearest whole number, halves to even.", _whole(np.rint), "iufc"),
    ("trunc", "x without its fraction.", _whole(np.trunc), _NUMBERS),
    ("bitwise_not", "Every bit turned; of bool, not x.", np.invert, "biu"),
)
_TESTS = (
    ("isnan", "True where x is not a number.", np.isnan),
    ("isinf", "True where x is infinite.", np.isinf),
    ("isfinite", "True where x is neither infinite nor NaN.", np.isfinite),
    ("logical_not", "True where x is 0.", np.logical_not),
)
_BINARY = (
    ("add", "a + b; of bool, a or b.", np.add, _ALL),
    ("sub", "a - b.", np.subtract, "iufc"),
    ("mul", "a * b; of bool, a and b.", np.multiply, _ALL),
    ("floordiv", "The greatest whole number that is not above a / b; of integers by 0, 0.", np.floor_divide, _NUMBERS),
    ("mod", "a - b * floordiv(a, b); of integers by 0, 0.", np.remainder, _NUMBERS),
    ("pow", "a to the power b; 0 for an integer to a negative power.", _power, "iufc"),
    ("minimum", "The lesser of both; NaN where either is.", np.minimum, _REAL),
    ("maximum", "The greater of both; NaN where either is.", np.maximum, _REAL),
    ("bitwise_and", "The bits that both have; of bool, a and b.", np.bitwise_and, "biu"),
    ("bitwise_or", "The bits that either has; of bool, a or b.", np.bitwise_or, "biu"),
    ("bitwise_xor", "The bits that one of both has.", np.bitwise_xor, "biu"),
    ("left_shift", "a * 2**b, the bits beyond the type lost; b counts modulo its width.", _shift(np.left_shift), "iu"),
    ("right_shift", "floor(a / 2**b); b counts modulo the width of the type.", _shift(np.right_shift), "iu"),
)
_COMPARISONS = (
    ("eq", "a == b, as bool.", np.equal, _ALL),
    ("ne", "a != b, as bool.", np.not_equal, _ALL),
    ("lt", "a < b, as bool.", np.less, _REAL),
    ("le", "a <= b, as bool.", np.less_equal, _REAL),
    ("gt", "a > b, as bool.", np.greater, _REAL),
    ("ge", "a >= b, as bool.", np.greater_equal, _REAL),
    ("logical_and", "True where both are not 0.", np.logical_and, _ALL),
    ("logical_or", "True where one is not 0.", np.logical_or, _ALL),
)
_ROWS = (
    *(_row(name, f"{law[:-1]}; integers give f32.", f, takes, "fraction", 1) for name, law, f, takes in _FRACTIONS),
    *(_row(name, law, f, takes, "same", 1) for name, law, f, takes in _UNARY),
    *(_row(name, law, f, _ALL, "bool", 1) for name, law, f in _TESTS),
    *(_row(name, law, f, takes) for name, law, f, takes in _BINARY),
    *(_row(name, law, f, takes, "bool") for name, law, f, takes in _COMPARISONS),
    _row("div", "a / b; integers give f32.", np.true_divide, _ALL, "fraction"),
    _row("atan2", "The angle of the point (b, a), in radians; integers give f32.", np.arctan2, _REAL, "fraction"),
    _row("fma", "a * b + c, with the product kept in f32 for f16.", lambda a, b, c: a * b + c, "iufc", arity=3),
    Function("where", np.where, "`a` where `condition` is not 0, else `b`.", arity=3, conditional=True),
)
FUNCTIONS: dict[str, Function] = {row.name: row for row in _ROWS}
"""Every function of elements by its name."""
