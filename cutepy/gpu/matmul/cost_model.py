"""How long a product takes by a plan, and the plan that should take the least: of multiply-adds, or of matrices.

Law: `predicted_us` orders plans as an NVIDIA H200 did, in timings of 195 products. What it chooses of `PLANS` took 1.03
times as long as the best of all that were timed, in the geometric mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import ceil, inf, log2, prod
from operator import itemgetter

from ...layout import ceil_div
from ...tensor import as_dtype
from .. import Adapter, Device
from ..operations.operand import ExecutionSite
from ..runtime.plan_file import size_class
from .plan import MatrixPlan, Plan, in_parts, parts_of, whole_splits

LARGE = Plan((128, 128, 8), (8, 16), stages=2, unrolled=True, lanes=(8, 4), repeat_last=True)
NARROW = Plan((128, 96, 8), (16, 8), stages=2, unrolled=True, lanes=(8, 4), repeat_last=True)
WIDE = Plan((64, 128, 8), (8, 16), stages=2, unrolled=True, lanes=(8, 4), repeat_last=True)
HIGH = Plan((128, 64, 8), (16, 8), stages=2, unrolled=True, lanes=(8, 4), repeat_last=True)
SQUARE = Plan((64, 64, 32), (8, 8, 2), unrolled=True, lanes=(8, 4))
TALL = Plan((64, 32, 32), (8, 8, 2), unrolled=True, lanes=(4, 8))
SMALL = Plan((32, 32, 32), (4, 8, 4), unrolled=True)
SKINNY = Plan((16, 128, 32), (2, 16, 4), unrolled=True, repeat_last=True)
ANYWHERE, ANYWHERE_OF_FEW = Plan(), Plan((32, 32, 16), (8, 8))
"""Plans that every WebGPU device can run, and for few rows, columns or multiply-adds."""
PLANS = SMALL, TALL, SQUARE, NARROW, LARGE, WIDE, HIGH
"""Plans for products of any extents."""
LONG_K = 2048
"""Columns of k from which a product of one row and few columns takes less time in parts."""
FEW_ROWS = 24
"""Rows of C up to which there are further plans, `PLANS_OF_FEW_ROWS`."""
WORTH_PARTS_US = 5.0
"""Microseconds by which a product of few rows with an epilogue has to be quicker in parts, whose sum is a launch more:
10 us of the host."""
SHORT_K = 2048
"""Columns of k up to which the plans are tried whose threads stand along the columns of C."""
PLANS_OF_SHORT_K = (
    Plan((8, 64, 64), (1, 64, 4), unrolled=True, ahead=4),
    Plan((4, 64, 64), (1, 64, 4), unrolled=True, ahead=4),
)
PLANS_OF_FEW_ROWS = {
    False: (
        Plan((4, 32, 512), (1, 8, 32), unrolled=True, ahead=4),
        Plan((4, 32, 256), (1, 8, 32), unrolled=True, ahead=2),
    ),
    True: (
        Plan((4, 16, 512), (1, 4, 64), unrolled=True, ahead=2),
        Plan((4, 16, 256), (1, 4, 32), unrolled=True, ahead=2),
        Plan((8, 16, 256), (1, 4, 32), unrolled=True, ahead=2),
        Plan((16, 16, 256), (1, 4, 32), unrolled=True, ahead=2),
    ),
}
"""Further plans of few rows where k is contiguous in B (True), and where it is not (False): one of twice the depth,
then those whose turns take 256 columns of k, which divide the k of many products; of a turn that is whole nothing is
compared with k."""
PLANS_OF_FEW_ROWS_FUSED = {across: plans[1::2] for across, plans in PLANS_OF_FEW_ROWS.items()}
"""Those of products with an epilogue, of which each plan is another text: of the fewest rows and of the most."""
PLANS_OF_ONE_ROW = (
    Plan((1, 32, 256), (1, 16, 16), unrolled=True, ahead=4),
    Plan((1, 32, 512), (1, 8, 32), unrolled=True, ahead=4),
    Plan((1, 16, 512), (1, 4, 64), unrolled=True, ahead=2),
)
"""Plans where the columns of B are neighbours in memory: of tiles enough for all processors, of one each and a long k,
and of fewer."""
ANYWHERE_PRODUCTS = 1 << 22
"""Multiply-adds from which tiles of `ANYWHERE` are enough for the processors of a GPU that is not discrete."""
FEW_PRODUCTS, SHORT_EXTENT, SMALL_OF_FEW = 1 << 19, 256, PLANS_OF_FEW_ROWS[True][1]
"""Products of no more multiply-adds and no longer extent have two plans, `SMALL` and this one for few rows: nearly all
of their time is the launch's, whatever the plan."""
LARGE_PRODUCT = 1 << 32
"""Multiply-adds from which a product is worth copies of its operands, or a text of its own for its plan with an
epilogue."""
LONG_K_OF_FUSED, PLANS_OF_PARTS = 512, (SMALL, NARROW, LARGE)
"""Columns of k from which a product with an epilogue has k in parts, and the plans of these: the first pass is then by
the kernels that products without one have, and the texts of GPT-2's four epilogues are those of four second passes. On
an H100 its products of 1,024 rows take 0.75 of the time of `SMALL` with k in one part, those of 333 rows 0.9."""
COPIED_PRODUCT, WORTH_COPYING = 1 << 30, 600
"""Multiply-adds from which a product in parts of k, which are stored in vectors, is worth these copies; and those for
an element of what is copied: 4095x4097x4099 took 3.35 ms as it lies, and 2.95 after two copies of 36 us; on an H100
708x499x5584 145 us, and 119."""

