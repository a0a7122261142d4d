"""How many turns the loops of a kernel take, for drivers that end loops after so many; see `runtime.driver_faults`.

Law: `turns_of` is a sum of `LoopBound`, each at least what one invocation takes, as a sum of launch parameters; exactly
that where it is `certain`. A loop without a bound in the text gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import ir
from ..ir.ranges import linear, range_of
from ..ir.simplify import simplify
from ..runtime.program import LoopBound


def turns_of(kernel: ir.Kernel) -> tuple[LoopBound, ...]:
    """The loops of a kernel, outer ones first."""
    names = {param: i for i, param in enumerate(kernel.params)}
    return tuple(_turns(kernel.body, names, certain=True))


def _turns(block: ir.Block, names: dict[ir.Param, int], *, certain: bool) -> Iterator[LoopBound]:
    for stmt in block:
        if isinstance(stmt, ir.For):
            whole = certain and not any(isinstance(inner, ir.Break) for inner in stmt.body)
            inside = tuple(_turns(stmt.body, names, certain=whole))
            if (counted := _counted(stmt, names)) is not None:
                most, terms, exact = counted
                step = range_of(stmt.step)[0]
                yield LoopBound(most, step, terms, inside, whole and exact)
            else:
                yield from inside  # of one turn at least
        else:
            for inner in stmt.blocks:
                yield from _turns(inner, names, certain=False)


def _counted(loop: ir.For, names: dict[ir.Param, int]) -> tuple[int, tuple[tuple[int, int], ...], bool] | None:
    """How far the counter of a loop goes: a number, multiples of parameters, and whether that is all of it."""
    if loop.stop is None or range_of(loop.step)[0] < 1:
        return None
    form = linear(simplify(ir.binary("-", loop.stop, loop.start)))
    far, terms, exact = form.constant, [], range_of(loop.step)[0] == range_of(loop.step)[1]
    if far >= 1 << 31:  # a sum modulo 2^32
        far -= 1 << 32
    for atom, times in dict(form.terms).items():
        times = times - (1 << 32) if times >= 1 << 31 else times
        if isinstance(atom, ir.Param) and atom in names:
            terms.append((names[atom], times))
            continue
        interval = range_of(atom)
        if interval[1] - interval[0] >= 1 << 31:  # nothing is known of it
            return None
        far, exact = far + max(times * end for end in interval), False
    return far, tuple(terms), exact
