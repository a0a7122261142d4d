"""Device buffers: bytes on a device, and their way there and back: one staging buffer a device, one copy a byte read.

A dtype appears only where an array becomes bytes, or bytes an array.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
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
_uids = itertools.count(1)


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

    __slots__ = ("__weakref__", "_handle", "device", "held", "name", "nbytes", "pooled", "uid")

    def __init__(
        self, device: Device, handle: wgpu.GPUBuffer, nbytes: int, name: str, pooled: bool = False, uid: int = 0
    ) -> None:
        self.device, self.nbytes, self.name, self.pooled = device, nbytes, name, pooled
        self.held = pooled_bytes(nbytes) if pooled else padded(nbytes)
        self.uid = uid or next(_uids)
        self._handle: wgpu.GPUBuffer | None = handle

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
        handle, self._handle = self._handle, None
        if handle is not None:
            self.device._forget(self.uid)
            self.device._tidy()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.device._forget(self.uid, self.held if self.pooled else None)

    def __repr__(self) -> str:
        return f"DeviceBuffer({self.name or self.uid}, {self.nbytes} bytes)"


def padded(nbytes: int) -> int:
    """The bytes that a device holds for `nbytes`: a multiple of 16, at least 16.

    >>> padded(0), padded(16), padded(17)
    (16, 16, 32)
    """
    return max(ALIGNMENT, -(-nbytes // ALIGNMENT) * ALIGNMENT)


LARGEST_CLASS = 1 << 25
"""Bytes up to which results are of few sizes, and larger by an eighth at most."""


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


Kept = tuple[int, "wgpu.GPUBuffer"]
"""The number of a buffer, and wgpu's buffer."""


class Pool:
    """Memory of results without a reference, kept for the next result of its size (`pooled_bytes`).

    `take(n)` gives the buffer of n bytes with the least number, as it was left, or None; at most `most` bytes are kept,
    those of the size used longest ago go first. With its memory a buffer keeps its number, and so the bind groups that
    were made for it. By the least number, a sequence of calls that is made again meets the same buffers again, in
    whatever order they came back: its bind groups are there.

    >>> pool = Pool(64)
    >>> pool.give(48, (1, "a")), pool.give(32, (2, "b")), pool.take(48), pool.take(32)
    ([], [1], None, (2, 'b'))
    """

    def __init__(self, most: int) -> None:
        self.most, self.bytes = most, 0
        self._kept: OrderedDict[int, list[Kept]] = OrderedDict()

    def take(self, nbytes: int) -> Kept | None:
        """A buffer of so many bytes; it holds anything."""
        same = self._kept.get(nbytes)
        if not same:
            return None
        self.bytes -= nbytes
        self._kept.move_to_end(nbytes)
        return heappop(same)

    def give(self, nbytes: int, buffer: Kept) -> list[int]:
        """Keep a buffer. Returns the numbers of those that had to go for it."""
        if nbytes > self.most:
            return [buffer[0]]
        heappush(self._kept.setdefault(nbytes, []), buffer)
        self._kept.move_to_end(nbytes)
        self.bytes += nbytes
        return self.keep(self.most) if self.bytes > self.most else []

    def keep(self, most: int) -> list[int]:
        """Let go of what is more than so many bytes. Returns the numbers."""
        gone = []
        # Least recently used sizes go first.
        while self.bytes > most:
            size, same = next(iter(self._kept.items()))
            if same:
                gone.append(heappop(same)[0])
                self.bytes -= size
            else:
                del self._kept[size]
        return gone

    def empty(self) -> list[int]:
        """Let go of all. Returns their numbers."""
        gone = [uid for same in self._kept.values() for uid, _ in same]
        self._kept.clear()
        self.bytes = 0
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
            self._gpu.queue.write_buffer(target, offset, data[:whole])
            in_flight.wrote(whole)
        if whole < data.size:
            tail = np.zeros(4, np.uint8)
            tail[: data.size - whole] = data[whole:]
            self._gpu.queue.write_buffer(target, offset + whole, tail)

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
