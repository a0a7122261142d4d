"""Carried integers that never move back: what bounds them in every iteration, and why their loop ends.

Law: let every iteration that another one follows end with a value of r not below the one that it began with, given
that no earlier one did otherwise. Then r is at least its start in every iteration, by induction; so it is for values
that never rise. And where every iteration moves one of them on, there are at most 2^32 iterations for each: the loop
ends. So a binary search needs no bound: from lo < hi follows lo <= (lo + hi) // 2 < hi, and one of the two moves.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from ...layout.affine import Interval
from .. import ir
from ..ir.ranges import range_of
from .bounds import assume_all, reach, sides
from .loops import Recurrence
from .model import GuardFacts, Model
from .register_state import Cell

Moves = tuple[Cell, str]
""" "<=" for a register that never rises above its start, ">=" for one that never falls below."""


@dataclass(frozen=True, slots=True)
class Monotone:
    """Which registers never move back, where each lies when an iteration begins, and whether the loop ends by them."""

    moves: frozenset[Moves] = frozenset()
    bounds: Mapping[Cell, Interval] | None = None
    ends: bool = False


def monotone(
    model: Model, recurrences: Mapping[Cell, Recurrence], goes_on: Sequence[ir.Expr], guards: Sequence[ir.Expr]
) -> Monotone:
    """What an iteration does to the registers that `goes_on` is about, conditions that hold if it is not the last;
    `guards` hold around the loop."""
    asked = {leaf for test in goes_on for leaf in ir.variables(test)}
    carried = {
        cell: r
        for cell, r in recurrences.items()
        if r.begin in asked and r.end is not None and r.end is not r.begin and not r.step and not r.cycle
    }
    ends = tuple([r.end for r in carried.values() if r.end is not None])
    # A choice may also decide whether the loop goes on: such a way is none where it does not.
    decided = [(tests, values[: len(ends)], values[len(ends) :]) for tests, values in sides((*ends, *goes_on))]
    paths = [(on, tests, values) for tests, values, on in decided if not any(map(_is_false, on))]
    # What others may write meanwhile may be read again where it is put: a condition says nothing of it there.
    anew = {
        at for *_, values in paths for at, value in enumerate(values) if model.leaves(value) & model.read_from.keys()
    }
    moves = frozenset((cell, op) for at, cell in enumerate(carried) if at not in anew for op in ("<=", ">="))
    while moves and paths:
        # Assume of earlier iterations that no move was back, and keep the moves of which that follows of this one.
        known = [
            ir.binary(op, carried[cell].begin, _end(model, carried[cell].start, op))
            for cell, op in sorted(moves, key=str)
        ]
        none = GuardFacts(np.ones(model.threads, bool), ())
        there = [(assume_all(model, none, (*guards, *on, *known, *tests)), values) for on, tests, values in paths]
        there = [(each, values) for each, values in there if each.mask.any()]
        by = [
            {
                cell: reach(model, value, each, less=r.begin)
                for (cell, r), value in zip(carried.items(), values, strict=True)
            }
            for each, values in there
        ]
        sure = frozenset((c, op) for c, op in moves if all(b[c][1] <= 0 if op == "<=" else b[c][0] >= 0 for b in by))
        if sure == moves:
            on = all(any(b[c][1] < 0 if op == "<=" else b[c][0] > 0 for c, op in moves) for b in by)
            return Monotone(moves, _bounds(model, carried, there, anew), on)
        moves = sure
    return Monotone()


def _end(model: Model, start: ir.Expr, op: str) -> ir.Expr:
    """What a start is compared as: itself where the launch, the ids or arrays that are only read give it, else the
    number that it does not pass."""
    stays = (
        leaf.buffer in model.readable if isinstance(leaf, ir.Load) else isinstance(leaf, ir.Param | ir.Builtin)
        for leaf in model.leaves(start)
    )
    if all(stays):
        return start
    return ir.const(range_of(start)[op == "<="], start.dtype)


def _is_false(test: ir.Expr) -> bool:
    return isinstance(test, ir.Const) and not test.value


def _bounds(
    model: Model,
    carried: Mapping[Cell, Recurrence],
    there: Sequence[tuple[GuardFacts, tuple[ir.Expr, ...]]],
    anew: Set[int],
) -> dict[Cell, Interval]:
    """Where each lies when an iteration begins: it is the start, or what an iteration ended with."""
    found: dict[Cell, Interval] = {}
    for at, (cell, r) in enumerate(carried.items()):
        all_of = [range_of(r.start), *[reach(model, values[at], facts) for facts, values in there]]
        if at not in anew:
            found[cell] = min(low for low, _ in all_of), max(high for _, high in all_of)
    return found


def with_bounds(recurrences: Mapping[Cell, Recurrence], found: Monotone) -> dict[Cell, Recurrence]:
    """The recurrences with the bounds that were found."""
    return {cell: replace(r, inside=(found.bounds or {}).get(cell)) for cell, r in recurrences.items()}
