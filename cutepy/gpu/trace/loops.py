"""Loops of the kernel: the body is traced once, and again until the types and bounds of its registers are inductive.

Law: a name that an iteration changes is in a register, which is stored at the end of the iteration, or where the loop
is left. A `while` is unrolled by Python if its condition is known while tracing, and else a loop.
"""

import sys
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from types import CellType, FrameType
from typing import Any

from ...errors import KernelError
from ...tensor.dtypes import bool_
from .. import ir
from ..ir.ranges import domain
from ..ir.simplify import simplify
from .blocks import Block, Cells, Tables, opposite, pairs, truth
from .exits import RESULT, RETURNED
from .registers import (
    CannotCarry,
    Carried,
    Register,
    RegisterSlot,
    blank,
    initial_slot,
    load_slot,
    new_slot,
    numbers_of,
    register_for,
    same,
    store_slot,
    widened,
)
from .state import is_known
from .statements import AtMost, LoopRange, loop_over
from .uniform import decided_together

#: Passes over the body of a loop at most, until its registers are inductive: a type, bounds, a sign.
MOST_PASSES = 16
#: Iterations of a loop that Python unrolls while a kernel is traced.
MOST_UNROLLED = 1 << 14
_RETURNS = RESULT, RETURNED


@dataclass(frozen=True, slots=True)
class LoopExit:
    """A `break` of a loop: the number of its statement in the body, the names and the contents of registers there."""

    at: int
    condition: ir.Expr
    names: dict[str, object]
    latest: dict[ir.Buffer, ir.Expr]
    place: str


