"""Operations on swizzled layouts that look at more than the domain: the greatest offset, composition, inverses.

Imports `composed`, `f2`. Law: as for layouts. Power-of-two parts go through bit matrices; where the result is then a
layout or one swizzle after a layout it is returned as that, otherwise as the chain of functions that it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from ..errors import LayoutError
from .composed import AnyLayout, Chained, ComposedLayout, Function, Swizzle, chained
from .f2 import Image, apply, columns_of, layout_of_columns
from .int_tuple import leaves, map_leaves
from .layout import Layout, _make
from .rearrange import coalesced_open
from .table import LARGEST_TABLE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def operation(function: Callable[..., object], layout: object, *arguments: object) -> Layout:
    """An operation of the algebra with a composed layout among its operands."""
    special = {"composition": _composition, "right_inverse": _right_inverse, "left_inverse": _left_inverse}
    name = function.__name__
    if name in special:
        return cast(Layout, special[name](layout, *arguments))  # type: ignore[operator]
    if not isinstance(layout, ComposedLayout):
        position = next(i for i, argument in enumerate(arguments) if isinstance(argument, ComposedLayout))
        raise LayoutError(
            f"{name}: operand {position + 1}, {arguments[position]}, is a composed layout; only the first operand may "
            "be one. Use its inner layout"
        )
    if name in ("complement", "nullspace"):
        raise LayoutError(
            f"{name}({layout}): what {layout.outer} leaves out is no layout; ask for that of {layout.inner}"
        )
    result = function(layout.inner, *arguments)
    return cast(Layout, layout.with_inner(result) if isinstance(result, Layout) else result)


def greatest_offset(layout: ComposedLayout) -> int:
    """The greatest offset that `layout` reaches."""
    columns = columns_of(layout)
    if columns is not None:
        return Image(columns).greatest(0)
    if isinstance(layout.outer, Swizzle) and all(type(step) is int for step in leaves(layout.inner.stride)):
        return _greatest_swizzled(layout.outer, layout.offset, layout.inner)
    return int(layout.offsets().max())


def _greatest_swizzled(swizzle: Swizzle, offset: int, inner: Layout) -> int:
    """A swizzle permutes aligned blocks of `span`, so only offsets in the highest block matter; those are listed."""
    pairs = sorted(zip(leaves(inner.stride), leaves(inner.shape), strict=True), key=lambda pair: abs(pair[0]))
    top = offset + sum((extent - 1) * step for step, extent in pairs if step > 0)
    least = top // swizzle.span * swizzle.span
    reached = {top}
    reach = sum((extent - 1) * abs(step) for step, extent in pairs)
    for step, extent in reversed(pairs):
        if step:
            reach -= (extent - 1) * abs(step)
            down = abs(step)
            reached = {at - down * x for at in reached for x in range(min(extent - 1, (at - least) // down) + 1)}
    return max(map(swizzle, reached))


def _composition(outer: object, inner: object) -> AnyLayout:
    """`outer o inner` with a composed layout on either side."""
    from .composition import composition

    if isinstance(outer, ComposedLayout):
        if isinstance(inner, ComposedLayout):
            return cast(AnyLayout, chained(outer.outer, outer.offset, composition(outer.inner, inner)))
        return outer.with_inner(composition(outer.inner, inner))
    if not isinstance(outer, Layout) or not isinstance(inner, ComposedLayout):
        raise LayoutError(f"composition({outer}, {inner}): both operands must be layouts")
    shape, stride = coalesced_open(outer)
    if len(shape) == 1:
        return _scaled(stride[0], inner)
    columns = columns_of(inner)
    if columns is not None:
        width = max([column.bit_length() for column in columns], default=0)
        through = columns_of(outer, width)
        if through is not None:
            found = layout_of_columns(tuple(apply(through, column) for column in columns), inner.shape)
            if found is not None:
                return found
    if isinstance(inner.outer, Layout):
        try:
            return ComposedLayout(composition(outer, inner.outer), inner.offset, inner.inner)
        except LayoutError:
            pass
    return cast(AnyLayout, chained(outer, 0, inner))


def _scaled(step: int, inner: ComposedLayout) -> AnyLayout:
    """`step` times a composed layout."""
    zoom = step.bit_length() - 1
    if step == 0:
        return _make(inner.shape, map_leaves(lambda extent: 0, inner.shape))
    if isinstance(inner.outer, Swizzle) and step == 1 << zoom:
        swizzle = Swizzle(inner.outer.bits, inner.outer.base + zoom, inner.outer.shift)
        strides = map_leaves(lambda d: cast(int, d) * step, inner.inner.stride)
        return ComposedLayout(swizzle, inner.offset * step, _make(inner.shape, strides))
    if isinstance(inner.outer, Layout):
        strides = map_leaves(lambda d: cast(int, d) * step, inner.outer.stride)
        return ComposedLayout(_make(inner.outer.shape, strides), inner.offset, inner.inner)
    return cast(AnyLayout, chained(_make(1, step), 0, inner))


def _right_inverse(layout: ComposedLayout) -> AnyLayout:
    """The largest R with `layout(R(i)) == i`."""
    columns = columns_of(layout)
    if columns is not None:
        image = Image(columns)
        found: list[int] = []
        while (solution := image.solve(1 << len(found))) is not None:
            found.append(solution)
        recovered = layout_of_columns(tuple(found))
        if recovered is not None:
            return recovered
    swizzle = _only_swizzle("right_inverse", layout)
    reached = _prefix_reached(layout)
    if reached == 0:
        raise LayoutError(f"right_inverse({layout}): no coordinate has the offset 0")
    table = _inner_inverse(layout.inner, swizzle, layout.offset, reached)
    return ComposedLayout(Chained(table, -layout.offset, swizzle), 0, Layout(reached, 1))


def _prefix_reached(layout: ComposedLayout) -> int:
    """How many offsets from 0 on are reached, one after the other."""
    import numpy as np

    seen = np.unique(_table(layout))
    seen = seen[seen >= 0]
    gaps = np.nonzero(seen != np.arange(len(seen)))[0]
    return int(gaps[0]) if len(gaps) else len(seen)


def _table(layout: AnyLayout) -> NDArray[np.int64]:
    if layout.size > LARGEST_TABLE:
        raise LayoutError(
            f"{layout}: {layout.size} coordinates are too many to list, and its parts are no powers of two"
        )
    return layout.offsets().ravel(order="F")


def _inner_inverse(inner: Layout, swizzle: Swizzle, offset: int, reached: int) -> Layout:
    """A layout that finds the coordinates of the inner offsets behind the first `reached` swizzled ones."""
    import numpy as np

    from .inverse import left_inverse, right_inverse

    wanted = swizzle(np.arange(reached, dtype=np.int64)) - offset
    for candidate in (right_inverse, left_inverse):
        try:
            found = candidate(inner)
        except LayoutError:
            continue
        back = np.asarray(found(wanted))
        if bool(((back >= 0) & (back < inner.size) & (np.asarray(inner(back)) == wanted)).all()):
            return found
    raise LayoutError(
        f"right_inverse({ComposedLayout(swizzle, offset, inner)}): no layout inverts {inner} on the offsets it reaches"
    )


def _left_inverse(layout: ComposedLayout) -> AnyLayout:
    """R with `layout(R(layout(c))) == layout(c)`."""
    from .inverse import left_inverse

    columns = columns_of(layout)
    if columns is not None:
        image = Image(columns)
        width = max([column.bit_length() for column in columns], default=0)
        recovered = layout_of_columns(tuple(image.project(bit) for bit in range(width)))
        if recovered is not None:
            return recovered
    swizzle = _only_swizzle("left_inverse", layout)
    back: Function = Chained(left_inverse(layout.inner), -layout.offset, swizzle)
    return ComposedLayout(back, 0, Layout(layout.cosize, 1))


def _only_swizzle(call: str, layout: ComposedLayout) -> Swizzle:
    if not isinstance(layout.outer, Swizzle):
        raise LayoutError(
            f"{call}({layout}): {layout.outer} is not known to be invertible; compose it with {layout.inner} first"
        )
    return layout.outer
