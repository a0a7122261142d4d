"""`gpu.ragged`: the rows of a tensor from one number of the data to another, as a tensor."""

from __future__ import annotations

from ...errors import KernelError
from ...layout import Layout
from ...layout.values.int_tuple import moved
from ...tensor.dtypes import u32
from ...tensor.engine import Scalars
from ...tensor.guard import Guard, GuardAxis, index_along
from ...tensor.tensor import Tensor
from ..ir import Expr, as_expr, call, cast, in_type
from ..ir.place import user_place
from ..ir.simplify import simplify
from ..trace.sizes import as_value
from ..trace.state import current


def ragged(tensor: Tensor, start: Scalars, stop: Scalars) -> Tensor:
    """The elements of a tensor whose index along the first mode is from `start` on and below `stop`, numbers that are
    known on the GPU only: `rows[i, ...]` is `tensor[start + i, ...]`, and exists where `start + i < stop`.

    It is tiled, partitioned and copied like any other tensor. Its shape is that of `tensor`, and a guard keeps what is
    not there out: loads give 0, stores do nothing, also all of them where `stop` is not above `start`. Nor is anything
    behind the last row of `tensor`: so accesses are in bounds whatever the data are.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> from cutepy.layout import _
    >>> from cutepy.tensor import copy, local_partition, local_tile
    >>> @gpu.kernel
    ... def two_parts(x, offsets, y):
    ...     gpu.launch(grid=2, threads=4)
    ...     e = gpu.workgroup.x
    ...     rows = gpu.ragged(x, offsets[e], offsets[e + 1])
    ...     copy(local_partition(local_tile(rows, (4,), (0,)), (4,)), local_partition(y(e, _), (4,)))
    >>> x, y = np.arange(9, dtype=np.float32), np.zeros((2, 4), np.float32)
    >>> two_parts.interpret(x, np.array([2, 5, 9], np.uint32), y)
    >>> y.tolist()
    [[2.0, 3.0, 4.0, 0.0], [5.0, 6.0, 7.0, 8.0]]

    Raises KernelError for a first mode that is nested or swizzled, and for ends that are no whole numbers.
    """
    current("gpu.ragged")
    layout = tensor.layout
    if type(layout) is not Layout or not isinstance(layout.shape, tuple) or isinstance(layout.shape[0], tuple):
        raise KernelError(f"{user_place()}: gpu.ragged({tensor}, ...): its first mode is to be a plain one")
    first, last, rows = (_number(tensor, value) for value in (start, stop, layout.shape[0]))
    end = simplify(call("min", last, rows))
    at = (first, *(0,) * (layout.rank - 1))
    axis = GuardAxis(index_along(layout, (0,)), first, end)
    axes = [GuardAxis(a.layout, a.origin + a.layout(at), a.limit) for a in tensor.guard.axes] if tensor.guard else []
    return Tensor(tensor.engine, layout, moved(tensor.offset, layout(at)), Guard((axis, *axes)))


def _number(tensor: Tensor, value: Scalars) -> Expr:
    """An end of the rows as a u32."""
    found = in_type(as_value(value), u32)
    if isinstance(found, Expr) and found.dtype.kind not in "iu":
        raise KernelError(f"{user_place()}: gpu.ragged({tensor}, ...): {value!r} is no whole number")
    whole = as_expr(found, u32) if not isinstance(found, Expr) or found.dtype is u32 else cast(found, u32)
    return simplify(whole)
