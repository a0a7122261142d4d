"""`name_registers`: private arrays at constant indices become values and variables."""

from collections.abc import Callable
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from small_kernels import THREADS, Small, assert_same, kernel_of, laws, lines, small_kernels

from cutepy.gpu.ir import (
    Assign,
    Block,
    Break,
    Buffer,
    Const,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    MatrixStore,
    Stmt,
    Store,
    Vector,
    builtin,
    cast,
    component,
    const,
    load,
    loads,
    nodes,
    splat,
    statements,
    var,
    variables,
    vector,
)
from cutepy.gpu.ir.matrices import fill_matrix, scale_matrix
from cutepy.gpu.lower.name_registers import name_registers
from cutepy.gpu.targets.interpreter import interpret
from cutepy.tensor.dtypes import f32, i32, matrix_type

X, Y = Buffer("x", f32, 16), Buffer("y", f32, 16, writable=True)
FRAG, ONE = Buffer("frag", f32, 4, space="private"), Buffer("one", f32, 1, space="private")
WHOLE = Buffer("whole", i32, 4, space="private")
SQUARE = matrix_type(f32, "result", (2, 2, 2), threads=THREADS)
MATRICES = Buffer("matrices", SQUARE, 2, space="private")
TID = builtin("local_invocation_index", 0, 3)


def stored(value: Expr, at: int = 0) -> Store:
    return Store(Y, TID + at, value)


def put(buffer: Buffer, at: int, value: Expr | float) -> Store:
    return Store(buffer, const(at), value if isinstance(value, Expr) else const(value, buffer.dtype))


def get(buffer: Buffer, at: int, lanes: int = 1) -> Expr:
    return load(buffer, const(at), lanes=lanes)


def turns(*body: object, stop: int = 2) -> For:
    return For(var("k", hi=1), const(0), const(stop), const(1), body)  # type: ignore[arg-type]


def written(kernel: Kernel) -> np.ndarray:
    """What a kernel over x and y leaves in y."""
    y = np.zeros(16, np.float32)
    interpret(kernel, [np.arange(16, dtype=np.float32), y], subgroup_size=THREADS)
    return y


def after(*body: object) -> list[str]:
    """The statements that become of a body, which computes the same."""
    kernel = kernel_of(*body, buffers=(X, Y), local=(FRAG, ONE, WHOLE))  # type: ignore[arg-type]
    named = name_registers(kernel)
    np.testing.assert_array_equal(written(kernel), written(named))
    return lines(named)


@laws
@given(small_kernels())
def test_the_kernel_computes_the_same(small: Small) -> None:
    assert_same(small.kernel, name_registers(small.kernel))


@laws
@given(small_kernels())
def test_arrays_at_constant_indices_are_gone_and_no_others(small: Small) -> None:
    body = statements(small.kernel.body)
    at = [(s.buffer, s.index) for s in body if isinstance(s, Store)]
    at += [(x.buffer, x.index) for s in body for root in s.expressions for x in loads(root)]
    for buffer in small.kernel.local:
        indices = [index for b, index in at if b is buffer]
        constant = bool(indices) and all(isinstance(i, Const) for i in indices)
        assert (buffer in name_registers(small.kernel).local) == (buffer.space != "private" or not constant)


def test_in_straight_line_a_register_is_the_value_that_it_holds() -> None:
    assert after(put(ONE, 0, load(X, TID)), stored(get(ONE, 0) + 1.0)) == ["let one = x[tid]", "y[tid] = one + 1.0"]
    assert after(stored(get(ONE, 0))) == ["y[tid] = 0.0"]
    assert after(put(ONE, 0, 1.0), put(ONE, 0, get(ONE, 0) + 1.0), stored(get(ONE, 0)))[-1] == "y[tid] = one"


def test_a_loop_makes_it_a_variable() -> None:
    assert after(put(ONE, 0, 1.0), turns(put(ONE, 0, get(ONE, 0) + 1.0)), stored(get(ONE, 0))) == [
        "var one = 1.0",
        "for k from 0u to 2u by 1u",
        "  one = one + 1.0",
        "y[tid] = one",
    ]


