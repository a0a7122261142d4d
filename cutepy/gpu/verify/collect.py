"""From a kernel to its `Model`: one walk over the text, in order, with what registers hold as it goes by.

A value read twice may be two values: each statement that reads memory that the kernel writes, or asks a subgroup, gets
unknowns of its own. A register holds what was last put there, as long as that is the same on all ways here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ...errors import KernelError
from ...tensor.dtypes import bool_, u32
from ...tensor.matrix import MatrixType
from .. import ir
from ..ir.operators import U32_LIMIT
from ..ranges import domain, linear, range_of
from ..simplify import simplify
from ..wgsl import show
from .model import Access, Branch, Fence, Gathering, Item, Loop, Model, Repeat, Verb

#: A variable, or an element of a private array.
Cell = ir.Expr | tuple[ir.Buffer, int]
Cells = dict[Cell, ir.Expr]


class State:
    """The values of registers at one place of the text. `readable` are the bindings that are never written."""

    def __init__(self, readable: frozenset[ir.Buffer], body: Iterable[ir.Stmt]) -> None:
        self.readable = readable
        self.changing = {v for s in body if (v := s.var if isinstance(s, ir.Declare) else s.sets) is not None}
        self.cells: Cells = {}
        self.read: dict[ir.Expr, ir.Expr] = {}
        self.read_from: dict[ir.Expr, ir.Buffer] = {}
        self.lasting: dict[ir.Expr, bool] = {}

    def statement(self) -> None:
        """The next statement begins: what it reads, it reads anew."""
        self.read = {}

    def is_lasting(self, value: ir.Expr) -> bool:
        """Whether `value` is the same wherever it is computed: it reads nothing that the kernel changes."""
        known = self.lasting.get(value)
        if known is None:
            ir.ask_operands_first(value, self.lasting, self.is_lasting)
            known = self.lasting[value] = not self._is_read_anew(value) and all(map(self.is_lasting, value.operands))
        return known

    def _is_read_anew(self, value: ir.Expr) -> bool:
        if isinstance(value, ir.Load):
            return value.buffer not in self.readable
        return not ir.is_told(value) or value in self.changing

    def now(self, node: ir.Expr) -> ir.Expr:
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
            if isinstance(node, ir.Load) and node.buffer.space != "private":
                self.read_from[known] = node.buffer
        return known

    def named(self, name: ir.Var, value: ir.Expr) -> ir.Expr:
        """What a name stands for: an unknown lies where the name does, for whoever bound it knew the bounds to hold."""
        known = isinstance(value, ir.Var) and value.order == 0 and not (name.lo <= value.lo and value.hi <= name.hi)
        if not known:
            return value
        assert isinstance(value, ir.Var)
        narrow = ir.Var(value.name, value.dtype, value.lanes, max(name.lo, value.lo), min(name.hi, value.hi), 0)
        self.cells = {cell: narrow if held is value else held for cell, held in self.cells.items()}
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
        """An element of a private array is set, or several, or one that nobody knows."""
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
        """Two ways meet: the one where `test` holds came with `other`."""
        here = self.cells
        self.cells = {c: ir.select(test, other[c], here[c]) for c in here if c in other}

    def forget(self, body: ir.Block) -> None:
        """A loop over `body` begins or ends: nothing is known of the registers that it sets."""
        for stmt in ir.statements(body):
            changed = stmt.var if isinstance(stmt, ir.Declare) else stmt.sets
            if changed is not None:
                self.cells.pop(changed, None)
            elif isinstance(stmt, ir.Change) and stmt.buffer.space == "private":
                self.forget_array(stmt.buffer)


def _cell(node: ir.Expr) -> Cell | None:
    if isinstance(node, ir.Load) and node.buffer.space == "private" and node.lanes == node.buffer.width == 1:
        return (node.buffer, int(node.index.value)) if isinstance(node.index, ir.Const) and node.where is None else None
    return node if isinstance(node, ir.Var) else None


def _unknown(node: ir.Expr) -> ir.Var:
    lo, hi = (
        (node.lo, node.hi) if isinstance(node, ir.Var) else domain(node.dtype) if node.dtype.kind in "iub" else (0, 0)
    )
    return ir.Var(show(node), node.dtype, node.lanes, lo, hi, 0)


_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def collect(kernel: ir.Kernel, subgroup: int = 32) -> Model:
    """The model of `kernel`, with `subgroup` consecutive threads in a subgroup."""
    fold = _folded(kernel, subgroup)
    if fold is not None:
        model = _model(kernel, subgroup, fold)
        values = [e for access in model.accesses for e in (access.index, *access.guards)]
        values += [e for fence in model.fences for e in fence.guards]
        if not any(isinstance(leaf, ir.Builtin) and leaf is not model.tid for e in values for leaf in model.leaves(e)):
            return model
    return _model(kernel, subgroup, None)


def _model(kernel: ir.Kernel, subgroup: int, fold: "_Fold | None") -> Model:
    walk = _Walk(kernel, subgroup, fold)
    items = walk.block(kernel.body if fold is None else fold.body, _Around())
    x = kernel.grid[0]
    groups: tuple[ir.Expr, ...] = walk.groups
    workgroup = walk.groups
    if fold is not None:
        groups, workgroup = (fold.group,), (simplify(fold.group % x), simplify(fold.group // x), ir.const(0))
    readable = walk.storage - walk.written
    found = walk.accesses, walk.fences, walk.loops
    told = walk.work, walk.state.read_from, walk.gatherings
    return Model(kernel, items, *found, walk.tid, groups, workgroup, readable, *told)


@dataclass(frozen=True, slots=True)
class _Fold:
    """A long grid of one dimension, folded over two: `group` stands for `total`, which the rest of the body uses."""

    total: ir.Expr
    group: ir.Var
    body: ir.Block


def _folded(kernel: ir.Kernel, subgroup: int) -> _Fold | None:
    """The fold, if the whole body but for names is under `y * columns + x < count`."""
    x, y, z = kernel.grid
    *names, last = kernel.body or (None,)
    if not isinstance(last, ir.If) or last.orelse or not all(isinstance(s, ir.Let | ir.Declare) for s in names):
        return None
    walk = _Walk(kernel, subgroup, None)
    prefix = tuple(s for s in names if s is not None)
    walk.block(prefix, _Around())
    match walk.resolve(last.condition):
        case ir.Binary(op="<", left=total, right=ir.Const(value=count)) if not walk.accesses and z == 1:
            form = linear(total)
            axes = {n.name: c for n, c in form.terms.items() if isinstance(n, ir.Builtin)}
            whole = len(form.terms) == 2 and not form.constant
            if whole and axes == {"workgroup_id.x": 1, "workgroup_id.y": x} and int(count) <= x * y:
                return _Fold(total, ir.Var("group", u32, 1, 0, int(count) - 1, -(1 << 30)), prefix + last.then)
    return None


def uses_subgroups(kernel: ir.Kernel) -> bool:
    """Whether the kernel asks how its threads fall into subgroups."""
    return any(isinstance(n, ir.Builtin) and "subgroup" in n.name for n in ir.all_nodes(kernel.body))


def uses_matrices(kernel: ir.Kernel) -> bool:
    """Whether subgroups of the kernel hold matrices: of as many threads as it says."""
    return any(isinstance(node.dtype, MatrixType) for node in ir.all_nodes(kernel.body))


def negated(condition: ir.Expr) -> ir.Expr:
    """A condition that holds where this one does not."""
    if isinstance(condition, ir.Binary) and condition.left.dtype.kind in "iu" and condition.op in _NEGATED:
        return ir.binary(_NEGATED[condition.op], condition.left, condition.right)
    if isinstance(condition, ir.Binary) and condition.dtype.kind == "b" and condition.op in "&|":
        other = "|" if condition.op == "&" else "&"
        return ir.binary(other, negated(condition.left), negated(condition.right))
    return ir.unary("!", condition)


@dataclass(frozen=True, slots=True)
class _Around:
    """What is around a statement: `conditions` are whole, also those that decide how often a loop runs."""

    guards: tuple[ir.Expr, ...] = ()
    loops: tuple[Loop, ...] = ()
    conditions: tuple[ir.Expr, ...] = ()

    def within(self, test: ir.Expr, condition: ir.Expr) -> "_Around":
        """Inside the side of `condition` where `test` holds."""
        return _Around(self.guards + ir.conjuncts(test), self.loops, (*self.conditions, condition))


class _Walk:
    def __init__(self, kernel: ir.Kernel, subgroup: int, fold: _Fold | None) -> None:
        self.accesses: list[Access] = []
        self.fences: list[Fence] = []
        self.loops: list[Loop] = []
        self.gatherings: list[Gathering] = []
        self.work: list[tuple[ir.Stmt, tuple[ir.Expr, ...], tuple[Loop, ...]]] = []
        self.lets: dict[ir.Expr, ir.Expr] = {}
        self.known: dict[ir.Expr, ir.Expr] = {}
        self.memo: dict[ir.Expr, ir.Expr] = {}
        self.storage = frozenset(kernel.buffers)
        self.written = frozenset(s.buffer for s in ir.statements(kernel.body) if isinstance(s, ir.Change))
        self.state = State(self.storage - self.written, ir.statements(kernel.body))
        self.tid = ir.builtin("local_invocation_index", 0, kernel.threads - 1)
        x, y, z = (ir.builtin(f"workgroup_id.{a}", 0, max(n, 1) - 1) for a, n in zip("xyz", kernel.grid, strict=True))
        self.groups = x, y, z
        self.ids: dict[str, ir.Expr] = {
            "local_invocation_index": self.tid,
            "subgroup_size": ir.const(subgroup),
            "num_subgroups": ir.const(-(-kernel.threads // subgroup)),
            "subgroup_id": simplify(self.tid // subgroup),
            "subgroup_invocation_id": simplify(self.tid % subgroup),
        }
        for axis, group, count in zip("xyz", self.groups, kernel.grid, strict=True):
            self.ids[f"workgroup_id.{axis}"], self.ids[f"num_workgroups.{axis}"] = group, ir.const(count)
        self.fold = fold
        self.matrices = 0

    def resolve(self, value: ir.Expr) -> ir.Expr:
        """`value` over ids, iterations and unknowns, as it is now, in its shortest form."""
        if isinstance(value, ir.Const):
            return value
        new = ir.rewrite(value, self.change, self.memo if self.state.is_lasting(value) else {})
        return simplify(new) if new.dtype.kind in "iub" and new.lanes == 1 else new

    def change(self, node: ir.Expr) -> ir.Expr:
        if isinstance(node, ir.Builtin):
            return self.ids.get(node.name, node)
        if isinstance(node, ir.Var) and node in self.known:
            return self.known[node]
        if isinstance(node, ir.Var) and node in self.lets:
            meant = self.resolve(self.lets[node])
            if self.fold is not None and meant is self.fold.total:
                meant = self.fold.group
            self.known[node] = meant
            return meant
        return self.state.now(node)

    def block(self, block: ir.Block, around: _Around) -> tuple[Item, ...]:
        out: list[Item] = []
        for stmt in block:
            self.state.statement()
            start = self.resolve(stmt.start) if isinstance(stmt, ir.For) else None
            if isinstance(stmt, ir.For):
                self.state.forget(stmt.body)
            self.reads(stmt, around, out)
            self.gather(stmt, around)
            self.work.append((stmt, around.guards, around.loops))
            match stmt:
                case ir.Let(var=var, value=value):
                    self.let(var, value)
                case ir.Declare(var=var, value=value):
                    self.state.put(var, ir.const(0, var.dtype) if value is None else self.resolve(value))
                case ir.Assign(var=var, value=value, lane=lane):
                    self.state.put(var, None if lane is not None else self.resolve(value))
                case ir.Change(buffer=buffer, value=value):
                    out += self.access(stmt.VERB, stmt, value.lanes, around)
                    if isinstance(stmt, ir.Store) and buffer.space == "private":
                        self.state.store(buffer, stmt.index, self.resolve(value))
                    elif buffer.space == "private":
                        self.state.forget_array(buffer)
                case ir.Barrier():
                    fence = Fence(stmt, around.guards, around.loops, around.conditions)
                    self.fences.append(fence)
                    out.append(fence)
                case ir.If():
                    out += self.branch(stmt, around)
                case ir.For() if start is not None:
                    out += self.repeat(stmt, start, around)
                case _ if stmt.blocks:
                    raise KernelError(f"{type(stmt).__name__}: nothing tells how its blocks run, so nothing is proven")
            if stmt.sets is not None and not isinstance(stmt, ir.Assign):
                self.state.put(stmt.sets, None)
        return tuple(out)

    def let(self, var: ir.Var, value: ir.Expr) -> None:
        """A name for a value: looked at when it is needed, or now if it will be another one then."""
        if self.state.is_lasting(value):
            self.lets[var] = value
        elif value.lanes == 1 and value.dtype.kind in "iub":
            self.known[var] = self.state.named(var, self.resolve(value))

    def branch(self, stmt: ir.If, around: _Around) -> tuple[Item, ...]:
        test = self.resolve(stmt.condition)
        if isinstance(test, ir.Const):
            return self.block(stmt.then if test.value else stmt.orelse, around)
        before = self.state.saved()
        yes = self.block(stmt.then, around.within(test, test))
        after = self.state.saved(before)
        no = self.block(stmt.orelse, around.within(simplify(negated(test)), test))
        self.state.join(test, after)
        return (Branch(test, yes, no),)

    def reads(self, stmt: ir.Stmt, around: _Around, out: list[Item]) -> None:
        """The loads in the expressions of `stmt`, operands first."""
        for node in ir.nodes(*stmt.expressions):
            if not isinstance(node, ir.Load):
                continue
            where = ir.const(True, bool_) if node.where is None else self.resolve(node.where)
            if isinstance(where, ir.Const) and not where.value:
                continue
            out += self.access("reads", node, node.lanes, around.within(where, where))

    def gather(self, stmt: ir.Stmt, around: _Around) -> None:
        """What a whole subgroup does in `stmt`."""
        found: list[ir.MatrixLoad | ir.MatrixCall | ir.MatrixStore] = [
            node for node in ir.nodes(*stmt.expressions) if isinstance(node, ir.MatrixLoad | ir.MatrixCall)
        ]
        if isinstance(stmt, ir.MatrixStore):
            found.append(stmt)
        for node in found:
            kind = node.value.dtype if isinstance(node, ir.MatrixStore) else node.dtype
            assert isinstance(kind, MatrixType)
            first, text = None, f"{node.name} of a matrix" if isinstance(node, ir.MatrixCall) else ""
            if not isinstance(node, ir.MatrixCall):
                first, text = self.resolve(node.index), f"{node.buffer.name}[{show(node.index)}], a matrix"
            self.gatherings.append(
                Gathering(node.place, text, kind.threads, first, around.guards, around.loops, around.conditions)
            )

    def access(self, verb: Verb, node: ir.Load | ir.Change, lanes: int, around: _Around) -> list[Access]:
        """An access; of a matrix one for each run of elements that a thread may have of it."""
        buffer, at = node.buffer, self.resolve(node.index)
        if buffer.width > 1:
            at = self.elements(at, buffer.width)
        counters = tuple((loop.stmt.var.name, loop.counter) for loop in around.loops)
        shares, moved = [at], 0
        if isinstance(node, ir.MatrixLoad | ir.MatrixStore):
            kind = node.dtype if isinstance(node, ir.MatrixLoad) else node.value.dtype
            assert isinstance(kind, MatrixType)
            self.matrices += 1
            moved = self.matrices
            lanes, shares = self.shares(at, kind, node.stride, node.by_columns)
        found = [
            Access(verb, buffer, share, lanes, around.guards, around.loops, node.index, node.place, counters, moved)
            for share in shares
        ]
        self.accesses += found
        return found

    def shares(self, at: ir.Expr, kind: MatrixType, stride: int, by_columns: bool) -> tuple[int, list[ir.Expr]]:
        """How many neighbours each thread is taken to access of a matrix that begins at `at`, and where they begin:
        threads go from row to row, as in NVIDIA's `ldmatrix`, by which bank conflicts are counted."""
        packed = 4 if kind.element.bits == 8 else 1
        run, slow = (kind.rows, kind.columns) if by_columns else (kind.columns, kind.rows)
        each = kind.rows * kind.columns // kind.threads
        lanes, lane = min(run, each), self.tid % kind.threads
        starts = []
        for part in range(each // lanes):
            number = lane + part * kind.threads
            share = at + number % slow * stride + number // slow * lanes
            starts.append(simplify(share // packed if packed > 1 else share))
        return max(1, lanes // packed), starts

    def elements(self, at: ir.Expr, width: int) -> ir.Expr:
        """An index in vectors as one in elements; nobody knows what, where that may wrap around."""
        low, high = range_of(at)
        if low < 0 or high * width >= U32_LIMIT:
            return ir.Var("index", at.dtype, 1, *domain(at.dtype), 0)
        return simplify(at * width)

    def repeat(self, stmt: ir.For, start: ir.Expr, around: _Around) -> list[Item]:
        loop = self.loop(stmt, start, self.resolve(stmt.stop), self.resolve(stmt.step))
        self.loops.append(loop)
        if loop.count == 0:
            return []
        bounds = *around.conditions, start, *map(self.resolve, (stmt.stop, stmt.step))
        guards = around.guards if loop.inside is None else around.guards + ir.conjuncts(loop.inside)
        body = self.block(stmt.body, _Around(guards, (*around.loops, loop), bounds))
        self.state.forget(stmt.body)
        return [Repeat(loop, body)]

    def loop(self, stmt: ir.For, start: ir.Expr, stop: ir.Expr, step: ir.Expr) -> Loop:
        """The loop numbered from 0; its counter is `start + step * number`, as long as that does not wrap around."""
        name, dtype = stmt.var.name, stmt.var.dtype
        (low, high), (_, end), (least, most) = range_of(start), range_of(stop), range_of(step)
        top = domain(dtype)[1]
        if least < 1 or not self.state.is_lasting(stmt.step):
            self.known[stmt.var] = free = ir.Var(name, dtype, 1, domain(dtype)[0], max(end - 1, low), 0)
            index = ir.Var(name, dtype, 1, 0, top, -1 - len(self.loops))
            turn = ir.binary("&", ir.Var(f"a turn of {name}", bool_, 1, 0, 1, 0), ir.binary("<", free, stop))
            return Loop(stmt, index, free, 1 + top, turn, bounded=False)
        count = max(0, -(-(end - low) // least))
        index = ir.Var(name, dtype, 1, 0, max(0, count - 1), -1 - len(self.loops))
        counter = simplify(start + step * index) if count != 1 else start
        self.known[stmt.var] = counter
        bounded = end - 1 + most <= top
        if bounded and all(isinstance(x, ir.Const) for x in (start, stop, step)):
            return Loop(stmt, index, counter, count, None, bounded)
        inside = ir.binary("<", counter, stop)
        if high + most * max(0, count - 1) > top:  # numbers beyond the end, whose counters have wrapped around
            inside = ir.binary("&", inside, ir.binary(">=", counter, start))
            if most * (count - 1) >= U32_LIMIT:
                inside = ir.binary("&", inside, ir.binary("<=", index, (top - start) // step))
        inside = simplify(inside)
        return Loop(
            stmt, index, counter, count, None if isinstance(inside, ir.Const) and inside.value else inside, bounded
        )
