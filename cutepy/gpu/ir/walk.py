"""Reading and rewriting of expressions and statements."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import is_not
from typing import Any

import numpy as np

from ...tensor.functions import IR_FUNCTIONS
from .expr import (
    MOST_DEPTH,
    Binary,
    Call,
    Cast,
    Component,
    Const,
    Expr,
    Load,
    MatrixCall,
    MatrixLoad,
    Select,
    Unary,
    Vector,
    arena,
    interned,
)
from .laws import BINARY, UNARY, Law, conversion, lane_at, lane_of, stacked
from .make import Coordinates, binary, call, cast, component, load, select, unary, vector
from .matrices import MATRIX, load_matrix, matrix_call
from .operators import NEGATED
from .stmt import AddressSpace, Block, Buffer, Stmt

Rewrite = Callable[[Expr], Expr]


@dataclass(frozen=True, slots=True)
class Node:
    """A kind of expression: `rebuild` makes the same node of other operands; `meaning` is its function of the values of
    its operands, None where these alone do not decide it."""

    rebuild: Callable[[Any, Sequence[Expr]], Expr]
    meaning: Callable[[Any], Law | None] = lambda node: None


def _same_operator(node: Binary, new: Sequence[Expr]) -> Expr:
    """The same of other operands, in bits if it was written so."""
    left, right = new
    result, as_bits = binary(node.op, left, right), arena().as_bits
    if node in as_bits:
        as_bits.setdefault(result, as_bits[node])
    return result


def _same_call(node: Call, new: Sequence[Expr]) -> Expr:
    """The same function of other operands; of the same types they have been checked."""
    if any(x.dtype is not old.dtype or x.lanes != old.lanes for x, old in zip(new, node.args, strict=True)):
        return call(node.name, *new)
    key = (node.name, *map(id, new))
    existing, operands = arena().nodes.get(key), tuple(new)
    return interned(key, Call, node.dtype, node.lanes, operands, node.name, operands) if existing is None else existing


def _same_load(node: Load, new: Sequence[Expr]) -> Expr:
    """The same read at other operands: an index, a condition if it has one, coordinates."""
    index, *others = new
    where = others.pop(0) if node.where is not None else None
    return load_of(node.buffer, node, index, where, (tuple(others), node.shape))


def load_of(buffer: Buffer, node: Load, index: Expr, where: Expr | None, at: Coordinates) -> Expr:
    """A read of so many elements of an array, or of such a matrix, as `node` is."""
    if isinstance(node, MatrixLoad):
        return load_matrix(node.dtype, buffer, index, (node.stride, node.by_columns), node.place, at)
    return load(buffer, index, lanes=node.lanes, where=where, place=node.place, at=at)


def _constant(node: Load) -> Law | None:
    """The element of a constant array, of one beyond it the last."""
    if node.buffer.space != AddressSpace.CONSTANT:
        return None
    values = np.array(node.buffer.values, node.dtype.numpy)
    return lambda index: values.take(index, mode="clip")


#: Every kind of expression that has operands. What it looks like in WGSL is for the printer to say.
NODES: dict[type[Expr], Node] = {
    Binary: Node(_same_operator, lambda node: BINARY[node.op]),
    Call: Node(_same_call, lambda node: IR_FUNCTIONS[node.name].numpy if node.name in IR_FUNCTIONS else None),
    Vector: Node(lambda node, x: vector(*x), lambda node: stacked(node.items)),
    Select: Node(lambda node, x: select(*x), lambda node: np.where),
    Unary: Node(lambda node, x: unary(node.op, *x), lambda node: UNARY[node.op]),
    Cast: Node(
        lambda node, x: cast(x[0], node.dtype, bits=node.bits),
        lambda node: conversion(node.value.dtype, node.dtype, node.bits),
    ),
    Load: Node(_same_load, _constant),
    MatrixLoad: Node(_same_load),
    MatrixCall: Node(
        lambda node, x: matrix_call(node.name, node.dtype, *x, place=node.place),
        lambda node: MATRIX[node.name](node.dtype),
    ),
    Component: Node(
        lambda node, x: component(x[0], (*x, node.lane)[1]),
        lambda node: lane_at if isinstance(node.lane, Expr) else partial(lane_of, lane=node.lane),
    ),
}


#: Kinds of which each node has a meaning.
_PURE = frozenset({Binary, Vector, Select, Unary, Cast, Component})


def rebuild(value: Expr, operands: Sequence[Expr]) -> Expr:
    """`value` with other operands."""
    return NODES[type(value)].rebuild(value, operands) if any(map(is_not, operands, value.operands)) else value


def meaning(value: Expr) -> Law | None:
    """The function of a node on the values of its operands; None where other things decide too."""
    kind = NODES.get(type(value))
    return None if kind is None else kind.meaning(value)


def is_pure(value: Expr) -> bool:
    """Whether its operands alone decide what a node is: not memory, and not other threads."""
    return not value.operands or type(value) in _PURE or meaning(value) is not None


def is_uniform(
    value: Expr, leaf: Callable[[Expr], bool], readable: Callable[[Buffer], bool], memo: dict[Expr, bool]
) -> bool:
    """Whether all threads of a workgroup agree on `value` by WGSL's rules: it is made of leaves and of elements of
    `readable` arrays on which they agree; results of subgroup operations are not uniform. `memo` is kept."""
    for node in nodes(value, skip=memo):
        own = isinstance(node, Const) or leaf(node) if not node.operands else is_pure(node)
        if isinstance(node, Load):
            own = own or readable(node.buffer)
        memo[node] = own and all(memo[x] for x in node.operands)
    return memo[value]


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The parts of a condition that must all hold."""
    if isinstance(condition, Binary) and condition.op == "&" and condition.dtype.kind == "b":
        return conjuncts(condition.left) + conjuncts(condition.right)
    return () if isinstance(condition, Const) and condition.value else (condition,)


