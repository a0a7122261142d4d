"""Swizzles, and layouts composed with them.

Law: `ComposedLayout(outer, offset, inner)(c) == outer(offset + inner(c))`. An operation that only looks at the domain
works on `inner`, and the outer function goes along unchanged; the others are in `swizzled.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, overload

from ...errors import LayoutError
from .above import above, svg_of
from .basis import has_basis, value_of
from .coordinates import Coordinate, has_underscore
from .coordinates import _ as _
from .int_tuple import IntTuple, leaves
from .layout import Layout, check_listing
from .layout import slice_and_offset as slice_of_layout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Scalar = TypeVar("Scalar")


@dataclass(frozen=True, slots=True)
class Swizzle:
    """The map `x -> x ^ ((x & mask) >> shift)` with a mask of `bits` ones above bit `base + max(0, shift)`.

    It is its own inverse, and moves nothing out of an aligned block of `span` offsets.

    >>> Swizzle(3, 4, 3)(0b1010000000), str(Swizzle(3, 4, 3)), Swizzle(3, 4, 3).span
    (720, 'S<3,4,3>', 1024)

    Units: bits of the offset that it is applied to (elements or bytes, as the layout counts).
    Raises LayoutError unless bits and base are at least 0 and |shift| >= bits. Source: CuTe, `swizzle.hpp`.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if any(type(n) is not int for n in (self.bits, self.base, self.shift)) or self.bits < 0 or self.base < 0:
            raise LayoutError(
                f"Swizzle({self.bits}, {self.base}, {self.shift}): bits and base are whole numbers from 0"
            )
        if abs(self.shift) < self.bits:
            raise LayoutError(
                f"Swizzle({self.bits}, {self.base}, {self.shift}): |shift| must be at least bits, or the bits overlap"
            )
        if self.bits + self.base + abs(self.shift) > 1024:
            raise LayoutError(f"Swizzle({self.bits}, {self.base}, {self.shift}): no offset has more than 1024 bits")

    @property
    def mask(self) -> int:
        """The bits that are read."""
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    @property
    def span(self) -> int:
        """The size of the aligned blocks that are permuted within themselves: 1 above the highest bit touched."""
        return 1 << (self.bits + self.base + abs(self.shift)) if self.bits else 1

    def __call__(self, offset: Scalar) -> Scalar:
        bits: Any = offset  # whatever has & ^ << >>
        read = bits & self.mask
        moved: Scalar = bits ^ (read >> self.shift if self.shift >= 0 else read << -self.shift)
        return moved

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"

    def __repr__(self) -> str:
        return f"Swizzle({self.bits}, {self.base}, {self.shift})"


@dataclass(frozen=True, slots=True, repr=False)
class Chained:
    """The function `x -> outer(offset + swizzle(x))` on offsets: the outer part of a longer composed layout.

    >>> both = Chained(Layout((4, 2), (2, 1)), 0, Swizzle(1, 0, 2))
    >>> str(both), both(4)
    ('(4,2):(2,1) o 0 o S<1,0,2>', 3)
    """

    outer: Function
    offset: int
    inner: Swizzle

    def __call__(self, offset: Scalar) -> Scalar:
        moved: Any = self.inner(offset)
        outer: Callable[..., Any] = self.outer
        found: Scalar = outer(self.offset + moved)
        return found

    def __str__(self) -> str:
        return f"{self.outer} o {self.offset} o {self.inner}"

    def __repr__(self) -> str:
        return f"Chained({self.outer!r}, {self.offset}, {self.inner!r})"


