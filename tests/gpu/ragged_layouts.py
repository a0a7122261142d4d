"""Random ragged layouts: rows from one number to another, empty, single, overlapping, backwards or beyond the end.

Law: for data that are as stated, the interpreter and a device compute what NumPy does, and the kernel is proven. For
data that are not, interpreter and check say so; a device writes nothing outside. Rows that may be written twice are
refuted, by data that the interpreter sees two threads meet on.
"""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError, VerificationError
from cutepy.gpu.verify import Claim, Status
from cutepy.layout import Layout, _, size
from cutepy.tensor import axpby, copy, local_partition, local_tile, make_tensor

Array = np.ndarray
CANARY = 77


@gpu.kernel(sizes="known")
def double_rows(x, offsets, y, *, tile, threads, ascending=True):
    """y[rows of e] = 2 * x[rows of e], a tile of rows at a time."""
    gpu.launch(grid=size(offsets) - 1, threads=threads[0] * threads[1])
    gpu.assume(offsets, bounds=(0, size(x, 0) + 1))
    if ascending:
        gpu.assume(offsets, ascending=True)
    e, share = gpu.workgroup.x, Layout(threads, (threads[1], 1))
    stop = offsets[e + 1]
    for row in gpu.loop(stop, start=offsets[e], step=tile):
        source, target = (
            local_partition(local_tile(gpu.ragged(t, row, stop), (tile, size(x, 1)), (0, 0)), share) for t in (x, y)
        )
        axpby(2, source, 0, target)


@gpu.kernel(sizes="known")
def sum_rows(x, starts, stops, out, *, tile):
    """out[e] = the sum of the rows of e, which may be those of another, too; thread c adds up column c."""
    gpu.launch(grid=size(starts), threads=size(x, 1))
    gpu.assume(stops, bounds=(0, size(x, 0) + 1))
    e = gpu.workgroup.x
    total, part = gpu.constant(0, x.dtype), make_tensor(x.dtype, tile)
    for row in gpu.loop(stops[e], start=starts[e], step=tile):
        copy(local_tile(gpu.ragged(x, row, stops[e])(_, gpu.thread), (tile,), (0,)), part)
        for i in gpu.unroll(tile):
            total = total + part[i]
    out[e, gpu.thread] = total


@gpu.kernel(sizes="known")
def number_rows(starts, stops, y, *, tile):
    """y[rows of e] = e, rows that others may have too; thread c writes column c."""
    gpu.launch(grid=size(starts), threads=size(y, 1))
    gpu.assume(stops, bounds=(0, size(y, 0) + 1))
    e, own = gpu.workgroup.x, make_tensor(y.dtype, tile)
    for i in gpu.unroll(tile):
        own[i] = gpu.cast(e, y.dtype)
    for row in gpu.loop(stops[e], start=starts[e], step=tile):
        copy(own, local_tile(gpu.ragged(y, row, stops[e])(_, gpu.thread), (tile,), (0,)))


