"""The plans of the matrix product: what they cut up is covered once, they fit what they are chosen for, and compute."""

from dataclasses import replace
from math import prod
from types import SimpleNamespace

import numpy as np
import pytest
from shares import ALL

from cutepy import Layout, composition, make_tensor, ops, transactions, vectorised, widest_copy
from cutepy.errors import KernelError
from cutepy.gpu.matmul.cost_model import LARGE, PLANS, SMALL, SQUARE, WIDE, ProductProblem, choose_plan
from cutepy.gpu.matmul.kernel_fma import _places, matmul_kernel
from cutepy.gpu.matmul.plan import Plan
from cutepy.gpu.matmul.staging import copy_block, copy_layout
from cutepy.gpu.operations.domain import tiling_of
from cutepy.gpu.runtime import Limits
from cutepy.gpu.verify import needs_checks

BIG_GPU = SimpleNamespace(kind="DiscreteGPU", limits=Limits(workgroup_bytes=49152, invocations=1024))
CPU = SimpleNamespace(kind="CPU", limits=Limits(workgroup_bytes=32768, invocations=1024))


@pytest.mark.parametrize("across", [True, False])
@pytest.mark.parametrize("lanes", [None, (8, 4), (4, 8), (2, 2), (1, 16), (8, 1)])
def test_every_place_has_one_thread(lanes: tuple[int, int] | None, across: bool) -> None:
    plan = Plan((128, 128, 8), (8, 16), lanes=lanes)
    row, column = _places(plan, across)
    places = [(row(tid), column(tid)) for tid in range(128)]
    assert set(places) == {(i, j) for i in range(8) for j in range(16)}
    if lanes:
        rows, columns = zip(*places[: lanes[0] * lanes[1]], strict=True)
        assert (len(set(rows)), len(set(columns))) == lanes