def test_a_register_of_a_block_is_declared_in_it() -> None:
    inner = put(ONE, 0, 1.0), If(TID < 2, (put(ONE, 0, 2.0),)), stored(get(ONE, 0))
    assert after(turns(*inner)) == [
        "for k from 0u to 2u by 1u",
        "  var one = 1.0",
        "  if tid < 2u",
        "    one = 2.0",
        "  y[tid] = one",
    ]
    assert after(If(TID < 3, inner))[1] == "  var one = 1.0"
    assert after(If(TID < 3, (), inner))[2] == "  var one = 1.0"


def test_what_an_iteration_leaves_is_there_in_the_next() -> None:
    """A register of four of which an iteration sets a lane, copies all, and sets another."""
    c = var("c", f32, lanes=4)
    assert after(turns(put(FRAG, 0, 1.0), Let(c, get(FRAG, 0, 4)), put(FRAG, 1, 2.0), Store(Y, TID * 4, c))) == [
        "var frag",
        "for k from 0u to 2u by 1u",
        "  frag.x = 1.0",
        "  let c = frag",
        "  frag.y = 2.0",
        "  y[tid * 4u] = c",
    ]
    assert after(turns(put(FRAG, 0, 1.0), stored(get(FRAG, 1)), put(FRAG, 1, 2.0)))[0] == "var frag1"
    # It is read before it is set, in a block of the iteration.
    assert after(turns(If(TID < 2, (stored(get(ONE, 0)),)), put(ONE, 0, 2.0)))[0] == "var one"
    assert after(turns(If(TID < 2, (stored(get(ONE, 0)), put(ONE, 0, 2.0)))))[0] == "var one"
    # It is set from itself.
    assert after(turns(put(ONE, 0, get(ONE, 0) + 1.0), stored(get(ONE, 0))))[0] == "var one"


def test_what_an_iteration_sets_first_is_not_carried() -> None:
    assert after(turns(put(FRAG, 0, splat(load(X, TID), 4)), stored(get(FRAG, 2)))) == [
        "for k from 0u to 2u by 1u",
        "  let frag = vec4<f32>(x[tid])",
        "  y[tid] = frag.z",
    ]
    lanes = *[put(FRAG, i, float(i)) for i in range(4)], Store(Y, TID * 4, get(FRAG, 0, 4))
    assert after(turns(*lanes))[0].startswith("for k")
    assert after(turns(If(TID < 2, (put(ONE, 0, 2.0), stored(get(ONE, 0))))))[0].startswith("for k")


def test_a_register_that_a_condition_reads_is_declared_outside() -> None:
    assert after(If(get(ONE, 0) < 2.0, (put(ONE, 0, 2.0), stored(get(ONE, 0))))) == [
        "var one",
        "if one < 2.0",
        "  one = 2.0",
        "  y[tid] = one",
    ]


def test_widths_are_those_that_no_access_cuts() -> None:
    wide = put(FRAG, 0, splat(load(X, TID), 4)), turns(put(FRAG, 0, get(FRAG, 0, 4) + 1.0)), stored(get(FRAG, 3))
    assert after(*wide) == [
        "let frag = vec4<f32>(x[tid])",
        "var frag = frag",
        "for k from 0u to 2u by 1u",
        "  frag = frag + 1.0",
        "y[tid] = frag.w",
    ]
    pairs = put(FRAG, 0, splat(const(1.0, f32), 2)), turns(put(FRAG, 2, get(FRAG, 0, 2) + 1.0)), stored(get(FRAG, 3))
    assert after(*pairs) == [
        "var frag1",
        "for k from 0u to 2u by 1u",
        "  frag1 = vec2<f32>(1.0) + 1.0",
        "y[tid] = frag1.y",
    ]
    assert after(turns(put(FRAG, 1, get(FRAG, 0, 2) + 1.0)), stored(get(FRAG, 2))) == [
        "var frag1",
        "var frag2",
        "for k from 0u to 2u by 1u",
        "  let frag = vec2<f32>(0.0, frag1) + 1.0",
        "  frag1 = frag.x",
        "  frag2 = frag.y",
        "y[tid] = frag2",
    ]
    # The widest access counts, of which two are one half; and integers, whose bounds matter, are one by one.
    fours = put(FRAG, 0, splat(load(X, TID), 2)), turns(put(FRAG, 0, get(FRAG, 0, 4) + 1.0)), stored(get(FRAG, 3))
    assert after(*fours)[2:4] == ["var frag = vec4<f32>(frag, frag_1, 0.0, 0.0)", "for k from 0u to 2u by 1u"]
    mixed = put(WHOLE, 0, splat(const(1, i32), 2)), turns(put(WHOLE, 0, 2)), stored(cast(get(WHOLE, 0), f32))
    assert after(*mixed)[0] == "var whole0 = 1i"


