"""Random kernels whose indices come through memory: the interpreter meets nothing that `verify` proves away.

`python tools/fuzz/data.py COUNT [SEED]` prints one line, and each program that is wrong.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "gpu"))
from data_programs import judge

count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
found: Counter[str] = Counter()
for seed in range(first, first + count):
    try:
        found[judge(seed).partition(":")[0]] += 1
    except AssertionError as error:
        found["FAULTS"] += 1
        print(error, flush=True)
print(f"{count} programs from {first}: " + ", ".join(f"{n} {what}" for what, n in sorted(found.items())))
sys.exit(found["FAULTS"] > 0)
