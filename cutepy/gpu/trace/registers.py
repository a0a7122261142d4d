"""Values that a block of the kernel changes: which of them a register can hold, of what type; its loads and stores.

Law: a register has one type, and a Python number is weak: it takes the type that it meets. Numbers that meet none are
f32, bool, and of integers u32, or i32 where one may lie below 0.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import KernelError
from ...layout.affine import Interval, within
from ...tensor.dtypes import DType, bool_, f32, i32, u32
from ...tensor.tensor import Tensor
from .. import ir
from ..ir.expr import dataclass
from ..ir.place import user_place
from ..ir.ranges import domain, range_of
from ..ir.weak import own_type
from .complex import Complex
from .state import Trace

Leaves = tuple[object, ...]
#: Whose register it is: the frame of the user's code, the name in it, and which of the numbers of its value.
Owner = tuple[int, str, int]


class CannotCarry(Exception):
    """Why no register can hold a value; the words follow the name of the variable."""


@dataclass(frozen=True, slots=True)
class Register:
    """A variable of the kernel. An integer in it stays in `bounds`; `weak` says that no type was met yet."""

    dtype: DType
    bounds: Interval = (0, 0)
    weak: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Carried(ir.Weak):
    """A Python number that the GPU has: in a register, chosen by a condition, or computed from such.

    Law: it is what Python's number is. Unlike a number given at launch it is computed in the type that it has of its
    own, which numbers below 0 decide, and converted where it meets another. `parts` are the numbers of which it is
    made modulo 2^32, none for a literal; None where it is not made so.
    """

    parts: tuple[ir.Weak, ...] | None = None

    def of(
        self, parts: Sequence[ir.Weak], found: ir.Expr, again: Callable[[DType], ir.Expr], *, wraps: bool
    ) -> "Carried":
        def in_type(dtype: DType) -> ir.Expr:
            same = found.dtype.kind == "f" or (wraps and dtype.kind != "f")
            return again(dtype) if same else ir.cast(found, dtype)

        return Carried(found, in_type, parts=tuple(parts) if wraps else None)

    def check_meets(self, dtype: DType, *, wraps: bool) -> None:
        if dtype is not u32 or self.dtype is not i32 or range_of(self.value)[0] >= 0:
            return
        if not wraps or self.parts is None:
            raise KernelError(
                f"{user_place()}: a Python number that may lie below 0 meets a u32 value; convert one with gpu.cast"
            )
        for part in self.parts:
            part.check_meets(dtype, wraps=wraps)


def python_number(value: object) -> ir.Expr:
    """A number as a value of the kernel; Python's own takes the type that it meets."""
    value = _typed(value)
    if isinstance(value, ir.Expr):
        return value

    def in_type(dtype: DType) -> ir.Expr:  # `check_meets` says whether it may wrap
        return ir.const(value, dtype) if isinstance(value, int) else ir.as_expr(value, dtype)

    return Carried(ir.as_expr(value, own_type([value])), in_type, parts=())


def carried(value: ir.Expr) -> ir.Expr:
    """What a register or a choice has of Python's numbers, in the type that they have there."""
    if value.dtype is bool_:
        return value
    return Carried(value, lambda dtype: value if value.dtype.kind == "f" else ir.cast(value, dtype))


def taken_apart(value: object) -> Leaves | None:
    """The numbers in a value, if it is a number or holds nothing else: tuples are carried item by item."""
    if (items := _items(value)) is not None:
        parts = [part for item in items if (part := taken_apart(item)) is not None]
        return tuple([leaf for part in parts for leaf in part]) if len(parts) == len(items) else None
    number = isinstance(value, bool | int | float | np.number | np.bool_)
    return (value,) if number or (isinstance(value, ir.Expr) and value.lanes == 1) else None


def form(value: object) -> object:
    """How the tuples in a value are nested."""
    items = _items(value)
    return None if items is None else (type(value), *map(form, items))


def _items(value: object) -> Leaves | None:
    """What a tuple or a complex number is made of."""
    return (value.real, value.imag) if isinstance(value, Complex) else value if isinstance(value, tuple) else None


def put_together(like: object, leaves: list[object]) -> object:
    """The value of the form of `like` with these numbers, which are taken from the list."""
    if (parts := _items(like)) is None:
        return leaves.pop(0)
    items: list[Any] = [put_together(item, leaves) for item in parts]
    made: Any = type(like)
    return made(*items) if hasattr(like, "_fields") or isinstance(like, Complex) else tuple(items)


