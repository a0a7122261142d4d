"""A block of a kernel while the user's code in it is traced: the sides of a branch, or the iterations of a loop.

Law: after a block a name that it rebinds is what Python would have given each thread: a register, where a register can
hold it, and else not bound. What a block does to Python's objects would be done once and not in each thread or
iteration, so that is refused. Items of lists and dictionaries, and attributes, that hold numbers are names like others
(`items`).

| | a branch | a loop |
|---|---|---|
| the user's code runs | once for each side, from the names before | once, and again while its registers do not hold |
| a number is in a register | where the sides leave it different | where an iteration changes it |
| the register is set | by each side that changes it | before the loop, and at the end of an iteration |
| a name is lost | bound on one side only, or no number | first bound inside, or no number |
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count
from types import CellType, FrameType, TracebackType
from typing import Self

from ...errors import KernelError
from ...tensor.dtypes import bool_
from ..ir import Buffer, Change, Const, Expr, If, Stmt, Store, const, negated, select, settled, statements, variables
from ..ir.place import place_of, user_place
from ..ir.simplify import simplify
from .exits import RESULT
from .mutable_places import Item, items_of
from .python_state import MISSING, content_of, is_of_library
from .registers import (
    CannotCarry,
    Owner,
    Register,
    RegisterSlot,
    blank,
    carried,
    existing_slot,
    fitted,
    form,
    load_slot,
    new_slot,
    numbers_of,
    register_for,
    same,
    store_slot,
    with_numbers,
)
from .snapshot import Snapshot
from .state import current, is_known
from .uniform import decided_together

#: The variables that blocks of one function of the user's bind.
Cells = Mapping[str, CellType]
Names = tuple[tuple[str, int], ...]
Tables = tuple[Names, Names]
UNBOUND = object()
#: Items that a `for` of Python's takes from an iterator while a kernel is traced.
MOST_ITEMS = 1 << 20


class Unrolled(ExitStack):
    """What stands for a block that is Python's own: a `for`, an `if`, or a `with`, whose block may be left out."""

    gpu, entered = False, None

    def __init__(self, items: Iterable[object] = (), *, runs: bool = True) -> None:
        super().__init__()
        self.items, self.runs, self.parted = items, runs, False

    def __iter__(self) -> Iterator[object]:
        if isinstance(self.items, Sized) and is_of_library(type(self.items)):
            return iter(self.items)
        return self.bounded(iter(self.items), len(self.items) if isinstance(self.items, Sized) else MOST_ITEMS)

    def bounded(self, items: Iterator[object], most: int) -> Iterator[object]:
        """The items of an iterator, at most so many, for it may have no end."""
        for number in count():
            # A thread that has left takes no more items: what taking one does beside giving it would be done for it.
            before = StateBeforeItem(sys._getframe(1)) if self.parted else None
            item = next(items, UNBOUND)
            if before is not None:
                before.check_same()
            if item is UNBOUND:
                return
            if number >= most:
                raise KernelError(
                    f"{user_place()}: more than {most} turns of a `for` that Python goes through while tracing: "
                    "does what it goes through have an end?"
                )
            yield item

    def other_side(self) -> bool:
        return not self.runs

    def enters(self, left: object) -> object:
        """Whether an iteration begins: the loop may have been left."""
        return opposite(left)

    goes_on = enters

    def ends(self, test: object) -> object:
        """Whether a `while` ends before an iteration."""
        return opposite(test)

    def ended(self, left: object) -> bool:
        """Whether the loop has been left in every thread."""
        self.parted |= isinstance(left, Expr) and not isinstance(simplify(left), Const)
        return is_known(left, True)

    def done(self) -> None:
        pass


class StateBeforeItem:
    """Python's state and the statements of the kernel before an item is taken of what a `for` goes through."""

    def __init__(self, frame: FrameType) -> None:
        self.frame, self.trace = frame, current("for")
        self.names, self.state = self.bound(), Snapshot(frame, (), {})
        self.block = self.trace.blocks[-1]
        self.length = len(self.block)

    def bound(self) -> dict[str, object]:
        return {name: value for name, value in self.frame.f_locals.items() if name[0] != "."}

    def check_same(self) -> None:
        """Raise KernelError for a change since then of Python's state or of memory, but for registers of names."""
        now = self.bound()
        changed = self.state.changed() or next((n for n in self.names if not same(self.names[n], now.get(n))), None)
        for stmt in statements(tuple(self.block[self.length :])):
            if isinstance(stmt, Change) and stmt.buffer not in self.trace.owners:
                changed = changed or stmt.buffer.name
        if changed:
            raise KernelError(
                f"{user_place()}: {changed} is changed where the loop takes its next item, and threads that have left "
                "the loop take none; change it in the body of the loop, or go through a list"
            )


