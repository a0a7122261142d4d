"""Index arithmetic that is used twice, or that a loop does not change, is computed once and named."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..ir import (
    Atomic,
    Binary,
    Block,
    Builtin,
    Call,
    Cast,
    Component,
    Const,
    Declare,
    Expr,
    For,
    Kernel,
    Let,
    Load,
    Param,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    Vector,
    blocks,
    children,
    expressions,
    rebuild,
    var,
    variables,
    with_blocks,
    with_expressions,
)
from ..ir.operators import SUBGROUP
from ..ranges import range_of


@dataclass(slots=True, eq=False)
class _Scope:
    """A block, with how many blocks and loops are around it, and its statements so far."""

    depth: int = 0
    loops: int = 0
    out: list[Stmt] = field(default_factory=list)


def hoist(kernel: Kernel) -> Kernel:
    """`kernel` with a `let` for each integer or bool expression worth naming, as far out as its variables allow."""
    return replace(kernel, body=_Hoist(kernel.body, _indexing, loops=True).result)


def share(block: Block) -> Block:
    """`block` with a `let` for each floating-point expression that is used more than once."""
    return _Hoist(block, _computing, loops=False).result


def _indexing(value: Expr) -> bool:
    return value.dtype.kind in "iub" and value.lanes == 1 and not _plain(value)


def _computing(value: Expr) -> bool:
    if isinstance(value, Vector):
        return any(item is not value.items[0] for item in value.items)
    return value.dtype.kind == "f" and isinstance(value, Binary | Call | Select | Unary | Cast)


class _Hoist:
    """One walk that names the expressions that `wanted` asks for, where they are used twice; with `loops`, also
    where they are used once but do not change in a loop around."""

    def __init__(self, body: Block, wanted: Callable[[Expr], bool], *, loops: bool) -> None:
        self.wanted, self.out_of_loops = wanted, loops
        self.uses: dict[Expr, int] = {}
        self.mutable: set[Expr] = set()
        self.loops: dict[Expr, int] = {}
        self.scopes: dict[Expr, _Scope] = {}
        self.bound: dict[Expr, Var] = {}
        self.holding: dict[Expr, bool] = {}
        self.top = _Scope()
        self.count(body)
        idle = not loops and not any(n > 1 and wanted(value) for value, n in self.uses.items())
        self.result = body if idle else self.walk(body, self.top)

    def count(self, body: Block) -> None:
        """How often each expression is an operand or a root, and which variables change."""
        for stmt in body:
            if isinstance(stmt, Declare):
                self.mutable.add(stmt.var)
            for root in expressions(stmt):
                if self.holds(root):
                    self.reference(root)
            for block in blocks(stmt):
                self.count(block)

    def holds(self, value: Expr) -> bool:
        """Whether `value` is or holds an expression that might be named: most do not, and stay as they are."""
        known = self.holding.get(value)
        if known is None:
            known = self.holding[value] = self.wanted(value) or any(map(self.holds, children(value)))
        return known

    def reference(self, value: Expr) -> None:
        self.uses[value] = self.uses.get(value, 0) + 1
        if self.uses[value] == 1:
            for operand in children(value):
                self.reference(operand)

    def scope_of(self, value: Expr) -> _Scope | None:
        """The innermost block that binds a variable of `value`; None if its value may change between two uses."""
        match value:
            case Const() | Builtin() | Param():
                return self.top
            case Var():
                return None if value in self.mutable else self.scopes[value]
            case Call(name=name) if name in SUBGROUP:
                return None
            case Binary() | Select() | Unary() | Cast() | Call() | Vector() | Component():
                found = self.top
                for operand in children(value):
                    scope = self.scope_of(operand)
                    if scope is None:
                        return None
                    found = scope if scope.depth > found.depth else found
                return found
        return None

    def expr(self, value: Expr, scope: _Scope, hint: str) -> Expr:
        """`value` with the named parts as names; new names are put down in the block that they belong to."""
        name = self.bound.get(value)
        if name is not None:
            return name
        operands = children(value)
        if not operands or not self.holds(value):
            return value
        if isinstance(value, Load):
            hint = f"{value.buffer.name}_at"
        often = self.uses.get(value, 0) > 1
        if (often or (self.out_of_loops and scope.loops)) and self.wanted(value):
            home = self.scope_of(value)
            if home is not None and (often or home.loops < scope.loops):
                return self.bind(value, home, hint)
        return rebuild(value, [self.expr(x, scope, hint) for x in operands])

    def bind(self, value: Expr, home: _Scope, hint: str) -> Var:
        """Put down a `let` for `value` at the end of `home` as it is now."""
        new = rebuild(value, [self.expr(x, home, hint) for x in children(value)])
        lo, hi = range_of(value) if value.dtype.kind in "iub" else (0, 0)
        name = self.bound[value] = var(_name(value, hint), value.dtype, lanes=value.lanes, lo=lo, hi=hi)
        self.scopes[name] = home
        home.out.append(Let(name, new))
        return name

    def walk(self, block: Block, scope: _Scope) -> Block:
        for stmt in block:
            first = f"{stmt.buffer.name}_at" if isinstance(stmt, Store | Atomic) else "index"
            hints = (first, "value", "value")
            roots = zip(expressions(stmt), hints, strict=False)
            new = [self.expr(x, scope, hint) if self.holds(x) else x for x, hint in roots]
            stmt = with_expressions(stmt, new)
            inner: list[Block] = []
            for child in blocks(stmt):
                nested = _Scope(scope.depth + 1, scope.loops + isinstance(stmt, For))
                if isinstance(stmt, For):
                    self.scopes[stmt.var] = nested
                inner.append(self.walk(child, nested))
            if isinstance(stmt, Let):
                self.scopes[stmt.var] = scope
            scope.out.append(with_blocks(stmt, tuple(inner)) if inner else stmt)
        return tuple(scope.out)


def _plain(value: Expr) -> bool:
    """Whether naming `value` would save a reader and a compiler nothing: a name plus or times a number, say."""
    match value:
        case Binary(op="+" | "-", right=Const()):
            return True
        case Binary(op="*", left=left, right=Const()):
            return not children(left) or (isinstance(left, Binary) and left.op in ("//", "%"))
        case Load() | Unary():
            return True
    return not children(value)


def _name(value: Expr, hint: str) -> str:
    match value:
        case Binary(op="//" | "%", left=left, right=Const(value=c)):
            inner = _name(left, "")
            return f"{inner}_{'div' if value.op == '//' else 'mod'}_{c}" if inner else hint
        case Var(name=name):
            return name
        case Builtin(name=name):
            return _BUILTIN_NAMES.get(name, name.replace(".", "_"))
        case Binary() if value.dtype.kind == "b":
            return "inside"
        case Call(name="min" | "max" as bound) if names := variables(value):
            first = names[0]
            return f"{first.name}_{bound}" if isinstance(first, Var) else hint
        case Vector(items=items):
            whole = items[0].value if isinstance(items[0], Component) else items[0]
            return f"{whole.name}_vec" if isinstance(whole, Var) else "lanes"
        case _ if value.dtype.kind == "f":
            return "value"
    return hint


_BUILTIN_NAMES = {
    "local_invocation_index": "tid",
    "workgroup_id.x": "group_x",
    "workgroup_id.y": "group_y",
    "workgroup_id.z": "group_z",
    "subgroup_invocation_id": "lane",
    "subgroup_id": "subgroup",
}
