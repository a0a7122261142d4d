"""Every operation of `ops` with every element type, home and operand: `python tools/array_matrix.py [HOME ...]`.

A cell is as NumPy, or refused with one of the reasons; counts for each home (host, packed, device), and every cell that
is neither. Exits with 1 where there is one. The cells and their judge stand in tests/ops/matrix.py.
"""

import sys
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ops"))

from matrix import HOMES, cells, is_right, judged


def main(homes: list[str]) -> int:
    """Print a row of counts for each home, and what is wrong; 1 where something is."""
    wrong = 0
    for home in homes:
        counts: Counter[str] = Counter()
        for cell in cells():
            if cell.home != home:
                continue
            outcome = judged(cell)
            counts[outcome if is_right(outcome) else "other"] += 1
            if not is_right(outcome):
                print(f"  {cell}: {outcome}", flush=True)
        wrong += counts["other"]
        told = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
        print(f"{home:<7} {sum(counts.values()):6} cells: {told}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.exit(main(sys.argv[1:] or list(HOMES)))
