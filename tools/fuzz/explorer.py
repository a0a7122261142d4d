"""The explorer's page in Chromium: every cell of random layouts clicked in every view, and random actions.

python tools/fuzz/explorer.py LAYOUTS [ACTIONS [SEED]]

LAYOUTS random layouts are clicked through; ACTIONS times 20 random things are done and the page compared with a fresh
one. Needs Chromium and the packed runtime (`make explorer`).
"""

import random
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path[:0] = [str(Path(__file__).parents[2] / folder) for folder in (".", "tests", "tests/draw", "tests/gpu")]

from chromium import find_chromium  # noqa: E402  found by the path above
from explore.browser import Browser  # noqa: E402
from explore.picture_laws import actions_are_wrong, cases, cells_are_wrong  # noqa: E402

from cutepy.explore.pack import Explorer  # noqa: E402


def main(layouts: int, actions: int = 0, seed: int = 0) -> int:
    """Click and act; the exit status is 1 where anything was wrong."""
    command = find_chromium()
    assert command is not None, "no Chromium: apt install chromium, or set CUTEPY_CHROMIUM"
    wrong, views, start = 0, Counter[str](), time.monotonic()
    with TemporaryDirectory(prefix="cutepy-explorer-") as folder:
        page = Explorer().save(Path(folder) / "explorer.html")
        browser = Browser(command)
        browser.start(page)
        browser.resize(1280, 900)
        for number in range(seed, seed + layouts):
            for case, text, view, lanes in cases(random.Random(f"cells {number}")):
                views[view] += 1
                for problem in cells_are_wrong(browser, case, view, lanes, text):
                    wrong += 1
                    if wrong <= 20:
                        print(f"seed {number}: {problem}", flush=True)
            if (number + 1 - seed) % 10 == 0:
                print(f"{number + 1 - seed} layouts, {wrong} wrong, {time.monotonic() - start:.0f} s", flush=True)
        for number in range(seed, seed + actions):
            for problem in actions_are_wrong(browser, random.Random(f"actions {number}"), 20, page.as_uri()):
                wrong += 1
                print(f"seed {number}: {problem}", flush=True)
        browser.close()
    told = ", ".join(f"{view} {count}" for view, count in sorted(views.items()))
    print(f"{layouts} layouts ({told}), {actions} times 20 actions from seed {seed}: {wrong} wrong, ", end="")
    print(f"{time.monotonic() - start:.0f} s")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:4])))
