"""How long a product takes by a plan, and the plan that should take the least.

Law: `predicted_us` orders plans as an NVIDIA H200 did, in 2,100 timings of 57 products. What it chooses took 1.01 times
as long as the best of `PLANS`, in the geometric mean, and at most 1.09 times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, log2, prod

from ...layout import ceil_div
from ...tensor import as_dtype
from .. import Adapter
from .plan import Plan, whole_splits

LARGE = Plan((128, 128, 8), (8, 16), stages=2, unrolled=True, lanes=(8, 4), repeat_last=True)
MEDIUM = Plan((128, 64, 16), (16, 8), stages=2, unrolled=True, lanes=(8, 4))
SQUARE = Plan((64, 64, 16), (8, 8), stages=2, unrolled=True, lanes=(8, 4))
WIDE = Plan((64, 256, 8), (8, 32), stages=2, unrolled=True, lanes=(8, 4), repeat_last=True)
SMALL = Plan((32, 32, 32), (4, 8, 4), unrolled=True)
SKINNY = Plan((16, 128, 32), (2, 16, 4), unrolled=True, repeat_last=True)
PLANS = LARGE, WIDE, MEDIUM, SQUARE, SMALL, SKINNY
FEW = 16
FEW_ROWS = {
    False: (*PLANS, Plan((4, 32, 512), (1, 8, 32), unrolled=True, ahead=4)),
    True: (
        *PLANS,
        Plan((4, 16, 512), (1, 4, 64), unrolled=True, ahead=2),
        Plan((8, 16, 512), (1, 4, 64), unrolled=True, ahead=2),
        Plan((16, 16, 256), (1, 4, 32), unrolled=True, ahead=2),
    ),
}
"""Plans for at most `FEW` rows, where k is contiguous in B, and where it is not."""

PROCESSORS, CLOCKS = 132, 1840
"""Of the GPU that was measured, an H200, and clocks of one of them in a microsecond, as far as plans use them."""
START, SECOND_START, READ, STORED = 2.0, 1.0, 7e6, 4.2e6
"""Microseconds that a launch takes and that of a second pass; bytes of A and B that reach the processors in one, and of
sums that are stored."""
WORD, BROUGHT, TURNED, WAIT, BEGIN = 0.67, 0.035, 2.0, 150, 1600
"""Multiply-adds in whose time a word is read of shared memory; clocks for an element that is brought there, how many
times that if it is of B and turned on its way; clocks that a slab is waited for, and of a workgroup's begin and end."""


@dataclass(frozen=True, slots=True)
class ProductProblem:
    """A product as its kernel sees it: extents, batches, types, and whether A, B and C lie along their mode 1."""

    m: int
    n: int
    k: int
    batch: int = 1
    dtypes: tuple[str, str, str] = ("f32", "f32", "f32")
    across: tuple[bool, bool, bool] = (True, False, True)

    @property
    def shape_class(self) -> str:
        """What it shares with the products that its plan serves: extents to half an octave, what vectors need of them.

        >>> ProductProblem(1000, 1024, 4096).shape_class
        'f32,f32,f32 kmn 20*,20*,24* 0'
        """
        sizes = ",".join(f"{round(2 * log2(x))}{'*' * (x % 4 == 0)}" for x in (self.m, self.n, self.k))
        letters = "".join(pair[along] for pair, along in zip(("mk", "mk", "mn"), self.across, strict=True))
        return f"{','.join(self.dtypes)} {letters} {sizes} {round(2 * log2(self.batch))}"


def groups_of(problem: ProductProblem, plan: Plan) -> int:
    """Workgroups of one part of k."""
    return ceil_div(problem.m, plan.tile[0]) * ceil_div(problem.n, plan.tile[1]) * problem.batch


def turns_of(problem: ProductProblem, plan: Plan) -> int:
    """Slabs that a workgroup takes, one after the other."""
    return ceil_div(ceil_div(problem.k, plan.tile[2]), plan.splits)


