"""Rules of `gpu/verify/smt_encoding.py`: operators, counts and recurrences against plain integers, and kernels of one
rule each. What is proven is true, and what is true is proven."""

from collections.abc import Callable
from itertools import product

import pytest
import z3
from test_verify import TID, X, Y, kernel_of, put

from cutepy.gpu.ir import (
    Assign,
    Barrier,
    Break,
    Buffer,
    Const,
    Declare,
    ElementOrder,
    Elements,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Param,
    Stmt,
    Store,
    binary,
    builtin,
    call,
    cast,
    component,
    const,
    load,
    new_arena,
    param,
    select,
    var,
)
from cutepy.gpu.verify import Claim, verify
from cutepy.gpu.verify.smt_encoding import (
    Encoding,
    _binary,
    _cast,
    _choose,
    _Path,
    _recurrence,
    _size,
    _turns,
)
from cutepy.gpu.verify.z3_prover import decide_by_z3
from cutepy.tensor.dtypes import bool_, f32, i32, u32

EDGES = {
    u32: [0, 1, 2, 3, 31, 100, 2**31 - 1, 2**31, 2**32 - 1],
    i32: [0, 1, 2, 3, 31, 100, 2**31 - 1, -1, -7, -(2**31)],
}
R, N, K = var("r"), var("n"), var("k")


def number(term: object, *, signed: bool = False) -> int:
    found = z3.simplify(term)
    if z3.is_bool(found):
        return int(z3.is_true(found))
    return int(found.as_signed_long() if signed else found.as_long())


def term(value: int) -> object:
    return z3.BitVecVal(value, 32)


@pytest.mark.parametrize("dtype", [u32, i32])
@pytest.mark.parametrize("op", ["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="])
def test_an_operator_is_what_constants_fold_to(op: str, dtype: object) -> None:
    for a, b in product(EDGES[dtype], repeat=2):  # type: ignore[index]
        if op in ("<<", ">>") and not 0 <= b < 32:
            continue
        if op in ("//", "%") and (a, b) == (-(2**31), -1):
            continue
        folded = binary(op, const(a, dtype), const(b, u32 if op in ("<<", ">>") else dtype))  # type: ignore[arg-type]
        assert isinstance(folded, Const)
        assert number(_binary(op, term(a), term(b), dtype), signed=dtype is i32) == int(folded.value), (a, op, b)


@pytest.mark.parametrize("op", ["&", "|", "^", "==", "!="])
def test_an_operator_on_truth_values(op: str) -> None:
    for a, b in product([False, True], repeat=2):
        wanted = {"&": a and b, "|": a or b, "^": a != b, "==": a == b, "!=": a != b}[op]
        assert number(_binary(op, z3.BoolVal(a), z3.BoolVal(b), bool_)) == wanted


def test_casts() -> None:
    assert number(_cast(term(7), u32, i32)) == 7 and number(_cast(z3.BoolVal(True), bool_, u32)) == 1
    assert number(_cast(z3.BoolVal(False), bool_, i32)) == 0
    assert [number(_cast(term(n), u32, bool_)) for n in (0, 5)] == [0, 1]
    assert _cast(term(7), u32, f32) is None


@pytest.mark.parametrize("dtype", [u32, i32])
def test_functions(dtype: object) -> None:
    with new_arena():
        encoding = Encoding(kernel_of(put(TID)))
        for a, b in product(EDGES[dtype], repeat=2):  # type: ignore[index]
            x, y = const(a, dtype), const(b, dtype)  # type: ignore[arg-type]
            for name, wanted in (("min", min(a, b)), ("max", max(a, b))):
                node = call(name, var("v", dtype), y)  # type: ignore[arg-type]
                found = encoding._call(name, [term(a), term(b)], node, _Path())
                assert number(found, signed=dtype is i32) == wanted, (name, a, b)
            assert x is not None
            low, high = min(a, b), max(a, b)
            for value in EDGES[dtype]:  # type: ignore[index]
                node = call("clamp", var("v", dtype), const(low, dtype), const(high, dtype))  # type: ignore[arg-type]
                found = encoding._call("clamp", [term(value), term(low), term(high)], node, _Path())
                assert number(found, signed=dtype is i32) == min(max(value, low), high)
            if a != -(2**31):
                found = encoding._call("abs", [term(a)], call("abs", var("v", dtype)), _Path())  # type: ignore[arg-type]
                assert number(found) == abs(a)


