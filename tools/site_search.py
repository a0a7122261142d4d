"""Whether each thing of `docs/how-do-i.md` is found in one search of the site: `python tools/site_search.py SITE`.

For each question there is what somebody types who has not read the page. It is typed into the site's own search, in
Chromium; found is what stands among the first ten results. A line for each question; exit 1 where one is not found.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests" / "draw")]

if TYPE_CHECKING:
    from chromium import Page

FIRST = 10
WAIT = "new Promise((done) => setTimeout(done, 150))"
RESULTS = """(() => {
  for (const host of document.querySelectorAll("*")) {
    const list = host.shadowRoot?.querySelectorAll("[role=listbox] a");
    if (list?.length) return [...list].map((link) => link.href);
  }
  return [];
})()"""
SEARCHES = {
    "read a layout that CuTe printed": "read CuTe layout",
    "write row-major or column-major": "row major",
    "get the offset of a coordinate": "offset of coordinate",
    "get the coordinate from an offset": "coordinate from offset",
    "get all offsets as an array": "offsets array",
    "pad each row": "pad row",
    "transpose": "transpose layout",
    "take a row or a column": "take column",
    "reshape, keeping the order of elements": "reshape",
    "broadcast along a mode": "broadcast",
    "cut into tiles": "cut into tiles",
    "repeat a tile": "repeat tile",
    "know whether two layouts are the same function": "layouts same function",
    "see where two layouts differ": "layouts differ",
    "ask why a result is what it is": "why result",
    "get operands that work after a refusal": "operands that work",
    "compute with sizes that are not known yet": "sizes not known",
    "find bank conflicts": "find bank conflicts",
    "find the swizzle": "find swizzle",
    "find padding instead of a swizzle": "padding instead of swizzle",
    "apply a swizzle": "apply swizzle",
    "count memory transactions": "count transactions",
    "know whether a load is vectorised": "load vectorised",
    "find the widest copy": "widest copy",
    "know who owns an element": "who owns element",
    "go from one fragment to another": "fragment to another",
    "make a tensor of a NumPy array": "tensor NumPy array",
    "use a tensor of torch, CuPy or JAX": "torch tensor",
    "take the tile of a block": "tile of block",
    "share a tile out among threads": "share tile threads",
    "handle edges that tiles do not divide": "edges tiles",
    "multiply, reduce, softmax arrays": "softmax arrays",
    "write and run a kernel, without a GPU": "run kernel without GPU",
    "read its WGSL": "read WGSL",
    "know that it is in bounds and free of races": "in bounds free of races",
    "put a kernel into my own web page": "kernel web page",
    "get CUDA C++ of it": "CUDA C++",
    "save a picture": "save picture",
    "have two pictures side by side in a fence": "two pictures side by side",
    "choose my own colours and labels": "own colours",
}


def rank(page: Page, site: Path, question: str, text: str) -> int:
    """The place of a question among the results for a text, from 1; 0 where it is not there."""
    page.open(site / "start.html")
    page.evaluate(f"document.querySelector('.md-search__button').click(); {WAIT}")
    page.write(text)
    heading = re.sub(r"[^\w\- ]", "", f"How do I {question}".lower()).replace(" ", "-")
    links: list[str] = []
    for _try in range(12):
        page.evaluate(WAIT)
        before, links = links, cast("list[str]", page.evaluate(RESULTS))
        if links and links == before:
            break
    found = [place for place, link in enumerate(links, 1) if link.endswith(f"#{heading}")]
    return found[0] if found else 0


def main() -> int:
    """Ask for all of them."""
    from chromium import Page, find_chromium

    command = find_chromium()
    assert command is not None, "no Chromium"
    page, site, lost = Page(command), Path(sys.argv[1]), 0
    for question, text in SEARCHES.items():
        place = rank(page, site, question, text)
        lost += not 0 < place <= FIRST
        print(f"{place or '-'}: {text!r} for {question!r}", flush=True)
    page.close()
    print(f"{len(SEARCHES) - lost} of {len(SEARCHES)} found")
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
