"""Random kernels with shuffles, ballots and sums of subgroups: none is proven whose results differ at sizes 4 to 128.

`python tools/fuzz/subgroups.py COUNT [SEED]` prints one line, and each kernel that is wrong.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / folder) for folder in ("tests/gpu/verify", "tests/gpu", "tests", ".")]
from test_subgroup_size import judge  # noqa: E402  found through the path above

count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
found: Counter[str] = Counter()
for seed in range(first, first + count):
    try:
        found[judge(seed)] += 1
    except AssertionError as error:
        found["FAULTS"] += 1
        print(error, flush=True)
print(f"{count} kernels from {first}: " + ", ".join(f"{n} {what}" for what, n in sorted(found.items())))
sys.exit(found["FAULTS"] > 0)
