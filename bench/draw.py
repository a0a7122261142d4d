"""How long pictures take and how large they are, against the bars of the project: `python bench/draw.py`.

The best of several runs, so that other work on the machine counts least. Fails if a bar is missed.
"""

import sys
import time
from collections.abc import Callable

from cutepy.draw import ThreadValue, draw
from cutepy.layout import Layout, LayoutRight

BARS = {8: (0.001, 8_500), 32: (0.005, 100_000), 128: (0.050, 2_000_000)}
"""Seconds and bytes allowed for the SVG of a square layout."""


def best(make: Callable[[], object], seconds: float = 1.0) -> float:
    """The least time of a call, over about `seconds`."""
    found, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        make()
        found = min(found, time.perf_counter() - start)
    return found


def main() -> int:
    """Print a table; 1 if a bar is missed."""
    missed = 0
    print(f"{'picture':28} {'time':>10} {'bar':>8} {'bytes':>10} {'bar':>10}")
    for side, (seconds, size) in BARS.items():
        for order, layout in (("column", Layout((side, side))), ("row", Layout((side, side), LayoutRight))):
            took = best(lambda layout=layout: draw(layout).svg())
            length = len(draw(layout).svg().encode())
            missed += took > seconds or length > size
            print(
                f"SVG {side}x{side} {order}-major".ljust(28),
                f"{took * 1e3:7.2f} ms {seconds * 1e3:5.0f} ms {length:10,} {size:10,}",
            )
    layout = Layout((32, 32), LayoutRight)
    threads = Layout(((4, 8), (2, 2)), ((32, 1), (16, 8)))
    others: dict[str, Callable[[], object]] = {
        "HTML 32x32": lambda: draw(layout).html(),
        "text 32x32": lambda: draw(layout).text(),
        "TikZ 32x32": lambda: draw(layout).tikz(),
        "thread-value 16x8": lambda: draw(threads, view=ThreadValue((16, 8))).svg(),
        "corners of 10^6 x 10^6": lambda: draw(Layout((10**6, 10**6))).svg(),
    }
    for name, make in others.items():
        print(f"{name:28} {best(make, 0.5) * 1e3:7.2f} ms")
    return missed


if __name__ == "__main__":
    sys.exit(main())
