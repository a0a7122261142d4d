"""Kernels in a headless Chromium: SwiftShader runs them; nothing to install but Chromium.

A page asks this process for jobs over HTTP on 127.0.0.1 and posts back what came out: what `--dump-dom` cannot do (it
does not wait for a GPU) and what a browser driver would do at the price of a dependency.
"""

import base64
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
import numpy.typing as npt
from serving import Server

from cutepy.gpu.runtime import Program
from cutepy.gpu.runtime.buffer import as_bytes, from_bytes
from cutepy.gpu.runtime.program import Size3

PAGE = Path(__file__).parent / "page.html"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
)
TIMEOUT = 120.0
Array = npt.NDArray[np.generic]
CALLS = """
import { load, open } from "module";
const decode = ([kind, text]) => new globalThis[kind](Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const encode = (array) => btoa(Array.from(new Uint8Array(array.buffer), (byte) => String.fromCharCode(byte)).join(""));
const device = await open(), kernel = await load(device, NAME);
export const result = [];
for (const { buffers, numbers } of CALLS) {
  const given = Object.fromEntries(Object.entries(buffers).map(([name, text]) => [name, decode(text)]));
  try {
    await kernel(given, numbers);
    result.push(Object.fromEntries(Object.entries(given).map(([name, bytes]) => [name, encode(bytes)])));
  } catch (error) { result.push(error.message); }
}
device.destroy();
"""


class BrowserError(RuntimeError):
    """The browser does not start, does not answer, or refuses a job."""


def typed(array: Array) -> tuple[str, str]:
    """The typed array that an exported function takes for this one, and its bytes; of other types, bytes as bytes."""
    kinds = {"f4": "Float32Array", "i4": "Int32Array", "u4": "Uint32Array", "b1": "Uint32Array", "f2": "Uint16Array"}
    kind = kinds.get(array.dtype.str[1:], "Uint8Array")
    return kind, base64.b64encode(as_bytes(array).tobytes()).decode()