def negated(condition: Expr) -> Expr:
    """A condition that holds where this one does not."""
    if isinstance(condition, Binary) and condition.left.dtype.kind in "iu" and condition.op in NEGATED:
        return binary(NEGATED[condition.op], condition.left, condition.right)
    if isinstance(condition, Binary) and condition.dtype.kind == "b" and condition.op in "&|":
        other = "|" if condition.op == "&" else "&"
        return binary(other, negated(condition.left), negated(condition.right))
    return unary("!", condition)


def rewrite(value: Expr, change: Rewrite, memo: dict[Expr, Expr]) -> Expr:
    """`value` with `change` applied to every node, operands first. `memo` is kept between calls with one `change`."""
    if value not in memo:
        if value.depth > MOST_DEPTH:
            for node in nodes(*value.operands, skip=memo):
                _rewrite(node, change, memo)
        _rewrite(value, change, memo)
    return memo[value]


def _rewrite(value: Expr, change: Rewrite, memo: dict[Expr, Expr]) -> Expr:
    new, same = value, True
    operands = []
    for x in value.operands:
        y = memo.get(x)
        if y is None:
            y = _rewrite(x, change, memo)
        same = same and y is x
        operands.append(y)
    if not same:
        new = NODES[type(value)].rebuild(value, operands)
    changed = memo[value] = change(new)
    return changed


def with_expressions(stmt: Stmt, new: Sequence[Expr]) -> Stmt:
    """`stmt` with other expressions, in the order of `stmt.expressions`."""
    if not any(map(is_not, new, stmt.expressions)):
        return stmt
    rest = iter(new)
    given = ((n, value) for n in stmt.COMPUTES if (value := getattr(stmt, n)) is not None)
    return with_fields(
        stmt, **{n: tuple(islice(rest, len(old))) if isinstance(old, tuple) else next(rest) for n, old in given}
    )


def with_blocks(stmt: Stmt, new: Sequence[Block]) -> Stmt:
    """`stmt` with other blocks."""
    return with_fields(stmt, **dict(zip(stmt.HOLDS, new, strict=True))) if new else stmt


def with_fields(stmt: Stmt, **fields: Any) -> Stmt:
    """`stmt` with these fields instead."""
    kind: Any = type(stmt)
    others = {name: getattr(stmt, name) for name in kind.__match_args__ if name not in fields}
    new: Stmt = kind(**others, **fields)
    return new


def map_statements(block: Block, change: Callable[[Stmt], Stmt | None]) -> Block:
    """`block` with `change` applied to every statement, in order of text, those of inner blocks after the one that
    holds them; None leaves a statement out."""
    out: list[Stmt] = []
    for stmt in block:
        if (new := change(stmt)) is not None:
            inner = new.blocks
            out.append(with_blocks(new, tuple([map_statements(b, change) for b in inner])) if inner else new)
    return tuple(out)


def without(block: Block, kind: type[Stmt]) -> Block:
    """`block` without the statements of a kind."""
    return map_statements(block, lambda stmt: None if isinstance(stmt, kind) else stmt)


def statements(block: Block) -> list[Stmt]:
    """Every statement of `block` and of the blocks inside it, in order of text."""
    result: list[Stmt] = []
    for stmt in block:
        result.append(stmt)
        for inner in stmt.blocks:
            if inner:
                result += statements(inner)
    return result


def nodes(*values: Expr, skip: Container[Expr] = ()) -> list[Expr]:
    """Every node of `values`, each once, operands first, without those in `skip` and what only they hold.

    No recursion, however deep a value is: what is worked out about nodes is worked out in this order.
    """
    order: dict[Expr, None] = {}
    deep = max([value.depth for value in values], default=0) > MOST_DEPTH
    for value in () if deep else values:
        if value not in order and value not in skip:
            _visit(value, skip, order)
    waiting = list(reversed(values)) if deep else []
    while waiting:
        node = waiting[-1]
        if node in order or node in skip:
            waiting.pop()
        elif missing := [x for x in node.operands if x not in order and x not in skip]:
            waiting += reversed(missing)
        else:
            order[waiting.pop()] = None
    return list(order)


def _visit(value: Expr, skip: Container[Expr], order: dict[Expr, None]) -> None:
    """The nodes of a value that is not deep: a call for each level costs less than the list of what waits."""
    for x in value.operands:
        if x not in order and x not in skip:
            if x.operands:
                _visit(x, skip, order)
            else:
                order[x] = None
    order[value] = None


def ask_operands_first(value: Expr, memo: Container[Expr], ask: Callable[[Expr], object]) -> None:
    """Call `ask` on the nodes in a deep `value` that are not in `memo`, operands first: then a memoised recursion over
    operands never nests more than a few levels."""
    if value.depth > MOST_DEPTH:
        for node in nodes(*value.operands, skip=memo):
            ask(node)


def all_nodes(block: Block) -> list[Expr]:
    """Every node of every expression that `block` computes, each once, operands first."""
    return nodes(*[root for stmt in statements(block) for root in stmt.expressions])


def map_block(block: Block, change: Rewrite) -> Block:
    """`block` with `change` applied to every expression that its statements compute."""
    return map_statements(block, lambda stmt: with_expressions(stmt, [change(x) for x in stmt.expressions]))
