"""`with gpu.when`, `if`, conditional expressions, `and`, `or` and `not` over values of the GPU: sides of a branch.

Each side is traced once; what differs between the sides is in registers after them, or chosen by `select` where neither
side has a statement.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Self

from ...errors import KernelError
from ...tensor.dtypes import bool_
from ..ir import Buffer, Const, Expr, If, Stmt, Store, const, select, statements
from ..ir.place import place_of
from ..simplify import simplify
from ..verify.collect import negated
from .blocks import Block, Tables
from .carry import (
    CannotCarry,
    Owner,
    Register,
    fitted,
    held,
    made,
    put_together,
    reading,
    register_for,
    same,
    taken_apart,
)

_UNBOUND = object()


@dataclass(slots=True)
class Side:
    """One side of a branch: its statements, and its names and the contents of registers at its end."""

    body: list[Stmt]
    after: dict[str, object]
    latest: dict[Buffer, Expr]


class Branch(Block):
    """Statements for the threads where a condition holds, and others for the rest."""

    def __init__(self, word: str, place: str, condition: Expr, tables: Tables, frame: FrameType) -> None:
        super().__init__(word, place, tables, frame)
        self.condition, self.otherwise = condition, simplify(negated(condition))
        self.divergent = "" if self.trace.is_uniform(condition) else f"the condition at {place}"
        self.known = dict(self.trace.latest)
        self.sides: list[Side] = []
        self.start(condition)

    def start(self, holds: Expr) -> None:
        self.trace.latest.clear()
        self.trace.latest.update(self.known)
        self.block = self.trace.block(self.what, divergent=self.divergent, holds=holds)
        self.body = self.block.__enter__()

    def stop(self) -> None:
        """The side that is open is complete."""
        if self.trace.open[-1] is not self:
            inner = self.trace.open[-1]
            assert isinstance(inner, Block)
            raise inner.caught(inner.place)
        self.look(self.at(self.frame.f_lineno))
        self.sides.append(Side(self.body, self.bound(), dict(self.trace.latest)))
        self.block.__exit__(None, None, None)

    def turn(self) -> bool:
        """Go on with the other side."""
        self.stop()
        self.now = dict(self.before)
        self.start(self.otherwise)
        return True

    def done(self) -> None:
        """Both sides are complete, or the only one: emit them, and find what their names are after them."""
        self.stop()
        self.end()
        self.sides.append(Side([], self.before, self.known))
        then, other = self.sides[:2]
        self.now = {}
        kept = {name: found for name in self.names if (found := self.merge(name, then, other))}
        stored = {s.buffer for side in (then, other) for s in statements(tuple(side.body)) if isinstance(s, Store)}
        self.trace.latest.clear()
        self.trace.latest.update({buffer: name for buffer, name in self.known.items() if buffer not in stored})
        if then.body:
            self.trace.emit(If(self.condition, tuple(then.body), tuple(other.body), self.place))
        else:
            self.trace.emit(If(self.otherwise, tuple(other.body), place=self.place))
        for name, (like, leaves) in kept.items():
            values = [reading(self.trace, *leaf) if isinstance(leaf, tuple) else leaf for leaf in leaves]
            self.now[name] = put_together(like, values)

    def merge(self, name: str, then: Side, other: Side) -> tuple[object, list[object]] | None:
        """The form of a name's value after the branch, and its numbers or the registers that hold them; None where the
        name is known already, or lost."""
        first, second = (side.after.get(name, _UNBOUND) for side in (then, other))
        old = self.before.get(name, _UNBOUND)
        if same(first, second):
            if first is not _UNBOUND:
                self.now[name] = first
            return None
        if first is _UNBOUND or second is _UNBOUND:
            inside = "first bound" if old is _UNBOUND else "deleted"
            outer = [b.missing for b in self.trace.open if isinstance(b, Block) and b.frame is self.frame]
            if not any(name in missing for missing in outer):
                self.lose(name, f"{inside} at line {self.names[name]}, in those threads only that run")
            return None
        try:
            pairs = [(then, other) for other, then in self.pairs(second, first)]
            registers = [None if same(*pair) else register_for(self.trace, *pair[::-1]) for pair in pairs]
        except CannotCarry as why:
            self.rebound(name, why)
            return None
        olds = taken_apart(old) or ()
        olds = olds if len(olds) == len(pairs) else (_UNBOUND,) * len(pairs)
        owners = [(id(self.frame), name, at) for at in range(len(pairs))]
        leaves = zip(owners, pairs, registers, olds, strict=True)
        return first, [p[0] if r is None else self.merged(owner, r, o, p) for owner, p, r, o in leaves]

    def merged(self, owner: Owner, register: Register, old: object, values: tuple[object, object]) -> object:
        """What holds a number after the branch."""
        return self.register(owner, register, old, values), register

    def register(self, owner: Owner, register: Register, old: object, values: tuple[object, object]) -> Buffer:
        """The array that holds a number after the branch; each side that changes it sets it."""
        buffer, fresh = held(self.trace, owner, register, old, self.known), False
        if buffer is None:
            buffer, fresh = made(self.trace, owner, register), True
            if any(same(old, value) for value in values):
                self.trace.emit(Store(buffer, const(0), fitted(old, register.dtype)))
        for side, value in zip(self.sides, values, strict=False):
            if not (side.latest.get(buffer) is value or (fresh and same(old, value))):
                side.body.append(Store(buffer, const(0), fitted(value, register.dtype)))
        return buffer


class Conditional(Branch):
    """`with gpu.when(condition):`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trail: TracebackType | None) -> None:
        if trail is None:
            return self.done()
        self.block.__exit__(None, None, None)
        self.fail(trail.tb_lineno)


