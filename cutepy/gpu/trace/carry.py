"""Values that a block of the kernel changes: which of them a register can hold, of what type; its loads and stores.

Law: a register has one type, and a Python number is weak: it takes the type that it meets. Numbers that meet none are
f32, bool, and of integers u32, or i32 where one lies below 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...layout.affine import Interval, within
from ...tensor.dtypes import DType, as_dtype, bool_, f32, i32, u32
from ...tensor.tensor import Tensor
from ..ir import (
    Binary,
    Buffer,
    Builtin,
    Expr,
    Load,
    Param,
    Store,
    Var,
    Weak,
    as_expr,
    cast,
    const,
    load,
    nodes,
    variables,
)
from ..ir import settled as settled_weak
from ..ranges import domain, range_of
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


def taken_apart(value: object) -> Leaves | None:
    """The numbers in a value, if it is a number or holds nothing else: tuples are carried item by item."""
    if isinstance(value, tuple):
        parts = [part for item in value if (part := taken_apart(item)) is not None]
        return tuple([leaf for part in parts for leaf in part]) if len(parts) == len(value) else None
    number = isinstance(value, bool | int | float | np.number | np.bool_)
    return (value,) if number or (isinstance(value, Expr) and value.lanes == 1) else None


def put_together(like: object, leaves: list[object]) -> object:
    """The value of the form of `like` with these numbers, which are taken from the list."""
    if not isinstance(like, tuple):
        return leaves.pop(0)
    items: list[Any] = [put_together(item, leaves) for item in like]
    return type(like)(*items) if hasattr(like, "_fields") else tuple(items)


def alike(first: object, second: object) -> bool:
    """Whether two values have the same form."""
    if isinstance(first, tuple) and isinstance(second, tuple):
        same = type(first) is type(second) and len(first) == len(second)
        return same and all(map(alike, first, second))
    return not isinstance(first, tuple) and not isinstance(second, tuple)


def same(first: object, second: object) -> bool:
    """Whether a name means the same before and after: the same object, or equal values that cannot change."""
    if first is second:
        return True
    if type(first) is not type(second) or isinstance(first, Expr):
        return False
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        parts = ("engine", "offset", "guard")
        return first.layout == second.layout and all(same(getattr(first, p), getattr(second, p)) for p in parts)
    if isinstance(first, float):
        return repr(first) == repr(second)  # one NaN is like another, and -0.0 is not 0.0
    plain = isinstance(first, bool | int | str | bytes) or type(first).__module__.startswith("cutepy.")
    return plain and type(first).__hash__ is not None and bool(first == second)


def register_for(trace: Trace, old: object, new: object) -> Register:
    """The register that holds the one value and then the other. Raises CannotCarry."""
    values = _typed(old), _typed(new)
    met = [v.dtype for v in values if isinstance(v, Expr) and not is_weak(trace, v)]
    if len(set(met)) == 2:
        raise CannotCarry(f"from {met[0]} to {met[1]}: a register has one type; use gpu.cast")
    weak = [v for v in values if not isinstance(v, Expr) or is_weak(trace, v)]
    floats = any(isinstance(v, float) or (isinstance(v, Expr) and v.dtype.kind == "f") for v in weak)
    bounds = (0, 0) if floats else _hull(*map(_interval, values))
    bools = all(isinstance(v, bool) or (isinstance(v, Expr) and v.dtype is bool_) for v in weak)
    dtype = met[0] if met else f32 if floats else bool_ if bools else i32 if bounds[0] < 0 else u32
    for value in weak:
        _check(value, dtype)
    whole = domain(dtype) if dtype.kind in "iu" else (0, 0)
    return Register(dtype, bounds if within(bounds, whole) else whole, not met)


def is_weak(trace: Trace, value: Expr) -> bool:
    """Whether a value was computed from Python numbers alone, through names that carry them."""
    if isinstance(value, Weak):
        return True
    names = variables(value)
    leaf = Load | Builtin | Param
    return bool(names) and all(n in trace.weak for n in names) and not any(isinstance(n, leaf) for n in nodes(value))


def _typed(value: object) -> object:
    """A value as an expression, where it has a type of the GPU; else as a Python number."""
    if isinstance(value, np.generic):
        if value.dtype.name in ("float32", "float16", "int32", "uint32"):
            return const(value.item(), as_dtype(value.dtype))
        return value.item()
    return value


def _interval(value: object) -> Interval:
    """Where an integer lies; weak ones as numbers that do not wrap."""
    if isinstance(value, Expr):
        return _exact(value) if value.dtype.kind in "iu" else (0, 0)
    assert isinstance(value, bool | int)
    return value, value


def _check(value: object, dtype: DType) -> None:
    """Raise CannotCarry for a weak value that `dtype` does not hold."""
    if isinstance(value, Weak):
        fits = dtype is not bool_ and (dtype.kind == "f" or value.dtype.kind != "f")
    elif isinstance(value, Expr):
        fits = value.dtype is dtype or {value.dtype, dtype} == {u32, i32}
    else:
        assert isinstance(value, bool | int | float)
        low, high = domain(dtype) if dtype.kind in "iu" else (value, value)
        fits = isinstance(value, bool) == (dtype is bool_) and low <= value <= high
        fits = fits and (dtype.kind == "f" or float(value).is_integer())
    if not fits:
        raise CannotCarry(f"between {value!r} and {dtype}: a register has one type; use gpu.constant or gpu.cast")


def settled(trace: Trace, register: Register, old: object, new: object, turn: int) -> Register:
    """The register of a loop that starts with `old`, when a turn of the loop ends with `new`; the same one if it holds.

    What is not weak may be any number of its type. A weak integer starts with the numbers seen and grows: by what is
    seen once more, then to the end of its type, so that few turns settle it.
    """
    found = register_for(trace, old, new)
    if not found.weak:
        whole = domain(found.dtype) if found.dtype.kind in "iu" else (0, 0)
        found = replace(found, bounds=whole)
    if not register.weak and found.weak:
        _check(_typed(old), register.dtype)
        _check(_typed(new), register.dtype)
        return register
    if not register.weak and register.dtype is not found.dtype:
        raise CannotCarry(f"from {register.dtype} to {found.dtype}: a register has one type; use gpu.cast")
    if found.dtype is not register.dtype and {found.dtype, register.dtype} != {u32, i32}:
        return found
    low, high = _hull(register.bounds, found.bounds)
    dtype = i32 if i32 in (found.dtype, register.dtype) and found.weak else found.dtype
    least, most = domain(dtype) if dtype.kind in "iu" else (0, 0)
    if turn > 1 and low < register.bounds[0]:
        low = least
    if turn > 1 and high > register.bounds[1]:
        high = most
    return Register(dtype, (max(low, least), min(high, most)), found.weak)


def _hull(first: Interval, second: Interval) -> Interval:
    return min(first[0], second[0]), max(first[1], second[1])


def _exact(value: Expr) -> Interval:
    """Where a sum, difference or product lies as an integer, before it wraps."""
    match value:
        case Binary(op="+", left=left, right=right):
            (a, b), (c, d) = _exact(left), _exact(right)
            return a + c, b + d
        case Binary(op="-", left=left, right=right):
            (a, b), (c, d) = _exact(left), _exact(right)
            return a - d, b - c
        case Binary(op="*", left=left, right=right):
            ends = [x * y for x in _exact(left) for y in _exact(right)]
            return min(ends), max(ends)
    return range_of(settled_weak(value))


def fitted(value: object, dtype: DType) -> Expr:
    """A value as the register's type has it."""
    typed = _typed(value)
    if isinstance(typed, Weak):
        return as_expr(typed, dtype)
    return cast(typed, dtype) if isinstance(typed, Expr) else const(typed, dtype)  # type: ignore[arg-type]


