"""What is used twice, and index arithmetic that a loop does not change, is computed once and named.

A name is put where its variables allow it: in the block that binds the innermost of them. What may change between two
statements - it reads memory or a variable that is set again - is named for one statement, just before it.
"""

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
    """`kernel` with a `let` for each expression worth naming, as far out as its variables allow."""
    return replace(kernel, body=_Hoist(kernel.body, _worth_naming, loops=True).result)


def share(block: Block) -> Block:
    """`block` with a `let` for each floating-point expression that is used more than once."""
    return _Hoist(block, _computing, loops=False).result


def _indexing(value: Expr) -> bool:
    return value.dtype.kind in "iub" and value.lanes == 1


def _worth_naming(value: Expr) -> bool:
    return not _plain(value)


def _computing(value: Expr) -> bool:
    if isinstance(value, Vector):
        return not _plain(value)
    return value.dtype.kind == "f" and isinstance(value, Binary | Call | Select | Unary | Cast)


class _Hoist:
    """One walk that names the expressions that `wanted` asks for, where they are used twice; with `loops`, also
    index arithmetic that is used once but does not change in a loop around."""

    def __init__(self, body: Block, wanted: Callable[[Expr], bool], *, loops: bool) -> None:
        self.wanted, self.out_of_loops = wanted, loops
        self.uses: dict[Expr, int] = {}
        self.mutable: set[Expr] = set()
        self.homes: dict[Expr, _Scope | None] = {}
        self.bound: dict[Expr, Var] = {}
        self.passing: list[Expr] = []
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
            self.reference(expressions(stmt), self.uses)
            for block in blocks(stmt):
                self.count(block)

    def reference(self, values: tuple[Expr, ...], uses: dict[Expr, int]) -> None:
        """Count `values` and what they hold; what gets no name of its own is written out at each use, and counts so."""
        for value in values:
            uses[value] = uses.get(value, 0) + 1
            if self.holds(value) and (uses[value] == 1 or _plain(value)):
                self.reference(children(value), uses)

    def holds(self, value: Expr) -> bool:
        """Whether `value` is or holds an expression that might be named: most do not, and stay as they are."""
        known = self.holding.get(value)
        if known is None:
            known = self.holding[value] = self.wanted(value) or any(map(self.holds, children(value)))
        return known

    def home_of(self, value: Expr) -> _Scope | None:
        """The innermost block that binds a variable of `value`; None if its value may change between two uses."""
        if value in self.homes:
            return self.homes[value]
        found: _Scope | None = self.top
        if isinstance(value, Load) or value in self.mutable or (isinstance(value, Call) and value.name in SUBGROUP):
            found = None
        for operand in children(value) if found is not None else ():
            home = self.home_of(operand)
            if home is None or found is None:
                found = None
            elif home.depth > found.depth:
                found = home
        self.homes[value] = found
        return found

    def expr(self, value: Expr, scope: _Scope, hint: str, here: dict[Expr, int]) -> Expr:
        """`value` with the named parts as names; new names are put down in the block that they belong to, or, for those
        that `here`, the uses in this statement, asks for, before the statement."""
        name = self.bound.get(value)
        if name is not None:
            return name
        operands = children(value)
        if not operands or not self.holds(value):
            return value
        if isinstance(value, Load):
            hint = f"{value.buffer.name}_at"
        often = self.uses.get(value, 0) > 1
        if (often or (self.out_of_loops and scope.loops and _indexing(value))) and self.wanted(value):
            home = self.home_of(value)
            if home is None and here.get(value, 0) > 1:
                self.passing.append(value)
                return self.bind(value, scope, hint, here)
            if home is not None and (often or home.loops < scope.loops):
                return self.bind(value, home, hint, here)
        return rebuild(value, [self.expr(x, scope, hint, here) for x in operands])

    def bind(self, value: Expr, home: _Scope, hint: str, here: dict[Expr, int]) -> Var:
        """Put down a `let` for `value` at the end of `home` as it is now."""
        new = rebuild(value, [self.expr(x, home, hint, here) for x in children(value)])
        lo, hi = range_of(value) if value.dtype.kind in "iub" else (0, 0)
        name = self.bound[value] = var(_name(value, hint), value.dtype, lanes=value.lanes, lo=lo, hi=hi)
        self.homes[name] = home
        home.out.append(Let(name, new))
        return name

    def walk(self, block: Block, scope: _Scope) -> Block:
        for stmt in block:
            stmt = self.computed(stmt, scope)
            inner: list[Block] = []
            for child in blocks(stmt):
                nested = _Scope(scope.depth + 1, scope.loops + isinstance(stmt, For))
                if isinstance(stmt, For):
                    self.homes[stmt.var] = nested
                inner.append(self.walk(child, nested))
            if isinstance(stmt, Let):
                self.homes[stmt.var] = scope
            elif isinstance(stmt, Atomic) and stmt.result is not None:
                self.homes[stmt.result] = scope
            scope.out.append(with_blocks(stmt, tuple(inner)) if inner else stmt)
        return tuple(scope.out)

    def computed(self, stmt: Stmt, scope: _Scope) -> Stmt:
        """`stmt` with the named parts of its expressions as names."""
        roots = expressions(stmt)
        if not any(map(self.holds, roots)):
            return stmt
        here: dict[Expr, int] = {}
        if not isinstance(stmt, For):  # whose bounds are computed again at each turn
            self.reference(roots, here)
        first = f"{stmt.buffer.name}_at" if isinstance(stmt, Store | Atomic) else "index"
        hints = (first, "value", "value")
        new = [self.expr(x, scope, hint, here) for x, hint in zip(roots, hints, strict=False)]
        for value in self.passing:
            del self.bound[value]
        self.passing.clear()
        return with_expressions(stmt, new)


def _plain(value: Expr) -> bool:
    """Whether naming `value` would save a reader and a compiler nothing: a name plus or times a number, say."""
    match value:
        case Binary(op="+" | "-", right=Const()) | Unary():
            return value.dtype.kind in "iub"
        case Binary(op="*", left=left, right=Const()) if value.dtype.kind in "iu":
            return not children(left) or (isinstance(left, Binary) and left.op in ("//", "%"))
        case Cast(value=inner, dtype=dtype) if dtype.kind in "iu" and inner.dtype.kind in "iu":
            return not children(inner)
        case Load() | Component():
            return True
        case Vector(items=items):
            return all(item is items[0] for item in items)
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
