"""A headless Firefox driven over its own protocol, Marionette: what `chromium.Page` does, as far as `live_judge` asks.

A message is `length:[kind, number, command, parameters]` over TCP; an answer `length:[1, number, error, result]`.
"""

import json
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

SECONDS = 60.0
KEYS = {"Escape": "\ue00c", "ArrowDown": "\ue015"}
"""WebDriver's names of keys."""


def find_firefox() -> str | None:
    """The browser's command: the first of the usual names."""
    return next((path for name in ("firefox-esr", "firefox") if (path := shutil.which(name))), None)


class FirefoxPage:
    """One tab of a Firefox of its own."""

    def __init__(self, command: str) -> None:
        self.folder = tempfile.mkdtemp(prefix="cutepy-firefox-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        Path(self.folder, "user.js").write_text(f'user_pref("marionette.port", {port});\n')
        self._process = subprocess.Popen(
            [command, "--headless", "--marionette", "--no-remote", "--profile", self.folder, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._number, self._socket = 0, self._connected(port)
        self._received = self._socket.makefile("rb")
        self._message()  # the greeting
        self._ask("WebDriver:NewSession", capabilities={"alwaysMatch": {"timeouts": {"script": 600_000}}})

    def _connected(self, port: int) -> socket.socket:
        """Connect as soon as the browser listens."""
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port))
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def open(self, place: Path | str) -> None:
        """Load a file, or what is at an address, and wait for it."""
        self._ask("WebDriver:Navigate", url=place if isinstance(place, str) else place.resolve().as_uri())

    def evaluate(self, script: str) -> object:
        """The value of a JavaScript expression, a promise awaited."""
        return self._ask("WebDriver:ExecuteScript", script=f"return ({script})", args=[], sandbox=None)["value"]

    def point_at(self, x: float, y: float) -> None:
        """Move the mouse."""
        self._act("pointer", "mouse", [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}])

    def resize(self, width: int, height: int) -> None:
        """The size of the window in pixels."""
        self._ask("WebDriver:SetWindowRect", width=width, height=height)

    def close(self) -> None:
        """End the browser."""
        try:
            self._ask("Marionette:Quit", flags=["eForceQuit"])
            self._process.wait(10)
        except (OSError, AssertionError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._socket.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _call(self, method: str, **given: object) -> None:
        """Chromium's commands for keys and fingers."""
        kind, points = given["type"], given.get("touchPoints")
        if method == "Input.dispatchKeyEvent":
            self._act("key", "", [{"type": kind, "value": KEYS[str(given["key"])]}])
        elif isinstance(points, list) and points:
            at = {"x": round(points[0]["x"]), "y": round(points[0]["y"]), "duration": 0}
            press = [{"type": "pointerMove", **at}, {"type": "pointerDown", "button": 0}]
            self._act("pointer", "touch", [*press, {"type": "pointerUp", "button": 0}])

    def _act(self, kind: str, pointer: str, actions: list[dict[str, object]]) -> None:
        source = {"type": kind, "id": f"{kind} {pointer}", "actions": actions}
        parameters = {"parameters": {"pointerType": pointer}} if pointer else {}
        self._ask("WebDriver:PerformActions", actions=[{**source, **parameters}])

    def _ask(self, command: str, **parameters: object) -> dict:
        self._number += 1
        text = json.dumps([0, self._number, command, parameters])
        self._socket.sendall(f"{len(text.encode())}:{text}".encode())
        _kind, _number, error, result = self._message()
        assert error is None, f"{command}: {error}"
        return result or {}

    def _message(self) -> list:
        digits = b""
        while (digit := self._received.read(1)) != b":":
            assert digit, "Firefox ended"
            digits += digit
        return json.loads(self._received.read(int(digits)))
