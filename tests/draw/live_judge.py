"""What a picture in a page says of its cells, heard in Chromium, and what is wrong about it.

Two judges: Python's `Grid.text`, and the arithmetic of the sum that is said.
"""

import re
import time
from collections.abc import Iterator

from chromium import Page
from firefox import FirefoxPage

from cutepy.draw import Drawing
from cutepy.draw.sheet import sheet_of

PICTURE = """((host) => {
  const svg = host.querySelector('svg');
  return [...svg.querySelectorAll('[data-cells]')].map((cells) =>
    [...cells.querySelectorAll('path')].filter((p, k) => !p.dataset.mark && k >= FROM && k < FROM + MOST)
    .filter((_p, k) => k % STEP === 0).map((path) => {
      path.dispatchEvent(new PointerEvent('pointerover', {bubbles: true, pointerType: 'mouse'}));
      const said = host.querySelector('.cutepy-live output').textContent;
      path.dispatchEvent(new MouseEvent('click', {bubbles: true}));
      const framed = [...svg.querySelectorAll('path[data-mark=follow]')].map((p) => p.getAttribute('d'));
      return [path.getAttribute('d'), said, framed.join('')];
    }));
})(document.querySelectorAll('[data-live]')[NUMBER])"""
"""For each grid and cell of a picture: where it is, what is said of it, which cells are framed once it is clicked."""

FEW, CHUNK = 256, 512
"""Cells of a picture of which each is judged where nothing else is said; cells that are asked of a browser at once."""
TIP = "document.querySelector('.cutepy-tip:not([hidden])')?.textContent"
SUM = re.compile(r"→ ((?:-?\d+·-?\d+)(?: \+ -?\d+·-?\d+)*) = (-?\d+)(?:, (-?\d+) \+ (-?\d+) = (-?\d+))?")
SWIZZLED = re.compile(r"→ S<(\d+),(\d+),(-?\d+)>: ([01]+) \^ ([01]+) = ([01]+) = (\d+)$")


def heard(page: Page | FirefoxPage, *, every: int = 1, few: int = FEW) -> list[list]:
    """What each picture of a page says: by grid and cell, the cell's path, its text, the frames after a click.

    `every` leaves out cells of pictures of more than `few`. The page is laid out once, after all answers: each moves
    the tip and the frames. Where a tip stands, `reacts` sees.
    """
    count = "[...document.querySelectorAll('[data-live]')].map((host) => Math.max(...[...host.querySelectorAll"
    found = []
    page.evaluate("document.documentElement.style.display = 'none'")
    for number, cells in enumerate(
        page.evaluate(f"{count}('[data-cells]')].map((g) => g.querySelectorAll('path').length)))")
    ):  # type: ignore
        parts = [
            page.evaluate(
                PICTURE.replace("NUMBER", str(number))
                .replace("FROM", str(start))
                .replace("MOST", str(CHUNK))
                .replace("STEP", str(1 if cells <= few else every))
            )
            for start in range(0, cells, CHUNK)
        ]
        found.append([[cell for part in grids for cell in part] for grids in zip(*parts, strict=True)])  # type: ignore
    page.evaluate("document.documentElement.style.display = ''")
    return found


def place_of(path: str, columns: int) -> int:
    column, row = map(int, path.removeprefix("M").partition("h")[0].split())
    return row * columns + column


def judged(drawing: Drawing, found: list) -> list[str]:
    """What is wrong of a picture's cells: the text is that of the grid, frames are on the cells with the same link."""
    wrong: list[str] = []
    grids = [box.grid for box in sheet_of(drawing.figure).boxes]
    links = [
        [{index % grid.threads for index in own} if grid.threads else {*own} for own in grid.links or grid.indices]
        or [set()] * len(grid.labels)
        for grid in grids
    ]
    for grid, own, cells in zip(grids, links, found, strict=True):
        for path, said, framed in cells:
            place = place_of(path, grid.columns.size)
            if grid.indices and grid.indices[place] and said != grid.text(place):
                wrong.append(f"{said!r} is said of the cell {grid.text(place)!r}")
            if not said and grid.text(place):
                wrong.append(f"nothing is said of {grid.text(place)!r}")
            if own[place]:
                link = next(iter(grid.links[place] if grid.links else grid.indices[place]))
                link = link % grid.threads if grid.threads else link
                count = sum(link in there for all_of_them in links for there in all_of_them)
                if framed.count("M") != count:
                    wrong.append(f"{framed.count('M')} cells are framed for {link}, {count} have it")
    return wrong


