"""A page that runs an exported kernel on given data and compares with the interpreter's numbers."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import KernelError
from ..runtime.buffer import as_bytes
from .describe import ExportedFunction

Array = npt.NDArray[Any]  # of any element type
LARGEST = 1 << 24
"""Bytes of arrays that a page may hold."""


def page_text(function: ExportedFunction, given: list[Array], wanted: list[Array], numbers: Mapping[str, float]) -> str:
    """The HTML of a page for the module `MODULE`: it calls the function over the arrays `given`, one a buffer, says how
    many numbers of the written ones differ from `wanted` and by how much, and how long a launch takes.

    Raises KernelError for more than 16 MiB of arrays.
    """
    if (nbytes := sum(array.nbytes for array in given)) > LARGEST:
        raise KernelError(f"{function.name}: {nbytes} bytes of arrays, and a page holds {LARGEST}; export smaller ones")
    buffers = function.data["buffers"]
    data = {
        "name": function.name,
        "given": {b["name"]: _encoded(array) for b, array in zip(buffers, given, strict=True)},
        "wanted": {b["name"]: _encoded(array) for b, array in zip(buffers, wanted, strict=True) if b["written"]},
        "types": {b["name"]: b["type"] for b in buffers},
        "numbers": {name: float(value) for name, value in numbers.items()},
    }
    text = (files(__package__) / "page.html").read_text()
    return text.replace("TITLE", html.escape(function.name)).replace("DATA", json.dumps(data).replace("<", "\\u003c"))


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


def _encoded(array: Array) -> str:
    return base64.b64encode(as_bytes(array).tobytes()).decode()
