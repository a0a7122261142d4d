"""How the interpreter moves and combines matrices of a subgroup: all of its threads at once, or none.

Law: a matrix is an array (workgroups, subgroups, rows, columns). Who looks on sees each element accessed by one thread:
which one that is on a device nobody knows.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ..errors import KernelError
from ..tensor.matrix import MatrixType, Window
from . import ir
from .interpret_memory import Compute, Reach, Run, State, gather, scatter
from .ir.laws import Array


def by_subgroup(s: State, kind: MatrixType, place: str, what: str) -> Array | None:
    """Which subgroups are active, as (workgroups, subgroups, 1, 1); None if all are. Raises KernelError where some
    threads of one are and some are not, or where subgroups have another size."""
    threads = s.kernel.threads
    if s.subgroup_size != kind.threads or threads % kind.threads:
        raise KernelError(
            f"{_at(place)}kernel {s.kernel.name}: matrices of {kind.threads} threads in workgroups of {threads}, with "
            f"subgroups of {s.subgroup_size}"
        )
    if s.active is None:
        return None
    on = np.broadcast_to(s.active, s.shape).reshape(s.groups, -1, kind.threads)
    mixed = on.any(axis=2) & ~on.all(axis=2)
    if mixed.any():
        group, subgroup = map(int, np.argwhere(mixed)[0])
        raise KernelError(
            f"{_at(place)}kernel {s.kernel.name} {what} a matrix where subgroup {subgroup} of workgroup "
            f"{s.workgroup(group)} is parted: some of its threads come here, others do not; let all of them come"
        )
    return on[:, :, :1, None]


def agreed(s: State, kind: MatrixType, value: Array, place: str, what: str) -> Array:
    """What all threads of each active subgroup say, as (workgroups, subgroups)."""
    whole = np.broadcast_to(value, s.shape).reshape(s.groups, -1, kind.threads)
    differ = (whole != whole[:, :, :1]).any(axis=2)
    active = by_subgroup(s, kind, place, what)
    if active is not None:
        differ = differ & active[:, :, 0, 0]
    if differ.any():
        group, subgroup = map(int, np.argwhere(differ)[0])
        raise KernelError(
            f"{_at(place)}kernel {s.kernel.name} {what} a matrix at places that threads of subgroup {subgroup} of "
            f"workgroup {s.workgroup(group)} do not agree on; make the place of gpu.subgroup(), not of gpu.thread()"
        )
    found: Array = whole[:, :, 0]
    return found


def _at(place: str) -> str:
    return f"{place}: " if place else ""


def spread_out(s: State, reach: Reach, first: Array, kind: MatrixType, shape: tuple[int, bool]) -> Array:
    """The element of each (lane, workgroup, thread), checked to be inside the array; `first` is by subgroup, `shape`
    the steps of the matrix in memory and whether columns are contiguous."""
    stride, by_columns = shape
    packed = 4 if kind.element.bits == 8 else 1
    table = Window(0, stride, by_columns).table(kind)
    own = (table.T if by_columns else table).reshape(-1)[::packed] // packed
    at = first[:, :, None, None].astype(np.int64) // packed + own.reshape(kind.threads, -1)
    lanes: Array = np.moveaxis(at.reshape(s.groups, s.kernel.threads, -1), -1, 0)
    for lane in lanes:
        reach.elements(s, lane, s.active)
    return lanes


def watch_lanes(s: State, reach: Reach, lanes: Array, values: Callable[[], Array]) -> None:
    """Tell who looks on of each access."""
    if s.watch is not None:
        for lane in lanes:
            s.watch.access(s, reach, lane, s.active, values())


class Compiles(Protocol):
    """What makes functions of expressions: the interpreter's compiler."""

    @property
    def kernel(self) -> ir.Kernel: ...
    def expr(self, value: ir.Expr) -> Compute: ...


def load_matrix(c: Compiles, node: ir.MatrixLoad) -> Compute:
    buffer, index, kind = node.buffer, c.expr(node.index), node.dtype
    assert isinstance(kind, MatrixType)
    reach = Reach(c.kernel, buffer, 1, node.place, "reads", node.index)

    def read(s: State) -> Array:
        first = agreed(s, kind, index(s), node.place, "loads")
        lanes = spread_out(s, reach, first, kind, (node.stride, node.by_columns))
        lanes = lanes if s.active is None else np.where(s.active, lanes, 0)
        found = np.stack([np.broadcast_to(gather(s, buffer, lane, 1), s.shape) for lane in lanes])
        watch_lanes(s, reach, lanes, lambda: found[0])
        flat = np.moveaxis(found, 0, -1).reshape(s.groups, s.kernel.threads // kind.threads, -1)
        if kind.element.bits == 8:
            flat = np.ascontiguousarray(flat).view(kind.element.numpy)
        shape = (kind.columns, kind.rows) if node.by_columns else (kind.rows, kind.columns)
        whole = flat.reshape(*flat.shape[:2], *shape)
        return whole.swapaxes(2, 3) if node.by_columns else whole

    return read


def call_matrix(c: Compiles, node: ir.MatrixCall) -> Compute:
    law, kind, operands = ir.meaning(node), node.dtype, [c.expr(x) for x in node.operands]
    assert law is not None and isinstance(kind, MatrixType)

    def compute(s: State) -> Array:
        by_subgroup(s, kind, node.place, "computes")
        return law(*[x(s) for x in operands])

    return compute


def store_matrix(c: Compiles, stmt: ir.MatrixStore) -> Run:
    buffer, index, value, kind = stmt.buffer, c.expr(stmt.index), c.expr(stmt.value), stmt.value.dtype
    assert isinstance(kind, MatrixType)
    reach = Reach(c.kernel, buffer, 1, stmt.place, "writes", stmt.index)

    def write(s: State) -> None:
        first = agreed(s, kind, index(s), stmt.place, "stores")
        lanes = spread_out(s, reach, first, kind, (stmt.stride, stmt.by_columns))
        held = np.broadcast_to(value(s), (s.groups, first.shape[1], kind.rows, kind.columns))
        flat = (held.swapaxes(2, 3) if stmt.by_columns else held).reshape(s.groups, s.kernel.threads, -1)
        put = np.moveaxis(flat, -1, 0)
        watch_lanes(s, reach, lanes, lambda: put[0])
        for lane, each in zip(lanes, put, strict=True):
            scatter(s, buffer, lane, each, 1)

    return write
