"""A tape: what a device was asked for while a block ran, so that it can be asked for the same again.

Law: where a tape is `whole`, the block did nothing on the device but fill pooled buffers by launches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .buffer import DeviceBuffer, Operand
from .program import Program

if TYPE_CHECKING:
    from .device import Device

Launch = tuple[Program, tuple[Operand, ...], tuple[float, ...]]
"""A launch: its program, its buffers and the values of its parameters."""
Played = tuple[Program, tuple[int, ...], Sequence[float]]
"""A launch of a tape that is played: its buffers are places among those of the call."""


@dataclass(slots=True)
class Tape:
    """The pooled buffers made and the launches made while it runs, on one device; and the tape that runs around it."""

    device: Device
    outer: Tape | None
    made: list[DeviceBuffer] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    whole: bool = True


_RUNNING: ContextVar[Tape | None] = ContextVar("tape", default=None)


@contextmanager
def taped(device: Device) -> Iterator[Tape]:
    """A tape of what this device is asked for in the block, by this thread."""
    tape = Tape(device, _RUNNING.get())
    token = _RUNNING.set(tape)
    try:
        yield tape
    finally:
        _RUNNING.reset(token)


def taping() -> bool:
    """Whether a tape runs in this thread."""
    return _RUNNING.get() is not None


def tell(device: Device, what: DeviceBuffer | Launch | None) -> None:
    """Write on the tapes that run: a pooled buffer that was made, a launch, or None for anything else."""
    tape = _RUNNING.get()
    while tape is not None:
        if what is None or device is not tape.device:
            tape.whole = False
        elif isinstance(what, DeviceBuffer):
            tape.made.append(what)
        else:
            tape.launches.append(what)
        tape = tape.outer
