"""From one thread-value layout of a tile to another: the register moves, selects and shuffles that do it.

Law: both layouts are linear over F2, `S(t, v)` and `T(t, v)`. Round k gives thread t its value `k ^ F t`; it comes from
thread `M t ^ N k`, out of register `G (M t ^ N k) ^ H k`. So a thread gives one value a round, whoever reads it: the
registers are shifted by `G t` before, and by `F t` after, with selects. Where M is the identity and `N k` is 0 a round
moves nothing. M can be the identity exactly where each thread has some element of its target already; then rounds are
saved, and in both cases no plan has fewer, for some thread lacks as many elements as there are shuffles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ...errors import LayoutError
from ..public import guarded
from ..values.bit_map import BitMap, Columns, Image, apply
from ..values.composed import AnyLayout
from ..values.methods import ReprIsStr
from .bits import columns_of
from .conflict_free import Trip, trip
from .f2_bank_rows import rank_of
from .thread_values import check_known

Value = TypeVar("Value")

MOST_VALUES = 1 << 12
"""The most values of a thread."""


class Swap(NamedTuple):
    """Where an odd number of the bits `threads` of a thread's index are 1, registers r and r ^ `registers` change."""

    threads: int
    registers: int

    def odd(self, thread: Any) -> Any:
        """Whether that is so, of a number, an array or a kernel's expression."""
        parity = 0
        for bit in range(self.threads.bit_length()):
            if self.threads >> bit & 1:
                parity = (thread >> bit) ^ parity
        return (parity & 1) != 0


class Round(NamedTuple):
    """Each thread gets register `source` of another one; that one's index is its own, permuted, then XOR `mask`."""

    source: int
    mask: int


@dataclass(frozen=True, slots=True, repr=False)
class Conversion(ReprIsStr):
    """What a thread does to get `target` from `source`; call it, or print it.

    `kept` are the values of the source that differ, in order; `copies` says for each value of the target which of the
    different ones it is. `permutation` is None where a thread reads from neighbours by XOR alone. A `trip` through
    memory takes the place of all that.
    """

    source: AnyLayout
    target: AnyLayout
    lanes: int
    least: int
    kept: tuple[int, ...] = ()
    before: tuple[Swap, ...] = ()
    permutation: BitMap | None = None
    rounds: tuple[Round, ...] = ()
    after: tuple[Swap, ...] = ()
    copies: tuple[int, ...] = ()
    trip: Trip | None = None

    @property
    def threads(self) -> int:
        """How many threads share the tile."""
        return self.source[0].size

    @property
    def shuffles(self) -> int:
        """The values that each thread asks another one for."""
        return len(self.rounds) if self.permutation else sum(bool(step.mask) for step in self.rounds)

    @property
    def selects(self) -> int:
        """The choices between two registers."""
        return len(self.before) * len(self.kept) + len(self.after) * len(self.rounds)

    def __call__(
        self,
        registers: Sequence[Value],
        thread: Any,
        select: Callable[[Any, Value, Value], Value],
        shuffle: Callable[[Value, Any, int], Value],
    ) -> list[Value]:
        """The registers of the target from those of the source, in any world that has `select` and `shuffle`.

        `shuffle(value, other, mask)` is the value of thread `other ^ mask`; `other` is `thread` or its permutation.
        Raises LayoutError for a way through memory: that needs an array, and a barrier.
        """
        if self.trip:
            raise LayoutError(
                f"{self.source} -> {self.target}: a way through memory is no exchange of registers; follow `trip`, or "
                'have it planned through="shuffles"'
            )
        held = _swapped([registers[value] for value in self.kept], self.before, thread, select)
        other = thread if self.permutation is None else self.permutation(thread)
        received: list[Value] = []
        for step in self.rounds:
            stays = self.permutation is None and not step.mask
            received.append(held[step.source] if stays else shuffle(held[step.source], other, step.mask))
        given = _swapped(received, self.after, thread, select)
        return [given[index] for index in self.copies]

    def __str__(self) -> str:
        head = f"{self.source} -> {self.target}: "
        if self.trip:
            return f"{head}{self.trip}"
        why = "none has fewer" if self.shuffles == self.least else f"{self.least} at least"
        count = f"{self.shuffles} shuffles of {len(self.rounds)} values, {self.selects} selects; {why}"
        return "\n  ".join([head + count, *self._steps()])

    def _steps(self) -> list[str]:
        """The lines of the printed plan, in order: swaps before, one line for each received value, swaps after."""
        lines = [f"{_when(swap)}: registers r and r^{swap.registers} change, before" for swap in self.before]
        own_index = "thread" if self.permutation is None else f"{self.permutation}(thread)"
        for number, step in enumerate(self.rounds):
            stays = self.permutation is None and not step.mask
            lane = "itself" if stays else f"{own_index}^{step.mask}" if step.mask else own_index
            lines.append(f"value {number}: register {step.source} of {lane}")
        return lines + [f"{_when(swap)}: values v and v^{swap.registers} change, after" for swap in self.after]


