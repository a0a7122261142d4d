"""Whether the leaves of one layout line up with the digits that another one reads an index as.

Law: `Leaves(A, B, *coalesced_open(A)).modes()` are shape and stride of `A(B(c))` along each leaf of B, wherever a
layout is that map; else it raises `Refused`, with the clause that fails.
"""

from __future__ import annotations

from typing import cast

from ..values.basis import BasisSum
from ..values.coordinates import flat_index
from ..values.int_tuple import IntTuple, leaves
from ..values.layout import Layout
from ..values.size import list_coordinates
from .rearrange import coalesced_open
from .table import Broken, additive_witness, digits_of, leaf_modes


class Refused(Exception):
    """Inside composition: the clause that fails ("stride", "shape", "carry") and the leaf at fault."""

    def __init__(self, clause: str, position: int = 0) -> None:
        self.clause, self.position = clause, position


class Leaves:
    """One composition under way: the digits of the left operand that the leaves of the right one have filled so far."""

    __slots__ = ("filled", "inner", "outer", "shape", "stride", "tabled")

    def __init__(self, outer: Layout, inner: Layout, shape: list[int], stride: list[int]) -> None:
        self.outer, self.inner, self.shape, self.stride = outer, inner, shape, stride
        self.filled = [0] * len(shape)
        self.tabled = False

    def modes(self) -> list[tuple[IntTuple, IntTuple]]:
        """Shape and stride of the result along each leaf of the right operand."""
        extents, steps = leaves(self.inner.shape), leaves(self.inner.stride)
        found = [
            self._leaf(position, extent, step)
            for position, (extent, step) in enumerate(zip(extents, steps, strict=True))
        ]
        carries = any(top >= extent for top, extent in zip(self.filled[:-1], self.shape, strict=False))
        if carries and len(extents) > 1 and not (self.tabled and self._adds_up()):
            raise Refused("carry")
        return found

    def _leaf(self, position: int, extent: int, step: int) -> tuple[IntTuple, IntTuple]:
        """Walk `x -> outer(step * x)` digit by digit; the stretch left over by one digit goes on in the next."""
        if step <= 0 or extent == 1:
            return (extent, 0) if step == 0 else self._from_table(position, extent, step)
        extents: list[int] = []
        strides: list[int] = []
        rest, stride = extent, step
        last = len(self.shape) - 1
        for digit, radix in enumerate(self.shape):
            if digit == last:
                break
            if stride >= radix:
                if stride % radix:
                    return self._from_table(position, extent, step)
                stride //= radix
                continue
            if (rest - 1) * stride < radix:
                break
            if radix % stride:
                return self._from_table(position, extent, step)
            room = radix // stride
            if rest % room:
                raise Refused("shape", position)
            extents.append(room)
            strides.append(stride * self.stride[digit])
            self.filled[digit] += (room - 1) * stride
            rest //= room
            stride = 1
        self.filled[digit] += (rest - 1) * stride
        if not extents:
            return rest, stride * self.stride[digit]
        return (*extents, rest), (*strides, stride * self.stride[digit])

    def _adds_up(self) -> bool:
        return additive_witness(self.outer, self.inner) is None

    def _single(self, step: int) -> int:
        """The stride of a mode of size 1, which nothing takes: where it would lead, if that is along one axis."""
        there = flat_index(step, tuple(self.shape), tuple(self.stride))
        if not isinstance(there, BasisSum):
            return cast(int, there)
        terms = [term for term in there.terms if term.value != 0]
        return cast(int, terms[0]) if len(terms) == 1 else 0

    def _from_table(self, position: int, extent: int, step: int) -> tuple[IntTuple, IntTuple]:
        """The modes along a leaf whose steps do not line up with the digits: read off its table."""
        if extent == 1:
            return 1, self._single(step)
        if any(type(d) is not int for d in (*self.stride, *self.shape, extent, step)):
            list_coordinates(extent, step, *self.shape, *self.stride)
            raise Refused("stride", position)
        found = leaf_modes(self.outer, extent, step)
        if isinstance(found, Broken):
            raise Refused("stride", position)
        self.tabled = True
        for digit, top in enumerate(digits_of(self.shape, extent, step)):
            self.filled[digit] += top
        extents, strides = found
        return (extents[0], strides[0]) if len(extents) == 1 else (tuple(extents), tuple(strides))


def composes(outer: Layout, inner: Layout) -> bool:
    """True if `composition(outer, inner)` of two plain layouts exists; cheaper than asking and catching."""
    try:
        Leaves(outer, inner, *coalesced_open(outer)).modes()
    except Refused:
        return False
    return True
