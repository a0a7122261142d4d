"""An expression and a statement that cutepy does not have: all that it takes to add them is in this file."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from cutepy.gpu.ir import NODES, Buffer, Change, Computed, Expr, Node, made
from cutepy.gpu.ir.expr import dataclass
from cutepy.gpu.targets.interpreter import RUNS, Compiler, Run
from cutepy.gpu.targets.interpreter_memory import AccessCheck, InterpreterState, scatter
from cutepy.gpu.targets.wgsl import WgslPrinter


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ones(Computed):
    """How many bits of `value` are 1."""

    value: Expr


def ones(value: Expr) -> Expr:
    return made(Ones, value.dtype, value.lanes, (value,), value)


def _count(x: np.ndarray) -> np.ndarray:
    bits = x.astype(np.int64)[..., None] >> np.arange(32) & 1
    return bits.sum(axis=-1).astype(x.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Increase(Change):
    """Add `value` to an element, without regard to who else does."""

    COMPUTES = ("index", "value")
    VERB = "writes"
    buffer: Buffer
    index: Expr
    value: Expr
    place: str = ""


def _lines(printer, stmt: Increase, depth: int) -> list[str]:
    return [f"{printer.element_of(stmt.buffer, stmt.index)} += {printer.show(stmt.value)};"]


def _run(compiler: Compiler, stmt: Increase) -> Run:
    index, value = compiler.expr(stmt.index), compiler.expr(stmt.value)
    check = AccessCheck(compiler.kernel, stmt.buffer, stmt.value.lanes, stmt.place, "writes")

    def run(s: InterpreterState) -> None:
        at = check.elements(s, index(s), s.active)
        scatter(s, stmt.buffer, at, s.arrays[stmt.buffer].take(at) + value(s), stmt.value.lanes)

    return run


@contextmanager
def new_nodes() -> Iterator[None]:
    """cutepy with both."""
    NODES[Ones] = Node(lambda node, x: ones(*x), lambda node: _count)
    WgslPrinter.show_Ones = lambda printer, value, outer: f"countOneBits({printer.show(value.value)})"
    WgslPrinter.lines_Increase = _lines
    RUNS[Increase] = _run
    try:
        yield
    finally:
        del WgslPrinter.show_Ones, WgslPrinter.lines_Increase
        for table in (NODES, RUNS):
            for kind in (Ones, Increase):
                table.pop(kind, None)  # type: ignore[call-overload]
