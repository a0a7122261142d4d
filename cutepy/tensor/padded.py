"""A tensor with a rim: elements around those of another one, which no memory holds.

Law: `padded(x, before, after, value)` is `np.pad(x, ...)`, element by element, as a view. Its elements are told by
coordinates, so tiles, slices, partitions and compositions of it are compositions of an identity layout; where a
coordinate lies outside, a number takes the place of the access, or the access is made where the mode says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import copysign
from typing import Any, ClassVar, Literal

from ..errors import TensorError
from ..layout import Layout
from ..layout.values.composed import plain_part
from ..layout.values.int_tuple import leaves, map_leaves, moved
from ..layout.values.layout import _make, make_identity_layout
from ..layout.values.size import is_unknown
from ..lazy import numpy as np
from .dtypes import DType
from .engine import Array, Mask, Scalars, Space, boxed, check_writable, fit_values, offset_of
from .guard import both
from .operand import TensorLike, as_tensor
from .tensor import Tensor

Fill = Scalars | Literal["edge", "reflect", "wrap"]
MODES = "edge", "reflect", "wrap"


@dataclass(frozen=True, slots=True, eq=False)
class PaddedEngine:
    """The elements of `source` from coordinate `before` on, and what `fill` says around them, in all of `shape`."""

    source: Tensor
    before: tuple[int, ...]
    shape: tuple[Any, ...]
    fill: Any

    takes_coordinates: ClassVar[bool] = True

    @property
    def dtype(self) -> DType:
        return self.source.dtype

    @property
    def space(self) -> Space:
        return self.source.engine.space

    @property
    def name(self) -> str:
        return self.source.engine.name

    @property
    def writable(self) -> bool:
        """Where the rim has a number of its own, what is inside is written."""
        return self.fill not in MODES and self.source.engine.writable

    def within(self, coordinates: Sequence[tuple[Any, Any]]) -> PaddedEngine:
        """In a kernel: the same elements, chosen by these coordinates too."""
        engine, outer = self.source.engine, getattr(self.source.engine, "within", None)
        if outer is None or (chosen := outer(coordinates)) is engine:
            return self
        source = Tensor(chosen, self.source.layout, self.source.offset, self.source.guard)
        return replace(self, source=source)

    def load(self, offsets: Any, where: Mask = None) -> Any:
        """The elements at coordinates; 0 where the mask is false."""
        tables, inside = self._places(offsets)
        mask = both(where, inside)
        values = self.source.engine.load(self._offsets(tables), self._guarded(tables, mask))
        # What is not read gives 0; -0.0 is another number.
        zero = isinstance(self.fill, int | float) and self.fill == 0 and copysign(1, self.fill) > 0
        if inside is None or self.fill in MODES or zero:
            return values
        around = self._chosen(inside, values, self.fill)
        return around if where is None else self._chosen(where, around, 0)

    def store(self, offsets: Any, values: Scalars, where: Mask = None) -> None:
        """Write what is inside, where the mask holds."""
        check_writable(self)
        tables, inside = self._places(offsets)
        mask = self._guarded(tables, both(where, inside))
        self.source.engine.store(self._offsets(tables), np.broadcast_to(np.asarray(values), tables[0].shape), mask)

    def nearest_first(self, layout: Layout) -> Layout:
        """A layout of coordinates with numbers for its strides, the nearest in memory first."""
        known = getattr(self.source.engine, "nearest_first", None)
        if known is not None:
            found: Layout = known(layout)
            return found
        steps = [abs(step) if isinstance(step, int) else 1 for step in leaves(plain_part(self.source.layout).stride)]

        def number(step: Any) -> int:
            path = getattr(step, "path", ())
            return step.value * steps[path[0]] if path else int(step)

        return Layout(layout.shape, map_leaves(number, layout.stride))

    # Coordinates

    def _places(self, offsets: Any) -> tuple[list[Array], Mask]:
        """The coordinates in the source, axis by axis, and which of them are there; None where all are."""
        axes = offsets if isinstance(offsets, tuple) else (offsets,)
        axes = (*axes, *(0,) * (len(self.shape) - len(axes)))
        arrays = np.broadcast_arrays(*[x if isinstance(x, np.ndarray) else _boxed(x) for x in axes])
        tables: list[Array] = []
        inside: Mask = None
        value_of = getattr(self.source.engine, "coordinate", lambda x: x)
        sizes = leaves(self.source.shape)
        for axis, before, size, whole in zip(arrays, self.before, sizes, self.shape, strict=True):
            if before == 0 and (whole is size or (whole == size) is True):
                tables.append(axis)
                continue
            end = size if isinstance(size, int) else value_of(size)

            def place(c: Any, before: int = before, end: Any = end) -> tuple[Any, Any]:
                known = isinstance(c, int | np.integer | np.ndarray)
                return _place(c if known else value_of(c), before, end, self.fill)

            found, there = _each(axis, place)
            tables.append(found)
            inside = both(inside, there)
        return tables, inside

    def _offsets(self, tables: list[Array]) -> Any:
        """The offsets of the source's elements at coordinates."""
        crd = tuple(tables) if isinstance(self.source.layout.shape, tuple) else tables[0]
        offset = moved(self.source.offset, offset_of(self.source.layout, crd))
        if not isinstance(offset, tuple):
            return offset if tables[0].ndim or not isinstance(offset, np.ndarray) else offset[()]
        return offset

    def _guarded(self, tables: list[Array], mask: Mask) -> Mask:
        guard = self.source.guard
        if guard is None:
            return mask
        return both(mask, guard.inside(tuple(tables) if isinstance(self.source.layout.shape, tuple) else tables[0]))

    def _chosen(self, mask: Mask, values: Any, other: Scalars) -> Any:
        """`values` where the mask holds, else a number."""
        choose: Callable[..., Any] | None = getattr(self.source.engine, "choose", None)
        if choose is None:
            return np.where(mask, values, np.asarray(other, self.dtype.numpy))[()]
        if not isinstance(values, np.ndarray):
            return choose(np.asarray(mask, object)[()], values, other)
        masks, found = np.broadcast_to(np.asarray(mask, object), values.shape), np.empty(values.shape, object)
        for at in np.ndindex(values.shape):
            found[at] = choose(masks[at], values[at], other)
        return found


