"""What a reader's eye meets on the built site, measured in Chromium: `python tools/site_look.py SITE [PAGE ...]`.

For each page with pictures, at 390, 768 and 1,280 px, for readers who prefer light and dark, and against both by the
page's own switch: labels smaller than 9 px, labels that meet, captions and labels with a contrast below 4.5, and
pictures that do not follow the switch. Exit 1 where there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests" / "draw")]

if TYPE_CHECKING:
    from chromium import Page

WIDTHS = (390, 768, 1280)
LEAST, CONTRAST = 9.0, 4.5

LOOK = """
(() => {
  const found = [], canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const known = new Map();
  const rgb = color => {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = '#000'; canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
      known.set(color, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(color);
  };
  const light = color => rgb(color).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const say = (what, label, figure) => found.push(`${what}: ${label} in ${figure}`);
  let labels = 0;
  const ground = getComputedStyle(document.body).backgroundColor;
  document.querySelectorAll('figure.cutepy').forEach((figure, number) => {
    const svg = figure.querySelector('svg'), name = `figure ${number + 1}`;
    if (!svg) return;
    const paths = [...svg.querySelectorAll('path')].map(p => [p.getBoundingClientRect(), getComputedStyle(p).fill])
      .filter(([, fill]) => fill.startsWith('rgb'));
    const texts = [...svg.querySelectorAll('text')].map(t => [t.getBoundingClientRect(), t]);
    texts.sort((a, b) => a[0].top - b[0].top);
    texts.forEach(([box, text], place) => {
      labels += 1;
      const style = getComputedStyle(text), said = text.textContent;
      const size = parseFloat(style.fontSize) * text.getScreenCTM().d;
      if (size < LEAST) say(`${size.toFixed(1)} px`, said, name);
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      const under = paths.findLast(([b]) => b.left <= x && x <= b.right && b.top <= y && y <= b.bottom);
      const ratio = contrast(style.fill, under ? under[1] : ground);
      if (ratio < CONTRAST) say(`contrast ${ratio.toFixed(2)}`, said, name);
      for (let next = place + 1; next < texts.length && texts[next][0].top < box.bottom - 0.5; next += 1) {
        const other = texts[next][0];
        const [wide, high] = [Math.min(box.right, other.right) - Math.max(box.left, other.left),
                              Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top)];
        if (wide > 0.5 && high > 0.5) say('overlap', `${said} and ${texts[next][1].textContent}`, name);
      }
    });
    for (const caption of figure.querySelectorAll('figcaption')) {
      const ratio = contrast(getComputedStyle(caption).color, ground);
      if (ratio < CONTRAST) say(`contrast ${ratio.toFixed(2)}`, caption.textContent, name);
    }
    const paper = svg.querySelector('.bg'), dark = light(ground) < 0.2;
    if (paper && (light(getComputedStyle(paper).fill) < 0.2) !== dark) say('does not follow the switch', '-', name);
  });
  const beyond = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (beyond > 0) say(`${beyond} px beyond the screen`, '-', 'the page');
  return [labels, found];
})()
""".replace("LEAST", str(LEAST)).replace("CONTRAST", str(CONTRAST))
SWITCH = "document.body.getAttribute('data-md-color-scheme')"
TURNED = "document.querySelector(`#__palette_${INDEX}`).click()"


def look(page: Page, path: Path) -> Iterator[tuple[int, list[str], str]]:
    """For each width and light: how many labels were looked at, where, and what is wrong."""
    for dark in (False, True):
        page.dark(dark)
        page.resize(WIDTHS[-1], 900)
        page.open(path)
        for width in WIDTHS if not dark else WIDTHS[:1]:  # sizes do not depend on the light
            page.resize(width, 900)
            yield *report(page), f"{width} px, {'dark' if dark else 'light'} preferred"
        index, scheme = (1, "default") if dark else (2, "slate")
        page.evaluate(TURNED.replace("INDEX", str(index)))
        assert page.evaluate(SWITCH) == scheme
        yield *report(page), f"switched to {scheme}, {'dark' if dark else 'light'} preferred"
        page.evaluate("localStorage.clear()")  # where the page keeps what was switched


def report(page: Page) -> tuple[int, list[str]]:
    """How many labels a page shows, and what is wrong with them."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
    labels, found = page.evaluate(LOOK)  # type: ignore[misc]
    return labels, found


def main(site: Path, names: list[str]) -> int:
    """Look at pages; 1 where something is wrong."""
    from chromium import Page, find_chromium

    command = find_chromium()
    if command is None:
        sys.exit("no Chromium: apt install chromium, or set CUTEPY_CHROMIUM")
    page, wrong, looked = Page(command), 0, 0
    pages = [path for path in sorted(site.rglob("*.html")) if "<figure" in path.read_text(encoding="utf-8")]
    for name in names or [str(path.relative_to(site)) for path in pages]:
        for labels, found, where in look(page, site / name):
            looked, wrong = looked + labels, wrong + len(found)
            for line in found[:5]:
                print(f"{name}, {where}: {line}")
            if len(found) > 5:
                print(f"{name}, {where}: and {len(found) - 5} more")
    page.close()
    print(f"{looked} labels looked at, {wrong} things wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
