"""What is used twice, and index arithmetic that a loop does not change, is named; what nobody uses goes.

A name is put where its variables allow it: in the block that binds the innermost of them. What may change between two
statements - it reads memory or a variable that is still to be set - is named for one statement, just before it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .. import ir
from ..ranges import range_of


@dataclass(slots=True, eq=False)
class _Scope:
    """A block, with how many blocks and loops are around it, and its statements so far."""

    depth: int = 0
    loops: int = 0
    out: list[ir.Stmt] = field(default_factory=list)


def hoist(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with a `let` for each expression worth naming, as far out as its variables allow."""
    return replace(kernel, body=_Hoist(kernel.body, lambda value: not _plain(value), loops=True).result)


_COMPUTED = {ir.Binary, ir.Call, ir.Select, ir.Unary, ir.Cast}


def _computing(value: ir.Expr) -> bool:
    if isinstance(value, ir.Vector):
        return not _plain(value)
    return value.dtype.kind == "f" and type(value) in _COMPUTED


class _Hoist:
    """One walk that names the expressions that `wanted` asks for, where they are used twice; with `loops`, also
    index arithmetic that is used once but does not change in a loop around."""

    def __init__(self, body: ir.Block, wanted: Callable[[ir.Expr], bool], *, loops: bool) -> None:
        self.uses: dict[ir.Expr, int] = {}
        self.mutable: set[ir.Expr] = set()
        self.settled: dict[ir.Stmt, list[ir.Var]] = {}
        self.homes: dict[ir.Expr, _Scope | None] = {}
        self.bound: dict[ir.Expr, ir.Var] = {}
        self.passing: list[ir.Expr] = []
        self.roots: tuple[ir.Expr, ...] = ()
        self.here: dict[ir.Expr, int] | None = None
        self.top = _Scope()
        self.count(body)

        def may_be(x: ir.Expr, uses: int) -> bool:
            return uses > 1 or (loops and x.lanes == 1 and x.dtype.kind in "iub")

        self.wanted = {x for x, uses in self.uses.items() if may_be(x, uses) and wanted(x)}
        self.known: dict[ir.Expr, bool] = {}
        self.result = self.walk(body, self.top) if self.wanted else body

    def count(self, body: ir.Block) -> set[ir.Expr]:
        """How often each expression is an operand or a root, and which variables change, until which statement."""
        last: dict[ir.Expr, ir.Stmt] = {}
        for stmt in body:
            self.reference(stmt.expressions, self.uses)
            changed: set[ir.Expr] = {stmt.sets} if stmt.sets is not None else set()
            last.update(dict.fromkeys(changed.union(*map(self.count, stmt.blocks)), stmt))
        for stmt in body:
            if isinstance(stmt, ir.Declare) and stmt.var in last:
                self.settled.setdefault(last[stmt.var], []).append(stmt.var)
        self.mutable |= last.keys()
        return set(last)

    def reference(self, values: tuple[ir.Expr, ...], uses: dict[ir.Expr, int]) -> None:
        """Count `values` and what they hold; what gets no name of its own is written out at each use, and counts so."""
        for value in values:
            if value.operands:
                before = uses.get(value, 0)
                uses[value] = before + 1
                if not before or _plain(value):
                    self.reference(value.operands, uses)
            else:
                uses[value] = 1

    def holds(self, value: ir.Expr) -> bool:
        """Whether a value is or holds an expression that is named: most do not, and stay as they are."""
        known = self.known.get(value)
        if known is None:
            known = value in self.wanted
            for x in () if known else value.operands:
                if x.operands and self.holds(x):
                    known = True
                    break
            self.known[value] = known
        return known

    def home_of(self, value: ir.Expr) -> _Scope | None:
        """The innermost block that binds a variable of `value`; None if its value may change between two uses."""
        if value in self.homes:
            return self.homes[value]
        found: _Scope | None = self.top
        if value in self.mutable or not ir.is_told(value):
            found = None
        for operand in value.operands if found is not None else ():
            home = self.home_of(operand)
            if home is None or found is None:
                found = None
            elif home.depth > found.depth:
                found = home
        self.homes[value] = found
        return found

    def twice(self, value: ir.Expr) -> bool:
        """Whether the statement computes it twice: at once, that is; the bounds of a loop are computed at each turn."""
        if self.here is None:
            self.here = {}
            self.reference(self.roots, self.here)
        return self.here.get(value, 0) > 1

    def expr(self, value: ir.Expr, scope: _Scope, hint: str) -> ir.Expr:
        """`value` with the named parts as names; new names are put down in the block that they belong to, or, for what
        may change before the next statement, just before this one."""
        name = self.bound.get(value)
        if name is not None:
            return name
        operands = value.operands
        if not operands or not self.holds(value):
            return value
        if isinstance(value, ir.Load):
            hint = f"{value.buffer.name}_at"
        often = self.uses.get(value, 0) > 1
        if value in self.wanted and (often or scope.loops):
            home = self.home_of(value)
            if home is None and self.twice(value):
                self.passing.append(value)
                return self.bind(value, scope, hint)
            if home is not None and (often or home.loops < scope.loops):
                return self.bind(value, home, hint)
        return ir.rebuild(value, [self.expr(x, scope, hint) for x in operands])

    def bind(self, value: ir.Expr, home: _Scope, hint: str) -> ir.Var:
        """Put down a `let` for `value` at the end of `home` as it is now."""
        new = ir.rebuild(value, [self.expr(x, home, hint) for x in value.operands])
        lo, hi = range_of(value) if value.dtype.kind in "iub" else (0, 0)
        name = self.bound[value] = ir.var(_name(value, hint), value.dtype, lanes=value.lanes, lo=lo, hi=hi)
        self.homes[name] = home
        home.out.append(ir.Let(name, new))
        return name

    def walk(self, block: ir.Block, scope: _Scope) -> ir.Block:
        for stmt in block:
            settled = self.settled.get(stmt)
            stmt = self.computed(stmt, scope)
            inner: list[ir.Block] = []
            for child in stmt.blocks:
                nested = _Scope(scope.depth + 1, scope.loops + isinstance(stmt, ir.For))
                if isinstance(stmt, ir.For):
                    self.homes[stmt.var] = nested
                inner.append(self.walk(child, nested))
            if stmt.binds is not None and stmt.binds not in self.mutable:
                self.homes[stmt.binds] = scope
            scope.out.append(ir.with_blocks(stmt, tuple(inner)) if inner else stmt)
            if settled:
                self.mutable.difference_update(settled)
                self.homes = {value: home for value, home in self.homes.items() if home is not None}
                self.homes.update(dict.fromkeys(settled, scope))
        return tuple(scope.out)

    def computed(self, stmt: ir.Stmt, scope: _Scope) -> ir.Stmt:
        """`stmt` with the named parts of its expressions as names."""
        roots = stmt.expressions
        if not any(map(self.holds, roots)):
            return stmt
        self.roots, self.here = () if isinstance(stmt, ir.For) else roots, None
        first = f"{stmt.buffer.name}_at" if isinstance(stmt, ir.Change) else "index"
        hints = (first, "value", "value")
        new = [self.expr(x, scope, hint) for x, hint in zip(roots, hints, strict=False)]
        for value in self.passing:
            del self.bound[value]
        self.passing.clear()
        return ir.with_expressions(stmt, new)


