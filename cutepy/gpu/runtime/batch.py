"""Batches: launches gather in one compute pass and are submitted together; so many submissions are under way, not more.

A launch of a few microseconds would otherwise cost a submission of sixty. A batch is submitted when it is full, when
a caller reads or waits, or within a millisecond of its last launch and few of its first (`Flusher`), so that work never
waits for the host. The first after a long wait is full with fewer: the device has nothing else to do.
A `Stopwatch` adds up what passes took on the device, without the host and without gaps between passes. A `Tape` keeps
what was launched, to be launched again.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DeviceError
from ...layout.values.followed import Unfollowed
from .adapters import Runtime
from .buffer import Array, DeviceBuffer, Fetch
from .native import Completion, Encoder, Owned, Queue, Timestamps, wgpu
from .pipeline import BoundLaunch, BoundPipeline
from .program import Program, Size3

if TYPE_CHECKING:
    from .device import Device

LAUNCHES, FIRST_LAUNCHES, MORE_LAUNCHES = 32, 8, 3
"""Launches that make a submission, which costs the host as much as 20 of them; more would keep the device waiting. So
would as many for the first after all before was waited for long, and the next has `MORE_LAUNCHES` more: the host is
hardly ahead of the device then. Of a recording of several submissions each has twice as many as the one before: on an
H100 a forward of GPT-2 took 3.9 ms so, not 4.2."""
MOST_LAUNCHES = 64
"""Launches of one submission at most."""
#: Submissions under way at most: a further one waits for the oldest.
IN_FLIGHT = 4
#: Seconds between two looks of the flusher.
DELAY = 5e-4
#: Looks at a batch that is not submitted yet, after which it is, whatever comes to it.
LOOKS = 4
IDLE = 40  # looks without work before the flusher sleeps
#: Bytes of a device's uniform buffer: all parameters of a batch; WebGPU guarantees bindings of 64 KiB.
PARAMS_BYTES = 65536
#: Bytes that wait in wgpu's staging memory before an empty submission frees them.
WRITTEN = 16 * 1024 * 1024
PASSES = 2048  # WebGPU allows 4096 queries in a set


class Batch:
    """The launches of one compute pass, and the bytes of their parameters; `steps` are the calls that encode them.

    What equals the launch before is not set again: a step has a pipeline, and what is bound to it, where they are
    others, or its parameters begin elsewhere; how many beginnings are told, where that is, and its workgroups.
    """

    __slots__ = ("launches", "params", "steps")

    def __init__(self) -> None:
        self.launches: list[BoundPipeline] = []
        self.params = bytearray()
        self.steps: list[tuple[Any, BoundPipeline | None, int, Any, Size3]] = []

    def take(self, runtime: Runtime, pending: deque[BoundLaunch], most: int) -> None:
        """The first of these launches, at most so many, as far as their parameters fit into the device's buffer for
        them; parameters that equal those of the launch before lie where those lie."""
        packed, slot = b"", 0
        pipeline, last, begins, nowhere = None, None, 0, runtime.api.ffi.NULL
        params = self.params
        while pending and len(self.launches) < most:
            bound, own, grid = pending[0]
            if own and own != packed:
                if len(params) + len(own) > PARAMS_BYTES:
                    return
                packed, slot = own, len(params)
                params += own
            pending.popleft()
            self.launches.append(bound)
            sets = None if bound.pipeline is pipeline else bound.pipeline.handle._internal
            binds = None if bound is last and slot == begins else bound
            self.steps.append((sets, binds, bool(own), _offset(runtime, slot) if own else nowhere, grid))
            pipeline, last, begins = bound.pipeline, bound, slot

    def encode(self, runtime: Runtime, encoder: Encoder, timestamps: Timestamps | None) -> None:
        """The launches as a compute pass, which has its errors at its end."""
        running = encoder.compute_pass(timestamps)
        here, lib = running.handle, runtime.api.lib
        set_pipeline, bind = lib.wgpuComputePassEncoderSetPipeline, lib.wgpuComputePassEncoderSetBindGroup
        dispatch = lib.wgpuComputePassEncoderDispatchWorkgroups
        for sets, bound, count, at, (x, y, z) in self.steps:
            if sets is not None:
                set_pipeline(here, sets)
            if bound is not None:
                bind(here, 0, bound.group.handle, count, at)
            dispatch(here, x, y, z)
        encoder.end(running)


@lru_cache(maxsize=1024)
def _offset(runtime: Runtime, slot: int) -> Any:
    """Where parameters begin, as a number of C: there are few, and each costs more than a launch is encoded in."""
    return runtime.api.ffi.new("uint32_t *", slot)


def batches_of(
    runtime: Runtime, launches: Sequence[BoundLaunch], most: int = MOST_LAUNCHES, first: int = MOST_LAUNCHES
) -> list[Batch]:
    """Launches in batches of at most so many, in their order; of several the `first` may have fewer, the next have
    twice as many."""
    pending, batches = deque(launches), []
    size = most if len(launches) <= most else min(most, first)
    while pending:
        batches.append(Batch())
        batches[-1].take(runtime, pending, size)
        size = min(most, 2 * size)
    return batches


class InFlight:
    """The submissions under way, oldest first. Nothing here waits: `Device` polls until `limit` is over."""

    def __init__(self, runtime: Runtime, gpu: wgpu.GPUDevice) -> None:
        self.runtime, self._gpu, self.queue = runtime, gpu, Queue(runtime, gpu)
        self._under_way: deque[Completion] = deque()
        self._written = 0
        self.submitted = 0

    def submit(self, commands: Owned, fetch: Fetch | None = None) -> None:
        """Submit commands; where they copy what is fetched, the end of that is the end of all."""
        self.queue.submit(commands)
        if fetch is None:
            end = self.queue.submitted()
        else:
            end, fetch.submitted = fetch.completion, True
            self.queue.map_for_read(fetch.staging, fetch.size, end)
        self._under_way.append(end)
        self._written = 0
        self.submitted += 1

    def submit_nothing(self) -> None:
        """An empty submission, with which a runtime frees what it keeps until the next."""
        self.submit(Encoder(self.runtime, self._gpu).finish())

    def wrote(self, nbytes: int) -> None:
        """So many bytes wait in wgpu's staging memory for the next submission: make one before they are too many."""
        self._written += nbytes
        if self._written >= WRITTEN:
            self.submit_nothing()

    def limit(self) -> Completion | None:
        """The oldest submission where there are too many: to be over before the next is made."""
        while self._under_way and self._under_way[0].done:
            self._under_way.popleft()
        return self._under_way[0] if len(self._under_way) >= IN_FLIGHT else None

    def last(self) -> Completion | None:
        """The newest submission: all are over when it is."""
        return self._under_way[-1] if self._under_way else None


