"""A page that runs an exported kernel on given data and compares with the interpreter's numbers."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from ....errors import KernelError
from ...runtime.buffer import as_bytes
from .describe import ExportedFunction

Array = npt.NDArray[Any]  # of any element type
LARGEST = 1 << 24
"""Bytes of arrays that a page may hold."""


@dataclass(frozen=True, slots=True)
class TestedCall:
    """A function with arrays to run it over, one for each buffer that is given to it, what the interpreter makes of
    them, and the numbers of the call."""

    __test__ = False  # no class of tests, for pytest

    function: ExportedFunction
    given: Sequence[Array]
    wanted: Sequence[Array]
    numbers: Mapping[str, float]

    def data(self) -> dict[str, Any]:
        """What `run.js` takes. Raises KernelError for more than 16 MiB of arrays."""
        name = self.function.name
        buffers = [buffer for buffer in self.function.data["buffers"] if not buffer.get("temporary")]
        if (nbytes := sum(array.nbytes for array in self.given)) > LARGEST:
            raise KernelError(f"{name}: {nbytes} bytes of arrays, and a page holds {LARGEST}; export smaller ones")
        return {
            "name": name,
            "given": {b["name"]: _encoded(array) for b, array in zip(buffers, self.given, strict=True)},
            "wanted": {b["name"]: _encoded(x) for b, x in zip(buffers, self.wanted, strict=True) if b["written"]},
            "types": {b["name"]: b["type"] for b in buffers},
            "numbers": {name: float(value) for name, value in self.numbers.items()},
        }


def page_text(tested: TestedCall) -> str:
    """The HTML of a page for the module `MODULE`: it calls the function, says how many numbers of what is written
    differ from those wanted and by how much, and how long a launch takes."""
    text = _file("page.html").replace("RUN", _file("run.js"))
    return text.replace("TITLE", html.escape(tested.function.name)).replace("DATA", as_script(tested.data()))


def fence_script() -> str:
    """The script of a page of documents, which serves all its Run buttons."""
    return _file("fence.js").replace("RUN", _file("run.js"))


def as_script(data: object) -> str:
    """JSON that ends no element of HTML."""
    return json.dumps(data).replace("<", "\\u003c")


def _file(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def seeded(arrays: list[Array], written: list[bool]) -> list[Array]:
    """The arrays, with random numbers in those that hold zeros alone and are not written."""
    g = np.random.default_rng(0)
    return [x.copy() if x.any() or out else _seeded(g, x) for x, out in zip(arrays, written, strict=True)]


def _seeded(g: np.random.Generator, like: Array) -> Array:
    """Random numbers of a type: halves of small integers, so that sums of them are exact; bits for truths."""
    if like.dtype == np.bool_:
        return g.integers(0, 2, like.shape).astype(like.dtype)
    if like.dtype.kind in "ui":
        return g.integers(0, 8, like.shape).astype(like.dtype)
    return (g.integers(-8, 9, like.shape) / 2).astype(like.dtype)


def _encoded(array: Array) -> str | int:
    """The bytes of an array, or their number where they are 0."""
    found = as_bytes(array).tobytes()
    return base64.b64encode(found).decode() if any(found) else len(found)
