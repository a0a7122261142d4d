"""What a kernel is beside its arguments: the values that its code finds outside of itself, and its static arguments.

Law: two calls with equal keys trace the same kernel. A key holds values by type and bits, the functions of users by
their code and what that captures in turn, the contents of containers and objects, and everything that Python, NumPy and
other installed packages define by identity. What can change unseen, such as the elements of an array, is refused.
"""

import builtins
import dataclasses
import enum
import operator
import struct
import sys
import types
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from functools import cached_property, lru_cache, partial
from logging import Logger
from numbers import Number
from typing import Any, TypeVar, cast

import numpy as np

from ...errors import KernelError
from ...layout import ComposedLayout, Layout, Swizzle
from ...tensor.dtypes import DType
from ...tensor.engine import CoordinateEngine, CountingEngine
from ...tensor.tensor import Tensor
from .references import Chain, references

T = TypeVar("T")
#: Keys that one kernel numbers; then it begins anew, and what was traced before is traced again if it is met again.
NUMBERED = 4096
_MISSING = object()
_PLAIN = frozenset({int, str, bool, bytes, type(None), type(Ellipsis), type(NotImplemented), range})
_BY_VALUE = (Layout, ComposedLayout, Swizzle, DType, np.dtype)
_FIXED = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc, Logger)
_UNREADABLE = frozenset({"eval", "exec", "globals", "__import__"})
_OF_ARRAYS = frozenset({"shape", "dtype", "ndim", "size", "layout"})
_NUMBERS_AND_TEXT: tuple[type[Any], ...] = (int, float, complex, str, bytes)
_HOLDING = (tuple, list, set, frozenset, deque, dict, types.MappingProxyType)
#: Where the parts of a thing are that is nothing but its parts.
_PARTS = {
    types.MethodType: ("__func__", "__self__"),
    types.BuiltinFunctionType | types.MethodWrapperType: ("__name__", "__self__"),
    partial: ("func", "args", "keywords"),
    property: ("fget",),
    staticmethod | classmethod: ("__func__",),
    cached_property: ("func",),
    slice: ("start", "stop", "step"),
}


class Snapshot:
    """The key of a value as it was, and where to look whether it still is: a change elsewhere cannot change the key."""

    __slots__ = ("key", "number", "places", "tests", "value")

    def __init__(self, value: object) -> None:
        self.value = value
        self.key: Hashable = None
        self.number = 0
        self.places: list[tuple[Mapping[Any, object], object, object]] = []
        self.tests: list[Callable[[], bool]] = []

    def holds(self) -> bool:
        """Whether every place that was read holds the same object as then."""
        for space, name, value in self.places:
            if space.get(name, _MISSING) is not value:
                return False
        for test in self.tests:
            if not test():
                return False
        return True


