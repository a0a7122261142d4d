"""Modes taken out, grouped, flattened, merged, put in order: the function may be restricted or refolded, never changed.

Law of `coalesce`: same size, same value at every integer coordinate, depth at most 1, and no shorter layout has both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import SupportsIndex

from ...errors import LayoutError
from ..values.coordinates import has_basis, keeps, mixed_codomain
from ..values.int_tuple import IntTuple, Order, fold_profile, leaves
from ..values.layout import Layout, _make, flat_modes, united_facts
from .operation import on_inner, operation, rearranging

Modes = tuple[list[int], list[int]]


def from_modes(shape: Sequence[int], stride: Sequence[int]) -> Layout:
    """The layout of flat modes: an integer layout for one, `1:0` for none.

    >>> from_modes([4], [2]), from_modes([], [])
    (Layout(4, 2), Layout(1, 0))
    """
    if len(shape) == 1:
        return _make(shape[0], stride[0])
    return _make(tuple(shape), tuple(stride)) if shape else _make(1, 0)


def coalesced(layout: Layout) -> Modes:
    """The shortest flat modes of `layout`, as lists of extents and strides; neither is there for a size of 1."""
    shape: list[int] = []
    stride: list[int] = []
    next_step: object = None
    for extent, step in zip(leaves(layout.shape), leaves(layout.stride)):  # noqa: B905  (congruent by construction)
        if extent == 1:
            continue
        # (s0:d0, s1:d1) merges to (s0 * s1):d0 exactly when d1 == s0 * d0.
        if step == next_step:
            shape[-1] *= extent
        else:
            shape.append(extent)
            stride.append(step)
        next_step = shape[-1] * stride[-1]
    return shape, stride


def coalesced_open(layout: Layout) -> Modes:
    """`coalesced`, but equal to `layout` beyond its size too: a last mode of size 1 that goes on elsewhere is kept."""
    shape, stride = coalesced(layout)
    # Beyond the size the last mode goes on with its own stride, also if its extent is 1.
    steps = leaves(layout.stride)
    if steps and leaves(layout.shape)[-1] == 1 and not (shape and shape[-1] * stride[-1] == steps[-1]):
        shape.append(1)
        stride.append(steps[-1])
    return shape, stride


def moving(layout: Layout) -> list[tuple[int, int, int]]:
    """Every mode that moves the offset: its stride, the stride of the integer coordinate along it, its extent.

    >>> moving(Layout((4, 2, 8), (2, 0, 1)))
    [(2, 1, 4), (1, 8, 8)]
    """
    modes = []
    position = 1
    for extent, step in zip(leaves(layout.shape), leaves(layout.stride)):  # noqa: B905  (congruent by construction)
        if extent != 1 and step != 0:
            modes.append((step, position, extent))
        position *= extent
    return modes


@operation(composed=on_inner, on_tensor="refolded")
def coalesce(layout: Layout, profile: IntTuple | None = None) -> Layout:
    """The shortest layout of depth at most 1 with the same size and the same value at every integer coordinate.

    With a tuple `profile` each mode that it names is coalesced by itself, at the profile's own nesting.

    >>> print(coalesce(Layout((2, (1, 6)), (1, (6, 2)))), coalesce(Layout((2, (1, 6)), (1, (6, 2))), (1, 1)))
    12:1 (2,6):(1,2)

    Raises LayoutError for a profile longer than the layout. Source: CuTe, `layout.hpp`; arXiv 2603.02298, section 3.1.
    """
    if profile is not None and isinstance(profile, tuple):
        return by_mode(coalesce, layout, profile)
    if type(layout.shape) is int or layout.shape == ():
        return layout
    return from_modes(*coalesced(layout))


def by_mode(
    function: Callable[..., Layout], layout: Layout, tiler: tuple[object, ...], *more: object, keep_rest: bool = True
) -> Layout:
    """Apply `function(mode, entry, *more)` mode by mode: the one place where tuple tilers are taken apart.

    `_` and None keep a mode; modes that the tiler does not name are kept or, with `keep_rest=False`, dropped.
    """
    if len(tiler) > layout.rank:
        raise LayoutError(
            f"{function.__name__}({layout}, {_tiler_text(tiler)}): the tiler has {len(tiler)} entries, "
            f"the layout {layout.rank} modes; leave out or group entries"
        )
    # An error of one mode is prefixed by its number.
    modes, done = list(layout), []
    try:
        for mode, entry in zip(modes, tiler, strict=False):
            done.append(mode if keeps(entry) else function(mode, entry, *more))
    except LayoutError as error:
        error.args = (f"mode {len(done)}: {error}",)
        raise
    kept = done + modes[len(tiler) :] if keep_rest else done
    return joined(kept)


def joined(modes: Iterable[Layout]) -> Layout:
    """The layout with these modes; always a tuple shape.

    >>> print(joined([Layout(4, 2), Layout((2, 2), (1, 8))]))
    (4,(2,2)):(2,(1,8))
    """
    modes = tuple(modes)
    return _make(tuple([mode.shape for mode in modes]), tuple([mode.stride for mode in modes]), united_facts(modes))


def _tiler_text(tiler: object) -> str:
    return f"({','.join(map(_tiler_text, tiler))})" if isinstance(tiler, tuple) else str(tiler)


@rearranging(on_tensor="nested")
def flatten(layout: Layout) -> Layout:
    """The same leaves with no nesting.

    >>> print(flatten(Layout(((4, 3), (2, 5)), ((1, 0), (2, 4)))))
    (4,3,2,5):(1,0,2,4)
    >>> flatten(((4, 3), (2, 5)))
    (4, 3, 2, 5)
    """
    if not isinstance(layout.shape, tuple):
        return layout
    return _make(leaves(layout.shape), leaves(layout.stride), layout.facts)


@rearranging(on_tensor="nested")
def unflatten(layout: Layout, profile: IntTuple) -> Layout:
    """The leaves of a flat layout nested as `profile`.

    >>> print(unflatten(Layout((4, 3, 2), (1, 4, 12)), (0, (0, 0))))
    (4,(3,2)):(1,(4,12))

    Raises LayoutError where the profile has another number of leaves.
    """
    extents, steps = leaves(layout.shape), leaves(layout.stride)
    if len(leaves(profile)) != len(extents):
        raise LayoutError(
            f"unflatten({layout}, {profile}): {len(extents)} modes do not fill {len(leaves(profile))} places"
        )
    return _make(fold_profile(iter(extents), profile), fold_profile(iter(steps), profile), layout.facts)


@rearranging(on_tensor="mode")
def get(layout: Layout, *path: int) -> Layout:
    """The mode at `path`: `get(L, 1, 0)` is mode 0 of mode 1.

    >>> print(get(Layout((4, (2, 8)), (1, (4, 8))), 1, 0))
    2:4

    Raises CoordinateError for a mode that is not there.
    """
    for mode in path:
        layout = layout[mode]
    return layout


@rearranging(on_tensor="kept")
def select(layout: Layout, *modes: int) -> Layout:
    """The layout of the named modes, in that order.

    >>> print(select(Layout((4, 8, 2)), 2, 0))
    (2,4):(32,1)
    >>> select((2, 3, 5), 2, 0)
    (5, 2)

    Raises CoordinateError for a mode that is not there.
    """
    shape, stride = layout.shape, layout.stride
    if type(shape) is tuple and type(stride) is tuple and {*map(type, modes)} == {int}:
        rank = len(shape)
        if -rank <= min(modes) and max(modes) < rank:
            return _make(tuple([shape[at] for at in modes]), tuple([stride[at] for at in modes]), layout.facts)
    return joined(layout[mode] for mode in modes)


@rearranging(on_tensor="kept")
def take(layout: Layout, begin: int, end: int) -> Layout:
    """Modes `begin` up to, not including, `end`; a single one stays itself, as in CuTe.

    >>> print(take(Layout((4, 8, 2)), 1, 3), take(Layout((4, 8, 2)), 1, 2))
    (8,2):(4,32) 8:4

    Raises LayoutError for a range that is empty or beyond the modes.
    """
    _check_range("take", layout, begin, end)
    return layout[begin] if end == begin + 1 else joined(list(layout)[begin:end])


@rearranging(on_tensor="nested")
def group_modes(layout: Layout, begin: int, end: int) -> Layout:
    """Modes `begin` up to `end` nested into one.

    >>> print(group_modes(Layout((4, 5, 6)), 0, 2))
    ((4,5),6):((1,4),20)

    Raises LayoutError for a range that is empty or beyond the modes.
    """
    _check_range("group_modes", layout, begin, end)
    modes = list(layout)
    return joined([*modes[:begin], joined(modes[begin:end]), *modes[end:]])


def _check_range(call: str, layout: Layout, begin: int, end: int) -> None:
    if not 0 <= begin < end <= layout.rank:
        raise LayoutError(
            f"{call}({layout}, {begin}, {end}): modes go from 0 to {layout.rank}, and the range must hold one"
        )


@rearranging(entries=(0, 1), on_tensor="extended")
def append(layout: Layout, mode: Layout | int, up_to: int | None = None) -> Layout:
    """`mode` as one more last mode; `append(L, rank)` adds modes 1:0 until the rank is reached, none where it is (as
    CuTe's `append<N>`).

    >>> print(append(Layout(4), Layout(3, 4)), append(Layout((4, 2)), 3))
    (4,3):(1,4) (4,2,1):(1,4,0)
    >>> append((4, 2), 3)
    (4, 2, 3)

    Raises LayoutError for what is no layout or whole number, for more modes than a layout has, and where one mode gives
    offsets and another coordinates.
    """
    more = _more_modes("append", layout, mode, up_to)
    return joined([*layout, *more]) if more else layout


@rearranging(entries=(0, 1), on_tensor="extended")
def prepend(layout: Layout, mode: Layout | int, up_to: int | None = None) -> Layout:
    """As `append`, at the front.

    >>> print(prepend(Layout(4), Layout(3, 4)))
    (3,4):(4,1)

    Raises LayoutError as `append`.
    """
    more = _more_modes("prepend", layout, mode, up_to)
    return joined([*more, *layout]) if more else layout


MOST_MODES = 1 << 12
"""The most modes that are added at once, far more than any layout has."""


def _more_modes(call: str, layout: Layout, mode: Layout | int, up_to: int | None) -> list[Layout]:
    """The modes that `append` and `prepend` add."""
    # `append(L, rank)` pads with 1:0; `append(L, mode, up_to)` repeats `mode`.
    wanted = mode if type(mode) is int else up_to
    if isinstance(wanted, int) and wanted > MOST_MODES:
        raise LayoutError(f"{call}({layout}, {mode}, {up_to}): a layout of {wanted} modes; at most {MOST_MODES}")
    if type(mode) is int and up_to is None:
        return [_make(1, 0)] * (mode - layout.rank)
    if not isinstance(mode, Layout) or not (up_to is None or type(up_to) is int):
        raise LayoutError(f"{call}({layout}, {mode!r}, {up_to!r}): a mode is a layout, a rank a whole number")
    more = [mode] * (1 if up_to is None else up_to - layout.rank)
    _check_codomain(call, layout, *more)
    return more


def _check_codomain(call: str, *modes: Layout) -> None:
    """Raises LayoutError where some modes give offsets and others coordinates, which do not add."""
    if mixed_codomain(tuple(mode.stride for mode in modes)):
        raise LayoutError(
            f"{call}({', '.join(map(str, modes))}): some modes give offsets and others coordinates, or some an axis "
            "and others its own sub-axes; they do not add up"
        )


@rearranging(entries=(0, 2))
def replace(layout: Layout, mode: int, new: Layout) -> Layout:
    """Mode number `mode` replaced by `new`.

    >>> print(replace(Layout((4, 8)), 1, Layout(2, 16)))
    (4,2):(1,16)

    Raises LayoutError where `new` is no layout, or gives coordinates where the others give offsets; CoordinateError for
    a mode that is not there.
    """
    layout[mode]
    if not isinstance(new, Layout):
        raise LayoutError(f"replace({layout}, {mode}, {new!r}): the new mode must be a layout; write Layout({new!r})")
    modes = list(layout)
    modes[mode] = new
    _check_codomain("replace", *modes)
    return joined(modes)


@operation(composed=on_inner, structural=True)
def filter_zeros(layout: Layout) -> Layout:
    """Every stride-0 mode made size 1: what is left is where the layout moves.

    >>> print(filter_zeros(Layout((4, 8), (0, 1))))
    (1,8):(0,1)
    """
    extents = (1 if step == 0 else extent for extent, step in flat_modes(layout))
    return _make(fold_profile(iter(list(extents)), layout.shape), layout.stride, layout.facts)


def filter(layout: Layout) -> Layout:
    """Stride-0 and size-1 modes removed, the rest coalesced.

    >>> print(filter(Layout((2, 4, 3), (1, 0, 2))))
    6:1
    """
    return coalesce(filter_zeros(layout))


def make_ordered_layout(shape: IntTuple, order: IntTuple | Order) -> Layout:
    """The compact layout of `shape` whose strides grow in the order of the numbers in `order`.

    >>> print(make_ordered_layout((2, (2, 2), 2), (0, (2, 3), 1)))
    (2,(2,2),2):(1,(4,8),2)

    An entry of `order` that stops nesting orders all below it, first mode fastest. Raises LayoutError where it nests
    deeper.
    """
    if isinstance(order, Order):
        return Layout(shape, order)
    whole = Layout(shape)
    ranked = _ranks(shape, order, whole)
    return _compact(whole, [(rank, leaf) for leaf, rank in enumerate(ranked)])


def _ranks(shape: IntTuple, order: IntTuple, whole: Layout) -> list[int]:
    """The rank of each leaf of `shape`: an entry of `order` that stops nesting is the rank of all leaves below it."""
    if isinstance(order, SupportsIndex):  # an unknown size has no order
        return [order] * len(leaves(shape))
    if not (isinstance(shape, tuple) and isinstance(order, tuple) and len(shape) == len(order)):
        raise LayoutError(
            f"make_ordered_layout({whole.shape}, {order}): it must nest no deeper than the shape, one entry a mode"
        )
    return [rank for extent, entry in zip(shape, order, strict=True) for rank in _ranks(extent, entry, whole)]


@operation(composed=lambda call, layout: call(layout.inner))
def make_layout_like(layout: Layout) -> Layout:
    """A compact layout of the same shape whose strides grow in the same order; stride-0 modes stay.

    >>> print(make_layout_like(Layout((4, 8), (32, 2))))
    (4,8):(8,1)

    Of a composed layout that of its inner one. Raises LayoutError for strides along axes, which have no order.
    """
    if has_basis(layout.stride):
        raise LayoutError(f"make_layout_like({layout}): strides along axes have no order; use make_layout(shape)")
    steps = leaves(layout.stride)
    return _compact(layout, [(abs(step), leaf) for leaf, step in enumerate(steps) if step != 0])


def _compact(layout: Layout, order: list[tuple[int, int]]) -> Layout:
    """The shape of `layout` with compact strides that grow in the order of (rank, leaf); 0 for leaves not in it."""
    extents = leaves(layout.shape)
    strides = [0] * len(extents)
    running = 1
    # Running product in order of rank; extent 1 keeps stride 0, as CuTe's static integers do.
    for _rank, leaf in sorted(order):
        if extents[leaf] != 1:
            strides[leaf] = running
            running *= extents[leaf]
    return _make(layout.shape, fold_profile(iter(strides), layout.shape))
