"""Conflict-free layouts for accesses, against counts of bytes and all XOR layouts: `find.py COUNT [SEED KIND]`.

COUNT pairs of one width, pairs and triples of any, triples in small tiles, each of bit-permuted and of linear accesses,
padded tiles of any extents, of two and of three modes; or the kinds whose names begin with KIND. Prints a line a kind,
with the median time of `conflict_free` on a processor, and its first wrong cases; exits with 1 if any is wrong.
"""

import sys
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "tests")]

from layout import find_cases  # noqa: E402

from cutepy import conflict_free  # noqa: E402

count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
judges = {
    "certificates": find_cases.judged_certificate,
    "padded tiles": find_cases.judged_padded,
    "tiles of three padded modes": find_cases.judged_padded_modes,
    "tiles of any extents": find_cases.judged_any_extents,
}
for kind in ("permuted", "linear"):
    judges[f"{kind} pairs of one width"] = partial(find_cases.judged, kind=kind, count=2, same_width=True)
    judges[f"{kind} pairs"] = partial(find_cases.judged, kind=kind, count=2)
    judges[f"{kind} triples"] = partial(find_cases.judged, kind=kind, count=3)
    judges[f"{kind} triples in small tiles"] = partial(find_cases.judged_small, kind=kind)
took: list[float] = []


def timed(*args, **options):
    start = process_time()
    found = conflict_free(*args, **options)
    took.append(process_time() - start)
    return found


find_cases.conflict_free = timed
wrong = 0
for name, judge in judges.items():
    if not name.startswith(sys.argv[3] if len(sys.argv) > 3 else ""):
        continue
    took.clear()
    bad = [f"  {seed}: {said}" for seed in range(first, first + count) if (said := judge(seed))]
    wrong += len(bad)
    print(f"{count} {name}: {len(bad)} wrong, {1000 * median(took):.1f} ms", *bad[:3], sep="\n", flush=True)
sys.exit(wrong > 0)