class Captures:
    """The keys of one kernel function: `captured()` of what it finds outside, `static(...)` of its static arguments.

    Both number what they see, so that a key is short; the places that were read are compared by identity first.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = cast(types.FunctionType, function)
        self._numbers: dict[Hashable, int] = {}
        self._next = 0
        self._last: Snapshot | None = None
        self._static: dict[str, Snapshot] = {}

    def captured(self) -> int:
        """A number for the values that the function and its helpers find outside of themselves now."""
        last = self._last
        if last is None or not last.holds():
            last = self._numbered(_Reader(self.function, f"{self.function.__name__} uses").kernel(self.function))
            self._last = last
        return last.number

    def static(self, static: Mapping[str, object]) -> Hashable:
        """A key for the static arguments; 2, 2.0 and True are three values, also inside tuples, and 0.0 is not -0.0."""
        return tuple([(name, type(v), v if type(v) in _PLAIN else self._of(name, v)) for name, v in static.items()])

    def _of(self, name: str, value: object) -> int:
        last = self._static.get(name)
        if last is None or last.value is not value or not last.holds():
            where = f"{self.function.__name__}: static argument"
            last = self._static[name] = self._numbered(_Reader(value, where).whole(name))
        return last.number

    def _numbered(self, found: Snapshot) -> Snapshot:
        number = self._numbers.get(found.key)
        if number is None:
            if len(self._numbers) >= NUMBERED:
                self._numbers.clear()
                self._static.clear()
            number = self._numbers[found.key] = self._next
            self._next += 1
        found.number = number
        return found


def key_of(value: object, where: str) -> Hashable:
    """The key of a value that does not change."""
    return _Reader(value, where).whole("").key


class _Reader:
    """Reads one value to its depth, noting every place that it reads."""

    def __init__(self, value: object, where: str) -> None:
        self.found, self.where = Snapshot(value), where
        self.met: dict[int, tuple[int, object]] = {}

    def whole(self, name: str) -> Snapshot:
        self.found.key = self.value(self.found.value, name)
        return self.found

    def kernel(self, function: types.FunctionType) -> Snapshot:
        """The kernel itself, with the defaults of its static arguments; the globals of cutepy's own do not change."""
        self.met[id(function)] = 0, function
        code = self.code(function, with_globals=not _is_installed(function.__module__))
        self.found.key = code, self.value(function.__kwdefaults__, "the defaults of its static arguments")
        return self.found

    def value(self, value: object, name: str) -> Hashable:
        """The key of `value`, which the user's program calls `name`."""
        kind = type(value)
        if kind in _PLAIN or isinstance(value, _BY_VALUE):
            return kind, value
        if kind is float:
            return float, struct.pack("<d", value)
        if kind is complex:
            return complex, struct.pack("<dd", cast(complex, value).real, cast(complex, value).imag)
        if isinstance(value, np.generic):
            return kind, value.tobytes()
        if isinstance(value, _FIXED) and not _is_of_an_object(value):
            return value
        if isinstance(value, types.ModuleType):
            return self.module(value, name)
        if id(value) in self.met:
            return "met", self.met[id(value)][0]
        self.met[id(value)] = len(self.met), value
        return kind, self.compound(value, name)

    def compound(self, value: object, name: str) -> Hashable:
        """What has parts: each kind of thing as Python sees it."""
        if isinstance(value, types.FunctionType):
            return value if _is_installed(value.__module__) else self.function(value, name)
        if isinstance(value, type):
            return (value, *self.class_parts(value))
        if isinstance(value, enum.Enum):
            return self.value((type(value), value.name, value.value), name)
        if not _is_installed(type(value).__module__):
            return self.value(type(value), name), self.contents(value, name), self.attributes(value, name)
        for kind, names in _PARTS.items():
            if isinstance(value, kind):
                return tuple([self.value(getattr(value, part), name) for part in names])
        if isinstance(value, _HOLDING):
            return self.contents(value, name)
        if isinstance(getattr(value, "__wrapped__", None), types.FunctionType):
            return self.value(value.__wrapped__, name)  # type: ignore[attr-defined]
        return self.installed(value, name)

    def contents(self, value: Any, name: str) -> Hashable:
        """What a number, a text or a container holds, also where its class is a user's."""
        if isinstance(value, _NUMBERS_AND_TEXT):
            return self.value(value.__getnewargs__(), name)
        if isinstance(value, dict | types.MappingProxyType):
            self.watch(lambda: list(value), _are_same)
            return tuple([(self.value(k, name), self.value(self.place(value, k), f"{name}[{k!r}]")) for k in value])
        if not isinstance(value, _HOLDING):
            return None
        items = list(value) if isinstance(value, tuple) else self.watch(lambda: list(value), _are_same)
        keys = [self.value(item, f"{name}[{i}]") for i, item in enumerate(items)]
        return frozenset(keys) if isinstance(value, set | frozenset) else tuple(keys)

    def installed(self, value: object, name: str) -> Hashable:
        """An object of an installed package: its fields, or itself where it compares by value or is cutepy's own."""
        kind = type(value)
        is_array = isinstance(value, np.ndarray | Tensor) or hasattr(kind, "__array_interface__")
        if is_array or hasattr(kind, "__dlpack__"):
            if not isinstance(getattr(value, "engine", None), CoordinateEngine | CountingEngine):
                raise KernelError(
                    f"{self.where} {name}, an array, whose elements may change: give it to the kernel as an argument "
                    f"of its own, or its numbers as a tuple, tuple({name}.tolist())"
                )
        if dataclasses.is_dataclass(value):
            fields = dataclasses.fields(value)
            return tuple([self.value(getattr(value, f.name), f"{name}.{f.name}") for f in fields])
        if isinstance(value, types.SimpleNamespace):
            return self.attributes(value, name)
        by_value = kind.__hash__ not in (None, object.__hash__)
        if by_value or _is_bound(value) or kind.__module__.split(".")[0] in ("cutepy", "typing"):
            return value, repr(value) if isinstance(value, Number) else ""
        raise KernelError(
            f"{self.where} {name}, a {kind.__module__}.{kind.__qualname__}, which may change unseen; give the kernel "
            "what it needs of it as a keyword-only argument: numbers, text, functions, tuples and dataclasses of them"
        )

    def attributes(self, value: object, name: str) -> Hashable:
        """The fields of an object of a user's class."""
        self.watch(lambda: type(value))
        slots = [slot for base in type(value).__mro__ for slot in _slots_of(base)]
        held = [(slot, self.watch(partial(getattr, value, slot, _MISSING))) for slot in slots]
        own = self.watch(lambda: getattr(value, "__dict__", None))
        if own is not None:
            self.watch(lambda: list(own), operator.eq)
            held += [(key, self.place(own, key)) for key in own]
        return tuple([(key, self.value(item, f"{name}.{key}")) for key, item in held if item is not _MISSING])

    def class_parts(self, value: type) -> list[Hashable]:
        """The methods and constants of a user's class and of those that it derives from."""
        parts: list[Hashable] = []
        for base in value.__mro__:
            if _is_installed(base.__module__):
                continue
            space = vars(base)
            self.watch(partial(len, space), operator.eq)
            for key in space:
                if not _is_made_by_python(key, space[key], issubclass(base, enum.Enum)):
                    parts.append((key, self.value(self.place(space, key), f"{base.__qualname__}.{key}")))
        return parts

    def function(self, function: types.FunctionType, name: str) -> Hashable:
        """A helper: its code and what that captures, its defaults and its attributes."""
        defaults = self.watch(lambda: function.__defaults__), self.watch(lambda: function.__kwdefaults__)
        return self.code(function), self.value(defaults, f"the defaults of {name}"), self.attributes(function, name)

    def code(self, function: types.FunctionType, *, with_globals: bool = True) -> Hashable:
        code = self.watch(lambda: function.__code__)
        used, parts = references(code), [cast("Hashable", code)]
        if with_globals:
            parts += [self.chain(function.__globals__, chain) for chain in used.outer]
            for module in used.imported:
                if not _is_installed(module or function.__module__):
                    raise KernelError(f"{self.where} `import {module}`; import it outside of the kernel")
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        for chain in used.free:
            parts.append(self.walk(self.watch(partial(_contents, cells[chain[0]])), chain))
        return tuple(parts)

    def chain(self, space: Mapping[str, object], chain: Chain) -> Hashable:
        """What `name.attribute...` is for code with these globals."""
        return self.walk(self.place(space, chain[0]), chain)

    def walk(self, value: object, chain: Chain) -> Hashable:
        """Follow the attributes as far as they are plain places, so that what is not used does not count."""
        name = chain[0]
        for attribute in chain[1:]:
            if isinstance(value, np.ndarray | Tensor) and attribute in _OF_ARRAYS:
                return self.value(self.watch(partial(getattr, value, attribute), operator.eq), f"{name}.{attribute}")
            spaces = _spaces(value)
            last = next((i for i, space in enumerate(spaces) if attribute in space), None)
            if last is None or (_is_bound(spaces[last][attribute]) and not isinstance(value, types.ModuleType)):
                break
            if not isinstance(value, type):
                self.watch(partial(type, value))
            for space in spaces[: last + 1]:
                value = self.place(space, attribute)
            name = f"{name}.{attribute}"
        if value is _MISSING and name in _UNREADABLE:
            raise KernelError(f"{self.where} {name}(), by which it may read anything; write the names that it reads")
        if value is _MISSING:
            return "missing", name, getattr(builtins, name, None)
        return self.value(value, name)

    def place(self, space: Mapping[str, object], name: str) -> object:
        value = space.get(name, _MISSING)
        self.found.places.append((space, name, value))
        return value

    def module(self, module: types.ModuleType, name: str) -> Hashable:
        if _is_installed(module.__name__):
            return module
        raise KernelError(f"{self.where} the module {name} as a value; write {name}.NAME for what it uses of it")

    def watch(self, read: Callable[[], T], same: Callable[[T, T], bool] = operator.is_) -> T:
        """What `read` gives, noted, so that it is read and compared again."""
        value = read()
        self.found.tests.append(lambda: same(read(), value))
        return value


