"""What may stand in a shape and a stride, checked leaf by leaf, and facts about unknown sizes ("64 divides M").

`is_plain` decides the common case fast; `validated` says what is wrong elsewhere. A layout with unknown sizes carries
its facts, operations unite those of their operands, and `subs` checks them against the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ...errors import LayoutError
from .basis import Basis
from .int_tuple import MAX_DEPTH, IntTuple, leaves, show
from .size import Size

if TYPE_CHECKING:
    import sympy

Term: TypeAlias = "int | sympy.Expr"


@dataclass(frozen=True, slots=True)
class Fact:
    """`left sign right`: the sign is "divides", ">=", "<=", "==" or "!="."""

    left: Term
    sign: str
    right: Term

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"

    def holds(self) -> bool | None:
        """True or False where both sides are numbers, None where something is unknown."""
        if not (type(self.left) is int and type(self.right) is int):
            return self._holds_anyway()
        left, right = self.left, self.right
        if self.sign == "divides":
            return left != 0 and right % left == 0
        if self.sign in (">=", "<="):
            return left >= right if self.sign == ">=" else left <= right
        return left == right if self.sign == "==" else left != right

    def _holds_anyway(self) -> bool | None:
        """True or False where that is so for every positive value of what is unknown."""
        sides = (self.left, self.right)
        if any(getattr(side, "is_integer", None) is False for side in sides):
            return False
        if self.sign == "divides":
            return True if getattr(self.right / self.left, "is_integer", False) else None
        more = self.left - self.right if self.sign != "<=" else self.right - self.left
        if self.sign in ("==", "!="):
            zero = more == 0 or getattr(more, "is_zero", None)
            return zero if zero is None or self.sign == "==" else not zero
        return cast("bool | None", getattr(more, "is_nonnegative", more >= 0 if type(more) is int else None))


@dataclass(frozen=True, slots=True)
class Origin:
    """The call that gave a layout, and the shape and stride that it gave: other layouts may share its facts."""

    function: Callable[..., object]
    operands: tuple[object, ...]
    shape: object
    stride: object


@dataclass(frozen=True, slots=True)
class Facts:
    """What is stated, in the order of stating, each once; and where the layout that carries it comes from."""

    stated: tuple[Fact, ...] = ()
    origin: Origin | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return ", ".join(map(str, self.stated))

    def __or__(self, other: object) -> Facts:
        more = other.stated if isinstance(other, Facts) else ()
        return Facts(tuple(dict.fromkeys(self.stated + more)), self.origin) if more else self


def whole(value: Any) -> Term:
    """A SymPy integer as an int; other expressions as they are."""
    term: Term = int(value) if getattr(value, "is_Integer", False) else value
    return term


def check_symbol(symbol: object) -> None:
    """Sizes are positive integers; a symbol must say so, for SymPy tells M from M by what is said of it."""
    if not (getattr(symbol, "is_integer", False) and getattr(symbol, "is_positive", False)):
        raise LayoutError(
            f"the symbol {symbol} is not known to be a positive integer; make it with "
            f"Symbol({str(symbol)!r}, integer=True, positive=True)"
        )


def implied(shape: Iterable[Term], stride: Iterable[Term]) -> Facts | None:
    """What writing a layout states: each size is an integer from 1, each stride an integer. None without symbols."""
    shape, stride = list(shape), list(stride)
    symbolic = False
    found: list[Fact] = []
    for position, term in enumerate(shape + stride):
        if isinstance(term, int):
            continue
        if not term.free_symbols:
            raise LayoutError(f"{term} is no size: a size is a whole number")
        symbolic = True
        for symbol in term.free_symbols:
            check_symbol(symbol)
        if not term.is_integer:
            found.append(_integral(term))
        if position < len(shape) and not term.is_positive:
            found.append(Fact(term, ">=", 1))
    return Facts(tuple(dict.fromkeys(found))) if symbolic else None


def _integral(term: Term) -> Fact:
    import sympy

    above, below = sympy.fraction(sympy.together(term))
    if not (getattr(above, "is_integer", False) and getattr(below, "is_integer", False)) or below == 1:
        raise LayoutError(f"{term} is no size: a size is a whole number, a positive symbol, or made of them by + - * /")
    return Fact(whole(below), "divides", whole(above))


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
        text = show(value) if isinstance(value, tuple) else repr(value)
    except RecursionError:
        return "(a tuple nested too deep)"
    return text if len(text) <= 120 else f"{text[:100]}…"
