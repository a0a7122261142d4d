"""What registers hold as the text goes by, and unknowns for what memory holds when it is read.

A value read twice may be two values: each statement that reads memory that the kernel writes, or asks a subgroup, gets
unknowns of its own. A register holds what was last put there, as long as that is the same on all ways here.
"""

from collections.abc import Iterable

from ..ir import (
    Assign,
    Block,
    Buffer,
    Call,
    Const,
    Declare,
    Expr,
    Load,
    Stmt,
    Store,
    Var,
    ask_operands_first,
    children,
    select,
    statements,
)
from ..ir.operators import SUBGROUP
from ..ranges import domain
from ..wgsl import show

#: A variable, or an element of a private array.
Cell = Expr | tuple[Buffer, int]
Cells = dict[Cell, Expr]


class State:
    """The values of registers at one place of the text. `readable` are the bindings that are never written."""

    def __init__(self, readable: frozenset[Buffer], body: Iterable[Stmt]) -> None:
        self.readable = readable
        self.changing = {s.var for s in body if isinstance(s, Declare | Assign)}
        self.cells: Cells = {}
        self.read: dict[Expr, Expr] = {}
        self.read_from: dict[Expr, Buffer] = {}
        self.lasting: dict[Expr, bool] = {}

    def statement(self) -> None:
        """The next statement begins: what it reads, it reads anew."""
        self.read = {}

    def is_lasting(self, value: Expr) -> bool:
        """Whether `value` is the same wherever it is computed: it reads nothing that the kernel changes."""
        known = self.lasting.get(value)
        if known is None:
            ask_operands_first(value, self.lasting, self.is_lasting)
            known = self.lasting[value] = not self._is_read_anew(value) and all(map(self.is_lasting, children(value)))
        return known

    def _is_read_anew(self, value: Expr) -> bool:
        match value:
            case Load(buffer=buffer):
                return buffer not in self.readable
            case Call(name=name):
                return name in SUBGROUP
        return value in self.changing

    def now(self, node: Expr) -> Expr:
        """What a node with resolved operands stands for here."""
        if not self._is_read_anew(node):
            return node
        cell = _cell(node)
        known = self.cells.get(cell) if cell is not None else self.read.get(node)
        if known is None:
            known = _unknown(node)
            if cell is not None:
                self.cells[cell] = known
            else:
                self.read[node] = known
            if isinstance(node, Load) and node.buffer.space != "private":
                self.read_from[known] = node.buffer
        return known

    def named(self, name: Var, value: Expr) -> Expr:
        """What a name stands for: an unknown lies where the name does, for whoever bound it knew the bounds to hold."""
        known = isinstance(value, Var) and value.order == 0 and not (name.lo <= value.lo and value.hi <= name.hi)
        if not known:
            return value
        assert isinstance(value, Var)
        narrow = Var(value.name, value.dtype, value.lanes, max(name.lo, value.lo), min(name.hi, value.hi), 0)
        self.cells = {cell: narrow if held is value else held for cell, held in self.cells.items()}
        if value in self.read_from:
            self.read_from[narrow] = self.read_from[value]
        return narrow

    def put(self, cell: Cell, value: Expr | None) -> None:
        """A register is set. Only integers and conditions are kept: the rest decides no address."""
        if value is None or value.lanes != 1 or value.dtype.kind not in "iub":
            self.cells.pop(cell, None)
        else:
            self.cells[cell] = value

    def store(self, buffer: Buffer, index: Expr, value: Expr) -> None:
        """An element of a private array is set, or several, or one that nobody knows."""
        if isinstance(index, Const) and value.lanes == buffer.width == 1:
            self.put((buffer, int(index.value)), value)
        else:
            self._forget_array(buffer)

    def _forget_array(self, buffer: Buffer) -> None:
        self.cells = {c: v for c, v in self.cells.items() if not (isinstance(c, tuple) and c[0] is buffer)}

    def saved(self, instead: Cells | None = None) -> Cells:
        """A copy of what registers hold, which then hold `instead`."""
        now = self.cells
        self.cells = dict(now if instead is None else instead)
        return now

    def join(self, test: Expr, other: Cells) -> None:
        """Two ways meet: the one where `test` holds came with `other`."""
        here = self.cells
        self.cells = {c: select(test, other[c], here[c]) for c in here if c in other}

    def forget(self, body: Block) -> None:
        """A loop over `body` begins or ends: nothing is known of the registers that it sets."""
        for stmt in statements(body):
            if isinstance(stmt, Declare | Assign):
                self.cells.pop(stmt.var, None)
            elif isinstance(stmt, Store) and stmt.buffer.space == "private":
                self._forget_array(stmt.buffer)


def _cell(node: Expr) -> Cell | None:
    if isinstance(node, Load) and node.buffer.space == "private" and node.lanes == node.buffer.width == 1:
        return (node.buffer, int(node.index.value)) if isinstance(node.index, Const) and node.where is None else None
    return node if isinstance(node, Var) else None


def _unknown(node: Expr) -> Var:
    lo, hi = (node.lo, node.hi) if isinstance(node, Var) else domain(node.dtype) if node.dtype.kind in "iub" else (0, 0)
    return Var(show(node), node.dtype, node.lanes, lo, hi, 0)
