"""Loops that wait: an atomic that a loop repeats until it reads something else.

A loop waits where the element that an atomic reads does not follow the loop's counter, and what it reads decides
whether the loop is left, or whether it is read again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from .. import ir
from .operators import U32_LIMIT
from .ranges import linear

#: Atomics by which one finds out what others did: the rest change an element whatever they find.
_LOOKS = frozenset({"Load", "CompareExchange", "Exchange"})


@dataclass(frozen=True, slots=True)
class Waiting:
    """An atomic that a loop repeats until it finds something else."""

    loop: ir.For
    atomic: ir.Atomic


def waiting(kernel: ir.Kernel) -> list[Waiting]:
    """The atomics that are repeated until they find something else."""
    loops = [s for s in ir.statements(kernel.body) if isinstance(s, ir.For)]
    looks = [(loop, s) for loop in loops for s in ir.statements(loop.body) if isinstance(s, ir.Atomic)]
    return [Waiting(loop, atomic) for loop, atomic in looks if atomic.op in _LOOKS and _repeats(loop, atomic)]


def _repeats(loop: ir.For, atomic: ir.Atomic) -> bool:
    if atomic.result is None:
        return False
    influence = _Influence(loop, {atomic.result})
    again = influence.decides(loop.body, atomic) or (loop.stop is not None and influence.by(loop.stop))
    return again and not _Influence(loop, {loop.var}, _stepped(loop)).by(atomic.index)


def _stepped(loop: ir.For) -> set[ir.Buffer]:
    """The registers that every iteration advances by a constant, also modulo one: consecutive iterations find different
    values."""
    lets = {s.var: s.value for s in loop.body if isinstance(s, ir.Let)}
    stores = [s.buffer for s in ir.statements(loop.body) if isinstance(s, ir.Store)]
    registers: set[ir.Buffer] = set()
    for stmt in loop.body:
        if (
            isinstance(stmt, ir.Store)
            and stores.count(stmt.buffer) == 1
            and stmt.buffer.space == ir.AddressSpace.PRIVATE
            and stmt.buffer.dtype.kind in "iu"  # an index follows whole numbers alone, and a float may be infinite
        ):
            value, round_ = stmt.value, U32_LIMIT
            # Through names, to the sum that is stored.
            while isinstance(value, ir.Var) and value in lets:
                value = lets[value]
            match value:
                case ir.Binary(op="%", left=left, right=ir.Const(value=count)):
                    value, round_ = left, int(count)
            form = linear(value)
            held = [lets.get(x, x) if isinstance(x, ir.Var) else x for x, c in form.terms.items() if c == 1]
            own = [x for x in held if isinstance(x, ir.Load) and x.buffer is stmt.buffer]
            if len(form.terms) == len(own) == 1 and round_ > 0 and form.constant % round_:
                registers.add(stmt.buffer)
    return registers


class _Influence:
    """The names and registers in the body of a loop that depend on given ones, by data or by control."""

    def __init__(self, loop: ir.For, names: set[ir.Expr], registers: Iterable[ir.Buffer] = ()) -> None:
        self.names, self.registers = names, set(registers)
        size = -1
        # A fixed point: an iteration may carry a value to an earlier statement.
        while size != len(self.names) + len(self.registers):
            size = len(self.names) + len(self.registers)
            self.block(loop.body, controlled=False)

    def by(self, value: ir.Expr) -> bool:
        """Whether `value` depends on them."""
        return any(name in self.names for name in ir.variables(value)) or any(
            load.buffer in self.registers for load in ir.loads(value)
        )

    def block(self, block: ir.Block, *, controlled: bool) -> None:
        """Add what the statements of a block set; `controlled` where a condition that depends on them decides whether
        it runs."""
        for stmt in block:
            here = controlled or any(map(self.by, stmt.expressions))
            if here and isinstance(stmt, ir.Store) and stmt.buffer.space == ir.AddressSpace.PRIVATE:
                self.registers.add(stmt.buffer)
            if here and isinstance(stmt, ir.Let | ir.Declare) and stmt.binds is not None:
                self.names.add(stmt.binds)
            if here and stmt.sets is not None:
                self.names.add(stmt.sets)
            for inner in stmt.blocks:
                self.block(inner, controlled=here)

    def decides(self, block: ir.Block, atomic: ir.Atomic, *, own: bool = True) -> bool:
        """Whether they decide that the loop is left, by a statement of its `own`, or that the atomic is reached."""
        for stmt in block:
            condition = getattr(stmt, "condition", None)
            if isinstance(condition, ir.Expr) and self.by(condition):
                # An `if` only decides whether the atomic is reached; a `break` or a bound of the loop itself decides
                # whether it goes on.
                leaves = own and not isinstance(stmt, ir.If)
                if leaves or any(s is atomic for b in stmt.blocks for s in ir.statements(b)):
                    return True
            inside = own and not isinstance(stmt, ir.For)
            if any(self.decides(inner, atomic, own=inside) for inner in stmt.blocks):
                return True
        return False
