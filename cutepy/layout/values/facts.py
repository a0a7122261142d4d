"""Facts about unknown sizes: "64 divides M", "M >= 4", "N == 4*M", "K != M".

A layout with unknown sizes carries its facts, operations unite those of their operands, and `subs` checks them against
the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

from ...errors import LayoutError

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


def whole(value: object) -> Term:
    """A SymPy integer as an int; other expressions as they are."""
    return int(cast(int, value)) if getattr(value, "is_Integer", False) else cast("Term", value)


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
        if type(term) is int:
            continue
        if not term.free_symbols:  # type: ignore[union-attr]
            raise LayoutError(f"{term} is no size: a size is a whole number")
        symbolic = True
        for symbol in term.free_symbols:  # type: ignore[union-attr]
            check_symbol(symbol)
        if not term.is_integer:  # type: ignore[union-attr]
            found.append(_integral(term))
        if position < len(shape) and not term.is_positive:  # type: ignore[union-attr]
            found.append(Fact(term, ">=", 1))
    return Facts(tuple(dict.fromkeys(found))) if symbolic else None


def _integral(term: Term) -> Fact:
    import sympy

    above, below = sympy.fraction(sympy.together(term))
    if not (getattr(above, "is_integer", False) and getattr(below, "is_integer", False)) or below == 1:
        raise LayoutError(f"{term} is no size: a size is a whole number, a positive symbol, or made of them by + - * /")
    return Fact(whole(below), "divides", whole(above))