def false_sums(found: list) -> list[str]:
    """The sums among what is said of a picture's cells that do not add up."""
    return [said for cells in found for _path, said, _framed in cells if not _adds_up(said)]


def count_sums(found: list) -> int:
    """How many sums are said."""
    return sum(bool(SUM.search(said)) for cells in found for _path, said, _framed in cells)


def _adds_up(said: str) -> bool:
    added, swizzled = SUM.search(said), SWIZZLED.search(said)
    total = None
    if added:
        terms = [tuple(map(int, term.split("·"))) for term in added[1].split(" + ")]
        total = sum(one * other for one, other in terms)
        if total != int(added[2]):
            return False
        if added[3]:
            if int(added[4]) != total or int(added[3]) + total != int(added[5]):
                return False
            total = int(added[5])
    if swizzled:
        bits, base, shift = (int(swizzled[k]) for k in (1, 2, 3))
        before, flips, after = (int(swizzled[k], 2) for k in (4, 5, 6))
        mask = (1 << bits) - 1 << base + max(shift, 0)
        selected = before & mask if shift >= 0 else before & (1 << bits) - 1 << base
        moved = selected >> shift if shift >= 0 else selected << -shift
        return moved == flips and before ^ flips == after == int(swizzled[7]) and total in (None, before)
    return True


def reacts(page: Page | FirefoxPage, number: int) -> Iterator[str]:
    """What of a picture does not answer real input: the mouse, the keyboard and, on a phone, a finger."""
    where = f"document.querySelectorAll('[data-live]')[{number}]"
    said = f"{where}.querySelector('.cutepy-live output').textContent"
    at = page.evaluate(f"""(async () => {{
        const host = {where}, cells = [...host.querySelectorAll('[data-cells] path')].filter((p) => !p.dataset.mark);
        host.scrollLeft = 0;
        cells[0].scrollIntoView({{block: 'center', behavior: 'instant'}});
        for (const _frame of [1, 2]) await new Promise((done) => requestAnimationFrame(done));
        const box = cells[0].getBoundingClientRect();
        return [box.left + box.width / 2, box.top + box.height / 2];
    }})()""")
    page.point_at(1, 1)
    page.point_at(*at)  # type: ignore[misc]
    if not page.evaluate(f"{said} && {TIP}"):
        yield "the mouse"
    page.evaluate(f"{where}.querySelector('svg').focus({{preventScroll: true}})")
    page.point_at(1, 1)
    for kind in ("keyDown", "keyUp"):
        page._call("Input.dispatchKeyEvent", type=kind, key="Escape", code="Escape", windowsVirtualKeyCode=27)
    before = page.evaluate(said)
    for kind in ("keyDown", "keyUp"):
        page._call("Input.dispatchKeyEvent", type=kind, key="ArrowDown", code="ArrowDown", windowsVirtualKeyCode=40)
    if before or not page.evaluate(said):
        yield "the keyboard"
    for kind in ("keyDown", "keyUp"):
        page._call("Input.dispatchKeyEvent", type=kind, key="Escape", code="Escape", windowsVirtualKeyCode=27)
    finger = [{"x": at[0], "y": at[1]}]  # type: ignore[index]
    page._call("Input.dispatchTouchEvent", type="touchStart", touchPoints=finger)
    page._call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    for _look in range(40):  # a browser waits for a second tap before the first is a click
        if page.evaluate(f"{said} && {TIP}"):
            return
        time.sleep(0.02)
    yield "a finger"