def blank(value: object) -> object:
    """A value that a name may have which nobody reads, of the form of `value`; itself where it holds other things."""
    leaves = taken_apart(value)
    if leaves is None:
        return value
    return put_together(value, [_zero(leaf) if isinstance(leaf, ir.Expr) else leaf for leaf in leaves])


def _zero(value: ir.Expr) -> object:
    number = ir.const(0, value.dtype)
    return number.value if isinstance(value, ir.Weak) and isinstance(number, ir.Const) else number


def same(first: object, second: object) -> bool:
    """Whether a name means the same before and after: the same object, or equal values that cannot change."""
    if first is second:
        return True
    if type(first) is not type(second) or isinstance(first, ir.Expr):
        return False
    if (items := _items(first)) is not None and (others := _items(second)) is not None:
        return len(items) == len(others) and all(map(same, items, others))
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        parts = ("engine", "offset", "guard")
        return first.layout == second.layout and all(same(getattr(first, p), getattr(second, p)) for p in parts)
    if isinstance(first, float):
        return repr(first) == repr(second)  # one NaN is like another, and -0.0 is not 0.0
    plain = isinstance(first, bool | int | str | bytes) or type(first).__module__.startswith("cutepy.")
    return plain and type(first).__hash__ is not None and bool(first == second)


def register_for(old: object, new: object) -> Register:
    """The register that holds the one value and then the other. Raises CannotCarry."""
    values = _typed(old), _typed(new)
    met = [v.dtype for v in values if isinstance(v, ir.Expr) and not isinstance(v, ir.Weak)]
    if len(set(met)) == 2:
        raise CannotCarry(f"from {met[0]} to {met[1]}: a register has one type; use gpu.cast")
    weak = [v for v in values if not isinstance(v, ir.Expr) or isinstance(v, ir.Weak)]
    kinds = {v.dtype.kind if isinstance(v, ir.Expr) else type(v).__name__[0] for v in weak}
    bounds = (0, 0) if "f" in kinds else _hull(*map(_interval, values))
    dtype = met[0] if met else f32 if "f" in kinds else bool_ if kinds == {"b"} else i32 if bounds[0] < 0 else u32
    for value in weak:
        _check(value, dtype)
    whole = _whole(dtype)
    return Register(dtype, bounds if within(bounds, whole) else whole, not met)


def _whole(dtype: DType) -> Interval:
    return domain(dtype) if dtype.kind in "iu" else (0, 0)


def _typed(value: object) -> Any:
    """A value as an expression, where it has a type of the GPU; else as a Python number."""
    if isinstance(value, np.generic):
        return ir.const(value.item(), ir.SCALARS[type(value)]) if type(value) in ir.SCALARS else value.item()
    if isinstance(value, int) and domain(i32)[1] < value <= domain(u32)[1]:
        return ir.const(value, u32)  # a number that only u32 holds is one
    return value


def _interval(value: object) -> Interval:
    """Where an integer lies; weak ones as numbers that do not wrap."""
    if isinstance(value, ir.Expr):
        return _exact(value) if value.dtype.kind in "iu" else (0, 0)
    assert isinstance(value, bool | int)
    return value, value


def _check(value: object, dtype: DType) -> None:
    """Raise CannotCarry for a weak value that `dtype` does not hold."""
    if isinstance(value, ir.Weak):
        fits = dtype is not bool_ and (dtype.kind == "f" or value.dtype.kind != "f")
        fits = fits and not (isinstance(value, Carried) and dtype is u32 and _interval(value)[0] < 0)
    else:
        assert isinstance(value, bool | int | float)
        low, high = domain(dtype) if dtype.kind in "iu" else (value, value)
        fits = isinstance(value, bool) == (dtype is bool_) and low <= value <= high
        fits = fits and (dtype.kind == "f" or float(value).is_integer())
    if not fits:
        raise CannotCarry(f"between {value!r} and {dtype}: a register has one type; use gpu.constant or gpu.cast")


