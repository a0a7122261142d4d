"""The contents of registers at each statement, by abstract interpretation in order of the text.

A value read twice may be two values: each statement that reads memory that the kernel writes, or asks a subgroup, gets
unknowns of its own. A register holds what was last stored there, where all paths to this point agree.
"""

from collections.abc import Iterable, Mapping

from ...layout.affine import Interval
from .. import ir
from ..ir.ranges import domain

#: A variable, or an element of a private array.
Cell = ir.Expr | tuple[ir.Buffer, int]
Cells = dict[Cell, ir.Expr]


class RegisterState:
    """The values of registers at one place of the text. `readable` are the bindings that are never written, `held`
    says of arrays where the integers that are read from them lie, `narrowed` which unknown is one in closer bounds;
    `read` has what the statement at hand read, and is emptied for the next (`collect.py`)."""

    def __init__(self, readable: frozenset[ir.Buffer], body: Iterable[ir.Stmt]) -> None:
        self.readable = readable
        self.changing = {v for s in body if (v := s.var if isinstance(s, ir.Declare) else s.sets) is not None}
        self.cells: Cells = {}
        self.read: dict[ir.Expr, ir.Expr] = {}
        self.read_from: dict[ir.Expr, ir.Buffer] = {}
        self.lasting: dict[ir.Expr, bool] = {}
        self.held: Mapping[ir.Buffer, Interval] = {}
        self.narrowed: dict[ir.Expr, ir.Expr] = {}

    def is_lasting(self, value: ir.Expr) -> bool:
        """Whether `value` is the same wherever it is computed: it reads nothing that the kernel changes."""
        lasting = self.lasting.get(value)
        if lasting is None:
            ir.ask_operands_first(value, self.lasting, self.is_lasting)
            lasting = self.lasting[value] = not self._is_read_anew(value) and all(map(self.is_lasting, value.operands))
        return lasting

    def _is_read_anew(self, value: ir.Expr) -> bool:
        if isinstance(value, ir.Load) and value.buffer in self.readable:
            return False
        return not ir.is_pure(value) or value in self.changing

    def now(self, node: ir.Expr) -> ir.Expr:
        """What a node of resolved operands stands for here: itself where it never changes, of a register what was last
        stored there, else an unknown, which is equal to no other and the same throughout this statement."""
        if not self._is_read_anew(node):
            return node
        cell = cell_of(node)
        value = self.cells.get(cell) if cell is not None else self.read.get(node)
        if value is None:
            value = unknown(node)
            if isinstance(node, ir.Load) and node.buffer in self.held and node.lanes == 1:
                value = bounded(value, *self.held[node.buffer])
            if cell is not None:
                self.cells[cell] = value
            else:
                self.read[node] = value
            if isinstance(node, ir.Load) and node.buffer.space != ir.AddressSpace.PRIVATE:
                self.read_from[value] = node.buffer
        return value

    def named(self, name: ir.Var, value: ir.Expr) -> ir.Expr:
        """What a name stands for: an unknown lies where the name does, for the one who bound it proved the bounds."""
        narrows = isinstance(value, ir.Var) and value.order == 0 and not (name.lo <= value.lo and value.hi <= name.hi)
        if not narrows:
            return value
        assert isinstance(value, ir.Var)
        # The same unknown in closer bounds: every register that holds it is narrowed too.
        narrow = bounded(value, max(name.lo, value.lo), min(name.hi, value.hi))
        self.cells = {cell: narrow if held is value else held for cell, held in self.cells.items()}
        self.narrowed[narrow] = self.narrowed.get(value, value)
        if value in self.read_from:
            self.read_from[narrow] = self.read_from[value]
        return narrow

    def put(self, cell: Cell, value: ir.Expr | None) -> None:
        """A register is set. Only integers and conditions are kept: the rest decides no address."""
        if value is None or value.lanes != 1 or value.dtype.kind not in "iub":
            self.cells.pop(cell, None)
        else:
            self.cells[cell] = value

    def store(self, buffer: ir.Buffer, index: ir.Expr, value: ir.Expr) -> None:
        """A store to a private array: at an index that is not constant it may be any element, so all are forgotten."""
        if isinstance(index, ir.Const) and value.lanes == buffer.width == 1:
            self.put((buffer, int(index.value)), value)
        else:
            self.forget_array(buffer)

    def forget_array(self, buffer: ir.Buffer) -> None:
        self.cells = {c: v for c, v in self.cells.items() if not (isinstance(c, tuple) and c[0] is buffer)}

    def saved(self, instead: Cells | None = None) -> Cells:
        """A copy of what registers hold, which then hold `instead`."""
        now = self.cells
        self.cells = dict(now if instead is None else instead)
        return now

    def join(self, test: ir.Expr, other: Cells) -> None:
        """Two paths join: on the one where `test` holds, registers hold `other`."""
        here = self.cells
        self.cells = {c: ir.select(test, other[c], here[c]) for c in here if c in other}

    def forget(self, body: ir.Block) -> None:
        """A loop over `body` begins or ends: the registers that it sets hold unknowns."""
        for stmt in ir.statements(body):
            changed = stmt.var if isinstance(stmt, ir.Declare) else stmt.sets
            if changed is not None:
                self.cells.pop(changed, None)
            elif isinstance(stmt, ir.Change) and stmt.buffer.space == ir.AddressSpace.PRIVATE:
                self.forget_array(stmt.buffer)


def cell_of(node: ir.Expr) -> Cell | None:
    if (
        isinstance(node, ir.Load)
        and node.buffer.space == ir.AddressSpace.PRIVATE
        and node.lanes == node.buffer.width == 1
    ):
        return (node.buffer, int(node.index.value)) if isinstance(node.index, ir.Const) and node.where is None else None
    return node if isinstance(node, ir.Var) else None


def set_in(body: ir.Block) -> list[tuple[Cell, ir.Expr]]:
    """The integers in registers that a block sets, and how they are read."""
    declared = {s.var for s in ir.statements(body) if isinstance(s, ir.Declare)}
    cells: list[tuple[Cell, ir.Expr]] = []
    for stmt in ir.statements(body):
        if stmt.sets is not None and stmt.sets not in declared and stmt.sets.dtype.kind in "iu":
            cells.append((stmt.sets, stmt.sets))
        elif (
            isinstance(stmt, ir.Store)
            and stmt.buffer.space == ir.AddressSpace.PRIVATE
            and stmt.buffer.dtype.kind in "iu"
        ):
            node = ir.load(stmt.buffer, stmt.index)
            cell = cell_of(node)
            if cell is not None:
                cells.append((cell, node))
    return cells


def bounded(value: ir.Var, lo: int, hi: int) -> ir.Var:
    """An unknown of the same name in other bounds."""
    if isinstance(value, ir.UnknownVar):
        return ir.UnknownVar(value.source, value.dtype, value.lanes, lo, hi)
    return ir.Var(value.name, value.dtype, value.lanes, lo, hi, 0)


def unknown(node: ir.Expr) -> ir.Var:
    """A value that is called as the node reads, in its bounds."""
    lo, hi = (
        (node.lo, node.hi) if isinstance(node, ir.Var) else domain(node.dtype) if node.dtype.kind in "iub" else (0, 0)
    )
    return ir.UnknownVar(node, node.dtype, node.lanes, lo, hi)
