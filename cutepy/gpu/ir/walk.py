"""Reading and rewriting of expressions and statements."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

from .expr import MOST_DEPTH, Binary, Call, Cast, Component, Const, Expr, Load, Select, Unary, Var, Vector, arena
from .make import binary, call, cast, component, load, select, unary, vector
from .stmt import Assign, Atomic, Block, Declare, For, If, Let, Stmt, Store

Rewrite = Callable[[Expr], Expr]
Leaf = TypeVar("Leaf", bound=Expr)


@dataclass(frozen=True, slots=True)
class _Node:
    """What a kind of expression is made of, and how the same is made of other operands."""

    operands: Callable[[Any], tuple[Expr, ...]]
    rebuild: Callable[[Any, Sequence[Expr]], Expr]


_NODES: dict[type[Expr], _Node] = {
    Binary: _Node(attrgetter("left", "right"), lambda node, x: binary(node.op, *x)),
    Call: _Node(attrgetter("args"), lambda node, x: call(node.name, *x)),
    Vector: _Node(attrgetter("items"), lambda node, x: vector(*x)),
    Select: _Node(attrgetter("condition", "then", "other"), lambda node, x: select(*x)),
    Unary: _Node(lambda node: (node.value,), lambda node, x: unary(node.op, *x)),
    Cast: _Node(lambda node: (node.value,), lambda node, x: cast(x[0], node.dtype, bits=node.bits)),
    Load: _Node(
        lambda node: (node.index,) if node.where is None else (node.index, node.where),
        lambda node, x: load(node.buffer, x[0], lanes=node.lanes, where=(*x, None)[1], place=node.place),
    ),
    Component: _Node(
        lambda node: (node.value, node.lane) if isinstance(node.lane, Expr) else (node.value,),
        lambda node, x: component(x[0], (*x, node.lane)[1]),
    ),
}


_OPERANDS = {kind: node.operands for kind, node in _NODES.items()}


def children(value: Expr) -> tuple[Expr, ...]:
    """The operands of an expression."""
    operands = _OPERANDS.get(type(value))
    return () if operands is None else operands(value)


def rebuild(value: Expr, operands: Sequence[Expr]) -> Expr:
    """`value` with other operands, in the order of `children`."""
    for new, old in zip(operands, children(value), strict=True):
        if new is not old:
            return _NODES[type(value)].rebuild(value, operands)
    return value


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The parts of a condition that must all hold."""
    if isinstance(condition, Binary) and condition.op == "&" and condition.dtype.kind == "b":
        return conjuncts(condition.left) + conjuncts(condition.right)
    return () if isinstance(condition, Const) and condition.value else (condition,)


def rewrite(value: Expr, change: Rewrite, memo: dict[Expr, Expr]) -> Expr:
    """`value` with `change` applied to every node, operands first. `memo` is kept between calls with one `change`."""
    if value in memo:
        return memo[value]
    for node in nodes(value, known=memo):
        operands = children(node)
        memo[node] = change(rebuild(node, [memo[x] for x in operands]) if operands else node)
    return memo[value]


#: The fields of each kind of statement that are expressions, and those that are blocks.
_COMPUTED: dict[type[Stmt], tuple[str, ...]] = {
    Let: ("value",),
    Assign: ("value",),
    Declare: ("value",),
    Store: ("index", "value"),
    Atomic: ("index", "value"),
    If: ("condition",),
    For: ("start", "stop", "step"),
}
_BLOCKS: dict[type[Stmt], tuple[str, ...]] = {If: ("then", "orelse"), For: ("body",)}


def _reader(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads these fields of a statement; none, where the first is None."""
    read = attrgetter(*names)
    if len(names) > 1:
        return read
    return lambda stmt: () if (found := read(stmt)) is None else (found,)


_EXPRESSIONS = {kind: _reader(names) for kind, names in _COMPUTED.items()}
_INNER = {kind: _reader(names) for kind, names in _BLOCKS.items()}


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that `stmt` itself computes, without those of statements inside it."""
    read = _EXPRESSIONS.get(type(stmt))
    return () if read is None else read(stmt)


def with_expressions(stmt: Stmt, new: Sequence[Expr]) -> Stmt:
    """`stmt` computing `new` in place of `expressions(stmt)`."""
    for fresh, old in zip(new, expressions(stmt), strict=True):
        if fresh is not old:
            return _with(stmt, zip(_COMPUTED[type(stmt)], new, strict=True))
    return stmt


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks inside `stmt`."""
    read = _INNER.get(type(stmt))
    return () if read is None else read(stmt)


def with_blocks(stmt: Stmt, new: tuple[Block, ...]) -> Stmt:
    """`stmt` holding `new` in place of `blocks(stmt)`."""
    return _with(stmt, zip(_BLOCKS[type(stmt)], new, strict=True)) if new else stmt


def _with(stmt: Stmt, fields: Iterable[tuple[str, object]]) -> Stmt:
    changes: dict[str, Any] = dict(fields)
    return replace(stmt, **changes)


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
    deep = any(value.depth > MOST_DEPTH for value in values)
    for value in () if deep else values:
        if value not in found and value not in known:
            _visit(value, known, found)
    waiting = list(reversed(values)) if deep else []
    while waiting:
        node = waiting[-1]
        if node in found or node in known:
            waiting.pop()
        elif missing := [x for x in children(node) if x not in found and x not in known]:
            waiting += reversed(missing)
        else:
            found[waiting.pop()] = None
    return list(found)


def _visit(value: Expr, known: Container[Expr], found: dict[Expr, None]) -> None:
    """The nodes of a value that is not deep: a call for each level costs less than the list of what waits."""
    for x in children(value):
        if x not in found and x not in known:
            _visit(x, known, found)
    found[value] = None


def ask_operands_first(value: Expr, known: Container[Expr], ask: Callable[[Expr], object]) -> None:
    """Ask about what a deep `value` holds and is not `known` yet: so a question that asks itself about operands, and
    knows the answers it gave, is never more than a few levels inside itself."""
    if value.depth > MOST_DEPTH:
        for node in nodes(*children(value), known=known):
            ask(node)


def all_nodes(block: Block) -> list[Expr]:
    """Every node of every expression that `block` computes, each once, operands first."""
    return nodes(*[root for stmt in statements(block) for root in expressions(stmt)])


def variables(value: Expr) -> tuple[Var, ...]:
    """The variables that `value` reads, each once."""
    memo = arena().variables
    return memo[value] if value in memo else _leaves(memo, Var, value)


def loads(value: Expr) -> tuple[Load, ...]:
    """The loads inside `value`, each once."""
    memo = arena().loads
    return memo[value] if value in memo else _leaves(memo, Load, value)


def _leaves(memo: dict[Expr, tuple[Leaf, ...]], kind: type[Leaf], value: Expr) -> tuple[Leaf, ...]:
    """The nodes of that kind inside `value`, operands first."""
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
