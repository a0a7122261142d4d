"""`walk`: what is rebuilt of the same operands is itself, a walk meets each node once, operands first."""

from dataclasses import replace

import numpy as np
import pytest
from expressions import evaluate
from hypothesis import given
from small_kernels import Small, assert_same, laws, small_kernels

from cutepy.gpu.ir import (
    Barrier,
    Buffer,
    Expr,
    If,
    Let,
    Store,
    Var,
    binary,
    call,
    cast,
    const,
    load,
    meaning,
    negated,
    select,
    statements,
    unary,
    var,
    with_blocks,
)
from cutepy.gpu.ir.expr import MOST_DEPTH
from cutepy.gpu.ir.walk import (
    NODES,
    all_nodes,
    ask_operands_first,
    conjuncts,
    is_pure,
    is_uniform,
    map_block,
    nodes,
    rewrite,
    with_expressions,
    without,
)
from cutepy.tensor.dtypes import bool_, f32, i32

X = Buffer("x", f32, 64)
DEEPEST = var("v")


def deep(levels: int) -> Expr:
    value: Expr = DEEPEST
    for i in range(levels):
        value = binary("^", value * 3, const(i))
    return value


@laws
@given(small_kernels())
def test_a_node_of_the_same_operands_is_itself(small: Small) -> None:
    for node in all_nodes(small.kernel.body):
        if node.operands:
            assert NODES[type(node)].rebuild(node, node.operands) is node
        assert rewrite(node, lambda x: x, {}) is node


@laws
@given(small_kernels())
def test_each_node_is_met_once_after_its_operands(small: Small) -> None:
    met: set[Expr] = set()
    for node in all_nodes(small.kernel.body):
        assert node not in met and all(x in met for x in node.operands)
        met.add(node)
    assert met.issuperset(x for s in statements(small.kernel.body) for x in s.expressions)


@laws
@given(small_kernels())
def test_a_block_mapped_to_itself_is_itself_and_names_may_be_others(small: Small) -> None:
    kernel = small.kernel
    same = map_block(kernel.body, lambda x: x)
    assert [type(s) for s in statements(same)] == [type(s) for s in statements(kernel.body)]
    assert [s.expressions for s in statements(same)] == [s.expressions for s in statements(kernel.body)]
    memo: dict[Expr, Expr] = {}
    # x and -(-x) of an integer, modulo 2^32.
    twice = map_block(
        kernel.body,
        lambda x: rewrite(x, lambda n: unary("-", unary("-", n)) if n.dtype is i32 and n.operands else n, memo),
    )
    assert_same(kernel, replace(kernel, body=twice))


@pytest.mark.parametrize("levels", [3, MOST_DEPTH + 50])
def test_no_walk_nests_more_than_a_few_levels(levels: int) -> None:
    value = deep(levels)
    order = nodes(value)
    at = {node: i for i, node in enumerate(order)}
    assert order[-1] is value and len(at) == len(order)
    assert all(at[x] < at[node] for node in order for x in node.operands)
    asked: list[Expr] = []
    ask_operands_first(value, (), asked.append)
    assert [id(x) for x in asked] == ([] if levels == 3 else [id(x) for x in order[:-1]])
    new = rewrite(value, lambda x: const(5) if isinstance(x, Var) else x, {})
    assert not [x for x in nodes(new) if isinstance(x, Var)]
    if levels == 3:
        assert evaluate(new, {}) == evaluate(value, {DEEPEST: 5})
    assert nodes(value, skip={order[0]})[0] is order[1]


@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "==", "!="])
def test_what_holds_where_a_condition_does_not(op: str) -> None:
    a, b = var("a", i32), var("b", i32)
    one, both, any_ = binary(op, a, b), binary(op, a, b) & (a > 1), binary(op, a, b) | (a > 1)
    for condition in (one, both, any_, unary("!", one)):
        for x in range(4):
            for y in range(4):
                held = evaluate(condition, {a: x, b: y})
                assert evaluate(negated(condition), {a: x, b: y}) == 1 - held
    # Of floats, one of which may be NaN, a comparison has no opposite.
    floats = binary(op, var("p", f32), var("q", f32))
    assert negated(floats) is unary("!", floats)
    assert conjuncts(both & (b < 7)) == (one, a > 1, b < 7) and conjuncts(any_) == (any_,)
    assert conjuncts(const(True, bool_)) == () and conjuncts(const(False, bool_)) != ()


def test_operands_decide_what_is_pure() -> None:
    v = var("v")
    assert is_pure(v) and is_pure(v + 1) and is_pure(call("exp", cast(v, f32))) and is_pure(select(v < 1, v, v + 1))
    assert not is_pure(load(X, v)) and not is_pure(call("subgroup_add", v))
    assert meaning(load(X, v)) is None
    law = meaning(v + 1)
    assert law is not None and law(np.uint32(2**32 - 1), np.uint32(1)) == 0


def test_a_value_is_uniform_where_all_that_it_is_made_of_is() -> None:
    v, w = var("v"), var("w")
    ask = {"leaf": lambda x: x is v, "readable": lambda b: b is X}
    assert is_uniform(v * 2 + 1, **ask, memo={}) and not is_uniform(v + w, **ask, memo={})  # type: ignore[arg-type]
    assert is_uniform(load(X, v), **ask, memo={}) and not is_uniform(load(X, w), **ask, memo={})  # type: ignore[arg-type]
    other = Buffer("o", f32, 4)
    assert not is_uniform(load(other, v), **ask, memo={})  # type: ignore[arg-type]
    assert not is_uniform(call("subgroup_add", v), **ask, memo={})  # type: ignore[arg-type]


def test_statements_with_other_parts() -> None:
    name, inner = var("n"), Barrier()
    let = Let(name, name + 0)
    assert with_expressions(let, let.expressions) is let
    changed = with_expressions(let, [const(4)])
    assert isinstance(changed, Let) and changed.var is name and changed.value is const(4)
    store = Store(X, name, const(1.0, f32), coordinates=(name, name + 1), shape=(4, 16))
    moved = with_expressions(store, [name + 2, const(2.0, f32), name + 3, name + 4])
    assert isinstance(moved, Store) and moved.coordinates == (name + 3, name + 4) and moved.index is name + 2
    branch = If(name < 1, (inner,), (let,))
    assert with_blocks(branch, ((let,), ())).blocks == ((let,), ()) and with_blocks(let, ()) is let
    assert [type(s) for s in statements(without((branch, inner), Barrier))] == [If, Let]
