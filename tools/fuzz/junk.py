"""COUNT [SEED]: junk calls of every public name of the layout room, each answered or refused in words, and soon."""

import resource
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / folder) for folder in ("tests", ".")]

from layout.junk_cases import faults  # noqa: E402 (tests are no package)

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
count = int(sys.argv[1])
found = faults(count, sys.argv[2] if len(sys.argv) > 2 else 0)
print(*found.values(), f"junk: {count} calls, {len(found)} kinds of faults", sep="\n")
sys.exit(bool(found))