def test_an_array_with_one_computed_index_or_predicate_stays() -> None:
    kernel = kernel_of(Store(FRAG, TID, const(1.0, f32)), stored(get(FRAG, 0)), buffers=(X, Y), local=(FRAG,))
    assert name_registers(kernel).local == (FRAG,)
    where = load(FRAG, const(0), where=TID < 2)
    kernel = kernel_of(put(FRAG, 0, 1.0), Let(var("a", f32), where), buffers=(X, Y), local=(FRAG,))
    assert name_registers(kernel).local == (FRAG,)


def test_an_index_outside_leaves_the_array() -> None:
    kernel = kernel_of(Let(var("a", f32), get(FRAG, 4)), buffers=(X, Y), local=(FRAG,))
    assert name_registers(kernel).local == (FRAG,)
    kernel = kernel_of(Let(var("a", f32, lanes=2), get(FRAG, 3, 2)), buffers=(X, Y), local=(FRAG,))
    assert name_registers(kernel).local == (FRAG,)


def test_what_has_a_name_keeps_the_one() -> None:
    a, b = var("a", f32), var("b", f32)
    assert after(Let(a, load(X, TID)), Let(b, load(X, TID)), stored(a + b)) == ["let a = x[tid]", "y[tid] = a + a"]
    # Not an element that is written.
    assert len(after(Let(a, load(Y, TID)), stored(const(3.0, f32)), Let(b, load(Y, TID)), stored(a + b))) == 4


def test_a_read_of_a_variable_is_another_after_it_is_set() -> None:
    m, a, b, c = (var(name, f32) for name in "mabc")
    body: Block = (Declare(m, const(1.0, f32)), Let(a, m), Let(b, m), stored(a + b))
    assert after(*body)[2:] == ["y[tid] = a + a"]
    text = after(*body, Assign(m, const(2.0, f32)), Let(c, m), stored(c))
    assert text[-2:] == ["let c = m", "y[tid] = c"]


def test_an_arm_knows_its_condition_unless_that_may_change() -> None:
    one, two = stored(const(1.0, f32)), stored(const(2.0, f32))
    assert after(If(TID < 2, (If(TID < 2, (one,), (two,)),)))[1] == "  if true"
    assert after(If(TID < 2, (), (If(TID < 2, (one,), (two,)),)))[2] == "  if false"
    assert after(If((TID < 3) & (TID > 0), (If(TID > 0, (one,)),)))[1] == "  if true"
    m = var("m")
    nested = If(m < 2, (Assign(m, m + 2), If(m < 2, (one,), (two,))))
    assert after(Declare(m, TID), nested)[3] == "  if m < 2u"
    loaded = load(X, TID) < 2.0
    assert "  if x[tid] < 2.0" in after(If(loaded, (If(loaded, (one,)),)))
    # After the branch nothing is known of it.
    assert after(If(TID < 2, (one,)), If(TID < 2, (two,)))[2] == "if tid < 2u"


def test_integers_keep_the_bounds_of_their_names() -> None:
    """A name with narrow bounds does not become one with wide ones."""
    narrow, wide = var("narrow", i32, lo=0, hi=3), var("wide", i32)
    i = Buffer("i", i32, 16)
    body = Let(wide, load(i, TID)), Let(narrow, load(i, TID)), stored(cast(narrow + wide, f32))
    named = name_registers(kernel_of(*body, buffers=(i, X, Y)))
    assert lines(named)[:2] == ["let wide = i[tid]", "let narrow = i[tid]"]
    body = Let(narrow, load(i, TID)), Let(wide, load(i, TID)), stored(cast(narrow + wide, f32))
    named = name_registers(kernel_of(*body, buffers=(i, X, Y)))
    assert len(lines(named)) == 2


