"""What the page asks and how cutepy answers: JSON in, JSON out, through the functions that everybody calls.

Law: a picture, a text or an error of the page is what `drawing_of`, `explain`, a writer or `expression_of` gives. A
question holds all that its answer depends on, so answers can be given in any order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from inspect import signature
from math import gcd
from typing import TypeAlias

from ..draw import Drawing, Style, drawing_of, palette
from ..draw.sheet import Box, Sheet, Texts, sheet_of
from ..draw.views.steps import refused
from ..errors import CutepyError, DrawError
from ..layout import Swizzle, explain, is_bijective, is_contiguous, is_injective
from ..layout.text.meaning import FINDINGS, Finding, functions
from ..layout.text.parse import expression_of, several_lines
from ..layout.text.write import NOTATIONS
from ..layout.values.composed import AnyLayout
from .accesses import ThreadAccess, better, cell_rows, indices_of, memory_rows, summed, thread_of, thread_rows, verdicts
from .puzzles import PUZZLES, judged

Answer: TypeAlias = dict[str, object]

IN_SVG = 512
"""Pictures of more cells come as cells, for the page to draw those that are seen."""
IN_STEPS = 1024
MOST_CELLS = 1 << 18
JUDGED = 1 << 16
"""Layouts of more coordinates are not asked whether they are injective."""

OFFERS = {
    "grid": (("offset", "row", "column", "index", "tile", "bank", "none"), ("offset", "coordinate", "index", "none")),
    "steps": ((), ()),
    "tv": (("thread", "value", "thread,value", "rest", "none"), ("thread,value", "thread", "value", "index", "none")),
    "tiles": (("tile", "place", "none"), ("offset", "coordinate", "index", "none")),
    "memory": (("index", "offset", "none"), ("coordinate", "index", "offset", "none")),
    "banks": (("bank", "none"), ("bank", "offset", "coordinate", "index", "none")),
    "swizzle": (("chunk", "row", "column", "offset", "none"), ("offset", "coordinate", "index", "none")),
    "tree": ((), ()),
    "compare": (("offset", "row", "column", "index", "none"), ("offset", "coordinate", "index", "none")),
}
"""The colours and labels of every view that the page shows, the usual one first."""


def answer(question: str) -> str:
    """The answer to `{"ask": name, ...}`; where cutepy refuses, `error` is its message and `column` where it points.

    >>> answer('{"ask": "result", "text": "coalesce((2,4):(1,2))"}')
    '{"value": "8:1"}'
    >>> answer('{"ask": "result", "text": "(4,"}')[:30]
    '{"error": "expected a number o'
    """
    asked = json.loads(question)
    result: Answer
    try:
        result = QUESTIONS[asked.pop("ask")](**asked)
    except CutepyError as error:
        result = {"error": str(error)} | ({} if error.column is None else {"column": error.column})
        # A fix is offered only where it parses to a value itself.
        if error.fixes:
            result["fixes"] = [fix for fix in error.fixes if _is_read(fix)]
        if error.refused:
            result |= _refusal(error)
    except ImportError as error:
        result = {"error": f"{asked.get('text', '')}: this needs {error.name}, and that is not in this page"}
    return json.dumps(result, ensure_ascii=False)


def _is_read(text: str) -> bool:
    """True where an expression has a value."""
    try:
        expression_of(text)
    except CutepyError:
        return False
    return True


def _refusal(error: CutepyError) -> Answer:
    """The picture of a call that is refused: its counter-example, or its operands; nothing where none can be drawn."""
    try:
        return {"refusal": Drawing(refused(error), Style()).svg()}
    except CutepyError:
        return {}


def result(text: str) -> Answer:
    return {"value": str(expression_of(text).value)}


def names() -> Answer:
    """What an expression may call, each with its parameters and the first sentence about it."""
    found: Answer = {}
    for name, function in (functions() | FINDINGS).items():
        text = function.description if isinstance(function, Finding) else function.__doc__
        call = f"{name}({', '.join(signature(function).parameters)})"
        found[name] = [call, (text or "").strip().partition("\n")[0]]
    return found


def look(text: str, view: str = "", options: Mapping[str, str] | None = None) -> Answer:
    """An expression's value, what is true of it, the views that fit it, and the picture in one of them.

    A `view` that does not fit gives way, with its options, to one that does. Where a picture is refused for its
    options, `refused` says why and the rest is answered.
    """
    expression = expression_of(text)
    value = expression.value
    result: Answer = {"value": str(value), "text": expression.text, "lines": _lines(text)}
    value = value if isinstance(value, AnyLayout) else getattr(value, "layout", None)  # what was found
    if not isinstance(value, AnyLayout) or type(value.size) is not int:
        return result | {"views": [], "facts": []}
    views = list(_views("" if expression.function in FINDINGS else expression.function, value))
    views += ["compare"] if len(_compared(text)) > 1 else []
    several = "compare" in views and sum(not name for name, *_line in _lines(text)) > 1
    chosen = view if view in views else "compare" if several else views[0]
    options = {} if view and chosen != view else options  # options are those of the view that is asked for
    result |= {"views": views, "view": chosen, "facts": list(_facts(value)), "rank": value.rank}
    threads = value[0].size if value.rank else 1
    result |= {"offers": OFFERS[chosen], "threads": threads, "values": value.size // threads}
    result |= {"modes": [mode.size for mode in value] or [1], "called": expression.function}
    asked = _options(chosen, options or {}, value)
    try:
        return result | {"options": dict(asked)} | _picture(*_drawn(text, asked))
    except CutepyError as error:
        return result | {"refused": str(error), "options": dict(asked)}


def _lines(text: str) -> list[list[str]]:
    """The lines of a text of several, each as its name, what it is, and its value."""
    return [[line.name, line.text, str(line.value)] for line in several_lines(text)]


def _compared(text: str) -> list[AnyLayout]:
    """The layouts of a text's lines."""
    values = [line.value for line in several_lines(text)]
    return [value for value in values if isinstance(value, AnyLayout) and type(value.size) is int]


