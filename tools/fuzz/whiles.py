"""Random kernels of `while` loops and carried counters: every verdict is what their threads do in plain Python.

`python tools/fuzz/whiles.py COUNT [SEED]` prints one line, and each program that is wrong. Seven of eight programs are
judged with a small search budget, so that the verifier has to reason. A program that takes more than 2 seconds of
a processor is counted as slow.
"""

import signal
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "gpu"))
from while_programs import judge


class SlowError(BaseException):
    """A program that takes too long."""


def give_up(*_: object) -> None:
    """Leave the program that is judged."""
    raise SlowError


signal.signal(signal.SIGPROF, give_up)
count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
found: Counter[str] = Counter()
for seed in range(first, first + count):
    try:
        signal.setitimer(signal.ITIMER_PROF, 2)
        try:
            said = judge(seed)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        found[said.partition(":")[0]] += 1
    except AssertionError as error:
        found["FAULTS"] += 1
        print(error, flush=True)
    except SlowError:
        found["slow"] += 1
        print(f"{seed} is slow", flush=True)
print(f"{count} programs from {first}: " + ", ".join(f"{n} {what}" for what, n in sorted(found.items())))
sys.exit(found["FAULTS"] > 0)
