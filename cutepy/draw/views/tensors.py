"""Tensors and atoms: data at its coordinates, and the operands of an instruction placed as in a product of matrices.

Knows tensors and atoms by what they have, so that drawing a layout loads no NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import isfinite, nan
from typing import Protocol, SupportsFloat, TypeGuard, runtime_checkable

from ...errors import CutepyError, DrawError
from ...layout import Layout, select
from ...layout.values.composed import AnyLayout
from ...layout.values.int_tuple import show
from .. import palette
from ..grid import ELLIPSIS, Figure, Grid, clean
from ..look import Look, named
from .layouts import MOST_PANELS, layout_grid, title_of
from .owners import ThreadValue
from .table import COLORS, LABELS, Panel, as_layout, panels


@runtime_checkable
class TensorLike(Protocol):
    """What this module asks of a tensor."""

    @property
    def engine(self) -> object: ...
    @property
    def layout(self) -> AnyLayout: ...
    @property
    def offset(self) -> object: ...

    def __getitem__(self, crd: object) -> object: ...


@named("data")
@dataclass(frozen=True, slots=True)
class Data:
    """View "data": the elements of a tensor at its coordinates; elements outside of a guard are holes.

    >>> import numpy as np
    >>> from cutepy import draw, make_tensor
    >>> draw(make_tensor(np.arange(4).reshape(2, 2)), view=Data()).figure.grids[0].labels
    ('0', '1', '2', '3')
    """

    def figure(self, thing: object, look: Look) -> Figure:
        """The grids of the tensor: one for the first two modes, one for each coordinate of the others."""
        if not isinstance(thing, TensorLike):
            raise DrawError(f"view 'data' draws tensors, not {type(thing).__name__}; make one with make_tensor")
        layout = as_layout(thing, "data")
        start = thing.offset if type(thing.offset) is int else 0
        grids = [_data_grid(thing, replace(panel, start=start), look) for panel in islice(panels(layout), MOST_PANELS)]
        return Figure((tuple(grids),), title=title_of(repr(thing), look), description=f"The elements of {thing!r}.")


def _data_grid(tensor: TensorLike, panel: Panel, look: Look) -> Grid:
    """One panel with the elements of a tensor as labels or colours; elements outside the guard are holes."""
    label, color = look.labelled_by("data", *LABELS), look.colored_by(*COLORS, "value")
    # Start from the layout's grid, then replace what shows data.
    plain = layout_grid(
        panel, Look("none" if color == "value" else color, "none" if label == "data" else label, look.style)
    )
    table = panel.table(look.style.limit)
    labels, paints, hints = list(plain.labels), list(plain.paints), list(plain.hints)
    elements: dict[int, object] = {}
    found: dict[int, str] = {}  # what is said of each element
    for cell, at in enumerate(table.cells):
        if at is None:
            labels[cell] = ELLIPSIS
            continue
        element = _element(tensor, table.coordinate(*at[:2]))
        if element is None:
            labels[cell], paints[cell], found[cell] = "", palette.HOLE, ": outside of the guard"
        else:
            elements[cell], found[cell] = element, f": {_number(element)}"
        hints[cell] += found[cell]
    if label == "data":
        for cell, text in zip(elements, _aligned(list(elements.values())), strict=True):
            labels[cell] = text
    if color == "value":
        for cell, paint in zip(elements, _heat(list(elements.values())), strict=True):
            paints[cell] = paint
    return replace(
        plain,
        labels=tuple(labels),
        paints=tuple(paints),
        hints=tuple(hints),
        detail=lambda cell: table.detail(cell) + found.get(cell, ""),
        least_width=1,
    )


def _element(tensor: TensorLike, crd: tuple[object, ...]) -> object:
    """The element; None outside of a guard."""
    try:
        return tensor[crd if isinstance(tensor.layout.shape, tuple) else crd[0]]
    except IndexError:
        return None
    except CutepyError as error:
        raise DrawError(f"view 'data': the element at {show(crd)} cannot be read: {error}") from error


def _is_float(value: object) -> TypeGuard[SupportsFloat]:
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return isinstance(value, SupportsFloat) and (kind == "f" or isinstance(value, float))


def _number(value: object) -> str:
    if isinstance(value, tuple):
        return show(value)
    if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
        return str(bool(value))
    return clean(f"{float(value):.4g}" if _is_float(value) else str(value))


def _aligned(values: Sequence[object]) -> list[str]:
    """The values as texts; of floats the points stand under one another, up to four decimals."""
    texts = [_number(value) for value in values]
    if not all(map(_is_float, values)) or any("e" in text or "n" in text for text in texts):
        return texts
    decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
    return [f"{float(text):.{min(decimals, 4)}f}" for text in texts]


def _heat(values: Sequence[object]) -> list[str]:
    """The values on the ramp from the least to the greatest; what is no finite number is plain."""
    numbers = [float(value) if isinstance(value, SupportsFloat) else nan for value in values]
    finite = [number for number in numbers if isfinite(number)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    steps = palette.RAMP - 1
    return [
        palette.ramp(round((number - low) / ((high - low) or 1) * steps), 0, steps)
        if isfinite(number)
        else palette.PLAIN
        for number in numbers
    ]


@runtime_checkable
class MultiplyLike(Protocol):
    """What this module asks of a multiply-add atom or a tiling of one: (M, N, K) and three thread-value layouts."""

    def operands(self) -> Iterable[tuple[str, Layout, tuple[int, ...]]]: ...


@named("mma")
@dataclass(frozen=True, slots=True)
class Operands:
    """View "mma": A to the left, B above with its columns over those of C, C between them; each over its tile.

    >>> from cutepy import draw
    >>> from cutepy.tensor import FMA
    >>> len(draw(FMA, view=Operands()).figure.grids)
    3
    """

    def figure(self, thing: object, look: Look) -> Figure:
        """Three thread-value grids."""
        operands = {name: (tv, tile) for name, tv, tile in operands_of(thing)}
        if set(operands) != {"a", "b", "c"}:
            raise DrawError(f"view 'mma' draws multiply-add atoms, not {type(thing).__name__}")
        drawn = {name: _operand(name, tv, tile, look) for name, (tv, tile) in operands.items()}
        a, b, c = (drawn[name].grids[0] for name in "abc")
        return Figure(
            ((None, b), (a, c)),
            title=title_of(thing, look),
            description=f"Which thread holds which elements of A, B and C in {thing}.",
            legend=drawn["c"].legend,
            subject=drawn["c"].subject,
        )


def operands_of(thing: object) -> Iterable[tuple[str, Layout, tuple[int, ...]]]:
    """Name, thread-value layout and tile of every operand of an atom or of a tiled multiply-add."""
    if isinstance(thing, MultiplyLike):
        return thing.operands()
    layout_tv, tile = getattr(thing, "layout_tv", None), getattr(thing, "tile", None)
    if callable(layout_tv) and isinstance(tile, tuple) and len(tile) == 3:
        m, n, k = tile
        return [(name, layout_tv(name), of) for name, of in (("a", (m, k)), ("b", (n, k)), ("c", (m, n)))]
    return []


def _operand(name: str, tv: Layout, tile: tuple[int, ...], look: Look) -> Figure:
    """The thread-value picture of operand "a", "b" or "c" over its tile; B is drawn as (K, N)."""
    over = Layout(tile)
    caption = {"a": "A (M,K)", "b": "B (K,N)", "c": "C (M,N)"}[name]
    if len(tile) == 3:  # several blocks side by side
        # (M, K, blocks): blocks are columns to the right of one another.
        over = Layout((tile[0], (tile[1], tile[2])), (1, (tile[0], tile[0] * tile[1])))
    if name == "b":  # stored as (N, K); drawn with N to the right, as a product of matrices is written
        over = select(over, 1, 0)
    return _over(over, tv, f"{caption}\n{tv}", look)


@named("copy")
@dataclass(frozen=True, slots=True)
class Copies:
    """View "copy": what a copy atom reads and what it writes, or the tile of a tiled copy.

    >>> from cutepy import draw
    >>> from cutepy.tensor import universal_copy
    >>> [grid.caption for grid in draw(universal_copy(4), view=Copies()).figure.grids]
    ['reads\\n(1,4):(0,1)', 'writes\\n(1,4):(0,1)']
    """

    def figure(self, thing: object, look: Look) -> Figure:
        """Two thread-value grids for an atom, one for a tiled copy."""
        read, write, tile = (getattr(thing, name, None) for name in ("read", "write", "tile"))
        if isinstance(read, Layout) and isinstance(write, Layout) and isinstance(tile, tuple):
            drawn = [_over(tile, tv, f"{name}\n{tv}", look) for name, tv in (("reads", read), ("writes", write))]
            title, about = title_of(thing, look), f"Threads and values of {thing}."
            named = max(drawn, key=lambda figure: len(figure.legend))
            return replace(named, panels=(tuple(d.grids[0] for d in drawn),), title=title, description=about)
        tv = getattr(thing, "layout_tv", None)
        if isinstance(tv, Layout) and isinstance(tile, tuple):
            atom = getattr(thing, "atom", "")
            title = title_of(f"{atom or tv} over {show(tile)}", look)
            return replace(
                _over(tile, tv, str(tv) if atom else "", look), title=title, description=f"Threads and values of {tv}."
            )
        raise DrawError(f"view 'copy' draws copy atoms and tiled copies, not {type(thing).__name__}")


def _over(tile: Layout | tuple[int, ...], tv: Layout, caption: str, look: Look) -> Figure:
    """The grid of a thread-value layout over a tile, under its own caption."""
    over = tile if isinstance(tile, Layout) or len(tile) <= 2 else (tile[0], tile[1:])
    figure = ThreadValue(over).figure(tv, look)
    (grid,) = figure.grids
    return replace(figure, panels=((replace(grid, caption=caption),),))
