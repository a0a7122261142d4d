"""`stmt`, `weak`, `subgroup`, `place`: what kinds of statements say, which type a weak number takes, messages."""

import math
from dataclasses import fields

import numpy as np
import pytest

from cutepy.errors import KernelError
from cutepy.gpu import ir
from cutepy.gpu.ir import Atomic, Break, Buffer, Const, Expr, For, If, Let, Stmt, Weak, as_expr, const, settled, var
from cutepy.gpu.ir.place import KERNEL_FILE, advice, is_foreign, place_of, running_text, user_place
from cutepy.gpu.ir.stmt import workgroup_bytes
from cutepy.gpu.ir.subgroup import check_subgroup
from cutepy.gpu.ir.weak import in_type, meeting, number_of, own_type, strong_type
from cutepy.tensor.dtypes import DType, bool_, f16, f32, i32, u32

KINDS = [kind for kind in vars(ir).values() if isinstance(kind, type) and issubclass(kind, Stmt)]
V = var("v")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_of_statement_names_fields_of_its_own(kind: type[Stmt]) -> None:
    if kind.__name__ in ("Stmt", "Change"):
        return
    own = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    named = {*kind.COMPUTES, *kind.HOLDS, *filter(None, (kind.BINDS, kind.SETS))}
    assert named <= own and not set(kind.COMPUTES) & set(kind.HOLDS)


def test_a_statement_tells_what_it_computes_holds_binds_and_sets() -> None:
    let = Let(V, const(3))
    assert (let.expressions, let.blocks, let.binds, let.sets) == ((const(3),), (), V, None)
    branch = If(const(True, bool_), (let,))
    assert branch.blocks == ((let,), ()) and branch.binds is None
    loop = For(V, const(0), None, const(1), (let,))
    assert loop.expressions == (const(0), const(1)) and loop.blocks == ((let,),)
    assert Break(const(True, bool_)).blocks == ((),)
    assert ir.Declare(V).expressions == () and ir.Assign(V, const(1)).sets is V
    c = Buffer("c", u32, 4, atomic=True)
    swap = Atomic("CompareExchange", c, const(0), const(1), const(2), V, coordinates=(const(7),))
    assert [x.value for x in swap.expressions if isinstance(x, Const)] == [0, 1, 2, 7]
    assert swap.takes and not Atomic("Store", c, const(0), const(1)).takes and swap.binds is V


def test_workgroup_memory_is_counted_in_blocks_of_16() -> None:
    assert [workgroup_bytes([n]) for n in (0, 1, 16, 17)] == [0, 16, 16, 32] and workgroup_bytes([1, 1]) == 32
    local = Buffer("a", f32, 5, space="workgroup"), Buffer("b", f32, 99, space="private")
    kernel = ir.Kernel("k", (), (), workgroup=(4, 3, 2), local=local)
    assert kernel.shared_bytes == 32 and kernel.threads == 24


def weak(number: float) -> Weak:
    return Weak(as_expr(number, own_type([number])), lambda dtype: as_expr(number, dtype))


@pytest.mark.parametrize("dtype", [f16, f32, i32, u32])
def test_a_weak_number_takes_the_type_that_it_meets(dtype: DType) -> None:
    strong = var("s", dtype)
    for values in ([weak(3), strong], [strong, weak(3)], [strong, 3]):
        assert meeting(lambda a, b: a + b, values).dtype is dtype
    assert settled(in_type(weak(3), dtype)).dtype is dtype  # type: ignore[arg-type]
    assert strong_type([weak(3), 4, strong]) is dtype and in_type(7, dtype) == 7


def test_weak_numbers_among_themselves() -> None:
    total = meeting(lambda a, b: as_expr(a) + as_expr(b), [weak(3), weak(4)])
    assert isinstance(total, Weak) and total.dtype is u32 and settled(total) is const(7)
    assert total.known_in(f32).dtype is f32 and total.known_in(f32) is total.known_in(f32)
    assert meeting(lambda a, b: as_expr(a) + as_expr(b), [weak(3), weak(-4)]).dtype is i32
    assert meeting(lambda a, b: as_expr(a, f32), [weak(3), 1], fractions=True).dtype is f32
    assert meeting(lambda a: -as_expr(a, i32), [weak(3)], signed=True).dtype is i32
    test = meeting(lambda a, b: as_expr(a) < as_expr(b), [weak(3), weak(4)])
    assert not isinstance(test, Weak) and test.dtype is bool_
    # No integer is made of a fraction, and no bool of a number.
    assert weak(2.5).known_in(i32) is const(2.5, f32) and weak(2).known_in(bool_) is const(2)


def test_numbers_and_their_types() -> None:
    assert [number_of(x) for x in (3, 2.5, True, np.float32(2), np.array(4), "3", [3], np.ones(1))] == [
        3, 2.5, True, 2.0, 4, None, None, None,
    ]  # fmt: skip
    assert [own_type([x]) for x in (3, -3, 2.5, np.int32(-1))] == [u32, i32, f32, i32]
    assert strong_type([3, np.float16(1)]) is f16 and strong_type([3, 2.5]) is None


@pytest.mark.parametrize(
    ("name", "value", "lane", "message"),
    [
        ("subgroup_all", V, (), r"subgroup_all of a u32 value; compare it, as in subgroup_all\(v != 0\)"),
        ("subgroup_add", V < 3, (), "subgroup_add is not defined on bool; use gpu.select"),
        ("subgroup_broadcast", V, (V,), "from a lane known only on the GPU; use gpu.subgroup_shuffle"),
        ("subgroup_shuffle", V, (const(128),), "give a whole number from 0 to 127"),
        ("subgroup_shuffle", V, (const(-1, i32),), "give a whole number from 0 to 127"),
        ("subgroup_shuffle", V, (var("f", f32),), "give a whole number from 0 to 127"),
    ],
)
def test_what_operations_of_subgroups_refuse(name: str, value: Expr, lane: tuple[Expr, ...], message: str) -> None:
    with pytest.raises(KernelError, match=message):
        check_subgroup(name, value, *lane)


def test_what_operations_of_subgroups_take() -> None:
    check_subgroup("subgroup_all", V < 3)
    check_subgroup("subgroup_add", V)
    check_subgroup("subgroup_broadcast", V, const(127))
    check_subgroup("subgroup_shuffle", V, V)


def test_a_place_is_a_line_of_the_users() -> None:
    assert place_of("/a/b/k.py", 7) == "k.py:7"
    assert user_place().startswith("test_statement_kinds.py:")
    inside, kernel = math.__name__ and str(ir.__file__), KERNEL_FILE.get()
    assert is_foreign(inside, kernel) and not is_foreign(inside, inside) and not is_foreign(__file__, kernel)
    assert running_text() == "running_text()"
    assert advice() == ""


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("max(it)", "write gpu.maximum"),
        ("abs(it)", "write gpu.absolute"),
        ("math.sqrt(it)", "write gpu.sqrt"),
        ("math.gamma(it)", "kernels have no math.gamma"),
        ("float(it)", 'write gpu.cast(..., "f32")'),
        ("int(it)", 'write gpu.cast(..., "i32")'),
        ("print(it)", ""),
        ("it.real()", ""),
    ],
)
def test_advice_names_what_to_write_instead(call: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutepy.gpu.ir.place.running_text", lambda: call)
    assert advice() == says
