"""`cutepy print`, `ask`, `explain`, `draw` and `explore`: layouts as text and as pictures, and what is true of them.

Law: what is read is parsed, never evaluated by Python; NumPy is not loaded.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import get_terminal_size

from ..draw import draw, drawing_of, read_body
from ..draw.look import OPTIONS, SUFFIXES
from ..errors import CommandError, CutepyError
from ..layout import Swizzle, bank_conflicts, explain, parse_tiler, touched_by, transactions, vectorised, who_owns
from ..layout.algebra.operation import OPERATIONS
from ..layout.text.meaning import QUESTIONS
from ..layout.text.parse import parse_expression
from ..layout.text.write import NOTATIONS, spelt
from ..layout.values.composed import AnyLayout
from ..layout.values.int_tuple import IntTuple, show
from .output import STDOUT, check_target, read_input, write_answer, write_bytes, write_text

_ASKED = "size cosize rank depth is_injective is_bijective is_contiguous"
_QUESTIONS: dict[str, Callable[[AnyLayout], object]] = {
    **{name.removeprefix("is_"): QUESTIONS[name] for name in _ASKED.split()},
    "coalesced": lambda layout: str(OPERATIONS["coalesce"].call(layout)),
}


def run_print(options: Namespace) -> None:
    """Write the table of a layout's offsets, or the layout in another notation."""
    check_target(options.output)
    value = parse_expression(read_input(options.layout)).value
    if not isinstance(value, AnyLayout):
        write_answer(options, spelt(value), value)
    elif options.json:
        notations = {name: write(value) for name, write in NOTATIONS.items()}
        inner = value.inner if hasattr(value, "inner") else value
        write_answer(options, "", {**notations, "shape": inner.shape, "stride": inner.stride})
    elif options.to != "grid":
        write_answer(options, NOTATIONS[options.to](value), None)
    elif value.rank <= 2 and room(options) is None:
        write_answer(options, value.grid(), None)
    else:  # one table a slice, and bands where the terminal is narrow
        write_answer(options, draw(value, view="grid").text(width=room(options)), None)


def room(options: Namespace) -> int | None:
    """The characters that a terminal has for a line; None where the output is none."""
    if options.output != STDOUT or not sys.stdout.isatty():
        return None
    return get_terminal_size().columns


def run_ask(options: Namespace) -> None:
    """Write what is true of a layout: sizes, properties, offsets, and how memory serves its accesses."""
    value = parse_expression(read_input(options.layout)).value
    if not isinstance(value, AnyLayout):
        example = f"{value} o 0 o (8,64):(64,1)" if isinstance(value, Swizzle) else "(4,8):(8,1)"
        raise CommandError(f"{options.layout} is {spelt(value)}; ask takes a layout, such as {example}")
    answers: dict[str, object] = {"layout": str(value)}
    for name, question in _QUESTIONS.items():
        try:
            answers[name] = question(value)
        except CutepyError:  # not decided: sizes that are not known, or too many coordinates
            answers[name] = None
    for text in options.at:
        answers[f"at {text}"] = _offset(value, text)
    # Memory is asked about only where one of its three options is given; 4 bytes and 32 lanes are the defaults.
    if (options.element_bytes, options.access_bytes, options.lanes) != (None, None, None):
        access = _given(options.element_bytes, 4), options.access_bytes, _given(options.lanes, 32)
        conflicts, touched = bank_conflicts(value, *access), transactions(value, *access)
        answers |= {"bank conflicts": str(conflicts), "ways": conflicts.ways}
        answers |= {"transactions": str(touched), "segments": touched.count}
    answers |= _of_threads(value, options)
    # JSON keeps the truth values; text says them as words.
    words = {True: "yes", False: "no", None: "not decided"}
    said = {k: words[answer] if answer is None or isinstance(answer, bool) else answer for k, answer in answers.items()}
    if answers["bijective"] and answers["contiguous"] is False:
        said["contiguous"] = "no: it has each offset once, in another order"
    wide = max(map(len, said))
    lines = [f"{name:<{wide}}  {answer}" for name, answer in said.items() if name not in ("ways", "segments")]
    write_answer(options, "\n".join(lines), answers)


