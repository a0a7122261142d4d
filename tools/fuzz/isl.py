"""isl as second judge of the algebra: `isl.py COUNT [SEED]`, COUNT decided cases for each operation and kind of layout.

Prints what isl says for each; exits with 1 where it does not agree.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:1] = [str(ROOT), str(ROOT / "tests")]  # in the place of this folder, whose name for it is isl's own

from layout.isl_cases import JUDGED, judged  # noqa: E402


def main(count: int, seed: str = "0") -> int:
    against = 0
    for name in JUDGED:
        for swizzled in (False,) if name == "complement" else (False, True):
            found = judged(name, swizzled, count, seed)
            against += len(found.against)
            kind = "swizzled" if swizzled else "plain"
            print(
                f"{name:36} {kind:9} {found.agreed:6} agree, {len(found.against)} do not; {found.refused} refused, "
                f"{found.undecided} undecided",
                *found.against[:3],
                sep="\n  ",
                flush=True,
            )
    return 1 if against else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:3]))
