"""What a kernel is beside its arguments: the values that its code finds outside of itself, and its static arguments.

Law: two calls with equal keys trace the same kernel. A key holds values by type and bits, the functions of users by
their code and what that captures in turn, the contents of containers and objects, and everything that Python, NumPy and
other installed packages define by identity. What can change unseen, such as the elements of an array, is refused.
"""

import builtins
import dataclasses
import enum
import struct
import types
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from logging import Logger
from numbers import Number

import numpy as np

from ...errors import KernelError
from ...tensor.engine import CoordinateEngine, CountingEngine
from ...tensor.tensor import Tensor
from .reach import (
    BY_VALUE,
    HOLDING,
    MISSING,
    PARTS,
    Walk,
    cells_of,
    class_spaces,
    contents,
    fields,
    is_bound,
    is_installed,
    is_of_an_object,
    references,
)

#: Keys that one kernel numbers; then it begins anew, and what was traced before is traced again if it is met again.
NUMBERED = 4096
_PLAIN = frozenset({int, str, bool, bytes, type(None), type(Ellipsis), type(NotImplemented), range})
_FIXED = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc, Logger)
_UNREADABLE = frozenset({"eval", "exec", "globals", "__import__"})


class Captures:
    """The keys of one kernel function: `captured()` of what it finds outside, `static(...)` of its static arguments.

    Both number what they see, so that a key is short; the places that were read are compared by identity first.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        assert isinstance(function, types.FunctionType)
        self.function = function
        self._numbers: dict[Hashable, int] = {}
        self._next = 0
        self._last: _Reader | None = None
        self._static: dict[str, _Reader] = {}

    def captured(self) -> int:
        """A number for the values that the function and its helpers find outside of themselves now."""
        last = self._last
        if last is None or last.changed() is not None:
            last = self._numbered(_Reader(self.function, f"{self.function.__name__} uses").kernel(self.function))
            self._last = last
        return last.number

    def static(self, static: Mapping[str, object]) -> Hashable:
        """A key for the static arguments; 2, 2.0 and True are three values, also inside tuples, and 0.0 is not -0.0."""
        return tuple([(name, type(v), v if type(v) in _PLAIN else self._of(name, v)) for name, v in static.items()])

    def _of(self, name: str, value: object) -> int:
        last = self._static.get(name)
        if last is None or last.subject is not value or last.changed() is not None:
            where = f"{self.function.__name__}: static argument"
            last = self._static[name] = self._numbered(_Reader(value, where).whole(name))
        return last.number

    def _numbered(self, found: "_Reader") -> "_Reader":
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


class _Reader(Walk):
    """The key of one value, read to its depth."""

    def __init__(self, value: object, where: str) -> None:
        super().__init__()
        self.subject, self.where = value, where
        self.met: dict[int, tuple[int, object]] = {}
        self.key: Hashable = None
        self.number = 0

    def whole(self, name: str) -> "_Reader":
        self.key = self.value(name, self.subject)
        return self

    def kernel(self, function: types.FunctionType) -> "_Reader":
        """The kernel itself, with the defaults of its static arguments; the globals of cutepy's own do not change."""
        self.met[id(function)] = 0, function
        code = self.code(function, with_globals=not is_installed(function.__module__))
        self.key = code, self.value("the defaults of its static arguments", function.__kwdefaults__)
        return self

    def value(self, name: str, value: object) -> Hashable:
        """The key of `value`, which the user's program calls `name`."""
        kind = type(value)
        if kind in _PLAIN or isinstance(value, BY_VALUE):
            return kind, value
        if type(value) is float:
            return float, struct.pack("<d", value)
        if type(value) is complex:
            return complex, struct.pack("<dd", value.real, value.imag)
        if isinstance(value, np.generic):
            return kind, value.tobytes()
        if isinstance(value, _FIXED) and not is_of_an_object(value):
            return value
        if isinstance(value, types.ModuleType):
            if is_installed(value.__name__):
                return value
            raise KernelError(f"{self.where} the module {name} as a value; write {name}.NAME for what it uses of it")
        if id(value) in self.met:
            return "met", self.met[id(value)][0]
        self.met[id(value)] = len(self.met), value
        return kind, self.compound(value, name)

    def values(self, parts: Iterable[tuple[str, object]]) -> Hashable:
        return tuple([self.value(name, part) for name, part in parts if part is not MISSING])

    def compound(self, value: object, name: str) -> Hashable:
        """What has parts: each kind of thing as Python sees it."""
        if isinstance(value, types.FunctionType):
            return value if is_installed(value.__module__) else self.function(value, name)
        if isinstance(value, type):
            return (value, *self.class_parts(value))
        if isinstance(value, enum.Enum):
            return self.value(name, (type(value), value.name, value.value))
        if not is_installed(type(value).__module__):
            self.watch(partial(type, value), name)
            return self.value(name, type(value)), self.contents(value, name), self.attributes(value, name)
        for kind, names in PARTS.items():
            if isinstance(value, kind):
                return self.values([(name, getattr(value, part)) for part in names])
        if isinstance(value, HOLDING):
            return self.contents(value, name)
        wrapped = getattr(value, "__wrapped__", None)
        return self.value(name, wrapped) if isinstance(wrapped, types.FunctionType) else self.installed(value, name)

    def contents(self, value: object, name: str) -> Hashable:
        """What a number, a text or a container holds, also where its class is a user's."""
        if isinstance(value, complex):
            return self.value(name, complex(value))
        if isinstance(value, int | float | str | bytes):
            return self.value(name, value.__getnewargs__())
        held = contents(value)
        if held is None:
            return None
        keys = [self.value(inner, part) for inner, part in self.held(held, name)]
        return frozenset(keys) if isinstance(value, set | frozenset) else tuple(keys)

    def attributes(self, value: object, name: str) -> Hashable:
        return tuple([self.values(self.held(held, name)) for held in fields(value)])

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
            return self.values([(f"{name}.{f.name}", getattr(value, f.name)) for f in dataclasses.fields(value)])
        if isinstance(value, types.SimpleNamespace):
            return self.attributes(value, name)
        by_value = kind.__hash__ not in (None, object.__hash__)
        if by_value or is_bound(value) or kind.__module__.split(".")[0] in ("cutepy", "typing"):
            return value, repr(value) if isinstance(value, Number) else ""
        raise KernelError(
            f"{self.where} {name}, a {kind.__module__}.{kind.__qualname__}, which may change unseen; give the kernel "
            "what it needs of it as a keyword-only argument: numbers, text, functions, tuples and dataclasses of them"
        )

    def class_parts(self, value: type) -> list[Hashable]:
        """The methods and constants of a user's class and of those that it derives from."""
        parts: list[Hashable] = []
        for base, space, names in class_spaces(value, self.still):
            self.watch(partial(len, space), base.__qualname__)
            for key in names:
                inner = f"{base.__qualname__}.{key}"
                parts.append((key, self.value(inner, self.place(space, key, inner))))
        return parts

    def function(self, function: types.FunctionType, name: str) -> Hashable:
        """A helper: its code and what that captures, its defaults and its attributes."""
        defaults = [self.watch(partial(getattr, function, part), name) for part in ("__defaults__", "__kwdefaults__")]
        return (
            self.code(function),
            self.values([(f"the defaults of {name}", part) for part in defaults]),
            self.attributes(function, name),
        )

    def code(self, function: types.FunctionType, *, with_globals: bool = True) -> Hashable:
        code = self.watch(partial(getattr, function, "__code__"), function.__name__)
        used, found = references(code), [("", code)]
        if with_globals:
            found += [self.outer(function.__globals__, chain) for chain in used.outer]
            for module in used.imported:
                if not is_installed(module or function.__module__):
                    raise KernelError(f"{self.where} `import {module}`; import it outside of the kernel")
        return tuple([self.meaning(*pair) for pair in (*found, *self.free(cells_of(function), used))])

    def meaning(self, name: str, value: object) -> Hashable:
        """The key of what a name means, which may be nothing."""
        if value is MISSING and name in _UNREADABLE:
            raise KernelError(f"{self.where} {name}(), by which it may read anything; write the names that it reads")
        if value is MISSING:
            return "missing", name, getattr(builtins, name, None)
        return self.value(name, value)
