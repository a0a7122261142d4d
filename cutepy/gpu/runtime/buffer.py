"""Device buffers: bytes on a device, and their way there and back: one staging buffer a device, one copy a byte read.

A dtype appears only where an array becomes bytes, or bytes an array.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...errors import DeviceError
from .native import Completion, Encoder, wgpu

if TYPE_CHECKING:
    from .adapters import Runtime
    from .batch import InFlight
    from .device import Device

CHUNK = 16 * 1024 * 1024  # measured: twice as fast as 64 MiB on a software device, and less memory
#: Bytes of the smallest staging buffer.
_SMALLEST = 64 * 1024
IDLE_STAGING = 2  # buffers kept between reads: enough for two threads that read alternately
ALIGNMENT = 16  # the widest WGSL load is a vec4 of four bytes each: the last one may read past the data

Array = npt.NDArray[np.generic]
Memory = tuple[int, "wgpu.GPUBuffer"]
"""Memory of a device: the number by which bind groups know it, and wgpu's buffer."""
Span = tuple[int, int]
"""The number of memory, and how many bytes of it a buffer asked for."""
_uids = itertools.count(1)


def numbered(handle: wgpu.GPUBuffer) -> Memory:
    """New memory, with a number that no other has."""
    return next(_uids), handle


class DeviceBuffer:
    """Memory on one device; made by `Device.allocate` and `Device.upload`, freed with its last reference or by `free`.

    `nbytes` is what was asked for; the device holds that rounded up to 16, the rest zeros. A pooled one is rounded up
    to a class of sizes, and after its last reference leaves its memory, and its number, to the next of that class.

    >>> import numpy as np
    >>> from cutepy.gpu import default_device
    >>> buffer = default_device().upload(np.arange(4, dtype=np.float32))
    >>> buffer.write(np.ones(1, np.float32), offset=4)
    >>> buffer.read("float32").tolist(), buffer.handle is not None
    ([0.0, 1.0, 2.0, 3.0], True)
    >>> buffer.free(); buffer.freed
    True
    """

    __slots__ = ("__weakref__", "_handle", "device", "held", "name", "nbytes", "owned", "pooled", "span", "uid")

    def __init__(self, device: Device, nbytes: int, name: str, pooled: bool = False) -> None:
        self.device, self.nbytes, self.name, self.pooled = device, nbytes, name, pooled
        self.held = pooled_bytes(nbytes) if pooled else padded(nbytes)
        self.owned: list[Memory] = []  # the memory that goes with the last reference
        self.uid, self._handle = 0, None
        self.span: Span | None = None  # while it has memory

    def _over(self, memory: Memory) -> DeviceBuffer:
        """The same buffer, over this memory."""
        self.uid, self._handle = memory
        self.span = memory[0], self.nbytes
        return self

    @property
    def handle(self) -> wgpu.GPUBuffer:
        """wgpu's buffer. Raises DeviceError after `free`."""
        if self._handle is None:
            raise DeviceError(f"{self}: used after it was freed")
        return self._handle

    @property
    def freed(self) -> bool:
        return self._handle is None

    def write(self, array: Array, offset: int = 0) -> None:
        """Copy an array into this buffer, from byte `offset` on; see `Device.write`."""
        self.device.write(self, array, offset)

    def read(self, dtype: npt.DTypeLike = np.uint8, count: int | None = None, offset: int = 0) -> Array:
        """A copy of `count` elements from byte `offset` on; see `Device.read`."""
        return self.device.read(self, dtype, count, offset)

    def free(self) -> None:
        """Give the memory back now; work that was launched before keeps it until it is done. Freeing twice is fine."""
        self._handle = self.span = None
        if self.owned:
            self.owned.clear()
            self.device._forget(self.uid)
            self.device._tidy()

    def __del__(self) -> None:
        if getattr(self, "owned", None):
            if self.pooled:
                self.device._reuse(self.held, self.owned[0])
            else:
                self.device._forget(self.uid)

    def __repr__(self) -> str:
        return f"DeviceBuffer({self.name or self.uid}, {self.nbytes} bytes)"


