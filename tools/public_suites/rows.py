"""A row of the table, and what every suite needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np


@dataclass(slots=True)
class Row:
    """A suite: how many cases had which outcome; `wrong` names those in which cutepy is not right."""

    suite: str
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    note: str = ""

    def add(self, outcome: str, name: str) -> None:
        self.counts[outcome] += 1
        if outcome == "wrong":
            self.wrong.append(name)


def missing(suite: str, package: str, module: str) -> Row | None:
    """The row of a suite that is not installed."""
    if find_spec(module) is not None:
        return None
    return Row(suite, note=f"NOT RUN: pip install {package}")


def plain(value: Any) -> np.ndarray[Any, Any]:
    return (
        value.numpy()
        if hasattr(value, "numpy") and not isinstance(value, np.ndarray | np.generic)
        else np.asarray(value)
    )
