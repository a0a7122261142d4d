"""Random integer expressions: the simplified form equals the expression, its range holds it.

python tools/fuzz/expressions.py COUNT [SEED]
"""

import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "tests" / "gpu")]

from expressions import examine  # noqa: E402  found by the path above


def main(count: int, first: int = 0) -> int:
    """Examine `count` expressions from seed `first` on; the number of wrong ones is the exit status, at most 1."""
    wrong, crashed, start = 0, 0, time.process_time()
    for seed in range(first, first + count):
        try:
            problem = examine(seed, most=16)
        except Exception as error:
            problem, crashed = f"seed {seed}: {type(error).__name__}: {error}", crashed + 1
        if problem:
            wrong += 1
            if wrong <= 10:
                print(problem)
    seconds = time.process_time() - start
    print(f"{count} expressions from seed {first}: {wrong} wrong ({crashed} crashed), {seconds:.0f} s of CPU")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