def _when(swap: Swap) -> str:
    bits = [str(bit) for bit in range(swap.threads.bit_length()) if swap.threads >> bit & 1]
    if len(bits) == 1:
        return f"where bit {bits[0]} of the thread is 1"
    return f"where bits {', '.join(bits)} of the thread add up to an odd number"


def _swapped(
    registers: list[Value], swaps: Sequence[Swap], thread: Any, select: Callable[[Any, Value, Value], Value]
) -> list[Value]:
    for swap in swaps:
        odd = swap.odd(thread)
        registers = [select(odd, registers[at ^ swap.registers], own) for at, own in enumerate(registers)]
    return registers


@guarded
def convert(
    source: AnyLayout, target: AnyLayout, lanes: int = 32, element_bytes: int = 4, through: str | None = None
) -> Conversion:
    """The plan by which threads that hold a tile as `source` come to hold it as `target`.

    Both map (thread, value) to an element of the tile and are linear over bits. `lanes` threads in succession shuffle
    with one another. Shuffles are counted against the rounds that shared memory takes, and the
    fewer win; `through` says "shuffles" or "memory" to have it so.

    >>> from cutepy.layout import Layout
    >>> print(convert(Layout((4, 2), (2, 1)), Layout((4, 2), (1, 4))))
    (4,2):(2,1) -> (4,2):(1,4): 2 shuffles of 2 values, 4 selects; none has fewer
      where bit 1 of the thread is 1: registers r and r^1 change, before
      value 0: register 0 of F2<2,1>(thread)
      value 1: register 1 of F2<2,1>(thread)^2
      where bit 0 of the thread is 1: values v and v^1 change, after
    >>> convert(Layout((2, 2), (2, 1)), Layout((2, 2), (1, 2))).shuffles
    1

    Raises LayoutError where a layout is not linear, the threads differ in number, the target has an element that
    no thread of the source holds, and where elements leave their `lanes` threads though shuffles are asked for.
    """
    call = f"convert({source}, {target})"
    if through not in (None, "shuffles", "memory"):
        raise LayoutError(f'{call}: through={through!r}; "shuffles", "memory" or None')
    for name, number, most in (("lanes", lanes, 128), ("element_bytes", element_bytes, 16)):
        if type(number) is not int or not 1 <= number <= most or number & (number - 1):
            raise LayoutError(f"{call}: {name}={number!r}; a power of two up to {most}")
    pair = ConversionPair(
        _bit_columns(call, source), _bit_columns(call, target), (min(lanes, source[0].size)).bit_length() - 1
    )
    _check_same(call, source, target, pair)
    # Shuffles first; memory is planned only where it can win.
    plan = None if through == "memory" else pair.plan(source, target, lanes)
    if plan is None and through == "shuffles":
        raise LayoutError(
            f"{call}: elements go from one group of {lanes} threads to another, or the target leaves out so much that "
            'a thread would give two values in a round: shuffles cannot do that; give more lanes, or through="memory"'
        )
    if plan is not None and (through == "shuffles" or not plan.shuffles):
        return plan
    try:
        memory = trip(source, target, pair.source.values, pair.target.values, lanes, element_bytes)
    except LayoutError:  # a tile too large for it, say
        if plan is None:
            raise
        return plan
    if plan is not None and plan.shuffles <= memory.rounds:
        return plan
    return Conversion(source, target, lanes, pair.lacking(), trip=memory)


class BitColumns(NamedTuple):
    """A thread-value layout as columns: of the bits of a thread, and of the bits of a value."""

    threads: Columns
    values: Columns

    @property
    def different(self) -> list[int]:
        """The bits of a value that lead to elements which the others do not."""
        image = Image()
        return [bit for bit, column in enumerate(self.values) if image.add(column) is None]


