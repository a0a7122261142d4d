"""What the hooks in the user's code do: `with gpu.when(...)` and `for k in gpu.loop(...)` become blocks of the kernel.

Law: after a block a name that it rebinds is what Python would have given each thread: a register, where a register can
hold it, and else not bound. What a block does to Python's objects would be done once and not in each thread or turn, so
that is refused.
"""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from types import FrameType, FunctionType, MethodType, TracebackType
from typing import ClassVar, cast

from ...errors import KernelError
from ..ir import Buffer, Expr, For, If, Store, statements
from ..ir.place import KERNEL_FILE, place_of
from .carry import (
    CannotCarry,
    Register,
    alike,
    fitted,
    keep,
    put_together,
    reading,
    register_for,
    same,
    settled,
    starting,
    taken_apart,
)
from .language import Loop, When
from .snapshot import Snapshot
from .state import current, is_known, tracing
from .syntax import with_hooks

Names = tuple[tuple[str, int], ...]
Tables = tuple[Names, Names]
#: Turns after which a loop's registers have settled: a type met, a range wide enough, a sign found.
MOST_TURNS = 16


def target(function: object) -> object:
    """`function` as code inside a trace calls it: the user's own Python functions with hooks, others as they are."""
    kind = type(function)
    if kind is FunctionType:
        return with_hooks(function, sys.modules[__name__], KERNEL_FILE.get())  # type: ignore[arg-type]
    if isinstance(function, MethodType):
        inner = target(function.__func__)
        return function if inner is function.__func__ else MethodType(inner, function.__self__)  # type: ignore[arg-type]
    if isinstance(function, partial):
        return partial(cast(Callable[..., object], target(function.func)), *function.args, **function.keywords)
    call = vars(kind).get("__call__")
    return MethodType(target(call), function) if type(call) is FunctionType else function  # type: ignore[arg-type]


def look() -> None:
    """After a statement that may have changed an object of Python's."""
    trace = tracing()
    if trace is not None and trace.open:
        block, frame = trace.open[-1], sys._getframe(1)
        assert isinstance(block, Block)
        block.look(place_of(frame.f_code.co_filename, frame.f_lineno))


def leave(word: str, blocks: "tuple[Block | Plain | Unrolled, ...]", value: object = None) -> object:
    """Before a statement that leaves blocks."""
    frame = sys._getframe(1)
    for block in reversed(blocks):
        if isinstance(block, Block):
            way = {
                "break": "bound the loop, or let gpu.when decide about its body",
                "yield": "write the block where the value is used",
            }.get(word, "put what follows in gpu.when with the opposite condition")
            raise KernelError(
                f"{place_of(frame.f_code.co_filename, frame.f_lineno)}: {word} inside {block.what}: it would be done "
                f"once while tracing, and not by each thread; {way}"
            )
    return value


def conditional(subject: object, tables: Tables) -> "Plain | Unrolled | Conditional":
    """What `with subject:` enters."""
    if not isinstance(subject, When):
        return Plain(subject)  # type: ignore[arg-type]
    if is_known(subject.condition, True) or is_known(subject.condition, False):
        current("gpu.when").skipped |= is_known(subject.condition, False)
        return Unrolled(runs=is_known(subject.condition, True))
    return Conditional(subject, tables, sys._getframe(1))


def repeated(subject: object, tables: Tables, counters: tuple[str, ...]) -> "Unrolled | Repeated":
    """What `for counters in subject:` goes through."""
    if isinstance(subject, Loop):
        return Repeated(subject, tables, counters, sys._getframe(1))
    return Unrolled(subject)  # type: ignore[arg-type]


class Plain(ExitStack):
    """A `with` that is Python's own."""

    gpu, runs = False, True

    def __init__(self, manager: AbstractContextManager[object]) -> None:
        super().__init__()
        self.manager = manager

    def __enter__(self) -> "Plain":
        self.entered = self.enter_context(self.manager)
        return self


class Unrolled:
    """A `for` that is Python's own; or a `with` whose block runs in all threads, or in none."""

    gpu, entered = False, None

    def __init__(self, items: Iterable[object] = (), *, runs: bool = True) -> None:
        self.items, self.runs = items, runs

    def __enter__(self) -> "Unrolled":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __iter__(self) -> Iterator[object]:
        return iter(self.items)


