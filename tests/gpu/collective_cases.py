"""Kernels of what a workgroup does together, and NumPy's answers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cutepy import gpu
from cutepy.layout import _
from cutepy.tensor import Tensor, TiledMMA, copy, make_fragment_like, make_tensor, transform

Array = np.ndarray[Any, Any]
NUMPY: dict[str, Callable[[Array], Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "any": lambda x: np.any(x != 0),
    "all": lambda x: np.all(x != 0),
}
SCANS: dict[str, Any] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


@gpu.kernel
def reduced(x: Tensor, out: Tensor, *, op: object, rows: int) -> None:
    """out[r, t] = the fold of row r, `rows` rows a workgroup, in every thread."""
    count, threads, values = x.shape
    gpu.launch(grid=count // rows, threads=threads)
    for i in gpu.loop(rows):
        row = gpu.workgroup.x * rows + i
        mine = make_tensor(x.dtype, (values,))
        for j in gpu.unroll(values):
            mine[j] = x[row, gpu.thread, j]
        found = gpu.workgroup_reduce(mine if values > 1 else mine[0], op)
        out[row, gpu.thread] = gpu.cast(found, out.dtype)


@gpu.kernel
def scanned(x: Tensor, out: Tensor, *, op: object, exclusive: bool) -> None:
    """out[r] = the scan of row r."""
    count, threads, values = x.shape
    gpu.launch(grid=count, threads=threads)
    mine = make_tensor(x.dtype, (values,))
    for j in gpu.unroll(values):
        mine[j] = x[gpu.workgroup.x, gpu.thread, j]
    if values > 1:
        found = gpu.workgroup_scan(mine, op, exclusive=exclusive)
        for j in gpu.unroll(values):
            out[gpu.workgroup.x, gpu.thread, j] = found[j]
    else:
        out[gpu.workgroup.x, gpu.thread, 0] = gpu.workgroup_scan(mine[0], op, exclusive=exclusive)


@gpu.kernel
def handed_on(x: Tensor, out: Tensor, last: Tensor, *, op: object, exclusive: bool) -> None:
    """out = the scan of the rows of x one after the other, from 2 on; last[t] = what comes after them."""
    count, threads, values = x.shape
    gpu.launch(threads=threads)
    carry = gpu.constant(2, x.dtype)
    mine = make_tensor(x.dtype, (values,))
    for r in gpu.loop(count):
        copy(x(r, gpu.thread, _), mine)
        found, carry = gpu.workgroup_scan(mine, op, exclusive=exclusive, carry=carry)
        copy(found, out(r, gpu.thread, _))
    last[gpu.thread] = carry


@gpu.kernel
def searched(x: Tensor, best: Tensor, at: Tensor, *, greatest: bool) -> None:
    count, threads, values = x.shape
    gpu.launch(grid=count, threads=threads)
    mine = make_tensor(x.dtype, (values,))
    for j in gpu.unroll(values):
        mine[j] = x[gpu.workgroup.x, gpu.thread, j]
    find = gpu.workgroup_argmax if greatest else gpu.workgroup_argmin
    value, place = find(mine)
    best[gpu.workgroup.x, gpu.thread] = value
    at[gpu.workgroup.x, gpu.thread] = place


@gpu.kernel
def moments(x: Tensor, out: Tensor) -> None:
    """out[r, t] = (count, mean, squares) of row r, by Chan's way of joining two."""
    count, threads = x.shape
    gpu.launch(grid=count, threads=threads)
    v = x[gpu.workgroup.x, gpu.thread]
    found = gpu.workgroup_reduce((gpu.constant(1.0, "f32"), v, gpu.constant(0.0, "f32")), joined)
    for j in gpu.unroll(3):
        out[gpu.workgroup.x, gpu.thread, j] = found[j]


def joined(a: tuple[Any, Any, Any], b: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    n, apart = a[0] + b[0], b[1] - a[1]
    return n, a[1] + apart * b[0] / n, a[2] + b[2] + apart * apart * a[0] * b[0] / n


@gpu.kernel
def votes(x: Tensor, out: Tensor) -> None:
    """out[t] = any, all, the four words of a ballot, and lane 2's element."""
    gpu.launch(grid=1, threads=x.size)
    v = x[gpu.thread]
    words = gpu.subgroup_ballot(v > 4)
    said = gpu.subgroup_any(v > 7), gpu.subgroup_all(v > 0)
    for j, word in enumerate(words):
        out[gpu.thread, j] = word
    for j, one in enumerate(said):
        out[gpu.thread, 4 + j] = gpu.cast(one, "u32")
    out[gpu.thread, 6] = gpu.subgroup_broadcast(v, 2)


def voted(x: Array, size: int) -> Array:
    """What `votes` finds."""
    out = np.zeros((len(x), 7), np.uint32)
    for start in range(0, len(x), size):
        part = x[start : start + size]
        bits = sum(1 << i for i, v in enumerate(part) if v > 4)
        row = [bits >> 32 * j & 0xFFFFFFFF for j in range(4)]
        out[start : start + size] = [*row, (part > 7).any(), (part > 0).all(), part[2]]
    return out


def data(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Small numbers, with ties; of floats now and then a NaN, an infinity or a -0.0."""
    g = np.random.default_rng(seed)
    found = g.integers(0 if dtype.startswith("u") else -3, 4, shape).astype(dtype)
    if dtype.startswith("f"):
        odd = g.choice([np.nan, np.inf, -np.inf, -0.0], shape)
        found = np.where(g.random(shape) < 0.02, odd, found).astype(dtype)
    return found


@gpu.kernel
def folded_tile(x: Tensor, out: Tensor, *, mma: TiledMMA, op: object, columns: bool, lanes: int) -> None:
    """out = what the row (or column) of each element of x is folded to."""
    gpu.launch(grid=1, threads=mma.threads)
    source, target = mma.partition_C(x), mma.partition_C(out)
    if mma.atom.shape == (1, 1, 1):
        source, target = source(0, _, _), target(0, _, _)
    acc = make_fragment_like(source)
    copy(source, acc)
    for _turn in gpu.loop(2):
        found = (gpu.reduce_columns if columns else gpu.reduce_rows)(acc, mma, op, lanes=lanes)
        transform(found, acc, op=lambda v: v)
    copy(acc, target)
