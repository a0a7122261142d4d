"""Scalar replacement: private arrays whose indices are all constants become values and variables.

Law: the kernel writes the same values to memory. A register that is only set in straight-line code needs no variable:
its lanes are what they were last set to, and reading one costs nothing. From the first block on that sets it (a loop, a
branch) it is a variable, declared in the innermost block that holds all its uses.
"""

from collections.abc import Iterable
from dataclasses import replace

from ...layout.affine import Interval
from ...tensor.dtypes import bool_
from .. import ir
from ..ir.ranges import domain, range_of
from ..ir.simplify import simplify


def name_registers(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with values and variables in place of the private arrays that are accessed at constant indices, and with
    its integers and conditions simplified, now that they say what they are made of: one value, one expression."""
    units = _units(kernel)
    bounds = _bounds(kernel) if units else {}
    registers = {b: _variables(b, units[b], bounds.get(b, (0, 0))) for b in kernel.local if b in units}
    body = _NameElements(registers, units).block(kernel.body) if units else kernel.body
    names = [name for variables in registers.values() for name in variables]
    local = tuple(b for b in kernel.local if b not in registers)
    values = _ForwardValues(body, {s.buffer for s in ir.statements(body) if isinstance(s, ir.Change)})
    return replace(kernel, body=values.block(body, values.top, names), local=local)


def _units(kernel: ir.Kernel) -> dict[ir.Buffer, int]:
    """The private arrays of which every access is at a constant index, with the elements that one variable holds: as
    many as all accesses take; else, of floats, the most that no access cuts through; of integers, whose bounds decide
    where they lead, 1."""
    accesses: dict[ir.Buffer, set[tuple[int, int]]] = {
        b: set() for b in kernel.local if b.space == ir.AddressSpace.PRIVATE
    }

    def scan(buffer: ir.Buffer, index: ir.Expr, lanes: int, *, always: bool = True) -> None:
        if buffer in accesses:
            if always and isinstance(index, ir.Const) and 0 <= index.value <= buffer.length - lanes:
                accesses[buffer].add((int(index.value), lanes))
            else:
                del accesses[buffer]

    for stmt in ir.statements(kernel.body):
        if isinstance(stmt, ir.Change):
            scan(stmt.buffer, stmt.index, stmt.value.lanes, always=isinstance(stmt, ir.Store))
        for root in stmt.expressions:
            for node in ir.loads(root):
                scan(node.buffer, node.index, node.lanes, always=node.where is None)
    return {buffer: _unit(buffer, spans) for buffer, spans in accesses.items() if spans}


def _unit(buffer: ir.Buffer, accesses: set[tuple[int, int]]) -> int:
    widths = {lanes for _, lanes in accesses}
    for unit in sorted(widths, reverse=True) if buffer.dtype.kind == "f" or len(widths) == 1 else ():
        if all(at % unit + min(lanes, unit) <= unit for at, lanes in accesses):
            return unit
    return 1


def _bounds(kernel: ir.Kernel) -> dict[ir.Buffer, Interval]:
    """Where the integers lie that are read from each array: in the bounds of the names that read them."""
    bounds: dict[ir.Buffer, Interval] = {}
    for stmt in ir.statements(kernel.body):
        for root in stmt.expressions:
            for node in ir.loads(root):
                named = isinstance(stmt, ir.Let) and root is node and node.lanes == 1
                low, high = (stmt.var.lo, stmt.var.hi) if named and isinstance(stmt, ir.Let) else domain(node.dtype)
                a, b = bounds.get(node.buffer, (low, high))
                bounds[node.buffer] = min(a, low), max(b, high)
    return bounds


# The last variable holds what remains: 1 or 2 lanes, or a whole unit, for WGSL's vectors of 3 are aligned as of 4.
def _variables(buffer: ir.Buffer, unit: int, bounds: Interval) -> list[ir.Var]:
    count, stem = -(-buffer.length // unit), buffer.name + "_" * buffer.name[-1].isdigit()
    names = [buffer.name] if count == 1 else [f"{stem}{i}" for i in range(count)]
    rest = buffer.length - (count - 1) * unit
    lanes = [unit] * (count - 1) + [rest if rest < 3 else unit]
    return [
        ir.var(name, buffer.dtype, lanes=n, lo=bounds[0], hi=bounds[1]) for name, n in zip(names, lanes, strict=True)
    ]


class _NameElements:
    """Rewrites accesses to registers as those to the variables that hold their elements."""

    def __init__(self, registers: dict[ir.Buffer, list[ir.Var]], units: dict[ir.Buffer, int]) -> None:
        self.registers, self.units = registers, units
        self.memo: dict[ir.Expr, ir.Expr] = {}

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in block:
            stmt = ir.with_expressions(stmt, [self.expr(x) for x in stmt.expressions])
            if isinstance(stmt, ir.Store) and stmt.buffer in self.registers:
                out += self.store(stmt)
            else:
                out.append(ir.with_blocks(stmt, tuple([self.block(b) for b in stmt.blocks])))
        return tuple(out)

    def expr(self, value: ir.Expr) -> ir.Expr:
        return ir.rewrite(value, self.read, self.memo) if ir.loads(value) else value

    def read(self, node: ir.Expr) -> ir.Expr:
        if not isinstance(node, ir.Load) or node.buffer not in self.registers:
            return node
        variables, unit = self.registers[node.buffer], self.units[node.buffer]
        first = _number(node.index)
        if node.lanes == unit:
            return variables[first // unit]
        return ir.vector(*[ir.component(variables[i // unit], i % unit) for i in range(first, first + node.lanes)])

    def store(self, stmt: ir.Store) -> Iterable[ir.Stmt]:
        variables, unit = self.registers[stmt.buffer], self.units[stmt.buffer]
        value, first, lanes = stmt.value, _number(stmt.index), stmt.value.lanes
        if lanes == variables[first // unit].lanes:
            return [ir.Assign(variables[first // unit], value)]
        if lanes == 1:
            return [ir.Assign(variables[first // unit], value, first % unit)]
        out: list[ir.Stmt] = []
        if value.operands and not isinstance(value, ir.Vector):
            name = ir.var(stmt.buffer.name, value.dtype, lanes=lanes)
            out, value = [ir.Let(name, value)], name
        if lanes > unit:
            slices = [[ir.component(value, i + j) for j in range(unit)] for i in range(0, lanes, unit)]
            return out + [
                ir.Assign(variables[first // unit + i], ir.vector(*lanes_of_one))
                for i, lanes_of_one in enumerate(slices)
            ]
        places = [(i, *divmod(first + i, unit)) for i in range(lanes)]
        return out + [ir.Assign(variables[at], ir.component(value, i), lane) for i, at, lane in places]


def _number(index: ir.Expr) -> int:
    assert isinstance(index, ir.Const)
    return int(index.value)


Users = dict[ir.Expr, list[ir.Stmt]]


class _ForwardValues:
    """One walk in order of text: constant and copy propagation over the variables that were registers.

    `current` maps a variable to the value of each of its lanes, while it has not become a variable of the text;
    `available` maps an expression to a name that holds it; `same` maps a name to the value that replaces it; `implied`
    maps a condition to its value in the block at hand, which conditions around it imply; `users` and `changes` hold,
    for each statement with blocks, which of its inner statements mention a name, and the names that they set.
    """

    def __init__(self, body: ir.Block, written: set[ir.Buffer]) -> None:
        self.written = written
        self.users: dict[ir.Stmt, list[Users]] = {}
        self.changes: dict[ir.Stmt, set[ir.Expr]] = {}
        self.top, _ = self.scan(body)
        self.mutable: set[ir.Expr] = {s.var for s in ir.statements(body) if isinstance(s, ir.Declare)}
        self.current: dict[ir.Var, list[ir.Expr]] = {}
        self.available: dict[ir.Expr, ir.Var] = {}
        self.implied: dict[ir.Expr, bool] = {}
        self.same: dict[ir.Expr, ir.Expr] = {}
        self.memo: dict[ir.Expr, ir.Expr] = {}

    def scan(self, block: ir.Block) -> tuple[dict[ir.Expr, list[ir.Stmt]], set[ir.Expr]]:
        """Which statements of `block` itself mention a name, in themselves or in their blocks, and which variables are
        set in it at any depth. The same of each inner block is kept in `self.users` and `self.changes`, by its
        statement."""
        users: dict[ir.Expr, list[ir.Stmt]] = {}
        changes: set[ir.Expr] = set()
        for stmt in block:
            mentions: dict[ir.Expr, None] = {}
            for root in stmt.expressions:
                mentions.update(dict.fromkeys(ir.variables(root)))
            if stmt.sets is not None:
                mentions[stmt.sets] = None
                changes.add(stmt.sets)
            if stmt.blocks:
                scans = [self.scan(inner) for inner in stmt.blocks]
                self.users[stmt] = [inside for inside, _ in scans]
                self.changes[stmt] = set().union(*[changed for _, changed in scans])
                changes |= self.changes[stmt]
                for inside in self.users[stmt]:
                    mentions.update(dict.fromkeys(inside))
            for name in mentions:
                users.setdefault(name, []).append(stmt)
        return users, changes

    def block(self, block: ir.Block, users: Users, names: list[ir.Var]) -> ir.Block:
        """`block`, which declares the variables `names`, but for those that one block inside it alone mentions."""
        # 1. Declarations sink into the only block that mentions their variable; the others belong to this block.
        inner = self.sinkable(users, names) if names else {}
        sunk = {name for sunk in inner.values() for name in sunk}
        here = [name for name in names if name not in sunk]
        undeclared = dict.fromkeys([name for name in here if name.dtype.kind == "m"])  # a matrix has no zero literal
        # 2. A variable starts as zeros, as values: no text is needed until a block sets it.
        unset: dict[ir.Var, list[ir.Expr]] = {
            name: [ir.const(0, name.dtype)] * name.lanes for name in here if name not in undeclared
        }
        self.current.update(unset)
        # Names of this block are not available after it.
        outer, self.available = self.available, dict(self.available)
        out: list[ir.Stmt] = []
        for stmt in block:
            # 3. Straight-line assignments only change what the variable stands for.
            if isinstance(stmt, ir.Assign) and stmt.var in self.current:
                self.set(stmt, stmt.var, out)
                continue
            # 4. What a block sets must be a variable of the text before that block, with the value of now.
            changed = self.changes[stmt] if stmt.blocks else {stmt.sets} if stmt.sets is not None else set()
            for name in [name for name in self.current if name in changed]:  # a variable from here on
                lanes = self.current.pop(name)
                out.append(ir.Declare(name, None if lanes is unset.get(name) else ir.vector(*lanes)))
                self.mutable.add(name)
            # Available expressions that read a changed variable are killed.
            if changed:
                self.available = {
                    value: name for value, name in self.available.items() if _source(value) not in changed
                }
            # 5. Uses are replaced by values; then matrices are declared where they are first mentioned.
            fresh = ir.with_expressions(stmt, [self.expr(x) for x in stmt.expressions])
            for name in [name for name in undeclared if stmt in users.get(name, [])]:
                del undeclared[name]
                self.mutable.add(name)
                if isinstance(fresh, ir.Assign) and fresh.var is name and not _reads(fresh, name):
                    fresh = ir.Declare(name, fresh.value)
                else:
                    out.append(ir.Declare(name))
            # 6. A `let` of an available expression goes; a condition that is implied is a constant.
            if isinstance(fresh, ir.Let) and self.is_redundant(fresh):
                continue
            if isinstance(fresh, ir.If) and fresh.condition in self.implied:
                fresh = replace(fresh, condition=ir.const(self.implied[fresh.condition], bool_))
            # 7. Inner blocks, each under what the condition of the `if` implies in it.
            if stmt.blocks:
                inside, implied = self.users[stmt], self.implied
                blocks = []
                for i, block in enumerate(stmt.blocks):
                    self.implied = (
                        implied | self.implications(fresh, holds=i == 0) if isinstance(fresh, ir.If) else implied
                    )
                    blocks.append(self.block(block, inside[i], inner.get((stmt, i), [])))
                fresh, self.implied = ir.with_blocks(fresh, tuple(blocks)), implied
            out.append(fresh)
        self.available = outer
        for name in here:
            self.current.pop(name, None)
        return tuple(out)

    def implications(self, stmt: ir.If, *, holds: bool) -> dict[ir.Expr, bool]:
        """The values of conditions that `stmt.condition` implies in the block where it holds, or in the other one: its
        conjuncts, and their negations. Conditions that read memory or a mutable variable imply nothing."""
        whole = stmt.condition if holds else ir.negated(stmt.condition)
        lasting = [
            x for x in {whole, *ir.conjuncts(whole)} if not ir.loads(x) and self.mutable.isdisjoint(ir.variables(x))
        ]
        return dict.fromkeys(lasting, True) | {ir.negated(x): False for x in lasting}

    def sinkable(self, users: Users, names: list[ir.Var]) -> dict[tuple[ir.Stmt, int], list[ir.Var]]:
        """The variables whose declaration may sink into a block inside a statement, by that block: those that nothing
        else mentions; in a loop's body, only where every iteration sets them before it reads them."""
        sunk: dict[tuple[ir.Stmt, int], list[ir.Var]] = {}
        for name in names:
            stmt, *more = users.get(name, [None])
            if stmt is None or more or not stmt.blocks or _reads(stmt, name):
                continue
            # A loop may hold the declaration only if no value is carried from one iteration to the next.
            homes = [i for i, inside in enumerate(self.users[stmt]) if name in inside]
            if len(homes) == 1 and not (isinstance(stmt, ir.For) and self.is_carried(name, self.users[stmt][0])):
                sunk.setdefault((stmt, homes[0]), []).append(name)
        return sunk

    def is_carried(self, name: ir.Var, users: Users) -> bool:
        """Whether an iteration of a loop may read a value of `name` that the iteration before it set."""
        # Lanes that this iteration has not set yet; all must be set, by whole or lane-wise assignments, before a read.
        lanes = set(range(name.lanes))
        statements = users.get(name, [])
        for stmt in statements:
            if len(statements) == 1 and not _reads(stmt, name):
                return any(self.is_carried(name, inside) for inside in self.users.get(stmt, []))
            if not isinstance(stmt, ir.Assign) or _reads(stmt, name):
                return True
            lanes -= lanes if stmt.lane is None else {stmt.lane}
            if not lanes:
                return False
        return bool(statements)

    def set(self, stmt: ir.Assign, var: ir.Var, out: list[ir.Stmt]) -> None:
        # Values that could change, or cost instructions, get a name; its bounds are those of the value.
        value = self.expr(stmt.value)
        if not self.is_immutable(value):
            low, high = range_of(value) if value.dtype.kind in "iu" and value.lanes == 1 else domain(var.dtype)
            name = ir.var(var.name, var.dtype, lanes=value.lanes, lo=low, hi=high)
            out.append(ir.Let(name, value))
            value = name
        if stmt.lane is None:
            self.current[var] = [ir.component(value, i) for i in range(var.lanes)]
        else:
            self.current[var] = [value if i == stmt.lane else old for i, old in enumerate(self.current[var])]

    def is_redundant(self, stmt: ir.Let) -> bool:
        """Whether another name, with bounds no wider, holds the value of `stmt`: then that replaces it from here on."""
        value = stmt.value
        if not self.is_immutable(value):
            if _source(value) not in self.mutable and not self.is_readonly(value):
                return False
            value = self.available.setdefault(value, stmt.var)
        if value is stmt.var:
            return False
        if value.lanes == 1 and value.dtype.kind in "iu":
            # The replacement must be bounded at least as tightly, or a proof that used the name's bounds would be lost.
            (low, high), var = range_of(value), stmt.var
            if low < var.lo or var.hi < high:
                return False
        self.same[stmt.var] = value
        return True

    def is_readonly(self, value: ir.Expr) -> bool:
        """Whether `value` is one load, of arrays that the kernel never writes, at an index that never changes."""
        mine = isinstance(value, ir.Load) and self.mutable.isdisjoint(ir.variables(value))
        return mine and not any(load.buffer in self.written for load in ir.loads(value))

    def is_immutable(self, value: ir.Expr) -> bool:
        """Whether `value` merely names what never changes, or a number more."""
        if isinstance(value, ir.Binary) and value.op in ("+", "-") and value.dtype.kind in "iu" and value.lanes == 1:
            return isinstance(value.right, ir.Const) and self.is_immutable(value.left)
        if isinstance(value, ir.Component):
            return isinstance(value.lane, int) and self.is_immutable(value.value)
        if isinstance(value, ir.Vector):
            return all(map(self.is_immutable, value.items))
        return not value.operands and value not in self.mutable and value not in self.current

    def expr(self, value: ir.Expr) -> ir.Expr:
        """`value` with what the variables hold, simplified."""
        names = ir.variables(value)
        if any(name in self.current for name in names):
            value = ir.rewrite(value, self.current_value, {})
        elif self.same and any(name in self.same for name in names):
            value = ir.rewrite(value, lambda node: self.same.get(node, node), self.memo)
        return simplify(value)

    def current_value(self, node: ir.Expr) -> ir.Expr:
        current = self.current.get(node) if isinstance(node, ir.Var) else None
        return self.same.get(node, node) if current is None else ir.vector(*current)


def _reads(stmt: ir.Stmt, name: ir.Var) -> bool:
    """Whether `stmt` itself, not a block in it, reads `name`."""
    return any(name in set(ir.variables(x)) for x in stmt.expressions)


def _source(value: ir.Expr) -> ir.Expr:
    """The variable that `value` merely reads, if it does."""
    return value.value if isinstance(value, ir.Component) else value
