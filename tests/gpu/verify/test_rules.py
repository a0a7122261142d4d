"""Single rules of the proofs, each on the least that shows it: offsets of a launch, cut searches, carried values."""

from collections.abc import Iterator

import pytest
from test_verify import GROUP, TID, X, Y, kernel_of, put, verdict_of
from while_programs import budget

from cutepy.gpu import ir
from cutepy.gpu.ir import Expr, For, If, Stmt, const, new_arena, param, var
from cutepy.gpu.ir.ranges import linear
from cutepy.gpu.verify.collect import collect
from cutepy.gpu.verify.loops import Limit, Recurrence
from cutepy.gpu.verify.races import unmoved
from cutepy.tensor.dtypes import u32


@pytest.fixture(autouse=True)
def arena() -> Iterator[None]:
    with new_arena():
        yield


def params(value: Expr) -> list[Expr]:
    return [leaf for leaf in ir.nodes(value) if isinstance(leaf, ir.Param)]


@pytest.mark.parametrize(
    ("factors", "left"), [((1, 1), [0, 0]), ((3, 3), [0, 0]), ((1, 2), [1, 1]), ((1, 0), [1, 0]), ((0, 0), [0, 0])]
)
def test_what_a_launch_adds_to_all_indices_alike_tells_nothing_apart(factors: tuple[int, int], left: list[int]) -> None:
    first = param("first", u32)
    stores = [put(TID * (n + 1) + first * factor) for n, factor in enumerate(factors)]
    model = collect(kernel_of(*stores))
    assert [len(params(a.index)) for a in model.accesses] == [int(f > 0) for f in factors]
    found = unmoved(model.accesses)
    assert [len(params(a.index)) for a in found] == left
    for before, after, factor in zip(model.accesses, found, factors, strict=True):
        moved = dict(linear(before.index).plus(linear(after.index), -1).terms)
        assert moved == ({first: factor} if factor and not left[0] else {})
    assert unmoved([]) == ()


def loop(name: str, count: int, *body: Stmt) -> For:
    return For(var(name, hi=count - 1), const(0), const(count), const(1), body)


@pytest.mark.parametrize("grid", [2, 3])
@pytest.mark.parametrize("most", [1 << 6, 1 << 8, None])
def test_a_search_that_is_cut_short_in_one_access_proves_nothing(grid: int, most: int | None) -> None:
    """One thread of each workgroup writes what an iteration in the middle of another's loop does."""
    k = var("k", hi=999)
    there = (k * k * 7 + GROUP * 500) % 997
    many = For(k, const(0), const(1000), const(1), (If(TID < 1, (put(there),)),))
    one = If(TID < 1, (put(GROUP + 3),))
    for order in ((many, one), (one, many)):
        with budget(most):
            assert verdict_of(kernel_of(*order, grid=grid), "no races", "y").status != "proven"


BEGIN, OTHER, BOUND = var("begin"), var("other", hi=50), var("bound", lo=3, hi=20)


def recurrence(end: Expr | None, start: Expr | None = None) -> Recurrence:
    assert isinstance(BEGIN, ir.Var)
    return Recurrence(const(100) if start is None else start, BEGIN, end)


def test_what_halves_or_doubles_is_the_carried_value_itself() -> None:
    assert recurrence(BEGIN // 2).scaled == recurrence(BEGIN // 7).scaled == "halved"
    assert recurrence(OTHER // 2).scaled == recurrence(BEGIN // 2 + 1).scaled == recurrence(BEGIN + 1).scaled == ""
    assert recurrence(BEGIN * 2).scaled == "doubled"
    assert recurrence(BEGIN * 3).scaled == recurrence(OTHER * 2).scaled == ""
    assert recurrence(BEGIN * 2, const(0)).scaled == "" and recurrence(None).scaled == ""


@pytest.mark.parametrize(
    ("step", "op", "start", "most"),
    [
        (1, "<", 0, 20), (1, "<=", 0, 21), (4, "<", 0, 5), (4, "<=", 0, 6), (3, "<", 30, 0), (1, "!=", 0, 20),
        (1, "!=", 3, 17), (1, "!=", 4, None), (2, "!=", 0, None), (-1, ">", 30, 27), (-1, ">=", 30, 28),
        (-4, ">", 30, 7), (-1, "!=", 30, 27), (-1, "!=", 20, 17), (-1, "!=", 19, None), (1, ">", 0, None),
        (-1, "<", 0, None), (1, "==", 0, None), (-3, ">=", 1, 0), (-4, ">=", 30, None),
    ],
)  # fmt: skip
def test_how_often_a_comparison_holds_in_a_row(step: int, op: str, start: int, most: int | None) -> None:
    """With a bound from 3 to 20: as often as the farthest bound allows, None where an end is not certain."""
    end = BEGIN + step if step > 0 else ir.binary("-", BEGIN, const(-step))
    limit = Limit(recurrence(end, const(start)), 0, op, BOUND)
    assert recurrence(end).step == step
    assert limit.most == most
    if most is None:
        return
    held = 0
    for bound in range(3, 21):
        value, count = start, 0
        while {"<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound}.get(
            op, value != bound
        ):
            value, count = value + step, count + 1
            assert 0 <= value < 1 << 32
        held = max(held, count)
    assert held == most


def test_the_witness_of_a_race_is_an_element_that_two_write() -> None:
    found = verdict_of(kernel_of(put(TID), put(GROUP, X), grid=1), "no races", "x")
    assert found.status == "refuted" and found.witness is not None and found.witness.element == 0
    assert verdict_of(kernel_of(put(TID + GROUP * 64), grid=4), "no races", Y.name).status == "proven"
