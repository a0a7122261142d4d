"""Products of any shape and rank on the interpreter: NumPy's meaning, the plans of a large GPU, and their proofs."""

import sys
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from shares import ALL, share

from cutepy import gpu, ops
from cutepy.gpu.matmul import contraction as products
from cutepy.gpu.matmul.contraction import contract, group_axes
from cutepy.gpu.matmul.cost_model import (
    LARGE,
    PLANS_OF_ONE_ROW,
    PLANS_OF_SHORT_K,
    SKINNY,
    SMALL,
    WIDE,
    ProductProblem,
    choose_plan,
)
from cutepy.gpu.matmul.plan import Plan, in_parts, whole_splits
from cutepy.gpu.operations.operand import ExecutionSite
from cutepy.gpu.runtime import Limits
from cutepy.gpu.trace import state
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.layout import Layout, Swizzle, make_composed_layout
from cutepy.tensor import Tensor, make_tensor

BIG_GPU = SimpleNamespace(kind="DiscreteGPU", limits=Limits(workgroup_bytes=49152, invocations=1024))
ROOMY = Limits(workgroup_bytes=49152, binding_bytes=1 << 31)
PLANS = {"large": LARGE, "wide": WIDE, "small": SMALL, "skinny": SKINNY, "portable": Plan()}
PLANS |= {"one row": PLANS_OF_ONE_ROW[0], "one long row": PLANS_OF_ONE_ROW[1], "short k": PLANS_OF_SHORT_K[1]}

TURNED = ("", "A", "B", "AB")


