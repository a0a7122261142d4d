"""Every operation of the algebra on layouts with something outside, against tables: `composed.py COUNT [SEED] [NAME]`.

COUNT cases an operation, shared among the kinds of operand. Prints a line for each operation that has a wrong case and
one line in the end; exits with 1 if any case is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "tests")]

from layout.composed_cases import KINDS, LAWS, tried  # noqa: E402


def main(count: int, seed: str = "0", only: str = "") -> int:
    total = {"exact": 0, "refused": 0, "wrong": 0}
    names = [name for name in LAWS if not only or name == only]
    for name in names:
        for kind in KINDS:
            outcome = tried(name, kind, -(-count // len(KINDS)), seed)
            for what in total:
                total[what] += getattr(outcome, what)
            if outcome.wrong:
                print(
                    f"{name:18} {kind:15} {outcome.wrong} wrong of {count // len(KINDS)}: {outcome.first_wrong[:300]}"
                )
            if only:
                print(f"{name:18} {kind:15} exact {outcome.exact}, refused {outcome.refused}: {outcome.reason[:200]}")
    print(f"{len(names)} operations, {sum(total.values())} cases: " + ", ".join(f"{n} {k}" for k, n in total.items()))
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:4]))
