"""Tickets: the old values of atomic additions, distinct for all invocations and below their sum.

Law: if all that changes an element from some point on are atomic additions of one positive constant, and these add up
to at most 2^32, then no two of them take the same old value. From a constant initial value, all old values lie below
that value plus the sum. An element of a binding is shared by all workgroups, and starts with any value; one of
workgroup memory has the values that the workgroup stores before a barrier that all its threads pass.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from ...layout.affine import Interval
from .. import ir
from ..ir.operators import U32_LIMIT
from ..ir.ranges import domain
from .model import LoopModel, Work
from .register_state import bounded

#: Atomic operations that leave an element as it is, and those that put a value there.
_READS, _STORES = "Load", "Store"


@dataclass(frozen=True, slots=True)
class Ticket:
    """What an atomic addition took: numbers that differ by multiples of `step`, of one `element` of `buffer`.
    `range` bounds them, None where the initial value is no constant. It is `shared` where all threads of a workgroup
    have the copy that one of them took."""

    buffer: ir.Buffer
    element: int
    step: int
    range: Interval | None
    shared: bool = False


def tickets_of(kernel: ir.Kernel, work: list[Work]) -> dict[ir.Expr, Ticket]:
    """The tickets among the results of atomic additions, by their names. `work` lists the statements in their order."""
    changed: dict[ir.Buffer, list[int]] = {}
    for number, (stmt, _, _) in enumerate(work):
        if isinstance(stmt, ir.Change) and not (isinstance(stmt, ir.Atomic) and stmt.op == _READS):
            changed.setdefault(stmt.buffer, []).append(number)
    tickets: dict[ir.Expr, Ticket] = {}
    for buffer, numbers in changed.items():
        if buffer.dtype.kind in "iu" and buffer.space != ir.AddressSpace.PRIVATE:
            tickets |= _of_array(kernel, buffer, work, numbers)
    return tickets


def _of_array(kernel: ir.Kernel, buffer: ir.Buffer, work: list[Work], numbers: list[int]) -> dict[ir.Expr, Ticket]:
    """The tickets of one array, of which `numbers` are the statements that change it."""
    adds = [number for number in numbers if _is_addition(work[number][0])]
    others = [number for number in numbers if number not in adds]
    # 1. Nothing else changes the array once additions begin: a barrier of the whole workgroup lies between.
    if not adds or (others and buffer.space == ir.AddressSpace.STORAGE):
        return {}
    if others and not any(_is_barrier(work[number]) for number in range(others[-1], adds[0])):
        return {}
    # 2. How much is added to each element, and what it is before.
    by_element: dict[int, list[int]] = {}
    for number in adds:
        stmt = work[number][0]
        assert isinstance(stmt, ir.Atomic) and isinstance(stmt.index, ir.Const)
        by_element.setdefault(int(stmt.index.value), []).append(number)
    tickets: dict[ir.Expr, Ticket] = {}
    for element, own in by_element.items():
        steps = {_amount(work[number][0]) for number in own}
        threads = kernel.threads * (prod(kernel.grid) if buffer.space == ir.AddressSpace.STORAGE else 1)
        # All threads, all iterations, all statements together must not wrap: then no old value comes twice.
        total = sum(_amount(work[number][0]) * threads * _executions(work[number][2]) for number in own)
        if len(steps) > 1 or total > U32_LIMIT:
            continue
        step = steps.pop()
        first = [_first_value(work[number][0], element) for number in others]
        start = [value for values in first for value in values]
        interval = None
        if start and None not in start:
            values_before = [value for value in start if value is not None]
            # The last addition takes the total less one step.
            interval = min(values_before), max(values_before) + total - step
            low, high = domain(buffer.dtype)
            interval = interval if low <= interval[0] and interval[1] <= high else None
        for number in own:
            stmt = work[number][0]
            if isinstance(stmt, ir.Atomic) and stmt.result is not None:
                tickets[stmt.result] = Ticket(buffer, element, step, interval)
    return tickets


def _is_addition(stmt: ir.Stmt) -> bool:
    """Whether a statement adds a positive constant to an element that the text names."""
    plain = isinstance(stmt, ir.Atomic) and stmt.op == "Add" and isinstance(stmt.index, ir.Const)
    return plain and _amount(stmt) > 0


def _amount(stmt: ir.Stmt) -> int:
    """What an atomic addition adds, 0 where that is no constant."""
    return int(stmt.value.value) if isinstance(stmt, ir.Atomic) and isinstance(stmt.value, ir.Const) else 0


def _is_barrier(work: Work) -> bool:
    """Whether every thread passes this barrier of workgroup memory."""
    stmt, guards, loops = work
    return isinstance(stmt, ir.Barrier) and not stmt.storage and not guards and not loops


def _executions(loops: tuple[LoopModel, ...]) -> int:
    """How often a statement in these loops happens at most."""
    return prod(loop.count if loop.bounded else U32_LIMIT for loop in loops)


def _first_value(stmt: ir.Stmt, element: int) -> list[int | None]:
    """What a statement before the additions may leave in `element`: [] where it is about another one, None for a value
    that is not known."""
    if isinstance(stmt, ir.Store | ir.Atomic) and isinstance(stmt.index, ir.Const) and stmt.buffer.width == 1:
        if int(stmt.index.value) != element and stmt.value.lanes == 1:
            return []
        plain = isinstance(stmt, ir.Store) or stmt.op == _STORES
        if plain and isinstance(stmt.value, ir.Const) and int(stmt.index.value) == element:
            return [int(stmt.value.value)]
    return [None]


def narrowed(tickets: Mapping[ir.Expr, Ticket]) -> dict[ir.Expr, ir.Expr]:
    """The names of tickets with a range, each with the same variable in these bounds."""
    return {
        name: bounded(name, *ticket.range)
        for name, ticket in tickets.items()
        if ticket.range is not None and isinstance(name, ir.Var)
    }
