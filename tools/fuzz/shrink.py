"""A reducer: the text of a program, made smaller as long as it still fails.

Law: the result fails, and no single change that is tried below makes a smaller text that fails. The changes: leave out
a statement; put the body of a compound statement in its place; put an operand in the place of an operation.
"""

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy


def shrink(text: str, fails: Callable[[str], bool], *, most: int = 4000) -> str:
    """A smallest text that fails, by at most `most` trials. ValueError if `text` does not fail.

    >>> print(shrink("a = 1\\nif a:\\n    b = a + 2\\n    c = 3", lambda text: "+ 2" in text))
    a + 2
    """
    best = ast.unparse(ast.parse(text))
    if not fails(best):
        raise ValueError("shrink: the text does not fail as it is written by ast.unparse")
    trials, changed = 0, True
    while changed and trials < most:
        changed = False
        for smaller in _smaller(best):
            trials += 1
            if len(smaller) < len(best) and fails(smaller):
                best, changed = smaller, True
                break
            if trials >= most:
                break
    return best


def _smaller(text: str) -> Iterator[str]:
    """The texts that one change makes of `text`, the largest changes first."""
    tree = ast.parse(text)
    blocks = [(n, f) for n in ast.walk(tree) for f in ("body", "orelse") if isinstance(getattr(n, f, None), list)]
    for number, (node, name) in enumerate(blocks):
        for at in range(len(getattr(node, name))):
            for change in (_without, _unwrapped):
                if (new := _changed(tree, number, at, change)) is not None:
                    yield new
    count = sum(isinstance(n, ast.BinOp | ast.BoolOp | ast.Call | ast.Expr | ast.Assign) for n in ast.walk(tree))
    for number in range(count):
        for which in range(3):
            copy = deepcopy(tree)
            yield ast.unparse(ast.fix_missing_locations(_Operand(number, which).visit(copy)))


def _changed(tree: ast.AST, number: int, at: int, change: Callable[[ast.stmt], list[ast.stmt] | None]) -> str | None:
    copy = deepcopy(tree)
    blocks = [(n, f) for n in ast.walk(copy) for f in ("body", "orelse") if isinstance(getattr(n, f, None), list)]
    node, name = blocks[number]
    block = getattr(node, name)
    new = change(block[at])
    if new is None:
        return None
    block[at : at + 1] = new
    if not block and name == "body" and not isinstance(node, ast.Module):
        block.append(ast.Pass())
    return ast.unparse(ast.fix_missing_locations(copy))


def _without(_: ast.stmt) -> list[ast.stmt]:
    return []


def _unwrapped(stmt: ast.stmt) -> list[ast.stmt] | None:
    return stmt.body if isinstance(stmt, ast.If | ast.For | ast.While | ast.With) else None


class _Operand(ast.NodeTransformer):
    """Puts an operand in the place of operation `number`: which of them, `which` says."""

    def __init__(self, number: int, which: int) -> None:
        self.left, self.which = number, which

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.BinOp | ast.BoolOp | ast.Call | ast.Expr | ast.Assign):
            self.left -= 1
            if self.left == -1:
                inside: list[ast.AST] = []
                match node:
                    case ast.BinOp(left=left, right=right):
                        inside = [left, right]
                    case ast.BoolOp(values=inside_values):
                        inside = list(inside_values)
                    case ast.Call(args=args):
                        inside = list(args)
                    case ast.Assign(value=value):
                        inside = [ast.Expr(value)]
                return inside[self.which] if self.which < len(inside) else node
        return super().generic_visit(node)
