"""Loops: how many iterations each has, whether it ends, and whether it waits for another invocation.

Law of termination: an induction variable that moves by equal steps towards an invariant bound, and is compared with it
in every iteration, ends a `while`; so does one that is halved down to a bound, or doubled up to it. A comparison is
taken as it is made: modulo 2^32, with a bound so far from the end of the numbers that no step goes past both.

A loop waits where the element that an atomic reads does not follow the loop's counter, and what it finds decides
whether the loop is left, or whether it is read again. No device has to run the other invocation meanwhile: WebGPU
promises no forward progress, neither of other workgroups nor of the threads beside. So `verify` does not call such a
kernel proven, and the interpreter, which runs its workgroups one by one, says where one would wait for ever.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ...errors import hold
from ...layout.affine import Interval, within
from ...tensor.dtypes import u32
from .. import ir
from ..ir.operators import SWAPPED
from ..ir.ranges import domain, linear, range_of
from ..ir.simplify import replaced, simplify
from ..ir.waits import waiting
from ..targets.wgsl import show
from .model import Model
from .register_state import Cell, bounded
from .verdict import Claim, Status, Verdict, counted

#: Iterations that halve or double a number of 32 bits, and one more.
_BITS = 33
#: The longest cycle of carried values that is looked for, in iterations.
_CYCLE = 4


@dataclass(frozen=True, slots=True, eq=False)
class Recurrence:
    """An induction variable, an integer carried from one iteration to the next: `start` before the loop; an iteration
    that begins with the unknown `begin` ends with `end`, None if that is undecided. `cycle` are its values in
    iterations 0, 1, ..., after which they repeat; () if they do not. It lies `inside` bounds, where some are found."""

    start: ir.Expr
    begin: ir.Var
    end: ir.Expr | None
    cycle: tuple[ir.Expr, ...] = ()
    inside: Interval | None = None

    @property
    def step(self) -> int:
        """The increment of each iteration, 0 where it is not a constant."""
        if self.end is None:
            return 0
        form = linear(self.end)
        return form.constant if dict(form.terms) == {self.begin: 1} else 0

    def at(self, index: ir.Expr) -> ir.Expr:
        """Its value when iteration `index` begins: a formula for equal steps and for cycles, else an unknown in
        bounds."""
        dtype = self.begin.dtype
        if self.step:
            by = ir.binary("*", ir.cast(index, dtype), ir.const(abs(self.step), dtype))
            return simplify(ir.binary("+" if self.step > 0 else "-", self.start, by))
        if self.cycle:
            return simplify(_cyclic(self.cycle, index))
        return bounded(self.begin, *self._bounds(range_of(index)[1]))

    def _bounds(self, iterations: int) -> Interval:
        """The least and the largest value within so many iterations.

        Each value is the start, or the end of an earlier iteration, so it lies in the union of their ranges. If every
        iteration adds one of several constants, it has moved by at most `iterations` times the extreme ones.
        """
        whole = domain(self.begin.dtype)
        if self.end is None or self.inside is not None:
            return self.inside or whole
        (a, b), (c, d) = range_of(self.start), range_of(self.end)
        steps = _steps(self.end, self.begin)
        if not steps:
            return min(a, c), max(b, d)
        low, high = a + iterations * min(0, *steps), b + iterations * max(0, *steps)
        return (low, high) if within((low, high), whole) else whole

    @property
    def scaled(self) -> str:
        """ "halved" or "doubled", or more so, by each iteration; "" otherwise."""
        match self.end:
            case ir.Binary(op="//", left=left, right=ir.Const(value=by)) if left is self.begin and by > 1:
                return "halved" if range_of(left)[0] >= 0 else ""
            case ir.Binary(op="*", left=left, right=ir.Const(value=2)) if left is self.begin:
                return "doubled" if range_of(self.start)[0] > 0 else ""
        return ""


def _steps(end: ir.Expr, begin: ir.Var) -> list[int]:
    """The constants, one of which `end` adds to `begin`; [] where it does something else."""
    if isinstance(end, ir.Select):
        then, other = _steps(end.then, begin), _steps(end.other, begin)
        return then + other if then and other else []
    form = linear(end)
    return [form.constant] if dict(form.terms) == {begin: 1} else []


def _cyclic(values: Sequence[ir.Expr], index: ir.Expr) -> ir.Expr:
    """Value number `index % len(values)`: as a sum where the values are numbers at equal distances, as those of
    `1 - x` are, which proofs about addresses can take apart."""
    if len(values) == 1:
        return values[0]
    dtype, number = values[0].dtype, ir.cast(simplify(index % len(values)), values[0].dtype)
    if all(isinstance(v, ir.Const) for v in values):
        numbers = [int(v.value) for v in values if isinstance(v, ir.Const)]
        by = numbers[1] - numbers[0]
        if all(later - earlier == by for earlier, later in pairwise(numbers)):
            moved = ir.binary("*", number, ir.const(abs(by), dtype))
            return ir.binary("+" if by > 0 else "-", values[0], moved)
    value = values[-1]
    for number_of_value in reversed(range(len(values) - 1)):
        value = ir.select(ir.binary("==", number, ir.const(number_of_value, dtype)), values[number_of_value], value)
    return value


def with_cycles(recurrences: Mapping[Cell, Recurrence], stays: Callable[[ir.Expr], bool]) -> dict[Cell, Recurrence]:
    """The recurrences, with the cycles of those that return to their start within `_CYCLE` iterations.

    All are followed at once, for an iteration may exchange registers. `stays` decides whether a value is invariant in
    the loop. Lemma: the state of iteration i + 1 is a function of the state of iteration i, so if the values that a
    variable depends on are the same expressions in iterations 0 and p, they are so in iterations k and p + k.
    """
    begins: dict[ir.Expr, Cell] = {r.begin: cell for cell, r in recurrences.items()}
    needs: dict[Cell, set[Cell]] = {}
    for cell, r in recurrences.items():
        if r.end is not None and not r.step:
            # Invariant but for other induction variables: a candidate.
            own: dict[ir.Expr, ir.Expr] = {v: ir.const(0, v.dtype) for v in ir.variables(r.end) if v in begins}
            if stays(replaced(r.end, own)):
                needs[cell] = {begins[v] for v in own}
    # A candidate needs all that it depends on to be candidates.
    while incomplete := [cell for cell, own in needs.items() if not own <= needs.keys()]:
        for cell in incomplete:
            del needs[cell]
    now: dict[ir.Expr, ir.Expr] = {recurrences[cell].begin: recurrences[cell].start for cell in needs}
    states, cyclic = [now], dict(recurrences)
    for period in range(1, _CYCLE + 1):
        carried = [recurrences[cell] for cell in needs]
        now = {r.begin: replaced(r.end, now) for r in carried if r.end is not None}
        for cell in needs:
            r, back = recurrences[cell], [recurrences[c].begin for c in _closure(cell, needs)]
            # The first period at which its whole closure is back at the start.
            if not cyclic[cell].cycle and all(_is_same(now[begin], states[0][begin]) for begin in back):
                cyclic[cell] = replace(r, cycle=tuple(state[r.begin] for state in states[:period]))
        states.append(now)
    return cyclic


def _is_same(one: ir.Expr, other: ir.Expr) -> bool:
    """Whether two expressions are the same; constants of another arena are other objects."""
    if isinstance(one, ir.Const) and isinstance(other, ir.Const):
        return (one.value, one.dtype) == (other.value, other.dtype)
    return one is other


def _closure(cell: Cell, needs: Mapping[Cell, set[Cell]]) -> set[Cell]:
    """The cells that `cell` depends on, and itself."""
    cells, pending = {cell}, [cell]
    while pending:
        new = needs[pending.pop()] - cells
        cells |= new
        pending += new
    return cells


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """A comparison that must hold for the next iteration: `recurrence` plus `offset`, by `op`, with an invariant
    bound."""

    recurrence: Recurrence
    offset: int
    op: str
    bound: ir.Expr

    @property
    def first(self) -> ir.Expr:
        """What the first iteration compares."""
        return simplify(ir.binary("+", self.recurrence.start, ir.const(self.offset, self.recurrence.begin.dtype)))

    @property
    def most(self) -> int | None:
        """In how many consecutive iterations it may hold; None where no end is proven."""
        bottom, top = domain(self.recurrence.begin.dtype)
        (low, high), (least, last), step = range_of(self.first), range_of(self.bound), self.recurrence.step
        above, below = last + (self.op == "<="), least - (self.op == ">=")
        if (
            self.recurrence.scaled == "doubled"
            and not self.offset
            and self.op in ("<", "<=")
            and 2 * (above - 1) <= top
        ):
            return _BITS
        if self.recurrence.scaled == "halved" and not self.offset:
            down = least >= {">": 0, ">=": 1}.get(self.op, 1 << 32)
            return _BITS if down or (self.op == "!=" and (least, last) == (0, 0)) else None
        if self.op in ("<", "<=") and step > 0 and above - 1 + step <= top:
            return max(0, -(-(above - low) // step))
        if self.op in (">", ">=") and step < 0 and below + 1 + step >= bottom:
            return max(0, -(-(high - below) // -step))
        if self.op == "!=" and step == 1 and high <= least:
            return last - low
        if self.op == "!=" and step == -1 and low >= last:
            return high - least
        return None

    def happens(self, index: ir.Expr) -> ir.Expr:
        """Whether the comparison holds in all of the iterations 0 to `index`, for an index below `most` of equal steps.

        Lemma: let c(i) be what iteration i compares, a number of its type, and let steps be positive. `most` is given
        where c(i) < bound implies that c(i) + step does not wrap. So while the comparison holds, c grows: if
        iterations 0 to i happen, then c(i) >= c(0) and c(i) < bound. Conversely, step * i < 2^32 for i below `most`,
        so c wraps at most once up to iteration i, and c(i) >= c(0) says that it has not: then c(0) < ... < c(i) <
        bound, and iterations 0 to i - 1 happen too. `!=` with steps of 1 begins at or before its bound and holds until
        c reaches it: it is `<`."""
        hold(self.recurrence.step != 0, "a counter has equal steps other than 0")
        up = self.recurrence.step > 0
        op = {"!=": "<" if up else ">"}.get(self.op, self.op)
        by = ir.const(abs(self.recurrence.step), self.first.dtype)
        moved = ir.binary("*", ir.cast(index, self.first.dtype), by)
        compared = simplify(ir.binary("+" if up else "-", self.first, moved))
        whole = ir.binary(">=" if up else "<=", compared, self.first)
        return simplify(ir.binary("&", ir.binary(op, compared, self.bound), whole))

    @property
    def turns(self) -> ir.Expr:
        """The number of iterations, as a u32, given that `most` proves an end."""
        up = self.recurrence.step > 0
        low, high = (self.first, self.bound) if up else (self.bound, self.first)
        if self.op in ("<=", ">="):  # `most` is given where the bound is not the last number of its type
            low, high = (low, high + 1) if up else (low - 1, high)
        return count_of(low, high, abs(self.recurrence.step))


def count_of(low: ir.Expr, high: ir.Expr, step: int) -> ir.Expr:
    """How many steps lead from `low` to `high` or beyond, as a u32: differences of numbers of 32 bits fit in it."""
    apart = ir.binary("-", ir.cast(high, u32), ir.cast(low, u32))
    rounded = apart if step == 1 else ir.binary("//", apart - 1, ir.const(step)) + 1
    return simplify(ir.select(simplify(ir.binary("<", low, high)), rounded, ir.const(0)))


def limits(goes_on: ir.Expr, recurrences: Iterable[Recurrence], stays: Callable[[ir.Expr], bool]) -> list[Limit]:
    """The limits among the conjuncts of a condition."""
    begun = {recurrence.begin: recurrence for recurrence in recurrences}
    result = []
    for conjunct in ir.conjuncts(goes_on):
        if not isinstance(conjunct, ir.Binary) or conjunct.op not in SWAPPED or conjunct.left.dtype.kind not in "iu":
            continue
        for op, side, bound in (
            (conjunct.op, conjunct.left, conjunct.right),
            (SWAPPED[conjunct.op], conjunct.right, conjunct.left),
        ):
            form = linear(side)
            atoms = [atom for atom in form.terms if isinstance(atom, ir.Var) and atom in begun]
            if len(form.terms) == len(atoms) == 1 and form.terms[atoms[0]] == 1 and stays(bound):
                result.append(Limit(begun[atoms[0]], form.constant, op, bound))
    return result


def decide_progress(kernel: ir.Kernel) -> list[Verdict]:
    """Of each array for which a loop waits; none where no loop does."""
    verdicts: dict[str, Verdict] = {}
    for wait in waiting(kernel):
        array = wait.atomic.buffer.name
        reason = (
            f"the loop at {wait.loop.place or 'one place'} goes on until another invocation has written what it reads "
            f"at {wait.atomic.place or 'another'}, and no device has to run that one meanwhile"
        )
        verdicts.setdefault(array, Verdict(Claim.FORWARD_PROGRESS, Status.UNDECIDED, reason, array))
    return list(verdicts.values())


def decide_loops(model: Model) -> Verdict:
    """Whether no loop can run for ever."""
    for loop in model.loops:
        if loop.bounded:
            continue
        name, step = loop.stmt.var.name, loop.stmt.step
        where = f" ({loop.stmt.place})" if loop.stmt.place else ""
        if loop.stmt.stop is None:
            why = "no counter moves by equal steps to a bound that stays; bound it with gpu.at_most(n, ...)"
            return Verdict(Claim.BOUNDED_LOOPS, Status.UNDECIDED, f"the while{where} may never end: {why}")
        if isinstance(step, ir.Const) and int(step.value) == 0:
            return Verdict(Claim.BOUNDED_LOOPS, Status.REFUTED, f"the loop over {name}{where} steps by 0")
        return Verdict(
            Claim.BOUNDED_LOOPS, Status.UNDECIDED, f"{name}{where} may step over its end {show(loop.stmt.stop)}"
        )
    return Verdict(Claim.BOUNDED_LOOPS, Status.PROVEN, counted(len(model.loops), "loop"))