class Block:
    """A block over values of the GPU. `now` holds the names that it may bind, as the user's code is to find them."""

    gpu, runs, entered = True, True, None
    word: ClassVar[str]

    def __init__(self, place: str, tables: Tables, frame: FrameType) -> None:
        self.trace, self.frame = current(self.word), frame
        self.what = f"{self.word} at {place}"
        self.names, self.foreign = dict(tables[0]), dict(tables[1])
        self.now: dict[str, object] = {}
        self.before, self.foreign_before = self.bound(), self.outside()
        self.state = Snapshot(frame)
        self.trace.open.append(self)

    def bound(self) -> dict[str, object]:
        """The names as they are in the user's code."""
        found = self.frame.f_locals
        return {name: found[name] for name in self.names if name in found}

    def outside(self) -> list[object]:
        """What the names that belong to other scopes mean."""
        spaces = self.frame.f_locals, self.frame.f_globals
        return [next((space[n] for space in spaces if n in space), None) for n in self.foreign]

    def at(self, line: int) -> str:
        return place_of(self.frame.f_code.co_filename, line)

    def look(self, place: str) -> None:
        """Raise KernelError if Python's state is not what it was when the block began."""
        changed = self.state.changed()
        for (name, line), old, new in zip(self.foreign.items(), self.foreign_before, self.outside(), strict=True):
            if not same(old, new):
                changed, place = name, self.at(line)
        if changed:
            raise KernelError(
                f"{place}: {changed} is changed inside {self.what}: Python does that once, not in each thread or turn; "
                "keep what changes in a name of this function or in a tensor, or unroll with gpu.unroll"
            )

    def end(self) -> None:
        """The block is complete."""
        self.look(self.at(self.frame.f_lineno))
        self.trace.open.pop()

    def fail(self, line: int) -> None:
        """An exception leaves the block; whoever catches it goes on in all threads, which no kernel can."""
        if self in self.trace.open:
            self.trace.open.remove(self)
        if self.trace.error is None:
            self.trace.error = KernelError(
                f"{self.at(line)}: an exception leaves {self.what} and is caught: the other threads "
                "would go on in the block; decide with gpu.when instead"
            )

    def lose(self, name: str, why: str) -> None:
        """Note why a name is not bound from here on."""
        self.trace.lost[self.frame.f_code, name] = f"{name} is {why} {self.what}"

    def pairs(self, name: str, old: object, new: object) -> list[tuple[object, object]]:
        """The numbers of a name before and after. Raises CannotCarry where it holds anything else."""
        first, second = taken_apart(old), taken_apart(new)
        if first is None or second is None or not alike(old, new):
            other = new if second is None or first is not None else old
            raise CannotCarry(f"{_kind(old)} to {_kind(other)}: a register holds a number, or a tuple of as many")
        return list(zip(first, second, strict=True))

    def rebound(self, name: str, why: CannotCarry) -> None:
        self.lose(name, f"rebound at line {self.names[name]} from {why}; that happens inside")


def _kind(value: object) -> str:
    return f"a {type(value).__name__}" if not isinstance(value, Expr) else f"a value of type {value.dtype}"


class Conditional(Block):
    """`with gpu.when(condition):`: the block is traced once, for the threads where the condition holds."""

    word = "gpu.when"

    def __init__(self, when: When, tables: Tables, frame: FrameType) -> None:
        super().__init__(when.place, tables, frame)
        assert isinstance(when.condition, Expr)
        self.condition, self.place = when.condition, when.place

    def __enter__(self) -> "Conditional":
        divergent = "" if self.trace.is_uniform(self.condition) else f"the condition at {self.place}"
        self.known = dict(self.trace.latest)
        self.block = self.trace.block(self.what, divergent=divergent, holds=self.condition)
        self.body = self.block.__enter__()
        return self

    def __exit__(self, kind: object, error: object, trail: TracebackType | None) -> None:
        if trail is not None:
            self.block.__exit__(None, None, None)
            return self.fail(trail.tb_lineno)
        self.end()
        after, self.now = self.bound(), dict(self.before)
        kept = {name: found for name in self.names if (found := self.keep(name, after))}
        self.block.__exit__(None, None, None)
        self.trace.emit(If(self.condition, tuple(self.body), place=self.place))
        for name, leaves in kept.items():
            values = [reading(self.trace, *leaf) if isinstance(leaf, tuple) else leaf for leaf in leaves]
            self.now[name] = put_together(self.before[name], values)

    def keep(self, name: str, after: dict[str, object]) -> list[object]:
        """Set the registers of a name that differs after the block, where they are, and the numbers that do not."""
        if name not in self.before:
            if name in after:
                outer = [b.missing for b in self.trace.open if isinstance(b, Repeated) and b.frame is self.frame]
                if not any(name in missing for missing in outer):
                    self.lose(name, f"first bound at line {self.names[name]}, in those threads only that run")
            return []
        if name in after and same(self.before[name], after[name]):
            return []
        del self.now[name]
        if name not in after:
            self.lose(name, "deleted inside")
            return []
        try:
            pairs = self.pairs(name, self.before[name], after[name])
            registers = [None if same(*pair) else register_for(self.trace, *pair) for pair in pairs]
        except CannotCarry as why:
            self.rebound(name, why)
            return []
        found: list[object] = []
        for (old, new), register in zip(pairs, registers, strict=True):
            if register is None:
                found.append(old)
                continue
            inside = self.trace.blocks.pop()  # it starts before the block, in all threads
            buffer = starting(self.trace, name, register, old, self.known)
            self.trace.blocks.append(inside)
            keep(self.trace, buffer, fitted(new, register.dtype))
            found.append((buffer, register))
        return found


