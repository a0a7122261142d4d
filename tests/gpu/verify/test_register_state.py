"""What registers hold: rules of `gpu/verify/register_state.py`."""

from cutepy.gpu.ir import Assign, Buffer, Declare, For, const, load, new_arena, select, var
from cutepy.gpu.ir.ranges import range_of
from cutepy.gpu.targets.wgsl import show
from cutepy.gpu.verify.register_state import RegisterState, bounded, set_in, unknown
from cutepy.tensor.dtypes import u32

X = Buffer("x", u32, 8)
Y = Buffer("y", u32, 8, writable=True)
R = var("r")
BODY = (Declare(R, const(0)), Assign(R, const(1)))


def state() -> RegisterState:
    return RegisterState(frozenset([X]), BODY)


def test_a_register_holds_what_was_put_there_last() -> None:
    with new_arena():
        s = state()
        s.put(R, const(4))
        assert s.now(R) is const(4)
        s.put(R, None)
        assert s.now(R) is not const(4) and s.now(R) is s.now(R)


def test_memory_that_the_kernel_writes_is_read_anew_by_each_statement() -> None:
    with new_arena():
        s, node = state(), load(Y, const(0))
        first = s.now(node)
        assert s.now(node) is first  # within a statement
        s.read = {}
        assert s.now(node) is not first and s.read_from[first] is Y
        assert s.now(load(X, const(0))) is load(X, const(0)) and s.is_lasting(load(X, const(0)))
        assert not s.is_lasting(node + 1)


def test_ways_that_meet_choose_by_their_condition() -> None:
    with new_arena():
        s, test = state(), var("a") < 3
        s.put(R, const(1))
        before = s.saved()
        s.put(R, const(2))
        after = s.saved(before)
        s.join(test, after)
        assert s.now(R) is select(test, const(2), const(1))
        s.cells = {}
        s.join(test, after)
        assert s.now(R) is not select(test, const(2), const(1))


def test_a_loop_forgets_what_it_sets() -> None:
    with new_arena():
        s, k = state(), var("k", hi=3)
        s.put(R, const(4))
        body = (Assign(R, R + 1),)
        s.forget((For(k, const(0), const(3), const(1), body),))
        assert s.cells == {}
        assert [cell for cell, _ in set_in(body)] == [R]
        assert set_in(BODY) == []  # what is declared inside is no one else's


def test_a_name_in_closer_bounds_is_still_the_unknown() -> None:
    with new_arena():
        s = state()
        whole = unknown(var("n"))
        s.put(R, whole)
        narrow = s.named(var("m", lo=2, hi=9), whole)
        assert range_of(narrow) == (2, 9) and s.now(R) is narrow and s.narrowed[narrow] is whole
        assert s.named(var("m"), const(3)) is const(3)


def test_an_unknown_is_called_as_it_reads_however_many_it_is_made_of() -> None:
    with new_arena():
        first = unknown(load(Y, const(1)))
        assert first.name == show(first.source) == "y[1u]"
        last = first
        for _ in range(3000):  # no recursion: each is named after the one before it
            last = unknown(load(Y, last))
        assert last.name.startswith("y[y_") and bounded(first, 2, 5).name == first.name
