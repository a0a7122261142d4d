"""Where the hooks go: a transformer of one function's syntax tree, and the names that a block of it binds."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .leaving import OWN_SCOPE, Asked, Turns, ask, at, children, every, without_leaving

#: The name under which rewritten code knows the hooks: a free variable, so that no namespace of the user's changes.
HOOKS = "__cutepy__"

Function = ast.FunctionDef | ast.Lambda
Names = dict[str, int]
_BODIES = frozenset({"body", "orelse", "finalbody"})
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def bindings(*roots: ast.AST) -> Iterator[tuple[str, int]]:
    """Each name that the code binds or deletes in its own scope, with its line, in order of text."""
    for node in roots:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno
            case ast.MatchMapping(rest=str(name)):
                yield name, node.lineno
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from [(a.asname or a.name.partition(".")[0], node.lineno) for a in names]
        if isinstance(node, _COMPREHENSIONS):  # its targets are its own; what := binds in it is not
            walruses = [n.target for n in every(node) if isinstance(n, ast.NamedExpr)]
            yield from bindings(*walruses)
        elif not isinstance(node, OWN_SCOPE):
            yield from bindings(*children(node))


def _statements(root: ast.AST, *, inside: bool) -> Iterator[ast.AST]:
    """The statements in `root`, also those of blocks, and with `inside` those of functions in it."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        statements = getattr(root, name, ())
        for node in statements if isinstance(statements, list) else ():
            yield node
            if inside or not isinstance(node, OWN_SCOPE):
                yield from _statements(node, inside=inside)


def declared(function: ast.AST, *kinds: type[ast.Global | ast.Nonlocal], inside: bool) -> set[str]:
    """The names that a function, or functions `inside` it, declare as another scope's."""
    found = [n for n in _statements(function, inside=inside) if isinstance(n, ast.Global | ast.Nonlocal)]
    return {name for node in found if isinstance(node, kinds) for name in node.names}


@dataclass(slots=True)
class _Scope:
    """One function: the names it does not own, those that inner functions bind, and the blocks open around a node:
    the variable that holds each, and whether it is a loop."""

    foreign: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    blocks: list[tuple[str, bool]] = field(default_factory=list)