@pytest.mark.parametrize("tile", [(128, 8), (64, 16), (32, 16), (64, 64), (16, 32)])
@pytest.mark.parametrize("threads", [32, 64, 128, 256])
@pytest.mark.parametrize("along_k", [True, False])
def test_chosen_blocks_share_out_the_tile(tile: tuple[int, int], threads: int, along_k: bool) -> None:
    layout = copy_layout(tile, None, threads, along_k=along_k)
    assert sorted(layout.offsets().ravel().tolist()) == list(range(tile[0] * tile[1]))
    assert copy_block(tile, threads, along_k=along_k)[0] == min(4, tile[0] * tile[1] // threads)


SLICED = Plan((16, 64, 16), (1, 16, 4), unrolled=True)
"""Four groups of threads, each with a quarter of the k of a slab."""
AHEAD = [
    Plan((16, 16, 32), (1, 4, 4), ahead=4),
    Plan((4, 32, 16), (1, 8, 4), ahead=3),
    Plan((8, 32, 64), (1, 4, 8), ahead=2),
]
"""The same, with what is read of B in registers."""
SLICES = [
    SLICED,
    Plan((32, 32, 12), (4, 4, 3)),
    Plan((16, 32, 8), (2, 8, 8), stages=2),
    *AHEAD,
    replace(SLICED, splits=3),
    replace(AHEAD[0], splits=2),
]


ORDERS = "", "A", "B", "C", "ABC"


#: Each plan with half of the orders, or all.
IN_ORDERS = [(plan, turned) for i, plan in enumerate(SLICES) for j, turned in enumerate(ORDERS) if ALL or (i + j) % 2]


@pytest.mark.parametrize(("plan", "turned"), IN_ORDERS, ids=str)
def test_groups_of_threads_that_share_out_k(plan: Plan, turned: str) -> None:
    """Each plan with sizes and types, each order with each size and type, and these with each other."""
    g, one, other = np.random.default_rng(7), SLICES.index(plan), ORDERS.index(turned)
    dtype = ("f4", "f2", "i4")[(one + other) % 3]
    m, n, k = ((16, 64, 48), (13, 70, 50), (16, 128, 5))[(one + 2 * other) % 3]
    a, b = (g.integers(-8, 9, shape).astype(dtype) for shape in ((m, k), (k, n)))
    a, b = (np.asfortranarray(x) if name in turned else x for name, x in zip("AB", (a, b), strict=True))
    c = np.empty((m, n), dtype, order="F" if "C" in turned else "C")
    ops.matmul(a, b, make_tensor(c), plan=plan, engine="interpreter")
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("plan", SLICES, ids=str)
def test_what_lies_beyond_k_is_nothing(plan: Plan) -> None:
    """Not zero times what is read in its place: that may be infinite."""
    a, b = np.ones((9, 37), np.float32), np.ones((37, 33), np.float32)
    b[-1, 3], b[20, 5] = np.inf, np.nan
    turned = SLICES.index(plan) % 2  # rows or columns, from plan to plan
    for x, y in ((a, b), (np.asfortranarray(a), np.asfortranarray(b)))[turned : turned + 1]:
        np.testing.assert_array_equal(ops.matmul(x, y, plan=plan, engine="interpreter").numpy(), a @ b)


@pytest.mark.parametrize("plan", SLICES[:-2], ids=str)
def test_groups_of_threads_that_share_out_k_are_proven(plan: Plan) -> None:
    a, b, c = (np.zeros(shape, np.float32) for shape in ((13, 50), (70, 50), (13, 70)))
    assert matmul_kernel.verify(a, b, c, plan=plan).ok
    whole = [np.zeros(shape, np.float32) for shape in ((64, 96), (64, 96), (64, 64))]
    found = matmul_kernel.program(*whole, plan=plan)
    assert not found.checked and found.shared_bytes == plan.shared_bytes


@pytest.mark.parametrize("plan", [LARGE, WIDE, SMALL])
@pytest.mark.parametrize("turned", ORDERS)
def test_the_plans_for_large_gpus_on_the_interpreter(plan: Plan, turned: str) -> None:
    g = np.random.default_rng(7)
    m, n, k = 72, 140, 50
    a, b = (g.random(shape, dtype=np.float32) - np.float32(0.5) for shape in ((m, k), (k, n)))
    c = np.full((m, n), np.nan, np.float32)
    a, b, c = (np.asfortranarray(x) if name in turned else x for name, x in zip("ABC", (a, b, c), strict=True))
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    matmul_kernel.interpret(a, b.T, c, plan=plan)
    assert np.linalg.norm(c - wanted) / np.linalg.norm(wanted) <= 1e-6


def test_the_fast_kernel_needs_no_checks_and_no_predicates() -> None:
    a, b, c = (np.zeros((1024, 1024), np.float32) for _ in range(3))
    text = matmul_kernel.wgsl(a, b.T, c, plan=LARGE)
    assert not needs_checks(matmul_kernel.ir(a, b.T, c, plan=LARGE))
    assert "if (" not in text and text.count("workgroupBarrier") == 1
    assert "A: array<vec2<f32>>" in text and text.count("array<vec4<f32>") == 4


def test_plans_fit_the_device() -> None:
    large = ProductProblem(4096, 4096, 4096)
    assert choose_plan(large) == choose_plan(large, CPU) == Plan()  # type: ignore[arg-type]
    chosen = [choose_plan(ProductProblem(n, n, n), BIG_GPU) for n in (512, 1024, 2048, 4096)]  # type: ignore[arg-type]
    assert chosen == [SMALL, SQUARE, LARGE, LARGE]
    for plan in PLANS:
        assert plan.shared_bytes <= 49152 and prod(plan.threads) <= 256
    kernel = matmul_kernel.program(*(np.zeros((256, 256), np.float32) for _ in range(3)), plan=LARGE)
    assert kernel.shared_bytes == LARGE.shared_bytes


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("tile", [(0, 64, 16), (64, 64), (64, 64, 16.0), None, [64, 64, 16]]),
        ("threads", [(16,), (16, 16, 0), (-16, 16), 7]),
        ("copies", [3, ((4,), (4, 1)), ((4, 1),), ((4, 0), (4, 1)), ((4, 1), None)]),
        ("stages", [0, 3, None, 1.5]),
        ("lanes", [(0, 4), (4,), 8]),
        ("splits", [0, -1, 1.5, None, (2,)]),
        ("ahead", [-1, 0.5, None]),
    ],
)
def test_a_field_out_of_range_is_named(field: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(KernelError, match=rf"Plan\(.*: {field} is .*; it takes "):
            Plan(**{field: value})  # type: ignore[arg-type]


def test_groups_that_k_does_not_serve_are_refused() -> None:
    with pytest.raises(KernelError, match="3 groups of threads do not share out 8 columns of k"):
        Plan((48, 48, 8), (4, 4, 3))


@pytest.mark.parametrize("bk", [8, 16, 32])
@pytest.mark.parametrize("threads", [(8, 8, 2), (8, 8, 4), (4, 8, 8), (2, 4, 8), (8, 4, 4)])
def test_groups_whose_sums_have_no_room_are_refused(threads: tuple[int, int, int], bk: int) -> None:
    """Each plan that there is keeps to its memory; of those there are not, the next that is named keeps to it."""
    try:
        plan = Plan((32, 32, bk), threads)
    except KernelError as refused:
        enough = int(str(refused).split("; ")[-1].split()[0])
        assert "hand on 4 sums each" in str(refused) and enough > bk
        plan = Plan((32, 32, enough), threads)
    a, b, c = (np.zeros(shape, np.float32) for shape in ((32, 64), (32, 64), (32, 32)))
    assert matmul_kernel.verify(a, b, c, plan=plan, limits=BIG_GPU.limits).ok


@pytest.mark.parametrize("wrong", [{"threads": (4, 4, 4)}, {"tile": (16, 16, 24)}, {"ahead": 3}])
def test_runs_that_are_no_whole_slabs_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(KernelError, match="a slab has whole runs of 16 columns of k"):
        replace(AHEAD[0], **wrong)


def test_lanes_that_do_not_fill_the_threads_are_refused() -> None:
    with pytest.raises(KernelError, match="3x4 threads do not fill 8x16"):
        Plan((128, 128, 8), (8, 16), lanes=(3, 4))


def test_half_precision_is_summed_in_single() -> None:
    g = np.random.default_rng(3)
    a, b = (g.random((64, 64)).astype(np.float16) for _ in range(2))
    got = ops.matmul(a, b, plan=WIDE, engine="interpreter").numpy()
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    assert got.dtype == np.float16 and np.abs(got / wanted - 1).max() <= 2**-10


@pytest.mark.parametrize(
    ("memory", "owned"),
    [
        (Layout(1024), tiling_of([Layout(5000), Layout(5000)]).owned),
        (Layout((64, 16), (1, 4096)), copy_layout((64, 16), None, 256, along_k=False)),
        (Layout((128, 8), (1, 4096)), copy_layout((128, 8), None, 128, along_k=False)),
    ],
)
def test_who_brings_what_is_as_good_as_what_is_found(memory: Layout, owned: Layout) -> None:
    """Closed forms, for the search takes longer than tracing may."""
    found = widest_copy(memory, memory, owned[0].size, spaces=("gmem", "gmem"))
    assert vectorised(owned, memory).elements == found.elements
    assert transactions(composition(memory, owned), 4, found.access_bytes).count == found.reads[0] == found.reads[1]
