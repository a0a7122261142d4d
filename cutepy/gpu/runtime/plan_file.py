"""What was found fastest on this machine, by name: kept in a file of the user's, and found again by other processes.

The file may hold anything: it is read with bounds, and what an entry says is for its reader to check. It is replaced by
a whole one, or stays as it was.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from math import isfinite, log2
from pathlib import Path
from typing import IO, Any

from ...errors import KernelError
from .adapters import Adapter
from .interrupts import Uninterrupted

if sys.platform != "win32":  # there two tunings at once disturb one another
    import fcntl

LARGEST_FILE_BYTES = 1 << 22
"""Bytes of the file of plans that are read: 20,000 plans, a tenth of a second."""


def size_class(extent: int) -> str:
    """An extent to half an octave, with a star where vectors of 4 divide it: what is found for one serves its class.

    >>> size_class(1000), size_class(1024), size_class(1025), size_class(0)
    ('20*', '20*', '20', '-*')
    """
    return f"{round(2 * log2(extent)) if extent else '-'}{'*' * (extent % 4 == 0)}"


class PlanFile:
    """The file of what was found: one a user, shared by all processes."""

    @staticmethod
    def path() -> Path:
        """Where the file is."""
        return _folder() / "plans.json"

    @staticmethod
    def key(adapter: Adapter, what: str) -> str:
        """The name of what was found for an adapter, its driver and this version of cutepy."""
        return f"{adapter.summary} | {adapter.driver} | cutepy {_own_version()} | {what}"

    @staticmethod
    def lock() -> IO[str]:
        """The file, open, that a process locks while it tunes. Raises KernelError where the folder takes no files."""
        path = _folder() / "alone"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return _opened(path, os.O_RDWR | os.O_CREAT, "a")
        except (OSError, ValueError) as error:
            raise KernelError(
                f"tune: plans are kept in {path.parent}, which takes no files "
                f"({getattr(error, 'strerror', None) or error}); name another folder by CUTEPY_CACHE"
            ) from None

    @staticmethod
    @contextmanager
    def alone() -> Iterator[None]:
        """Inside this block no other process of the user tunes: it waits for the end of the block."""
        with PlanFile.lock() as file:
            if sys.platform != "win32":
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @staticmethod
    @lru_cache(maxsize=1)
    def entries() -> dict[str, Any]:
        """What the file has, as JSON; a file that cannot be read counts as absent, and a warning says why."""
        path = PlanFile.path()
        there, why = _read(path)
        if why:
            PlanFile.warn(f"{path} is not taken: {why[:200]}; the next that is tuned replaces it")
        return there

    @staticmethod
    def seconds_of(entry: Any) -> float:
        """The seconds that an entry says. Raises KeyError, TypeError or ValueError where it says none."""
        seconds = float(entry["seconds"])
        if not (isfinite(seconds) and seconds > 0):
            raise ValueError(f"{seconds} seconds")
        return seconds

    @staticmethod
    def keep(key: str, entry: dict[str, Any]) -> Path:
        """Keep an entry, beside what is there. Returns the file.

        Where it cannot be written, on a full disk, a warning says so, and this process goes on with the entry.
        """
        path = PlanFile.path()
        try:
            # Read, changed and replaced under one lock: no other process's entry is lost, no interrupt leaves a half.
            with PlanFile.alone(), Uninterrupted():
                there, _ = _read(path)
                there.pop(key, None)
                _replace(path, _fitting({**there, key: entry}))
            PlanFile.entries.cache_clear()
        except (OSError, KernelError) as error:
            why = getattr(error, "strerror", None) or error
            # The entry is put into what this process has read: it serves until the process ends.
            warnings.warn(f"the plan that was found is not kept in {path}: {why}", RuntimeWarning, stacklevel=4)
            PlanFile.entries()[key] = entry
        return path

    @staticmethod
    def warn(text: str) -> None:
        """Warn of what is not taken."""
        warnings.warn(text, RuntimeWarning, stacklevel=3)


def _folder() -> Path:
    """The folder of the file of plans: `CUTEPY_CACHE`, or cutepy's own in the system's folder for such files."""
    if os.environ.get("CUTEPY_CACHE"):
        return Path(os.environ["CUTEPY_CACHE"])
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", "~"))
    elif sys.platform == "darwin":
        base = Path("~/Library/Caches")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return (base / "cutepy").expanduser()


@cache
def _own_version() -> str:
    try:
        return version("cutepy")  # reads a file, in a millisecond
    except PackageNotFoundError:
        return "unknown"


def _opened(path: Path, flags: int, mode: str) -> IO[str]:
    """An ordinary file, opened. Raises OSError for a pipe, a device or a folder: none of them is waited for."""
    number = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(f"{path.name} is no ordinary file")
    return os.fdopen(number, mode, encoding="utf-8")


def _read(path: Path) -> tuple[dict[str, Any], str]:
    """The entries of a file, and why there are none, where that is a fault."""
    try:
        with _opened(path, os.O_RDONLY, "r") as file:
            text = file.read(LARGEST_FILE_BYTES + 1)
        if len(text) > LARGEST_FILE_BYTES:
            return {}, f"it is larger than {LARGEST_FILE_BYTES} bytes"
        entries = json.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return {}, ""
    except OSError as error:
        return {}, error.strerror or str(error)
    except (ValueError, RecursionError) as error:
        return {}, str(error)
    if not isinstance(entries, dict):
        return {}, f"it holds a {type(entries).__name__}, not plans by name"
    return entries, ""


def _fitting(entries: dict[str, Any]) -> str:
    """The JSON text of the entries, without the oldest ones where it would be longer than what is read again."""
    while len(text := json.dumps(entries, indent=1)) > LARGEST_FILE_BYTES:
        for key in list(entries)[: 1 + len(entries) // 8]:
            del entries[key]
    return text


def _replace(path: Path, text: str) -> None:
    """Put a file with this text in place of what is there. Raises OSError, and leaves nothing, where it cannot."""
    number, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(number)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
