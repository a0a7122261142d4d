"""The explorer's page in Chromium: its size, first paint, Python ready, a keystroke's way to the picture, scrolling.

Needs the packed runtime (`make explorer`) and a Chromium; says so where they are missing. Times are medians and the
worst of their runs, in milliseconds, on a machine that should do nothing else.
"""

import json
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / part) for part in ("tests/draw", "tests", ".")]

from chromium import find_chromium  # noqa: E402
from explore.browser import Browser  # noqa: E402

from cutepy.errors import DrawError  # noqa: E402
from cutepy.explore import Explorer  # noqa: E402

STARTS = 3
TYPED = {
    "8 x 8": ["(8,8):(8,1)", "(8,8):(1,8)"],
    "an operation": ["zipped_divide((8,8):(8,1), (4,4))", "zipped_divide((8,8):(8,1), (4,2))"],
    "64 x 64": ["(64,64):(64,1)", "(64,64):(1,64)"],
    "512 x 512": ["(512,512):(512,1)", "(512,512):(1,512)"],
}
KEYSTROKES = """(async () => {
  const box = document.getElementById("expression"), times = [];
  for (let turn = 0; turn < %d; turn++) {
    const shown = new Promise((done) => {
      const seen = new PerformanceObserver((list) => {
        const mark = list.getEntriesByName("pictured").at(-1);
        if (mark) { seen.disconnect(); done(mark.startTime); }
      });
      seen.observe({ type: "mark" });
    });
    box.value = %s[turn %% 2];
    const start = performance.now();
    box.dispatchEvent(new Event("input"));
    times.push((await shown) - start);
    await new Promise((done) => setTimeout(done, 400));
  }
  return times;
})()"""
SCROLLING = """new Promise((done) => {
  const stage = document.getElementById("stage"), times = [];
  let last;
  const step = (now) => {
    if (last) times.push(now - last);
    last = now;
    stage.scrollTop += 97;
    stage.scrollLeft += 131;
    times.length < 120 ? requestAnimationFrame(step) : done(times);
  };
  requestAnimationFrame(step);
})"""


def told(name: str, times: list[float]) -> None:
    """One line."""
    print(f"{name:32} median {statistics.median(times):8.1f}  worst {max(times):8.1f}")


def main() -> None:
    """Measure and print."""
    command = find_chromium()
    if command is None:
        return print("not measured: no Chromium; apt install chromium, or set CUTEPY_CHROMIUM")
    with TemporaryDirectory() as place:
        try:
            page = Explorer().save(Path(place) / "explorer.html")
        except DrawError as error:
            return print(f"not measured: {error}")
        print(f"{'size':32} {page.stat().st_size / 1e6:.2f} MB")
        paints, ready, shown = [], [], []
        for start in range(STARTS):
            browser = Browser(command)
            browser.resize(1280, 900)
            browser.start(page)
            paints.append(float(str(browser.evaluate("performance.getEntriesByType('paint')[0].startTime"))))
            ready.append(float(str(browser.evaluate("performance.getEntriesByName('python-ready')[0].startTime"))))
            shown.append(float(str(browser.evaluate("performance.getEntriesByName('pictured')[0].startTime"))))
            if start < STARTS - 1:
                browser.close()
        told("first paint", paints)
        told("Python ready", ready)
        told("Python's first picture", shown)
        for name, texts in TYPED.items():
            turns = 6 if name == "512 x 512" else 20
            told(f"keystroke to picture, {name}", browser.evaluate(KEYSTROKES % (turns, json.dumps(texts))))  # type: ignore[arg-type]
        told("a frame while 512 x 512 scrolls", browser.evaluate(SCROLLING))  # type: ignore[arg-type]
        browser.close()


if __name__ == "__main__":
    main()
