"""Device time by timestamps: what the passes took on the device, without the host and without gaps between passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import DeviceError
from . import native
from .wgpu_later import wgpu

if TYPE_CHECKING:
    from .batch import InFlight
    from .transfer import Staging

PASSES = 2048  # WebGPU allows 4096 queries in a set


class Stopwatch:
    """The time of the launches inside one `Device.timed()` block. `seconds` is there once the block is left."""

    def __init__(self, gpu: wgpu.GPUDevice) -> None:
        self._gpu = gpu
        self._queries = gpu.create_query_set(type="timestamp", count=2 * PASSES)
        self.passes = 0
        self._seconds: float | None = None

    @property
    def seconds(self) -> float:
        """The sum over the passes of what each took. Raises DeviceError while the block is open."""
        if self._seconds is None:
            raise DeviceError("device.timed(): .seconds is known when the with block is left")
        return self._seconds

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

    def resolve(self, in_flight: InFlight, staging: Staging) -> None:
        """Read the timestamps back and add them up."""
        self._seconds = 0.0
        if not self.passes:
            return
        usage = wgpu.BufferUsage.QUERY_RESOLVE | wgpu.BufferUsage.COPY_SRC
        resolved = self._gpu.create_buffer(size=16 * self.passes, usage=usage, label="timestamps")
        encoder = self._gpu.create_command_encoder()
        encoder.resolve_query_set(self._queries, 0, 2 * self.passes, resolved, 0)
        in_flight.submit(self._gpu, encoder.finish())
        data = np.empty(16 * self.passes, np.uint8)
        staging.read(in_flight, resolved, 0, data)
        begin, end = data.view(np.uint64).reshape(-1, 2).T
        ticks = int((end - begin).sum())
        self._seconds = ticks * native.timestamp_period(self._gpu.queue) * 1e-9
