"""`cutepy draw`: one picture; `cutepy figures`: every picture that documents describe, drawn anew or checked.

What a description is says `documents`; paths are relative to the document. Law: all are drawn before one is written,
so a bad one leaves everything as it was; a comment without a picture is bad.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..docs import drawing_of_body
from ..draw.drawing import drawing_of, read_body
from ..draw.look import OPTIONS, SUFFIXES
from ..errors import CommandError, CutepyError
from .documents import READERS, Block, blocks
from .layouts import room
from .output import STDOUT, check_target, read_input, write_answer, write_bytes, write_text

STALE = 1
WATCHED = 0.3
"""Seconds between two looks at the documents."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture to be written: where, asked for by which block, its bytes."""

    target: Path
    block: Block
    data: bytes

    @property
    def stale(self) -> bool:
        """Whether the file is not there, or another."""
        return not self.target.is_file() or self.target.read_bytes() != self.data


def run_figures(options: Namespace) -> int:
    """Draw all; write what differs, or with `--check` say what does and give 1; with `--watch` go on until stopped."""
    paths = [Path(path) for path in options.paths]
    if options.check:
        return _check(figures(paths), options)
    if options.watch:
        _watch(paths)
    _write(figures(paths))
    return 0


def _check(found: list[Figure], options: Namespace) -> int:
    stale = [figure for figure in found if figure.stale]
    data = []
    for figure in stale:
        state = "stale" if figure.target.exists() else "missing"
        data.append({"file": str(figure.target), "state": state, "place": figure.block.place})
        if not options.json:
            print(f"{figure.target} is {state} ({figure.block.place})", file=sys.stderr)
    write_answer(options, f"{len(found)} figures, {len(stale)} stale", {"figures": len(found), "stale": data})
    return STALE if stale else 0


def _write(found: list[Figure]) -> None:
    stale = [figure for figure in found if figure.stale]
    for figure in stale:
        figure.target.parent.mkdir(parents=True, exist_ok=True)
        check_target(str(figure.target))
    for figure in stale:
        write_bytes(str(figure.target), figure.data)
        print(f"wrote {figure.target}")
    print(f"{len(found)} figures, {len(stale)} written")


def _watch(paths: list[Path]) -> None:
    """Write whenever a document changes; what is wrong is said, and waited for. Ends by an interrupt."""
    seen: dict[Path, int] = {}
    while True:
        now = {source: source.stat().st_mtime_ns for source in _sources(paths)}
        if now != seen:
            seen = now
            try:
                _write(figures(paths))
            except CutepyError as error:
                print(error, file=sys.stderr)
            sys.stdout.flush()
        time.sleep(WATCHED)


def figures(paths: list[Path]) -> list[Figure]:
    """The pictures that the documents under `paths` describe.

    Raises CommandError, with file and line, for a missing path, a bad block, and two pictures of one name.
    """
    drawn: dict[Path, Figure] = {}
    for source in _sources(paths):
        try:
            text = source.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise CommandError(f"{source}: byte {error.start} is no UTF-8; save the document as UTF-8") from error
        for block in blocks(source, text):
            for figure in _figures(block):
                other = drawn.setdefault(figure.target.resolve(), figure)
                if other.data != figure.data:
                    raise CommandError(f"{block.place}: {figure.target} is another picture at {other.block.place}")
    return list(drawn.values())


def _sources(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            for file in sorted(file for file in path.rglob("*") if file.suffix in READERS):
                if not any(part.startswith(".") for part in file.relative_to(path).parts):
                    yield file
        elif path.is_file():
            yield path
        else:
            raise CommandError(f"{path}: there is no such file or folder")


def _figures(block: Block) -> Iterator[Figure]:
    """The pictures of a block, none for a fence that names no file. What is wrong is said with file and line."""
    try:
        _drawing, said = drawing_of_body(block.body, {})
        named = ((said["file"], ""),) if "file" in said else block.images
        if block.comment and not named:
            raise CommandError("no image follows this comment; put one after it, or a line file: picture.svg into it")
        for name, theme in named:
            target = Path(name)
            if target.is_absolute() or "://" in name or target.suffix not in SUFFIXES:
                raise CommandError(f"file: {name} is not a relative path that ends in {', '.join(SUFFIXES)}")
            drawing, _said = drawing_of_body(block.body, {"theme": theme} if theme else {})
            yield Figure(block.source.parent / target, block, drawing.encoded(target.suffix))
    except CutepyError as error:
        raise CommandError(f"{block.place}: {error}") from error


def run_draw(options: Namespace) -> None:
    suffix = _suffix(options.output, options.format)
    check_target(options.output)
    asked = {name: getattr(options, name) for name in OPTIONS if getattr(options, name, None) is not None}
    layout = options.layout
    if layout == STDOUT:  # as a fence: a layout, and lines of options
        layout, said = read_body(read_input(layout))
        asked = said | asked
    drawing = drawing_of(layout, asked)
    if options.output == STDOUT and suffix == ".txt":
        colored = sys.stdout.isatty() and "NO_COLOR" not in os.environ  # https://no-color.org
        write_text(STDOUT, drawing.text(ansi=colored, width=room(options)))
    else:
        write_bytes(options.output, drawing.encoded(suffix))


def _suffix(target: str, asked: str | None) -> str:
    if asked is not None:
        return f".{asked}"
    if target == STDOUT:
        return ".txt"
    suffix = Path(target).suffix.lower()
    if suffix not in SUFFIXES:
        raise CommandError(f"-o {target}: a picture is written as {', '.join(SUFFIXES)}; name one, or use --format")
    return suffix
