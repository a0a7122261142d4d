"""Values of the GPU are no keys: a set or a dictionary tells them apart by identity, and each thread by what they are.

Law: while a kernel is traced, an expression is hashed by cutepy alone; to code of a user's, also by way of a library,
its hash is refused as that of a list is.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import NoReturn

from ..ir import Expr, TracedValueError
from ..ir.expr import describe
from ..ir.place import user_place
from .state import tracing

_lock = Lock()
_open = 0
_identity = object.__hash__
#: Names of cutepy's modules that have asked for a hash: these ask most often.
_own: set[str] = set()


@contextmanager
def unhashable() -> Iterator[None]:
    """Refuse the hash of an expression to all code but cutepy's, in kernels that are traced meanwhile."""
    global _open
    with _lock:
        _open += 1
        if _open == 1:
            Expr.__hash__ = _guarded_hash  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        with _lock:
            _open -= 1
            if not _open:
                Expr.__hash__ = _identity  # type: ignore[method-assign, assignment]


def _guarded_hash(self: Expr) -> int:
    frame = sys._getframe(1)
    if (name := frame.f_globals.get("__name__", "")) in _own:
        return _identity(self)
    while (module := name.partition(".")[0]) != "cutepy":
        if module not in sys.stdlib_module_names and module != "numpy":
            if tracing() is not None:
                _refuse(self)
            return _identity(self)
        if frame.f_back is None:
            return _identity(self)
        frame = frame.f_back
        name = frame.f_globals.get("__name__", "")
    _own.add(name)
    return _identity(self)


def _refuse(value: Expr) -> NoReturn:
    raise TracedValueError(
        f"{user_place()}: {describe(value)} is known only on the GPU and is no key of a set or dictionary: `v == a`, "
        "joined by | and &, asks whether it is one of some values, gpu.select chooses by it, and a tensor is read at it"
    )
