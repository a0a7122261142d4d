"""Plans that were found by timing on this machine: kept in a file of the user's, asked for by every product.

Law: a plan is found again for the adapter, its driver, the version of cutepy and the class of shape that it was timed
for, and for no other. Without a file every product takes the plan that `choose_plan` gives.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from math import log2
from pathlib import Path
from typing import Any, TextIO

from ..errors import KernelError
from .matmul import Plan
from .runtime import Adapter

if sys.platform != "win32":  # there two tunings at once disturb one another
    import fcntl


@dataclass(frozen=True, slots=True)
class Problem:
    """A product as its kernel sees it: extents, batches, types, and whether A, B and C lie along their mode 1."""

    m: int
    n: int
    k: int
    batch: int
    dtypes: tuple[str, str, str]
    across: tuple[bool, bool, bool]

    @property
    def shape_class(self) -> str:
        """What it shares with the products that its plan serves: extents to half an octave, what vectors need of them.

        >>> Problem(1000, 1024, 4096, 1, ("f32",) * 3, (True, False, True)).shape_class
        'f32,f32,f32 kmn 20*,20*,24* 0'
        """
        sizes = ",".join(f"{round(2 * log2(x))}{'*' * (x % 4 == 0)}" for x in (self.m, self.n, self.k))
        letters = "".join(pair[along] for pair, along in zip(("mk", "mk", "mn"), self.across, strict=True))
        return f"{','.join(self.dtypes)} {letters} {sizes} {round(2 * log2(self.batch))}"


def folder() -> Path:
    """Where cutepy keeps what it finds: `CUTEPY_CACHE`, or the folder that the system has for such files."""
    if os.environ.get("CUTEPY_CACHE"):
        return Path(os.environ["CUTEPY_CACHE"])
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", "~"))
    elif sys.platform == "darwin":
        base = Path("~/Library/Caches")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return (base / "cutepy").expanduser()


def key_of(adapter: Adapter, problem: Problem) -> str:
    """Under which name a plan is kept."""
    try:
        own = version("cutepy")
    except PackageNotFoundError:
        own = "unknown"
    return f"{adapter.summary} | {adapter.driver} | cutepy {own} | matmul {problem.shape_class}"


def tuned_plan(adapter: Adapter | None, problem: Problem) -> Plan | None:
    """The plan that was found for products of this class; None where none was."""
    if adapter is None or not _known():
        return None
    found = _known().get(key_of(adapter, problem))
    return None if found is None else found[0]


def lock_file() -> TextIO:
    """The file that the process that tunes holds. Raises KernelError where the folder takes no files."""
    path = folder() / "alone"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a")
    except OSError as error:
        raise KernelError(
            f"tune: plans are kept in {path.parent}, which takes no files ({error.strerror}); name another folder by "
            "CUTEPY_CACHE"
        ) from None


@contextmanager
def alone() -> Iterator[None]:
    """The other processes of this user that tune wait meanwhile."""
    with lock_file() as file:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def keep(adapter: Adapter, problem: Problem, plan: Plan, seconds: float) -> Path:
    """Keep a plan, beside what is there. Returns the file."""
    path = folder() / "plans.json"
    with alone(), tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        entries = _read(path) | {key_of(adapter, problem): {"plan": asdict(plan), "seconds": seconds}}
        json.dump(entries, file, indent=1)
        file.close()
        Path(file.name).replace(path)
    _known.cache_clear()
    return path


def known(adapter: Adapter, problem: Problem) -> tuple[Plan, float] | None:
    """The plan that was found for this class, and its seconds."""
    return _known().get(key_of(adapter, problem))


def plan_of(entry: dict[str, Any]) -> Plan:
    """A plan from its fields, as JSON has them. Raises KernelError or TypeError for what is none."""
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
def _known() -> dict[str, tuple[Plan, float]]:
    """What the file has; what cannot be read counts as absent."""
    found = {}
    for key, entry in _read(folder() / "plans.json").items():
        try:
            found[key] = plan_of(entry["plan"]), float(entry["seconds"])
        except (KernelError, TypeError, KeyError, ValueError):
            continue
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}