def test_a_break_leaves_what_was_set_before_it() -> None:
    left = turns(put(ONE, 0, get(ONE, 0) + 1.0), Break(TID < 2, (put(ONE, 0, 5.0),)), stored(get(ONE, 0)))
    assert after(put(ONE, 0, 1.0), left, stored(get(ONE, 0), 4)) == [
        "var one = 1.0",
        "for k from 0u to 2u by 1u",
        "  one = one + 1.0",
        "  break if tid < 2u",
        "    one = 5.0",
        "  y[tid] = one",
        "y[tid + 4u] = one",
    ]


def test_lanes_of_a_vector_are_stored_one_by_one() -> None:
    cut = put(FRAG, 1, load(X, TID * 2, lanes=2)), stored(get(FRAG, 1), 0), stored(get(FRAG, 2), 4)
    assert after(*cut) == ["let frag = x[tid * 2u]", "y[tid] = frag.x", "y[tid + 4u] = frag.y"]


def declared(*body: object) -> list[tuple[int, int, int]]:
    """The lanes and the bounds of the variables that become of a body."""
    named = name_registers(kernel_of(*body, buffers=(X, Y), local=(FRAG, ONE, WHOLE)))  # type: ignore[arg-type]
    return [(s.var.lanes, s.var.lo, s.var.hi) for s in statements(named.body) if isinstance(s, Declare)]


def test_halves_of_an_array_are_variables_of_two_lanes() -> None:
    halves = [Store(FRAG, const(at), get(FRAG, at, 2) + splat(const(1.0, f32), 2)) for at in (0, 2)]
    assert [lanes for lanes, *_ in declared(turns(*halves), stored(get(FRAG, 3)))] == [2, 2]


def test_a_wide_store_sets_the_variables_of_its_elements() -> None:
    big = Buffer("big", f32, 8, space="private")
    wide = Store(big, const(2), vector(*[load(X, TID + i) for i in range(4)]))
    pairs = [Store(big, const(at), get(big, at, 2) + splat(const(1.0, f32), 2)) for at in (2, 4)]
    body = turns(wide, *pairs), stored(component(get(big, 4, 2), 1))
    kernel = kernel_of(*body, buffers=(X, Y), local=(big,))  # type: ignore[arg-type]
    named = name_registers(kernel)
    assert {s.var.lanes for s in statements(named.body) if isinstance(s, Declare)} == {2}
    np.testing.assert_array_equal(written(kernel), written(named))


def test_so_are_those_of_integers_where_all_accesses_take_two() -> None:
    halves = [Store(WHOLE, const(at), get(WHOLE, at, 2) + splat(const(1, i32), 2)) for at in (0, 2)]
    last = stored(cast(component(get(WHOLE, 2, 2), 1), f32))
    assert [lanes for lanes, *_ in declared(turns(*halves), last)] == [2, 2]


def test_an_integer_variable_lies_where_the_names_that_read_it_do() -> None:
    v = var("v", i32, lo=1, hi=3)
    body = turns(Let(v, get(WHOLE, 0)), put(WHOLE, 0, v % 3 + 1), stored(cast(v, f32)))
    assert declared(put(WHOLE, 0, 1), body) == [(1, 1, 3)]


def test_a_variable_that_is_stored_lane_by_lane_gets_no_second_name() -> None:
    v = var("v", i32, lanes=4)
    body = Declare(v, splat(const(2, i32), 4)), Store(WHOLE, const(0), v), stored(cast(get(WHOLE, 1), f32))
    assert not any(line.endswith("= v") for line in after(*body))


def test_bounds_written_on_a_name_matter_for_integers_alone() -> None:
    """A second name of a value goes, unless it is an integer's with closer bounds, which a proof may have used."""
    first, second = var("a", f32), var("b", f32, lo=0, hi=0)
    assert after(Let(first, load(X, TID)), Let(second, first), stored(second)) == ["let a = x[tid]", "y[tid] = a"]
    wide, close = var("i", i32, lo=0, hi=9), var("j", i32, lo=0, hi=3)
    lets = Let(wide, cast(TID, i32) * 3), Let(close, wide)
    assert lines(name_registers(kernel_of(*lets, stored(cast(close, f32)), buffers=(X, Y)))) == [
        "let i = i32(tid) * 3i",
        "let j = i",
        "y[tid] = f32(j)",
    ]


