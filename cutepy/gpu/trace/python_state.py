"""The state of Python that code can reach: which library an object belongs to, what a name refers to, what an object
holds.

Law: a `Walk` notes every place that it reads. While none of them `changed`, each holds the same object as then, and a
second walk would find the same.
"""

import builtins
import operator
import sysconfig
import types
from abc import ABCMeta
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from gc import get_referents as referents
from itertools import chain, compress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from ...tensor.tensor import Tensor
from .bytecode import Instruction, instructions
from .pure_libraries import UNREADABLE, is_pure_module, is_standard

Chain = tuple[str, ...]
Parts = tuple[object, ...]
Look = Callable[[], Parts]
Space = Mapping[Any, object]
Spot = tuple[Space, object, object, str]
"""A place of a namespace: its key, what it held, and what the user calls it."""
T = TypeVar("T")
MISSING = object()


class Cell(Protocol):
    """A place as of a variable."""

    @property
    def cell_contents(self) -> object: ...


#: Containers, also as bases of classes.
HOLDING = (tuple, list, set, frozenset, deque, dict, types.MappingProxyType)
#: The attributes of classes of C in which their objects keep references.
PARTS: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__func__", "__self__"),
    types.BuiltinFunctionType: ("__name__", "__self__"),
    types.MethodWrapperType: ("__name__", "__self__"),
    partial: ("func", "args", "keywords"),
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    slice: ("start", "stop", "step"),
    defaultdict: ("default_factory",),
    deque: ("maxlen",),
    BaseException: ("args",),
}
_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
_STORE = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "STORE_DEREF", "DELETE_DEREF"})
_FREE = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_OF_ARRAYS = frozenset({"shape", "dtype", "ndim", "size", "layout"})
_EQUAL = (int, str, bytes)
_MADE_WITH = ("cutepy", "numpy", "sympy", "wgpu")
_PURE = frozenset({*_MADE_WITH, "builtins", "typing", "abc", "enum", "functools", "collections"})
#: Containers of such modules that are written in Python, and hold what they hold in attributes.
_WRAPPERS = (ChainMap, UserDict, UserList)
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
    return is_library(kind.__module__) and not _is_made(kind) and kind not in _WRAPPERS


def _is_made(kind: type) -> bool:
    """Whether a text without a module makes a class that says that it is Python's own: those are in no heap."""
    return kind.__module__ == "builtins" and bool(kind.__flags__ & _ON_THE_HEAP)


@dataclass(frozen=True, slots=True)
class References:
    """What code refers to outside of itself: names, with the attributes taken of them. `CONFIG.tile.m` is the chain
    ("CONFIG", "tile", "m"): chains from globals and builtins, and from variables of enclosing functions; modules that
    are imported; names and attributes that are set; attributes of `UNREADABLE`."""

    outer: tuple[Chain, ...]
    free: tuple[Chain, ...]
    imported: tuple[str, ...]
    stored: tuple[str, ...]
    unreadable: tuple[str, ...]


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
    texts = [text for text in code.co_consts if isinstance(text, str)]
    unreadable = dict.fromkeys(sorted(UNREADABLE & {*code.co_names, *texts}))
    steps = list(instructions(code))
    for at, (name, _, meant) in enumerate(steps):
        if name in _GLOBAL and str(meant).isidentifier():  # others are what pytest puts into a function for its asserts
            outer[_chain(steps, at)] = None
        elif name in _FREE and meant in code.co_freevars:
            free[_chain(steps, at)] = None
        elif name in _STORE:
            stored[str(meant)] = None
        elif name == "IMPORT_NAME":
            imported["" if steps[at - 2].meant else str(meant)] = None  # a level means: of this package
    for inner in code.co_consts:  # what LOAD_CLOSURE hands to it, its own chains tell
        if isinstance(inner, types.CodeType):
            names = references(inner)
            outer |= dict.fromkeys(names.outer)
            imported |= dict.fromkeys(names.imported)
            stored |= dict.fromkeys(names.stored)
            unreadable |= dict.fromkeys(names.unreadable)
            free |= dict.fromkeys(chain for chain in names.free if chain[0] in code.co_freevars)
    return References(tuple(outer), tuple(free), tuple(imported), tuple(stored), tuple(unreadable))


