"""Layouts in other units, and what two layouts have in common.

Law of `upcast`: `upcast(L, n)(c // k) == L(c) // n`, mode by mode, where k elements of the mode fill one wider element;
`downcast` is the way back. What no layout in the new units can describe is refused.
"""

from __future__ import annotations

from math import gcd
from typing import Any, Protocol, TypeVar, overload

from ...errors import LayoutError
from ..public import guarded
from ..values.bit_map import OfBits
from ..values.composed import AnyLayout, ComposedLayout, Function, OneKind, chained, gives_coordinates, plain_part
from ..values.coordinates import Coordinate, as_stride, has_basis, path_of, value_of
from ..values.int_tuple import fold_profile, leaves, moved
from ..values.layout import Layout, _make, flat_modes
from .bits import columns_of
from .composition import composition
from .inverse import right_inverse
from .operation import OfPlain, known_sizes, on_any, operation
from .rearrange import coalesce, coalesced, coalesced_open
from .swizzled import listed
from .table import first_deviation


def _in_other_units(call: OfPlain, layout: AnyLayout, count: int) -> ComposedLayout:
    """`upcast` and `downcast` of a composed layout: the inner layout, the offset and what is outside change units.

    Exact where the functions outside keep whole units together: `F(x // n) == f(x) // n` for `upcast`, and
    `F(n * x + j) == n * f(x) + j`, j below n, for `downcast`.
    """
    said = f"{call.__name__}({layout}, {count})"
    _check_count(said, count)
    known_sizes(call, layout)
    if not isinstance(layout, ComposedLayout) or has_basis(layout.inner.stride):
        raise LayoutError(f"{said}: coordinates are in no units; recast the layout outside")
    finer = call is downcast
    outer = _outside(layout.outer, count, finer, said)
    return ComposedLayout(outer, _offset(layout.offset, count, finer, said), call(layout.inner, count))


def _outside(function: Function, count: int, finer: bool, said: str) -> Function:
    """A function outside of a layout in other units."""
    if count == 1:
        return function
    if isinstance(function, OfBits):
        return _of_bits(function, count, finer, said)
    if not isinstance(function, Layout):
        outer, inner = (_outside(link, count, finer, said) for link in (function.outer, function.inner))
        return chained(outer, _offset(function.offset, count, finer, said), inner)
    if has_basis(function.stride):
        raise LayoutError(f"{said}: {function}, which is outside, gives coordinates; recast what is inside of it")
    shape, stride = coalesced_open(function)
    # Units survive if stride 1 comes first, its extent holds whole units and all other strides are multiples of one.
    whole = len(shape) == 1 or (bool(shape) and shape[0] % count == 0 and all(step % count == 0 for step in stride[1:]))
    if not stride or stride[0] != 1 or not (finer or whole):
        raise LayoutError(
            f"{said}: {function}, which is outside, takes units of {count} apart; it may begin with a mode of stride 1 "
            f"whose size is a multiple of {count}, if the other strides are multiples of it"
        )
    return downcast(function, count) if finer else upcast(function, count)


def _of_bits(swizzle: OfBits, count: int, finer: bool, said: str) -> OfBits:
    """A map of bits moves along with the bits of the unit, which it must not reach into."""
    if swizzle.span == 1:
        return swizzle
    # Finer units shift the map up by zoom bits, coarser ones down.
    zoom = count.bit_length() - 1
    if count != 1 << zoom:
        raise LayoutError(f"{said}: {swizzle} permutes bits, and {count} is no power of two")
    if not finer and swizzle.base < zoom:
        raise LayoutError(
            f"{said}: {swizzle} permutes offsets from bit {swizzle.base} on, inside units of {count}; units of at most "
            f"{1 << swizzle.base} stay together"
        )
    return swizzle.zoomed(zoom if finer else -zoom)


def _offset(offset: int, count: int, finer: bool, said: str) -> int:
    if not finer and offset % count:
        raise LayoutError(f"{said}: the offset {offset} is inside a unit of {count}; begin at a multiple of it")
    return offset * count if finer else offset // count


