"""The search for a copy's thread-value layout: candidate distributions of a tile to threads, ranked by their
transactions.

Law: a layout that reaches each element once is an order of digits of the tile's index; so the widest accesses fix some
digits, and the threads count some of the others. Where a memory goes through the tile in another order, the digits of
that order are others, unless all are bits: 4 threads take 12 elements in a row though rows of the tile have 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, combinations, islice, permutations
from math import prod
from typing import NamedTuple

from ...errors import CompositionError, LayoutError
from ..values.bit_map import Columns, Image, Swizzle, apply
from ..values.composed import AnyLayout, make_composed_layout, plain_part
from ..values.coordinates import idx2crd
from ..values.int_tuple import IntTuple, leaves, show
from ..values.layout import Layout, flat_modes, make_layout
from .banks import WORD, fetched, served, served_together
from .bits import columns_of, linear_layout_of
from .composition import composition
from .f2_bank_rows import independent, rank_of
from .inverse import left_inverse
from .operation import on_any
from .rearrange import coalesce, from_modes
from .table import from_offsets
from .thread_values import numbers_of

SEGMENT = 32
"""The bytes of a transaction."""
MOST_TRIED = 1 << 12
"""The most orders of digits that are tried."""
MOST_CUTS = 64
"""The most ways to cut the tile's index into digits that are tried."""
MOST_REORDERED = 64
"""The most other numberings of a small tile's elements that are tried."""
MOST_CUTS_KEPT = 4
"""The most of those, the best by a few accesses, of which all orders are tried; more of small tiles."""
SMALL = 1 << 10
"""The most elements in all ways to cut the index of a small tile."""
MOST_ORDERS = 64
"""The most choices of lanes, the best by two accesses, that are looked at further."""
MOST_COUNTED = 1 << 13
"""The most threads' accesses that are counted to find the best order."""
Digit = tuple[int, int]
"""Its extent, and its step in the tile's index."""
Cut = tuple[list[Digit], list[Digit]]
"""The digits of what is moved at once, and the others."""
Sampled = tuple[int, int, tuple[Digit, ...]]
"""What a few accesses take, a number, and the digits of the lanes that do so."""
Costed = tuple[int, "Distribution", list[tuple[int, int]]]
"""The transactions of all accesses, their distribution, and for each side its transactions and the fewest possible."""


class CopySide(NamedTuple):
    """One side of a copy: its name, layout, memory, the bytes that its first element is known to be aligned to, and,
    where it is `listed`, the offset of each element."""

    name: str
    layout: AnyLayout
    space: str
    align: int
    offsets: tuple[int, ...] = ()

    def listed(self) -> CopySide:
        """The same with its offsets. Raises LayoutError for a layout of coordinates or of too many elements."""
        return self._replace(offsets=tuple(numbers_of("widest_copy", self.layout)))

    def cost(self, firsts: Sequence[int], wide: int, lanes: int, banks: int) -> tuple[int, int]:
        """The transactions of one access by all threads, or rounds in shared memory; and those its bytes need."""
        # Costs repeat with the banks' row or the segment, so the first address is reduced for the cache.
        period = banks * WORD if self.space == "smem" else SEGMENT
        start = min(firsts) // period * period
        return _access_cost(self.space, tuple(first - start for first in firsts), wide, lanes, banks)


@lru_cache(maxsize=1 << 13)
def _access_cost(space: str, firsts: tuple[int, ...], wide: int, lanes: int, banks: int) -> tuple[int, int]:
    """What accesses take, and need. Most orders of a tile ask for the same bytes, some segments or rows of banks on."""
    if space == "smem":
        phases = list(served(firsts, wide, lanes, banks))
        return sum(phase.ways for phase in phases), sum(phase.perfect(banks) for phase in phases)
    counts = list(fetched(firsts, wide, lanes, SEGMENT))
    return sum(touched for touched, _ in counts), sum(perfect for _, perfect in counts)


class Distribution(NamedTuple):
    """A distribution of a tile: the digits that number threads, those that number values, `wide` values an access."""

    threads: tuple[Digit, ...]
    values: tuple[Digit, ...]
    wide: int


