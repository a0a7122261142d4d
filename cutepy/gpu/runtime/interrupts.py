"""Interrupts wait while a call changes what a device holds.

CPython runs the Python handlers of signals between any two bytecodes of the main thread, also inside wgpu-py, whose
records of errors and mapped buffers do not survive that. Law: inside `Uninterrupted` no handler of Python runs in this
thread; those of signals that came meanwhile run when it is left, once each. So a call has either happened or not.
A block may not wait for the device: what waits polls in a loop of blocks, and is interrupted between two of them.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from types import FrameType

HELD = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1") if hasattr(signal, name)
)
"""The signals that programs handle by raising: Ctrl-C, an end that is asked for, the clocks of tests and deadlines."""

_main = threading.main_thread().ident


def _in_child() -> None:
    """The thread that forked is the main one of the child."""
    global _main
    _main = threading.get_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)

Handler = Callable[[int, FrameType | None], object]

# The functions of C: those of `signal` make enums of numbers, in 5 us a call of the 20 that a launch takes.
_functions = import_module("_signal") if sys.implementation.name == "cpython" else signal
_get_handler: Callable[[int], object] = _functions.getsignal
_set_handler: Callable[[int, Handler], object] = _functions.signal


class Uninterrupted:
    """A block in which no signal handler of Python runs; see this module. Blocks may be nested."""

    __slots__ = ("_came", "_replaced")

    def __enter__(self) -> None:
        self._came: list[int] = []
        self._replaced: list[tuple[int, Handler]] = []
        if threading.get_ident() != _main:
            return
        try:
            for number in HELD:
                handler = _get_handler(number)
                if callable(handler):  # a function of Python's, not the system's default or nothing
                    # Noted before it is replaced: another signal may be handled between the two.
                    self._replaced.append((number, handler))
                    _set_handler(number, self._note)
        except BaseException:
            self._restore()
            raise

    def __exit__(self, *_: object) -> None:
        if self._replaced:
            handlers = [*self._replaced]
            self._restore()
            if self._came:
                self._deliver(dict(handlers))

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number not in self._came:
            self._came.append(number)

    def _restore(self) -> None:
        """Every handler is back when this returns or raises: a handler that is back may raise at once."""
        try:
            while self._replaced:
                _set_handler(*self._replaced[-1])
                self._replaced.pop()
        finally:
            if self._replaced:
                self._restore()

    def _deliver(self, handlers: dict[int, Handler]) -> None:
        """Call the handlers of what came. The signal is not raised again: an event loop has heard of it already."""
        try:
            while self._came:
                number = self._came.pop(0)
                handlers[number](number, sys._getframe(1))
        finally:
            if self._came:
                self._deliver(handlers)
