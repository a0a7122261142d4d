"""The result of `bench/shapes.py` as Markdown, for `docs/benchmarks.md`: `python bench/shapes_table.py [FILE]`."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from gpu_table import lines, number

RESULT = Path(__file__).parent / "results" / "shapes.json"
SHOWN = {
    "matmul": "Products of f32",
    "reduce": "Reductions of 1 GiB of f32",
    "softmax": "Softmax",
    "copy": "Copies and permutations",
    "random": "Random products: each extent 1 to 16,384, a third turned, a third batched",
}
LEGEND = """Device time through the public names, medians in turn with torch (TF32 off) in one process; in parentheses
torch's time over cutepy's. Errors: relative to float64, torch's beside it. Products give equal bits twice."""


def table(result: dict[str, Any]) -> str:
    """A table for each group of lines, with the geometric mean and the worst of the random products."""
    text = f"{result['about']}\n{LEGEND}\n"
    for group, title in SHOWN.items():
        rows = [line for line in result["lines"] if line["group"] == group]
        text += f"\n**{title}.**"
        if group == "random":
            ratios = [row["ratio"] for row in rows]
            mean = statistics.geometric_mean(ratios)
            text += f" Geometric mean {mean:.2f}x torch's speed, worst {min(ratios):.2f}x of {len(ratios)}."
        head = "call", "time", "rate", "torch", "error", "torch's"
        text += "\n\n" + "\n".join(lines(head, [cells(row) for row in rows])) + "\n"
    (host,) = [line for line in result["lines"] if line["group"] == "host"]
    return text + (
        f"\nOn the host a call of a chain of {host['name']} takes {host['us_a_call']:.1f} us, with the wait at its end "
        f"{host['us_with_the_wait']:.1f}; torch's {host['torch_us']:.1f} and {host['torch_with_the_wait']:.1f}. "
        f"An empty batch alone takes {host['us_of_an_empty_batch']:.0f} us.\n"
    )


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """One line: the call, its time, its rate in the unit that limits it, torch's time, both errors."""
    by_sums = row.get("tflops", 0.0) > 10
    rate = f"{number(row['tflops'])} TFLOP/s" if by_sums else f"{number(row['GBs'])} GB/s"
    torch = f"{number(1e3 * row['torch_ms'])} us ({row['ratio']:.2f}x)"
    errors = [f"{row[key]:.0e}" if row.get(key) else "" for key in ("error", "torch_error")]
    return row["name"], f"{number(1e3 * row['ms'])} us", rate, torch, *errors


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULT
    print(table(json.loads(path.read_text(encoding="utf-8"))))