def _is_of_an_object(value: object) -> bool:
    """Whether a function of C's is the method of an object that may change."""
    return not isinstance(getattr(value, "__self__", None), types.ModuleType | types.NoneType)


def _is_bound(value: object) -> bool:
    """Whether an attribute of a class is more than its value: a method, a property, a slot."""
    return hasattr(type(value), "__get__")


def _are_same(one: list[object], other: list[object]) -> bool:
    return len(one) == len(other) and all(map(operator.is_, one, other))


def _contents(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _MISSING


def _spaces(value: object) -> list[Mapping[str, object]]:
    """Where an attribute of `value` may be found by looking alone, first to last."""
    if isinstance(value, types.ModuleType):
        return [] if _is_installed(value.__name__) else [vars(value)]
    if isinstance(value, types.FunctionType):
        return [] if _is_installed(value.__module__) else [vars(value)]
    kind = value if isinstance(value, type) else type(value)
    if _is_installed(kind.__module__) or "__getattribute__" in vars(kind):
        return []
    own = [] if isinstance(value, type) else [getattr(value, "__dict__", {})]
    return own + [cast("Mapping[str, object]", vars(c)) for c in kind.__mro__]


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(s for s in names if s not in ("__dict__", "__weakref__"))


def _is_made_by_python(name: str, value: object, is_enum: bool) -> bool:
    """What Python puts into a class by itself, and what names no constant or method of the user's."""
    if isinstance(value, types.FunctionType):
        return value.__code__.co_filename == "<string>"  # a dataclass's __init__, say
    if isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
        return True
    return name.startswith("_abc_") or (name.startswith("__") and name.endswith("__")) or (is_enum and name[0] == "_")


@lru_cache(maxsize=1024)
def _is_installed(module: str | None) -> bool:
    """Whether a module is Python's, cutepy's or another package's: what it defines does not change in a session."""
    root = (module or "").partition(".")[0]
    if root in sys.stdlib_module_names or root == __name__.partition(".")[0]:
        return True
    found = sys.modules.get(root)
    places = [getattr(found, "__file__", None) or "", *getattr(found, "__path__", [])]
    return any("site-packages" in place or "dist-packages" in place for place in places)