def _of_threads(layout: AnyLayout, options: Namespace) -> dict[str, str]:
    """What is asked of a layout from (thread, value): the owner of an element, the elements of a thread, its widest
    access."""
    answers: dict[str, str] = {}
    if (options.owner or options.thread) and options.tile is None:
        raise CommandError("--owner and --thread ask about the elements of a tile; say its shape, --tile '(16,16)'")
    tile = 1 if options.tile is None else _coordinate("tile", options.tile)
    for text in options.owner:
        answers[f"owner of {text}"] = str(who_owns(layout, _coordinate("owner", text), tile)).partition(": ")[2]
    for thread in options.thread:
        answers[f"thread {thread}"] = str(touched_by(layout, thread, tile)).partition(": ")[2]
    if options.memory:
        with _naming("memory", options.memory):
            memory = parse_expression(options.memory).value
        if not isinstance(memory, AnyLayout):
            raise CommandError(f"--memory {options.memory} is {spelt(memory)}; it is a layout of the tile")
        said = vectorised(layout, memory, element_bytes=_given(options.element_bytes, 4))
        answers["vectorised"] = "; ".join([line.strip() for line in str(said).splitlines()])
    return answers


def _given(number: int | None, usual: int) -> int:
    return usual if number is None else number


@contextmanager
def _naming(option: str, text: str) -> Iterator[None]:
    """Let an error say which option it is about."""
    try:
        yield
    except CommandError:
        raise
    except (CutepyError, TypeError, ValueError) as error:
        raise CommandError(f"--{option} {text}: {error}") from error


def _coordinate(option: str, text: str) -> IntTuple:
    with _naming(option, text):
        value = parse_tiler(text)
    if not isinstance(value, int | tuple):
        raise CommandError(f"--{option} {text}: write whole numbers, such as 7 or (16,16)")
    return value


def _offset(layout: AnyLayout, text: str) -> object:
    with _naming("at", text):
        offset = layout(_coordinate("at", text))
    return offset if isinstance(offset, int) else show(offset) if isinstance(offset, tuple) else str(offset)


def run_explain(options: Namespace) -> int:
    """Write the steps from operands to result; or to the refusal, and give 1."""
    check_target(options.output)
    call = read_input(options.call)
    try:
        explanation = explain(call)
    except TypeError as error:
        name, what = call.partition("(")[0], str(error).rpartition("() ")[2]
        raise CommandError(f"{call}: {name} does not take these operands: {what}") from error
    steps = [{"text": step.text, "layout": step.layout, "checked": step.checked} for step in explanation.steps]
    answer = {"call": explanation.call, "steps": steps, "result": explanation.result, "error": explanation.error}
    write_answer(options, str(explanation), answer)
    return int(explanation.error is not None)


def run_draw(options: Namespace) -> None:
    """Write the picture of a layout, as the suffix or `--format` says."""
    suffix = _suffix(options.output, options.format)
    check_target(options.output)
    asked = {name: getattr(options, name) for name in OPTIONS if getattr(options, name, None) is not None}
    layout = options.layout
    # Options on the command line win over those of the text.
    if layout == STDOUT:  # as a fence: a layout, and lines of options
        layout, said = read_body(read_input(layout))
        asked = said | asked
    else:
        layout = read_input(layout)
    drawing = drawing_of(layout, asked)
    if options.output == STDOUT and suffix == ".txt":
        colored = sys.stdout.isatty() and "NO_COLOR" not in os.environ  # https://no-color.org
        write_text(STDOUT, drawing.text(ansi=colored, width=room(options)))
    else:
        write_bytes(options.output, drawing.encoded(suffix))


def _suffix(target: str, asked: str | None) -> str:
    """The suffix of the format: of `--format`, else of the file, `.txt` on standard output."""
    if asked is not None:
        return f".{asked}"
    if target == STDOUT:
        return ".txt"
    suffix = Path(target).suffix.lower()
    if suffix not in SUFFIXES:
        raise CommandError(f"-o {target}: a picture is written as {', '.join(SUFFIXES)}; name one, or use --format")
    return suffix


def run_explore(options: Namespace) -> None:
    """Write the page that runs cutepy, or open it in the browser and say where it lies."""
    from ..explore.pack import FIRST, explore, links_of

    page = explore(FIRST if options.layout is None else read_input(options.layout), view=options.view)
    if options.links:
        page = replace(page, links=links_of(Path(options.links)))
    if options.output:
        check_target(options.output)
        write_text(options.output, page.html())
    else:
        print(page.open())
