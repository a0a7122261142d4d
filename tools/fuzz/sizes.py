"""Random kernels for unknown sizes: no proof for all sizes may be false at any.

`python tools/fuzz/sizes.py COUNT [SEED]` prints one line, and each kernel that is wrong: 12 sizes for each.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "gpu"))
from size_programs import judge

count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
found: Counter[str] = Counter()
for seed in range(first, first + count):
    try:
        found += judge(seed)
    except AssertionError as error:
        found["FAULTS"] += 1
        print(error, flush=True)
print(f"{count} kernels from {first}: " + ", ".join(f"{n} {what}" for what, n in sorted(found.items())))
sys.exit(found["FAULTS"] > 0)
