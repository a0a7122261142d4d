"""`drop_stated`: what is said of data goes, and nothing else."""

from hypothesis import given
from small_kernels import Small, laws, small_kernels

from cutepy.gpu.ir import Assume, Buffer, Kernel, Store, builtin, const, load, statements
from cutepy.gpu.lower.drop_stated import drop_stated, stated_alone
from cutepy.tensor.dtypes import u32

TID = builtin("local_invocation_index", 0, 3)


@laws
@given(small_kernels())
def test_a_kernel_of_which_nothing_is_said_is_itself(small: Small) -> None:
    assert drop_stated(small.kernel) is small.kernel


def test_what_is_said_goes_and_stores_stay() -> None:
    x, y = Buffer("x", u32, 4), Buffer("y", u32, 4, writable=True)
    said, store = Assume(load(x, TID) < 4, "x < 4"), Store(y, TID, const(1))
    kernel = Kernel("k", (x, y), (said, store), (1, 1, 1), (4, 1, 1))
    assert drop_stated(kernel).body == (store,)
    assert [type(stmt) for stmt in statements(stated_alone(kernel).body)] == [Assume]
