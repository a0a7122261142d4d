"""`for k in gpu.loop(n)` as a loop of the kernel: which names its turns carry, found by tracing the body."""

from collections.abc import Generator, Iterator
from types import FrameType, TracebackType

from ...errors import KernelError
from ..ir import Buffer, Expr, For, Store, statements
from .blocks import Block, Tables
from .carry import (
    CannotCarry,
    Register,
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
from .language import Loop

#: Times that a body is traced until its registers have settled: a type met, a range wide enough, a sign found.
MOST_TURNS = 16


class Repeated(Block):
    """`for k in gpu.loop(n):`: a turn is traced once, and again while it turns out that names are carried."""

    def __init__(self, loop: Loop, tables: Tables, counters: tuple[str, ...], frame: FrameType) -> None:
        super().__init__("gpu.loop", loop.place, tables, frame)
        self.loop, self.counters = loop, counters
        self.carried: dict[str, list[Register | None]] = {}
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
        trace.latest.clear()
        trace.latest.update({b: name for b, name in known.items() if b not in stored})
        trace.emit(For(counter, loop.start, loop.stop, loop.step, tuple(body), loop.place))
        self.look(self.at(self.frame.f_lineno))
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
                None if register is None else starting(self.trace, (id(self.frame), name, at), register, old)
                for at, (register, old) in enumerate(leaves)
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
            pairs = self.pairs(old, after[name])
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