@dataclass(frozen=True, slots=True, repr=False)
class ComposedLayout:
    """The function `c -> outer(offset + inner(c))`.

    >>> C = ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 2), (1, 4)))
    >>> C(0, 1), C.offsets().tolist()
    (5, [[0, 5], [1, 4], [2, 7], [3, 6]])

    Raises LayoutError where a part is of another kind. Source: CuTe, `layout_composed.hpp`.
    """

    outer: Function
    offset: int
    inner: Layout

    def __post_init__(self) -> None:
        if type(self.inner) is not Layout or not isinstance(self.outer, (Swizzle, Layout, Chained, ComposedLayout)):
            raise LayoutError(
                f"ComposedLayout({self.outer!r}, {self.offset!r}, {self.inner!r}): the outer function is a swizzle "
                "or a layout, the inner one a layout; chain more of them with make_composed_layout"
            )
        if has_basis(self.inner.stride) and (isinstance(self.outer, (Swizzle, Chained)) or self.offset != 0):
            raise LayoutError(
                f"{self.outer} o {self.offset} o {self.inner}: the inner layout gives coordinates; only a layout takes "
                "those, without an offset"
            )

    @property
    def shape(self) -> IntTuple:
        """The shape of the domain, that of `inner`."""
        return self.inner.shape

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return self.inner.size

    @property
    def rank(self) -> int:
        """The number of top-level modes."""
        return self.inner.rank

    @property
    def depth(self) -> int:
        """How deep the shape nests."""
        return self.inner.depth

    @property
    def cosize(self) -> int:
        """One more than the greatest offset that is reached, exactly, and without looking at every coordinate.

        >>> ComposedLayout(Swizzle(2, 0, 2), 0, Layout(5, 1)).cosize
        6
        """
        greatest: int = above("greatest_offset")(self)
        return greatest + 1

    @property
    def facts(self) -> object:
        """What is stated about symbolic sizes, as of a layout."""
        return self.inner.facts

    def __len__(self) -> int:
        return self.inner.rank

    def __getitem__(self, mode: int) -> ComposedLayout:
        return ComposedLayout(self.outer, self.offset, self.inner[mode])

    def __iter__(self) -> Iterator[ComposedLayout]:
        return (ComposedLayout(self.outer, self.offset, mode) for mode in self.inner)

    def __call__(self, *crd: Coordinate) -> int | ComposedLayout:
        coordinate = crd[0] if len(crd) == 1 else crd
        if has_underscore(coordinate):
            return self.sliced(coordinate)
        moved: Any = self.inner(coordinate)
        outer: Any = self.outer
        found: int = outer(
            (*moved, *[0] * (outer.rank - len(moved))) if isinstance(moved, tuple) else self.offset + moved
        )
        return found

    def sliced(self, crd: Coordinate) -> ComposedLayout:
        """The modes where `crd` has `_`; what its numbers move goes into the offset.

        Raises LayoutError where they move along an axis, for the offset is a number.
        """
        kept, moved = slice_of_layout(crd, self.inner)
        if isinstance(moved, tuple):
            if any(leaves(moved)):
                raise LayoutError(
                    f"{self} at {crd}: the slice starts at the coordinate {moved}, the offset is a number"
                )
            moved = 0
        return ComposedLayout(self.outer, self.offset + moved, kept)

    def offsets(self) -> NDArray[np.int64]:
        """Every offset, as an int64 array with one axis a top-level mode."""
        import numpy as np

        if has_basis(self.inner.stride):
            check_listing(self.inner)
            table = np.array([self(i) for i in range(self.size)], np.int64)
            return table.reshape([mode.size for mode in self.inner] or [1], order="F")
        # an offset known only on the GPU gives a table of expressions, which no array's bits limit
        if isinstance(self.offset, int) and _reach(self.outer, abs(self.offset) + self.inner.cosize) >= 1 << 62:
            raise LayoutError(f"offsets of {self}: they may not fit into the 64 bits of an array; call it instead")
        return cast("NDArray[np.int64]", self.outer(self.inner.offsets() + self.offset))  # type: ignore[arg-type]

    def with_inner(self, inner: Layout) -> ComposedLayout:
        """The same outer function after another layout."""
        return ComposedLayout(self.outer, self.offset, inner)

    def given(self, *statements: object) -> ComposedLayout:
        """This layout with facts about the unknown sizes of its inner one; see `given.given`."""
        return self.with_inner(self.inner.given(*statements))

    def subs(self, values: Mapping[object, object] | None = None, **named: object) -> ComposedLayout:
        """This layout with values for its unknown sizes; see `given.subs`."""
        offset: int = above("subs_offset")(self, values, named)
        return ComposedLayout(self.outer, offset, self.inner.subs(values, **named))

    def _repr_svg_(self) -> str | None:
        """The picture that a notebook shows; the draw layer makes it."""
        return svg_of(self)

    def grid(self) -> str:
        """The offsets as a text table, as `Layout.grid`."""
        text: str = above("text_grid")(self)
        return text

    def to_cpp(self) -> str:
        """CuTe C++ source of this layout; see `write.to_cpp`."""
        text: str = above("to_cpp")(self)
        return text

    def to_pycute(self) -> str:
        """pycute source of this layout; see `write.to_pycute`."""
        text: str = above("to_pycute")(self)
        return text

    def to_latex(self) -> str:
        """LaTeX of this layout, for math mode; see `write.to_latex`."""
        text: str = above("to_latex")(self)
        return text

    def __str__(self) -> str:
        return f"{self.outer} o {self.offset} o {self.inner}"

    def __repr__(self) -> str:
        return f"ComposedLayout({self.outer!r}, {self.offset}, {self.inner!r})"


