"""Two threads at one address: the search and the proof of `gpu/verify/conflicts.py`, against every pair."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cutepy.gpu.ir import Buffer, Expr, Kernel, binary, builtin, const, new_arena, var
from cutepy.gpu.ir.ranges import Points
from cutepy.gpu.verify.collect import collect
from cutepy.gpu.verify.conflicts import AddressTable, find_conflict, owned
from cutepy.gpu.verify.model import Access
from cutepy.tensor.dtypes import u32

Y = Buffer("y", u32, 4096, writable=True)


def disturb(one: str, other: str) -> bool:
    return "writes" in (one, other) or {one, other} == {"reads", "updates"}


@settings(max_examples=300, deadline=None)
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


@settings(max_examples=300, deadline=None)
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