def stored(g: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Random elements with the axes in any order in memory, some of them reversed."""
    order = g.permutation(len(shape))
    x = g.standard_normal([shape[axis] for axis in order], dtype=np.float32).transpose(np.argsort(order))
    return x[::-1] if g.random() < 0.2 else x


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    assert found.shape == wanted.shape
    return float(np.linalg.norm(found - wanted) / max(1e-9, float(np.linalg.norm(wanted))))


@pytest.fixture
def large_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plans that a large GPU would get, with splits as random products seldom have them."""
    g = np.random.default_rng(0)

    def chosen(problem: ProductProblem, _adapter: object, *, fused: bool) -> Plan:
        return whole_splits(choose_plan(problem, BIG_GPU, fused=fused), problem.k, int(g.integers(1, 5)))  # type: ignore[arg-type]

    monkeypatch.setattr(sys.modules["cutepy.gpu.matmul.contraction"], "choose_plan", chosen)


@pytest.mark.parametrize("seed", share(range(6)))
def test_random_batches(large_gpu: None, seed: int) -> None:
    g = np.random.default_rng(seed)
    for _case in range(6):
        m, n, k = (int(np.exp(g.uniform(0, np.log(140)))) for _ in "mnk")
        batch = [(), (), (3,), (2, 3)][g.integers(4)]
        alone = tuple(1 if g.random() < 0.3 else size for size in batch)[int(g.integers(len(batch) + 1)) :]
        one = (k,) if g.random() < 0.1 else (*alone, m, k)
        other = (k,) if g.random() < 0.1 else (*batch, k, n)
        a, b = stored(g, one), stored(g, other)
        wanted = a.astype(np.float64) @ b.astype(np.float64)
        assert error(ops.matmul(a, b, engine="interpreter").numpy(), np.asarray(wanted)) <= 1e-6, (one, other)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("turned", TURNED)
def test_every_plan_at_uneven_edges(name: str, turned: str) -> None:
    """Half of the sizes in turn, whole or in halves: each size is both, with one operand turned or the other."""
    g = np.random.default_rng(4)
    bm, bn, bk = PLANS[name].tile
    sizes = (bm + 1, bn - 1, 3 * bk + 1), (max(1, bm - 4), bn + 4, 2 * bk + 4), (3, 5, bk), (bm, bn, 5)
    turn = TURNED.index(turned)
    for number, (m, n, k) in enumerate(sizes[turn % 2 :: 2]):
        a, b = (g.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
        c = make_tensor(np.full((m, n), np.nan, np.float32))
        a, b = (np.asfortranarray(x) if letter in turned else x for x, letter in ((a, "A"), (b, "B")))
        wanted = a.astype(np.float64) @ b.astype(np.float64)
        splits = 1 + (number + turn // 2) % 2
        ops.matmul(a, b, c, plan=whole_splits(PLANS[name], k, splits), engine="interpreter")
        assert error(c.numpy(), wanted) <= 1e-6, (m, n, k, splits)


@pytest.mark.parametrize("seed", share(range(4)))
def test_one_row_by_plans(large_gpu: None, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector by a matrix or the other way round, perhaps many of them, by the plans that a large GPU has for them."""
    monkeypatch.setattr(products, "row_by_row", lambda _place, groups, _dtype: not (groups.m or groups.n))
    planned: list[Plan] = []
    run = products.run_plan
    monkeypatch.setattr(products, "run_plan", lambda *given, **how: planned.append(given[2]) or run(*given, **how))
    g = np.random.default_rng(seed)
    for case in range(4):
        k, n = (int(np.exp(g.uniform(1, np.log(600)))) for _ in "kn")
        n, batch = n + 257, [(), (2,), (3, 2)][g.integers(3)]  # longer than those of few multiply-adds
        x, b = (g.standard_normal((*batch, *shape), dtype=np.float32) for shape in ((1, k), (k, n)))
        one, other = (x, b) if case % 2 else (b.swapaxes(-1, -2), x.swapaxes(-1, -2))
        wanted = one.astype(np.float64) @ other.astype(np.float64)
        assert error(ops.matmul(one, other, engine="interpreter").numpy(), wanted) <= 1e-6, (batch, k, n)
    assert len(planned) == 4 and all(plan.tile[0] == 1 for plan in planned)


def test_what_lies_beyond_the_end_of_k_is_no_part_of_a_sum() -> None:
    """Loads are moved inside: an infinity that they meet there twice must not meet a zero."""
    a, b = np.ones((40, 37), np.float32), np.ones((37, 40), np.float32)
    b[-1], a[:, -1] = np.inf, 2
    for plan in (SMALL, LARGE):
        assert (ops.matmul(a, b, plan=plan, engine="interpreter").numpy() == np.inf).all()


@pytest.mark.parametrize("turned", TURNED)
def test_uneven_operands_of_large_products_are_copied(turned: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a copy has beyond k is 0. What it has beyond the rows is anything, here NaN, and in no element of C."""
    copied, new, whole = [], ExecutionSite.new, products.of_whole_slabs

    def poisoned(*given: object, **how: object) -> Tensor:
        found: Tensor = new(*given, **how)  # type: ignore[arg-type]
        found.engine.memory[...] = np.nan  # type: ignore[attr-defined]
        return found

    monkeypatch.setattr(ExecutionSite, "new", poisoned)
    monkeypatch.setattr(products, "of_whole_slabs", lambda *given: copied.append(given[1]) or whole(*given))
    monkeypatch.setattr(products, "LARGE_PRODUCT", 1)
    monkeypatch.setattr(products, "COPIED_PRODUCT", 1)
    monkeypatch.setattr(products, "WORTH_COPYING", 1)
    g = np.random.default_rng(5)
    plans = LARGE, SMALL, in_parts(SMALL, 2)
    for plan, (batch, m, k, n) in product(plans, [((), 130, 131, 67), ((), 66, 64, 35), ((3,), 34, 33, 40)]):
        a, b = (g.standard_normal((*batch, *shape), dtype=np.float32) for shape in ((m, k), (k, n)))
        wanted = a.astype(np.float64) @ b.astype(np.float64)
        a, b = (
            np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2) if letter in turned else x
            for x, letter in ((a, "A"), (b, "B"))
        )
        assert error(ops.matmul(a, b, plan=plan, engine="interpreter").numpy(), wanted) <= 1e-6, (plan, m, k, n)
    assert len(copied) == 18


@pytest.fixture
def proofs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that are launched: each is proven, none is run."""
    launched: list[str] = []

    def proven(kernel: KernelFunction, *operands: object, **static: object) -> None:
        launched.append(kernel.__name__)
        proof = kernel.verify(*operands, limits=ROOMY, **static)
        assert not proof.refuted and not proof.undecided, proof

    monkeypatch.setattr(KernelFunction, "interpret", proven)
    return launched


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("number", range(3) if ALL else range(1))
def test_every_plan_is_proven(name: str, number: int, proofs: list[str]) -> None:
    """With one split, with few and with many, at one size or another, from plan to plan; or each plan at each size."""
    m, n, k = [(3000, 200, 7000), (1001, 999, 1003), (5, 4096, 4096)][(list(PLANS).index(name) + number) % 3]
    plan = whole_splits(PLANS[name], k, (1, 7, 64)[(list(PLANS).index(name) + m) % 3])
    ops.matmul(np.zeros((m, k), np.float32), np.zeros((k, n), np.float32), plan=plan, engine="interpreter")
    assert proofs.count("matmul_kernel") == 1 and (proofs.count("parts_kernel") == 1) == (plan.splits > 1)


def test_what_a_large_gpu_is_given_is_proven(proofs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys.modules["cutepy.gpu.matmul.contraction"],
        "choose_plan",
        lambda problem, _, *, fused: choose_plan(problem, BIG_GPU, fused=fused),  # type: ignore[arg-type]
    )
    g = np.random.default_rng(14)
    sizes = [(16, 4096, 4096), (64, 64, 1 << 20), (128, 8192, 4096), (4096, 1, 4096), (1, 4096, 4096), (700, 900, 3000)]
    sizes += [tuple(int(np.exp(g.uniform(0, np.log(5000)))) for _ in range(3)) for _ in share(range(6))]
    for at, (m, n, k) in enumerate(sizes):
        b = np.zeros((k, n), np.float32) if at % 2 else np.zeros((n, k), np.float32).T
        ops.matmul(np.zeros((m, k), np.float32), b, engine="interpreter")
    assert len(proofs) >= len(sizes)


def test_splits_are_never_empty() -> None:
    for slabs in range(1, 60):
        for wanted in range(1, 70):
            splits = whole_splits(SMALL, SMALL.tile[2] * slabs, wanted).splits
            share = -(-slabs // splits)
            assert 1 <= splits <= max(1, wanted) and (splits - 1) * share < slabs


def test_the_choice_fills_a_large_gpu_where_k_allows_it() -> None:
    sizes = (16, 4096, 4096), (64, 64, 1 << 20), (3000, 200, 7000), (128, 8192, 4096), (512, 512, 512)
    for (m, n, k), along_k in product(sizes, (False, True)):
        plan = choose_plan(ProductProblem(m, n, k, across=(True, along_k, True)), BIG_GPU)  # type: ignore[arg-type]
        assert -(-m // plan.tile[0]) * -(-n // plan.tile[1]) * plan.splits >= 120, plan
    assert choose_plan(ProductProblem(64, 64, 64, 1000), BIG_GPU).splits == 1  # type: ignore[arg-type]


def test_splits_and_sums_of_products_give_the_same_bits_every_time() -> None:
    g = np.random.default_rng(2)
    a, b = g.standard_normal((20, 700), dtype=np.float32), g.standard_normal((700, 30), dtype=np.float32)
    plan = replace(SMALL, splits=6)
    assert len({ops.matmul(a, b, plan=plan, engine="interpreter").numpy().tobytes() for _ in range(3)}) == 1
    assert len({ops.matmul(a, b[:, 0], engine="interpreter").numpy().tobytes() for _ in range(3)}) == 1


@pytest.mark.parametrize("dtype", ["float16", "int32", "uint32", "bool"])
def test_other_types_in_batches_and_splits(dtype: str) -> None:
    g = np.random.default_rng(1)
    a, b = (g.integers(0, 3, shape).astype(dtype) for shape in ((3, 20, 200), (200, 17)))
    wanted = (a.astype(np.int64) @ b.astype(np.int64)).astype(dtype)
    for plan in (None, replace(SMALL, splits=3)):
        found = ops.matmul(a, b, plan=plan, engine="interpreter").numpy()
        assert found.dtype == dtype and np.array_equal(found, wanted)
    assert np.array_equal(ops.matmul(a, b[:, 0], engine="interpreter").numpy(), wanted[..., 0])


def axes(tensor: np.ndarray, letters: str, order: str) -> Tensor:
    """The array over the axes of `order`: at stride 0 along those that it does not have."""
    view = np.lib.stride_tricks.as_strided(
        tensor,
        [EXTENTS[letter] for letter in order],
        [tensor.strides[letters.index(letter)] if letter in letters else 0 for letter in order],
    )
    return make_tensor(view)


EXTENTS = {"a": 5, "b": 3, "c": 7, "d": 16, "e": 6, "f": 2}


@pytest.mark.parametrize(
    ("one", "other", "out"),
    [
        ("abcd", "cdef", "abef"),
        ("acbd", "edfc", "abef"),
        ("dcab", "ecd", "bea"),
        ("bad", "bed", "bae"),
        ("abd", "de", "abe"),
        ("fbad", "bdfe", "eabf"),
        ("abcd", "abcd", "ab"),
        ("abcd", "cd", "ab"),
        ("ad", "e", "ae"),
    ],
)
def test_any_axes_stand_for_rows_columns_batches_and_sums(large_gpu: None, one: str, other: str, out: str) -> None:
    g = np.random.default_rng(3)
    x, y = (g.standard_normal([EXTENTS[c] for c in letters], dtype=np.float32) for letters in (one, other))
    summed = "".join(sorted({*one, *other} - {*out}))
    c = make_tensor(np.full([EXTENTS[letter] for letter in out], np.nan, np.float32))
    contract(ExecutionSite(None), (axes(x, one, out + summed), axes(y, other, out + summed), c))
    wanted = np.einsum(f"{one},{other}->{out}", x.astype(np.float64), y.astype(np.float64))
    assert error(c.numpy(), wanted) <= 1e-6


def test_axes_whose_factors_do_not_meet_and_swizzles() -> None:
    g = np.random.default_rng(5)
    values = g.standard_normal(36 * 8, dtype=np.float32)
    a = Tensor(make_tensor(values).engine, Layout(((2, 3), (6, 8)), ((3, 1), (6, 36))))
    b = Tensor(make_tensor(values[:48].copy()).engine, Layout(48))
    c = make_tensor(np.zeros(6, np.float32))
    odd = Tensor(a.engine, Layout(((3, 2), (6, 8)), ((2, 1), (6, 36))))
    wide_b = Tensor(b.engine, Layout((6, 48), (0, 1)))
    for one in (a, odd):
        out = Tensor(c.engine, Layout(((2, 3),), ((3, 1),)) if one is odd else Layout(6))
        assert (group_axes(*(tuple(t.layout) for t in (one, wide_b, out))) is None) == (one is odd)
        contract(ExecutionSite(None), (one, wide_b, out))
        assert error(out.numpy(), one.numpy().astype(np.float64) @ b.numpy()) <= 1e-6
    swizzled = Tensor(
        make_tensor(values[:64]).engine, make_composed_layout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1)))
    )
    wanted = swizzled.numpy().astype(np.float64) @ swizzled.numpy()
    for plan in (None, SMALL):
        assert error(ops.matmul(swizzled, swizzled, plan=plan, engine="interpreter").numpy(), wanted) <= 1e-6


def test_batches_beyond_the_third_dimension_of_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST_GROUPS", 5)
    g = np.random.default_rng(6)
    a, b = g.standard_normal((11, 40, 9), dtype=np.float32), g.standard_normal((11, 9, 50), dtype=np.float32)
    found = ops.matmul(a, b, plan=replace(SMALL, splits=1), engine="interpreter").numpy()
    assert error(found, a.astype(np.float64) @ b) <= 1e-6


def test_a_product_is_one_launch_whatever_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = []
    whole = KernelFunction.interpret
    monkeypatch.setattr(
        KernelFunction, "interpret", lambda self, *a, **s: (launched.append(self.__name__), whole(self, *a, **s))[1]
    )
    a = np.ones((4, 3, 20, 30), np.float32)
    ops.matmul(a, np.ones((30, 20), np.float32), engine="interpreter")
    ops.matmul(a, np.ones((3, 30, 20), np.float32), engine="interpreter")
    ops.matmul(a, np.ones(30, np.float32), engine="interpreter")
    assert launched == ["matmul_kernel", "matmul_kernel", "dot_kernel"]


@pytest.mark.parametrize(
    ("shapes", "told"),
    [
        (((300, 200), (200, 500)), "tiles"),
        (((5, 3000), (3000, 70)), "parts"),
        (((700, 40), (40, 9)), "tiles"),
        (((3, 40, 50), (50, 60)), "tiles"),
        (((40, 50), (50,)), "row by row"),
        (((4, 0), (0, 4)), "nothing to sum"),
    ],
)
def test_what_is_told_is_what_is_taken(
    shapes: tuple[tuple[int, ...], ...], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = (np.zeros(shape, np.float32) for shape in shapes)
    taken, run = [], products.run_plan
    monkeypatch.setattr(products, "run_plan", lambda *given, **alone: (taken.append(given[2]), run(*given, **alone)))
    ops.matmul(a, b, engine="interpreter")
    text = gpu.explain_matmul(a, b, engine="interpreter")
    assert told in text and bool(taken) == ("tiles" in text)
    for plan in taken:
        parts = f", k in {plan.splits} parts" * (plan.splits > 1)
        assert f"tiles of {'x'.join(map(str, plan.tile))}{parts};" in text
