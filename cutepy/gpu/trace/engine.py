"""The engine of tensors inside a kernel: loads and stores become statements, side by side they become vectors.

Offsets come as integers, expressions, or object arrays of them. Neighbours that are provably contiguous and aligned
under one predicate become one vec2 or vec4 access; loads are named where they happen, so their order is the program's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...errors import KernelError, TensorError
from ...layout import ComposedLayout
from ...layout.affine import Congruent, signed
from ...tensor.dtypes import DType, MatrixType, Window, bool_, f32, u32
from ...tensor.engine import Mask, Moved, Scalars, Space
from .. import ir
from ..ir.operators import beyond
from ..ir.place import user_place
from ..ir.ranges import Sum, linear, range_of
from ..ir.simplify import from_linear, simplify
from ..ir.superword import VectorAccess, pack, runs
from .complex import joined, parted
from .packing import object_array, unpack, whole_words
from .sizes import as_value
from .state import Trace

Array = npt.NDArray[Any]  # of numbers or of expressions
ORIGIN: Sum = Congruent({}, 0)
_SPACES: dict[ir.AddressSpace, Space] = {
    ir.AddressSpace.STORAGE: "gmem",
    ir.AddressSpace.WORKGROUP: "smem",
    ir.AddressSpace.PRIVATE: "rmem",
}
#: Elements that one call loads or stores in a thread: far more than any has registers for.
MOST_ELEMENTS = 1 << 16
_BREADTH = {"b": 0, "i": 1, "u": 1, "f": 2}


@dataclass(frozen=True, slots=True, eq=False)
class BufferEngine:
    """An array of the kernel, as the engine of a tensor. Its offsets count from the element `first` on.

    Arguments that share memory are one array: what is said of the elements of one `argument` is not said of another's.
    """

    trace: Trace
    buffer: ir.Buffer
    writable: bool = True
    at: ir.Coordinates = ir.NO_COORDINATES
    first: Sum = ORIGIN
    argument: str = ""

    apart: ClassVar[bool] = True

    def within(self, coordinates: Sequence[tuple[Any, int]]) -> BufferEngine:
        """The same elements, chosen by these coordinates too: each stays below its extent wherever an access happens.
        What the range of a coordinate tells is not carried along."""
        more = [(simplify(as_index(ir.as_expr(value))), extent) for value, extent in coordinates]
        more = [(x, extent) for x, extent in more if not (0 <= range_of(x)[0] and range_of(x)[1] < extent)]
        if not more:
            return self
        (known, shape), (new, extents) = self.at, zip(*more, strict=True)
        return replace(self, at=((*known, *new), (*shape, *extents)))

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    @property
    def space(self) -> Space:
        return _SPACES[self.buffer.space]

    @property
    def name(self) -> str:
        return self.argument or self.buffer.name

    @property
    def most(self) -> int:
        """Elements of one access."""
        return 1 if self.dtype.kind in "bm" else 4

    def fma(self, a: ir.Expr, b: ir.Expr, c: ir.Expr) -> ir.Expr:
        """`a * b + c` of scalars: fused, in f32 or wider, where they are floats."""
        if self.dtype.kind == "m":
            return ir.multiply_matrices(a, b, c)
        if self.dtype.kind != "f":
            return a * b + c
        wide = self.dtype.accumulator
        return ir.call("fma", *[x if x.dtype is f32 else ir.cast(x, wide) for x in map(self._expr, (a, b, c))])

    def _expr(self, value: Any) -> ir.Expr:
        if isinstance(value, ir.Expr):
            return value.known_in(self.dtype) if isinstance(value, ir.Weak) else value
        return ir.const(float(value), self.dtype)

    def load(self, offsets: Scalars | Moved, where: Mask = None, *, most: int = 4) -> Any:
        """The elements at `offsets`, each named, up to `most` neighbours at once; 0 where the mask is false."""
        ((base, table), carried), place = self._placed(offsets), user_place()
        found = np.empty(table.size, object)
        private = self.buffer.space != ir.AddressSpace.STORAGE
        # One load an access; the entries of the table are its lanes.
        for access in _accesses(self.trace, table, where, min(most, self.most), base=base):
            self._check_register(access)
            lanes, where = len(access.positions), access.where
            value = ir.load(self.buffer, access.index, lanes=lanes, where=where, place=place, at=carried(access))
            if isinstance(value, ir.Load):
                value = self.trace.let(self.buffer.name, value, uniform=False if private else None, place=place)
                if self.trace.bounds:
                    self.say_bounds([ir.component(value, lane) for lane in range(lanes)], access.where)
            for lane, positions in enumerate(access.positions):
                entry = ir.component(value, lane)
                for position in positions:
                    found[position] = entry
        return found[0] if table.ndim == 0 else found.reshape(table.shape)

    def say_bounds(self, values: Sequence[ir.Expr], where: ir.Expr | None) -> None:
        """What the user says of the elements of the array, of those that were loaded; else the value is 0."""
        for bounds in self.trace.bounds:
            mine = bounds.buffer is self.buffer and bounds.argument == self.argument
            if not mine or not any(bounds.block is block for block in self.trace.blocks):
                continue
            for value in values:
                inside = (value >= bounds.low) & (value < bounds.high)
                told = simplify(inside if where is None else ir.unary("!", where) | inside)
                self.trace.emit(ir.Assume(told, bounds.said, bounds.place))

    def store(self, offsets: Scalars | Moved, values: Scalars, where: Mask = None) -> None:
        """Write the values at `offsets`, in order, where the mask holds."""
        place = user_place()
        if not self.writable:
            raise TensorError(f"{place}: store to {self.name}: it is read-only; pass a writable tensor")
        self.mark_written()
        (base, table), carried = self._placed(offsets)
        given = np.asarray(values, object)
        try:
            flat = np.broadcast_to(given, table.shape).ravel()
        except ValueError:
            raise KernelError(
                f"{place}: store of an array of shape {given.shape} in {self.name}, at {table.size} of its elements; "
                "store one value in each, by a coordinate, gpu.loop or copy"
            ) from None
        known: dict[int, ir.Expr] = {}
        for access in _accesses(self.trace, table, where, self.most, base=base, store=True):
            self._check_register(access)
            lanes = []
            for positions in access.positions:
                last = flat[positions[-1]]
                # A value that several entries store is converted once.
                if id(last) not in known:
                    known[id(last)] = self._fit(last, place)
                lanes.append(known[id(last)])
            stmt = ir.Store(self.buffer, access.index, pack(lanes), place, *carried(access))
            self.trace.emit(stmt if access.where is None else ir.If(access.where, (stmt,), place=place))

    @staticmethod
    def coordinate(value: Any) -> ir.Expr:
        """A number or a size as a whole number that is not negative, modulo 2^32."""
        return simplify(ir.cast(as_index(ir.as_expr(as_value(value))), u32))

    @staticmethod
    def choose(mask: Any, value: Any, other: Any) -> Any:
        """`value` where the mask holds, else `other`."""
        if not isinstance(mask, ir.Expr):
            return value if mask else ir.as_expr(other, value.dtype)
        return ir.select(mask, value, ir.as_expr(other, value.dtype))

    def unpack(self, words: Any, inside: Any, dtype: DType) -> Any:
        """Parts of words that were loaded."""
        return unpack(words, inside, dtype)

    def store_packed(self, split: tuple[Any, Any], dtype: DType, values: Any, where: Mask = None) -> None:
        """Write whole words, given by their parts. Raises KernelError for a part of a word."""
        places: Any
        places, words, masks = whole_words(split, dtype, values, where, self.name)
        self.store(places, object_array([ir.cast(word, self.dtype, bits=True) for word in words]), masks)

    joined, parted = staticmethod(joined), staticmethod(parted)

    def load_matrix(self, matrix: MatrixType, window: Window) -> ir.Expr:
        """The matrix that lies there, to be put in a register at once."""
        index, place = self._first(window), user_place()
        return ir.load_matrix(matrix, self.buffer, index, (window.stride, window.by_columns), place, self.at)

    def store_matrix(self, value: ir.Expr, window: Window) -> None:
        """Write a matrix there."""
        place = user_place()
        if not self.writable:
            raise TensorError(f"{place}: store to {self.name}: it is read-only; pass a writable tensor")
        self.mark_written()
        index = self._first(window)
        self.trace.emit(ir.MatrixStore(self.buffer, index, value, window.stride, window.by_columns, place, *self.at))

    def _check_register(self, access: VectorAccess) -> None:
        """Matrices have registers of their own, chosen when the kernel is written."""
        if self.dtype.kind == "m" and not isinstance(access.index, ir.Const):
            raise KernelError(
                f"{user_place()}: matrix {access.index} of {self.name}: which matrix is meant has to be known now; "
                "count with gpu.unroll"
            )

    def _first(self, window: Window) -> ir.Expr:
        """Where a matrix begins."""
        if self.buffer.space == ir.AddressSpace.PRIVATE:
            raise KernelError(f"{user_place()}: a matrix of {self.name}: registers of one thread have none; stage it")
        return self.place(window.offset)[0]

    def place(self, offset: Any) -> tuple[ir.Expr, ir.Coordinates]:
        """The index in the array of the element at an offset, and the coordinates that an access there carries."""
        if self.first is ORIGIN:
            return simplify(as_index(ir.as_expr(offset))), self.at
        return from_linear(_offset_form(offset).plus(self.first), u32), self.at

    def _placed(self, offsets: Any) -> tuple[tuple[Sum | None, Array], Callable[[VectorAccess], ir.Coordinates]]:
        """The offsets of one access as a base and a table, and what each access of them carries."""
        return self._table(offsets), lambda access: self.at

    def _table(self, offsets: Scalars | Moved) -> tuple[Sum | None, Array]:
        """The offsets of one access: what all are moved by, and an array; each entry becomes a line of the kernel, so
        not too many."""
        if isinstance(offsets, ir.Expr):
            return _offset_form(offsets).plus(self.first), np.zeros((), int)
        base = _offset_form(offsets.base).plus(self.first) if isinstance(offsets, Moved) else None
        table = offsets.table if isinstance(offsets, Moved) else np.asarray(offsets)
        if table.size > MOST_ELEMENTS:
            raise KernelError(
                f"{user_place()}: {table.size} elements of {self.name} in one thread, to be written out one by one; "
                "partition the tensor among the threads, or go through it with gpu.loop"
            )
        if base is not None and isinstance(offsets, Moved) and offsets.through is not None:
            return None, _mapped(base, offsets.through, table)
        if base is None and self.first is not ORIGIN:
            if table.dtype != object:
                return self.first, table
            forms = np.empty(table.shape, object)
            for at, offset in np.ndenumerate(table):
                forms[at] = _offset_form(offset).plus(self.first)
            table = forms
        return base, table

    def mark_written(self) -> None:
        """A binding is read_write from its first store on."""
        if not self.buffer.writable:
            object.__setattr__(self.buffer, "writable", True)

    def _fit(self, value: object, place: str) -> ir.Expr:
        """`value` in the element type: numbers are weak, kinds widen, and fractions are never dropped unasked."""
        dtype = self.dtype
        if isinstance(dtype, MatrixType):
            given = value if isinstance(value, ir.Expr) else None
            found = given if given is not None and given.dtype.kind == "m" else ir.fill_matrix(dtype, value)
            if found.dtype is not dtype:
                raise KernelError(f"{place}: store of a {found.dtype} in {self.name}, which holds {dtype}")
            return found
        if isinstance(value, ir.Expr) and value.dtype.kind == "m":
            raise KernelError(
                f"{place}: a {value.dtype} is held by a whole subgroup, and has no elements to store in {self.name}; "
                "copy the fragment to shared memory, and read them there"
            )
        value = ir.in_type(as_value(value), dtype)
        if isinstance(value, ir.Expr):
            if value.dtype is dtype:
                return value
            if _BREADTH[value.dtype.kind] > _BREADTH[dtype.kind]:
                raise KernelError(
                    f"{place}: store of a {value.dtype} value in {self.name}, which holds {dtype}: it would lose its "
                    f"fraction or size; convert it with gpu.cast"
                )
            return ir.cast(value, dtype)
        number = value.item() if isinstance(value, np.generic) else value
        if not isinstance(number, bool | int | float):
            raise KernelError(f"{place}: store of {value!r} in {self.name}, which holds {dtype}: it is not a number")
        if isinstance(number, float) and dtype.kind != "f" and not number.is_integer():
            raise KernelError(f"{place}: store of {number} in {self.name}, which holds {dtype}; round it first")
        if limits := beyond(number, dtype):
            raise KernelError(f"{place}: store of {number} in {self.name}, {limits}; use another element type")
        return ir.const(number, dtype)


def _accesses(
    trace: Trace, table: Array, where: Scalars | None, most: int, *, base: Sum | None = None, store: bool = False
) -> list[VectorAccess]:
    """The accesses that cover a table of offsets from `base`, in order of the first entry of each; for a store without
    those that never happen."""
    # Constant offsets from one base need no groups.
    if where is None and (base is not None or table.dtype != object):
        known: dict[int, list[int]] = {}
        begin = 0 if base is None else base.constant
        for position, number in enumerate(table.ravel().tolist()):
            known.setdefault(signed(begin + number), []).append(position)
        one = runs({} if base is None else base.terms, known, None, most)
        return list(one) if base is None else sorted(one, key=_begins)
    groups: dict[tuple[object, int], tuple[Sum, ir.Expr | None, dict[int, list[int]]]] = {}
    masks = _masks(trace, where, table)
    for position, offset in enumerate(table.ravel().tolist()):
        mask = masks[position]
        if mask is False and store:
            continue
        form = _offset_form(offset) if base is None else Congruent(base.terms, signed(base.constant + offset))
        condition = mask if isinstance(mask, ir.Expr) else ir.const(mask, bool_) if mask is not None else None
        # Offsets that differ by a constant, under one predicate, may share a vector.
        key = (frozenset((id(a), c) for a, c in form.terms.items()), id(condition))
        _, _, places = groups.setdefault(key, (form, condition, {}))
        places.setdefault(form.constant, []).append(position)
    found = [a for form, mask, places in groups.values() for a in runs(form.terms, places, mask, most)]
    return sorted(found, key=_begins)


def _begins(access: VectorAccess) -> int:
    """The first entry of a table that an access serves."""
    return min(p[0] for p in access.positions)


def _masks(trace: Trace, where: Scalars | None, table: Array) -> list[ir.Expr | bool | None]:
    """The predicate of each entry: None where it always holds, False where never."""
    if where is None:
        return [None] * table.size
    flat = np.broadcast_to(np.asarray(where, object), table.shape).ravel()
    known: dict[int, ir.Expr | bool | None] = {}
    out: list[ir.Expr | bool | None] = []
    for mask in flat:
        # A predicate that the block around implies is dropped.
        if id(mask) not in known:
            if isinstance(mask, ir.Expr):
                short = trace.open_part(simplify(mask))
                known[id(mask)] = (None if short.value else False) if isinstance(short, ir.Const) else short
            else:
                known[id(mask)] = None if mask else False
        out.append(known[id(mask)])
    return out


def as_index(offset: ir.Expr) -> ir.Expr:
    """An offset as a whole number of one type. Raises KernelError for a fraction or a bool."""
    index = ir.settled(offset)
    if index.dtype.kind not in "iu":
        raise KernelError(f'{user_place()}: an index of type {index.dtype}; convert it with gpu.cast(..., "u32")')
    return index


def _offset_form(offset: object) -> Sum:
    """An offset as a linear form with simple atoms."""
    if isinstance(offset, Congruent):
        return offset
    if isinstance(offset, int):
        return Congruent({}, offset)
    if not isinstance(offset, ir.Expr):
        raise KernelError(f"{user_place()}: offset {offset!r} is neither an integer nor a value of the kernel")
    offset = as_index(offset)
    if isinstance(offset, ir.Binary) and offset.op == "+":
        if isinstance(offset.left, ir.Const):
            return linear(simplify(offset.right)).plus(linear(offset.left))
        if isinstance(offset.right, ir.Const):
            return linear(simplify(offset.left)).plus(linear(offset.right))
    return linear(simplify(offset))


def _mapped(base: Sum, through: ComposedLayout, table: Array) -> Array:
    """`base + outer(offset + table)` of a map of bits, as linear forms. Where the offset is made of whole units of the
    map, whose lowest bits stay and decide nothing, one form serves all that is in a unit; and blocks of its span are
    mapped alike."""
    outer: Any = through.outer
    offset, unit = through.offset, 1 << outer.base
    # The unit: neighbours whose low bits the map keeps, so one form serves them all.
    begins = _offset_form(offset)
    if any(step % unit for step in begins.terms.values()):
        unit = 1
    inside = (table + begins.constant) % unit
    found: dict[int, Sum] = {}
    forms = np.empty(table.shape, object)
    for at, first in np.ndenumerate(table - inside):
        place = int(first) % outer.span
        if place not in found:
            found[place] = base.plus(_offset_form(outer(offset + place)))
        form = found[place]
        forms[at] = Congruent(form.terms, signed(form.constant + int(first - place + inside[at])))
    return forms