def registers_per_thread(plan: Plan) -> int:
    """Numbers that a thread holds: its sums, its part of one k of A and B, and what it reads ahead of B."""
    rows, columns = plan.owned
    return rows * columns + rows + columns * (1 + 4 * plan.ahead)


def smem_words_per_fma(plan: Plan) -> float:
    """What is read of shared memory for a multiply-add."""
    rows, columns = plan.owned
    return (rows + (0 if plan.ahead else columns)) / (rows * columns)


def predicted_us(problem: ProductProblem, plan: Plan) -> float:
    """How long a plan should take.

    A slab costs its multiply-adds, the words of shared memory that these read, what is brought there, and a wait at the
    barrier that workgroups of one processor share. As many run together as registers and shared memory let. All of them
    take no less than the bytes that are brought to them.
    """
    p, (bm, bn, bk), threads = problem, plan.tile, prod(plan.threads)
    of_b = 0 if plan.ahead else bn * bk
    held = min(255.0, registers_per_thread(plan) + (bm * bk + of_b) / threads + 30)
    together = max(1, min(int(65536 / (threads * held)), 2048 // threads, 46_000 // plan.shared_bytes))
    turns, work = turns_of(p, plan), bm * bn * bk / 128 * (1 + WORD * smem_words_per_fma(plan))
    brought = BROUGHT * (bm * bk + of_b * (TURNED if p.across[1] else 1))

    def clocks(groups: int) -> float:
        return turns * (work * (groups + 22 / threads) + brought * groups + WAIT) + BEGIN

    groups = groups_of(p, plan) * plan.splits
    rounds, rest = divmod(groups / PROCESSORS, together)
    taken = rounds * clocks(together) + (clocks(ceil(rest)) if rest else 0.0)
    if rounds >= 4:
        taken = groups / PROCESSORS / together * clocks(together)
    read = groups * turns * bk * (bm + bn) * as_dtype(p.dtypes[0]).bytes
    second, sums = (0.0, 1) if plan.splits == 1 else (SECOND_START, 2 * plan.splits + 1)
    return START + second + max(taken / CLOCKS, read / READ) + 4 * sums * p.m * p.n * p.batch / STORED


def in_splits(problem: ProductProblem, plan: Plan) -> list[Plan]:
    """The plan with k in one part, and in those that fill the processors once, where it does not read ahead, twice and
    four times."""
    groups, most = groups_of(problem, plan), max(1, problem.k // 64)
    counts = {1, *(min(most, max(1, times * PROCESSORS // groups)) for times in ((2, 4) if plan.ahead else (1, 2, 4)))}
    return [whole_splits(plan, problem.k, splits) for splits in sorted(counts)]


def choose_plan(problem: ProductProblem, adapter: Adapter | None = None) -> Plan:
    """A plan for this product on this adapter; without one, a plan that every WebGPU device can run.

    A discrete GPU gets that of `PLANS`, with its splits of k, that should take the least time.

    >>> choose_plan(ProductProblem(4096, 4096, 4096)).tile
    (64, 64, 16)
    """
    p = replace(problem, m=max(1, problem.m), n=max(1, problem.n), k=max(1, problem.k))
    if adapter is None or adapter.kind != "DiscreteGPU" or adapter.limits.workgroup_bytes < LARGE.shared_bytes:
        plan = Plan() if min(p.m, p.n) > 16 else Plan((32, 32, 16), (8, 8))
        return whole_splits(plan, p.k, max(1, min(16 // groups_of(p, plan), p.k // 1024)))
    return _quickest(p)


@lru_cache(maxsize=512)
def _quickest(problem: ProductProblem) -> Plan:
    plans = FEW_ROWS[problem.across[1]] if problem.m <= FEW else PLANS
    split = [each for plan in plans for each in in_splits(problem, plan)]
    return min(split, key=lambda plan: predicted_us(problem, plan))
