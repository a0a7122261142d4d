"""Weak values: a Python number that is given at launch takes the type it meets, as a literal in the kernel does.

Law: `in_type(v, t)` is the expression that the same program would have made, had the number been a `t` from the start.
What is computed from weak values and literals alone is weak too. What meets no type is f32, or u32, or i32 where it may
be negative: where it is subtracted, negated or meets a negative literal. No weak value is part of an expression or of a
statement: `settled` ones are.
"""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import NoReturn

import numpy as np

from ...frozen import dataclass
from ...tensor.dtypes import DType, bool_, f16, f32, i32, u32
from .expr import Expr
from .operators import Number

#: The types of numbers that a kernel takes, by those of NumPy's scalars, which keep theirs; a Python number is weak.
SCALARS: dict[type, DType] = {np.float16: f16, np.float32: f32, np.int32: i32, np.uint32: u32}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Weak(Expr):
    """A value of any type: `value` is what it is where it meets none, `again(t)` is the same in type `t`.

    Kinds of weak values say what is made `of` them, and where they are not what they are meant to be.
    """

    value: Expr
    again: Callable[[DType], Expr]
    by_type: dict[DType, Expr] = field(default_factory=dict)

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self.value.dtype

    @property
    def lanes(self) -> int:  # type: ignore[override]
        return self.value.lanes

    def known_in(self, dtype: DType) -> Expr:
        """The value in type `dtype`; as it is, where that would make an integer of a fraction."""
        if dtype is self.dtype or dtype is bool_ or (self.dtype.kind == "f" and dtype.kind != "f"):
            return self.value
        if dtype not in self.by_type:
            self.by_type[dtype] = self.again(dtype)
        return self.by_type[dtype]

    def of(self, parts: Sequence["Weak"], value: Expr, again: Callable[[DType], Expr], *, wraps: bool) -> "Weak":
        """The weak value computed from `parts`, of which this is one."""
        return Weak(value, again)

    def check_meets(self, dtype: DType, *, wraps: bool) -> None:
        """Raise KernelError where the value may be none of type `dtype`, and what is made of both tells."""

    def __repr__(self) -> str:
        return repr(self.value)

    def _refuse(self, what: str, otherwise: str) -> NoReturn:
        self.value._refuse(what, otherwise)


def in_type(value: object, dtype: DType) -> object:
    """A weak value in type `dtype`; anything else as it is."""
    return value.known_in(dtype) if isinstance(value, Weak) else value


def settled(value: Expr) -> Expr:
    """A weak value in the type that it has where it meets none; anything else as it is."""
    return value.value if isinstance(value, Weak) else value


def meeting(
    make: Callable[..., Expr],
    values: Sequence[object],
    *,
    fractions: bool = False,
    signed: bool = False,
    wraps: bool = False,
) -> Expr:
    """`make(*values)` with the weak values in the type of the first that is not weak.

    Among themselves they meet in the type of the law above, in f32 with `fractions`, in i32 with `signed`; what is made
    of them and of numbers is weak again, unless it is a bool. With `wraps`, the result is right modulo 2^32 where the
    values are.
    """

    def again(dtype: DType) -> Expr:
        return make(*[in_type(value, dtype) for value in values])

    weak = [value for value in values if isinstance(value, Weak)]
    strong = strong_type(values)
    if strong is not None:
        for value in weak:
            value.check_meets(strong, wraps=wraps)
        return again(strong)
    result = again(own_type(values, fractions=fractions, signed=signed))
    if not isinstance(result, Expr) or result.dtype is bool_:
        return result
    return next((value for value in weak if type(value) is not Weak), weak[0]).of(weak, result, again, wraps=wraps)


def strong_type(values: Sequence[object]) -> DType | None:
    """The type of the first value that has one of its own."""
    own = [v.dtype if isinstance(v, Expr) else SCALARS.get(type(v)) for v in values if not isinstance(v, Weak)]
    return next((dtype for dtype in own if dtype is not None), None)


def own_type(values: Sequence[object], *, fractions: bool = False, signed: bool = False) -> DType:
    """The type in which weak values and numbers meet where they meet no other."""
    kinds = {_kind(value) for value in values}
    return f32 if fractions or "f" in kinds else i32 if signed or "i" in kinds else u32


def number_of(value: object) -> Number | None:
    """The number in a Python number, a NumPy scalar or an array without axes; None for anything else."""
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", 0) == 0:
        value = item()
    return value if isinstance(value, bool | int | float) else None


def _kind(value: object) -> str:
    if isinstance(value, Expr):
        return value.dtype.kind
    number = number_of(value)
    if isinstance(number, float):
        return "f"
    return "i" if number is not None and number < 0 else "u"
