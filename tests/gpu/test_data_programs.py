"""Kernels whose indices come through memory: what is proven holds. `tools/fuzz/barriers.py --data` runs more."""

from collections import Counter

import numpy as np
from data_programs import judge
from shares import in_share, share

from cutepy import gpu
from cutepy.gpu.verify import Claim, Status


def test_what_is_proven_of_indices_through_memory_holds() -> None:
    found = Counter(judge(seed) for seed in share(range(1140, 1300)))
    assert min(found["clean, proven"], found["wrong, refuted"]) >= in_share(10), found


@gpu.kernel
def rows_by_ticket(x, c, y):
    gpu.launch(grid=4, threads=1)
    columns = gpu.minimum(x[gpu.atomic_add(c, 0, 1) % 4], 4)
    for k in gpu.loop(columns):
        y[gpu.workgroup.x * columns + k] = k


def test_a_number_at_a_place_that_nothing_tells_is_none_of_the_launch() -> None:
    x, c, y = np.arange(4, 0, -1, dtype=np.uint32), np.zeros(1, np.uint32), np.zeros(16, np.uint32)
    (races,) = [v for v in rows_by_ticket.verify(x, c, y).verdicts if (v.claim, v.array) == (Claim.NO_RACES, "y")]
    assert races.status is not Status.PROVEN
