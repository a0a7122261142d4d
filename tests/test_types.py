"""Users' programs type-check: kernels and calls on the host, without an ignore."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_programs_of_users_type_check() -> None:
    pytest.importorskip("mypy")
    program = ROOT / "tests" / "typed_programs.py"
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT)},
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_file_switches_checks_off() -> None:
    marker = "# mypy" + ":"
    assert [str(path) for path in (ROOT / "cutepy").rglob("*.py") if marker in path.read_text()] == []
