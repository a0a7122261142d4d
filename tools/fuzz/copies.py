"""The widest copies between random layouts, against brute force on small tiles: `copies.py COUNT [SEED]`.

Prints what is wrong, how many have the fewest transactions of all plain thread-value layouts, and, for very small
tiles, of all sharings out whatsoever, most of which no layout says. Of tiles of at most 16 elements, taken in at most 6
accesses, none may be narrower or take more than the best of all plain layouts, flat and nested, each of which is tried.
Exits with 1 where one is, an access could be wider, a count is wrong, fewer than 95 % of 100 or more are least of all
layouts or all sharings out, or one is beyond 1.25 times of those or twice of these, most of which no layout says.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "tests")]

from layout.copies_cases import judged, judged_any, judged_small  # noqa: E402

count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
seeds = range(first, first + count)
found = [(seed, *judged(seed)) for seed in seeds]
small = {seed: judged_small(seed) for seed in seeds}
bad = [f"seed {seed}: {said}" for seed, said, _ratio in found if said]
bad += [f"small seed {seed}: {said}" for seed, (said, _ratio) in small.items() if said]
print(*bad[:3], sep="\n", end="\n" if bad else "")
failed, told = len(bad) > 0, []
for name, most, ratios in (
    ("plain thread-value layouts", 1.25, {seed: ratio for seed, _said, ratio in found}),
    ("sharings out", 2, {seed: judged_any(seed) for seed in seeds}),
    ("sharings out of the tiles of 16", 2, {seed: ratio for seed, (_said, ratio) in small.items()}),
):
    more = [seed for seed in seeds if ratios[seed] > 1]
    told.append(f"{len(more)} take more transactions than the least of all {name}, {max(ratios.values()):.2f} times")
    print(f"more than the least of all {name}: seeds {more[:20]}" if more else "", end="\n" if more else "")
    failed |= (count >= 100 and len(more) > 0.05 * count) or max(ratios.values()) > most
print(f"{count} copies from seed {first}: {len(bad)} wrong; {'; '.join(told)}")
sys.exit(failed)
