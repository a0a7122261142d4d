"""The algebra of this checkout beside that of a commit, in one process, by turns: `compare_speed.py COMMIT`.

Rows are those of bench/algebra.py. Prints the least times in microseconds and their ratio; exits with 1 above 1.10.
"""

from __future__ import annotations

import importlib
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROUNDS, MOST = 61, 1.10


def loaded(folder: Path) -> object:
    """`cutepy.layout` of a folder, beside what is loaded already."""
    for name in [name for name in sys.modules if name.split(".")[0] == "cutepy"]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    module = importlib.import_module("cutepy.layout")
    small = module.Layout((4, 8))
    module.right_inverse(small), module.zipped_divide(small, (2, 2))  # what is loaded late is loaded now
    sys.path.remove(str(folder))
    return module


def main(commit: str) -> int:
    archive = subprocess.run(["git", "archive", commit, "cutepy"], cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        tarfile.open(fileobj=io.BytesIO(archive)).extractall(folder, filter="data")
        old = loaded(Path(folder))
        new = loaded(ROOT)
        sys.path.insert(0, str(ROOT / "bench"))
        bench = importlib.import_module("algebra")
        worst = 0.0
        for size in bench.SHAPES:
            calls: list[dict[str, Callable[[], object]]] = [bench.operations("", lib, size) for lib in (old, new)]
            for row in calls[0]:
                number = max(20, int(400 / max(bench.microseconds(calls[1][row], 20), 0.5)))
                times = [[bench.microseconds(side[row], number) for side in calls] for _round in range(ROUNDS)]
                before, now = (min(side) for side in zip(*times, strict=True))
                worst = max(worst, now / before)
                print(f"{row + ' ' + size:<24}{before:9.2f}{now:9.2f}   {now / before:.2f}")
    print(f"highest ratio: {worst:.2f}")
    return 1 if worst > MOST else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
