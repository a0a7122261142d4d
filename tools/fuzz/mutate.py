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
COPIED = ("cutepy", "tests", "docs", "pyproject.toml", "README.md")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: `old`, which stands once in `file`, becomes `new`; `test` are arguments of pytest."""

    file: str
    old: str
    new: str
    test: str

    def __str__(self) -> str:
        return f"{self.file}: {self.old.strip()!r} -> {self.new.strip()!r}"


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
            path = copy / mutant.file
            text = path.read_text()
            if text.count(mutant.old) != 1:
                raise SystemExit(f"{mutant}: the text stands {text.count(mutant.old)} times in the file, not once")
            path.write_text(text.replace(mutant.old, mutant.new))
        arguments = (mutant.test if mutant is not None else test).split(" ")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
        )
    if done.returncode not in (0, 1, 2):
        raise SystemExit(f"pytest {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return done.returncode != 0


def run(mutants: list[Mutant], only: str = "") -> int:
    """Try every mutant; prints those that no test notices, and one line. The exit status: 1 if there is one."""
    chosen = [mutant for mutant in mutants if only in mutant.file]
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
