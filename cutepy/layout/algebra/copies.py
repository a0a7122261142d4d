"""Which thread copies what: the thread-value layout of widest accesses and fewest transactions, from both sides alone.

Law: elements that a thread moves at once are neighbours on both sides, in one order, and begin at a multiple of their
bytes on both; so the groups follow from the source, and the widest is decided by looking. Who takes which group is an
order of the digits of the tile's index, and the best of all orders is counted out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations
from math import prod

from ...errors import LayoutError
from ..values.bit_map import Columns, Image, apply
from ..values.composed import AnyLayout, plain_part
from ..values.coordinates import idx2crd
from ..values.int_tuple import IntTuple, leaves, product_each, show
from ..values.layout import Layout, make_layout
from .banks import fetched, served
from .bits import columns_of, layout_of_columns, mapped_layout
from .rearrange import coalesce
from .rows import rank_of

WIDEST = 16
"""The most bytes of an access."""
SEGMENT = 32
"""The bytes of a transaction."""
MOST_ELEMENTS = 1 << 14
"""The most elements of a tile."""
MOST_TRIED = 1 << 12
"""The most orders of digits that are tried."""
MOST_ORDERS = 64
"""The most choices of lanes, the best by two accesses, that are looked at further."""
MOST_COUNTED = 1 << 13
"""The most threads' accesses that are counted to find the best order."""
Digit = tuple[int, int]
"""Its extent, and its step in the tile's index."""
Cut = tuple[list[Digit], list[Digit]]
"""The digits of what is moved at once, and the others."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a copy: its name, layout, memory, the bytes that its first element is known to be aligned to."""

    name: str
    layout: AnyLayout
    space: str
    align: int
    offsets: tuple[int, ...]

    def cost(self, firsts: Sequence[int], wide: int, lanes: int, banks: int) -> tuple[int, int]:
        """The transactions of one access by all threads, or rounds in shared memory; and those its bytes need."""
        if self.space == "smem":
            phases = list(served(firsts, wide, lanes, banks))
            return sum(phase.ways for phase in phases), sum(phase.perfect(banks) for phase in phases)
        found = list(fetched(firsts, wide, lanes, SEGMENT))
        return sum(touched for touched, _ in found), sum(perfect for _, perfect in found)


@dataclass(frozen=True, slots=True)
class WidestCopy:
    """`layout_tv` maps (thread, value) to the index in `tile`; the first `elements` values are an access.

    `reads` and `writes` are the transactions (rounds, in shared memory) of all accesses, and how many would do.
    `limits` says for each wider access what forbids it.
    """

    layout_tv: AnyLayout
    tile: tuple[int, ...]
    elements: int
    access_bytes: int
    reads: tuple[int, int]
    writes: tuple[int, int]
    limits: tuple[str, ...]

    def __str__(self) -> str:
        counts = [
            f"{word} {found}, {least} would do"
            for word, (found, least) in (("reads", self.reads), ("writes", self.writes))
        ]
        head = f"{self.layout_tv}: {self.access_bytes} bytes at once; {'; '.join(counts)}"
        return "\n  ".join([head, *self.limits])


