"""The demo and the quickstart, with and without a driver."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
NO_DRIVER = {"VK_DRIVER_FILES": "/nonexistent", "VK_ICD_FILENAMES": "/nonexistent"}
LEFT = {"A.npy", "B.npy", "C.npy", "matmul.wgsl", "sum.wgsl"}
LEFT |= {f"{name}.{suffix}" for name in ("layout", "tiling", "partition") for suffix in ("svg", "txt")}


def run(script: str, *arguments: str, folder: Path, variables: dict[str, str]) -> str:
    found = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, str(ROOT / "examples" / script), *arguments]
    done = subprocess.run(command, cwd=folder, env=found, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


@pytest.mark.parametrize("variables", [{}, NO_DRIVER], ids=["best adapter", "no driver"])
def test_demo(tmp_path: Path, variables: dict[str, str]) -> None:
    said = run("demo.py", str(tmp_path), folder=tmp_path, variables=variables)
    assert {path.name for path in tmp_path.iterdir()} == LEFT
    a, b, c = (np.load(tmp_path / f"{name}.npy").astype(np.float64) for name in "ABC")
    assert np.linalg.norm(c - a @ b) <= 1e-6 * np.linalg.norm(a @ b)
    assert "(226, 116), (226, 117), (226, 118), (226, 119): [" in said
    assert "proof    matmul: in bounds, " in said
    assert "refuted" not in said
    assert "undecided" not in said
    assert ("interpreter" in said) >= bool(variables)
    assert (tmp_path / "matmul.wgsl").read_text().startswith("// matmul\n// A f32 (250,120):(120,1)\n")
    for name in ("layout", "tiling", "partition"):
        ElementTree.parse(tmp_path / f"{name}.svg")
    assert "T5 V3" in (tmp_path / "partition.txt").read_text()


@pytest.mark.parametrize("variables", [{}, NO_DRIVER], ids=["best adapter", "no driver"])
def test_quickstart(tmp_path: Path, variables: dict[str, str]) -> None:
    said = run("quickstart.py", folder=tmp_path, variables=variables)
    assert said.startswith("// saxpy\n// x f32 (500,196):(196,1)\n")
    assert said.endswith("y is [2. 3. 4.] ... [97999. 98000. 98001.]\n")
    ElementTree.parse(tmp_path / "tv.svg")
