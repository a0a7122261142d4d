"""How soon the explorer answers on a slow line and a slow processor: `python tools/explorer_start.py SITE [RUNS]`.

SITE is a built site with its `explore.html` (`make docs`). It is served over HTTP, compressed as servers do, to a
Chromium without a cache whose line carries 8 Mbit/s at 40 ms, and whose page has a quarter of the processor. Each run
follows another link of the site's questions and puzzles: seconds until something is painted, until the link's own
picture stands, and until Python has started. The medians are judged: exit 1 beyond 1 second for the picture or 10 for
Python.
"""

import gzip
import sys
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from statistics import median

from cutepy.explore.pack import links_of

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "draw")]
BYTES_A_SECOND, LATENCY_MS, SLOWER = 1_000_000, 40, 4
PICTURED, READY = 1.0, 10.0
MARKS = "first-contentful-paint", "pictured", "python-ready"


def main(site: Path, runs: int) -> int:
    """Print a line a run and the medians; 1 where they are beyond the bars."""
    from serving import Server

    packed = gzip.compress((site / "explore.html").read_bytes(), 6)

    class Packed(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = packed if self.path.startswith("/explore.html") else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            if body:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    links = links_of(site)[:: max(1, 44 // runs)]
    with Server(Packed) as server:
        found = [run(f"{server.address}explore.html#{link}") for link in links[:runs]]
    painted, pictured, ready = (median(times) for times in zip(*found, strict=True))
    size = f"{len(packed) / 1e6:.1f} MB"
    medians = f"painted {painted:.2f} s, the link's picture {pictured:.2f} s, Python {ready:.1f} s"
    print(f"{size}, median of {len(found)}: {medians}")
    return int(pictured > PICTURED or ready > READY)


def run(address: str) -> list[float]:
    """Seconds until something is painted, the link's picture stands, and Python has started, from the request on."""
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
        marks = f"{list(MARKS)}.map((name) => performance.getEntriesByName(name)[0]?.startTime / 1000 || null)"
        until = time.monotonic() + 60
        while None in (found := tab.evaluate(marks)) and time.monotonic() < until:  # type: ignore[operator]
            time.sleep(0.1)
    finally:
        tab.close()
    assert isinstance(found, list) and None not in found, f"not all of {MARKS} within a minute: {found}"
    print(
        "painted {:.2f} s, the link's picture {:.2f} s, Python {:.1f} s".format(*found), address.partition("#")[2][:60]
    )
    return found


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3))