class Repeated(Block):
    """`for k in gpu.loop(n):`. With `left`, the name of the flag that it was left, threads may leave it before its
    end."""

    def __init__(
        self, loop: LoopRange, tables: Tables, cells: Cells, counters: tuple[str, ...], frame: FrameType, left: str = ""
    ) -> None:
        super().__init__("while" if loop.stop is None else "gpu.loop", loop.place, tables, cells, frame)
        self.loop, self.counters, self.left = loop, counters, left
        self.carried: dict[str, list[Register | None]] = {}
        self.leaves: dict[str, list[object]] = {}
        self.exits: list[LoopExit] = []
        self.mixed: set[str] = set()
        self.parting = ""
        self.dead = False

    def enters(self, left: object) -> bool:
        """True: an iteration runs in the threads that have not left."""
        return True

    def goes_on(self, left: object) -> bool:
        """Emit a `break` for the threads where `left` holds. False where that is all of them."""
        condition = simplify(truth(left))
        if self.dead or is_known(condition, False):
            return not self.dead
        trace, place = self.trace, self.at(self.frame.f_lineno)
        condition = decided_together(trace, condition, self.what)
        if not trace.is_uniform(condition) and not self.parting:
            self.parting = f"the loop that is left at {place}"
        trace.divergent[-1] = trace.divergent[-1] or self.parting
        self.exits.append(LoopExit(len(trace.blocks[-1]), condition, self.bound(), dict(trace.latest), place))
        trace.emit(ir.Break(condition, place=place))
        trace.held[-1] += ir.conjuncts(simplify(ir.negated(condition)))
        self.dead = is_known(condition, True)
        return not self.dead

    def ended(self, left: object) -> bool:
        """The end of an iteration, with a last `break`. Python's own loop goes on: what follows it is traced in any
        case."""
        self.goes_on(left)
        return False

    def __iter__(self) -> Generator[ir.Expr, None, None]:
        """The counter, once for each time that the body is traced; the last time counts."""
        trace, loop = self.trace, self.loop
        counter = loop.counter(self.counters[0] if len(self.counters) == 1 else "turn" if self.left else "i")
        back = trace.checkpoint()
        place = self.frame.f_code, self.place
        # What an earlier trace of this loop settled on is the first assumption.
        guess, before = trace.guesses.get(place), dict(self.before)
        if guess is not None:
            self.carried, self.mixed, self.parting, empty = guess
            self.before = empty | self.before
            guess = guess if all(map(self.can_begin, self.carried)) else None
        if guess is None:
            self.carried, self.mixed, self.parting, self.before = {}, set(), "", dict(before)
        for pass_number in range(MOST_PASSES):
            # Each pass begins from the state before the loop: registers get their start values, the body is traced
            # anew.
            back()
            flag = self.flag()
            self.leaves = {name: self.start(name, registers) for name, registers in self.carried.items()}
            trace.latest = {}  # an iteration finds what the one before it stored
            self.exits, self.dead, parting = [], False, self.parting
            body = trace.begin_block(loop.divergent or parting)
            none = dict.fromkeys([self.left, RETURNED] if RETURNED in self.before else [self.left], False)
            entry = self.now = self.values() | (none if self.left else {})
            self.put()
            yield counter
            self.look()
            after = self.bound()
            # Inductive? Else the next pass assumes more: wider bounds, another type, a name more in a register.
            settled = self.settles(entry, after, pass_number) and parting == self.parting
            if not settled and guess is not None:  # begin anew, and learn from what there is
                guess, self.carried, self.mixed, self.parting = None, {}, set(), ""
                self.missing, self.before, self.lost_items = set(), before, {}
            # Only the last pass emits.
            if settled:
                self.keep(after, body, flag)
            trace.end_block(self.what)
            if settled:
                break
        else:
            raise KernelError(f"{loop.place}: the names that {self.what} rebinds find no type; give them one")
        if loop.stop is None:
            self.check_ends(body)
        empty = {name: self.before[name] for name in self.before.keys() - before.keys()}
        trace.guesses[place] = self.carried, self.mixed, self.parting, empty
        self.close(body)
        trace.emit(ir.For(counter, loop.start, loop.stop, loop.step, tuple(body), loop.place))
        self.now = self.values()
        if self.left:
            self.now[self.left] = True if flag is None else load_slot(trace, flag)
        # First bound in the body: a loop may have no iteration, so it is not bound afterwards.
        for name in after.keys() - self.before.keys():
            self.lose(name, f"first bound at line {self.names[name]}, in a turn of the loop: a loop may have none;")
        for name in self.counters:
            self.now.pop(name, None)
            self.lose(name, "the counter of the loop, which has ended:")
        self.put()
        self.forget()

    def check_ends(self, body: list[ir.Stmt]) -> None:
        """Raise KernelError for a loop that no thread leaves once it has begun a second iteration."""
        changing: set[ir.Expr | None] = set()
        for stmt in ir.statements(tuple(body)):
            made_of = [node for value in stmt.expressions for node in ir.nodes(value)]
            read = [node for node in made_of if isinstance(node, ir.Load)]
            same_again = isinstance(stmt, ir.Let) and not any(
                n in changing or not (isinstance(n, ir.Load) or ir.is_pure(n)) for n in made_of
            )
            if not same_again or any(
                load.buffer.space != ir.AddressSpace.STORAGE or load.buffer.writable for load in read
            ):
                changing.add(stmt.binds)
        # Where all threads leave the first iteration (the condition is the constant true) there is no second one.
        if not self.dead and not any(v in changing for exit_ in self.exits for v in ir.variables(exit_.condition)):
            raise KernelError(
                f"{self.loop.place}: {self.what} never ends where it begins a second turn: nothing in it changes what "
                "its condition is made of; change a name that the condition reads, or break"
            )

    def flag(self) -> RegisterSlot | None:
        """The register of the flag that the loop was left, if it may also come to its end."""
        if not self.left or self.loop.stop is None:
            return None
        slot = new_slot(self.trace, self.owner(self.left, 0), Register(bool_))
        self.trace.emit(store_slot(slot, False))
        return slot

    def can_begin(self, name: str) -> bool:
        """Whether the registers that an earlier trace of this loop found for a name hold its value before it now."""
        numbers = numbers_of(self.before.get(name))
        if numbers is None or len(numbers) != len(self.carried[name]):
            return False
        try:
            met = [r is None or widened(r, n, n, 0) == r for r, n in zip(self.carried[name], numbers, strict=True)]
        except CannotCarry:
            return False
        return all(met)

    def start(self, name: str, registers: list[Register | None]) -> list[object]:
        """The numbers of a name, or where they are: in registers that are given their first value before the loop."""
        leaves = enumerate(zip(registers, numbers_of(self.before[name]) or (), strict=True))
        agreed = self.loop.uniform and not self.parting and name not in self.mixed
        return [
            old
            if register is None
            else replace(
                initial_slot(self.trace, self.owner(name, at), register, old), uniform=agreed and self.is_uniform(old)
            )
            for at, (register, old) in leaves
        ]

    def is_uniform(self, value: object) -> bool:
        return not isinstance(value, ir.Expr) or self.trace.is_uniform(ir.settled(value))

    def values(self) -> dict[str, object]:
        """The names at the beginning of an iteration, or after the loop."""
        return {
            name: self.read(old, self.leaves[name]) if name in self.carried else old
            for name, old in self.before.items()
            if name not in self.missing
        }

    def settles(self, entry: dict[str, object], after: dict[str, object], pass_number: int) -> bool:
        """Whether the assumptions of this pass about all names hold wherever an iteration ends."""
        after = {name: value for name, value in after.items() if name not in _RETURNS} | {
            name: entry[name] for name in _RETURNS if name in entry
        }
        ends = [exit_.names for exit_ in self.exits] + [after] * (not self.dead)
        returned = [names[RESULT] for names in ends if RESULT in names]
        if returned and RESULT not in self.before:
            self.before[RESULT] = blank(returned[0])
            return False
        settled_names = [self.learn(name, entry, names, pass_number) for names in ends for name in self.before]
        return all(settled_names)

    def learn(self, name: str, entry: dict[str, object], after: dict[str, object], pass_number: int) -> bool:
        """Whether the assumption about a name holds: unchanged, or in registers of the right types and bounds."""
        if name in self.missing or name in self.counters or name == self.left:
            return True
        old, registers_before = self.before[name], self.carried.get(name)
        if registers_before is None and name in after and same(old, after[name]):
            return True
        try:
            if name not in after:
                raise CannotCarry("its value to none")
            # Each number of the value: the register that it has, or one that holds both start and end; widened by what
            # was seen.
            values = pairs(old, after[name])
            registers = registers_before or [None] * len(values)
            starts = numbers_of(entry[name]) or ()
            leaves = list(zip(registers, values, starts, self.leaves.get(name, registers), strict=True))
            registers_now = [
                r if same(v[1], start) else widened(r or register_for(*v), *v, pass_number) for r, v, start, _ in leaves
            ]
        except CannotCarry as why:
            self.missing.add(name)
            self.carried.pop(name, None)
            self.rebound(name, why)
            return False
        self.carried[name] = registers_now
        ends = [value[1] for _, value, _, slot in leaves if isinstance(slot, RegisterSlot) and slot.uniform]
        if all(map(self.is_uniform, ends)):
            return registers_now == registers_before
        # Threads differ in it at the end of an iteration: the next pass does not assume it uniform.
        self.mixed.add(name)
        return False

    def keep(self, after: dict[str, object], body: list[ir.Stmt], flag: RegisterSlot | None) -> None:
        """Store the registers where an iteration ends or the loop is left, but for those that hold the value
        already."""
        if not self.dead:
            body += self.settings(
                {name: after[name] for name in self.leaves if name not in _RETURNS}, self.trace.latest
            )
        for exit_ in self.exits[::-1]:
            last = self.settings(exit_.names, exit_.latest, exit_.condition)
            last += [] if flag is None else [store_slot(flag, True)]
            # if (c) { S } let ...; break if (c) -> break if (c) { S; stores }: one branch, where the lets read nothing
            # of it.
            at = exit_.at - 1
            while at >= 0 and isinstance(body[at], ir.Let):
                at -= 1
            before, read = body[at] if at >= 0 else None, {stmt.binds for stmt in body[at + 1 : exit_.at]}
            if isinstance(before, ir.If) and before.condition is exit_.condition and not before.orelse:
                if not any(v in read for stmt in last for value in stmt.expressions for v in ir.variables(value)):
                    body[exit_.at] = ir.Break(exit_.condition, (*before.then, *last), exit_.place)
                    del body[at]
                    continue
            body[exit_.at] = ir.Break(exit_.condition, tuple(last), exit_.place)

    def settings(
        self, names: dict[str, object], latest: dict[ir.Buffer, ir.Expr], holds: ir.Expr | None = None
    ) -> list[ir.Stmt]:
        """What sets the registers to the values of names, where `holds` does."""
        stores: list[ir.Stmt] = []
        for name, leaves in self.leaves.items():
            for slot, value in zip(leaves, numbers_of(names.get(name, ())) or (), strict=name in names):
                if isinstance(slot, RegisterSlot):
                    value = (
                        ir.settled(value) if isinstance(value, ir.Expr) and not isinstance(value, Carried) else value
                    )
                    if isinstance(value, ir.Select) and value.condition is holds:
                        value = value.then
                    stmt: ir.Store = store_slot(slot, True if value is holds else value)
                    if latest.get(slot.buffer) is not stmt.value:
                        stores.append(stmt)
        return stores