def _bit_columns(call: str, layout: AnyLayout) -> BitColumns:
    """The columns of a thread-value layout, of threads and of values. Raises LayoutError where it is not linear
    over F2."""
    check_known(call, layout)
    columns = columns_of(layout) if layout.rank > 1 else None
    if columns is None:
        raise LayoutError(
            f"{call}: {layout} is no map of bits from (thread, value); its extents are powers of two, and no sum "
            "of its strides carries"
        )
    threads = layout[0].size
    if layout.size // threads > MOST_VALUES:
        raise LayoutError(f"{call}: {layout.size // threads} values a thread, of which at most {MOST_VALUES}; slice it")
    return BitColumns(columns[: threads.bit_length() - 1], columns[threads.bit_length() - 1 :])


def _check_same(call: str, source: AnyLayout, target: AnyLayout, pair: ConversionPair) -> None:
    """Raises LayoutError unless both layouts have the same number of threads and the source holds every element of
    the target."""
    if source[0].size != target[0].size:
        raise LayoutError(
            f"{call}: {source[0].size} threads hold the tile, and {target[0].size} want it; make them equal"
        )
    image = Image((*pair.source.threads, *pair.source.values))
    first = len(pair.target.threads)
    for bit, element in enumerate((*pair.target.threads, *pair.target.values)):
        if image.solve(element) is None:
            thread, value = (1 << bit, 0) if bit < first else (0, 1 << bit - first)
            raise LayoutError(
                f"{call}: thread {thread} wants element {element} as value {value}, which no thread of the source "
                "holds; give two layouts of the same tile"
            )


class Maps(NamedTuple):
    """F, M and G as columns over the bits of a thread; see the module's law."""

    after: list[int]
    permutation: list[int]
    before: list[int]


