"""Loops that wait: they go on until an atomic finds what another invocation is to write.

No device has to run that invocation meanwhile: WebGPU promises no forward progress, neither of other workgroups nor of
the threads beside. So `verify` does not call such a kernel proven, and the interpreter, which runs its workgroups one
by one, says where one of them would wait for ever.

A loop is taken to wait where the element that an atomic reads does not follow the loop's counter, and what it finds
decides whether the loop is left, or whether it is read again.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from . import ir

#: Atomics by which one finds out what others did: the rest change an element whatever they find.
_LOOKS = frozenset({"Load", "CompareExchange", "Exchange"})


@dataclass(frozen=True, slots=True)
class Waiting:
    """An atomic that a loop repeats until it finds something else."""

    loop: ir.For
    atomic: ir.Atomic


def waiting(kernel: ir.Kernel) -> list[Waiting]:
    """The atomics that are repeated until they find something else."""
    bodies = [s for s in ir.statements(kernel.body) if isinstance(s, ir.For)]
    if not any(isinstance(s, ir.Atomic) and s.op in _LOOKS for s in ir.statements(kernel.body)):
        return []
    return [Waiting(loop, atomic) for loop in bodies for atomic in _looks(loop) if _repeats(loop, atomic)]


def _looks(loop: ir.For) -> Iterator[ir.Atomic]:
    for stmt in ir.statements(loop.body):
        if isinstance(stmt, ir.Atomic) and stmt.op in _LOOKS and stmt.result is not None:
            yield stmt


def _repeats(loop: ir.For, atomic: ir.Atomic) -> bool:
    assert atomic.result is not None
    if _Told(loop, {loop.var}).by(atomic.index):
        return False
    told = _Told(loop, {atomic.result})
    return (loop.stop is not None and told.by(loop.stop)) or told.decides(loop.body, atomic)


class _Told:
    """Which names and registers of the body of a loop depend on some."""

    def __init__(self, loop: ir.For, names: set[ir.Expr]) -> None:
        self.names = names
        self.registers: set[ir.Buffer] = set()
        known = -1
        while known != len(self.names) + len(self.registers):
            known = len(self.names) + len(self.registers)
            self.block(loop.body, told=False)

    def by(self, value: ir.Expr) -> bool:
        """Whether they tell `value`."""
        return any(name in self.names for name in ir.variables(value)) or any(
            load.buffer in self.registers for load in ir.loads(value)
        )

    def block(self, block: ir.Block, *, told: bool) -> None:
        """Add what the statements of a block make of them; `told` says that they decide whether it runs."""
        for stmt in block:
            here = told or any(map(self.by, stmt.expressions))
            if here and isinstance(stmt, ir.Store) and stmt.buffer.space == "private":
                self.registers.add(stmt.buffer)
            if here and isinstance(stmt, ir.Let | ir.Declare) and stmt.binds is not None:
                self.names.add(stmt.binds)
            if here and stmt.sets is not None:
                self.names.add(stmt.sets)
            for inner in stmt.blocks:
                self.block(inner, told=here)

    def decides(self, block: ir.Block, atomic: ir.Atomic, *, own: bool = True) -> bool:
        """Whether they decide that the loop is left, by a statement of its `own`, or that the atomic is reached."""
        for stmt in block:
            condition = getattr(stmt, "condition", None)
            if isinstance(condition, ir.Expr) and self.by(condition):
                leaves = own and not isinstance(stmt, ir.If)
                if leaves or any(s is atomic for b in stmt.blocks for s in ir.statements(b)):
                    return True
            inside = own and not isinstance(stmt, ir.For)
            if any(self.decides(inner, atomic, own=inside) for inner in stmt.blocks):
                return True
        return False
