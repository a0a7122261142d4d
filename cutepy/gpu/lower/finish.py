"""What is done to every traced kernel at once, before anything reads it: its IR stays in units of elements."""

from dataclasses import replace

from ..ir import (
    Atomic,
    Block,
    Buffer,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Stmt,
    Store,
    blocks,
    expressions,
    loads,
    statements,
    variables,
    with_blocks,
)
from .hoist import share


def finish(kernel: Kernel) -> Kernel:
    """`kernel` without values that nobody uses, with floating-point values used twice named, and unused arrays gone."""
    used: set[Buffer] = set()
    body = _useful(kernel.body, set(), used)
    while unread := _unread(body):
        used = set()
        body = _useful(_without(body, unread), set(), used)
    return replace(kernel, body=share(body), local=tuple(b for b in kernel.local if b in used))


def _unread(body: Block) -> set[Buffer]:
    """The variables that are set and never read: what a block carries may be of no use after it."""
    stored = {s.buffer for s in statements(body) if isinstance(s, Store) and s.buffer.space == "private"}
    if not stored:
        return stored
    read = {load.buffer for s in statements(body) for root in expressions(s) for load in loads(root)}
    return {buffer for buffer in stored - read if buffer.length == 1}


def _without(body: Block, buffers: set[Buffer]) -> Block:
    kept = [stmt for stmt in body if not (isinstance(stmt, Store) and stmt.buffer in buffers)]
    return tuple([with_blocks(stmt, tuple([_without(b, buffers) for b in blocks(stmt)])) for stmt in kept])


def _useful(block: Block, live: set[Expr], used: set[Buffer]) -> Block:
    """`block` without lets and results whose names are not used after them; `live` gains the names that it uses,
    `used` its arrays.

    One walk from the end: at this stage a name is set once, and used only after that.
    """
    out: list[Stmt] = []
    for stmt in reversed(block):
        if isinstance(stmt, Let) and stmt.var not in live:
            continue
        if isinstance(stmt, Atomic) and stmt.result is not None and stmt.result not in live:
            stmt = replace(stmt, result=None)
        inner = tuple([_useful(b, live, used) for b in reversed(blocks(stmt))])[::-1]
        if isinstance(stmt, If | For) and not any(inner):
            continue
        if isinstance(stmt, Store | Atomic):
            used.add(stmt.buffer)
        for root in expressions(stmt):
            live.update(variables(root))
            used.update([load.buffer for load in loads(root)])
        out.append(with_blocks(stmt, inner) if inner else stmt)
    return tuple(out[::-1])
