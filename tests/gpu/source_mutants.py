"""Faults planted in the Python text of correct kernels: a number, an operator, a comparison, a name, a barrier.

What comes of it is refused when traced, refuted, or safe: then it may compute something else, but no invocation leaves
an array or meets another.
"""

import ast
import copy
import inspect
import random
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mutants import LIMITS
from oracle import faults, observe
from subjects import Subject, draw_subject

from cutepy import gpu
from cutepy.gpu.ir import new_arena
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.gpu.verify import verify

_OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv}
_COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq}
_NAMES = {"minimum": "maximum", "maximum": "minimum", "x": "y", "y": "x", "thread": "lane", "lane": "thread"}


@dataclass(frozen=True)
class Outcome:
    """What became of one fault: "refused", "refuted", "undecided", "safe", "original refused" or "FALSELY PROVEN"."""

    subject: str
    what: str
    fate: str
    detail: str = ""


def _changes(tree: ast.FunctionDef) -> list[Callable[[], str]]:
    """What can be changed in the tree, each a function that does it and says what it did."""
    found: list[Callable[[], str]] = []

    def plan(change: Callable[[], str]) -> None:
        found.append(change)

    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                for by in (1, -1):
                    plan(lambda node=node, by=by: _set(node, "value", node.value + by))
            case ast.BinOp(op=op) if type(op) in _OPERATORS:
                plan(lambda node=node, op=op: _set(node, "op", _OPERATORS[type(op)]()))
            case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
                plan(lambda node=node, op=op: _set(node, "ops", [_COMPARISONS[type(op)]()]))
            case ast.Attribute(attr=name) if name in _NAMES:
                plan(lambda node=node, name=name: _set(node, "attr", _NAMES[name]))
            case ast.FunctionDef() | ast.For() | ast.With() | ast.If():
                for i, stmt in enumerate(node.body):
                    if "barrier" in ast.unparse(stmt) and isinstance(stmt, ast.Expr):
                        plan(lambda node=node, i=i: _set(node.body, i, ast.Pass()))
    return found


def _set(holder: object, key: str | int, new: object) -> str:
    before = ast.unparse(holder) if isinstance(holder, ast.AST) else ast.unparse(holder[key])  # type: ignore[index]
    if isinstance(holder, list):
        holder[key] = new  # type: ignore[index]
        return f"{before} dropped"
    setattr(holder, str(key), new)
    return f"{before} -> {ast.unparse(holder)}"  # type: ignore[arg-type]


def mutated(function: KernelFunction, pick: random.Random, folder: Path) -> tuple[KernelFunction, str] | None:
    """The kernel with one change in its text, in a file of its own; None where nothing can be changed."""
    plain = inspect.unwrap(function.function)
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(plain))).body
    assert isinstance(tree, ast.FunctionDef)
    tree = copy.deepcopy(tree)
    tree.decorator_list = []
    changes = _changes(tree)
    if not changes:
        return None
    what = pick.choice(changes)()
    path = folder / f"mutant_{pick.getrandbits(48)}.py"
    path.write_text(ast.unparse(ast.fix_missing_locations(tree)) + "\n")
    known = dict(inspect.getclosurevars(plain).nonlocals)
    names = {**plain.__globals__, **known}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return gpu.kernel(names[tree.name]), what


def examine(seed: int, folder: Path) -> Outcome | None:
    """Plant one fault; None where the subject offers no place for one."""
    pick = random.Random(seed)
    subject = draw_subject(pick)
    with new_arena():
        if not verify(subject.kernel(), LIMITS).ok:
            return Outcome(subject.name, "", "original refused", str(verify(subject.kernel(), LIMITS)))
        made = mutated(subject.function, pick, folder)
        if made is None:
            return None
        function, what = made
        changed = Subject(subject.name, function, subject.arguments, subject.static)
        try:
            kernel = changed.kernel()
        except Exception as error:  # a change may make any nonsense of the text
            return Outcome(subject.name, what, "refused", str(error))
        if np.prod(kernel.grid) * kernel.threads > 1 << 12:
            return None  # more invocations than the judge can run
        found = verify(kernel, LIMITS)
        if found.refuted:
            return Outcome(subject.name, what, "refuted", str(found.refuted[0]))
        broken = faults(observe(kernel, changed.data(kernel)))
        if found.undecided:
            return Outcome(subject.name, what, "undecided", f"{broken}: {found.undecided[0]}")
        return Outcome(subject.name, what, "FALSELY PROVEN" if broken else "safe", f"{broken}: {found}")


def outcomes(count: int, first: int = 0) -> Iterator[Outcome]:
    """`count` faults from seed `first` on."""
    with tempfile.TemporaryDirectory() as folder:
        done, seed = 0, first
        while done < count:
            outcome = examine(seed, Path(folder))
            seed += 1
            if outcome is not None:
                done += 1
                yield outcome
