"""Registers of the names that a block of the kernel changes: which values one can hold, of what type; its loads and
stores.

Law: a register has one type, and a Python number is weak: it takes the type that it meets. Numbers that meet none are
f32, bool, and of integers u32, or i32 where one may lie below 0.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import KernelError
from ...frozen import dataclass
from ...layout.affine import Interval, within
from ...tensor.dtypes import DType, bool_, f32, i32, u32
from ...tensor.tensor import Tensor
from .. import ir
from ..ir.place import user_place
from ..ir.ranges import domain, range_of
from ..ir.weak import own_type
from .complex import Complex
from .state import Trace

Leaves = tuple[object, ...]
#: Whose register it is: the frame of the user's code, the name in it, and which of the numbers of its value.
Owner = tuple[int, str, int]


class CannotCarry(Exception):
    """Why no register can hold a value; the message follows the name of the variable."""


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
    own, which numbers below 0 decide, and converted where it meets another. `parts` are the
    operands of which it is computed modulo 2^32, () for a literal; None where it is computed otherwise.
    """

    parts: tuple[ir.Weak, ...] | None = None

    def of(
        self, parts: Sequence[ir.Weak], value: ir.Expr, again: Callable[[DType], ir.Expr], *, wraps: bool
    ) -> "Carried":
        def in_type(dtype: DType) -> ir.Expr:
            same = value.dtype.kind == "f" or (wraps and dtype.kind != "f")
            return again(dtype) if same else ir.cast(value, dtype)

        return Carried(value, in_type, parts=tuple(parts) if wraps else None)

    def check_meets(self, dtype: DType, *, wraps: bool) -> None:
        if dtype is not u32 or self.dtype is not i32 or range_of(self.value)[0] >= 0:
            return
        if not wraps or self.parts is None:
            raise KernelError(
                f"{user_place()}: a Python number that may lie below 0 meets a u32 value; convert one with gpu.cast"
            )
        for operand in self.parts:
            operand.check_meets(dtype, wraps=wraps)


def python_number(value: object) -> ir.Expr:
    """A number as a value of the kernel; Python's own takes the type that it meets."""
    value = _typed(value)
    if isinstance(value, ir.Expr):
        return value

    def in_type(dtype: DType) -> ir.Expr:  # `check_meets` says whether it may wrap
        return ir.const(value, dtype) if isinstance(value, int) else ir.as_expr(value, dtype)

    return Carried(ir.as_expr(value, own_type([value])), in_type, parts=())


def carried(value: ir.Expr) -> ir.Expr:
    """A value that was loaded from a weak register, or selected of weak values, as a Python number of the kernel."""
    if value.dtype is bool_:
        return value
    return Carried(value, lambda dtype: value if value.dtype.kind == "f" else ir.cast(value, dtype))


def numbers_of(value: object) -> Leaves | None:
    """The numbers in a value, if it is a number or holds nothing else: tuples are carried item by item."""
    if (items := _items(value)) is not None:
        nested = [numbers for item in items if (numbers := numbers_of(item)) is not None]
        return tuple([leaf for numbers in nested for leaf in numbers]) if len(nested) == len(items) else None
    number = isinstance(value, bool | int | float | np.number | np.bool_)
    return (value,) if number or (isinstance(value, ir.Expr) and value.lanes == 1) else None


def form(value: object) -> object:
    """How the tuples in a value are nested."""
    items = _items(value)
    return None if items is None else (type(value), *map(form, items))


def _items(value: object) -> Leaves | None:
    """What a tuple or a complex number is made of."""
    return (value.real, value.imag) if isinstance(value, Complex) else value if isinstance(value, tuple) else None


def with_numbers(like: object, leaves: list[object]) -> object:
    """The value of the form of `like` with these numbers, which are taken from the list."""
    if (nested := _items(like)) is None:
        return leaves.pop(0)
    items: list[Any] = [with_numbers(item, leaves) for item in nested]
    kind: Any = type(like)
    return kind(*items) if hasattr(like, "_fields") or isinstance(like, Complex) else tuple(items)


def blank(value: object) -> object:
    """A placeholder of the form of `value`, for a name that is not read on this path; itself where it holds other
    things."""
    leaves = numbers_of(value)
    if leaves is None:
        return value
    return with_numbers(value, [_zero(leaf) if isinstance(leaf, ir.Expr) else leaf for leaf in leaves])


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
        fields = ("engine", "offset", "guard")
        return first.layout == second.layout and all(same(getattr(first, p), getattr(second, p)) for p in fields)
    if isinstance(first, float):
        return repr(first) == repr(second)  # one NaN is like another, and -0.0 is not 0.0
    # Immutable values of known classes compare by value, all others by identity.
    plain = isinstance(first, bool | int | str | bytes) or type(first).__module__.startswith("cutepy.")
    return plain and type(first).__hash__ is not None and bool(first == second)