@pytest.mark.parametrize("dtype", [u32, i32])
def test_the_turns_between_numbers(dtype: object) -> None:
    top = 2**31 - 1 if dtype is i32 else 2**32 - 1
    ends = [0, 1, 5, 6, 7, top - 2, top - 1, top] + ([-3, -(2**31)] if dtype is i32 else [])
    for start, stop, step in product(ends, ends, [-1, 0, 1, 2, 3, 7] if dtype is i32 else [0, 1, 2, 3, 7]):
        wanted = None if step < 1 or stop - 1 + step > top else len(range(start, stop, step))
        assert _turns(term(start), term(stop), term(step), dtype) == wanted, (start, stop, step)  # type: ignore[arg-type]
    assert _turns(z3.BitVec("n", 32), term(3), term(1), u32) is None and _turns(term(0), None, term(1), u32) is None


HEAD, OTHER, TURN = z3.BitVec("head", 32), z3.BitVec("other", 32), z3.BitVec("turn", 32)
STEPS: dict[str, Callable[[object], object]] = {
    "adds": lambda x: x + 5, "subtracts": lambda x: x - 3, "stays": lambda x: x, "mirrors": lambda x: 7 - x,
    "flips": lambda x: x ^ 6, "doubles": lambda x: x * 2, "shifts by 3": lambda x: x << 3,
    "halves": lambda x: z3.LShR(x, 1), "a quarter": lambda x: z3.UDiv(x, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("start", [0, 1, 6, 48, 2**31, 2**32 - 1])
def test_a_closed_form_is_what_repeating_gives(name: str, start: int) -> None:
    rule = _recurrence(HEAD, STEPS[name](HEAD), term(start), [HEAD, TURN])
    assert rule is not None
    value = term(start)
    for turn in range(36):
        assert number(rule(term(turn))) == number(value), turn
        value = z3.simplify(STEPS[name](value))


@pytest.mark.parametrize("end", [HEAD + OTHER, HEAD + TURN, HEAD & 3, HEAD * 3, OTHER, z3.If(HEAD < 9, HEAD + 1, HEAD)])
def test_what_is_none_of_these_has_no_closed_form(end: object) -> None:
    assert _recurrence(HEAD, end, term(1), [HEAD, OTHER, TURN]) is None


@pytest.mark.parametrize(
    "step",
    [
        lambda x: (x | 5) - (5 & ~x),
        lambda x: x * (x + 1) - x * x,
        lambda x: ((x | 9) - (9 & ~x)) << 1,
        lambda x: z3.LShR(x * (x + 1) - x * x, 2),
    ],
)
def test_what_only_z3_knows_to_be_a_shift_is_one_for_ever(step: Callable[[object], object]) -> None:
    """Shifts by 0 bits are none: 32 of them do not clear a register."""
    rule, value = _recurrence(HEAD, step(HEAD), term(3), [HEAD, TURN]), term(3)
    for turn in range(36):
        assert rule is None or number(rule(term(turn))) == number(value), turn
        value = z3.simplify(step(value))


def test_the_size_of_a_term_counts_each_node_once() -> None:
    assert [_size(t) for t in (HEAD, HEAD + OTHER, HEAD + HEAD * OTHER)] == [1, 3, 4]
    long = HEAD
    for _ in range(300):
        long = (long + OTHER) * HEAD
    assert 400 <= _size(long) <= 402


def test_a_choice_with_a_side_that_is_not_followed_is_not() -> None:
    test, pair = z3.Bool("test"), (HEAD, OTHER)
    assert _choose(test, pair, None) is _choose(test, None, pair) is _choose(test, pair, HEAD) is None
    assert _choose(test, HEAD, pair) is _choose(None, HEAD, OTHER) is None
    first, second = _choose(z3.BoolVal(True), pair, (OTHER, HEAD))
    assert z3.simplify(first).eq(HEAD) and z3.simplify(second).eq(OTHER)


def status(*body: Stmt, claim: str = "in bounds", array: str = "y", local: tuple[Buffer, ...] = ()) -> str:
    with new_arena():
        found = verify(kernel_of(*body, grid=1, local=local), prover="z3")
        return next(str(v.status) for v in found.verdicts if v.claim == claim and v.array == array)


def test_registers_begin_at_0() -> None:
    private = Buffer("p", u32, 4, space="private")
    assert status(put(load(private, TID % 4) * 1000 + TID), local=(private,)) == "proven"
    assert status(put(load(private, TID % 4) * 1000 + TID * 8), local=(private,)) == "refuted"
    assert status(Declare(R, None), put(R * 1000 + TID)) == "proven"


def test_a_stop_that_the_body_changes_tells_no_number_of_turns() -> None:
    """From 8 and 0, one goes down and the other up until they meet at 4: there are 4 turns, not 8."""
    start = Declare(R, const(8)), Declare(N, const(0))
    loop = For(K, const(0), R, const(1), (Assign(R, R - 1), Assign(N, N + 1)))
    assert status(*start, loop, put(select(binary("==", N, const(4)), const(300), TID))) != "proven"
    assert status(*start, loop, put(select(binary("==", N, const(8)), const(300), TID))) != "refuted"


@pytest.mark.parametrize(("step", "wanted"), [(1, "proven"), (3, "undecided")])
def test_a_counter_may_wrap_past_its_end(step: int, wanted: str) -> None:
    """From 5 on by 3 below 2^32 - 1 comes 2^32 - 2, then 1."""
    n = param("n", u32)
    body = (For(K, const(5), n, const(step), (If(K < 5, (put(const(300)),)),)),)
    with new_arena():
        kernel = Kernel("k", (X, Y), body, (1, 1, 1), (1, 1, 1), params=(n,))
        (found,) = decide_by_z3(kernel, [(Claim.IN_BOUNDS, "y")]).values()
    assert found.status == wanted


def test_the_barrier_of_one_branch_is_not_that_of_the_other() -> None:
    s = Buffer("s", u32, 64, space="workgroup")
    write, read = Store(s, TID, const(1)), put(load(s, 63 - TID))
    for parted in (False, True):
        body = (write, *([Barrier()] if parted else []), read)
        assert status(*body, claim="no races", array="s", local=(s,)) == ("proven" if parted else "refuted")
        body = (write, Barrier(storage=True), *([Barrier()] if parted else []), read)
        assert status(*body, claim="no races", array="s", local=(s,)) == ("proven" if parted else "refuted")


def absolute(x: Expr) -> Expr:
    return cast(call("abs", cast(x, i32) - 32), u32)


def test_an_absolute_value() -> None:
    assert status(put(absolute(TID) + 223)) == "proven" and status(put(absolute(TID) + 224)) == "refuted"


@pytest.mark.parametrize("lanes", [1, 2])
def test_equal_indices_of_what_is_only_read_give_equal_elements(lanes: int) -> None:
    one, other = (component(load(X, TID * lanes, lanes=lanes), lanes - 1) for _ in range(2))
    assert status(If(one < 256, (put(other),))) == "proven"
    assert status(If(load(X, TID) < 256, (put(load(X, TID + 1)),))) != "proven"
    assert status(If(load(Y, TID) < 256, (put(load(Y, TID)),))) != "proven"  # others write it


def test_what_is_said_of_the_order_of_an_array_holds_of_the_elements_of_one_invocation() -> None:
    """y[1] is outside, and is written where an element is greater than the next."""
    data = Buffer("data", u32, 65)
    said = Elements(ElementOrder.ASCENDING, data, const(0), const(65), "data is ascending")

    def body(*stated: Stmt) -> Callable[[Buffer], tuple[Stmt, ...]]:
        falls = load(data, const(7)) > load(data, const(8))
        return lambda y: (*stated, put(cast(falls, u32), y))

    assert said_by_z3(body(said), 1, reads=data) == "proven"
    assert said_by_z3(body(), 1, reads=data) != "proven"


def test_trial_runs_of_a_loop_take_no_share_of_what_is_said_of_an_array() -> None:
    """The order of an array is told for eight indices: those of the body itself, not of the run that looks at it."""
    data = Buffer("data", u32, 65)
    said = Elements(ElementOrder.ASCENDING, data, const(0), const(65), "data is ascending")

    def body(y: Buffer) -> tuple[Stmt, ...]:
        others = tuple(Let(var(f"other{i}"), load(data, K * 8 + i)) for i in range(3))
        falls = load(data, K * 8 + 6) > load(data, K * 8 + 7)
        looped = (*others, Assign(R, R + 1), put(cast(falls, u32), y))
        return said, Declare(R, const(0)), For(K, const(0), const(4), const(1), looped)

    assert said_by_z3(body, 1, reads=data) == "proven"


def kept(*body: Stmt, racing: str = "") -> str:
    """Whether every read of x is inside."""
    kernel = kernel_of(*body, put(TID), grid=1)
    (found,) = decide_by_z3(kernel, [(Claim.IN_BOUNDS, "x")], racing=frozenset([racing])).values()
    return str(found.status)


@pytest.mark.parametrize("racing", ["", "y", "x", "s"])
def test_a_register_holds_what_it_was_given_unless_that_may_be_read_again(racing: str) -> None:
    at, v = var("at"), var("v")
    wanted = "undecided" if racing == "y" else "proven"
    use = If(at < 256, (Let(v, load(X, at)),))
    assert kept(Let(at, load(Y, TID)), use, racing=racing) == wanted
    assert kept(Declare(at, load(Y, TID)), use, racing=racing) == wanted
    assert kept(Declare(at, const(0)), Assign(at, load(Y, TID)), use, racing=racing) == wanted
    either = If(TID < 9, (Assign(at, load(Y, TID)),), (Assign(at, const(0)),))
    assert kept(Declare(at, const(0)), either, use, racing=racing) == wanted
    assert kept(Let(at, load(Y, TID) % 256), Let(v, load(X, at)), racing=racing) == wanted


def test_registers_that_a_loop_sets_by_no_rule_may_be_anything() -> None:
    private = Buffer("p", u32, 4, space="private")
    loop = For(K, const(0), const(3), const(1), (Store(private, const(1), load(X, TID)),))
    assert status(loop, put(load(private, const(1)) % 4 * 64 + TID), local=(private,)) == "proven"
    assert status(loop, put(load(private, const(1)) * 64 + TID), local=(private,)) != "proven"
    chosen = Declare(R, const(0)), For(K, const(0), const(3), const(1), (Assign(R, load(X, TID)),))
    assert status(*chosen, put(R % 256)) == "proven" and status(*chosen, put(R)) != "proven"


def said_by_z3(
    body: Callable[[Buffer], tuple[Stmt, ...]],
    length: int,
    *,
    lanes: int = 0,
    params: tuple[Param, ...] = (),
    reads: Buffer = X,
) -> str:
    """What z3 says of the bounds of an array of so many elements, which one thread writes."""
    y = Buffer("y", u32, length, writable=True)
    with new_arena():
        kernel = Kernel("k", (reads, y), body(y), (1, 1, 1), (1, 1, 1), lanes=lanes, params=params)
        (found,) = decide_by_z3(kernel, [(Claim.IN_BOUNDS, "y")]).values()
    return str(found.status)


@pytest.mark.parametrize("lanes", [4, 8, 16, 32, 64, 128])
def test_a_subgroup_has_as_many_threads_as_are_asked_for(lanes: int) -> None:
    """y[128 // size]: the least size tells the last element."""

    def body(y: Buffer) -> tuple[Stmt, ...]:
        return (put(const(128) // builtin("subgroup_size", 4, 128), y),)

    assert said_by_z3(body, 128 // lanes + 1, lanes=lanes) == "proven"
    assert said_by_z3(body, 128 // lanes, lanes=lanes) != "proven"


@pytest.mark.parametrize("last", [1, 7, 30])
def test_an_iteration_happens_where_none_before_it_left(last: int) -> None:
    """The loop is left at the end of iteration `last`."""

    def body(y: Buffer) -> tuple[Stmt, ...]:
        return (For(K, const(0), const(99), const(1), (put(K, y), Break(K >= last))),)

    assert said_by_z3(body, last + 1) == "proven"
    assert said_by_z3(body, last) != "proven"


@pytest.mark.parametrize(
    ("step", "left", "wanted"),
    [(lambda r: r // 2, 3, "proven"), (lambda r: r // 4, 0, "proven"), (lambda r: r // 2 + 1, 5, "undecided")],
)
def test_a_register_after_a_loop_of_shifts(step: Callable[[Expr], Expr], left: int, wanted: str) -> None:
    """From 100 in five turns; what only begins like a half has no formula, and is anything."""

    def body(y: Buffer) -> tuple[Stmt, ...]:
        return Declare(R, const(100)), For(K, const(0), const(5), const(1), (Assign(R, step(R)),)), put(R, y)

    assert said_by_z3(body, left + 1) == wanted
    assert left == 0 or said_by_z3(body, left) != "proven"


@pytest.mark.parametrize(("start", "stop", "turns"), [(0, 3, 3), (3, 3, 0), (5, 3, 0), (5, 6, 1)])
def test_registers_after_as_many_turns_as_there_are(start: int, stop: int, turns: int) -> None:
    signed = var("s", i32)

    def loop(*body: Stmt) -> For:
        return For(K, const(start), const(stop), const(1), body)

    def counted(y: Buffer) -> tuple[Stmt, ...]:
        return Declare(R, const(0)), loop(Assign(R, R + 1)), put(R, y)

    def halved(y: Buffer) -> tuple[Stmt, ...]:
        return Declare(signed, const(0, i32)), loop(Assign(signed, signed >> 1)), put(cast(signed, u32), y)

    assert said_by_z3(counted, turns + 1) == "proven"
    assert turns == 0 or said_by_z3(counted, turns) == "refuted"
    assert said_by_z3(halved, 1) == "proven"


@pytest.mark.parametrize(("last", "races"), [(1, True), (3, False)])
def test_barriers_in_the_first_iterations(last: int, races: bool) -> None:
    """What is written in the last of four iterations meets what comes after the loop where no barrier is between."""
    s = Buffer("s", u32, 64, space="workgroup")
    waits = If(K <= last, (Barrier(),))
    loop = For(K, const(0), const(4), const(1), (Store(s, TID, K), waits))
    kernel = kernel_of(loop, Store(s, 63 - TID, const(9)), grid=1, local=(s,))
    with new_arena():
        (found,) = decide_by_z3(kernel, [(Claim.NO_RACES, "s")]).values()
    assert (found.status == "refuted") is races
