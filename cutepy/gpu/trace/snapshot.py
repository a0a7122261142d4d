"""What Python objects held when a block of the kernel began: they hold the same when it ends.

Law: every list, dict, set, array, closure and object of a user's class that code in the block can reach, through the
names of its frame and the globals that it and the functions it can call mention, is compared part by part, by identity.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from operator import length_hint
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)

import numpy as np

from ...errors import KernelError
from ..ir import Expr
from ..ir.place import user_place
from .hooks import HOOKS

Path = tuple[object, ...]
Parts = tuple[object, ...]
#: Objects that one block may reach; more are a mistake that a kernel should hear of.
MOST = 100_000
#: Bytes of an array of numbers that is compared; a larger one is data, which no kernel keeps its state in.
MOST_BYTES = 1 << 20
_LIBRARIES = ("cutepy", "numpy", "builtins", "sympy", "wgpu", "typing", "abc", "enum", "functools", "collections")
_ATOMS = (int, float, str, bytes, bool, complex, type(None), type(...), range, slice, Expr, CodeType)
_MISSING = object()


class Snapshot:
    """The state of Python that the code of a frame can reach."""

    def __init__(self, frame: FrameType) -> None:
        self.seen: dict[int, object] = {}
        self.records: list[tuple[Path, Callable[[], Parts], Parts]] = []
        self.own = {name: frame.f_locals.get(name, _MISSING) for name in frame.f_code.co_cellvars}
        for name, value in frame.f_locals.items():
            if name[0] != ".":
                self.reach((name,), value)
        self.globals(frame.f_globals, frame.f_code)

    def changed(self) -> str:
        """The first object that holds something else now, as the user would write it; "" if there is none."""
        for path, look, before in self.records:
            now = look()
            if len(now) != len(before) or not all(map(_same, now, before)):
                return "".join(map(str, path))
        return ""

    def record(self, path: Path, look: Callable[[], Parts]) -> Parts:
        parts = look()
        self.records.append((path, look, parts))
        return parts

    def globals(self, namespace: dict[str, object], code: CodeType) -> None:
        """The globals that a code object and those inside it mention, and their attributes where they are modules."""
        names = _names_of(code)
        for name in [n for n in names if n in namespace and not _is_library(namespace[n])]:
            value = namespace[name]
            self.record((name,), partial(_values, namespace, (name,)))
            if isinstance(value, ModuleType):
                inner = vars(value)
                for attribute in [n for n in names if n in inner and not _is_library(inner[n])]:
                    self.record((name, ".", attribute), partial(_values, inner, (attribute,)))
                    self.reach((name, ".", attribute), inner[attribute])
            else:
                self.reach((name,), value)

    def reach(self, path: Path, value: object) -> None:
        """Note what `value` holds, and go on to its parts."""
        if isinstance(value, _ATOMS) or id(value) in self.seen or _is_fixed(value):
            return
        self.seen[id(value)] = value
        if len(self.seen) > MOST:
            raise KernelError(
                f"{user_place()}: more than {MOST} Python objects can be reached from {path[0]}: whether the kernel "
                "changes one is not to be found out; pass what it needs as keyword-only arguments"
            )
        for piece, part in self.parts(path, value):
            self.reach((*path, piece), part)

    def parts(self, path: Path, value: object) -> Iterator[tuple[object, object]]:
        match value:
            case tuple() | frozenset():
                yield from _numbered(tuple(value))
            case list() | deque():
                yield from _numbered(self.record(path, lambda: tuple(value)))
            case dict():
                self.record(path, lambda: (*value.keys(), *value.values()))
                yield from [(f"[{key!r}]", part) for key, part in value.items()]
            case set():
                yield from _numbered(self.record(path, lambda: tuple(sorted(value, key=id))))
            case bytearray():
                self.record(path, lambda: tuple(value))
            case np.ndarray():
                if value.dtype == object:
                    self.record(path, lambda: tuple(value.ravel().tolist()))
                elif value.flags.writeable and value.nbytes <= MOST_BYTES:
                    self.record(path, lambda: (value.tobytes(),))
            case FunctionType():
                yield from self.function(path, value)
            case MethodType():
                yield "", value.__self__
                yield "", value.__func__
            case partial():
                yield from (("", value.func), ("", value.args), ("", value.keywords))
            case GeneratorType():
                self.record(path, lambda: (value.gi_frame is None, value.gi_frame and value.gi_frame.f_lasti))
        if not isinstance(value, FunctionType | ModuleType | MethodType):
            yield from self.attributes(path, value)

    def function(self, path: Path, value: FunctionType) -> Iterator[tuple[object, object]]:
        code = value.__code__
        for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
            if id(cell) not in self.seen and name != HOOKS:
                self.seen[id(cell)] = cell
                if _content(cell)[0] is not self.own.get(name, self):  # what the frame binds itself is carried
                    self.record((name,), partial(_content, cell))
                self.reach((name,), _content(cell)[0])
        yield "", value.__defaults__
        yield "", value.__kwdefaults__
        if value.__dict__:
            yield "", value.__dict__
        self.globals(value.__globals__, code)

    def attributes(self, path: Path, value: object) -> Iterator[tuple[object, object]]:
        """What an object of a user's class holds, or such a class itself; how far an iterator of Python's has come."""
        if isinstance(value, type):
            inner = dict(vars(value))
            own = tuple([n for n in inner if not n.startswith("__")])
            self.record(path, lambda: _values(vars(value), own))
            yield from ((f".{n}", inner[n]) for n in own)
            return
        if hasattr(value, "__next__") and not isinstance(value, GeneratorType):
            self.record(path, lambda: (length_hint(value, -1), repr(value)))
            if isinstance(value, enumerate | zip | map | filter | reversed):
                yield from _numbered(value.__reduce__()[1])  # type: ignore[arg-type]
        if hasattr(value, "__dict__"):
            held = value.__dict__
            pairs = self.record(path, lambda: (*value.__dict__.keys(), *value.__dict__.values()))
            yield from ((f".{n}", held[n]) for n in pairs[: len(pairs) // 2] if isinstance(n, str))
        slots = [n for c in type(value).__mro__ for n in _slots(c)]
        if slots:
            look = self.record(path, lambda: tuple([getattr(value, n, _MISSING) for n in slots]))
            yield from ((f".{n}", part) for n, part in zip(slots, look, strict=True))


def _same(now: object, before: object) -> bool:
    return now is before or (type(now) is type(before) and isinstance(now, int | str | bytes) and now == before)


def _slots(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [n for n in names if not n.startswith("__")]


def _numbered(parts: Parts) -> Iterator[tuple[object, object]]:
    return ((f"[{i}]", part) for i, part in enumerate(parts))


def _values(namespace: Mapping[str, object], names: tuple[str, ...]) -> Parts:
    return tuple([namespace.get(n, _MISSING) for n in names])


def _content(cell: CellType) -> Parts:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return (_MISSING,)


@lru_cache(maxsize=4096)
def _names_of(code: CodeType) -> tuple[str, ...]:
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return tuple(dict.fromkeys([*code.co_names, *[n for c in inner for n in _names_of(c)]]))


def _is_library(value: object) -> bool:
    """Whether a value is a module, class or function that is not the user's."""
    if not isinstance(value, ModuleType | type | FunctionType | BuiltinFunctionType):
        return False
    name = value.__name__ if isinstance(value, ModuleType) else value.__module__ or "builtins"
    return name.partition(".")[0] in _LIBRARIES


def _is_fixed(value: object) -> bool:
    """Whether a value is cutepy's, Python's or NumPy's own, and so none of a kernel's state."""
    kind = type(value)
    if kind in _CONTAINERS:
        return False
    if isinstance(value, ModuleType | type | FunctionType):
        return _is_library(value)
    name = kind.__module__
    if name == "builtins":
        return not hasattr(value, "__next__")
    return name.partition(".")[0] in _LIBRARIES and not isinstance(
        value, np.ndarray | list | dict | set | deque | partial
    )


_CONTAINERS = frozenset(
    {tuple, frozenset, list, deque, dict, set, bytearray, np.ndarray, MethodType, partial, GeneratorType}
)
