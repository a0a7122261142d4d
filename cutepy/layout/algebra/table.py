"""Deciding by table: which layout, if any, a list of offsets is; the way back from offsets, or an array's strides.

Law of `modes_of_values`: the modes returned reproduce the values exactly, and None means that no modes do. The leading
extent of a coalesced layout is the length p of its longest linear beginning, so p must divide the length, the blocks of
p must differ by a constant each, and the same holds of the blocks' first values; nothing has to be tried twice.

Law: `from_offsets(T)(i, j, ...) == T[i][j]...` for every index, each axis of a table with more than one is a mode, no
shorter layout does it, and a table is refused only if no layout, with an offset and one swizzle after it at most, has
these offsets.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import gcd, prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import LayoutError, TableError
from ...lazy import numpy as np
from ..public import guarded
from ..values.bit_map import Swizzle
from ..values.composed import AnyLayout, ComposedLayout, greatest_number
from ..values.int_tuple import IntTuple, leaves
from ..values.layout import Layout, _make
from .bits import cheapest, swizzles
from .rearrange import coalesced_open

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.int64]
    Listed = list[int] | Table

LARGEST_TABLE = 1 << 24
SHORT = 1 << 12
"""Up to so many values stand in a list, and NumPy is not loaded; more are an array."""


class Broken(NamedTuple):
    """Where values stop being a layout: at which index, and what the values before it lead to there."""

    at: int
    expected: int


def modes_of_values(values: NDArray[np.int64]) -> tuple[list[int], list[int]] | Broken:
    """Extents and strides of the shortest layout with these values, or where they contradict every layout.

    >>> import numpy as np
    >>> modes_of_values(np.array([0, 1, 10, 11]))
    ([2, 2], [1, 10])
    >>> modes_of_values(np.array([0, 1, 2, 5]))
    Broken(at=3, expected=3)
    """
    if len(values) and values[0] != 0:
        return Broken(0, 0)
    return _modes(lambda count, step: values[::step][:count], len(values), len(values))


def _modes(values: Callable[[int, int], Listed], extent: int, period: int) -> tuple[list[int], list[int]] | Broken:
    """The modes of so many values, of which `values(n, step)` gives n, every `step`-th; they go on after a period."""
    extents: list[int] = []
    strides: list[int] = []
    scale = 1
    while True:
        begin = values(min(extent, period + 1), scale)
        step = int(begin[1]) if extent > 1 else 0
        linear = first_deviation(begin, step)
        if linear is None:
            return [*extents, extent], [*strides, step]
        if extent % linear:
            return Broken(linear * scale, linear * step)
        # Blocks of `linear` values repeat after period / gcd(period, linear) blocks.
        period //= gcd(period, linear)
        looked_at = linear * min(extent // linear, period + 1)
        if (unlike := _unlike(values(looked_at, scale), linear, scale)) is not None:
            return unlike
        # Continue with the first value of every block: the same question, `linear` times coarser.
        extents.append(linear)
        strides.append(step)
        extent, scale = extent // linear, scale * linear


def _unlike(values: Listed, linear: int, scale: int) -> Broken | None:
    """Where a block of `linear` values, each `scale` steps, differs from the first by more than a constant."""
    if isinstance(values, list):
        led = (values[at - at % linear] + values[at % linear] for at in range(len(values)))
        return next((Broken(at * scale, to) for at, to in enumerate(led) if values[at] != to), None)
    # blocks - first column == first block - first value, for every block.
    blocks = values.reshape(-1, linear)
    wrong = np.nonzero((blocks - blocks[:, :1] != blocks[:1]).ravel())[0]
    at = int(wrong[0]) if len(wrong) else 0
    return Broken(at * scale, int(values[at - at % linear] + values[at % linear])) if at else None


def first_deviation(values: Listed, step: int = 1, first: int = 0) -> int | None:
    """The first place where the values are not `first`, `first + step`, `first + 2 * step` and so on.

    >>> first_deviation([0, 1, 2, 4]), first_deviation([5, 7, 9], 2, 5)
    (3, None)
    """
    if isinstance(values, list):
        return next((at for at, value in enumerate(values) if value != first + at * step), None)
    wrong = np.nonzero(values != np.arange(len(values)) * step + first)[0]
    return int(wrong[0]) if len(wrong) else None


def gathered(values: Listed, places: Listed, further: int = 0) -> Listed:
    """The values at places, or so much further on."""
    if isinstance(values, list):
        return [values[index + further] for index in places]
    chosen: Table = values[np.asarray(places) + further]
    return chosen


def extremes(values: Listed) -> tuple[int, int]:
    """The least and the greatest of them."""
    return (min(values), max(values)) if isinstance(values, list) else (int(values.min()), int(values.max()))


def distinct(values: Listed) -> int:
    """How many different ones there are."""
    return len(set(values)) if isinstance(values, list) else 1 + int(np.count_nonzero(np.diff(np.sort(values))))


def reached_from_0(values: Listed) -> int:
    """How many numbers from 0 on are among them, one after the other.

    >>> reached_from_0([3, 1, 0])
    2
    """
    if isinstance(values, list):
        among = set(values)
        return next(number for number in range(len(among) + 1) if number not in among)
    there = np.zeros(len(values) + 1, bool)
    there[values[(values >= 0) & (values < len(values))]] = True
    return int(there.argmin())


def leaf_modes(outer: Layout, extent: int, step: int) -> tuple[list[int], list[int]] | Broken:
    """`modes_of_values` of `x -> outer(step * x)` for x below `extent`, of which one period is looked at.

    Every digit of `step * x` but the last has the period T = P / gcd(P, step), P the product of the other extents, and
    the last grows evenly. So the map is straight if it is up to T, and its blocks of p agree if those of one period do.

    >>> leaf_modes(Layout((4, 6), (6, 1)), 1 << 40, 2)
    ([2, 549755813888], [12, 1])

    Raises LayoutError where one period is longer than 16 million coordinates.
    """
    period = period_of(coalesced_open(outer)[0], step)
    return _modes(lambda count, scale: leaf_values(outer, count, step * scale), extent, period)


def period_of(shape: list[int], step: int) -> int:
    """After how many steps all digits of `step * x` in the radix `shape`, but the last, are 0 again."""
    whole = prod(shape[:-1])
    return whole // gcd(whole, step)


def leaf_values(outer: Layout, extent: int, step: int) -> Listed:
    """`outer(step * x)` for every x below `extent`. Raises LayoutError for more than a table holds."""
    if extent <= SHORT:
        return [outer(index * step) for index in range(extent)]
    return _leaf_table(outer, extent, step)


def _leaf_table(outer: Layout, extent: int, step: int) -> Table:
    """The same as an array. Raises LayoutError above 16 million values, or beyond 63 bits."""
    if extent > LARGEST_TABLE or greatest_number(ComposedLayout(outer, 0, _make(extent, step))) >= 1 << 62:
        raise LayoutError(
            f"{outer} o {extent}:{step}: arithmetic does not decide this, and {extent} offsets up to stride "
            f"{max(map(abs, leaves(outer.stride)), default=0)} are too many or too large to list; divide it first"
        )
    return outer(np.arange(extent, dtype=np.int64) * step)


def digits_of(shape: list[int], extent: int, step: int) -> list[int]:
    """The greatest value of each digit of `step * x`, x below `extent`, in the mixed radix `shape` (last unbounded)."""
    # Each digit but the last takes all values of one period; the last one grows with x.
    last = (extent - 1) * abs(step) // prod(shape[:-1]) + 1
    if step <= 0:
        return [*shape[:-1], last]
    count, tops, below = min(extent, period_of(shape, step)), [], 1
    for radix in shape[:-1]:
        tops.append(_greatest_digit(count, step, below, radix))
        below *= radix
    return [*tops, last]


def _greatest_digit(count: int, step: int, below: int, radix: int) -> int:
    """The greatest of `step * x // below % radix` for x below `count`."""
    if count <= SHORT:
        return max(step * index // below % radix for index in range(count))
    return int((np.arange(count, dtype=np.int64) * step // below % radix).max())


def additive_witness(outer: Layout, inner: Layout) -> tuple[int, ...] | None:
    """The first coordinate of the flat `inner` where `outer(sum)` is not the sum of the modes' values; None if none.

    >>> additive_witness(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3)))
    (2, 1)
    """
    extents, steps = leaves(inner.shape), leaves(inner.stride)
    if inner.size > LARGEST_TABLE:
        raise LayoutError(
            f"{outer} o {inner}: arithmetic does not decide this, and its {inner.size} coordinates are too many to "
            f"list; divide the layouts first"
        )
    flat = Layout(tuple(extents), tuple(steps))
    if inner.size <= SHORT:
        # itertools.product counts the last entry fastest; coordinates count the first.
        for backwards in product(*map(range, reversed(extents))):
            crd = backwards[::-1]
            if outer(flat(crd)) != sum(outer(at * step) for at, step in zip(crd, steps, strict=True)):
                return crd
        return None
    whole = outer(flat.offsets())
    added = np.zeros((1,) * len(extents), np.int64)
    for axis, (extent, step) in enumerate(zip(extents, steps, strict=True)):
        added = added + _leaf_table(outer, extent, step).reshape((-1,) + (1,) * (len(extents) - 1 - axis))
    # Fortran order is colexicographic order: the first mismatch is the least index.
    wrong = np.nonzero((whole != added).ravel(order="F"))[0]
    if not len(wrong):
        return None
    return tuple(int(i) for i in np.unravel_index(int(wrong[0]), tuple(extents), order="F"))


LOOKED_AHEAD = 4096


@guarded
def from_offsets(table: object) -> AnyLayout:
    """The shortest layout with these offsets: nested lists or a NumPy array of whole numbers, one axis a mode.

    >>> print(from_offsets([[0, 10, 100, 110], [1, 11, 101, 111]]), from_offsets([0, 1, 3, 2, 4, 5, 7, 6]))
    (2,(2,2)):(1,(10,100)) S<1,0,1> o 0 o 8:1

    A table that no layout has may be that of a swizzle after a layout, or of a layout with an offset (under the swizzle
    `S<0,0,0>`, which moves nothing). Raises TableError, with the index as `.index`, where it is neither.
    """
    values = _array(table)
    plain = _plain(values)
    if isinstance(plain, Layout):
        return plain
    swizzled = _swizzled(values)
    if swizzled is None:
        index, expected = plain
        value, at = int(values[index]), index[0] if len(index) == 1 else index
        raise TableError(
            f"no layout has this table: at index {at} it is {value}, where the entries before it lead to {expected}; "
            f"nor has one with an offset and a swizzle S<B,M,S> after it",
            index,
            (value, expected),
        )
    return swizzled


@guarded
def from_strides(array: Any) -> Layout:
    """The layout of a strided array, in elements: of a NumPy array, a memoryview, anything with shape and strides.

    >>> import numpy as np
    >>> print(from_strides(np.zeros((4, 8), np.float32)), from_strides(np.zeros((4, 8), np.float32)[::2, ::-1]))
    (4,8):(8,1) (2,8):(16,-1)

    Raises LayoutError where a stride is not a whole number of elements, or a size is 0.
    """
    shape, strides = getattr(array, "shape", None), getattr(array, "strides", None)
    if shape is not None and strides is None and callable(getattr(array, "stride", None)):
        steps = tuple(int(step) for step in array.stride())
        return Layout(tuple(int(extent) for extent in shape), steps)
    if shape is None or strides is None:
        raise LayoutError(f"from_strides: a {type(array).__name__} has no shape and strides; give an array")
    # NumPy's strides are in bytes, layouts count elements.
    item = int(array.itemsize)
    for step in strides:
        if step % item:
            raise LayoutError(
                f"from_strides: the stride of {step} bytes is no whole number of elements of {item} bytes"
            )
    return Layout(tuple(int(extent) for extent in shape), tuple(int(step) // item for step in strides))


def _array(table: object) -> Table:
    """The table as int64, of rank 1 or more. Raises LayoutError for ragged lists and for what is no whole number."""
    try:
        values = np.asarray(table)
    except ValueError:
        raise LayoutError("from_offsets: the lists have different lengths; a table has the same on every row") from None
    if values.dtype.kind not in "iu" or values.size == 0 or values.ndim == 0:
        raise LayoutError(
            f"from_offsets: a table holds whole numbers along one axis or more, "
            f"this one is {values.dtype} of shape {values.shape}"
        )
    if values.dtype.kind == "u" and int(values.max()) >= 1 << 62:
        raise LayoutError(f"from_offsets: {int(values.max())} is beyond 64-bit offsets")
    return values.astype(np.int64)


Mismatch = tuple[tuple[int, ...], int]


def _plain(values: Table) -> Layout | Mismatch:
    """The layout of a table, or the index where none is, and what a layout would have there."""
    modes: list[tuple[IntTuple, IntTuple]] = []
    added = np.zeros((1,) * values.ndim, np.int64)
    for axis in range(values.ndim):
        along = _along(values, axis)
        fitted = modes_of_values(along)
        if isinstance(fitted, Broken):
            return tuple(fitted.at if other == axis else 0 for other in range(values.ndim)), fitted.expected
        extents, strides = fitted
        modes.append((extents[0], strides[0]) if len(extents) == 1 else (tuple(extents), tuple(strides)))
        # A layout is additive over its modes: the table must be the sum of its axes.
        added = added + along.reshape((-1,) + (1,) * (values.ndim - 1 - axis))
    wrong = np.argwhere((added != values).T)
    if len(wrong):
        index = tuple(int(i) for i in reversed(wrong[0]))
        return index, int(added[index])
    if values.ndim == 1:
        return _make(*modes[0])
    return _make(tuple(extent for extent, _ in modes), tuple(step for _, step in modes))


def _swizzled(values: Table) -> ComposedLayout | None:
    """The layout with an offset, or after the swizzle of fewest bits, whose offsets these are."""
    if int(values.min()) < 0:
        return None

    def before(swizzle: Swizzle) -> tuple[int, Layout] | None:
        # A swizzle is its own inverse, so applying it undoes it.
        unmixed = swizzle(values)
        offset = int(unmixed.flat[0])
        inner = _plain(unmixed - offset) if _plausible(unmixed - offset) else None
        return (offset, inner) if isinstance(inner, Layout) else None

    return cheapest(before, (Swizzle(0, 0, 0), *swizzles(int(values.max()).bit_length())))


def _plausible(values: Table) -> bool:
    """False where the beginning of an axis already shows that it is no layout: a first run that does not divide it."""
    for axis in range(values.ndim):
        along = _along(values, axis)
        linear = first_deviation(along[:LOOKED_AHEAD], int(along[1])) if len(along) > 1 else None
        if linear and len(along) % linear:
            return False
    return True


def _along(values: Table, axis: int) -> Table:
    """What stands along one axis where the index on the others is 0."""
    return values[tuple(slice(None) if other == axis else 0 for other in range(values.ndim))]
