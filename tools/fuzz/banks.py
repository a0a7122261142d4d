"""COUNT [SEED]: random accesses to banks, `bank_conflicts`, picture and report against a count byte by byte."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / folder) for folder in ("tests/gpu", "tests", ".")]

from bank_counts import disagreements  # noqa: E402 (tests are no package)

count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
wrong = [text for number in range(seed, seed + count) for text in disagreements(number)]
print(*wrong[:5], f"banks: {count} layouts, {len(wrong)} wrong", sep="\n")
sys.exit(bool(wrong))
