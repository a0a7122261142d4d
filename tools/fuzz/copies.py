"""The widest copies between random layouts, against brute force on small tiles: `copies.py COUNT [SEED]`.

Prints what is wrong, how many have the fewest transactions of all plain thread-value layouts, and, for very small
tiles, of all sharings out whatsoever, most of which no layout says. Exits with 1 where an access could be wider, a
count is wrong, or, by either judge, fewer than 95 % are least or one is beyond 1.25 times of that.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "tests")]

from layout.copies_cases import judged, judged_any  # noqa: E402

count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
found = [(seed, *judged(seed)) for seed in range(first, first + count)]
bad = [f"  {seed}: {said}" for seed, said, _ratio in found if said]
print(f"{count} copies: {len(bad)} wrong", *bad[:3], sep="\n")
failed = len(bad)
for name, ratios in (
    ("plain thread-value layouts", [ratio for _seed, _said, ratio in found]),
    ("sharings out", [judged_any(seed) for seed in range(first, first + count)]),
):
    least, worst = sum(ratio <= 1 for ratio in ratios) / count, max(ratios)
    print(
        f"{least:.1%} have the fewest transactions of all {name}; the worst has {worst:.2f} times as many", flush=True
    )
    failed += least < 0.95 or worst > 1.25
sys.exit(failed > 0)
