"""What `os.fork` leaves: a child has a copy of every device, and none of the threads that serve it.

Law: a child calls nothing of what its parent opened. The parent's devices say so at the next call, their objects are
never released, and an instance of the runtime is made anew for the child's own device. No thread is inside a runtime
while the process is copied, so none of its locks is copied held.

A driver may still not work there: SwiftShader keeps its threads for all devices of a process. `in_time` gives a child's
first device a second to answer.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import TypeVar

from ...errors import DeviceError
from . import device as devices
from .adapters import RUNTIMES
from .device import Device
from .program import Binding, Program

T = TypeVar("T")

SECONDS = 1.0
"""A child's first device answers within this: it does in 0.1 s, or never."""
LONGEST = 1.0
"""Seconds that a fork waits for a thread inside a runtime; one that compiles for longer is copied as it is."""
_AFTER_FORK = (
    "in a process that was forked from one that used it; start processes by "
    'multiprocessing.set_start_method("spawn"), or fork before the first device is opened'
)
_held: list[threading.Lock] = []
_forked = False


def forked() -> bool:
    """Whether this process was forked from one that had used a runtime."""
    return _forked


def in_time(work: Callable[[], T], what: str) -> T:
    """What `work` gives. In a forked child it runs in a thread: raises DeviceError where it does not come back. Of one
    that it raises there, says that the fork may be why: NVIDIA's driver gives a child no device."""
    if not _forked:
        return work()
    answer: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            answer.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    if failed and isinstance(failed[0], DeviceError):
        raise DeviceError(f"{failed[0]}; {what} may not work {_AFTER_FORK}") from failed[0]
    if failed:
        raise failed[0]
    if not answer:
        raise DeviceError(f"{what} does not answer {_AFTER_FORK}")
    return answer[0]


_ONES = """@group(0) @binding(0) var<storage, read_write> ones: array<u32>;
@compute @workgroup_size(64)
fn write_ones(@builtin(global_invocation_id) i: vec3<u32>) { ones[i.x] = 1u; }"""


def compute(device: Device) -> None:
    """Run a small program on a device and read what it wrote: copies alone may work where threads are missing."""
    program = Program(
        _ONES, "write_ones", (Binding("ones", "read_write", 4096),), (64, 1, 1), (16, 1, 1), checked=False
    )
    buffer = device.allocate(4096)
    device.launch(program, [buffer])
    device.read(buffer)


def part_with(device: Device, why: str) -> None:
    """Refuse every later call of a device, and never release what it holds: it is kept for ever."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(device))
    device._dead = why


def _before() -> None:
    """Wait until no thread is inside a runtime, and keep all out."""
    devices.registering.acquire()
    for lock in {id(device._lock): device._lock for device in devices.DEVICES}.values():
        if lock.acquire(timeout=LONGEST):
            _held.append(lock)


def _in_parent() -> None:
    while _held:
        _held.pop().release()
    devices.registering.release()


def _in_child() -> None:
    """Part with what the parent opened."""
    global _forked
    _held.clear()
    devices.registering = threading.Lock()
    for device in devices.DEVICES:
        part_with(device, devices.FORKED)
        device._lock = threading.Lock()
    if len(devices.DEVICES) and not _forked:
        _forked = True
        _end_without_drivers()
    devices.DEVICES.clear()
    for runtime in RUNTIMES.values():
        runtime.after_fork()


def _end_without_drivers() -> None:
    """Leave out what drivers do at the end of a process: it waits for threads that only the parent has."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # of glibc: called before what was registered earlier, with the status
        libc.on_exit(libc._exit, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
