"""The text of a kernel's IR, at any stage of lowering: for failures that people read, and for golden texts."""

from collections.abc import Iterator

from cutepy.gpu.ir import (
    Assign,
    Atomic,
    Barrier,
    Block,
    Break,
    Declare,
    For,
    If,
    Kernel,
    Let,
    Stmt,
    Store,
    loads,
)
from cutepy.gpu.targets.wgsl import show


def ir_text(kernel: Kernel) -> str:
    """A line a statement; a load's predicate stands after it."""
    arrays = " ".join(f"{b.name}:{b.dtype}x{b.width}[{b.length}]" for b in (*kernel.buffers, *kernel.local))
    return "\n".join([arrays, *_lines(kernel.body, "")]) + "\n"


def _lines(block: Block, indent: str) -> Iterator[str]:
    for stmt in block:
        yield indent + _line(stmt)
        for word, inner in zip(("", "else"), stmt.blocks, strict=False):
            if inner and word:
                yield indent + word
            yield from _lines(inner, indent + "  ")


def _line(stmt: Stmt) -> str:
    where = [f" where {show(x.where)}" for root in stmt.expressions for x in loads(root) if x.where is not None]
    return _said(stmt) + "".join(where)


def _said(stmt: Stmt) -> str:
    match stmt:
        case Let(var=var, value=value):
            return f"let {var.name} = {show(value)}"
        case Declare(var=var, value=value):
            return f"var {var.name}" + ("" if value is None else f" = {show(value)}")
        case Assign(var=var, value=value, lane=lane):
            return f"{var.name}{'' if lane is None else '.' + 'xyzw'[lane]} = {show(value)}"
        case Store(buffer=buffer, index=index, value=value):
            return f"{buffer.name}[{show(index)}] = {show(value)}"
        case Atomic(op=op, buffer=buffer, index=index, value=value, result=result):
            return f"{'' if result is None else result.name + ' = '}{op} {buffer.name}[{show(index)}], {show(value)}"
        case If(condition=condition):
            return f"if {show(condition)}"
        case For(var=var, start=start, stop=stop, step=step):
            return f"for {var.name} from {show(start)} to {'ever' if stop is None else show(stop)} by {show(step)}"
        case Break(condition=condition):
            return f"break if {show(condition)}"
        case Barrier():
            return "barrier"
    return type(stmt).__name__
