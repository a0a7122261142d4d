"""Two threads at one address: the search and the proof of `gpu/verify/conflicts.py`, against every pair."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutepy.gpu.ir import Buffer, Expr, If, Kernel, Stmt, Store, binary, builtin, const, load, new_arena, param, var
from cutepy.gpu.ir.ranges import Points
from cutepy.gpu.verify import Verdict, verify
from cutepy.gpu.verify.collect import collect
from cutepy.gpu.verify.conflicts import AddressTable, find_conflict, owned, owned_by
from cutepy.gpu.verify.model import Access, GuardFacts
from cutepy.layout.affine import Affine
from cutepy.tensor.dtypes import u32

Y, DATA = Buffer("y", u32, 4096, writable=True), Buffer("data", u32, 4)
TID = builtin("local_invocation_index", 0, 3)


def disturb(one: str, other: str) -> bool:
    return "writes" in (one, other) or {one, other} == {"reads", "updates"}


@settings(max_examples=300)
@given(st.data())
def test_a_conflict_is_found_exactly_where_there_is_one(data: st.DataObject) -> None:
    threads, tables, events = data.draw(st.integers(1, 4)), [], []
    for number in range(data.draw(st.integers(1, 3))):
        rows, lanes = data.draw(st.integers(1, 3)), data.draw(st.sampled_from([1, 1, 2]))
        verb = data.draw(st.sampled_from(["reads", "writes", "updates"]))
        cells = st.lists(st.integers(0, 9), min_size=rows * threads, max_size=rows * threads)
        at = np.array(data.draw(cells), np.int64).reshape(rows, threads)
        active = np.array(data.draw(cells)).reshape(rows, threads) > 3
        tables.append(AddressTable(verb, at, active, lanes))
        for row, thread in np.argwhere(active).tolist():
            events += [(int(at[row, thread]) + lane, verb, thread, (number, row)) for lane in range(lanes)]
    met = find_conflict(tables)
    true = {(a[3] + (a[2],), b[3] + (b[2],)) for a, b in product(events, events)
            if a[0] == b[0] and a[2] != b[2] and disturb(a[1], b[1])}  # fmt: skip
    assert (met is not None) == bool(true)
    if met is not None:
        one, other = ((e.table, e.row, e.thread) for e in met)
        assert (one, other) in true


@settings(max_examples=300)
@given(st.data())
def test_an_address_with_one_owner_has_one(data: st.DataObject) -> None:
    """Mixed radix, remainders, wraps: an owner that is claimed is the only one, over all groups, turns and threads."""
    threads, groups, turns = data.draw(st.sampled_from([2, 4])), 3, 3
    with new_arena():
        kernel = Kernel("k", (Y,), (), grid=(groups, 1, 1), workgroup=(threads, 1, 1))
        model = collect(kernel)
        k, g = var("k", hi=turns - 1), builtin("workgroup_id", 0, groups - 1, axis=0)
        accesses = []
        for _ in range(data.draw(st.integers(1, 2))):
            index: Expr = const(data.draw(st.integers(0, 3)))
            for atom in (model.tid, g, k, model.tid // 2, model.tid % 2):
                index = binary("+", index, atom * data.draw(st.sampled_from([0, 0, 1, 2, 3, 4, 8, 12, 2**32 - 1])))
            if data.draw(st.integers(0, 3)) == 0:
                index = index % data.draw(st.sampled_from([4, 6, 16]))
            accesses.append(Access("writes", Y, index, data.draw(st.sampled_from([1, 1, 2])), (), (), index, "", ()))
        tells = owned(model, accesses)
        groups_of: dict[int, set[int]] = {}
        threads_of: dict[int, set[int]] = {}
        for access, group, turn, thread in product(accesses, range(groups), range(turns), range(threads)):
            env = {g: group, k: turn, model.tid: thread, **dict.fromkeys(model.groups[:1], group)}
            at = Points({leaf: np.asarray(n, np.uint32) for leaf, n in env.items()}).whole(access.index)
            for lane in range(access.lanes):
                groups_of.setdefault(int(at) + lane, set()).add(group)
                threads_of.setdefault(int(at) + lane, set()).add(thread)
        assert not tells.workgroup or all(len(own) == 1 for own in groups_of.values())
        assert not tells.thread or all(len(own) == 1 for own in threads_of.values())


@settings(max_examples=150)
@given(st.data())
def test_what_the_ids_of_a_workgroup_tell_is_what_counting_says(data: st.DataObject) -> None:
    """Quotients and remainders of ids, alone or together: the owner is told exactly where there is one."""
    with new_arena():
        grid = data.draw(st.sampled_from([(8, 1, 1), (6, 1, 1), (4, 3, 1)]))
        model = collect(Kernel("k", (Y,), (), grid=grid, workgroup=(2, 1, 1)))
        moving = [group for group in model.groups if not hasattr(group, "value")]
        atoms = [a for group in moving for a in (group, group // 2, group % 2, group % 4, group // 4)]
        index: Expr = model.tid
        step = 2
        for atom in data.draw(st.lists(st.sampled_from(atoms), min_size=1, max_size=2, unique=True)):
            index, step = index + atom * step, step * 16
        if data.draw(st.booleans()):
            index = index + data.draw(st.sampled_from([1, 5]))
        tells = owned(model, [Access("writes", Y, index, 1, (), (), index, "", ())])
        seen: dict[int, set[tuple[int, ...]]] = {}
        for ids in product(*(range(model.extent(group)) for group in moving)):
            at = Points({g: np.asarray(n, np.uint32) for g, n in zip(moving, ids, strict=True)} | {
                model.tid: np.arange(2, dtype=np.uint32)}).whole(index)  # fmt: skip
            for element in at.tolist():
                seen.setdefault(element, set()).add(ids)
        assert tells.workgroup == all(len(own) == 1 for own in seen.values()) and tells.thread


@pytest.mark.parametrize("threads", [2, 4, 8])
def test_the_largest_base_of_sums_that_wrap_tells_the_thread(threads: int) -> None:
    """n * 256 may wrap; what is low stays: the thread, and beside it what data decide."""
    with new_arena():
        model = collect(Kernel("k", (Y,), (), grid=(1, 1, 1), workgroup=(threads, 1, 1)))
        n, d = var("n"), var("d", hi=3)
        for index, told in (
            (n * threads + model.tid, True),
            (n * 256 + model.tid * 4 + d, True),
            (n * 256 + model.tid * 2 + d, False),
            (n * 4 + model.tid, threads <= 4),
            (n * 3 + model.tid, False),
        ):
            tells = owned(model, [Access("writes", Y, index, 1, (), (), index, "", ())])
            assert (tells.thread, tells.workgroup) == (told, True), index


@pytest.mark.parametrize(
    ("factors", "table", "workgroup", "thread"),
    [
        ((1, 0), [0, 100], True, True),  # a remainder by 100
        ((1, 0), [0, 99], False, False),  # 99 is of workgroup 99 and of workgroup 0
        ((2, 0), [0, 1], True, True),
        ((1, 0), [0, 1], False, False),
        ((0, 0), [0, 1], False, True),
        ((1, 0), [0, 0], True, False),
        ((6, 15), [0, 1, 2], False, True),  # a remainder by 3, which no factor is
        ((6, 15), [0, 1, 3], False, False),
    ],
)
def test_a_coordinate_tells_its_owner(
    factors: tuple[int, int], table: list[int], workgroup: bool, thread: bool
) -> None:
    """factors[0] * x + factors[1] * y + table[thread], where x is below 100 and y below 10 or is 0."""
    with new_arena():
        grid = (100, 10 if factors[1] else 1, 1)
        model = collect(Kernel("k", (Y,), (), grid=grid, workgroup=(len(table), 1, 1)))
        facts = GuardFacts(np.ones(len(table), bool), (), ())
        terms = {group: c for group, c in zip(model.groups, factors, strict=False) if c}
        tells = owned_by(model, [[(np.arange(len(table)), facts, Affine(terms, np.array(table)))]])
        assert (tells.workgroup, tells.thread) == (workgroup, thread)


def race_of(body: tuple[Stmt, ...]) -> Verdict:
    """What cutepy says of races for y among four threads."""
    with new_arena():
        kernel = Kernel("k", (DATA, Y), body, (1, 1, 1), (4, 1, 1))
        (found,) = [v for v in verify(kernel, prover="cutepy").verdicts if v.claim == "no races"]
        return found


def test_threads_that_data_choose_race_where_some_data_choose_two() -> None:
    """A guard over data counts: what it never lets two threads do is not refuted, and a refutation says the data."""
    mine, first = load(DATA, TID), load(DATA, const(0))
    both = race_of((If(mine < 1 << 31, (Store(Y, const(0), const(1)),)),))
    assert both.status == "refuted" and both.witness is not None and "data" in both.witness.given
    one = race_of((If(binary("==", first, TID), (Store(Y, const(0), const(1)),)),))
    assert one.status == "undecided" and one.witness is None


@pytest.mark.parametrize(
    ("factors", "beyond", "number", "told"),
    [
        ((1, 1), (0, 0), "param", True),
        ((1, 2), (0, 0), "param", False),  # 2 * q is of workgroup 2, and of workgroup 1
        ((2, 1), (0, 0), "param", False),
        ((1, 1), (0, 1), "param", False),  # 1 * q + q is of workgroup 2 as well
        ((1, 1), (1, 0), "param", False),
        ((1, 1), (0, 0), "unknown", False),  # each thread has a q of its own
    ],
)
def test_a_number_of_the_launch_tells_rows_whose_columns_it_bounds(
    factors: tuple[int, int], beyond: tuple[int, int], number: str, told: bool
) -> None:
    """Two accesses to factor * (g * q) + i in workgroup g < p, with i < q + beyond, against all p, q, g and i."""
    p, q, rows_and_columns = (param(name, u32, lo=1, hi=1 << 15) for name in ("p", "q", "pq"))
    if number == "unknown":
        q = var("q", lo=1, hi=4)  # type: ignore[assignment]
    with new_arena():
        kernel = Kernel("k", (Y,), (), grid=(100, 1, 1), workgroup=(1, 1, 1), params=(p, rows_and_columns))
        model = collect(kernel)
        model.products = {rows_and_columns: (1, p, q)}
        group, i, one = model.groups[0], var("i", hi=1 << 15), np.zeros(1, np.int64)
        below_p = Affine({group: 1, p: -1}, one + 1)
        entries = []
        for factor, more in zip(factors, beyond, strict=True):
            limits = (below_p, Affine({i: 1, q: -1}, one + 1 - more))
            form = Affine({binary("*", group, q): factor, i: 1}, one)
            entries.append((np.arange(1), GuardFacts(np.ones(1, bool), limits, ()), form))
        tells = owned_by(model, [entries])
    owners: dict[tuple[int, int, int], set[int]] = {}
    for rows, columns in product(range(1, 5), repeat=2):
        for row, factor, more in ((row, *entry) for entry in zip(factors, beyond, strict=True) for row in range(rows)):
            for mine in range(1, 5) if number == "unknown" else [columns]:
                for column in range(mine + more):
                    launch = (rows, 0 if number == "unknown" else columns)
                    owners.setdefault((*launch, factor * row * mine + column), set()).add(row)
    assert all(len(own) == 1 for own in owners.values()) is told
    assert tells.workgroup is told
