"""Does a kernel fit a device: by default, every WebGPU device?"""

from math import prod

from ..ir import Kernel
from ..runtime.program import Limits
from .verdict import Verdict


def decide_limits(kernel: Kernel, limits: Limits, aliases: tuple[str, ...] = ()) -> Verdict:
    """Workgroup size and memory, grid, bindings and parameters; `aliases` names bindings that share memory."""
    found = [f"{names} share memory that the kernel writes" for names in aliases]
    found += [
        f"{size} threads along {axis}, the device allows {most}"
        for axis, size, most in zip("xyz", kernel.workgroup, limits.workgroup_size, strict=True)
        if size > most
    ]
    found += [
        f"{count} workgroups along {axis}, the device allows {limits.workgroups}"
        for axis, count in zip("xyz", kernel.grid, strict=True)
        if count > limits.workgroups
    ]
    found += [
        f"{b.name} has {_bytes(b.length, b.width, b.dtype.bytes)} bytes, the device binds {limits.binding_bytes}"
        for b in kernel.buffers
        if _bytes(b.length, b.width, b.dtype.bytes) > limits.binding_bytes
    ]
    shared = kernel.shared_bytes
    for amount, most, what in (
        (kernel.threads, limits.invocations, f"invocations in a workgroup of {' x '.join(map(str, kernel.workgroup))}"),
        (shared, limits.workgroup_bytes, "bytes of workgroup memory"),
        (len(kernel.buffers), limits.bindings, "storage buffers"),
        (4 * len(kernel.params), limits.uniform_bytes, "bytes of parameters"),
    ):
        if amount > most:
            found.append(f"{amount} {what}, the device has {most}")
    if found:
        return Verdict("within limits", "refuted", "; ".join(found))
    return Verdict("within limits", "proven", f"{kernel.threads} threads, {shared} bytes of workgroup memory")


def _bytes(length: int, width: int, each: int) -> int:
    return prod((-(-length // width), width, each))
