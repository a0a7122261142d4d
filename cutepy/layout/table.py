"""Deciding by table: which layout, if any, a list of offsets is.

Imports `layout`; NumPy inside functions, for this is the slow path. Law of `modes_of_values`: the modes returned
reproduce the values exactly, and None means that no modes do. The leading extent of a coalesced layout is the length
p of its longest linear beginning, so p must divide the length, the blocks of p must differ by a constant each, and
the same holds of the blocks' first values; nothing has to be tried twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .int_tuple import IntTuple
from .layout import Layout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Broken:
    """Where values stop being a layout: the index, and what the values before it lead to there."""

    index: int
    expected: int


def modes_of_values(values: NDArray[np.int64]) -> tuple[list[int], list[int]] | Broken:
    """Extents and strides of the shortest layout with these values, or where they contradict every layout.

    >>> import numpy as np
    >>> modes_of_values(np.array([0, 1, 10, 11]))
    ([2, 2], [1, 10])
    >>> modes_of_values(np.array([0, 1, 2, 5]))
    Broken(index=3, expected=3)
    """
    import numpy as np

    if len(values) and values[0] != 0:
        return Broken(0, 0)
    extents: list[int] = []
    strides: list[int] = []
    scale = 1
    while len(values) > 1:
        step = int(values[1])
        broken = np.nonzero(values != np.arange(len(values)) * step)[0]
        if not len(broken):
            return [*extents, len(values)], [*strides, step]
        linear = int(broken[0])
        if len(values) % linear:
            return Broken(linear * scale, linear * step)
        blocks = values.reshape(-1, linear)
        wrong = np.nonzero((blocks - blocks[:, :1] != blocks[:1]).ravel())[0]
        if len(wrong):
            block, within = divmod(int(wrong[0]), linear)
            return Broken(int(wrong[0]) * scale, int(blocks[block, 0] + blocks[0, within]))
        extents.append(linear)
        strides.append(step)
        values = blocks[:, 0]
        scale *= linear
    return (extents, strides) if extents else ([1], [0])


def modes_of_table(outer: Layout, extent: int, step: int) -> tuple[list[int], list[int]] | None:
    """The modes of `x -> outer(step * x)` for x below `extent`, or None where it is not a layout."""
    found = modes_of_values(leaf_values(outer, extent, step))
    return None if isinstance(found, Broken) else found


def leaf_values(outer: Layout, extent: int, step: int) -> NDArray[np.int64]:
    """`outer(step * x)` for every x below `extent`."""
    import numpy as np

    return outer(np.arange(extent, dtype=np.int64) * step)


def digits_of(shape: list[int], extent: int, step: int) -> list[int]:
    """The greatest value of each digit of `step * x`, x below `extent`, in the mixed radix `shape` (last unbounded)."""
    import numpy as np

    index = np.arange(extent, dtype=np.int64) * step
    tops = []
    for radix in shape[:-1]:
        digit = index % radix
        tops.append(int(digit.max()) if step > 0 else radix)
        index //= radix
    return [*tops, int(np.abs(index).max())]


def additive_witness(outer: Layout, inner: Layout) -> tuple[int, ...] | None:
    """The first coordinate of the flat `inner` where `outer(sum)` is not the sum of the modes' values; None if none.

    >>> additive_witness(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3)))
    (2, 1)
    """
    import numpy as np

    from .int_tuple import leaves

    extents, steps = leaves(inner.shape), leaves(inner.stride)
    flat = Layout(tuple(extents), tuple(steps))
    whole = outer(flat.offsets())
    added = np.zeros((1,) * len(extents), np.int64)
    for axis, (extent, step) in enumerate(zip(extents, steps, strict=True)):
        added = added + leaf_values(outer, extent, step).reshape((-1,) + (1,) * (len(extents) - 1 - axis))
    wrong = np.nonzero((whole != added).ravel(order="F"))[0]
    if not len(wrong):
        return None
    return tuple(int(i) for i in np.unravel_index(int(wrong[0]), tuple(extents), order="F"))


def nested(flat: tuple[int, ...], shape: IntTuple) -> IntTuple:
    """A flat coordinate nested as `shape`."""
    from .int_tuple import fold_profile

    return fold_profile(iter(flat), shape)