def _chain(steps: list[Instruction], at: int) -> Chain:
    names = [str(steps[at].meant)]
    for step in steps[at + 1 :]:
        if step.name not in _ATTRIBUTE:
            break
        names.append(str(step.meant))
    return tuple(names)


@dataclass(frozen=True, slots=True)
class ContainerContents:
    """What a thing holds: `look` gives the parts as they are now, the keys before the values where it is `keyed`;
    `spelling` is how the program writes a part after the name of the whole; a `fixed` thing keeps its parts; `size`
    counts the parts, where that is quicker."""

    look: Look
    spelling: str
    keyed: bool = False
    fixed: bool = False
    size: Callable[[], int] | None = None

    def names(self, parts: Parts) -> list[str]:
        if self.keyed:
            half = len(parts) // 2
            return [""] * half + [self.spelling.format(key) for key in parts[:half]]
        return [self.spelling.format(i) for i in range(len(parts))]


def contents(value: object) -> ContainerContents | None:
    """What a container holds, by the methods of its base class: a class derived from it may have others."""
    kind = type(value)
    if issubclass(kind, types.MappingProxyType):
        (value,) = referents(value)
        kind = type(value)
    if issubclass(kind, OrderedDict):  # its order is its own, whatever the dictionary below it says
        ordered: Any = value
        return ContainerContents(
            lambda: (*OrderedDict.keys(ordered), *OrderedDict.values(ordered)), "[{!r}]", keyed=True
        )
    if issubclass(kind, dict):
        table: Any = value
        return ContainerContents(lambda: (*dict.keys(table), *dict.values(table)), "[{!r}]", keyed=True)
    for base in (tuple, list, set, frozenset, deque):
        if issubclass(kind, base):
            return ContainerContents(partial(_items_of, base, value), "[{}]", fixed=base in (tuple, frozenset))
    return None


def _items_of(base: Any, value: object) -> Parts:
    return tuple(base.__iter__(value))


def fields(value: object) -> Iterator[ContainerContents]:
    """What an object holds in its slots and in its attributes."""
    slots = _slots_of(type(value))
    if slots:
        yield ContainerContents(lambda: (*slots, *[_in_slot(slots[name], value) for name in slots]), ".{}", keyed=True)
    space = attributes_of(value)
    if space is not None:
        yield ContainerContents(lambda: (*space.keys(), *space.values()), ".{}", keyed=True, size=space.__len__)


def attributes_of(value: object) -> dict[str, object] | None:
    """The dictionary of an object's own attributes, whatever its class makes of the name `__dict__`."""
    for base in mro_of(value):
        own = vars(base).get("__dict__")
        if isinstance(own, types.GetSetDescriptorType | types.MemberDescriptorType):
            attributes: dict[str, object] = own.__get__(value)
            return attributes
    return None


def mro_of(value: object) -> tuple[type, ...]:
    """The classes in which attributes of an object are looked up."""
    return _MRO(type(value))


_MRO: Callable[[type], tuple[type, ...]] = vars(type)["__mro__"].__get__  # a metaclass may have another


def _slots_of(kind: type) -> dict[str, types.MemberDescriptorType]:
    """The slots of all bases; `__name` is kept as `_Class__name`, and a derived class may have a slot of equal name."""
    slots: dict[str, types.MemberDescriptorType] = {}
    for base in filter(is_written_in_python, kind.__mro__):
        for name, slot in vars(base).items():
            if isinstance(slot, types.MemberDescriptorType) and slot.__objclass__ is base and name != "__dict__":
                slots[f"{base.__name__}.{name}" if name in slots else name] = slot
    return slots


def _in_slot(slot: types.MemberDescriptorType, value: object) -> object:
    try:
        return slot.__get__(value)
    except AttributeError:  # nothing is assigned
        return MISSING


def is_written_in_python(kind: type) -> bool:
    """Whether a `class` statement made a class: one of C has descriptors of its own, and storage that nothing names."""
    return bool(kind.__flags__ & _ON_THE_HEAP) and not any(
        isinstance(part, _OF_C) and part.__objclass__ is kind and name not in ("__dict__", "__weakref__")
        for name, part in vars(kind).items()
    )


