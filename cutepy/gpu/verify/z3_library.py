"""z3, loaded so that it calls its own functions.

Mesa's software driver is built on LLVM, which brings a z3 of the distribution. Once a device is open, the functions of
that older library stand before those of the one that Python imports, and a call of the one that lands in the other
gives errors, or ends the process. `RTLD_DEEPBIND` puts a library's own symbols first (dlopen(3), glibc).
"""

from __future__ import annotations

import ctypes
import os
import sys
from importlib.util import find_spec
from pathlib import Path


def _load() -> None:
    """Load the library of the package z3 before the package does; nothing where it is imported, or not found."""
    spec = find_spec("z3")
    own_first = getattr(os, "RTLD_DEEPBIND", None)
    if "z3" in sys.modules or own_first is None or spec is None:
        return
    for folder in spec.submodule_search_locations or ():
        for library in Path(folder, "lib").glob("libz3.so*"):
            ctypes.CDLL(str(library), mode=os.RTLD_NOW | own_first)


_load()

import z3  # noqa: E402  after its library

__all__ = ["z3"]