def held(trace: Trace, owner: Owner, register: Register, old: object, latest: Mapping[Buffer, Expr]) -> Buffer | None:
    """The array that holds a value for its owner: a variable changed by block after block stays in one register.

    `latest` tells what was read from each array last, and is still there. Two variables never share one, also where
    they mean the same value: later they may not.
    """
    kept = trace.read_from.get(old) if isinstance(old, Var) else None
    there = kept is not None and latest.get(kept) is old and kept.dtype is register.dtype
    return kept if there and kept is not None and trace.owners.get(kept) == owner else None


def made(trace: Trace, owner: Owner, register: Register) -> Buffer:
    """A new array of one element for a variable."""
    buffer = trace.local_array(register.dtype, 1, "private", owner[1].strip("."))
    trace.owners[buffer] = owner
    return buffer


def starting(trace: Trace, owner: Owner, register: Register, old: object) -> Buffer:
    """The array that holds a variable, with its old value in it."""
    buffer = held(trace, owner, register, old, trace.latest)
    if buffer is None:
        buffer = made(trace, owner, register)
        trace.emit(Store(buffer, const(0), fitted(old, register.dtype)))
    return buffer


def keep(trace: Trace, buffer: Buffer, value: Expr) -> None:
    """Set a variable, unless it is what was read from it last."""
    if trace.latest.get(buffer) is not value:
        trace.emit(Store(buffer, const(0), value))
        trace.latest.pop(buffer, None)


def reading(trace: Trace, buffer: Buffer, register: Register) -> Var:
    """The value of a variable now."""
    bounds = register.bounds if register.dtype.kind in "iu" else None
    name = trace.let(buffer.name, load(buffer, const(0)), uniform=False, bounds=bounds)
    trace.read_from[name], trace.latest[buffer] = buffer, name
    if register.weak:
        trace.weak.add(name)
    return name
