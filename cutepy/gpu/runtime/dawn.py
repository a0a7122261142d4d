"""Dawn as a runtime, through wgpudawn (wgpu-py's API over Dawn): the extra `cutepy[dawn]`.

It reaches what wgpu-native does not, subgroup matrices first of all. Three things differ, and all of them are here:
what is experimental is behind named toggles, some of them given once a process; run-time checks belong to the device,
not to the module; and a lost device does not raise, it is asked for. Tested with wgpudawn 0.32.0.4, which
`pyproject.toml` pins.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ...errors import DeviceError
from .native import Asynchronous, Completion, Later, forget_instance
from .program import MatrixShape

if TYPE_CHECKING:
    import wgpudawn
    from wgpudawn.backends import dawn as backend
    from wgpudawn.backends.dawn import _api as api
    from wgpudawn.backends.dawn import extras
else:
    _INSTALL = "install it: pip install 'cutepy[dawn]'"
    wgpudawn = Later("wgpudawn", _INSTALL)
    backend = Later("wgpudawn.backends.dawn", _INSTALL)
    extras = Later("wgpudawn.backends.dawn.extras", _INSTALL)
    api = Later("wgpudawn.backends.dawn._api", _INSTALL)

#: What subgroup matrices and f16 on NVIDIA ask for; given with the first adapter of the process.
TOGGLES = ("allow_unsafe_apis", "vulkan_enable_f16_on_nvidia", "use_vulkan_memory_model")

Handle = Any  # wgpudawn ships no types


class Dawn(Asynchronous):
    """The runtime of the extra `cutepy[dawn]`, with the methods of `WgpuNative`."""

    name: ClassVar[Literal["dawn"]] = "dawn"
    dialect: ClassVar[Literal["tint"]] = "tint"
    module_checks = False
    #: Dawn ends the memory of a buffer with a later submission, not with its last use.
    frees_late = True
    raises_when_lost = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = threading.Lock()
        self._refused: str | None = None

    @property
    def api(self) -> Any:
        return api

    @property
    def errors(self) -> tuple[type[Exception], type[Exception]]:
        return wgpudawn.GPUError, wgpudawn.GPUOutOfMemoryError

    @property
    def version(self) -> str:
        return f"wgpudawn {wgpudawn.__version__}"

    def lock(self) -> threading.Lock:
        """One for all devices: wgpudawn hands an error to whichever of its calls ends next, on any thread."""
        return self._lock

    def adapters(self) -> list[Handle]:
        with self._asked:
            if self._refused is None:
                self._refused = _set_toggles()
        with _quiet():
            return list(backend.gpu.enumerate_adapters_sync())

    def matrices(self, handle: Handle) -> tuple[tuple[MatrixShape, ...], str]:
        configs = extras.get_adapter_properties(handle).get("subgroup_matrix_configs") or ()
        shapes = tuple(
            MatrixShape(c["component_type"], c["result_component_type"], c["m"], c["n"], c["k"]) for c in configs
        )
        return shapes, "" if shapes else self._refused or "its driver gives none"

    def open(self, handle: Handle, features: Sequence[str], checked: bool) -> Handle:
        """An adapter makes one device only, so it is looked up anew."""
        fresh = [h for h in self.adapters() if h.info == handle.info]
        if not fresh:
            raise DeviceError(f"{handle.info['device']} is no longer there; see gpu.adapters()")
        return extras.request_device_sync(
            fresh[0],
            label="cutepy",
            required_features=list(features),
            enable_toggles=[] if checked else ["disable_robustness"],
            disable_toggles=["timestamp_quantization"],
        )

    def module(self, gpu: Handle, wgsl: str, label: str, checked: bool) -> tuple[Handle, bool]:
        return gpu.create_shader_module(code=wgsl, label=label), checked

    def callback(self, kind: str, status: str) -> dict[str, Any]:
        """wgpudawn has one C function a kind, and a table of what it calls."""
        return {"mode": api.CALLBACK_MODE, "callback": api.c_callback(kind)}

    def awaits(self, status: str, completion: Completion) -> Any:
        def heard(code: int, *_: object) -> None:
            completion.done, completion.failed = True, code != getattr(api.lib, f"{status}_Success")

        return api.callbacks.register(heard)

    def after_fork(self) -> None:
        forget_instance("wgpudawn.backends.dawn._helpers")
        self._lock, self._asked = threading.Lock(), threading.Lock()

    def poll(self, gpu: Handle) -> None:
        """Hear of what is over, on all devices, without waiting."""
        backend.process_events()

    def timestamp_period(self, gpu: Handle) -> float:
        return 1.0  # Dawn converts to nanoseconds

    def lost(self, gpu: Handle) -> bool:
        backend.process_events()
        return bool(gpu._lost_promise._state != "pending")

    def lost_error(self, text: str) -> bool:
        return False  # `lost` says so


def _set_toggles() -> str:
    """Give Dawn the toggles of this process; what of it failed, and the way out."""
    toggles = extras.all_toggles()
    there = [name for name in TOGGLES if name in toggles]
    try:
        extras.set_instance_extras(enable_toggles=there)
    except RuntimeError as error:
        return (
            f"wgpudawn was used before cutepy, without the toggles {', '.join(TOGGLES)} ({error}); open cutepy's "
            "device before anything else asks wgpudawn for an adapter"
        )
    missing = [name for name in TOGGLES if name not in toggles]
    return f"this Dawn has no toggle {', '.join(missing)}; install wgpudawn 0.32.0.4" if missing else ""


@contextmanager
def _quiet() -> Iterator[None]:
    """Dawn writes to the process's standard error why it skips a driver: not inside the block."""
    try:
        sys.stderr.flush()
        kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    except (OSError, AttributeError):  # no standard error
        yield
        return
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
