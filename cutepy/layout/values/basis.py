"""Basis strides: `E(i, j)` is one step along axis j of axis i of a coordinate.

Law: a layout with basis strides maps to coordinates instead of offsets; evaluating it adds scaled basis elements, axis
by axis. `2 * E(0, 1)` prints as CuTe does, the axes reversed: `2@1@0`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

from ...errors import LayoutError
from .int_tuple import IntTuple, leaves


@dataclass(frozen=True, slots=True, repr=False)
class Basis:
    """`value` steps along the axis named by `path`. Made by `E`; scaled with `*`, added with `+`.

    >>> 2 * E(0, 1), (E(0) + 3 * E(1)).coordinate()
    (2*E(0, 1), (1, 3))
    """

    value: int
    path: tuple[int, ...]

    def __mul__(self, factor: int) -> Basis:
        return Basis(self.value * factor, self.path)

    __rmul__ = __mul__

    def __neg__(self) -> Basis:
        return Basis(-self.value, self.path)

    def __add__(self, other: object) -> BasisSum:
        return BasisSum((self,)) + other

    __radd__ = __add__

    def coordinate(self) -> IntTuple:
        """The coordinate that this element is."""
        return BasisSum((self,)).coordinate()

    def __str__(self) -> str:
        return "".join([str(self.value), *(f"@{axis}" for axis in reversed(self.path))])

    def __repr__(self) -> str:
        axes = ", ".join(map(str, self.path))
        return f"E({axes})" if self.value == 1 else f"{self.value}*E({axes})"


@dataclass(frozen=True, slots=True)
class BasisSum:
    """A sum of basis elements, kept apart by axis until `coordinate()` builds the nested tuple."""

    terms: tuple[Basis, ...]

    def __add__(self, other: object) -> BasisSum:
        if isinstance(other, BasisSum):
            return BasisSum(self.terms + other.terms)
        if isinstance(other, Basis):
            return BasisSum((*self.terms, other))
        if type(other) is int and other == 0:
            return self
        raise LayoutError(
            f"{other!r} + basis stride: an offset and a coordinate do not add; use basis strides in every mode"
        )

    __radd__ = __add__

    def coordinate(self) -> IntTuple:
        """The nested coordinate: axes that no term names are 0."""
        return _nest([(term.path, term.value) for term in self.terms])


def as_value(total: Any) -> Any:
    """What a sum of strides leads to: basis elements make a coordinate, all else is an offset.

    >>> as_value(2 * E(1)), as_value(5)
    ((0, 2), 5)
    """
    return total.coordinate() if isinstance(total, (Basis, BasisSum)) else total


def _nest(terms: list[tuple[tuple[int, ...], int]]) -> IntTuple:
    if all(not path for path, _ in terms):
        total = terms[0][1] if terms else 0
        for _, value in terms[1:]:
            total = total + value
        return total
    groups: dict[int, list[tuple[tuple[int, ...], int]]] = {}
    for path, value in terms:
        if not path:
            raise LayoutError("basis strides of one layout mix an axis with its own sub-axes")
        groups.setdefault(path[0], []).append((path[1:], value))
    return tuple(_nest(groups[axis]) if axis in groups else 0 for axis in range(max(groups) + 1))


@overload
def E() -> int: ...
@overload
def E(axis: int, /, *path: int) -> Basis: ...
def E(*path: int) -> Basis | int:
    """The basis element of one step along axis `path`: E(1) is axis 1, E(0, 1) axis 1 within axis 0, E() the integer 1.

    >>> str(E(0, 1)), E(1).coordinate()
    ('1@1@0', (0, 1))

    Raises LayoutError for an axis that is not a whole number from 0. Source: CuTe, `arithmetic_tuple.hpp`.
    """
    if not path:
        return 1
    if any(type(axis) is not int or axis < 0 for axis in path):
        raise LayoutError(f"E{path}: name axes by whole numbers from 0, the outer axis first")
    return Basis(1, path)


def path_of(step: object) -> tuple[int, ...]:
    """The axes that a stride walks along: () for an integer."""
    return step.path if isinstance(step, Basis) else ()


def value_of(step: int | Basis) -> int:
    """How far a stride goes along its axis."""
    return step.value if isinstance(step, Basis) else step


def has_basis(stride: IntTuple) -> bool:
    """True if some stride is a basis stride."""
    return type(stride) is not int and Basis in map(type, leaves(stride))


def mixed_codomain(stride: IntTuple) -> bool:
    """True if some strides give offsets and others coordinates, or some an axis and others its own sub-axes.

    >>> mixed_codomain((E(0), E(1))), mixed_codomain((E(0), 1))
    (False, True)
    """
    if not has_basis(stride):
        return False
    paths = {path_of(step) for step in leaves(stride) if step != 0}
    return any(far != near and far[: len(near)] == near for near in paths for far in paths)


def as_stride(value: int, path: tuple[int, ...]) -> int:
    """The stride of `value` steps along `path`; an integer where the path is empty."""
    along: Any = Basis(value, path)  # a basis stride stands where types say int
    step: int = along if path else value
    return step
