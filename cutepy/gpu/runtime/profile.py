"""Where the time of a block of calls goes: device time by kernel, and the host's.

Every launch is a compute pass of its own while a profile is made, so that the device's timestamps tell it apart. That
costs the host a submission a launch: `host_seconds` are those of a block that runs so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from . import default_device
from .device import Device


@dataclass(frozen=True, slots=True)
class KernelTime:
    """The launches of one program: how many, their device time in seconds, and the bytes of the buffers bound to them.

    A kernel that reads and writes each byte of its buffers once moves `bound_bytes`; one over views moves fewer.
    """

    name: str
    launches: int
    seconds: float
    bound_bytes: int


class Profile:
    """The device time of a block, by kernel. It prints as a table; `kernels` has the rows, the longest time first.

    `seconds` is the device time of all launches, `host_seconds` the wall time of the block.

    >>> import numpy as np
    >>> from cutepy import gpu, ops
    >>> device = gpu.default_device()
    >>> with gpu.profile() as times:
    ...     y = ops.square(gpu.array(np.float32([1, 2])))
    >>> len(times.kernels), times.seconds >= 0, times.host_seconds > 0
    (1, True, True)
    """

    def __init__(self) -> None:
        self.kernels: tuple[KernelTime, ...] = ()
        self.seconds = self.host_seconds = 0.0

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("kernel", "launches", "device us", "share", "us each", "bound MB", "GB/s")]
        for kernel in self.kernels:
            us, share = kernel.seconds * 1e6, kernel.seconds / (self.seconds or 1)
            rate = kernel.bound_bytes / (kernel.seconds or 1) * 1e-9
            figures = f"{kernel.launches}|{us:.1f}|{share:.1%}|{us / kernel.launches:.1f}"
            rows.append((kernel.name, *f"{figures}|{kernel.bound_bytes * 1e-6:.2f}|{rate:.0f}".split("|")))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(text.rjust(n) for text, n in zip(row[1:], widths[1:], strict=True))])
            for row in rows
        ]
        lines.append(f"device {self.seconds * 1e3:.3f} ms, host {self.host_seconds * 1e3:.3f} ms with a pass a launch")
        return "\n".join(lines)

    __repr__ = __str__


@contextmanager
def profile(device: Device | None = None) -> Iterator[Profile]:
    """Measure the launches of a block on a device, by default the default one, by kernel.

    ```python
    with gpu.profile() as times:
        y = ops.softmax(ops.matmul(x, w))
    print(times)
    ```

    Launches of other threads count too. Raises DeviceError where the device has no timestamps, or for more than 2,048
    launches.

    >>> import numpy as np
    >>> from cutepy import gpu, ops
    >>> device = gpu.default_device()
    >>> with profile() as times:
    ...     y = ops.square(gpu.array(np.float32([1, 2])))
    >>> times.kernels[0].launches
    1
    """
    target, result = device if device is not None else default_device(), Profile()
    begin = time.perf_counter()
    with target.profiled() as (watch, launches):
        yield result
        result.host_seconds = time.perf_counter() - begin
    totals: dict[str, KernelTime] = {}
    for (name, nbytes), seconds in zip(launches, watch.each, strict=True):
        so_far = totals.get(name, KernelTime(name, 0, 0.0, 0))
        totals[name] = KernelTime(name, so_far.launches + 1, so_far.seconds + seconds, so_far.bound_bytes + nbytes)
    result.kernels = tuple(sorted(totals.values(), key=lambda kernel: -kernel.seconds))
    result.seconds = watch.seconds


__all__ = ["KernelTime", "Profile", "profile"]
