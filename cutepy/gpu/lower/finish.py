"""What is done to every traced kernel at once, before anything reads it: its IR stays in units of elements."""

from dataclasses import replace

from ..ir import (
    Assign,
    Atomic,
    Block,
    Buffer,
    Const,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Stmt,
    Store,
    blocks,
    check,
    check_constants,
    expressions,
    loads,
    statements,
    variables,
    with_blocks,
)
from .hoist import share


def finish(kernel: Kernel) -> Kernel:
    """`kernel` without values and arrays that nobody uses, and with floating-point values used twice named.

    Raises KernelError for what `check` and `check_constants` refuse.
    """
    useful = drop_unused(check_constants(check(kernel)))
    return replace(useful, body=share(useful.body))


def drop_unused(kernel: Kernel) -> Kernel:
    """`kernel` without names, results, branches and arrays of its own that are not used."""
    read = {v for stmt in statements(kernel.body) for root in expressions(stmt) for v in variables(root)}
    used: set[Buffer] = set()
    body = _useful(kernel.body, read, set(), used)
    return replace(kernel, body=body, local=tuple(b for b in kernel.local if b in used))


def _useful(block: Block, read: set[Expr], live: set[Expr], used: set[Buffer]) -> Block:
    """`block` without lets and results whose names are not used after them, or, of names that are set again, not
    `read` at all; `live` gains the names that it uses, `used` its arrays.

    One walk from the end: what is not set again is used only after it is bound.
    """
    out: list[Stmt] = []
    for stmt in reversed(block):
        if (isinstance(stmt, Let) and stmt.var not in live) or (
            isinstance(stmt, Declare | Assign) and stmt.var not in read
        ):
            continue
        if isinstance(stmt, If) and isinstance(stmt.condition, Const):
            out += reversed(_useful(stmt.then if stmt.condition.value else stmt.orelse, read, live, used))
            continue
        if isinstance(stmt, Atomic) and stmt.result is not None and stmt.result not in live:
            stmt = replace(stmt, result=None)
        inner = tuple([_useful(b, read, live, used) for b in reversed(blocks(stmt))])[::-1]
        if isinstance(stmt, If | For) and not any(inner):
            continue
        if isinstance(stmt, Store | Atomic):
            used.add(stmt.buffer)
        for root in expressions(stmt):
            live.update(variables(root))
            used.update([load.buffer for load in loads(root)])
        out.append(with_blocks(stmt, inner) if inner else stmt)
    return tuple(out[::-1])
