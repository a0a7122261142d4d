"""How many iterations the loops of a kernel take, for drivers that end loops after so many: `runtime.driver_faults`.

Law: `loop_bounds` gives one `LoopBound` a loop, as a linear form in the launch parameters: an upper bound of the
iterations of one invocation, and exactly their count where it is `certain`. A loop without a bound gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import ir
from ..ir.ranges import linear, range_of
from ..ir.simplify import simplify
from ..runtime.program import LoopBound


def loop_bounds(kernel: ir.Kernel) -> tuple[LoopBound, ...]:
    """The loops of a kernel, outer ones first."""
    names = {param: i for i, param in enumerate(kernel.params)}
    return tuple(_bounds(kernel.body, names, certain=True))


def _bounds(block: ir.Block, names: dict[ir.Param, int], *, certain: bool) -> Iterator[LoopBound]:
    for stmt in block:
        if isinstance(stmt, ir.For):
            # A loop that a `break` may leave gives an upper bound only, and so do all loops inside it.
            whole = certain and not any(isinstance(inner, ir.Break) for inner in stmt.body)
            inside = tuple(_bounds(stmt.body, names, certain=whole))
            if (counted := _distance(stmt, names)) is not None:
                most, terms, exact = counted
                step = range_of(stmt.step)[0]
                yield LoopBound(most, step, terms, inside, whole and exact)
            else:
                yield from inside  # a `while` bounds nothing itself; its inner loops run once at least
        else:
            for inner in stmt.blocks:
                # Under an `if`, no iteration is certain.
                yield from _bounds(inner, names, certain=False)


def _distance(loop: ir.For, names: dict[ir.Param, int]) -> tuple[int, tuple[tuple[int, int], ...], bool] | None:
    """`stop - start` of a loop: a constant, (parameter's number, factor) pairs, and whether that is exact."""
    if loop.stop is None or range_of(loop.step)[0] < 1:
        return None
    # Of a minimum one of its values is an upper bound, one that is a sum of launch parameters above the start.
    ends = loop.stop.args if isinstance(loop.stop, ir.Call) and loop.stop.name == "min" else (loop.stop,)
    forms = [linear(simplify(ir.binary("-", end, loop.start))) for end in (*ends, loop.stop)]
    form = next((form for form in forms if all(atom in names for atom in form.terms)), forms[-1])
    distance, terms = form.constant, []  # of the sum, known modulo 2^32, the numbers from -2^31 to 2^31 are meant
    exact = range_of(loop.step)[0] == range_of(loop.step)[1] and len(ends) == 1
    for atom, times in dict(form.terms).items():
        if isinstance(atom, ir.Param) and atom in names:
            terms.append((names[atom], times))
            continue
        # min(a, b) <= a, which the launch may tell
        least = atom.args if isinstance(atom, ir.Call) and atom.name == "min" and times > 0 else ()
        if told := [a for a in least if isinstance(a, ir.Param) and a in names]:
            terms.append((names[told[0]], times))
            exact = False
            continue
        # Any other term is replaced by its largest value: an upper bound.
        interval = range_of(atom)
        if interval[1] - interval[0] >= 1 << 30:  # a quarter of the domain: no bound worth giving
            return None
        distance, exact = distance + max(times * end for end in interval), False
    return distance, tuple(terms), exact