def _plain(value: ir.Expr) -> bool:
    """Whether naming `value` would save a reader and a compiler nothing: a name plus or times a number, say."""
    if not value.operands:
        return True
    match value:
        case ir.Binary(op="+" | "-", right=ir.Const()) | ir.Unary():
            return value.dtype.kind in "iub"
        case ir.Cast(value=inner, dtype=dtype) if dtype.kind in "iu" and inner.dtype.kind in "iu":
            return not inner.operands
        case ir.Load() | ir.Component():
            return True
        case ir.Vector(items=items):
            return len(set(map(id, items))) == 1
    return False


def _name(value: ir.Expr, hint: str) -> str:
    match value:
        case ir.Binary(op="*" | "//" | "%" | ">>" | "<<" | "&", left=left, right=ir.Const(value=c)) if (
            value.dtype.kind in "iu"
        ):
            inner = _name(left, "")
            return f"{inner}_{_OPERATOR_NAMES[value.op]}_{c}" if inner else hint
        case ir.Var(name=name):
            return name
        case ir.Builtin(name=name):
            return _BUILTIN_NAMES.get(name, name.replace(".", "_"))
        case ir.Binary() if value.dtype.kind == "b":
            return "inside"
        case ir.Call(name="min" | "max" as bound) if names := ir.variables(value):
            first = names[0]
            return f"{first.name}_{bound}" if isinstance(first, ir.Var) else hint
        case ir.MatrixCall():
            return "matrix"
        case ir.Vector(items=items):
            whole = items[0].value if isinstance(items[0], ir.Component) else items[0]
            return f"{whole.name}_vec" if isinstance(whole, ir.Var) else "lanes"
        case _ if value.dtype.kind == "f":
            return "value"
    return hint