def widened(register: Register, old: object, new: object, turn: int) -> Register:
    """The register of a loop that starts with `old`, when a turn of the loop ends with `new`; the same one if it holds.

    An integer starts with the numbers seen and grows: by what is seen once more, then to the end of its type, so that
    few turns settle it.
    """
    found = register_for(old, new)
    if found.weak and not register.weak:
        _check(_typed(old), register.dtype)
        _check(_typed(new), register.dtype)
        found = Register(register.dtype, found.bounds)
    if found.dtype is not register.dtype:
        if not register.weak:
            raise CannotCarry(f"from {register.dtype} to {found.dtype}: a register has one type; use gpu.cast")
        if {found.dtype, register.dtype} != {u32, i32}:
            return found
    dtype = i32 if found.weak and register.dtype is i32 else found.dtype
    (low, high), (least, most) = _hull(register.bounds, found.bounds), _whole(dtype)
    if turn > 1 and low < register.bounds[0]:
        low = least
    if turn > 1 and high > register.bounds[1]:
        high = most
    return Register(dtype, (max(low, least), min(high, most)), found.weak)


def _hull(first: Interval, second: Interval) -> Interval:
    return min(first[0], second[0]), max(first[1], second[1])


def _exact(value: ir.Expr) -> Interval:
    """Where a sum, difference or product lies as an integer, before it wraps."""
    match ir.settled(value):
        case ir.Binary(op="+", left=left, right=right):
            (a, b), (c, d) = _exact(left), _exact(right)
            return a + c, b + d
        case ir.Binary(op="-", left=left, right=right):
            (a, b), (c, d) = _exact(left), _exact(right)
            return a - d, b - c
        case ir.Binary(op="*", left=left, right=right):
            ends = [x * y for x in _exact(left) for y in _exact(right)]
            return min(ends), max(ends)
        case ir.Cast(value=inner) if inner.dtype.kind in "iu":
            return _exact(inner)
    return range_of(ir.settled(value))


def fitted(value: object, dtype: DType) -> ir.Expr:
    """A value as the register's type has it."""
    found = _typed(value)
    if isinstance(found, Carried):
        found = found.value
    return ir.cast(found, dtype) if isinstance(found, ir.Expr) else ir.const(found, dtype)


@dataclass(frozen=True, slots=True)
class RegisterSlot:
    """Where the kernel keeps a number: an array of one element, and what is known of it; `uniform` tells that all
    threads of a workgroup have the same."""

    buffer: ir.Buffer
    register: Register
    uniform: bool = False


def held(
    trace: Trace, owner: Owner, register: Register, old: object, latest: Mapping[ir.Buffer, ir.Expr]
) -> RegisterSlot | None:
    """Where a value already is for its owner: a variable changed by block after block stays in one register.

    `latest` tells what was read from each array last, and is still there. Two variables never share one, also where
    they mean the same value: later they may not.
    """
    name = ir.settled(old) if isinstance(old, ir.Expr) else None
    kept = None if name is None else trace.read_from.get(name)
    there = kept is not None and latest.get(kept) is name and kept.dtype is register.dtype
    return RegisterSlot(kept, register) if there and kept is not None and trace.owners.get(kept) == owner else None


def made(trace: Trace, owner: Owner, register: Register) -> RegisterSlot:
    """A new array of one element for a variable."""
    buffer = trace.local_array(register.dtype, 1, "private", re.findall(r"\w+", owner[1])[0])
    trace.owners[buffer] = owner
    return RegisterSlot(buffer, register)


def starting(trace: Trace, owner: Owner, register: Register, old: object) -> RegisterSlot:
    """The place of a variable, with its old value in it."""
    place = held(trace, owner, register, old, trace.latest)
    if place is None:
        place = made(trace, owner, register)
        trace.emit(setting(place, old))
    return place


def setting(place: RegisterSlot, value: object) -> ir.Store:
    """The statement that gives a variable a value."""
    return ir.Store(place.buffer, ir.const(0), fitted(value, place.register.dtype))


def reading(trace: Trace, place: RegisterSlot) -> ir.Expr:
    """The value of a variable now."""
    buffer, register = place.buffer, place.register
    bounds = register.bounds if register.dtype.kind in "iu" else None
    name = trace.let(buffer.name, ir.load(buffer, ir.const(0)), uniform=place.uniform, bounds=bounds)
    trace.read_from[name], trace.latest[buffer] = buffer, name
    return carried(name) if register.weak else name
