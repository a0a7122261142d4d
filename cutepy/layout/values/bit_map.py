"""Maps of the bits of an offset that are linear over F2, where addition is XOR; CuTe's swizzle is the named case.

Law: `f(x ^ y) == f(x) ^ f(y)`, and nothing leaves its aligned block of `span` offsets. So a map is known by what it
makes of each bit, its columns; composition is a matrix product and an inverse is Gauss elimination.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeVar

from ...errors import LayoutError, shown
from .methods import Composable

Scalar = TypeVar("Scalar")
Columns = tuple[int, ...]

MOST_BITS = 1024
"""The most bits of an offset that a map looks at."""


def _call(numbers: tuple[object, ...]) -> str:
    """A swizzle in a message."""
    return f"Swizzle({', '.join(map(shown, numbers))})"


@dataclass(frozen=True, slots=True)
class Swizzle(Composable):
    """The map `x -> x ^ ((x & mask) >> shift)` with a mask of `bits` ones above bit `base + max(0, shift)`.

    It is its own inverse, and moves nothing out of an aligned block of `span` offsets.

    >>> Swizzle(3, 4, 3)(0b1010000000), str(Swizzle(3, 4, 3)), Swizzle(3, 4, 3).span
    (720, 'S<3,4,3>', 1024)

    Units: bits of the offset that it is applied to (elements or bytes, as the layout counts).
    Raises LayoutError unless bits and base are at least 0 and |shift| >= bits. Source: CuTe, `swizzle.hpp`.

    >>> s = Swizzle(2, 0, 3)
    >>> bin(s.mask), s.span, s.lowest, s.columns, s.inverse() == s
    ('0b11000', 32, 8, (1, 2, 4, 9, 18), True)
    >>> print(s.zoomed(2))  # of elements, where `s` is of vectors of 4
    S<2,2,3>
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        numbers = (self.bits, self.base, self.shift)
        if any(type(n) is not int for n in numbers) or self.bits < 0 or self.base < 0:
            raise LayoutError(f"{_call(numbers)}: bits and base are whole numbers from 0, shift is a whole number")
        if abs(self.shift) < self.bits:
            raise LayoutError(f"{_call(numbers)}: |shift| must be at least bits, or the bits overlap")
        if self.bits + self.base + abs(self.shift) > MOST_BITS:
            raise LayoutError(f"{_call(numbers)}: no offset has more than {MOST_BITS} bits")

    @property
    def mask(self) -> int:
        """The bits that are read."""
        return ((1 << self.bits) - 1) << (self.base + max(0, self.shift))

    @property
    def span(self) -> int:
        """The size of the aligned blocks that are permuted within themselves: 1 above the highest bit touched."""
        return 1 << (self.bits + self.base + abs(self.shift)) if self.bits else 1

    @property
    def lowest(self) -> int:
        """The least offset that is moved; `span` where none is."""
        return self.mask & -self.mask or self.span

    @property
    def columns(self) -> Columns:
        """What becomes of each bit below `span`."""
        return tuple(self(1 << bit) for bit in range(self.span.bit_length() - 1))

    def inverse(self) -> Swizzle:
        """Itself."""
        return self

    def zoomed(self, zoom: int) -> Swizzle:
        """The same on offsets in units 2**zoom times finer, or coarser where `zoom` is below 0."""
        return Swizzle(self.bits, self.base + _checked_zoom(self, zoom), self.shift)

    def __call__(self, offset: Scalar) -> Scalar:
        bits = _bits_of(offset, self)
        # CuTe: a positive shift moves bits down, a negative one up.
        read = bits & self.mask
        moved: Scalar = bits ^ (read >> self.shift if self.shift >= 0 else read << -self.shift)
        return moved

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"

    def __repr__(self) -> str:
        return f"Swizzle({self.bits}, {self.base}, {self.shift})"


