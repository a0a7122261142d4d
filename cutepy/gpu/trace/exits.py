"""`break`, `continue` and early `return` as flags: what follows them stands in branches, which a thread may skip.

Law: the new text computes the same. A loop has a flag that it was left, one that its iteration was skipped, and a
function one that it has returned; the names are True and False while tracing, or values of the
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
_EXITS: dict[type[ast.AST], str] = {ast.Return: "return", ast.Break: "break", ast.Continue: "continue"}


class ExitableLoop(ast.stmt):
    """A loop with the flag `left`, set where it is left: over the items of `iter`, if there are any, each of which
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


class BlockQuery(ast.Call):
    """A question to the block of a loop, which is no call of the user's."""


def ask(block: str, name: str, *args: ast.expr) -> BlockQuery:
    return BlockQuery(ast.Attribute(ast.Name(block, ast.Load()), name, ast.Load()), list(args), [])


def leaves(*nodes: ast.AST) -> set[str]:
    """Which of "return", "break" and "continue" leave these statements."""
    kinds: set[str] = set()
    for node in nodes:
        if type(node) in _EXITS:
            kinds.add(_EXITS[type(node)])
        elif isinstance(node, _LOOPS):
            kinds |= (leaves(*node.body) & {"return"}) | leaves(*node.orelse)
        elif not isinstance(node, OWN_SCOPE):
            kinds |= leaves(*_inside(node))
    return kinds


def _inside(node: ast.AST) -> list[ast.AST]:
    return [n for name in _BODIES for n in getattr(node, name, ()) if isinstance(n, ast.AST)]


