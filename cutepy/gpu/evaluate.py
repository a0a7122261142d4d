"""The values of expressions for many invocations at once, as far as the text of a kernel tells them.

What memory holds is not known: a load from a binding that the kernel never writes may be given made-up data, the same
at every visit; anything else that memory decides raises `Unknown`. So does all arithmetic of floats: a device rounds as
it likes, and what it compares then is for it to say.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from .ir import Buffer, Cast, Component, Const, Expr, Load, Param, Vector, is_told, meaning, nodes
from .ir.expr import MOST_DEPTH
from .ir.laws import Array as Array

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
MadeUp = frozenset[Buffer] | None


class Unknown(Exception):
    """A value that only the memory of a running kernel decides."""


def is_opaque(value: Expr) -> bool:
    """Whether only a running kernel tells what `value` is, whatever its operands are."""
    if isinstance(value, Const):
        return False
    vectors = isinstance(value, Vector | Component)
    floats = value.dtype.kind == "f" or (isinstance(value, Cast) and value.value.dtype.kind == "f")
    return vectors or floats or not is_told(value)


class Points:
    """Many invocations at once: their `ids` and iterations, as arrays that broadcast, and what follows from these.

    Where `made_up` is given, the elements of these bindings, which nobody writes, and the parameters are made up.
    """

    def __init__(self, ids: Mapping[Expr, Array], made_up: MadeUp = None) -> None:
        self.ids, self.made_up = ids, made_up
        self.shape = np.broadcast_shapes(*[values.shape for values in ids.values()])
        self._known = dict(ids)

    def of(self, value: Expr) -> Array:
        """`value` there. Raises Unknown for what depends on memory that nobody tells."""
        known = self._known.get(value)
        if known is None:
            if value.depth > MOST_DEPTH:  # lanes of memory are looked at one by one
                for node in nodes(*value.operands, known=self._known):
                    if node.lanes == 1:
                        self.of(node)
            known = self._known[value] = self._compute(value)
        return known

    def whole(self, value: Expr) -> Integers:
        """An integer or a bool there, as integers."""
        found: Integers = self.of(value).astype(np.int64)
        return found

    def total(self, terms: Mapping[Expr, int]) -> Integers:
        """A sum of multiples of atoms, as integers."""
        found: Integers = np.zeros((), np.int64)
        for atom, c in terms.items():
            found = found + c * self.whole(atom)
        return found

    def where(self, guards: Iterable[Expr]) -> Mask:
        """Where all `guards` hold."""
        active: Mask = np.ones(self.shape, bool)
        for guard in guards:
            active = active & self.of(guard).astype(bool)
        return active

    def _compute(self, value: Expr) -> Array:
        match value:
            case Const(value=number, dtype=dtype):
                return np.asarray(number, dtype.numpy)
            case Component(value=Load(where=None) as load, lane=int(lane)) if self.made_up is not None:
                return _contents(load, self.of(load.index), lane, self.made_up)
            case Load(lanes=1, where=None) if self.made_up is not None:
                return _contents(value, self.of(value.index), 0, self.made_up)
            case Param(dtype=dtype) if self.made_up is not None:
                return np.asarray(1 if dtype.kind == "f" else min(max(value.lo, 64), value.hi), dtype.numpy)
        compute = None if is_opaque(value) else meaning(value)
        if compute is None:
            raise Unknown
        with np.errstate(all="ignore"):
            return compute(*map(self.of, value.operands))


def _contents(load: Load, index: Array, lane: int, made_up: frozenset[Buffer]) -> Array:
    """Made-up elements of a binding: numbers below 64, halves of them in floating-point types."""
    buffer = load.buffer
    if buffer not in made_up:
        raise Unknown
    at = index.astype(np.uint64) * np.uint64(buffer.width) + np.uint64(lane)
    with np.errstate(over="ignore"):
        mixed = (at + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    number = (mixed ^ (mixed >> np.uint64(29))) >> np.uint64(33) & np.uint64(63)
    if load.dtype.kind == "f":
        return ((number.astype(np.float64) - 32) / 2).astype(load.dtype.numpy)
    return (number % np.uint64(2) if load.dtype.kind == "b" else number).astype(load.dtype.numpy)
