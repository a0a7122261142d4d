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
from .make import binary, call, cast, component, load, select, unary, vector
from .matrices import MATRIX, load_matrix, matrix_call
from .stmt import Block, Buffer, Stmt

Rewrite = Callable[[Expr], Expr]


@dataclass(frozen=True, slots=True)
class Node:
    """What there is to know of a kind of expression: how the same is made of other operands; and what it does with the
    values of its operands, None where these alone do not decide it."""

    rebuild: Callable[[Any, Sequence[Expr]], Expr]
    meaning: Callable[[Any], Law | None] = lambda node: None


def _joined(node: Binary, new: Sequence[Expr]) -> Expr:
    """The same of other operands, in bits if it was written so."""
    left, right = new
    found, as_bits = binary(node.op, left, right), arena().as_bits
    if node in as_bits:
        as_bits.setdefault(found, as_bits[node])
    return found


def _called(node: Call, new: Sequence[Expr]) -> Expr:
    """The same function of other operands; of the same types they have been checked."""
    if any(x.dtype is not old.dtype or x.lanes != old.lanes for x, old in zip(new, node.args, strict=True)):
        return call(node.name, *new)
    key = (node.name, *map(id, new))
    known, operands = arena().nodes.get(key), tuple(new)
    return interned(key, Call, node.dtype, node.lanes, operands, node.name, operands) if known is None else known


def _loaded(node: Load, new: Sequence[Expr]) -> Expr:
    """The same read at other operands: an index, a condition if it has one, coordinates."""
    index, *others = new
    where = others.pop(0) if node.where is not None else None
    at = tuple(others), node.shape
    if isinstance(node, MatrixLoad):
        return load_matrix(node.dtype, node.buffer, index, (node.stride, node.by_columns), node.place, at)
    return load(node.buffer, index, lanes=node.lanes, where=where, place=node.place, at=at)


#: Every kind of expression that has operands. What it looks like in WGSL is for the printer to say.
NODES: dict[type[Expr], Node] = {
    Binary: Node(_joined, lambda node: BINARY[node.op]),
    Call: Node(_called, lambda node: IR_FUNCTIONS[node.name].numpy if node.name in IR_FUNCTIONS else None),
    Vector: Node(lambda node, x: vector(*x), lambda node: stacked(node.items)),
    Select: Node(lambda node, x: select(*x), lambda node: np.where),
    Unary: Node(lambda node, x: unary(node.op, *x), lambda node: UNARY[node.op]),
    Cast: Node(
        lambda node, x: cast(x[0], node.dtype, bits=node.bits),
        lambda node: conversion(node.value.dtype, node.dtype, node.bits),
    ),
    Load: Node(_loaded),
    MatrixLoad: Node(_loaded),
    MatrixCall: Node(
        lambda node, x: matrix_call(node.name, node.dtype, *x, place=node.place),
        lambda node: MATRIX[node.name](node.dtype),
    ),
    Component: Node(
        lambda node, x: component(x[0], (*x, node.lane)[1]),
        lambda node: lane_at if isinstance(node.lane, Expr) else partial(lane_of, lane=node.lane),
    ),
}


def rebuild(value: Expr, operands: Sequence[Expr]) -> Expr:
    """`value` with other operands."""
    return NODES[type(value)].rebuild(value, operands) if any(map(is_not, operands, value.operands)) else value


def meaning(value: Expr) -> Law | None:
    """What a node does with the values of its operands; None where that is not all that decides it."""
    kind = NODES.get(type(value))
    return None if kind is None else kind.meaning(value)


def is_pure(value: Expr) -> bool:
    """Whether its operands alone decide what a node is: not memory, and not other threads."""
    return not value.operands or meaning(value) is not None