class Flusher:
    """A thread that submits a device's batch a moment after its first launch, and lets go of what finalizers freed. It
    keeps no device alive.

    While there is work it looks every `DELAY` seconds, and submits a batch to which nothing came between two looks, or
    that it has seen `LOOKS` times. So no launch wakes it, which would cost that launch a change of threads, and who
    goes on launching submits the batches: two threads in turns take longer than one. It waits for bare locks: an
    Event's Python code would hold up the thread that goes on launching.
    """

    def __init__(self, device: Device) -> None:
        self._device = weakref.ref(device)
        self._work, self._stop = threading.Lock(), threading.Lock()
        # Both gates are closed at first; releasing one lets the thread through.
        for lock in (self._work, self._stop):
            lock.acquire()
        self.asleep = True
        self._thread = threading.Thread(target=self._run, name="cutepy-flush", daemon=True)
        self._thread.start()

    def notice(self) -> None:
        """Look again. A finalizer may call this: it takes no lock and starts no thread."""
        if self.asleep:
            self.asleep = False  # once: the thread may be long in waking
            _let_through(self._work)

    def stop(self) -> None:
        _let_through(self._stop)
        _let_through(self._work)

    def end(self) -> None:
        """Stop, and wait half a minute at most until it is not inside a runtime: drivers end with the process, and a
        software one computes in a submission."""
        self.stop()
        self._thread.join(30)

    def _run(self) -> None:
        while self._work.acquire():
            idle, looks, seen = 0, 0, (-1, 0)
            while idle < IDLE:
                if self._stop.acquire(timeout=DELAY):
                    return
                device = self._device()
                if device is None:
                    return
                # Set before `pending` is read: a launch that comes after this last look sees the flag and wakes the
                # thread.
                self.asleep = idle == IDLE - 1
                waiting = len(device.pending)
                before, seen = seen, (device.flushes if waiting else -1, waiting)
                looks = looks + 1 if waiting and seen[0] == before[0] else 0
                busy = waiting > 0 or device._untidy
                idle = 0 if busy else idle + 1
                if busy:
                    self.asleep = False
                    due = waiting > 0 and (seen == before or looks >= LOOKS)
                    if due or device._untidy:
                        device._flush_quietly(due)
                del device


