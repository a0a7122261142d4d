"""Do bank conflicts cost what a report predicts? Transposes through tiles of several layouts, timed on the device.

    python bench/transpose_banks.py [--size N] [--json FILE]

`read_columns` reads columns of a tile again and again, so that workgroup memory is all that counts: its time should be
a straight line in the predicted rounds. `transpose` moves a matrix once: conflicts show where they outlast the memory.
On a discrete GPU it fails where times are not as predicted, within the tolerances below.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cutepy import gpu
from cutepy.gpu.runtime import Device, default_device
from cutepy.layout import ComposedLayout, Layout, Swizzle, composition, make_composed_layout
from cutepy.tensor import clear, copy, local_partition, local_tile, make_tensor

TILE = 32
REPEATS = 9
#: How far the time of `read_columns` may be from the line through all times, in parts of the longest.
TOLERANCE = 0.05

PLAIN = Layout((TILE, TILE), (TILE, 1))
TILES: dict[str, Layout | ComposedLayout] = {
    "plain": PLAIN,
    "padded by 1": Layout((TILE, TILE), (TILE + 1, 1)),
    "padded by 8": Layout((TILE, TILE), (TILE + 8, 1)),
    "swizzled": make_composed_layout(Swizzle(5, 0, 5), 0, PLAIN),
}


@gpu.kernel
def transpose(x, y, *, tile):
    """y = x transposed; `tile` places the 32 x 32 elements that a workgroup has between."""
    gpu.launch(grid=(x.shape[1] // TILE, x.shape[0] // TILE), threads=256)
    i, j = gpu.workgroup.y, gpu.workgroup.x
    staged = gpu.shared(x, tile)
    turned = composition(staged, PLAIN)
    threads = Layout((8, TILE), (TILE, 1))
    copy(local_partition(local_tile(x, (TILE, TILE), (i, j)), threads), local_partition(staged, threads))
    gpu.barrier()
    copy(local_partition(turned, threads), local_partition(local_tile(y, (TILE, TILE), (j, i)), threads))


@gpu.kernel
def read_columns(x, y, *, pitch, turns):
    """32 threads at a time read a column of a tile whose rows are `pitch` elements apart; y gets sums of it.

    The column moves on in each turn, so no compiler can keep what it read.
    """
    gpu.launch(grid=y.shape[1], threads=256)
    lane, row, group = gpu.thread % TILE, gpu.thread // TILE, gpu.workgroup.x
    staged = gpu.shared("f32", Layout((TILE, TILE), (pitch, 1)))
    for k in gpu.unroll(TILE // 8):
        staged[row + 8 * k, lane] = x[row + 8 * k, lane]
    gpu.barrier()
    total = make_tensor("f32", 4)
    clear(total)
    for turn in gpu.loop(turns):
        for k in gpu.unroll(4):
            total[k] = total[k] + staged[lane, (row + turn + 8 * k) % TILE]
    y[gpu.thread, group] = total[0] + total[1] + total[2] + total[3]


def median_seconds(device: Device, launch: Callable[[], None]) -> float:
    """The median time of a launch on the device, after warming up."""
    times = []
    for number in range(REPEATS + 3):
        with device.timed() as watch:
            launch()
        if number >= 3:
            times.append(watch.seconds)
    return statistics.median(times)


def conflicts(device: Device, groups: int, turns: int) -> list[dict[str, float]]:
    """`read_columns` for pitches with conflicts of 1, 2, 4, 8, 16 and 32 ways."""
    x = gpu.array(np.random.default_rng(0).random((TILE, TILE), dtype=np.float32), device=device)
    y = gpu.empty((256, groups), device=device)
    rows = []
    for pitch in (33, 34, 36, 40, 48, 32):
        static = {"pitch": pitch, "turns": turns}
        found = read_columns.report(x, y, **static)
        rounds = sum(a.rounds or 0 for a in found.accesses if a.space == "workgroup")
        seconds = median_seconds(device, lambda static=static: read_columns(x, y, **static))
        rows.append({"pitch": pitch, "ways": found.worst_conflict, "rounds": rounds, "ms": seconds * 1e3})
    slope, start = np.polyfit([r["rounds"] for r in rows], [r["ms"] for r in rows], 1)
    longest = max(r["ms"] for r in rows)
    for row in rows:
        row["line_ms"] = float(start + slope * row["rounds"])
        row["off"] = abs(row["ms"] - row["line_ms"]) / longest
    return rows


def transposes(device: Device, size: int) -> list[dict[str, object]]:
    """`transpose` of a square matrix through each tile, checked."""
    values = np.random.default_rng(0).random((size, size), dtype=np.float32)
    x, y = gpu.array(values, device=device), gpu.empty((size, size), device=device)
    rows: list[dict[str, object]] = []
    for name, tile in TILES.items():
        found = transpose.report(x, y, tile=tile)
        rounds = sum(a.rounds or 0 for a in found.accesses if a.space == "workgroup")
        seconds = median_seconds(device, lambda tile=tile: transpose(x, y, tile=tile))
        if not np.array_equal(y.numpy(), values.T):
            raise SystemExit(f"error: the transpose through the {name} tile is wrong")
        moved = 2 * values.nbytes / seconds / 1e9
        rows.append(
            {"tile": name, "ways": found.worst_conflict, "rounds": rounds, "ms": seconds * 1e3, "GB_per_s": moved}
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="bank conflicts: what a report predicts, what a device does")
    parser.add_argument("--size", type=int, help="rows of the square matrix, a multiple of 32")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    device = default_device()
    large = device.adapter.kind == "DiscreteGPU"
    size = options.size or (8192 if large else 512)
    print(device.adapter.summary)
    columns = conflicts(device, groups=2048 if large else 8, turns=4096 if large else 64)
    print("\nread_columns: the same reads, columns of rows that are `pitch` apart")
    print(
        f"{'pitch':>6}{'conflict':>10}{'rounds':>16}{'ms':>10}{'line':>10}{'off':>7}{'to 1-way':>10}{'predicted':>11}"
    )
    first = columns[0]
    for r in columns:
        ratio, predicted = r["ms"] / first["ms"], r["rounds"] / first["rounds"]
        print(
            f"{r['pitch']:>6}{r['ways']:>7}-way{r['rounds']:>15,}{r['ms']:>10.3f}{r['line_ms']:>10.3f}{r['off']:>7.1%}"
            f"{ratio:>9.2f}x{predicted:>10.2f}x"
        )
    moved = transposes(device, size)
    print(f"\ntranspose of {size} x {size} f32")
    print(f"{'tile':>12}{'conflict':>10}{'rounds':>14}{'ms':>10}{'GB/s':>9}")
    for t in moved:
        print(f"{t['tile']:>12}{t['ways']:>7}-way{t['rounds']:>13,}{t['ms']:>10.3f}{t['GB_per_s']:>9.0f}")
    if options.json:
        figures = {"device": device.adapter.summary, "read_columns": columns, "transpose": moved}
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    if large:
        judge(columns, moved)


def judge(columns: list[dict[str, float]], moved: list[dict[str, object]]) -> None:
    """Fail where the times are not as predicted."""
    by_tile = {str(t["tile"]): t for t in moved}
    wrong = [f"pitch {r['pitch']}: {r['off']:.1%} from the line" for r in columns if r["off"] > TOLERANCE]
    if columns != sorted(columns, key=lambda r: r["ms"]):
        wrong.append("more conflicts do not always take more time")
    if not all(float(str(by_tile["plain"]["ms"])) > float(str(by_tile[n]["ms"])) for n in ("padded by 1", "swizzled")):
        wrong.append("the transpose with conflicts is not the slower one")
    if wrong:
        raise SystemExit("error: not as predicted: " + "; ".join(wrong))
    print("\nas predicted: times lie on a line in the rounds, and the transpose without conflicts is faster")


if __name__ == "__main__":
    main()