_OPERATOR_NAMES = {"*": "times", "//": "div", "%": "mod", ">>": "shr", "<<": "shl", "&": "and"}
_BUILTIN_NAMES = {
    "local_invocation_index": "tid",
    "workgroup_id.x": "group_x",
    "workgroup_id.y": "group_y",
    "workgroup_id.z": "group_z",
    "subgroup_invocation_id": "lane",
    "subgroup_id": "subgroup",
}


def finish(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without values and arrays that nobody uses, and with floating-point values used twice named.

    Raises KernelError for what `check`, `check_constants` and `check_ids` refuse.
    """
    useful = drop_unused(ir.check_constants(ir.check(kernel)))
    shared = _Hoist(useful.body, _computing, loops=False)
    return replace(ir.check_ids(useful, shared.uses), body=shared.result)


def drop_unused(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without names, results, registers, branches and arrays of its own that are not used."""
    roots = [root for stmt in ir.statements(kernel.body) for root in stmt.expressions]
    read: set[object] = {name for x in roots for name in ir.variables(x)}
    read |= {load.buffer for x in roots for load in ir.loads(x)}
    body = kernel.body
    while True:
        useful = _Useful(read)
        body = useful.block(body)
        left = useful.live | useful.loaded
        if len(left) == len(read):
            local = tuple(b for b in kernel.local if b in useful.loaded or b in useful.changed)
            return replace(kernel, body=body, local=local)
        read = left


class _Useful:
    """One walk from the end, which drops what only sets a name that is not used after it, or a register that is not in
    `read`, what nobody uses of an update, and branches that do nothing. What is not set again is used only after it is
    bound: `live` gains the names that are used, `loaded` and `changed` the arrays.
    """

    def __init__(self, read: set[object]) -> None:
        self.read = read
        self.live: set[object] = set()
        self.loaded: set[object] = set()
        self.changed: set[object] = set()

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in reversed(block):
            if isinstance(stmt, ir.If) and isinstance(stmt.condition, ir.Const):
                out += reversed(self.block(stmt.then if stmt.condition.value else stmt.orelse))
                continue
            if isinstance(stmt, ir.Break) and isinstance(stmt.condition, ir.Const):
                if not stmt.condition.value:
                    continue
                out.clear()  # nobody comes so far
            if not self.is_unread(stmt) and (kept := self.useful(stmt)) is not None:
                out.append(kept)
        return tuple(out[::-1])

    def is_unread(self, stmt: ir.Stmt) -> bool:
        """Whether `stmt` only sets a name that is not used after it, or one that is set again, or a register, that is
        not read at all: what a block carries may be of no use after it."""
        match stmt:
            case ir.Let(var=var):
                return var not in self.live
            case ir.Declare(var=var) | ir.Assign(var=var):
                return var not in self.read
            case ir.Store(buffer=buffer):
                return buffer.space == "private" and buffer.length == 1 and buffer not in self.read
        return False

    def useful(self, stmt: ir.Stmt) -> ir.Stmt | None:
        """What is of use of `stmt`."""
        if isinstance(stmt, ir.Break):
            stmt = replace(stmt, last=self.block(stmt.last))
        elif stmt.blocks:
            match stmt:
                case ir.For(start=ir.Const(value=first), stop=ir.Const(value=end)) if first >= end:
                    return None  # a barrier in it would be one that no compiler can tell to be never reached
            inner = [self.block(b) for b in reversed(stmt.blocks)][::-1]
            if not any(inner):
                return None
            stmt = ir.with_blocks(stmt, inner)
            if isinstance(stmt, ir.If) and not stmt.then:
                stmt = replace(stmt, condition=ir.negated(stmt.condition), then=stmt.orelse, orelse=())
        elif isinstance(stmt, ir.Atomic) and stmt.result is not None and stmt.result not in self.live:
            stmt = replace(stmt, result=None)
        if isinstance(stmt, ir.Change):
            self.changed.add(stmt.buffer)
        for root in stmt.expressions:
            self.live.update(ir.variables(root))
            self.loaded.update([load.buffer for load in ir.loads(root)])
        return stmt