class Repeated(Block):
    """`for k in gpu.loop(n):`: a turn is traced once, and again while it turns out that names are carried."""

    word = "gpu.loop"

    def __init__(self, loop: Loop, tables: Tables, counters: tuple[str, ...], frame: FrameType) -> None:
        super().__init__(loop.place, tables, frame)
        self.loop, self.counters = loop, counters
        self.carried: dict[str, list[Register | None]] = {}
        self.missing: set[str] = set()
        self.buffers: dict[str, list[Buffer | None]] = {}
        self.turns = self.traced()

    def __enter__(self) -> "Repeated":
        return self

    def __iter__(self) -> Iterator[Expr]:
        return self.turns

    def __exit__(self, kind: object, error: object, trail: TracebackType | None) -> None:
        if trail is not None:
            self.turns.close()
            self.fail(trail.tb_lineno)

    def traced(self) -> Generator[Expr, None, None]:
        """The counter, once for each time that the body is traced; the last time counts."""
        trace, loop = self.trace, self.loop
        counter = loop.counter(self.counters[0] if len(self.counters) == 1 else "i")
        back = trace.checkpoint()
        for turn in range(MOST_TURNS):
            back()
            self.start()
            known = dict(trace.latest)
            trace.latest.clear()  # a later turn finds what an earlier one left
            with trace.block(self.what, divergent=loop.divergent) as body:
                entry = self.now = self.values()
                yield counter
                self.look(self.at(self.frame.f_lineno))
                after = self.bound()
                settled = [self.learn(name, entry, after, turn) for name in self.before]
                if all(settled):
                    self.keep(after)
            if all(settled):
                break
        else:
            raise KernelError(f"{loop.place}: the names that {self.what} rebinds find no type; give them one")
        stored = {stmt.buffer for stmt in statements(tuple(body)) if isinstance(stmt, Store)}
        trace.latest.update({b: name for b, name in known.items() if b not in stored})
        trace.emit(For(counter, loop.start, loop.stop, loop.step, tuple(body), loop.place))
        self.end()
        self.now = self.values()
        for name in after.keys() - self.before.keys():
            self.lose(name, f"first bound at line {self.names[name]}, in a turn of the loop: a loop may have none;")
        for name in self.counters:
            self.now.pop(name, None)
            self.lose(name, "the counter of the loop, which has ended:")

    def start(self) -> None:
        """Give each register its first value, before the loop."""
        for name, registers in self.carried.items():
            leaves = zip(registers, taken_apart(self.before[name]) or (), strict=True)
            self.buffers[name] = [
                None if register is None else starting(self.trace, name, register, old, self.trace.latest)
                for register, old in leaves
            ]

    def values(self) -> dict[str, object]:
        """The names as a turn, or what comes after the loop, finds them."""
        found: dict[str, object] = {}
        for name, old in self.before.items():
            if name in self.carried:
                leaves = zip(self.carried[name], self.buffers[name], taken_apart(old) or (), strict=True)
                values = [reading(self.trace, b, r) if r is not None and b is not None else v for r, b, v in leaves]
                found[name] = put_together(old, values)
            elif name not in self.missing:
                found[name] = old
        return found

    def learn(self, name: str, entry: dict[str, object], after: dict[str, object], turn: int) -> bool:
        """Whether a name was traced as what it is: unchanged, or in registers that hold what it becomes."""
        if name in self.missing or name in self.counters:
            return True
        old, known = self.before[name], self.carried.get(name)
        if known is None and name in after and same(old, after[name]):
            return True
        try:
            if name not in after:
                raise CannotCarry("its value to none")
            pairs = self.pairs(name, old, after[name])
            registers = known or [None] * len(pairs)
            starts = taken_apart(entry[name]) or ()
            found = [
                register if same(pair[1], start) else self.register(register, *pair, turn)
                for register, pair, start in zip(registers, pairs, starts, strict=True)
            ]
        except CannotCarry as why:
            self.missing.add(name)
            self.carried.pop(name, None)
            self.rebound(name, why)
            return False
        self.carried[name] = found
        return found == known

    def register(self, known: Register | None, old: object, new: object, turn: int) -> Register:
        return settled(self.trace, known or register_for(self.trace, old, new), old, new, turn)

    def keep(self, after: dict[str, object]) -> None:
        """Set the registers at the end of a turn."""
        for name, registers in self.carried.items():
            for register, buffer, value in zip(
                registers, self.buffers[name], taken_apart(after[name]) or (), strict=True
            ):
                if register is not None and buffer is not None:
                    keep(self.trace, buffer, fitted(value, register.dtype))