@dataclass(slots=True)
class BranchSide:
    """One side of a branch: its statements, and its names and the contents of registers at its end."""

    body: list[Stmt]
    after: dict[str, object]
    latest: dict[Buffer, Expr]


class Block:
    """A block over values of the GPU. `now` holds the names that it may bind, as the user's code is to find them."""

    gpu, runs, entered = True, True, None
    has_items = True

    def __init__(self, word: str, place: str, tables: Tables, cells: Cells, frame: FrameType) -> None:
        self.trace, self.frame, self.place = current(word), frame, place
        self.what = f"{word} at {place}"
        self.names, self.foreign = dict(tables[0]), dict(tables[1])
        self.now: dict[str, object] = {}
        self.missing: set[str] = set()
        self.items = items_of(frame) if self.has_items else {}
        self.places: dict[str, CellType | Item] = {name: cells[name] for name in self.names} | self.items
        self.cells = cells
        self.names |= dict.fromkeys(self.items, frame.f_lineno)
        self.lost_items: dict[str, str] = {}
        self.remember()
        self.trace.open.append(self)

    def remember(self) -> None:
        """The block begins here: what Python's state is now, it is to be at its end."""
        self.before, self.foreign_before = self.bound(), self.outside()
        self.latest_before, self.depth = self.trace.latest, len(self.trace.blocks)
        self.state = Snapshot(self.frame, self.items.values(), self.cells)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trail: TracebackType | None) -> None:
        """An exception leaves the block; whoever catches it goes on in all threads, which no kernel can."""
        if trail is None:
            return
        while len(self.trace.blocks) > self.depth:
            self.trace.end_block(self.what)
        if self in self.trace.open:
            del self.trace.open[self.trace.open.index(self) :]
        if self.trace.error is None:
            self.trace.error = self.caught(self.at(trail.tb_lineno))

    def caught(self, place: str) -> KernelError:
        return KernelError(
            f"{place}: an exception leaves {self.what} and is caught: the other threads would go on in the "
            "block; decide with gpu.when instead"
        )

    def bound(self) -> dict[str, object]:
        """The names as they are in the user's code."""
        values = {name: content_of(slot) for name, slot in self.places.items()}
        return {name: value for name, value in values.items() if value is not MISSING}

    def put(self) -> None:
        """The names and the items are what `now` says; a name of which it says nothing is not bound."""
        for name, slot in self.places.items():
            if name in self.now:
                slot.cell_contents = self.now[name]
            elif isinstance(slot, CellType):
                del slot.cell_contents

    def outside(self) -> list[object]:
        """What the names that belong to other scopes mean."""
        spaces = (self.frame.f_locals, self.frame.f_globals) if self.foreign else ()
        return [next((space[n] for space in spaces if n in space), None) for n in self.foreign]

    def at(self, line: int) -> str:
        return place_of(self.frame.f_code.co_filename, line)

    def look(self, place: str = "") -> None:
        """Raise KernelError if Python's state is not what it was when the block began."""
        changed = self.state.changed()
        for (name, line), old, new in zip(self.foreign.items(), self.foreign_before, self.outside(), strict=True):
            if not same(old, new):
                changed, place = name, self.at(line)
        if changed:
            raise KernelError(
                f"{place or self.at(self.frame.f_lineno)}: {changed} is changed inside {self.what}: Python does that "
                "once, not in each thread or turn; keep what changes in a name of this function, in an item of a list "
                "or dictionary that keeps its length, or in a tensor (make_tensor), or unroll with gpu.unroll"
            )

    def close(self, *bodies: list[Stmt]) -> None:
        """The block is complete: registers that its bodies set no longer hold what was read from them."""
        for why in self.lost_items.values():
            raise KernelError(f"{self.place}: {why}; a tensor (make_tensor) holds what differs from thread to thread")
        self.trace.open.pop()
        stored = {stmt.buffer for body in bodies for stmt in statements(tuple(body)) if isinstance(stmt, Store)}
        self.trace.latest = {buffer: name for buffer, name in self.latest_before.items() if buffer not in stored}

    def forget(self) -> None:
        """The frame has a name for this block: once it is complete, neither is to keep the other."""
        del self.frame, self.state, self.items, self.cells, self.places

    def lose(self, name: str, why: str) -> None:
        """Note why a name is not bound from here on."""
        subject = "what the function returns" if name == RESULT else name
        if name in self.items:
            self.lost_items[name] = f"{name} is {why} {self.what}"
            return
        self.trace.lost[self.frame.f_code, name] = f"{subject} is {why} {self.what}"

    def rebound(self, name: str, why: CannotCarry) -> None:
        self.lose(name, f"rebound at line {self.names[name]} from {why}; that happens inside")

    def owner(self, name: str, at: int) -> Owner:
        return id(self.frame), name, at

    def read(self, like: object, leaves: list[object]) -> object:
        """The value of the form of `like` with these numbers, which may be in registers."""
        values = [load_slot(self.trace, leaf) if isinstance(leaf, RegisterSlot) else leaf for leaf in leaves]
        return with_numbers(like, values)


