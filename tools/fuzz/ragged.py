"""Random ragged layouts, on the interpreter and the default device, as tests/gpu/ragged_layouts.py judges them.

`python tools/fuzz/ragged.py COUNT [SEED]` prints one line, and each layout that is wrong.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "gpu"))
from ragged_layouts import judge, judge_writes

count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
found: Counter[str] = Counter()
for seed in range(first, first + count):
    for look in (judge, judge_writes):
        try:
            found[look(seed)] += 1
        except AssertionError as error:
            found["FAULTS"] += 1
            print(error, flush=True)
print(f"{count} layouts from {first}: " + ", ".join(f"{n} {what}" for what, n in sorted(found.items())))
sys.exit(found["FAULTS"] > 0)