def falls(body: Sequence[ast.stmt]) -> bool:
    """Whether a list of statements may come to its end."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return falls(last.body) or falls(last.orelse)
    return not isinstance(last, ast.Return | ast.Raise | ast.Break | ast.Continue)


def without_leaving(function: ast.FunctionDef, yields: bool) -> list[ast.stmt]:
    """The body of a function that returns at its end only, and whose loops have flags that they were left.

    A generator, which only a text that `yields` has, stays as it is, and so does a function that leaves a `finally`.
    """
    inner = list(statements(function))
    early = [stmt for stmt in function.body if not isinstance(stmt, ast.Return) and "return" in leaves(stmt)]
    if not early and not any(isinstance(n, ast.While | ast.Break | ast.Continue) for n in inner):
        return function.body
    final = [n for statement in inner if isinstance(statement, ast.Try) for n in statement.finalbody]
    if leaves(*final) or (yields and _is_generator(function)):
        return function.body
    pass_ = _ExitRewriter()
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


class _ExitRewriter:
    """The statements of one function; `loops` are the blocks of the loops around, innermost last."""

    def __init__(self) -> None:
        self.count = 0
        self.loops: list[str] = []
        self.returns = self.returned = False

    def sequence(self, body: Sequence[ast.stmt], *, top: bool = False, last: bool = False) -> list[ast.stmt]:
        """The statements of a list: the body of a loop itself (`top`), or what a function ends with (`last`)."""
        out: list[ast.stmt] = []
        for number, stmt in enumerate(body):
            exits, rest = leaves(stmt), list(body[number + 1 :])
            if type(stmt) in _EXITS:
                return [*out, *self.left(stmt, last)]
            # Only one side goes on: the rest moves into it, and no flag is needed.
            if isinstance(stmt, ast.If) and exits and not (top and exits & {"return", "break"}):
                stmt, rest = _with_rest_inside(stmt, rest)
            out += self.statement(stmt, last and not rest)
            rest = rest if falls([stmt]) else []
            # The rest runs under the flags: not left, not skipped, not returned.
            if exits and rest:
                goes_on = self.goes_on(exits, top)
                whole = self.sequence(rest, top=top and "continue" not in exits, last=last)
                if top and exits & {"return", "break"}:  # a thread that goes on has not left
                    whole.insert(0, _set(f".left{self.loops[-1]}", False, stmt))
                if "return" in exits and self.returned:
                    whole.insert(0, _set(RETURNED, False, stmt))
                return [*out, at(ast.If(at(goes_on, stmt), whole, []), rest[0])]
            if exits:
                return out
        return out

    def left(self, stmt: ast.stmt, last: bool) -> list[ast.stmt]:
        """The assignments of flags that replace a statement that leaves."""
        if isinstance(stmt, ast.Continue):
            return [_set(f".skipped{self.loops[-1]}", True, stmt)]
        if isinstance(stmt, ast.Break):
            return [_set(f".left{self.loops[-1]}", True, stmt)]
        if not (self.returns and isinstance(stmt, ast.Return)):
            return [stmt]
        # return x -> .result = x; .returned = True; and the loops around are left too.
        value = stmt.value or at(ast.Constant(None), stmt)
        out: list[ast.stmt] = [at(ast.Assign([ast.Name(RESULT, ast.Store())], value), stmt)]
        if not last:
            self.returned = True
            out.append(_set(RETURNED, True, stmt))
        return out + [_set(f".left{block}", True, stmt) for block in self.loops[-1:]]

    def goes_on(self, exits: set[str], top: bool) -> ast.expr:
        """Whether what follows a statement that may leave is to be done."""
        if not self.loops:
            self.returned = True
            return _not(RETURNED)
        block = self.loops[-1]
        tests: list[ast.expr] = []
        if exits & {"return", "break"}:
            left = ast.Name(f".left{block}", ast.Load())
            tests.append(ask(block, "goes_on", left) if top else _not(left.id))
        if "continue" in exits:
            tests.append(_not(f".skipped{block}"))
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)

    def statement(self, stmt: ast.stmt, last: bool) -> list[ast.stmt]:
        """A statement that is no exit itself; `last` if the function ends after it."""
        if isinstance(stmt, ast.For | ast.While):
            return self.loop(stmt, last)
        if isinstance(stmt, ast.Try) and stmt.orelse and (exits := leaves(*stmt.body)):
            stmt.orelse = [at(ast.If(self.goes_on(exits, False), stmt.orelse, []), stmt.orelse[0])]
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
                for handler in inner:
                    self.parts(handler, False)

    def loop(self, loop: ast.For | ast.While, last: bool) -> list[ast.stmt]:
        exits = leaves(*loop.body)
        while_ = isinstance(loop, ast.While)
        if not while_ and not exits:
            loop.body, loop.orelse = self.sequence(loop.body), self.sequence(loop.orelse, last=last)
            return [loop]
        self.count += 1
        # 1. The name of the loop's block, its flags after it.
        block = f".loop{self.count}"
        over = f".over{block}"
        ends = isinstance(loop, ast.While) and not (isinstance(loop.test, ast.Constant) and loop.test.value)
        body, orelse, always = loop.body, loop.orelse, while_ and not exits & {"break", "return"}
        if isinstance(loop, ast.While) and ends:
            out = [_set(over, True, loop)] if orelse and not always else []
            # 2. while c: S -> while True: if not c: break; S
            test = at(ask(block, "ends", loop.test), loop.test)
            body = [at(ast.If(test, [*out, at(ast.Break(), loop.test)], []), loop.test), *body]
        self.loops.append(block)
        inner = self.sequence(body, top=True)
        self.loops.pop()
        if "continue" in exits:
            inner.insert(0, _set(f".skipped{block}", False, loop))
        # 3. The flag of the loop, and the loop.
        result: list[ast.stmt] = [_set(f".left{block}", False, loop), at(ExitableLoop(block, loop, inner), loop)]
        # 4. `else` of a loop that nothing leaves but its condition: it follows, and never where the condition is always
        # true.
        if orelse and always:
            return result + self.sequence(orelse, last=last) * ends
        if orelse and while_:
            result.insert(0, _set(over, False, loop))
        # 5. A return in an inner loop leaves the outer ones.
        if "return" in exits and self.loops:
            self.returned = True  # also where no remaining statement sets it
            returned = ast.Name(RETURNED, ast.Load())
            result.append(at(ast.If(returned, [_set(f".left{self.loops[-1]}", True, loop)], []), loop))
        if orelse and (ends or not while_):
            # 6. `else` runs where the loop was not left.
            again: ast.expr = ast.Name(over, ast.Load()) if while_ else _not(f".left{block}")
            result.append(at(ast.If(again, self.sequence(orelse), []), orelse[0]))
        return result


def _with_rest_inside(stmt: ast.If, rest: list[ast.stmt]) -> tuple[ast.If, list[ast.stmt]]:
    """if c: ...; return / rest -> if c: ...; return / else: rest, where a side leaves. Returns the `if`, and what still
    follows it: nothing then, else all of `rest`."""
    then, other = falls(stmt.body), falls(stmt.orelse)
    if then and other:
        return stmt, rest
    sides = (stmt.body + rest * then, stmt.orelse + rest * other)
    return at(ast.If(stmt.test, *sides), stmt), []


def _not(name: str) -> ast.expr:
    return ast.UnaryOp(ast.Not(), ast.Name(name, ast.Load()))


def _set(name: str, value: bool, place: ast.AST) -> ast.stmt:
    return at(ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value)), place)


def children(node: ast.AST) -> list[ast.AST]:
    """What a node holds, in order of text, but for what says no more than which operator it is, or that it is bound."""
    nodes: list[ast.AST] = []
    for value in vars(node).values():
        if type(value) is list:
            nodes += [x for x in value if isinstance(x, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            nodes.append(value)
    return nodes


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
