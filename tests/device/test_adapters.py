"""Adapters are listed best first, chosen by argument or environment, and missing with a way out."""

import dataclasses
import os
import subprocess
import sys

import pytest
from swiftshader import SWIFTSHADER

from cutepy.errors import DeviceError
from cutepy.gpu.runtime import Device, adapters, choose_adapter, default_device, open_device
from cutepy.gpu.runtime.native import WgpuNative, api, read_types_alone


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment, timeout=60
    )


def test_list_is_ordered_data(device: Device) -> None:
    found = adapters()
    assert [a.index for a in found] == list(range(len(found)))
    rank = ["DiscreteGPU", "IntegratedGPU", "Unknown", "CPU"]
    keys = [(a.runtime == "dawn", rank.index(a.kind), a.backend == "OpenGL") for a in found]
    assert keys == sorted(keys)
    for adapter in found:
        assert adapter.limits.invocations >= 128
        assert adapter.name in str(adapter)
        assert adapter.backend in str(adapter)
        assert ("on Dawn" in str(adapter)) == (adapter.runtime == "dawn")
        assert bool(adapter.matrices) != bool(adapter.no_matrices)
        with pytest.raises(dataclasses.FrozenInstanceError):
            adapter.name = ""  # type: ignore[misc]


@pytest.mark.parametrize("text", ["{0} *", "const {0}[3]", "{0} *(*)({1}, int)"])
def test_a_type_is_read_alone_as_among_all(text: str) -> None:
    """Whatever cffi knows of the C library's names; and no others are put before a text."""
    read_types_alone(api.ffi)
    parser = api.ffi._parser
    names = [name.rpartition(" ")[2] for name in parser._declarations if name.startswith("typedef WGPU")]
    assert len(names) > 300
    for first, second in zip(names[::60], names[7::60], strict=False):
        among_all = type(parser).parse_type_and_quals(parser, text.format(first, second))
        assert parser.parse_type_and_quals(text.format(first, second)) == among_all
    with pytest.MonkeyPatch.context() as patch:
        known: list[int] = []
        patch.setattr(type(parser), "_parse", lambda self, _text: known.append(len(self._declarations)) or 1 / 0)
        with pytest.raises(ZeroDivisionError):
            parser.parse_type_and_quals("WGPULimits *")
    assert known[0] < 10 and len(parser._declarations) > 300, "they are there again, also after an error"


def test_chosen_by_argument(device: Device) -> None:
    best = next(a for a in adapters() if a.runtime == device.runtime.name)
    assert choose_adapter(best.index) == best
    assert choose_adapter(best) is best
    assert choose_adapter(str(best.index)) == best
    assert choose_adapter(best.summary.upper()) == best
    assert choose_adapter().summary == device.adapter.summary
    with pytest.raises(DeviceError, match=rf"no adapter matches 'no such gpu'.* there are {best.index}: "):
        choose_adapter("no such gpu")
    with pytest.raises(DeviceError, match="no adapter matches 99"):
        choose_adapter(99)


