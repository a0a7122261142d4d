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
    """`kernel` without names, results, registers, branches and arrays of its own that are not used."""
    body, read = kernel.body, _read(kernel.body)
    while True:
        used: set[Buffer] = set()
        body = _useful(body, read, set(), used)
        left = _read(body)
        if len(left) == len(read):
            return replace(kernel, body=body, local=tuple(b for b in kernel.local if b in used))
        read = left


def _read(body: Block) -> set[object]:
    """The names and arrays that a body reads."""
    roots = [root for stmt in statements(body) for root in expressions(stmt)]
    return {v for root in roots for v in variables(root)} | {load.buffer for root in roots for load in loads(root)}


def _unread(stmt: Stmt, read: set[object], live: set[Expr]) -> bool:
    """Whether `stmt` only sets a name that is not used after it, or one that is set again, or a register, that is not
    read at all: what a block carries may be of no use after it."""
    match stmt:
        case Let(var=var):
            return var not in live
        case Declare(var=var) | Assign(var=var):
            return var not in read
        case Store(buffer=buffer):
            return buffer.space == "private" and buffer.length == 1 and buffer not in read
    return False


def _never_turns(loop: For) -> bool:
    """Whether a loop has no turn: a barrier in it would be one that no compiler can tell to be never reached."""
    return isinstance(loop.start, Const) and isinstance(loop.stop, Const) and loop.start.value >= loop.stop.value


def _useful(block: Block, read: set[object], live: set[Expr], used: set[Buffer]) -> Block:
    """`block` without statements that are `_unread`, results that nobody uses, and branches that do nothing; `live`
    gains the names that it uses, `used` its arrays.

    One walk from the end: what is not set again is used only after it is bound.
    """
    out: list[Stmt] = []
    for stmt in reversed(block):
        if _unread(stmt, read, live):
            continue
        if isinstance(stmt, If) and isinstance(stmt.condition, Const):
            out += reversed(_useful(stmt.then if stmt.condition.value else stmt.orelse, read, live, used))
            continue
        if isinstance(stmt, For) and _never_turns(stmt):
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
