"""Views of host tensors against brute force: `python tools/fuzz/host_tensors.py COUNT [SEED]`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from tensor.views import check_views


def main(count: int = 2000, seed: int = 0) -> int:
    """Print one line of figures; 1 where a view reached outside, was wrong, or was refused though it fits."""
    faults = check_views(count, seed)
    for line in faults.wrong[:10]:
        print(line)
    figures = ", ".join(f"{number} {kind}" for kind, number in sorted(faults.count.items()))
    print(f"host tensors: {sum(faults.count.values())} views: {figures}; {len(faults.wrong)} wrong")
    return 1 if faults.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
