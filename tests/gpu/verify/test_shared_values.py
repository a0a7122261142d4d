"""What shared memory can hold: the rule of `gpu/verify/shared_values.py`."""

from test_verify import TID, X, Y, kernel_of, verdict_of

from cutepy.gpu.ir import Atomic, Barrier, Buffer, If, Stmt, Store, const, load
from cutepy.tensor.dtypes import u32

S = Buffer("s", u32, 64, space="workgroup")


def status(*body: Stmt) -> str:
    """Whether x, of 256 elements, is read in bounds at what shared memory holds."""
    used = Store(Y, TID, load(X, load(S, 63 - TID)))
    return str(verdict_of(kernel_of(*body, used, grid=1, local=(S,)), "in bounds", "x").status)


def test_what_is_read_lies_where_all_that_is_stored_does() -> None:
    assert status(Store(S, TID, TID * 4), Barrier()) == "proven"
    assert status(Store(S, TID, load(X, TID) % 256), Barrier()) == "proven"
    assert status(Store(S, TID, TID * 5), Barrier()) != "proven"
    assert status(Store(S, TID, load(X, TID)), Barrier()) != "proven"


def test_every_store_counts() -> None:
    first = Store(S, TID, TID), Barrier()
    assert status(*first, If(TID < 3, (Store(S, TID, const(255)),)), Barrier()) == "proven"
    assert status(*first, If(TID < 3, (Store(S, TID, const(256)),)), Barrier()) != "proven"


def test_what_is_moved_within_the_array_stays_in_its_bounds() -> None:
    first = Store(S, TID, TID), Barrier()
    assert status(*first, If(TID < 3, (Store(S, TID, load(S, TID)),)), Barrier()) == "proven"
    assert status(*first, If(TID < 3, (Store(S, TID, load(S, TID) + 250),)), Barrier()) != "proven"


def test_what_may_not_be_written_before_may_be_anything() -> None:
    assert status(If(TID < 63, (Store(S, TID, TID),)), Barrier()) != "proven"
    assert status(Store(S, TID, TID)) != "proven"


def test_an_update_may_leave_the_bounds() -> None:
    first = Store(S, TID, TID), Barrier()
    assert status(*first, Atomic("Add", S, const(0), const(1)), Barrier()) != "proven"
