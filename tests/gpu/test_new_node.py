"""A node of the IR is one record: nothing that walks, rewrites, names, proves or runs kernels knows the kinds apart."""

from collections.abc import Iterator

import numpy as np
import pytest
from new_nodes import Increase, new_nodes, ones

from cutepy.errors import KernelError
from cutepy.gpu.inspect.report import report
from cutepy.gpu.ir import (
    Block,
    Buffer,
    If,
    Kernel,
    Let,
    Stmt,
    Store,
    builtin,
    check,
    const,
    load,
    map_block,
    new_arena,
    nodes,
    rewrite,
    statements,
    var,
    variables,
)
from cutepy.gpu.ir.expr import dataclass
from cutepy.gpu.ir.ranges import range_of
from cutepy.gpu.lower import finish, lower
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.targets.wgsl import print_wgsl
from cutepy.gpu.verify import Verification, needs_checks, verify
from cutepy.tensor.dtypes import u32


@pytest.fixture(autouse=True)
def _with_them() -> Iterator[None]:
    with new_nodes(), new_arena():
        yield


def kernel(length: int, *, by: int = 1) -> Kernel:
    """y[bits of the thread] += 3 * bits + x[thread], by threads whose number is a power of `by` bits."""
    tid = builtin("local_invocation_index", 0, 63)
    x, y = Buffer("x", u32, 64), Buffer("y", u32, length, writable=True)
    bits, unused = var("bits"), var("unused")
    body = (
        Let(unused, ones(tid + 9)),
        Let(bits, ones(tid)),
        If((tid & (tid + 1)).__eq__(0), (Increase(y, ones(tid), bits * 3 + load(x, tid), place="k.py:7"),)),
    )
    return Kernel("k", (x, y), body, (by, 1, 1), (64, 1, 1))


def test_it_is_printed_and_computed_once() -> None:
    text = print_wgsl(lower(finish(kernel(7))))
    assert text.count("countOneBits") == 1  # of two uses; and the name that nobody uses is gone
    assert "let index = countOneBits(tid);" in text
    assert "y[index] += x[tid] + bits * 3u;" in text


def test_it_runs() -> None:
    x, y = np.arange(64, dtype=np.uint32), np.full(7, 100, np.uint32)
    for form in (kernel(7), finish(kernel(7)), lower(finish(kernel(7)))):
        got = y.copy()
        interpret(form, [x, got])
        assert got.tolist() == [100 + 3 * bits + (1 << bits) - 1 for bits in range(7)]


def test_walks_and_rewrites_reach_into_it() -> None:
    i, j = var("i"), var("j")
    value = ones(i + 1) * 2
    assert ones(i + 1) is ones(i + 1)
    assert variables(value) == (i,)
    assert [type(n).__name__ for n in nodes(value)] == ["Var", "Const", "Binary", "Ones", "Const", "Binary"]
    assert rewrite(value, lambda node: j if node is i else node, {}) is ones(j + 1) * 2
    stmt = Increase(Buffer("y", u32, 4), value, i)
    (moved,) = map_block((stmt,), lambda x: rewrite(x, lambda node: j if node is i else node, {}))
    assert isinstance(moved, Increase)
    assert moved.index is ones(j + 1) * 2
    assert moved.value is j
    assert moved.buffer is stmt.buffer
    assert list(statements((If(i < 3, (stmt,)),)))[1] is stmt
    with pytest.raises(KernelError, match="nothing binds it"):
        check(Kernel("k", (stmt.buffer,), (stmt,)))
    assert range_of(ones(i)) == (0, 2**32 - 1)  # nothing is known of it, unless somebody says so


def verdict(found: Verification, claim: str, array: str) -> tuple[str, int | None]:
    v = next(v for v in found.verdicts if (v.claim, v.array) == (claim, array))
    return v.status, v.witness and v.witness.element


def test_it_is_proven_with() -> None:
    found = verify(kernel(7))
    assert verdict(found, "in bounds", "y") == ("proven", None)
    assert verdict(found, "no races", "y") == ("proven", None)
    assert found.ok
    assert not needs_checks(finish(kernel(7)))
    short = verify(kernel(6))
    assert verdict(short, "in bounds", "y") == ("refuted", 6)
    assert "thread 63 writes y[countOneBits(tid)] (k.py:7)" in str(short)
    assert needs_checks(finish(kernel(6)))
    assert verdict(verify(kernel(7, by=2)), "no races", "y")[0] == "refuted"  # two workgroups at one element
    assert report(kernel(7)).accesses[1].times == 7


def test_nothing_is_said_of_blocks_that_run_as_nobody_knows() -> None:
    @dataclass(frozen=True, slots=True, eq=False)
    class Again(Stmt):
        HOLDS = ("body",)
        body: Block

    y = Buffer("y", u32, 4, writable=True)
    again = Again((Store(y, var("i"), const(1)),))
    with pytest.raises(KernelError, match="nothing binds it"):  # every walk looks into it
        check(Kernel("k", (y,), (again,)))
    with pytest.raises(KernelError, match="Again: nothing tells how its blocks run"):
        verify(Kernel("k", (y,), (Again((Store(y, const(9), const(1)),)),)))
