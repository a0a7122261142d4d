"""Coordinates: between nested coordinates and indices, slicing with `_`, stepping; strides along their axes.

Law: `crd2idx` is the inner product of coordinate and stride, written with `+ * // %` alone, so the same line serves
Python integers, NumPy arrays, SymPy expressions and kernel expressions. Order is colexicographic: the first mode is
fastest. An integer coordinate beyond the size goes on in the last mode, as in CuTe.

Basis strides: `E(i, j)` is one step along axis j of axis i of a coordinate. A layout with those maps to coordinates
instead of offsets; evaluating it adds scaled basis elements, axis by axis. `2 * E(0, 1)` prints as CuTe does, the axes
reversed: `2@1@0`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

from ...errors import CoordinateError, LayoutError
from ...lazy import sympy
from .int_tuple import MAX_DEPTH, IntTuple, leaves, map_leaves, nests_as, prefix_product, product


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
    """The nested coordinate of (path, value) terms: terms of one path add up, axes without a term are 0."""
    # All terms end at this axis: add them.
    if all(not path for path, _ in terms):
        total = terms[0][1] if terms else 0
        for _, value in terms[1:]:
            total = total + value
        return total
    # Otherwise split by the next axis and nest; an axis without a term is 0.
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
    if not is_listed(path):
        raise LayoutError(f"E{path}: {AXES_RULE}")
    return Basis(1, path)


MOST_AXES = 1024
"""Axes beside one another in a coordinate, each of which a coordinate lists; far more than any tensor has."""
AXES_RULE = f"axes are numbered below {MOST_AXES}, and nest at most {MAX_DEPTH} deep"


def is_listed(path: Iterable[int]) -> bool:
    """True if a coordinate with that axis is short enough to be listed: axis n has n axes before it."""
    axes = tuple(path)
    return len(axes) <= MAX_DEPTH and all(axis < MOST_AXES for axis in axes)


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
    return along if path else value


class Underscore:
    """The type of `_`, which keeps a mode in a slice and leaves a mode alone in a tiler."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"

    def __reduce__(self) -> str:
        return "_"


_ = Underscore()

Coordinate: TypeAlias = "IntTuple | Underscore | tuple[Coordinate, ...] | None"


def keeps(entry: object) -> bool:
    """True for `_` and None, which keep a mode whole."""
    return entry is _ or entry is None


def has_underscore(crd: object) -> bool:
    """True if `crd` holds `_` (or None) at any level."""
    if type(crd) is tuple:
        try:
            return any(map(has_underscore, crd))
        except RecursionError:
            raise CoordinateError("a coordinate is nested too deep; write it nested as the shape") from None
    return crd is _ or crd is None


def crd2idx(crd: IntTuple, shape: IntTuple, stride: IntTuple | None = None) -> int:
    """The offset of coordinate `crd`: nested as `shape`, or an integer wherever a mode is taken as a whole.

    >>> crd2idx((1, (1, 2)), (4, (2, 8)), (1, (4, 8)))
    21
    >>> crd2idx(21, (4, (2, 8)), (8, (1, 2)))
    13

    `stride` defaults to the compact strides, so that the result is the colexicographic index.
    Raises CoordinateError where `crd` or `stride` nests in another way than `shape`.
    Source: CuTe, `stride.hpp`.
    """
    _check_tree("crd2idx", crd, shape)
    if stride is not None and not nests_as(shape, stride, lambda _extent, step: not isinstance(step, tuple)):
        raise CoordinateError(f"crd2idx({crd}, {shape}, {stride}): give one stride for each entry of the shape")
    offset: int = inner_product(crd, shape, prefix_product(shape) if stride is None else stride)
    return offset


def _check_tree(call: str, crd: object, tree: object) -> None:
    """Raises CoordinateError where a layout stands in the place of its shape."""
    if hasattr(tree, "cosize"):
        raise CoordinateError(
            f"{call}({crd}, {tree}): it takes an int tuple; give the layout's shape, or call the layout"
        )


class Slicing(LookupError):
    """Inside evaluation: the coordinate holds `_`, so a slice is meant."""


