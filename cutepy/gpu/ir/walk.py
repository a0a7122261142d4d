"""Reading and rewriting of expressions and statements."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import Any

from .expr import MOST_DEPTH, Binary, Call, Cast, Component, Expr, Load, Select, Unary, Var, Vector, arena
from .make import binary, call, cast, component, load, select, unary, vector
from .stmt import Assign, Atomic, Block, Declare, For, If, Let, Stmt, Store

Rewrite = Callable[[Expr], Expr]


_OPERANDS: dict[type[Expr], Callable[[Any], tuple[Expr, ...]]] = {
    Binary: attrgetter("left", "right"),
    Call: attrgetter("args"),
    Vector: attrgetter("items"),
    Select: attrgetter("condition", "then", "other"),
    Unary: lambda node: (node.value,),
    Cast: lambda node: (node.value,),
    Load: lambda node: (node.index,) if node.where is None else (node.index, node.where),
    Component: lambda node: (node.value, node.lane) if isinstance(node.lane, Expr) else (node.value,),
}


def children(value: Expr) -> tuple[Expr, ...]:
    """The operands of an expression."""
    get = _OPERANDS.get(type(value))
    return () if get is None else get(value)


_REBUILD: dict[type[Expr], Callable[[Any, Sequence[Expr]], Expr]] = {
    Binary: lambda node, x: binary(node.op, *x),
    Call: lambda node, x: call(node.name, *x),
    Vector: lambda node, x: vector(*x),
    Select: lambda node, x: select(*x),
    Unary: lambda node, x: unary(node.op, *x),
    Cast: lambda node, x: cast(x[0], node.dtype, bits=node.bits),
    Load: lambda node, x: load(
        node.buffer, x[0], lanes=node.lanes, where=x[1] if len(x) > 1 else None, place=node.place
    ),
    Component: lambda node, x: component(x[0], x[1] if len(x) > 1 else node.lane),
}


def rebuild(value: Expr, operands: Sequence[Expr]) -> Expr:
    """`value` with other operands, in the order of `children`."""
    for new, old in zip(operands, children(value), strict=True):
        if new is not old:
            return _REBUILD[type(value)](value, operands)
    return value


def rewrite(value: Expr, change: Rewrite, memo: dict[Expr, Expr]) -> Expr:
    """`value` with `change` applied to every node, operands first. `memo` is kept between calls with one `change`."""
    for node in () if value in memo else nodes(value, known=memo):
        operands = children(node)
        memo[node] = change(rebuild(node, [memo[x] for x in operands]) if operands else node)
    return memo[value]


_COMPUTED: dict[type[Stmt], Callable[[Any], tuple[Expr, ...]]] = {
    Let: lambda stmt: (stmt.value,),
    Assign: lambda stmt: (stmt.value,),
    Declare: lambda stmt: () if stmt.value is None else (stmt.value,),
    Store: attrgetter("index", "value"),
    Atomic: attrgetter("index", "value"),
    If: lambda stmt: (stmt.condition,),
    For: attrgetter("start", "stop", "step"),
}


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that `stmt` itself computes, without those of statements inside it."""
    get = _COMPUTED.get(type(stmt))
    return () if get is None else get(stmt)


def with_expressions(stmt: Stmt, new: Sequence[Expr]) -> Stmt:
    """`stmt` computing `new` in place of `expressions(stmt)`."""
    for fresh, old in zip(new, expressions(stmt), strict=True):
        if fresh is not old:
            return _with(stmt, new)
    return stmt


def _with(stmt: Stmt, new: Sequence[Expr]) -> Stmt:
    match stmt:
        case Let(var=var, place=place):
            return Let(var, new[0], place)
        case Assign(var=var, lane=lane):
            return Assign(var, new[0], lane)
        case Store(buffer=buffer, place=place):
            return Store(buffer, new[0], new[1], place)
        case Declare(var=var):
            return Declare(var, new[0])
        case Atomic():
            return replace(stmt, index=new[0], value=new[1])
        case If():
            return replace(stmt, condition=new[0])
        case For():
            return replace(stmt, start=new[0], stop=new[1], step=new[2])
    return stmt


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks inside `stmt`."""
    if isinstance(stmt, If):
        return stmt.then, stmt.orelse
    return (stmt.body,) if isinstance(stmt, For) else ()


def with_blocks(stmt: Stmt, new: tuple[Block, ...]) -> Stmt:
    """`stmt` holding `new` in place of `blocks(stmt)`."""
    match stmt:
        case If():
            return replace(stmt, then=new[0], orelse=new[1])
        case For():
            return replace(stmt, body=new[0])
    return stmt


def statements(block: Block) -> Iterator[Stmt]:
    """Every statement of `block` and of the blocks inside it, in order of text."""
    for stmt in block:
        yield stmt
        for inner in blocks(stmt):
            yield from statements(inner)


def nodes(*values: Expr, known: Container[Expr] = ()) -> list[Expr]:
    """Every node of `values`, each once, operands first, without those that are `known` and what only they hold.

    No recursion, however deep a value is: what is worked out about nodes is worked out in this order.
    """
    found: dict[Expr, None] = {}
    waiting = list(reversed(values))
    while waiting:
        node = waiting[-1]
        if node in found or node in known:
            waiting.pop()
        elif missing := [x for x in children(node) if x not in found and x not in known]:
            waiting += reversed(missing)
        else:
            found[waiting.pop()] = None
    return list(found)


def ask_operands_first(value: Expr, known: Container[Expr], ask: Callable[[Expr], object]) -> None:
    """Ask about what a deep `value` holds and is not `known` yet: so a question that asks itself about operands, and
    knows the answers it gave, is never more than a few levels inside itself."""
    if value.depth > MOST_DEPTH:
        for node in nodes(*children(value), known=known):
            ask(node)


def all_nodes(block: Block) -> list[Expr]:
    """Every node of every expression that `block` computes, each once, operands first."""
    return nodes(*[root for stmt in statements(block) for root in expressions(stmt)])


def variables(value: Expr) -> tuple[Expr, ...]:
    """The variables that `value` reads, each once."""
    return _leaves("variables", Var, value)


def loads(value: Expr) -> tuple[Load, ...]:
    """The loads inside `value`, each once."""
    return _leaves("loads", Load, value)  # type: ignore[return-value]


def _leaves(name: str, kind: type[Expr], value: Expr) -> tuple[Expr, ...]:
    """The nodes of that kind inside `value`, operands first; kept in the arena under `name`."""
    memo: dict[Expr, tuple[Expr, ...]] = arena().facts.setdefault(name, {})  # type: ignore[assignment]
    known = memo.get(value)
    if known is not None:
        return known
    for node in nodes(value, known=memo):
        own = (node,) if isinstance(node, kind) else ()
        parts = [found for x in children(node) if (found := memo[x])]
        memo[node] = parts[0] if len(parts) == 1 and not own else (*dict.fromkeys(chain(*parts)), *own)
    return memo[value]


def map_block(block: Block, change: Rewrite) -> Block:
    """`block` with `change` applied to every expression that its statements compute."""
    out: list[Stmt] = []
    for stmt in block:
        stmt = with_expressions(stmt, [change(x) for x in expressions(stmt)])
        inner = blocks(stmt)
        out.append(with_blocks(stmt, tuple([map_block(b, change) for b in inner])) if inner else stmt)
    return tuple(out)
