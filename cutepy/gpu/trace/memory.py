"""Memory that a kernel owns: arrays of a workgroup, registers of a thread."""

from __future__ import annotations

from ...tensor.dtypes import DType, MatrixType, c64, f32
from ...tensor.engine import Engine
from ...tensor.packed import words_as
from ..ir import AddressSpace
from .engine import BufferEngine
from .source import assigned_name
from .state import Trace


def owned_memory(trace: Trace, dtype: DType, length: int, space: AddressSpace, name: str, note: str = "") -> Engine:
    """An array of the kernel; complex numbers are pairs in it."""
    pairs = dtype is c64
    buffer = trace.local_array(f32 if pairs else dtype, length << pairs, space, name, note)
    engine = BufferEngine(trace, buffer)
    return words_as(engine, dtype) if pairs else engine


def allocate(trace: Trace, dtype: DType, length: int, name: str) -> Engine:
    """Registers for an owning tensor: what `make_fragment_like` gets inside a kernel."""
    if isinstance(dtype, MatrixType):
        trace.lanes = max(trace.lanes, dtype.threads)
    register = dtype if isinstance(dtype, MatrixType) else dtype.register
    return owned_memory(trace, register, length, AddressSpace.PRIVATE, name or assigned_name("fragment"))