class Chosen(Conditional):
    """The value of one expression or of another."""

    value: object

    def __init__(self, condition: Expr, frame: FrameType) -> None:
        place = place_of(frame.f_code.co_filename, frame.f_lineno)
        super().__init__("the conditional expression", place, condition, (((".value", frame.f_lineno),), ()), frame)

    def bound(self) -> dict[str, object]:
        return {".value": self.value} if hasattr(self, "value") else {}

    def merged(self, owner: Owner, register: Register, old: object, values: tuple[object, object]) -> object:
        if self.sides[0].body or self.sides[1].body:
            return super().merged(owner, register, old, values)
        then, other = (fitted(value, register.dtype) for value in values)
        if other is self.condition:
            return other & then
        return then | other if then is self.condition else select(self.condition, then, other)

    def rebound(self, name: str, why: CannotCarry) -> None:
        raise KernelError(f"{self.place}: the sides of the conditional expression are {why}")


def truth(value: object) -> Expr:
    """Whether a value is not zero, as a value of the kernel."""
    if not isinstance(value, Expr):
        return const(bool(value), bool_)
    return value if value.dtype is bool_ else value != 0


def choose(test: object, first: Callable[[], object], second: Callable[[], object]) -> object:
    """`first() if test else second()`."""
    if not isinstance(test, Expr):
        return first() if test else second()
    return _chosen(simplify(truth(test)), first, second, sys._getframe(1))


def _chosen(condition: Expr, first: Callable[[], object], second: Callable[[], object], frame: FrameType) -> object:
    if isinstance(condition, Const):
        return first() if condition.value else second()
    with Chosen(condition, frame) as branch:
        branch.value = first()
        branch.turn()
        branch.value = second()
    return branch.now[".value"]


def both(first: object, second: Callable[[], object]) -> object:
    """`first and second()`."""
    if not isinstance(first, Expr):
        return first and second()
    condition = simplify(truth(first))
    return _chosen(condition, second, lambda: condition if first.dtype is bool_ else first, sys._getframe(1))


def either(first: object, second: Callable[[], object]) -> object:
    """`first or second()`."""
    if not isinstance(first, Expr):
        return first or second()
    condition = simplify(truth(first))
    return _chosen(condition, lambda: condition if first.dtype is bool_ else first, second, sys._getframe(1))


def opposite(value: object) -> object:
    """`not value`."""
    return ~truth(value) if isinstance(value, Expr) else not value


def compared(value: object, *rest: tuple[Callable[[object, object], object], Callable[[], object]]) -> object:
    """`value < a() <= b()` and so on: each comparison, and the next if it holds."""
    (compare, operand), *others = rest
    right = operand()
    found = compare(value, right)
    if not others:
        return found
    if not isinstance(found, Expr):
        return found and compared(right, *others)
    condition = simplify(found)
    return _chosen(condition, lambda: compared(right, *others), lambda: condition, sys._getframe(1))
