"""The engine of tensors inside a kernel: loads and stores become statements.

Offsets come as integers, expressions, or object arrays of them. Neighbours that are provably contiguous and aligned
under one predicate become one vec2 or vec4 access; loads are named where they happen, so their order is the program's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import KernelError, TensorError
from ...layout.affine import Congruent
from ...tensor.dtypes import DType, bool_, f32, u32
from ...tensor.engine import Mask, Scalars, Space
from ..ir import Binary, Buffer, Const, Expr, If, Load, Store, call, cast, component, const, in_type, load, settled
from ..ir.place import user_place
from ..ranges import Sum, linear
from ..simplify import from_linear, simplify
from .pack import pack
from .state import Trace

Array = npt.NDArray[Any]  # of numbers or of expressions
_SPACES: dict[str, Space] = {"storage": "gmem", "workgroup": "smem", "private": "rmem"}
#: Elements that one call loads or stores in a thread: far more than any has registers for.
MOST_ELEMENTS = 1 << 16
_BREADTH = {"b": 0, "i": 1, "u": 1, "f": 2}


@dataclass(frozen=True, slots=True)
class Access:
    """Elements [index, index + lanes), for the entries of a table given by `positions`, one list a lane."""

    index: Expr
    positions: tuple[tuple[int, ...], ...]
    where: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class BufferEngine:
    """An array of the kernel, as the engine of a tensor."""

    trace: Trace
    buffer: Buffer
    writable: bool = True
    known: dict[bytes, list[tuple[Expr, tuple[int, ...], tuple[int, ...]]]] = field(default_factory=dict)

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    @property
    def space(self) -> Space:
        return _SPACES[self.buffer.space]

    @property
    def name(self) -> str:
        return self.buffer.name

    def fma(self, a: Expr, b: Expr, c: Expr) -> Expr:
        """`a * b + c` of scalars: fused, in f32 or wider, where they are floats."""
        if self.dtype.kind != "f":
            return a * b + c
        wide = self.dtype.accumulator
        return call("fma", *[x if x.dtype is f32 else cast(x, wide) for x in map(self._expr, (a, b, c))])

    def accumulate(self, table: Array, a: Array, b: Array) -> bool:
        """`self[table[v, m, n]] += sum over k of a[v, m, k] * b[v, n, k]` in registers, a vector at a time; False, and
        nothing done, for other memory. What `gemm` emits element by element comes to the same, the longer way.
        """
        if self.buffer.space != "private" or table.dtype == object or self.dtype.accumulator is not self.dtype:
            return False
        _, m, n = table.shape
        key = table.tobytes()
        if key not in self.known:
            accesses = _accesses(self.trace, table, None, self.dtype, store=True)
            last = [(access, [p[-1] for p in access.positions]) for access in accesses]
            self.known[key] = [
                (access.index, tuple([p // n for p in ps]), tuple([p // (m * n) * n + p % n for p in ps]))
                for access, ps in last
            ]
        place, slices = user_place(), range(a.shape[2])
        left = [_Lanes(a[..., k].reshape(-1), self) for k in slices]
        right = [_Lanes(b[..., k].reshape(-1), self) for k in slices]
        for index, rows, columns in self.known[key]:
            total = load(self.buffer, index, lanes=len(rows), place=place)
            for k in slices:
                total = self.fma(left[k][rows], right[k][columns], total)
            self.trace.emit(Store(self.buffer, index, total, place))
        return True

    def _expr(self, value: Any) -> Expr:
        value = in_type(value, self.dtype)
        return value if isinstance(value, Expr) else const(float(value), self.dtype)

    def load(self, offsets: Scalars, where: Mask = None) -> Any:
        """The elements at `offsets`, each named; 0 where the mask is false."""
        table, place = self._table(offsets), user_place()
        found = np.empty(table.size, object)
        private = self.buffer.space != "storage"
        for access in _accesses(self.trace, table, where, self.dtype):
            value = load(self.buffer, access.index, lanes=len(access.positions), where=access.where, place=place)
            if isinstance(value, Load):
                value = self.trace.let(self.buffer.name, value, uniform=False if private else None, place=place)
            for lane, positions in enumerate(access.positions):
                entry = component(value, lane)
                for position in positions:
                    found[position] = entry
        return found[0] if table.ndim == 0 else found.reshape(table.shape)

    def store(self, offsets: Scalars, values: Scalars, where: Mask = None) -> None:
        """Write the values at `offsets`, in order, where the mask holds."""
        place = user_place()
        if not self.writable:
            raise TensorError(f"{place}: store to {self.name}: it is read-only; pass a writable tensor")
        self.mark_written()
        table = self._table(offsets)
        flat = np.broadcast_to(np.asarray(values, object), table.shape).ravel()
        known: dict[int, Expr] = {}
        for access in _accesses(self.trace, table, where, self.dtype, store=True):
            lanes = []
            for positions in access.positions:
                last = flat[positions[-1]]
                if id(last) not in known:
                    known[id(last)] = self._fit(last, place)
                lanes.append(known[id(last)])
            stmt = Store(self.buffer, access.index, pack(lanes), place)
            self.trace.emit(stmt if access.where is None else If(access.where, (stmt,), place=place))

    def _table(self, offsets: Scalars) -> Array:
        """The offsets of one access as an array; each entry becomes a line of the kernel, so not too many."""
        table = np.asarray(offsets)
        if table.size > MOST_ELEMENTS:
            raise KernelError(
                f"{user_place()}: {table.size} elements of {self.name} in one thread, to be written out one by one; "
                "partition the tensor among the threads, or go through it with gpu.loop"
            )
        return table

    def mark_written(self) -> None:
        """A binding is read_write from its first store on."""
        if not self.buffer.writable:
            object.__setattr__(self.buffer, "writable", True)

    def _fit(self, value: object, place: str) -> Expr:
        """`value` in the element type: numbers are weak, kinds widen, and fractions are never dropped unasked."""
        dtype = self.dtype
        value = in_type(value, dtype)
        if isinstance(value, Expr):
            if value.dtype is dtype:
                return value
            if _BREADTH[value.dtype.kind] > _BREADTH[dtype.kind]:
                raise KernelError(
                    f"{place}: store of a {value.dtype} value in {self.name}, which holds {dtype}: it would lose its "
                    f"fraction or size; convert it with gpu.cast"
                )
            return cast(value, dtype)
        number = value.item() if isinstance(value, np.generic) else value
        if not isinstance(number, bool | int | float):
            raise KernelError(f"{place}: store of {value!r} in {self.name}, which holds {dtype}: it is not a number")
        if isinstance(number, float) and dtype.kind != "f" and not number.is_integer():
            raise KernelError(f"{place}: store of {number} in {self.name}, which holds {dtype}; round it first")
        return const(number, dtype)


class _Lanes(dict[tuple[int, ...], Expr]):
    """Entries of `values`, packed as vectors, each made once."""

    def __init__(self, values: Array, engine: BufferEngine) -> None:
        super().__init__()
        self.table, self.engine = values, engine

    def __missing__(self, places: tuple[int, ...]) -> Expr:
        found = self[places] = pack([self.engine._expr(self.table[i]) for i in places])
        return found


def _accesses(trace: Trace, table: Array, where: Scalars | None, dtype: DType, *, store: bool = False) -> list[Access]:
    """The accesses that cover a table of offsets, in order of the first entry of each; for a store without those that
    never happen."""
    if where is None and table.dtype != object:
        known: dict[int, list[int]] = {}
        for position, number in enumerate(table.ravel().tolist()):
            known.setdefault(number, []).append(position)
        return list(_runs({}, known, None, 1 if dtype is bool_ else 4))
    groups: dict[tuple[object, int], tuple[Sum, Expr | None, dict[int, list[int]]]] = {}
    masks = _masks(trace, where, table)
    for position, offset in enumerate(table.ravel().tolist()):
        mask = masks[position]
        if mask is False and store:
            continue
        form = _offset_form(offset)
        condition = mask if isinstance(mask, Expr) else const(mask, bool_) if mask is not None else None
        key = (frozenset((id(a), c) for a, c in form.terms.items()), id(condition))
        _, _, places = groups.setdefault(key, (form, condition, {}))
        places.setdefault(form.constant, []).append(position)
    most = 1 if dtype is bool_ else 4
    found = [a for form, mask, places in groups.values() for a in _runs(form.terms, places, mask, most)]
    return sorted(found, key=lambda access: min(p[0] for p in access.positions))


def _masks(trace: Trace, where: Scalars | None, table: Array) -> list[Expr | bool | None]:
    """The predicate of each entry: None where it always holds, False where never."""
    if where is None:
        return [None] * table.size
    flat = np.broadcast_to(np.asarray(where, object), table.shape).ravel()
    known: dict[int, Expr | bool | None] = {}
    out: list[Expr | bool | None] = []
    for mask in flat:
        if id(mask) not in known:
            if isinstance(mask, Expr):
                short = trace.open_part(simplify(mask))
                known[id(mask)] = (None if short.value else False) if isinstance(short, Const) else short
            else:
                known[id(mask)] = None if mask else False
        out.append(known[id(mask)])
    return out


def as_index(offset: Expr) -> Expr:
    """An offset as a whole number of one type. Raises KernelError for a fraction or a bool."""
    index = settled(offset)
    if index.dtype.kind not in "iu":
        raise KernelError(f'{user_place()}: an index of type {index.dtype}; convert it with gpu.cast(..., "u32")')
    return index


def _offset_form(offset: object) -> Sum:
    """An offset as a linear form with simple atoms."""
    if isinstance(offset, int):
        return Congruent({}, offset)
    if not isinstance(offset, Expr):
        raise KernelError(f"{user_place()}: offset {offset!r} is neither an integer nor a value of the kernel")
    offset = as_index(offset)
    if isinstance(offset, Binary) and offset.op == "+":
        if isinstance(offset.left, Const):
            return linear(simplify(offset.right)).plus(linear(offset.left))
        if isinstance(offset.right, Const):
            return linear(simplify(offset.left)).plus(linear(offset.right))
    return linear(simplify(offset))


def _runs(terms: dict[Expr, int], places: dict[int, list[int]], where: Expr | None, most: int) -> Iterator[Access]:
    """Runs of 4, 2 and 1 neighbours among offsets that differ by constants, aligned as the coefficients prove."""
    step = gcd(*terms.values()) if terms else 0
    base = from_linear(Congruent(terms, 0), u32) if terms and min(terms.values()) > 0 else None
    order = sorted(places)
    at = 0
    while at < len(order):
        first, lanes = order[at], most
        while lanes > 1:
            whole = order[at : at + lanes]
            if first % lanes == 0 and step % lanes == 0 and len(whole) == lanes and whole[-1] == first + lanes - 1:
                break
            lanes //= 2
        index = base + first if base is not None and first >= 0 else from_linear(Congruent(terms, first), u32)
        yield Access(index, tuple(tuple(places[c]) for c in order[at : at + lanes]), where)
        at += lanes
