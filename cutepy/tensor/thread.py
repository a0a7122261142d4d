"""Which thread partitions are made for: an index, or the kernel's own under a trace."""

from __future__ import annotations

from contextvars import ContextVar

from ..errors import TensorError
from .engine import Scalars

CURRENT_THREAD: ContextVar[Scalars | None] = ContextVar("current_thread", default=None)
"""The index of the thread within its workgroup; a kernel trace sets it to its own expression."""


def current_thread(thread: Scalars | None = None) -> Scalars:
    """`thread` itself, or the index of the thread that a kernel is being traced for.

    Raises TensorError where neither is there.
    """
    found = CURRENT_THREAD.get() if thread is None else thread
    if found is None:
        raise TensorError("a partition needs a thread: pass thread=, or make it inside a kernel")
    return found
