"""Numbers that Python must not look at: what stands in for kernel expressions, and an engine over them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutepy.tensor import DType, f32


class Looked(Exception):
    """Python asked for the value of an expression."""


class Opaque:
    """A number that computes like one and refuses to steer Python."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __bool__(self) -> bool:
        raise Looked

    __int__ = __index__ = __float__ = __bool__  # type: ignore[assignment]
    __hash__ = object.__hash__


def _method(name: str, *, swapped: bool = False) -> Callable[..., Any]:
    function = getattr(operator, name)

    def operate(self: Opaque, other: object) -> Any:
        if not isinstance(other, (int, float, np.generic, Opaque)):
            return NotImplemented
        left, right = (reveal(other), self.value) if swapped else (self.value, reveal(other))
        return Opaque(function(left, right))

    return operate


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and_", "or_", "xor", "rshift", "lshift"):
    setattr(Opaque, f"__{_name.strip('_')}__", _method(_name))
    setattr(Opaque, f"__r{_name.strip('_')}__", _method(_name, swapped=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Opaque, f"__{_name}__", _method(_name))


def reveal(value: Any) -> Any:
    """The number behind an expression."""
    return value.value if isinstance(value, Opaque) else value


@dataclass(frozen=True, slots=True, eq=False)
class OpaqueEngine:
    """Elements whose values are opaque; it records how many elements each access asked for."""

    memory: np.ndarray
    accesses: list[tuple[str, int]]
    dtype: DType = f32
    space: str = "gmem"
    writable: bool = True
    name: str = "A"

    def load(self, offsets: object, where: object = None) -> object:
        table, mask = np.asarray(offsets, object), np.broadcast_to(np.asarray(where, object), np.shape(offsets))
        self.accesses.append(("load", table.size))
        found = np.empty(table.shape, object)
        for at in np.ndindex(table.shape):
            held = where is None or reveal(mask[at])
            found[at] = Opaque(float(self.memory[reveal(table[at])]) if held else 0.0)
        return found if table.shape else found[()]

    def store(self, offsets: object, values: object, where: object = None) -> None:
        table = np.asarray(offsets, object)
        mask = np.broadcast_to(np.asarray(where, object), table.shape)
        given = np.broadcast_to(np.asarray(values, object), table.shape)
        self.accesses.append(("store", table.size))
        for at in np.ndindex(table.shape):
            if where is None or reveal(mask[at]):
                self.memory[reveal(table[at])] = reveal(given[at])

    def fma(self, a: Opaque, b: Opaque, c: Opaque) -> Opaque:
        self.accesses.append(("fma", 1))
        return Opaque(reveal(a) * reveal(b) + reveal(c))
