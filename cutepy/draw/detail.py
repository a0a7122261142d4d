"""How an offset comes about, in words of numbers: the sum over the leaves, then what a swizzle does to it."""

from __future__ import annotations

from ..layout import ComposedLayout, Layout, Swizzle
from ..layout.values.composed import Function
from ..layout.values.coordinates import idx2crd
from ..layout.values.int_tuple import IntTuple, leaves, show

MOST_TERMS = 12


def value_sum(layout: Layout | ComposedLayout, crd: IntTuple) -> str:
    """The value at a nested coordinate, with the sum written out.

    >>> value_sum(Layout((4, (2, 8)), (1, (4, 8))), (1, (0, 1)))
    '1·1 + 0·4 + 1·8 = 9'
    >>> value_sum(ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 2))), (3, 1))
    '3·1 + 1·4 = 7 → S<1,0,2>: 111 ^ 001 = 110 = 6'
    """
    if isinstance(layout, ComposedLayout):
        inner = layout.inner(crd)
        text = value_sum(layout.inner, crd)
        if layout.offset:
            text += f", {layout.offset} + {inner} = {layout.offset + inner}"
        return f"{text} → {_applied(layout.outer, layout.offset + inner)}"
    pairs = list(zip(leaves(_natural(crd, layout.shape)), leaves(layout.stride), strict=True))
    total = show(layout(crd))
    if not pairs or len(pairs) > MOST_TERMS:
        return total
    terms = " + ".join(f"{entry}·{step}" for entry, step in pairs)
    return f"{terms} = {total}"


def _natural(crd: IntTuple, shape: IntTuple) -> IntTuple:
    """The coordinate nested as the shape, where it takes a mode as a whole."""
    if not isinstance(shape, tuple):
        return crd
    if not isinstance(crd, tuple):
        return idx2crd(crd, shape)
    return tuple(map(_natural, crd, shape))


def _applied(outer: Function, offset: int) -> str:
    if not isinstance(outer, Swizzle):
        return f"({outer})({offset}) = {show(outer(offset))}"
    result = outer(offset)
    flipped = offset ^ result
    digits = max(offset.bit_length(), flipped.bit_length(), 1)
    return f"{outer}: {offset:0{digits}b} ^ {flipped:0{digits}b} = {result:0{digits}b} = {result}"
