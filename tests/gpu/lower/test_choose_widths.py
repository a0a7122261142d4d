"""`choose_widths`: arrays over the widest vectors that their accesses agree on."""

from hypothesis import given
from ir_text import ir_text
from small_kernels import Small, assert_same, kernel_of, laws, lines, small_kernels

from cutepy.gpu.ir import (
    Atomic,
    Buffer,
    Expr,
    If,
    Let,
    Store,
    builtin,
    const,
    load,
    loads,
    select,
    splat,
    statements,
    var,
    vector,
)
from cutepy.gpu.lower import PASSES
from cutepy.gpu.lower.choose_widths import choose_widths
from cutepy.tensor.dtypes import bool_, f32

X, Y = Buffer("x", f32, 16), Buffer("y", f32, 16, writable=True)
TID = builtin("local_invocation_index", 0, 3)
BEFORE = PASSES[: PASSES.index(choose_widths)]


def after(*body: object, local: tuple[Buffer, ...] = ()) -> list[str]:
    return lines(choose_widths(kernel_of(*body, buffers=(X, Y), local=local)))


def widths(*body: object) -> tuple[int, ...]:
    return tuple(b.width for b in choose_widths(kernel_of(*body, buffers=(X, Y))).buffers)


def read(lanes: int, at: Expr | int = 0, name: str = "a") -> Let:
    index = at if isinstance(at, Expr) else const(at)
    return Let(var(name, f32, lanes=lanes), load(X, index, lanes=lanes))


def put(lanes: int, at: Expr | int = 0) -> Store:
    return Store(Y, at if isinstance(at, Expr) else const(at), splat(const(1.0, f32), lanes))


@laws
@given(small_kernels(*BEFORE))
def test_the_kernel_computes_the_same(small: Small) -> None:
    assert_same(small.kernel, choose_widths(small.kernel))


@laws
@given(small_kernels(*BEFORE))
def test_each_access_is_a_whole_vector_of_its_array(small: Small) -> None:
    kernel = choose_widths(small.kernel)
    for stmt in statements(kernel.body):
        if isinstance(stmt, Store):
            assert stmt.value.lanes == stmt.buffer.width
        for root in stmt.expressions:
            assert all(x.lanes == x.buffer.width for x in loads(root))
    atomics = {s.buffer for s in statements(kernel.body) if isinstance(s, Atomic)}
    assert all(b.atomic == (b in atomics) and (not b.atomic or b.width == 1) for b in (*kernel.buffers, *kernel.local))


def test_the_widest_load_counts_and_the_narrowest_store() -> None:
    assert widths(read(4), put(2)) == (4, 2)
    assert widths(read(4), read(1, 3, "b"), put(4), put(2, 4)) == (4, 2)
    back = Let(var("b", f32, lanes=2), load(Y, const(0), lanes=2))
    assert widths(back, put(4)) == (1, 2)
    assert widths(Let(var("b", f32, lanes=4), load(Y, const(0), lanes=4)), put(2)) == (1, 2)
    assert widths(Let(var("b", f32), load(Y, const(0))), put(4)) == (1, 1)


def test_an_index_counts_vectors() -> None:
    assert after(read(4, TID * 4)) == ["let a = x[tid]"]
    assert after(put(4, 8), put(4, TID * 4 + 4)) == ["y[2u] = vec4<f32>(1.0)", "y[tid + 1u] = vec4<f32>(1.0)"]


def test_a_narrow_load_is_lanes_of_a_wide_one() -> None:
    assert after(read(4), read(1, 6, "b"), read(2, TID * 4 + 2, "c"))[1:] == [
        "let b = x[1u].z",
        "let c = vec2<f32>(x[tid].z, x[tid].w)",
    ]
    assert after(read(4), read(1, TID, "b"))[1] == "let b = x[0u][tid]"


def test_a_wide_access_of_narrow_elements_is_several() -> None:
    two = Let(var("a", f32, lanes=4), load(Y, const(4), lanes=4))
    assert after(two, put(2)) == [
        "let a = vec4<f32>(y[2u].x, y[2u].y, y[3u].x, y[3u].y)",
        "y[0u] = vec2<f32>(1.0)",
    ]
    v = vector(*[const(float(i), f32) for i in range(4)])
    assert after(Store(Y, TID * 4, v), put(2)) == [
        "y[tid * 2u] = vec2<f32>(0.0, 1.0)",
        "y[tid * 2u + 1u] = vec2<f32>(2.0, 3.0)",
        "y[0u] = vec2<f32>(1.0)",
    ]


def test_atomics_address_elements() -> None:
    c = Buffer("c", f32, 16, writable=True)
    update = Atomic("Add", c, const(1), const(1.0, f32))
    kernel = kernel_of(update, Store(c, const(4), splat(const(0.0, f32), 4)), buffers=(c,))
    wide = choose_widths(kernel).buffers[0]
    assert (wide.width, wide.atomic) == (1, True)
    assert len(lines(choose_widths(kernel))) == 5


def test_predicates_stay() -> None:
    a = Let(var("a", f32, lanes=2), load(X, TID * 2, lanes=2, where=TID < 2))
    assert after(a) == ["let a = x[tid] where tid < 2u"]


def test_bools_in_memory_are_words() -> None:
    flags = Buffer("flags", bool_, 4, space="workgroup")
    own = Buffer("own", bool_, 4, space="private")
    a = Let(var("a", bool_), load(flags, TID))
    use = Store(Y, TID, select(a.var, const(1.0, f32), const(0.0, f32)))
    kernel = choose_widths(
        kernel_of(
            Store(flags, TID, TID < 2),
            Store(own, TID, TID < 2),
            a,
            If(a.var, (use,)),
            buffers=(X, Y),
            local=(flags, own),
        )
    )
    assert ir_text(kernel).splitlines()[0] == "x:f32x1[16] y:f32x1[16] flags:u32x1[4] own:boolx1[4]"
    assert lines(kernel)[:3] == [
        "flags[tid] = select(0u, 1u, tid < 2u)",
        "own[tid] = tid < 2u",
        "let a = flags[tid] != 0u",
    ]
    pair = kernel_of(Store(flags, TID * 2, vector(TID < 2, TID < 1)), buffers=(X, Y), local=(flags,))
    assert lines(choose_widths(pair)) == ["flags[tid] = vec2<u32>(vec2<bool>((tid < 2u), tid < 1u))"]
