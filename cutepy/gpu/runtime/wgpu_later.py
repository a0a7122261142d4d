"""wgpu, loaded when something of it is first asked for: `import cutepy.gpu` stays light and works without it."""

from importlib import import_module
from typing import TYPE_CHECKING

from ...errors import DeviceError


class Later:
    """A module that is loaded with the first of its names that is asked for. Raises DeviceError where it cannot be."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        try:
            module = import_module(self._name)
        except (ImportError, OSError, RuntimeError) as error:
            raise DeviceError(
                f"wgpu cannot be loaded ({error}); reinstall it: pip install 'wgpu>=0.32,<0.33'"
            ) from error
        self.__dict__.update(vars(module))
        return getattr(module, name)


if TYPE_CHECKING:
    import wgpu as wgpu
    from wgpu.backends import wgpu_native as wgpu_native
    from wgpu.backends.wgpu_native import _api as _native_api

    native_api = _native_api
else:
    wgpu = Later("wgpu")
    wgpu_native = Later("wgpu.backends.wgpu_native")
    native_api = Later("wgpu.backends.wgpu_native._api")
