"""The hooks in the user's code, by the names under which `hooks` calls them."""

import sys
from collections.abc import Iterable
from functools import partial
from types import FunctionType, MethodType
from typing import cast

from ...errors import KernelError
from ...tensor.engine import Scalars
from ..ir import Const, Expr
from ..ir.place import KERNEL_FILE, place_of
from ..simplify import simplify
from .blocks import Block, Plain, Tables, Unrolled
from .branches import Branch, Conditional, truth
from .branches import both as both
from .branches import choose as choose
from .branches import compared as compared
from .branches import either as either
from .branches import opposite as opposite
from .language import Loop, When, loop
from .state import current, is_known, tracing
from .syntax import with_hooks
from .turns import Repeated


def target(function: object) -> object:
    """`function` as code inside a trace calls it: the user's own Python functions with hooks, others as they are."""
    if function is range:
        return _range
    if isinstance(function, FunctionType):
        return with_hooks(function, sys.modules[__name__], KERNEL_FILE.get())
    if isinstance(function, MethodType):
        inner = target(function.__func__)
        return function if inner is function.__func__ else _bound(inner, function.__self__)
    if isinstance(function, partial):
        inner = target(function.func)
        assert callable(inner)
        return partial(inner, *function.args, **function.keywords)
    call = vars(type(function)).get("__call__")
    return _bound(target(call), function) if isinstance(call, FunctionType) else function


def _bound(function: object, instance: object) -> MethodType:
    assert callable(function)
    return MethodType(function, instance)


def _range(first: Scalars, *rest: Scalars) -> Iterable[object]:
    """`range`, and over values of the GPU a loop of the kernel."""
    if not any(isinstance(value, Expr) for value in (first, *rest)):
        return range(*cast(tuple[int, ...], (first, *rest)))
    start, stop, step = (0, first, 1) if not rest else (first, rest[0], rest[1] if len(rest) > 1 else 1)
    return loop(stop, start=start, step=step)


def look() -> None:
    """After a statement that may have changed an object of Python's."""
    trace = tracing()
    if trace is not None and trace.open:
        block, frame = trace.open[-1], sys._getframe(1)
        assert isinstance(block, Block)
        block.look(place_of(frame.f_code.co_filename, frame.f_lineno))


def leave(word: str, blocks: tuple[Block | Plain | Unrolled, ...], value: object = None) -> object:
    """Before a statement that leaves blocks."""
    frame = sys._getframe(1)
    for block in reversed(blocks):
        if isinstance(block, Block):
            way = {
                "break": "bound the loop, or let gpu.when decide about its body",
                "yield": "write the block where the value is used",
            }.get(word, "write `if condition: return` outside loops, or put what follows under the opposite condition")
            raise KernelError(
                f"{place_of(frame.f_code.co_filename, frame.f_lineno)}: {word} inside {block.what}: it would be done "
                f"once while tracing, and not by each thread; {way}"
            )
    return value


def conditional(subject: object, tables: Tables) -> Plain | Unrolled | Conditional:
    """What `with subject:` enters."""
    if not isinstance(subject, When):
        return Plain(subject)  # type: ignore[arg-type]
    condition = subject.condition
    if isinstance(condition, Expr) and not isinstance(condition, Const):
        return Conditional("gpu.when", subject.place, truth(condition), tables, sys._getframe(1))
    current("gpu.when").skipped |= is_known(condition, False)
    return Unrolled(runs=is_known(condition, True))


def branching(test: object, tables: Tables) -> Unrolled | Branch:
    """What `if test:` goes through."""
    frame = sys._getframe(1)
    condition = simplify(truth(test)) if isinstance(test, Expr) else test
    if isinstance(condition, Expr) and not isinstance(condition, Const):
        return Branch("if", place_of(frame.f_code.co_filename, frame.f_lineno), condition, tables, frame)
    return Unrolled(runs=bool(condition.value) if isinstance(condition, Const) else bool(condition))


def repeated(subject: object, tables: Tables, counters: tuple[str, ...]) -> Unrolled | Repeated:
    """What `for counters in subject:` goes through."""
    if isinstance(subject, Loop):
        return Repeated(subject, tables, counters, sys._getframe(1))
    return Unrolled(subject)  # type: ignore[arg-type]
