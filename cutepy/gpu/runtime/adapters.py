"""Adapters: the GPUs (and software stand-ins for them) of this machine, as data, best first, and how one is chosen.

The choice is an argument, else the environment (`CUTEPY_ADAPTER`, an index or a part of the summary; then wgpu-py's own
`WGPUPY_WGPU_ADAPTER_NAME`), else the first of the list that is not OpenGL. OpenGL is listed, never chosen unasked: it
lacks what kernels need, some drivers give no device through it, and where it is software it is a slow mystery.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...errors import DeviceError
from .native import wgpu
from .program import Limits

INSTALL = (
    "install a Vulkan driver (Debian, Ubuntu: apt install libvulkan1 mesa-vulkan-drivers; Fedora: dnf install "
    "vulkan-loader mesa-vulkan-drivers; Arch: pacman -S vulkan-icd-loader vulkan-swrast), or run kernels in the NumPy "
    "interpreter (engine='numpy')"
)

_KINDS = ("DiscreteGPU", "IntegratedGPU", "Unknown", "CPU")
_LIMITS = {
    "workgroup_bytes": "max-compute-workgroup-storage-size",
    "invocations": "max-compute-invocations-per-workgroup",
    "workgroups": "max-compute-workgroups-per-dimension",
    "bindings": "max-storage-buffers-per-shader-stage",
    "binding_bytes": "max-storage-buffer-binding-size",
    "buffer_bytes": "max-buffer-size",
    "uniform_bytes": "max-uniform-buffer-binding-size",
    "storage_alignment": "min-storage-buffer-offset-alignment",
    "uniform_alignment": "min-uniform-buffer-offset-alignment",
}


@dataclass(frozen=True, slots=True)
class Adapter:
    """One way to run kernels on this machine: a GPU, or a CPU that stands in for one, through one graphics API.

    `kind` is DiscreteGPU, IntegratedGPU, CPU or Unknown; `features` are WebGPU's names, `limits` what a kernel meets.
    """

    name: str
    backend: str
    kind: str
    driver: str
    vendor: str
    limits: Limits
    features: frozenset[str]
    index: int
    handle: wgpu.GPUAdapter = field(repr=False, compare=False)

    @property
    def summary(self) -> str:
        """The line that reports print: what ran, and through what."""
        return f"{self.name} ({self.kind}) via {self.backend}"

    def __str__(self) -> str:
        return self.summary


def adapters() -> tuple[Adapter, ...]:
    """Every adapter of this machine, best first: discrete GPU, integrated GPU, CPU; Vulkan, Metal, D3D12 before OpenGL.

    >>> [adapter.index for adapter in adapters()] == list(range(len(adapters())))
    True

    Raises DeviceError where wgpu itself cannot be loaded.
    """
    with quiet_loader():
        handles = wgpu.gpu.enumerate_adapters_sync()
    ordered = sorted(handles, key=lambda h: (_kind_rank(h.info["adapter_type"]), h.info["backend_type"] == "OpenGL"))
    return tuple(_describe(handle, index) for index, handle in enumerate(ordered))


def choose_adapter(wanted: Adapter | int | str | None = None) -> Adapter:
    """The adapter that `wanted` names (itself, an index into `adapters()`, or a part of its summary), else the best.

    Raises DeviceError, listing what there is, where nothing matches or there is no adapter at all.
    """
    if isinstance(wanted, Adapter):
        return wanted
    source = ""
    if wanted is None:
        for variable in ("CUTEPY_ADAPTER", "WGPUPY_WGPU_ADAPTER_NAME"):
            if wanted is None and os.environ.get(variable):
                wanted, source = os.environ[variable], f" (from {variable})"
    found = adapters()
    if not found:
        raise DeviceError(f"no GPU adapter found: {INSTALL}")
    listing = ", ".join(f"{a.index}: {a.summary}" for a in found)
    if wanted is None:
        for adapter in found:
            if adapter.backend != "OpenGL":
                return adapter
        raise DeviceError(
            f"no GPU adapter found but OpenGL: {listing} is used only if CUTEPY_ADAPTER=OpenGL asks for it; {INSTALL}"
        )
    if isinstance(wanted, int) or wanted.isdigit():
        if 0 <= int(wanted) < len(found):
            return found[int(wanted)]
    else:
        for adapter in found:
            if wanted.casefold() in adapter.summary.casefold():
                return adapter
    raise DeviceError(f"no adapter matches {wanted!r}{source}; there are {listing}")


def _describe(handle: wgpu.GPUAdapter, index: int) -> Adapter:
    info, limits = handle.info, handle.limits
    size = tuple(limits[f"max-compute-workgroup-size-{axis}"] for axis in "xyz")
    numbers = {name: limits[spelling] for name, spelling in _LIMITS.items()}
    numbers["uniform_bytes"] = min(numbers["uniform_bytes"], Limits().uniform_bytes)  # the size of a batch's buffer
    return Adapter(
        name=info["device"] or info["description"] or "unnamed",
        backend=info["backend_type"],
        kind=info["adapter_type"] if info["adapter_type"] in _KINDS else "Unknown",
        driver=info["description"],
        vendor=info["vendor"],
        limits=Limits(workgroup_size=size, **numbers),
        features=webgpu_names(handle.features),
        index=index,
        handle=handle,
    )


def webgpu_names(features: set[str] | frozenset[str]) -> frozenset[str]:
    """Feature names as WebGPU spells them: wgpu says "subgroup" for "subgroups"."""
    return frozenset("subgroups" if name == "subgroup" else name for name in features)


def _kind_rank(kind: str) -> int:
    return _KINDS.index(kind) if kind in _KINDS else _KINDS.index("Unknown")


@contextmanager
def quiet_loader() -> Iterator[None]:
    """Mesa prints an error for every probe where XDG_RUNTIME_DIR is not set: set it, for the probe only."""
    if "XDG_RUNTIME_DIR" in os.environ:
        yield
        return
    os.environ["XDG_RUNTIME_DIR"] = "/tmp"
    try:
        yield
    finally:
        del os.environ["XDG_RUNTIME_DIR"]
