"""What shared memory holds is what was put there: an index read from it is proven to be inside, or not claimed to."""

import random
from collections import Counter

import numpy as np
import pytest
from shares import in_share, share

from cutepy import gpu
from cutepy.errors import KernelError, VerificationError

THREADS = 8
#: Where a step puts something, what it puts there, and who does; `v` is read from memory, s and r are shared.
PLACES = [lambda t: t, lambda t: THREADS - 1 - t, lambda t: t // 2, lambda t: (t + 3) % THREADS]
VALUES = [
    lambda t, v, s, r: t,
    lambda t, v, s, r: 2 * t + 1,
    lambda t, v, s, r: gpu.minimum(v, 9),
    lambda t, v, s, r: v,
    lambda t, v, s, r: s[t],
    lambda t, v, s, r: r[THREADS - 1 - t],
    lambda t, v, s, r: gpu.select(v < 5, s[t], t + 2),
    lambda t, v, s, r: gpu.maximum(s[t], r[t]),
    lambda t, v, s, r: s[t] + 1,
    lambda t, v, s, r: s[t] - 1,
    lambda t, v, s, r: gpu.select(s[t] < 4, s[t], 0),
]
GUARDS = [None, None, None, lambda t, v, s: t < 5, lambda t, v, s: v < 7, lambda t, v, s: s[t] < 6]


@gpu.kernel
def staged(ids, x, y, *, steps, turns):
    gpu.launch(threads=THREADS)
    s, r, t = gpu.shared("u32", THREADS), gpu.shared("u32", THREADS), gpu.thread
    s[t], v = t, ids[t]
    gpu.barrier()
    for _turn in gpu.loop(turns):
        for target, place, value, guard in steps:
            found = VALUES[value](t, v, s, r)
            gpu.barrier()
            if GUARDS[guard] is None:
                (s, r)[target][PLACES[place](t)] = found
            else:
                with gpu.when(GUARDS[guard](t, v, s)):
                    (s, r)[target][PLACES[place](t)] = found
            gpu.barrier()
    y[t] = x[s[THREADS - 1 - t]]


def program(seed: int) -> dict[str, object]:
    pick = random.Random(seed)
    steps = [
        (pick.randrange(2), pick.choice([0, 0, 1, 2, 3]), pick.randrange(len(VALUES)), pick.randrange(len(GUARDS)))
        for _ in range(pick.randint(1, 3))
    ]
    return {"steps": tuple(steps), "turns": pick.choice([1, 1, 3])}


def happens(seed: int, length: int) -> bool:
    """Whether the kernel runs without fault on the data of some seeds."""
    for draw in range(4):
        g = np.random.default_rng(draw)
        ids = g.integers(0, [4, 12, 1 << 32, 8][draw], THREADS, np.uint32)
        try:
            staged.interpret(
                ids, np.zeros(length, np.float32), np.zeros(THREADS, np.float32), check=True, **program(seed)
            )
        except (KernelError, VerificationError):
            return False
    return True


@pytest.mark.parametrize("length", [8, 10, 16])
def test_what_is_proven_of_contents_is_true(length: int) -> None:
    counts: Counter[tuple[bool, bool]] = Counter()
    for seed in share(range(60)):
        ids = np.zeros(THREADS, np.uint32)
        found = staged.verify(ids, np.zeros(length, np.float32), np.zeros(THREADS, np.float32), **program(seed))
        right = happens(seed, length)
        assert right or not found.ok, (seed, found)
        assert not (right and found.refuted), (seed, found)
        counts[right, found.ok] += 1
    assert counts[True, True] > 2 * counts[True, False] and counts[False, False] > in_share(5), counts


def test_who_may_read_what_nobody_wrote_knows_nothing_of_it() -> None:
    @gpu.kernel
    def partly(x, y, *, count):
        gpu.launch(threads=THREADS)
        s, t = gpu.shared("u32", THREADS), gpu.thread
        with gpu.when(t < count):
            s[t] = t
        gpu.barrier()
        y[t] = x[s[t]]

    for count in (THREADS - 1, THREADS):
        x, y = np.zeros(THREADS, np.float32), np.zeros(THREADS, np.float32)
        assert partly.verify(x, y, count=count).ok == (count == THREADS)
        assert partly.program(x, y, count=count).checked == (count < THREADS)
