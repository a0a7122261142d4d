"""What a kernel is beside its arguments: the values that its code uses from outside, and its static arguments.

Law: two calls with equal keys trace the same kernel. A kind of value is part of the key by all that a program can read
of it, or it is refused: nothing is compared by `==` of its class, and nothing by identity but what `pure_libraries`
trusts.

| value | its key |
|---|---|
| a number, a text, a date | type and bits: 2, 2.0 and True are three values, 0.0 is not -0.0, a NaN is itself |
| a container | its items in order, by its base class of C, and its attributes |
| a function | its code, the values of the names in it, its closure, defaults and attributes |
| a class, an object of one | methods, constants, bases, metaclass; slots, attributes, and what its base of C holds |
| a value of cutepy's | the fields of its dataclass, or those that `__kernel_parts__` names |
| what may change unseen: an array, an iterator, `os.environ`, a context variable, a cache | refused |
"""

import abc
import ast
import collections
import dataclasses
import datetime
import decimal
import dis
import functools
import operator
import re
import struct
import sys
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from logging import Logger, RootLogger
from typing import Any, Generic

import numpy as np

from ...errors import KernelError
from ...tensor.engine import CoordinateEngine, CountingEngine
from ...tensor.tensor import Tensor
from ..ir import Expr
from ..ir.place import place_of
from ..runtime.call_cache import is_static
from .pure_libraries import (
    is_importable,
    is_pure_callable,
    is_pure_module,
    is_standard,
    is_stateful,
    library_name,
    module_of,
)
from .python_state import (
    HOLDING,
    MISSING,
    PARTS,
    Chain,
    Walk,
    are_same,
    cells_of,
    class_spaces,
    contents,
    fields,
    is_written_in_python,
    references,
)

#: Keys that one kernel numbers; then it begins anew, and what was traced before is traced again if it is met again.
NUMBERED = 4096
#: Static arguments of which a kernel remembers what was read.
READ = 64
#: Objects that one key holds; more are data.
MOST = 100_000
#: Types whose values `==` tells apart as a program does.
_ATOMS = frozenset({int, str, bool, bytes, type(None), type(Ellipsis), type(NotImplemented)})
#: What else a value of an immutable type is, all of it.
_BITS: dict[type, Callable[[Any], Hashable]] = {
    float: lambda v: struct.pack("<d", v),
    complex: lambda v: struct.pack("<dd", v.real, v.imag),
    range: lambda v: tuple((type(n), n) for n in (v.start, v.stop, v.step)),
    np.str_: str.__str__,
    np.bytes_: bytes,
    np.datetime64: lambda v: (str(v.dtype), v.tobytes()),
    np.timedelta64: lambda v: (str(v.dtype), v.tobytes()),
    re.Pattern: lambda v: (v.pattern, v.flags),
    types.CodeType: lambda v: (v, v.co_filename),
    datetime.timezone: lambda v: (v.utcoffset(None), v.tzname(None)),
}
_BITS |= {
    kind: np.generic.tobytes
    for kind in np.sctypeDict.values()
    if issubclass(kind, np.number | np.bool_) and kind not in _BITS
}
#: Immutable objects, by the arguments from which `__reduce__` makes them again.
_REMADE = frozenset({
    datetime.date, datetime.time, datetime.datetime, datetime.timedelta, decimal.Decimal, operator.itemgetter,
    operator.attrgetter, operator.methodcaller, type(vars(collections.namedtuple("_Named", "first"))["first"]),
})  # fmt: skip
_DESCRIPTORS = frozenset({
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType,
})  # fmt: skip
#: Immutable numbers and texts, as bases of classes.
_NUMBERS: tuple[Any, ...] = (int, float, complex, str, bytes)
#: Classes of which the objects keep the parts that they were made with.
_FIXED = frozenset({
    types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType, property, staticmethod, classmethod, slice,
    collections.deque,
})  # fmt: skip
#: Classes of C whose objects hold nothing but their attributes; `Generic` is one from Python 3.12 on.
_WITHOUT_STORAGE = (object, types.SimpleNamespace, ast.AST, Generic)
#: Classes of C whose objects are read.
_READ = frozenset({*HOLDING, *PARTS, *_WITHOUT_STORAGE, *_NUMBERS, collections.OrderedDict})
_DISPATCHER = type(np.sum)
_STATE_OF_FUNCTION = operator.attrgetter(
    "__code__", "__defaults__", "__kwdefaults__", "__name__", "__qualname__", "__doc__", "__module__"
)
_STATE_OF_CLASS = operator.attrgetter("__mro__", "__class__", "__name__", "__qualname__")
_WAY_OUT = "give the kernel what it needs of it as a keyword-only argument"


