"""How often a loop without an end of its own turns: what a turn does to integers, and what has to hold for the next.

Law: a counter that moves by equal steps towards a bound that stays, and is compared with it in every turn, ends the
loop; so does one that is halved down to a bound, or doubled up to it. A comparison is taken as it is made: modulo 2^32,
with a bound so far from the end of the numbers that no step goes past both.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..ir import Binary, Const, Expr, Var, binary, cast, conjuncts, const, rewrite
from ..ranges import domain, linear, range_of
from ..simplify import simplify

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "==": "=="}
#: Turns that halve or double a number of 32 bits, and one more.
_BITS = 33


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What a turn makes of an integer: `end` of `begin`, which is `start` before the loop."""

    start: Expr
    begin: Var
    end: Expr | None

    @property
    def step(self) -> int:
        """By how much a turn moves it, 0 where that is not always the same."""
        if self.end is None:
            return 0
        form = linear(self.end)
        return form.constant if dict(form.terms) == {self.begin: 1} else 0

    def at(self, index: Expr) -> Expr:
        """What it is in turn `index`, where turns move it by equal steps; else anything that it ever is."""
        if not self.step:
            return self.begin
        dtype = self.begin.dtype
        by = binary("*", cast(index, dtype), const(abs(self.step), dtype))
        return simplify(binary("+" if self.step > 0 else "-", self.start, by))

    @property
    def scaled(self) -> str:
        """ "halved" or "doubled", or more so, by each turn; "" otherwise."""
        match self.end:
            case Binary(op="//", left=left, right=Const(value=by)) if left is self.begin and by > 1:
                return "halved" if range_of(left)[0] >= 0 else ""
            case Binary(op="*", left=left, right=Const(value=2)) if left is self.begin:
                return "doubled" if range_of(self.start)[0] > 0 else ""
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """A comparison that must hold for the next turn: `change` moved by `offset`, `op`, and a bound that stays."""

    change: Change
    offset: int
    op: str
    bound: Expr

    @property
    def most(self) -> int | None:
        """How often it may hold, turn after turn; None where that is not known to end."""
        dtype = self.change.begin.dtype
        bottom, top = domain(dtype)
        first = (
            simplify(binary("+", self.change.start, const(self.offset, dtype))) if self.offset else self.change.start
        )
        (low, high), (least, last), step = range_of(first), range_of(self.bound), self.change.step
        above, below = last + (self.op == "<="), least - (self.op == ">=")
        if self.change.scaled == "doubled" and not self.offset and self.op in ("<", "<=") and 2 * (above - 1) <= top:
            return _BITS
        if self.change.scaled == "halved" and not self.offset:
            down = least >= {">": 0, ">=": 1}.get(self.op, 1 << 32)
            return _BITS if down or (self.op == "!=" and (least, last) == (0, 0)) else None
        if self.op in ("<", "<=") and step > 0 and above - 1 + step <= top:
            return max(0, -(-(above - low) // step))
        if self.op in (">", ">=") and step < 0 and below + 1 + step >= bottom:
            return max(0, -(-(high - below) // -step))
        if self.op == "!=" and step == 1 and high <= least:
            return max(0, last - low)
        if self.op == "!=" and step == -1 and low >= last:
            return max(0, high - least)
        return None

    def inside(self, goes_on: Expr, index: Expr) -> Expr:
        """When turn `index` happens, if this alone decides: a counter beyond its start has wrapped around."""
        counter = self.change.at(index)
        now = rewrite(goes_on, lambda node: counter if node is self.change.begin else node, {})
        way = "<=" if self.change.step < 0 else ">="
        return simplify(binary("&", now, binary(way, counter, self.change.start)))


def limits(goes_on: Expr, changes: Iterable[Change], stays: Callable[[Expr], bool]) -> list[Limit]:
    """The limits among the parts of a condition."""
    begun = {change.begin: change for change in changes}
    found = []
    for part in conjuncts(goes_on):
        if not isinstance(part, Binary) or part.op not in _TURNED or part.left.dtype.kind not in "iu":
            continue
        for op, side, bound in ((part.op, part.left, part.right), (_TURNED[part.op], part.right, part.left)):
            form = linear(side)
            atoms = [atom for atom in form.terms if isinstance(atom, Var) and atom in begun]
            if len(form.terms) == len(atoms) == 1 and form.terms[atoms[0]] == 1 and stays(bound):
                found.append(Limit(begun[atoms[0]], form.constant, op, bound))
    return found
