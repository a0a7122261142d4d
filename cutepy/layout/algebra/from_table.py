"""Which layout is this table? The way back from offsets, or from an array's strides.

Law: `from_offsets(T)(i, j, ...) == T[i][j]...` for every index, each axis of a table with more than one is a mode, no
shorter layout does it, and a table is refused only if no layout, with an offset and one swizzle after it at most, has
these offsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ...errors import LayoutError, TableError
from ..values.composed import AnyLayout, ComposedLayout, Swizzle
from ..values.int_tuple import IntTuple, leaves
from ..values.layout import Layout, _make
from .bits import swizzles
from .table import Broken, modes_of_values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Table = NDArray[np.int64]

LOOKED_AHEAD = 4096


def from_offsets(table: object) -> AnyLayout:
    """The shortest layout with these offsets: nested lists or a NumPy array of whole numbers, one axis a mode.

    >>> print(from_offsets([[0, 10, 100, 110], [1, 11, 101, 111]]), from_offsets([0, 1, 3, 2, 4, 5, 7, 6]))
    (2,(2,2)):(1,(10,100)) S<1,0,1> o 0 o 8:1

    A table that no layout has may be that of a swizzle after a layout, or of a layout with an offset (under the swizzle
    `S<0,0,0>`, which moves nothing). Raises TableError, with the index as `.index`, where it is neither.
    """
    values = _array(table)
    plain = _plain(values)
    if isinstance(plain, Layout):
        return plain
    swizzled = _swizzled(values)
    if swizzled is None:
        _refuse(values, *plain)
    return swizzled


def from_strides(array: object) -> Layout:
    """The layout of a strided array, in elements: of a NumPy array, a memoryview, anything with shape and strides.

    >>> import numpy as np
    >>> print(from_strides(np.zeros((4, 8), np.float32)), from_strides(np.zeros((4, 8), np.float32)[::2, ::-1]))
    (4,8):(8,1) (2,8):(16,-1)

    Raises LayoutError where a stride is not a whole number of elements, or a size is 0.
    """
    shape, strides = getattr(array, "shape", None), getattr(array, "strides", None)
    if shape is not None and strides is None and callable(getattr(array, "stride", None)):
        steps = tuple(int(step) for step in array.stride())  # type: ignore[attr-defined]
        return Layout(tuple(int(extent) for extent in shape), steps)
    if shape is None or strides is None:
        raise LayoutError(f"from_strides: a {type(array).__name__} has no shape and strides; give an array")
    item = int(array.itemsize)  # type: ignore[attr-defined]
    for step in strides:
        if step % item:
            raise LayoutError(
                f"from_strides: the stride of {step} bytes is no whole number of elements of {item} bytes"
            )
    return Layout(tuple(int(extent) for extent in shape), tuple(int(step) // item for step in strides))


def _array(table: object) -> Table:
    import numpy as np

    try:
        values = np.asarray(table)
    except ValueError:
        raise LayoutError("from_offsets: the lists have different lengths; a table has the same on every row") from None
    if values.dtype.kind not in "iu" or values.size == 0 or values.ndim == 0:
        raise LayoutError(
            f"from_offsets: a table holds whole numbers along one axis or more, "
            f"this one is {values.dtype} of shape {values.shape}"
        )
    if values.dtype.kind == "u" and int(values.max()) >= 1 << 62:
        raise LayoutError(f"from_offsets: {int(values.max())} is beyond 64-bit offsets")
    return values.astype(np.int64)


Found = tuple[tuple[int, ...], int]


def _plain(values: Table) -> Layout | Found:
    """The layout of a table, or the index where none is, and what a layout would have there."""
    import numpy as np

    modes: list[tuple[IntTuple, IntTuple]] = []
    added = np.zeros((1,) * values.ndim, np.int64)
    for axis in range(values.ndim):
        along = values[tuple(slice(None) if other == axis else 0 for other in range(values.ndim))]
        found = modes_of_values(along)
        if isinstance(found, Broken):
            return tuple(found.index if other == axis else 0 for other in range(values.ndim)), found.expected
        extents, strides = found
        modes.append((extents[0], strides[0]) if len(extents) == 1 else (tuple(extents), tuple(strides)))
        added = added + along.reshape((-1,) + (1,) * (values.ndim - 1 - axis))
    wrong = np.argwhere((added != values).T)
    if len(wrong):
        index = tuple(int(i) for i in reversed(wrong[0]))
        return index, int(added[index])
    if values.ndim == 1:
        return _make(*modes[0])
    return _make(tuple(extent for extent, _ in modes), tuple(step for _, step in modes))


def _swizzled(values: Table) -> ComposedLayout | None:
    """The layout with an offset, or after the swizzle of fewest bits, whose offsets these are."""
    if int(values.min()) < 0:
        return None
    best: tuple[tuple[int, ...], ComposedLayout] | None = None
    for swizzle in (Swizzle(0, 0, 0), *swizzles(int(values.max()).bit_length())):
        if best is not None and swizzle.bits > best[0][0]:
            break
        unmixed = swizzle(values)
        offset = int(unmixed.flat[0])
        if not _plausible(unmixed - offset):
            continue
        inner = _plain(unmixed - offset)
        if isinstance(inner, Layout):
            cost = (swizzle.bits, len(leaves(inner.shape)), abs(swizzle.shift), swizzle.base, -swizzle.shift)
            if best is None or cost < best[0]:
                best = cost, ComposedLayout(swizzle, offset, inner)
    return None if best is None else best[1]


def _plausible(values: Table) -> bool:
    """False where the beginning of an axis already shows that it is no layout: a first run that does not divide it."""
    import numpy as np

    for axis in range(values.ndim):
        along = values[tuple(slice(None) if other == axis else 0 for other in range(values.ndim))]
        begin = along[:LOOKED_AHEAD]
        if len(begin) > 1:
            broken = np.nonzero(begin != np.arange(len(begin)) * begin[1])[0]
            if len(broken) and len(along) % int(broken[0]):
                return False
    return True


def _refuse(values: Table, index: tuple[int, ...], expected: int) -> NoReturn:
    at = index[0] if len(index) == 1 else index
    value = int(values[index])
    raise TableError(
        f"no layout has this table: at index {at} it is {value}, where the entries before it lead to {expected}; "
        f"nor has one with an offset and a swizzle S<B,M,S> after it",
        index,
        (value, expected),
    )
