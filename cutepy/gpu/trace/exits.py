"""`break`, `continue` and early `return` as names: what follows them stands in branches, which a thread may skip.

Law: the new text does what the old one did. A loop that is left says so in a name of its own, a turn that is given up
in another, and a function that returns early in a third; the names are True and False while tracing, or values of the
GPU, like any other. Where only one side of an `if` goes on, what follows moves into it, and no name is needed. What
ends a loop is asked for between the statements of its body: there a loop of the kernel has a `break`.

`while test:` is `while True:` whose body begins with `if not test: break`.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

#: The variable that holds what a function returns, where it returns from several places, and whether it has returned.
RESULT, RETURNED = ".result", ".returned"
OWN_SCOPE = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda
_LOOPS = ast.For, ast.While
_BODIES = "body", "orelse", "finalbody", "handlers", "cases"
_WORDS: dict[type[ast.AST], str] = {ast.Return: "return", ast.Break: "break", ast.Continue: "continue"}


class ExitableLoop(ast.stmt):
    """A loop of which the name `left` tells that it was left: over the items of `iter`, if there are any, each of which
    is bound to `target`. `block` is the variable that holds it."""

    _fields = ("target", "iter", "body")
    target: ast.expr | None
    iter: ast.expr | None
    body: list[ast.stmt]

    def __init__(self, block: str, loop: ast.For | ast.While, body: list[ast.stmt]) -> None:
        super().__init__()
        self.target, self.iter = (loop.target, loop.iter) if isinstance(loop, ast.For) else (None, None)
        self.body = body
        self.block, self.left = block, f".left{block}"


class Asked(ast.Call):
    """A question to the block of a loop, which is no call of the user's."""


def ask(block: str, name: str, *args: ast.expr) -> Asked:
    return Asked(ast.Attribute(ast.Name(block, ast.Load()), name, ast.Load()), list(args), [])


def leaves(*nodes: ast.AST) -> set[str]:
    """The words of "return", "break" and "continue" by which something leaves these statements."""
    found: set[str] = set()
    for node in nodes:
        if type(node) in _WORDS:
            found.add(_WORDS[type(node)])
        elif isinstance(node, _LOOPS):
            found |= (leaves(*node.body) & {"return"}) | leaves(*node.orelse)
        elif not isinstance(node, OWN_SCOPE):
            found |= leaves(*_inside(node))
    return found


def _inside(node: ast.AST) -> list[ast.AST]:
    return [n for name in _BODIES for n in getattr(node, name, ()) if isinstance(n, ast.AST)]


