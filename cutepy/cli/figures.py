"""`cutepy figures`: every picture that documents describe, drawn anew or checked. Documents are Markdown, Quarto,
reStructuredText and notebooks.

Law: a description is a `layout` fence (or directive) with a line `file: picture.svg`, or a comment that begins with
`layout`. A comment's picture is the next image after it, whatever stands between: `![...](x.svg)`, `<img src="x.svg">`,
a `<picture>` with one source for each theme, `.. image:: x.svg`. What stands inside other fences is none. Paths are
relative to the document. All are drawn before one is written, so a bad one leaves everything as it was; a comment
without a picture is bad.
"""

from __future__ import annotations

import json
import re
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from ..docs import drawing_of_body
from ..draw.look import SUFFIXES
from ..errors import CommandError, CutepyError
from .output import check_target, write_answer, write_bytes

STALE = 1
WATCHED = 0.3
"""Seconds between two looks at the documents."""

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})\s*(?P<info>[^`]*)$")
_COMMENT = re.compile(r"\s*<!--\s*layout\b(?P<rest>.*)")
_IMAGE = re.compile(
    r"!\[[^\]]*\]\(\s*(?:<(?P<quoted>[^>]+)>|(?P<path>[^)\s]+))"
    r"|!\[[^\]]*\]\[(?P<label>[^\]]+)\]"
    r"|<(?P<tag>img|source)\b(?P<attributes>[^>]*)>",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_LABEL = re.compile(r"^ {0,3}\[(?P<label>[^\]]+)\]:\s*(?:<(?P<quoted>[^>\n]+)>|(?P<path>\S+))", re.MULTILINE)
_RST_LAYOUT = re.compile(r"(?P<indent>\s*)\.\. layout(?P<directive>::)?(?P<rest>\s.*|)$")
_RST_IMAGE = re.compile(r"\s*\.\. (?:\|[^|]+\|\s+)?(?:image|figure)::\s*(?P<path>\S+)")


@dataclass(frozen=True, slots=True)
class FigureBlock:
    """A description: its document, where it stands there, its text, and the files of the images that follow a comment,
    each with the theme that a `<picture>` wants it for ("" for any)."""

    source: Path
    line: int
    body: str
    comment: bool = False
    images: tuple[tuple[str, str], ...] = ()
    cell: int = 0

    @property
    def place(self) -> str:
        """`page.md:7`, or `notebook.ipynb, cell 3:7`."""
        return f"{self.source}{f', cell {self.cell}' if self.cell else ''}:{self.line}"


def blocks(source: Path, text: str) -> Iterator[FigureBlock]:
    """The descriptions in a document, read as the suffix of its name says.

    >>> [block.body for block in blocks(Path("x.md"), "```layout\\n(4,8):(8,1)\\nfile: x.svg\\n```\\n")]
    ['(4,8):(8,1)\\nfile: x.svg']
    >>> [block.images for block in blocks(Path("x.rst"), ".. layout 4:1\\n\\n.. image:: x.svg\\n")]
    [(('x.svg', ''),)]

    Raises CommandError for a notebook that is none.
    """
    return READERS.get(source.suffix, _markdown)(source, text)


def _markdown(source: Path, text: str) -> Iterator[FigureBlock]:
    """The blocks of Markdown; comments take the images up to the next description."""
    labels = {match["label"].lower(): match["quoted"] or match["path"] for match in _LABEL.finditer(text)}
    # `waiting` is a comment whose image has not come yet; `between` holds the lines since.
    waiting: FigureBlock | None = None
    between: list[str] = []
    for item in _pieces(source, text.splitlines()):
        if isinstance(item, str):
            between.append(item)
            continue
        if waiting:
            yield replace(waiting, images=_images("\n".join(between), labels))
        waiting, between = (item, []) if item.comment else (None, [])
        if not item.comment:
            yield item
    if waiting:
        yield replace(waiting, images=_images("\n".join(between), labels))


def _pieces(source: Path, lines: list[str]) -> Iterator[FigureBlock | str]:
    """Descriptions, and the lines between them that are in no fence."""
    at = 0
    while at < len(lines):
        # A fence ends at a line of at least as many of the same marks (CommonMark, section 4.5).
        fence, comment, start = _FENCE.match(lines[at]), _COMMENT.match(lines[at]), at
        if fence:
            marks = fence["marks"]
            body, at = _until(lines, at + 1, re.compile(rf" {{0,3}}{re.escape(marks[0])}{{{len(marks)},}}\s*$"))
            if fence["info"].strip("{} ").split(maxsplit=1)[:1] in (["layout"], [".layout"]):
                yield FigureBlock(source, start + 1, "\n".join(body))
        elif comment:
            inside = [comment["rest"], *lines[at + 1 :]]
            body, length = _until(inside, 0, re.compile(r".*-->"))
            last, _end, rest = inside[length - 1].partition("-->") if length <= len(inside) else ("", "", "")
            at += max(length, 1)
            yield FigureBlock(source, start + 1, "\n".join([*body, last]).strip(), comment=True)
            yield rest
        else:
            yield lines[at]
            at += 1


def _until(lines: list[str], start: int, end: re.Pattern[str]) -> tuple[list[str], int]:
    """The lines before the first that matches `end`, and the index after that one."""
    for at in range(start, len(lines)):
        if end.match(lines[at]):
            return lines[start:at], at + 1
    return lines[start:], len(lines)


def _images(text: str, labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The first image of a text with its theme; of a `<picture>` all, an image without a theme taking what is left."""
    images: list[tuple[str, str]] = []
    for image in _IMAGE.finditer(text):
        if not image["tag"]:
            path = image["quoted"] or image["path"] or labels.get(image["label"].lower(), "")
            return (*images, (unquote(path), _left(images)))
        given = {name.lower(): one or other for name, one, other in _ATTRIBUTE.findall(image["attributes"])}
        if image["tag"].lower() == "img":
            return (*images, (unquote(given.get("src", "")), _left(images)))
        # A <source> has its theme in its media query; the <img> of the <picture> serves the theme that no source has.
        theme = re.search(r"prefers-color-scheme:\s*(dark|light)", given.get("media", ""))
        first = given.get("srcset", "").split(",")[0].split(" ")[0]
        images.append((unquote(first), theme[1] if theme else ""))
    return ()


def _left(images: list[tuple[str, str]]) -> str:
    """The theme of an `<img>` after the sources of its `<picture>`."""
    themes = {theme for _path, theme in images}
    return {frozenset({"dark"}): "light", frozenset({"light"}): "dark"}.get(frozenset(themes), "")


def _restructured(source: Path, text: str) -> Iterator[FigureBlock]:
    """`.. layout:: expression` with its options, and the comment `.. layout expression` before an image."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        match = _RST_LAYOUT.match(line)
        if not match:
            continue
        # The block of a directive is what is indented deeper, with the empty lines between.
        deeper = re.compile(rf"{match['indent']}\s+\S|\s*$")
        end = next((n for n in range(at + 1, len(lines)) if not deeper.match(lines[n])), len(lines))
        inside = [re.sub(r"^:([\w-]+):", r"\1:", option.strip()) for option in (match["rest"], *lines[at + 1 : end])]
        body = "\n".join(option for option in inside if option)
        if match["directive"]:
            yield FigureBlock(source, at + 1, body)
            continue
        # A comment's image is looked for up to the next description.
        stop = next((n for n in range(end, len(lines)) if _RST_LAYOUT.match(lines[n])), len(lines))
        images = [image["path"] for option in lines[end:stop] if (image := _RST_IMAGE.match(option))]
        yield FigureBlock(source, at + 1, body, comment=True, images=tuple((path, "") for path in images[:1]))


def _notebook(source: Path, text: str) -> Iterator[FigureBlock]:
    """The blocks in a notebook's cells of text."""
    try:
        cells = json.loads(text)["cells"]
        texts = [(n, "".join(c["source"])) for n, c in enumerate(cells, 1) if c["cell_type"] == "markdown"]
    except (ValueError, TypeError, KeyError) as error:
        raise CommandError(f"{source}: no notebook: {error}") from error
    for number, cell in texts:
        yield from (replace(block, cell=number) for block in _markdown(source, cell))


READERS: dict[str, Callable[[Path, str], Iterator[FigureBlock]]] = {
    ".md": _markdown,
    ".qmd": _markdown,
    ".rst": _restructured,
    ".ipynb": _notebook,
}
"""How a folder's files are read; any other file that is named is read as Markdown."""


@dataclass(frozen=True, slots=True)
class DocumentFigure:
    """A picture to be written: where, asked for by which block, its bytes."""

    target: Path
    block: FigureBlock
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


def _check(figures: list[DocumentFigure], options: Namespace) -> int:
    """Write which figures are stale or missing; 1 if any is, else 0. Nothing is drawn into a file."""
    # Check every target before the first file is written.
    stale = [figure for figure in figures if figure.stale]
    data = []
    for figure in stale:
        state = "stale" if figure.target.exists() else "missing"
        data.append({"file": str(figure.target), "state": state, "place": figure.block.place})
        if not options.json:
            print(f"{figure.target} is {state} ({figure.block.place})", file=sys.stderr)
    write_answer(options, f"{len(figures)} figures, {len(stale)} stale", {"figures": len(figures), "stale": data})
    return STALE if stale else 0


def _write(figures: list[DocumentFigure]) -> None:
    """Write the figures that differ from their files, all targets checked first."""
    stale = [figure for figure in figures if figure.stale]
    for figure in stale:
        figure.target.parent.mkdir(parents=True, exist_ok=True)
        check_target(str(figure.target))
    for figure in stale:
        write_bytes(str(figure.target), figure.data)
        print(f"wrote {figure.target}")
    print(f"{len(figures)} figures, {len(stale)} written")


def _watch(paths: list[Path]) -> None:
    """Write whenever a document changes; what is wrong is said, and waited for. Ends by an interrupt."""
    seen: dict[Path, int] = {}
    while True:
        try:  # a document may be gone for a moment, while an editor saves it
            now = {source: source.stat().st_mtime_ns for source in _sources(paths)}
            if now != seen:
                seen = now
                _write(figures(paths))
        except (CutepyError, OSError) as error:
            print(error, file=sys.stderr)
        sys.stdout.flush()
        time.sleep(WATCHED)


def figures(paths: list[Path]) -> list[DocumentFigure]:
    """The pictures that the documents under `paths` describe.

    Raises CommandError, with file and line, for a missing path, a bad block, and two pictures of one name.
    """
    drawn: dict[Path, DocumentFigure] = {}
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
    """The documents: files as named, and those below folders that are in no hidden folder, in order."""
    for path in paths:
        if path.is_dir():
            for file in sorted(file for file in path.rglob("*") if file.suffix in READERS):
                if not any(part.startswith(".") for part in file.relative_to(path).parts):
                    yield file
        elif path.is_file():
            yield path
        else:
            raise CommandError(f"{path}: there is no such file or folder")


def _figures(block: FigureBlock) -> Iterator[DocumentFigure]:
    """The pictures of a block, none for a fence that names no file. What is wrong is said with file and line."""
    try:
        _drawing, said = drawing_of_body(block.body, {})
        # `file:` names the picture; else it is the image after the comment, for a <picture> one a theme.
        named = ((said["file"], ""),) if "file" in said else block.images
        if block.comment and not named:
            raise CommandError("no image follows this comment; put one after it, or a line file: picture.svg into it")
        for name, theme in named:
            target = Path(name)
            if target.is_absolute() or "://" in name or target.suffix not in SUFFIXES:
                raise CommandError(f"file: {name} is not a relative path that ends in {', '.join(SUFFIXES)}")
            # A document may not write outside of its own folder, also not through a link.
            folder = block.source.parent.resolve()  # links are followed, and must end in it, too
            if not (folder / target).resolve().is_relative_to(folder):
                raise CommandError(f"file: {name} is outside of the document's folder, {folder}; name a file inside it")
            drawing, _said = drawing_of_body(block.body, {"theme": theme} if theme else {})
            yield DocumentFigure(block.source.parent / target, block, drawing.encoded(target.suffix))
    except CutepyError as error:
        raise CommandError(f"{block.place}: {error}") from error
