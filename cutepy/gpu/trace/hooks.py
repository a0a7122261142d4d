"""Where the hooks go: a transformer of one function's syntax tree, and the names that a block of it binds."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .exits import BlockQuery, ExitableLoop, ask, at, every, place_of, statements, without_leaving

#: The name under which rewritten code knows the hooks: a free variable, so that no namespace of the user's changes.
HOOKS = "__cutepy__"
#: The variable that holds a function over all names that blocks of a function bind: their cells are its closure.
CELLS = ".cells"

#: The variable that a call's result is assigned to, by the file and the position of the call: lines, then columns.
ASSIGNED: dict[tuple[object, ...], str] = {}

Function = ast.FunctionDef | ast.Lambda
_BODIES = frozenset({"body", "orelse", "finalbody"})


@dataclass(slots=True)
class _FunctionScope:
    """One function: the names it does not own, those that inner functions bind, and the blocks open around a node:
    the variable that holds each, and whether it is a loop. What has been bound so far, with its line, in order of text,
    also by `:=` alone; and the names of its own that blocks bind."""

    foreign: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    blocks: list[tuple[str, bool]] = field(default_factory=list)
    bound: list[tuple[str, int]] = field(default_factory=list)
    walruses: list[tuple[str, int]] = field(default_factory=list)
    cells: set[str] = field(default_factory=set)
    count: int = 0


class Hooks:
    """Rewrites one function in place; `blocks` holds what the calls that it puts in do.

    `owner` is the class in which the function stands, which decides how private names come out; a `text` without the
    word has no generator, and declares no name.
    """

    def __init__(self, file: str, owner: str, text: str) -> None:
        self.file, self.owner, self.text = file, owner, text
        self.changes = self.apart = 0
        self.scope: _FunctionScope | None = None

    def visit(self, node: Any) -> Any:
        return _VISITS.get(type(node), _VISIT_PARTS)(self, node)

    def visit_parts(self, node: ast.AST) -> Any:
        """Visit the children of a node, without a change of its own."""
        fields = vars(node)
        for name in node._fields:
            value = fields.get(name)
            if type(value) is list:
                if name not in _BODIES:
                    value[:] = [self.visit(x) if isinstance(x, ast.AST) else x for x in value]
                elif self.scope is not None:
                    value[:] = self.body(value)
            elif isinstance(value, ast.AST) and value._fields:
                fields[name] = self.visit(value)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if type(node.ctx) is not ast.Load:
            self.bind(node.id, node)
        return node

    def bind(self, name: str | None, node: Any) -> None:
        """Note that the code binds or deletes a name."""
        if self.scope is not None and name is not None:
            self.scope.bound.append((self.mangled(name), node.lineno))

    def mangled(self, name: str) -> str:
        """A name as the code knows it: private ones have that of the class in front."""
        private = self.owner and name.startswith("__") and not name.endswith("__")
        return f"_{self.owner.lstrip('_')}{name}" if private else name

    def visit_import(self, node: ast.Import | ast.ImportFrom) -> ast.AST:
        for alias in node.names:
            self.bind(alias.asname or alias.name.partition(".")[0], node)
        return node

    visit_Import = visit_ImportFrom = visit_import

    def visit_named(self, node: Any) -> Any:
        """What binds a name that is no node of its own."""
        self.bind(node.rest if isinstance(node, ast.MatchMapping) else node.name, node)
        return self.visit_parts(node)

    visit_ExceptHandler = visit_MatchAs = visit_MatchStar = visit_MatchMapping = visit_named
    visit_AsyncFunctionDef = visit_named

    def visit_Assign(self, node: ast.Assign) -> Any:
        if len(node.targets) == 1:
            self.assigned(node.targets[0], node.value)
        return self.visit_parts(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        self.assigned(node.target, node.value)
        return self.visit_parts(node)

    def assigned(self, target: ast.expr, value: ast.expr | None) -> None:
        """Note the variable that a call's result is assigned to, by the position of the call."""
        if isinstance(value, ast.Call) and isinstance(target, ast.Name):
            position = value.lineno, value.end_lineno, value.col_offset, value.end_col_offset
            ASSIGNED[(self.file, *position)] = target.id
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, item in zip(target.elts, value.elts, strict=True):
                self.assigned(one, item)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.NamedExpr:
        self.apart += 1
        self.visit_parts(node)
        if self.scope is not None:
            self.scope.walruses.append((self.mangled(node.target.id), node.lineno))
        return node

    def visit_comprehension(self, node: ast.AST) -> Any:
        """Its targets are its own; what := binds in it is not."""
        if (scope := self.scope) is None:
            return self.visit_parts(node)
        bound, walruses = len(scope.bound), len(scope.walruses)
        self.visit_parts(node)
        scope.bound[bound:] = scope.walruses[walruses:]
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.bind(node.name, node)
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        self.visit(node.args)
        others = self.declared(node, ast.Global, ast.Nonlocal, inside=False)
        shared = self.declared(node, ast.Nonlocal, inside=True) - others
        outer, self.scope = self.scope, _FunctionScope(others, shared)
        body = self.body(without_leaving(node, "yield" in self.text))
        if self.scope.count:
            names = ast.Tuple([ast.Name(name, ast.Load()) for name in sorted(self.scope.cells)], ast.Load())
            body.insert(0, at(ast.Assign([ast.Name(CELLS, ast.Store())], _later(names)), node.body[0]))
        node.body, self.scope = body, outer
        return node

    def declared(self, node: ast.AST, *kinds: type[ast.Global | ast.Nonlocal], inside: bool) -> set[str]:
        """The names that a function, or functions `inside` it, declare as another scope's."""
        if not any(kind.__name__.lower() in self.text for kind in kinds):
            return set()
        return {self.mangled(n) for d in statements(node, inside=inside) if isinstance(d, kinds) for n in d.names}

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.visit(node.args)
        outer, self.scope = self.scope, _FunctionScope()
        node.body = self.visit(node.body)
        self.scope = outer
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.bind(node.name, node)
        outer, self.scope = self.scope, None  # a block in the body of a class is left as it is, and refused
        owner, self.owner = self.owner, node.name
        node.body = [self.visit(n) if isinstance(n, ast.FunctionDef) else n for n in node.body]
        self.scope, self.owner = outer, owner
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.changes += 1
        self.visit_parts(node)
        node.func = _call_at(node.func, "target", node.func)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.changes += type(node.ctx) is ast.Store
        return self.visit_parts(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.changes += type(node.ctx) is ast.Store
        self.visit_parts(node)
        plain = isinstance(node.slice, ast.Slice | ast.Tuple | ast.Constant)
        if self.scope is None or plain or type(node.ctx) is not ast.Load:
            return node
        name = node.value.id if isinstance(node.value, ast.Name) else "table"
        call = _call_at(node, "item", at(ast.Constant(name), node), node.value, node.slice)
        return ast.copy_location(call, node)  # all of it: an error names the variables of what it is about

    def visit_change(self, node: ast.AugAssign | ast.Delete) -> Any:
        self.changes += 1
        return self.visit_parts(node)

    visit_AugAssign = visit_Delete = visit_change

    def body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements with their hooks, and a look at Python's state after those that may change it: that call
        something, or set a part of something."""
        out: list[ast.stmt] = []
        for stmt in body:
            # Compound statements look for themselves, at the end of their blocks.
            before, simple = self.changes, not hasattr(stmt, "body")
            new = self.visit(stmt)
            out += new if isinstance(new, list) else [new]
            if simple and self.changes > before and not isinstance(stmt, ast.Return | ast.Raise | ast.Match):
                out.append(ast.Expr(_call_at(stmt, "look"), **place_of(stmt)))
        return out

    def block(self, *, loop: bool = False, name: str = "") -> tuple[str, int]:
        """Begin a block: the variable for it, and how many names were bound before it."""
        assert self.scope is not None
        self.scope.count += 1
        self.scope.blocks.append((name or f".{self.scope.count}", loop))
        return self.scope.blocks[-1][0], len(self.scope.bound)

    def opened(self, kind: str, subject: ast.expr, since: int, *more: Any) -> ast.Call:
        """The call that makes the innermost block, which ends here, with the names of this scope that it may bind."""
        assert self.scope is not None
        self.scope.blocks.pop()
        lines = dict(self.scope.bound[since:])
        # Names by owner: those of this function, those that inner functions set, and those of other scopes.
        own = {n: line for n, line in lines.items() if n not in self.scope.foreign}
        own |= {n: subject.lineno for n in self.scope.shared if n not in own}
        others = {n: line for n, line in lines.items() if n in self.scope.foreign}
        self.scope.cells |= own.keys()
        table = _constant((tuple(own.items()), tuple(others.items())))
        return _call(kind, subject, table, ast.Name(CELLS, ast.Load()), *map(_constant, more))

    def names(self, target: ast.AST) -> tuple[str, ...]:
        return tuple(
            [self.mangled(n.id) for n in every(target) if isinstance(n, ast.Name) and type(n.ctx) is ast.Store]
        )

    def visit_With(self, node: ast.With) -> ast.AST:
        if self.scope is None:
            return node
        first, *others = node.items
        body: list[ast.stmt] = [at(ast.With(others, node.body), node)] if others else node.body
        subject = self.visit(first.context_expr)
        block, since = self.block()
        inside: list[ast.stmt] = []
        if first.optional_vars is not None:
            inside.append(ast.Assign([self.visit(first.optional_vars)], _ask(block, "entered")))
        inside.append(ast.If(_ask(block, "runs"), self.body(body), []))
        opened = self.opened("conditional", subject, since)
        return at(ast.With([ast.withitem(opened, ast.Name(block, ast.Store()))], inside), node)

    def visit_For(self, node: ast.For) -> ast.AST:
        if self.scope is None:
            return node
        subject = self.visit(node.iter)
        block, since = self.block(loop=True)
        target, body = self.visit(node.target), self.body(node.body)
        opened = self.opened("repeated", subject, since, self.names(target))
        loop = at(ast.For(target, ast.Name(block, ast.Load()), body, self.body(node.orelse)), node)
        return at(ast.With([ast.withitem(opened, ast.Name(block, ast.Store()))], [loop]), node)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        if self.scope is None:
            return node
        test = self.visit(node.test)
        block, since = self.block()
        then, other = self.body(node.body), self.body(node.orelse)
        opened = self.opened("branching", test, since)
        # if c: S else: T -> b = branching(c, ...); if b.runs: S; if b.other_side(): T; b.done()
        out: list[ast.stmt] = [
            ast.Assign([ast.Name(block, ast.Store())], opened),
            ast.If(_ask(block, "runs"), then, []),
        ]
        if other:
            out.append(ast.If(ast.Call(_ask(block, "other_side"), [], []), other, []))
        out.append(ast.Expr(ast.Call(_ask(block, "done"), [], [])))
        return [at(stmt, node) for stmt in out]

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        apart = self.apart
        self.visit_parts(node)
        if self.scope is None or apart != self.apart:
            return node
        return at(_call("choose", node.test, _later(node.body), _later(node.orelse)), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        apart = self.apart
        self.visit_parts(node)
        if self.scope is None or apart != self.apart:
            return node
        function = "both" if isinstance(node.op, ast.And) else "either"
        *others, last = node.values
        for value in reversed(others):
            last = at(_call(function, value, _later(last)), node)
        return last

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.visit_parts(node)
        if self.scope is None or not isinstance(node.op, ast.Not):
            return node
        return at(_call("opposite", node.operand), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        apart = self.apart
        self.visit_parts(node)
        if self.scope is None or apart != self.apart:
            return node
        # One comparison is an operator of the value; `x is True` compares the number that it may be.
        if len(node.ops) == 1:
            truth = node.comparators[0]
            if (
                isinstance(node.ops[0], ast.Is | ast.IsNot)
                and isinstance(truth, ast.Constant)
                and truth.value in (True, False)
            ):
                node.left = at(_call("identified", node.left), node)
            return node
        a, b = ast.Name("a", ast.Load()), ast.Name("b", ast.Load())
        # a < b < c evaluates b once, and c only where a < b.
        pairs: list[ast.expr] = []
        for op, operand in zip(node.ops, node.comparators, strict=True):
            names = [ast.arg("a"), ast.arg("b")]
            compare = ast.Lambda(ast.arguments([], names, None, [], [], None, []), ast.Compare(a, [op], [b]))
            pairs.append(ast.Tuple([compare, _later(operand)], ast.Load()))
        return at(_call("compared", node.left, *pairs), node)

    def visit_ExitableLoop(self, node: ExitableLoop) -> ast.AST:
        """A loop that may be left: its block is asked at the end of an iteration, and, for one that Python
        unrolls, also at the beginning."""
        assert self.scope is not None
        subject = at(ast.Constant(None), node) if node.iter is None else self.visit(node.iter)
        block, since = self.block(loop=True, name=node.block)
        left, item = ast.Name(node.left, ast.Load()), f".item{block}"
        bind: list[ast.stmt] = []
        if node.target is not None:
            bind.append(at(ast.Assign([node.target], ast.Name(item, ast.Load())), node))
        # for i in xs: S -> with repeated(xs, ...) as b: for .item in b: if b.enters(left): i = .item; S; if
        # b.ended(left): break
        body = self.body([at(ast.If(ask(block, "enters", left), [*bind, *node.body], []), node)])
        counter = () if node.target is None else self.names(node.target)
        opened = self.opened("while_loop" if node.iter is None else "repeated", subject, since, counter, node.left)
        ended = at(ast.If(ask(block, "ended", left), [ast.Break()], []), node)
        loop = at(ast.For(ast.Name(item, ast.Store()), ast.Name(block, ast.Load()), [*body, ended], []), node)
        return at(ast.With([ast.withitem(opened, ast.Name(block, ast.Store()))], [loop]), node)

    def visit_BlockQuery(self, node: BlockQuery) -> BlockQuery:
        node.args = [self.visit(x) for x in node.args]
        return node

    def visit_Try(self, node: ast.Try) -> Any:
        self.visit_parts(node)
        if self.scope is None or not node.handlers:
            return node
        # try: S except E: T -> .n = trying(); try: S except E: T else: tried(.n, lambda: (E,)), outside of E's reach
        self.scope.count += 1
        began, first = f".tried{self.scope.count}", node.handlers[0]
        kinds = [handler.type or ast.Name("Exception", ast.Load()) for handler in node.handlers]
        said = _call("tried", ast.Name(began, ast.Load()), _later(ast.Tuple(kinds, ast.Load())))
        node.orelse.insert(0, at(ast.Expr(said), first))
        return [at(ast.Assign([ast.Name(began, ast.Store())], _call("trying")), node), node]

    def visit_Match(self, node: ast.Match) -> ast.AST:
        self.visit_parts(node)
        named = [n for case in node.cases for n in every(case.pattern) if isinstance(n, ast.MatchClass)]
        if self.scope is not None and named:
            inner = any(isinstance(n, ast.MatchClass) for one in named for n in every(one) if n is not one)
            node.subject = at(_call("matched", node.subject, ast.Constant(inner)), node)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        if self.scope is None:
            return node
        self.scope.blocks.append(("", True))
        node.test, node.body = self.visit(node.test), self.body(node.body)
        self.scope.blocks.pop()
        node.orelse = self.body(node.orelse)
        return node

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        assert self.scope is not None
        self.visit_parts(node)
        return self.leaving(node, "return", len(self.scope.blocks))

    def visit_Break(self, node: ast.Break) -> list[ast.stmt]:
        return self.leaving(node, "break", self.inside_loop() + 1)

    def visit_Continue(self, node: ast.Continue) -> list[ast.stmt]:
        return self.leaving(node, "continue", self.inside_loop())

    def inside_loop(self) -> int:
        """How many blocks are open inside the innermost loop; what leaves one stands in one."""
        assert self.scope is not None
        return next(i for i, (_, loop) in enumerate(reversed(self.scope.blocks)) if loop)

    def leaving(self, node: ast.stmt, kind: str, count: int) -> list[ast.stmt]:
        left = self.blocks(count)
        return [at(ast.Expr(_call("leave", ast.Constant(kind), left)), node), node] if left.elts else [node]

    def blocks(self, count: int) -> ast.Tuple:
        """The innermost open blocks, as a tuple."""
        assert self.scope is not None
        names = [name for name, _ in self.scope.blocks[len(self.scope.blocks) - count :] if name]
        return ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())

    def visit_Await(self, node: ast.Await) -> Any:
        self.apart += 1
        return self.visit_parts(node)

    def visit_Yield(self, node: ast.Yield | ast.YieldFrom) -> ast.AST:
        self.apart += 1
        self.visit_parts(node)
        if self.scope is not None and self.scope.blocks:
            value = node.value or ast.Constant(None)
            node.value = at(_call("leave", ast.Constant("yield"), self.blocks(len(self.scope.blocks)), value), node)
        return node

    visit_YieldFrom = visit_Yield


_Visit = Callable[[Hooks, Any], Any]
_VISIT_PARTS: _Visit = Hooks.visit_parts
#: What is done at each kind of node; `apart` counts those that may not stand in a function of their own.
_VISITS: dict[type, _Visit] = {
    globals().get(name[6:]) or getattr(ast, name[6:]): visit
    for name, visit in vars(Hooks).items()
    if name.startswith("visit_") and name[6].isupper()
}


_LOAD = ast.Load()


def _later(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name(HOOKS, ast.Load()), name, ast.Load()), list(args), [])


def _call_at(position: Any, name: str, *args: ast.expr) -> ast.Call:
    """The same at a place, where the arguments have places of their own: `at` looks for what has none."""
    where = place_of(position)
    hooks = ast.Attribute(ast.Name(HOOKS, _LOAD, **where), name, _LOAD, **where)
    return ast.Call(hooks, list(args), [], **where)


def _constant(value: Any) -> ast.Constant:
    """A literal, of the tuples too that the compiler takes and its types do not tell of."""
    return ast.Constant(value)


def _ask(block: str, name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name(block, ast.Load()), name, ast.Load())
