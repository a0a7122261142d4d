"""What a kernel's author called something: the variable that the running statement assigns to."""

import dis
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

from ..ir.place import user_frame

_ASSIGNS = frozenset({"STORE_FAST", "STORE_NAME", "STORE_DEREF", "STORE_GLOBAL"})
_SKIPPED = frozenset({"CACHE", "PRECALL", "RESUME", "NOP", "EXTENDED_ARG", "KW_NAMES"})
#: How many values an instruction takes from the stack, of those that the neighbours in a tuple of calls are made of.
_TAKES = {"LOAD_ATTR": 1, "LOAD_METHOD": 1, "BINARY_OP": 2, "BINARY_SUBSCR": 2, "UNARY_NEGATIVE": 1, "PUSH_NULL": 0}
_CALLS = {"CALL": 2, "CALL_KW": 3}


def assigned_name(default: str) -> str:
    """The variable to which the user's line gives the value being made, `default` where it does something else.

    It reads the byte code after the call in progress: `a, b = make_fragment_like(x), make_fragment_like(y)` leaves both
    on Python's stack, and then stores the one to `a` and the other to `b`.
    """
    frame = user_frame(sys._getframe(1))
    return default if frame is None else _stored_to(frame.f_code, frame.f_lasti) or default


@lru_cache(maxsize=4096)
def _stored_to(code: CodeType, last: int) -> str:
    """The variable that gets the value which the instruction at `last` puts on the stack; "" if it goes elsewhere."""
    stack: list[object] = [_stored_to]  # the value, by this mark; what lies below it is not known
    for name, count, argument, change in _steps(code, last):
        if name == "SWAP":
            stack = [None] * (count - len(stack)) + stack
            stack[-1], stack[-count] = stack[-count], stack[-1]
            continue
        taken = _taken(name, count)
        if taken is None:
            return ""
        stack = [None] * (taken - len(stack)) + stack
        gone = stack[len(stack) - taken :]
        del stack[len(stack) - taken :]
        if name in _ASSIGNS and gone == [_stored_to]:
            return str(argument)
        if name == "BUILD_TUPLE":
            stack.append(gone)
        elif name == "UNPACK_SEQUENCE":
            parts = gone[0] if isinstance(gone[0], list) else [None] * count
            stack += parts[::-1]
        elif _stored_to in gone or any(isinstance(part, list) and _stored_to in part for part in gone):
            return ""
        else:
            stack += [None] * (1 if name in _CALLS else change + taken)  # 3.11 counts a call's operands elsewhere
    return ""


def _steps(code: CodeType, last: int) -> Iterator[tuple[str, int, object, int]]:
    """Name, argument, its meaning and the growth of the stack of the instructions after `last`; one for each store."""
    for step in dis.get_instructions(code):
        if step.offset <= last or step.opname in _SKIPPED:
            continue
        if step.opname.startswith("STORE_FAST_"):  # two in one
            first, second = step.argval
            yield "STORE_FAST", 0, first, -1
            stores = step.opname == "STORE_FAST_STORE_FAST"
            yield ("STORE_FAST", 0, second, -1) if stores else ("LOAD_FAST", 0, second, 1)
        else:
            growth = dis.stack_effect(step.opcode, step.arg, jump=False)
            yield step.opname, step.arg or 0, step.argval, growth


def _taken(name: str, count: int) -> int | None:
    """How many values an instruction takes from the stack; None where that does not matter for a tuple of calls."""
    if name in _CALLS:
        return count + _CALLS[name]
    if name == "BUILD_TUPLE":
        return count
    if name in _ASSIGNS or name == "UNPACK_SEQUENCE":
        return 1
    return 0 if name.startswith("LOAD_") and name not in _TAKES else _TAKES.get(name)