def test_a_second_name_goes_exactly_where_the_first_lies_in_its_bounds() -> None:
    i, ends = Buffer("i", i32, 16), [(low, high) for low, high in product(range(3), repeat=2) if low <= high]
    for (a, b), (c, d) in product(ends, repeat=2):
        first, second = var("first", i32, lo=a, hi=b), var("second", i32, lo=c, hi=d)
        body = Let(first, load(i, TID)), Let(second, load(i, TID)), stored(cast(first + second, f32))
        named = name_registers(kernel_of(*body, buffers=(i, X, Y)))
        assert (len(lines(named)) == 2) == (c <= a and b <= d)


def test_a_lane_of_what_changes_is_kept_before_the_change() -> None:
    m = var("m", f32, lanes=2)
    after(put(ONE, 0, component(load(Y, TID * 2, lanes=2), 1)), *[stored(get(ONE, 0), at) for at in (0, 4, 8)])
    after(
        Declare(m, splat(const(1.0, f32), 2)),
        put(ONE, 0, component(m, 1)),
        Assign(m, splat(const(2.0, f32), 2)),
        stored(get(ONE, 0)),
    )


@st.composite
def matrix_blocks(draw: Callable[[st.SearchStrategy[int]], int], depth: int = 2) -> Block:
    """Statements, in loops and branches, that set two matrices and a number, and store them."""

    def number(most: int) -> int:
        return draw(st.integers(0, most))

    def statement() -> Stmt:
        to, of = number(1), get(MATRICES, number(1))
        ways: list[Callable[[], Stmt]] = [
            lambda: Store(MATRICES, const(to), fill_matrix(SQUARE, float(number(3)))),
            lambda: Store(MATRICES, const(to), scale_matrix("+", of, 1.0)),
            lambda: MatrixStore(Y, const(4 * to), of, 2, False),
            lambda: put(ONE, 0, get(ONE, 0) + 1.0),
            lambda: stored(get(ONE, 0), 8),
        ]
        if depth:
            ways.append(lambda: turns(*draw(matrix_blocks(depth - 1))))  # type: ignore[arg-type, misc]
            ways.append(lambda: If(get(ONE, 0) < 2.0, draw(matrix_blocks(depth - 1))))  # type: ignore[arg-type]
        return ways[number(len(ways) - 1)]()

    return tuple([statement() for _ in range(1 + number(3))])


def assert_declared(block: Block, names: frozenset[Expr] = frozenset()) -> None:
    """Each name is declared once, before it is mentioned, in the block of the mention or one around it."""
    for stmt in block:
        mentioned = {name for root in stmt.expressions for name in variables(root)}
        assert mentioned <= names and (stmt.sets is None or stmt.sets in names)
        binds = [name for name in (stmt.binds, stmt.var if isinstance(stmt, For) else None) if name is not None]
        assert names.isdisjoint(binds)
        for inner in stmt.blocks:
            assert_declared(inner, names.union(binds))
        names = names.union(binds)


@laws
@given(matrix_blocks().map(lambda block: Small(kernel_of(*block, buffers=(X, Y), local=(MATRICES, ONE)))))
def test_matrices_become_variables_which_are_never_literals(small: Small) -> None:
    """There is no literal of a matrix: one that is read before it is set is declared without a value."""
    named = name_registers(small.kernel)
    np.testing.assert_array_equal(written(small.kernel), written(named))
    assert_declared(named.body)
    held = [x for s in statements(named.body) for root in s.expressions for x in nodes(root)]
    assert not any(isinstance(x, Const | Vector) and x.dtype.kind == "m" for x in held)


@laws
@given(small_kernels())
def test_every_variable_is_declared_once_before_it_is_mentioned(small: Small) -> None:
    assert_declared(name_registers(small.kernel).body)