def _views(function: str, value: AnyLayout) -> Iterator[str]:
    """The views that fit, the most telling first."""
    offsets = _gives_offsets(value)
    if function and value.size <= IN_STEPS:
        yield "steps"
    yield "grid"
    # Layouts that give coordinates have no threads over offsets, no memory and no banks.
    if offsets and value.rank > 1:
        yield "tv"
    yield "tiles"
    if offsets:
        yield from ("memory", "banks")
    if isinstance(getattr(value, "outer", None), Swizzle) and value.rank <= 2:
        yield "swizzle"
    yield "tree"


def _gives_offsets(value: AnyLayout) -> bool:
    """True where the layout gives integers: one that gives coordinates has no memory, no banks and no threads."""
    return type(value(0)) is int


def _facts(value: AnyLayout) -> Iterator[str]:
    """What the page lists as true of a layout; properties up to JUDGED coordinates."""
    yield f"size {value.size}"
    if _gives_offsets(value):
        yield f"cosize {value.cosize}"
    yield f"rank {value.rank}"
    if value.size <= JUDGED and _gives_offsets(value):
        # The exact properties are decided up to JUDGED coordinates, so that the page stays quick.
        one_to_one = is_injective(value)
        yield (
            "bijective" if is_bijective(value) else "injective" if one_to_one else "several coordinates share an offset"
        )
        if is_contiguous(value):
            yield "contiguous"


def _options(view: str, options: Mapping[str, str], value: AnyLayout) -> tuple[tuple[str, str], ...]:
    """The options of a fence that ask for the view: those that are given, and a tiler where one is needed."""
    given = {name: text for name, text in options.items() if text.strip()}
    if view == "tiles":
        # Default tile: 4 in every mode, or the largest divisor of 4 that divides the mode.
        given.setdefault("tiler", f"({','.join(str(gcd(mode.size, 4)) for mode in value)})")
    return ("view", view), *given.items()


@lru_cache(maxsize=4)
def _drawn(text: str, options: tuple[tuple[str, str], ...]) -> tuple[Drawing, Sheet]:
    """The picture that the page shows. Every question about one of its cells is answered from these boxes."""
    drawing = drawing_of(text, {"limit": str(MOST_CELLS), **dict(options)})
    return drawing, sheet_of(drawing.figure)


def _picture(drawing: Drawing, sheet: Sheet) -> Answer:
    """The SVG of a small figure, or the placed cells of a large one; and where the cells of each box are."""
    picture: Answer = {
        "width": sheet.width,
        "height": sheet.height,
        "description": drawing.figure.description,
        "grids": [_placed(box) for box in sheet.boxes],
    }
    if drawing.figure.cells <= IN_SVG:
        return picture | {"svg": drawing.svg()}
    # Large figures: cells refer to paints by number, and the page draws them itself.
    paints = drawing.figure.paints
    number = {paint: paint_index for paint_index, paint in enumerate(paints)}
    return picture | {
        "paints": [[palette.css(paint, "light"), palette.css(paint, "dark")] for paint in paints],
        "cells": [_cells(box, number) for box in sheet.boxes],
        "texts": [_line(texts) for texts in sheet.texts],
        "samples": [[s.x, s.y, s.width, s.height, number[s.paint]] for s in sheet.samples],
    }


def _placed(box: Box) -> Answer:
    """Where a box is and how many cells it has, for hit tests in the page."""
    grid = box.grid
    return {
        "x": box.x,
        "y": box.y,
        "wide": box.cell_width,
        "high": box.cell_height,
        "rows": grid.rows.size,
        "columns": grid.columns.size,
        "spans": {str(cell): span for cell, span in grid.spans.items()},
    }


