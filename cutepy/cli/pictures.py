"""`cutepy draw`: a layout or an expression as a picture, in the format that the file's suffix names."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from ..draw.drawing import SUFFIXES
from ..draw.request import OPTIONS, drawing_of
from ..errors import CommandError
from .output import STDOUT, check_target, write_bytes, write_text


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