@operation(composed=_in_other_units)
def upcast(layout: Layout, count: int) -> Layout:
    """The layout in units of `count` elements: where each element lies is the unit that holds it.

    >>> print(upcast(Layout((8, 4), (1, 8)), 4), upcast(Layout((4, 4), (16, 1)), 2))
    (2,4):(1,2) (4,2):(8,1)

    A mode of stride d fits where `count` divides d, or d divides `count`; its size is rounded up to whole units.
    Raises LayoutError for other strides, for a negative stride within a unit, and where modes add up to more than a
    unit inside it. Source: CuTe, `layout.hpp`.
    """
    call = f"upcast({layout}, {count})"
    _check_count(call, count)
    extents, strides, within = [], [], 0
    shrinking: set[tuple[int, ...]] = set()
    for extent, step in flat_modes(layout):
        value = value_of(step)
        # Stride in whole wide elements: divide it.
        if value % count == 0:
            extents.append(extent)
            strides.append(as_stride(value // count, path_of(step)))
        elif extent == 1:
            extents.append(1)
            strides.append(as_stride(-(-abs(value) // count) * (1 if value > 0 else -1), path_of(step)))
        else:
            if count % abs(value) or value < 0:
                why = (
                    "goes down inside a unit" if count % abs(value) == 0 else "neither divides nor is a multiple of it"
                )
                raise LayoutError(f"{call}: stride {step} {why}; the unit has {count} elements")
            # Stride inside a wide element: count / d elements share one, so the extent shrinks.
            per_unit = count // value
            shrinking.add(path_of(step))
            within += (extent if extent < per_unit else per_unit) * value - value
            extents.append(-(-extent // per_unit))
            strides.append(as_stride(1, path_of(step)))
    if len(shrinking) > 1:
        raise LayoutError(f"{call}: {len(shrinking)} axes would shrink, units lie along one; recast that axis alone")
    if within >= count:
        raise LayoutError(
            f"{call}: inside a unit the modes add up to {within}, which carries into the next; it holds {count}"
        )
    return _make(fold_profile(iter(extents), layout.shape), fold_profile(iter(strides), layout.shape))


@operation(composed=_in_other_units)
def downcast(layout: Layout, count: int) -> Layout:
    """The layout in units that are `count` times finer: the mode of stride 1 gets `count` times as many.

    >>> print(downcast(Layout((2, 4), (1, 2)), 4), downcast(Layout((4, 2), (8, 1)), 2))
    (8,4):(1,8) (4,4):(16,1)

    Where no mode has stride 1 the first of the finer units is given. Raises LayoutError where two modes have stride 1,
    or one has -1. Source: CuTe, `layout.hpp`.
    """
    call = f"downcast({layout}, {count})"
    _check_count(call, count)
    extents, strides = list(leaves(layout.shape)), list(leaves(layout.stride))
    # The mode of stride +-1 counts neighbours; it alone grows, the others get `count` times their stride.
    dense = [leaf for leaf, step in enumerate(strides) if abs(value_of(step)) == 1]
    along = {path_of(strides[leaf]) for leaf in dense}
    carriers = []
    for path in along:
        these = [leaf for leaf in dense if path_of(strides[leaf]) == path]
        moving = [leaf for leaf in these if extents[leaf] != 1]
        if len(moving) > 1 or any(value_of(strides[leaf]) < 0 for leaf in moving):
            raise LayoutError(
                f"{call}: {'modes overlap on stride 1' if len(moving) > 1 else 'stride -1 goes down through them'}; "
                "no mode can count them"
            )
        carriers += (moving or [leaf for leaf in these if value_of(strides[leaf]) == 1])[:1]
    if len(carriers) > 1 and count > 1:
        raise LayoutError(f"{call}: {len(carriers)} axes would grow, units lie along one; recast that axis alone")
    for leaf, step in enumerate(strides):
        if leaf in carriers:
            extents[leaf] *= count
        else:
            strides[leaf] = as_stride(value_of(step) * count, path_of(step))
    return _make(fold_profile(iter(extents), layout.shape), fold_profile(iter(strides), layout.shape))


@guarded
def recast_layout(new_bits: int, old_bits: int, layout: Layout) -> Layout:
    """The layout of the same memory seen as elements of `new_bits` instead of `old_bits`.

    >>> print(recast_layout(32, 8, Layout((16, 4), (1, 16))), recast_layout(8, 32, Layout((4, 4))))
    (4,4):(1,4) (16,4):(1,16)

    Raises LayoutError as `upcast` and `downcast`. Source: CuTe, `layout.hpp` (there types, here their sizes in bits).
    """
    if any(type(bits) is not int or bits < 1 for bits in (new_bits, old_bits)):
        call = f"recast_layout({new_bits}, {old_bits}, {layout})"
        raise LayoutError(f"{call}: the sizes of elements come first, in whole bits from 1, and then the layout")
    # new / old in lowest terms: up by new / gcd, then down by old / gcd.
    common = gcd(new_bits, old_bits)
    return downcast(upcast(layout, new_bits // common), old_bits // common)


def _check_count(call: str, count: int) -> None:
    if type(count) is not int or count < 1:
        raise LayoutError(f"{call}: the number of elements must be a whole number from 1")


def _common(call: OfPlain, left: AnyLayout, right: AnyLayout) -> AnyLayout:
    """`max_common_layout` of layouts of any kind."""
    known_sizes(call, left, right)
    if any(gives_coordinates(side) or has_basis(plain_part(side).stride) for side in (left, right)):
        raise LayoutError(f"{call.__name__}({left}, {right}): coordinates do not lie next to each other; use offsets")
    if left.size < right.size:  # the coordinates of the smaller one are those that both have
        left, right = right, left
    inverse = on_any(right_inverse, right)
    # left(right_inverse(i)) == i up to `length`; cut the inverse to whole modes plus a part of the next.
    length = _linear_length(left, inverse)
    if length == 0:
        raise LayoutError(f"{call.__name__}({left}, {right}): no coordinate has the offset 0 in both")
    span = best = 1
    for extent in coalesced(plain_part(inverse))[0]:
        best = max(best, span * min(extent, length // span))
        span *= extent
        if span > length:
            break
    return on_any(coalesce, on_any(composition, inverse, Layout(best, 1)))


@operation(composed=_common, layouts=2)
def max_common_layout(left: Layout, right: Layout) -> Layout:
    """The largest layout R with `left(R(i)) == i == right(R(i))`: coordinates where both are contiguous together.

    >>> print(max_common_layout(Layout((4, 8), (1, 4)), Layout((4, 8), (1, 8))))
    4:1

    Largest among the beginnings of the right inverse of `right`, or of `left` where that is smaller. Raises LayoutError
    where that is refused. Source: CuTe, `layout.hpp`.
    """
    common = _common(max_common_layout, left, right)
    assert isinstance(common, Layout)
    return common


@guarded
def max_common_vector(left: AnyLayout, right: Layout) -> int:
    """How many elements, from the first on, lie next to each other in both layouts at the same coordinates.

    >>> max_common_vector(Layout((4, 8), (1, 4)), Layout((4, 8), (1, 8)))
    4

    It is how wide a vector can be copied from one to the other. Source: CuTe, `layout.hpp`.

    Raises LayoutError for layouts of coordinates.
    """
    return max_common_layout(left, right).size


def _linear_length(layout: AnyLayout, inverse: AnyLayout) -> int:
    """The greatest n, up to `inverse.size`, with `layout(inverse(i)) == i` for all i below n.

    Of what is neither a layout nor linear over F2 (with an offset nothing is) every value is listed, up to 16 million.
    """
    try:
        both = on_any(composition, layout, inverse)
    except LayoutError:
        both = chained(layout, 0, inverse)
    if isinstance(both, Layout):
        extents, strides = coalesced(both)
        return extents[0] if strides and strides[0] == 1 else 1
    columns = columns_of(both)
    if columns is not None:
        return 1 << next((bit for bit, column in enumerate(columns) if column != 1 << bit), len(columns))
    wrong = first_deviation(listed(both))  # the first i whose value is not i
    return both.size if wrong is None else wrong


class Movable(Protocol):
    """What can start elsewhere in what it counts, as a tensor of coordinates."""

    def moved_to(self, crd: Coordinate) -> Any: ...


Moved = TypeVar("Moved", bound=Movable)


@overload
def domain_offset(crd: Coordinate, layout: OneKind) -> tuple[OneKind, int]: ...
@overload
def domain_offset(crd: Coordinate, layout: Moved) -> Moved: ...
@guarded
def domain_offset(crd: Coordinate, layout: AnyLayout | Movable) -> tuple[AnyLayout, int] | Movable:
    """The layout that starts at `crd`, and the offset there: `layout(crd + c)` is the offset plus `moved(c)`.

    >>> domain_offset((1, 2), Layout((4, 8)))
    (Layout((4, 8), (1, 4)), 9)

    The shape stays, so the last coordinates reach beyond the old ones. Of a composed layout the inner offset moves; a
    tensor of coordinates gives the one that starts there.
    Source: CuTe, `layout.hpp`.

    Raises LayoutError where the second operand is no layout, CoordinateError for a coordinate that does not fit.
    """
    if hasattr(layout, "moved_to"):
        there: Movable = layout.moved_to(crd)
        return there
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, moved(layout.offset, layout.inner(crd)), layout.inner), 0
    if not isinstance(layout, Layout):
        raise LayoutError(f"domain_offset({crd}, {layout!r}): the second operand is a layout; write Layout(...)")
    start: Any = layout(crd)
    return layout, start
