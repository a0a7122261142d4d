"""Photographs of the built site: `python tools/site_pictures.py SITE FOLDER [PAGE ...]`, at 390, 768 and 1,280 px."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "draw")]


def main(site: Path, folder: Path, names: list[str]) -> None:
    """Save what Chromium shows of each page, light and dark."""
    from chromium import Page, find_chromium

    command = find_chromium()
    if command is None:
        sys.exit("no Chromium: apt install chromium, or set CUTEPY_CHROMIUM")
    page = Page(command)
    for name in names or [str(path.relative_to(site)) for path in sorted(site.rglob("*.html"))]:
        for width, dark in ((1280, False), (390, True)):
            page.dark(dark)
            page.resize(width, 1000)
            page.open(site / name)
            page.resize(width, int(page.evaluate("document.documentElement.scrollHeight")))
            target = folder / f"{name.removesuffix('.html').replace('/', '-')}-{width}.png"
            page.screenshot(target)
            print(target)
    page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
