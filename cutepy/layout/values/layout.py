"""`Layout`: a function from coordinates to offsets, the inner product of coordinate and stride.

NumPy is loaded by `offsets()` alone. Law: `Layout(shape, stride)(crd) == sum of crd * stride`; every other way to call
it first unfolds the coordinate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Never, TypeVar, cast, overload

from ...errors import BARE, CoordinateError, CutepyError, LayoutError, OperandError, shown
from ...lazy import numpy as np
from .coordinates import (
    Basis,
    Coordinate,
    Slicing,
    as_stride,
    as_value,
    has_basis,
    inner_product,
    mixed_codomain,
    path_of,
    slice_,
    value_of,
    zero_underscores,
)
from .coordinates import _ as _
from .facts import Facts, is_plain, validated
from .int_tuple import IntTuple, LayoutLeft, Order, as_tuple, compact_stride, leaves, literal, show
from .methods import LayoutMethods

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..symbolic.given import Formula


Scalar = TypeVar("Scalar")


LARGEST_ARRAY = 1 << 27
"""How many offsets `offsets()` lists at most: a gigabyte of them."""

MOST_AXES = 32


@dataclass(frozen=True, slots=True, repr=False, init=False)
class Layout(LayoutMethods):
    """A function from coordinates to offsets.

    `shape` is an integer or a nested tuple of integers from 1; `stride`, nested alike, holds integers (0 and negative
    ones too) or basis strides `E(...)`. Left out, it is compact with the first mode fastest; `LayoutRight` makes the
    last mode fastest. A size-1 mode of a default layout has stride 0, as CuTe's static integers have.
    Strides count elements, where NumPy's count bytes: `Layout.from_strides(array)`.

    >>> L = Layout(((4, 2), 8), ((1, 16), 4))
    >>> L(5, 3), L((1, 1), 3), L(29), len(L)
    (29, 29, 29, 2)
    >>> str(L), L
    ('((4,2),8):((1,16),4)', Layout(((4, 2), 8), ((1, 16), 4)))
    >>> L(_, 3)
    Layout(((4, 2),), ((1, 16),))

    Called with integers or a nested coordinate it gives the offset; with NumPy arrays, SymPy or kernel expressions in
    their place the same sum over them; with `_` in a place the layout of the modes kept there.

    Sizes and strides may be SymPy expressions over positive integer symbols; `facts` then holds what is stated about
    them (`given`), and `subs` puts values in. `facts` is None where all sizes are known.

    Raises LayoutError for sizes below 1, bools, floats, a stride nested in another way, or nesting beyond 100 levels.
    Source: CuTe, `layout.hpp`; C. Cecka, arXiv 2603.02298, section 2.
    """

    shape: IntTuple
    stride: IntTuple
    facts: Facts | None = field(compare=False)

    def __init__(self, shape: IntTuple, stride: IntTuple | Order | Basis | None = None, **wrong: Never) -> None:
        if wrong:
            near = ", stride=..." if "strides" in wrong else ""
            raise OperandError(f"Layout: there is no {', '.join(wrong)}=; write Layout(shape, stride){near}")
        facts: Facts | None = None
        if stride is not None and not isinstance(stride, Order):
            if not is_plain(shape, stride):
                # The slow path: SymPy sizes, basis strides, NumPy integers, or an error to explain.
                shape, stride, facts = validated(shape, stride)
        else:
            if not is_plain(shape, shape):
                shape, _same, facts = validated(shape, shape)
            stride = compact_stride(shape, stride or LayoutLeft)
        _set_shape(self, shape)
        _set_stride(self, stride)
        _set_facts(self, facts)

    @property
    def cosize(self) -> int:
        """One more than the distance between the least and the greatest offset: (s - 1) * |d| summed, and 1.

        With basis strides the product of that over the axes: the size of the least box that holds all coordinates.

        >>> Layout((4, 2), (1, 8)).cosize
        12
        """
        if has_basis(self.stride):
            axes: dict[tuple[int, ...], int] = {}
            for extent, step in flat_modes(self):
                axes[path_of(step)] = axes.get(path_of(step), 1) + (extent - 1) * abs(value_of(step))
            return prod(axes.values())
        return 1 + sum((s - 1) * abs(d) for s, d in flat_modes(self))

    def __getitem__(self, mode: int) -> Layout:
        try:
            if type(mode) in (bool, slice):
                raise TypeError
            if not isinstance(self.shape, tuple):
                return (self,)[mode]
            return _make(self.shape[mode], as_tuple(self.stride)[mode], self.facts)
        except IndexError:
            count = f"{self.rank} mode{'s' * (self.rank != 1)}"
            raise CoordinateError(f"mode {shown(mode)} of {self}: it has {count}") from None
        except TypeError:
            crd = ", ".join(map(shown, mode)) if isinstance(mode, tuple) else "1,2"
            way = "take(L, 0, 2) has several" if isinstance(mode, slice) else f"L({crd}) is the offset at a coordinate"
            raise CoordinateError(f"mode {shown(mode)} of L = {self}: brackets choose a mode, as L[0]; {way}") from None

    def __iter__(self) -> Iterator[Layout]:
        for extent, step in zip(as_tuple(self.shape), as_tuple(self.stride), strict=True):
            yield _make(extent, step, self.facts)

    @overload
    def __call__(self, *crd: IntTuple) -> int: ...  # type: ignore[overload-overlap]  # with `_` in it, a slice
    @overload
    def __call__(self, *crd: Coordinate) -> Layout: ...
    @overload
    def __call__(self, crd: Scalar, /) -> Scalar: ...
    def __call__(self, *crd: Any) -> Any:
        coordinate = crd[0] if len(crd) == 1 else crd
        try:
            try:
                offset = inner_product(coordinate, self.shape, self.stride)
            except Slicing:
                return slice_and_offset(coordinate, self)[0]
        except CutepyError:
            raise
        except BARE as error:
            raise CoordinateError(f"coordinate {shown(coordinate)} of {shown(self)}: {error}") from error
        return offset if type(offset) is int else as_value(offset)

    def offsets(self) -> NDArray[np.int64]:
        """Every offset, as an int64 array with one axis a top-level mode (1-D for an integer shape).

        >>> Layout((2, (2, 2)), (1, (10, 100))).offsets().tolist()
        [[0, 10, 100, 110], [1, 11, 101, 111]]
        """
        if self.facts is not None:
            raise LayoutError(f"offsets of {self}: its sizes are not known; put values in with subs")
        if has_basis(self.stride):
            raise LayoutError(f"offsets of {self}: it gives coordinates; list those of one axis with axis_layout")
        check_listing(self)
        # One broadcast axis a mode: memory stays at the size of the result.
        modes = list(self)
        total = np.zeros((1,) * len(modes), np.int64)
        for axis, mode in enumerate(modes):
            along = np.zeros(1, np.int64)
            for extent, step in flat_modes(mode):
                # Leaves of a mode, first leaf fastest: new leaf as outer axis, then flattened.
                along = (np.arange(extent, dtype=np.int64)[:, None] * step + along).ravel()
            total = total + along.reshape((-1,) + (1,) * (len(modes) - 1 - axis))
        return total

    def __str__(self) -> str:
        return f"{show(self.shape)}:{show(self.stride)}"

    def __repr__(self) -> str:
        return f"Layout({literal(self.shape)}, {literal(self.stride)})"

    @classmethod
    def parse(cls, text: str) -> Layout:
        """The layout that `text` writes down, in any notation; see `parse.parse_layout`.

        >>> Layout.parse("((_4,_2),_8):((_1,_16),_4)")
        Layout(((4, 2), 8), ((1, 16), 4))

        A text with a swizzle gives a ComposedLayout. Raises NotationError, with a caret under the place.
        """
        from ..text.parse import parse_layout

        return cast("Layout", parse_layout(text))

    @classmethod
    def from_offsets(cls, table: object) -> Layout:
        """The shortest layout, or swizzled layout, of a table of offsets; see `table.from_offsets`.

        >>> print(Layout.from_offsets([[0, 10, 100, 110], [1, 11, 101, 111]]))
        (2,(2,2)):(1,(10,100))

        Raises TableError, with the index, where the table is that of none.
        """
        from ..algebra.table import from_offsets

        return cast("Layout", from_offsets(table))

    @classmethod
    def from_strides(cls, array: object) -> Layout:
        """The layout of a strided array, in elements; see `table.from_strides`.

        >>> Layout.from_strides(memoryview(b"abcdef"))
        Layout((6,), (1,))

        Raises LayoutError where a stride is no whole number of elements.
        """
        from ..algebra.table import from_strides

        return from_strides(array)

    def given(self, *statements: object) -> Layout:
        """This layout with facts about its unknown sizes; see `given.given`.

        >>> Layout.parse("(M,8):(8,1)").given("64 divides M", "M >= 128").facts.stated[1]
        Fact(left=M, sign='>=', right=128)

        Raises LayoutError for what is no fact, and for facts that contradict each other.
        """
        from ..symbolic.given import given

        return given(self, *statements)

    def subs(self, values: Mapping[object, object] | None = None, **named: object) -> Layout:
        """This layout with values for its unknown sizes; see `given.subs`.

        >>> Layout.parse("(M,8):(8,1)").subs(M=4)
        Layout((4, 8), (8, 1))

        Raises LayoutError where a fact does not hold.
        """
        from ..symbolic.given import subs

        return subs(self, values, **named)

    def formula(self) -> Formula:
        """The offset as a SymPy formula over the coordinates; see `given.formula`.

        >>> print(Layout.parse("(M,N):(N,1)").formula())
        L(i, j) = N*i + j

        Raises LayoutError for basis strides.
        """
        from ..symbolic.given import formula

        return formula(self)


def flat_modes(layout: Layout) -> Iterator[tuple[int, int]]:
    """Extent and stride of each leaf, from left to right.

    >>> list(flat_modes(Layout(((2, 2), 8), ((1, 16), 2))))
    [(2, 1), (2, 16), (8, 2)]
    """
    return zip(leaves(layout.shape), leaves(layout.stride), strict=True)


def offset_bounds(layout: Layout) -> tuple[int, int]:
    """The least and the greatest offset.

    >>> offset_bounds(Layout((4, 3), (-1, 10)))
    (-3, 20)
    """
    ends = [(extent - 1) * step for extent, step in flat_modes(layout)]
    return sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)


def check_listing(layout: Layout) -> None:
    """Stand before a list of all offsets: raises LayoutError, with the numbers, where no array holds them."""
    if layout.size > LARGEST_ARRAY or layout.cosize >= 1 << 62 or layout.rank > MOST_AXES:
        raise LayoutError(
            f"offsets of {layout}: {layout.size} offsets over {layout.cosize} along {layout.rank} axes are too many or "
            f"too large for an array of at most {LARGEST_ARRAY}; slice the layout, or coalesce it"
        )


# Slots of a frozen dataclass are set through their descriptors: several times faster than object.__setattr__.
_new = Layout.__new__
_set_shape = Layout.__dict__["shape"].__set__
_set_stride = Layout.__dict__["stride"].__set__
_set_facts = Layout.__dict__["facts"].__set__


def _make(shape: IntTuple, stride: IntTuple, facts: Facts | None = None) -> Layout:
    """A layout from parts that are known to be valid: what the algebra builds its results with.

    Of `facts` a layout of known sizes keeps none.
    """
    if facts is not None and all(type(value_of(leaf)) is int for leaf in (*leaves(shape), *leaves(stride))):
        facts = None
    layout = _new(Layout)
    _set_shape(layout, shape)
    _set_stride(layout, stride)
    _set_facts(layout, facts)
    return layout


class Entries(Layout):
    """An int tuple as the layout that is its own stride: what is done with modes is done with entries."""

    __slots__ = ()

    @classmethod
    def of(cls, tree: object) -> Entries:
        """The entries of a tuple, a coordinate, a tile."""
        entries = object.__new__(cls)
        _set_shape(entries, tree)
        _set_stride(entries, tree)
        _set_facts(entries, None)
        return entries

    def __str__(self) -> str:
        return show(self.shape)


def united_facts(layouts: Iterable[Layout]) -> Facts | None:
    """What is stated about the sizes of any of these layouts; None if all are known."""
    facts: Facts | None = None
    for layout in layouts:
        if layout.facts is not None:
            facts = layout.facts if facts is None else facts | layout.facts
    return facts


@overload
def make_layout(first: IntTuple, second: IntTuple | Order | None = None) -> Layout: ...
@overload
def make_layout(first: Layout, *modes: Layout) -> Layout: ...
def make_layout(first: IntTuple | Layout, *rest: IntTuple | Order | Layout | None) -> Layout:  # type: ignore[misc]
    """`make_layout(shape, stride)`, or the layout whose modes are the given layouts.

    >>> from cutepy.layout import LayoutRight
    >>> make_layout((4, 8), LayoutRight), make_layout(Layout(4, 1), Layout((2, 3), (4, 8)))
    (Layout((4, 8), (8, 1)), Layout((4, (2, 3)), (1, (4, 8))))

    Raises LayoutError as `Layout` does, and where layouts and shapes are mixed.
    """
    composed = next((each for each in (first, *rest) if hasattr(each, "with_inner")), None)
    if composed is not None:
        raise LayoutError(
            f"make_layout: {composed} has a function outside of its own, and modes have one together; make a layout of "
            "the inner ones, and make_composed_layout of it"
        )
    if isinstance(first, Layout):
        layouts = [first]
        for position, mode in enumerate(rest, 1):
            if not isinstance(mode, Layout):
                raise LayoutError(f"make_layout: argument {position} is {mode!r}; after a layout come layouts")
            layouts.append(mode)
        extents, steps = tuple(mode.shape for mode in layouts), tuple(mode.stride for mode in layouts)
        if mixed_codomain(steps):
            raise LayoutError(f"make_layout({', '.join(map(str, layouts))}): offsets and coordinates do not add up")
        return _make(extents, steps, united_facts(layouts))
    stride = rest[0] if rest else None
    if len(rest) > 1 or isinstance(stride, Layout):
        raise LayoutError(f"make_layout{(first, *rest)}: give a shape and a stride, or layouts only")
    return Layout(first, stride)


def slice_and_offset(crd: Coordinate, layout: Layout) -> tuple[Layout, int]:
    """The layout of the modes where `crd` has `_`, and the offset of the numbers in it.

    >>> slice_and_offset((2, _), Layout((4, (2, 3)), (1, (4, 8))))
    (Layout(((2, 3),), ((4, 8),)), 2)
    """
    kept = slice_(crd, layout.shape)
    offset: Any = inner_product(zero_underscores(crd), layout.shape, layout.stride) if isinstance(crd, tuple) else 0
    return _make(kept, slice_(crd, layout.stride), layout.facts), as_value(offset)


def make_identity_layout(shape: IntTuple) -> Layout:
    """The layout that maps every coordinate of `shape` to itself, through basis strides.

    >>> print(make_identity_layout((4, (2, 8))), make_identity_layout((4, (2, 8)))(3, (1, 5)))
    (4,(2,8)):(1@0,(1@0@1,1@1@1)) (3, (1, 5))

    Raises LayoutError for sizes below 1.
    """

    def axes(tree: IntTuple, path: tuple[int, ...]) -> IntTuple:
        if isinstance(tree, tuple):
            return tuple(axes(entry, (*path, axis)) for axis, entry in enumerate(tree))
        return as_stride(1, path)

    checked, _same, facts = validated(shape, shape)
    return _make(checked, axes(checked, ()) if isinstance(checked, tuple) else 1, facts)