def inner_product(crd: Any, shape: IntTuple, stride: Any) -> Any:
    """The offset of `crd`; of integers, NumPy arrays, SymPy or kernel expressions alike. Raises Slicing at a `_`."""
    # a coordinate is whatever has + * // %: no union names all that a user may bring
    if type(shape) is not tuple or type(crd) is not tuple:
        if type(crd) is not int:
            _check_scalar(crd, shape)
        return flat_index(crd, leaves(shape), leaves(stride)) if type(shape) is tuple else crd * stride
    if len(crd) != len(shape):
        raise CoordinateError(
            f"coordinate {crd} has {len(crd)} modes, the shape {shape} has {len(shape)}; "
            f"give one entry a mode, or one integer for all"
        )
    total: Any = 0
    for entry, extent, step in zip(crd, shape, stride):  # noqa: B905  (lengths were compared)
        # A leaf with an integer is the common case and needs no call.
        if type(entry) is int and type(extent) is int:
            term = entry * step
        else:
            term = inner_product(entry, extent, step)
        # No 0 + x: expressions of a kernel would carry the addition.
        total = term if type(total) is int and total == 0 else total + term
    return total


def flat_index(index: Any, shape: tuple[int, ...], stride: tuple[int, ...]) -> Any:
    """Offset of an integer coordinate over flat modes; the last one is not bounded."""
    total: Any = 0
    last = len(shape) - 1
    for mode, extent in enumerate(shape):
        # Colexicographic: the remainder by each extent, the last mode takes the whole quotient.
        if mode == last:
            term = index * stride[mode]
        elif extent == 1:
            continue
        else:
            term = index % extent * stride[mode]
            index = index // extent
        total = term if type(total) is int and total == 0 else total + term
    return total


def _check_scalar(crd: object, shape: IntTuple) -> None:
    """Raises Slicing for `_` or None, and CoordinateError for what is no number."""
    if crd is _ or crd is None:
        raise Slicing
    if type(crd) is tuple:
        raise CoordinateError(f"coordinate {crd} nests where the shape is the integer {shape}")
    if isinstance(crd, (float, complex, str, bytes, list, dict, set)) or not hasattr(crd, "__floordiv__"):
        hint = (
            f"write the tuple {tuple(crd)}" if isinstance(crd, list) else "coordinates are integers or tuples of them"
        )
        raise CoordinateError(f"coordinate {crd!r} of type {type(crd).__name__}: {hint}")


