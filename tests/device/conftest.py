"""A device for the tests of this folder, on each runtime: one for the session, and a loud skip where there is none.

`CUTEPY_REQUIRE_DEVICE=1` and `CUTEPY_REQUIRE_DAWN=1` (CI sets them) turn the skip into a failure. Dawn takes no
lavapipe: where Debian's chromium is installed, its SwiftShader is shown to Dawn, and to Dawn alone.
"""

import os
from collections.abc import Iterator

import pytest
from swiftshader import show_swiftshader

from cutepy.errors import DeviceError
from cutepy.gpu.runtime import Device, open_device

REQUIRE = {"wgpu": "CUTEPY_REQUIRE_DEVICE", "dawn": "CUTEPY_REQUIRE_DAWN"}
_missing: dict[str, str] = {}


show_swiftshader()


@pytest.fixture(scope="session", params=["wgpu", "dawn"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """The device that all tests share; it must be alive, and idle, when they are done.

    Its runtime, and "checked" where it keeps the run-time checks of every program: those that are written by hand have
    none in their text, and are run on Dawn so.
    """
    runtime, _, checked = request.param.partition(" ")
    if request.param not in _missing:
        try:
            shared = open_device(runtime=runtime, checked=bool(checked))
        except DeviceError as error:
            _missing[request.param] = str(error)
    if why := _missing.get(request.param):
        if os.environ.get(REQUIRE[runtime], "0") != "0":
            pytest.fail(f"{REQUIRE[runtime]} is set, but {why}")
        pytest.skip(f"NOT TESTED: {why.partition(':')[0]}")
    yield shared
    assert shared.alive
    shared.close()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "on_dawn(*values): of the cases, Dawn meets those that one of these values makes"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every value of a mark is one of a case: with a slip in it Dawn would meet none."""
    mark = metafunc.definition.get_closest_marker("on_dawn")
    if mark is not None:
        cases = [value for each in metafunc.definition.iter_markers("parametrize") for value in each.args[1]]
        assert all(value in cases for value in mark.args), (metafunc.definition.nodeid, mark.args)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Dawn's cases are those that its mark names.

    What Dawn does of its own is to run a text that Tint accepts: `tests/gpu/test_every_kernel.py` shows Tint all of
    them, and wgpu runs all cases. SwiftShader compiles for seconds what lavapipe compiles in a tenth of that.
    """
    items[:] = [item for item in items if met(item)]


def met(item: pytest.Item) -> bool:
    """True but for a case of Dawn's that its mark leaves out."""
    mark = item.get_closest_marker("on_dawn")
    params = item.callspec.params if mark is not None else {}  # type: ignore[attr-defined]
    return not params.get("device", "").startswith("dawn") or any(value in mark.args for value in params.values())


@pytest.fixture(autouse=True)
def by_default(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What names no device runs on the one that is tested."""
    if "device" in request.fixturenames:
        device = request.getfixturevalue("device")
        monkeypatch.setattr("cutepy.gpu.runtime._default", device)
        monkeypatch.setenv("CUTEPY_RUNTIME", device.runtime.name)


@pytest.fixture
def own_device(device: Device) -> Iterator[Device]:
    """A second device on the same adapter, for a test that loses or closes it."""
    mine = open_device(device.adapter, checked=device.checked)
    yield mine
    mine.close()