def turns(counted: Iterable[ir.Expr], counter: str, **carried: CellType) -> Iterator[ir.Expr]:
    """`for k in turns(loop(n), "k", total=cell):` is `for k in gpu.loop(n):` in a function whose text is not
    rewritten: what the loop carries is in cells, under the names that their registers get."""
    if not isinstance(counted, LoopRange):
        return iter(counted)
    frame = sys._getframe(1)
    names = tuple([(name, frame.f_lineno) for name in carried])
    return iter(Repeated(counted, (names, ()), carried, (counter,), frame))


class WhileLoop(Repeated):
    """`while test:`: unrolled by Python if the condition is known before each iteration, else a loop from the first."""

    def __init__(self, tables: Tables, cells: Cells, frame: FrameType, left: str) -> None:
        line = frame.f_lineno
        loop = LoopRange(ir.const(0), None, ir.const(1), domain(ir.const(0).dtype), True, "")
        super().__init__(loop, tables, cells, (), frame, left)
        self.place = self.at(line)
        self.what, self.loop = f"while at {self.place}", replace(loop, place=self.place)
        self.trace.open.remove(self)
        self.gpu = self.unknown = self.over = False
        self.head: list[ir.Stmt] = []
        self.most: Any = None
        self.number = 0

    def ends(self, test: object) -> object:
        """Whether the loop ends before an iteration; the bound of `gpu.at_most` is noted."""
        if not isinstance(test, AtMost):
            return opposite(test)
        if self.most is None:
            self.most, self.head = test.turns, self.trace.blocks[-1][self.begin :]
        return opposite(test.condition)

    def goes_on(self, left: object) -> bool:
        if self.gpu:
            return super().goes_on(left)
        # One unknown condition makes the whole `while` a loop.
        unsure = isinstance(left, ir.Expr) and not isinstance(simplify(truth(left)), ir.Const)
        self.unknown |= unsure or isinstance(self.most, ir.Expr)
        self.over = isinstance(self.most, int) and self.number >= self.most
        return not self.unknown and not self.over and not is_known(left, True)

    def ended(self, left: object) -> bool:
        if self.gpu:
            return super().ended(left)
        self.goes_on(left)
        return not self.unknown and (self.over or is_known(left, True))

    def __iter__(self) -> Iterator[object]:  # type: ignore[override]
        back, self.begin = self.trace.checkpoint(), len(self.trace.blocks[-1])
        for self.number in count():
            yield None
            if self.unknown:
                break
            if self.number >= MOST_UNROLLED:
                raise KernelError(
                    f"{self.place}: more than {MOST_UNROLLED} turns of a `while` of which each is known while "
                    f"tracing, and "
                    "written out: does its condition ever become false? count with gpu.loop, or bound it by gpu.at_most"
                )
        back()  # unrolled statements are discarded
        if self.most is not None:
            self.ask_again()
            bounded = loop_over(self.most)
            if not isinstance(bounded, LoopRange):
                return
            self.loop = replace(bounded, place=self.place)
        self.gpu, self.now = True, dict(self.before)
        self.put()
        self.trace.open.append(self)
        self.look()
        yield from super().__iter__()

    def ask_again(self) -> None:
        """What the bound is made of, before the loop."""
        needed = set(ir.variables(ir.settled(self.most))) if isinstance(self.most, ir.Expr) else set()
        kept: list[ir.Stmt] = []
        for stmt in self.head[::-1]:
            # The bound comes before the condition: what is asked before something it is made of belongs to it.
            if not isinstance(stmt, ir.Let) and (kept or stmt.binds in needed):
                raise KernelError(
                    f"{self.place}: the bound of gpu.at_most is asked once, before the loop, and what it is made of "
                    "branches, loops or changes memory; name it before the while: `most = ...`"
                )
            if stmt.binds in needed:
                kept.append(stmt)
                needed |= {name for value in stmt.expressions for name in ir.variables(value)}
        for stmt in kept[::-1]:
            self.trace.emit(stmt)