def _let_through(gate: threading.Lock) -> None:
    """Let one pass that waits for the lock, or the next that comes; not two."""
    if gate.locked():
        with suppress(RuntimeError):  # another thread did the same just now
            gate.release()


class Stopwatch:
    """The time of the launches inside one `Device.timed()` block. `seconds` is there once the block is left."""

    def __init__(self, gpu: wgpu.GPUDevice) -> None:
        self._gpu = gpu
        self._queries = gpu.create_query_set(type="timestamp", count=2 * PASSES)
        self.passes = 0
        self._each: tuple[float, ...] | None = None

    @property
    def seconds(self) -> float:
        """The sum over the passes of what each took. Raises DeviceError while the block is open."""
        return sum(self.each)

    @property
    def each(self) -> tuple[float, ...]:
        """What each pass took, in seconds, in the order of submission. Raises DeviceError while the block is open."""
        if self._each is None:
            raise DeviceError("device.timed(): .seconds is known when the with block is left")
        return self._each

    def next_pass(self) -> Timestamps:
        """Where the next pass writes its two timestamps."""
        if self.passes == PASSES:
            raise DeviceError(
                f"device.timed(): more than {PASSES} submissions in one block; time fewer launches at once"
            )
        self.passes += 1
        return self._queries, 2 * self.passes - 2

    def resolve(self, encoder: Encoder) -> wgpu.GPUBuffer:
        """Encode what gives the timestamps. Returns the buffer that then holds them."""
        usage = wgpu.BufferUsage.QUERY_RESOLVE | wgpu.BufferUsage.COPY_SRC
        resolved = self._gpu.create_buffer(size=16 * self.passes, usage=usage, label="timestamps")
        encoder.resolve(self._queries, 2 * self.passes, resolved)
        return resolved

    def read(self, timestamps: Array, nanoseconds: float) -> None:
        """Take the pairs of timestamps, each tick of so many nanoseconds."""
        begin, end = timestamps.view(np.uint64).reshape(-1, 2).T
        self._each = tuple([int(ticks) * nanoseconds * 1e-9 for ticks in end - begin])


Launch = tuple[Program, tuple[DeviceBuffer, ...], tuple[float, ...]]
"""A launch: its program, its buffers and the values of its parameters."""
Played = tuple[Program, tuple[int, ...], Sequence[float], Size3]
"""A launch of a tape that is played: its buffers are places among those of the call, its grid is beside its program."""


@dataclass(slots=True)
class Tape:
    """What a device was asked for while a block ran, so that it can be asked for the same again: pooled buffers and
    launches; and the tape that runs around it. Where it is `whole`, the block did nothing else on the device. One that
    `plans` is written, and the device does nothing."""

    device: Device
    outer: Tape | None
    made: list[DeviceBuffer] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    whole: bool = True
    plans: bool = False


_RUNNING: ContextVar[Tape | None] = ContextVar("tape", default=None)
running_tape: Callable[[], Tape | None] = _RUNNING.get
"""The innermost tape that runs in this thread."""


@contextmanager
def taped(device: Device) -> Iterator[Tape]:
    """A tape of what this device is asked for in the block, by this thread."""
    tape = Tape(device, _RUNNING.get())
    token = _RUNNING.set(tape)
    try:
        yield tape
    finally:
        _RUNNING.reset(token)


@contextmanager
def planned(device: Device) -> Iterator[Tape]:
    """A tape of what this device would be asked for in the block, by this thread; it does nothing."""
    token = _RUNNING.set(None)  # what runs around it is told nothing
    try:
        with taped(device) as tape:
            tape.plans = True
            yield tape
    finally:
        _RUNNING.reset(token)


def planning() -> Tape | None:
    """The tape of a block of this thread in which the device does nothing."""
    tape = _RUNNING.get()
    return tape if tape is not None and tape.plans else None


@contextmanager
def untaped() -> Iterator[None]:
    """What this thread asks a device for in the block is on no tape."""
    token = _RUNNING.set(None)
    try:
        yield
    finally:
        _RUNNING.reset(token)


def tell(device: Device, what: DeviceBuffer | Launch | None) -> None:
    """Write on the tapes that run: a pooled buffer that was made, a launch, or None for anything else."""
    tape = _RUNNING.get()
    if tape is not None and tape.plans and what is None:
        raise Unfollowed
    while tape is not None:
        if what is None or device is not tape.device:
            tape.whole = False
        elif isinstance(what, DeviceBuffer):
            tape.made.append(what)
        else:
            tape.launches.append(what)
        tape = tape.outer
