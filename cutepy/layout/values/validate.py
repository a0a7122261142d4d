"""What may stand in a shape and a stride, checked leaf by leaf.

`is_plain` decides the common case fast; `validated` says what is wrong elsewhere.
"""

from __future__ import annotations

from typing import cast

from ...errors import LayoutError
from .basis import Basis
from .facts import Facts, implied
from .int_tuple import MAX_DEPTH, IntTuple, leaves, show
from .size import Size


def validated(shape: object, stride: object) -> tuple[IntTuple, IntTuple, Facts | None]:
    """Shape and stride with every leaf an int, a basis stride or a symbolic size, and what that states about the sizes.

    Raises LayoutError, which says where they are not.
    """
    extents, steps = checked(shape, stride, shape, stride, 0)
    values = [step.value if isinstance(step, Basis) else step for step in leaves(steps)]
    if all(type(leaf) is int or isinstance(leaf, Size) for leaf in (*leaves(extents), *values)):
        return extents, steps, None
    return extents, steps, implied(leaves(extents), values)


def is_plain(shape: object, stride: object) -> bool:
    """True for the common case, decided fast: ints, or congruent tuples of ints, with sizes from 1."""
    if type(shape) is tuple:
        return _is_plain_tuple(shape, stride, 0)
    return type(shape) is int and type(stride) is int and shape > 0


def _is_plain_tuple(shape: tuple[object, ...], stride: object, depth: int) -> bool:
    if type(stride) is not tuple or len(stride) != len(shape) or depth >= MAX_DEPTH:
        return False
    mode = 0  # counting is faster than zip, and every layout comes through here
    for extent in shape:
        step = stride[mode]
        mode += 1
        if type(extent) is int:
            if type(step) is not int or extent < 1:
                return False
        elif type(extent) is not tuple or not _is_plain_tuple(extent, step, depth + 1):
            return False
    return True


def checked(shape: object, stride: object, whole: object, steps: object, depth: int) -> tuple[IntTuple, IntTuple]:
    """`shape` and `stride` with every leaf an int, a basis stride or a symbol, or the error that says why not."""
    if depth > MAX_DEPTH:
        raise LayoutError(f"Layout(...): the shape nests deeper than {MAX_DEPTH} levels; flatten it")
    if isinstance(shape, tuple):
        if not isinstance(stride, tuple) or len(shape) != len(stride):
            raise LayoutError(
                f"Layout({_short(whole)}, {_short(steps)}): the stride must nest as the shape; "
                f"{_short(stride)} stands against {_short(shape)}"
                + (f"; {_way_out(stride)}" if isinstance(stride, list) or hasattr(stride, "tolist") else "")
            )
        pairs = [checked(s, d, whole, steps, depth + 1) for s, d in zip(shape, stride, strict=True)]
        return tuple(s for s, _ in pairs), tuple(d for _, d in pairs)
    if isinstance(stride, tuple):
        raise LayoutError(
            f"Layout({_short(whole)}, {_short(steps)}): the stride {_short(stride)} nests where the shape is {shape}"
        )
    extent = _whole_number(shape, "a size", whole)
    if type(extent) is int and extent < 1:
        raise LayoutError(f"Layout({_short(whole)}): a size is {extent}; sizes are at least 1")
    return extent, stride if isinstance(stride, Basis) else _whole_number(stride, "a stride", steps)  # type: ignore[return-value]


def _whole_number(value: object, what: str, whole: object) -> int:
    if type(value) is int:
        return value
    if isinstance(value, Size):
        return cast(int, value)
    if hasattr(value, "free_symbols"):
        return cast(int, int(value) if getattr(value, "is_Integer", False) else value)  # type: ignore[call-overload]
    truth = isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool"
    if not truth and hasattr(value, "__index__") and not getattr(value, "shape", ()):
        return value.__index__()  # type: ignore[no-any-return]
    raise LayoutError(
        f"Layout({_short(whole)}): {what} is {_short(value)} of type {type(value).__name__}; {_way_out(value)}"
    )


def _way_out(value: object) -> str:
    if isinstance(value, str) and ":" in value:
        return f"Layout.parse({value!r}) reads a text"
    entries = value.tolist() if hasattr(value, "tolist") else value
    return (
        f"write the tuple {_short(_as_tuples(entries))}" if isinstance(entries, list) else "it must be a whole number"
    )


def _as_tuples(entries: object) -> object:
    return tuple(map(_as_tuples, entries)) if isinstance(entries, (list, tuple)) else entries


def _short(value: object) -> str:
    try:
        text = show(cast(IntTuple, value)) if isinstance(value, tuple) else repr(value)
    except RecursionError:
        return "(a tuple nested too deep)"
    return text if len(text) <= 120 else f"{text[:100]}…"