class Hooks(ast.NodeTransformer):
    """Rewrites one function in place; `blocks` holds what the calls that it puts in do."""

    def __init__(self) -> None:
        self.count = 0
        self.scope: _Scope | None = None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        self.visit(node.args)
        others = declared(node, ast.Global, ast.Nonlocal, inside=False)
        outer, self.scope = self.scope, _Scope(others, declared(node, ast.Nonlocal, inside=True) - others)
        node.body = self.body(without_leaving(node))
        self.scope = outer
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.visit(node.args)
        outer, self.scope = self.scope, _Scope()
        node.body = self.visit(node.body)
        self.scope = outer
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        outer, self.scope = self.scope, None  # a block in the body of a class is left as it is, and refused
        node.body = [self.visit(n) if isinstance(n, ast.FunctionDef) else n for n in node.body]
        self.scope = outer
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.func = at(_call("target", node.func), node.func)
        return node

    def body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements with their hooks, and after those that may change Python's state a look at it."""
        out: list[ast.stmt] = []
        for stmt in body:
            simple = not hasattr(stmt, "body") and not isinstance(stmt, ast.Return | ast.Raise | ast.Match)
            changes = simple and _may_change(stmt)
            new = self.visit(stmt)
            out += new if isinstance(new, list) else [new]
            if changes:
                out.append(at(ast.Expr(_call("look")), stmt))
        return out

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                if value._fields:
                    setattr(node, name, self.visit(value))
            elif isinstance(value, list):
                if name not in _BODIES:
                    setattr(node, name, [self.visit(x) if isinstance(x, ast.AST) else x for x in value])
                elif self.scope is not None:
                    setattr(node, name, self.body(value))
        return node

    def open(
        self, kind: str, subject: ast.expr, bound: list[ast.AST], name: str = ""
    ) -> tuple[str, ast.expr, list[str]]:
        """A variable for a block, the call that makes it, and the names of this scope that the block may bind."""
        assert self.scope is not None
        self.count += 1
        lines: Names = dict(bindings(*bound))
        own = {n: at for n, at in lines.items() if n not in self.scope.foreign}
        own |= {n: subject.lineno for n in self.scope.shared if n not in own}
        others = {n: at for n, at in lines.items() if n in self.scope.foreign}
        table = _constant((tuple(own.items()), tuple(others.items())))
        return name or f".{self.count}", _call(kind, self.visit(subject), table), list(own)

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        if self.scope is None:
            return node
        first, *others = node.items
        if others:
            node = at(ast.With([first], [at(ast.With(others, node.body), node)]), node)
        bound: list[ast.AST] = [*node.body] if first.optional_vars is None else [first.optional_vars, *node.body]
        block, opened, names = self.open("conditional", first.context_expr, bound)
        self.scope.blocks.append((block, False))
        inside: list[ast.stmt] = []
        if first.optional_vars is not None:
            inside.append(ast.Assign([first.optional_vars], _ask(block, "entered")))
        inside.append(ast.If(_ask(block, "runs"), self.body(node.body), []))
        self.scope.blocks.pop()
        whole = ast.With([ast.withitem(opened, ast.Name(block, ast.Store()))], inside)
        return [at(whole, node), at(_give(block, names), node)]

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        if self.scope is None:
            return node
        block, opened, names = self.open("repeated", node.iter, [node.target, *node.body])
        counter = tuple(name for name, _ in bindings(node.target))
        assert isinstance(opened, ast.Call)
        opened.args.append(_constant(counter))
        self.scope.blocks.append((block, True))
        body = self.body(node.body)
        self.scope.blocks.pop()
        give = at(_give(block, [n for n in names if n not in counter]), node)
        loop = ast.For(
            node.target,
            ast.Name(block, ast.Load()),
            [give, *body],
            [at(_give(block, names), node), *self.body(node.orelse)],
        )
        whole = ast.With([ast.withitem(opened, ast.Name(block, ast.Store()))], [at(loop, node)])
        return [at(whole, node)]

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        if self.scope is None:
            return node
        block, opened, names = self.open("branching", node.test, [*node.body, *node.orelse])
        self.scope.blocks.append((block, False))
        then, other = self.body(node.body), self.body(node.orelse)
        self.scope.blocks.pop()
        out: list[ast.stmt] = [
            ast.Assign([ast.Name(block, ast.Store())], opened),
            ast.If(_ask(block, "runs"), then, []),
        ]
        if other:
            turn = ast.Call(_ask(block, "turn"), [], [])
            out.append(ast.If(turn, [at(_give(block, names), node), *other], []))
        out += [ast.Expr(ast.Call(_ask(block, "done"), [], [])), _give(block, names)]
        return [at(stmt, node) for stmt in out]

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if self.scope is None or _binds(node):
            return node
        return at(_call("choose", node.test, _later(node.body), _later(node.orelse)), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self.scope is None or _binds(node):
            return node
        word = "both" if isinstance(node.op, ast.And) else "either"
        *others, last = node.values
        for value in reversed(others):
            last = at(_call(word, value, _later(last)), node)
        return last

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if self.scope is None or not isinstance(node.op, ast.Not):
            return node
        return at(_call("opposite", node.operand), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if self.scope is None or len(node.ops) == 1 or _binds(node):
            return node
        a, b = ast.Name("a", ast.Load()), ast.Name("b", ast.Load())
        pairs: list[ast.expr] = []
        for op, operand in zip(node.ops, node.comparators, strict=True):
            names = [ast.arg("a"), ast.arg("b")]
            compare = ast.Lambda(ast.arguments([], names, None, [], [], None, []), ast.Compare(a, [op], [b]))
            pairs.append(ast.Tuple([compare, _later(operand)], ast.Load()))
        return at(_call("compared", node.left, *pairs), node)

    def visit_Turns(self, node: Turns) -> list[ast.stmt]:
        """A loop that may be left: asked at the end of a turn whether it is, and, for one that Python goes through,
        at the beginning whether a thread has left it."""
        assert self.scope is not None
        target = [] if node.target is None else [node.target]
        subject = at(ast.Constant(None), node) if node.iter is None else node.iter
        kind = "turning" if node.iter is None else "repeated"
        block, opened, names = self.open(kind, subject, [*target, *node.body], node.block)
        counter = tuple(name for name, _ in bindings(*target))
        assert isinstance(opened, ast.Call)
        opened.args += [_constant(counter), ast.Constant(node.left)]
        left, item = ast.Name(node.left, ast.Load()), f".item{block}"
        bind: list[ast.stmt] = [at(ast.Assign([t], ast.Name(item, ast.Load())), node) for t in target]
        self.scope.blocks.append((block, True))
        body = self.body([at(ast.If(ask(block, "enters", left), [*bind, *node.body], []), node)])
        self.scope.blocks.pop()
        give = at(_give(block, [n for n in names if n not in counter]), node)
        ended = at(ast.If(ask(block, "ended", left), [ast.Break()], []), node)
        over = ast.Name(item, ast.Store())
        loop = ast.For(over, ast.Name(block, ast.Load()), [give, *body, ended], [at(_give(block, names), node)])
        return [at(ast.With([ast.withitem(opened, ast.Name(block, ast.Store()))], [at(loop, node)]), node)]

    def visit_Asked(self, node: Asked) -> Asked:
        node.args = [self.visit(x) for x in node.args]
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
        self.generic_visit(node)
        return self.leaving(node, "return", len(self.scope.blocks))

    def visit_Break(self, node: ast.Break) -> list[ast.stmt]:
        return self.leaving(node, "break", self.inside_loop() + 1)

    def visit_Continue(self, node: ast.Continue) -> list[ast.stmt]:
        return self.leaving(node, "continue", self.inside_loop())

    def inside_loop(self) -> int:
        """How many blocks are open inside the innermost loop."""
        assert self.scope is not None
        return next((i for i, (_, loop) in enumerate(reversed(self.scope.blocks)) if loop), 0)

    def leaving(self, node: ast.stmt, word: str, count: int) -> list[ast.stmt]:
        left = self.blocks(count)
        return [at(ast.Expr(_call("leave", ast.Constant(word), left)), node), node] if left.elts else [node]

    def blocks(self, count: int) -> ast.Tuple:
        """The innermost open blocks, as a tuple."""
        assert self.scope is not None
        names = [name for name, _ in self.scope.blocks[len(self.scope.blocks) - count :] if name]
        return ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())

    def visit_Yield(self, node: ast.Yield | ast.YieldFrom) -> ast.AST:
        self.generic_visit(node)
        if self.scope is not None and self.scope.blocks:
            value = node.value or ast.Constant(None)
            node.value = at(_call("leave", ast.Constant("yield"), self.blocks(len(self.scope.blocks)), value), node)
        return node

    visit_YieldFrom = visit_Yield


def _may_change(stmt: ast.stmt) -> bool:
    """Whether a simple statement may change an object: it calls something, or sets a part of something."""
    return isinstance(stmt, ast.AugAssign | ast.Delete) or any(
        isinstance(n, ast.Call) or (isinstance(n, ast.Subscript | ast.Attribute) and isinstance(n.ctx, ast.Store))
        for n in every(stmt)
    )


def _binds(node: ast.expr) -> bool:
    """Whether a part of an expression does what it may not in a function of its own."""
    return any(isinstance(n, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await) for n in every(node))


def _later(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name(HOOKS, ast.Load()), name, ast.Load()), list(args), [])


def _constant(value: Any) -> ast.Constant:
    """A literal, of the tuples too that the compiler takes and its types do not tell of."""
    return ast.Constant(value)


def _ask(block: str, name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name(block, ast.Load()), name, ast.Load())


def _give(block: str, names: list[str]) -> ast.stmt:
    """`if block.gpu:` each name is what the block says, or is not bound."""
    given: list[ast.stmt] = []
    for name in names:
        known = ast.Compare(ast.Constant(name), [ast.In()], [_ask(block, "now")])
        value = ast.Subscript(_ask(block, "now"), ast.Constant(name), ast.Load())
        unbound = [
            ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)),
            ast.Delete([ast.Name(name, ast.Del())]),
        ]
        given.append(ast.If(known, [ast.Assign([ast.Name(name, ast.Store())], value)], list(unbound)))
    return ast.If(_ask(block, "gpu"), given, []) if given else ast.Pass()
