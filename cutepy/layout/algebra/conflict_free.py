"""The search for a layout of a tile in workgroup memory without bank conflicts, and the proof where there is none.

Law: an access of a tile of powers of two is a linear map from lanes to elements over F2, and so is every layout that is
an order of the modes and a map of bits. A phase is free of conflicts when the bits that choose the bank tell its words
apart, that is, when they have full rank on the span of its lanes. Two accesses always have such bits, for two subspaces
of one dimension have a complement in common; three may have none, and then trying all bits on their span proves it.
On the trip of a tile through such a layout, from one thread-value layout to another, each element is written once and
read by whoever wants it; what a thread writes and reads at once are neighbours, as many as both layouts have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain, combinations, islice, permutations, repeat
from math import inf, prod
from typing import NamedTuple

from ...errors import LayoutError
from ..public import guarded
from ..values.bit_map import Columns, Image, Swizzle, apply
from ..values.composed import AnyLayout, ComposedLayout
from ..values.int_tuple import IntTuple, fold_profile, leaves
from ..values.layout import Layout
from ..values.methods import ReprIsStr
from .banks import MOST_COUNTED, WORD, Cost, LaneAccess, Tables, served_together
from .bits import columns_of, linear_layout_of
from .f2_bank_rows import BankProblem, columns_for, completed, independent, rank_of, rows_for
from .inverse import free_of
from .operation import on_any
from .rearrange import append, group_modes
from .thread_values import WIDEST, check_listed, check_numbers, check_width

Orders = tuple[int, ...]


class TileAccesses(NamedTuple):
    """The accesses of a tile, and the memory that serves them."""

    accesses: tuple[LaneAccess, ...]
    element_bytes: int
    lanes: int
    banks: int


@dataclass(frozen=True, slots=True, repr=False)
class Found(ReprIsStr):
    """A layout of the tile, the rounds of the worst phase of each access, and why there is no better one.

    `free` says that no access takes more rounds than its bytes make it. `asked` are the accesses, which `check` counts.
    """

    layout: AnyLayout
    ways: tuple[int, ...]
    free: bool
    certificate: str
    asked: TileAccesses = field(compare=False)

    def check(self) -> None:
        """Count what is claimed of the layout, without a search: a place for each element, the rounds, and `free`.

        >>> from dataclasses import replace
        >>> from cutepy.layout import Layout
        >>> found = conflict_free((32, 32), [Layout((32, 32), (1, 32)), Layout((32, 32), (32, 1))])
        >>> found.check()
        >>> replace(found, layout=Layout((32, 32))).check()
        Traceback (most recent call last):
        cutepy.errors.LayoutError: (32,32):(1,32): the accesses take (1, 32) rounds, claimed are (1, 1)

        `free` proves that no layout takes fewer rounds, for the words need so many. That none does where a layout is
        not free is the outcome of the search that `certificate` names, and not counted. Raises LayoutError.
        """
        accesses, element_bytes, lanes, banks = self.asked
        if len({self.layout(index) for index in range(self.layout.size)}) < self.layout.size:
            raise LayoutError(f"{self.layout}: two elements of the tile have one place")
        if any(access.layout.cosize > self.layout.size for access in accesses):
            raise LayoutError(f"{self.layout}: it has {self.layout.size} elements, and accesses take more")
        elements = [access.elements(self.layout.size) for access in accesses]
        cost = Tables(accesses, elements, element_bytes, lanes, banks).cost(self.layout)
        if cost is None:
            raise LayoutError(f"{self.layout}: it tears what a lane takes at once")
        excess, _sum, _cosize, ways = cost
        if ways != self.ways:
            raise LayoutError(f"{self.layout}: the accesses take {ways} rounds, claimed are {self.ways}")
        if self.free != (excess == 0):
            raise LayoutError(
                f"{self.layout}: its worst access takes {excess} rounds too many; claimed free: {self.free}"
            )

    def __str__(self) -> str:
        free = "free of conflicts; " if self.free else ""
        return f"{self.layout}, {' and '.join(f'{ways}-way' for ways in self.ways)}: {free}{self.certificate}"


class LayoutChoice(NamedTuple):
    """A layout that a search has come to, as `Found` says it."""

    layout: AnyLayout
    ways: tuple[int, ...]
    free: bool
    certificate: str


@guarded
def conflict_free(
    shape: IntTuple,
    accesses: Sequence[AnyLayout],
    element_bytes: int = 4,
    access_bytes: int | Sequence[int] | None = None,
    lanes: int = 32,
    banks: int = 32,
    pad: bool = False,
) -> Found:
    """The simplest layout of a tile of `shape` in which every access takes as few rounds as its words need.

    An access is a layout from (lane, value) to the index of an element, which counts the coordinates of `shape` with
    the first mode fastest. A lane takes `access_bytes` at once (a number, or one an access): its first values, which
    stay neighbours. What is simple: an order of the modes, then a swizzle after it, then another map of bits.

    >>> from cutepy.layout import Layout
    >>> rows, columns = Layout((32, 32), (1, 32)), Layout((32, 32), (32, 1))
    >>> print(conflict_free((32, 32), [rows, columns]))
    S<5,0,5> o 0 o (32,32):(1,32), 1-way and 1-way: free of conflicts; 5 bits choose the bank and tell the words apart
    >>> print(conflict_free((32, 32), [rows, columns], pad=True).layout)
    (32,32):(1,33)

    With `pad` it is the smallest pitch that does it, in any order of the modes; of three and more modes the smallest
    padding of all of them, where that takes less. Where extents are no powers of two it
    is such a pitch, or a swizzle of an order of the modes: what is better, and then what is smaller. Where the tile
    allows none the certificate says so; the layout is then the best there is: its worst access takes the fewest rounds,
    and of those layouts all accesses together take the fewest. Raises LayoutError for an access that is
    no map into the tile, that tears what a lane takes at once, for unknown sizes, and for more than 65,536 elements.
    """
    call = f"conflict_free({shape}, ...)"
    count = _checked(call, shape, accesses, element_bytes=element_bytes, lanes=lanes, banks=banks)
    # One width, or one for each access.
    wides = access_bytes if isinstance(access_bytes, (list, tuple)) else [access_bytes] * len(accesses)
    if len(wides) != len(accesses):
        raise LayoutError(f"{call}: {len(wides)} access_bytes for {len(accesses)} accesses; give one, or one an access")
    asked = [
        _access(f"{call}: access {number}, {layout}", layout, element_bytes if wide is None else wide, element_bytes)
        for number, (layout, wide) in enumerate(zip(accesses, wides, strict=True))
    ]
    tables = Tables(asked, [access.elements(count) for access in asked], element_bytes, lanes, banks)
    spans = [span for access in asked if (span := _span(access, count, lanes)) is not None]
    # F2 needs powers of two everywhere; otherwise pitches are counted out.
    if pad or any(number & (number - 1) for number in (element_bytes, lanes, banks)) or element_bytes > WORD * banks:
        found = _padded(call, shape, tables)
    elif len(spans) == len(asked) and not any(extent & (extent - 1) for extent in leaves(shape)):
        found = _mapped(shape, spans, element_bytes, banks)
    else:
        found = _swizzled(shape, tables, _padded(call, shape, tables))
    return Found(*found, TileAccesses(tuple(asked), element_bytes, lanes, banks))


def _checked(call: str, shape: IntTuple, accesses: Sequence[AnyLayout], **numbers: int) -> int:
    """The elements of the tile."""
    sizes = leaves(shape)
    if not sizes or any(type(extent) is not int or extent < 1 for extent in sizes):
        raise LayoutError(f"{call}: its sizes are whole numbers from 1; put values in for unknown ones")
    if (count := prod(sizes)) > MOST_COUNTED:
        raise LayoutError(
            f"{call}: {count} elements, of which at most {MOST_COUNTED} are looked at; choose a smaller tile"
        )
    check_numbers(call, **numbers)
    if not isinstance(accesses, (list, tuple)) or not accesses:
        raise LayoutError(f"{call}: give a list of accesses, layouts from (lane, value) to an element of the tile")
    return count


def _access(said: str, layout: AnyLayout, wide: int, element_bytes: int) -> LaneAccess:
    """An access of the caller as (lane, value), checked: whole elements, and values that are whole vectors."""
    check_listed(said, layout, MOST_COUNTED)
    if type(wide) is not int or wide < 1 or wide % element_bytes:
        raise LayoutError(f"{said}: {wide!r} bytes at once are no whole number of elements of {element_bytes}")
    check_width(said, wide)
    # (lane, value): all further modes together are the values, one where there is none
    pair = on_any(group_modes, layout, 1, layout.rank) if layout.rank > 2 else on_any(append, layout, 2)
    access = LaneAccess(said, pair, wide, wide // element_bytes)
    if access.sizes[1] % access.vector:
        raise access.torn(f"{access.sizes[1]} values a lane are no whole accesses of {access.vector}")
    return access


# Tiles of powers of two: linear algebra over F2.


class Span(NamedTuple):
    """What one phase takes: elements that its lanes add up to by XOR; those of a lane at once, in order; the others."""

    access: LaneAccess
    lanes: Columns
    vector: Columns
    others: Columns


def _span(access: LaneAccess, count: int, lanes: int) -> Span | None:
    """None for an access that is not linear, or not into the tile."""
    columns = columns_of(access.layout)
    if columns is None or access.vector & (access.vector - 1) or max(columns, default=0) >= count:
        return None
    first = access.sizes[0].bit_length() - 1
    last = first + access.vector.bit_length() - 1
    together = min(first, served_together(access.wide, lanes).bit_length() - 1)
    return Span(access, columns[:together], columns[first:last], columns[together:first] + columns[last:])


def _mapped(shape: IntTuple, spans: Sequence[Span], element_bytes: int, banks: int) -> LayoutChoice:
    """The best over the choices of elements that share a word, which matters where lanes want less than words."""
    bits = prod(leaves(shape)).bit_length() - 1
    # log2 of the elements in a 4-byte word; elements of a word are in one bank.
    word_bits = min(bits, max(0, (WORD // element_bytes).bit_length() - 1))
    # Address bits above the word that choose the bank.
    bank_bits = min(bits - word_bits, banks.bit_length() - 1 - max(0, (element_bytes // WORD).bit_length() - 1))
    # Words beyond 2^bank_bits conflict whatever the layout is.
    least = tuple(max(0, rank_of((*span.lanes, *span.vector)) - word_bits - bank_bits) for span in spans)
    best: tuple[tuple[int, int], LayoutChoice] | None = None
    # Which elements share a word changes what can be told apart; try the choices, best first.
    for together in _word_mates(spans, word_bits):
        basis = _access_basis(spans, together, bits)
        back = Image(basis)
        fixed = max(word_bits, *(len(span.vector) for span in spans))
        # Accesses in the basis in which elements taken at once come first.
        phases = tuple(tuple(back.solve(c) or 0 for c in (*span.lanes, *span.vector)) for span in spans)
        problem = BankProblem(bits, word_bits, fixed, max(0, word_bits + bank_bits - fixed), phases)
        rows, reason = rows_for(problem)
        lacking = [problem.words(phase) - problem.rank(phase, rows) for phase in phases]
        cost = max(lacking), sum(1 << short for short in lacking)
        if best is None or cost < best[0]:
            places = [back.solve(1 << bit) or 0 for bit in range(bits)]
            mapped = (tuple(apply(columns, vector) for vector in places) for columns in columns_for(problem, rows))
            layout = min((linear_layout_of(m, shape) for m in mapped), key=_modes)
            if free := cost == (max(least), sum(1 << short for short in least)):
                reason = f"{bank_bits} bits choose the bank and tell the words apart"
            if not free and word_bits > max(len(span.vector) for span in spans):
                reason = "the best of the choices tried of elements that share a word"
            best = cost, LayoutChoice(layout, tuple(1 << short for short in lacking), free, reason)
            if free:
                break
    assert best is not None
    return best[1]


def _modes(layout: AnyLayout) -> tuple[bool, bool, int]:
    """How far a layout is from an order of the modes: what stands outside, then the number of modes."""
    outer = layout.outer if isinstance(layout, ComposedLayout) else None
    return outer is not None, not isinstance(outer, Swizzle | None), len(leaves(layout.shape))


def _word_mates(spans: Sequence[Span], word_bits: int) -> Iterator[Columns]:
    """Elements that may share a word beside those taken at once: the lowest, then what phases have in common."""
    taken = max((span.vector for span in spans), key=len)
    yield ()
    if word_bits > len(taken):
        spaces = [_spanned((*span.lanes, *span.vector)) for span in spans]
        for count in range(len(spaces), 0, -1):
            for some in combinations(spaces, count):
                mates = independent((*taken, *sorted(set.intersection(*some))))
                yield tuple(mates[len(taken) : word_bits])


def _spanned(vectors: Sequence[int]) -> set[int]:
    span = {0}
    for vector in vectors:
        span |= {vector ^ other for other in span}
    return span


def _access_basis(spans: Sequence[Span], together: Columns, bits: int) -> list[int]:
    """A basis: what lanes take at once, in order; then vectors that keep the place within it, `together` first.

    Bit k of the offset is 1 on the k-th value taken at once and 0 on all else of the access. Raises LayoutError where
    two accesses, or an access by itself, ask for different things.
    """
    widest = max(spans, key=lambda span: len(span.vector))
    tests: list[Image] = []
    wanted: list[list[int]] = []
    for bit in range(len(widest.vector)):
        # A linear form that is 1 on the bit-th element taken at once and 0 on all else of each access.
        image, ones = Image(), list[int]()
        for span in spans:
            if bit < len(span.vector):
                for at, vector in enumerate((*span.vector, *span.lanes, *span.others)):
                    dependency = image.add(vector)
                    ones.append(int(at == bit))
                    if dependency is not None and apply(ones, dependency) != ones[-1]:
                        raise span.access.torn(
                            f"what it takes at once cannot be neighbours and begin at a multiple of {span.access.wide} "
                            f"bytes, for it or another access reaches element {vector} in another place of its own"
                        )
        for place_bit in range(bits):
            image.add(1 << place_bit)
        tests.append(image)
        wanted.append(ones + [0] * bits)

    def place(vector: int) -> int:
        """The elements taken at once whose place a vector shares, joined by XOR: a projection."""
        shared = 0
        for test, ones, value in zip(tests, wanted, widest.vector, strict=True):
            shared ^= value if apply(ones, test.solve(vector) or 0) else 0
        return shared

    others = (*together, *(1 << bit for bit in range(bits)))
    return independent((*widest.vector, *(vector ^ place(vector) for vector in others)))


# Any tile: a pitch.


def _padded(call: str, shape: IntTuple, tables: Tables) -> LayoutChoice:
    """The order of the modes and the smallest pitch of its first, counted out; then paddings of further modes.

    Pitches repeat after all banks.
    """
    sizes = leaves(shape)
    period = max(1, tables.banks * WORD // tables.element_bytes)
    best: tuple[Cost, LayoutChoice] | None = None
    orders = list(_orders(sizes))
    # Pitch p of the fastest mode shifts row i by i * p banks; pitches repeat after `period` elements.
    for order in orders:
        for pitch in range(sizes[order[0]], sizes[order[0]] + period + 1):
            layout = _with_pads(shape, order, (pitch - sizes[order[0]],))
            cost = tables.cost(layout, best[0][0] if best else inf)
            if cost and (best is None or cost[:3] < best[0][:3]):
                best = (
                    cost,
                    LayoutChoice(
                        layout, cost[3], not cost[0], _why(cost[0], pitch, sizes[order[0]], period, len(orders))
                    ),
                )
            if cost and not cost[0]:
                break
    if best is None:
        raise LayoutError(
            f"{call}: none of the {len(orders)} orders of the modes that were tried keeps together what lanes take at "
            "once; give smaller access_bytes"
        )
    return _padded_further(shape, tables, orders, *best)


MOST_PADDED = 1 << 18
"""Elements of layouts with paddings of several modes that are counted, all layouts together."""


def _padded_further(
    shape: IntTuple, tables: Tables, orders: Sequence[Orders], cost: Cost, found: LayoutChoice
) -> LayoutChoice:
    """The smallest layout with paddings of any modes, where one serves better than `found`, or as well in less memory.

    Every padding makes a layout larger, so a queue by size comes to the smallest free layout first.
    """
    sizes = leaves(shape)
    count, period = prod(sizes), max(1, tables.banks * WORD // tables.element_bytes)
    gaps = sum(extent > 1 for extent in sizes) - 1
    if gaps < 2:
        return found
    queue = [(count, number, (0,) * gaps) for number in range(len(orders))]
    tries = MOST_PADDED // count
    for tried in range(tries):
        if not queue or (not cost[0] and queue[0][0] >= cost[2]):
            break
        _size, number, pads = heappop(queue)
        # Each padding is come to once: only the last gap that is padded grows, and those after it.
        last = max((gap for gap, pad in enumerate(pads) if pad), default=0)
        for gap in range(last, gaps):
            more = (*pads[:gap], pads[gap] + 1, *pads[gap + 1 :])
            if more[gap] <= period:
                heappush(queue, (_with_pads(shape, orders[number], more).cosize, number, more))
        if any(pads[1:]):  # pitches of the first mode alone have been counted
            layout = _with_pads(shape, orders[number], pads)
            counted = tables.cost(layout, cost[0])
            if counted and counted[:3] < cost[:3]:
                why = f"the smallest padding of all modes in {len(orders)} orders, {tried} smaller ones do not"
                if counted[0]:
                    why = f"the best of {len(orders)} orders of the modes and {tries} paddings"
                cost, found = counted, LayoutChoice(layout, counted[3], not counted[0], why)
    return found


def _swizzled(shape: IntTuple, tables: Tables, padded: LayoutChoice) -> LayoutChoice:
    """An order of the modes after a swizzle, if one serves better than a pitch, or as well in less memory.

    Swizzles of one order are tried, the fewest bits first; the first elements of each lane tell most of them off.
    """
    best, least = padded, tables.cost(padded.layout)
    assert least is not None
    sizes, first = leaves(shape), tables.first
    count, top = prod(sizes), (prod(sizes) - 1).bit_length()
    bank_bits = (tables.banks * WORD // tables.element_bytes).bit_length() - 1  # bits beyond these choose no bank
    for order in islice(_orders(sizes), 6):
        plain = _with_pads(shape, order, ())
        taken = {element: plain(element) for element in first.wanted}
        # Swizzles S<bits, base, shift> that change bank bits by higher bits, smallest first.
        for bits in range(1, bank_bits + 1):
            for base, end in ((base, base + bits) for base in range(bank_bits - bits + 1)):
                for swizzle in (Swizzle(bits, base, shift) for shift in range(bits, top - end + 1)):
                    if not least[0] and least[2] == count:
                        return best
                    offsets = {element: swizzle(offset) for element, offset in taken.items()}
                    counted = first.counted(offsets, least[0])
                    if counted and max(worst - needed for worst, needed in counted) <= least[0]:
                        cost = tables.cost(layout := ComposedLayout(swizzle, 0, plain), least[0])
                        if cost and cost[:3] < least[:3]:
                            why = "a swizzle of an order of the modes, the first of fewest rounds"
                            best, least = LayoutChoice(layout, cost[3], not cost[0], why), cost
    return best


def _orders(sizes: tuple[int, ...]) -> Iterator[Orders]:
    """Orders of the modes, the fastest first: all of up to four modes; of more, every two fastest ones.

    What a lane takes at once lies along the fastest modes. Modes of size 1 have no order, and come last.
    """
    moving = [mode for mode, extent in enumerate(sizes) if extent > 1]
    ones = tuple(mode for mode, extent in enumerate(sizes) if extent == 1)
    for fastest in permutations(moving, len(moving) if len(moving) <= 4 else 2):
        yield (*fastest, *(mode for mode in moving if mode not in fastest), *ones)


def _with_pads(shape: IntTuple, order: Orders, pads: tuple[int, ...]) -> Layout:
    """The layout of `shape` whose modes follow one another in `order`, mode `order[1 + k]` after `pads[k]` more."""
    sizes = leaves(shape)
    steps = [0] * len(sizes)
    step = 1
    for mode, pad in zip(order, chain((0, *pads), repeat(0)), strict=False):
        step += pad
        steps[mode] = step
        step *= sizes[mode]
    return Layout(shape, fold_profile(iter(steps), shape))


def _why(excess: int, pitch: int, extent: int, period: int, orders: int) -> str:
    if excess:
        return f"the best of {orders} orders of the modes and pitches up to {extent + period}, after which they repeat"
    return "without padding" if pitch == extent else f"the smallest pitch of its order, {extent} to {pitch - 1} do not"


# The way of a tile through memory, from one thread-value layout to another.


class Trip(NamedTuple):
    """`found.layout` of the tile in shared memory; the values in the order that a thread writes and reads them.

    `together` of them are an access, of which all threads take `rounds` rounds of the banks; a thread writes where no
    bit of `copies` in its index is 1: the others hold the same.
    """

    found: Found
    written: tuple[int, ...]
    read: tuple[int, ...]
    together: int
    rounds: int
    copies: int

    def __str__(self) -> str:
        count = (len(self.written) + len(self.read)) // self.together
        return (
            f"{count} accesses of {self.together} values through shared memory as {self.found.layout}, {self.rounds} "
            f"rounds for {len(self.written)} and {len(self.read)} values; {self.found.certificate}"
        )


def trip(
    source: AnyLayout, target: AnyLayout, written: Sequence[int], read: Sequence[int], lanes: int, element_bytes: int
) -> Trip:
    """The widest trip: `written` and `read` are the columns of the values."""
    columns = [columns_of(layout) or () for layout in (source, target)]
    threads = source[0].size.bit_length() - 1
    bits = max([1, *(column.bit_length() for column in (*columns[0], *columns[1]))])
    most = max(0, (WIDEST // element_bytes).bit_length() - 1)
    # Elements that both sides have as neighbours; the width is halved until an access is possible.
    common = _common(written, read)[:most]
    while True:
        orders = [_order(common, values) for values in (written, read)]
        accesses = [
            linear_layout_of(
                (*column[:threads], *(apply(values, bit) for bit in order)), (1 << threads, 1 << len(order))
            )
            for column, values, order in zip(columns, (written, read), orders, strict=True)
        ]
        try:
            best = conflict_free(
                (1 << bits,), accesses, element_bytes, element_bytes << len(common), min(128, lanes), 32, False
            )
            break
        except LayoutError:
            if not common:
                raise
            common = common[:-1]
    wide = element_bytes << len(common)
    phases = -(-(1 << threads) // served_together(wide, lanes))
    rounds = sum(ways * phases << len(order) - len(common) for ways, order in zip(best.ways, orders, strict=True))
    numbers = [tuple(apply(order, index) for index in range(1 << len(order))) for order in orders]
    return Trip(
        best,
        numbers[0],
        numbers[1],
        1 << len(common),
        -(-rounds // max(1, (1 << threads) // lanes)),
        free_of((*columns[0][threads:], *columns[0][:threads])) >> len(columns[0]) - threads,
    )


def _common(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """A basis of the elements that both sets of columns reach, the lowest first."""
    image = Image((*one, *other))
    made = [(image.solve(column) or 0) >> len(one) for column in other]
    return sorted(independent(column ^ apply(other, own) for column, own in zip(other, made, strict=True)))


def _order(common: Sequence[int], values: Sequence[int]) -> list[int]:
    """A basis of a value's bits: the first vectors lead to `common` in order, the others complete them."""
    image = Image(values)
    return completed([image.solve(element) or 0 for element in common], len(values))
