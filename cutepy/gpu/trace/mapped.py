"""The engine of an array of unknown sizes: coordinates become indices by strides that are parameters.

Law: the element at coordinate (c0, c1, ...) is number `first + c0*s0 + c1*s1 + ...`, computed modulo 2^32. Each access
carries its coordinates and the extents that they are claimed to stay below; where they do, and the host has seen that
the least and the greatest such number are in the memory, the number is an index of it, and nothing wrapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, ClassVar

import numpy as np

from ...errors import KernelError
from ...layout import Layout
from ...layout.affine import Congruent, signed
from ...layout.values.int_tuple import leaves, map_leaves
from ...layout.values.layout import _make
from ...tensor.dtypes import MatrixType, Window, u32
from ...tensor.engine import boxed
from .. import ir
from ..ir.place import user_place
from ..ir.ranges import Sum, linear
from ..ir.simplify import from_linear, simplify
from ..ir.superword import VectorAccess
from .engine import Array, BufferEngine, as_index
from .sizes import KernelSize, as_value

Stride = tuple[ir.Expr | None, int]
"""A parameter, None for 1, times a number."""


@dataclass(frozen=True, slots=True, eq=False)
class MappedEngine(BufferEngine):
    """An array of the kernel of which `extents` and `strides` are not known: what its tensors have in the place of
    offsets are coordinates."""

    extents: tuple[Any, ...] = ()
    strides: tuple[Stride, ...] = ()

    apart: ClassVar[bool] = False
    takes_coordinates: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape whose coordinates they are."""
        return self.extents

    @property
    def unit_axis(self) -> int | None:
        """The axis whose stride is 1, if one's is."""
        return self.strides.index((None, 1)) if (None, 1) in self.strides else None

    def within(self, coordinates: Sequence[tuple[Any, Any]]) -> BufferEngine:
        """As of any array; what stays below an extent that is not known, the coordinates of each access say."""
        return BufferEngine.within(self, [(as_value(x), n) for x, n in coordinates if isinstance(n, int)])

    def place(self, offset: Any) -> tuple[ir.Expr, ir.Coordinates]:
        """The index in the array of the element at a coordinate, and the coordinates that an access there carries."""
        tables = self._coordinates(offset)
        form = self._form([_sum(table[()]) for table in tables])
        known, shape = self._claims([[table[()] for table in tables]])
        return from_linear(form, u32), ((*known, *self.at[0]), (*shape, *self.at[1]))

    def _placed(self, offsets: Any) -> tuple[tuple[Sum | None, Array], Any]:
        """The forms of the indices, and what each access of them carries."""
        tables = self._coordinates(offsets)
        forms = np.empty(tables[0].shape, object)
        for at in np.ndindex(forms.shape):
            forms[at] = self._form([_sum(table[at]) for table in tables])
        flat = [table.ravel() for table in tables]

        def carried(access: VectorAccess) -> ir.Coordinates:
            lanes = [[table[positions[-1]] for table in flat] for positions in access.positions]
            known, shape = self._claims(lanes)
            return (*known, *self.at[0]), (*shape, *self.at[1])

        return (None, forms), carried

    def _coordinates(self, offsets: Any) -> list[Array]:
        """The entries of coordinates, axis by axis, each for every element."""
        if not isinstance(offsets, tuple) and (not isinstance(offsets, int) or offsets):
            raise KernelError(
                f"{user_place()}: offset {offsets!r} of {self.name}, whose sizes are not known: its elements are told "
                "by coordinates alone; index, slice or tile the tensor"
            )
        axes: Any = leaves(offsets) if isinstance(offsets, tuple) else (offsets,)
        axes = (*axes, *(0,) * (len(self.extents) - len(axes)))
        arrays = [np.asarray(axis) if isinstance(axis, np.ndarray) else boxed(axis) for axis in axes]
        return [np.asarray(array, object) for array in np.broadcast_arrays(*arrays)]

    def _form(self, coordinates: Sequence[Sum]) -> Sum:
        """`first + c0*s0 + c1*s1 + ...`; what is constant of a coordinate is a multiple of its stride."""
        total = self.first
        for form, (stride, times) in zip(coordinates, self.strides, strict=True):
            if stride is None:
                total = total.plus(form, times)
                continue
            terms: dict[ir.Expr, int] = {}
            if form.terms:
                step = gcd(*form.terms.values())
                inner = from_linear(Congruent({a: c // step for a, c in form.terms.items()}, 0), u32)
                terms[ir.binary("*", inner, stride)] = signed(step * times)
            if form.constant:
                terms[stride] = terms.get(stride, 0) + signed(form.constant * times)
            total = total.plus(Congruent(terms, 0))
        return total

    def _claims(self, lanes: Sequence[Sequence[Any]]) -> ir.Coordinates:
        """The coordinates of each lane, and the extents."""
        coordinates = [_value(entry) for lane in lanes for entry in lane]
        shape = [n.in_kernel() if isinstance(n, KernelSize) else n for n in self.extents]
        return tuple(coordinates), tuple(shape * len(lanes))

    def nearest_first(self, layout: Layout) -> Layout:
        """A layout of coordinates with numbers for its strides, in an order that they may have: along the axis of
        stride 1 first, then along the others from the last on."""
        others = [axis for axis, step in enumerate(self.strides) if step != (None, 1)]
        far = {axis: 1 << 20 * (len(others) - at) for at, axis in enumerate(others)}

        def number(step: Any) -> int:
            value, path = getattr(step, "value", step), getattr(step, "path", ())
            return value * far.get(path[0], 1) if path and isinstance(value, int) else int(bool(path)) << 99

        return _make(layout.shape, map_leaves(number, layout.stride))

    def load_matrix(self, matrix: MatrixType, window: Window) -> ir.Expr:
        raise self._refused()

    def store_matrix(self, value: ir.Expr, window: Window) -> None:
        raise self._refused()

    def _refused(self) -> KernelError:
        return KernelError(f"{user_place()}: a matrix of {self.name}, whose sizes are not known: stage it")


def _value(entry: Any) -> ir.Expr:
    """An entry of a coordinate as a value of the kernel."""
    return simplify(as_index(ir.as_expr(entry if isinstance(entry, ir.Expr | KernelSize) else int(entry))))


def _sum(entry: Any) -> Sum:
    return linear(_value(entry)) if isinstance(entry, ir.Expr | KernelSize) else Congruent({}, int(entry))
