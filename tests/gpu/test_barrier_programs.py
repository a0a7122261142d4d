"""Kernels of shared memory and barriers as plain Python: what is proven holds. `tools/fuzz/barriers.py` runs more."""

from collections import Counter

from barrier_programs import judge
from shares import in_share, share


def test_what_is_proven_of_barriers_holds() -> None:
    found = Counter(judge(seed) for seed in share(range(150)))
    assert min(found["clean, proven"], found["wrong, not proven"]) >= in_share(10), found
