"""Whether Python's objects hold what they held when a block of the kernel began.

Law: every list, dict, set, array, closure, class and object of a user's that code in the block can reach, through the
names of its frame and those that it and the functions it can call mention, is compared part by part, by identity.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import _lru_cache_wrapper, partial
from gc import get_referents as referents
from itertools import combinations, combinations_with_replacement, cycle, permutations, product, tee
from operator import length_hint
from types import CellType, CodeType, FrameType, FunctionType, GeneratorType, ModuleType

import numpy as np

from ...errors import KernelError
from ..ir import Expr
from ..ir.place import user_place
from .mutable_places import Item
from .python_state import (
    HOLDING,
    PARTS,
    ContainerContents,
    Parts,
    Space,
    Walk,
    are_same,
    cells_of,
    class_spaces,
    content_of,
    contents,
    fields,
    is_library,
    is_of_library,
    is_written_in_python,
    references,
)
from .rewrite_source import written

#: Objects that one block may reach; more are a mistake that a kernel should hear of.
MOST = 100_000
#: Most characters of the text that says how an object is reached: in a chain of objects each text begins with the last.
LONGEST_NAME = 200
#: Bytes of an array of numbers that is compared; a larger one is data, which no kernel keeps its state in.
MOST_BYTES = 1 << 20
_ATOMS = (int, float, str, bytes, bool, complex, type(None), type(...), range, slice, Expr, CodeType)
_STATE = (np.ndarray, bytearray, memoryview, GeneratorType, CellType, _lru_cache_wrapper, *HOLDING, *PARTS)
#: Iterators that keep how far they have come in numbers that nothing tells.
_UNTOLD: tuple[type, ...] = (
    cycle,
    product,
    permutations,
    combinations,
    combinations_with_replacement,
    type(tee(())[0]),
)


class Snapshot(Walk):
    """The state of Python that the code of a frame can reach, but for what `items` hold, and `cells` of variables."""

    still = staticmethod(is_library)

    def __init__(self, frame: FrameType, items: Iterable[Item], cells: Mapping[str, CellType]) -> None:
        super().__init__()
        self.cells = set(map(id, cells.values()))
        self.carried: dict[int, set[object]] = {}
        for item in items:
            self.carried.setdefault(id(item.holder), set()).add(item.key)
        self.seen: dict[int, object] = {}
        names = sorted(frame.f_locals.items(), key=lambda named: named[0] not in cells)
        #: What is reached and not yet noted, by how the program writes it.
        self.pending = [(name, value) for name, value in names if name[0] != "."]
        self.globals(frame.f_globals, written(frame.f_code))
        for name, value in self.pending:  # which grows meanwhile
            self.note(name, value)

    def globals(self, namespace: Space, code: CodeType) -> None:
        """Watch what code with these globals means by the names that it reads (`CONFIG.tile`), and every name that it
        sets, as a global and in each module that it reads, for the byte code does not say whose name it is."""
        used = references(code)
        spaces = [("", namespace)]
        for chain in used.outer:
            name, value = self.outer(namespace, chain)
            self.pending.append((name, value))
            if isinstance(value, ModuleType) and not self.still(value.__name__):
                spaces.append((f"{name}.", vars(value)))
        for name, space in spaces:
            self.pending += [(name + stored, self.place(space, stored, name + stored)) for stored in used.stored]

    def note(self, name: str, value: object) -> None:
        """Watch what `value` holds, and go on to its parts."""
        if isinstance(value, _ATOMS) or id(value) in self.seen or self.is_fixed(value):
            return
        self.seen[id(value)], name = value, name[:LONGEST_NAME]
        if len(self.seen) > MOST:
            root = name.partition(".")[0].partition("[")[0]
            raise KernelError(
                f"{user_place()}: more than {MOST} Python objects can be reached from {root}: whether the kernel "
                "changes one is not to be found out; pass what it needs as keyword-only arguments"
            )
        self.watch(partial(type, value), name)
        if isinstance(value, FunctionType):
            self.function(name, value)
        elif isinstance(value, type):
            for _, space, names in class_spaces(value, self.still):
                self.pending += [(f"{name}.{key}", self.place(space, key, name)) for key in names]
            return
        else:
            self.pending.append((name, type(value)))
            self.inside(name, value)
        for held in fields(value):
            self.pending += self.held(self.without_items(held, getattr(value, "__dict__", None)), name)

    def without_items(self, held: ContainerContents, holder: object) -> ContainerContents:
        """What a thing holds, with None for each item."""
        keys = self.carried.get(id(holder))
        if keys is None:
            return held

        def look() -> Parts:
            parts = held.look()
            half = len(parts) // 2 if held.keyed else 0
            names = parts[:half] if held.keyed else range(len(parts))
            return (*parts[:half], *[None if key in keys else x for key, x in zip(names, parts[half:], strict=True)])

        return replace(held, look=look)

    def inside(self, name: str, value: object) -> None:
        """What a thing holds beside its attributes; how far an iterator has come."""
        for kind, members in PARTS.items():
            if isinstance(value, kind):
                self.pending += [(name, getattr(value, member)) for member in members]
        held = contents(value)
        if held is not None:
            self.pending += self.held(self.without_items(held, value), name)
        elif isinstance(value, bytearray | memoryview):
            self.watch(partial(bytes, value), name)
        elif isinstance(value, _lru_cache_wrapper):  # what it keeps of this block, it gives after it
            self.watch(lambda: value.cache_info().misses, name)
        elif isinstance(value, CellType):
            self.pending.append((name, self.content(value, name)))
        elif isinstance(value, np.ndarray) and value.dtype == object:
            self.watch(lambda: tuple(value.ravel().tolist()), name)
        elif isinstance(value, np.ndarray) and value.flags.writeable and value.nbytes <= MOST_BYTES:
            self.watch(value.tobytes, name)
        elif isinstance(value, GeneratorType):
            self.watch(lambda: (value.gi_frame is None, value.gi_frame and value.gi_frame.f_lasti), name)
            # It may stand where it stood an iteration of its own before: its variables, and what it goes through.
            self.referred(name, value)
        elif isinstance(value, _UNTOLD):
            raise KernelError(
                f"{user_place()}: {name} is an iterator, {type(value).__name__}, that does not tell how far it has "
                "come, and this block may take items of it; make a list of them, or take them before the block"
            )
        elif isinstance(value, Iterator):
            self.watch(lambda: (length_hint(value, -1), repr(value)), name)
            if not is_written_in_python(type(value)):
                self.referred(name, value)

    def referred(self, name: str, value: object) -> None:
        """Watch the objects that an iterator of C refers to: what it goes through, and, where it is a generator that is
        not running, the variables of its code."""

        def look() -> Parts:
            return () if getattr(value, "gi_running", False) else tuple(referents(value))

        self.pending += [(name, part) for part in self.watch(look, name, are_same)]

    def function(self, name: str, value: FunctionType) -> None:
        used, cells = references(value.__code__), cells_of(value)
        self.pending += self.free(cells, used)
        for stored in used.stored:
            if stored in cells:
                self.content(cells[stored], stored)
        self.pending += [(name, value.__defaults__), (name, value.__kwdefaults__)]
        self.globals(value.__globals__, value.__code__)

    def content(self, cell: CellType, name: str) -> object:
        return content_of(cell) if id(cell) in self.cells else super().content(cell, name)

    def is_fixed(self, value: object) -> bool:
        """Whether a value is cutepy's, Python's or NumPy's own, and so none of a kernel's state."""
        if isinstance(value, type):
            return is_of_library(value)
        if isinstance(value, FunctionType):  # a text without a module says that it is Python's own, which has none
            return self.still(value.__module__) and value.__module__ not in (None, "builtins")
        if isinstance(value, _STATE):
            return False
        return isinstance(value, ModuleType) or (is_of_library(type(value)) and not isinstance(value, Iterator))
