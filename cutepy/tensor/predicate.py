"""Predicates: which coordinates of an identity tensor lie within limits.

Law: an identity tensor tiled and sliced like the data tells where each element of a tile is,
so comparing it with the shape of the data tells which elements exist; `copy_if` takes the answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import TensorError
from ..layout import Layout
from ..layout.values.int_tuple import IntTuple, leaves
from .bulk import coordinate_tables, mode_sizes
from .dtypes import bool_
from .engine import CoordinateEngine, ViewEngine
from .guard import below, both
from .tensor import Tensor, expect_tensors


def elem_less(coordinates: Tensor, limits: IntTuple) -> Tensor:
    """The tensor of whether each entry of each coordinate is below its limit.

    >>> from cutepy.tensor import local_tile, make_identity_tensor
    >>> tile = local_tile(make_identity_tensor((5, 3)), (4, 2), (1, 1))
    >>> elem_less(tile, (5, 3)).numpy().tolist()
    [[True, False], [False, False], [False, False], [False, False]]

    Raises TensorError unless `limits` has one entry for each of a coordinate. Source: CuTe, `int_tuple.hpp`.
    """
    expect_tensors("elem_less", coordinates)
    if not isinstance(coordinates.engine, CoordinateEngine):
        raise TensorError(f"elem_less({coordinates}, {limits}): the first operand is no identity tensor")
    tables, tops = coordinate_tables(coordinates), leaves(limits)
    if len(tables) != len(tops):
        raise TensorError(f"elem_less({coordinates}, {limits}): a coordinate has {len(tables)} entries")
    found: Any = None
    for table, top in zip(tables, tops, strict=True):
        found = both(found, below(table, top))
    sizes = mode_sizes(coordinates)
    memory = np.broadcast_to(found, sizes).ravel(order="F")
    return Tensor(ViewEngine(memory, bool_, name="predicate"), Layout(sizes if coordinates.rank else ()))
