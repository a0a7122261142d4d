"""Which kernels run without checks, and whose word a verdict is: the rules of `gpu/verify/__init__.py`."""

import pytest

from cutepy.gpu.ir import Barrier, Buffer, If, Kernel, Let, Store, builtin, const, load, var
from cutepy.gpu.ir.operators import SUBGROUP_SIZES
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.verify import needs_checks, verify
from cutepy.tensor.dtypes import u32

LANE, OF_SUBGROUP = builtin("subgroup_invocation_id", 0, 127), builtin("subgroup_size", 0, 128)


def lanes(length: int, *, lanes: int = 4) -> Kernel:
    """Each thread writes at its number in its subgroup."""
    y = Buffer("y", u32, length, writable=True)
    return Kernel("k", (y,), (Store(y, LANE, const(1)),), (1, 1, 1), (128, 1, 1), lanes=lanes)


@pytest.mark.parametrize("length", SUBGROUP_SIZES)
def test_no_checks_where_it_is_proven_for_every_size_of_subgroup(length: int) -> None:
    kernel = lanes(length)
    assert needs_checks(kernel) is (length < SUBGROUP_SIZES[-1])
    bounds = {
        size: next(v.status for v in verify(kernel, Limits(subgroup_sizes=(size, size))).verdicts if v.array == "y")
        for size in SUBGROUP_SIZES
    }
    assert bounds == {size: "proven" if size <= length else "refuted" for size in SUBGROUP_SIZES}


@pytest.mark.parametrize(("waiting", "wanted"), [(64, "proven"), (32, "undecided")])
def test_z3_proves_nothing_by_barriers_that_some_threads_miss(waiting: int, wanted: str) -> None:
    pytest.importorskip("z3")
    thread, held = builtin("local_invocation_index", 0, 63), var("held")
    s, y = Buffer("s", u32, 64, space="workgroup"), Buffer("y", u32, 64, writable=True)
    read = Let(held, load(s, 63 - thread))
    body = (Store(s, thread, thread), If(thread < waiting, (Barrier(),)), read, Store(y, thread, held))
    kernel = Kernel("k", (y,), body, (1, 1, 1), (64, 1, 1), local=(s,))
    found = verify(kernel, prover="z3").verdicts
    assert {str(v.status) for v in found if v.claim in ("no races", "written before read")} == {wanted}
