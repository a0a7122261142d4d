"""Swizzles, and layouts composed with them.

Imports `layout`. Law: `ComposedLayout(outer, offset, inner)(c) == outer(offset + inner(c))`. An operation that only
looks at the domain works on `inner`, and the outer function goes along unchanged; the others are in `swizzled.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from ..errors import LayoutError
from .coordinates import Coordinate, has_underscore
from .int_tuple import IntTuple, leaves
from .layout import Layout, slice_and_offset
from .size import is_unknown

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
        read = offset & self.mask  # type: ignore[operator]
        return offset ^ (read >> self.shift if self.shift >= 0 else read << -self.shift)  # type: ignore[operator, return-value]

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
        return cast(Scalar, self.outer(self.offset + self.inner(offset)))  # type: ignore[operator]

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
        from .swizzled import greatest_offset

        return greatest_offset(self) + 1

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
            kept, moved = slice_and_offset(coordinate, self.inner)
            return ComposedLayout(self.outer, self.offset + moved, kept)
        moved = cast(int, self.inner(coordinate))
        if isinstance(moved, tuple):
            return cast(int, self.outer(self._unmoved(moved)))
        return cast(int, self.outer(self.offset + moved))

    def _unmoved(self, coordinate: tuple[IntTuple, ...]) -> tuple[IntTuple, ...]:
        if self.offset != 0:
            raise LayoutError(
                f"{self}: the inner layout gives coordinates, to which the offset {self.offset} cannot be added"
            )
        return coordinate

    def offsets(self) -> NDArray[np.int64]:
        """Every offset, as an int64 array with one axis a top-level mode."""
        import numpy as np

        if any(hasattr(step, "path") for step in leaves(self.inner.stride)):
            table = np.array([self(i) for i in range(self.size)], np.int64)
            return table.reshape([mode.size for mode in self.inner] or [1], order="F")
        return cast("NDArray[np.int64]", self.outer(self.inner.offsets() + self.offset))  # type: ignore[arg-type]

    def with_inner(self, inner: Layout) -> ComposedLayout:
        """The same outer function after another layout."""
        return ComposedLayout(self.outer, self.offset, inner)

    def given(self, *statements: object) -> ComposedLayout:
        """This layout with facts about the unknown sizes of its inner one; see `cutepy.layout.formula.given`."""
        return self.with_inner(self.inner.given(*statements))

    def subs(self, values: Mapping[object, object] | None = None, **named: object) -> ComposedLayout:
        """This layout with values for its unknown sizes; see `cutepy.layout.formula.subs`."""
        from .formula import subs_offset

        return ComposedLayout(self.outer, subs_offset(self, values, named), self.inner.subs(values, **named))

    def _repr_svg_(self) -> str | None:
        """The picture that a notebook shows; the draw layer makes it."""
        from .display import svg_of

        return svg_of(self)

    def grid(self) -> str:
        """The offsets as a text table, as `Layout.grid`."""
        from .grid import text_grid

        return text_grid(self)

    def to_cpp(self) -> str:
        """CuTe C++ source of this layout; see `cutepy.layout.spelling.to_cpp`."""
        from .spelling import to_cpp

        return to_cpp(self)

    def to_pycute(self) -> str:
        """pycute source of this layout; see `cutepy.layout.spelling.to_pycute`."""
        from .spelling import to_pycute

        return to_pycute(self)

    def to_latex(self) -> str:
        """LaTeX of this layout, for math mode; see `cutepy.layout.spelling.to_latex`."""
        from .spelling import to_latex

        return to_latex(self)

    def __str__(self) -> str:
        return f"{self.outer} o {self.offset} o {self.inner}"

    def __repr__(self) -> str:
        return f"ComposedLayout({self.outer!r}, {self.offset}, {self.inner!r})"


Function: TypeAlias = Swizzle | Layout | Chained | ComposedLayout
AnyLayout = Layout | ComposedLayout


def chained(outer: Function | None, offset: int, inner: Function) -> Function:
    """`outer o offset o inner` with its links in one row: a composed layout where `inner` ends in a layout.

    >>> print(chained(Layout(8, 2), 1, ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 2)))))
    8:2 o 1 o S<1,0,2> o 0 o (4,2):(1,4)
    """
    if outer is None:
        return inner
    if isinstance(inner, (ComposedLayout, Chained)):
        return type(inner)(chained(outer, offset, inner.outer), inner.offset, inner.inner)  # type: ignore[arg-type]
    return Chained(outer, offset, inner) if isinstance(inner, Swizzle) else ComposedLayout(outer, offset, inner)


def make_composed_layout(outer: Function, offset: int, inner: AnyLayout) -> ComposedLayout:
    """`c -> outer(offset + inner(c))`; `inner` may itself be composed.

    >>> print(make_composed_layout(Swizzle(3, 5, 4), 0, Layout((8, 4))))
    S<3,5,4> o 0 o (8,4):(1,8)

    Raises LayoutError where a part is of another kind.
    """
    return cast(ComposedLayout, chained(outer, offset, inner))


def lift(function: Callable[..., object], layout: object, *arguments: object) -> Layout:
    """Apply a layout operation to something that is not a plain static layout.

    The domain of a composed layout is its inner layout's; symbolic sizes go through `symbolic.lifted`; what holds a
    layout (a tensor) says with its method `lift_layout` how the operation acts on it.
    Raises LayoutError, naming the call, for anything else.
    """
    holder = getattr(layout, "lift_layout", None)
    if holder is not None:
        return cast(Layout, holder(function, *arguments))
    operands = (layout, *arguments)
    if any(isinstance(operand, ComposedLayout) for operand in operands):
        from .swizzled import operation

        return operation(function, *operands)
    if isinstance(layout, Layout) and is_unknown(operands):
        from .symbolic import lifted

        return lifted(function, *operands)
    raise LayoutError(
        f"{function.__name__}: the first operand is a {type(layout).__name__}, "
        "not a layout; write Layout(...), or make_tensor(...) for the elements of an array"
    )
