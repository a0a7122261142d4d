"""Engines over words: several integers in one, or a complex number in two.

Law: a load is what NumPy has at these bits of the memory, in the order of its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..errors import TensorError
from ..layout.values.int_tuple import leaves
from ..lazy import numpy as np
from .decompositions import Language
from .dtypes import DType, SmallFloat
from .engine import Array, Engine, Mask, Scalars, Space, check_writable
from .small_floats import narrowed, widened


class _HostLanguage(Language):
    """The language of decompositions over NumPy's arrays of 32-bit numbers."""

    def call(self, name: str, *values: Any) -> Any:
        return {"min": np.minimum, "max": np.maximum}[name](*values)

    def select(self, condition: Any, then: Any, other: Any) -> Any:
        return np.where(condition, then, other)

    def cast(self, value: Any, dtype: DType) -> Array:
        return np.asarray(value).astype(dtype.numpy)

    def bits(self, value: Any, dtype: DType) -> Array:
        return np.asarray(value).view(dtype.numpy)


_HOST = _HostLanguage()


@dataclass(frozen=True, slots=True, eq=False)
class PackedEngine:
    """Elements of `dtype` in the elements of `words`: integers of 4, 8 or 16 bits, small floats, or others of as many
    bits as a word.

    Element i of k in a word is bits [i * b, (i + 1) * b) of word i // k, the lowest first, as memory has them in the
    order of its bytes. Loads and stores go by whole words, in NumPy here, and in a kernel by what its engine offers:
    `unpack(words, inside, dtype)`, and `store_packed(places, values, where)` that takes whole words alone.

    >>> from cutepy.tensor import allocate, u8, u32
    >>> packed = PackedEngine(allocate(u32, 2), u8)
    >>> packed.store(np.arange(4), np.array([1, 2, 3, 4]))
    >>> packed.per, hex(packed.words.load(0)), packed.load(2), packed.split(6)
    (4, '0x4030201', np.uint8(3), (1, 2))
    >>> packed.name, packed.space, packed.writable, packed.confined, packed.within(()) is packed
    ('', '', True, True, True)
    >>> packed.takes_coordinates, packed.shape, packed.nearest_first  # of unknown sizes alone
    (False, (), None)
    """

    words: Engine
    dtype: DType
    axis: int | None = None
    """Where words are told by coordinates, so are elements: they share a word along this axis."""

    @property
    def takes_coordinates(self) -> bool:
        return self.axis is not None

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape whose coordinates they are."""
        extents: tuple[Any, ...] = getattr(self.words, "shape", ())
        return tuple([n * self.per if axis == self.axis else n for axis, n in enumerate(extents)])

    @property
    def nearest_first(self) -> Any:
        """What the words know of the order of coordinates in memory, if anything."""
        return getattr(self.words, "nearest_first", None)

    @property
    def space(self) -> Space:
        return self.words.space

    @property
    def writable(self) -> bool:
        return self.words.writable

    @property
    def name(self) -> str:
        return self.words.name

    @property
    def confined(self) -> bool:
        return bool(getattr(self.words, "confined", False))

    @property
    def per(self) -> int:
        """Elements in a word."""
        return self.words.dtype.bits // self.dtype.bits

    def within(self, coordinates: Any) -> PackedEngine:
        """The same elements, chosen by these coordinates too, where the words' engine carries them along."""
        claim = getattr(self.words, "within", None)
        return self if claim is None else replace(self, words=claim(coordinates))

    def split(self, offsets: Any) -> tuple[Any, Any]:
        """The words, and where the elements are inside of them."""
        if self.axis is not None:
            axes = [*leaves(offsets)] if isinstance(offsets, tuple) else [offsets]
            axes += [0] * (self.axis + 1 - len(axes))
            inside = axes[self.axis] % self.per
            axes[self.axis] = axes[self.axis] // self.per
            return tuple(axes), inside
        table = np.asarray(offsets) if isinstance(offsets, (list, tuple)) else offsets
        return table // self.per, table % self.per

    def load(self, offsets: Scalars, where: Mask = None) -> Any:
        """The elements at `offsets`; 0 where the mask is false."""
        places, inside = self.split(offsets)
        return getattr(self.words, "unpack", unpacked)(self.words.load(places, where), inside, self.dtype)

    def store(self, offsets: Scalars, values: Scalars, where: Mask = None) -> None:
        """Write the elements at `offsets`.

        Raises TensorError for values that they do not hold; in a kernel, KernelError for a part of a word: another
        thread may write the rest.
        """
        check_writable(self)
        # A kernel writes whole words only: two threads that share a word would race.
        in_kernel = getattr(self.words, "store_packed", None)
        if in_kernel is not None:
            in_kernel(self.split(offsets), self.dtype, values, where)
            return
        places, inside = self.split(np.asarray(offsets))
        fitting = np.broadcast_to(self._fitting(values), places.shape)
        chosen = np.broadcast_to(True if where is None else where, places.shape)
        # On the host: read-modify-write of the word, one field position at a time, so no word is written twice at
        # once.
        mask = (1 << self.dtype.bits) - 1
        for field in range(self.per):
            here = chosen & (inside == field)
            if here.any():
                held = _bits(self.words.load(places[here]))
                new = (held & ~(mask << field * self.dtype.bits)) | (fitting[here] & mask) << field * self.dtype.bits
                self.words.store(places[here], new.astype(f"u{self.words.dtype.bytes}").view(self.words.dtype.numpy))

    def _fitting(self, values: Scalars) -> Array:
        """The values as bit patterns in int64, one an element. Raises TensorError for what the type does not hold."""
        if isinstance(self.dtype, SmallFloat):
            return np.asarray(narrowed(_HOST, _rounded_to_odd(values), self.dtype), np.int64)
        if self.dtype.kind == "f":
            return _bits(np.asarray(values, self.dtype.numpy))
        array = np.asarray(values)
        bits, signed = self.dtype.bits, self.dtype.kind == "i"
        # Two's complement range of b bits.
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if array.dtype.kind not in "iu" or (array.size and not low <= int(array.min()) <= int(array.max()) <= high):
            raise TensorError(f"store in {self.name or 'a packed tensor'}: {self.dtype} holds {low} to {high}")
        return array.astype(np.int64)


