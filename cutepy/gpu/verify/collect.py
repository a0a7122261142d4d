"""From a kernel to its `Model`: one walk over the text, in order."""

from dataclasses import dataclass

from ...tensor.dtypes import bool_, u32
from ..ir import (
    Assign,
    Atomic,
    Barrier,
    Binary,
    Block,
    Builtin,
    Call,
    Comment,
    Const,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Load,
    Stmt,
    Store,
    Var,
    all_nodes,
    ask_operands_first,
    binary,
    builtin,
    children,
    const,
    expressions,
    nodes,
    rewrite,
    statements,
    unary,
)
from ..ir.operators import SUBGROUP, U32_LIMIT
from ..ranges import domain, linear, range_of
from ..simplify import simplify
from .model import Access, Branch, Fence, Item, Loop, Model, Repeat, Verb

_NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


def collect(kernel: Kernel, subgroup: int = 32) -> Model:
    """The model of `kernel`, with `subgroup` consecutive threads in a subgroup."""
    fold = _folded(kernel, subgroup)
    if fold is not None:
        model = _model(kernel, subgroup, fold)
        values = [e for access in model.accesses for e in (access.index, *access.guards)]
        values += [e for fence in model.fences for e in fence.guards]
        if not any(isinstance(leaf, Builtin) and leaf is not model.tid for e in values for leaf in model.leaves(e)):
            return model
    return _model(kernel, subgroup, None)


