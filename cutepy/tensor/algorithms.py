"""Algorithms over tensors, written once: arrays are computed at once, kernel traces emit code.

Law: each reads all elements it needs, computes, and writes; element i of one tensor meets
element i of the other in colexicographic order. Values are arrays of numbers, or arrays of expressions, and the same
arithmetic serves both. The elements of a fragment of a tiled MMA may be whole matrices: `copy` moves each to or from
what the first mode (rows, columns) of the memory's tensor lays out, for each place of the other modes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, overload

from ..errors import TensorError, shown
from ..layout import Layout, coalesce
from ..layout import elem_less as elem_less_of
from ..layout.algebra.rearrange import coalesced
from ..layout.values.int_tuple import IntTuple, leaves, moved
from ..lazy import numpy as np
from .bulk import (
    check_overlap,
    common_refinement,
    computed,
    coordinate_tables,
    copy_blocks,
    load_all,
    mask_table,
    mode_sizes,
    places,
    step_of,
    store_all,
    strided_layout,
    strided_view,
)
from .dtypes import MatrixType, Window, bool_
from .engine import Array, CoordinateEngine, Engine, Scalars, ViewEngine, check_writable, current_thread, offset_of
from .guard import below, both
from .tensor import Tensor, expect_tensors


def copy(source: Tensor, target: Tensor) -> None:
    """`target[i] = source[i]` for every i: the shapes may differ, as in a reshape, the sizes may not.

    Between memory and a fragment of whole matrices, as a tiled MMA of subgroups makes it, each matrix moves as a whole.

    >>> from cutepy.tensor import make_tensor
    >>> A, B = make_tensor(np.arange(6, dtype=np.float32), (2, 3)), make_tensor("f32", (3, 2), (2, 1))
    >>> copy(A, B)
    >>> B.numpy().tolist()
    [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]

    Elements outside the guard of `source` are written as 0, those outside the guard of `target` are not written.
    Raises TensorError if sizes differ, the tensors overlap, the target is read-only or its type cannot hold the values.
    Source: CuTe, `algorithm/copy.hpp`.
    """
    if copy_matrices(source, target):
        return
    _check_pair("copy", source, target)
    _check_types("copy", source, target)
    # Both strided: pair their modes and let NumPy copy, without a table of offsets.
    one, other = strided_layout(source), strided_layout(target)
    # no value of the source has to be looked at, unless it may be out of range in another type of integers
    fits = target.dtype.kind not in "iub" or np.can_cast(source.dtype.numpy, target.dtype.numpy)
    if one is not None and other is not None and source.size and fits:
        pairing = common_refinement(one, other)
        if pairing is not None:
            shape, from_stride, to_stride = pairing
            from_view = strided_view(source.engine, source.offset, shape, from_stride)
            with np.errstate(over="ignore"):  # infinity, as where values are stored one by one
                copy_blocks(from_view, strided_view(target.engine, target.offset, shape, to_stride))
            return
    store_all(target, _shaped(load_all(source), target))


def copy_if(predicate: Tensor | Array, source: Tensor, target: Tensor) -> None:
    """`copy` where `predicate[i]` holds; elsewhere `source` is not read and `target` not written.

    >>> from cutepy.tensor import make_tensor
    >>> x, y = (make_tensor(np.full(3, v, np.float32)) for v in (2, 10))
    >>> copy_if(np.array([True, False, True]), x, y)
    >>> y.numpy().tolist()
    [2.0, 10.0, 2.0]

    Raises as `copy`, and where the predicate has another size. Source: CuTe, `algorithm/copy.hpp`.
    """
    _check_pair("copy_if", source, target)
    _check_types("copy_if", source, target)
    chosen = load_all(predicate) if isinstance(predicate, Tensor) else np.asarray(predicate)
    if chosen.size != source.size:
        raise TensorError(f"copy_if: the predicate has {chosen.size} entries, {source} has {source.size}")
    # Read only where both the guard and the predicate hold.
    mask = both(mask_table(source), chosen.reshape(mode_sizes(source), order="F"))
    values = source.engine.load(places(source), mask)
    store_all(target, _shaped(values, target), chosen.reshape(mode_sizes(target), order="F"))


def fill(tensor: Tensor, value: Scalars) -> None:
    """Write `value` to every element.

    >>> from cutepy.tensor import make_tensor
    >>> x = make_tensor("f32", (2, 2))
    >>> fill(x, 3)
    >>> x.numpy().tolist()
    [[3.0, 3.0], [3.0, 3.0]]

    Raises TensorError for a read-only tensor and a value that its type cannot hold. Source: CuTe, `algorithm/fill.hpp`.
    """
    expect_tensors("fill", tensor)
    store_all(tensor, value)


def clear(tensor: Tensor) -> None:
    """Write 0 to every element.

    >>> from cutepy.tensor import make_tensor
    >>> x = make_tensor(np.ones(3, np.float32))
    >>> clear(x)
    >>> x.numpy().tolist()
    [0.0, 0.0, 0.0]

    Raises TensorError for a read-only tensor. Source: CuTe, `algorithm/clear.hpp`.
    """
    fill(tensor, 0)


def axpby(alpha: Scalars, x: Tensor, beta: Scalars, y: Tensor) -> None:
    """`y[i] = alpha * x[i] + beta * y[i]`; where `beta` is the number 0, y is not read.

    >>> from cutepy.tensor import make_tensor
    >>> x, y = (make_tensor(np.full(3, v, np.float32)) for v in (2, 10))
    >>> axpby(3, x, 0.5, y)
    >>> y.numpy().tolist()
    [11.0, 11.0, 11.0]

    Raises as `copy`. Source: CuTe, `algorithm/axpby.hpp`.
    """
    _check_pair("axpby", x, y)
    _check_types("axpby", x, y)
    # beta == 0 must not read y: it may be uninitialised or NaN (BLAS).
    total = _times(alpha, _shaped(computed(x), y))
    if not (isinstance(beta, (int, float)) and beta == 0):
        total = total + _times(beta, computed(y))
    store_all(y, total)


def transform(*tensors: Tensor, op: Callable[..., Scalars]) -> None:
    """`target[i] = op(source[i], ...)`: the last tensor is the target, and with one tensor its own source.

    On arrays `op` is called once, with whole arrays; under a kernel trace once for every element. The target must hold
    what `op` gives; the types of the sources do not matter. The elements of an identity tensor are coordinates, tuples.

    >>> from cutepy.tensor import make_tensor
    >>> x = make_tensor(np.arange(4, dtype=np.float32))
    >>> transform(x, op=lambda v: v * v)
    >>> x.numpy().tolist()
    [0.0, 1.0, 4.0, 9.0]

    Raises as `copy`. Source: CuTe, `algorithm/tensor_algorithms.hpp`.
    """
    if not tensors:
        raise TensorError("transform: give a target, and before it the sources")
    target = tensors[-1]
    sources = tensors[:-1] or tensors
    for source in sources:
        _check_pair("transform", source, target)
    # the elements; of an identity tensor each entry of the coordinates
    tables_of = [coordinate_tables(s) if isinstance(s.engine, CoordinateEngine) else [computed(s)] for s in sources]
    values = [tuple([_shaped(table, target) for table in tables]) for tables in tables_of]
    # Under a trace: call op once per element, with coordinates as tuples.
    if any(entry.dtype == object for entries in values for entry in entries):
        values = [(np.frompyfunc(lambda *crd: crd, len(v), 1)(*v),) if len(v) > 1 else v for v in values]
        store_all(target, _of_each(op, [entries[0] for entries in values]))
        return
    store_all(target, op(*[entries if len(entries) > 1 else entries[0] for entries in values]))


def _of_each(op: Callable[..., Any], arrays: Sequence[np.ndarray]) -> np.ndarray:
    """`op` of the entries of arrays of objects, one call each: any number of them, where a ufunc takes 64 at most."""
    shape = np.broadcast_shapes(*[array.shape for array in arrays])
    found = np.empty(shape, object)
    for at, entries in enumerate(zip(*[np.broadcast_to(array, shape).flat for array in arrays], strict=True)):
        found.flat[at] = op(*entries)
    return found


def _expect_function(call: str, op: object) -> None:
    if not callable(op):
        raise TensorError(f"{call}: op is {shown(op)}; give a function of two elements, as np.add")


def reduce(tensor: Tensor, init: Scalars, op: Callable[[Any, Any], Scalars]) -> Any:
    """`op(...op(op(init, t[0]), t[1])...)`: a fold from the left, in colexicographic order.

    Any `op` is right here, also one that treats its operands differently: this is a sum of squares.

    >>> from cutepy.tensor import make_tensor
    >>> print(reduce(make_tensor(np.arange(5, dtype=np.float32)), 0, lambda total, v: total + v * v))
    30.0

    f16 is combined in f32; elements outside a guard count 0. For sums `reduce_tree` is faster and more exact.
    Source: CuTe, `algorithm/tensor_reduce.hpp`.

    Raises TensorError where `op` cannot be called.
    """
    expect_tensors("reduce", tensor)
    _expect_function("reduce", op)
    values = computed(tensor).ravel(order="F")
    with np.errstate(over="ignore") if values.dtype.kind in "iu" else nullcontext():  # integers wrap, as in arrays
        for value in values:
            init = op(init, value)
    return init


def reduce_tree(tensor: Tensor, init: Scalars | None, op: Callable[[Any, Any], Scalars]) -> Any:
    """`reduce` for an associative `op`: neighbours are combined first, then neighbouring pairs, and `init` last, where
    it is not None.

    The operations do not wait for one another, and rounding grows with the depth of the tree alone: kernels sum so.
    On arrays `op` takes whole arrays.

    >>> from cutepy.tensor import make_tensor
    >>> print(reduce_tree(make_tensor(np.arange(5, dtype=np.float32)), 0, np.add))
    10.0

    f16 is combined in f32.

    The tensor may have any shape. Raises TensorError where `op` cannot be called.
    """
    expect_tensors("reduce_tree", tensor)
    _expect_function("reduce_tree", op)
    values = computed(tensor).ravel(order="F")
    combine = np.frompyfunc(op, 2, 1) if values.dtype == object else op
    # Pairwise: depth log2(n). An odd value is carried to the next level.
    while len(values) > 1:
        half = len(values) // 2
        left = values[2 * half :]
        paired = np.asarray(combine(values[0 : 2 * half : 2], values[1 : 2 * half : 2]))
        values = np.concatenate([paired, left])
    if init is None and len(values):
        return values[0]
    return op(init, values[0]) if len(values) else init


def cooperative_copy(threads: int, source: Tensor, target: Tensor, *, thread: Scalars | None = None) -> None:
    """The share of `copy(source, target)` of one among `threads` threads, the kernel's own by default.

    Threads take turns at runs of up to 4 elements that lie side by side in both tensors; all of them together copy each
    element once, also where their number does not divide the size.

    >>> from cutepy.tensor import make_tensor
    >>> A, B = make_tensor(np.arange(10, dtype=np.float32)), make_tensor("f32", 10)
    >>> cooperative_copy(2, A, B, thread=1)
    >>> B.numpy().tolist()
    [0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 6.0, 7.0, 0.0, 0.0]

    Raises as `copy`. Source: CuTe, `algorithm/cooperative_copy.hpp`.
    """
    _check_pair("cooperative_copy", source, target)
    index = current_thread(f"cooperative_copy({threads}, ...)", threads, thread)
    # Runs of up to 4 elements, dealt to threads round robin: thread t copies runs t, t + threads, ...
    run = _common_run(source, target)
    rounds = -(-source.size // (run * threads))
    step = np.arange(run)[:, None] + np.arange(rounds) * (run * threads)
    index_table = np.asarray(index * run + step)
    # Only the last round can go beyond the end.
    exists = below(index_table, source.size) if rounds * run * threads > source.size else None
    (read, readable), (written, writable) = (_at(tensor, index_table, exists) for tensor in (source, target))
    target.engine.store(written, source.engine.load(read, readable), writable)


@overload
def elem_less(coordinates: Tensor, limits: IntTuple) -> Tensor: ...
@overload
def elem_less(coordinates: IntTuple, limits: IntTuple) -> bool: ...
def elem_less(coordinates: Tensor | IntTuple, limits: IntTuple) -> Tensor | bool:
    """Whether each entry of a coordinate is below its limit: for one, or the tensor of it for a tensor of them.

    >>> from cutepy.tensor import local_tile, make_identity_tensor
    >>> tile = local_tile(make_identity_tensor((5, 3)), (4, 2), (1, 1))
    >>> elem_less(tile, (5, 3)).numpy().tolist()
    [[True, False], [False, False], [False, False], [False, False]]
    >>> elem_less((3, 4), (5, 6))
    True

    Raises TensorError unless `limits` has one entry for each of a coordinate. Source: CuTe, `int_tuple.hpp`.
    """
    if isinstance(coordinates, (int, tuple)):
        return elem_less_of(coordinates, limits)
    expect_tensors("elem_less", coordinates)
    if not isinstance(coordinates.engine, CoordinateEngine):
        raise TensorError(f"elem_less({coordinates}, {limits}): the first operand is no identity tensor")
    tables, tops = coordinate_tables(coordinates), leaves(limits)
    if len(tables) != len(tops):
        raise TensorError(f"elem_less({coordinates}, {limits}): a coordinate has {len(tables)} entries")
    below_all: Any = None
    # AND over the axes of the coordinate.
    for table, top in zip(tables, tops, strict=True):
        below_all = both(below_all, below(table, top))
    sizes = mode_sizes(coordinates)
    memory = np.broadcast_to(below_all, sizes).ravel(order="F")
    return Tensor(ViewEngine(memory, bool_, name="predicate"), Layout(sizes if coordinates.rank else ()))


def _common_run(source: Tensor, target: Tensor) -> int:
    """How many neighbours, of 4, 2 or 1, lie side by side in both layouts wherever such a run begins."""
    run = 4
    for tensor in (source, target):
        if not isinstance(tensor.layout, Layout):
            return 1
        shape, stride = coalesced(tensor.layout)
        dense = shape[0] if stride and stride[0] == 1 else 1
        # A run must divide the contiguous extent, so that it never straddles two of them.
        while run > 1 and (dense % run or source.size % run):
            run //= 2
    return run


def _at(tensor: Tensor, index: Array, exists: Array | None) -> tuple[Any, Array | None]:
    """The offsets of the elements number `index`, and the mask of those that exist."""
    layout = coalesce(tensor.layout) if isinstance(tensor.layout, Layout) else tensor.layout
    inside = exists
    # Indices beyond the end are clamped to 0 and masked out.
    safe_index = index if exists is None or index.dtype == object else np.where(exists, index, 0)
    if tensor.guard is not None:
        for axis in tensor.guard.axes:
            along = np.asarray(axis.origin + offset_of(axis.layout, safe_index))
            inside = both(inside, below(along, axis.limit))
    place = moved(tensor.offset, offset_of(layout, safe_index))
    return place if isinstance(place, tuple) else np.asarray(place), inside


def _check_pair(call: str, source: Tensor, target: Tensor) -> None:
    """Raises TensorError unless both are tensors of one size, the target is writable and they do not overlap."""
    expect_tensors(call, source, target)
    if source.size != target.size:
        raise TensorError(
            f"{call}({source}, {target}): the sizes {source.size} and {target.size} differ; slice or tile one of them"
        )
    check_writable(target.engine)
    check_overlap(call, source, target)


def _check_types(call: str, source: Tensor, target: Tensor) -> None:
    if source.dtype is not target.dtype and not np.can_cast(source.dtype.numpy, target.dtype.numpy, "same_kind"):
        raise TensorError(
            f"{call}({source}, {target}): {target.dtype} cannot hold {source.dtype} values; convert them with transform"
        )


def _shaped(values: Array, like: Tensor) -> Array:
    """`values` in colexicographic order, shaped as the modes of `like`."""
    sizes = mode_sizes(like)
    return values if values.shape == sizes else values.reshape(sizes, order="F")


def _times(factor: Scalars, values: Array) -> Array:
    """`factor * values`; TensorError where a Python number is too large for the type of the values."""
    if isinstance(factor, (int, float)) and factor == 1:
        return values
    try:
        product: Array = factor * values
        return product
    except OverflowError as error:
        raise TensorError(f"axpby: {error}; use a NumPy scalar, whose type the product takes") from error


def copy_matrices(source: Tensor, target: Tensor) -> bool:
    """`copy` between matrix registers and memory; False, and nothing done, for what has no matrices or only such."""
    from_type, to_type = (kind if isinstance(kind, MatrixType) else None for kind in (source.dtype, target.dtype))
    if (from_type is None) == (to_type is None):
        return False
    if to_type is not None:
        for register, window in _windows(source, target, to_type):
            target.engine.store(target.offset + register, _load(source.engine, to_type, window))
    elif from_type is not None:
        check_writable(target.engine)
        for register, window in _windows(target, source, from_type):
            _store(target.engine, source.engine.load(source.offset + register), from_type, window)
    return True


def _load(engine: Engine, matrix: MatrixType, window: Window) -> Any:
    if (offered := getattr(engine, "load_matrix", None)) is not None:
        return offered(matrix, window)
    return engine.load(window.offset + window.table(matrix)).astype(matrix.element.numpy)


def _store(engine: Engine, value: Any, matrix: MatrixType, window: Window) -> None:
    if (offered := getattr(engine, "store_matrix", None)) is not None:
        offered(value, window)
    else:
        engine.store(window.offset + window.table(matrix), value)


def _windows(memory: Tensor, fragment: Tensor, matrix: MatrixType) -> list[tuple[int, Window]]:
    """For each matrix of the fragment its place there, and where it lies in `memory`."""
    text = f"copy between {memory} and {fragment} ({matrix})"
    layout, held = memory.layout, fragment.layout
    if not isinstance(layout, Layout) or not isinstance(held, Layout) or memory.guard is not None:
        raise TensorError(
            f"{text}: a matrix is moved whole, by one stride; stage a swizzled tensor, or a tile that reaches beyond "
            "its tensor, in shared memory first"
        )
    if memory.dtype is not matrix.element and not (matrix.element.bits == 8 and memory.dtype.bits == 32):
        raise TensorError(f"{text}: the memory holds {memory.dtype}; a matrix is moved in its own type")
    # B is stored as (N, K) and multiplied as (K, N): its modes are exchanged.
    outer, inner = (matrix.columns, matrix.rows) if matrix.role == "right" else (matrix.rows, matrix.columns)
    sizes = [mode.size for mode in layout[0]] if isinstance(layout[0].shape, tuple) else [layout[0].size]
    rests = [mode.size for mode in layout][1:], [mode.size for mode in held][1:]
    if sizes != [outer, inner] or rests[0] != rests[1] or held[0].size != 1:
        raise TensorError(
            f"{text}: a fragment has one matrix for each (rows, columns) of the first mode; "
            "take both from the partitions of one tiled MMA"
        )
    # One of the two strides must be 1; the other is the stride between runs.
    steps = [step_of(mode) for mode in layout[0]]
    row_step, column_step = (steps[1], steps[0]) if matrix.role == "right" else (steps[0], steps[1])
    if 1 not in (row_step, column_step) or None in (row_step, column_step):
        raise TensorError(
            f"{text}: rows or columns of a matrix lie side by side in memory, {layout[0]} has neither; "
            "stage it in shared memory with one stride 1"
        )
    by_columns = column_step != 1
    stride = column_step if by_columns else row_step
    assert isinstance(stride, int)
    least = matrix.rows if by_columns else matrix.columns
    if stride < least:
        raise TensorError(f"{text}: a stride of {stride} lets matrices of {least} side by side overlap themselves")
    windows = []
    for position in np.ndindex(*rests[0]):
        at = (0, *map(int, position))
        windows.append((held(at), Window(memory.offset + layout(at), stride, by_columns)))
    return windows