_ON_THE_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_OF_C = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
)


def class_spaces(kind: type, still: Callable[[str | None], bool]) -> Iterator[tuple[type, Space, list[str]]]:
    """The classes of users that a class is made of, with what they define: methods and constants."""
    for base in kind.__mro__:
        if not still(base.__module__) or _is_made(base):
            space = vars(base)
            yield base, space, [name for name in space if name not in _MADE_BY_PYTHON]


#: What Python itself puts into a class, beside what the text of the class says; `_abc_impl` is read by `registered`.
_MADE_BY_PYTHON = frozenset({"__dict__", "__weakref__", "__annotations__", "__slots__", "_abc_impl"})


def same(now: object, before: object) -> bool:
    if now is before or type(now) is not type(before):
        return now is before
    if type(now) is tuple and type(before) is tuple:
        return are_same(now, before)
    return type(now) in _EQUAL and bool(now == before)


def are_same(now: Parts, before: Parts) -> bool:
    if len(now) != len(before):
        return False
    return all(map(operator.is_, now, before)) or all(map(same, now, before))


def _is_cutepy(module: str | None) -> bool:
    return (module or "").partition(".")[0] == "cutepy"


def _is_of_attributes(look: Callable[[], object]) -> bool:
    """Whether it gives so many attributes of one object, as a tuple."""
    return isinstance(look, partial) and isinstance(look.func, operator.attrgetter) and not look.keywords


