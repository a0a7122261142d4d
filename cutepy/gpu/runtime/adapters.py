"""Adapters: the GPUs (and software stand-ins for them) of this machine, as data, best first, and how one is chosen.

A `Runtime` runs kernels on them: wgpu-native, which is always there, or Dawn. wgpu-py's API is common to both; a
runtime is what is not, and its handles are that API's objects.

The choice is an argument, else the environment (`CUTEPY_ADAPTER`, an index or a part of the summary; then wgpu-py's own
`WGPUPY_WGPU_ADAPTER_NAME`; `CUTEPY_RUNTIME`, the runtime), else the first of wgpu-native's that is not OpenGL. OpenGL
is listed, never chosen unasked: it lacks what kernels need, some drivers give no device through it, and where it is
software it is a slow mystery. Dawn is listed where it is installed, and never chosen unasked either.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

from ...errors import DeviceError
from .dawn import Dawn
from .interrupts import Uninterrupted
from .native import WgpuNative, wgpu
from .program import Limits, MatrixShape

Runtime = WgpuNative | Dawn
RuntimeName = Literal["wgpu", "dawn"]
RUNTIMES: dict[str, Runtime] = {runtime.name: runtime for runtime in (WgpuNative(), Dawn())}

INSTALL = (
    "install a Vulkan driver (Debian, Ubuntu: apt install libvulkan1 mesa-vulkan-drivers; Fedora: dnf install "
    "vulkan-loader mesa-vulkan-drivers; Arch: pacman -S vulkan-icd-loader vulkan-swrast), or run kernels in the NumPy "
    "interpreter (engine='interpreter')"
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
    "uniform_alignment": "min-uniform-buffer-offset-alignment",
}


@dataclass(frozen=True, slots=True)
class Adapter:
    """One way to run kernels on this machine: a GPU, or a CPU that stands in for one, through one graphics API.

    `kind` is DiscreteGPU, IntegratedGPU, CPU or Unknown; `features` are WebGPU's names, `limits` what a kernel meets.
    `runtime` is "wgpu" or "dawn"; `matrices` are the products that a subgroup computes together, and where there are
    none, `no_matrices` says why.

    >>> all(adapter.summary.startswith(adapter.name) and adapter.limits.invocations >= 128 for adapter in adapters())
    True
    """

    name: str
    backend: str
    kind: str
    driver: str
    vendor: str
    limits: Limits
    features: frozenset[str]
    index: int
    runtime: RuntimeName
    matrices: tuple[MatrixShape, ...]
    no_matrices: str
    handle: wgpu.GPUAdapter = field(repr=False, compare=False)
    process: int = field(default_factory=os.getpid, repr=False, compare=False)  # whose handle it is

    @property
    def summary(self) -> str:
        """The line that reports print: what ran, and through what."""
        return f"{self.name} ({self.kind}) via {self.backend}" + " on Dawn" * (self.runtime == "dawn")

    def __str__(self) -> str:
        return self.summary


def adapters() -> tuple[Adapter, ...]:
    """Every adapter of this machine, wgpu-native's before Dawn's, each best first: discrete GPU, integrated GPU, CPU;
    Vulkan, Metal, D3D12 before OpenGL. Dawn's are there where it is installed; `missing_runtimes` says why not.

    >>> [adapter.index for adapter in adapters()] == list(range(len(adapters())))
    True

    Raises DeviceError where wgpu itself cannot be loaded.
    """
    return tuple(_up_to("dawn"))


def _up_to(last: str | None) -> Iterator[Adapter]:
    """The adapters runtime by runtime, those after the `last` one left alone: to load a runtime takes time."""
    count = 0
    for runtime in RUNTIMES.values():
        adapters_of = _of(runtime, count) if runtime.name == "wgpu" or not missing_runtimes() else []
        yield from adapters_of
        count += len(adapters_of)
        if runtime.name == last:
            return


def missing_runtimes() -> dict[str, str]:
    """The optional runtimes that cannot be loaded here, each with why and what to do.

    >>> all(isinstance(why, str) for why in missing_runtimes())
    True
    """
    try:
        RUNTIMES["dawn"].version  # noqa: B018
    except DeviceError as error:
        return {"dawn": str(error)}
    return {}


def choose_adapter(
    wanted: Adapter | int | str | None = None, *, runtime: str | None = None, needs: Sequence[str] = ()
) -> Adapter:
    """The adapter that `wanted` names (itself, an index into `adapters()`, or a part of its summary), else the best;
    of `runtime`, "wgpu" or "dawn", where that is given, and with the features `needs`, of either runtime then.

    Raises DeviceError, listing what there is, where nothing matches, there is no adapter at all, or the runtime is not
    installed.

    >>> all(choose_adapter(adapter.index) == adapter for adapter in adapters())
    True
    """
    # 1. An adapter is itself.
    if isinstance(wanted, Adapter):
        if runtime not in (None, wanted.runtime):
            raise DeviceError(f"{wanted.summary} is not of the runtime {runtime!r}; give one of the two")
        return wanted
    # 2. What the environment says counts only where the call says nothing, and never against a feature that is needed.
    source = ""
    if wanted is not None or not needs:
        runtime = runtime or os.environ.get("CUTEPY_RUNTIME") or None
    for variable in ("CUTEPY_ADAPTER", "WGPUPY_WGPU_ADAPTER_NAME") if not needs else ():
        if wanted is None and os.environ.get(variable):
            wanted, source = os.environ[variable], f" (from {variable})"
    version = runtime_named(runtime).version if runtime else ""  # this raises where it is not installed
    runtime = runtime or ("wgpu" if wanted is None and not needs else None)
    # 3. The first that fits, runtime by runtime: later runtimes are not loaded where an earlier one has it.
    number = int(wanted) if wanted is not None and str(wanted).isdecimal() else None
    candidates = []
    for adapter in _up_to(runtime):
        if runtime in (None, adapter.runtime):
            candidates.append(adapter)
            # Unasked, OpenGL is never chosen.
            usual = adapter.backend != "OpenGL" and adapter.features.issuperset(needs)
            named = number is None and str(wanted).casefold() in adapter.summary.casefold()
            if usual if wanted is None else named or adapter.index == number:
                return adapter
    # 4. None fits: say what there is, and what to install.
    listed = ", ".join(f"{a.index}: {a.summary}" for a in candidates)
    if needs and wanted is None:
        refusal = f"no adapter has the feature {', '.join(map(repr, needs))}"
    elif not candidates:
        raise DeviceError(f"no GPU adapter found{f' through {version}' * (runtime == 'dawn')}: {INSTALL}")
    elif wanted is None:
        raise DeviceError(
            f"no GPU adapter found but OpenGL: {listed} is used only if CUTEPY_ADAPTER=OpenGL asks for it; {INSTALL}"
        )
    else:
        refusal = f"no adapter matches {wanted!r}{source}{f' of {version}' * bool(version)}"
    absent = "".join(f"; {name}: {why}" for name, why in missing_runtimes().items())
    raise DeviceError(f"{refusal}; there are {listed or 'none'}{absent}")


def _of(runtime: Runtime, first: int) -> list[Adapter]:
    """The adapters of a runtime, best first, numbered from `first` on."""
    with Uninterrupted(), quiet_loader():
        handles = runtime.adapters()
    described = [_describe(runtime, handle) for handle in handles]
    described.sort(key=lambda adapter: (_KINDS.index(adapter.kind), adapter.backend == "OpenGL"))
    return [replace(adapter, index=index) for index, adapter in enumerate(described, first)]


def _describe(runtime: Runtime, handle: wgpu.GPUAdapter) -> Adapter:
    info, limits = handle.info, handle.limits
    matrices, why = runtime.matrices(handle)
    # The names of limits are wgpu-py's; `Limits` has WebGPU's defaults.
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
        index=0,
        runtime=runtime.name,
        matrices=matrices,
        no_matrices=why,
        handle=handle,
    )


def webgpu_names(features: set[str] | frozenset[str]) -> frozenset[str]:
    """Feature names as WebGPU spells them: wgpu says "subgroup" for "subgroups"."""
    return frozenset("subgroups" if name == "subgroup" else name for name in features)


def runtime_named(name: str) -> Runtime:
    """The runtime of that name. Raises DeviceError, naming those that there are."""
    if name not in RUNTIMES:
        raise DeviceError(f"runtime {name!r}: there are {' and '.join(map(repr, RUNTIMES))}")
    return RUNTIMES[name]


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
