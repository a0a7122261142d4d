"""What Python code reaches outside of itself: whose a thing is, what a name of the code means, what a thing holds.

Law: a `Walk` notes every place that it reads. While none of them `changed`, each holds the same object as then, and a
second walk would find the same.
"""

import enum
import operator
import sys
import sysconfig
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from ...layout import BitMap, ComposedLayout, Layout, Swizzle
from ...tensor.dtypes import DType
from ...tensor.tensor import Tensor
from .bytecode import Instruction, instructions

Chain = tuple[str, ...]
Parts = tuple[object, ...]
Look = Callable[[], Parts]
Space = Mapping[Any, object]
T = TypeVar("T")
MISSING = object()


class Cell(Protocol):
    """A place as of a variable."""

    @property
    def cell_contents(self) -> object: ...


#: What holds its parts and nothing else, also in a class derived from it.
HOLDING = (tuple, list, set, frozenset, deque, dict, types.MappingProxyType)
#: Where the parts of a thing are that is nothing but its parts.
PARTS = {
    types.MethodType: ("__func__", "__self__"),
    types.BuiltinFunctionType | types.MethodWrapperType: ("__name__", "__self__"),
    partial: ("func", "args", "keywords"),
    property: ("fget",),
    staticmethod | classmethod: ("__func__",),
    cached_property: ("func",),
    slice: ("start", "stop", "step"),
}
_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_STORE = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "STORE_DEREF", "DELETE_DEREF"})
_FREE = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_OF_ARRAYS = frozenset({"shape", "dtype", "ndim", "size", "layout"})
#: Values that cannot change, which are the same where they are equal.
BY_VALUE = (Layout, ComposedLayout, Swizzle, BitMap, DType, np.dtype)
_EQUAL = (int, str, bytes, *BY_VALUE)
_MADE_WITH = ("cutepy", "numpy", "sympy", "wgpu")
_PURE = frozenset({*_MADE_WITH, "builtins", "typing", "abc", "enum", "functools", "collections"})
PACKAGE = str(Path(__file__).parents[2])
_STANDARD = sysconfig.get_path("stdlib")


def is_users_file(file: str) -> bool:
    """Whether code in a file may speak of kernels: it is neither cutepy's, nor Python's, nor of what cutepy needs."""
    parts = Path(file).parts
    if "site-packages" in parts or "dist-packages" in parts:
        return not any(name in parts for name in _MADE_WITH)
    return not file.startswith((PACKAGE, _STANDARD, "<frozen"))


def is_library(module: str | None) -> bool:
    """Whether what a module defines keeps no state that the code of a kernel could change."""
    return (module or "builtins").partition(".")[0] in _PURE


def is_of_library(kind: type) -> bool:
    """Whether a class is of such a module; one that a text without a module makes only says that it is Python's own."""
    made = kind.__module__ == "builtins" and kind.__flags__ & 1 << 9  # Python's own are in no heap
    return is_library(kind.__module__) and not made


@lru_cache(maxsize=1024)
def is_installed(module: str | None) -> bool:
    """Whether a module is Python's, cutepy's or another package's: what it defines does not change in a session."""
    root = (module or "").partition(".")[0]
    if root in sys.stdlib_module_names or root == __name__.partition(".")[0]:
        return True
    found = sys.modules.get(root)
    places = [getattr(found, "__file__", None) or "", *getattr(found, "__path__", [])]
    return any("site-packages" in place or "dist-packages" in place for place in places)


@dataclass(frozen=True, slots=True)
class References:
    """What code refers to outside of itself: names, with the attributes taken of them. `CONFIG.tile.m` is the chain
    ("CONFIG", "tile", "m"): chains from globals and builtins, and from variables of enclosing functions; modules that
    are imported; names and attributes that are set."""

    outer: tuple[Chain, ...]
    free: tuple[Chain, ...]
    imported: tuple[str, ...]
    stored: tuple[str, ...]


