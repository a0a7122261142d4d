"""The scripts of examples/tour run, as scripts and as notebooks; the paper compiles."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOUR = sorted((ROOT / "examples" / "tour").glob("*.py"))
SAYS = {
    "tensors": "copied 128 elements, 4 by each of 32 threads",
    "mma_atom": "registers of a thread: 8 of A, 4 of B, 4 of C",
    "swizzle": "the best: S<5,0,5> (1, 1)",
    "matmul": "tiled: proven",
    "paper": "paper.tex",
}


def run(script: Path, *arguments: str, folder: Path) -> str:
    found = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, cwd=folder, env=found, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_every_script_is_looked_at() -> None:
    assert {script.stem for script in TOUR} == set(SAYS)


@pytest.mark.parametrize("name", sorted(SAYS.keys() - {"paper"}))
def test_scripts(name: str, tmp_path: Path) -> None:
    assert SAYS[name] in run(ROOT / "examples" / "tour" / f"{name}.py", folder=tmp_path)


def notebook(name: str) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("notebook_tool", ROOT / "tools" / "notebook.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool.notebook(ROOT / "examples" / "tour" / f"{name}.py")


def test_a_notebook_has_the_pictures_of_its_cells_and_is_the_same_each_time() -> None:
    """The other scripts' are looked at where the site shows them."""
    made = notebook("tensors")
    assert made == json.loads(json.dumps(made)) == notebook("tensors")
    assert {cell["cell_type"] for cell in made["cells"]} == {"markdown", "code"}
    outputs = [output for cell in made["cells"] for output in cell.get("outputs", ())]
    pictures = ["".join(output["data"]["text/html"]) for output in outputs if "data" in output]
    assert len(pictures) >= 2 and all(picture.startswith("<figure") for picture in pictures)


def test_the_paper_compiles(tmp_path: Path) -> None:
    assert SAYS["paper"] in run(ROOT / "examples" / "tour" / "paper.py", "paper", folder=tmp_path)
    command = shutil.which("pdflatex")
    if command is None:
        reason = "no pdflatex to compile pictures with: apt install texlive-latex-base texlive-pictures"
        if os.environ.get("CUTEPY_REQUIRE_TEX", "0") != "0":
            pytest.fail(f"CUTEPY_REQUIRE_TEX is set, but there is {reason}")
        pytest.skip(f"NOT TESTED: {reason}")
    done = subprocess.run(
        [command, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path / "paper",
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper" / "paper.pdf").read_bytes().startswith(b"%PDF")
