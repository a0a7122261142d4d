"""Conflict-free layouts for random accesses, against counts of bytes and all XOR layouts: `find.py COUNT [SEED]`.

COUNT pairs of one width, pairs and triples of any, triples in small tiles, each of bit-permuted and of linear accesses,
and padded tiles of any extents. Prints a line a kind, with its first wrong cases; exits with 1 if any is wrong.
"""

import sys
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "tests")]

from layout.find_cases import judged, judged_padded, judged_small  # noqa: E402

count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
judges = {"padded tiles": judged_padded}
for kind in ("permuted", "linear"):
    judges[f"{kind} pairs of one width"] = partial(judged, kind=kind, count=2, same_width=True)
    judges[f"{kind} pairs"] = partial(judged, kind=kind, count=2)
    judges[f"{kind} triples"] = partial(judged, kind=kind, count=3)
    judges[f"{kind} triples in small tiles"] = partial(judged_small, kind=kind)
wrong = 0
for name, judge in judges.items():
    bad = [f"  {seed}: {said}" for seed in range(first, first + count) if (said := judge(seed))]
    wrong += len(bad)
    print(f"{count} {name}: {len(bad)} wrong", *bad[:3], sep="\n")
sys.exit(wrong > 0)
