"""Layouts that cutepy finds beside those that are chosen by hand, in the project's own kernels: `solved.py [--small]`.

A line each: microseconds with the one and the other in shared memory, medians taken in turn, and their ratio; the same
kernel, rebuilt with another layout. Then transposing copies beside a plain one. Exits with 1 on a large GPU where a
solved layout is slower by more than 2 %, or where a transposing copy has less than 0.9 of the plain copy's bytes.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import gpu_kernels
import numpy as np

from cutepy import gpu
from cutepy.gpu.operations import pointwise as operations
from cutepy.gpu.operations.copies import copy_kernel
from cutepy.gpu.operations.domain import Tiling, TransposedTile, staged_layout, transposed_tile_of
from cutepy.gpu.operations.fold import FoldPlan, fold_kernel
from cutepy.gpu.operations.operand import ExecutionSite
from cutepy.gpu.operations.reductions import Reduction, launches
from cutepy.gpu.runtime import Program, default_device
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.layout import Layout, conflict_free, select
from cutepy.tensor import Tensor

DEVICE = default_device()
SMALL = "--small" in sys.argv or DEVICE.adapter.kind != "DiscreteGPU"
ROUNDS = 5 if SMALL else 41
SLOWER, PLAIN = 1.02, 0.9
Launches = list[tuple[Program, list[Tensor]]]
missed: list[str] = []


def build(kernel: KernelFunction, *operands: Tensor, **static: object) -> tuple[Program, list[Tensor]]:
    """The program of a kernel as if it had never been traced."""
    return KernelFunction(kernel.function).program(*operands, **static), list(operands)


def run(programs: Launches) -> None:
    for program, operands in programs:
        DEVICE.launch(program, [operand.engine.buffer for operand in operands])


def medians(*works: Callable[[], object]) -> list[float]:
    """Seconds of each, taken in turn; short ones several times."""

    def seconds(work: Callable[[], object], times: int) -> float:
        with DEVICE.timed() as watch:
            for _ in range(times):
                work()
        return watch.seconds / times

    for work in works:
        seconds(work, 1)
    times = 1 if SMALL else max(1, min(64, int(1e-3 / seconds(works[0], 1))))
    rounds = [[seconds(work, times) for work in works] for _ in range(ROUNDS)]
    return [statistics.median(each) for each in zip(*rounds, strict=True)]


def compare(name: str, solved: Launches, by_hand: Launches) -> None:
    ours, theirs = medians(partial(run, solved), partial(run, by_hand))
    print(f"{name}: solved {1e6 * ours:.1f} us, by hand {1e6 * theirs:.1f} us, {ours / theirs:.3f}", flush=True)
    if ours > SLOWER * theirs:
        missed.append(name)


def transposes(x: Tensor, y: Tensor) -> None:
    """A tile of 32 x 32, solved from its two accesses, a padded one and CUTLASS's way to swizzle it."""
    rows = gpu_kernels.ROWS
    found = conflict_free((32, 32), [rows, Layout((32, 32))]).layout
    solved = [build(gpu_kernels.transpose, x, y, tile=found)]
    for name in ("pitch 33", "swizzled"):
        compare(f"transpose {name}", solved, [build(gpu_kernels.transpose, x, y, tile=gpu_kernels.TILES[name])])


def padded_turn(turn: TransposedTile) -> Layout:
    """A tile whose first mode is padded by one access."""
    steps = [1, *(turn.tile[0] + turn.width if turn.tile[0] > 1 else 1 for _ in turn.tile[1:])]
    for mode in range(2, len(steps)):
        steps[mode] = steps[mode - 1] * turn.tile[mode - 1]
    return Layout(turn.tile, tuple(steps))


def turning_copies(x: Tensor, y: Tensor) -> None:
    """The copy of the project's own operations: its tile padded; then its speed beside a plain one."""
    turned = select(x, 1, 0)
    turn = transposed_tile_of(turned.layout, y.layout)
    if turn is None:  # the last mode is fastest here: count it first
        turned, y = x, select(y, 1, 0)
        turn = transposed_tile_of(turned.layout, y.layout)
    assert turn is not None
    solved = [build(copy_kernel, turned, y, tiling=Tiling(turn.tile, turn.written, turn))]
    with patch.object(operations, "staged_layout", padded_turn):
        by_hand = [build(copy_kernel, turned, y, tiling=Tiling(turn.tile, turn.written, turn))]
    compare(f"copy kernel, {staged_layout(turn)} and {padded_turn(turn)}", solved, by_hand)
    plain, turning = medians(lambda: gpu.copy(x, Tensor(y.engine, x.layout)), lambda: gpu.copy(turned, y))
    bytes_moved = 8e-9 * x.size
    print(f"copy: plain {bytes_moved / plain:.0f} GB/s, transposing {bytes_moved / turning:.0f}, {plain / turning:.3f}")
    if plain < PLAIN * turning:
        missed.append("transposing copy")


def reductions(x: Tensor) -> None:
    """Sums over either axis and over both: what lanes leave for one another lies row by row by hand."""
    by_row = property(lambda plan: Layout((plan.tile[0], plan.lanes)))
    for axes in ((0,), (1,), (0, 1)):
        call = Reduction(x, axes, keepdims=False)
        place = ExecutionSite(DEVICE)
        steps = list(launches("sum", call, place, place.new(call.shape, x.dtype)))
        solved = [build(fold_kernel, *operands, **static) for operands, static in steps]
        with patch.object(FoldPlan, "scratch", by_row):
            compare(f"sum over {axes}", solved, [build(fold_kernel, *operands, **static) for operands, static in steps])


def main() -> None:
    print(DEVICE, flush=True)
    side = 512 if SMALL else 16384
    x, y = (gpu.array(np.ones((side, side), np.float32), device=DEVICE) for _ in range(2))
    transposes(x, y)
    turning_copies(x, y)
    reductions(x)
    print(f"missed: {', '.join(missed) or 'nothing'}")
    sys.exit(bool(missed) and not SMALL)


if __name__ == "__main__":
    main()
