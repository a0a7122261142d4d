"""The plans that are chosen and tried, held against what an NVIDIA H200 took: `plan_times.txt`.

A line has a product (m, n, k, batches; the type; along what A, B and C lie), `all` where most plans were timed, and the
microseconds of plans that were timed.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import product
from math import exp, log
from pathlib import Path
from types import SimpleNamespace

import pytest
from shares import share

from cutepy.gpu.matmul.cost_model import (
    FEW_ROWS,
    LARGE_PRODUCT,
    PLANS,
    PLANS_OF_FEW_ROWS,
    PLANS_OF_ONE_ROW,
    PLANS_OF_SHORT_K,
    SMALL,
    ProductProblem,
    choose_matrix_plan,
    choose_plan,
    in_splits,
    is_few,
    least_of,
    one_pass,
    predicted_us,
)
from cutepy.gpu.matmul.plan import Plan, parts_of
from cutepy.gpu.matmul.tuner import CANDIDATES, candidates
from cutepy.gpu.runtime import Limits

H200 = SimpleNamespace(kind="DiscreteGPU", limits=Limits(workgroup_bytes=49152, invocations=1024))


def brief(plan: Plan) -> str:
    tile, threads = ("x".join(map(str, part)) for part in (plan.tile, plan.threads))
    return f"{tile} by {threads}{' lanes' * bool(plan.lanes)} / {plan.splits}"


def recorded() -> list[tuple[ProductProblem, str, dict[str, float]]]:
    found = []
    for line in (Path(__file__).parent / "plan_times.txt").read_text().splitlines():
        (sizes, kind, order, how), times = line.split(": ")[0].split(), line.split(": ")[1]
        across = order[0] == "k", order[1] == "k", order[2] == "n"
        problem = ProductProblem(*map(int, sizes.split("x")), dtypes=(kind,) * 3, across=across)
        found.append((problem, how, {one[: one.rindex(" ")]: float(one.split()[-1]) for one in times.split(", ")}))
    return found


RECORDED = recorded()


def chosen(problem: ProductProblem) -> Plan:
    return choose_plan(problem, H200)  # type: ignore[arg-type]


def test_what_is_chosen_is_nearly_the_quickest() -> None:
    """Where the chosen plan was timed, as those of one row, of a short k and of 256 columns a turn were not."""
    ratios = {}
    for problem, _, times in RECORDED:
        took = times.get(brief(chosen(problem)))
        if took is not None:
            ratios[problem] = took / min(times.values())
    ours = [ratio for problem, ratio in ratios.items() if problem.dtypes[0] == "f32"]
    assert len(ours) >= 170
    assert exp(sum(map(log, ours)) / len(ours)) <= 1.035
    assert max(ours) <= 1.28, max(ratios, key=lambda problem: ratios[problem])


def test_few_plans_are_few() -> None:
    """Products have seven plans, or two for few rows; and further ones of few rows: four where k is contiguous in B;
    two where it is not, two of a short k, three of one row, and one of few multiply-adds. With an epilogue there are
    four, and two or one."""
    sizes = [1, 2, 5, 9, 16, 17, 31, 100, 768, 1000, 2304, 4097]
    for fused in (False, True):
        for along_k in (True, False):
            problems = [ProductProblem(m, n, k, across=(True, along_k, True)) for m, n, k in product(sizes, repeat=3)]
            below = [p for p in problems if not fused or p.m * p.n * p.k < LARGE_PRODUCT]
            plans = {replace(choose_plan(p, H200, fused=fused), splits=1) for p in below}  # type: ignore[arg-type]
            assert len({p for p in plans if p.ahead}) <= ((2 if along_k else 1) if fused else 4 if along_k else 8)
            assert len({p for p in plans if not p.ahead}) <= (4 if fused else 8)


def test_an_epilogue_has_a_text_of_its_own_where_k_is_short() -> None:
    """Where k is long it is in parts by the texts that products without an epilogue have: the second pass finishes."""
    for m, n, k in product([25, 42, 333, 1000], [768, 2304], [100, 511, 512, 768, 3001]):
        plan = choose_plan(ProductProblem(m, n, k), H200, fused=True)  # type: ignore[arg-type]
        assert plan.splits > 1 if k >= 512 else replace(plan, splits=1) == SMALL, (m, n, k, plan)
        assert parts_of(k, plan.tile[2], plan.splits) == plan.splits


def test_few_multiply_adds_have_two_plans() -> None:
    """Whatever their extents, where none is long: one of few rows and one of others."""
    sizes = [1, 2, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129, 255, 3001]
    for along_k in (True, False):
        problems = [ProductProblem(*p, across=(True, along_k, True)) for p in product(sizes, repeat=3)]
        few = [p for p in problems if is_few(p.m, p.n, p.k, 1)]
        assert len({replace(chosen(p), splits=1) for p in few if p.m <= FEW_ROWS}) == 1
        assert len({replace(chosen(p), splits=1) for p in few if p.m > FEW_ROWS}) == 1


def test_one_row_is_read_in_one_pass() -> None:
    """By tiles of 32 or 16 columns, whose threads are as many along k as that is long; of few columns and a long k
    parts take less time, which are sums of rows."""
    many, deep, narrow = PLANS_OF_ONE_ROW
    for n, k, plan in ((11008, 4096, many), (4096, 4096, deep), (3072, 768, narrow), (768, 3072, narrow)):
        assert one_pass(n, k, 1) and chosen(ProductProblem(1, n, k)) == plan
    assert chosen(ProductProblem(1, 2595, 4098, 7)) == many
    assert not one_pass(64, 1 << 20, 1) and one_pass(64, 1 << 20, 64) and not one_pass(16, 100, 1)


def test_what_matrices_take() -> None:
    """The same of plans of matrices: `matrix_plan_times.txt`, in f16 on an H200 by Dawn."""
    ratios = []
    for line in (Path(__file__).parent / "matrix_plan_times.txt").read_text().splitlines():
        head, rest = line.split(": ")
        sizes, order = head.split()
        times = {one[: one.rindex(" ")]: float(one.split()[-1]) for one in rest.split(", ")}
        problem = ProductProblem(*map(int, sizes.split("x")), 1, ("f16",) * 3, (True, order[1] == "k", True))
        plan, predicted = choose_matrix_plan(problem)
        tile, subgroups = ("x".join(map(str, part)) for part in (plan.tile, plan.subgroups))
        assert 0.7 <= predicted / min(times.values()) <= 1.2
        ratios.append(times.get(f"{tile} by {subgroups} / {plan.splits}", 0) / min(times.values()))
    timed = [ratio for ratio in ratios if ratio]
    assert len(timed) >= 11
    assert exp(sum(map(log, timed)) / len(timed)) <= 1.02 and max(timed) <= 1.1


@pytest.mark.parametrize("case", [case for case in RECORDED if case[1] == "all"], ids=lambda case: str(case[0]))
def test_one_of_the_quickest_is_tried(case: tuple[ProductProblem, str, dict[str, float]]) -> None:
    problem, _, times = case
    tried = map(brief, candidates(problem, H200)[:CANDIDATES])  # type: ignore[arg-type]
    assert min(times[name] for name in tried if name in times) <= 1.03 * min(times.values())


def test_no_prediction_is_less_than_that_of_the_chosen_plan() -> None:
    """Of all plans, with k in each count of parts, the first of the least time; not all are looked at."""
    pick = random.Random(0)
    sizes = [lambda: pick.randint(1, 300), lambda: int(2 ** pick.uniform(0, 14)), lambda: 32 * pick.randint(1, 130)]
    splits = set[int]()
    for _ in share(range(20_000)):
        m, n, k = (pick.choice(sizes)() for _ in "mnk")
        across = pick.random() < 0.5, pick.random() < 0.5, pick.random() < 0.5
        problem = ProductProblem(m, n, k, pick.choice([1, 1, 2, 7]), (pick.choice(["f32", "f16"]),) * 3, across)
        plans = pick.choice([PLANS, PLANS_OF_SHORT_K, *PLANS_OF_FEW_ROWS.values()])
        every = [each for plan in plans for each in in_splits(problem, plan)]
        assert least_of(problem, plans) == min(every, key=lambda plan: predicted_us(problem, plan)), problem
        splits.add(least_of(problem, plans).splits)
    assert len(splits) > 30


def test_more_work_never_takes_less() -> None:
    """By any plan: a larger product, or one of wider numbers, is not expected sooner."""
    for plan in {*PLANS, *PLANS_OF_FEW_ROWS[True], *PLANS_OF_FEW_ROWS[False], *PLANS_OF_SHORT_K}:
        for m, n, k in ((5, 60, 70), (16, 4096, 4096), (1000, 1500, 700), (4096, 4096, 4096)):
            problem = ProductProblem(m, n, k)
            least = predicted_us(problem, plan)
            for larger in (
                ProductProblem(2 * m, n, k),
                ProductProblem(m, 2 * n, k),
                ProductProblem(m, n, 2 * k),
                ProductProblem(m, n, k, 2),
            ):
                assert predicted_us(larger, plan) >= least
            half = predicted_us(ProductProblem(m, n, k, dtypes=("f16", "f16", "f16")), plan)
            assert half <= least and all(each.splits <= max(1, k // 64) for each in in_splits(problem, plan))
    assert all(re.fullmatch(r"[\dx]+ by [\dx]+( lanes)? / \d+", name) for _, _, times in RECORDED for name in times)
