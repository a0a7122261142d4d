"""Batches: launches gather in one compute pass and are submitted together; so many submissions are under way, not more.

A launch of a few microseconds would otherwise cost a submission of sixty. A batch is submitted when it is full, when
a caller reads or waits, or within a millisecond of its first launch (`Flusher`), so that work never waits for the host.
A `Stopwatch` adds up what passes took on the device, without the host and without gaps between passes. A `Tape` keeps
what was launched, to be launched again.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...errors import DeviceError
from .adapters import Runtime
from .buffer import Array, DeviceBuffer
from .native import Completion, wgpu
from .pipeline import BoundPipeline
from .program import Program, Size3

if TYPE_CHECKING:
    from .device import Device

LAUNCHES = 32
"""Launches that make a submission, which costs the host as much as 20 of them; more would keep the device waiting."""
MOST_LAUNCHES = 64
"""Launches of one submission at most."""
#: Submissions under way at most: a further one waits for the oldest.
IN_FLIGHT = 4
#: Seconds between two looks of the flusher.
DELAY = 5e-4
IDLE = 40  # looks without work before the flusher sleeps
#: Bytes of a device's uniform buffer: all parameters of a batch; WebGPU guarantees bindings of 64 KiB.
PARAMS_BYTES = 65536
#: Bytes that wait in wgpu's staging memory before an empty submission frees them.
WRITTEN = 16 * 1024 * 1024
PASSES = 2048  # WebGPU allows 4096 queries in a set


BoundLaunch = tuple[BoundPipeline, bytes, Size3]
"""A launch that is bound: its pipeline with the bind group, its parameters as bytes, its workgroups."""


class Batch:
    """The launches of one submission, and the bytes of their parameters: one compute pass, once it is finished."""

    __slots__ = ("_timestamps", "launches", "params")

    def __init__(self, timestamps: dict[str, object] | None) -> None:
        self._timestamps = timestamps
        self.launches: list[tuple[BoundPipeline, int, Size3]] = []
        self.params = bytearray()

    def take(self, pending: deque[BoundLaunch], most: int) -> None:
        """The first of these launches, at most so many, as far as their parameters fit into the device's buffer for
        them; parameters that equal those of the launch before lie where those lie."""
        last, slot = b"", 0
        while pending and len(self.launches) < most:
            bound, params, grid = pending[0]
            if params and params != last:
                if len(self.params) + len(params) > PARAMS_BYTES:
                    return
                last, slot = params, len(self.params)
                self.params += params
            self.launches.append((bound, slot, grid))
            pending.popleft()

    def finish(self, runtime: Runtime, gpu: wgpu.GPUDevice) -> wgpu.GPUCommandBuffer:
        """The launches as commands; wgpu validates the whole batch here and refuses it on a lost device.

        What equals the launch before is not set again. The calls go past wgpu-py, which asks for errors after each: a
        pass has its errors at its end.
        """
        encoder = gpu.create_command_encoder()
        record = encoder.begin_compute_pass(timestamp_writes=self._timestamps)
        here, lib, ffi = record._internal, runtime.api.lib, runtime.api.ffi
        slots = ffi.new("uint32_t[]", [slot for _, slot, _ in self.launches])
        last: tuple[object, object, int] = None, None, -1
        for at, (bound, slot, grid) in enumerate(self.launches):
            pipeline, group = bound.pipeline, bound.group
            # State that equals the launch before it is not set again.
            if pipeline is not last[0]:
                lib.wgpuComputePassEncoderSetPipeline(here, pipeline.handle._internal)
            if group is not last[1]:
                lib.wgpuComputePassEncoderSetBindGroup(here, 0, group._internal, 0, ffi.NULL)
            if pipeline.params_group is not None and (pipeline is not last[0] or slot != last[2]):
                lib.wgpuComputePassEncoderSetBindGroup(here, 1, pipeline.params_group._internal, 1, slots + at)
            lib.wgpuComputePassEncoderDispatchWorkgroups(here, *grid)
            last = pipeline, group, slot
        record.end()
        return encoder.finish()


class InFlight:
    """The submissions under way, oldest first. Nothing here waits: `Device` polls until `limit` is over."""

    def __init__(self, runtime: Runtime, gpu: wgpu.GPUDevice) -> None:
        self.runtime, self._gpu = runtime, gpu
        self._under_way: deque[Completion] = deque()
        self._written = 0
        self.submitted = 0

    def submit(self, commands: wgpu.GPUCommandBuffer) -> None:
        self._under_way.append(self.runtime.submit(self._gpu, commands))
        self._written = 0
        self.submitted += 1

    def submit_nothing(self) -> None:
        """An empty submission, with which a runtime frees what it keeps until the next."""
        self.submit(self._gpu.create_command_encoder().finish())

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

    While there is work it looks every `DELAY` seconds, and a batch that it sees twice is submitted; so no launch wakes
    it, which would cost that launch a change of threads. It waits for bare locks: an Event's Python code would hold up
    the thread that goes on launching.
    """

    def __init__(self, device: Device) -> None:
        self._device = weakref.ref(device)
        self._work, self._stop = threading.Lock(), threading.Lock()
        # Both gates are closed at first; releasing one lets the thread through.
        for lock in (self._work, self._stop):
            lock.acquire()
        self.asleep = True
        threading.Thread(target=self._run, name="cutepy-flush", daemon=True).start()

    def notice(self) -> None:
        """Look again. A finalizer may call this: it takes no lock and starts no thread."""
        if self.asleep:
            _let_through(self._work)

    def stop(self) -> None:
        _let_through(self._stop)
        _let_through(self._work)

    def _run(self) -> None:
        while self._work.acquire():
            idle, seen = 0, -1
            while idle < IDLE:
                if self._stop.acquire(timeout=DELAY):
                    return
                device = self._device()
                if device is None:
                    return
                # Set before `pending` is read: a launch that comes after this last look sees the flag and wakes the
                # thread.
                self.asleep = idle == IDLE - 1
                flushes = device.flushes if device.pending else -1
                busy = flushes >= 0 or device.untidy
                idle = 0 if busy else idle + 1
                if busy:
                    self.asleep = False
                    # What was pending at the last look too, and not flushed meanwhile, is at least `DELAY` old.
                    due = flushes >= 0 and flushes == seen
                    if due or device.untidy:
                        device.flush_quietly(due)
                seen = flushes
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

    def next_pass(self) -> dict[str, object]:
        """Where the next pass writes its two timestamps."""
        if self.passes == PASSES:
            raise DeviceError(
                f"device.timed(): more than {PASSES} submissions in one block; time fewer launches at once"
            )
        begin = 2 * self.passes
        self.passes += 1
        return {
            "query_set": self._queries,
            "beginning_of_pass_write_index": begin,
            "end_of_pass_write_index": begin + 1,
        }

    def resolve(self, in_flight: InFlight) -> wgpu.GPUBuffer:
        """Submit what gives the timestamps. Returns the buffer that then holds them."""
        usage = wgpu.BufferUsage.QUERY_RESOLVE | wgpu.BufferUsage.COPY_SRC
        resolved = self._gpu.create_buffer(size=16 * self.passes, usage=usage, label="timestamps")
        encoder = self._gpu.create_command_encoder()
        encoder.resolve_query_set(self._queries, 0, 2 * self.passes, resolved, 0)
        in_flight.submit(encoder.finish())
        return resolved

    def read(self, timestamps: Array, nanoseconds: float) -> None:
        """Take the pairs of timestamps, each tick of so many nanoseconds."""
        begin, end = timestamps.view(np.uint64).reshape(-1, 2).T
        self._each = tuple([int(ticks) * nanoseconds * 1e-9 for ticks in end - begin])


Launch = tuple[Program, tuple[DeviceBuffer, ...], tuple[float, ...]]
"""A launch: its program, its buffers and the values of its parameters."""
Played = tuple[Program, tuple[int, ...], Sequence[float]]
"""A launch of a tape that is played: its buffers are places among those of the call."""


@dataclass(slots=True)
class Tape:
    """What a device was asked for while a block ran, so that it can be asked for the same again: pooled buffers and
    launches; and the tape that runs around it. Where it is `whole`, the block did nothing else on the device."""

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


@contextmanager
def untaped() -> Iterator[None]:
    """What this thread asks a device for in the block is on no tape."""
    token = _RUNNING.set(None)
    try:
        yield
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
