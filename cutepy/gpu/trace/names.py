"""What a kernel's author called something: the variable that the running statement assigns to."""

import dis
import sys
from functools import lru_cache
from types import CodeType

from ..ir.place import user_frame

_ASSIGNS = frozenset({"STORE_FAST", "STORE_NAME", "STORE_DEREF", "STORE_GLOBAL"})
_SKIPPED = frozenset({"CACHE", "PRECALL", "RESUME", "NOP"})


def assigned_name(default: str) -> str:
    """The variable to which the user's line gives the value being made, `default` where it does something else.

    It reads the byte code after the call in progress: `acc = make_fragment_like(x)` is a call and a store to `acc`.
    """
    frame = user_frame(sys._getframe(1))
    return default if frame is None else _next_store(frame.f_code, frame.f_lasti) or default


@lru_cache(maxsize=4096)
def _next_store(code: CodeType, last: int) -> str:
    for instruction in dis.get_instructions(code):
        if instruction.offset > last and instruction.opname not in _SKIPPED:
            return str(instruction.argval) if instruction.opname in _ASSIGNS else ""
    return ""
