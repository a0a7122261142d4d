"""Which thread partitions are made for: an index, or the kernel's own under a trace."""

from __future__ import annotations

from contextvars import ContextVar

import numpy as np

from ..errors import TensorError
from .engine import Scalars

CURRENT_THREAD: ContextVar[Scalars | None] = ContextVar("current_thread", default=None)
"""The index of the thread within its workgroup; a kernel trace sets it to its own expression."""


def current_thread(call: str, count: int | None, thread: Scalars | None = None) -> Scalars:
    """`thread` itself, or the index of the thread that a kernel is being traced for: one of `count`, if that is known.

    Raises TensorError where neither is there, and for a number that is none of 0 to `count - 1`.
    """
    found = CURRENT_THREAD.get() if thread is None else thread
    if found is None:
        raise TensorError(f"{call}: a partition needs a thread: pass thread=, or make it inside a kernel")
    if isinstance(found, (bool, np.bool_, float, np.floating, str, tuple)):
        raise TensorError(f"{call}: thread {found!r} is no whole number")
    if isinstance(found, (int, np.integer)):
        if count is not None and not 0 <= found < count:
            raise TensorError(f"{call}: thread {found} of 0 to {count - 1}")
        return int(found)
    return found
