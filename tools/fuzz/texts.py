"""COUNT [SEED]: random calls around random texts of every notation, read and compared with the same calls in Python."""

import random
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / folder) for folder in ("tests", ".")]

from layout.texts import misread  # noqa: E402 (tests are no package)

count, rng = int(sys.argv[1]), random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
outcomes = [misread(rng, rng.choice((1, 2, 3))) for _ in range(count)]
wrong = [text for text in outcomes if text]
refused = outcomes.count("")
print(*wrong[:5], f"expressions: {count} texts, {len(wrong)} wrong, {refused} refused by both", sep="\n")
sys.exit(bool(wrong))
