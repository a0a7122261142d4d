"""Swizzles, and layouts composed with them.

Imports `layout`. Law: `ComposedLayout(outer, offset, inner)(c) == outer(offset + inner(c))`; every operation that only
looks at the domain works on `inner`, and the outer function goes along unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

from ..errors import LayoutError
from .coordinates import Coordinate, has_underscore
from .int_tuple import IntTuple
from .layout import Layout, slice_and_offset

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Scalar = TypeVar("Scalar")


@dataclass(frozen=True, slots=True)
class Swizzle:
    """The map `x -> x ^ ((x & mask) >> shift)` with a mask of `bits` ones above bit `base + max(0, shift)`.

    >>> Swizzle(3, 4, 3)(0b1010000000), str(Swizzle(3, 4, 3))
    (720, 'S<3,4,3>')

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

    @property
    def mask(self) -> int:
        """The bits that are read."""
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    def __call__(self, offset: Scalar) -> Scalar:
        read = offset & self.mask  # type: ignore[operator]
        return offset ^ (read >> self.shift if self.shift >= 0 else read << -self.shift)  # type: ignore[operator, no-any-return]

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"

    def __repr__(self) -> str:
        return f"Swizzle({self.bits}, {self.base}, {self.shift})"


@dataclass(frozen=True, slots=True, repr=False)
class ComposedLayout:
    """The function `c -> outer(offset + inner(c))`.

    >>> C = ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 2), (1, 4)))
    >>> C(0, 1), C.offsets().tolist()
    (5, [[0, 5], [1, 4], [2, 7], [3, 6]])

    Source: CuTe, `layout_composed.hpp`.
    """

    outer: Swizzle | Layout | ComposedLayout
    offset: int
    inner: Layout

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
        """One more than the greatest offset that is reached, exactly."""
        return int(self.offsets().max()) + 1

    def __len__(self) -> int:
        return self.inner.rank

    def __getitem__(self, mode: int) -> ComposedLayout:
        return ComposedLayout(self.outer, self.offset, self.inner[mode])

    def __iter__(self) -> Iterator[ComposedLayout]:
        return (ComposedLayout(self.outer, self.offset, mode) for mode in self.inner)

    def __call__(self, *crd: Coordinate) -> int | ComposedLayout:  # type: ignore[override]
        coordinate = crd[0] if len(crd) == 1 else crd
        if has_underscore(coordinate):
            kept, moved = slice_and_offset(coordinate, self.inner)
            return ComposedLayout(self.outer, self.offset + moved, kept)
        return cast(int, self.outer(self.offset + self.inner(coordinate)))  # type: ignore[operator, arg-type]

    def offsets(self) -> NDArray[np.int64]:
        """Every offset, as an int64 array with one axis a top-level mode."""
        return cast("NDArray[np.int64]", self.outer(self.inner.offsets() + self.offset))  # type: ignore[arg-type]

    def with_inner(self, inner: Layout) -> ComposedLayout:
        """The same outer function after another layout."""
        return ComposedLayout(self.outer, self.offset, inner)

    def grid(self) -> str:
        """The offsets as a text table, as `Layout.grid`."""
        from .grid import text_grid

        return text_grid(self)

    def __str__(self) -> str:
        return f"{self.outer} o {self.offset} o {self.inner}"

    def __repr__(self) -> str:
        return f"ComposedLayout({self.outer!r}, {self.offset}, {self.inner!r})"


def make_composed_layout(outer: Swizzle | Layout | ComposedLayout, offset: int, inner: Layout) -> ComposedLayout:
    """`c -> outer(offset + inner(c))`.

    >>> print(make_composed_layout(Swizzle(3, 5, 4), 0, Layout((8, 4))))
    S<3,5,4> o 0 o (8,4):(1,8)
    """
    return ComposedLayout(outer, offset, inner)


AnyLayout = Layout | ComposedLayout


def lift(function: Callable[..., Layout], layout: object, *arguments: object) -> Layout:
    """Apply a layout operation to something that is not a plain static layout.

    The domain of a composed layout is its inner layout's; symbolic sizes go through `symbolic.lifted`; what holds a layout
    (a tensor) says with a method `lift_layout` how the operation acts on it.
    Raises LayoutError, naming the call, for anything else.
    """
    if isinstance(layout, ComposedLayout):
        return cast(Layout, layout.with_inner(function(layout.inner, *arguments)))
    holder = getattr(layout, "lift_layout", None)
    if holder is not None:
        return cast(Layout, holder(function, *arguments))
    if isinstance(layout, Layout) or any(isinstance(argument, Layout) for argument in arguments):
        from .symbolic import lifted

        return lifted(function, layout, *arguments)
    raise LayoutError(
        f"{function.__name__}({', '.join(map(repr, (layout, *arguments)))}): the first operand is a {type(layout).__name__}, not a layout; write Layout(...)"
    )