def idx2crd(idx: IntTuple, shape: IntTuple, stride: IntTuple | None = None) -> IntTuple:
    """The coordinate of index `idx`, nested as `shape`; the inverse of `crd2idx` on compact strides.

    >>> idx2crd(21, (4, (2, 8)))
    (1, (1, 2))

    A coordinate, or one with indices in places, is unfolded entry by entry: `idx2crd((1, 5), (3, (2, 3)))` is
    `(1, (1, 2))`. With `stride`, the entry of a mode is `idx // stride % extent`. The last mode is not bounded where
    strides are compact.

    Raises CoordinateError for a coordinate without an entry for each mode.
    """
    _check_tree("idx2crd", idx, shape)
    if isinstance(idx, tuple):
        if not isinstance(shape, tuple) or len(idx) != len(shape) or stride is not None:
            raise CoordinateError(f"idx2crd({idx}, {shape}): a coordinate has an entry for each mode, and no strides")
        return tuple(map(idx2crd, idx, shape))
    if stride is not None:
        return map_leaves(lambda s, d: idx // d % s if s != 1 and d != 0 else 0, shape, stride)
    if not isinstance(shape, tuple):
        return idx
    result: list[IntTuple] = []
    for entry in shape[:-1]:
        # Take the digits off from the first mode on; the last mode keeps the rest, unbounded.
        extent = product(entry)
        result.append(idx2crd(idx % extent, entry))
        idx = idx // extent
    return (*result, idx2crd(idx, shape[-1])) if shape else ()


def crd2crd(crd: IntTuple, source: IntTuple, target: IntTuple) -> IntTuple:
    """The coordinate of shape `target` with the same index as `crd` in shape `source`.

    >>> crd2crd((1, 5), (4, 8), (4, (2, 4)))
    (1, (1, 2))
    """
    if (
        isinstance(crd, tuple)
        and isinstance(source, tuple)
        and isinstance(target, tuple)
        and len(source) == len(target) == len(crd)
    ):
        return tuple(map(crd2crd, crd, source, target))
    return idx2crd(crd2idx(crd, source), target)


def elem_less(crd: IntTuple, limits: IntTuple) -> bool:
    """True if every entry of a coordinate is below its limit; limits beyond the coordinate are not asked.

    >>> elem_less((3, 4), (5, 6)), elem_less((3, 7), (5, 6)), elem_less((3, (4, 0)), (5, (6, 1)))
    (True, False, True)

    Of unknown sizes it is SymPy's condition. Raises CoordinateError where one nests and the other does not.
    Source: CuTe, `int_tuple.hpp`.
    """
    if isinstance(crd, tuple) and isinstance(limits, tuple):
        if any(hasattr(leaf, "free_symbols") for leaf in leaves((crd, limits))) and len(crd) <= len(limits):
            condition: bool = sympy.And(*map(elem_less, crd, limits))
            return condition
        return len(crd) <= len(limits) and all(map(elem_less, crd, limits))
    nested = isinstance(crd, tuple) or isinstance(limits, tuple)
    if nested or not all(type(entry) is int or hasattr(entry, "free_symbols") for entry in (crd, limits)):
        raise CoordinateError(f"elem_less({crd}, {limits}): an entry and its limit are whole numbers, nested alike")
    below: Any = crd
    result: bool = below < limits
    return result


def increment_coord(crd: IntTuple, shape: IntTuple) -> IntTuple:
    """The next coordinate in colexicographic order; past the end the last mode goes on.

    >>> increment_coord((3, 2), (4, 8)), increment_coord((2, 2, 2), (3, 3, 3))
    ((0, 3), (0, 0, 3))

    Raises CoordinateError for a coordinate that is nested unlike the shape.
    """
    if not isinstance(crd, tuple) or not isinstance(shape, tuple):
        if isinstance(crd, tuple) or isinstance(shape, tuple):
            raise CoordinateError(f"increment_coord({crd}, {shape}): the coordinate must nest as the shape")
        return crd + 1
    if len(crd) != len(shape):
        raise CoordinateError(f"increment_coord({crd}, {shape}): {len(crd)} entries for {len(shape)} modes")
    result: list[IntTuple] = []
    carry = 1
    for mode, (entry, extent) in enumerate(zip(crd, shape, strict=True), 1):
        # Add 1 with carry, mode by mode; nested modes count through their index.
        index = crd2idx(entry, extent) + carry
        if mode < len(shape):
            carry, index = index // product(extent), index % product(extent)
        result.append(idx2crd(index, extent))
    return tuple(result)


def slice_(crd: Coordinate, tree: IntTuple, call: str = "slice_") -> IntTuple:
    """The parts of `tree` that stand where `crd` has `_`; of `dice`, the dual, those where it has a number.

    >>> slice_((2, _), (4, (2, 3))), slice_((2, (_, 1)), (4, (2, 3)))
    (((2, 3),), (2,))
    >>> slice_(_, (4, 8)), slice_((2, _), (4, (2, 3)), "dice")
    ((4, 8), (4,))
    """
    _check_tree(call, crd, tree)
    if isinstance(crd, tuple):
        return _select(crd, tree, call == "slice_")
    return tree if keeps(crd) is (call == "slice_") else ()


def _select(crd: tuple[Coordinate, ...], tree: IntTuple, wanted: bool) -> tuple[IntTuple, ...]:
    """The entries of `tree` at which `crd` has `_` (`wanted`), or a number (not `wanted`), of all depths in one
    tuple."""
    if not isinstance(tree, tuple) or len(crd) != len(tree):
        raise CoordinateError(f"coordinate {crd} does not nest as {tree}")
    chosen: list[IntTuple] = []
    for entry, mode in zip(crd, tree, strict=True):
        if isinstance(entry, tuple):
            chosen += _select(entry, mode, wanted)
        elif keeps(entry) is wanted:
            chosen.append(mode)
    return tuple(chosen)


def zero_underscores(crd: Coordinate) -> IntTuple:
    """`crd` with every `_` replaced by 0: the first coordinate that a slice keeps."""
    if isinstance(crd, tuple):
        return tuple(map(zero_underscores, crd))
    return 0 if crd is None or isinstance(crd, Underscore) else crd