# The GPU that was measured, an NVIDIA H200: its processors, the clocks of one of them in a microsecond as far as plans
# use them, and of one processor the registers, the threads, and the bytes of shared memory that workgroups share.
PROCESSORS, CLOCKS_PER_US = 132, 1840
PROCESSOR_REGISTERS, PROCESSOR_THREADS, PROCESSOR_SHARED_BYTES = 65536, 2048, 44_000
MOST_THREAD_REGISTERS, OTHER_REGISTERS = 255, 38
"""Registers that a thread has at most, and those that it takes for addresses and counters."""
FMA_PER_CLOCK = 128
"""Multiply-adds of f32 that one processor does in a clock."""
START_US, SECOND_START_US = 2.0, 3.3
"""Microseconds that a launch takes, and that of a second pass, which adds the parts of k."""
READ_BYTES_PER_US, STORED_BYTES_PER_US = 7e6, 4.2e6
"""Bytes of A and B that reach the processors in a microsecond, and of parts of sums that a second pass adds."""
WORD_FMA = 1.21
"""Multiply-adds in whose time a word of 4 bytes is read of shared memory."""
BROUGHT_CLOCKS, STORED_CLOCKS = 0.0317, 0.0672
"""Clocks for an element that is brought to shared memory, and for one of a tile of C that is stored in vectors."""
ALONE, SIDE_BY_SIDE = 4.5, 25.0
"""Factors of `STORED_CLOCKS` where C is stored element by element: `ALONE`, and `SIDE_BY_SIDE` over the number of
threads that store neighbours at a time, for what is not coalesced."""
WAIT_CLOCKS, BEGIN_CLOCKS = 151, 4430
"""Clocks that a slab is waited for at a barrier, and of a workgroup's begin and end."""
UNALIGNED, MOST_K_UNALIGNED = 0.923, 1024
"""Of what else is said of them, tiles of 64 sums a thread and two stages take so much where C holds no whole vectors
and k is no longer than that (a longer one was not timed): threads of 96 and 128 sums are then short of registers."""
LATENCY_CLOCKS = 420
"""Clocks of latency of a slab, where B goes to registers and no other workgroup on the processor hides it."""
LATENCY_THREADS = 44
"""A slab takes the work of so many workgroups more, divided by the threads of one: latencies that few do not hide."""