@dataclass(frozen=True, slots=True)
class BitMap(Composable):
    """The map that takes bit j of an offset to `columns[j]`, all joined by XOR; bits above the columns stay.

    >>> mix = BitMap((1, 3, 6))
    >>> mix(5), str(mix), mix.inverse(), BitMap((1, 2, 5)) == BitMap((1, 2, 5, 8))
    (7, 'F2<1,3,6>', BitMap((1, 3, 7)), True)

    Units: bits of the offset, as for a swizzle. Raises LayoutError where a column is no whole number below 2 to the
    number of columns: a map does not reach out of its block.

    >>> m = BitMap((1, 2, 4, 9))  # bit 3 is joined to bit 0
    >>> m(8), m.span, m.lowest, m.base, m.inverse() == m, m.zoomed(1)(16)
    (9, 16, 8, 0, True, 18)
    """

    columns: Columns

    def __post_init__(self) -> None:
        columns = tuple(self.columns) if isinstance(self.columns, Iterable) else (self.columns,)
        if len(columns) > MOST_BITS or any(type(c) is not int or not 0 <= c < 1 << len(columns) for c in columns):
            raise LayoutError(
                f"BitMap({shown(columns)}): each of the {len(columns)} columns is a whole number from 0 to "
                f"{(1 << min(len(columns), 64)) - 1}, what its bit becomes; add columns for more bits"
            )
        # Canonical form: a top bit that maps to itself and that no other bit reaches is left out.
        while columns and columns[-1] == 1 << len(columns) - 1 and max(columns[:-1], default=0) < columns[-1]:
            columns = columns[:-1]  # the last bit stays, and nothing else becomes it
        object.__setattr__(self, "columns", columns)

    @property
    def span(self) -> int:
        """The size of the aligned blocks that are mapped into themselves."""
        return 1 << len(self.columns)

    @property
    def lowest(self) -> int:
        """The least offset that is moved; `span` where none is."""
        moved = [bit for bit, column in enumerate(self.columns) if column != 1 << bit]
        return 1 << min(moved, default=len(self.columns))

    @property
    def base(self) -> int:
        """How many of the lowest bits stay, and are nothing that others become: units of `2**base` stay whole."""
        touched = self.lowest | sum({c & -c for bit, c in enumerate(self.columns) if c != 1 << bit})
        return (touched & -touched).bit_length() - 1

    def zoomed(self, zoom: int) -> BitMap:
        """The same on offsets in units 2**zoom times finer, or coarser where `zoom` is below 0."""
        if _checked_zoom(self, zoom) < 0:
            return BitMap(tuple(column >> -zoom for column in self.columns[-zoom:]))
        return BitMap((*(1 << bit for bit in range(zoom)), *(column << zoom for column in self.columns)))

    def inverse(self) -> BitMap:
        """The map that undoes this one. Raises LayoutError where two offsets become one."""
        image = Image(self.columns)
        solutions = [image.solve(1 << bit) for bit in range(len(self.columns))]
        if (lacking := next((bit for bit, made_of in enumerate(solutions) if made_of is None), None)) is not None:
            raise LayoutError(f"{self} has no inverse: nothing becomes {1 << lacking}, so two offsets become one")
        return BitMap(tuple(made_of for made_of in solutions if made_of is not None))

    def __call__(self, offset: Scalar) -> Scalar:
        bits = moved = _bits_of(offset, self)
        for shift, mask in _moves(self.columns):
            read = bits & mask
            moved = moved ^ (read >> shift if shift >= 0 else read << -shift)
        result: Scalar = moved
        return result

    def __str__(self) -> str:
        return f"F2<{','.join(map(str, self.columns))}>"

    def __repr__(self) -> str:
        return f"BitMap({self.columns!r})"


OfBits: TypeAlias = Swizzle | BitMap


def _checked_zoom(function: OfBits, zoom: int) -> int:
    if type(zoom) is not int or abs(zoom) > MOST_BITS:
        raise LayoutError(f"{function}.zoomed({shown(zoom)}): a whole number, at most {MOST_BITS} bits up or down")
    return zoom


def _bits_of(offset: Any, function: OfBits) -> Any:
    """An offset as what has `& ^ << >>`: an integer, an array, a value of a kernel."""
    if hasattr(offset, "free_symbols"):
        if offset.is_Integer:
            return int(offset)
        raise LayoutError(f"{function}({offset}): the bits of an unknown offset are not known; put values in with subs")
    kind = getattr(getattr(offset, "dtype", None), "kind", "i")  # of arrays; of a kernel's values it is a letter, too
    if not hasattr(offset, "__xor__") or isinstance(offset, set | frozenset | dict | type) or kind not in "iubO":
        raise LayoutError(f"{function}({shown(offset)}): it takes a whole number, or an array of them")
    return offset