def falls(body: Sequence[ast.stmt]) -> bool:
    """Whether a list of statements may come to its end."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return falls(last.body) or falls(last.orelse)
    return not isinstance(last, ast.Return | ast.Raise | ast.Break | ast.Continue)


def without_leaving(function: ast.FunctionDef, yields: bool) -> list[ast.stmt]:
    """The body of a function that returns at its end only, and whose loops say by a name that they were left.

    A generator, which only a text that `yields` has, stays as it is, and so does a function that leaves a `finally`.
    """
    parts = list(statements(function))
    early = [stmt for stmt in function.body if not isinstance(stmt, ast.Return) and "return" in leaves(stmt)]
    if not early and not any(isinstance(n, ast.While | ast.Break | ast.Continue) for n in parts):
        return function.body
    final = [n for part in parts if isinstance(part, ast.Try) for n in part.finalbody]
    if leaves(*final) or (yields and _is_generator(function)):
        return function.body
    pass_ = _Pass()
    if not early:
        return pass_.sequence(function.body)
    last = function.body[-1]
    end = [at(ast.Return(None), last)] if falls(function.body) else []
    pass_.returns = True
    body = pass_.sequence([*function.body, *end], last=True)
    first = [_set(RETURNED, False, function.body[0])] if pass_.returned else []
    return [*first, *body, at(ast.Return(ast.Name(RESULT, ast.Load())), last)]


def statements(root: ast.AST, *, inside: bool = False) -> Iterator[ast.AST]:
    """The statements in `root`, also those of blocks, and with `inside` those of functions in it."""
    for node in _inside(root):
        yield node
        if inside or not isinstance(node, OWN_SCOPE):
            yield from statements(node, inside=inside)


def _is_generator(node: ast.AST) -> bool:
    return any(
        isinstance(child, ast.Yield | ast.YieldFrom) or (not isinstance(child, OWN_SCOPE) and _is_generator(child))
        for child in children(node)
    )


class _Pass:
    """The statements of one function; `loops` are the blocks of the loops around, innermost last."""

    def __init__(self) -> None:
        self.count = 0
        self.loops: list[str] = []
        self.returns = self.returned = False

    def sequence(self, body: Sequence[ast.stmt], *, top: bool = False, last: bool = False) -> list[ast.stmt]:
        """The statements of a list: the body of a loop itself (`top`), or what a function ends with (`last`)."""
        out: list[ast.stmt] = []
        for number, stmt in enumerate(body):
            words, rest = leaves(stmt), list(body[number + 1 :])
            if type(stmt) in _WORDS:
                return [*out, *self.left(stmt, last)]
            if isinstance(stmt, ast.If) and words and not (top and words & {"return", "break"}):
                stmt, rest = _moved(stmt, rest)
            out += self.statement(stmt, last and not rest)
            rest = rest if falls([stmt]) else []
            if words and rest:
                goes_on = self.goes_on(words, top)
                whole = self.sequence(rest, top=top and "continue" not in words, last=last)
                if top and words & {"return", "break"}:  # who goes on has not left
                    whole.insert(0, _set(f".left{self.loops[-1]}", False, stmt))
                if "return" in words and self.returned:
                    whole.insert(0, _set(RETURNED, False, stmt))
                return [*out, at(ast.If(at(goes_on, stmt), whole, []), rest[0])]
            if words:
                return out
        return out

    def left(self, stmt: ast.stmt, last: bool) -> list[ast.stmt]:
        """What is done in place of a statement that leaves."""
        if isinstance(stmt, ast.Continue):
            return [_set(f".skipped{self.loops[-1]}", True, stmt)]
        if isinstance(stmt, ast.Break):
            return [_set(f".left{self.loops[-1]}", True, stmt)]
        if not (self.returns and isinstance(stmt, ast.Return)):
            return [stmt]
        value = stmt.value or at(ast.Constant(None), stmt)
        out: list[ast.stmt] = [at(ast.Assign([ast.Name(RESULT, ast.Store())], value), stmt)]
        if not last:
            self.returned = True
            out.append(_set(RETURNED, True, stmt))
        return out + [_set(f".left{block}", True, stmt) for block in self.loops[-1:]]

    def goes_on(self, words: set[str], top: bool) -> ast.expr:
        """Whether what follows a statement that may leave is to be done."""
        if not self.loops:
            self.returned = True
            return _not(RETURNED)
        block = self.loops[-1]
        tests: list[ast.expr] = []
        if words & {"return", "break"}:
            left = ast.Name(f".left{block}", ast.Load())
            tests.append(ask(block, "goes_on", left) if top else _not(left.id))
        if "continue" in words:
            tests.append(_not(f".skipped{block}"))
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)

    def statement(self, stmt: ast.stmt, last: bool) -> list[ast.stmt]:
        """A statement that is none of the words; `last` if the function ends after it."""
        if isinstance(stmt, ast.For | ast.While):
            return self.loop(stmt, last)
        if isinstance(stmt, ast.Try) and stmt.orelse and (words := leaves(*stmt.body)):
            stmt.orelse = [at(ast.If(self.goes_on(words, False), stmt.orelse, []), stmt.orelse[0])]
        if not isinstance(stmt, OWN_SCOPE):
            self.parts(stmt, last and isinstance(stmt, ast.If | ast.With))
        return [stmt]

    def parts(self, node: ast.AST, last: bool) -> None:
        """The blocks in a statement."""
        for name in _BODIES:
            inner = getattr(node, name, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                setattr(node, name, self.sequence(inner, last=last))
            elif isinstance(inner, list):
                for part in inner:
                    self.parts(part, False)

    def loop(self, loop: ast.For | ast.While, last: bool) -> list[ast.stmt]:
        words = leaves(*loop.body)
        while_ = isinstance(loop, ast.While)
        if not while_ and not words:
            loop.body, loop.orelse = self.sequence(loop.body), self.sequence(loop.orelse, last=last)
            return [loop]
        self.count += 1
        block = f".loop{self.count}"
        over, ends = f".over{block}", isinstance(loop, ast.While) and not _is_true(loop.test)
        body, orelse, always = loop.body, loop.orelse, while_ and not words & {"break", "return"}
        if isinstance(loop, ast.While) and ends:
            out = [_set(over, True, loop)] if orelse and not always else []
            test = at(ask(block, "ends", loop.test), loop.test)
            body = [at(ast.If(test, [*out, at(ast.Break(), loop.test)], []), loop.test), *body]
        self.loops.append(block)
        inner = self.sequence(body, top=True)
        self.loops.pop()
        if "continue" in words:
            inner.insert(0, _set(f".skipped{block}", False, loop))
        found: list[ast.stmt] = [_set(f".left{block}", False, loop), at(ExitableLoop(block, loop, inner), loop)]
        if orelse and always:
            return found + self.sequence(orelse, last=last) * ends
        if orelse and while_:
            found.insert(0, _set(over, False, loop))
        if "return" in words and self.loops:
            self.returned = True  # also where no statement that is kept says so
            returned = ast.Name(RETURNED, ast.Load())
            found.append(at(ast.If(returned, [_set(f".left{self.loops[-1]}", True, loop)], []), loop))
        if orelse and (ends or not while_):
            again: ast.expr = ast.Name(over, ast.Load()) if while_ else _not(f".left{block}")
            found.append(at(ast.If(again, self.sequence(orelse), []), orelse[0]))
        return found


def _moved(stmt: ast.If, rest: list[ast.stmt]) -> tuple[ast.If, list[ast.stmt]]:
    """An `if` of which one side leaves, with what follows it in the other; and what then still follows it."""
    then, other = falls(stmt.body), falls(stmt.orelse)
    if then and other:
        return stmt, rest
    sides = (stmt.body + rest * then, stmt.orelse + rest * other)
    return at(ast.If(stmt.test, *sides), stmt), []


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _not(name: str) -> ast.expr:
    return ast.UnaryOp(ast.Not(), ast.Name(name, ast.Load()))


def _set(name: str, value: bool, place: ast.AST) -> ast.stmt:
    return at(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), place)


def children(node: ast.AST) -> list[ast.AST]:
    """What a node holds, in order of text, but for what says no more than which operator it is, or that it is bound."""
    found: list[ast.AST] = []
    for value in vars(node).values():
        if type(value) is list:
            found += [x for x in value if isinstance(x, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def every(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all that it holds."""
    yield node
    for child in children(node):
        yield from every(child)


Node = TypeVar("Node", bound=ast.AST)


def at(node: Node, place: Any) -> Node:
    """`node`, and what is new in it, on the line on which `place` begins."""
    _put(node, place_of(place))
    return node


def place_of(node: Any) -> dict[str, int]:
    """Where a node begins."""
    line, column = node.lineno, node.col_offset
    return {"lineno": line, "col_offset": column, "end_lineno": line, "end_col_offset": column}


def _put(node: ast.AST, place: dict[str, int]) -> None:
    for child in children(node):
        if "lineno" not in vars(child):
            _put(child, place)
    vars(node).update(place)