def padded(nbytes: int) -> int:
    """The bytes that a device holds for `nbytes`: a multiple of 16, at least 16.

    >>> padded(0), padded(16), padded(17)
    (16, 16, 32)
    """
    return max(ALIGNMENT, -(-nbytes // ALIGNMENT) * ALIGNMENT)


LARGEST_CLASS = 1 << 25
"""Bytes up to which results are of few sizes, and larger by an eighth at most; their memory changes hands without a
lock."""


@lru_cache(maxsize=4096)
def pooled_bytes(nbytes: int) -> int:
    """The bytes that a device holds for a result of `nbytes`: eight sizes an octave, so that a model's results at a new
    length find the memory of those at the length before, and the bind groups over it.

    >>> pooled_bytes(5), pooled_bytes(1025), pooled_bytes(17 << 10), pooled_bytes((1 << 25) + 1)
    (256, 1280, 18432, 33554448)
    """
    size = padded(nbytes)
    if size > LARGEST_CLASS:
        return size
    step = max(256, 1 << (size.bit_length() - 4))
    return -(-size // step) * step


def as_bytes(array: Array) -> Array:
    """The bytes that a device stores for an array, in C order: a bool becomes a u32, everything else stays as it is.

    >>> as_bytes(np.array([True, False])).tolist()
    [1, 0, 0, 0, 0, 0, 0, 0]
    """
    stored = array.astype(np.uint32) if array.dtype == np.bool_ else array
    return np.ascontiguousarray(stored).reshape(-1).view(np.uint8)


def from_bytes(data: Array, dtype: np.dtype[np.generic]) -> Array:
    """The array of these stored bytes: the inverse of `as_bytes`.

    >>> from_bytes(as_bytes(np.array([True, False])), np.dtype(bool)).tolist()
    [True, False]
    """
    if dtype == np.bool_:
        return np.not_equal(data.view(np.uint32), 0)
    return data.view(dtype)


def stored_itemsize(dtype: np.dtype[np.generic]) -> int:
    """Bytes of one element in a buffer: 4 for a bool, else NumPy's size."""
    return 4 if dtype == np.bool_ else dtype.itemsize


class Pool:
    """Memory of results without a reference, kept for the next result of its size (`pooled_bytes`).

    With its memory a buffer keeps its number, and so the bind groups that were made for it. The memory with the least
    number goes first: a sequence of calls that is made again meets the same memory again, in whatever order it came
    back, and its bind groups are there. Of sizes up to `LARGEST_CLASS` any thread may `give` and `take` at any time,
    also a finalizer in the middle of either: each is one call of C, which compares whole numbers.

    >>> pool, buffers = Pool(), [DeviceBuffer(None, 200, "", True) for _ in "abc"]
    >>> pool.give(256, (2, "two")); pool.give(256, (1, "one"))
    >>> [pool.take(buffer) for buffer in buffers], [buffer.uid for buffer in buffers], pool.bytes
    ([True, True, False], [1, 2, 0], 0)
    >>> for buffer in buffers: buffer.owned.clear()
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[int, list[Memory]] = OrderedDict()

    @property
    def bytes(self) -> int:
        """What it keeps."""
        return sum([size * len(same) for size, same in list(self._kept.items())])

    def __len__(self) -> int:
        return sum([len(same) for same in list(self._kept.values())])

    def take(self, buffer: DeviceBuffer) -> bool:
        """Give memory of its size, which holds anything, to a buffer; False where there is none."""
        same = self._kept.get(buffer.held)
        if not same:
            return False
        try:
            # No signal comes between: memory that was taken is owned.
            buffer.owned.extend(map(heappop, (same,)))
        except IndexError:  # another thread took the last
            return False
        self._kept.move_to_end(buffer.held)
        buffer._over(buffer.owned[0])
        return True

    def give(self, nbytes: int, memory: Memory) -> None:
        """Keep memory of so many bytes."""
        heappush(self._kept.setdefault(nbytes, []), memory)

    def keep(self, most: int) -> list[int]:
        """Let go of what is more than so many bytes, the sizes used longest ago first. Returns the numbers."""
        gone, more = [], self.bytes - most
        for size, same in list(self._kept.items()):
            while more > 0 and same:
                with suppress(IndexError):
                    gone.append(heappop(same)[0])
                    more -= size
            if not same and size > LARGEST_CLASS:
                del self._kept[size]
        return gone


@dataclass(slots=True, eq=False, weakref_slot=True)
class Fetch:
    """Bytes on their way to the host: copied by a submission of their own, or after the launches of one, and mapped in
    `staging` when `completion` is over."""

    source: wgpu.GPUBuffer
    offset: int
    staging: wgpu.GPUBuffer
    size: int
    completion: Completion
    submitted: bool = False

    def encode(self, encoder: Encoder) -> None:
        encoder.copy(self.source, self.offset, self.staging, self.size)


class Staging:
    """How bytes reach a device and come back: by buffers that are kept between reads, none larger than `CHUNK`.

    Law: a buffer is kept only after it was unmapped. One whose reader was interrupted is mapped, or will be, and is let
    go of when its `Fetch` is forgotten.
    """

    def __init__(self, runtime: Runtime, gpu: wgpu.GPUDevice) -> None:
        self._runtime, self._gpu = runtime, gpu
        self._idle: list[wgpu.GPUBuffer] = []
        self._lent: list[tuple[weakref.ref[Fetch], wgpu.GPUBuffer]] = []
        self.copies = 0

    def fetch(self, source: wgpu.GPUBuffer, offset: int, nbytes: int) -> Fetch:
        """What brings at most `CHUNK` bytes of a buffer, once it is submitted; `offset` is a multiple of 4."""
        size = -(-nbytes // 4) * 4
        staging = self._at_least(size)
        # Whoever waits for the completion waits for the copy, so it keeps what is copied to.
        fetch = Fetch(source, offset, staging, size, Completion(keeps=staging))
        self._lent.append((weakref.ref(fetch), staging))
        self.copies += 1
        return fetch

    def take(self, fetch: Fetch, out: Array) -> None:
        """Fill the bytes of `out` from a fetch that is over. Raises DeviceError where the device did not bring them."""
        if fetch.completion.failed:
            raise DeviceError(f"read {out.size} bytes: the device did not give them")
        out[:] = np.frombuffer(self._runtime.mapped(fetch.staging, fetch.size), np.uint8, out.size)
        self._runtime.unmap(fetch.staging)
        fetch.completion.keeps = None
        self._lent = [(ref, staging) for ref, staging in self._lent if ref() is not fetch]
        self._idle = sorted([*self._idle, fetch.staging], key=lambda buffer: -buffer.size)[:IDLE_STAGING]

    def write(self, in_flight: InFlight, target: wgpu.GPUBuffer, offset: int, data: Array) -> None:
        """Copy at most `CHUNK` bytes into a buffer, the last of them padded to a multiple of 4."""
        # WebGPU writes multiples of 4 bytes: the last word is padded.
        whole = data.size // 4 * 4
        if whole:
            in_flight.queue.write(target, data[:whole].data, offset)
            in_flight.wrote(whole)
        if whole < data.size:
            tail = np.zeros(4, np.uint8)
            tail[: data.size - whole] = data[whole:]
            in_flight.queue.write(target, tail.data, offset + whole)

    def _at_least(self, size: int) -> wgpu.GPUBuffer:
        self._lent = [(ref, staging) for ref, staging in self._lent if ref() is not None]
        for i in reversed(range(len(self._idle))):  # the smallest that is large enough
            if self._idle[i].size >= size:
                return self._idle.pop(i)
        return self._gpu.create_buffer(
            size=min(CHUNK, max(_SMALLEST, 1 << (size - 1).bit_length())),
            usage=wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST,
            label="staging",
        )
