"""`copy` between memory and fragments of whole matrices.

Law: a fragment is a tensor whose elements are matrices. Each is moved to or from what the first mode (rows, columns)
of the memory's tensor lays out, for each place of the other modes.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..errors import TensorError
from ..layout import Layout
from ..layout.values.above import numpy_later as np
from .bulk import step_of
from .engine import Array, Engine, check_writable
from .matrix import MatrixType, Window
from .tensor import Tensor


@runtime_checkable
class Windowed(Protocol):
    """Memory that gives and takes whole matrices by itself, as that of a kernel does."""

    def load_matrix(self, matrix: MatrixType, window: Window) -> Any: ...
    def store_matrix(self, value: Any, window: Window) -> None: ...


def copy_matrices(source: Tensor, target: Tensor) -> bool:
    """`copy` between matrix registers and memory; False, and nothing done, for what has no matrices or only such."""
    from_type, to_type = (kind if isinstance(kind, MatrixType) else None for kind in (source.dtype, target.dtype))
    if (from_type is None) == (to_type is None):
        return False
    if to_type is not None:
        for place, window in _windows("copy", source, target, to_type):
            target.engine.store(target.offset + place, _load(source.engine, to_type, window))
    elif from_type is not None:
        check_writable(target.engine)
        for place, window in _windows("copy", target, source, from_type):
            _store(target.engine, source.engine.load(source.offset + place), from_type, window)
    return True


def _load(engine: Engine, matrix: MatrixType, window: Window) -> Any:
    if isinstance(engine, Windowed):
        return engine.load_matrix(matrix, window)
    found: Array = engine.load(window.offset + window.table(matrix))
    return found.astype(matrix.element.numpy)


def _store(engine: Engine, value: Any, matrix: MatrixType, window: Window) -> None:
    if isinstance(engine, Windowed):
        engine.store_matrix(value, window)
    else:
        engine.store(window.offset + window.table(matrix), value)


def _windows(call: str, memory: Tensor, fragment: Tensor, matrix: MatrixType) -> list[tuple[int, Window]]:
    """For each matrix of the fragment its place there, and where it lies in `memory`."""
    text = f"{call} between {memory} and {fragment} ({matrix})"
    layout, held = memory.layout, fragment.layout
    if not isinstance(layout, Layout) or not isinstance(held, Layout) or memory.guard is not None:
        raise TensorError(
            f"{text}: a matrix is moved whole, by one stride; stage a swizzled tensor, or a tile that reaches beyond "
            "its tensor, in shared memory first"
        )
    if memory.dtype is not matrix.element and not (matrix.element.bits == 8 and memory.dtype.bits == 32):
        raise TensorError(f"{text}: the memory holds {memory.dtype}; a matrix is moved in its own type")
    outer, inner = (matrix.columns, matrix.rows) if matrix.role == "right" else (matrix.rows, matrix.columns)
    sizes = [mode.size for mode in layout[0]] if isinstance(layout[0].shape, tuple) else [layout[0].size]
    rests = [mode.size for mode in layout][1:], [mode.size for mode in held][1:]
    if sizes != [outer, inner] or rests[0] != rests[1] or held[0].size != 1:
        raise TensorError(
            f"{text}: a fragment has one matrix for each (rows, columns) of the first mode; "
            "take both from the partitions of one tiled MMA"
        )
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
    found = []
    for place in np.ndindex(*rests[0]):
        at = (0, *map(int, place))
        found.append((held(at), Window(memory.offset + layout(at), stride, by_columns)))
    return found
