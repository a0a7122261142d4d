"""Faults planted in correct kernels, in their IR and in their Python text: none is proven, no original is refused.

    python tools/fuzz/mutants.py COUNT [SEED]

COUNT of each kind.
"""

import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "gpu")]

import mutants  # noqa: E402  found by the path above
import source_mutants  # noqa: E402


def main(count: int, first: int = 0) -> int:
    """Plant the faults; 1 if one is proven, or an original refused."""
    start = time.process_time()
    pairs, harmless = mutants.pairs(count, first)
    print(mutants.table(pairs, harmless))
    wrong = [p for p in pairs if not p.caught or not p.original_ok]
    fates: Counter[str] = Counter()
    for outcome in source_mutants.outcomes(count, first):
        fates[outcome.fate] += 1
        if outcome.fate in ("FALSELY PROVEN", "original refused"):
            print(outcome)
    bad = fates["FALSELY PROVEN"] + fates["original refused"] + len(wrong)
    told = ", ".join(f"{n} {fate}" for fate, n in fates.most_common())
    seconds = time.process_time() - start
    print(f"{count} in the IR: {len(wrong)} wrong; {count} in the text: {told}; {seconds:.0f} s of CPU")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