def find_chromium() -> str | None:
    """The browser's command: `CUTEPY_CHROMIUM`, else the first of the usual names."""
    names = (os.environ.get("CUTEPY_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


def _read(text: str, like: Array) -> Array:
    """The array of this type and shape that bytes from a page hold; a buffer may be longer."""
    stored = np.frombuffer(base64.b64decode(text), np.uint8)[: as_bytes(like).size]
    return from_bytes(stored.copy(), like.dtype).reshape(like.shape)


class Browser:
    """One Chromium, started at once, ended by `close`; jobs run in turn. Raises BrowserError if it does not start."""

    def __init__(self, command: str) -> None:
        self._jobs: queue.Queue[dict[str, object] | None] = queue.Queue()  # None ends those that wait
        self._results: queue.Queue[dict[str, object]] = queue.Queue()
        self._server = Server(self._handler())
        self._profile = tempfile.TemporaryDirectory(prefix="cutepy-chromium-", ignore_cleanup_errors=True)
        profile = Path(self._profile.name)
        self._log = profile / "stderr.txt"
        # Chromium must not follow what this process was told about Vulkan drivers: it brings its own.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("VK_")}
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [command, *FLAGS, f"--user-data-dir={profile}", self._server.address],
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        try:
            self.info = self._ask({"action": "info"})
        except BrowserError:
            self.close()
            raise

    def run(
        self, program: Program, inputs: Sequence[Array], params: Sequence[float] = (), *, grid: Size3 | None = None
    ) -> list[Array]:
        """Run a program over these arrays; returns those that it may write, in order, with their types and shapes."""
        job = {
            "action": "run",
            "wgsl": program.wgsl,
            "entry": program.entry,
            "buffers": [
                {"access": binding.access, "data": base64.b64encode(as_bytes(array).tobytes()).decode()}
                for binding, array in zip(program.bindings, inputs, strict=True)
            ],
            "params": base64.b64encode(program.pack(params)).decode() if program.params else None,
            "grid": grid or program.grid,
        }
        answer = self._ask(job)
        assert isinstance(answer, list)
        outputs = []
        for array, text in zip(inputs, answer, strict=True):
            if text is not None:
                outputs.append(_read(text, array))
        return outputs

    def call(
        self, module: str, name: str, buffers: Mapping[str, Array], numbers: Mapping[str, float] | None = None
    ) -> dict[str, Array] | str:
        """Call a function of an ES module over these arrays. Returns all of them as they are afterwards, or the text
        of the error."""
        out = self.call_by(["arrays"], module, name, buffers, numbers)
        return out if isinstance(out, str) else out[0]

    def call_by(
        self,
        ways: Sequence[str],
        module: str,
        name: str,
        buffers: Mapping[str, Array],
        numbers: Mapping[str, float] | None = None,
    ) -> list[dict[str, Array]] | str:
        """The same in each of these ways, by a function that is loaded once: over typed arrays ("arrays"), or over
        GPUBuffers with an encoder ("buffers")."""
        answer = self._ask(
            {
                "action": "module",
                "module": module,
                "name": name,
                "ways": ways,
                "buffers": {key: typed(x) for key, x in buffers.items()},
                "numbers": {key: float(x) for key, x in (numbers or {}).items()},
            }
        )
        assert isinstance(answer, dict)
        if "refused" in answer:
            return str(answer["refused"])
        return [{key: _read(out[key], x) for key, x in buffers.items()} for out in answer["out"]]

    def calls(
        self, module: str, name: str, calls: Sequence[Mapping[str, Array]], numbers: Sequence[Mapping[str, float]] = ()
    ) -> list[dict[str, Array] | str]:
        """Call a function several times over arrays, on the device that its module opens, as `call` does once each."""
        jobs = [
            {
                "buffers": {key: typed(x) for key, x in call.items()},
                "numbers": {key: float(x) for key, x in numbers[i].items()} if numbers else {},
            }
            for i, call in enumerate(calls)
        ]
        answers = self.script(CALLS.replace("NAME", json.dumps(name)).replace("CALLS", json.dumps(jobs)), module)
        assert isinstance(answers, list)
        return [
            answer if isinstance(answer, str) else {key: _read(answer[key], x) for key, x in call.items()}
            for call, answer in zip(calls, answers, strict=True)
        ]

    def show(self, html: str, module: str) -> dict[str, str]:
        """What a page that tests an exported kernel says: its `result`, "right", "wrong" or "failed", and its text."""
        answer = self._ask({"action": "page", "html": html, "module": module})
        assert isinstance(answer, dict)
        return answer

    def script(self, script: str, module: str) -> object:
        """What a script exports as `result`; what it imports is the module, whatever it calls it."""
        return self._ask({"action": "script", "script": script, "module": module})

    def close(self) -> None:
        """End the browser and everything that it started: they are one process group, ours."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):  # it may end by itself meanwhile
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._jobs.put(None)
        self._server.close()
        self._profile.cleanup()

    def _ask(self, job: dict[str, object]) -> object:
        self._jobs.put(job)
        try:
            result = self._results.get(timeout=TIMEOUT)
        except queue.Empty:
            tail = self._log.read_text()[-1000:]
            raise BrowserError(f"no answer from the browser within {TIMEOUT} s; it last said:\n{tail}") from None
        if "error" in result:
            raise BrowserError(f"{job.get('entry', job['action'])}: {result['error']}")
        return result["value"]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        jobs, results = self._jobs, self._results

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/":
                    return self._answer(200, PAGE.read_bytes(), "text/html")
                if self.path != "/job":
                    return self._answer(404, b"", "text/plain")
                try:
                    job = jobs.get(timeout=20)
                except queue.Empty:
                    return self._answer(204, b"", "text/plain")
                if job is None:
                    return jobs.put(None)
                return self._answer(200, json.dumps(job).encode(), "application/json")

            def do_POST(self) -> None:
                results.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self._answer(204, b"", "text/plain")

            def _answer(self, status: int, body: bytes, kind: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler
