"""Moving bytes between NumPy and a device: one staging buffer per device, one staging copy per byte read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import native
from .buffer import Array
from .wgpu_later import wgpu

if TYPE_CHECKING:
    from .batch import InFlight

CHUNK = 16 * 1024 * 1024  # measured: twice as fast as 64 MiB on a software device, and less memory
_SMALLEST = 64 * 1024


class Staging:
    """The buffer through which a device's memory is read: kept between reads, never larger than `CHUNK`."""

    def __init__(self, gpu: wgpu.GPUDevice) -> None:
        self._gpu = gpu
        self._buffer: wgpu.GPUBuffer | None = None
        self.copies = 0

    def read(self, in_flight: InFlight, source: wgpu.GPUBuffer, offset: int, out: Array) -> None:
        """Fill the bytes of `out` from byte `offset` of a buffer on; both are multiples of 4."""
        for start in range(0, out.size, CHUNK):
            part = out[start : start + CHUNK]
            size = -(-part.size // 4) * 4
            staging = self._at_least(size)
            encoder = self._gpu.create_command_encoder()
            encoder.copy_buffer_to_buffer(source, offset + start, staging, 0, size)
            in_flight.submit(self._gpu, encoder.finish())
            self.copies += 1
            with native.mapped_for_read(staging, size) as memory:
                part[:] = np.frombuffer(memory, np.uint8, part.size)

    def _at_least(self, size: int) -> wgpu.GPUBuffer:
        if self._buffer is None or self._buffer.size < size:
            self._buffer = None
            self._buffer = self._gpu.create_buffer(
                size=min(CHUNK, max(_SMALLEST, 1 << (size - 1).bit_length())),
                usage=wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST,
                label="staging",
            )
        return self._buffer


def write(gpu: wgpu.GPUDevice, in_flight: InFlight, target: wgpu.GPUBuffer, offset: int, data: Array) -> None:
    """Copy bytes into a buffer, by chunks, so that the staging memory that wgpu takes for it stays bounded."""
    whole = data.size // 4 * 4
    for start in range(0, whole, CHUNK):
        part = data[start : min(start + CHUNK, whole)]
        gpu.queue.write_buffer(target, offset + start, part)
        in_flight.wrote(gpu, part.size)
    if whole < data.size:
        tail = np.zeros(4, np.uint8)
        tail[: data.size - whole] = data[whole:]
        gpu.queue.write_buffer(target, offset + whole, tail)
