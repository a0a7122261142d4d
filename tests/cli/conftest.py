"""`cli("print", "4:1")` runs the command as a user does, in a folder of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[bytes]]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def cli(tmp_path: Path) -> Run:
    """Runs `cutepy` in `tmp_path`; keyword arguments are environment variables."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        found = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
        command = [sys.executable, "-m", "cutepy", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=found, capture_output=True, timeout=120)

    return run


@pytest.fixture
def refused(cli: Run, tmp_path: Path) -> Callable[..., str]:
    """Runs `cutepy`, which must refuse: exit code 2, one line on standard error, nothing written. Gives that line."""

    def run(*arguments: str, lines: int = 1, **variables: str) -> str:
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        done = cli(*arguments, **variables)
        said = done.stderr.decode()
        assert done.returncode == 2, said
        assert said.startswith("cutepy")
        assert said.count("\n") == lines, said
        assert done.stdout == b""
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
        return said

    return run