def is_uniform(
    value: Expr, leaf: Callable[[Expr], bool], readable: Callable[[Buffer], bool], known: dict[Expr, bool]
) -> bool:
    """Whether all threads of a workgroup agree on `value` by WGSL's rules: it is made of leaves and of elements of
    `readable` arrays on which they agree; on what subgroups say they do not. `known` is kept for the next value."""
    for node in nodes(value, known=known):
        own = isinstance(node, Const) or leaf(node) if not node.operands else is_pure(node)
        if isinstance(node, Load):
            own = readable(node.buffer)
        known[node] = own and all(known[x] for x in node.operands)
    return known[value]


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The parts of a condition that must all hold."""
    if isinstance(condition, Binary) and condition.op == "&" and condition.dtype.kind == "b":
        return conjuncts(condition.left) + conjuncts(condition.right)
    return () if isinstance(condition, Const) and condition.value else (condition,)


_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def negated(condition: Expr) -> Expr:
    """A condition that holds where this one does not."""
    if isinstance(condition, Binary) and condition.left.dtype.kind in "iu" and condition.op in _NEGATED:
        return binary(_NEGATED[condition.op], condition.left, condition.right)
    if isinstance(condition, Binary) and condition.dtype.kind == "b" and condition.op in "&|":
        other = "|" if condition.op == "&" else "&"
        return binary(other, negated(condition.left), negated(condition.right))
    return unary("!", condition)


def rewrite(value: Expr, change: Rewrite, memo: dict[Expr, Expr]) -> Expr:
    """`value` with `change` applied to every node, operands first. `memo` is kept between calls with one `change`."""
    if value not in memo:
        if value.depth > MOST_DEPTH:
            for node in nodes(*value.operands, known=memo):
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
    found = memo[value] = change(new)
    return found


def with_expressions(stmt: Stmt, new: Sequence[Expr]) -> Stmt:
    """`stmt` computing `new` in place of its expressions."""
    if not any(map(is_not, new, stmt.expressions)):
        return stmt
    rest = iter(new)
    given = ((n, value) for n in stmt.COMPUTES if (value := getattr(stmt, n)) is not None)
    return with_fields(
        stmt, **{n: tuple(islice(rest, len(old))) if isinstance(old, tuple) else next(rest) for n, old in given}
    )


def with_blocks(stmt: Stmt, new: Sequence[Block]) -> Stmt:
    """`stmt` holding `new` in place of its blocks."""
    return with_fields(stmt, **dict(zip(stmt.HOLDS, new, strict=True))) if new else stmt


def with_fields(stmt: Stmt, **fields: Any) -> Stmt:
    """`stmt` with these fields instead."""
    kind: Any = type(stmt)
    others = {name: getattr(stmt, name) for name in kind.__match_args__ if name not in fields}
    new: Stmt = kind(**others, **fields)
    return new


def without(block: Block, kind: type[Stmt]) -> Block:
    """`block` without the statements of a kind."""
    return tuple([with_blocks(s, [without(b, kind) for b in s.blocks]) for s in block if not isinstance(s, kind)])


def statements(block: Block) -> list[Stmt]:
    """Every statement of `block` and of the blocks inside it, in order of text."""
    found: list[Stmt] = []
    for stmt in block:
        found.append(stmt)
        for inner in stmt.blocks:
            if inner:
                found += statements(inner)
    return found


def nodes(*values: Expr, known: Container[Expr] = ()) -> list[Expr]:
    """Every node of `values`, each once, operands first, without those that are `known` and what only they hold.

    No recursion, however deep a value is: what is worked out about nodes is worked out in this order.
    """
    found: dict[Expr, None] = {}
    deep = max([value.depth for value in values], default=0) > MOST_DEPTH
    for value in () if deep else values:
        if value not in found and value not in known:
            _visit(value, known, found)
    waiting = list(reversed(values)) if deep else []
    while waiting:
        node = waiting[-1]
        if node in found or node in known:
            waiting.pop()
        elif missing := [x for x in node.operands if x not in found and x not in known]:
            waiting += reversed(missing)
        else:
            found[waiting.pop()] = None
    return list(found)


def _visit(value: Expr, known: Container[Expr], found: dict[Expr, None]) -> None:
    """The nodes of a value that is not deep: a call for each level costs less than the list of what waits."""
    for x in value.operands:
        if x not in found and x not in known:
            if x.operands:
                _visit(x, known, found)
            else:
                found[x] = None
    found[value] = None


def ask_operands_first(value: Expr, known: Container[Expr], ask: Callable[[Expr], object]) -> None:
    """Ask about what a deep `value` holds and is not `known` yet: so a question that asks itself about operands, and
    knows the answers it gave, is never more than a few levels inside itself."""
    if value.depth > MOST_DEPTH:
        for node in nodes(*value.operands, known=known):
            ask(node)


def all_nodes(block: Block) -> list[Expr]:
    """Every node of every expression that `block` computes, each once, operands first."""
    return nodes(*[root for stmt in statements(block) for root in stmt.expressions])


def map_block(block: Block, change: Rewrite) -> Block:
    """`block` with `change` applied to every expression that its statements compute."""
    out: list[Stmt] = []
    for stmt in block:
        stmt = with_expressions(stmt, [change(x) for x in stmt.expressions])
        inner = stmt.blocks
        out.append(with_blocks(stmt, tuple([map_block(b, change) for b in inner])) if inner else stmt)
    return tuple(out)
