"""Predicated loads become variables that an `if` fills; neighbours under one condition share the `if`."""

from dataclasses import replace

from ..ir import (
    Assign,
    Block,
    Declare,
    Expr,
    If,
    Kernel,
    Let,
    Load,
    Stmt,
    Var,
    blocks,
    const,
    load,
    loads,
    rewrite,
    splat,
    with_blocks,
)


def branch(kernel: Kernel) -> Kernel:
    """`kernel` without a `where` on any load."""
    return replace(kernel, body=_block(kernel.body))


def _block(block: Block) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, Let):
            predicates = [n for n in loads(stmt.value) if n.where is not None]
            if predicates:
                _fill(out, stmt, predicates[0])
                continue
        stmt = with_blocks(stmt, tuple([_block(b) for b in blocks(stmt)]))
        last = out[-1] if out else None
        if isinstance(stmt, If) and isinstance(last, If) and _joinable(last, stmt):
            out[-1] = replace(last, then=last.then + stmt.then)
        else:
            out.append(stmt)
    return tuple(out)


def _fill(out: list[Stmt], stmt: Let, predicated: Load) -> None:
    """Declare the variable before the `if` of the same condition that ends `out`, and set it inside."""
    condition = predicated.where
    assert condition is not None
    filled = Assign(stmt.var, _unconditional(stmt.value))
    last = out[-1] if out else None
    if isinstance(last, If) and last.condition is condition and not last.orelse and isinstance(last.then[0], Assign):
        out[-1:] = [_zero(stmt.var), replace(last, then=(*last.then, filled))]
    else:
        out += [_zero(stmt.var), If(condition, (filled,), place=stmt.place)]


def _zero(name: Var) -> Declare:
    return Declare(name, splat(const(0, name.dtype), name.lanes))


def _unconditional(value: Expr) -> Expr:
    def change(node: Expr) -> Expr:
        if isinstance(node, Load) and node.where is not None:
            return load(node.buffer, node.index, lanes=node.lanes, place=node.place)
        return node

    return rewrite(value, change, {})


def _joinable(first: If, second: If) -> bool:
    if first.condition is not second.condition or first.orelse or second.orelse:
        return False
    return not loads(first.condition)
