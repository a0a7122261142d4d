"""A device for the tests of this folder: one for the session, and a loud skip where there is none.

`CUTEPY_REQUIRE_DEVICE=1` (CI sets it) turns the skip into a failure.
"""

import os
from collections.abc import Iterator

import pytest

from cutepy.errors import DeviceError
from cutepy.gpu.runtime import Device, open_device

_opened: list[Device | str] = []


def opened() -> Device:
    """The session's device, or the skip or failure that says why there is none."""
    if not _opened:
        try:
            _opened.append(open_device())
        except DeviceError as error:
            _opened.append(str(error))
    found = _opened[0]
    if isinstance(found, Device):
        return found
    if os.environ.get("CUTEPY_REQUIRE_DEVICE", "0") != "0":
        pytest.fail(f"CUTEPY_REQUIRE_DEVICE is set, but {found}")
    pytest.skip(f"NOT TESTED: {found.partition(':')[0]}")


@pytest.fixture(scope="session")
def device() -> Iterator[Device]:
    """The device that all tests share; it must be alive, and idle, when they are done."""
    shared = opened()
    yield shared
    assert shared.alive
    shared.close()


@pytest.fixture
def own_device(device: Device) -> Iterator[Device]:
    """A second device on the same adapter, for a test that loses or closes it."""
    mine = open_device(device.adapter)
    yield mine
    mine.close()
