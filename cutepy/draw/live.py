"""What a picture in a page needs to answer without Python: its layouts and the indices of its cells, and one script.

Law: what the script says of a cell is `Grid.text` of it; tests click every cell in a browser. Without scripts the
picture is the SVG as it is.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from ..layout import ComposedLayout, Layout, Swizzle
from ..layout.values.composed import AnyLayout
from ..layout.values.int_tuple import leaves, show
from .grid import Cells, Figure, Grid
from .sheet import sheet_of

LIVE_CELLS = 4096
"""Pictures of more cells do not answer: their data would be as large as they are."""
LARGEST = 1 << 31
"""Offsets from here on do not fit the 32 bits that a swizzle has in JavaScript."""


def live_data(figure: Figure) -> str:
    """The data of a picture as JSON, a record for each grid in the order in which the SVG has them; "" for none.

    >>> from .drawing import draw
    >>> live_data(draw("(2,3):(3,1)").figure)
    '[{"columns":3,"shape":[2,3],"stride":[3,1],"indices":{"start":0,"down":1,"right":2}}]'
    """
    boxes = sheet_of(figure).boxes
    if figure.cells > LIVE_CELLS or not any(box.grid.indices or box.grid.hints for box in boxes):
        return ""
    return json.dumps([_record(box.grid) for box in boxes], separators=(",", ":"))


def _record(grid: Grid) -> dict[str, object]:
    """One grid as JSON values: columns, sums or texts, indices and links; keys without content are left out."""
    record: dict[str, object] = {"columns": grid.columns.size}
    if grid.detail is not None:
        # The script recomputes sums from shape and stride; where it cannot, or more is said, every text is listed.
        hints = grid.hints or ("",) * len(grid.labels)
        first = next((cell for cell, own in enumerate(grid.indices) if own), 0)
        if _ends_in_its_value(grid, first):
            record |= _summed(grid.source)
        if "shape" not in record:
            record["texts"] = [grid.text(cell) for cell in range(len(grid.labels))]
        elif hints[first] and grid.text(first).startswith(hints[first]):
            record["hint"] = 1  # the sum follows the hint of an offset or an element; of a coordinate it has its place
        gaps = [grid.text(cell) for cell, hint in enumerate(hints) if not hint]
        record |= {"gap": gaps[0]} if gaps else {}
    if grid.caption.startswith("result"):
        record["result"] = 1
    if grid.threads:
        record["threads"] = grid.threads
    if grid.indices:
        record["indices"] = _packed(grid.indices, grid.columns.size)
    if grid.links:
        record["links"] = _packed(grid.links, grid.columns.size)
    return record


def _ends_in_its_value(grid: Grid, cell: int) -> bool:
    """True if what a cell says ends in the value of the layout there; of a tensor its offset and element follow."""
    if grid.source is None or not grid.indices or not grid.indices[cell]:
        return False
    value = show(grid.source(grid.indices[cell][0]))
    return grid.text(cell).endswith((f"= {value}", f"→ {value}"))


def _summed(layout: AnyLayout | None) -> dict[str, object]:
    """Shape, stride and swizzle, from which the script computes sums; nothing for layouts that it does not compute."""
    swizzle: dict[str, object] = {}
    if isinstance(layout, ComposedLayout) and isinstance(layout.outer, Swizzle) and type(layout.offset) is int:
        outer = layout.outer
        # A swizzle of an offset; the script applies it to offset + inner(crd).
        swizzle = {"swizzle": [outer.bits, outer.base, outer.shift], "offset": layout.offset}
        layout = layout.inner
    if not isinstance(layout, Layout) or any(type(leaf) is not int for leaf in leaves((layout.shape, layout.stride))):
        return {}
    steps = zip(leaves(layout.shape), leaves(layout.stride), strict=True)
    # JavaScript's bit operations take 32 bits: larger offsets would differ from Python's.
    if sum(abs(step) * extent for extent, step in steps) >= LARGEST:
        return {}
    return {"shape": layout.shape, "stride": layout.stride, **swizzle}


def _packed(cells: Cells, columns: int) -> object:
    """Three numbers where an index is a sum over row and column, else the indices of each cell, -1 for none."""
    # Affine case: the index is start + down * row + right * column at every cell.
    if all(len(own) == 1 for own in cells):
        start = cells[0][0]
        down = cells[columns][0] - start if len(cells) > columns else 0
        right = cells[1][0] - start if columns > 1 else 0
        if all(own[0] == start + down * (k // columns) + right * (k % columns) for k, own in enumerate(cells)):
            return {"start": start, "down": down, "right": right}
    return [own[0] if len(own) == 1 else list(own) if own else -1 for own in cells]


@cache
def script() -> str:
    """The script of a page, which serves all its pictures and does no harm twice."""
    return (files("cutepy") / "draw" / "live.js").read_text(encoding="utf-8")
