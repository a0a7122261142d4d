"""Common subexpressions and loop-invariant index arithmetic get names.

Law: every statement computes the same values, and a loop computes no more than before. A name is bound in the innermost
block that binds one of its variables. What may change between two statements (it reads memory, or a variable that is
still to be set) is named for one statement, just before it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain, repeat

from .. import ir
from ..ir.ranges import range_of


@dataclass(slots=True, eq=False)
class _BlockScope:
    """A block: how many blocks and loops surround it, and its statements so far."""

    depth: int = 0
    loops: int = 0
    out: list[ir.Stmt] = field(default_factory=list)


def hoist(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with a `let` for each expression worth naming, as far out as its variables allow."""
    return replace(kernel, body=_Hoist(kernel.body, lambda value: not _is_cheap(value), invariants=True).result)


def name_shared_floats(kernel: ir.Kernel) -> tuple[ir.Kernel, dict[ir.Expr, int]]:
    """`kernel` with a `let` for each floating-point value and vector that is used twice; and how often each expression
    of it is used."""
    walk = _Hoist(kernel.body, _is_float_work, invariants=False)
    return replace(kernel, body=walk.result), walk.uses


_COMPUTED = {ir.Binary, ir.Call, ir.Select, ir.Unary, ir.Cast}


def _is_float_work(value: ir.Expr) -> bool:
    """Whether a device spends floating-point instructions or registers of a vector on `value`."""
    if isinstance(value, ir.Vector):
        return not _is_cheap(value)
    return value.dtype.kind == "f" and type(value) in _COMPUTED


