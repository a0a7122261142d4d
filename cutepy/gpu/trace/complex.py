"""Complex numbers of a kernel: two floats, and what NumPy's complex64 does with them.

Law: over numbers, each operation is that of Python's complex numbers, in exact arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from ...errors import KernelError
from ...tensor.dtypes import f32
from ...tensor.engine import boxed
from .. import ir
from ..ir.place import user_place


@dataclass(frozen=True, slots=True, eq=False)
class Complex:
    """An element of a complex64 tensor in a kernel, or `gpu.Complex(re, im)` of two values.

    >>> product = Complex(1, 2) * Complex(3, -1) + 2j
    >>> product.real, product.imag, (product.conj() / 2).imag
    (5.0, 7.0, -3.5)

    It has `+ - * / == !=`, `-z`, `abs(z)` and `.conj()`; real numbers and values join in. The square of a divisor, as
    that of `abs`, is to be a float.
    """

    real: Any
    imag: Any = 0.0

    def __add__(self, other: object) -> Complex:
        other = as_complex(other)
        return Complex(self.real + other.real, self.imag + other.imag)

    def __sub__(self, other: object) -> Complex:
        other = as_complex(other)
        return Complex(self.real - other.real, self.imag - other.imag)

    def __mul__(self, other: object) -> Complex:
        if not isinstance(other, COMPLEX):
            return Complex(self.real * other, self.imag * other)
        other = as_complex(other)
        return Complex(self.real * other.real - self.imag * other.imag, self.real * other.imag + self.imag * other.real)

    def __truediv__(self, other: object) -> Complex:
        if not isinstance(other, COMPLEX):
            return Complex(self.real / other, self.imag / other)
        other = as_complex(other)
        whole, size = self * other.conj(), other.real * other.real + other.imag * other.imag
        return Complex(whole.real / size, whole.imag / size)

    def __neg__(self) -> Complex:
        return Complex(-self.real, -self.imag)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rtruediv__(self, other: object) -> Complex:
        return as_complex(other) / self

    def __rsub__(self, other: object) -> Complex:
        return -self + other

    def __eq__(self, other: object) -> Any:
        other = as_complex(other)
        return (self.real == other.real) & (self.imag == other.imag)

    def __ne__(self, other: object) -> Any:
        other = as_complex(other)
        return (self.real != other.real) | (self.imag != other.imag)

    def __bool__(self) -> bool:
        raise KernelError(f"{user_place()}: a complex number decides nothing by itself; compare it, as in z != 0")

    __hash__ = None  # type: ignore[assignment]  # equality is a value of the kernel

    def conj(self) -> Complex:
        """The complex conjugate."""
        return Complex(self.real, -self.imag)

    def __abs__(self) -> Any:
        return ir.call("sqrt", ir.as_expr(self.real * self.real + self.imag * self.imag, f32))


#: What makes a complex number of all that it meets.
COMPLEX = Complex, complex, np.complexfloating


def as_complex(value: object) -> Complex:
    """A number as a complex one. Raises KernelError for what is none."""
    if isinstance(value, Complex):
        return value
    if isinstance(value, complex | np.complexfloating):
        return Complex(float(value.real), float(value.imag))
    if isinstance(value, ir.Expr | Number):
        return Complex(value)
    raise KernelError(f"{user_place()}: {value!r} is no complex number")


def joined(pairs: np.ndarray[Any, Any]) -> Any:
    """The complex numbers of pairs along the last axis."""
    numbers = np.empty(pairs.shape[:-1], object)
    for index in np.ndindex(numbers.shape):
        numbers[index] = Complex(*pairs[index])
    return numbers[()]


def parted(values: Any) -> np.ndarray[Any, Any]:
    """The pairs of complex numbers, along a last axis."""
    table = values if isinstance(values, np.ndarray) else boxed(values)
    pairs = np.empty((*table.shape, 2), object)
    for index, value in np.ndenumerate(table):
        number = as_complex(value)
        pairs[(*index, 0)], pairs[(*index, 1)] = number.real, number.imag
    return pairs
