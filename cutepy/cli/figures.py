"""`cutepy draw`: one picture; `cutepy figures`: every picture that Markdown files describe, drawn anew or checked.

A description is a `layout` fence with a line `file: picture.svg`, or a comment `<!-- layout ... -->` with such a line
or with an image link `![...](picture.svg)` next after it; the path is relative to the Markdown file. Law: all are
drawn before one is written, so a bad one leaves everything as it was.
"""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..draw.drawing import SUFFIXES
from ..draw.request import OPTIONS, drawing_of, read_body
from ..errors import CommandError, CutepyError
from .output import STDOUT, check_target, write_bytes, write_text

STALE = 1
_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})\s*(?P<info>[^`]*)$")
_COMMENT = re.compile(r"\s*<!--\s*layout\b(?P<rest>.*)")
_IMAGE = re.compile(r"!\[[^\]]*\]\(\s*<?(?P<path>[^)\s>]+)")
_ALSO = ("file", "alt", "caption")


@dataclass(frozen=True, slots=True)
class Block:
    """A description: the Markdown file, its line, its text, and for a comment the image link that follows it."""

    source: Path
    line: int
    body: str
    image: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture to be written: where, asked for by which block, its bytes."""

    target: Path
    block: Block
    data: bytes


def run_figures(options: Namespace) -> int:
    """Draw all; write what differs, or with `--check` say what does and give 1."""
    found = figures([Path(path) for path in options.paths])
    stale = [figure for figure in found if _now(figure.target) != figure.data]
    if options.check:
        for figure in stale:
            state = "stale" if figure.target.exists() else "missing"
            print(f"{figure.target} is {state} ({figure.block.source}:{figure.block.line})", file=sys.stderr)
        print(f"{len(found)} figures, {len(stale)} stale")
        return STALE if stale else 0
    for figure in stale:
        figure.target.parent.mkdir(parents=True, exist_ok=True)
        check_target(str(figure.target))
    for figure in stale:
        write_bytes(str(figure.target), figure.data)
        print(f"wrote {figure.target}")
    print(f"{len(found)} figures, {len(stale)} written")
    return 0


def figures(paths: list[Path]) -> list[Figure]:
    """The pictures that the Markdown files under `paths` describe.

    Raises CommandError, with file and line, for a missing path, a bad block, and two pictures of one name.
    """
    drawn: dict[Path, Figure] = {}
    for source in _sources(paths):
        for block in blocks(source, source.read_text(encoding="utf-8")):
            figure = _figure(block)
            if figure is None:
                continue
            other = drawn.setdefault(figure.target.resolve(), figure)
            if other.data != figure.data:
                there = f"{other.block.source}:{other.block.line}"
                raise CommandError(f"{source}:{block.line}: {figure.target} is another picture at {there}")
    return list(drawn.values())


def _sources(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob("*.md"))
        elif path.is_file():
            yield path
        else:
            raise CommandError(f"{path}: there is no such file or folder")


def blocks(source: Path, text: str) -> Iterator[Block]:
    """The descriptions in a Markdown text; what stands inside other fences is none.

    >>> [block.body for block in blocks(Path("x.md"), "```layout\\n(4,8):(8,1)\\nfile: x.svg\\n```\\n")]
    ['(4,8):(8,1)\\nfile: x.svg']
    """
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        fence, comment = _FENCE.match(lines[at]), _COMMENT.match(lines[at])
        start = at
        if fence:
            marks = fence["marks"]
            body, at = _until(lines, at + 1, re.compile(rf" {{0,3}}{re.escape(marks[0])}{{{len(marks)},}}\s*$"))
            if fence["info"].split(maxsplit=1)[:1] == ["layout"]:
                yield Block(source, start + 1, "\n".join(body))
        elif comment:
            inside = [comment["rest"], *lines[at + 1 :]]
            body, length = _until(inside, 0, re.compile(r".*-->"))
            last = inside[length - 1].partition("-->")[0] if length <= len(inside) else ""
            at += max(length, 1)
            image = _IMAGE.match(next((line.strip() for line in lines[at:] if line.strip()), ""))
            yield Block(source, start + 1, "\n".join([*body, last]).strip(), image["path"] if image else "")
        else:
            at += 1


def _until(lines: list[str], start: int, end: re.Pattern[str]) -> tuple[list[str], int]:
    """The lines before the first that matches `end`, and the index after that one."""
    for at in range(start, len(lines)):
        if end.match(lines[at]):
            return lines[start:at], at + 1
    return lines[start:], len(lines)


def _figure(block: Block) -> Figure | None:
    """The picture of a block, None for a fence that names no file. What is wrong is said with file and line."""
    try:
        layout, options = read_body(block.body)
        others = {name: options.pop(name) for name in _ALSO if name in options}
        drawing = drawing_of(layout, options)
        name = others.get("file", block.image)
        if not name:
            return None
        target = Path(name)
        if target.is_absolute() or target.suffix not in SUFFIXES:
            raise CommandError(f"file: {name} is not a relative path that ends in {', '.join(SUFFIXES)}")
        return Figure(block.source.parent / target, block, drawing.encoded(target.suffix))
    except CutepyError as error:
        raise CommandError(f"{block.source}:{block.line}: {error}") from error


def _now(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def run_draw(options: Namespace) -> None:
    """Draw, then write."""
    suffix = _suffix(options.output, options.format)
    check_target(options.output)
    asked = {name: getattr(options, name) for name in OPTIONS if getattr(options, name, None) is not None}
    drawing = drawing_of(options.layout, asked)
    if options.output == STDOUT and suffix == ".txt":
        write_text(STDOUT, drawing.text(ansi=_colored()))
    else:
        write_bytes(options.output, drawing.encoded(suffix))


def _suffix(target: str, asked: str | None) -> str:
    if asked is not None:
        return f".{asked}"
    if target == STDOUT:
        return ".txt"
    suffix = Path(target).suffix
    if suffix not in SUFFIXES:
        raise CommandError(f"-o {target}: a picture is written as {', '.join(SUFFIXES)}; name one, or use --format")
    return suffix


def _colored() -> bool:
    """Colours in a terminal that does not refuse them (https://no-color.org)."""
    import os

    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
