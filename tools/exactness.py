"""The exactness theorem, every case: `python tools/exactness.py [name]` counts the cases and prints those that fail.

The domains and the judges stand in tests/layout/exactness.py; docs/proofs.md carries the theorems to all sizes.
"""

import sys
from itertools import islice
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from layout.exactness import THEOREMS


def main(names: list[str], step: int = 1) -> int:
    """Run the theorems so named, or all, on every `step`-th case; 1 where one fails."""
    failed = 0
    for name, theorem in THEOREMS.items():
        if names and not any(name.startswith(given) for given in names):
            continue
        start, count, against = perf_counter(), 0, []
        for case in islice(theorem.cases(), 0, None, step):
            count += 1
            if not theorem.holds(*case):
                against.append(case)
        failed += len(against)
        print(f"{name}: {count:,} cases ({theorem.domain}), {len(against)} fail, {perf_counter() - start:.0f} s")
        for case in against[:5]:
            print("  fails:", *case)
    return int(failed > 0)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    every = int(arguments.pop(0).removeprefix("--every=")) if arguments and arguments[0].startswith("--every=") else 1
    sys.exit(main(arguments, every))
