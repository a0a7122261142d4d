"""The text of a kernel, and of the functions that it calls, found, rewritten by the visitors of `hooks` and `exits`
(`if`, `while` and early ends are theirs), and compiled.

Law: the rewritten function does what the written one does, on the same lines of the same file, except that `blocks`
sees every `with` and `for` begin and end, with the names bound in it, and every call before it is made.
"""

import ast
import dis
import inspect
import linecache
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import lru_cache
from inspect import getblock
from tokenize import TokenError
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from .hooks import ASSIGNED, HOOKS, Function, Hooks
from .python_state import PACKAGE, is_users_file

#: Python 3.14 has one instruction for items and for operators.
_ITEM = "BINARY_SUBSCR" if "BINARY_SUBSCR" in dis.opmap else "BINARY_OP"
#: The instructions of which one at least is in whatever hooks change: calls, choices, blocks, items, inner functions.
_HOOKED = frozenset(
    number
    for name, number in dis.opmap.items()
    if re.match(
        rf"{_ITEM}|CALL|FOR_ITER|BEFORE_WITH|LOAD_SPECIAL|.*JUMP|UNARY_NOT|TO_BOOL|IS_OP|MATCH_CLASS|STORE_|DELETE_|MAKE_FUNCTION|.*YIELD",
        name,
    )
    and name not in ("STORE_FAST", "DELETE_FAST")
)
_BLOCKS = frozenset({"when", "loop"})
#: Functions whose rewriting is kept.
KEPT = 4096

_rewritten: dict[tuple[int, str], tuple[CodeType, CodeType | None]] = {}
_written: dict[int, CodeType] = {}
_unread: dict[CodeType, str] = {}


