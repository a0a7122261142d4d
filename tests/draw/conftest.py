"""What the tests of drawing share: the gallery, and one browser for the session, loudly skipped where there is none."""

import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from chromium import Page, find_chromium

from cutepy.draw import Drawing

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`picture`: name and maker of each picture of the gallery in turn; `telling`: of those that show all its ways."""
    if "picture" in metafunc.fixturenames:
        gallery: dict[str, Callable[[], Drawing]] = import_module("gallery").GALLERY
        metafunc.parametrize("picture", sorted(gallery.items()), ids=sorted(gallery))
    if "telling" in metafunc.fixturenames:
        few: dict[str, Callable[[], Drawing]] = import_module("telling").telling()
        metafunc.parametrize("telling", few.items(), ids=few)


@pytest.fixture(scope="session")
def page() -> Iterator[Page]:
    """A tab of a headless Chromium. `CUTEPY_REQUIRE_BROWSER=1` (CI sets it) turns the skip into a failure."""
    command = find_chromium()
    if command is None:
        reason = "no Chromium to look at pictures with: apt install chromium, or set CUTEPY_CHROMIUM"
        if os.environ.get("CUTEPY_REQUIRE_BROWSER", "0") != "0":
            pytest.fail(f"CUTEPY_REQUIRE_BROWSER is set, but there is {reason}")
        pytest.skip(f"NOT TESTED: {reason}")
    opened = Page(command)
    yield opened
    opened.close()
