"""`waits`: a loop waits where what an atomic reads decides whether it is read again, at an element that stays."""

import pytest
from small_kernels import kernel_of

from cutepy.gpu.ir import Atomic, Break, Buffer, Expr, For, If, Let, Stmt, Store, binary, builtin, const, load, var
from cutepy.gpu.ir.waits import waiting
from cutepy.tensor.dtypes import u32

FLAG = Buffer("flag", u32, 64, writable=True, atomic=True)
R, S = Buffer("r", u32, 1, space="private"), Buffer("s", u32, 1, space="private")
TID, K, OLD, NAME = builtin("local_invocation_index", 0, 63), var("k", hi=9), var("old"), var("name")


def look(op: str = "Load", at: Expr | None = None, result: bool = True) -> Atomic:
    return Atomic(op, FLAG, const(0) if at is None else at, const(0), result=OLD if result else None)


def waits(*body: Stmt, stop: Expr | None = None) -> bool:
    loop = For(K, const(0), stop, const(1), body)
    found = waiting(kernel_of(loop, buffers=(FLAG,), local=(R, S)))
    assert all(w.loop is loop and isinstance(w.atomic, Atomic) for w in found)
    return bool(found)


def store(buffer: Buffer, value: Expr) -> Store:
    return Store(buffer, const(0), value)


LEAVES = Break(binary("==", OLD, const(1)))


@pytest.mark.parametrize("op", ["Load", "CompareExchange", "Exchange"])
def test_a_loop_that_is_left_by_what_it_reads(op: str) -> None:
    assert waits(look(op), LEAVES)
    # Through a name, through a register, and by control.
    assert waits(look(op), Let(NAME, OLD + 1), Break(binary("==", NAME, const(1))))
    assert waits(look(op), store(R, OLD), Break(binary("==", load(R, const(0)), const(1))))
    assert waits(Break(binary("==", load(R, const(0)), const(1))), look(op), If(OLD < 1, (store(R, const(1)),)))
    assert waits(look(op), If(OLD < 1, (store(R, const(1)),)), stop=load(R, const(0)))
    assert waits(If(load(R, const(0)) < 1, (look(op), store(R, OLD))), stop=const(10))


def test_what_does_not_wait() -> None:
    assert not waits(look("Add"), LEAVES)
    assert not waits(look(result=False), LEAVES)
    assert not waits(look(), Break(K > 4))
    assert not waits(look(), If(OLD < 1, (store(R, const(1)),)), stop=const(10))
    inner = For(var("j", hi=3), const(0), const(4), const(1), (LEAVES,))
    assert not waits(look(), inner)


def test_an_element_that_follows_the_counter_is_another_each_time() -> None:
    assert not waits(look(at=K), LEAVES) and not waits(look(at=K * 4 + TID), LEAVES)
    assert not waits(Let(NAME, K + 1), look(at=NAME), LEAVES)


@pytest.mark.parametrize(
    ("step", "waits_"),
    [
        (load(R, const(0)) + 1, False),
        ((load(R, const(0)) + 1) % 64, False),
        ((load(R, const(0)) + 64) % 64, True),
        (load(R, const(0)), True),
        (load(R, const(0)) * 2, True),
        (load(S, const(0)) + 1, True),
        (const(5), True),
    ],
)
def test_so_is_one_of_a_register_that_advances(step: Expr, waits_: bool) -> None:
    assert waits(look(at=load(R, const(0))), LEAVES, store(R, step)) is waits_
    if not waits_:
        # Twice, it may come back.
        assert waits(look(at=load(R, const(0))), LEAVES, store(R, step), If(TID < 1, (store(R, step),)))
        shared = Buffer("w", u32, 1, space="workgroup")
        assert waits(look(at=load(shared, const(0))), LEAVES, store(shared, load(shared, const(0)) + 1))