def _boxed(value: Any) -> Array:
    return np.asarray(int(value)) if isinstance(value, int | np.integer) else boxed(value)


def _each(axis: Array, place: Callable[[Any], tuple[Any, Any]]) -> tuple[Array, Mask]:
    """The places of coordinates, and which are inside: None where all are."""
    if axis.dtype != object:
        placed, there = place(axis)
        return placed, None if there is None or bool(np.all(there)) else there
    places, inside = np.empty(axis.shape, object), np.empty(axis.shape, object)
    for at in np.ndindex(axis.shape):
        places[at], there = place(axis[at])
        inside[at] = True if there is None else there
    return places, None if all(x is True for x in inside.ravel()) else inside


def _place(c: Any, before: int, size: Any, fill: Any) -> tuple[Any, Any]:
    """Where coordinate `c` of one axis is in the source, and whether it is there; None for always. Numbers and arrays
    of them are signed; what a kernel computes is not, and a difference that is below 0 lies beyond every size."""
    if fill == "edge":
        return np.minimum(np.maximum(c, before) - before, size - 1), None
    if fill == "wrap":
        return (c + -before % size) % size, None
    if fill == "reflect":
        period = max(1, 2 * (size - 1))
        m = (c + -before % period) % period
        return np.minimum(np.minimum(m, period - m), size - 1), None
    at = c - before if before else c
    if not isinstance(c, int | np.integer | np.ndarray):
        return at, at < size
    inside = (at >= 0) & (at < size)
    return np.where(inside, at, 0)[()] if isinstance(c, np.ndarray) else (at if inside else 0), inside


def padded(
    x: TensorLike, before: int | tuple[int, ...], after: int | tuple[int, ...] | None = None, *, value: Fill = 0
) -> Tensor:
    """`x` with `before` elements before the first and `after` behind the last along each mode, a view: on arrays, and
    in kernels, where it is tiled, sliced, partitioned and composed like any tensor.

    `value` is a number that is read around `x`; or "edge", the nearest element; "reflect", the elements mirrored at the
    first and at the last; "wrap", those from the other end. `before` and `after` are one number for all modes, or one a
    mode; `after` is `before` where it is not given. With a number the view is written, too: what is outside stays.

    >>> x = np.arange(1, 5, dtype=np.float32)
    >>> padded(x, 2, 1, value=9).numpy().tolist(), padded(x, 3, value="reflect").numpy().astype(int).tolist()
    ([9.0, 9.0, 1.0, 2.0, 3.0, 4.0, 9.0], [4, 3, 2, 1, 2, 3, 4, 3, 2, 1])

    Raises TensorError for nested modes, for counts below 0, for a value that the elements' type does not hold, and for
    "reflect" and "wrap" of a mode without elements or of unknown size; LayoutError where all of it has no elements.
    """
    x = as_tensor(x)
    call = f"padded({x}, {before}, {after}, value={value!r})"
    shape = x.layout.shape if isinstance(x.layout.shape, tuple) else (x.layout.shape,)
    if any(isinstance(n, tuple) for n in shape):
        raise TensorError(f"{call}: its modes are nested; group or flatten them first")
    if isinstance(value, str) and value not in MODES:
        raise TensorError(f"{call}: value is a number or one of {', '.join(map(repr, MODES))}")
    # A number of a kernel is converted where the kernel uses it.
    if not isinstance(value, str) and not hasattr(x.engine, "choose"):
        try:
            found = fit_values(value, x.dtype)
        except TensorError as error:
            raise TensorError(f"{call}: {error}") from None
        if found.ndim:
            raise TensorError(f"{call}: value is one number; an array is no rim")
    ends = [_counts(call, count, len(shape)) for count in (before, before if after is None else after)]
    for n, low, high in zip(shape, *ends, strict=True):
        asks = isinstance(value, str) and (low or high)
        if asks and (n == 0 if not is_unknown(n) else value != "edge"):
            raise TensorError(f"{call}: a mode of {n} elements has nothing to {value}")
    whole = tuple([low + n + high if low or high else n for n, low, high in zip(shape, *ends, strict=True)])
    known = make_identity_layout(tuple([n if isinstance(n, int) else 2 for n in whole]))
    layout = _make(whole, known.stride)  # sizes of a kernel that are not known pass no check of numbers
    return Tensor(PaddedEngine(x, ends[0], whole, value), layout if isinstance(x.layout.shape, tuple) else layout[0])


def _counts(call: str, count: int | tuple[int, ...], rank: int) -> tuple[int, ...]:
    counts = count if isinstance(count, tuple) else (count,) * rank
    if len(counts) != rank or not all(isinstance(n, int | np.integer) and n >= 0 for n in counts):
        raise TensorError(f"{call}: give one whole number from 0 on, or one for each of {rank} modes")
    return tuple([int(n) for n in counts])
