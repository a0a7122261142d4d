"""A headless Chromium driven through a pipe: pages opened, scripts evaluated, the mouse moved; nothing to install.

The DevTools protocol is JSON between two file descriptors that Chromium inherits as 3 (commands) and 4 (answers).
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
SECONDS = 60.0


def find_chromium() -> str | None:
    """The browser's command: `CUTEPY_CHROMIUM`, else the first of the usual names."""
    names = (os.environ.get("CUTEPY_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


class Page:
    """One tab of a Chromium of its own. `requests` are the addresses that it asked for."""

    def __init__(self, command: str, flags: Sequence[str] = FLAGS) -> None:
        self.folder = tempfile.mkdtemp(prefix="cutepy-chromium-")
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands, answers)]  # clear of 3 and 4
        arguments = [command, *flags, f"--user-data-dir={self.folder}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{high[0]} 4>&{high[1]}', "chromium", *arguments],
            pass_fds=high,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (commands, answers, *high):
            os.close(end)
        self._rest, self._number, self._events = b"", 0, []
        self.requests: list[str] = []
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self._call(f"{domain}.enable")

    def open(self, place: Path | str) -> None:
        """Load a file, or what is at an address, and wait for it."""
        self._events.clear()
        self._call("Page.navigate", url=place if isinstance(place, str) else place.resolve().as_uri())
        deadline = time.monotonic() + SECONDS
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._receive(deadline)

    def evaluate(self, script: str) -> object:
        """The value of a JavaScript expression."""
        found = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def dark(self, wanted: bool) -> None:
        """What the reader prefers."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if wanted else "light"}
        self._call("Emulation.setEmulatedMedia", features=[feature])

    def point_at(self, x: float, y: float) -> None:
        """Move the mouse."""
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def write(self, text: str) -> None:
        """Type into what has the focus."""
        self._call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        text = {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Tab": 9, "Escape": 27}[key]
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def resize(self, width: int, height: int) -> None:
        """The size of the window in pixels."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path: Path) -> None:
        """Save what is seen."""
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        """End the browser."""
        try:
            self._session = ""
            self._call("Browser.close")
            self._process.wait(10)
        except (OSError, AssertionError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _call(self, method: str, **parameters: object) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _receive(self, deadline: float) -> dict:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "Chromium does not answer"
            chunk = os.read(self._read, 1 << 20)
            assert chunk, "Chromium has ended"
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        found = json.loads(message)
        if "method" in found:
            self._events.append(found)
            if found["method"] == "Network.requestWillBeSent":
                self.requests.append(found["params"]["request"]["url"])
        return found


WEBGPU = (
    *(flag for flag in FLAGS if flag != "--disable-gpu"),
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
)
"""The flags of a tab that has WebGPU."""


def opened_tab(flags: Sequence[str] = FLAGS) -> Iterator[Page]:
    """A tab of a headless Chromium, for a fixture; skips where there is none."""
    import pytest  # tools that look at pages have no tests

    command = find_chromium()
    if command is None:
        pytest.skip("NOT TESTED: no Chromium to open pages with: apt install chromium, or set CUTEPY_CHROMIUM")
    opened = Page(command, flags)
    opened.resize(1280, 900)
    yield opened
    opened.close()