def register_for(old: object, new: object) -> Register:
    """The register that holds the one value and then the other. Raises CannotCarry."""
    # 1. Types that the GPU knows must be one; weak numbers then take it.
    values = _typed(old), _typed(new)
    met = [v.dtype for v in values if isinstance(v, ir.Expr) and not isinstance(v, ir.Weak)]
    if len(set(met)) == 2:
        raise CannotCarry(f"from {met[0]} to {met[1]}: a register has one type; use gpu.cast")
    weak = [v for v in values if not isinstance(v, ir.Expr) or isinstance(v, ir.Weak)]
    kinds = {v.dtype.kind if isinstance(v, ir.Expr) else type(v).__name__[0] for v in weak}
    # 2. Weak numbers alone: the type of the law above, and for integers the hull of both.
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


def widened(register: Register, old: object, new: object, pass_number: int) -> Register:
    """The register of a loop that starts with `old`, when an iteration ends with `new`; the same one if it holds.

    An integer starts with the numbers seen and grows: by what is seen once more, then to the end of its type, so that
    few passes settle it.
    """
    seen = register_for(old, new)
    # A type was met in an earlier pass: weak numbers take it.
    if seen.weak and not register.weak:
        _check(_typed(old), register.dtype)
        _check(_typed(new), register.dtype)
        seen = Register(register.dtype, seen.bounds)
    if seen.dtype is not register.dtype:
        if not register.weak:
            raise CannotCarry(f"from {register.dtype} to {seen.dtype}: a register has one type; use gpu.cast")
        if {seen.dtype, register.dtype} != {u32, i32}:
            return seen
    dtype = i32 if seen.weak and register.dtype is i32 else seen.dtype
    (low, high), (least, most) = _hull(register.bounds, seen.bounds), _whole(dtype)
    # Widening: a bound that still moves goes to the end of the type, so the fixed point is reached in few passes.
    if pass_number > 1 and low < register.bounds[0]:
        low = least
    if pass_number > 1 and high > register.bounds[1]:
        high = most
    return Register(dtype, (max(low, least), min(high, most)), seen.weak)


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
    typed = _typed(value)
    if isinstance(typed, Carried):
        typed = typed.value
    return ir.cast(typed, dtype) if isinstance(typed, ir.Expr) else ir.const(typed, dtype)


@dataclass(frozen=True, slots=True)
class RegisterSlot:
    """The register of one number: a private array of one element, and its type and bounds; `uniform` where all threads
    of a workgroup hold the same value."""

    buffer: ir.Buffer
    register: Register
    uniform: bool = False


def existing_slot(
    trace: Trace, owner: Owner, register: Register, old: object, latest: Mapping[ir.Buffer, ir.Expr]
) -> RegisterSlot | None:
    """The register that holds a value of this owner already: a variable changed by block after block stays in one.

    `latest` maps each array to the name that was last loaded from it and still equals its content. Two variables never
    share one, also where they mean the same value: later they may not.
    """
    name = ir.settled(old) if isinstance(old, ir.Expr) else None
    kept = None if name is None else trace.read_from.get(name)
    there = kept is not None and latest.get(kept) is name and kept.dtype is register.dtype
    return RegisterSlot(kept, register) if there and kept is not None and trace.owners.get(kept) == owner else None


def new_slot(trace: Trace, owner: Owner, register: Register) -> RegisterSlot:
    """A new array of one element for a variable."""
    buffer = trace.local_array(register.dtype, 1, ir.AddressSpace.PRIVATE, re.findall(r"\w+", owner[1])[0])
    trace.owners[buffer] = owner
    return RegisterSlot(buffer, register)


def initial_slot(trace: Trace, owner: Owner, register: Register, old: object) -> RegisterSlot:
    """The register of a variable, with its old value in it."""
    slot = existing_slot(trace, owner, register, old, trace.latest)
    if slot is None:
        slot = new_slot(trace, owner, register)
        trace.emit(store_slot(slot, old))
    return slot


def store_slot(slot: RegisterSlot, value: object) -> ir.Store:
    """The statement that gives a variable a value."""
    return ir.Store(slot.buffer, ir.const(0), fitted(value, slot.register.dtype))


def load_slot(trace: Trace, slot: RegisterSlot) -> ir.Expr:
    """The value of a variable now."""
    buffer, register = slot.buffer, slot.register
    bounds = register.bounds if register.dtype.kind in "iu" else None
    name = trace.let(buffer.name, ir.load(buffer, ir.const(0)), uniform=slot.uniform, bounds=bounds)
    trace.read_from[name], trace.latest[buffer] = buffer, name
    return carried(name) if register.weak else name