def with_hooks(function: FunctionType, hooks: object, kernel_file: str) -> FunctionType:
    """`function` with the hooks in it; itself where it is no code of the user's, or where its text cannot be read.

    Code of the user's is what is neither cutepy's, but for the file of the kernel, nor Python's, nor NumPy's; of
    cutepy's own what speaks of blocks, itself or by a function that it mentions.
    """
    code = function.__code__
    rewritten = _rewritten.get((id(code), kernel_file))
    if rewritten is None or rewritten[0] is not code:
        if len(_rewritten) >= KEPT:
            for kept in _rewritten, _written, _unread, ASSIGNED:
                kept.clear()
        own = code.co_filename == kernel_file or is_users_file(code.co_filename)
        own = own or (code.co_filename.startswith(PACKAGE) and _speaks(function, set()))
        own = own and not _HOOKED.isdisjoint(code.co_code[::2])
        rewritten = _rewritten[id(code), kernel_file] = code, _rewrite(function) if own else None
        if rewritten[1] is not None:
            _written[id(rewritten[1])] = code
            for inner in _inside(rewritten[1]):
                _rewritten[id(inner), kernel_file] = inner, None
    if rewritten[1] is None:
        return function
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    cells[HOOKS] = CellType(hooks)
    closure = tuple([cells[name] for name in rewritten[1].co_freevars])
    made = FunctionType(rewritten[1], function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    made.__dict__.update(function.__dict__)
    return made


def _speaks(function: FunctionType, seen: set[FunctionType]) -> bool:
    """Whether a function of a file that writes kernels speaks of blocks, or mentions one of such a file that does."""
    if "gpu" not in function.__globals__ or function in seen:
        return False
    seen.add(function)
    names = {name for code in (function.__code__, *_inside(function.__code__)) for name in code.co_names}
    mentioned = [function.__globals__.get(name) for name in names]
    return not _BLOCKS.isdisjoint(names) or any(isinstance(f, FunctionType) and _speaks(f, seen) for f in mentioned)


def written(code: CodeType) -> CodeType:
    """The code that was rewritten as `code`, which mentions the same names; `code` itself where that is not known."""
    return _written.get(id(code), code)


def unread(code: CodeType) -> str:
    """Why the text of a function was not read, as a reason in an error; "" where it was, or was never asked for."""
    return _unread.get(code, "")


def text_of(function: FunctionType) -> str:
    """The text that a function was loaded from; "" where it is not to be had."""
    node, _ = _node_of(function)
    lines = linecache.getlines(function.__code__.co_filename)
    return "" if node is None else "".join(lines[function.__code__.co_firstlineno - 1 : node.end_lineno])


def _rewrite(function: FunctionType) -> CodeType | None:
    """The code with hooks; None where its text is not to be had, or is not the text that it was compiled from."""
    code = function.__code__
    node, why = _node_of(function)
    if node is None:
        _unread[code] = why
        return None
    text = "".join(linecache.getlines(code.co_filename)[node.lineno - 1 : node.end_lineno])
    return _compiled(Hooks(code.co_filename, _owner(function), text).visit(node), function)


def _node_of(function: FunctionType) -> tuple[Function | None, str]:
    """The definition that compiles to the code of a function, from the file as it is now; or why there is none."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)
    name = code.co_qualname if hasattr(code, "co_qualname") else code.co_name
    if not lines:
        return None, f"there is no text of {name} to read; keep it in a file or a notebook"
    try:
        for node in _lambdas(lines, code) if code.co_name == "<lambda>" else _definition(lines, code):
            if any(_same(loaded, code) for loaded in _as_loaded(node, function)):
                return node, ""
    except (SyntaxError, TokenError, IndexError):
        pass
    return None, f"{code.co_filename} has changed since {name} was loaded from it; load it again"


def _as_loaded(node: Function, function: FunctionType) -> Iterator[CodeType]:
    """What a definition compiles to; where pytest compiled the function, with asserts as pytest writes them."""
    if not any("@pytest_ar" in inner.co_names for inner in (function.__code__, *_inside(function.__code__))):
        yield _compiled(node, function)
    elif (pytest := sys.modules.get("_pytest.assertion.rewrite")) is not None:
        yield _compiled(deepcopy(node), function, lambda tree: pytest.rewrite_asserts(tree, b"", None, None))


def _owner(function: FunctionType) -> str:
    """The name of the class in which a function stands; "" for one that stands in none."""
    path = function.__qualname__.split(".")
    return path[-2] if len(path) > 1 and path[-2] != "<locals>" else ""


def _definition(lines: list[str], code: CodeType) -> Sequence[Function]:
    """The function that begins, with its decorators, where `code` does; it alone is parsed, for files may be long."""
    first = code.co_firstlineno - 1
    indented = bool(lines[first:]) and lines[first][:1].isspace()
    above = "\n" * (first - 1) + "if 1:\n" if indented else "\n" * first
    try:
        tree = ast.parse(above + "".join(lines[first : _last_line(code)]))
    except SyntaxError:  # the last instruction stands before the last bracket, say
        tree = ast.parse(above + "".join(getblock(lines[first:])))
    definitions = tree.body[:1]
    if definitions and isinstance(definitions[0], ast.If):
        definitions = definitions[0].body[:1]
    return [node for node in definitions if isinstance(node, ast.FunctionDef) and node.name == code.co_name]


def _last_line(code: CodeType) -> int:
    inner = [_last_line(c) for c in code.co_consts if isinstance(c, CodeType)]
    return max([end or 0 for _, end, _, _ in code.co_positions()] + inner)


def _lambdas(lines: list[str], code: CodeType) -> Sequence[Function]:
    """The lambdas on the line of `code`: where they begin and end needs all of the file."""
    tree = _parsed("".join(lines))
    return [deepcopy(n) for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]


@lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _same(found: CodeType, code: CodeType) -> bool:
    """Whether two code objects, and the functions in them, do the same."""
    if _interface(found) != _interface(code):
        return False
    one, other = ((c.co_code, c.co_exceptiontable, c.co_names, repr(_constants(c, False))) for c in (found, code))
    if one != other and _meaning(found) != _meaning(code):
        return False
    inner, wanted = _constants(found, True), _constants(code, True)
    return len(inner) == len(wanted) and all(map(_same, inner, wanted))


def _interface(code: CodeType) -> tuple[object, ...]:
    """How a function is called, and what it shares with the functions around it and in it."""
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    arguments = code.co_varnames[: sum((code.co_argcount, code.co_kwonlyargcount))]
    of_call = code.co_flags & (
        inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE
    )
    free = {name for name in code.co_freevars if name != HOOKS}
    return counts, arguments, of_call, free, set(code.co_cellvars)


def _constants(code: CodeType, functions: bool) -> list[Any]:
    return [c for c in code.co_consts if isinstance(c, CodeType) is functions]


def _meaning(code: CodeType) -> tuple[list[tuple[str, object]], list[tuple[int, ...]]]:
    """What the instructions do, where they jump to, and what is done about exceptions, but for how methods are called:
    that hangs on what the rest of the file imports. Places are counted in the instructions that are left."""
    kept = [step for step in dis.get_instructions(code) if step.opname not in _WITHOUT_MEANING]
    offsets = [step.offset for step in kept]
    steps: list[tuple[str, object]] = []
    for step in kept:
        jumps = step.opcode in dis.hasjrel or step.opcode in dis.hasjabs
        meant = None if isinstance(step.argval, CodeType) else repr(step.argval)
        steps.append(
            (step.opname.replace("LOAD_METHOD", "LOAD_ATTR"), bisect_left(offsets, step.argval) if jumps else meant)
        )
    handlers = [
        (*(bisect_left(offsets, place) for place in (entry.start, entry.end, entry.target)), entry.depth, entry.lasti)
        for entry in dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    ]
    return steps, handlers


#: Instructions that only make room, or belong to how methods are called.
_WITHOUT_MEANING = frozenset({"CACHE", "PRECALL", "RESUME", "NOP", "EXTENDED_ARG", "PUSH_NULL"})


def _compiled(
    node: Function, function: FunctionType, change: Callable[[ast.Module], None] = lambda tree: None
) -> CodeType:
    """The code object of a function, inside a function that binds its free variables, and in a class of the same name
    where it stood in one, so that private names come out the same; of the tree after a `change`."""
    code = function.__code__
    at: Any = {"lineno": 1, "col_offset": 0}
    inner: ast.stmt = ast.Expr(node, **at) if isinstance(node, ast.Lambda) else _bare(node)
    if owner := _owner(function):
        inner = ast.ClassDef(owner, [], [], [inner], [], **_NO_TYPES, **at)
    names = [ast.arg(name, **at) for name in (*code.co_freevars, HOOKS)]
    # What calls itself or its class by a name of the module finds no variable of the function around it here.
    name = owner or code.co_name
    own: list[ast.stmt] = []
    if name.isidentifier() and name not in code.co_freevars:
        own = [ast.Global([name], **at)]
    outer = ast.FunctionDef(
        _OUTER, ast.arguments([], names, None, [], [], None, []), [*own, inner], [], **_NO_TYPES, **at
    )
    modules = [n for n in code.co_names if isinstance(function.__globals__.get(n), ModuleType)]
    imports = [ast.Import([ast.alias(name, **at)], **at) for name in modules]  # methods of modules compile otherwise
    flags = code.co_flags & 0x3FF0000  # what `from __future__ import` decided
    tree = ast.Module([*imports, outer], [])
    change(tree)
    compiled = compile(tree, code.co_filename, "exec", flags, dont_inherit=True)
    return next(found for found in _inside(compiled) if found.co_name == code.co_name)


#: What no function of a user's is called.
_OUTER = ".outer"
_NO_TYPES: Any = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}


def _inside(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inside(constant)


def _bare(node: ast.FunctionDef) -> ast.FunctionDef:
    """The function without what is computed when it is defined."""
    args = node.args
    bare = ast.arguments(
        args.posonlyargs, args.args, args.vararg, args.kwonlyargs, [None] * len(args.kwonlyargs), args.kwarg, []
    )
    return ast.copy_location(ast.FunctionDef(node.name, bare, node.body, [], **_NO_TYPES), node)
