"""A device: buffers, cached pipelines, batched launches, one-copy readback, device time; one lock for any threads.

Every call of a runtime is inside `Exclusive`: one thread at a time, no handler of a signal, on a device that is there.
Such a block never waits for the device. `Device._await` does, by polling in a block each: between two of them other
threads work, and Ctrl-C is heard.

Two rules keep wgpu-native from ending the process: a buffer is released, never destroyed, while work may use it, and
nothing is submitted that `finish` has not just accepted (a submission to a lost device aborts).

What a batch fails with when it is submitted belongs to the buffers of its launches: the next call over one of them
raises it, or the next that waits for all.
"""

from __future__ import annotations

import atexit
import itertools
import operator
import struct
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ...errors import CutepyError, DeviceError, KernelError
from .adapters import RUNTIMES, Adapter, webgpu_names
from .batch import (
    FIRST_LAUNCHES,
    LAUNCHES,
    MORE_LAUNCHES,
    MOST_LAUNCHES,
    PARAMS_BYTES,
    Batch,
    Flusher,
    InFlight,
    Played,
    Stopwatch,
    batches_of,
    running_tape,
    tell,
    untaped,
)
from .buffer import (
    ALIGNMENT,
    CHUNK,
    LARGEST_CLASS,
    Array,
    DeviceBuffer,
    Fetch,
    Memory,
    Pool,
    Staging,
    as_bytes,
    from_bytes,
    numbered,
    pooled_bytes,
    stored_itemsize,
)
from .deferral import before_launches, before_writing
from .driver_faults import check_faults, faults_of
from .interrupts import Uninterrupted
from .native import Completion, Encoder, wgpu
from .pipeline import (
    BindGroups,
    BoundKey,
    BoundLaunch,
    BoundPipeline,
    Pipeline,
    Spans,
    build_pipeline,
    check_operands,
    probe_of_subgroups,
)
from .program import MATRICES, Dialect, MatrixShape, Program, Size3

PIPELINES_KEPT = 512
Made = TypeVar("Made")
MadeMemory = tuple[tuple[tuple[int, int] | None, int], ...]
"""What a call makes: for each its scratch memory (`_shared`), or None for the one result, and its bytes."""
POOLED, POOLED_ALWAYS = 1 << 28, 1 << 24
"""Bytes of results without a reference that a device keeps for further results, at most; and those that it keeps even
where they, with what is in use, are more than `HELD` times the most that was ever in use at once."""
HELD = 1.5
SCRATCH = 1 << 25
"""Bytes of temporaries of one call that are in scratch memory, at most, which all calls share: what is in it is not
kept from one call to the next. More come from the pool."""
FREED = 1 << 24
"""Bytes of freed buffers that wait for a submission, on a runtime that frees with the next one."""
SPIN, LONGEST_PAUSE, SHARE = 1e-3, 1e-3, 16
"""A wait polls without a pause for the first seconds, then with pauses of a `SHARE` of what it has lasted, at most.
After a longer one the first batch is short."""
_span = operator.attrgetter("span")
_uids = itertools.count(1)
DEVICES: weakref.WeakSet[Device] = weakref.WeakSet()
"""The devices of this process that are open."""
registering = threading.Lock()


@dataclass(frozen=True, slots=True)
class DeviceStats:
    """What a device holds now, for reports and for tests that nothing leaks; and what it did so far: `compiled`
    pipelines were built, `recompiled` of them once more after they had been given up for others. `bytes` are in use,
    `pooled` beside them are kept for further results, and `peak` is the most that was in use at once.

    >>> from cutepy.gpu import default_device
    >>> default_device().stats.buffers >= 0
    True
    """

    buffers: int
    bytes: int
    pipelines: int
    bind_groups: int
    submissions: int
    staging_copies: int
    compiled: int = 0
    recompiled: int = 0
    pooled: int = 0
    peak: int = 0


