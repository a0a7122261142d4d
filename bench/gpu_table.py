"""The result of `bench/gpu.py` as Markdown, which `docs/benchmarks.md` holds: `python bench/gpu_table.py [FILE]`."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RESULT = Path(__file__).parent / "results" / "h200.json"

LEGEND = """Device time, medians after a warm-up; in parentheses cutepy over the peer, and the project's bar for it.
torch is cuBLAS with TF32 off (tensor cores for f16), timed in turn in the same process; onnxruntime-webgpu runs in a
process of its own. Errors: products and softmax relative to float64, the sum relative to the sum of magnitudes, else
the largest difference. f16 products are summed in f32. "Unchecked, proven": the checks of accesses are left out, for
they are proven."""


@dataclass
class Row:
    """One line: rates (more is better) of cutepy and of the peers, the error, whether the module had run-time checks,
    and the ratios that have to be reached."""

    name: str
    unit: str
    cutepy: float
    peers: dict[str, float] = field(default_factory=dict)
    error: float = 0.0
    checked: bool | None = None
    bars: dict[str, float] = field(default_factory=dict)

    @property
    def ratios(self) -> dict[str, float]:
        return {name: self.cutepy / value for name, value in self.peers.items()}

    @property
    def missed(self) -> list[str]:
        """The peers whose bar this row does not reach."""
        return [p for p, bar in self.bars.items() if p in self.peers and self.ratios[p] < bar]

    def cells(self) -> tuple[str, ...]:
        def peer(name: str) -> str:
            if name not in self.peers:
                return ""
            bar = f", bar {self.bars[name]:g}" if name in self.bars else ""
            return f"{number(self.peers[name])} ({self.ratios[name]:.2f}x{bar})"

        ran = {None: "", True: "checked", False: "unchecked, proven"}[self.checked]
        ours = f"{number(self.cutepy)} {self.unit}"
        return self.name, ours, peer("torch"), peer("onnxruntime"), f"{self.error:.0e}", ran


def number(value: float) -> str:
    """Three or four digits, as a reader wants them."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


def lines(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in (head, ("---",) * len(head), *rows)]


def table(result: dict[str, Any]) -> str:
    """Rates, the bank model and the times of the host."""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    out = [
        f"{result['device']}, driver {result['driver']}, {result['date']}; Python {result['python']}, {versions}.",
        "",
    ]
    out += [LEGEND, ""]
    rows = [Row(**row) for row in result["rows"]]
    out += lines(("", "cutepy", "torch", "onnxruntime-webgpu", "error", "module"), [row.cells() for row in rows])
    if banks := result["notes"].get("banks"):
        out += ["", "A subgroup of 32 reads a column of a 32 x 32 tile in shared memory:", ""]
        out += lines(
            ("tile", "passes by the model", "cycles measured"),
            [
                (name, str(line["passes"]), f"{line['cycles']:.2f}" if "cycles" in line else "")
                for name, line in banks.items()
            ],
        )
    if host := result["notes"].get("host"):
        out += ["", "On the host:", ""]
        out += lines(("", "median"), [(name, text) for name, text in host.items()])
    return "\n".join(out)


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULT
    print(table(json.loads(path.read_text())) if path.exists() else f"no {path}: run bench/gpu.py --json {path}")
