"""One page in one browser, and a loud skip where there is no browser or no Python to put into it.

`CUTEPY_REQUIRE_EXPLORER=1` (CI sets it where `make explorer` could pack the runtime) turns the skip into a failure.
"""

import os
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import chromium
import pytest
from chromium import find_chromium
from explore.browser import Browser
from serving import Server

from cutepy.errors import DrawError
from cutepy.explore.pack import Explorer, runtime


def missing(reason: str) -> None:
    """Fail, or skip loudly."""
    if os.environ.get("CUTEPY_REQUIRE_EXPLORER", "0") != "0":
        pytest.fail(f"CUTEPY_REQUIRE_EXPLORER is set, but there is {reason}")
    pytest.skip(f"NOT TESTED: {reason}")


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The explorer's page as `cutepy explore -o` writes it."""
    try:
        runtime()
    except DrawError:
        missing("no Python for the browser to run the explorer with: make explorer packs it (npm and node)")
    return Explorer().save(tmp_path_factory.mktemp("explorer") / "explorer.html")


@pytest.fixture(scope="module")
def opened(page_file: Path) -> Iterator[Browser]:
    """The page in a Chromium, with Python running."""
    command = find_chromium()
    if command is None:
        missing("no Chromium to run the explorer in: apt install chromium, or set CUTEPY_CHROMIUM")
        raise AssertionError
    browser = Browser(command)
    browser.start(page_file)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core, the checker of accessibility, as `make explorer` left it beside the runtime."""
    script = Path(__file__).resolve().parents[2] / "build" / "axe.min.js"
    if not script.exists():
        missing("no axe-core to judge the page's accessibility: make explorer fetches it (npm)")
    return script.read_text()


@pytest.fixture(scope="module")
def asked_for() -> list[str]:
    """What the page that was opened over HTTP has asked its server for."""
    return []


@pytest.fixture(scope="module")
def with_gpu(page_file: Path, asked_for: list[str]) -> Iterator[Browser]:
    """The page, opened over HTTP, in a Chromium that offers SwiftShader as its GPU."""
    command = find_chromium()
    if command is None:
        missing("no Chromium to run kernels in")
        raise AssertionError

    class Handler(SimpleHTTPRequestHandler):
        def log_request(self, *_about: object) -> None:
            asked_for.append(self.path)

    with Server(partial(Handler, directory=str(page_file.parent))) as server:
        with pytest.MonkeyPatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("VK_")]:  # Chromium brings its own driver
                patch.delenv(name)
            browser = Browser(command, chromium.WEBGPU)
        browser.start(server.address + page_file.name)
        yield browser
        browser.close()


@pytest.fixture
def browser(opened: Browser) -> Browser:
    """The page as it is when it is opened: one layout, the light theme, a wide window."""
    opened.resize(1280, 900)
    opened.dark(False)
    opened.go("(8,8):(8,1)")
    return opened
