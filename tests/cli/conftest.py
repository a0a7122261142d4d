"""`cli("print", "4:1")` runs the command as a user does; `refused(...)` checks that it says no in one line."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cutepy.cli import main

Run = Callable[..., subprocess.CompletedProcess[bytes]]
ROOT = Path(__file__).parents[2]


def files(folder: Path) -> dict[Path, int]:
    """When each file of a folder was written, but for what Python keeps of a module that it reads."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if "__pycache__" not in path.parts}


@pytest.fixture
def cli(tmp_path: Path) -> Run:
    """Runs `cutepy` in `tmp_path`, in a process of its own; keyword arguments are environment variables."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        found = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
        command = [sys.executable, "-m", "cutepy", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=found, capture_output=True, timeout=120)

    return run


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """The same in this process, for the many cases that need no process of their own."""

    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        monkeypatch.chdir(tmp_path)
        code = main(arguments)
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, code, out.encode(), err.encode())

    return run


@pytest.fixture
def refused(cli: Run, here: Run, tmp_path: Path) -> Callable[..., str]:
    """Runs `cutepy`, which must refuse: exit code 2, one line on standard error, nothing written. Gives that line.

    `lines` counts a text and its caret; `fresh` asks for a process of its own, as environment variables do.
    """

    def run(*arguments: str, lines: int = 1, fresh: bool = False, **variables: str) -> str:
        before = files(tmp_path)
        done = cli(*arguments, **variables) if fresh or variables else here(*arguments)
        said = done.stderr.decode()
        assert done.returncode == 2, said
        assert said.startswith("cutepy")
        assert said.count("\n") == lines, said
        assert done.stdout == b""
        assert files(tmp_path) == before
        return said

    return run