class Identity:
    """An object as a key: equal to itself alone, whatever its class makes of `==`."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Identity and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class Captures:
    """The keys of one kernel: `captured()` of what it uses from outside, `static(...)` of its static arguments.

    Both number what they see, so that a key is short; what was read is compared by identity first.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        assert isinstance(function, types.FunctionType)
        self.function: types.FunctionType = function
        self._numbers: dict[Hashable, int] = {}
        self._next = 0
        self._last: _Reader | None = None
        self._static: dict[tuple[str, object], _Reader] = {}
        self._kinds: dict[Identity, _Reader] = {}

    def captured(self) -> int:
        """A number for the values that the function and its helpers use from outside now."""
        last = self._last
        if last is None or last.changed() is not None:
            last = self._numbered(_Reader(self.function, f"{self.function.__name__} uses").kernel(self.function))
            self._last = last
        return last.number

    def static(self, static: Mapping[str, object]) -> Hashable:
        """A key for the static arguments; 2, 2.0 and True are three values, also inside tuples, and 0.0 is not -0.0."""
        return tuple([(name, type(v), v if type(v) in _ATOMS else self._of(name, v)) for name, v in static.items()])

    def holder(self, kind: type, keys: tuple[Hashable, ...], name: str) -> Hashable:
        """A key for what holds tensors: its class, with methods and constants, and the keys of a dictionary."""
        last = self._kinds.get(Identity(kind))
        if last is None or last.changed() is not None:
            last = self._numbered(_Reader(kind, f"{self.function.__name__}: argument").whole(name))
            self._kinds[Identity(kind)] = last
        return last.number, key_of(keys, f"{self.function.__name__}: argument {name}, a dictionary, has the key")

    def _of(self, name: str, value: object) -> int:
        # What was read of an object serves it, and of cutepy's plans each that is equal.
        own = is_static(type(value)) and type(value).__module__.startswith("cutepy.")
        same = name, value if own else Identity(value)
        last = self._static.get(same)
        if last is None or last.changed() is not None:
            if len(self._static) >= READ:
                self._static.clear()
            last = _Reader(value, f"{self.function.__name__}: static argument").whole(name)
            self._static[same] = self._numbered(last)
        return last.number

    def _numbered(self, read: "_Reader") -> "_Reader":
        number = self._numbers.get(read.key)
        if number is None:
            if len(self._numbers) >= NUMBERED:
                for table in self._numbers, self._static, self._kinds:
                    table.clear()
            number = self._numbers[read.key] = self._next
            self._next += 1
        read.number = number
        return read


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
        self.located = False

    def whole(self, name: str) -> "_Reader":
        with self.bounded(name):
            self.key = self.value(name, self.subject)
        return self

    def kernel(self, function: types.FunctionType) -> "_Reader":
        """The kernel itself, with the defaults of its arguments; of cutepy's own kernels the globals are trusted."""
        self.met[id(function)] = 0, function
        with self.bounded(function.__name__):
            code = self.code(function, with_globals=not is_pure_module(module_of(function)))
            _, positional, named, *_ = self.watch(partial(_STATE_OF_FUNCTION, function), function.__name__, are_same)
            self.key = code, Identity(positional), self.value("the defaults of its static arguments", named)
        return self

    @contextmanager
    def bounded(self, name: str) -> Iterator[None]:
        """Raise KernelError for what is nested too deeply to be read."""
        try:
            yield
        except RecursionError:
            raise self.refusal(name, "which is nested too deeply to be compared") from None

    def refusal(self, name: str, why: str, way_out: str = _WAY_OUT) -> KernelError:
        return KernelError(f"{self.where} {name}, {why}; {way_out}")

    def value(self, name: str, value: object) -> Hashable:
        """The key of `value`, which the user's program calls `name`."""
        kind = type(value)
        if kind in _ATOMS:
            return kind, value
        if (bits := _BITS.get(kind)) is not None:
            return kind, bits(value)
        if id(value) in self.met:
            return "met", self.met[id(value)][0]
        if len(self.met) > MOST:
            raise self.refusal(name, f"one of more than {MOST} objects that it comes to")
        self.met[id(value)] = len(self.met), value
        return Identity(kind), self.compound(value, name)

    def values(self, members: Iterable[tuple[str, object]]) -> Hashable:
        return tuple([self.value(name, member) for name, member in members if member is not MISSING])

    def compound(self, value: Any, name: str) -> Hashable:
        """What has parts: each kind of thing as Python sees it."""
        kind = type(value)
        if kind is types.FunctionType:
            return self.function(value, name)
        if issubclass(kind, type):
            return self.class_(value, name)
        if issubclass(kind, types.ModuleType):
            return self.module(value, name)
        if issubclass(kind, np.ndarray | Tensor) or hasattr(kind, "__dlpack__"):
            return self.array(value, name)
        if issubclass(kind, np.dtype):
            return self.dtype(value, name)
        if kind in _REMADE:
            return self.remade(value, name)
        if kind in _DESCRIPTORS:
            return self.value(name, value.__objclass__), value.__name__
        if kind is types.BuiltinFunctionType and isinstance(value.__self__, types.ModuleType | None):
            return self.library_function(value, name)
        if kind is _DISPATCHER or kind is np.ufunc:
            # np.frompyfunc makes ufuncs of objects, which call a function of the user's
            if kind is np.ufunc and all(set(signature) <= set("O->") for signature in value.types):
                raise self.refusal(name, "a ufunc made of a Python function, which may change unseen")
            return Identity(value)
        if kind is functools._lru_cache_wrapper:
            return self.cached_function(value, name)
        # Nodes of expressions and what `typing` makes are immutable.
        if (
            issubclass(kind, Expr)
            or kind in (types.GenericAlias, types.UnionType)
            or library_name(kind)[:7] == "typing."
        ):
            return Identity(value)
        if kind in (Logger, RootLogger):  # it is there to be written to; what it says of itself is its level
            return Identity(value), self.watch(value.getEffectiveLevel, name), self.watch(lambda: value.disabled, name)
        if is_pure_callable(kind) and library_name(kind).startswith("cutepy."):
            return self.of_cutepy(value, name)
        return self.of_class(value, name)

    def library_function(self, value: Any, name: str) -> Hashable:
        if is_pure_callable(value):
            return Identity(value)
        owner = library_name(value) or getattr(value, "__module__", None) or "a library"
        if owner.startswith("builtins."):
            raise self.refusal(f"{name}()", "by which it may read anything", "write the names that it reads")
        raise self.refusal(
            name,
            f"a function ({owner}) that may give something else at each call",
            "call it outside of the kernel, and give what it gives as a keyword-only argument",
        )

    def cached_function(self, value: Any, name: str) -> Hashable:
        inner = value.__wrapped__
        if isinstance(inner, types.FunctionType) and is_pure_module(module_of(inner)):
            return Identity(value)
        raise self.refusal(
            name,
            "a functools.lru_cache, which keeps what an earlier call gave",
            f"use the function itself, {name}.__wrapped__, or call it outside and give the kernel what it gives",
        )

    def module(self, value: types.ModuleType, name: str) -> Hashable:
        if value.__name__.partition(".")[0] == "cutepy":
            return Identity(value)
        raise KernelError(f"{self.where} the module {name} as a value; write {name}.NAME for what it uses of it")

    def array(self, value: Any, name: str) -> Hashable:
        if type(value) is Tensor and isinstance(value.engine, CoordinateEngine | CountingEngine):
            return self.of_cutepy(value, name)
        raise KernelError(
            f"{self.where} {name}, an array, whose elements may change: give it to the kernel as an argument of its "
            f"own, or its numbers as a tuple, tuple({name}.tolist())"
        )

    def dtype(self, value: Any, name: str) -> Hashable:
        """A type of NumPy's; one with fields can be given other names."""
        if value.names is not None or value.metadata is not None or value.subdtype is not None:
            raise self.refusal(name, f"the structured type {value}, which may change unseen")
        return value.num, value.char, value.byteorder, value.itemsize

    def remade(self, value: Any, name: str) -> Hashable:
        """An immutable object, by what it is made of; a Decimal computes as its context says."""
        if type(value) is decimal.Decimal:
            self.watch(lambda: repr(decimal.getcontext()), name)
            return str(value), repr(decimal.getcontext())
        return self.values([(name, argument) for argument in value.__reduce__()[1]])

    def of_cutepy(self, value: Any, name: str) -> Hashable:
        """What cutepy makes: frozen dataclasses, and objects that say which of their attributes a kernel depends on."""
        named = getattr(type(value), "__kernel_parts__", None)
        if named is None and not dataclasses.is_dataclass(value):
            return self.of_class(value, name)
        parts = named or [field.name for field in dataclasses.fields(value) if field.compare]
        return self.values([(f"{name}.{part}", getattr(value, part)) for part in parts])

    def of_class(self, value: Any, name: str) -> Hashable:
        """Any other object: its class, what that holds by its bases of C, and its attributes."""
        kind = type(value)
        if is_written_in_python(kind):
            self.watch(partial(type, value), name)
        for base in kind.__mro__:
            if base not in _READ and not is_written_in_python(base):
                if not (issubclass(base, BaseException) and base.__basicsize__ == BaseException.__basicsize__):
                    raise self.refusal(name, f"a {kind.__module__}.{kind.__qualname__}, which may change unseen")
        key: list[Hashable] = [self.value(name, kind)]
        for base in kind.__mro__:
            for part in PARTS.get(base, ()):
                look = partial(vars(base)[part].__get__, value)
                key.append(self.value(name, look() if base in _FIXED else self.watch(look, name)))
            if base in _NUMBERS:
                number: Any = base
                key.append(self.value(name, number.__getnewargs__(value)))
        held = contents(value)
        if held is not None:
            key += [self.value(inner, part) for inner, part in self.held(held, name)]
        if kind is not functools.cached_property:  # it has a lock beside its function
            key += [self.values(self.held(attributes, name)) for attributes in fields(value)]
        return tuple(key)

    def class_(self, value: Any, name: str) -> Hashable:
        """A class: one of a library by its identity, else its methods and constants, and those of its bases."""
        if value is decimal.Decimal:
            return Identity(value), self.watch(lambda: repr(decimal.getcontext()), name)
        if is_pure_callable(value):
            return Identity(value)
        in_library = is_standard(value.__module__) and value.__module__ != "builtins"
        if in_library or not is_written_in_python(value):
            raise self.refusal(name, f"the class {value.__module__}.{value.__qualname__}, which may hold state unseen")
        _, metaclass, *names = self.watch(partial(_STATE_OF_CLASS, value), name, are_same)
        key: list[Hashable] = [Identity(value), *names, self.value(name, metaclass)]
        key += [self.value(base.__qualname__, base) for base in value.__mro__[1:]]
        for base, space, parts in class_spaces(value, lambda _: False):
            if base is value:
                self.watch(partial(len, space), name)
                for part in parts:
                    inner = f"{base.__qualname__}.{part}"
                    key.append((part, self.value(inner, self.place(space, part, inner))))
        if "_abc_impl" in vars(value):
            key.append(tuple(map(Identity, self.watch(partial(_registered, value), name))))
        return tuple(key)

    def function(self, function: types.FunctionType, name: str) -> Hashable:
        """A helper: its code and what that uses, its defaults, names and attributes; of a library, what it encloses."""
        # The `__hash__` that `dataclass` writes reads the fields alone, which are part of the key themselves.
        if function.__code__.co_qualname == "__create_fn__.<locals>.__hash__":
            return Identity(function)
        module = module_of(function)
        if is_pure_module(module):
            if is_stateful(function):
                return self.library_function(function, name)
            if not function.__closure__ or _is_of_cutepy(function):
                return Identity(function)
            self.watch(partial(_STATE_OF_FUNCTION, function), name, are_same)
            return self.code(function, with_globals=False)
        if is_standard(module) and module != "__main__":
            return self.library_function(function, name)
        _, *defaults, name_, path, text, owner = self.watch(partial(_STATE_OF_FUNCTION, function), name, are_same)
        return (
            (name_, path, owner, self.value(name, text)),
            self.code(function),
            self.values([(f"the defaults of {name}", member) for member in defaults]),
            tuple([self.values(self.held(held, name)) for held in fields(function)]),
        )

    def code(self, function: types.FunctionType, *, with_globals: bool = True) -> Hashable:
        code = function.__code__
        used, key = references(code), [self.value("", code)]
        if with_globals:
            for name in used.unreadable:
                with self.located_in(code, name):
                    raise self.refusal(name, "by which it may read anything", "name what it reads")
            for module in used.imported:
                with self.located_in(code, module):
                    if not is_importable(module):
                        raise KernelError(f"{self.where} `import {module}`; import it outside of the kernel")
            for chain in used.outer:
                key.append(self.reached(code, chain, partial(self.outer, function.__globals__, chain)))
        cells = cells_of(function)
        for chain in used.free:
            key.append(self.reached(code, chain, partial(self.enclosed, cells[chain[0]], chain)))
        return tuple(key)

    def reached(self, code: types.CodeType, chain: Chain, look: Callable[[], tuple[str, object]]) -> Hashable:
        """The key of what a chain of names means, which may be nothing; a refusal names the line that uses it."""
        with self.located_in(code, chain[0]):
            name, value = look()
            return ("missing", name) if value is MISSING else self.value(name, value)

    @contextmanager
    def located_in(self, code: types.CodeType, name: str) -> Iterator[None]:
        """Begin the message of a refusal with the line of `code` that uses a name: the innermost one that does."""
        try:
            yield
        except KernelError as error:
            line = None if self.located else _line_of(code, name)
            self.located = self.located or line is not None
            if line is not None:
                error.args = (f"{place_of(code.co_filename, line)}: {error}", *error.args[1:])
            raise


def _is_of_cutepy(function: types.FunctionType) -> bool:
    """Whether a module of cutepy, or a package around it, holds a function under its own name: what it encloses is then
    cutepy's as well."""
    module = function.__module__ or ""
    while module.partition(".")[0] == "cutepy":
        holder = sys.modules.get(module)
        if holder is not None and vars(holder).get(function.__name__) is function:
            return True
        module = module.rpartition(".")[0]
    return False


def _registered(kind: type) -> tuple[type, ...]:
    """The classes that an abstract class counts as its own beside those that derive from it."""
    registered = [reference() for reference in abc._get_dump(kind)[0]]  # type: ignore[attr-defined]
    return tuple(sorted((other for other in registered if other is not None), key=id))


def _line_of(code: types.CodeType, name: str) -> int | None:
    """The line on which code, or a function in it, uses a name."""
    for step in dis.get_instructions(code):
        if step.argval == name and step.positions is not None:
            return step.positions.lineno
    inner = (_line_of(part, name) for part in code.co_consts if isinstance(part, types.CodeType))
    return next((line for line in inner if line is not None), None)
