"""Loops: how often each turns, whether it ends, and whether it waits for another invocation.

Law of turns: a counter that moves by equal steps towards a bound that stays, and is compared with it in every turn,
ends a loop without an end of its own; so does one that is halved down to a bound, or doubled up to it. A comparison is
taken as it is made: modulo 2^32, with a bound so far from the end of the numbers that no step goes past both.

A loop waits where the element that an atomic reads does not follow the loop's counter, and what it finds decides
whether the loop is left, or whether it is read again. No device has to run the other invocation meanwhile: WebGPU
promises no forward progress, neither of other workgroups nor of the threads beside. So `verify` does not call such a
kernel proven, and the interpreter, which runs its workgroups one by one, says where one would wait for ever.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .. import ir
from ..ir.operators import U32_LIMIT
from ..ranges import domain, linear, range_of
from ..simplify import simplify
from ..wgsl import show
from .model import Model
from .verdict import Verdict

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "==": "=="}
#: Turns that halve or double a number of 32 bits, and one more.
_BITS = 33


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What a turn makes of an integer: `end` of `begin`, which is `start` before the loop."""

    start: ir.Expr
    begin: ir.Var
    end: ir.Expr | None

    @property
    def step(self) -> int:
        """By how much a turn moves it, 0 where that is not always the same."""
        if self.end is None:
            return 0
        form = linear(self.end)
        return form.constant if dict(form.terms) == {self.begin: 1} else 0

    def at(self, index: ir.Expr) -> ir.Expr:
        """What it is in turn `index`, where turns move it by equal steps; else anything that it ever is."""
        if not self.step:
            return self.begin
        dtype = self.begin.dtype
        by = ir.binary("*", ir.cast(index, dtype), ir.const(abs(self.step), dtype))
        return simplify(ir.binary("+" if self.step > 0 else "-", self.start, by))

    @property
    def scaled(self) -> str:
        """ "halved" or "doubled", or more so, by each turn; "" otherwise."""
        match self.end:
            case ir.Binary(op="//", left=left, right=ir.Const(value=by)) if left is self.begin and by > 1:
                return "halved" if range_of(left)[0] >= 0 else ""
            case ir.Binary(op="*", left=left, right=ir.Const(value=2)) if left is self.begin:
                return "doubled" if range_of(self.start)[0] > 0 else ""
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """A comparison that must hold for the next turn: `change` moved by `offset`, `op`, and a bound that stays."""

    change: Change
    offset: int
    op: str
    bound: ir.Expr

    @property
    def most(self) -> int | None:
        """How often it may hold, turn after turn; None where that is not known to end."""
        dtype = self.change.begin.dtype
        bottom, top = domain(dtype)
        first = simplify(ir.binary("+", self.change.start, ir.const(self.offset, dtype)))
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

    def inside(self, goes_on: ir.Expr, index: ir.Expr) -> ir.Expr:
        """When turn `index` happens, if this alone decides: a counter beyond its start has wrapped around."""
        counter = self.change.at(index)
        now = ir.rewrite(goes_on, lambda node: counter if node is self.change.begin else node, {})
        way = "<=" if self.change.step < 0 else ">="
        return simplify(ir.binary("&", now, ir.binary(way, counter, self.change.start)))


def limits(goes_on: ir.Expr, changes: Iterable[Change], stays: Callable[[ir.Expr], bool]) -> list[Limit]:
    """The limits among the parts of a condition."""
    begun = {change.begin: change for change in changes}
    found = []
    for part in ir.conjuncts(goes_on):
        if not isinstance(part, ir.Binary) or part.op not in _TURNED or part.left.dtype.kind not in "iu":
            continue
        for op, side, bound in ((part.op, part.left, part.right), (_TURNED[part.op], part.right, part.left)):
            form = linear(side)
            atoms = [atom for atom in form.terms if isinstance(atom, ir.Var) and atom in begun]
            if len(form.terms) == len(atoms) == 1 and form.terms[atoms[0]] == 1 and stays(bound):
                found.append(Limit(begun[atoms[0]], form.constant, op, bound))
    return found


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
    told = _Told(loop, {atomic.result})
    again = told.decides(loop.body, atomic) or (loop.stop is not None and told.by(loop.stop))
    return again and not _Told(loop, {loop.var}, _moved(loop)).by(atomic.index)


def _moved(loop: ir.For) -> set[ir.Buffer]:
    """The registers that each turn moves by one step, also round a table: a turn finds another number than the last."""
    lets = {s.var: s.value for s in loop.body if isinstance(s, ir.Let)}
    stores = [s.buffer for s in ir.statements(loop.body) if isinstance(s, ir.Store)]
    found: set[ir.Buffer] = set()
    for stmt in loop.body:
        if isinstance(stmt, ir.Store) and stores.count(stmt.buffer) == 1 and stmt.buffer.space == "private":
            value, round_ = stmt.value, U32_LIMIT
            while isinstance(value, ir.Var) and value in lets:
                value = lets[value]
            match value:
                case ir.Binary(op="%", left=left, right=ir.Const(value=count)):
                    value, round_ = left, int(count)
            form = linear(value)
            held = [lets.get(x, x) if isinstance(x, ir.Var) else x for x, c in form.terms.items() if c == 1]
            own = [x for x in held if isinstance(x, ir.Load) and x.buffer is stmt.buffer]
            if len(form.terms) == len(own) == 1 and round_ > 0 and form.constant % round_:
                found.add(stmt.buffer)
    return found


class _Told:
    """Which names and registers of the body of a loop depend on some."""

    def __init__(self, loop: ir.For, names: set[ir.Expr], registers: Iterable[ir.Buffer] = ()) -> None:
        self.names, self.registers = names, set(registers)
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


def decide_progress(kernel: ir.Kernel) -> list[Verdict]:
    """Of each array for which a loop waits; none where no loop does."""
    found: dict[str, Verdict] = {}
    for wait in waiting(kernel):
        array = wait.atomic.buffer.name
        reason = (
            f"the loop at {wait.loop.place or 'one place'} goes on until another invocation has written what it reads "
            f"at {wait.atomic.place or 'another'}, and no device has to run that one meanwhile"
        )
        found.setdefault(array, Verdict("forward progress", "undecided", reason, array))
    return list(found.values())


def decide_loops(model: Model) -> Verdict:
    """Whether no loop can run for ever."""
    for loop in model.loops:
        if loop.bounded:
            continue
        name, step = loop.stmt.var.name, loop.stmt.step
        where = f" ({loop.stmt.place})" if loop.stmt.place else ""
        if loop.stmt.stop is None:
            why = "no counter moves by equal steps to a bound that stays; bound it with gpu.at_most(n, ...)"
            return Verdict("bounded loops", "undecided", f"the while{where} may never end: {why}")
        if isinstance(step, ir.Const) and int(step.value) == 0:
            return Verdict("bounded loops", "refuted", f"the loop over {name}{where} steps by 0")
        return Verdict("bounded loops", "undecided", f"{name}{where} may step over its end {show(loop.stmt.stop)}")
    count = len(model.loops)
    return Verdict("bounded loops", "proven", f"{count} loops" if count != 1 else "1 loop")