class CopyProblem(NamedTuple):
    """A copy to be planned: two sides of one tile, the threads, and the memory system that counts its accesses."""

    shape: IntTuple
    sides: tuple[CopySide, CopySide]
    threads: int
    element_bytes: int
    lanes: int
    banks: int
    linear: bool = False
    order: AnyLayout | None = None
    """The index in the tile of each place that is counted, where that is another one."""

    def reordered(self) -> Iterator[CopyProblem]:
        """The same problem with the tile's elements numbered in other orders, those of the memories first; none for a
        linear one, where any basis is tried."""
        size = len(self.sides[0].offsets)
        if self.linear:
            return
        orders: Iterator[AnyLayout] = chain.from_iterable(map(_orders_of, self.sides))
        if size <= SMALL:
            orders = islice(chain(orders, _swizzles(size), _every_order(size)), min(MOST_REORDERED, 8 * SMALL // size))
        for order in dict.fromkeys(orders):
            one, other = (side._replace(layout=_after(side.layout, order)).listed() for side in self.sides)
            yield self._replace(shape=order.shape, sides=(one, other), order=order)

    def forbids(self, count: int) -> str | None:
        """Why a thread cannot move so many elements at once; None if it can."""
        wide, size = count * self.element_bytes, len(self.sides[0].offsets)
        if size // self.threads % count:
            return f"{wide} bytes: a thread has {size // self.threads} of {size} elements, no multiple of {count}"
        for side in self.sides:
            if side.align % wide:
                return f"{wide} bytes: the {side.name} is known to begin at a multiple of {side.align} bytes only"
            if why := self._torn(side, count):
                return f"{wide} bytes: {why}"
        source, target = self.sides
        at = {offset: index for index, offset in enumerate(source.offsets)}
        for index, offset in enumerate(source.offsets):
            start = at[offset // count * count]
            if target.offsets[index] != target.offsets[start] + offset % count:
                return (
                    f"{wide} bytes: {self._place(start)} and {self._place(index)} are {offset % count} apart in the "
                    f"source, {target.offsets[index] - target.offsets[start]} in the target"
                )
        return None

    def _torn(self, side: CopySide, count: int) -> str | None:
        """Why a side cannot be accessed `count` elements at a time, as a text with the stride, extent or coordinate
        that is to blame: an aligned group of offsets [k * count, (k + 1) * count) has some in the tile and some not.
        None where no group is torn."""
        # An aligned group is whole when all its offsets belong to the tile.
        there = set(side.offsets)
        start = next(
            (o for o in side.offsets if any(o // count * count + step not in there for step in range(count))), None
        )
        if start is None:
            return None
        plain = coalesce(side.layout) if isinstance(side.layout, Layout) else plain_part(side.layout)
        modes = [mode for mode in flat_modes(plain) if mode[0] > 1]
        unit = [extent for extent, step in modes if step == 1]
        if isinstance(side.layout, Layout):
            if not unit:
                return f"no mode of the {side.name}, {side.layout}, has stride 1"
            if unit[0] % count and count % unit[0]:
                return f"the extent {unit[0]} of stride 1 in the {side.name} is no multiple of {count}"
            if off := [step for _extent, step in modes if step != 1 and step % count]:
                return f"the stride {off[0]} of the {side.name} is no multiple of {count}"
        first = start // count * count
        missing = next(first + step for step in range(count) if first + step not in there)
        coordinate = self._place(side.offsets.index(start))
        return f"beside {coordinate} nothing of the tile is at offset {missing} of the {side.name}"

    def _place(self, index: int) -> str:
        return show(idx2crd(index, self.shape))

    def counted(self, order: Distribution) -> list[tuple[int, int]]:
        """For each side what all accesses take, and what they need."""
        threads, values = self.indices(order.threads), self.indices(order.values)[:: order.wide]
        accesses = [[self.at(thread, value) for thread in threads] for value in values]
        costs = [[self.cost(side, access, order.wide) for access in accesses] for side in self.sides]
        return [(sum(took for took, _ in each), sum(needed for _, needed in each)) for each in costs]

    def cost(self, side: CopySide, elements: Sequence[int], count: int) -> tuple[int, int]:
        """What one access takes on a side, by threads that begin at these elements of the tile; and what it needs."""
        firsts = [side.offsets[element] * self.element_bytes for element in elements]
        return side.cost(firsts, count * self.element_bytes, self.lanes, self.banks)

    def indices(self, digits: Sequence[Digit]) -> list[int]:
        """The elements that digits count, the first fastest."""
        elements = [0]
        for extent, step in digits:
            steps = [step * number for number in range(extent)]
            if self.linear:
                elements = [element ^ more for more in steps for element in elements]
            else:
                elements = [element + more for more in steps for element in elements]
        return elements

    def at(self, element: int, step: int) -> int:
        """The element so many further on: over bits, by XOR."""
        return element ^ step if self.linear else element + step

    def layout_tv(self, distribution: Distribution) -> AnyLayout:
        """(thread, value) to the index in the tile."""
        if not self.linear:
            digits_of = distribution.threads, distribution.values
            pairs = (zip(*(digits or ((1, 0),)), strict=True) for digits in digits_of)
            places = make_layout(*(coalesce(Layout(*pair)) for pair in pairs))
            return _after(self.order, places) if self.order else places
        # In a linear problem each digit is a bit, of extent 2.
        columns = tuple(step for _extent, step in (*distribution.threads, *distribution.values))
        shape = 1 << len(distribution.threads), 1 << len(distribution.values)
        return linear_layout_of(columns, shape)


@lru_cache(maxsize=16)  # a text, its picture and its story ask for one and the same
def distribute(problem: CopyProblem, count: int) -> tuple[AnyLayout, list[tuple[int, int]]] | None:
    """The layout of fewest transactions, and for each side what it takes and needs; None if none has such accesses.

    The tile's places are counted in other orders where that of its index leaves something to gain.
    """
    best: tuple[int, CopyProblem, Distribution, list[tuple[int, int]]] | None = None
    # First in the order of the tile's index; other orders only if some access is not optimal, of large tiles only if
    # that order has no such accesses.
    for others in (False, True):
        if best is None or (len(problem.sides[0].offsets) <= SMALL and any(took > needed for took, needed in best[-1])):
            jobs = list(problem.reordered()) if others else [problem]
            cuts = [(each, cut) for each in jobs for cut in cuts_of(each, count, MOST_CUTS // min(16, len(jobs) or 1))]
            for each, cut in _kept(cuts, count):
                cost, order, counts = _best(each, cut, count)
                if best is None or cost < best[0]:
                    best = cost, each, order, counts
    return best and (best[1].layout_tv(best[2]), best[3])


def _kept(cuts: list[tuple[CopyProblem, Cut]], count: int) -> list[tuple[CopyProblem, Cut]]:
    """The ways to cut the index but for the worst by a few accesses."""
    most = max(MOST_CUTS_KEPT, SMALL // len(cuts[0][0].sides[0].offsets)) if cuts else 0
    if len(cuts) <= most:
        return cuts
    tried = MOST_TRIED // len(cuts)
    return sorted(cuts, key=lambda pair: _lanes(pair[0], pair[1][1], count, tried)[0][0])[:most]


def _after(outer: AnyLayout, inner: AnyLayout) -> AnyLayout:
    """`outer o inner`, as one layout where there is one."""
    try:
        return on_any(composition, outer, inner)
    except CompositionError:
        return make_composed_layout(outer, 0, inner)


def _orders_of(side: CopySide) -> Iterator[AnyLayout]:
    """The tile's index in the order in which a memory has its modes, and in that of its elements where bits of their
    offsets are mapped."""
    plain = plain_part(side.layout)
    modes = zip(leaves(plain.stride), leaves(plain.shape), leaves(Layout(plain.shape).stride), strict=True)
    _, extents, steps = zip(*sorted(mode for mode in modes if mode[1] > 1), strict=True)
    order = from_modes(extents, steps)
    yield order
    if not isinstance(side.layout, Layout):
        ordered = coalesce(_after(side.layout, order))
        offsets = numbers_of("widest_copy", ordered)
        increasing = sorted(range(len(offsets)), key=offsets.__getitem__)
        with suppress(LayoutError):  # a swizzle of the order of modes, where one says it
            yield _after(order, from_offsets(increasing))
        with suppress(LayoutError):  # the inverse of the whole, where it has one and a layout has its offsets in order
            yield _after(order, _after(left_inverse(ordered), from_offsets(sorted(offsets))))


def _swizzles(size: int) -> Iterator[AnyLayout]:
    """The index after each swizzle of one bit that stays in its place: within what the powers of 2 in `size` count."""
    for second in range(1, (size & -size).bit_length() - 1):
        for first in range(second):
            yield make_composed_layout(Swizzle(1, first, second - first), 0, Layout(size))


def _every_order(size: int) -> Iterator[Layout]:
    """All orders of the digits of an index, in every radix of primes."""
    for factors in _arrangements(sorted(_primes(size))):
        yield from (coalesce(from_modes(*zip(*digits, strict=True))) for digits in permutations(_radix(factors)))


def _digits(source: AnyLayout, target: AnyLayout) -> Iterator[tuple[Digit, ...]]:
    """The prime digits of the tile's index: by the modes of one side and of the other, then in every order.

    A layout that reaches each of `size` elements once is an order of digits, for some order of the primes of the size
    (its strides, sorted, are products of extents); so no way to cut the index is missing.
    """
    # Digits as the modes of either side cut the index, then every order of the prime factors.
    for side in (source, target):
        plain = plain_part(side)
        for layout in (plain, coalesce(plain)):
            yield _radix([factor for extent in leaves(layout.shape) for factor in _primes(extent)])
    yield from map(_radix, _arrangements(sorted(_primes(source.size))))


def _radix(factors: Sequence[int]) -> tuple[Digit, ...]:
    """Digits of these extents, the first one fastest."""
    return tuple((factor, prod(factors[:at])) for at, factor in enumerate(factors))


def _arrangements(factors: list[int]) -> Iterator[list[int]]:
    """All orders of numbers, of which some are equal."""
    if not factors:
        yield []
    for first in dict.fromkeys(factors):
        rest = list(factors)
        rest.remove(first)
        yield from ([first, *others] for others in _arrangements(rest))


def _primes(number: int) -> Iterator[int]:
    factor = 2
    while number > 1:
        while number % factor == 0:
            yield factor
            number //= factor
        factor += 1


def _best(problem: CopyProblem, cut: Cut, count: int) -> Costed:
    """The least cost, its order and the counts of both sides: the best by a few accesses are counted in full."""
    vector, rest = cut
    # Stage 1: digits for the lanes of a subgroup, ranked by two accesses.
    lanes = _lanes(problem, rest, count, MOST_TRIED)
    threads = [
        (*digits, *more)
        for _cost, _number, digits in lanes[:MOST_ORDERS]
        for more in _choices([digit for digit in rest if digit not in digits], problem.threads // _made(digits))
    ]
    # Stage 2: complete them to all threads, rank by four accesses. Stage 3: count the best in full.
    kept = max(4, MOST_COUNTED * count // len(problem.sides[0].offsets))
    if len(threads) > kept:
        threads = [digits for *_cost, digits in _sorted(problem, rest, count, threads, 4)[:kept]]
    orders = [Distribution(digits, (*vector, *(d for d in rest if d not in digits)), count) for digits in threads]
    candidates = [
        (sum(took for took, _ in counts), order, counts) for order in orders for counts in [problem.counted(order)]
    ]
    return min(candidates, key=lambda entry: entry[0])


def _lanes(problem: CopyProblem, rest: list[Digit], count: int, most: int) -> list[Sampled]:
    """Digits for the lanes of a subgroup, of so many tried, the best by two accesses first."""
    return _sorted(problem, rest, count, islice(_orders(problem, rest, count), most), 1)


def _sorted(
    problem: CopyProblem, rest: list[Digit], count: int, threads: Iterable[tuple[Digit, ...]], accesses: int
) -> list[Sampled]:
    """By what the first threads take at some of the accesses, the first one and the last one included."""

    def sampled(digits: Sequence[Digit]) -> int:
        """The cost of some accesses of the first subgroup, both sides added: an estimate that ranks candidates."""
        others = problem.indices([digit for digit in rest if digit not in digits])
        some = [*others[:: max(1, len(others) // accesses)], others[-1]]
        first = problem.indices(digits)[: problem.lanes]
        return sum(
            problem.cost(side, [problem.at(at, base) for at in first], count)[0]
            for side in problem.sides
            for base in some
        )

    return sorted((sampled(digits), number, digits) for number, digits in enumerate(threads))


def cuts_of(problem: CopyProblem, count: int, most: int) -> Iterator[Cut]:
    """The digits that lead from neighbour to neighbour on both sides, and the rest, in so many ways to cut it."""
    source, target = problem.sides
    if problem.linear:
        cut = _aligned_bits(columns_of(source.layout) or (), columns_of(target.layout) or (), count)
        if cut is not None:
            yield cut
            if all(side.space == "smem" for side in problem.sides):
                yield cut[0], _bank_digits(problem, [step for _extent, step in cut[1]])
        return
    for digits in islice(dict.fromkeys(_digits(source.layout, target.layout)), most):
        # Grow the vector digit by digit: each must continue the neighbours on both sides.
        rest, vector, size = list(digits), list[Digit](), 1
        while size < count:
            step = next((d for d in rest if d[0] * size <= count and _apart_on_both(problem.sides, d[1], size)), None)
            if step is None:
                break
            rest.remove(step)
            vector.append(step)
            size *= step[0]
        places = list(enumerate(problem.indices(vector)))
        if size == count and all(_apart_on_both(problem.sides, element, apart) for apart, element in places):
            if all(side.offsets[element] % count == 0 for side in problem.sides for element in problem.indices(rest)):
                yield vector, rest


def _apart_on_both(sides: Sequence[CopySide], element: int, apart: int) -> bool:
    """Whether an element lies so far behind the first one, on both sides."""
    return all(side.offsets[element] - side.offsets[0] == apart for side in sides)


def _aligned_bits(source: Columns, target: Columns, count: int) -> Cut | None:
    """A basis of the index bits: the first vectors lead to neighbours in memory, the others to beginnings of
    accesses."""
    # Bits that the source maps to 1, 2, 4, ...; the others are changed to begin aligned groups.
    image, low = Image(source), count - 1
    vector = [image.solve(1 << bit) or 0 for bit in range(low.bit_length())]
    others = (1 << bit ^ apply(vector, column & low) for bit, column in enumerate(source))
    rest = independent((*vector, *others))[len(vector) :]
    whole = all(apply(side, column) == 1 << bit for side in (source, target) for bit, column in enumerate(vector))
    if not whole or any(apply(side, column) & low for side in (source, target) for column in rest):
        return None
    return [(2, column) for column in vector], [(2, column) for column in rest]


def _bank_digits(problem: CopyProblem, rest: Sequence[int]) -> list[Digit]:
    """Digits that begin with those which lie in different banks on both sides, where that takes sums of two bits."""

    def banks(side: CopySide, chosen: Sequence[int]) -> int:
        words = [(side.offsets[element] ^ side.offsets[0]) * problem.element_bytes // WORD for element in chosen]
        return rank_of([word % problem.banks for word in words])

    distinct_banks: list[int] = []
    for element in (*rest, *(one ^ other for one, other in combinations(rest, 2))):
        more = [*distinct_banks, element]
        if all(banks(side, more) == len(more) for side in problem.sides):
            distinct_banks = more
    return [(2, element) for element in independent((*distinct_banks, *rest))]


def _orders(problem: CopyProblem, rest: list[Digit], count: int) -> Iterator[tuple[Digit, ...]]:
    """Digits of a subgroup's lanes, in all orders that matter; of all threads, where subgroups end within a digit."""
    group = min(problem.lanes, problem.threads)
    together = served_together(count * problem.element_bytes, problem.lanes)
    source, target = (side.offsets for side in problem.sides)
    rest = sorted(rest, key=lambda digit: source[digit[1]])
    lanes = [] if problem.threads % group else _choices(rest, group)
    if not lanes or any(extent > 2 for extent, _ in rest):
        yield from islice(
            (order for some in _choices(rest, problem.threads) for order in permutations(some)), MOST_TRIED
        )
    for chosen in lanes:
        orders = [chosen, tuple(sorted(chosen, key=lambda digit: target[digit[1]]))]
        for size in range(1, len(chosen)):
            for phase in combinations(chosen, size):
                if _made(phase) == together:
                    orders.append((*phase, *(digit for digit in chosen if digit not in phase)))
        if len(orders) == 2 and together < group:  # those served together end within a digit
            orders += permutations(chosen)
        yield from dict.fromkeys(orders)


def _made(digits: Sequence[Digit]) -> int:
    """How many elements digits count."""
    return prod(extent for extent, _ in digits)


def _choices(digits: list[Digit], count: int) -> list[tuple[Digit, ...]]:
    """All choices of digits that count so many."""
    return [
        chosen for size in range(len(digits) + 1) for chosen in combinations(digits, size) if _made(chosen) == count
    ]
