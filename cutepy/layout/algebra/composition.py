"""Composition: exact, or refused with a counter-example.

Law: `R = composition(A, B)` has a shape that refines B's, and `R(c) == A(B(c))` for every `c` of B; it is returned
whenever such an R exists.

Method. A, coalesced, reads an index as digits in the mixed radix of its extents, the last digit without bound.
R exists exactly when (a) the map is additive over the leaves of B and (b) along each leaf it is itself a layout.
Arithmetic on one leaf `s:d` settles (b) while the digits that `d * x` fills stay aligned; (a) holds when no digit
carries, and fails when one does. Only where a leaf runs askew of A's digits is its table looked at (`table.py`); on the
way to a refusal the whole table may be.
Source: the criterion follows arXiv 2603.02298, section 3.3; the decision procedure is cutepy's own (docs/design.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ...errors import CompositionError, LayoutError
from ..values.composed import axis_layout
from ..values.coordinates import BasisSum, as_stride, flat_index, has_basis, keeps, path_of, value_of
from ..values.int_tuple import IntTuple, fold_profile, leaves, map_leaves, show
from ..values.layout import Layout, _make, flat_modes
from ..values.size import Size, require_known_sizes
from .operation import operation
from .rearrange import by_mode, coalesced_open
from .swizzled import composition_of
from .table import LARGEST_TABLE, Broken, additive_witness, digits_of, leaf_modes


class Refused(Exception):
    """Inside composition: the clause that fails ("stride", "shape", "carry") and the leaf at fault."""

    def __init__(self, clause: str, position: int = 0) -> None:
        self.clause, self.position = clause, position


class LeafWalk:
    """One composition under way: the digits of the left operand that the leaves of the right one have filled so far."""

    __slots__ = ("filled", "inner", "outer", "shape", "stride", "tabled")

    def __init__(self, outer: Layout, inner: Layout, shape: list[int], stride: list[int]) -> None:
        self.outer, self.inner, self.shape, self.stride = outer, inner, shape, stride
        self.filled = [0] * len(shape)
        self.tabled = False

    def modes(self) -> list[tuple[IntTuple, IntTuple]]:
        """Shape and stride of the result along each leaf of the right operand."""
        # Clause (b) for each leaf, then clause (a): no digit of the sum may carry.
        extents, steps = leaves(self.inner.shape), leaves(self.inner.stride)
        modes = [
            self._leaf(position, extent, step)
            for position, (extent, step) in enumerate(zip(extents, steps, strict=True))
        ]
        carries = any(top >= extent for top, extent in zip(self.filled[:-1], self.shape, strict=False))
        if carries and len(extents) > 1 and not (self.tabled and additive_witness(self.outer, self.inner) is None):
            raise Refused("carry")
        return modes

    def _leaf(self, position: int, extent: int, step: int) -> tuple[IntTuple, IntTuple]:
        """Walk `x -> outer(step * x)` digit by digit; the stretch left over by one digit goes on in the next."""
        if not self.shape:
            return extent, 0  # a layout of no modes has the offset 0 only
        if step <= 0 or extent == 1:
            return (extent, 0) if step == 0 else self._from_table(position, extent, step)
        extents: list[int] = []
        strides: list[int] = []
        rest, stride = extent, step
        last = len(self.shape) - 1
        for digit, radix in enumerate(self.shape):
            if digit == last:
                break
            # The leaf steps over this digit entirely; its stride must be a multiple of the radix.
            if stride >= radix:
                if stride % radix:
                    return self._from_table(position, extent, step)
                stride //= radix
                continue
            # The rest of the leaf stays within this digit.
            if (rest - 1) * stride < radix:
                break
            if radix % stride:
                return self._from_table(position, extent, step)
            # `room` steps fill the digit; the leaf must be a whole number of such runs.
            room = radix // stride
            if rest % room:
                raise Refused("shape", position)
            extents.append(room)
            strides.append(stride * self.stride[digit])
            self.filled[digit] += (room - 1) * stride
            rest //= room
            stride = 1
        # The last digit has no bound.
        self.filled[digit] += (rest - 1) * stride
        if not extents:
            return rest, stride * self.stride[digit]
        return (*extents, rest), (*strides, stride * self.stride[digit])

    def _single(self, step: int) -> int:
        """The stride of a mode of size 1, which nothing takes: where it would lead, if that is along one axis."""
        there = flat_index(step, tuple(self.shape), tuple(self.stride))
        if not isinstance(there, BasisSum):
            offset: int = there
            return offset
        terms = [term for term in there.terms if term.value != 0]
        return as_stride(terms[0].value, terms[0].path) if len(terms) == 1 else 0

    def _from_table(self, position: int, extent: int, step: int) -> tuple[IntTuple, IntTuple]:
        """Shape and stride along a leaf `extent:step` whose steps do not line up with the digits: read off the table of
        `outer(step * x)`.

        Raises Refused("stride") where the table is of no layout or a stride is along an axis, Undecided where a size is
        not known, LayoutError where the table is too long.
        """
        if extent == 1:
            return 1, self._single(step)
        # Unknown sizes have no table; what is no int after that is a stride along an axis.
        if any(type(d) is not int for d in (*self.stride, *self.shape, extent, step)):
            require_known_sizes(extent, step, *self.shape, *self.stride)
            raise Refused("stride", position)
        leaf = leaf_modes(self.outer, extent, step)
        if isinstance(leaf, Broken):
            raise Refused("stride", position)
        self.tabled = True
        for digit, top in enumerate(digits_of(self.shape, extent, step)):
            self.filled[digit] += top
        extents, strides = leaf
        return (extents[0], strides[0]) if len(extents) == 1 else (tuple(extents), tuple(strides))


def composes(outer: Layout, inner: Layout) -> bool:
    """True if `composition(outer, inner)` of two plain layouts exists; cheaper than asking and catching."""
    try:
        LeafWalk(outer, inner, *coalesced_open(outer)).modes()
    except Refused:
        return False
    return True


_CLAUSES = {
    "stride": "a stride of the right operand steps across the extents of the left one unevenly",
    "shape": "a mode of the right operand is not a whole number of runs of the left one",
    "carry": "the modes of the right operand add up beyond an extent of the left one",
}


def composition_error(outer: Layout, inner: Layout, refused: Refused) -> CompositionError:
    """The error of `outer o inner`, with its counter-example and right operands that work."""
    if any(isinstance(leaf, Size) for one in (outer, inner) for leaf in leaves(one.shape) + leaves(one.stride)):
        said = f"{outer} o {inner} is a layout for no sizes that satisfy what is stated: {_CLAUSES[refused.clause]}. "
        return CompositionError(f"{said}Put values in with subs to see where.", refused.clause)
    # Two nearby right operands that do compose are the way out that the message names.
    works = ", ".join(map(str, islice((near for near in neighbours(outer, inner) if composes(outer, near)), 2)))
    way_out = f" Right operands that work: {works}." if works else ""
    if has_basis(outer.stride):
        said = f"{_CLAUSES[refused.clause]}, and with strides along several axes only what lines up is composed"
        return CompositionError(f"{outer} o {inner}: {said}.{way_out}", refused.clause)
    if refused.clause == "carry":
        return _carry_error(outer, inner, way_out)
    return _leaf_error(outer, inner, refused, way_out)


def _leaf_error(outer: Layout, inner: Layout, refused: Refused, way_out: str) -> CompositionError:
    """The error of a leaf along which the map is no layout: the first index that breaks it, and what was expected."""
    clause, position = refused.clause, refused.position
    extents, steps = leaves(inner.shape), leaves(inner.stride)
    extent, step = extents[position], steps[position]
    shape, _ = coalesced_open(outer)
    broken = leaf_modes(outer, extent, step)
    at, led_to = (broken.at, broken.expected) if isinstance(broken, Broken) else (extent, outer(step) * extent)
    here = outer(step * at)
    flat = tuple(at if leaf == position else 0 for leaf in range(len(extents)))
    witness = fold_profile(iter(flat), inner.shape)
    mode = f"mode {position} ({extent}:{step})"
    reason = f"Stride {step} of {mode} steps across the extents {show(tuple(shape))} of the left operand unevenly"
    if clause == "shape":
        run = next((x for x in range(1, extent) if outer(step * x) != outer(step) * x), extent)
        reason = f"Along its {mode} the map runs straight for {run} steps, which do not divide {extent} into equal runs"
    there = f"at {show(witness)} it is {here}, where the values before it lead to {led_to}"
    said = f"{outer} o {inner} is not a layout: {there}.\n  {reason}.{way_out}"
    return CompositionError(said, clause, witness, (here, led_to))


def _carry_error(outer: Layout, inner: Layout, way_out: str) -> CompositionError:
    """The error where each leaf is a layout but their sum carries: the first coordinate that is not additive."""
    extents, steps = leaves(inner.shape), leaves(inner.stride)
    flat = additive_witness(outer, inner) if inner.size <= LARGEST_TABLE else _first_carry(outer, inner)
    assert flat is not None, "a digit carries, so some coordinate is not additive"
    parts = [outer(x * step) for x, step in zip(flat, steps, strict=True)]
    here = outer(sum(x * step for x, step in zip(flat, steps, strict=True)))
    witness = fold_profile(iter(flat), inner.shape)
    busy = [(mode, x) for mode, x in enumerate(flat) if x]
    reaches = ", ".join(
        f"mode {mode} ({extents[mode]}:{steps[mode]}) brings {x} * {steps[mode]} = {x * steps[mode]}"
        for mode, x in busy
    )
    left = show(tuple(coalesced_open(outer)[0]))
    added = f"its modes add up to {' + '.join(str(parts[mode]) for mode, _ in busy)} = {sum(parts)}"
    reason = f"Of the right operand {reaches}: over the extents {left} of the left operand the sum carries"
    said = f"{outer} o {inner} is not a layout: at {show(witness)} it is {here}, {added}.\n  {reason}.{way_out}"
    return CompositionError(said, "carry", witness, (here, sum(parts)))


def _first_carry(outer: Layout, inner: Layout) -> tuple[int, ...]:
    """A coordinate of `inner` at which outer(inner(c)) is not the sum over its leaves, for an error message. Searched
    over pairs of leaves cut short, which is no complete search: the last coordinate where it meets none."""
    extents, steps = leaves(inner.shape), leaves(inner.stride)
    # Two leaves alone, cut short, then longer: a carry between two leaves shows early.
    for cut in (4, 16, 64, 256, 1024):
        short = _make(tuple(min(extent, cut) for extent in extents), tuple(steps))
        for left in range(len(extents)):
            for right in range(left + 1, len(extents)):
                only = tuple(extent if leaf in (left, right) else 1 for leaf, extent in enumerate(leaves(short.shape)))
                witness = additive_witness(outer, _make(only, tuple(steps)))
                if witness is not None:
                    return witness
    return tuple(extent - 1 for extent in extents)


def neighbours(outer: Layout, inner: Layout) -> Iterator[Layout]:
    """Layouts that differ from `inner` in one stride or one extent."""
    extents, steps = list(leaves(inner.shape)), list(leaves(inner.stride))
    shape, _ = coalesced_open(outer)
    # Prefix products of the left extents: strides at which a digit begins.
    marks = [1]
    for extent in shape:
        marks.append(marks[-1] * extent)
    seen = {tuple(steps)}
    for leaf in reversed(range(len(steps))):
        spans = [steps[i] * extents[i] for i in range(len(steps)) if i != leaf]
        for step in sorted({*spans, *marks} - {0}, key=lambda mark: abs(mark - steps[leaf])):
            trial = (*steps[:leaf], step, *steps[leaf + 1 :])
            if trial not in seen:
                seen.add(trial)
                yield _make(inner.shape, fold_profile(iter(trial), inner.stride))
    for leaf, extent in enumerate(extents):
        for other in sorted((d for d in range(1, min(extent, 4096)) if extent % d == 0), reverse=True)[:3]:
            shorter = [*extents[:leaf], other, *extents[leaf + 1 :]]
            yield _make(fold_profile(iter(shorter), inner.shape), inner.stride)


@operation(composed=composition_of, tiled=True, on_tensor="extended", of_bits=True)
def composition(outer: Layout, inner: object) -> Layout:
    """The layout `c -> outer(inner(c))`, whose shape refines that of `inner`.

    `inner` is a layout, an integer N (for `N:1`), or a tuple of those, taken mode by mode: `_` and None keep a mode,
    modes that the tuple does not name are dropped. Beyond its size `outer` goes on in its last mode. A map of bits may
    stand on either side: after `inner`, or before `outer`, on its indices.

    >>> print(composition(Layout((10, 2), (16, 4)), Layout((5, 4), (1, 5))))
    (5,(2,2)):(16,(80,4))

    Raises CompositionError, with the coordinate as `.witness`, where no layout is that map, UndecidedError where that
    depends on unknown sizes, and LayoutError for what is no tiler.
    Source: CuTe, `layout.hpp` (whose own result is wrong or missing for some operands: docs/design.md).
    """
    if type(inner) is not Layout:
        return _by_tiler(outer, inner)
    shape, stride = coalesced_open(outer)
    if has_basis(inner.stride):
        return _through_basis(outer, inner)
    # One mode on the left scales all strides of the right operand.
    if len(shape) == 1:
        return _make(inner.shape, _scaled(inner.stride, stride[0]))
    try:
        return _refold(inner, LeafWalk(outer, inner, shape, stride).modes())
    except Refused as refused:
        if has_basis(outer.stride):
            return _along_one_axis(outer, inner, refused)
        raise composition_error(outer, inner, refused) from None


def _by_tiler(outer: Layout, inner: object) -> Layout:
    """`outer` composed with a tuple (mode by mode), an integer N (as N:1), `_` or None (kept)."""
    if isinstance(inner, tuple):
        return by_mode(composition, outer, inner, keep_rest=False)
    if type(inner) is int:
        return composition(outer, Layout(inner, 1))
    if keeps(inner):
        return outer
    raise LayoutError(
        f"composition({outer}, {inner!r}): the right operand is a layout, an integer, `_` or a tuple of these"
    )


def _scaled(tree: IntTuple, factor: int) -> IntTuple:
    if isinstance(tree, tuple):
        return tuple([_scaled(entry, factor) for entry in tree])
    return tree * factor


def _refold(inner: Layout, modes: list[tuple[IntTuple, IntTuple]]) -> Layout:
    """The layout whose leaf i has the shape and stride `modes[i]`, nested as `inner`."""
    if type(inner.shape) is not tuple:
        return _make(*modes[0])
    if tuple not in map(type, inner.shape):
        extents, strides = zip(*modes, strict=True) if modes else ((), ())
        return _make(tuple(extents), tuple(strides))
    return _make(
        fold_profile(iter([extent for extent, _ in modes]), inner.shape),
        fold_profile(iter([stride for _, stride in modes]), inner.shape),
    )


def _along_one_axis(outer: Layout, inner: Layout, refused: Refused) -> Layout:
    """Compose with a layout to coordinates of one axis as with one to integers; several axes are not tried together."""
    paths = {path_of(step) for step in leaves(outer.stride) if value_of(step) != 0}
    if len(paths) != 1:
        raise composition_error(outer, inner, refused)
    [path] = paths
    along = composition(axis_layout(outer, *path), inner)
    return _make(along.shape, map_leaves(lambda step: as_stride(step, path), along.stride))


def _through_basis(outer: Layout, inner: Layout) -> Layout:
    """Compose with leaves that walk along named modes of `outer`: `s:k@i` is `composition(outer[i], s:k)`."""
    # LeafWalk with basis strides walk along the named mode of the left operand.
    paths = {path_of(step) for step in leaves(inner.stride)} - {()}
    parts: dict[tuple[int, ...], list[tuple[IntTuple, IntTuple]]] = {}
    for path in paths:
        mode = outer
        for axis in path:
            if axis >= mode.rank:
                raise LayoutError(
                    f"composition({outer}, {inner}): axis {axis} of the basis stride is not a mode of {mode}"
                )
            mode = mode[axis]
        along = axis_layout(inner, *path)
        walked = composition(mode, _make(leaves(along.shape), leaves(along.stride)))
        parts[path] = [(sub.shape, sub.stride) for sub in walked]
    chosen: list[tuple[IntTuple, IntTuple]] = []
    for position, (extent, step) in enumerate(flat_modes(inner)):
        if path_of(step):
            chosen.append(parts[path_of(step)][position])
        elif step == 0:
            chosen.append((extent, 0))
        else:
            raise LayoutError(
                f"composition({outer}, {inner}): strides {step} and {next(iter(paths))} mix offsets and axes"
            )
    return _refold(inner, chosen)
