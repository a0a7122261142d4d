"""Assemble docs/benchmarks.md, docs/profile.md, and the times in docs/stories/matmul.md, from bench/results/.

`python tools/benchmarks.py [--check] [--run NAME ...]`. A `.json` result is that of `bench/gpu.py`, `bench/steps.py` or
`bench/shapes.py`, a `.txt` result what another script printed. `--run draw` runs `bench/draw.py` and keeps what it
prints; `--check` writes nothing and gives 1 if a page is not what the results say.
"""

import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS, PAGE = ROOT / "bench" / "results", ROOT / "docs" / "benchmarks.md"
STEPS, STORY = RESULTS / "steps.json", ROOT / "docs" / "stories" / "matmul.md"
PROFILE, PROFILE_PAGE = RESULTS / "profile_model.json", ROOT / "docs" / "profile.md"
PLACE = re.compile(r"(?<=<!-- steps -->\n).*?(?=<!-- /steps -->)", re.DOTALL)

HEAD = """# Benchmarks

Figures that scripts measured; nothing here is typed. `make bench` measures on your machine. A result says where and
how it was taken. Where other work ran on the machine, ratios to peers in the same process are worth more than times.
Those of 2026-11-23 and before are of products, folds and softmax that had a kernel for each size; now that they have
kernels for all sizes, small ones take longer ([the design](design.md) says how much).

| script | what it measures |
|---|---|
"""
SCRIPTS = {
    "algebra": "the layout algebra beside tensor-layouts and pycute; the import",
    "tensor": "copies, reductions and contractions of tensors beside NumPy; memory",
    "draw": "time and size of pictures, against the project's bars",
    "runtime": "what a launch and a transfer cost",
    "host": "what calls, views, small reads and recorded launches cost the host, beside torch",
    "model": "GPT-2's forward through public names, as called and recorded, beside torch",
    "order": "sort, argsort and top_k of rows, beside torch",
    "gpu": "kernels beside cuBLAS (through torch) and ONNX Runtime's WebGPU kernels, on one device",
    "examples": "the examples that people come for, beside torch, on one device",
    "steps": "the six steps of a matrix product (docs/stories/matmul.md), on one device",
    "shapes": "products, reductions, softmax and copies in every shape beside torch, and what calls cost the host",
    "tuner": "what `gpu.tune` finds from a cold start, beside every plan that it could have tried",
    "tune_kernels": "what `kernel.tune` finds for five kernels, beside every choice timed by hand",
    "profile_model": "the profile of `examples/models/transformer.py`: [its page](profile.md)",
    "neighbours": "thirty kernels written element by element, beside the same by `copy`",
}
NONE = "\nNo results are committed yet.\n"


def page(folder: Path) -> str:
    """The whole page."""
    scripts = "".join(f"| `bench/{name}.py` | {what} |\n" for name, what in SCRIPTS.items())
    found = sorted(path for path in folder.glob("*") if path.suffix in (".json", ".txt")) if folder.is_dir() else []
    found = [path for path in found if path != PROFILE]
    found.sort(key=lambda path: path.suffix == ".txt")  # devices first
    return HEAD + scripts + ("".join(f"\n{section(path)}" for path in found) or NONE)


def section(path: Path) -> str:
    """One result, under the name of its file."""
    title = f"## {path.stem}\n\n`bench/results/{path.name}`\n"
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".txt":
        return f"{title}\n```\n{text.rstrip()}\n```\n"
    return f"{title}\n{_table(path.stem, text).rstrip()}\n"


def story(text: str) -> str:
    """The page of the six steps, with their times where the page has a place for them."""
    kept = STEPS.read_text(encoding="utf-8") if STEPS.is_file() else ""
    times = _table("steps", kept) if kept else "Not measured yet: `python bench/steps.py` measures on your machine.\n"
    return PLACE.sub(lambda _found: f"\n{times}\n", text)


def profile() -> dict[Path, str]:
    """The page of a model's profile, and its picture."""
    sys.path.insert(0, str(ROOT / "bench"))
    import profile_model

    found = json.loads(PROFILE.read_text(encoding="utf-8"))
    return {
        PROFILE_PAGE: profile_model.page(found),
        ROOT / "docs" / "img" / "profile.svg": profile_model.picture(found),
    }


def _table(name: str, text: str) -> str:
    """A kept result as the script that took it prints it."""
    sys.path.insert(0, str(ROOT / "bench"))
    import gpu_table
    import shapes_table
    import steps

    return {"steps": steps, "shapes": shapes_table}.get(name, gpu_table).table(json.loads(text))


def keep(names: Sequence[str]) -> None:
    """Run scripts of bench/ and keep what they print, with the machine in front."""
    RESULTS.mkdir(exist_ok=True)
    for name in names:
        load = f"{os.getloadavg()[0]:.1f} processes waiting to run"
        machine = f"{processor()}, {os.cpu_count()} cores, {load}; Python {platform.python_version()}"
        command = [sys.executable, str(ROOT / "bench" / f"{name}.py")]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
        lines = [f"{time.strftime('%Y-%m-%d')}, {machine}", "", *done.stdout.splitlines()]
        (RESULTS / f"{name}.txt").write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


def processor() -> str:
    """What the system calls its processor."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


if __name__ == "__main__":
    if "--run" in sys.argv:
        keep(sys.argv[sys.argv.index("--run") + 1 :])
    pages = {PAGE: page(RESULTS), STORY: story(STORY.read_text(encoding="utf-8")), **profile()}
    for target, wanted in pages.items():
        if "--check" not in sys.argv:
            target.write_text(wanted, encoding="utf-8")
            print(f"wrote {target.relative_to(ROOT)}")
        elif not target.exists() or target.read_text(encoding="utf-8") != wanted:
            sys.exit(f"{target} is not what bench/results says: run {sys.argv[0]}")