@cache
def _moves(columns: Columns) -> tuple[tuple[int, int], ...]:
    """(shift, mask) of each diagonal off the identity: the map is x XOR all of `(x & mask) >> shift`."""
    masks: dict[int, int] = {}
    for bit, column in enumerate(columns):
        # Column j of (map - identity): bit i set means bit j also moves by j - i.
        changed = column ^ 1 << bit
        while changed:
            low = changed & -changed
            shift = bit - low.bit_length() + 1
            masks[shift] = masks.get(shift, 0) | 1 << bit
            changed ^= low
    return tuple(sorted(masks.items()))


def named(columns: Sequence[int]) -> OfBits:
    """The map with these columns: a swizzle where it is one.

    >>> print(named((1, 2, 5)), named((1, 3, 6)), named((1, 2)))
    S<1,0,2> F2<1,3,6> S<0,0,0>
    """
    bit_map = BitMap(tuple(columns))
    moves = _moves(bit_map.columns)
    if not moves:
        return Swizzle(0, 0, 0)
    # A swizzle is one diagonal with contiguous ones and |shift| >= bits.
    (shift, mask), bits = moves[0], moves[0][1].bit_count()
    low = (mask & -mask).bit_length() - 1
    if len(moves) == 1 and mask >> low == (1 << bits) - 1 and abs(shift) >= bits:
        return Swizzle(bits, low - max(0, shift), shift)
    return bit_map


def apply(columns: Sequence[int], vector: int) -> int:
    """The XOR of the columns at the set bits of `vector`.

    >>> apply((1, 2, 5), 0b101)
    4
    """
    total = 0
    while vector:
        low = vector & -vector
        total ^= columns[low.bit_length() - 1]
        vector ^= low
    return total


class Image:
    """The span of columns, reduced so that each pivot bit stands in one vector only (Gauss elimination).

    >>> Image((2, 4)).solve(6), Image((2, 4)).solve(1), Image((2, 4)).rank
    (3, None, 2)
    """

    __slots__ = ("count", "pivots")

    def __init__(self, columns: Iterable[int] = ()) -> None:
        self.pivots: dict[int, tuple[int, int]] = {}
        self.count = 0
        for column in columns:
            self.add(column)

    @property
    def rank(self) -> int:
        """The dimension of the span."""
        return len(self.pivots)

    def add(self, column: int) -> int | None:
        """One column more: which of those before XOR to it, as bits; None if none do, and it is new."""
        own = 1 << self.count
        # `combination` records which columns were XORed, so that solve can name them.
        vector, combination = self._reduced(column, own)
        self.count += 1
        if not vector:
            return combination ^ own
        bit = (vector & -vector).bit_length() - 1
        # Keep the form reduced: the new pivot bit is cleared from all other vectors.
        for other, (reduced, made_of) in self.pivots.items():
            if reduced >> bit & 1:
                self.pivots[other] = reduced ^ vector, made_of ^ combination
        self.pivots[bit] = vector, combination
        return None

    def _reduced(self, vector: int, combination: int) -> tuple[int, int]:
        for bit, (pivot, made_of) in self.pivots.items():
            if vector >> bit & 1:
                vector, combination = vector ^ pivot, combination ^ made_of
        return vector, combination

    def solve(self, target: int) -> int | None:
        """Which columns XOR to `target`, as bits; None if none do."""
        vector, combination = self._reduced(target, 0)
        return None if vector else combination

    def project(self, bit: int) -> int:
        """Column `bit` of a left inverse: the coordinate of the pivot at that bit, 0 where there is none."""
        return self.pivots[bit][1] if bit in self.pivots else 0

    def greatest(self, start: int) -> int:
        """The greatest value of `start` XOR any combination of the columns."""
        # Reduced by highest bits, no two of which are one: setting the highest that is free maximises an XOR.
        basis: list[int] = []
        for vector, _ in self.pivots.values():
            for other in basis:
                vector = min(vector, vector ^ other)
            basis.append(vector)
        for vector in sorted(basis, reverse=True):
            start = max(start, start ^ vector)
        return start