def _cells(box: Box, number: Mapping[str, int]) -> Answer:
    """All that stands in and around a grid, in cells."""
    return {
        "labels": box.grid.labels,
        "paints": [number[paint] for paint in box.grid.paints],
        "strokes": [[stroke.kind, stroke.weight, *stroke.segment] for stroke in box.strokes],
        "texts": [_line(texts) for texts in box.texts if texts.kind != "label"],
    }


def _line(texts: Texts) -> list[object]:
    return [texts.kind, texts.x, texts.y, list(zip(texts.places, texts.texts, strict=True))]


def cell(text: str, view: str, options: Mapping[str, str], grid: int, place: int, access: Mapping[str, int]) -> Answer:
    """What one cell of the picture says: the sum, and where that is in memory."""
    drawn = _boxes(text, view, options)[grid].grid
    value, shown = drawn.source, [_layout(text), *_compared(text)]
    result: Answer = {"say": drawn.text(place)}
    # Only cells of layouts of the text have rows; other grids (operands of a call) have their text alone.
    if isinstance(value, AnyLayout) and value in shown and drawn.indices and drawn.indices[place]:
        asked, (index, *_others) = _access(view, access), drawn.indices[place]
        result["rows"] = cell_rows(value, index, asked)
        if _gives_offsets(value):
            result["thread"] = thread_of(value, index, asked)[0]
    return result


def thread(
    text: str, view: str, options: Mapping[str, str], thread: int, value: int | None, access: Mapping[str, int]
) -> Answer:
    """All that one thread touches: a row for each value, whether wide accesses do it, and its cells in the picture."""
    layout, asked = _layout(text), _access(view, access)
    held = indices_of(layout, thread, value, asked)
    grids = [box.grid for box in _boxes(text, view, options)]
    return {
        "rows": thread_rows(layout, thread, asked),
        "places": [grid.places(held) if grid.source == layout else [] for grid in grids],
        "verdicts": summed(verdicts(layout, thread, asked)),
    }


def _access(view: str, access: Mapping[str, int]) -> ThreadAccess:
    """The access that is asked for; in a picture of threads the first mode counts them."""
    return ThreadAccess(**{**access, "lanes": 0}) if view == "tv" else ThreadAccess(**access)


def _boxes(text: str, view: str, options: Mapping[str, str]) -> tuple[Box, ...]:
    return _drawn(text, _options(view, options, _layout(text)))[1].boxes


@lru_cache(maxsize=4)
def _layout(text: str) -> AnyLayout:
    value = expression_of(text).value
    value = value if isinstance(value, AnyLayout) else getattr(value, "layout", value)
    if not isinstance(value, AnyLayout):
        raise DrawError(f"{text}: it gives {value}, not a layout")
    return value


def memory(text: str, access: Mapping[str, int]) -> Answer:
    return {"rows": memory_rows(_layout(text), ThreadAccess(**access))}


def found(text: str, access: Mapping[str, int]) -> Answer:
    """The swizzle and the padding that serve the accesses best, each as an expression to go on with."""
    return {"found": better(_layout(text), ThreadAccess(**access))}


def told(text: str) -> Answer:
    """The steps of `explain`, each with the layout that it gives."""
    explanation = explain(text)
    return {
        "call": explanation.call,
        "steps": [[str(step), str(step.layout or "")] for step in explanation.steps],
        "result": str(explanation.result) if explanation.error is None else "",
        "refused": str(explanation.error or ""),
    }


def puzzle(number: int, text: str) -> Answer:
    """A puzzle's task, and whether the text solves it; where it does not, its counter-example."""
    if not 1 <= number <= len(PUZZLES):
        raise DrawError(f"there is no puzzle {number}; they are numbered from 1 to {len(PUZZLES)}")
    task, hint = PUZZLES[number - 1], judged(number, text)
    after = PUZZLES[number].start if number < len(PUZZLES) else ""
    told = {"title": task.title, "task": task.task, "count": len(PUZZLES), "next": after}
    return {**told, "solved": not hint, "hint": hint}


def export(text: str, view: str, options: Mapping[str, str], format: str) -> Answer:
    """The expression or its picture in another notation."""
    if format in NOTATIONS:
        return {"text": NOTATIONS[format](_layout(text))}
    asked = dict(_options(view, options, _layout(text)))
    if format == "fence":
        lines = [text.strip(), *(f"{name}: {value}" for name, value in asked.items())]
        return {"text": "```layout\n" + "\n".join(lines) + "\n```"}
    printers = {"svg": Drawing.svg, "tikz": Drawing.tikz, "text": Drawing.text}
    return {"text": printers[format](drawing_of(text, asked))}


QUESTIONS: dict[str, Callable[..., Answer]] = {
    question.__name__: question for question in (result, names, look, cell, thread, memory, found, told, puzzle, export)
}
"""Everything that the page may ask."""
