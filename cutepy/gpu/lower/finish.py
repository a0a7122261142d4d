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
    variables,
    with_blocks,
)
from .hoist import share


def finish(kernel: Kernel) -> Kernel:
    """`kernel` without values that nobody uses, with floating-point values used twice named, and unused arrays gone."""
    used: set[Buffer] = set()
    body = share(_useful(kernel.body, set(), used))
    return replace(kernel, body=body, local=tuple(b for b in kernel.local if b in used))


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
