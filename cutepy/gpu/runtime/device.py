"""A device: buffers, cached pipelines, batched launches, one-copy readback, device time; one lock for any threads.

Two rules keep wgpu-native from ending the process: a buffer is released, never destroyed, while work may use it, and
nothing is submitted that `finish` has not just accepted (a submission to a lost device aborts).
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import CutepyError, DeviceError
from .adapters import RUNTIMES, Adapter, webgpu_names
from .batch import PARAMS_BYTES, Batch, Flusher, InFlight, Played, Stopwatch, taping, tell
from .buffer import Array, DeviceBuffer, Pool, Staging, as_bytes, from_bytes, padded, stored_itemsize
from .native import wgpu
from .pipeline import BindGroups, Pipeline, build_pipeline
from .program import Dialect, Program, Size3

PIPELINES_KEPT = 512
POOLED = 1 << 28
"""Bytes of results that nobody holds any more which a device keeps for the next ones."""
_uids = itertools.count(1)


@dataclass(frozen=True, slots=True)
class DeviceStats:
    """What a device holds now, for reports and for tests that nothing leaks; and what it did so far."""

    buffers: int
    bytes: int
    pipelines: int
    bind_groups: int
    submissions: int
    staging_copies: int


class Device:
    """One open device. `open_device` and `default_device` make it; every method may be called from any thread.

    Work runs in the order of the calls. Launches return at once; `read` and `wait` wait for what they need.
    Every method raises DeviceError after the device was lost or closed: open a new one, this one does not come back.
    """

    def __init__(self, adapter: Adapter, gpu: wgpu.GPUDevice, *, checked: bool = False) -> None:
        self.adapter, self.gpu, self.checked, self.uid = adapter, gpu, checked, next(_uids)
        self.runtime = RUNTIMES[adapter.runtime]
        self.limits, self.features = adapter.limits, webgpu_names(gpu.features)
        self._lock = self.runtime.lock()
        self._dead = ""
        self._error: CutepyError | None = None
        self._pipelines: OrderedDict[Program, Pipeline] = OrderedDict()
        self._groups = BindGroups()
        self.pending: Batch | None = None  # the launches that nobody has submitted yet
        self._in_flight = InFlight(self.runtime, gpu)
        self._staging = Staging(gpu)
        usage = wgpu.BufferUsage
        self._storage = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        self._params = gpu.create_buffer(size=PARAMS_BYTES, usage=usage.UNIFORM | usage.COPY_DST, label="params")
        self._params_bindings: dict[int, tuple[wgpu.GPUBindGroupLayout, wgpu.GPUBindGroup]] = {}
        self._stopwatch: Stopwatch | None = None
        self._held: dict[int, tuple[int, wgpu.GPUBuffer]] = {}  # also: no garbage of cycles ends a buffer for the pool
        self._bytes = 0
        self._pool = Pool(POOLED)
        self._forgotten: deque[tuple[int, int | None]] = deque()
        self._flusher = Flusher(self)
        weakref.finalize(self, self._flusher.stop)

    @property
    def alive(self) -> bool:
        """False once the device was closed or seen to be lost."""
        return not self._dead

    @property
    def dialect(self) -> Dialect:
        """The WGSL that it takes."""
        return self.runtime.dialect

    @property
    def stats(self) -> DeviceStats:
        """Counts of what this device holds and has done."""
        with self._lock:
            self._drain()
            return DeviceStats(
                buffers=len(self._held),
                bytes=self._bytes,
                pipelines=len(self._pipelines),
                bind_groups=len(self._groups),
                submissions=self._in_flight.submitted,
                staging_copies=self._staging.copies,
            )

    def __repr__(self) -> str:
        return f"Device({self.adapter.summary}{', ' + self._dead if self._dead else ''})"

    def allocate(self, nbytes: int, name: str = "", *, pooled: bool = False) -> DeviceBuffer:
        """A buffer of zeros; a pooled one, for what launches fill, holds anything.

        Raises DeviceError beyond the largest buffer of the device, or where memory ran out.
        """
        if not 0 <= nbytes <= padded(nbytes) <= self.limits.buffer_bytes:
            raise DeviceError(
                f"allocate {nbytes} bytes{' for ' + name if name else ''}: a buffer of {self.adapter.name} has at most "
                f"{self.limits.buffer_bytes}; split the tensor into parts of that size"
            )
        with _Working(self, "allocate"):
            buffer = self._new(nbytes, name, pooled)
        tell(self, buffer if pooled else None)
        return buffer

    def _new(self, nbytes: int, name: str, pooled: bool) -> DeviceBuffer:
        """A buffer in memory of the pool, or in its own."""
        uid, handle = (self._pool.take(nbytes) if pooled else None) or (0, self._create(nbytes, name))
        buffer = DeviceBuffer(self, handle, nbytes, name, pooled=pooled, uid=uid)
        self._held[buffer.uid] = padded(nbytes), handle
        self._bytes += padded(nbytes)
        return buffer

    def _create(self, nbytes: int, name: str) -> wgpu.GPUBuffer:
        try:
            return self.gpu.create_buffer(size=padded(nbytes), usage=self._storage, label=name)
        except self.runtime.errors as error:
            if not self._out_of_memory(error):
                raise
        try:
            self._let_go(self._pool.empty())
            self._flush()  # what finished work still holds is freed by waiting for it
            self._in_flight.wait()
            return self.gpu.create_buffer(size=padded(nbytes), usage=self._storage, label=name)
        except self.runtime.errors as error:
            raise self.failure(error, f"allocate {nbytes} bytes ({self._bytes} in use)") from error

    def upload(self, array: Array, name: str = "") -> DeviceBuffer:
        """A buffer with the bytes of an array in C order (a bool as a u32). Raises DeviceError as `allocate` does."""
        data = as_bytes(np.asarray(array))
        buffer = self.allocate(data.size, name)
        self._write(buffer, data, 0)
        return buffer

    def write(self, buffer: DeviceBuffer, array: Array, offset: int = 0) -> None:
        """Copy the bytes of an array into a buffer from byte `offset` on, after the launches before this call.

        Raises DeviceError where they do not fit, or start or end between two multiples of 4.
        """
        data = as_bytes(np.asarray(array))
        end = offset + data.size
        if offset < 0 or offset % 4 or end > buffer.nbytes or (end % 4 and end != buffer.nbytes):
            raise DeviceError(
                f"{buffer}.write: bytes {offset} to {end} of {buffer.nbytes}; they must be multiples of 4, within it"
            )
        self._write(buffer, data, offset)

    def read(
        self, buffer: DeviceBuffer, dtype: npt.DTypeLike = np.uint8, count: int | None = None, offset: int = 0
    ) -> Array:
        """A new 1-D array of `count` elements (default: all) from byte `offset` on, after all earlier launches.

        The bytes are copied once on the device, to staging memory, and once out of it. Raises DeviceError where the
        range leaves the buffer or `offset` is no multiple of 4.
        """
        kind = np.dtype(dtype)
        room = (buffer.nbytes - offset) // stored_itemsize(kind)
        count = room if count is None else count
        if offset < 0 or offset % 4 or not 0 <= count <= room:
            raise DeviceError(
                f"{buffer}.read: {count} x {kind} from byte {offset}; there is room for {room}, from a multiple of 4"
            )
        tell(self, None)
        out = np.empty(count * stored_itemsize(kind), np.uint8)
        with _Working(self, f"read {out.size} bytes"):
            self._own(buffer)
            self._flush()
            self._staging.read(self._in_flight, buffer.handle, offset, out)
        return from_bytes(out, kind)

    def launch(
        self,
        program: Program,
        operands: Sequence[DeviceBuffer],
        params: Sequence[float] = (),
        *,
        grid: Size3 | None = None,
    ) -> None:
        """Run a program over these buffers, in the order of its bindings; `grid` replaces the program's own.

        Raises KernelError for parameters, buffers or a source that do not fit the program, DeviceError for buffers of
        another device, for limits exceeded, and for a grid larger than the one for which a program was proven to need
        no run-time checks. A grid with a 0 runs nothing.
        """
        size = program.grid if grid is None else grid
        if not program.checked and any(n > proven for n, proven in zip(size, program.grid, strict=True)):
            raise DeviceError(
                f"{program.entry}: {size} workgroups, but it is proven to need no checks for {program.grid} only; "
                "launch a program made for that grid, or one made with checks='always'"
            )
        tell(self, (program, tuple(operands), tuple(params)) if grid is None else None)
        with _Working(self, program.entry):
            self._record(program, operands, params, size)

    def replay(self, made: Sequence[int], launches: Sequence[Played], buffers: list[DeviceBuffer]) -> None:
        """Pooled buffers of so many bytes each, which join `buffers`, then launches over them: what `allocate` and
        `launch` do, in one turn. A launch has its program, the places of its operands among `buffers`, its parameters.
        """
        with _Working(self, "a call made again"):
            buffers += [self._new(nbytes, "", True) for nbytes in made]
            for program, places, params in launches:
                self._record(program, [buffers[place] for place in places], params, program.grid)
        if taping():
            for buffer in buffers[len(buffers) - len(made) :]:
                tell(self, buffer)
            for program, places, params in launches:
                tell(self, (program, tuple([buffers[place] for place in places]), tuple(params)))

    def _record(self, program: Program, operands: Sequence[DeviceBuffer], params: Sequence[float], grid: Size3) -> None:
        packed = b""
        if params or program.params:
            packed = program.pack(params)
            packed += bytes(-len(packed) % self.limits.uniform_alignment)
        pipeline, group = self._groups.get(self, program, operands)
        if max(grid) > self.limits.workgroups or min(grid) < 1:
            if min(grid) == 0:
                return
            raise DeviceError(
                f"{program.entry}: a grid of {' x '.join(map(str, grid))} workgroups; {self.adapter.name} has at most "
                f"{self.limits.workgroups} along a dimension: fold the grid into y and z, or let each do more"
            )
        batch = self.pending
        if batch is not None and not batch.has_room(len(packed)):
            self._flush()
            batch = None
        if batch is None:
            batch = self.pending = Batch(self._stopwatch.next_pass() if self._stopwatch else None)
            self._flusher.notice()
        batch.record(pipeline, group, packed, grid)

    def prepare(self, program: Program) -> bool:
        """Compile a program now, not at its first launch. Returns whether its module has run-time checks: also where
        the program asked for none but this wgpu cannot leave them out (then a warning says so once), or keeps its own.
        """
        with _Working(self, f"compile {program.entry}"):
            return self.pipeline(program).checked

    def flush(self) -> None:
        """Submit what was launched so far; it would be within a millisecond anyway."""
        with _Working(self, "flush"):
            self._flush()

    def wait(self) -> None:
        """Block until everything launched so far is done."""
        with _Working(self, "wait"):
            self._flush()
            self._in_flight.wait()

    @contextmanager
    def timed(self) -> Iterator[Stopwatch]:
        """Measure the device time of the launches in a with block: `with device.timed() as watch: ...; watch.seconds`.

        Launches of other threads count too. Raises DeviceError where the device has no timestamps.
        """
        if "timestamp-query" not in self.features:
            raise DeviceError(f"{self.adapter}: no timestamps; measure wall time around launches and device.wait()")
        with _Working(self, "timed"):
            self._flush()
            if self._stopwatch is not None:
                raise DeviceError("device.timed(): a measurement is under way on this device; do not nest them")
            watch = self._stopwatch = Stopwatch(self.gpu)
        try:
            yield watch
            with _Working(self, "timed"):
                self._flush()
                watch.resolve(self._in_flight, self._staging)
        finally:
            self._stopwatch = None

    def close(self) -> None:
        """Finish what was launched and give everything back; its buffers are gone. Closing twice is fine."""
        if self.alive:
            self.wait()
        with self._lock:
            self._dead = self._dead or "closed"
            self._flusher.stop()
            self._pool.empty()
            self._pipelines.clear()
            self._groups.clear()
            self._params_bindings.clear()

    # What the modules beside this one call; the lock is held, except in `forget`.

    def forget(self, uid: int, nbytes: int | None = None) -> None:
        """A buffer was freed, on any thread, perhaps by the garbage collector in the middle of another call: so never
        wait for the lock here. Who holds it lets go of the memory at the next call. With `nbytes` it is for the pool,
        and there is no haste.
        """
        self._forgotten.append((uid, nbytes))
        if (nbytes is None or nbytes > POOLED) and self._lock.acquire(blocking=False):
            try:
                self._drain()
            finally:
                self._lock.release()

    def params_binding(self, size: int) -> tuple[wgpu.GPUBindGroupLayout, wgpu.GPUBindGroup]:
        """Layout and bind group of a window of `size` bytes that slides over the batch's parameters."""
        if size not in self._params_bindings:
            buffer = {"type": "uniform", "has_dynamic_offset": True, "min_binding_size": size}
            entry = {"binding": 0, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": buffer}
            layout = self.gpu.create_bind_group_layout(entries=[entry])
            resource = {"buffer": self._params, "offset": 0, "size": size}
            group = self.gpu.create_bind_group(layout=layout, entries=[{"binding": 0, "resource": resource}])
            self._params_bindings[size] = layout, group
        return self._params_bindings[size]

    def failure(self, error: Exception, doing: str) -> DeviceError:
        """The DeviceError for what wgpu raised; a lost device is remembered as lost."""
        text = str(error)
        if self.runtime.lost_error(text) or self.runtime.lost(self.gpu):
            self._dead = "lost"
            return DeviceError(f"{doing}: {self.adapter.summary} was lost; {_REOPEN}")
        if self._out_of_memory(error):
            return DeviceError(f"{doing}: {self.adapter.summary} is out of memory; free buffers or use smaller tensors")
        return DeviceError(f"{doing}: {self.adapter.summary} refuses: {text}")

    def flush_quietly(self, batch: Batch) -> None:
        """Submit this batch if it is still pending. For the flusher's thread: the next call raises what goes wrong."""
        with self._lock:
            try:
                if not self._dead and self.pending is batch:
                    self._flush()
            except CutepyError as error:
                self._error = error
            except self.runtime.errors as error:
                self._error = self.failure(error, "submit")

    def _drain(self) -> None:
        while self._forgotten:
            uid, nbytes = self._forgotten.popleft()
            size, handle = self._held.pop(uid)
            self._bytes -= size
            self._let_go([uid] if nbytes is None or self._dead else self._pool.give(nbytes, (uid, handle)))
            del handle

    def _let_go(self, uids: list[int]) -> None:
        for uid in uids:
            self._groups.forget(uid)

    def pipeline(self, program: Program) -> Pipeline:
        pipeline = self._pipelines.get(program)
        if pipeline is None:
            pipeline = self._pipelines[program] = build_pipeline(self, program)
            if len(self._pipelines) > PIPELINES_KEPT:
                self._pipelines.popitem(last=False)
        else:
            self._pipelines.move_to_end(program)
        return pipeline

    def _flush(self) -> None:
        batch, self.pending = self.pending, None
        if batch is None:
            return
        try:
            commands = batch.finish(self.runtime, self.gpu)
            if batch.params:
                self.gpu.queue.write_buffer(self._params, 0, batch.params)
        except self.runtime.errors as error:
            entries = [pipeline.program.entry for pipeline, *_ in batch.launches]
            raise self.failure(error, f"submit {len(entries)} launches ({', '.join(entries)})") from error
        self._in_flight.submit(commands)

    def _write(self, buffer: DeviceBuffer, data: Array, offset: int) -> None:
        tell(self, None)
        with _Working(self, f"write {data.size} bytes"):
            self._own(buffer)
            self._flush()
            self._staging.write(self._in_flight, buffer.handle, offset, data)

    def _own(self, buffer: DeviceBuffer) -> None:
        if buffer.device is not self:
            raise DeviceError(f"{buffer} is on {buffer.device.adapter}, not on this {self.adapter}; use its own device")

    def _out_of_memory(self, error: Exception) -> bool:
        """The runtimes have a class for it, and wgpu for buffers raises a validation error all the same."""
        return isinstance(error, self.runtime.errors[1]) or "not enough memory" in str(error).lower()


class _Working:
    """While it is entered, a thread has a device to itself. Cheaper than a generator, and every launch enters one."""

    __slots__ = ("device", "doing")

    def __init__(self, device: Device, doing: str) -> None:
        self.device, self.doing = device, doing

    def __enter__(self) -> None:
        """Hold the lock, but refuse on a dead device."""
        device = self.device
        device._lock.acquire()
        try:
            if not device._dead and device.runtime.lost(device.gpu):
                device._dead = "lost"
            if device._dead or device._error is not None:
                error, device._error = device._error, None
                raise error or DeviceError(f"{self.doing}: {device.adapter.summary} was {device._dead}; {_REOPEN}")
            if device._forgotten:
                device._drain()
        except BaseException as error:
            self.__exit__(None, error, None)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Let the lock go, and turn an error of the runtime into DeviceError."""
        device = self.device
        try:
            if not isinstance(error, CutepyError) and isinstance(error, (*device.runtime.errors, RuntimeError)):
                raise device.failure(error, self.doing) from error
        finally:
            device._lock.release()


_REOPEN = "open a new device (cutepy.gpu.default_device() does) and upload again"
