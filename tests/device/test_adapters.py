"""Adapters are listed best first, chosen by argument or environment, and missing with a way out."""

import dataclasses
import os
import subprocess
import sys

import pytest

from cutepy.errors import DeviceError
from cutepy.gpu.runtime import Device, adapters, choose_adapter, default_device, open_device


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment, timeout=60
    )


def test_list_is_ordered_data(device: Device) -> None:
    found = adapters()
    assert [a.index for a in found] == list(range(len(found)))
    rank = ["DiscreteGPU", "IntegratedGPU", "Unknown", "CPU"]
    keys = [(rank.index(a.kind), a.backend == "OpenGL") for a in found]
    assert keys == sorted(keys)
    for adapter in found:
        assert adapter.limits.invocations >= 128
        assert adapter.name in str(adapter)
        assert adapter.backend in str(adapter)
        with pytest.raises(dataclasses.FrozenInstanceError):
            adapter.name = ""  # type: ignore[misc]


def test_chosen_by_argument(device: Device) -> None:
    best = choose_adapter(0)
    assert choose_adapter(best) is best
    assert choose_adapter("0") == best
    assert choose_adapter(best.summary.upper()) == best
    assert choose_adapter() == device.adapter
    with pytest.raises(DeviceError, match=r"no adapter matches 'no such gpu'; there are 0: "):
        choose_adapter("no such gpu")
    with pytest.raises(DeviceError, match="no adapter matches 99"):
        choose_adapter(99)


@pytest.mark.parametrize("variable", ["CUTEPY_ADAPTER", "WGPUPY_WGPU_ADAPTER_NAME"])
def test_chosen_by_environment(device: Device, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    last = adapters()[-1]
    monkeypatch.setenv(variable, last.summary)
    assert choose_adapter() == last
    monkeypatch.setenv(variable, "nothing like it")
    with pytest.raises(DeviceError, match=f"from {variable}"):
        choose_adapter()


def test_cutepys_variable_wins(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WGPUPY_WGPU_ADAPTER_NAME", "nothing like it")
    monkeypatch.setenv("CUTEPY_ADAPTER", "0")
    assert choose_adapter().index == 0


def test_every_limit_and_useful_feature_is_asked_for(device: Device) -> None:
    granted = device.gpu.limits
    assert granted["max-storage-buffer-binding-size"] == device.limits.binding_bytes
    assert granted["max-compute-workgroup-storage-size"] == device.limits.workgroup_bytes
    for feature in ("shader-f16", "subgroups", "timestamp-query"):
        assert (feature in device.features) == (feature in device.adapter.features)


def test_without_a_driver() -> None:
    """No driver at all, or only OpenGL: an error that says what to install, and how to go on."""
    code = "from cutepy.gpu.runtime import default_device\ntry: default_device()\nexcept Exception as e: print(repr(e))"
    result = run(code, VK_DRIVER_FILES="/nonexistent", VK_ICD_FILENAMES="/nonexistent")
    assert result.returncode == 0
    for words in ("DeviceError", "apt install libvulkan1 mesa-vulkan-drivers", "dnf", "pacman", "interpreter"):
        assert words in result.stdout


def test_opengl_is_used_only_when_asked_for(device: Device) -> None:
    if all(adapter.backend != "OpenGL" for adapter in adapters()):
        pytest.skip("NOT TESTED: no OpenGL on this machine")
    assert choose_adapter().backend != "OpenGL"
    assert choose_adapter("OpenGL").backend == "OpenGL"


def test_the_loader_is_quiet_and_the_environment_unchanged(device: Device) -> None:
    code = (
        "import os; os.environ.pop('XDG_RUNTIME_DIR', None); before = dict(os.environ)\n"
        "from cutepy.gpu.runtime import default_device; default_device(); assert os.environ == before"
    )
    result = run(code)
    assert (result.returncode, result.stderr) == (0, "")


def test_default_device_is_shared_and_replaced(device: Device) -> None:
    first = default_device()
    assert default_device() is first
    first.close()
    second = default_device()
    assert second is not first
    assert second.alive
    second.close()


def test_several_devices(device: Device) -> None:
    others = [open_device(device.adapter) for _ in range(3)]
    assert len({id(other.gpu) for other in [device, *others]}) == 4
    for other in others:
        other.close()
