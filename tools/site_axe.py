"""What axe-core finds on the pages of the built site: `python tools/site_axe.py SITE AXE [PAGE ...]`.

AXE is `axe.min.js` of npm's axe-core. Each page is asked on a phone in light and at a desk in dark, and named, with its
violations and the first elements that have them; 404.html finds its styles on a server alone. Exit 1 where there is
one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests" / "draw")]

if TYPE_CHECKING:
    from chromium import Page

WAYS = ((390, False), (1280, True))
"""Widths in pixels, and whether the reader prefers dark."""
ASK = """axe.run(document, {preload: false, resultTypes: ['violations']}).then(({violations}) => violations.map((one) =>
  [one.id, one.nodes.map((node) => node.target.join(' '))]))"""


def violations(page: Page, path: Path, axe: str) -> list[str]:
    """What is wrong with a page, each way that it is shown."""
    found = []
    for width, dark in WAYS:
        page.dark(dark)
        page.resize(width, 900)
        page.open(path)
        page.evaluate("new Promise((done) => setTimeout(done, 200))")
        page.evaluate(f"{axe};0")
        for rule, targets in cast("list[tuple[str, list[str]]]", page.evaluate(ASK)):
            found.append(f"{width} px{', dark' if dark else ''}: {rule}: {len(targets)}, {targets[:3]}")
    return found


def main() -> int:
    """Ask all pages, or those named."""
    import chromium

    chromium.SECONDS = 600.0  # pages of the reference have some ten thousand elements
    site, axe = Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8")
    command = chromium.find_chromium()
    assert command is not None, "no Chromium"
    page, wrong = chromium.Page(command), 0
    pages = [site / name for name in sys.argv[3:]] or sorted(set(site.rglob("*.html")) - {site / "404.html"})
    for path in pages:
        found = violations(page, path, axe)
        print(path.relative_to(site), *found, sep="\n  ", flush=True)
        wrong += len(found)
    page.close()
    print(f"{len(pages)} pages, {len(WAYS)} ways each, {wrong} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
