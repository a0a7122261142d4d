"""Reading texts and writing results: all of a file or nothing, `-` for standard input and output.

Law: a file that a command names is either what it was before or complete; nothing else is left beside it.
"""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from contextlib import suppress
from pathlib import Path

from ..errors import CommandError

STDOUT = "-"
_FILE = re.compile(r"[^():,\n]*\.\w{1,8}")
LARGEST_INPUT = 1 << 20


def check_target(target: str) -> None:
    """Refuse a file that cannot be written, before the work is done. Raises CommandError."""
    if target == STDOUT:
        return
    path = Path(target)
    if not target or path.is_dir():
        raise CommandError(f"-o {target}: that is a folder; name a file in it")
    if not path.parent.is_dir():
        raise CommandError(f"-o {target}: there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise CommandError(f"-o {target}: no permission to write there")


def write_text(target: str, text: str) -> None:
    """Write a text, with one newline at its end; a reader of standard output may have left."""
    whole = text.rstrip("\n") + "\n"
    if target == STDOUT:
        with suppress(BrokenPipeError):
            sys.stdout.write(whole)
    else:
        write_bytes(target, whole.encode())


def write_answer(options: Namespace, text: str, data: object) -> None:
    """Write an answer: as text, or with `--json` as JSON on one line, where what JSON has not is a text."""
    target = getattr(options, "output", STDOUT) or STDOUT
    if options.json:
        import json  # `cutepy print` starts fast

        text = json.dumps(data, default=str, ensure_ascii=False)
    write_text(target, text)


def read_input(text: str) -> str:
    """An argument, or for `-` what standard input holds. Raises CommandError where that is nothing, or too much."""
    if text != STDOUT:
        if _FILE.fullmatch(text) and Path(text).is_file():
            raise CommandError(f"{text} is a file, and a layout is meant: - reads it, as in `... - < {text}`")
        return text
    content = sys.stdin.read(LARGEST_INPUT + 1)
    if not content.strip() or len(content) > LARGEST_INPUT:
        raise CommandError(
            f"-: standard input holds {'too much' if content.strip() else 'nothing'}; write a layout into it"
        )
    return content.strip("\n")


def write_bytes(target: str, data: bytes) -> None:
    """Write `data`: beside the file first, then in its place, with the permissions a new file gets."""
    if target == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return
    check_target(target)
    path = Path(target).resolve()
    if path.exists() and not path.is_file():  # a device or a pipe has no place to swap
        path.write_bytes(data)
        return
    # Write beside the target and rename: rename is atomic within a folder, so readers see the old file or the new
    # one.
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("xb") as file:
            file.write(data)
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o777)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