class ConversionPair(NamedTuple):
    """Two thread-value layouts of a tile, and how many bits of a thread's index tell the lanes of a subgroup apart."""

    source: BitColumns
    target: BitColumns
    lane_bits: int

    def plan(self, source: AnyLayout, target: AnyLayout, lanes: int) -> Conversion | None:
        """The plan of fewest shuffles; None where elements leave their subgroup, or a thread must give two at once."""
        here, there = self.source.different, self.target.different
        held, wanted = [self.source.values[bit] for bit in here], [self.target.values[bit] for bit in there]
        reached = Image((*held, *self.source.threads[: self.lane_bits]))
        # Round 0 without a move if every thread has something that it wants.
        maps = self._staying(held, wanted) or self._moving(held, wanted, reached)
        masks_and_registers = [reached.solve(column) for column in wanted]
        if maps is None or None in masks_and_registers:
            return None
        # Split each solution: high bits are the lane difference N, low bits the register H.
        masks = [(solution or 0) >> len(held) for solution in masks_and_registers]
        low = (1 << len(held)) - 1
        registers = [
            (solution or 0) & low ^ apply(maps.before, mask)
            for solution, mask in zip(masks_and_registers, masks, strict=True)
        ]
        identity = maps.permutation == [1 << bit for bit in range(len(maps.permutation))]
        image = Image(wanted)
        return Conversion(
            source,
            target,
            lanes,
            self.lacking(),
            tuple(apply([1 << bit for bit in here], index) for index in range(1 << len(here))),
            _swaps(maps.before),
            None if identity else BitMap(tuple(maps.permutation)),
            tuple(Round(apply(registers, k), apply(masks, k)) for k in range(1 << len(wanted))),
            _swaps(maps.after),
            tuple(image.solve(apply(self.target.values, value)) or 0 for value in range(1 << len(self.target.values))),
        )

    def lacking(self) -> int:
        """The most elements that a thread wants and does not hold: the least number of values that it must be given."""
        # 2^dim(wanted) elements wanted, less those of the intersection, if thread offsets lie in the sum.
        wanted = rank_of(self.target.values)
        together = rank_of((*self.source.values, *self.target.values))
        shared = wanted + rank_of(self.source.values) - together
        differences = [one ^ other for one, other in zip(self.source.threads, self.target.threads, strict=True)]
        strange = rank_of((*self.source.values, *self.target.values, *differences)) > together
        return (1 << wanted) - (0 if strange else 1 << shared)

    def _staying(self, held: list[int], wanted: list[int]) -> Maps | None:
        """Every thread reads from itself in round 0; None where one has nothing that it wants."""
        differences = [one ^ other for one, other in zip(self.source.threads, self.target.threads, strict=True)]
        best: Maps | None = None
        # S(t) + T(t) = held part + wanted part; either may be eliminated first, and the cheaper split wins.
        for swapped in (False, True):
            columns = (*wanted, *held) if swapped else (*held, *wanted)
            first = len(wanted) if swapped else len(held)
            image = Image(columns)
            solutions = [image.solve(difference) for difference in differences]
            if None in solutions:
                return None
            low = [(both or 0) & (1 << first) - 1 for both in solutions]
            high = [(both or 0) >> first for both in solutions]
            maps = Maps(low if swapped else high, [1 << bit for bit in range(len(solutions))], high if swapped else low)
            if best is None or _choices(maps, held, wanted) < _choices(best, held, wanted):
                best = maps
        return best

    def _moving(self, held: list[int], wanted: list[int], reached: Image) -> Maps | None:
        """Every thread reads from another one in round 0, and no two from one; None across subgroups."""
        # F spreads what threads ask for in one round over different owners.
        after = self._spreading(held, wanted)
        permutation, before = [], []
        for bit, (own, column) in enumerate(zip(self.source.threads, self.target.threads, strict=True)):
            outside = bit >= self.lane_bits
            solution = reached.solve(column ^ apply(wanted, after[bit]) ^ (own if outside else 0))
            if solution is None:
                return None
            before.append(solution & (1 << len(held)) - 1)
            permutation.append(solution >> len(held) | (1 << bit if outside else 0))
        self._use_replicas(permutation, before, held)
        image = Image()
        for thread, register in zip(permutation, before, strict=True):
            dependency = image.add(thread)
            if (
                dependency is not None and apply(before, dependency) != register
            ):  # two threads want different registers of one
                return None
        bits = range(len(permutation))
        for bit in bits:
            image.add(1 << bit)
        given = [*before, *(0 for _bit in bits)]
        return Maps(after, permutation, [apply(given, image.solve(1 << bit) or 0) for bit in bits])

    def _spreading(self, held: list[int], wanted: list[int]) -> list[int]:
        """The columns of F, the XOR that a thread's index applies to the number of the value it asks for in a round.

        Without it, threads whose wanted elements differ by what one thread holds would ask the same thread in one
        round. For each such bit of a lane, one bit of the value is flipped, if that leads to another thread; F has the
        least rank that does so, which is the number of swaps after the shuffles.
        """
        after = [0] * len(self.target.threads)
        apart = Image(held)
        for bit in [bit for bit in range(self.lane_bits) if apart.add(self.target.threads[bit]) is not None]:
            for at, column in enumerate(wanted):
                if apart.add(self.target.threads[bit] ^ column) is None:
                    after[bit] = 1 << at
                    break
        return after

    def _use_replicas(self, permutation: list[int], before: list[int], held: list[int]) -> None:
        """Where several threads hold the same, let different threads read from different ones."""
        lanes = self.source.threads[: self.lane_bits]
        image = Image((*held, *lanes))
        inside = len(held)
        copies = []  # (lanes, registers) that add up to nothing: a lane that holds what registers of lane 0 hold
        for bit, column in enumerate(lanes):
            solution = image.solve(column) or 0
            if solution != 1 << bit + inside:
                copies.append(((solution >> inside) ^ 1 << bit, solution & (1 << inside) - 1))
        kept = Image()
        for bit in [bit for bit in reversed(range(len(permutation))) if kept.add(permutation[bit]) is not None]:
            for moved, registers in copies:
                if kept.add(permutation[bit] ^ moved) is None:
                    permutation[bit] ^= moved
                    before[bit] ^= registers
                    break


def _choices(maps: Maps, held: Sequence[int], wanted: Sequence[int]) -> int:
    """The selects that the maps ask for."""
    return (rank_of(maps.before) << len(held)) + (rank_of(maps.after) << len(wanted))


def _swaps(columns: Sequence[int]) -> tuple[Swap, ...]:
    """A linear map from threads to registers as a sum of products: one swap for each dimension of its image."""
    image = Image(columns)
    made = [image.solve(column) or 0 for column in columns]
    used = sorted({bit for combination in made for bit in range(combination.bit_length()) if combination >> bit & 1})
    return tuple(
        Swap(sum(1 << at for at, combination in enumerate(made) if combination >> bit & 1), columns[bit])
        for bit in used
    )