def layout_of(rng: np.random.Generator, rows: int, width: int) -> Array:
    """A matrix of numbers, packed, with gaps between its rows, or column by column, alone in its memory or not."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(0, 9, (rows, width)).astype(np.float32)
    if kind == 1:
        return rng.integers(0, 9, (rows, width + 4)).astype(np.float32)[:, :width]
    if kind == 2:
        return rng.integers(0, 9, (width, rows)).astype(np.float32).T
    return rng.integers(0, 9, (rows + 4, width)).astype(np.float32)[2 : rows + 2]


def around(like: Array, gap: int) -> tuple[Array, Array]:
    """Memory of 77s, and a part of it that is to be written, with the shape of `like`, and gaps between its rows."""
    whole = np.full((like.shape[0] + 4, like.shape[1] + gap), CANARY, np.float32)
    return whole, whole[2:-2, : like.shape[1]]


def kept(whole: Array, y: Array) -> bool:
    """Whether nothing but the part was written."""
    rest = whole.copy()
    rest[2:-2, : y.shape[1]] = CANARY
    return bool((rest == CANARY).all())


def offsets_of(rng: np.random.Generator, rows: int, count: int) -> Array:
    """A cut of rows into segments: some empty, some of one row, perhaps not all rows."""
    ends = np.sort(rng.integers(0, rows + 1, count + 1))
    if rng.integers(2):
        ends[0], ends[-1] = 0, rows
    if rng.integers(3) == 0 and count > 2:
        ends[1] = ends[2] = min(ends[0] + 1, rows)
        ends = np.sort(ends)
    return ends.astype(np.uint32)


def judge(number: int, *, device: bool = True) -> str:
    """What became of layout `number`: "right", or "found" where something that is stated is not so. AssertionError for
    anything else."""
    rng = np.random.default_rng(number)
    rows, count, tile = int(rng.integers(1, 40)), int(rng.integers(1, 7)), int(rng.choice([1, 2, 4, 8]))
    broken, gap = rng.integers(3) == 0, int(rng.integers(2)) * 3
    if rng.integers(2):
        width, threads = [(4, (2, 1)), (8, (4, 2)), (6, (2, 3)), (16, (8, 4))][rng.integers(4)]
        x, ends = layout_of(rng, rows, width), offsets_of(rng, rows, count)
        if broken and rng.integers(2):
            ends[rng.integers(count + 1)] += rows + 1 + rng.integers(5)
        elif broken:
            ends[:2] = ends[1] + 1, ends[0]
        broken = bool((np.diff(ends.astype(int)) < 0).any() or (read_of(ends) > rows).any())
        given = (x, ends)
        wanted = np.full((rows, width), CANARY, np.float32)
        wanted[ends[0] : ends[-1]] = 2 * x[ends[0] : ends[-1]]
        kernel, static = double_rows, {"tile": tile, "threads": threads}
    else:
        x, width = layout_of(rng, rows, int(rng.choice([1, 4, 5]))), 0
        starts, stops = (rng.integers(0, rows + 1, count).astype(np.uint32) for _end in range(2))
        if rng.integers(2):
            starts[rng.integers(count)] = rows + rng.integers(1, 1 << 31)
        if broken:
            stops[rng.integers(count)] = rows + 1 + rng.integers(1 << 20 if not device else 5)
        broken = bool((stops > rows).any())
        given = (x, starts, stops)
        wanted = np.array([x[a:b].sum(axis=0) for a, b in zip(starts, stops, strict=True)], np.float32)
        kernel, static = sum_rows, {"tile": tile}
    whole, y = around(wanted, gap)
    if broken:
        for look in (kernel.interpret, kernel.check_assumptions):
            try:
                look(*given, y, **static)
            except (KernelError, VerificationError) as error:
                assert "assumes" in str(error), error
            else:
                raise AssertionError(f"{number}: nothing says what is not so")
    else:
        kernel.check_assumptions(*given, y, **static)
        kernel.interpret(*given, y, check=True, **static)
        assert (y == wanted).all(), (number, y, wanted)
        found = kernel.verify(*given, y, **static, prover="cutepy")
        # A mode of size 1 has stride 0: its addresses tell no rows apart.
        assert found.ok or (rows == 1 and not found.refuted), f"{number}: {found}"
    assert kept(whole, y)
    if device:
        whole, y = around(wanted, gap)
        kernel(*given, y, **static)
        assert broken or (y == wanted).all(), (number, y, wanted)
        assert kept(whole, y), f"{number}: something outside is written"
    return "found" if broken else "right"


def judge_writes(number: int) -> str:
    """Whether the rows of layout `number` may be written twice, where nothing is said of their order: "refuted", by
    data that the interpreter refuses, or "one owner", where there are too few rows or segments for that. AssertionError
    for anything else."""
    rng = np.random.default_rng(number)
    rows, count, tile = int(rng.integers(1, 40)), int(rng.integers(1, 7)), int(rng.choice([1, 2, 4, 8]))
    width, threads = [(4, (2, 1)), (8, (4, 2)), (6, (2, 3)), (16, (8, 4))][rng.integers(4)]
    whole, y = around(np.zeros((rows, width), np.float32), int(rng.integers(2)) * 3)
    given: tuple[Array, ...]
    if rng.integers(2):
        kernel, static = double_rows, {"tile": tile, "threads": threads, "ascending": False}
        given, most = (layout_of(rng, rows, width), offsets_of(rng, rows, count), y), 2
    else:
        kernel, static = number_rows, {"tile": tile}
        given, most = (np.zeros(count, np.uint32), np.zeros(count, np.uint32), y), 1
    [verdict] = [v for v in kernel.verify(*given, **static, prover="cutepy").verdicts
                 if (v.claim, v.array) == (Claim.NO_RACES, "y")]  # fmt: skip
    if count <= most:
        assert verdict.status is not Status.REFUTED, f"{number}: {verdict}"
        return "one owner"
    assert verdict.status is Status.REFUTED and verdict.witness is not None, f"{number}: {verdict}"
    names = [p for p in kernel.signature.parameters if p not in static]
    shown = [verdict.witness.contents.get(name, array) for name, array in zip(names, given, strict=True)]
    with pytest.raises(VerificationError, match=r"has a race for element \d+ of y"):
        kernel.interpret(*shown[:-1], y, **static, check=True)
    assert (whole[2:-2, :width] == y).all() and kept(whole, y)
    return "refuted"


def read_of(ends: Array) -> Array:
    """All numbers of an array."""
    return ends.astype(int)