@pytest.mark.parametrize("variable", ["CUTEPY_ADAPTER", "WGPUPY_WGPU_ADAPTER_NAME"])
def test_chosen_by_environment(device: Device, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    last = [a for a in adapters() if a.runtime == device.runtime.name][-1]
    monkeypatch.setenv(variable, last.summary)
    assert choose_adapter() == last
    monkeypatch.setenv(variable, "nothing like it")
    with pytest.raises(DeviceError, match=f"from {variable}"):
        choose_adapter()


def test_cutepys_variable_wins(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WGPUPY_WGPU_ADAPTER_NAME", "nothing like it")
    first = next(a for a in adapters() if a.runtime == device.runtime.name)
    monkeypatch.setenv("CUTEPY_ADAPTER", str(first.index))
    assert choose_adapter() == first


def test_the_runtime_is_chosen_by_argument_or_environment(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dawn is never taken unasked, and what contradicts itself is refused."""
    monkeypatch.delenv("CUTEPY_RUNTIME")
    assert choose_adapter(runtime=device.runtime.name).runtime == device.runtime.name
    assert choose_adapter(device.adapter.summary).runtime == device.runtime.name
    other = {"wgpu": "dawn", "dawn": "wgpu"}[device.runtime.name]
    with pytest.raises(DeviceError, match=f"is not of the runtime '{other}'"):
        choose_adapter(device.adapter, runtime=other)
    with pytest.raises(DeviceError, match="runtime 'vulkan': there are 'wgpu' and 'dawn'"):
        open_device(runtime="vulkan")
    monkeypatch.setenv("CUTEPY_RUNTIME", "metal")
    with pytest.raises(DeviceError, match="runtime 'metal': there are"):
        choose_adapter()
    monkeypatch.setenv("CUTEPY_RUNTIME", device.runtime.name)
    assert choose_adapter().summary == device.adapter.summary


def test_chosen_by_what_a_kernel_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first adapter of either runtime that has the features; the error names those that there are."""
    monkeypatch.delenv("CUTEPY_RUNTIME", raising=False)
    found = [a for a in adapters() if a.backend != "OpenGL"]
    if len({a.runtime for a in found}) < 2:
        pytest.skip("NOT TESTED: adapters of one runtime only")
    first = {}
    for adapter in found:
        for feature in adapter.features:
            first.setdefault(feature, adapter.index)
    assert len(set(first.values())) > 1
    for feature, index in first.items():
        assert choose_adapter(needs=[feature]).index == index
    with pytest.raises(DeviceError, match=r"no adapter has the feature 'shader-f16', 'warp'; there are 0: "):
        choose_adapter(needs=["shader-f16", "warp"])


def test_dawn_is_not_chosen_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it has the only adapter."""
    monkeypatch.setattr(WgpuNative, "adapters", lambda self: [])
    with pytest.raises(DeviceError, match="no GPU adapter found: install"):
        choose_adapter()


WITHOUT = """
import sys
sys.modules["wgpudawn"] = None
from cutepy.gpu.runtime import adapters, choose_adapter, open_device
print([a.runtime for a in adapters() if a.runtime != "wgpu"])
for call in (lambda: open_device(runtime="dawn"), lambda: choose_adapter("on dawn")):
    try: call()
    except Exception as e: print(repr(e))
"""


def test_without_the_package() -> None:
    """Dawn not installed: nothing is listed, and who asks for it reads what to install."""
    result = run(WITHOUT)
    listed, opened, chosen = result.stdout.splitlines()
    assert (result.returncode, listed) == (0, "[]")
    for text in (opened, chosen):
        assert "DeviceError" in text
        assert "wgpudawn cannot be loaded" in text
        assert "pip install 'cutepy[dawn]'" in text


TOGGLES = """
import wgpudawn.backends.dawn as dawn
{first}
from cutepy.gpu.runtime.dawn import Dawn
runtime = Dawn()
handles = runtime.adapters() or dawn.gpu._enumerate_all_adapters()
print(runtime.matrices(handles[0]))
"""


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ("dawn.gpu.enumerate_adapters_sync()", "wgpudawn was used before cutepy, without the toggles allow_unsafe"),
        (
            "from wgpudawn.backends.dawn import extras; known = extras.all_toggles(); known.pop('allow_unsafe_apis'); "
            "extras.all_toggles = lambda: known",
            "this Dawn has no toggle allow_unsafe_apis; install",
        ),
    ],
)
def test_without_toggles(first: str, why: str) -> None:
    """Toggles that come too late, or that a release does not know: no matrices, and why is said."""
    pytest.importorskip("wgpudawn", reason="NOT TESTED: wgpudawn is not installed")
    result = run(TOGGLES.format(first=first))
    assert result.stdout.startswith("((), "), result.stderr
    assert why in result.stdout


def test_with_toggles_a_driver_gives_matrices_or_is_named() -> None:
    pytest.importorskip("wgpudawn", reason="NOT TESTED: wgpudawn is not installed")
    result = run(TOGGLES.format(first=""))
    assert result.stdout.startswith("((MatrixShape(") or "its driver gives none" in result.stdout, result.stderr


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
    assert choose_adapter("OpenGL", runtime="wgpu").backend == "OpenGL"


def test_the_loader_is_quiet_and_the_environment_unchanged(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if device.runtime.name == "dawn":
        monkeypatch.setenv("VK_ADD_DRIVER_FILES", str(SWIFTSHADER))
    code = (
        "import os; os.environ.pop('XDG_RUNTIME_DIR', None); before = dict(os.environ)\n"
        "from cutepy.gpu.runtime import default_device; default_device(); assert os.environ == before"
    )
    result = run(code)
    assert (result.returncode, result.stderr) == (0, "")


def test_default_device_is_shared_and_replaced(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutepy.gpu.runtime._default", None)
    first = default_device()
    assert default_device() is first
    first.close()
    second = default_device()
    assert second is not first
    assert second.alive
    assert second.runtime is device.runtime
    second.close()


def test_several_devices(device: Device) -> None:
    others = [open_device(device.adapter) for _ in range(3)]
    assert len({id(other.gpu) for other in [device, *others]}) == 4
    for other in others:
        other.close()