class _Hoist:
    """One walk that names the expressions that `wanted` asks for, where they are used twice; with `invariants`, also
    integers and conditions that are used once, but do not change in a loop around.

    `homes` maps an expression to the block that its name belongs to, None where its value may still change; `last_set`
    maps a statement to the variables that nothing after it sets: from there on they are as good as constants.
    """

    def __init__(self, body: ir.Block, wanted: Callable[[ir.Expr], bool], *, invariants: bool) -> None:
        # use count of each expression; variables still to be set; statement -> variables it sets last
        self.uses: dict[ir.Expr, int] = {}
        self.mutable: set[ir.Expr] = set()
        self.last_set: dict[ir.Stmt, list[ir.Var]] = {}
        # expression -> block of its name (None: unstable); expression -> name; names valid in one statement only
        self.homes: dict[ir.Expr, _BlockScope | None] = {}
        self.bound: dict[ir.Expr, ir.Var] = {}
        self.temporary: list[ir.Expr] = []
        # the statement at hand: its expressions, and their use counts, computed on demand
        self.roots: tuple[ir.Expr, ...] = ()
        self.here: dict[ir.Expr, int] | None = None
        self.top = _BlockScope()
        self.count(body)

        # Candidates: used twice; or used once, an integer or a condition (cheap to keep, dear to recompute in a loop).
        once = {x for x in self.uses if invariants and x.lanes == 1 and x.dtype.kind in "iub"}
        self.wanted = {x for x, uses in self.uses.items() if (uses > 1 or x in once) and wanted(x)}
        self.holding: dict[ir.Expr, bool] = {}
        self.result = self.walk(body, self.top) if self.wanted else body

    def count(self, body: ir.Block) -> set[ir.Expr]:
        """Count how often each expression is an operand or a root. Gives the variables that `body` sets; notes the last
        statement that sets each of them."""
        # A later statement overwrites the entry of an earlier one: what remains is the last one that sets a variable.
        last: dict[ir.Expr, ir.Stmt] = {}
        # The body is scanned once; the declaration decides in which block the variable becomes a constant.
        for stmt in body:
            self.reference(stmt.expressions, self.uses)
            changed: set[ir.Expr] = {stmt.sets} if stmt.sets is not None else set()
            last.update(dict.fromkeys(changed.union(*map(self.count, stmt.blocks)), stmt))
        for stmt in body:
            if isinstance(stmt, ir.Declare) and stmt.var in last:
                self.last_set.setdefault(last[stmt.var], []).append(stmt.var)
        self.mutable |= last.keys()
        return set(last)

    def reference(self, values: tuple[ir.Expr, ...], uses: dict[ir.Expr, int]) -> None:
        """Count `values` and their operands. An expression that gets no name is written out at each use: then its
        operands are used as often."""
        for value in values:
            if value.operands:
                before = uses.get(value, 0)
                uses[value] = before + 1
                if not before or _is_cheap(value):
                    self.reference(value.operands, uses)
            else:
                uses[value] = 1

    def holds(self, value: ir.Expr) -> bool:
        """Whether a value is or contains an expression to be named: most do not, and stay as they are."""
        holds = self.holding.get(value)
        if holds is None:
            # Not `any(...)` over a generator: this recursion is deep, and frames of generators would double its depth.
            holds = value in self.wanted
            for x in () if holds else value.operands:
                if x.operands and self.holds(x):
                    holds = True
                    break
            self.holding[value] = holds
        return holds

    def home_of(self, value: ir.Expr) -> _BlockScope | None:
        """The innermost block that binds a variable of `value`; None if its value may change between two uses."""
        if value in self.homes:
            return self.homes[value]
        # home(x) = the deepest home of its operands; a mutable variable or a load of mutable memory makes x unstable.
        innermost: _BlockScope | None = self.top
        if value in self.mutable or not ir.is_pure(value):
            innermost = None
        for operand in value.operands if innermost is not None else ():
            home = self.home_of(operand)
            if home is None or innermost is None:
                innermost = None
            elif home.depth > innermost.depth:
                innermost = home
        self.homes[value] = innermost
        return innermost

    def is_twice_here(self, value: ir.Expr) -> bool:
        """Whether the statement at hand computes `value` twice. Not so a loop: it computes its bounds each time."""
        if self.here is None:
            # Counted for this statement alone: an unstable value may be named for one statement, not between two.
            self.here = {}
            self.reference(self.roots, self.here)
        return self.here.get(value, 0) > 1

    def expr(self, value: ir.Expr, scope: _BlockScope, hint: str) -> ir.Expr:
        """`value` with names for what is named. A new name is bound in its home; for what may change before the next
        statement, just before this one."""
        name = self.bound.get(value)
        if name is not None:
            return name
        operands = value.operands
        if not operands or not self.holds(value):
            return value
        if isinstance(value, ir.Load):
            hint = f"{value.buffer.name}_at"
        # Common subexpression (used often), or loop-invariant code (its home is outside of a loop around).
        often = self.uses.get(value, 0) > 1
        if value in self.wanted and (often or scope.loops):
            home = self.home_of(value)
            # Unstable: the name serves this statement only, and `computed` forgets it.
            if home is None and self.is_twice_here(value):
                self.temporary.append(value)
                return self.bind(value, scope, hint)
            if home is not None and (often or home.loops < scope.loops):
                return self.bind(value, home, hint)
        return ir.rebuild(value, [self.expr(x, scope, hint) for x in operands])

    def bind(self, value: ir.Expr, home: _BlockScope, hint: str) -> ir.Var:
        """Append a `let` for `value` to what `home` holds so far."""
        # Operands are named first, so their lets precede this one.
        new = ir.rebuild(value, [self.expr(x, home, hint) for x in value.operands])
        lo, hi = range_of(value) if value.dtype.kind in "iub" else (0, 0)
        name = self.bound[value] = ir.var(_name(value, hint), value.dtype, lanes=value.lanes, lo=lo, hi=hi)
        self.homes[name] = home
        home.out.append(ir.Let(name, new))
        return name

    def walk(self, block: ir.Block, scope: _BlockScope) -> ir.Block:
        # After the statement that sets a variable last, its value is stable: unstable homes are computed anew.
        for stmt in block:
            final = self.last_set.get(stmt)
            stmt = self.computed(stmt, scope)
            inner: list[ir.Block] = []
            for child in stmt.blocks:
                nested = _BlockScope(scope.depth + 1, scope.loops + isinstance(stmt, ir.For))
                if isinstance(stmt, ir.For):
                    # A loop's counter is bound by the loop's body.
                    self.homes[stmt.var] = nested
                inner.append(self.walk(child, nested))
            if stmt.binds is not None and stmt.binds not in self.mutable:
                self.homes[stmt.binds] = scope
            scope.out.append(ir.with_blocks(stmt, tuple(inner)) if inner else stmt)
            if final:
                self.mutable.difference_update(final)
                self.homes = {value: home for value, home in self.homes.items() if home is not None}
                self.homes.update(dict.fromkeys(final, scope))
        return tuple(scope.out)

    def computed(self, stmt: ir.Stmt, scope: _BlockScope) -> ir.Stmt:
        """`stmt` with names for what is named of its expressions."""
        roots = stmt.expressions
        if not any(map(self.holds, roots)):
            return stmt
        # Bounds of a loop are computed on each iteration, so none of them counts as used twice.
        self.roots, self.here = () if isinstance(stmt, ir.For) else roots, None
        first = f"{stmt.buffer.name}_at" if isinstance(stmt, ir.Change) else "index"
        hints = chain((first, "value", "value"), repeat("index"))
        new = [self.expr(x, scope, hint) for x, hint in zip(roots, hints, strict=False)]
        for value in self.temporary:
            del self.bound[value]
        self.temporary.clear()
        return ir.with_expressions(stmt, new)


def _is_cheap(value: ir.Expr) -> bool:
    """Whether naming `value` would save a reader and a compiler nothing: a name plus a number, say."""
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
    """A name that says what `value` is: `tid_div_4`, `group_x`; else `hint`."""
    match value:
        case ir.Binary(op="*" | "//" | "%" | ">>" | "<<" | "&", left=left, right=ir.Const(value=c)) if (
            value.dtype.kind in "iu"
        ):
            inner = _name(left, "")
            return f"{inner}_{_OPERATOR_NAMES[value.op]}_{c}" if inner else hint
        case ir.Var(name=name):
            return name
        case ir.Builtin(name=name, axis=axis):
            stem = _BUILTIN_NAMES.get(name, name)
            return stem if axis is None else f"{stem}_{'xyz'[axis]}"
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
    "workgroup_id": "group",
    "subgroup_invocation_id": "lane",
    "subgroup_id": "subgroup",
}
