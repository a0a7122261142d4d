"""Random kernels of shared memory and barriers: what `verify` proves of them holds when they run as plain Python.

`python tools/fuzz/barriers.py COUNT [SEED] [--data]` prints one line, and each program that is wrong;
`--data` are kernels whose indices come through memory.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "gpu"))
import barrier_programs
import data_programs

judge = data_programs.judge if "--data" in sys.argv else barrier_programs.judge
count, first = (*[int(word) for word in sys.argv[1:] if word.isdecimal()], 0)[:2]
found: Counter[str] = Counter()
for seed in range(first, first + count):
    try:
        found[judge(seed).partition(":")[0]] += 1
    except AssertionError as error:
        found["FAULTS"] += 1
        print(error, flush=True)
print(f"{count} programs from {first}: " + ", ".join(f"{n} {what}" for what, n in sorted(found.items())))
sys.exit(found["FAULTS"] > 0)