@lru_cache(maxsize=4096)
def references(code: types.CodeType) -> References:
    """The names that `code` and the code inside it read and set outside, from its byte code.

    >>> def f(x):
    ...     return [math.pi * y + SCALE for y in x]
    >>> references(f.__code__).outer
    (('math', 'pi'), ('SCALE',))
    """
    outer: dict[Chain, None] = {}
    free: dict[Chain, None] = {}
    imported: dict[str, None] = {}
    stored: dict[str, None] = {}
    steps = list(instructions(code))
    for at, (name, _, meant) in enumerate(steps):
        if name in _GLOBAL:
            outer[_chain(steps, at)] = None
        elif name in _FREE and meant in code.co_freevars:
            free[_chain(steps, at)] = None
        elif name in _STORE:
            stored[str(meant)] = None
        elif name == "IMPORT_NAME":
            imported["" if steps[at - 2].meant else str(meant)] = None  # a level means: of this package
    for inner in code.co_consts:  # what LOAD_CLOSURE hands to it, its own chains tell
        if isinstance(inner, types.CodeType):
            found = references(inner)
            outer |= dict.fromkeys(found.outer)
            imported |= dict.fromkeys(found.imported)
            stored |= dict.fromkeys(found.stored)
            free |= dict.fromkeys(chain for chain in found.free if chain[0] in code.co_freevars)
    return References(tuple(outer), tuple(free), tuple(imported), tuple(stored))


def _chain(steps: list[Instruction], at: int) -> Chain:
    names = [str(steps[at].meant)]
    for step in steps[at + 1 :]:
        if step.name not in _ATTRIBUTE:
            break
        names.append(str(step.meant))
    return tuple(names)


@dataclass(frozen=True, slots=True)
class Held:
    """What a thing holds: `look` gives the parts as they are now, the keys before the values where it is `keyed`;
    `spelling` is how the program writes a part after the name of the whole; a `fixed` thing keeps its parts."""

    look: Look
    spelling: str
    keyed: bool = False
    fixed: bool = False

    def names(self, parts: Parts) -> list[str]:
        if self.keyed:
            half = len(parts) // 2
            return [""] * half + [self.spelling.format(key) for key in parts[:half]]
        return [self.spelling.format(i) for i in range(len(parts))]


def contents(value: object) -> Held | None:
    """What a container holds."""
    match value:
        case dict() | types.MappingProxyType():
            return Held(lambda: (*value.keys(), *value.values()), "[{!r}]", keyed=True)
        case set() | frozenset():
            return Held(lambda: tuple(sorted(value, key=id)), "[{}]")
        case tuple() | list() | deque():
            return Held(lambda: tuple(value), "[{}]", fixed=isinstance(value, tuple))
    return None


def fields(value: object) -> Iterator[Held]:
    """What an object holds in its slots and in its attributes."""
    slots = tuple([slot for base in type(value).__mro__ for slot in _slots_of(base)])
    if slots:
        yield Held(lambda: (*slots, *[getattr(value, slot, MISSING) for slot in slots]), ".{}", keyed=True)
    if hasattr(value, "__dict__"):
        yield Held(lambda: (*value.__dict__.keys(), *value.__dict__.values()), ".{}", keyed=True)


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple([s for s in names if s not in ("__dict__", "__weakref__")])


def class_spaces(kind: type, still: Callable[[str | None], bool]) -> Iterator[tuple[type, Space, list[str]]]:
    """The classes of users that a class is made of, with what they define: methods and constants."""
    for base in kind.__mro__:
        if not still(base.__module__):
            space = vars(base)
            is_enum = issubclass(base, enum.Enum)
            yield base, space, [name for name in space if not _is_made_by_python(name, space[name], is_enum)]


def _is_made_by_python(name: str, value: object, is_enum: bool) -> bool:
    """What Python puts into a class by itself, and what names no constant or method of the user's."""
    if isinstance(value, types.FunctionType):
        return value.__code__.co_filename == "<string>"  # a dataclass's __init__, say
    if isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
        return True
    return name.startswith("_abc_") or (name.startswith("__") and name.endswith("__")) or (is_enum and name[0] == "_")


def same(now: object, before: object) -> bool:
    if now is before or type(now) is not type(before):
        return now is before
    if type(now) is tuple and type(before) is tuple:
        return _are_same(now, before)
    return type(now) in _EQUAL and bool(now == before)


def _are_same(now: Parts, before: Parts) -> bool:
    if len(now) != len(before):
        return False
    return all(map(operator.is_, now, before)) or all(map(same, now, before))


