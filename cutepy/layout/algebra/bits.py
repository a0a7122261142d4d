"""Power-of-two layouts as bit matrices: linear maps over F2, where addition is XOR.

Law: `layout(x) == XOR of column j over the bits j of x` for every integer coordinate x; a layout is such a map exactly
when its extents are powers of two and no two columns share a bit, for then sums never carry. A swizzle always is one.
So composition is a matrix product, inverses are Gauss elimination, and all of it is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...errors import LayoutError
from ..values.composed import AnyLayout, Chained, ComposedLayout, Function, Swizzle
from ..values.int_tuple import IntTuple, leaves, map_leaves, product
from ..values.layout import Layout, _make
from .rearrange import coalesced, coalesced_open, from_modes

Columns = tuple[int, ...]
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
    """The layout, or the swizzle after a layout, whose bit matrix this is; nested to refine `shape` where one is given.

    >>> print(from_f2([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), from_f2([[1, 0, 1], [0, 1, 0], [0, 0, 1]]))
    (2,4):(4,1) S<1,0,2> o 0 o 8:1

    Raises LayoutError where no single swizzle makes it a layout, or `shape` has another size.
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
    found = layout_of_columns(columns, shape)
    if found is None:
        raise LayoutError(
            f"from_f2: columns {_sharing(columns)} of {rows} share bits, and no swizzle takes all such bits apart"
        )
    return found


def columns_of(function: Function, bits: int | None = None) -> Columns | None:
    """The columns of a map that is linear over XOR, None where it is not; `bits` of input, more than the size too."""
    if isinstance(function, Swizzle):
        return tuple(function(1 << bit) for bit in range(bits or 0))
    if isinstance(function, (ComposedLayout, Chained)):
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
        columns += [step << bit for bit in range(extent.bit_length() - 1)]
    if bits is not None:
        last = stride[-1] * shape[-1] if shape else 0
        columns = (columns + [last << bit for bit in range(bits)])[:bits]
    return tuple(columns) if disjoint(columns) else None


def apply(columns: Sequence[int], vector: int) -> int:
    """The XOR of the columns at the set bits of `vector`.

    >>> apply((1, 2, 5), 0b101)
    4
    """
    total = 0
    while vector:
        low = vector & -vector
        total ^= columns[low.bit_length() - 1]
        vector ^= low
    return total


def disjoint(columns: Sequence[int]) -> bool:
    """True if no two columns share a bit, so that their sums are their XORs."""
    seen = 0
    for column in columns:
        if seen & column:
            return False
        seen |= column
    return True


def layout_of_columns(columns: Columns, shape: IntTuple | None = None) -> AnyLayout | None:
    """The layout with these columns, or the swizzled one of fewest bits, then fewest modes; None if none is."""
    if disjoint(columns):
        return _layout(columns, shape)
    best: tuple[tuple[int, ...], ComposedLayout] | None = None
    for swizzle in swizzles(max(column.bit_length() for column in columns)):
        if best is not None and swizzle.bits > best[0][0]:
            break
        unmixed = tuple(swizzle(column) for column in columns)
        if disjoint(unmixed):
            inner = _layout(unmixed, shape)
            cost = (swizzle.bits, len(leaves(inner.shape)), abs(swizzle.shift), swizzle.base, -swizzle.shift)
            if best is None or cost < best[0]:
                best = cost, ComposedLayout(swizzle, 0, inner)
    return None if best is None else best[1]


def swizzles(width: int) -> Iterator[Swizzle]:
    """Every swizzle other than the identity that moves bits below `width` only, those of fewest bits first."""
    for bits in range(1, width // 2 + 1):
        for shift in range(bits, width - bits + 1):
            for base in range(width - bits - shift + 1):
                yield Swizzle(bits, base, shift)
                yield Swizzle(bits, base, -shift)


def _layout(columns: Columns, shape: IntTuple | None) -> Layout:
    if shape is None:
        return from_modes(*coalesced(_make((2,) * len(columns), columns)))
    rest = list(columns)

    def mode(extent: int) -> Layout:
        count = extent.bit_length() - 1
        taken, rest[:] = tuple(rest[:count]), rest[count:]
        return from_modes(*coalesced(_make((2,) * count, taken)))

    modes = map_leaves(mode, shape)  # type: ignore[arg-type]
    return _make(map_leaves(lambda leaf: leaf.shape, modes), map_leaves(lambda leaf: leaf.stride, modes))


def _not_linear(layout: AnyLayout) -> str:
    plain = layout.inner if isinstance(layout, ComposedLayout) else layout
    for extent, step in zip(leaves(plain.shape), leaves(plain.stride), strict=True):
        if type(extent) is not int or extent & (extent - 1):
            return f"the extent {extent} is no power of two"
        if type(step) is not int or step < 0:
            return f"the stride {step} is not an integer from 0"
    if isinstance(layout, ComposedLayout) and layout.offset:
        return f"the offset {layout.offset} makes it an affine map; take the matrix without it"
    columns = [
        step << bit
        for extent, step in zip(leaves(plain.shape), leaves(plain.stride), strict=True)
        for bit in range(extent.bit_length() - 1)
    ]
    if disjoint(columns):
        return "a function in the chain is not linear over XOR"
    return f"the steps {_sharing(columns)} share a bit, so their sum carries where XOR does not"


def _sharing(columns: Sequence[int]) -> str:
    for j, right in enumerate(columns):
        for left in columns[:j]:
            if left & right:
                return f"{left} and {right}"
    return ""


class Image:
    """The span of columns, reduced so that each pivot bit stands in one vector only (Gauss elimination).

    >>> Image((2, 4)).solve(6), Image((2, 4)).solve(1)
    (3, None)
    """

    __slots__ = ("pivots",)

    def __init__(self, columns: Sequence[int]) -> None:
        self.pivots: dict[int, tuple[int, int]] = {}
        for position, column in enumerate(columns):
            vector, combination = self._reduced(column, 1 << position)
            if vector:
                bit = (vector & -vector).bit_length() - 1
                for other, (reduced, made_of) in self.pivots.items():
                    if reduced >> bit & 1:
                        self.pivots[other] = reduced ^ vector, made_of ^ combination
                self.pivots[bit] = vector, combination

    def _reduced(self, vector: int, combination: int) -> tuple[int, int]:
        for bit, (pivot, made_of) in self.pivots.items():
            if vector >> bit & 1:
                vector, combination = vector ^ pivot, combination ^ made_of
        return vector, combination

    def solve(self, target: int) -> int | None:
        """Which columns XOR to `target`, as bits; None if none do."""
        vector, combination = self._reduced(target, 0)
        return None if vector else combination

    def project(self, bit: int) -> int:
        """Column `bit` of a left inverse: the coordinate of the pivot at that bit, 0 where there is none."""
        return self.pivots[bit][1] if bit in self.pivots else 0

    def greatest(self, start: int) -> int:
        """The greatest value of `start` XOR any combination of the columns."""
        highest: dict[int, int] = {}
        for vector, _ in self.pivots.values():
            while vector:
                top = vector.bit_length()
                if top not in highest:
                    highest[top] = vector
                    break
                vector ^= highest[top]
        for top in sorted(highest, reverse=True):
            start = max(start, start ^ highest[top])
        return start