class Device:
    """One open device. `open_device` and `default_device` make it; every method may be called from any thread.

    Work runs in the order of the calls. Launches return at once; `read` and `wait` wait for what they need.
    Every method raises DeviceError after the device was lost or closed: open a new one, this one does not come back.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def twice(x, y):
    ...     gpu.launch(threads=4)
    ...     y[gpu.thread] = 2 * x[gpu.thread]
    >>> device, x = gpu.default_device(), np.arange(4, dtype=np.float32)
    >>> inputs, results = device.upload(x), device.allocate(x.nbytes, "results")
    >>> program = twice.program(x, x.copy())
    >>> device.prepare(program)  # no: it has no run-time checks, for it is proven to need none
    False
    >>> device.launch(program, [inputs, results])
    >>> device.flush(); device.wait(); device.read(results, "float32").tolist()
    [0.0, 2.0, 4.0, 6.0]
    >>> device.write(results, np.ones(1, np.float32), offset=4)
    >>> device.read_async(results, "float32").result().tolist()
    [0.0, 1.0, 4.0, 6.0]
    >>> with device.timed() as watch:
    ...     device.launch(program, [inputs, results])
    >>> with device.profiled() as (each, launches):
    ...     device.launch(program, [inputs, results])
    >>> watch.seconds >= 0, len(each.each), launches
    (True, 1, [('twice', 32)])
    >>> device.alive, device.dialect, len(device.matrices) >= 0, device.subgroup_size() >= 4, device.stats.buffers >= 2
    (True, 'naga', True, True, True)

    Launches that were made once are made again by what was bound for them:

    >>> device.faulty or device.check_faults(program, ()) is None
    True
    >>> bound = device.launch_bound(program, [inputs, results], (inputs.uid, results.uid), b"", (1, 1, 1))
    >>> device.play([device.bound_launch(program, [inputs, results], (), (1, 1, 1))], [], [inputs, results])
    >>> fresh = device.replay((x.nbytes,), [(program, (0, 1), (), program.grid)], [inputs], kept=0)
    >>> fresh.read("float32").tolist()
    [0.0, 2.0, 4.0, 6.0]
    >>> other = gpu.open_device(device.adapter)
    >>> other.close(); other.alive
    False
    """

    def __init__(self, adapter: Adapter, gpu: wgpu.GPUDevice, *, checked: bool = False) -> None:
        self.adapter, self.gpu, self.checked, self.uid = adapter, gpu, checked, next(_uids)
        self.runtime = RUNTIMES[adapter.runtime]
        self.limits, self.features = adapter.limits, webgpu_names(gpu.features)
        self._lock = self.runtime.lock()
        self._lockless = self.runtime.raises_when_lost  # where no launch has failed, calls go without the lock
        self._largest = self.limits.buffer_bytes // ALIGNMENT * ALIGNMENT
        self._dead = ""
        self._failed: dict[int, str] = {}  # number of a buffer -> what a launch over it failed with
        self._pipelines: OrderedDict[tuple[object, ...], Pipeline] = OrderedDict()
        self._met: dict[int, tuple[Program, Pipeline]] = {}  # since the last that was compiled
        self._compiled: set[int] = set()  # the hashes of what was compiled
        self._recompiled = 0
        self._groups = BindGroups()
        self.pending: deque[BoundLaunch] = deque()  # the launches that are not submitted yet
        self.flushes = 0
        self._enough = LAUNCHES  # launches that make a submission now
        self._in_flight = InFlight(self.runtime, gpu)
        self._staging = Staging(self.runtime, gpu)
        self.lanes = 0  # the threads of a subgroup; 0: not measured yet
        usage = wgpu.BufferUsage
        self._storage = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        self._params = gpu.create_buffer(size=PARAMS_BYTES, usage=usage.UNIFORM | usage.COPY_DST, label="params")
        self._params_there = b""  # what its first bytes are after all that was submitted
        self._stopwatch: Stopwatch | None = None
        self._profiled: list[tuple[str, int]] | None = None  # of each launch: its program, the bytes that are bound
        # All memory by its number, with its bytes: no garbage of cycles ends what is for the pool.
        self._held: dict[int, tuple[int, wgpu.GPUBuffer]] = {}
        self._bytes = self._peak = 0  # of all memory; of what was in use
        self._freed = 0
        self._pool = Pool()
        self._forgotten: deque[tuple[int, int | None]] = deque()
        self._scratch: OrderedDict[tuple[int, int], Memory] = OrderedDict()
        self._hasty = False
        self._faults = faults_of(adapter)
        self._warned: set[Program] = set()
        self._checked: set[tuple[Program, tuple[float, ...]]] = set()  # launches that meet no fault, or were warned of
        self._flusher = Flusher(self)
        weakref.finalize(self, self._flusher.stop)
        own = weakref.ref(self)
        self.runtime.on_destroy(gpu, lambda: _Ending(own()))
        with registering:
            DEVICES.add(self)

    @property
    def matrices(self) -> tuple[MatrixShape, ...]:
        """The matrices of a subgroup that programs on this device may use: the adapter's, where they were granted."""
        return self.adapter.matrices if MATRICES in self.features else ()

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
        with Uninterrupted(), self._lock:
            self._drain()
            self._trim()
            return DeviceStats(
                buffers=len(self._held) - len(self._pool),
                bytes=self._bytes - self._pool.bytes,
                pipelines=len(self._pipelines),
                bind_groups=len(self._groups),
                submissions=self._in_flight.submitted,
                staging_copies=self._staging.copies,
                compiled=len(self._compiled) + self._recompiled,
                recompiled=self._recompiled,
                pooled=self._pool.bytes,
                peak=self._peak,
            )

    def __repr__(self) -> str:
        return f"Device({self.adapter.summary}{', ' + self._dead if self._dead else ''})"

    def allocate(self, nbytes: int, name: str = "", *, pooled: bool = False) -> DeviceBuffer:
        """A buffer of zeros; a pooled one, for what launches fill, holds anything.

        Raises DeviceError beyond the largest buffer of the device, or where memory ran out.
        """
        tape = running_tape()
        plans = tape is not None and tape.plans
        if type(nbytes) is not int and not plans:
            nbytes = _whole(nbytes, "allocate")
        if not 0 <= nbytes <= self._largest:
            raise DeviceError(
                f"allocate {nbytes} bytes{' for ' + name if name else ''}: a buffer of {self.adapter.name} has at most "
                f"{self.limits.buffer_bytes}; split the tensor into parts of that size"
            )
        if pooled and plans:
            buffer = DeviceBuffer(self, 0, name, pooled)._over(numbered(self.gpu))
            buffer.nbytes = nbytes
        else:
            buffer = (
                self._pooled(nbytes, name) if pooled else self._with_memory(partial(self._new, nbytes, name, False))
            )
        if tape is not None:
            tell(self, buffer if pooled else None)
        return buffer

    def _pooled(self, nbytes: int, name: str = "") -> DeviceBuffer:
        """A buffer in memory of the pool, or in new memory that is for the pool. Any thread may ask at any time; where
        the pool has some, it takes no lock."""
        if self._lockless and not (self._failed or self._dead):
            buffer = DeviceBuffer(self, nbytes, name, True)
            if buffer.held <= LARGEST_CLASS and self._pool.take(buffer):
                return buffer
        return self._with_memory(partial(self._new, nbytes, name, True))

    def _with_memory(self, make: Callable[[], Made]) -> Made:
        """What `make` gives in a block of its own, once more where memory ran out and some came back."""
        try:
            with Exclusive(self, "allocate"):
                return make()
        except _OutOfMemory:
            self._give_back()
            with Exclusive(self, "allocate"):
                return make()

    def _give_back(self) -> None:
        """Free what the pool keeps and what is scratch memory, and wait for the work that holds freed memory. A call
        that comes between its temporaries and its launches still has those that it has."""
        with Exclusive(self, "free memory"):
            self._let_go([*self._pool.keep(0), *dict(self._scratch.values())])
            self._scratch.clear()
            self._flush()
            self._in_flight.submit_nothing()
            last = self._in_flight.last()
        self._await(last, "free memory")

    def _new(self, nbytes: int, name: str, pooled: bool) -> DeviceBuffer:
        """A buffer in memory of the pool, or in its own."""
        buffer = DeviceBuffer(self, nbytes, name, pooled)
        if not (pooled and self._pool.take(buffer)):
            memory = numbered(self._create(buffer.held, name))
            buffer._over(memory).owned.append(memory)
            self._held[buffer.uid] = buffer.held, memory[1]
            self._bytes += buffer.held
            self._trim()
        if self._failed:
            self._failed.pop(buffer.uid, None)
        return buffer

    def _create(self, nbytes: int, name: str) -> wgpu.GPUBuffer:
        try:
            label = name.encode(errors="replace").decode()  # a lone surrogate is no text of C
            return self.gpu.create_buffer(size=nbytes, usage=self._storage, label=label)
        except self.runtime.errors as error:
            if not self._out_of_memory(error):
                raise
            failure = self._failure(error, f"allocate {nbytes} bytes ({self._bytes - self._pool.bytes} in use)")
            raise _OutOfMemory(str(failure)) from error

    def upload(self, array: Array, name: str = "", *, pooled: bool = False) -> DeviceBuffer:
        """A buffer with the bytes of an array in C order (a bool as a u32), and zeros beyond them.

        Raises DeviceError as `allocate` does.
        """
        data = as_bytes(np.asarray(array))
        buffer = self.allocate(data.size, name, pooled=pooled)
        if pooled:  # what the memory held before is not for who reads beyond an array
            whole = np.zeros(pooled_bytes(data.size), np.uint8)
            whole[: data.size] = data
            data = whole
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
        kind, out = _room_for(buffer, dtype, count, offset)
        tell(self, None)
        self._read(buffer, offset, out)
        return from_bytes(out, kind)

    def read_async(
        self, buffer: DeviceBuffer, dtype: npt.DTypeLike = np.uint8, count: int | None = None, offset: int = 0
    ) -> PendingRead:
        """`read` that does not wait: the bytes as they are after the launches so far, whatever is launched next.

        The copies to staging memory are submitted at once, so a large read takes as much memory more. Raises as `read`.
        """
        kind, out = _room_for(buffer, dtype, count, offset)
        tell(self, None)
        doing, fetches = f"read {out.size} bytes", []
        for start in range(0, out.size, CHUNK):
            part = out[start : start + CHUNK]
            self._throttle()
            with Exclusive(self, doing):
                fetches.append((self._fetch(buffer, offset + start, part.size), part))
        return PendingRead(self, fetches, out, kind)

    def _read(self, buffer: DeviceBuffer, offset: int, out: Array) -> None:
        """Fill `out` from byte `offset` on, by chunks: launches of other threads may come between two of them."""
        doing = f"read {out.size} bytes"
        for start in range(0, max(1, out.size), CHUNK):
            chunk = out[start : start + CHUNK]
            with Exclusive(self, doing):
                if not chunk.size:
                    self._own(buffer)
                    self._flush()
                    self._raise_failure(buffer)
                    return
                fetch = self._fetch(buffer, offset + start, chunk.size)
            self._await(fetch.completion, doing, partial(self._staging.take, fetch, chunk))

    def _fetch(self, buffer: DeviceBuffer, offset: int, nbytes: int) -> Fetch:
        """Submit what is pending, and with it a copy of at most `CHUNK` bytes to staging memory."""
        self._own(buffer)
        fetch = self._staging.fetch(buffer.handle, offset, nbytes)
        self._flush(fetch)
        self._raise_failure(buffer)
        if not fetch.submitted:
            self._submit(Batch(), fetch)
        return fetch

    def _await(self, completion: Completion | None, doing: str, then: Callable[[], None] = lambda: None) -> None:
        """Poll until a completion is over, then call `then`, before another thread has the device. Raises DeviceError
        where the device is lost or closed meanwhile.
        """
        begin, over = time.perf_counter(), completion is not None and completion.done
        while completion is not None:
            with Exclusive(self, doing):
                if not completion.done:
                    self.runtime.poll(self.gpu)
                if completion.done:
                    # Where the device is what takes long, it begins again as soon as it can. A software one makes
                    # whoever submits wait for the submission before. What was over tells nothing.
                    if completion is self._in_flight.last() and not over:
                        behind = time.perf_counter() - begin > SPIN and self.adapter.kind != "CPU"
                        self._enough = FIRST_LAUNCHES if behind else LAUNCHES
                    then()
                    return
            waited = time.perf_counter() - begin
            if waited > SPIN:
                time.sleep(min(LONGEST_PAUSE, waited / SHARE))

    def _begin(self, doing: str) -> None:
        """Before launches: submit what waits where that is enough for a submission, and see that the device is there.
        Raises DeviceError where it is not."""
        if len(self.pending) >= self._enough:
            self._throttle()
            with Exclusive(self, "submit"):
                self._flush()
        if self._failed or self._dead or not self._lockless:
            with Exclusive(self, doing):
                pass

    def _throttle(self) -> None:
        """Wait where too many submissions are under way."""
        with Exclusive(self, "submit"):
            limit = self._in_flight.limit()
        self._await(limit, "submit")

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
        size = program.grid if grid is None else _grid(program, grid)
        if not program.checked and any(n > proven for n, proven in zip(size, program.grid, strict=True)):
            raise DeviceError(
                f"{program.entry}: {size} workgroups, but it is proven to need no checks for {program.grid} only; "
                "launch a program made for that grid, or one made with checks='always'"
            )
        before_launches([(program, range(len(operands)), ())], operands)
        tell(self, (program, tuple(operands), tuple(params)) if grid is None else None)
        self._prepare_for(program)
        launch = self.bound_launch(program, operands, params, size)
        if min(size):
            self._enqueue((launch,))

    def _prepare_for(self, program: Program) -> None:
        """What a launch may have to wait for: room for its batch, or the size of a subgroup."""
        self._begin(program.entry)
        if program.lanes and "subgroups" in self.features:
            self.subgroup_size()

    def subgroup_size(self) -> int:
        """The threads of a subgroup, as a kernel of 128 threads sees them; measured by the first that asks."""
        if not self.lanes:
            with untaped():
                buffer = self.allocate(4)
                self.launch(probe_of_subgroups(self.dialect), [buffer])
                self.lanes = int(self.read(buffer, np.uint32)[0])
        return self.lanes

    def replay(
        self,
        made: tuple[int, ...],
        launches: Sequence[Played],
        buffers: Sequence[DeviceBuffer],
        kept: int = -1,
        of: object = None,
    ) -> DeviceBuffer | None:
        """New buffers of so many bytes each, which come after `buffers`, then launches over all: what `allocate` and
        `launch` do, in one step. A launch has its program, the numbers of its operands, its parameters, its grid.
        Returns the new buffer of number `kept`, which the caller keeps. All calls `of` one object, compared by its
        identity, have the same launches: what is bound for these is found by the buffers.
        """
        before_launches(launches, buffers)
        self._begin("a call made again")
        tapes = running_tape() is not None
        scratch = None if tapes or len(made) == (kept >= 0) else scratch_of(made, kept)
        new = [
            self._pooled(nbytes) if scratch is None or (key := scratch[at]) is None else self._shared(key, nbytes)
            for at, nbytes in enumerate(made)
        ]
        everything = [*buffers, *new]
        same: BoundKey | None = None
        bound: list[BoundLaunch] | None = None
        if of is not None and not self._failed:
            same = of, tuple([buffer.span for buffer in everything])
            bound = self._groups.played.get(same)
        if bound is None:
            bound = [
                self.bound_launch(program, [everything[number] for number in places], params, grid)
                for program, places, params, grid in launches
                if min(grid)
            ]
            if same is not None:
                self._groups.play(same, bound)
        self._enqueue(bound)
        if tapes:
            for buffer in new:
                tell(self, buffer)
            for program, places, params, grid in launches:
                operands = tuple([everything[number] for number in places])
                tell(self, (replace(program, grid=grid), operands, tuple(params)))
        return new[kept] if kept >= 0 else None

    def _repeat(self, of: object, made: MadeMemory, spans: Spans) -> DeviceBuffer | bool:
        """What `replay` does for calls `of` one object over operands of these spans, where the launches are bound and
        nothing else is to be done: no submission, and no failure to raise. Gives the buffer of the result, else whether
        it launched them. No tape and no block runs in this thread."""
        if self._failed or self._dead or len(self.pending) >= self._enough:
            return False
        if not self._lockless:
            self._begin("a call made again")
        result: DeviceBuffer | bool = True
        for key, nbytes in made:
            if key is None:
                result = buffer = self._pooled(nbytes)
            else:
                buffer = self._shared(key, nbytes)
            spans = *spans, buffer.span
        bound = self._groups.played.get((of, spans))
        if bound is None:
            return False
        self.pending.extend(bound)
        if self._flusher.asleep:
            self._flusher.notice()
        return result

    def _shared(self, key: tuple[int, int], nbytes: int) -> DeviceBuffer:
        """Scratch memory by its bytes and its number among those of its size, made where it is not there. The device
        owns it: no end of a buffer over it gives it to the pool."""

        def make() -> None:
            # What was used longest ago goes, with its bind groups. A call's own, at most `SCRATCH`, was used last.
            while self._scratch and sum([held for held, _ in (*self._scratch, key)]) > 2 * SCRATCH:
                self._forgotten.append((self._scratch.popitem(last=False)[1][0], None))
            if key not in self._scratch:
                buffer = self._new(nbytes, "scratch", True)
                self._scratch[key] = buffer.owned.pop()

        while True:
            try:
                self._scratch.move_to_end(key)
                return DeviceBuffer(self, nbytes, "scratch", True)._over(self._scratch[key])
            except KeyError:
                self._with_memory(make)

    def play(self, launches: Sequence[BoundLaunch], batches: Sequence[Batch], buffers: Sequence[DeviceBuffer]) -> None:
        """Launches that are bound already, by the batches that were made of them; `buffers` are those that others may
        free.

        Raises DeviceError where one of them was freed, or failed before.
        """
        before_writing(buffers)
        for batch in batches if self._profiled is None else batches_of(self.runtime, launches, 1):
            self._throttle()
            with Exclusive(self, "play"):
                self._flush()
                if None in map(_span, buffers):
                    for buffer in buffers:
                        buffer.handle  # noqa: B018  DeviceError of one that was freed
                if self._failed:
                    self._raise_failure(*buffers)
                try:
                    self._submit(batch)
                except Exception as error:
                    self._fail(batch.launches, error)

    def bound_launch(
        self, program: Program, operands: Sequence[DeviceBuffer], params: Sequence[float], grid: Size3
    ) -> BoundLaunch:
        """A launch with its pipeline and bind group, its parameters as bytes, and its grid, on a device that can make
        it. Raises what an earlier one over these buffers failed with."""
        pipeline, packed = self._pipeline_of(program), b""
        if params or program.params:
            try:
                packed = pipeline.pack(*params)
            except (struct.error, OverflowError):
                program.pack(params)
                raise
        if self._faults:
            self.check_faults(program, params)
        try:
            # Where the bind group is there, only the state of the buffers may be another; none has the number 0.
            uids = [
                o.uid if o._handle is not None and b.min_bytes <= o.nbytes else 0
                for b, o in zip(program.bindings, operands, strict=False)
            ]
            bound = self._groups.known(pipeline, tuple(uids)) if len(uids) == len(operands) else None
            if bound is None:
                check_operands(self, program, operands)
                bound = self._groups.get(pipeline, operands)
        except AttributeError:
            other = [operand for operand in operands if not isinstance(operand, DeviceBuffer)]
            if not other:
                raise
            raise KernelError(f"{program.entry}: {other[0]!r} is no buffer; device.upload(array) makes one") from None
        if self._failed:
            self._raise_failure(*operands)
        if max(grid) > self.limits.workgroups and min(grid):
            raise DeviceError(
                f"{program.entry}: a grid of {' x '.join(map(str, grid))} workgroups; {self.adapter.name} has at most "
                f"{self.limits.workgroups} along a dimension: fold the grid into y and z, or let each do more"
            )
        return bound, packed, grid

    def _enqueue(self, launches: Iterable[BoundLaunch]) -> None:
        """Add launches to those that wait for a submission, in one step: any thread may, at any time."""
        self.pending.extend(launches)
        if self._flusher.asleep:
            self._flusher.notice()

    @property
    def faulty(self) -> bool:
        """Whether its driver has faults that the parameters of a launch may meet."""
        return bool(self._faults)

    def check_faults(self, program: Program, params: Sequence[float]) -> None:
        """Refuse, or warn of, a launch that meets a fault of the driver. Raises DeviceError."""
        if not (self._faults and (program.loops or program.waits)):
            return
        if (launch := (program, tuple(params))) not in self._checked:
            check_faults(self._faults, self._warned, program, params)
            if len(self._checked) >= PIPELINES_KEPT:
                self._checked.clear()
            self._checked.add(launch)

    def launch_bound(
        self, program: Program, operands: list[DeviceBuffer], uids: tuple[int, ...], params: bytes, grid: Size3
    ) -> BoundLaunch:
        """A launch of a program that was launched before, over buffers of these numbers: they are as it needs them, its
        parameters are packed, and its grid is within the limits. Where the bind group is there, it takes no lock.

        Raises as `launch`.
        """
        before_launches([(program, range(len(operands)), ())], operands)
        self._begin(program.entry)
        pipeline = self._pipeline_of(program)
        bound = self._groups.known(pipeline, uids) or self._groups.get(pipeline, operands)
        if self._failed:
            self._raise_failure(*operands)
        self._enqueue((launch := (bound, params, grid),))
        return launch

    def prepare(self, program: Program) -> bool:
        """Compile a program now, not at its first launch. Returns whether its module has run-time checks: also where
        the program asked for none but this wgpu cannot leave them out (then a warning says so once), or keeps its own.
        """
        self._prepare_for(program)
        return self._pipeline_of(program).checked

    def flush(self) -> None:
        """Submit what was launched so far; it would be within a millisecond anyway."""
        self._flush_all("flush")

    def wait(self) -> None:
        """Block until everything launched so far is done."""
        self._await(self._flush_all("wait"), "wait")

    def _flush_all(self, doing: str) -> Completion | None:
        """Submit what is pending. Returns the last submission; raises what any launch failed with."""
        with Exclusive(self, doing):
            self._flush()
            if self._failed:
                error = DeviceError(next(iter(self._failed.values())))
                self._failed.clear()
                raise error
            return self._in_flight.last()

    @contextmanager
    def profiled(self) -> Iterator[tuple[Stopwatch, list[tuple[str, int]]]]:
        """As `timed`, with each launch in a pass of its own: the list has its program and the bytes that are bound."""
        with self.timed() as watch:
            launches = self._profiled = []
            try:
                yield watch, launches
                self._flush_all("profiled")  # while each launch still is a pass of its own
            finally:
                self._profiled = None

    @contextmanager
    def timed(self) -> Iterator[Stopwatch]:
        """Measure the device time of the launches in a with block: `with device.timed() as watch: ...; watch.seconds`.

        Launches of other threads count too. Raises DeviceError where the device has no timestamps.
        """
        if "timestamp-query" not in self.features:
            raise DeviceError(f"{self.adapter}: no timestamps; measure wall time around launches and device.wait()")
        with Exclusive(self, "timed"):
            self._flush()
            if self._stopwatch is not None:
                raise DeviceError("device.timed(): a measurement is under way on this device; do not nest them")
            watch = self._stopwatch = Stopwatch(self.gpu)
        try:
            yield watch
            self._flush_all("timed")
            with Exclusive(self, "timed"):
                timestamps = np.zeros(16 * watch.passes, np.uint8)
                fetch = None
                if watch.passes:
                    encoder = Encoder(self.runtime, self.gpu)
                    fetch = self._staging.fetch(watch.resolve(encoder), 0, timestamps.size)
                    fetch.encode(encoder)
                    self._in_flight.submit(encoder.finish(), fetch)
            if fetch is not None:
                self._await(fetch.completion, "timed", partial(self._staging.take, fetch, timestamps))
            watch.read(timestamps, self.runtime.timestamp_period(self.gpu))
        finally:
            self._stopwatch = None

    def close(self) -> None:
        """Finish what was launched and give everything back; its buffers are gone. Closing twice is fine."""
        try:
            if self.alive:
                self.wait()
        finally:
            self._close()

    def _close(self) -> None:
        with Uninterrupted(), self._lock:
            if self._dead:
                return
            self._dead = "closed"
            self.pending.clear()
            self._flusher.stop()
            self._let_go([*self._pool.keep(0), *dict(self._scratch.values())])
            self._scratch.clear()
            self._pipelines.clear()
            self._met.clear()
            self._groups.clear()

    # What the modules beside this one call; the lock is held, except in `forget`, `tidy` and `flush_quietly`.

    @property
    def _parted(self) -> bool:
        """Whether nothing of it is released any more: it is another process's, or its driver does not answer."""
        return "fork" in self._dead

    @property
    def _untidy(self) -> bool:
        """Whether a finalizer freed what the device still holds."""
        return bool(self._forgotten) and self._hasty

    def _reuse(self, nbytes: int, memory: Memory) -> None:
        """A result has no reference any more, on any thread, perhaps by the garbage collector in the middle of another
        call: so this takes no lock and calls no runtime. Its memory is the next one's at once, or, where there is much
        of it, after the next call."""
        if nbytes <= LARGEST_CLASS and not self._dead:
            self._pool.give(nbytes, memory)
        else:
            self._forget(memory[0], nbytes)

    def _forget(self, uid: int, nbytes: int | None = None) -> None:
        """A buffer was freed, as above: the next call, or the flusher's thread, lets go of the memory. With `nbytes` it
        is for the pool, and there is no haste.
        """
        if self._parted:
            return
        self._forgotten.append((uid, nbytes))
        if nbytes is None or nbytes > POOLED:
            self._hasty = True
            self._flusher.notice()

    def _tidy(self) -> None:
        """Let go of what was freed, unless another thread has the device: then that does, when it is done."""
        with Uninterrupted():
            if self._lock.acquire(blocking=False):
                try:
                    self._drain()
                finally:
                    self._lock.release()

    def _failure(self, error: Exception, doing: str) -> DeviceError:
        """The DeviceError for what wgpu raised; a lost device is remembered as lost."""
        text = str(error)
        if self.runtime.lost_error(text) or self.runtime.lost(self.gpu):
            self._dead = "lost"
            return DeviceError(f"{doing}: {self.adapter.summary} was lost; {_REOPEN}")
        if self._out_of_memory(error):
            return DeviceError(f"{doing}: {self.adapter.summary} is out of memory; free buffers or use smaller tensors")
        return DeviceError(f"{doing}: {self.adapter.summary} refuses: {text}")

    def _flush_quietly(self, due: bool) -> None:
        """Let go of what was freed, and submit what is pending if it is `due` and there is room. For the flusher's
        thread: what goes wrong is kept for the calls that depend on it.
        """
        with self._lock:
            if self._dead:
                self._forgotten.clear()
                return
            try:
                self.runtime.poll(self.gpu)
                self._drain()
                if due and self._in_flight.limit() is None:
                    self._flush()
            except Exception as error:
                self._fail([], error)

    def _drain(self) -> None:
        """Let go of what was freed since the last call."""
        if self._parted:
            self._forgotten.clear()
        while self._forgotten:
            uid, nbytes = self._forgotten.popleft()
            # To the pool, or to the driver, with the bind groups over it.
            if nbytes is None or self._dead:
                self._let_go([uid])
            else:
                self._pool.give(nbytes, (uid, self._held[uid][1]))
                self._trim()
        self._hasty = False
        # Some runtimes free with the next submission: an empty one, before too much waits.
        if self._freed > FREED and self.runtime.frees_late and not self._dead:
            self._freed = 0
            self._flush()
            self._in_flight.submit_nothing()

    def _trim(self) -> None:
        """Let go of what is pooled beyond what may be, by what is in use and ever was."""
        pooled = self._pool.bytes
        used = self._bytes - pooled
        self._peak = max(self._peak, used)
        if pooled > POOLED_ALWAYS:
            self._let_go(self._pool.keep(max(POOLED_ALWAYS, min(POOLED, int(HELD * self._peak) - used))))

    def _let_go(self, uids: list[int]) -> None:
        for uid in uids:
            self._groups.forget(uid)
            size, _handle = self._held.pop(uid)
            self._bytes -= size
            self._freed += size

    def _pipeline_of(self, program: Program) -> Pipeline:
        """The pipeline of a program, and of every other that differs from it in what no runtime compiles."""
        met = self._met.get(id(program))
        if met is not None and met[0] is program:
            return met[1]
        with Exclusive(self, f"compile {program.entry}"):
            key = program.compiled
            pipeline = self._pipelines.get(key)
            if pipeline is None:
                self._met.clear()  # what is used from now on is the most recent
                self._groups.trim(played=0)
                pipeline = self._pipelines[key] = build_pipeline(self, program)
                # Hashes of all that was ever compiled: a program that was dropped from the cache counts as recompiled.
                digest = hash(key)
                self._recompiled += digest in self._compiled
                self._compiled.add(digest)
                if len(self._pipelines) > PIPELINES_KEPT:
                    self._pipelines.popitem(last=False)
            else:
                self._pipelines.move_to_end(key)
            if len(self._met) > PIPELINES_KEPT:
                self._met.clear()
            self._met[id(program)] = program, pipeline
            return pipeline

    def _flush(self, fetch: Fetch | None = None) -> None:
        """Submit what is pending, and a fetch with the last of it, where there is any. A batch that the runtime refuses
        fails its buffers, not this call, and takes no fetch along."""
        self.flushes += 1
        self._trim()
        self._groups.trim()
        while self.pending:
            batch, self._enough = Batch(), min(LAUNCHES, self._enough + MORE_LAUNCHES)
            batch.take(self.runtime, self.pending, MOST_LAUNCHES if self._profiled is None else 1)
            last = fetch if fetch is not None and not (self.pending or fetch.submitted) else None
            try:
                self._submit(batch, last)
            except Exception as error:
                self._fail(batch.launches, error)
        if self._dead:
            raise DeviceError(f"submit: {self.adapter.summary} was {self._dead}; {_REOPEN}")

    def _submit(self, batch: Batch, fetch: Fetch | None = None) -> None:
        """Submit the launches of a batch, where it has any, and what copies a fetch after them."""
        if self._profiled is not None:
            self._profiled += [(bound.pipeline.program.entry, bound.nbytes) for bound in batch.launches]
        encoder = Encoder(self.runtime, self.gpu)
        if batch.launches:
            batch.encode(self.runtime, encoder, self._stopwatch.next_pass() if self._stopwatch else None)
        if fetch is not None:
            fetch.encode(encoder)
        commands = encoder.finish()
        # Parameters that are there already are not written again.
        given, there = bytes(batch.params), self._params_there
        if not there.startswith(given):
            self._params_there = b""  # until it is submitted
            self._in_flight.queue.write(self._params, given)
            there = given + there[len(given) :]
        self._in_flight.submit(commands, fetch)
        self._params_there = there

    def _fail(self, launched: Sequence[BoundPipeline], error: Exception) -> None:
        """Keep an error for every buffer of a batch, and remember a loss."""
        names = ", ".join(bound.pipeline.program.entry for bound in launched)
        text = str(self._failure(error, f"submit {len(launched)} launches ({names})"))
        scratch = dict(self._scratch.values())  # by C in one step: calls order it without a lock
        self._failed |= {uid: text for bound in launched for uid in bound.uids if uid not in scratch}

    def _raise_failure(self, *buffers: DeviceBuffer) -> None:
        """Raise what a launch over one of these buffers failed with, once for each buffer."""
        for buffer in buffers:
            if (text := self._failed.pop(buffer.uid, None)) is not None:
                raise DeviceError(text)

    def _write(self, buffer: DeviceBuffer, data: Array, offset: int) -> None:
        before_writing((buffer,))
        tell(self, None)
        for start in range(0, max(1, data.size), CHUNK):
            chunk = data[start : start + CHUNK]
            with Exclusive(self, f"write {data.size} bytes"):
                self._own(buffer)
                self._flush()
                self._staging.write(self._in_flight, buffer.handle, offset + start, chunk)
                limit = self._in_flight.limit()
            if limit is not None:
                self._await(limit, "write")

    def _own(self, buffer: DeviceBuffer) -> None:
        if buffer.device is not self:
            raise DeviceError(f"{buffer} is on {buffer.device.adapter}, not on this {self.adapter}; use its own device")

    def _out_of_memory(self, error: Exception) -> bool:
        """The runtimes have a class for it, and wgpu for buffers raises a validation error all the same."""
        return isinstance(error, self.runtime.errors[1]) or "not enough memory" in str(error).lower()