class PairEngine(PackedEngine):
    """Complex numbers over floats: element i is words 2 i and 2 i + 1, its real and its imaginary part.

    In a kernel, whose engine `joins` two of its values, an element is what that gives.
    """

    __slots__ = ()

    def load(self, offsets: Scalars, where: Mask = None) -> Any:
        """The elements at `offsets`; 0 where the mask is false."""
        mask = None if where is None else np.asarray(where)[..., None]
        return getattr(self.words, "joined", _joined)(self.words.load(self.split(offsets)[0], mask))

    def store(self, offsets: Scalars, values: Scalars, where: Mask = None) -> None:
        """Write the elements at `offsets`, where the mask holds."""
        places, mask = self.split(offsets)[0], None if where is None else np.asarray(where)[..., None]
        self.words.store(places, getattr(self.words, "parted", _parted)(values), mask)

    def split(self, offsets: Any) -> tuple[Any, Any]:
        """The words of each element, along a last axis."""
        # Real part at 2 i, imaginary part at 2 i + 1, along a new last axis.
        first = np.asarray(offsets)
        places = np.empty((*first.shape, 2), first.dtype)
        places[..., 0], places[..., 1] = first * 2, first * 2 + 1
        return places, None


def words_as(words: Engine, dtype: DType) -> PackedEngine:
    """Elements of `dtype` in words."""
    return (PairEngine if dtype.kind == "c" else PackedEngine)(words, dtype)


def _joined(words: Array) -> Any:
    return (words[..., 0] + 1j * words[..., 1]).astype(np.complex64)[()]


def _parted(values: Scalars) -> Array:
    given: Array = np.asarray(values)
    return np.stack([given.real, given.imag], -1).astype(np.float32)


def _bits(words: Any) -> Array:
    """What words hold, as integers without a sign."""
    table = np.asarray(words)
    return table.view(f"u{table.dtype.itemsize}").astype(np.int64)


def _rounded_to_odd(values: Scalars) -> Array:
    """Numbers as f32, a last bit of 1 telling that some were lost: rounded again, they are as if rounded once."""
    with np.errstate(all="ignore"):
        exact = np.asarray(values, np.float64)
        near = exact.astype(np.float32)
        toward_0 = np.where(np.abs(near) > np.abs(exact), np.nextafter(near, np.float32(0)), near)
    inexact = (near != exact) & ~np.isnan(exact)
    found: Array = (toward_0.view(np.uint32) | inexact).view(np.float32)
    return found


def unpacked(words: Any, inside: Any, dtype: DType) -> Any:
    """Numbers out of words of the host."""
    # Shift the field down and mask it.
    field = (_bits(words) >> np.asarray(inside) * dtype.bits) & ((1 << dtype.bits) - 1)
    if isinstance(dtype, SmallFloat):
        return widened(_HOST, np.asarray(field, np.uint32), dtype)[()]
    if dtype.kind == "f":
        return field.astype(f"u{dtype.bytes}").view(dtype.numpy)[()]
    # Sign extension of b bits: (x ^ 2^(b-1)) - 2^(b-1).
    half = 1 << dtype.bits - 1 if dtype.kind == "i" else 0
    return ((field ^ half) - half).astype(dtype.numpy)[()]
