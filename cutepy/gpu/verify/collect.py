"""From a kernel to its `Model`: one walk over the text, in order, with what registers hold as it goes by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ...errors import KernelError
from ...layout.affine import Affine, Interval
from ...tensor.dtypes import MatrixType, bool_, u32
from .. import ir
from ..ir.operators import SWAPPED, U32_LIMIT
from ..ir.ranges import domain, linear, range_of
from ..ir.simplify import replaced, simplify
from ..targets.wgsl import show
from .loops import Recurrence, count_of, limits, with_cycles
from .model import (
    Access,
    BranchModel,
    ExitModel,
    Fence,
    Gathering,
    Item,
    LoopModel,
    Model,
    Repeat,
    Work,
    counters_of,
    orders_of,
)
from .monotone import Monotone, monotone, with_bounds
from .register_state import Cell, Cells, RegisterState, set_in, unknown
from .tickets import Ticket, tickets_of


@dataclass(frozen=True, slots=True)
class Known:
    """What is taken for granted: of arrays where the integers lie that are read from them, and names in the bounds that
    their tickets have."""

    held: Mapping[ir.Buffer, Interval] = field(default_factory=dict)
    names: Mapping[ir.Expr, ir.Expr] = field(default_factory=dict)


def collect(kernel: ir.Kernel, subgroup: int = 32, known: Known | None = None) -> Model:
    """The model of `kernel`, with `subgroup` consecutive threads in a subgroup."""
    known = Known() if known is None else known
    fold = _folded(kernel, subgroup)
    # First with the folded grid; where an axis of it is used beyond the fold, with the grid as it is.
    if fold is not None:
        model = _model(kernel, subgroup, fold, known)
        values = [e for access in model.accesses for e in (access.index, *access.guards)]
        values += [e for fence in model.fences for e in fence.guards]
        if not any(isinstance(leaf, ir.Builtin) and leaf is not model.tid for e in values for leaf in model.leaves(e)):
            return model
    return _model(kernel, subgroup, None, known)


def _model(kernel: ir.Kernel, subgroup: int, fold: "_Fold | None", known: Known) -> Model:
    walk = _Walk(kernel, subgroup, fold)
    walk.state.held = known.held
    walk.known |= known.names
    items = walk.block(kernel.body if fold is None else fold.body, _Around())
    x = kernel.grid[0]
    groups: tuple[ir.Expr, ...] = walk.groups
    workgroup = walk.groups
    if fold is not None:
        groups, workgroup = (fold.group,), (simplify(fold.group % x), simplify(fold.group // x), ir.const(0))
    readable = walk.storage - walk.written
    found = walk.accesses, walk.fences, walk.loops
    told = walk.state.read_from, walk.gatherings, walk.stored
    tickets = {known.names.get(name, name): t for name, t in tickets_of(kernel, walk.work).items()}
    tickets |= {copy: replace(tickets[of], shared=True) for copy, of in walk.copies.items() if of in tickets}
    tickets |= _kept(walk, tickets)
    facts, products = _size_facts(kernel, walk.groups)
    ids, of_sizes, agreed = (walk.tid, groups, workgroup), (facts, products, orders_of(kernel)), frozenset(walk.agreed)
    return Model(kernel, items, *found, *ids, readable, walk.work, *told, tickets, *of_sizes, agreed=agreed)


def _kept(walk: "_Walk", tickets: Mapping[ir.Expr, Ticket]) -> dict[ir.Expr, Ticket]:
    """What is read of shared memory that holds tickets of one counter: each is one that a thread of the workgroup took,
    whichever was put there last."""
    held: dict[ir.Buffer, set[Ticket | None]] = {}
    for access, value in walk.stored:
        held.setdefault(access.buffer, set()).add(None if value is None else tickets.get(value))
    read = [(leaf, held[b]) for leaf, b in walk.state.read_from.items() if b in held]
    return {leaf: replace(t, shared=True) for leaf, found in read if len(found) == 1 for t in found if t is not None}


def _size_facts(
    kernel: ir.Kernel, groups: tuple[ir.Expr, ...]
) -> tuple[tuple[Affine[ir.Expr, int], ...], Mapping[ir.Expr, tuple[int, ir.Expr, ir.Expr]]]:
    """What is known of sizes, and of the ids of workgroups by them; which parameters are products."""
    if kernel.sizes is None:
        return (), {}
    counts = zip(groups, kernel.sizes.groups, kernel.grid, strict=True)
    told = [(group, count, most) for group, count, most in counts if count is not None]
    below = [Affine({group: 1}, 1).plus(count, -1) for group, count, _ in told]
    most_of = [count.moved(-most) for _, count, most in told if count.terms]  # the host looks at each grid
    return (*kernel.sizes.facts, *below, *most_of), kernel.sizes.products


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
    # group = y * x_count + x < count: every workgroup of the long grid is one number.
    match walk.resolve(last.condition):
        case ir.Binary(op="<", left=total, right=ir.Const(value=count)) if not walk.accesses and z == 1:
            form = linear(total)
            axes = {(n.name, n.axis): c for n, c in form.terms.items() if isinstance(n, ir.Builtin)}
            whole = len(form.terms) == 2 and not form.constant
            if whole and axes == {("workgroup_id", 0): 1, ("workgroup_id", 1): x} and int(count) <= x * y:
                return _Fold(total, ir.Var("group", u32, 1, 0, int(count) - 1, -(1 << 30)), prefix + last.then)
    return None


def uses_subgroups(kernel: ir.Kernel) -> bool:
    """Whether the kernel asks how its threads fall into subgroups."""
    return any(isinstance(n, ir.Builtin) and "subgroup" in n.name for n in ir.all_nodes(kernel.body))


def uses_matrices(kernel: ir.Kernel) -> bool:
    """Whether subgroups of the kernel hold matrices: of as many threads as it says."""
    return any(isinstance(node.dtype, MatrixType) for node in ir.all_nodes(kernel.body))


def range_under(value: ir.Expr, guards: tuple[ir.Expr, ...]) -> Interval:
    """Where `value` lies where all `guards` hold, as far as one of them compares it with something else."""
    low, high = range_of(value)
    for guard in guards:
        if not isinstance(guard, ir.Binary) or guard.op not in SWAPPED:
            continue
        for mine, op, other in ((guard.left, guard.op, guard.right), (guard.right, SWAPPED[guard.op], guard.left)):
            if mine is value:
                (least, most), strict = range_of(other), len(op) == 1
                high = min(high, most - strict) if op[0] in "<=" else high
                low = max(low, least + strict) if op[0] in ">=" else low
    return low, high


@dataclass(frozen=True, slots=True)
class _Around:
    """What is around a statement: `conditions` are whole, also those that decide how often a loop runs; `stated` are
    the guards that hold for all who come here: the user says so, or it follows of a loop."""

    guards: tuple[ir.Expr, ...] = ()
    loops: tuple[LoopModel, ...] = ()
    conditions: tuple[ir.Expr, ...] = ()
    stated: frozenset[ir.Expr] = frozenset()

    @property
    def decided(self) -> tuple[ir.Expr, ...]:
        """The guards that decide who comes here: not what the user says, which holds for all."""
        return tuple([g for g in self.guards if g not in self.stated]) if self.stated else self.guards

    def within(self, guards: tuple[ir.Expr, ...], condition: ir.Expr) -> "_Around":
        """Inside the side of `condition` where `guards` hold."""
        return replace(self, guards=guards, conditions=(*self.conditions, condition))


class _Walk:
    def __init__(self, kernel: ir.Kernel, subgroup: int, fold: _Fold | None) -> None:
        self.accesses: list[Access] = []
        self.fences: list[Fence] = []
        self.loops: list[LoopModel] = []
        self.gatherings: list[Gathering] = []
        self.stored: list[tuple[Access, ir.Expr | None]] = []
        self.work: list[Work] = []
        self.copies: dict[ir.Expr, ir.Expr] = {}
        self.agreed: set[ir.Expr] = set()
        self.lets: dict[ir.Expr, ir.Expr] = {}
        self.known: dict[ir.Expr, ir.Expr] = {}
        self.memo: dict[ir.Expr, ir.Expr] = {}
        self.choices: dict[ir.Expr, list[ir.Select]] = {}
        self.tests: dict[ir.Stmt, ir.Expr] = {}
        self.tries = False  # whether a turn of a loop is tried: only what registers hold after it counts
        self.kernel, self.threads = kernel, kernel.threads
        self.storage = frozenset(kernel.buffers)
        self.written = frozenset(s.buffer for s in ir.statements(kernel.body) if isinstance(s, ir.Change))
        self.state = RegisterState(self.storage - self.written, ir.statements(kernel.body))
        self.tid = ir.builtin("local_invocation_index", 0, kernel.threads - 1)
        x, y, z = (ir.builtin("workgroup_id", 0, max(n, 1) - 1, axis=axis) for axis, n in enumerate(kernel.grid))
        self.groups = x, y, z
        self.ids: dict[tuple[str, int | None], ir.Expr] = {
            ("local_invocation_index", None): self.tid,
            ("subgroup_size", None): ir.const(subgroup),
            ("num_subgroups", None): ir.const(-(-kernel.threads // subgroup)),
            ("subgroup_id", None): simplify(self.tid // subgroup),
            ("subgroup_invocation_id", None): simplify(self.tid % subgroup),
        }
        for axis, (group, count) in enumerate(zip(self.groups, kernel.grid, strict=True)):
            self.ids["workgroup_id", axis], self.ids["num_workgroups", axis] = group, ir.const(count)
        self.fold = fold
        self.has_matrices, self.matrices = uses_matrices(kernel), 0

    def resolve(self, value: ir.Expr) -> ir.Expr:
        """`value` over ids, iterations and unknowns, as it is now, in its shortest form."""
        if isinstance(value, ir.Const):
            return value
        new = ir.rewrite(value, self.change, self.memo if self.state.is_lasting(value) else {})
        return simplify(new) if new.dtype.kind in "iub" and new.lanes == 1 else new

    def inside(self, around: _Around, test: ir.Expr, condition: ir.Expr) -> _Around:
        """Inside the side of `condition` where `test` holds. Guards are about the sides that the others choose: each
        stands for a choice strictly inside the one that it decides, so none is used up by another."""
        guards = around.guards + ir.conjuncts(test)
        return around.within(tuple([self.chosen(guard, guards) for guard in guards]), condition)

    def stated(self, test: ir.Expr, around: _Around) -> _Around:
        """From here on, where the user says that `test` holds."""
        if isinstance(test, ir.Const):
            return around
        known = ir.conjuncts(test)
        return replace(around, guards=around.guards + known, stated=around.stated | {*known})

    def chosen(self, value: ir.Expr, guards: tuple[ir.Expr, ...]) -> ir.Expr:
        """`value` where all `guards` hold: of a choice that they decide, the side that is taken. What others may write
        meanwhile decides none: a guard may read it anew."""
        taken: dict[ir.Expr, ir.Expr] = {}
        if (choices := self.choices.get(value)) is None:
            choices = self.choices[value] = [node for node in ir.nodes(value) if isinstance(node, ir.Select)]
        for node in choices if guards else ():
            if self.state.read_from.keys().isdisjoint(ir.variables(node.condition)):
                for test, holds in ((node.condition, True), (simplify(ir.negated(node.condition)), False)):
                    if set(ir.conjuncts(test)) <= set(guards):
                        taken[node.condition] = ir.const(holds, bool_)
        return replaced(value, taken) if taken else value

    def change(self, node: ir.Expr) -> ir.Expr:
        if node.operands:
            return self.state.now(node)
        if isinstance(node, ir.Builtin):
            return self.ids.get((node.name, node.axis), node)
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
        for number, stmt in enumerate(block):
            self.state.read = {}  # a statement reads anew what it reads
            start, before = None, self.state.cells
            if isinstance(stmt, ir.For):
                start, before = self.resolve(stmt.start), dict(before)
                self.state.forget(stmt.body)
            if not self.tries:
                self.note(stmt, around, out)
            match stmt:
                case ir.Let(var=var, value=value):
                    self.let(var, value)
                case ir.Declare(var=var, value=value):
                    self.state.put(var, ir.const(0, var.dtype) if value is None else self.resolve(value))
                case ir.Assign(var=var, value=value, lane=lane):
                    self.state.put(var, None if lane is not None else self.resolve(value))
                case ir.Store(buffer=buffer) if buffer.space == ir.AddressSpace.PRIVATE:
                    self.state.store(buffer, stmt.index, self.resolve(stmt.value))
                case ir.Change(buffer=buffer) if buffer.space == ir.AddressSpace.PRIVATE:
                    self.state.forget_array(buffer)
                case ir.Assume(condition=condition):
                    around = self.stated(self.resolve(condition), around)
                case ir.UniformLoad():
                    self.agree(stmt)
                case ir.If():
                    out += self.branch(stmt, around)
                case ir.Break():
                    return (*out, *self.leave(stmt, block[number + 1 :], around))
                case ir.For() if start is not None:
                    out += self.repeat(stmt, start, before, around)
                case _ if stmt.blocks:
                    raise KernelError(f"{type(stmt).__name__}: nothing tells how its blocks run, so nothing is proven")
            if stmt.sets is not None and not isinstance(stmt, ir.Assign):
                self.state.put(stmt.sets, None)
        return tuple(out)

    def note(self, stmt: ir.Stmt, around: _Around, out: list[Item]) -> None:
        """What a statement asks of memory and of other threads, in order."""
        if isinstance(stmt, ir.UniformLoad | ir.Barrier):
            out.append(self.fence(stmt, around))
        self.reads(stmt, around, out)
        if self.has_matrices:
            self.gather(stmt, around)
        self.work.append((stmt, around.guards, around.loops))
        if isinstance(stmt, ir.UniformLoad):
            out.append(self.fence(stmt, around))
        if isinstance(stmt, ir.Change):
            buffer, value = stmt.buffer, stmt.value
            out += self.access(stmt.VERB, stmt, value.lanes, around)
            if buffer.space == ir.AddressSpace.WORKGROUP and buffer.dtype.kind in "iu":
                plain = not self.accesses[-1].takes and value.dtype is buffer.dtype
                plain = plain and value.lanes == buffer.width == 1
                self.stored.append((self.accesses[-1], self.resolve(value) if plain else None))

    def fence(self, stmt: ir.Barrier | ir.UniformLoad, around: _Around) -> Fence:
        """The whole workgroup waits."""
        storage = isinstance(stmt, ir.Barrier) and stmt.storage
        text = "storageBarrier()" if storage else "workgroupBarrier()"
        text = "workgroupUniformLoad()" if isinstance(stmt, ir.UniformLoad) else text
        who = self.threads, around.decided, around.loops, around.conditions
        fence = Fence(stmt.place, text, *who, storage=storage, stmt=stmt)
        self.fences.append(fence)
        return fence

    def agree(self, stmt: ir.UniformLoad) -> None:
        """A name for what all threads read: what thread 0 put there, where the workgroup alone decides that; else a
        number of its own, and of which ticket it is the copy."""
        var = stmt.var
        if var.lanes != 1 or var.dtype.kind not in "iub":
            return
        value = self.state.named(var, self.resolve(stmt.value))
        if stmt.source is not None:
            own = ir.rewrite(self.resolve(stmt.source), lambda x: ir.const(0) if x is self.tid else x, {})
            first = simplify(own) if own.dtype is var.dtype else own
            asks = [x for x in ir.nodes(first) if not x.operands and not isinstance(x, ir.Const)]
            if first.dtype is var.dtype and all(x in frozenset(self.groups) or isinstance(x, ir.Param) for x in asks):
                value = first if all(map(ir.is_pure, ir.nodes(first))) else value
            self.copies[value] = first
        self.agreed.add(value)
        self.known[var] = value

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
        yes = self.block(stmt.then, self.inside(around, test, test))
        after = self.state.saved(before)
        no = self.block(stmt.orelse, self.inside(around, simplify(ir.negated(test)), test))
        self.state.join(test, after)
        return (BranchModel(test, yes, no),)

    def leave(self, stmt: ir.Break, rest: ir.Block, around: _Around) -> tuple[Item, ...]:
        """Some leave the loop, and the others go on."""
        test, loop = self.resolve(stmt.condition), around.loops[-1]
        if isinstance(test, ir.Const):
            return self.block(stmt.last if test.value else rest, around)
        loop.leaving.append(test)
        self.tests[stmt] = test
        before = self.state.saved()
        last = self.block(stmt.last, self.inside(around, test, test))
        self.state.cells = before
        return (ExitModel(test, last, self.block(rest, self.inside(around, simplify(ir.negated(test)), test))),)

    def reads(self, stmt: ir.Stmt, around: _Around, out: list[Item]) -> None:
        """The loads in the expressions of `stmt`, operands first."""
        for node in dict.fromkeys([load for value in stmt.expressions for load in ir.loads(value)]):
            where = ir.const(True, bool_) if node.where is None else self.resolve(node.where)
            if isinstance(where, ir.Const) and not where.value:
                continue
            out += self.access(ir.Verb.READS, node, node.lanes, self.inside(around, where, where))

    def gather(self, stmt: ir.Stmt, around: _Around) -> None:
        for node in (*ir.nodes(*stmt.expressions), stmt):
            if not isinstance(node, ir.MatrixLoad | ir.MatrixCall | ir.MatrixStore):
                continue
            kind = node.value.dtype if isinstance(node, ir.MatrixStore) else node.dtype
            assert isinstance(kind, MatrixType)
            who = kind.threads, around.decided, around.loops, around.conditions
            if isinstance(node, ir.MatrixCall):
                self.gatherings.append(Gathering(node.place, f"{node.name} of a matrix", *who))
            else:
                text = f"{node.buffer.name}[{show(node.index)}], a matrix"
                at = node.stride, kind.run_alignment(by_columns=node.by_columns)
                self.gatherings.append(Gathering(node.place, text, *who, (self.resolve(node.index),), *at))

    def access(self, verb: ir.Verb, node: ir.Load | ir.Change, lanes: int, around: _Around) -> list[Access]:
        """An access; of a matrix one for each run of elements that a thread may have of it."""
        buffer, at = node.buffer, self.chosen(self.resolve(node.index), around.guards)
        if buffer.width > 1:
            at = self.elements(at, buffer.width)
        counters = counters_of(around.loops)
        shares, moved = [at], 0
        if isinstance(node, ir.MatrixLoad | ir.MatrixStore):
            kind = node.dtype if isinstance(node, ir.MatrixLoad) else node.value.dtype
            assert isinstance(kind, MatrixType)
            self.matrices += 1
            moved = self.matrices
            lanes, shares = self.shares(at, kind, node.stride, node.by_columns)
        takes = node.takes if isinstance(node, ir.Atomic) else verb == ir.Verb.READS
        chosen = [self.chosen(self.resolve(x), around.guards) for x in node.coordinates]
        claims = tuple(zip(chosen, node.shape, strict=True))
        how = around.guards, around.loops, node.index, node.place, counters, moved, takes, claims
        found = [Access(verb, buffer, share, lanes, *how) for share in shares]
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

    def repeat(self, stmt: ir.For, start: ir.Expr, before: Cells, around: _Around) -> list[Item]:
        # 1. What a turn does to the integers in registers, and the conditions on which it leaves the loop.
        leaves = [s for s in stmt.body if isinstance(s, ir.Break)]
        recurrences, tests = self.turn(stmt, before, around) if leaves or set_in(stmt.body) else ({}, {})
        begins = self.monotone(recurrences, [tests[leave] for leave in leaves if leave in tests], around)
        recurrences = with_bounds(recurrences, begins)
        # 2. The turns, numbered from 0, and when number i happens.
        bounds = [start, *[self.resolve(x) for x in (stmt.stop, stmt.step) if x is not None]]
        loop = (
            self.loop(stmt, (start, bounds[1], bounds[2]), around)
            if stmt.stop is not None
            else self.turns(stmt, recurrences, tests, around)
        )
        only_exit = loop.inside if stmt.stop is None and len(leaves) == 1 else None
        if leaves and only_exit is None:  # whether no thread has left before is left open
            turn: ir.Expr = ir.Var(f"a turn of {loop.stmt.var.name}", bool_, 1, 0, 1, 0)
            loop = replace(loop, inside=turn if loop.inside is None else ir.binary("&", turn, loop.inside), turns=None)
        if begins.ends and not loop.bounded:
            loop = replace(loop, bounded=True)
        self.loops.append(loop)
        if loop.count == 0:
            for cell, recurrence in recurrences.items():
                self.state.put(cell, recurrence.start)
            return []
        # 3. The body, in turn `loop.index`, with the registers as they are then.
        for cell, recurrence in recurrences.items():
            self.state.put(cell, recurrence.at(loop.index))
        never = frozenset(ir.binary(op, self.state.cells[c], recurrences[c].start) for c, op in begins.moves)
        guards = (
            (*around.guards, *never) if loop.inside is None else (*around.guards, *never, *ir.conjuncts(loop.inside))
        )
        conditions = (*around.conditions, *bounds, *([] if only_exit is None else [only_exit]))
        body = tuple([s for s in stmt.body if only_exit is None or not isinstance(s, ir.Break)])
        said = around.stated | never
        inner = replace(around, guards=guards, loops=(*around.loops, loop), conditions=conditions, stated=said)
        items = self.block(body, inner)
        # 4. What registers hold afterwards, where it is known how many turns were made.
        self.state.forget(stmt.body)
        if loop.turns is not None:
            for cell, recurrence in recurrences.items():
                self.state.put(cell, recurrence.at(loop.turns))
        return [Repeat(loop, items)]

    def turn(
        self, stmt: ir.For, before: Cells, around: _Around
    ) -> tuple[dict[Cell, Recurrence], dict[ir.Stmt, ir.Expr]]:
        """What a turn does to integers in registers, and when it leaves: it is walked once, from any values."""
        nodes = {cell: node for cell, node in set_in(stmt.body) if self.state.cells.get(cell) is None}
        begin = {cell: unknown(node) for cell, node in nodes.items()}
        kept = [(name, dict(getattr(self, name))) for name in ("lets", "known", "memo", "tests")]
        tries, self.tries, loops = self.tries, True, len(self.loops)
        cells = self.state.saved()
        stays = self.stays(stmt)
        self.state.cells |= begin
        top = domain(u32)[1]
        loop = LoopModel(stmt, ir.Var("turn", u32, 1, 0, top, -1 - len(self.loops)), stmt.start, top, None, False)
        self.block(stmt.body, replace(around, loops=(*around.loops, loop)))
        same = self.state.narrowed  # an unknown in closer bounds is still what the turn began with
        ends = {cell: replaced(value, same) for cell, value in self.state.cells.items() if cell in begin}
        tests = {leave: replaced(test, same) for leave, test in self.tests.items()}
        self.state.cells = cells
        for name, table in kept:
            setattr(self, name, table)
        self.tries = tries
        del self.loops[loops:]
        starts = {cell: before.get(cell, unknown(node)) for cell, node in nodes.items()}
        found = {cell: Recurrence(starts[cell], begin[cell], ends.get(cell)) for cell in nodes}
        return with_cycles(found, stays), tests

    def monotone(self, recurrences: Mapping[Cell, Recurrence], leave: list[ir.Expr], around: _Around) -> Monotone:
        """Which registers never move back in a loop that is left where one of `leave` holds."""
        if not leave:
            return Monotone()
        goes_on = [guard for test in leave for guard in ir.conjuncts(simplify(ir.negated(test)))]
        ids = self.tid, self.groups, self.groups, self.storage - self.written
        sizes = _size_facts(self.kernel, self.groups)
        model = Model(self.kernel, (), [], [], [], *ids, [], self.state.read_from, [], [], {}, *sizes)
        return monotone(model, recurrences, goes_on, self.sure(around))

    def sure(self, around: _Around) -> tuple[ir.Expr, ...]:
        """The guards around that are not about what others may write meanwhile."""
        return tuple([g for g in around.guards if self.state.read_from.keys().isdisjoint(ir.variables(g))])

    def stays(self, stmt: ir.For) -> Callable[[ir.Expr], bool]:
        """Whether a value is the same in every turn of a loop that is about to begin: it depends on ids, on iterations
        of the loops around, and on what registers hold that the loop does not set."""
        known = {leaf for value in self.state.cells.values() for leaf in ir.variables(value)}
        around = {leaf for loop in self.loops for leaf in ir.variables(loop.index)}

        def is_same(value: ir.Expr) -> bool:
            return all(leaf in known or leaf in around for leaf in ir.variables(value)) and self.state.is_lasting(value)

        return is_same

    def turns(
        self, stmt: ir.For, recurrences: dict[Cell, Recurrence], tests: dict[ir.Stmt, ir.Expr], around: _Around
    ) -> LoopModel:
        """A loop that has no end of its own, numbered from 0. It is judged by what has to hold in each of its turns."""
        first = next(s for s in stmt.body if not isinstance(s, ir.Let | ir.Comment))
        for leave in (s for s in stmt.body if s in tests):
            goes_on = simplify(ir.negated(tests[leave]))
            for limit in limits(goes_on, recurrences.values(), self.stays(stmt)):
                recurrence = limit.recurrence
                if limit.most is None:
                    continue
                name = recurrence.begin.name.partition("[")[0]
                exact = leave is first and not leave.blocks[0] and len(ir.conjuncts(goes_on)) == 1
                own = replace(stmt, var=ir.var(name, recurrence.begin.dtype), stop=limit.bound)
                if exact and limit.op == "<" and recurrence.step > 0 and not limit.offset:
                    own = replace(own, step=ir.const(recurrence.step, recurrence.begin.dtype))
                    counted = self.loop(own, (recurrence.start, limit.bound, own.step), around)
                    return counted if counted.inside is not None else replace(counted, inside=ir.const(True, bool_))
                count = limit.most + (leave is not first)
                index = ir.Var(name, u32, 1, 0, max(0, count - 1), -1 - len(self.loops))
                told = exact and recurrence.step != 0
                inside, turns = (limit.happens(index), limit.turns) if told else (None, None)
                return LoopModel(own, index, recurrence.at(index), count, inside, True, turns)
        top = domain(u32)[1]
        index = ir.Var(stmt.var.name, u32, 1, 0, top, -1 - len(self.loops))
        return LoopModel(stmt, index, index, 1 + top, None, bounded=False)

    def loop(self, stmt: ir.For, bounds: tuple[ir.Expr, ir.Expr, ir.Expr], around: _Around) -> LoopModel:
        """The loop numbered from 0; its counter is `start + step * number`, as long as that does not wrap around."""
        (start, stop, step), name, dtype = bounds, stmt.var.name, stmt.var.dtype
        sure = self.sure(around)
        (low, high), (_, end), (least, most) = (range_under(x, sure) for x in (start, stop, step))
        top = domain(dtype)[1]
        if least < 1 or not self.state.is_lasting(stmt.step):
            self.known[stmt.var] = free = ir.Var(name, dtype, 1, domain(dtype)[0], max(end - 1, low), 0)
            index = ir.Var(name, dtype, 1, 0, top, -1 - len(self.loops))
            turn = ir.binary("&", ir.Var(f"a turn of {name}", bool_, 1, 0, 1, 0), ir.binary("<", free, stop))
            return LoopModel(stmt, index, free, 1 + top, turn, bounded=False)
        count = max(0, -(-(end - low) // least))
        index = ir.Var(name, dtype, 1, 0, max(0, count - 1), -1 - len(self.loops))
        counter = simplify(start + step * index) if count != 1 else start
        self.known[stmt.var] = counter
        bounded = end - 1 + most <= top
        turns = count_of(start, stop, most) if bounded and isinstance(step, ir.Const) else None
        if bounded and all(isinstance(x, ir.Const) for x in (start, stop, step)):
            return LoopModel(stmt, index, counter, count, None, bounded, turns)
        inside = ir.binary("<", counter, stop)
        if high + most * max(0, count - 1) > top:  # numbers beyond the end, whose counters have wrapped around
            inside = ir.binary("&", inside, ir.binary(">=", counter, start))
            if most * (count - 1) >= U32_LIMIT:
                inside = ir.binary("&", inside, ir.binary("<=", index, (top - start) // step))
        inside = simplify(inside)
        always = isinstance(inside, ir.Const) and bool(inside.value)
        return LoopModel(stmt, index, counter, count, None if always else inside, bounded, turns)