@atexit.register
def _end_flushers() -> None:
    """What no one waits for is left undone: a submission while drivers are torn down ends the process."""
    for device in list(DEVICES):
        device._flusher.end()


class PendingRead:
    """Bytes on their way to the host. `done()` looks and `result()` waits; `Tensor.numpy_async` can be awaited as well.

    Law: `result()` is what `read` would have given at the call, as often as it is asked for.
    """

    def __init__(
        self, device: Device, fetches: list[tuple[Fetch, Array]], out: Array, kind: np.dtype[np.generic]
    ) -> None:
        self._device, self._fetches, self._out, self._kind = device, fetches, out, kind

    def done(self) -> bool:
        """Whether the array is there; takes what has arrived. Raises DeviceError where the device is lost."""
        if self._fetches:
            with Exclusive(self._device, self._doing):
                if self._fetches and not self._fetches[0][0].completion.done:
                    self._device.runtime.poll(self._device.gpu)
                self._take()
        return not self._fetches

    def result(self) -> Array:
        """The array; waits until it is there. Raises DeviceError where the device is lost or closed meanwhile."""
        while first := self._fetches[:1]:
            self._device._await(first[0][0].completion, self._doing, self._take)
        return from_bytes(self._out, self._kind)

    @property
    def _doing(self) -> str:
        return f"read {self._out.size} bytes"

    def _take(self) -> None:
        """Take what has arrived, each fetch once: the device is this thread's, and no signal is handled meanwhile."""
        while self._fetches and self._fetches[0][0].completion.done:
            self._device._staging.take(*self._fetches[0])
            self._fetches.pop(0)


