"""How soon the explorer answers on a slow line and a slow processor: `python tools/explorer_start.py [PAGE [RUNS]]`.

PAGE is what `cutepy explore -o PAGE` wrote, by default one made now. It is served over HTTP, compressed as servers do,
to a Chromium whose line carries 8 Mbit/s at 40 ms and whose processor is slowed down to a quarter. Of each run, which
begins without a cache: seconds until the first picture is painted, until what is typed then has its answer, and until
Python has drawn. The medians are judged: exit 1 beyond 1 second for the picture or 10 for Python.
"""

import gzip
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "draw")]
BYTES_A_SECOND, LATENCY_MS, SLOWER = 1_000_000, 40, 4
PAINTED, DRAWN = 1.0, 10.0


def main(page: Path, runs: int) -> int:
    """Print a line a run and the medians; 1 where they are beyond the bars."""
    from serving import Server

    packed = gzip.compress(page.read_bytes(), 6)

    class Packed(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = packed if self.path.startswith("/explorer") else b""
            self.send_response(200 if body else 404)
            for name, value in (("Content-Type", "text/html; charset=utf-8"), ("Content-Encoding", "gzip")):
                if body:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with Server(Packed) as server:
        found = [run(f"{server.address}explorer.html") for _ in range(runs)]
    painted, drawn = (median(times) for times in zip(*found, strict=True))
    print(f"{len(packed) / 1e6:.1f} MB; median of {runs}: picture {painted:.2f} s, Python {drawn:.1f} s")
    return int(painted > PAINTED or drawn > DRAWN)


def run(address: str) -> tuple[float, float]:
    """Seconds until the first picture is painted and until Python has drawn, from the request on."""
    from chromium import Page, find_chromium

    command = find_chromium()
    if command is None:
        raise SystemExit("no Chromium: apt install chromium, or set CUTEPY_CHROMIUM")
    tab = Page(command)
    try:
        tab._call("Network.setCacheDisabled", cacheDisabled=True)
        tab._call("Emulation.setCPUThrottlingRate", rate=SLOWER)
        line = {"latency": LATENCY_MS, "downloadThroughput": BYTES_A_SECOND, "uploadThroughput": BYTES_A_SECOND}
        tab._call("Network.emulateNetworkConditions", offline=False, **line)
        tab.open(address)
        marks = "performance.getEntriesByName('pictured')[0]?.startTime"
        until = time.monotonic() + 60
        while (drawn := tab.evaluate(marks)) is None and time.monotonic() < until:
            time.sleep(0.1)
        painted = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        ready = tab.evaluate("performance.getEntriesByName('python-ready')[0]?.startTime")
    finally:
        tab.close()
    assert painted is not None and drawn is not None, "the page has no picture, or Python drew none in a minute"
    print(f"picture {painted / 1e3:.2f} s, Python ready {float(ready) / 1e3:.1f} s, drawn {drawn / 1e3:.1f} s")
    return float(painted) / 1e3, float(drawn) / 1e3


if __name__ == "__main__":
    given = sys.argv[1:]
    if given:
        raise SystemExit(main(Path(given[0]), int(given[1]) if len(given) > 1 else 3))
    from cutepy.explore import Explorer

    with tempfile.TemporaryDirectory() as folder:
        raise SystemExit(main(Explorer().save(Path(folder) / "explorer.html"), 3))
