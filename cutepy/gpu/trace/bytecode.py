"""The instructions of Python's byte code: what each does, and the name that it speaks of.

Law: `instructions` gives what `dis.get_instructions` does, but for lines and jumps, in a fraction of its time.
"""

import dis
import sys
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

_SKIPPED = frozenset({"CACHE", "PRECALL", "RESUME", "NOP", "EXTENDED_ARG"})
#: By how many bits of flags the number of a name is moved up.
_FLAGS = {"LOAD_GLOBAL": 1} | ({"LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2} if sys.version_info >= (3, 12) else {})
_NAMES, _CONSTANTS = (frozenset(dis.opname[op] for op in ops) for ops in (dis.hasname, dis.hasconst))
_VARIABLES = frozenset(dis.opname[op] for op in (*dis.haslocal, *dis.hasfree))


class Instruction(NamedTuple):
    """One instruction: its name, the number that it is given, and the name, variable or constant of that number."""

    name: str
    number: int
    meant: object


def instructions(code: CodeType, start: int = 0) -> Iterator[Instruction]:
    """Those of `code` in order from the offset `start` on, without those of inner functions.

    >>> def area(r):
    ...     return math.pi * r * r
    >>> [step.meant for step in instructions(area.__code__) if step.name.startswith("LOAD")]
    ['math', 'pi', 'r', 'r']
    """
    text, above = code.co_code, 0
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    variables = (*code.co_varnames, *cells, *code.co_freevars)
    for at in range(start, len(text), 2):
        name, number = dis.opname[text[at]], above | text[at + 1]
        above = number << 8 if name == "EXTENDED_ARG" else 0
        if name in _SKIPPED:
            continue
        meant: object = number
        if name in _NAMES:
            meant = code.co_names[number >> _FLAGS.get(name, 0)]
        elif name in _CONSTANTS:
            meant = code.co_consts[number]
        elif name in _VARIABLES:  # of two in one, the first
            meant = variables[number >> 4 if name.count("_FAST") > 1 else number]
        yield Instruction(name, number, meant)
