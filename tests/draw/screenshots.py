"""Sheets of the gallery as Chromium shows it, light and dark, to be looked at: `python tests/draw/screenshots.py`.

They are kept as docs/img/gallery_light.png and gallery_dark.png; another folder may be named.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / part) for part in ("examples", "tests/draw", ".")]

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "img"
WIDTH = 1500


def main(folder: Path) -> None:
    """Draw the gallery on one page and take its picture in both themes."""
    from chromium import Page, find_chromium
    from gallery import GALLERY

    command = find_chromium()
    if command is None:
        sys.exit("no Chromium: apt install chromium, or set CUTEPY_CHROMIUM")
    with TemporaryDirectory() as place:
        for name, make in GALLERY.items():
            make().save(Path(place) / f"{name}.svg")
        images = "".join(f'<img src="{name}.svg" style="margin:6px;vertical-align:top">' for name in GALLERY)
        sheet = Path(place) / "sheet.html"
        sheet.write_text(f'<!doctype html><body style="margin:0;background:#8886">{images}</body>', encoding="utf-8")
        page = Page(command)
        for dark in (False, True):
            page.dark(dark)
            page.resize(WIDTH, 1000)
            page.open(sheet)
            page.resize(WIDTH, int(page.evaluate("document.documentElement.scrollHeight")))
            target = folder / f"gallery_{'dark' if dark else 'light'}.png"
            page.screenshot(target)
            print(target)
        page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