class _OutOfMemory(DeviceError):
    """Memory ran out; some may come back when work is over."""


class Exclusive(Uninterrupted):
    """A block in which a thread has a device to itself, and no signal is handled. It may not wait for the device. It
    lets go of what finalizers freed, unless another block soon does."""

    __slots__ = ("device", "doing", "tidies")

    def __init__(self, device: Device, doing: str, *, tidies: bool = True) -> None:
        self.device, self.doing, self.tidies = device, doing, tidies

    def __enter__(self) -> None:
        """Hold the lock, but refuse on a dead device."""
        device = self.device
        Uninterrupted.__enter__(self)
        device._lock.acquire()
        try:
            if not device._dead and device.runtime.lost(device.gpu):
                device._dead = "lost"
            if device._dead:
                raise DeviceError(f"{self.doing}: {device.adapter.summary} was {device._dead}; {_REOPEN}")
            if device._forgotten and self.tidies:
                device._drain()
        except BaseException as error:
            self.__exit__(None, error, None)
            raise

    def __exit__(self, *raised: object) -> None:
        """Let the lock go, turn an error of the runtime into DeviceError, and let pending signals be handled."""
        device, error = self.device, raised[1]
        try:
            if isinstance(error, Exception) and not isinstance(error, CutepyError):
                if isinstance(error, (*device.runtime.errors, RuntimeError)):
                    raise device._failure(error, self.doing) from error
        finally:
            device._lock.release()
            Uninterrupted.__exit__(self)


