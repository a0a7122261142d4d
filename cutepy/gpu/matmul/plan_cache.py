"""Plans that were found by timing on this machine: kept in a file of the user's, asked for by every product.

Law: a plan is found again for the adapter, its driver, the version of cutepy and the class of shape that it was timed
for, and for no other. Without a file every product takes the plan that `choose_plan` gives.

The file may hold anything: it is read with bounds, an entry is read when a product asks for it, and one that is no plan
for this device and product spoils itself alone. What is there and not taken is said once, in a warning. The file is
replaced by a whole one, or stays as it was.
"""

from __future__ import annotations

import json
import math
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

from ...errors import KernelError
from .. import Adapter
from ..runtime.interrupts import Uninterrupted
from .cost_model import PROCESSORS, ProductProblem, registers_per_thread, workgroups_of
from .plan import Plan

if sys.platform != "win32":  # there two tunings at once disturb one another
    import fcntl

LARGEST_FILE_BYTES = 1 << 22
"""Bytes of the file of plans that are read: 20,000 plans, a tenth of a second."""
# A plan is taken within these bounds, and the tuner tries none beyond: a driver may compile such a one for minutes.
TILE_SIDES, DEEPEST_TILE = (4, 256), 1024
"""The least and the most rows and columns of a tile, and its most columns of k."""
THREAD_COUNTS, MOST_REGISTERS = (32, 256), 160
"""The least and the most threads of a workgroup, and the numbers of 4 bytes that a thread holds at most."""


def folder() -> Path:
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


def key_of(adapter: Adapter, problem: ProductProblem) -> str:
    """The name under which a plan is kept: the adapter, its driver, the version of cutepy, the class of the shape."""
    try:
        own = version("cutepy")
    except PackageNotFoundError:
        own = "unknown"
    return f"{adapter.summary} | {adapter.driver} | cutepy {own} | matmul {problem.shape_class}"


def tuned_plan(adapter: Adapter | None, problem: ProductProblem) -> Plan | None:
    """The plan that was found for products of this class; None where none was."""
    if adapter is None or not _entries():
        return None
    found = known(adapter, problem)
    return None if found is None else found[0]


def lock_file() -> IO[str]:
    """The file, open, that a process locks while it tunes. Raises KernelError where the folder takes no files."""
    path = folder() / "alone"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _opened(path, os.O_RDWR | os.O_CREAT, "a")
    except (OSError, ValueError) as error:
        raise KernelError(
            f"tune: plans are kept in {path.parent}, which takes no files "
            f"({getattr(error, 'strerror', None) or error}); name another folder by CUTEPY_CACHE"
        ) from None


def _opened(path: Path, flags: int, mode: str) -> IO[str]:
    """An ordinary file, opened. Raises OSError for a pipe, a device or a folder: none of them is waited for."""
    number = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(f"{path.name} is no ordinary file")
    return os.fdopen(number, mode, encoding="utf-8")


@contextmanager
def alone() -> Iterator[None]:
    """Inside this block no other process of the user tunes: it waits for the end of the block."""
    with lock_file() as file:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def keep(adapter: Adapter, problem: ProductProblem, plan: Plan, seconds: float) -> Path:
    """Keep a plan, beside what is there. Returns the file.

    Where it cannot be written, on a full disk, a warning says so, and this process goes on with the plan.
    """
    path, key = folder() / "plans.json", key_of(adapter, problem)
    entry = {"plan": asdict(plan), "seconds": seconds}
    try:
        # Read, changed and replaced under one lock: no other process's plan is lost, and no interrupt leaves a half.
        with alone(), Uninterrupted():
            entries, _ = _read(path)
            entries.pop(key, None)
            _replace(path, _fitting({**entries, key: entry}))
        reread()
    except (OSError, KernelError) as error:
        why = getattr(error, "strerror", None) or error
        # The entry is put into what this process has read: it serves until the process ends.
        warnings.warn(f"the plan that was found is not kept in {path}: {why}", RuntimeWarning, stacklevel=3)
        known.cache_clear()
        _entries()[key] = entry
    return path


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


@lru_cache(maxsize=1024)
def known(adapter: Adapter, problem: ProductProblem) -> tuple[Plan, float] | None:
    """The plan that was found for this class, and its seconds; None where there is none for this device."""
    key = key_of(adapter, problem)
    entry = _entries().get(key)
    if entry is None:
        return None
    # The entry may be anything: it is made a plan, and held to what the device and the tuner allow.
    try:
        plan, seconds = plan_of(entry["plan"]), float(entry["seconds"])
        why = _beyond(plan, problem, adapter)
        if not (math.isfinite(seconds) and seconds > 0):
            why = why or f"{seconds} seconds"
    except (KernelError, TypeError, KeyError, ValueError, AttributeError, OverflowError) as error:
        why = str(error) or type(error).__name__
    if why:
        _say(f"the plan kept for {key!r} in {folder() / 'plans.json'} is not taken: {why[:200]}")
        return None
    return plan, seconds


def _beyond(plan: Plan, problem: ProductProblem, adapter: Adapter) -> str:
    """What of a plan is beyond this device, or beyond what the tuner tries, in words; "" where nothing is."""
    # What is counted, its least and most in the plan, and the bounds of these.
    (bm, bn, bk), threads = plan.tile, math.prod(plan.threads)
    asked = [
        ("rows and columns of a tile", (min(bm, bn), max(bm, bn)), TILE_SIDES),
        ("columns of k", (bk, bk), (1, DEEPEST_TILE)),
        ("threads", (threads, threads), (THREAD_COUNTS[0], min(THREAD_COUNTS[1], adapter.limits.invocations))),
        ("numbers of a thread", (1, registers_per_thread(plan)), (1, MOST_REGISTERS)),
        ("bytes of workgroup memory", (1, plan.shared_bytes), (1, adapter.limits.workgroup_bytes)),
        ("parts of k", (1, plan.splits), (1, max(2, 8 * PROCESSORS // workgroups_of(problem, plan)))),
    ]
    return "; ".join(
        f"{least} to {most} {what}, between {low} and {high} are taken"
        for what, (least, most), (low, high) in asked
        if least < low or most > high
    )


def plan_of(entry: dict[str, Any]) -> Plan:
    """A plan from its fields, as JSON has them. Raises KernelError, TypeError or AttributeError for what is none."""
    return Plan(**tuples(entry))


def tuples(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields with tuples where JSON has lists.

    >>> tuples({"tile": [64, 64, 16], "copies": [[4, 1], [4, 2]]})
    {'tile': (64, 64, 16), 'copies': ((4, 1), (4, 2))}
    """

    def tupled(value: Any) -> Any:
        return tuple(map(tupled, value)) if isinstance(value, list) else value

    return {name: tupled(value) for name, value in fields.items()}


@lru_cache(maxsize=1)
def _entries() -> dict[str, Any]:
    """What the file has, as JSON; a file that cannot be read counts as absent, and a warning says why."""
    path = folder() / "plans.json"
    entries, why = _read(path)
    if why:
        _say(f"{path} is not taken: {why[:200]}; gpu.tune replaces it")
    return entries


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


def _say(text: str) -> None:
    """Warn of what is not taken."""
    warnings.warn(f"{text}; products take the default plan", RuntimeWarning, stacklevel=3)


def reread() -> None:
    """Forget what the file held: the next product reads it again."""
    _entries.cache_clear()
    known.cache_clear()