Function: TypeAlias = Swizzle | Layout | Chained | ComposedLayout
AnyLayout = Layout | ComposedLayout


def _reach(function: Function, below: int) -> int:
    """A bound of the values of a function at arguments below `below`, of either sign."""
    if isinstance(function, Swizzle):
        return 1 << max(below.bit_length(), function.span.bit_length())
    if isinstance(function, Layout):
        return 1 + below * sum(abs(value_of(step)) for step in leaves(function.stride))
    return _reach(function.outer, abs(function.offset) + _reach(function.inner, below))


def plain_part(layout: AnyLayout) -> Layout:
    """The layout inside of a composed one; a layout itself."""
    return layout.inner if isinstance(layout, ComposedLayout) else layout


@overload
def chained(outer: None, offset: int, inner: AnyLayout) -> AnyLayout: ...
@overload
def chained(outer: Function, offset: int, inner: AnyLayout) -> ComposedLayout: ...
@overload
def chained(outer: Function | None, offset: int, inner: Function) -> Function: ...
def chained(outer: Function | None, offset: int, inner: Function) -> Function:
    """`outer o offset o inner` with its links in one row: a composed layout where `inner` ends in a layout.

    >>> print(chained(Layout(8, 2), 1, ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 2)))))
    8:2 o 1 o S<1,0,2> o 0 o (4,2):(1,4)
    """
    if outer is None:
        return inner
    if isinstance(inner, (ComposedLayout, Chained)):
        outer, offset, inner = chained(outer, offset, inner.outer), inner.offset, inner.inner
    return Chained(outer, offset, inner) if isinstance(inner, Swizzle) else ComposedLayout(outer, offset, inner)


def slice_and_offset(crd: Coordinate, layout: Layout) -> tuple[Layout, int]:
    """The layout of the modes where `crd` has `_`, and the offset of the numbers in it.

    >>> slice_and_offset((2, _), Layout((4, (2, 3)), (1, (4, 8))))
    (Layout(((2, 3),), ((4, 8),)), 2)

    Of a composed layout the offset goes inside, and 0 is given.
    """
    if isinstance(layout, ComposedLayout):
        return cast(Layout, layout.sliced(crd)), 0
    if not isinstance(layout, Layout):
        raise LayoutError(f"slice_and_offset({crd}, {layout!r}): of a layout; slice a tensor with brackets")
    return slice_of_layout(crd, layout)


def make_composed_layout(outer: Function, offset: int, inner: AnyLayout) -> ComposedLayout:
    """`c -> outer(offset + inner(c))`; `inner` may itself be composed.

    >>> print(make_composed_layout(Swizzle(3, 5, 4), 0, Layout((8, 4))))
    S<3,5,4> o 0 o (8,4):(1,8)

    Raises LayoutError where a part is of another kind.
    """
    return chained(outer, offset, inner)
