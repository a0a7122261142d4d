"""What a code object refers to outside of itself, read from its byte code: names, with the attributes taken of them.

`CONFIG.tile.m` is the chain ("CONFIG", "tile", "m"). Functions and classes inside count with it.
"""

import dis
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType

Chain = tuple[str, ...]
_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_FREE = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_SKIPPED = frozenset({"CACHE", "PRECALL", "RESUME", "NOP", "EXTENDED_ARG"})


@dataclass(frozen=True, slots=True)
class References:
    """Chains from globals and builtins, chains from variables of enclosing functions, modules that are imported."""

    outer: tuple[Chain, ...]
    free: tuple[Chain, ...]
    imported: tuple[str, ...]


@lru_cache(maxsize=4096)
def references(code: CodeType) -> References:
    """The names that `code` and the code inside it read from outside.

    >>> def f(x):
    ...     return [math.pi * y + SCALE for y in x]
    >>> references(f.__code__).outer
    (('math', 'pi'), ('SCALE',))
    """
    outer: dict[Chain, None] = {}
    free: dict[Chain, None] = {}
    imported: dict[str, None] = {}
    steps = [step for step in dis.get_instructions(code) if step.opname not in _SKIPPED]
    for at, step in enumerate(steps):
        if step.opname in _GLOBAL:
            outer[_chain(steps, at)] = None
        elif step.opname in _FREE and step.argval in code.co_freevars:
            free[_chain(steps, at)] = None
        elif step.opname == "IMPORT_NAME":
            imported["" if steps[at - 2].argval else step.argval] = None  # a level means: of this package
    for inner in code.co_consts:  # what LOAD_CLOSURE hands to it, its own chains tell
        if isinstance(inner, CodeType):
            found = references(inner)
            outer |= dict.fromkeys(found.outer)
            imported |= dict.fromkeys(found.imported)
            free |= dict.fromkeys(chain for chain in found.free if chain[0] in code.co_freevars)
    return References(tuple(outer), tuple(free), tuple(imported))


def _chain(steps: list[dis.Instruction], at: int) -> Chain:
    names = [steps[at].argval]
    for step in steps[at + 1 :]:
        if step.opname not in _ATTRIBUTE:
            break
        names.append(step.argval)
    return tuple(names)
