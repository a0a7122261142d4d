"""The layout algebra beside tensor-layouts and pycute, in one process: `make bench` or `python bench/algebra.py`.

Each row times the same operation on fresh operands, the three libraries in turn, many rounds; the figures are medians
in microseconds and their ratios. Peers: tensor-layouts 0.3.2 and pycute from the package nvidia-cutlass. pycute checks
nothing and is sometimes wrong; its time is shown all the same.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import cutepy.errors as ours_errors
import cutepy.layout as ours

SHAPES = {
    "small": ((4, 8), (1, 4)),
    "medium": (((2, (4, 2)), (3, (2, 4)), (2, 2), 5), ((1, (2, 8)), (16, (48, 96)), (384, 768), 1536)),
    "large": ((2, 4, 2, 8, 2, 4, 4, 2, 8, 2, 4, 8), None),
}
OPERANDS = {"small": ((2, 4), (1, 8)), "medium": ((2, 4), (1, 48)), "large": ((4, 8), (2, 64))}
TILERS = {"small": (2, 4), "medium": (4, 6, 2, 5), "large": (2, 2, 2, 4, 2, 4, 2, 2, 2, 2, 2, 4)}
ROUNDS = 41


def peers() -> dict[str, object]:
    found: dict[str, object] = {"cutepy": ours}
    try:
        import tensor_layouts

        found["tensor-layouts"] = tensor_layouts
    except ImportError:
        print("tensor-layouts is missing: pip install tensor-layouts==0.3.2")
    try:
        import pycute

        found["pycute"] = pycute
    except ImportError:
        print("pycute is missing: pip install nvidia-cutlass")
    return found


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, running = [], 1
    for extent in reversed(shape):
        strides.append(running)
        running *= extent
    return tuple(reversed(strides))


def operations(name: str, library: object, size: str) -> dict[str, Callable[[], object]]:
    shape, stride = SHAPES[size]
    stride = row_major(shape) if stride is None else stride
    layout_type = library.Layout
    compose = getattr(library, "composition", None) or library.compose
    layout, operand, tiler = layout_type(shape, stride), layout_type(*OPERANDS[size]), TILERS[size]
    coordinate = ours.idx2crd(ours.size(shape) // 3, shape)
    as_tiler = tiler if name != "tensor-layouts" else tuple(layout_type(t, 1) for t in tiler)
    count = ours.size(shape)
    return {
        "construct": lambda: layout_type(shape, stride),
        "layout(int)": lambda: layout(29),
        "layout(crd)": lambda: layout(*coordinate) if name != "pycute" else layout(coordinate),
        "coalesce": lambda: library.coalesce(layout),
        "composition": lambda: compose(layout, operand),
        "complement": lambda: library.complement(operand, count),
        "logical_divide": lambda: library.logical_divide(layout, operand),
        "zipped_divide": lambda: library.zipped_divide(layout, as_tiler),
        "right_inverse": lambda: library.right_inverse(layout),
    }


def microseconds(call: Callable[[], object], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number * 1e6


def answers(name: str, row: str, size: str, call: Callable[[], object]) -> bool:
    """Whether the library does this at all; one that does not is named and left out of the row."""
    try:
        call()
    except Exception as error:
        print(f"    {name} refuses {row} {size}: {type(error).__name__} {error}")
        return False
    return True


def main() -> int:
    libraries = peers()
    print(f"{'operation':<28}" + "".join(f"{name:>16}" for name in libraries) + "   ratios to cutepy")
    worst = {name: float("inf") for name in libraries if name != "cutepy"}
    for size in SHAPES:
        table = {name: operations(name, library, size) for name, library in libraries.items()}
        for row in table["cutepy"]:
            calls = {name: table[name][row] for name in libraries}
            working = [name for name, call in calls.items() if answers(name, row, size, call)]
            samples: dict[str, list[float]] = {name: [] for name in working}
            number = max(20, int(300 / max(microseconds(calls["cutepy"], 20), 0.5)))
            for _ in range(ROUNDS):
                for name in working:
                    samples[name].append(microseconds(calls[name], number))
            medians = {
                name: statistics.median(samples[name]) if name in working else float("nan") for name in libraries
            }
            ratios = {name: medians[name] / medians["cutepy"] for name in worst if name in working}
            for name, ratio in ratios.items():
                worst[name] = min(worst[name], ratio)
            print(
                f"{row + ' ' + size:<28}"
                + "".join(f"{medians[name]:>14.2f}us" for name in libraries)
                + "   "
                + "  ".join(f"{ratio:.2f}x {name}" for name, ratio in ratios.items())
            )
    print("lowest ratio to cutepy: " + ", ".join(f"{ratio:.2f}x {name}" for name, ratio in worst.items()))
    print("bars: tensor-layouts >= 2x, pycute >= 0.67x (cutepy within 1.5x of it; construction, which pycute does not")
    print("      check, <= 2 us)")
    large_operands()
    return 0


def large_operands() -> None:
    """Tables and compositions of 2^20 elements, and the import, in milliseconds."""
    import numpy as np

    square = ours.Layout((1024, 1024), (1024, 1))
    bits = ours.Layout((2,) * 20, tuple(1 << bit for bit in range(19, -1, -1)))
    askew = ours.Layout((1048573, 7), (1, 3)), ours.Layout(1 << 20, 2)
    index = np.arange(1024, dtype=np.int64)
    rows: dict[str, Callable[[], object]] = {
        "offsets of 1024x1024": square.offsets,
        "the same, NumPy's outer sum": lambda: index[:, None] * 1024 + index,
        "composition, 2^20, decided by arithmetic": lambda: ours.composition(square, square),
        "composition, 2^20 in 20 modes, the same": lambda: ours.composition(bits, bits),
        "composition, 2^20, decided by its table": lambda: refused(*askew),
        "import cutepy, less that of Python": import_seconds,
    }
    for name, call in rows.items():
        taken = [call() for _ in range(7)] if call is import_seconds else [seconds(call) for _ in range(15)]
        print(f"{name:<44}{statistics.median(taken) * 1e3:>10.3f} ms, least {min(taken) * 1e3:.3f} ms")


def refused(outer: ours.Layout, inner: ours.Layout) -> None:
    try:
        ours.composition(outer, inner)
    except ours_errors.CompositionError:
        return


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def import_seconds() -> float:
    whole, bare = (
        seconds(lambda code=code: subprocess.run([sys.executable, "-c", code], check=True))
        for code in ("import cutepy", "pass")
    )
    return whole - bare


if __name__ == "__main__":
    sys.exit(main())