@dataclass(frozen=True, slots=True)
class ProductProblem:
    """A product as its kernel sees it: A (m, k), B (n, k) and C (m, n), so many times; the types of A, B and C, and
    whether each is row-major."""

    m: int
    n: int
    k: int
    batch: int = 1
    dtypes: tuple[str, str, str] = ("f32", "f32", "f32")
    across: tuple[bool, bool, bool] = (True, False, True)

    @property
    def label(self) -> str:
        """The product in words."""
        return f"({self.m},{self.n},{self.k}) {self.batch} times"

    @property
    def shape_class(self) -> str:
        """What it shares with the products that its tuned plan serves: types, the axis along which each of A (m,k),
        B (n,k) and C (m,n) is contiguous, extents to half an octave (a star where vectors of 4 divide them), batches.

        >>> ProductProblem(1000, 1024, 4096).shape_class
        'f32,f32,f32 knn 20*,20*,24* 0'
        """
        sizes = ",".join(map(size_class, (self.m, self.n, self.k)))
        letters = "".join(pair[along] for pair, along in zip(("mk", "nk", "mn"), self.across, strict=True))
        return f"{','.join(self.dtypes)} {letters} {sizes} {round(2 * log2(self.batch))}"


def workgroups_of(problem: ProductProblem, plan: Plan | MatrixPlan) -> int:
    """Workgroups that compute one part of k: tiles that cover C, of all batches."""
    return -(-problem.m // plan.tile[0]) * -(-problem.n // plan.tile[1]) * problem.batch


def slabs_of(problem: ProductProblem, plan: Plan | MatrixPlan, splits: int = 0) -> int:
    """Slabs that a workgroup takes, one after the other, with k in the plan's parts or in so many."""
    whole = -(-problem.k // plan.tile[2])
    return -(-whole // (splits or plan.splits))


def registers_per_thread(plan: Plan) -> int:
    """Numbers that a thread holds: its sums, its part of one k of A and B, and what it reads ahead of B."""
    rows, columns = plan.owned
    return rows * columns + rows + columns * (1 + 4 * plan.ahead)


def smem_words_per_fma(plan: Plan) -> float:
    """Words of 4 bytes that are read of shared memory for a multiply-add."""
    rows, columns = plan.owned
    return (rows + (0 if plan.ahead else columns)) / (rows * columns)


@lru_cache(maxsize=1024)
def _of_workgroup(plan: Plan) -> tuple[int, float, tuple[float, float], tuple[float, float, float], float]:
    """What a workgroup of a plan takes: how many run together on a processor, as registers and shared memory let; the
    clocks of a slab whatever their number, and for each of them, its multiply-adds with the words of shared memory that
    these read and what is brought there, for C in vectors and for other C; those to store a tile, in vectors, or
    element by element for C in columns and in rows; and the microseconds below which no product is with k in
    parts."""
    (bm, bn, bk), threads = plan.tile, prod(plan.threads)
    of_b = 0 if plan.ahead else bn * bk  # elements of B that a slab brings to shared memory
    held = registers_per_thread(plan) + (bm * bk + of_b) / threads + OTHER_REGISTERS
    by_registers = int(PROCESSOR_REGISTERS / (threads * min(float(MOST_THREAD_REGISTERS), held)))
    together = max(1, min(by_registers, PROCESSOR_THREADS // threads, PROCESSOR_SHARED_BYTES // plan.shared_bytes))
    work = bm * bn * bk / FMA_PER_CLOCK * (1 + WORD_FMA * smem_words_per_fma(plan))
    wait, slab = work * LATENCY_THREADS / threads + WAIT_CLOCKS, work + BROUGHT_CLOCKS * (bm * bk + of_b)
    unaligned = slab * (UNALIGNED if prod(plan.owned) == 64 and plan.stages == 2 else 1)
    vectors = STORED_CLOCKS * bm * bn
    columns, rows = (vectors * (ALONE + SIDE_BY_SIDE / side_by_side) for side_by_side in plan.threads[:2])
    in_parts_us = START_US + SECOND_START_US + (BEGIN_CLOCKS + wait + unaligned + vectors) / CLOCKS_PER_US
    return together, wait, (slab, unaligned), (vectors, columns, rows), in_parts_us


def predicted_us(problem: ProductProblem, plan: Plan, splits: int = 0) -> float:
    """How many microseconds a product should take by a plan of multiply-adds, with k in its parts or in so many.

    A slab costs its multiply-adds, the words of shared memory that these read, what is brought there, and a wait at the
    barrier that workgroups of one processor share; a tile costs that it is stored, more where rows of C hold no whole
    vectors. As many run together as registers and shared memory let. All of them take no less than the bytes that are
    brought to them.
    """
    return _least(problem, (plan,), (splits or plan.splits,))[0]


def _least(problem: ProductProblem, plans: Sequence[Plan], counts: Sequence[int] = ()) -> tuple[float, Plan, int]:
    """The least `predicted_us` by these plans with k in these counts of parts, or in those of `_parts`; the first plan
    and count that take so long. A new shape waits for this, so what cannot be the least is left out: counts beside 1,
    where tiles are so many that there are none, or where less is taken than by a second pass; and a plan of which one
    workgroup alone takes as long as another plan."""
    m, n, k, batch = problem.m, problem.n, problem.k, problem.batch
    across, width = problem.across[2], as_dtype(problem.dtypes[0]).bytes
    way = 1 + across if (n if across else m) % 4 else 0
    least, best, parts = inf, plans[0], 1
    for plan in plans:
        (bm, bn, bk), (together, wait, (slab, unaligned), stored, in_parts_us) = plan.tile, _of_workgroup(plan)
        slab = unaligned if way and k <= MOST_K_UNALIGNED else slab
        whole = -(-k // bk)
        one = START_US + (whole * (wait + slab) + BEGIN_CLOCKS + stored[way]) / CLOCKS_PER_US
        if in_parts_us >= least <= one and not counts:
            continue
        tiles, tried = -(-m // bm) * -(-n // bn) * batch, [*counts] or [1]
        for splits in tried:
            groups, slabs = tiles * splits, -(-whole // splits)
            alone, each = slabs * wait + BEGIN_CLOCKS, slabs * slab + stored[way]
            if groups <= PROCESSORS:
                taken = alone + each + slabs * LATENCY_CLOCKS * (plan.ahead > 0)
            else:
                taken = in_rounds(groups, together, alone, each)
            # The memory's part: A and B once for each tile, and parts of sums that a second pass reads, and writes
            # their sum.
            read = groups * slabs * bk * (bm + bn) * width
            took = START_US + max(taken / CLOCKS_PER_US, read / READ_BYTES_PER_US)
            if splits > 1:
                took += SECOND_START_US + 4 * (splits + 1) * m * n * batch / STORED_BYTES_PER_US
            if took < least:
                least, best, parts = took, plan, splits
            # What one part took tells whether further counts are worth a look: the list grows while it is walked.
            if splits == 1 and not counts and tiles <= 2 * PROCESSORS and in_parts_us < least:
                tried += _parts(problem, plan)[1:]
    return least, best, parts


def in_rounds(groups: int, together: int, alone: float, each: float) -> float:
    """How long so many workgroups take where `together` run on a processor at a time, n of them in `alone + n * each`:
    rounds of all processors, and a last one that is not full; of many rounds none waits for another."""
    rounds, rest = divmod(groups / PROCESSORS, together)
    if rounds >= 4:
        return groups / PROCESSORS / together * (alone + together * each)
    return rounds * (alone + together * each) + (alone + ceil(rest) * each if rest else 0.0)


def _parts(problem: ProductProblem, plan: Plan) -> list[int]:
    """Counts of parts of k to choose from: one, and as many as fill the processors twice and four times, and once where
    the plan does not read ahead."""
    groups, most, depth = workgroups_of(problem, plan), problem.k // 64, plan.tile[2]
    wanted = [min(most, times * PROCESSORS // groups) for times in ((2, 4) if plan.ahead else (1, 2, 4))]
    return [1, *sorted({parts_of(problem.k, depth, count) for count in wanted if count > 1})]


def in_splits(problem: ProductProblem, plan: Plan) -> list[Plan]:
    """The plan with k in one part, and in as many as fill the processors several times."""
    return [in_parts(plan, count) for count in _parts(problem, plan)]


def choose_plan(problem: ProductProblem, adapter: Adapter | None = None, *, fused: bool = False) -> Plan:
    """A plan for this product on this adapter; without one, a plan that every WebGPU device can run.

    On a discrete GPU it is one of `PLANS`, of few rows `SMALL`, `SKINNY` or one of theirs: each is a text for all
    sizes. Of few multiply-adds there are two, one of few rows. With an epilogue each is another text. So a product that
    is `fused` with one has a plan of few rows up to `FEW_ROWS`; of more rows a long k in parts, which a second
    pass adds and finishes, and `SMALL` alone of a short k; and any plan from `LARGE_PRODUCT` on.

    >>> choose_plan(ProductProblem(4096, 4096, 4096)).tile
    (64, 64, 16)
    """
    p = problem
    if min(p.m, p.n, p.k) < 1:
        p = replace(problem, m=max(1, problem.m), n=max(1, problem.n), k=max(1, problem.k))
    if adapter is None or adapter.kind != "DiscreteGPU" or adapter.limits.workgroup_bytes < _bytes_of_plans():
        many = min(p.m, p.n) > FEW_ROWS and p.m * p.n * p.k * p.batch > ANYWHERE_PRODUCTS
        plan = ANYWHERE if many else ANYWHERE_OF_FEW
        return whole_splits(plan, p.k, max(1, min(16 // workgroups_of(p, plan), p.k // 1024)))
    return _quickest(p, fused)


def has_parts(device: Device | None, k: int) -> bool:
    """Whether products of few rows and so many columns of k may have these in parts on a device."""
    return device is not None and k >= 2 * (64 if device.adapter.kind == "DiscreteGPU" else 1024)


def one_pass(columns: int, k: int, batch: int) -> bool:
    """Whether a product of one row by these columns, neighbours in memory, is a launch by `PLANS_OF_ONE_ROW`: where its
    tiles are not so few that parts of a long k take less time, for all that they are added by a second launch."""
    return columns > FEW_ROWS and (k <= LONG_K or columns * batch >= PROCESSORS // 4 * PLANS_OF_ONE_ROW[-1].tile[1])


def _of_one_row(problem: ProductProblem) -> Plan:
    many, deep, narrow = PLANS_OF_ONE_ROW
    tiles = workgroups_of(problem, many)
    if tiles >= 3 * PROCESSORS // 2:
        return many
    return deep if problem.k >= LONG_K // 2 and tiles >= 3 * PROCESSORS // 4 else narrow


def is_few(m: int, n: int, k: int, batch: int) -> bool:
    """Whether a product is of few multiply-adds: none of its extents is long."""
    return m <= SHORT_EXTENT and n <= SHORT_EXTENT and k <= SHORT_EXTENT and m * n * k * batch <= FEW_PRODUCTS


@lru_cache(maxsize=512)
def _quickest(problem: ProductProblem, fused: bool) -> Plan:
    """The plan that should take the least time, with its splits."""
    work = problem.m * problem.n * problem.k * problem.batch
    if is_few(problem.m, problem.n, problem.k, problem.batch) and not fused:
        return least_of(problem, (SMALL_OF_FEW if problem.m <= FEW_ROWS else SMALL,))
    fused &= work < LARGE_PRODUCT
    if fused and problem.m <= FEW_ROWS:
        few = PLANS_OF_FEW_ROWS_FUSED[problem.across[1]]
        one = _least(problem, few, (1,))
        staged = SKINNY if problem.m <= SKINNY.tile[0] else SMALL
        parts = min((_least_of_parts(problem, plan) for plan in (*few, staged)), key=itemgetter(0))
        return in_parts(*(parts if parts[0] + WORTH_PARTS_US < one[0] else one)[1:])
    if problem.m == 1 and not problem.across[1] and one_pass(problem.n, problem.k, problem.batch):
        return _of_one_row(problem)
    if fused and problem.k >= LONG_K_OF_FUSED and work > ANYWHERE_PRODUCTS:
        return in_parts(*min((_least_of_parts(problem, plan) for plan in PLANS_OF_PARTS), key=itemgetter(0))[1:])
    if fused or problem.m > FEW_ROWS:
        return least_of(problem, (SMALL,) if fused else PLANS)
    return least_of(problem, (SMALL, *_few_rows(problem)))


def _least_of_parts(problem: ProductProblem, plan: Plan) -> tuple[float, Plan, int]:
    """`_least` by this plan with k in two parts or more."""
    return _least(problem, (plan,), _parts(problem, plan)[1:] or [parts_of(problem.k, plan.tile[2], 2)])


def _few_rows(problem: ProductProblem) -> tuple[Plan, ...]:
    """The plans for few rows that have kernels for all sizes. Twice the depth is for a long k that it divides, with all
    of k in one part: its turns are then many, and none loads what nothing uses."""
    deep, first, *others = PLANS_OF_FEW_ROWS[problem.across[1]]
    if problem.m > SKINNY.tile[0]:
        return (first,)
    depth = deep.tile[2]
    if not problem.across[1] and problem.k <= SHORT_K:
        others += PLANS_OF_SHORT_K
    if problem.k % depth == 0 and problem.k >= 4 * depth and least_of(problem, (deep,)).splits == 1:
        first = deep
    return SKINNY, first, *(plan for plan in others if problem.m > first.tile[0] or plan.tile[0] <= first.tile[0])


def least_of(problem: ProductProblem, plans: Sequence[Plan]) -> Plan:
    """The plan of these, with its splits, that should take the least time."""
    return in_parts(*_least(problem, plans)[1:])


MATRIX_LARGE = MatrixPlan()
MATRIX_WIDE = MatrixPlan((64, 128, 32))
MATRIX_SMALL = MatrixPlan((64, 64, 32))
MATRIX_DEEP = MatrixPlan((64, 64, 64))
MATRIX_LOW = MatrixPlan((32, 64, 64), (1, 4))
MATRIX_THIN = MatrixPlan((16, 64, 64), (1, 4))
LEAST_EXTENT = 32
"""Columns of k below which slabs are mostly padding, and rows and columns below which multiply-adds may be quicker."""
MATRIX_SECOND_US = 2.2
"""Microseconds that a second pass takes beside its bytes, the memory for the parts included."""
COPIED_BYTES_PER_US = 2.4e6
"""Bytes, read and written, of operands that are copied among zeros, where tiles do not divide them."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What a slab of a plan of matrices takes in microseconds on the GPU that was measured: `wait` for memory and
    barriers, and `work` for each of the workgroups, `most` at a time, that share a processor."""

    plan: MatrixPlan
    wait: float
    work: float
    most: int

    def predicted_us(self, problem: ProductProblem, splits: int) -> float:
        """How many microseconds the product should take with k in so many parts: whole rounds of workgroups, the rest
        of them, the sum of the parts, and copies of operands that tiles do not divide."""
        p, (bm, bn, bk), width = problem, self.plan.tile, as_dtype(self.plan.types[0]).bytes
        groups, slabs = workgroups_of(p, self.plan) * splits, slabs_of(p, self.plan, splits)
        taken = in_rounds(groups, self.most, slabs * self.wait, slabs * self.work)
        read = groups * slabs * bk * (bm + bn) * width
        second, sums = (MATRIX_SECOND_US, 8 * splits) if splits > 1 else (0.0, 0)
        stored = (width + sums) * p.m * p.n * p.batch / STORED_BYTES_PER_US
        m, n, k = (ceil_div(extent, step) * step for extent, step in zip((p.m, p.n, p.k), self.plan.tile, strict=True))
        uneven = [rows * k * p.batch for rows, extent in ((m, p.m), (n, p.n)) if rows != extent or k != p.k]
        copied = START_US * len(uneven) + 2 * width * sum(uneven) / COPIED_BYTES_PER_US
        return START_US + second + max(taken, read / READ_BYTES_PER_US) + stored + copied


PACES = (
    Pace(MATRIX_LARGE, 0.692, 0.156, 2),
    Pace(MATRIX_WIDE, 0.321, 0.230, 3),
    Pace(MATRIX_SMALL, 0.174, 0.181, 5),
    Pace(MATRIX_DEEP, 0.467, 0.180, 2),
    Pace(MATRIX_LOW, 0.409, 0.143, 3),
    Pace(MATRIX_THIN, 0.435, 0.041, 5),
)
"""Fitted to 72 timings of 17 products on one NVIDIA H200, 2026-11-27, operands in NumPy's order: 13 % off in the mean;
what is chosen took 1.02 times as long as the best of these, and at most 1.16 times."""


@lru_cache(maxsize=512)
def choose_matrix_plan(problem: ProductProblem, types: tuple[str, str] = ("f16", "f32")) -> tuple[MatrixPlan, float]:
    """The plan of matrices of the least time, by `PACES`, for elements and sums of these `types`; and that time, in
    microseconds.

    >>> choose_matrix_plan(ProductProblem(4096, 4096, 4096))[0].tile
    (128, 128, 32)
    """
    best, least = MATRIX_LARGE, float("inf")
    for pace in PACES:
        for splits in (1, 2, 4, 8, 16, 32):
            took = pace.predicted_us(problem, splits)
            # A part of fewer than 4 slabs is mostly its begin and end.
            if took < least and (splits == 1 or problem.k >= splits * pace.plan.tile[2] * 4):
                best, least = replace(pace.plan, splits=parts_of(problem.k, pace.plan.tile[2], splits)), took
    return replace(best, types=types), least


def matrix_plan(place: ExecutionSite, problem: ProductProblem, sums: str) -> MatrixPlan | str:
    """The plan that computes a product on matrix units, or the reason why none does, for an error: `sums` is the name
    of the accumulators' type."""
    kind, other, _ = problem.dtypes
    if kind != other:
        return f"{kind} meets {other}"
    if place.device is not None and kind != "f16":
        return f"they multiply f16, not {kind}"
    shapes = matrix_shapes(place, (kind, sums))
    if isinstance(shapes, str):
        return shapes
    assert place.device is not None
    needed = MATRIX_LARGE.shape
    if needed not in shapes:
        return f"{place.device} lists {', '.join(map(str, shapes))} and not {needed}, which the plans are of"
    found, took = choose_matrix_plan(problem, (kind, sums))
    p, without = problem, predicted_us(problem, choose_plan(problem, place.device.adapter))
    if p.k < LEAST_EXTENT or (min(p.m, p.n) < LEAST_EXTENT and without < took):
        return f"{p.m}x{p.n}x{p.k} should take {took:.1f} us by them, and {without:.1f} us by multiply-adds"
    return replace(found, columns=(not problem.across[0], not problem.across[1]))


@cache
def _bytes_of_plans() -> int:
    """Bytes of shared memory that the plans of any extents take at most: each product asks."""
    return max(plan.shared_bytes for plan in PLANS)


@cache
def _most_shared_bytes() -> int:
    """Bytes of shared memory that the largest plan takes, however its operands are staged."""
    return replace(MATRIX_LARGE, columns=(False, False)).shared_bytes


def matrix_shapes(place: ExecutionSite, types: tuple[str, str]) -> list[tuple[int, int, int]] | str:
    """The (m, n, k) of matrices of these types that the device grants, or why there are none."""
    if place.device is None:
        return "the interpreter is asked for, not a device"
    adapter, least = place.device.adapter, _most_shared_bytes()
    found = [(s.m, s.n, s.k) for s in place.device.matrices if (s.operand, s.result) == types]
    if not found:
        return adapter.no_matrices or f"{adapter} lists none of {types[0]} with sums in {types[1]}"
    if adapter.limits.workgroup_bytes < least:
        return f"{adapter} has {adapter.limits.workgroup_bytes} bytes of shared memory, the plans need {least}"
    return found
