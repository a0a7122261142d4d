"""Why a composition is refused: the coordinate, the numbers, and right operands that work.

Reached only on the way to an error, so it may look at the whole table.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ...errors import CompositionError
from ..values.basis import has_basis
from ..values.int_tuple import fold_profile, leaves, show
from ..values.layout import Layout, _make
from ..values.size import Size
from .alignment import Refused, composes
from .rearrange import coalesced_open
from .table import LARGEST_TABLE, Broken, additive_witness, leaf_modes, nested

_CLAUSES = {
    "stride": "a stride of the right operand steps across the extents of the left one unevenly",
    "shape": "a mode of the right operand is not a whole number of runs of the left one",
    "carry": "the modes of the right operand add up beyond an extent of the left one",
}


def composition_error(outer: Layout, inner: Layout, refused: Refused) -> CompositionError:
    """The error of `outer o inner`, with its counter-example and right operands that work."""
    if any(isinstance(leaf, Size) for one in (outer, inner) for leaf in leaves(one.shape) + leaves(one.stride)):
        return CompositionError(
            f"{outer} o {inner} is a layout for no sizes that satisfy what is stated: {_CLAUSES[refused.clause]}. "
            f"Put values in with subs to see where.",
            None,
            (None, None),
            refused.clause,
        )
    way_out = _way_out(outer, inner)
    if has_basis(outer.stride):
        return CompositionError(
            f"{outer} o {inner}: {_CLAUSES[refused.clause]}, and with strides along several axes only what lines up is "
            f"composed.{way_out}",
            None,
            (None, None),
            refused.clause,
        )
    if refused.clause == "carry":
        return _carry_error(outer, inner, way_out)
    return _leaf_error(outer, inner, refused, way_out)


def _leaf_error(outer: Layout, inner: Layout, refused: Refused, way_out: str) -> CompositionError:
    clause, position = refused.clause, refused.position
    extents, steps = leaves(inner.shape), leaves(inner.stride)
    extent, step = extents[position], steps[position]
    shape, _ = coalesced_open(outer)
    broken = leaf_modes(outer, extent, step)
    at, led_to = (broken.index, broken.expected) if isinstance(broken, Broken) else (extent, outer(step) * extent)
    here = outer(step * at)
    flat = tuple(at if leaf == position else 0 for leaf in range(len(extents)))
    witness = nested(flat, inner.shape)
    if clause == "shape":
        reason = (
            f"Along its mode {position} ({extent}:{step}) the map runs straight for {_straight(outer, extent, step)} "
            f"steps, which do not divide {extent} into equal runs"
        )
    else:
        reason = (
            f"Stride {step} of mode {position} ({extent}:{step}) steps across the extents {show(tuple(shape))} of the "
            f"left operand unevenly"
        )
    return CompositionError(
        f"{outer} o {inner} is not a layout: at {show(witness)} it is {here}, where the values before "
        f"it lead to {led_to}.\n"
        f"  {reason}.{way_out}",
        witness,
        (here, led_to),
        clause,
    )


def _straight(outer: Layout, extent: int, step: int) -> int:
    first, x = outer(step), 1
    while x < extent and outer(step * x) == first * x:
        x += 1
    return x


def _carry_error(outer: Layout, inner: Layout, way_out: str) -> CompositionError:
    extents, steps = leaves(inner.shape), leaves(inner.stride)
    flat = additive_witness(outer, inner) if inner.size <= LARGEST_TABLE else _first_carry(outer, inner)
    assert flat is not None, "a digit carries, so some coordinate is not additive"
    parts = [outer(x * step) for x, step in zip(flat, steps, strict=True)]
    here = outer(sum(x * step for x, step in zip(flat, steps, strict=True)))
    witness = nested(flat, inner.shape)
    busy = [(mode, x) for mode, x in enumerate(flat) if x]
    reaches = ", ".join(
        f"mode {mode} ({extents[mode]}:{steps[mode]}) brings {x} * {steps[mode]} = {x * steps[mode]}"
        for mode, x in busy
    )
    shape, _ = coalesced_open(outer)
    return CompositionError(
        f"{outer} o {inner} is not a layout: at {show(witness)} it is {here}, its modes add up to "
        f"{' + '.join(str(parts[mode]) for mode, _ in busy)} = {sum(parts)}.\n"
        f"  Of the right operand {reaches}: over the extents "
        f"{show(tuple(shape))} of the left operand the sum carries.{way_out}",
        witness,
        (here, sum(parts)),
        "carry",
    )


def _first_carry(outer: Layout, inner: Layout) -> tuple[int, ...]:
    """A non-additive coordinate of a large operand: of two leaves alone, each cut short."""
    extents, steps = leaves(inner.shape), leaves(inner.stride)
    for cut in (4, 16, 64, 256, 1024):
        short = _make(tuple(min(extent, cut) for extent in extents), tuple(steps))
        for left in range(len(extents)):
            for right in range(left + 1, len(extents)):
                only = tuple(extent if leaf in (left, right) else 1 for leaf, extent in enumerate(leaves(short.shape)))
                found = additive_witness(outer, _make(only, tuple(steps)))
                if found is not None:
                    return found
    return tuple(extent - 1 for extent in extents)


def _way_out(outer: Layout, inner: Layout) -> str:
    """Up to two right operands near `inner` that compose, tried one after the other."""
    works = [str(candidate) for candidate in nearest(outer, inner)]
    return f" Right operands that work: {', '.join(works)}." if works else ""


def nearest(outer: Layout, inner: Layout, limit: int = 2) -> Iterator[Layout]:
    """Layouts that differ from `inner` in one stride or one extent and compose with `outer`."""
    working = (candidate for candidate in _neighbours(outer, inner) if composes(outer, candidate))
    yield from islice(working, limit)


def _neighbours(outer: Layout, inner: Layout) -> Iterator[Layout]:
    extents, steps = list(leaves(inner.shape)), list(leaves(inner.stride))
    shape, _ = coalesced_open(outer)
    marks = [1]
    for extent in shape:
        marks.append(marks[-1] * extent)
    seen = {tuple(steps)}
    for leaf in reversed(range(len(steps))):
        reach = [steps[i] * extents[i] for i in range(len(steps)) if i != leaf]
        for step in sorted({*reach, *marks} - {0}, key=lambda mark: abs(mark - steps[leaf])):
            trial = (*steps[:leaf], step, *steps[leaf + 1 :])
            if trial not in seen:
                seen.add(trial)
                yield _make(inner.shape, fold_profile(iter(trial), inner.stride))
    for leaf, extent in enumerate(extents):
        for other in sorted((d for d in range(1, min(extent, 4096)) if extent % d == 0), reverse=True)[:3]:
            shorter = [*extents[:leaf], other, *extents[leaf + 1 :]]
            yield _make(fold_profile(iter(shorter), inner.shape), inner.stride)