class _Ending:
    """A block in which other code destroys the device: it is lost, and no call is under way."""

    def __init__(self, device: Device | None) -> None:
        self.device, self.signals = device, Uninterrupted()

    def __enter__(self) -> None:
        self.signals.__enter__()
        if self.device is not None:
            self.device._dead = self.device._dead or "lost"  # first: a thread that calls in a loop would keep the lock
            self.device._lock.acquire()

    def __exit__(self, *_: object) -> None:
        if self.device is not None:
            self.device._lock.release()
        self.signals.__exit__()


@lru_cache(maxsize=4096)
def scratch_of(made: tuple[int, ...], kept: int) -> tuple[tuple[int, int] | None, ...] | None:
    """Which scratch memory each new buffer of a call is over, by its bytes and its number among those of its size; None
    for the one that is kept, and None for all where the memory of the others is more than `SCRATCH` bytes together.

    All calls share it, for its contents do not outlast a call: each call writes it before it reads it, and its
    launches are queued in one step.

    >>> scratch_of((100, 4096, 90), 1), scratch_of((SCRATCH + 1,), -1)
    (((256, 0), None, (256, 1)), None)
    >>> scratch_of((4,) * (SCRATCH // 256 + 1), -1)  # none has less than 256 bytes
    """
    held = [pooled_bytes(nbytes) for nbytes in made]
    if sum([nbytes for at, nbytes in enumerate(held) if at != kept]) > SCRATCH:
        return None
    before = [held[:at].count(nbytes) - (0 <= kept < at and held[kept] == nbytes) for at, nbytes in enumerate(held)]
    return tuple([None if at == kept else (n, before[at]) for at, n in enumerate(held)])