class Walk:
    """The places that were read, and the ways from one to the next; `still` says which modules' things stay."""

    still: Callable[[str | None], bool] = staticmethod(_is_cutepy)

    def __init__(self) -> None:
        self.spots: list[Spot] = []
        self.looks: list[tuple[Callable[[], Any], Any, Callable[[Any, Any], bool], str]] = []
        self.bases: dict[int, tuple[type, ...]] = {}
        self._sorted: tuple[int, int] | None = None

    def _sort(self) -> None:
        """Part what was read into what C compares, which are tuples of as many objects each time, single objects and
        names that are not there, and the rest."""
        spaces: dict[int, tuple[Space, dict[object, object]]] = {}
        self._rest_of_spots: list[Spot] = []
        self._single: list[Callable[[], Any]] = []
        for spot in self.spots:
            space, key, value, _ = spot
            if type(space) is dict and value is MISSING:
                self._single.append(partial(space.get, key, MISSING))
                continue
            there = spaces.setdefault(id(space), (space, {}))[1]
            if type(space) is not dict or there.setdefault(key, value) is not value:
                self._rest_of_spots.append(spot)
        # Of one key `itemgetter` gives no tuple.
        read = [(space, [*there, next(iter(there))], there) for space, there in spaces.values() if there]
        tuples: list[tuple[Callable[[], Any], Any]] = [
            (partial(operator.itemgetter(*keys), space), [there[key] for key in keys]) for space, keys, there in read
        ]
        tuples += [(look, before) for look, before, *_ in self.looks if _is_of_attributes(look)]
        others = [one for one in self.looks if not _is_of_attributes(one[0])]
        single = [type(before) is not tuple and look() is before for look, before, *_ in others]
        self._tuples = [look for look, _ in tuples]
        self._held = [part for _, parts in tuples for part in parts] + [MISSING] * len(self._single)
        self._single += [look for look, *_ in compress(others, single)]
        self._held += [before for _, before, *_ in compress(others, single)]
        self._rest_of_looks = [one for one, alone in zip(others, single, strict=True) if not alone]
        self._sorted = len(self.spots), len(self.looks)

    def changed(self) -> str | None:
        """The first place that holds something else now, as the user would write it."""
        if self._sorted != (len(self.spots), len(self.looks)):
            self._sort()
        # Nearly all places hold the very object.
        spots, looks = self._rest_of_spots, self._rest_of_looks
        now_held = chain(chain.from_iterable(map(operator.call, self._tuples)), map(operator.call, self._single))
        try:
            if not all(map(operator.is_, now_held, self._held)):
                spots, looks = self.spots, self.looks
        except (AttributeError, KeyError):
            spots, looks = self.spots, self.looks
        for space, key, value, name in spots:
            now = space.get(key, MISSING)
            if now is not value and not same(now, value):
                return name
        for look, before, are_equal, name in looks:
            after = look()
            if after is not before and not are_equal(after, before):
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

    def held(self, held: ContainerContents, name: str) -> list[tuple[str, object]]:
        """The members of an object, with their names."""
        parts = held.look() if held.fixed else self.watch(held.look, name, are_same)
        if not parts and held.size is not None:
            self.looks[-1] = held.size, 0, operator.eq, name
        return [(name + piece, part) for piece, part in zip(held.names(parts), parts, strict=True)]

    def outer(self, space: Space, chain: Chain) -> tuple[str, object]:
        """What `name.attribute...` is for code with these globals, as far as it is known."""
        value = self.place(space, chain[0], chain[0])
        if value is MISSING:
            value = self.place(builtin_names(space), chain[0], chain[0])
        return self.follow(value, chain)

    def free(self, cells: Mapping[str, types.CellType], used: References) -> Iterator[tuple[str, object]]:
        """What the variables of enclosing functions are for a function that uses them."""
        for names in used.free:
            yield self.enclosed(cells[names[0]], names)

    def enclosed(self, cell: types.CellType, chain: Chain) -> tuple[str, object]:
        """What `name.attribute...` is for a variable of an enclosing function."""
        return self.follow(self.content(cell, chain[0]), chain)

    def content(self, cell: types.CellType, name: str) -> object:
        """What a variable of an enclosing function is, noted."""
        return self.watch(partial(content_of, cell), name)

    def follow(self, value: object, chain: Chain) -> tuple[str, object]:
        """Follow attributes while they are plain entries of a namespace, so that what is not used does not count."""
        name = chain[0]
        for attribute in chain[1:]:
            inner = f"{name}.{attribute}"
            held = self.attribute(value, attribute, inner)
            if held is MISSING:
                break
            name, value = inner, held
        return name, value

    def attribute(self, value: object, attribute: str, name: str) -> object:
        """What `value.attribute` is where that is an entry of a namespace; MISSING where code of a class decides."""
        kind = type(value)
        if isinstance(value, types.ModuleType):
            return self.module_attribute(value, attribute, name)
        if kind in (np.ndarray, Tensor) and attribute in _OF_ARRAYS:
            return self.watch(partial(getattr, value, attribute), name)
        if isinstance(value, types.FunctionType):
            return MISSING if attribute[:2] == "__" else self.place(vars(value), attribute, name)
        if isinstance(value, type):
            if kind not in _METACLASSES or attribute in vars(type):
                return MISSING
            found = self.class_attribute(value.__mro__, attribute, name)
            return MISSING if is_bound(found) else found
        if kind.__getattribute__ is not object.__getattribute__ or self.still(kind.__module__):
            return MISSING
        # A data descriptor of the class comes before the object's own entry; either may be added or removed later.
        bases = self.bases.get(id(value))
        if bases is None:
            bases = self.bases[id(value)] = self.watch(partial(mro_of, value), name)
            self.class_attribute(bases, "__getattribute__", name)
        found, own = self.class_attribute(bases, attribute, name), attributes_of(value)
        if own is None or is_bound(found):
            return MISSING
        mine = self.place(own, attribute, name)
        return found if mine is MISSING else mine

    def class_attribute(self, bases: tuple[type, ...], attribute: str, name: str) -> object:
        """What the first of these classes that has the attribute holds."""
        for base in bases:
            if base is not object:
                found = self.place(vars(base), attribute, name)
                if found is not MISSING:
                    return found
        return vars(object).get(attribute, MISSING)

    def module_attribute(self, module: types.ModuleType, attribute: str, name: str) -> object:
        """A module's entry; of a library, also one that it loads when it is asked for."""
        if self.still(module.__name__) or type(module) is not types.ModuleType:
            return MISSING
        if attribute not in vars(module) and (is_pure_module(module.__name__) or is_standard(module.__name__)):
            return getattr(module, attribute, MISSING)
        return self.place(vars(module), attribute, name)


_METACLASSES = (type, ABCMeta)


def builtin_names(space: Space) -> Space:
    """The names that code with these globals finds last."""
    names = space.get("__builtins__", builtins)
    return names if isinstance(names, dict) else vars(names)


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
