"""Do the tests notice a fault? Each mutant is one change of the source, and the test that must fail on it.

`run` copies the package and its tests to a folder of its own for each mutant, makes the change, and runs the test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 600
"""Seconds; a fault may keep a test from ending, which is a failure too."""
COPIED = ("conftest.py", "cutepy", "tests", "docs", "examples", "pyproject.toml", "README.md")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: `old`, which stands once in all files of `folder`, or in that file, becomes `new`; `test` are
    arguments of pytest."""

    folder: str
    old: str
    new: str
    test: str

    def __str__(self) -> str:
        return f"{self.folder}: {self.old.strip()!r} -> {self.new.strip()!r}"

    def file(self, root: Path) -> Path:
        """The file below `root` that is changed. ValueError if the text does not stand once."""
        start = root / self.folder
        files = sorted(start.rglob("*.py")) if start.is_dir() else [start]
        found = [path for path in files for _ in range(path.read_text().count(self.old))]
        if len(found) != 1:
            raise ValueError(f"{self}: the text stands {len(found)} times, not once")
        return found[0]


def noticed(mutant: Mutant | None, test: str = "") -> bool:
    """True if the test fails on the mutant; with no mutant, on the source as it is."""
    with tempfile.TemporaryDirectory(prefix="cutepy-mutant-") as folder:
        copy = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy(source, copy / name)
        if mutant is not None:
            path = mutant.file(copy)
            path.write_text(path.read_text().replace(mutant.old, mutant.new))
        arguments = (mutant.test if mutant is not None else test).split(" ")
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments],
                cwd=copy,
                env={**os.environ, "PYTHONPATH": str(copy)},
                capture_output=True,
                text=True,
                timeout=LONGEST if mutant is not None else None,
            )
        except subprocess.TimeoutExpired:
            return True
    if done.returncode not in (0, 1, 2):
        raise SystemExit(f"pytest {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return done.returncode != 0


def run(mutants: list[Mutant], first: int = 0, last: int | None = None) -> int:
    """Try the mutants from `first` to before `last`; prints whether a test notices each. The exit status: 1 if one is
    missed."""
    chosen = mutants[first:last]
    tests = " ".join(sorted({mutant.test for mutant in chosen}))
    if noticed(None, tests):
        raise SystemExit(f"pytest {tests} fails on the source as it is")
    missed = []
    for mutant in chosen:
        seen = noticed(mutant)
        print(f"{'noticed' if seen else 'MISSED '} {mutant}", flush=True)
        if not seen:
            missed.append(mutant)
    print(f"{len(chosen)} mutants, {len(chosen) - len(missed)} noticed, {len(missed)} missed")
    return 1 if missed else 0
