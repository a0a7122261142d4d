"""The library code that a kernel may use without its text being read: its results depend on its arguments alone.

Law: a module, function or class is trusted by its identity only if these tables name it. Everything else is read (code
in Python, of users and of other packages) or refused (code in C, and the rest of the standard library).
"""

import functools
import sys
import types
from collections.abc import Callable

#: Modules of which every public name is trusted, but for those in `STATEFUL`.
_MODULES = frozenset({
    "_abc", "_bisect", "_collections", "_collections_abc", "_functools", "_heapq", "_operator", "_struct", "abc",
    "ast", "bisect", "builtins", "cmath", "collections", "collections.abc", "contextlib", "copy", "copyreg",
    "dataclasses", "enum", "fractions", "functools", "heapq", "itertools", "math", "numbers", "operator", "re",
    "string", "struct", "types", "typing", "typing_extensions",
})  # fmt: skip
#: Packages that are trusted as a whole, with the same exception.
_PACKAGES = frozenset({"cutepy", "numpy"})
#: Names of other modules that are trusted.
_NAMES = frozenset({
    "_warnings.warn", "warnings.warn", "argparse.Namespace", "datetime.timedelta", "datetime.timezone",
    "decimal.Decimal", "logging.getLogger", "logging.debug", "logging.info", "logging.warning", "logging.error",
    "logging.log",
})  # fmt: skip
#: What reads state that no key can hold: other scopes, files, the clock, addresses, settings of the process.
STATEFUL = frozenset({
    *(f"builtins.{name}" for name in (
        "__import__", "breakpoint", "compile", "eval", "exec", "exit", "globals", "hash", "help", "id", "input", "open",
        "quit",
    )),
    *(f"numpy.{name}" for name in (
        "fromfile", "genfromtxt", "get_printoptions", "getbufsize", "geterr", "geterrcall", "load", "loadtxt", "memmap",
    )),
    "cutepy.gpu.runtime.adapters.adapters", "cutepy.gpu.runtime.default_device", "cutepy.gpu.runtime.open_device",
})  # fmt: skip
_STATEFUL_PACKAGES = "numpy.random", "numpy.lib.npyio", "numpy.testing", "numpy.ctypeslib"
#: Attributes that lead out of what a key holds. Code that names one, as an attribute or in a text, is refused.
UNREADABLE = frozenset({
    "__annotations__", "__builtins__", "__cause__", "__context__", "__globals__", "__subclasses__", "__traceback__",
    "__type_params__", "__weakref__", "ag_frame", "cr_frame", "f_back", "f_builtins", "f_globals", "f_locals",
    "gi_frame", "tb_frame", "tb_next",
})  # fmt: skip


def is_pure_module(name: str) -> bool:
    """Whether the names of a module are trusted."""
    if name in _MODULES:
        return True
    return name.partition(".")[0] in _PACKAGES and not f"{name}.".startswith(tuple(f"{p}." for p in _STATEFUL_PACKAGES))


def is_importable(name: str) -> bool:
    """Whether code may import a module by itself: nothing in it reads state, so its attributes need no look."""
    stateful = any(entry.startswith(f"{name}.") for entry in STATEFUL)
    return is_pure_module(name) and name.partition(".")[0] != "numpy" and (name.startswith("cutepy") or not stateful)


def is_standard(module: str) -> bool:
    """Whether a module is of the standard library."""
    return module.partition(".")[0] in sys.stdlib_module_names


def module_of(function: types.FunctionType) -> str:
    """The module whose namespace a function reads; `__module__` may be a copy, as `functools.wraps` makes it."""
    name = function.__globals__.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    return str(name) if module is not None and vars(module) is function.__globals__ else ""


def library_name(value: object) -> str:
    """The name under which a module holds a function or class, "math.sin"; "" where it is no module's own."""
    owner = getattr(value, "__self__", None)
    module = owner.__name__ if type(owner) is types.ModuleType else getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return ""
    holder: object = sys.modules.get(module)
    for piece in name.split("."):
        holder = vars(holder).get(piece) if hasattr(holder, "__dict__") else None
    return f"{module}.{name}" if holder is value else ""


def is_pure_callable(value: type | Callable[..., object]) -> bool:
    """Whether a class, or a function of C, is trusted."""
    if is_stateful(value):
        return False
    name = library_name(value)
    return id(value) in _UNNAMED or (bool(name) and (name in _NAMES or is_pure_module(name.rpartition(".")[0])))


def is_stateful(value: object) -> bool:
    """Whether a function reads state that no key can hold."""
    return id(value) in _stateful()


@functools.cache
def _stateful() -> frozenset[int]:
    """The objects that `STATEFUL` names, which may have other names, too."""
    stateful = [(sys.modules.get(module), name) for module, _, name in (entry.rpartition(".") for entry in STATEFUL)]
    return frozenset(id(getattr(module, name)) for module, name in stateful if hasattr(module, name))


#: Classes of Python's own that no module holds under the name they say.
_UNNAMED = frozenset(id(kind) for kind in vars(types).values() if isinstance(kind, type))
