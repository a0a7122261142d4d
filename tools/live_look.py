"""Whether every picture of built pages answers in a browser: `python tools/live_look.py [--firefox] SITE [PAGE ...]`.

For each page with pictures: every cell is pointed at and clicked, and the sum that is said is added up; each picture is
tried by mouse, keyboard and finger. Exit 1 where something is wrong. Pages of any builder will do: Zensical's, MkDocs',
Sphinx's, pandoc's. The explorer's own page is left out: it answers by itself, which `tests/explore` asks.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests" / "draw")]


def main(site: Path, names: list[str], *, firefox: bool) -> int:
    """Look at the pages; how many things are wrong."""
    from chromium import Page, find_chromium
    from firefox import FirefoxPage, find_firefox
    from live_judge import count_sums, false_sums, heard, reacts

    command = find_firefox() if firefox else find_chromium()
    if command is None:
        raise SystemExit("live_look: no browser: apt install chromium, or firefox-esr")
    pages = [site / name for name in names] or sorted(site.rglob("*.html"))
    pictures = cells = sums = wrong = 0
    page = FirefoxPage(command) if firefox else Page(command)
    page.resize(1280, 900)
    for path in pages:
        text = path.read_text(encoding="utf-8")
        count = text.count('<svg xmlns="http://www.w3.org/2000/svg" class="cu')
        if count == 0 or path.name == "explore.html":
            continue
        page.open(path)
        found = heard(page)
        told = [f"{len(found)} of {count} pictures answer"] if len(found) != count else []
        told += [f"a wrong sum: {said}" for one in found for said in false_sums(one)]
        told += [f"picture {k + 1} does not answer {how}" for k in range(len(found)) for how in reacts(page, k)]
        pictures, wrong = pictures + count, wrong + len(told)
        cells += sum(len(grid) for one in found for grid in one)
        sums += sum(map(count_sums, found))
        print(*(f"{path}: {line}" for line in told), sep="\n", end="\n" if told else "", flush=True)
    page.close()
    print(f"{pictures} pictures, {cells} cells, {sums} sums, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    given = [one for one in sys.argv[1:] if one != "--firefox"]
    sys.exit(bool(main(Path(given[0]), given[1:], firefox="--firefox" in sys.argv)))
