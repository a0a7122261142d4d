"""`drop_coordinates`: accesses without the coordinates that were claimed of them."""

from small_kernels import kernel_of, lines

from cutepy.gpu.ir import Buffer, Change, If, Let, Load, Store, builtin, const, load, loads, statements, var
from cutepy.gpu.lower.drop_coordinates import drop_coordinates
from cutepy.tensor.dtypes import f32

X, Y = Buffer("x", f32, 16), Buffer("y", f32, 16, writable=True)
TID = builtin("local_invocation_index", 0, 3)
AT = (TID % 2, TID // 2), (2, 2)


def test_loads_and_stores_lose_their_coordinates_alone_also_in_blocks() -> None:
    v = var("v", f32)
    element = load(X, TID, where=TID < 3, at=AT)
    body = Let(v, element), If(TID < 2, (Store(Y, TID, v + load(X, TID + 1, at=AT), "", *AT),))
    kernel = kernel_of(*body, buffers=(X, Y))
    after = drop_coordinates(kernel)
    assert lines(after) == lines(kernel)
    reads = [x for s in statements(after.body) for root in s.expressions for x in loads(root)]
    assert len(reads) == 2 and not any(x.coordinates for x in reads)
    assert [x.where for x in reads] == [TID < 3, None]
    assert not any(s.coordinates or s.shape for s in statements(after.body) if isinstance(s, Change))


def test_what_has_none_stays_as_it_is() -> None:
    v = var("v", f32)
    kernel = kernel_of(Let(v, load(X, TID)), Store(Y, TID, v + const(1.0, f32)), buffers=(X, Y))
    (let, store) = drop_coordinates(kernel).body
    assert isinstance(let, Let) and isinstance(let.value, Load)
    assert let.value is kernel.body[0].expressions[0] and store is kernel.body[1]