def _whole(value: Any, what: str) -> int:
    """A whole number that is no bool. Raises DeviceError otherwise."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise DeviceError(f"{what}: {value!r} is no whole number") from None


def _room_for(
    buffer: DeviceBuffer, dtype: npt.DTypeLike, count: int | None, offset: int
) -> tuple[np.dtype[np.generic], Array]:
    """The type of the elements to read, and bytes for them. Raises DeviceError for a range outside the buffer."""
    kind = _element_type(dtype)
    if type(offset) is not int:
        offset = _whole(offset, f"{buffer}.read: the first byte")
    room = (buffer.nbytes - offset) // stored_itemsize(kind)
    if type(count) is not int:
        count = room if count is None else _whole(count, f"{buffer}.read: the count")
    if offset < 0 or offset % 4 or not 0 <= count <= room:
        raise DeviceError(
            f"{buffer}.read: {count} x {kind} from byte {offset}; there is room for {room}, from a multiple of 4"
        )
    return kind, np.empty(count * stored_itemsize(kind), np.uint8)


def _element_type(dtype: npt.DTypeLike) -> np.dtype[np.generic]:
    """The type of the elements of a buffer. Raises DeviceError for one that holds no bytes."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise DeviceError(f"read: {dtype!r} is no type of elements; give np.float32 or the like") from None
    if kind.hasobject or not kind.itemsize:
        raise DeviceError(f"read: elements of type {kind} are not bytes; give np.float32 or the like")
    return kind


def _grid(program: Program, grid: object) -> Size3:
    """A grid as three whole numbers. Raises DeviceError for anything else."""
    if not isinstance(grid, tuple) or len(grid) != 3:
        raise DeviceError(f"{program.entry}: grid is {grid!r}; give three whole numbers of workgroups, (x, y, z)")
    x, y, z = (_whole(size, f"{program.entry}: grid {grid!r}") for size in grid)
    if min(x, y, z) < 0:
        raise DeviceError(f"{program.entry}: a grid of {x} x {y} x {z} workgroups has a negative size")
    return x, y, z


FORKED = "opened before this process was forked"
_REOPEN = "open a new device (cutepy.gpu.default_device() does) and upload again"
