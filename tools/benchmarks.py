"""Assemble docs/benchmarks.md from bench/results/: `python tools/benchmarks.py [--check]`.

A `.json` result has rows and says what it ran on; a `.txt` result is the output of a script. Nothing is typed by hand;
`--check` writes nothing and gives 1 if the page is not what the results say.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS, PAGE = ROOT / "bench" / "results", ROOT / "docs" / "benchmarks.md"

HEAD = """# Benchmarks

Figures that scripts measured, and the scripts. `make bench` measures on your machine. Peers run in the same process, in
turn with cutepy; a figure is a median, and where something else ran on the machine the ratios are worth more than the
times.

| script | what it measures |
|---|---|
"""
SCRIPTS = {
    "algebra": "the layout algebra beside tensor-layouts and pycute; the import",
    "tensor": "copies, reductions and contractions of tensors beside NumPy; memory",
    "draw": "time and size of pictures, against the project's bars",
    "runtime": "what a launch and a transfer cost",
    "gpu": "kernels beside cuBLAS (through torch) and ONNX Runtime's WebGPU kernels, on one device",
}
NONE = "\nNo results are committed yet.\n"
HIDDEN = ("name", "unit", "cutepy", "peers", "bars", "checked", "error")


def page(folder: Path) -> str:
    """The whole page."""
    scripts = "".join(f"| `bench/{name}.py` | {what} |\n" for name, what in SCRIPTS.items())
    found = sorted(path for path in folder.glob("*") if path.suffix in (".json", ".txt")) if folder.is_dir() else []
    sections = [section(path) for path in found]
    return HEAD + scripts + ("".join(f"\n{text}" for text in sections) or NONE)


def section(path: Path) -> str:
    """One result under its file's name."""
    title = f"## {path.stem.replace('-', ' ').replace('_', ' ')}\n\n`bench/results/{path.name}`\n"
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".txt":
        return f"{title}\n```\n{text.rstrip()}\n```\n"
    result = json.loads(text)
    return f"{title}\n{environment(result)}\n{table(result.get('rows', []))}{notes(result.get('notes', {}))}"


def environment(result: Mapping[str, object]) -> str:
    """What it ran on, a line each."""
    given = {name: value for name, value in result.items() if name not in ("rows", "notes")}
    return "".join(f"- {name}: {flat(value)}\n" for name, value in given.items())


def flat(value: object) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {flat(entry)}" for name, entry in value.items())
    if isinstance(value, list):
        return ", ".join(map(flat, value))
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """A line a row: cutepy's rate, and each peer's with the ratio and the bar, if there is one."""
    if not rows:
        return ""
    peers = list(dict.fromkeys(name for row in rows for name in mapping(row.get("peers"))))
    others = list(dict.fromkeys(name for row in rows for name in row if name not in HIDDEN))
    heads = ["what", "cutepy", *peers, "error", "checks", *others]
    lines = [
        heads,
        ["---"] * len(heads),
        *([*cells(row, peers), *(flat(row.get(o, "")) for o in others)] for row in rows),
    ]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cells(row: Mapping[str, object], peers: Sequence[str]) -> list[str]:
    """The cells that every row has."""
    ours = float(str(row["cutepy"]))
    ran = {None: "", True: "kept", False: "proven unneeded"}[row.get("checked")]  # type: ignore[index]
    error = f"{float(str(row['error'])):.1e}" if row.get("error") else ""
    shown = [peer(ours, mapping(row.get("peers")).get(name), mapping(row.get("bars")).get(name)) for name in peers]
    return [str(row["name"]), f"{ours:,.1f} {row.get('unit', '')}".strip(), *shown, error, ran]


def peer(ours: float, theirs: object, bar: object) -> str:
    """A peer's figure, our ratio to it, and the ratio that the project asks for."""
    if theirs is None:
        return ""
    asked = f", bar {flat(bar)}" if bar is not None else ""
    return f"{float(str(theirs)):,.1f} (ratio {ours / float(str(theirs)):.2f}{asked})"


def notes(given: Mapping[str, object]) -> str:
    """What else a result says."""
    return "\n" + "".join(f"- {name}: {flat(value)}\n" for name, value in given.items()) if given else ""


def mapping(value: object) -> Mapping[str, object]:
    """A dictionary, an empty one for nothing."""
    return value if isinstance(value, Mapping) else {}


if __name__ == "__main__":
    wanted = page(RESULTS)
    if "--check" in sys.argv:
        sys.exit(
            0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == wanted else f"{PAGE} is stale: run {sys.argv[0]}"
        )
    PAGE.write_text(wanted, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