@dataclass(frozen=True, slots=True)
class Job:
    """A copy that is looked for."""

    shape: IntTuple
    sides: tuple[Side, Side]
    threads: int
    element_bytes: int
    lanes: int
    banks: int
    linear: bool

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

    def _torn(self, side: Side, count: int) -> str | None:
        """The stride, extent or place of a side that keeps aligned groups of so many elements from being whole."""
        there = set(side.offsets)
        start = next(
            (o for o in side.offsets if any(o // count * count + step not in there for step in range(count))), None
        )
        if start is None:
            return None
        plain = coalesce(side.layout) if isinstance(side.layout, Layout) else plain_part(side.layout)
        modes = [mode for mode in zip(leaves(plain.shape), leaves(plain.stride), strict=True) if mode[0] > 1]
        unit = [extent for extent, step in modes if step == 1]
        if isinstance(side.layout, Layout) and not unit:
            return f"no mode of the {side.name}, {side.layout}, has stride 1"
        if isinstance(side.layout, Layout) and unit[0] % count and count % unit[0]:
            return f"the extent {unit[0]} of stride 1 in the {side.name} is no multiple of {count}"
        if isinstance(side.layout, Layout):
            off = [step for _extent, step in modes if step != 1 and step % count]
            if off:
                return f"the stride {off[0]} of the {side.name} is no multiple of {count}"
        first = start // count * count
        missing = next(first + step for step in range(count) if first + step not in there)
        place = self._place(side.offsets.index(start))
        return f"beside {place} nothing of the tile is at offset {missing} of the {side.name}"

    def _place(self, index: int) -> str:
        return show(idx2crd(index, self.shape))

    def counted(self, order: Order) -> list[tuple[int, int]]:
        """For each side what all accesses take, and what they need."""
        threads, values = self.indices(order.threads), self.indices(order.values)[:: order.count]
        accesses = [[self.at(thread, value) for thread in threads] for value in values]
        costs = [[self.cost(side, access, order.count) for access in accesses] for side in self.sides]
        return [(sum(took for took, _ in each), sum(needed for _, needed in each)) for each in costs]

    def cost(self, side: Side, elements: Sequence[int], count: int) -> tuple[int, int]:
        """What one access takes on a side, by threads that begin at these elements of the tile; and what it needs."""
        firsts = [side.offsets[element] * self.element_bytes for element in elements]
        return side.cost(firsts, count * self.element_bytes, self.lanes, self.banks)

    def indices(self, digits: Sequence[Digit]) -> list[int]:
        """The elements that digits count, the first fastest."""
        found = [0]
        for extent, step in digits:
            found = [self.at(element, step * number) for number in range(extent) for element in found]
        return found

    def at(self, element: int, step: int) -> int:
        """The element so many further on: over bits, by XOR."""
        return element ^ step if self.linear else element + step

    def layout_tv(self, order: Order) -> AnyLayout:
        """(thread, value) to the index in the tile."""
        if not self.linear:
            pairs = (zip(*(digits or ((1, 0),)), strict=True) for digits in (order.threads, order.values))
            return make_layout(*(coalesce(Layout(*pair)) for pair in pairs))
        columns = tuple(step for _extent, step in (*order.threads, *order.values))
        shape = 1 << len(order.threads), 1 << len(order.values)
        return layout_of_columns(columns, shape) or mapped_layout(columns, shape)


@dataclass(frozen=True, slots=True)
class Order:
    """Who takes what: the digits that the threads count, those that the values count, `count` values at once."""

    threads: tuple[Digit, ...]
    values: tuple[Digit, ...]
    count: int


def widest_copy(
    source: AnyLayout,
    target: AnyLayout,
    threads: int,
    *,
    element_bytes: int = 4,
    align: tuple[int, int] = (WIDEST, WIDEST),
    spaces: tuple[str, str] = ("gmem", "smem"),
    lanes: int = 32,
    banks: int = 32,
) -> WidestCopy:
    """The thread-value layout by which `threads` copy a tile from `source` to `target`, two layouts of one shape.

    Accesses are as wide as both allow, up to 16 bytes, and among those the transactions of 32 bytes in "gmem" and the
    rounds of the banks in "smem" are fewest, both sides added. `align` says to how many bytes the first element of each
    is known to be aligned.

    >>> from cutepy.layout import Layout
    >>> print(widest_copy(Layout((32, 32), (128, 1)), Layout((32, 32), (32, 1)), 64))
    ((8,8),(4,4)):((128,1),(32,8)): 16 bytes at once; reads 128, 128 would do; writes 32, 32 would do
    >>> print(widest_copy(Layout((32, 32), (33, 1)), Layout((32, 32), (32, 1)), 64).limits[0])
    16 bytes: the stride 33 of the source is no multiple of 4

    Raises LayoutError for unknown sizes, other shapes, threads that do not divide the tile, and where two elements
    of the tile are one.
    """
    call = f"widest_copy({source}, {target}, {threads})"
    job = _job(call, source, target, threads, element_bytes, align, spaces, lanes, banks)
    limits = []
    count = max(1, WIDEST // element_bytes)
    while count > 1 and (why := job.forbids(count)) is not None:
        limits.append(why)
        count //= 2
    while not (cuts := list(_cuts(job, count))):
        limits.append(f"{count * element_bytes} bytes: no layout gives a thread such groups, only a table would")
        count //= 2
    _cost, order, counts = min((_best(job, cut, count) for cut in cuts), key=lambda entry: entry[0])
    tile = product_each(source.shape)
    return WidestCopy(
        job.layout_tv(order),
        tile if isinstance(tile, tuple) else (tile,),
        count,
        count * element_bytes,
        counts[0],
        counts[1],
        tuple(limits),
    )


def _job(
    call: str,
    source: AnyLayout,
    target: AnyLayout,
    threads: int,
    element_bytes: int,
    align: tuple[int, int],
    spaces: tuple[str, str],
    lanes: int,
    banks: int,
) -> Job:
    for layout in (source, target):
        if not isinstance(layout, AnyLayout) or any(type(extent) is not int for extent in leaves(layout.shape)):
            raise LayoutError(f"{call}: give two layouts of known sizes, from a coordinate of the tile to an offset")
    if product_each(source.shape) != product_each(target.shape):
        raise LayoutError(f"{call}: the shapes {source.shape} and {target.shape} differ; slice both to one tile")
    if source.size > MOST_ELEMENTS:
        raise LayoutError(f"{call}: {source.size} elements, of which at most {MOST_ELEMENTS} are looked at; tile it")
    numbers = {"threads": threads, "element_bytes": element_bytes, "lanes": lanes, "banks": banks}
    for name, number in (*numbers.items(), *(("align", number) for number in align)):
        if type(number) is not int or number < 1:
            raise LayoutError(f"{call}: {name}={number!r}; a whole number from 1")
    if source.size % threads:
        raise LayoutError(f"{call}: {source.size} elements are no multiple of {threads} threads; choose a divisor")
    if WIDEST % element_bytes or any(space not in ("gmem", "smem") for space in spaces):
        raise LayoutError(
            f'{call}: elements of 1, 2, 4, 8 or 16 bytes, in "gmem" or "smem", not {element_bytes}, {spaces}'
        )
    if any(known % element_bytes for known in align):
        raise LayoutError(f"{call}: align={align}; elements of {element_bytes} bytes begin at multiples of that")
    sides = []
    for name, layout, space, known in zip(("source", "target"), (source, target), spaces, align, strict=True):
        offsets = tuple(offset_at(layout, index) for index in range(layout.size))
        if len(set(offsets)) < len(offsets):
            raise LayoutError(f"{call}: two elements of the tile are one of the {name}, {layout}; leave that mode out")
        sides.append(Side(name, layout, space, known, offsets))
    linear = columns_of(source) is not None and columns_of(target) is not None
    return Job(source.shape, (sides[0], sides[1]), threads, element_bytes, lanes, banks, linear)


def offset_at(layout: AnyLayout, index: int) -> int:
    """The offset of a layout of known sizes at an index."""
    found = layout(index)
    assert isinstance(found, int)
    return found


def _digits(source: AnyLayout, target: AnyLayout) -> Iterator[list[Digit]]:
    """The prime digits of the tile's index, by the modes of one side and of the other; factors of 2 come first."""
    seen = set()
    for side in (source, target):
        plain = plain_part(side)
        for layout in (plain, coalesce(plain)):
            digits, step = [], 1
            for extent in leaves(layout.shape):
                for factor in _primes(extent):
                    digits.append((factor, step))
                    step *= factor
            if tuple(digits) not in seen:
                seen.add(tuple(digits))
                yield digits


def _primes(number: int) -> Iterator[int]:
    factor = 2
    while number > 1:
        while number % factor == 0:
            yield factor
            number //= factor
        factor += 1


def _best(job: Job, cut: Cut, count: int) -> tuple[int, Order, list[tuple[int, int]]]:
    """The least cost, its order and the counts of both sides: the best by a few accesses are counted in full."""
    vector, rest = cut

    def sampled(threads: Sequence[Digit], accesses: int) -> int:
        """What the first threads take at some of the accesses, the first one and the last one included."""
        others = job.indices([digit for digit in rest if digit not in threads])
        some = [*others[:: max(1, len(others) // accesses)], others[-1]]
        first = job.indices(threads)[: job.lanes]
        return sum(job.cost(side, [job.at(at, base) for at in first], count)[0] for side in job.sides for base in some)

    lanes = sorted((sampled(digits, 1), number, digits) for number, digits in enumerate(_orders(job, rest, count)))
    threads = [
        (*digits, *more)
        for _cost, _number, digits in lanes[:MOST_ORDERS]
        for more in _choices([digit for digit in rest if digit not in digits], job.threads // _made(digits))
    ]
    kept = max(4, MOST_COUNTED * count // len(job.sides[0].offsets))
    if len(threads) > kept:
        threads = [digits for *_cost, digits in sorted((sampled(d, 4), n, d) for n, d in enumerate(threads))[:kept]]
    orders = [Order(digits, (*vector, *(d for d in rest if d not in digits)), count) for digits in threads]
    found = [(sum(took for took, _ in counts), order, counts) for order in orders for counts in [job.counted(order)]]
    return min(found, key=lambda entry: entry[0])


def _cuts(job: Job, count: int) -> Iterator[Cut]:
    """The digits that lead from neighbour to neighbour on both sides, and the rest, in each way to cut the index."""
    source, target = job.sides
    if job.linear:
        cut = _turned(columns_of(source.layout) or (), columns_of(target.layout) or (), count)
        if cut is not None:
            yield cut
        return
    for digits in _digits(source.layout, target.layout):
        rest, vector, size = list(digits), [], 1
        while size < count:
            step = next((d for d in rest if d[0] * size <= count and _together(job.sides, d[1], size)), None)
            if step is None:
                break
            rest.remove(step)
            vector.append(step)
            size *= step[0]
        places = list(enumerate(job.indices(vector)))
        if size == count and all(_together(job.sides, element, apart) for apart, element in places):
            if all(side.offsets[element] % count == 0 for side in job.sides for element in job.indices(rest)):
                yield vector, rest


def _together(sides: Sequence[Side], element: int, apart: int) -> bool:
    """Whether an element lies so far behind the first one, on both sides."""
    return all(side.offsets[element] - side.offsets[0] == apart for side in sides)


def _turned(source: Columns, target: Columns, count: int) -> Cut | None:
    """Bits of the index, so turned that the first lead to neighbours and the others to the beginnings of accesses."""
    image, low = Image(source), count - 1
    vector = [image.solve(1 << bit) or 0 for bit in range(low.bit_length())]
    rest: list[int] = []
    for bit in range(len(source)):
        column = 1 << bit ^ apply(vector, source[bit] & low)
        if rank_of([*vector, *rest, column]) > len(vector) + len(rest):
            rest.append(column)
    whole = all(apply(side, column) == 1 << bit for side in (source, target) for bit, column in enumerate(vector))
    if not whole or any(apply(side, column) & low for side in (source, target) for column in rest):
        return None
    return [(2, column) for column in vector], [(2, column) for column in rest]


def _orders(job: Job, rest: list[Digit], count: int) -> Iterator[tuple[Digit, ...]]:
    """Digits of a subgroup's lanes, in all orders that matter; of all threads, where subgroups end within a digit."""
    group = min(job.lanes, job.threads)
    together = max(1, job.lanes * 4 // max(4, count * job.element_bytes))
    source, target = (side.offsets for side in job.sides)
    rest = sorted(rest, key=lambda digit: source[digit[1]])
    lanes = [] if job.threads % group else _choices(rest, group)
    if not lanes or any(extent > 2 for extent, _ in rest):
        yield from islice((order for some in _choices(rest, job.threads) for order in permutations(some)), MOST_TRIED)
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
