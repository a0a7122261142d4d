"""The statements of `cutepy/layout` that raise a refusal, and which of them an error comes from."""

import ast
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cutepy.errors
import cutepy.layout
from cutepy.errors import CutepyError, InternalError

ROOM = Path(cutepy.layout.__file__).parent


@dataclass(frozen=True, order=True)
class Site:
    """A `raise`: the file, the function, and which one of that function's it is, from 0."""

    file: str
    function: str
    number: int

    def __str__(self) -> str:
        return f"{self.file} {self.function} {self.number}"


def _is_signal(raised: ast.expr, classes: set[str]) -> bool:
    """True for a class that is no refusal: one that is caught inside, or says that cutepy is at fault.

    What is no name of a class makes the error: `fail(...)`, `call.wrong(...)`.
    """
    name = ast.unparse(raised.func if isinstance(raised, ast.Call) else raised).split("(")[0]
    kind = getattr(cutepy.errors, name, None)
    if isinstance(kind, type):
        return not issubclass(kind, CutepyError) or issubclass(kind, InternalError)
    return name in classes or isinstance(__builtins__.get(name), type)  # type: ignore[attr-defined]


def _passes_on(raised: ast.expr, caught: set[str]) -> bool:
    """True where what was caught is raised again, if with more words."""
    again = [raised, *(each.func for each in ast.walk(raised) if isinstance(each, ast.Call))]
    return any(
        (isinstance(each, ast.Name) and each.id in caught and each is raised)
        or (isinstance(each, ast.Attribute) and each.attr == "at" and ast.unparse(each.value) in caught)
        for each in again
    )  # fmt: skip


def _raises(tree: ast.AST, name: str = "") -> Iterator[tuple[str, ast.Raise, set[str]]]:
    """Each `raise` with its function, and the names that hold a caught error there."""
    caught = {each.name for each in ast.walk(tree) if isinstance(each, ast.ExceptHandler) and each.name}
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Name) and each.value.id in caught:
            caught |= {target.id for target in each.targets if isinstance(target, ast.Name)}
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield from _raises(child, f"{name}.{child.name}".lstrip("."))
        elif isinstance(child, ast.Raise):
            yield name, child, caught
        else:
            yield from ((inner, each, caught | more) for inner, each, more in _raises(child, name))


@cache
def sites() -> dict[tuple[str, int], Site]:
    """The refusals of the room, by file and each line of their statement."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOM.rglob("*.py"))}
    classes = {each.name for tree in trees.values() for each in ast.walk(tree) if isinstance(each, ast.ClassDef)}
    found: dict[tuple[str, int], Site] = {}
    count: dict[tuple[str, str], int] = {}
    for path, tree in trees.items():
        file = path.relative_to(ROOM).as_posix()
        for function, statement, caught in _raises(tree):
            raised = statement.exc
            if raised is None or _is_signal(raised, classes) or _passes_on(raised, caught):
                continue
            number = count[file, function] = count.get((file, function), -1) + 1
            lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
            found |= {(file, line): Site(file, function, number) for line in lines}
    return found


def raised_at(error: BaseException | None) -> set[Site]:
    """Where an error was raised, and those that it says again: the last frame in the room of each."""
    found = set()
    while error is not None:
        frames = [at for at in traceback.extract_tb(error.__traceback__) if Path(at.filename).is_relative_to(ROOM)]
        for last in frames[-1:]:
            file = Path(last.filename).relative_to(ROOM).as_posix()
            site = sites().get((file, last.lineno or 0))
            found |= {site} if site else set()
        error = error.__cause__ or error.__context__
    return found
