"""What may stand in a shape and a stride, checked leaf by leaf, and facts about unknown sizes ("64 divides M").

`is_plain` decides the common case fast; `validated` says what is wrong elsewhere. A layout with unknown sizes carries
its facts, operations unite those of their operands, and `subs` checks them against the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ...errors import LayoutError
from .coordinates import Basis, as_stride
from .followed import FollowedNumber
from .int_tuple import MAX_DEPTH, IntTuple, show
from .size import Size

if TYPE_CHECKING:
    import sympy

Term: TypeAlias = "int | sympy.Expr"


class Fact(NamedTuple):
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
        """True or False where SymPy's assumptions say so for all positive integers."""
        sides = (self.left, self.right)
        if any(getattr(side, "is_integer", None) is False for side in sides):
            return False
        if self.sign == "divides":
            return getattr(self.right / self.left, "is_integer", None)
        more = self.left - self.right if self.sign != "<=" else self.right - self.left
        if self.sign in ("==", "!="):
            zero = more == 0 or getattr(more, "is_zero", None)
            return zero if zero is None or self.sign == "==" else not zero
        return getattr(more, "is_nonnegative", more >= 0 if type(more) is int else None)


class FactSource(NamedTuple):
    """The call that gave a layout, and the shape and stride that it gave: other layouts may share its facts."""

    function: Callable[..., object]
    operands: tuple[object, ...]
    shape: object
    stride: object


@dataclass(frozen=True, slots=True)
class Facts:
    """What is stated, in the order of stating, each once; and where the layout that carries it comes from."""

    stated: tuple[Fact, ...] = ()
    origin: FactSource | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return ", ".join(map(str, self.stated))

    def __or__(self, other: object) -> Facts:
        more = other.stated if isinstance(other, Facts) else ()
        return Facts(tuple(dict.fromkeys(self.stated + more)), self.origin) if more else self


def whole(value: Any) -> Term:
    """A SymPy integer as an int; other expressions as they are."""
    return int(value) if getattr(value, "is_Integer", False) else value


def check_symbol(symbol: object) -> None:
    """Sizes are positive integers; a symbol must say so, for SymPy tells M from M by what is said of it."""
    if not (getattr(symbol, "is_integer", False) and getattr(symbol, "is_positive", False)):
        raise LayoutError(
            f"the symbol {symbol} is not known to be a positive integer; make it with "
            f"Symbol({str(symbol)!r}, integer=True, positive=True)"
        )


def implied(shape: Iterable[Term], stride: Iterable[Term]) -> Facts | None:
    """What writing a layout states: each size is an integer from 1, each stride an integer. None without symbols.

    Raises LayoutError for a symbol that is not known to be a positive integer, and for what states a fact that holds
    for no values.
    """
    symbolic = False
    facts: list[Fact] = []
    # What SymPy does not tell becomes a fact.
    for term, least in [*((extent, 1) for extent in shape), *((step, None) for step in stride)]:
        if isinstance(term, (int, Size)):
            continue
        if not term.free_symbols:
            raise LayoutError(f"{term} is no size: a size is a whole number")
        symbolic = True
        for symbol in term.free_symbols:
            check_symbol(symbol)
        stated = [] if term.is_integer else [_integral(term)]
        if least is not None and not term.is_positive:
            stated.append(Fact(term, ">=", least))
        for fact in stated:
            if fact.holds() is False:
                kind, least_said = ("size", " from 1") if least else ("stride", "")
                raise LayoutError(f"{term} is no {kind}: '{fact}' never holds; a {kind} is a whole number{least_said}")
        facts += stated
    return Facts(tuple(dict.fromkeys(facts))) if symbolic else None


def _integral(term: Term) -> Fact:
    """The fact that makes a quotient an integer: its denominator divides its numerator."""
    import sympy

    # n/d is an integer exactly when d divides n.
    above, below = sympy.fraction(sympy.together(term))
    if not (getattr(above, "is_integer", False) and getattr(below, "is_integer", False)) or below == 1:
        raise LayoutError(f"{term} is no size: a size is a whole number, a positive symbol, or made of them by + - * /")
    return Fact(whole(below), "divides", whole(above))


def validated(shape: object, stride: object) -> tuple[IntTuple, IntTuple, Facts | None]:
    """Shape and stride with every leaf an int, a basis stride or a symbolic size, and what that states about the sizes.

    Raises LayoutError, which says where they are not.
    """
    sizes: list[Term] = []
    values: list[int] = []

    def checked(tree: object, along: object, depth: int) -> tuple[IntTuple, IntTuple]:
        """Shape and stride of one subtree, checked and in normal form; its leaves are appended to `sizes` and
        `values`."""
        if depth > MAX_DEPTH:
            raise LayoutError(f"Layout(...): the shape nests deeper than {MAX_DEPTH} levels; flatten it")
        if isinstance(tree, tuple):
            if not isinstance(along, tuple) or len(tree) != len(along):
                raise LayoutError(
                    f"Layout({_short(shape)}, {_short(stride)}): the stride must nest as the shape; "
                    f"{_short(along)} stands against {_short(tree)}"
                    + (f"; {_way_out(along)}" if isinstance(along, list) or hasattr(along, "tolist") else "")
                )
            # Shape and stride are walked together, so an error can name the pair of leaves that do not fit.
            pairs = [checked(s, d, depth + 1) for s, d in zip(tree, along, strict=True)]
            return tuple(s for s, _ in pairs), tuple(d for _, d in pairs)
        if isinstance(along, tuple):
            raise LayoutError(
                f"Layout({_short(shape)}, {_short(stride)}): the stride {_short(along)} nests where the shape is "
                f"{_short(tree)}"
            )
        extent = _whole_number(tree, "a size", shape)
        if isinstance(extent, int) and extent < 1:
            raise LayoutError(f"Layout({_short(shape)}): a size is {_short(extent)}; sizes are at least 1")
        sizes.append(extent)
        if isinstance(along, Basis):
            values.append(along.value)
            return extent, as_stride(along.value, along.path)
        values.append(_whole_number(along, "a stride", stride))
        return extent, values[-1]

    extents, steps = checked(shape, stride, 0)
    return extents, steps, implied(sizes, values)


def is_plain(shape: object, stride: object) -> bool:
    """True for the common case, decided fast: ints, or congruent tuples of ints, with sizes from 1."""
    if type(shape) is tuple:
        return _is_plain_tuple(shape, stride, 0)
    return type(shape) is int and type(stride) is int and shape > 0


def _is_plain_tuple(shape: tuple[object, ...], stride: object, depth: int) -> bool:
    """`is_plain` of a tuple at this depth: congruent tuples of ints, extents from 1, at most MAX_DEPTH deep."""
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


def _whole_number(value: Any, what: str, whole: object) -> int:
    """A leaf as an int, a Size or a SymPy expression. Raises LayoutError, which names `what` it is, for all else."""
    number: int
    kind: type = type(value)
    if kind is int or kind is FollowedNumber:  # which acts as an int
        number = value
        return number
    if type(value) is Size or hasattr(value, "free_symbols"):
        number = int(value) if getattr(value, "is_Integer", False) else value
        return number
    # bool has __index__ too, but True as a size is almost always a mistake.
    truth = isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool"
    if not truth and hasattr(type(value), "__index__") and not getattr(value, "shape", ()):
        number = value.__index__()
        return number
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
    except ValueError:  # more digits than Python writes
        return "(a number too long to be written)"
    return text if len(text) <= 120 else f"{text[:100]}…"
