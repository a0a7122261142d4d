"""The explorer's page in a headless Chromium: typed into, pointed at, asked."""

import json
import time
from pathlib import Path
from urllib.parse import urlencode

from chromium import Page

SECONDS = 60.0
KEYS = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Browser(Page):
    """A tab with the explorer in it."""

    def start(self, path: Path | str) -> None:
        """Open the page and wait for Python."""
        self._call("Log.enable")
        self.open(path)
        self.wait("performance.getEntriesByName('pictured').length")

    def wait(self, script: str) -> object:
        """The value of a script as soon as it is true."""
        deadline = time.monotonic() + SECONDS
        while not (found := self.evaluate(script)):
            assert time.monotonic() < deadline, (
                f"waited in vain for {script}; {self.evaluate('document.body.innerText')}"
            )
            time.sleep(0.02)
        return found

    def ask(self, **question: object) -> dict:
        """The answer of the Python in the page."""
        found = self.evaluate(f"cutepy({json.dumps(question)}).then((answer) => JSON.stringify(answer))")
        return json.loads(str(found))

    def settled(self) -> None:
        """Wait until the page says that all that was asked for stands in it, and is painted."""
        self.wait("cutepy.idle()")
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def go(self, text: str, **options: object) -> None:
        """Follow a share link."""
        link = json.dumps("#" + urlencode({"e": text, **options}))
        self.evaluate(f"location.hash === {link} ? dispatchEvent(new Event('popstate')) : location.hash = {link}; 0")
        self.settled()

    def type(self, text: str) -> None:
        """Type a text into what has the focus, as a keyboard does."""
        for letter in text:
            self._call("Input.dispatchKeyEvent", type="keyDown", text=letter, key=letter)
            self._call("Input.dispatchKeyEvent", type="keyUp", key=letter)

    def press(self, *keys: str) -> None:
        """Press keys by their names."""
        for key in keys:
            shift = key.startswith("Shift+")
            name = key.removeprefix("Shift+")
            known = {"key": name, "code": name, "windowsVirtualKeyCode": KEYS[name], "modifiers": 8 if shift else 0}
            text = {"text": "\r"} if name == "Enter" else {}
            self._call("Input.dispatchKeyEvent", type="keyDown", **known, **text)
            self._call("Input.dispatchKeyEvent", type="keyUp", **known)

    def click(self, x: float, y: float) -> None:
        """Press and release the mouse."""
        self.point_at(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def cell(self, column: float, row: float) -> tuple[float, float]:
        """The middle of a cell of the first grid, in the window: measured on the label that stands there."""
        at = f"""(() => {{
            const texts = [...document.querySelector('#figure').shadowRoot.querySelectorAll('path title')];
            const boxes = texts.map((t) => t.parentNode.getBoundingClientRect());
            const lefts = [...new Set(boxes.map((b) => Math.round(b.left)))].sort((a, b) => a - b);
            const tops = [...new Set(boxes.map((b) => Math.round(b.top)))].sort((a, b) => a - b);
            return [lefts[{column}] + boxes[0].width / 2, tops[{row}] + boxes[0].height / 2];
        }})()"""
        x, y = self.evaluate(at)  # type: ignore[misc]
        return x, y

    def text(self, selector: str) -> str:
        """What an element says."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent"))

    def focused(self) -> str:
        """What has the focus: its id, or its text."""
        return str(self.evaluate("document.activeElement.id || document.activeElement.textContent"))

    def complaints(self) -> list[str]:
        """What the browser logged: errors, refusals, exceptions."""
        kinds = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
        return [json.dumps(event["params"])[:500] for event in self._events if event["method"] in kinds]