class Walk:
    """The places that were read, and the ways from one to the next; `still` says which modules' things stay."""

    still: Callable[[str | None], bool] = staticmethod(is_installed)

    def __init__(self) -> None:
        self.spots: list[tuple[Space, object, object, str]] = []
        self.looks: list[tuple[Callable[[], Any], Any, Callable[[Any, Any], bool], str]] = []

    def changed(self) -> str | None:
        """The first place that holds something else now, as the user would write it."""
        for space, key, value, name in self.spots:
            now = space.get(key, MISSING)
            if now is not value and not same(now, value):
                return name
        for look, before, are_equal, name in self.looks:
            found = look()
            if found is not before and not are_equal(found, before):
                return name
        return None

    def place(self, space: Space, key: object, name: str) -> object:
        """What a namespace holds, noted."""
        value = space.get(key, MISSING)
        self.spots.append((space, key, value, name))
        return value

    def watch(self, look: Callable[[], T], name: str, same: Callable[[T, T], bool] = same) -> T:
        """What `look` gives, noted, so that it is looked at and compared again."""
        value = look()
        self.looks.append((look, value, same, name))
        return value

    def held(self, held: Held, name: str) -> list[tuple[str, object]]:
        """The parts of a thing, with their names."""
        parts = held.look() if held.fixed else self.watch(held.look, name, _are_same)
        return [(name + piece, part) for piece, part in zip(held.names(parts), parts, strict=True)]

    def outer(self, space: Space, chain: Chain) -> tuple[str, object]:
        """What `name.attribute...` is for code with these globals, as far as it is known."""
        return self.follow(self.place(space, chain[0], chain[0]), chain)

    def free(self, cells: Mapping[str, types.CellType], used: References) -> Iterator[tuple[str, object]]:
        """What the variables of enclosing functions are for a function that uses them."""
        for chain in used.free:
            yield self.follow(self.content(cells[chain[0]], chain[0]), chain)

    def content(self, cell: types.CellType, name: str) -> object:
        """What a variable of an enclosing function is, noted."""
        return self.watch(partial(content_of, cell), name)

    def follow(self, value: object, chain: Chain) -> tuple[str, object]:
        """Follow the attributes as far as they are plain places, so that what is not used does not count."""
        name = chain[0]
        for attribute in chain[1:]:
            if isinstance(value, np.ndarray | Tensor) and attribute in _OF_ARRAYS:
                name = f"{name}.{attribute}"
                return name, self.watch(partial(getattr, value, attribute), name)
            spaces = self.spaces(value)
            last = next((i for i, space in enumerate(spaces) if attribute in space), None)
            if last is None or (is_bound(spaces[last][attribute]) and not isinstance(value, types.ModuleType)):
                break
            inner = f"{name}.{attribute}"
            if not isinstance(value, type):
                self.watch(partial(type, value), name)
            for space in spaces[: last + 1]:
                value = self.place(space, attribute, inner)
            name = inner
        return name, value

    def spaces(self, value: object) -> list[Space]:
        """Where an attribute of `value` may be found by looking alone, first to last."""
        if isinstance(value, types.ModuleType):
            return [] if self.still(value.__name__) else [vars(value)]
        if isinstance(value, types.FunctionType):
            return [] if self.still(value.__module__) else [vars(value)]
        kind = value if isinstance(value, type) else type(value)
        if self.still(kind.__module__) or "__getattribute__" in vars(kind):
            return []
        own: list[Space] = [] if isinstance(value, type) else [getattr(value, "__dict__", {})]
        return own + [vars(c) for c in kind.__mro__]


def cells_of(function: types.FunctionType) -> dict[str, types.CellType]:
    """The variables of enclosing functions that a function uses."""
    return dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


def content_of(cell: Cell) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return MISSING


def is_bound(value: object) -> bool:
    """Whether an attribute of a class is more than its value: a method, a property, a slot."""
    return hasattr(type(value), "__get__")


def is_of_an_object(value: object) -> bool:
    """Whether a function of C's is the method of an object that may change."""
    return not isinstance(getattr(value, "__self__", None), types.ModuleType | types.NoneType)
