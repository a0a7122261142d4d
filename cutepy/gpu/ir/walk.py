"""Reading and rewriting of expressions and statements."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from .expr import Binary, Call, Cast, Component, Expr, Load, Select, Unary, Vector
from .make import binary, call, cast, component, load, select, unary, vector
from .stmt import Assign, Atomic, Block, Declare, For, If, Let, Stmt, Store

Rewrite = Callable[[Expr], Expr]


def children(value: Expr) -> tuple[Expr, ...]:
    """The operands of an expression."""
    match value:
        case Binary(left=left, right=right):
            return left, right
        case Load(index=index, where=where):
            return (index,) if where is None else (index, where)
        case Call(args=args):
            return args
        case Component(value=whole, lane=lane):
            return (whole, lane) if isinstance(lane, Expr) else (whole,)
        case Vector(items=items):
            return items
        case Unary(value=operand) | Cast(value=operand):
            return (operand,)
        case Select(condition=condition, then=then, other=other):
            return condition, then, other
    return ()


def rebuild(value: Expr, operands: tuple[Expr, ...]) -> Expr:
    """`value` with other operands, in the order of `children`."""
    if all(new is old for new, old in zip(operands, children(value), strict=True)):
        return value
    match value:
        case Binary(op=op):
            return binary(op, *operands)
        case Load(buffer=buffer, lanes=lanes, place=place):
            where = operands[1] if len(operands) > 1 else None
            return load(buffer, operands[0], lanes=lanes, where=where, place=place)
        case Call(name=name):
            return call(name, *operands)
        case Component(lane=lane):
            return component(operands[0], operands[1] if len(operands) > 1 else lane)
        case Vector():
            return vector(*operands)
        case Unary(op=op):
            return unary(op, *operands)
        case Cast(dtype=dtype, bits=bits):
            return cast(operands[0], dtype, bits=bits)
        case Select():
            return select(*operands)
    raise AssertionError(f"{type(value).__name__} has no operands")


def rewrite(value: Expr, change: Rewrite, memo: dict[Expr, Expr]) -> Expr:
    """`value` with `change` applied to every node, operands first. `memo` is kept between calls with one `change`."""
    known = memo.get(value)
    if known is None:
        operands = children(value)
        new = rebuild(value, tuple([rewrite(x, change, memo) for x in operands])) if operands else value
        known = memo[value] = change(new)
    return known


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that `stmt` itself computes, without those of statements inside it."""
    match stmt:
        case Let(value=value) | Assign(value=value):
            return (value,)
        case Declare(value=value):
            return () if value is None else (value,)
        case Store(index=index, value=value) | Atomic(index=index, value=value):
            return index, value
        case If(condition=condition):
            return (condition,)
        case For(start=start, stop=stop, step=step):
            return start, stop, step
    return ()


def with_expressions(stmt: Stmt, new: tuple[Expr, ...]) -> Stmt:
    """`stmt` computing `new` in place of `expressions(stmt)`."""
    if all(a is b for a, b in zip(new, expressions(stmt), strict=True)):
        return stmt
    match stmt:
        case Let() | Assign() | Declare():
            return replace(stmt, value=new[0])
        case Store() | Atomic():
            return replace(stmt, index=new[0], value=new[1])
        case If():
            return replace(stmt, condition=new[0])
        case For():
            return replace(stmt, start=new[0], stop=new[1], step=new[2])
    return stmt


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks inside `stmt`."""
    match stmt:
        case If(then=then, orelse=orelse):
            return then, orelse
        case For(body=body):
            return (body,)
    return ()


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


def nodes(value: Expr, seen: set[Expr] | None = None) -> Iterator[Expr]:
    """Every node of `value`, each once, operands first; those in `seen` are left out, and added to it."""
    seen = set() if seen is None else seen
    if value in seen:
        return
    seen.add(value)
    for operand in children(value):
        yield from nodes(operand, seen)
    yield value


def map_block(block: Block, change: Rewrite) -> Block:
    """`block` with `change` applied to every expression that its statements compute."""
    out: list[Stmt] = []
    for stmt in block:
        new = with_expressions(stmt, tuple([change(x) for x in expressions(stmt)]))
        inner = blocks(new)
        out.append(with_blocks(new, tuple([map_block(b, change) for b in inner])) if inner else new)
    return tuple(out)