def _model(kernel: Kernel, subgroup: int, fold: "_Fold | None") -> Model:
    walk = _Walk(kernel, subgroup, fold)
    items = walk.block(kernel.body if fold is None else fold.body, _Around())
    x = kernel.grid[0]
    groups: tuple[Expr, ...] = walk.groups
    workgroup = walk.groups
    if fold is not None:
        groups, workgroup = (fold.group,), (simplify(fold.group % x), simplify(fold.group // x), const(0))
    readable = walk.storage - walk.written
    found = walk.accesses, walk.fences, walk.loops
    return Model(kernel, items, *found, walk.tid, groups, workgroup, readable, walk.work)


@dataclass(frozen=True, slots=True)
class _Fold:
    """A long grid of one dimension, folded over two: `group` stands for `total`, which the rest of the body uses."""

    total: Expr
    group: Var
    body: Block


def _folded(kernel: Kernel, subgroup: int) -> _Fold | None:
    """The fold, if the whole body but for names is under `y * columns + x < count`."""
    x, y, z = kernel.grid
    *names, last = kernel.body or (None,)
    if not isinstance(last, If) or last.orelse or not all(isinstance(s, Let | Declare) for s in names):
        return None
    walk = _Walk(kernel, subgroup, None)
    prefix = tuple(s for s in names if s is not None)
    walk.block(prefix, _Around())
    match walk.resolve(last.condition):
        case Binary(op="<", left=total, right=Const(value=count)) if not walk.accesses and z == 1:
            form = linear(total)
            axes = {n.name: c for n, c in form.terms.items() if isinstance(n, Builtin)}
            whole = len(form.terms) == 2 and not form.constant
            if whole and axes == {"workgroup_id.x": 1, "workgroup_id.y": x} and int(count) <= x * y:
                return _Fold(total, Var("group", u32, 1, 0, int(count) - 1, -(1 << 30)), prefix + last.then)
    return None


def uses_subgroups(kernel: Kernel) -> bool:
    """Whether the kernel asks how its threads fall into subgroups."""
    return any(isinstance(n, Builtin) and "subgroup" in n.name for n in all_nodes(kernel.body))


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The parts of a condition that must all hold."""
    if isinstance(condition, Binary) and condition.op == "&" and condition.dtype.kind == "b":
        return conjuncts(condition.left) + conjuncts(condition.right)
    return () if isinstance(condition, Const) and condition.value else (condition,)


def negated(condition: Expr) -> Expr:
    """A condition that holds where this one does not."""
    if isinstance(condition, Binary) and condition.left.dtype.kind in "iu" and condition.op in _NEGATED:
        return binary(_NEGATED[condition.op], condition.left, condition.right)
    if isinstance(condition, Binary) and condition.dtype.kind == "b" and condition.op in "&|":
        other = "|" if condition.op == "&" else "&"
        return binary(other, negated(condition.left), negated(condition.right))
    return unary("!", condition)


@dataclass(frozen=True, slots=True)
class _Around:
    """What is around a statement: `conditions` are whole, also those that decide how often a loop runs."""

    guards: tuple[Expr, ...] = ()
    loops: tuple[Loop, ...] = ()
    conditions: tuple[Expr, ...] = ()

    def within(self, test: Expr, condition: Expr) -> "_Around":
        """Inside the side of `condition` where `test` holds."""
        return _Around(self.guards + conjuncts(test), self.loops, (*self.conditions, condition))


class _Walk:
    def __init__(self, kernel: Kernel, subgroup: int, fold: _Fold | None) -> None:
        self.accesses: list[Access] = []
        self.fences: list[Fence] = []
        self.loops: list[Loop] = []
        self.work: list[tuple[Stmt, tuple[Expr, ...], tuple[Loop, ...]]] = []
        self.lets: dict[Expr, Expr] = {}
        self.known: dict[Expr, Expr] = {}
        self.pure: dict[Expr, bool] = {}
        self.memo: dict[Expr, Expr] = {}
        self.storage = frozenset(kernel.buffers)
        self.written = frozenset(s.buffer for s in statements(kernel.body) if isinstance(s, Store | Atomic))
        self.tid = builtin("local_invocation_index", 0, kernel.threads - 1)
        x, y, z = (builtin(f"workgroup_id.{a}", 0, max(n, 1) - 1) for a, n in zip("xyz", kernel.grid, strict=True))
        self.groups = x, y, z
        self.ids: dict[str, Expr] = {
            "local_invocation_index": self.tid,
            "subgroup_size": const(subgroup),
            "num_subgroups": const(-(-kernel.threads // subgroup)),
            "subgroup_id": simplify(self.tid // subgroup),
            "subgroup_invocation_id": simplify(self.tid % subgroup),
        }
        for axis, group, count in zip("xyz", self.groups, kernel.grid, strict=True):
            self.ids[f"workgroup_id.{axis}"], self.ids[f"num_workgroups.{axis}"] = group, const(count)
        self.fold = fold

    def resolve(self, value: Expr) -> Expr:
        """`value` over ids, iterations and unknowns, in its shortest form."""
        if isinstance(value, Const):
            return value
        new = rewrite(value, self.change, self.memo)
        return simplify(new) if new.dtype.kind in "iub" and new.lanes == 1 else new

    def change(self, node: Expr) -> Expr:
        if isinstance(node, Builtin):
            return self.ids.get(node.name, node)
        if not isinstance(node, Var):
            return node
        known = self.known.get(node)
        if known is None:
            known = node
            if node in self.lets:
                meant = self.resolve(self.lets[node])
                if self.fold is not None and meant is self.fold.total:
                    meant = self.fold.group
                known = meant if self.is_pure(meant) else node
            self.known[node] = known
        return known

    def is_pure(self, value: Expr) -> bool:
        """Whether `value` is the same whenever it is computed: it reads no memory that the kernel writes."""
        known = self.pure.get(value)
        if known is None:
            ask_operands_first(value, self.pure, self.is_pure)
            match value:
                case Var(order=order):
                    known = order < 0
                case Call(name=name) if name in SUBGROUP:
                    known = False
                case Load(buffer=buffer) if buffer.space != "storage" or buffer in self.written:
                    known = False
                case _:
                    known = all(map(self.is_pure, children(value)))
            self.pure[value] = known
        return known

    def block(self, block: Block, around: _Around) -> tuple[Item, ...]:
        out: list[Item] = []
        for stmt in block:
            self.reads(stmt, around, out)
            self.work.append((stmt, around.guards, around.loops))
            match stmt:
                case Let(var=var, value=value):
                    self.lets[var] = value
                case Store(value=value):
                    out.append(self.access("writes", stmt, value.lanes, around))
                case Atomic():
                    out.append(self.access("updates", stmt, 1, around))
                case Barrier():
                    fence = Fence(stmt, around.guards, around.loops, around.conditions)
                    self.fences.append(fence)
                    out.append(fence)
                case If(condition=condition, then=then, orelse=orelse):
                    test = self.resolve(condition)
                    if isinstance(test, Const):
                        out += self.block(then if test.value else orelse, around)
                        continue
                    yes = self.block(then, around.within(test, test))
                    no = self.block(orelse, around.within(simplify(negated(test)), test))
                    out.append(Branch(test, yes, no))
                case For():
                    out += self.repeat(stmt, around)
                case Declare() | Assign() | Comment():
                    pass
        return tuple(out)

    def reads(self, stmt: Stmt, around: _Around, out: list[Item]) -> None:
        """The loads in the expressions of `stmt`, operands first."""
        for node in nodes(*expressions(stmt)):
            if not isinstance(node, Load):
                continue
            where = const(True, bool_) if node.where is None else self.resolve(node.where)
            if isinstance(where, Const) and not where.value:
                continue
            out.append(self.access("reads", node, node.lanes, around.within(where, where)))

    def access(self, verb: Verb, node: Load | Store | Atomic, lanes: int, around: _Around) -> Access:
        buffer, at = node.buffer, self.resolve(node.index)
        if buffer.width > 1:
            at = self.elements(at, buffer.width)
        counters = tuple((loop.stmt.var.name, loop.counter) for loop in around.loops)
        found = Access(verb, buffer, at, lanes, around.guards, around.loops, node.index, node.place, counters)
        self.accesses.append(found)
        return found

    def elements(self, at: Expr, width: int) -> Expr:
        """An index in vectors as one in elements; nobody knows what, where that may wrap around."""
        low, high = linear(at).interval()
        if low < 0 or high * width >= U32_LIMIT:
            return Var("index", at.dtype, 1, *domain(at.dtype), 0)
        return simplify(at * width)

    def repeat(self, stmt: For, around: _Around) -> list[Item]:
        loop = self.loop(stmt)
        self.loops.append(loop)
        if loop.count == 0:
            return []
        bounds = *around.conditions, *map(self.resolve, (stmt.start, stmt.stop, stmt.step))
        guards = around.guards if loop.inside is None else around.guards + conjuncts(loop.inside)
        return [Repeat(loop, self.block(stmt.body, _Around(guards, (*around.loops, loop), bounds)))]

    def loop(self, stmt: For) -> Loop:
        """The loop numbered from 0; its counter is `start + step * number`."""
        start, stop, step = (self.resolve(x) for x in (stmt.start, stmt.stop, stmt.step))
        (low, high), (_, end), (least, most) = range_of(start), range_of(stop), range_of(step)
        top = domain(stmt.var.dtype)[1]
        if least < 1:
            count, bounded = 1 + top - low, False
        else:
            count, bounded = max(0, -(-(end - low) // least)), end - 1 + most <= top
        name, dtype = stmt.var.name, stmt.var.dtype
        index = Var(name, dtype, 1, 0, max(0, count - 1), -1 - len(self.loops))
        counter = simplify(start + step * index) if count != 1 or least < 1 else start
        self.known[stmt.var] = counter
        exact = isinstance(start, Const) and isinstance(stop, Const) and isinstance(step, Const)
        inside = None if exact and bounded else simplify(binary("<", counter, stop))
        if isinstance(inside, Const) and inside.value:
            inside = None
        if high + most * max(0, count - 1) >= U32_LIMIT:
            bounded = bounded and exact
        return Loop(stmt, index, counter, count, inside, bounded)