def truth(value: object) -> Expr:
    """Whether a value is not zero, as a value of the kernel."""
    if not isinstance(value, Expr):
        return const(bool(value), bool_)
    return value if value.dtype is bool_ else value != 0


def opposite(value: object) -> object:
    """`not value`."""
    return ~truth(value) if isinstance(value, Expr) else not value


def pairs(old: object, new: object) -> list[tuple[object, object]]:
    """The numbers of a name before and after. Raises CannotCarry where it holds anything else."""
    first, second = numbers_of(old), numbers_of(new)
    if first is None or second is None or form(old) != form(new):
        other = new if second is None or first is not None else old
        raise CannotCarry(f"{_kind(old)} to {_kind(other)}: a register holds a number, or a tuple of as many")
    return list(zip(first, second, strict=True))


def _kind(value: object) -> str:
    return f"a {type(value).__name__}" if not isinstance(value, Expr) else f"a value of type {value.dtype}"


class Branch(Block):
    """Statements for the threads where a condition holds, and others for the rest."""

    def __init__(self, word: str, place: str, condition: Expr, tables: Tables, cells: Cells, frame: FrameType) -> None:
        condition = decided_together(current(word), condition, word)
        super().__init__(word, place, tables, cells, frame)
        self.condition, self.otherwise = condition, simplify(negated(condition))
        self.divergent = "" if self.trace.is_uniform(condition) else f"the condition at {place}"
        self.sides: list[BranchSide] = []
        self.begin(condition)

    def begin(self, holds: Expr) -> None:
        self.trace.latest = dict(self.latest_before)
        self.body = self.trace.begin_block(self.divergent, holds)

    def stop(self) -> None:
        """The side that is open is complete."""
        if self.trace.open[-1] is not self:
            raise self.trace.open[-1].caught(self.trace.open[-1].place)
        self.look()
        self.sides.append(BranchSide(self.body, self.bound(), self.trace.latest))
        self.trace.end_block(self.what)

    def other_side(self) -> bool:
        """End the first side of the branch, and begin the other from the state before."""
        self.stop()
        self.now = dict(self.before)
        self.put()
        self.begin(self.otherwise)
        return True

    def done(self) -> None:
        """Both sides are complete, or the only one: emit them, and find what their names are after them."""
        self.stop()
        self.sides.append(BranchSide([], self.before, self.latest_before))
        then, other = self.sides[:2]
        self.now = {}
        kept = {name: merged for name in self.names if (merged := self.merge(name, then, other))}
        self.close(then.body, other.body)
        if then.body:
            self.trace.emit(If(self.condition, tuple(then.body), tuple(other.body), self.place))
        else:
            # An `if` without statements on its first side is one under the opposite condition.
            self.trace.emit(If(self.otherwise, tuple(other.body), place=self.place))
        self.now |= {name: self.read(*merged) for name, merged in kept.items()}
        self.put()
        self.forget()

    def merge(self, name: str, then: BranchSide, other: BranchSide) -> tuple[object, list[object]] | None:
        """The form of a name's value after the branch, and its numbers or their registers; None where both sides agree
        on it, or where it is lost."""
        first, second, old = (names.get(name, UNBOUND) for names in (then.after, other.after, self.before))
        # 1. Equal on both sides: no register.
        if same(first, second):
            if first is not UNBOUND:
                self.now[name] = first
            return None
        # 2. Nothing is returned on one side yet: a placeholder serves, for `.returned` guards every read.
        if name == RESULT and (first is UNBOUND or second is UNBOUND):  # nothing is returned yet: any value will do
            empty = blank(second if first is UNBOUND else first)
            first, second, old = (empty if x is UNBOUND else x for x in (first, second, old))
            if same(first, second):
                self.now[name] = first
                return None
        # 3. Bound on one side only: not bound afterwards.
        if first is UNBOUND or second is UNBOUND:
            inside = "first bound" if old is UNBOUND else "deleted"
            outer = [b.missing for b in self.trace.open if b.frame is self.frame]
            if not any(name in missing for missing in outer):
                self.lose(name, f"{inside} at line {self.names[name]}, in those threads only that run")
            return None
        # 4. A register for each number that differs.
        try:
            values = [(then, other) for other, then in pairs(second, first)]
            registers = [None if same(*both) else register_for(*both[::-1]) for both in values]
        except CannotCarry as why:
            self.rebound(name, why)
            return None
        olds = numbers_of(old) or ()
        olds = olds if len(olds) == len(values) else (UNBOUND,) * len(values)
        leaves = enumerate(zip(values, registers, olds, strict=True))
        return first, [v[0] if r is None else self.merged(self.owner(name, at), r, o, v) for at, (v, r, o) in leaves]

    def merged(self, owner: Owner, register: Register, old: object, values: tuple[object, object]) -> object:
        """The register of a number after the branch; each side that changes it stores it."""
        if owner[1][0] == "." and not any(v in self.trace.closed for v in self.read_by(values)):
            return self.chosen(register, values)
        slot = existing_slot(self.trace, owner, register, old, self.latest_before)
        fresh = slot is None
        if slot is None:
            slot = new_slot(self.trace, owner, register)
            if any(same(old, value) for value in values):
                self.trace.emit(store_slot(slot, old))
        # A side that already holds the value in this register needs no store.
        for side, value in zip(self.sides, values, strict=False):
            stmt = store_slot(slot, value)
            if not (side.latest.get(slot.buffer) is stmt.value or (fresh and same(old, value))):
                side.body.append(stmt)
        agreed = not self.divergent and all(self.trace.is_uniform(fitted(v, register.dtype)) for v in values)
        return replace(slot, uniform=agreed)

    def read_by(self, values: tuple[object, object]) -> list[Expr]:
        return [name for value in values if isinstance(value, Expr) for name in variables(settled(value))]

    def chosen(self, register: Register, values: tuple[object, object]) -> Expr:
        """The one value or the other, by the condition."""
        then, other = (fitted(value, register.dtype) for value in values)
        test, opposite_ = self.condition, self.otherwise
        # c ? true : x -> c | x, and so on: conditions stay in a form that the prover takes apart.
        if register.dtype is bool_ and (isinstance(then, Const) or then is test):
            return simplify(test | other if is_known(then, True) or then is test else opposite_ & other)
        if register.dtype is bool_ and (isinstance(other, Const) or other is test):
            return simplify(opposite_ | then if is_known(other, True) else test & then)
        value = select(test, then, other)
        return carried(value) if register.weak else value


