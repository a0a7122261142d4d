"""Layouts composed with a map of bits, or with another layout, outside.

Law: `ComposedLayout(outer, offset, inner)(c) == outer(offset + inner(c))`. An operation that only looks at the domain
works on `inner`, and the outer function goes along unchanged; the others are in `swizzled.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from ...errors import BARE, CoordinateError, CutepyError, LayoutError, shown
from ...lazy import numpy as np
from .bit_map import BitMap, OfBits, Swizzle
from .coordinates import Coordinate, as_stride, has_basis, has_underscore, path_of, value_of
from .coordinates import _ as _
from .coordinates import slice_ as slice_of_tuple
from .int_tuple import IntTuple, leaves, map_leaves, moved, show
from .layout import Layout, _make, check_listing
from .layout import slice_and_offset as slice_of_layout
from .methods import LayoutMethods

if TYPE_CHECKING:
    from numpy.typing import NDArray

Scalar = TypeVar("Scalar")


@dataclass(frozen=True, slots=True, repr=False)
class Chained:
    """The function `x -> outer(offset + swizzle(x))` on offsets: the outer part of a longer composed layout.

    >>> both = Chained(Layout((4, 2), (2, 1)), 0, Swizzle(1, 0, 2))
    >>> str(both), both(4)
    ('(4,2):(2,1) o 0 o S<1,0,2>', 3)
    """

    outer: Function
    offset: int
    inner: OfBits

    def __call__(self, offset: Scalar) -> Scalar:
        moved: Any = self.inner(offset)
        outer: Callable[..., Any] = self.outer
        result: Scalar = outer(self.offset + moved)
        return result

    def __str__(self) -> str:
        return f"{self.outer} o {self.offset} o {self.inner}"

    def __repr__(self) -> str:
        return f"Chained({self.outer!r}, {self.offset}, {self.inner!r})"


@dataclass(frozen=True, slots=True, repr=False)
class ComposedLayout(LayoutMethods):
    """The function `c -> outer(offset + inner(c))`.

    >>> C = ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 2), (1, 4)))
    >>> C(0, 1), C.offsets().tolist()
    (5, [[0, 5], [1, 4], [2, 7], [3, 6]])

    Raises LayoutError where a part is of another kind. Source: CuTe, `layout_composed.hpp`.

    >>> C = ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 2), (1, 4)))
    >>> C.shape, C.size, C.rank, C.depth, C.facts, C.with_inner(Layout(8)).size
    ((4, 2), 8, 2, 1, None, 8)
    >>> print(C.grid())
    S<1,0,2> o 0 o (4,2):(1,4)
          0   1
        +---+---+
     0  | 0 | 5 |
        +---+---+
     1  | 1 | 4 |
        +---+---+
     2  | 2 | 7 |
        +---+---+
     3  | 3 | 6 |
        +---+---+
    """

    outer: Function
    offset: int  # or a coordinate, where the inner layout gives those
    inner: Layout

    def __post_init__(self) -> None:
        if type(self.inner) is not Layout or not isinstance(
            self.outer, (Swizzle, BitMap, Layout, Chained, ComposedLayout)
        ):
            raise LayoutError(
                f"ComposedLayout({shown(self.outer)}, {shown(self.offset)}, {shown(self.inner)}): the outer one is a "
                "swizzle or a layout, the inner one a layout; chain more of them with make_composed_layout"
            )
        if isinstance(self.offset, tuple) and not any(leaves(self.offset)):
            object.__setattr__(self, "offset", 0)
        at = isinstance(self.offset, tuple)
        if has_basis(self.inner.stride):
            if isinstance(self.outer, (Swizzle, BitMap, Chained)) or not (at or self.offset == 0):
                raise LayoutError(f"{self}: the inner layout gives coordinates; only a layout takes those, from one on")
        elif at and any(leaves(self.inner.stride)):
            raise LayoutError(f"{self}: the offset is a coordinate, and the inner layout gives no coordinates")

    @property
    def shape(self) -> IntTuple:
        """The shape of the domain, that of `inner`."""
        return self.inner.shape

    @property
    def cosize(self) -> int:
        """One more than the greatest offset that is reached, exactly, and without looking at every coordinate.

        >>> ComposedLayout(Swizzle(2, 0, 2), 0, Layout(5, 1)).cosize
        6
        """
        from ..algebra.swizzled import greatest_offset

        return greatest_offset(self) + 1

    @property
    def facts(self) -> object:
        """What is stated about symbolic sizes, as of a layout."""
        return self.inner.facts

    def __getitem__(self, mode: int) -> ComposedLayout:
        return ComposedLayout(self.outer, self.offset, self.inner[mode])

    def __iter__(self) -> Iterator[ComposedLayout]:
        return (ComposedLayout(self.outer, self.offset, mode) for mode in self.inner)

    def __call__(self, *crd: Coordinate) -> int | ComposedLayout:
        coordinate = crd[0] if len(crd) == 1 else crd
        try:
            return self.sliced(coordinate) if has_underscore(coordinate) else self._at(coordinate)
        except CutepyError:
            raise
        except BARE as error:
            raise CoordinateError(f"coordinate {shown(coordinate)} of {shown(self)}: {error}") from error

    def _at(self, coordinate: Coordinate) -> int:
        # A coordinate with fewer axes than the outer layout has is continued with zeros.
        outer: Any = self.outer
        outer_input = moved(self.offset, self.inner(coordinate))
        result: int = outer(
            (*outer_input, *[0] * (outer.rank - len(outer_input))) if isinstance(outer_input, tuple) else outer_input
        )
        return result

    def sliced(self, crd: Coordinate) -> ComposedLayout:
        """The modes where `crd` has `_`; what its numbers move goes into the offset.

        >>> from cutepy.layout import _
        >>> print(ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 2), (1, 4))).sliced((_, 1)))
        S<1,0,2> o 4 o (4):(1)
        """
        try:
            kept, by = slice_of_layout(crd, self.inner)
        except RecursionError:
            raise CoordinateError(f"{self}: the coordinate is nested too deep; write it nested as the shape") from None
        return ComposedLayout(self.outer, moved(self.offset, by), kept)

    def offsets(self) -> NDArray[np.int64]:
        """Every offset, as an int64 array with one axis a top-level mode."""
        if self.facts is not None:
            raise LayoutError(f"offsets of {self}: its sizes are not known; put values in with subs")
        if gives_coordinates(self):
            raise LayoutError(f"offsets of {self}: it gives coordinates; list those of one axis with axis_layout")
        if has_basis(self.inner.stride) or isinstance(self.offset, tuple):
            check_listing(self.inner)
            table = np.array([self(i) for i in range(self.size)], np.int64)
            return table.reshape([mode.size for mode in self.inner] or [1], order="F")
        # an offset known only on the GPU gives a table of expressions, which no array's bits limit
        if isinstance(self.offset, int) and greatest_number(self) >= 1 << 62:
            raise LayoutError(f"offsets of {self}: they may not fit into the 64 bits of an array; call it instead")
        outer: Any = self.outer
        offsets: NDArray[np.int64] = outer(self.inner.offsets() + self.offset)
        return offsets

    def with_inner(self, inner: Layout) -> ComposedLayout:
        """The same outer function after another layout.

        Raises LayoutError where the outer function takes no such offsets.
        """
        return ComposedLayout(self.outer, self.offset, inner)

    def given(self, *statements: object) -> ComposedLayout:
        """This layout with facts about the unknown sizes of its inner one; see `given.given`.

        >>> from cutepy import Layout
        >>> L = ComposedLayout(Swizzle(1, 0, 2), 0, Layout.parse("n:1")).given("8 divides n")
        >>> print(L.facts, L.subs(n=16).size)
        8 divides n 16
        """
        return self.with_inner(self.inner.given(*statements))

    def subs(self, values: Mapping[object, object] | None = None, **named: object) -> ComposedLayout:
        """This layout with values for its unknown sizes; see `given.subs`.

        >>> from cutepy import Layout
        >>> ComposedLayout(Swizzle(1, 0, 2), 0, Layout.parse("n:1")).subs(n=16).size
        16
        """
        from ..symbolic.given import subs_offset

        # Symbols are found by name too: subs(M=4) names what the offset holds as Symbol("M").
        symbols = {str(s): s for leaf in leaves(self.offset) for s in getattr(leaf, "free_symbols", ())}
        if not isinstance(values, Mapping | None):
            raise LayoutError(f"subs({shown(self)}, {shown(values)}): values are a dict by symbol or name, or M=4")
        said: dict[object, object] = dict(values or {}) | dict(named)
        wanted = {symbols.get(str(name), name): value for name, value in said.items()}
        offset = subs_offset(self, {s: wanted[s] for s in symbols.values() if s in wanted})
        return ComposedLayout(self.outer, offset, self.inner.subs(wanted))

    def __str__(self) -> str:
        return f"{self.outer} o {show(self.offset)} o {self.inner}"

    def __repr__(self) -> str:
        return f"ComposedLayout({self.outer!r}, {self.offset}, {self.inner!r})"


Function: TypeAlias = Swizzle | BitMap | Layout | Chained | ComposedLayout
AnyLayout = Layout | ComposedLayout
OneKind = TypeVar("OneKind", Layout, ComposedLayout, AnyLayout)
WithModes = TypeVar("WithModes", IntTuple, Layout, ComposedLayout, AnyLayout)


def last_of(function: Function) -> Layout | OfBits:
    """The function of a chain that is applied last: what gives its values."""
    while isinstance(function, (Chained, ComposedLayout)):
        function = function.outer
    return function


def gives_coordinates(function: Function) -> bool:
    """True if the values are coordinates, of several axes, and no offsets.

    >>> gives_coordinates(ComposedLayout(Layout(8), 0, Layout(4))), gives_coordinates(axis_layout(Layout(4, 1)))
    (False, False)
    """
    last = last_of(function)
    return isinstance(last, Layout) and has_basis(last.stride)


def never_below_0(function: Function) -> bool:
    """True if no index leads to an offset below 0, as the strides and the offsets say.

    >>> never_below_0(Layout((4, 2), (1, -4))), never_below_0(ComposedLayout(Swizzle(1, 0, 2), 3, Layout(4)))
    (False, True)
    """
    if isinstance(function, Layout):
        return all(value_of(step) >= 0 for step in leaves(function.stride))
    if isinstance(function, OfBits):
        return True
    return min(leaves(function.offset)) >= 0 and never_below_0(function.outer) and never_below_0(function.inner)


def before_last(function: Chained | ComposedLayout) -> tuple[int, Function]:
    """The offset that the last function of a chain begins at, and what comes before it."""
    if not isinstance(function.outer, (Chained, ComposedLayout)):
        return function.offset, function.inner
    offset, before = before_last(function.outer)
    return offset, chained(before, function.offset, function.inner)


def axis_layout(layout: OneKind, *axis: int) -> OneKind:
    """One axis of a layout that gives coordinates, as a layout to integers: entry `axis` of the coordinate.

    >>> from cutepy.layout import E
    >>> print(axis_layout(Layout((4, 8), (E(0), E(1))), 1))
    (4,8):(0,1)

    Where that entry is itself a coordinate the values go along its own axes.
    """

    def along(step: int) -> int:
        path = path_of(step)
        return as_stride(value_of(step), path[len(axis) :]) if path[: len(axis)] == axis else 0

    if isinstance(layout, Layout):
        return _make(layout.shape, map_leaves(along, layout.stride), layout.facts)
    return chained(_axis_of(layout.outer, axis), layout.offset, layout.inner)


def _axis_of(function: Function, axis: tuple[int, ...]) -> Function:
    if isinstance(function, Chained):
        return chained(_axis_of(function.outer, axis), function.offset, function.inner)
    return function if isinstance(function, OfBits) else axis_layout(function, *axis)


def axes_of(layout: AnyLayout) -> list[tuple[int, ...]]:
    """The axes of the coordinates that a layout gives, in order."""
    last = last_of(layout)
    return sorted({path_of(step) for step in leaves(last.stride) if path_of(step)}) if isinstance(last, Layout) else []


def greatest_number(layout: AnyLayout) -> int:
    """A bound of the numbers, of either sign, on the way to the offsets of a layout.

    >>> greatest_number(Layout((4, 8))), greatest_number(ComposedLayout(Layout((4, 1 << 80)), 3, Layout(4)))
    (32, 1208925819614629174706176)
    """
    if isinstance(layout, Layout):
        return layout.cosize
    return _bound_of_numbers(layout.outer, sum(map(abs, leaves(layout.offset))) + layout.inner.cosize)


def _bound_of_numbers(function: Function, below: int) -> int:
    """A bound of every number met while `function` is computed at arguments of magnitude below `below`; never less."""
    if isinstance(function, OfBits):
        return 1 << max(below.bit_length(), function.span.bit_length())
    if isinstance(function, Layout):
        steps = sum(abs(value_of(step)) for step in leaves(function.stride))
        return max(below, 1 + below * steps, *leaves(function.shape))
    return _bound_of_numbers(
        function.outer, sum(map(abs, leaves(function.offset))) + _bound_of_numbers(function.inner, below)
    )


def plain_part(layout: AnyLayout) -> Layout:
    """The layout inside of a composed one; a layout itself."""
    return layout.inner if isinstance(layout, ComposedLayout) else layout


@overload
def chained(outer: None, offset: Any, inner: AnyLayout) -> AnyLayout: ...
@overload
def chained(outer: Function, offset: Any, inner: AnyLayout) -> ComposedLayout: ...
@overload
def chained(outer: Function | None, offset: Any, inner: Function) -> Function: ...
def chained(outer: Function | None, offset: Any, inner: Function) -> Function:
    """`outer o offset o inner` with its links in one row: a composed layout where `inner` ends in a layout.

    >>> print(chained(Layout(8, 2), 1, ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 2)))))
    8:2 o 1 o S<1,0,2> o 0 o (4,2):(1,4)
    """
    if outer is None:
        return inner
    if isinstance(inner, (ComposedLayout, Chained)):
        outer, offset, inner = chained(outer, offset, inner.outer), inner.offset, inner.inner
    return Chained(outer, offset, inner) if isinstance(inner, OfBits) else ComposedLayout(outer, offset, inner)


def slice_and_offset(crd: Coordinate, layout: OneKind) -> tuple[OneKind, int]:
    """The layout of the modes where `crd` has `_`, and the offset of the numbers in it.

    >>> slice_and_offset((2, _), Layout((4, (2, 3)), (1, (4, 8))))
    (Layout(((2, 3),), ((4, 8),)), 2)

    Of a composed layout the offset goes inside, and 0 is given.

    Raises LayoutError for what is no layout, CoordinateError for a coordinate that does not fit.
    """
    if isinstance(layout, ComposedLayout):
        return layout.sliced(crd), 0
    if not isinstance(layout, Layout):
        raise LayoutError(f"slice_and_offset({crd}, {layout!r}): of a layout; slice a tensor with brackets")
    return slice_of_layout(crd, layout)


def slice_(crd: Coordinate, tree: WithModes) -> WithModes:
    """The parts of a tuple, or the modes of a layout, that stand where `crd` has `_`.

    >>> slice_((2, _), (4, (2, 3))), slice_((2, (_, 1)), (4, (2, 3)))
    (((2, 3),), (2,))
    >>> slice_((2, _), Layout((4, (2, 3))))
    Layout(((2, 3),), ((4, 8),))

    Where a slice starts `slice_and_offset` says too; of a composed layout that goes inside.
    Raises CoordinateError where `crd` nests in another way.
    """
    return slice_and_offset(crd, tree)[0] if isinstance(tree, AnyLayout) else slice_of_tuple(crd, tree)


def dice(crd: Coordinate, tree: WithModes) -> WithModes:
    """The parts of a tuple, or the modes of a layout, that stand where `crd` has a number: the dual of `slice_`.

    >>> dice((2, _), (4, (2, 3))), dice((_, 1), (4, (2, 3)))
    ((4,), ((2, 3),))
    >>> dice((2, _), Layout((4, (2, 3))))
    Layout((4,), (1,))

    Raises CoordinateError where `crd` nests in another way.
    """
    if isinstance(tree, ComposedLayout):
        return tree.with_inner(dice(crd, tree.inner))
    if isinstance(tree, Layout):
        return _make(slice_of_tuple(crd, tree.shape, "dice"), slice_of_tuple(crd, tree.stride, "dice"), tree.facts)
    return slice_of_tuple(crd, tree, "dice")


def make_composed_layout(outer: Function, offset: IntTuple, inner: AnyLayout) -> ComposedLayout:
    """`c -> outer(offset + inner(c))`; `inner` may itself be composed, `offset` is a coordinate where it gives those.

    >>> print(make_composed_layout(Swizzle(3, 5, 4), 0, Layout((8, 4))))
    S<3,5,4> o 0 o (8,4):(1,8)

    Raises LayoutError where a part is of another kind.
    """
    return chained(outer, offset, inner)
