"""Where the time of a small transformer goes, kernel by kernel: `gpu.profile()` of `examples/models/transformer.py`.

    python bench/profile_model.py [--small] [--json bench/results/profile_model.json]

`python tools/benchmarks.py` makes docs/profile.md and its picture of the result that is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "models")]

import numpy as np  # noqa: E402  found by the path above

MOST = 12
"""Kernels that a table and a picture name; the others are one row."""
HEAD = """# Where a model's time goes

`examples/models/transformer.py` is a transformer in 200 lines of public names. `gpu.profile()` tells the device time of
each of its kernels; here on one {device}, {date}, by `bench/profile_model.py`:
{sizes}.

![Device time of each kernel, as bars: a forward, and one token more.](img/profile.svg)
"""
TAIL = """
The rate is that of all bytes of the buffers that are bound, read or written once; a view of a larger buffer, as that of
the cache, moves fewer. With a profile each launch is submitted by itself, so the device waits for the host between
them, and small ones find its clock low; [recorded](recording.md), they follow each other.{note}
"""


def measure(*, small: bool) -> dict[str, Any]:
    """The profiles of a forward of all tokens and of one token more, each after a call that has compiled it."""
    from transformer import Model, Sizes, random_weights, save

    from cutepy import gpu

    wide = Sizes(layers=2, width=2048, heads=16, shared=4, inner=5632, vocab=16384, context=2048)
    sizes, tokens = (Sizes(), 24) if small else (wide, 1024)
    with tempfile.TemporaryDirectory() as folder:
        save(path := Path(folder) / "model.safetensors", random_weights(sizes))
        model = Model(path, sizes)
    ids, device = np.random.default_rng(1).integers(0, sizes.vocab, tokens + 2), gpu.default_device()
    parts = []
    for title, given, first in ((f"{tokens:,} tokens", ids[:tokens], 0), ("one token more", ids[-1:], tokens + 1)):
        model.forward(ids[tokens : tokens + 1], tokens) if first else model.forward(given)
        ends = time.perf_counter() + (0 if small else 0.3)
        while True:  # the clock is low while a pipeline compiles
            model.forward(given, first)
            device.wait()
            if time.perf_counter() > ends:
                break
        with gpu.profile() as found:
            model.forward(given, first)
        parts.append({"title": title, "seconds": found.seconds, "kernels": [asdict(row) for row in found.kernels]})
    return {
        "date": time.strftime("%Y-%m-%d"),
        "device": device.adapter.name,
        "sizes": asdict(sizes),
        "parts": parts,
    }


def rows(part: dict[str, Any]) -> list[dict[str, Any]]:
    """The kernels of a part that take longest, and the rest as one."""
    named, rest = part["kernels"][:MOST], part["kernels"][MOST:]
    if rest:
        sums = {key: sum(row[key] for row in rest) for key in ("launches", "seconds", "bound_bytes")}
        named = [*named, {"name": "the others", **sums}]
    return list(named)


def page(found: dict[str, Any]) -> str:
    """The page of a result."""
    shown = ", ".join(f"{value:,} {name}" for name, value in found["sizes"].items())
    text = HEAD.format(device=found["device"], date=found["date"], sizes=shown)
    for part in found["parts"]:
        total = part["seconds"]
        text += f"\n## {part['title'].capitalize()}: {total * 1e3:.2f} ms on the device\n\n"
        text += "| kernel | launches | time | share | each | bound | rate |\n|---|---|---|---|---|---|---|\n"
        for row in rows(part):
            each, rate = row["seconds"] / row["launches"], row["bound_bytes"] / (row["seconds"] or 1) * 1e-9
            text += (
                f"| `{row['name']}` | {row['launches']} | {row['seconds'] * 1e6:.0f} us | {row['seconds'] / total:.1%} "
                f"| {each * 1e6:.1f} us | {row['bound_bytes'] * 1e-6:.1f} MB | {rate:.0f} GB/s |\n"
            )
    return text + TAIL.format(note=f" {found['note']}" if "note" in found else "")


def picture(found: dict[str, Any]) -> str:
    """Bars of the kernels' shares, as SVG: one below the other, each part by itself."""
    lines, y = [], 0
    for part in found["parts"]:
        y += 26
        lines.append(f'<text x="4" y="{y}" font-weight="bold">{part["title"]}: {part["seconds"] * 1e3:.2f} ms</text>')
        for row in rows(part):
            y += 20
            share = row["seconds"] / part["seconds"]
            lines.append(f'<text x="150" y="{y}" text-anchor="end">{row["name"]}</text>')
            lines.append(f'<rect x="158" y="{y - 11}" width="{400 * share:.1f}" height="13"/>')
            lines.append(f'<text x="{164 + 400 * share:.1f}" y="{y}">{share:.1%}</text>')
    style = "text{font:12px sans-serif;fill:#222}rect{fill:#4477aa}"
    dark = "@media(prefers-color-scheme:dark){text{fill:#ddd}rect{fill:#88bbee}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {y + 10}" role="img">'
        f"<title>Device time of each kernel</title><style>{style}{dark}</style>\n" + "\n".join(lines) + "\n</svg>\n"
    )


def main() -> None:
    """Measure, print, keep."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--small", action="store_true")
    options.add_argument("--json", type=Path, help="where the result is kept")
    given = options.parse_args()
    found = measure(small=given.small)
    print(page(found))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