class Conditional(Branch):
    """`with gpu.when(condition):`."""

    def __exit__(self, kind: object, error: object, trail: TracebackType | None) -> None:
        super().__exit__(kind, error, trail)
        if trail is None:
            self.done()


class Only(Conditional):
    """The same where the block binds no name."""

    has_items = False


def only(condition: Expr) -> Unrolled | Only:
    """`with only(condition):` is `gpu.when` in a function whose text is not rewritten: its block binds no name."""
    met = simplify(condition)
    if is_known(met, True):
        return Unrolled()
    return Only("gpu.when", user_place(), met, ((), ()), {}, sys._getframe(1))


class Chosen(Conditional):
    """The value of one expression or of another."""

    has_items = False
    value: object

    def __init__(self, condition: Expr, frame: FrameType) -> None:
        place = place_of(frame.f_code.co_filename, frame.f_lineno)
        super().__init__("the conditional expression", place, condition, ((), ()), {}, frame)
        self.names[".value"] = frame.f_lineno

    def bound(self) -> dict[str, object]:
        return {".value": self.value} if hasattr(self, "value") else {}

    def put(self) -> None:
        """The value has no name."""

    def merged(self, owner: Owner, register: Register, old: object, values: tuple[object, object]) -> object:
        """A choice where neither side has a statement."""
        if self.sides[0].body or self.sides[1].body:
            return super().merged(owner, register, old, values)
        return self.chosen(register, values)

    def rebound(self, name: str, why: CannotCarry) -> None:
        raise KernelError(f"{self.place}: the sides of the conditional expression are {why}")
