"""Calls that wait: a block takes calls instead of launching them, and launches what it makes of them later.

Law: no call that waits sees a later write: what it reads is settled before anything else is launched or written there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

from ...layout.values.followed import Unfollowed
from ...tensor import Tensor
from .batch import Tape, planning, running_tape
from .program import Program

if TYPE_CHECKING:
    from .buffer import DeviceBuffer


class Deferral(ABC):
    """A block of calls of this thread that takes what it can instead of launching it; `gpu.fused` is one.

    `reads` are the numbers of the buffers that waiting calls read: before anything else is launched or written over one
    of them, `settle` is called.

    >>> class Told(Deferral):
    ...     def take(self, operation, *operands):
    ...         print("asked for", operation)
    ...     def settle(self):
    ...         print("launched")
    >>> block = Told()
    >>> block.open(); Deferral.current() is block
    True
    >>> block.take("exp")
    asked for exp
    >>> block.launching(); Deferral.current() is None
    True
    >>> block.close(); block.close(); block.settle()
    launched
    """

    def __init__(self) -> None:
        self.reads: set[int] = set()
        self._tape: Tape | None = None
        self._tokens: list[Token[Deferral | None]] = []
        self._outer: Deferral | None = None

    @abstractmethod
    def take(self, operation: object, *operands: object) -> Tensor | None:
        """What stands for the result of an operation over these operands; None where it is to be launched now."""

    @abstractmethod
    def settle(self) -> None:
        """Launch all that waits and that anybody can still ask for."""

    def open(self) -> None:
        """From now on the calls of this thread are this block's, but those inside of a call that is recorded."""
        self._tape, self._outer = running_tape(), _CURRENT.get()
        self._tokens.append(_CURRENT.set(self))

    def launching(self) -> None:
        """Calls are launched from now on, or the outer block's, until `close`."""
        self._tokens.append(_CURRENT.set(self._outer))

    def close(self) -> None:
        """End what `open` or `launching` began last."""
        _CURRENT.reset(self._tokens.pop())

    @staticmethod
    def current() -> Deferral | None:
        """The block that takes the calls of this thread now."""
        block = _CURRENT.get()
        return block if block is not None and running_tape() is block._tape else None


_CURRENT: ContextVar[Deferral | None] = ContextVar("deferral", default=None)
innermost: Callable[[], Deferral | None] = _CURRENT.get
"""The innermost block of this thread, also where it does not take its calls."""


def before_recording() -> None:
    """Calls are about to be recorded: what waits is no part of the recording."""
    block = _CURRENT.get()
    while block is not None:
        block.settle()
        block = block._outer


def before_writing(buffers: Iterable[DeviceBuffer]) -> None:
    """Something is about to be launched or written over these buffers."""
    block = _CURRENT.get()
    while block is not None:
        if block.reads and any(buffer.uid in block.reads for buffer in buffers):
            block.settle()
        block = block._outer


def before_launches(
    launches: Iterable[tuple[Program, Sequence[int], *tuple[object, ...]]], operands: Sequence[DeviceBuffer]
) -> None:
    """Launches are about to come: each of a program over buffers by their numbers among `operands`, or beyond these
    over new ones."""
    if planning() is not None:
        raise Unfollowed
    if _CURRENT.get() is None:
        return
    for program, places, *_ in launches:
        bound = zip(program.bindings, places, strict=False)
        before_writing([operands[n] for b, n in bound if b.access == "read_write" and n < len(operands)])
