"""Power-of-two layouts as bit matrices: linear maps over F2, where addition is XOR.

Law: `layout(x) == XOR of column j over the bits j of x` for every integer coordinate x; a layout is such a map exactly
when its extents are powers of two and no two columns share a bit, for then sums never carry. A swizzle always is one.
So composition is a matrix product, inverses are Gauss elimination, and all of it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ...errors import LayoutError
from ..values.bit_map import Columns, Image, OfBits, Swizzle, apply, named
from ..values.composed import AnyLayout, Chained, ComposedLayout, axes_of, axis_layout, gives_coordinates, plain_part
from ..values.int_tuple import IntTuple, fold_profile, leaves, product
from ..values.layout import Layout, _make, flat_modes
from .rearrange import coalesced, coalesced_open, from_modes

Matrix = tuple[tuple[int, ...], ...]


def to_f2(layout: AnyLayout) -> Matrix:
    """The bit matrix of a power-of-two layout: entry (i, j) is bit i of the offset of integer coordinate 2**j.

    >>> to_f2(Layout((2, 4), (4, 1)))
    ((0, 1, 0), (0, 0, 1), (1, 0, 0))

    Raises LayoutError where the layout is not linear over XOR: extents that are no powers of two, strides that carry.
    """
    columns = columns_of(layout)
    if columns is None:
        raise LayoutError(f"to_f2({layout}): {_not_linear(layout)}")
    rows = max([column.bit_length() for column in columns], default=0)
    return tuple(tuple(column >> row & 1 for column in columns) for row in range(rows))


def from_f2(matrix: Iterable[Iterable[int]], shape: IntTuple | None = None) -> AnyLayout:
    """The layout whose bit matrix this is, or a swizzle, or else a map of bits, after one; nested to refine `shape`.

    >>> print(from_f2([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), from_f2([[1, 0, 1], [0, 1, 0], [0, 0, 1]]))
    (2,4):(4,1) S<1,0,2> o 0 o 8:1
    >>> print(from_f2([[1, 1, 0], [0, 1, 1], [0, 0, 1]]))
    F2<1,3,6> o 0 o 8:1

    Raises LayoutError where it is no matrix of 0 and 1, or `shape` has another size.
    """
    rows = [tuple(int(bit) for bit in row) for row in matrix]
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows) or any(bit not in (0, 1) for row in rows for bit in row):
        raise LayoutError(f"from_f2({rows}): a bit matrix has rows of one length, of 0 and 1")
    columns = tuple(sum(row[j] << i for i, row in enumerate(rows)) for j in range(width))
    if shape is not None and product(shape) != 1 << width:
        raise LayoutError(
            f"from_f2: {width} columns are {1 << width} coordinates, the shape {shape} has {product(shape)}"
        )
    return linear_layout_of(columns, shape)


def columns_of(function: OfBits | AnyLayout | Chained, bits: int | None = None) -> Columns | None:
    """The columns of a map that is linear over XOR, None where it is not, as with an offset; `bits` of input, more than
    the size too."""
    if isinstance(function, OfBits):
        return tuple(function(1 << bit) for bit in range(bits or 0))
    if isinstance(function, (ComposedLayout, Chained)):
        # Composition of linear maps: apply the outer matrix to every inner column; an offset makes it affine.
        inner = columns_of(function.inner, bits) if function.offset == 0 else None
        if inner is None:
            return None
        outer = columns_of(function.outer, max([column.bit_length() for column in inner], default=0))
        return None if outer is None else tuple(apply(outer, column) for column in inner)
    shape, stride = coalesced_open(function) if bits is not None else (leaves(function.shape), leaves(function.stride))
    columns: list[int] = []
    for extent, step in zip(shape, stride, strict=True):
        if type(extent) is not int or type(step) is not int or extent & (extent - 1) or step < 0:
            return None
        # s:d with s = 2^b has columns d, 2d, ..., 2^(b-1) d.
        columns += [step << bit for bit in range(extent.bit_length() - 1)]
    if bits is not None:
        # Beyond its size a layout goes on in its last mode.
        last = stride[-1] * shape[-1] if shape else 0
        columns = (columns + [last << bit for bit in range(bits)])[:bits]
    return None if shared(columns) else tuple(columns)


def index_columns(layout: AnyLayout) -> Columns | None:
    """The columns of what is linear over XOR, to an offset, or to the index of the coordinate that it gives."""
    if not gives_coordinates(layout):
        return columns_of(layout)
    by_axis = [columns_of(axis_layout(layout, *axis)) for axis in axes_of(layout)]
    linear = [columns for columns in by_axis if columns is not None]
    return joined_columns(linear)[0] if len(linear) == len(by_axis) else None


def joined_columns(by_axis: Sequence[Columns]) -> tuple[Columns, tuple[int, ...]]:
    """Columns of several axes as those of the index, the first axis fastest, and the extents of the axes."""
    widths = [max([column.bit_length() for column in columns], default=0) for columns in by_axis]
    places = [sum(widths[:axis]) for axis in range(len(widths))]
    joined = [sum(c << at for c, at in zip(steps, places, strict=True)) for steps in zip(*by_axis, strict=True)]
    return tuple(joined), tuple(1 << width for width in widths)


def shared(columns: Iterable[int]) -> int:
    """The bits of more than one column; where there are none, sums of columns are their XORs.

    >>> shared((1, 2, 4)), shared((1, 3, 6))
    (0, 3)
    """
    seen = twice = 0
    for column in columns:
        twice |= seen & column
        seen |= column
    return twice


def layout_of_columns(columns: Columns, shape: IntTuple | None = None) -> AnyLayout | None:
    """The layout with these columns, or the swizzled one of fewest bits, then fewest modes; None if none is."""
    # No shared bits: sums never carry, so the layout itself has these columns.
    mixed = shared(columns)
    if not mixed:
        return _layout(columns, shape)

    def before(swizzle: Swizzle) -> tuple[int, Layout] | None:
        return None if shared(map(swizzle, columns)) else (0, _layout(tuple(map(swizzle, columns)), shape))

    # what two columns share is what a swizzle moved there, for without it they share nothing
    return cheapest(before, swizzles(max(column.bit_length() for column in columns), mixed))


def cheapest(
    before: Callable[[Swizzle], tuple[int, Layout] | None], choices: Iterable[Swizzle]
) -> ComposedLayout | None:
    """The swizzle of fewest bits, then fewest modes, after the offset and the layout `before` it; None if none is.

    `choices` come in order of their bits.
    """
    best: tuple[tuple[int, ...], ComposedLayout] | None = None
    for swizzle in choices:
        if best is not None and swizzle.bits > best[0][0]:
            break
        inner_part = before(swizzle)
        if inner_part is not None:
            offset, inner = inner_part
            # Fewest bits, then fewest modes, then the smallest shift.
            cost = (swizzle.bits, len(leaves(inner.shape)), abs(swizzle.shift), swizzle.base, -swizzle.shift)
            if best is None or cost < best[0]:
                best = cost, ComposedLayout(swizzle, offset, inner)
    return None if best is None else best[1]


def linear_layout_of(columns: Columns, shape: IntTuple | None = None) -> AnyLayout:
    """The layout with these columns, with as little after it as does: nothing, a swizzle, a map of bits."""
    return layout_of_columns(columns, shape) or mapped_layout(columns, shape)


def mapped_layout(columns: Columns, shape: IntTuple | None = None) -> ComposedLayout:
    """The map of bits with these columns, after a layout that counts the coordinates which move; any can be said so."""
    moved = [column for column in columns if column]
    width = max([len(moved), *(column.bit_length() for column in moved)])
    counted = iter(range(len(moved)))
    inner = _layout(tuple(1 << next(counted) if column else 0 for column in columns), shape)
    image = Image(moved)
    while len(moved) < width:  # what no coordinate reaches; chosen so that the map can be undone, if any can
        moved.append(next(1 << bit for bit in (len(moved), *range(width)) if image.add(1 << bit) is None))
    return ComposedLayout(named(moved), 0, inner)


def strided_over_f2(shape: IntTuple, steps: Sequence[int]) -> AnyLayout:
    """The layout whose offset is the XOR, over the leaves of `shape`, of the carryless products of entry and step.

    >>> print(strided_over_f2((8, 8), (9, 1)), "|", strided_over_f2((3, 2), (3, 1)))
    S<3,0,3> o 0 o (8,8):(8,1) | F2<3,6,1> o 0 o (3,2):(1,4)

    Source: NVlabs, CuTe's strides over F2.
    """
    # Round extents up to powers of two; the matrix is that of the rounded shape.
    bits = [(extent - 1).bit_length() for extent in leaves(shape)]
    columns = tuple(step << bit for step, count in zip(steps, bits, strict=True) for bit in range(count))
    rounded = fold_profile(iter([1 << count for count in bits]), shape)
    if rounded == shape:
        return linear_layout_of(columns, shape)
    if not shared(columns):
        return _make(shape, fold_profile(iter(steps), shape))
    mapped = mapped_layout(columns, rounded)
    return mapped.with_inner(_make(shape, mapped.inner.stride))


def swizzles(width: int, moved: int = 0) -> Iterator[Swizzle]:
    """Every swizzle but the identity within `width` bits that changes all the bits `moved`, those of fewest first."""
    # `moved` must lie within the ones that are changed, so most masks drop out.
    for bits in range(1, width // 2 + 1):
        ones = (1 << bits) - 1
        for shift in range(bits, width - bits + 1):
            for base in range(width - bits - shift + 1):
                if not moved & ~(ones << base):
                    yield Swizzle(bits, base, shift)
                if not moved & ~(ones << base + shift):
                    yield Swizzle(bits, base, -shift)


def _layout(columns: Columns, shape: IntTuple | None) -> Layout:
    """The plain layout with these columns, which share no bits: coalesced, or nested to refine `shape`."""
    if shape is None:
        return from_modes(*coalesced(_make((2,) * len(columns), columns)))
    modes: list[Layout] = []
    start = 0
    for extent in leaves(shape):
        end = start + extent.bit_length() - 1
        modes.append(_layout(columns[start:end], None))
        start = end
    extents, strides = (iter([mode.shape for mode in modes]), iter([mode.stride for mode in modes]))
    return _make(fold_profile(extents, shape), fold_profile(strides, shape))


def _not_linear(layout: AnyLayout) -> str:
    """The reason why `columns_of(layout)` is None, as the end of a message."""
    plain = plain_part(layout)
    for extent, step in flat_modes(plain):
        if type(extent) is not int or extent & (extent - 1):
            return f"the extent {extent} is no power of two"
        if type(step) is not int or step < 0:
            return f"the stride {step} is not an integer from 0"
    if isinstance(layout, ComposedLayout) and layout.offset:
        return f"the offset {layout.offset} makes it an affine map; take the matrix without it"
    columns = [step << bit for extent, step in flat_modes(plain) for bit in range(extent.bit_length() - 1)]
    if not shared(columns):
        return "a function in the chain is not linear over XOR"
    left, right = next((low, high) for at, high in enumerate(columns) for low in columns[:at] if low & high)
    return f"the steps {left} and {right} share a bit, so their sum carries where XOR does not"
