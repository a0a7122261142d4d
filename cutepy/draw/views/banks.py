"""Banks of shared memory, and what a swizzle does to them.

The unit is stated: offsets count elements, `element_bytes` turns them into bytes, and a bank
serves `bank_bytes` bytes of every row of `banks * bank_bytes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from ...errors import DrawError, shown
from ...layout import ComposedLayout, Swizzle, select
from ...layout.algebra.banks import accesses, served, served_together
from ...layout.text.write import gives_offsets
from ...layout.values.composed import AnyLayout, plain_part
from .. import palette
from ..grid import ELLIPSIS, Axis, Figure, Grid
from ..look import Look, named
from .layouts import MOST_PANELS, layout_grid, title_of
from .table import LABELS, Panel, Value, as_layout, paint_from, panels

AT_ONCE = 32
"""How many neighbours along a mode are taken to be read together: a warp, or a subgroup."""
MOST_COUNTED = 1 << 16
"""The most elements of a picture whose conflicts are counted."""


@named("banks")
@dataclass(frozen=True, slots=True)
class Banks:
    """View "banks": the bank of every element, and how many of a row or a column fall on one bank.

    >>> from cutepy import draw
    >>> draw("(2,2):(1,32)", view=Banks(element_bytes=4)).figure.grids[0].labels
    ('0', '0', '1', '1')
    >>> Banks(element_bytes=2).bank(5)
    2
    """

    element_bytes: int = 4
    banks: int = 32
    bank_bytes: int = 4

    def __post_init__(self) -> None:
        for name in ("element_bytes", "banks", "bank_bytes"):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= 1024:
                raise DrawError(f"Banks({name}={shown(value)}): a whole number from 1 to 1024")

    def bank(self, offset: int) -> int:
        """The bank that an element starts in."""
        return offset * self.element_bytes // self.bank_bytes % self.banks

    def figure(self, thing: object, look: Look) -> Figure:
        """The grids of the layout, coloured by bank."""
        layout = as_layout(thing, "banks")
        if not gives_offsets(layout):
            raise DrawError(f"view 'banks' of {layout}: it gives coordinates, not offsets")
        some = list(islice(panels(layout), MOST_PANELS))
        grids = [self._grid(panel, look) for panel in some]
        unit = f"{self.element_bytes}-byte elements, {self.banks} banks of {self.bank_bytes} bytes"
        # Lanes of one phase: 32 lanes of up to 4 bytes, 16 of 8, 8 of 16.
        together = served_together(self.element_bytes, AT_ONCE, self.bank_bytes)
        named = look.style.legend and look.color in (None, "bank") and self.banks <= palette.COLORS
        return Figure(
            (tuple(grids),),
            title=title_of(layout, look),
            description=f"Banks of layout {layout}: {unit}.",
            legend=tuple((self._paint(bank, look), str(bank)) for bank in range(self.banks)) if named else (),
            subject="bank",
            notes=(f"{unit}; up to {together} at a time", *_verdicts(self, some[0].layout)),
        )

    def _paint(self, bank: int, look: Look) -> str:
        return look.hue(bank, self.banks, usual="ordered")

    def _grid(self, panel: Panel, look: Look) -> Grid:
        """One panel with the bank of each element as its colour, and as its label where asked for."""
        color, label = look.colored_by("bank", "none"), look.labelled_by("bank", *LABELS)
        plain = layout_grid(panel, Look("none", "none" if label == "bank" else label, look.style))
        table = panel.table(look.style.limit)
        banks = [self.bank(cell) if isinstance(cell, int) else None for cell in table.flat]

        def paint(row: int, column: int, cell: Value) -> str:
            assert isinstance(cell, int)
            if not isinstance(color, str):
                return paint_from(color(table.coordinate(row, column), self.bank(cell)))
            return self._paint(self.bank(cell), look) if color == "bank" else palette.PLAIN

        names = tuple(ELLIPSIS if bank is None else str(bank) for bank in banks)
        return replace(
            plain,
            labels=names if label == "bank" else plain.labels,
            paints=table.painted(paint),
            hints=tuple(
                hint if bank is None else f"{hint}, bank {bank}" for hint, bank in zip(plain.hints, banks, strict=True)
            ),
            least_width=1,
        )


def _verdicts(view: Banks, layout: AnyLayout) -> Iterator[str]:
    """The worst conflict of lanes that stand down the columns, and of lanes along the rows."""
    if layout.size > MOST_COUNTED:
        yield f"more than {MOST_COUNTED} elements: conflicts are not counted"
        return
    wide = view.element_bytes
    # Lanes are mode 0: down a column as the layout is, along a row with modes 0 and 1 exchanged.
    lines: dict[str, AnyLayout] = {"along a row": layout}
    if layout.rank > 1:
        transposed = select(plain_part(layout), 1, 0)
        along = layout.with_inner(transposed) if isinstance(layout, ComposedLayout) else transposed
        lines = {"down a column": layout, "along a row": along}
    for name, lanes in lines.items():
        asked = accesses("view 'banks'", lanes, wide, wide)
        worst = max(p.ways for each in asked for p in served(each, wide, AT_ONCE, view.banks, view.bank_bytes))
        yield f"{name}: no conflict" if worst == 1 else f"{name}: {worst}-way conflict"


@named("swizzle")
@dataclass(frozen=True, slots=True)
class Swizzled:
    """View "swizzle": the layout before and after its swizzle, cells of one chunk of a memory row in one colour.

    >>> from cutepy import draw
    >>> draw("S<1,0,2> o 0 o (4,2):(1,4)", view=Swizzled()).figure.grids[1].labels
    ('0', '5', '1', '4', '2', '7', '3', '6')
    """

    def figure(self, thing: object, look: Look) -> Figure:
        """Two grids side by side."""
        layout = as_layout(thing, "swizzle")
        if not isinstance(layout, ComposedLayout) or not isinstance(layout.outer, Swizzle):
            raise DrawError(f"view 'swizzle' of {layout}: it takes a layout with a swizzle, S<B,M,S> o offset o layout")
        if layout.rank > 2:
            raise DrawError(f"view 'swizzle' of {layout}: it draws ranks 1 and 2; slice or group modes")
        swizzle = layout.outer
        # The swizzle repeats every 2^(base + |shift|) elements, a memory row; a chunk is 2^base of them.
        period = 1 << swizzle.base + abs(swizzle.shift)
        color = look.colored_by("chunk", "row", "column", "offset", "none")

        def paint(chunk: int) -> str:
            return look.hue(chunk, period >> swizzle.base, usual="ordered")

        def chunk(crd: object, offset: object) -> str:
            assert isinstance(offset, int)
            return paint(offset % period >> swizzle.base)

        inner = Look(chunk if color == "chunk" else color, look.label, look.style)
        before, after = (layout_grid(next(panels(shown)), inner) for shown in (layout.inner, layout))
        named = color == "chunk" and look.style.legend and period >> swizzle.base <= palette.COLORS
        return Figure(
            ((replace(before, caption="before"), replace(after, caption="after")),),
            title=title_of(layout, look),
            description=f"Offsets before and after the swizzle of {layout}.",
            legend=tuple((paint(number), str(number)) for number in range(period >> swizzle.base)) if named else (),
            notes=(_bits(swizzle),),
            subject="chunk" if swizzle.base else "offset",
        )


@dataclass(frozen=True, slots=True)
class Bits:
    """A swizzle by itself: the bits of an offset, the highest first, and below each what it becomes: `b0^b2` is bit 0,
    flipped where bit 2 is 1.

    >>> from cutepy import draw
    >>> draw("S<1,0,2>", view=Bits()).figure.grids[0].labels
    ('b2', 'b1', 'b0', 'b2', 'b1', 'b0^b2')
    """

    def figure(self, thing: object, look: Look) -> Figure:
        """Two rows: the bits that go in, and those that come out."""
        if not isinstance(thing, Swizzle):
            raise DrawError(f"bits are drawn of a swizzle, S<B,M,S>, not of a {type(thing).__name__}")
        look.expect_none("color", "label")
        # Result bit target + i is offset bit target + i XOR offset bit source + i, for i < bits.
        source, target = _ends(thing)
        bits = list(reversed(range(max(1, thing.base + abs(thing.shift) + thing.bits))))
        result = [f"b{bit}^b{bit - target + source}" if 0 <= bit - target < thing.bits else f"b{bit}" for bit in bits]
        labels = (*(f"b{bit}" for bit in bits), *result)
        paints = (
            look.hue(bit - first, thing.bits, usual="ordered") if 0 <= bit - first < thing.bits else palette.PLAIN
            for first in (source, target)
            for bit in bits
        )
        rules = (0,) * (len(bits) - 1)
        columns = Axis(tuple(range(len(bits))), (tuple((str(bit), 1) for bit in bits),), rules)
        grid = Grid(Axis((0, 1), ((("offset", 1), ("result", 1)),), (0,)), columns, labels, tuple(paints), labels)
        sentence = _bits(thing)
        return Figure(((grid,),), title=title_of(thing, look), description=f"{sentence}.", notes=(sentence,))


def _ends(swizzle: Swizzle) -> tuple[int, int]:
    """The lowest bit that is read, and the lowest that is flipped."""
    low, high = swizzle.base, swizzle.base + abs(swizzle.shift)
    return (high, low) if swizzle.shift >= 0 else (low, high)


def _bits(swizzle: Swizzle) -> str:
    source, target = _ends(swizzle)
    if not swizzle.bits:
        return f"{swizzle} changes nothing"
    return f"{swizzle}: bits {_range(source, swizzle.bits)} of the offset flip bits {_range(target, swizzle.bits)}"


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start} to {start + count - 1}"
