"""Which thread copies what: the thread-value layout of widest accesses and fewest transactions, from both sides alone.

Law: elements that a thread moves at once are neighbours on both sides, in one order, and begin at a multiple of their
bytes on both; so the groups follow from the source, and the widest is decided by looking. Which thread takes which
group is an order of the digits of the tile's index, and the best of all orders is counted out.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import LayoutError, TableError
from ..public import guarded
from ..values.composed import AnyLayout
from ..values.int_tuple import product_each
from ..values.methods import ReprIsStr
from .bits import columns_of
from .copy_search import CopyProblem, CopySide, distribute
from .table import from_offsets
from .thread_values import WIDEST, check_known, lanes_of, vectorised

MOST_ELEMENTS = 1 << 14
"""The most elements of a tile."""


@dataclass(frozen=True, slots=True, repr=False)
class WidestCopy(ReprIsStr):
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
            f"{verb} {count}, {least} would do"
            for verb, (count, least) in (("reads", self.reads), ("writes", self.writes))
        ]
        head = f"{self.layout_tv}: {self.access_bytes} bytes at once; {'; '.join(counts)}"
        return "\n  ".join([head, *self.limits])


@guarded
def widest_copy(
    source: AnyLayout,
    target: AnyLayout,
    threads: int,
    *,
    element_bytes: int = 4,
    align: tuple[int, int] = (16, 16),
    spaces: tuple[str, str] = ("gmem", "smem"),
    lanes: int = 32,
    banks: int = 32,
) -> WidestCopy:
    """The thread-value layout by which `threads` copy a tile from `source` to `target`, two layouts of one shape.

    Accesses are as wide as both allow, up to 16 bytes, and among those the transactions of 32 bytes in "gmem" and the
    rounds of the banks in "smem" are fewest, both sides added: of a small tile no plain layout takes fewer, of a large
    one none that was tried; a table that no layout says may. `align` says to how many bytes the first element of each
    is known to be aligned. With "rmem" for a memory that side is a layout from (thread, value) to the tile, the
    registers of a matrix instruction say; then the order of the values is what is chosen.

    >>> from cutepy.layout import Layout
    >>> print(widest_copy(Layout((32, 32), (128, 1)), Layout((32, 32), (32, 1)), 64))
    ((8,8),(4,4)):((128,1),(32,8)): 16 bytes at once; reads 128, 128 would do; writes 32, 32 would do
    >>> print(widest_copy(Layout((32, 32), (33, 1)), Layout((32, 32), (32, 1)), 64).limits[0])
    16 bytes: the stride 33 of the source is no multiple of 4
    >>> fragment = Layout(((4, 8), (2, 2)), ((2, 16), (8, 1)))
    >>> print(widest_copy(Layout((8, 16)), fragment, 32, spaces=("smem", "rmem")))
    ((4,8),(2,2)):((2,16),(1,8)): 8 bytes at once; reads 8, 4 would do; writes 0, 0 would do
      16 bytes: thread 0 has the element at offset 0, and not that at 2; memory has both: give them to one thread

    Raises LayoutError for unknown sizes, other shapes, threads that do not divide the tile, and where two elements
    of the tile are one.
    """
    call = f"widest_copy({source}, {target}, {threads})"
    for layout in (source, target):
        check_known(call, layout)
    for name, pair in (("align", align), ("spaces", spaces)):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise LayoutError(f"{call}: {name}={pair!r}; a pair, for the source and for the target")
    one, other = map(CopySide, ("source", "target"), (source, target), spaces, align)
    problem = CopyProblem(source.shape, (one, other), threads, element_bytes, lanes, banks)
    _check(call, problem)
    if "rmem" in spaces:
        return _of_fragment(call, problem)
    problem = _of_memories(call, problem)
    limits = []
    count = max(1, WIDEST // element_bytes)
    # From 16 bytes down: keep the reason why each wider access is impossible.
    while count > 1 and (why := problem.forbids(count)) is not None:
        limits.append(why)
        count //= 2
    while (distribution := distribute(problem, count)) is None:
        limits.append(
            f"{count * element_bytes} bytes: no plain layout gives a thread such groups, nor does a composed one that "
            f"was tried"
        )
        count //= 2
    layout_tv, (read, written) = distribution
    tile = product_each(source.shape)
    return WidestCopy(layout_tv, tile, count, count * element_bytes, read, written, tuple(limits))


def _check(call: str, problem: CopyProblem) -> None:
    """Raise LayoutError where that cannot be, whatever memory the two sides are in."""
    size, align, spaces = (
        problem.element_bytes,
        *zip(*((side.align, side.space) for side in problem.sides), strict=True),
    )
    numbers = {"threads": problem.threads, "element_bytes": size, "lanes": problem.lanes, "banks": problem.banks}
    for name, number in (*numbers.items(), *(("align", number) for number in align)):
        if type(number) is not int or number < 1:
            raise LayoutError(f"{call}: {name}={number!r}; a whole number from 1")
    if WIDEST % size or any(space not in ("gmem", "smem", "rmem") for space in spaces):
        raise LayoutError(
            f'{call}: elements of 1, 2, 4, 8 or 16 bytes, in "gmem", "smem" or "rmem", not {size}, {spaces}'
        )
    if any(alignment % size for alignment in align):
        raise LayoutError(f"{call}: align={align}; elements of {size} bytes begin at multiples of that")


def _of_fragment(call: str, problem: CopyProblem) -> WidestCopy:
    """The copy where registers fix which thread has which element: only the order of a thread's values is chosen."""
    (source, target), element_bytes = problem.sides, problem.element_bytes
    if source.space == target.space:
        raise LayoutError(f"{call}: from registers to registers it is no copy; convert(source, target) says how")
    # A fragment's owner is given; only the order of its values is free.
    loads = target.space == "rmem"
    side, fragment = (source, target.layout) if loads else (target, source.layout)
    analysis = vectorised(fragment, side.layout, element_bytes=element_bytes, align=side.align)
    if fragment[0].size != problem.threads:
        raise LayoutError(f"{call}: {fragment} has {fragment[0].size} threads, not {problem.threads}")
    table = [[row[value] for value in analysis.order] for row in lanes_of(call, fragment)]
    layout_tv, count, limits = fragment, analysis.possible, analysis.limits
    try:
        layout_tv = from_offsets(table)
    except TableError:
        count = analysis.elements
        limits = (
            *limits,
            f"{analysis.possible * element_bytes} bytes: no layout has the values in the order {analysis.order}",
        )
    side = side.listed()
    firsts = [[side.offsets[row[at]] * element_bytes for row in table] for at in range(0, len(table[0]), count)]
    costs = [side.cost(some, count * element_bytes, problem.lanes, problem.banks) for some in firsts]
    moved, none = (sum(cost for cost, _ in costs), sum(least for _, least in costs)), (0, 0)
    read, written = (moved, none) if loads else (none, moved)
    tile = product_each(side.layout.shape)
    return WidestCopy(layout_tv, tile, count, count * element_bytes, read, written, limits)


def _of_memories(call: str, problem: CopyProblem) -> CopyProblem:
    """The problem with both sides listed. Raises LayoutError where shapes differ or two elements share an offset."""
    (source, target), threads = (side.layout for side in problem.sides), problem.threads
    if product_each(source.shape) != product_each(target.shape):
        raise LayoutError(f"{call}: the shapes {source.shape} and {target.shape} differ; slice both to one tile")
    if source.size > MOST_ELEMENTS:
        raise LayoutError(f"{call}: {source.size} elements, of which at most {MOST_ELEMENTS} are looked at; tile it")
    if source.size % threads:
        raise LayoutError(f"{call}: {source.size} elements are no multiple of {threads} threads; choose a divisor")
    sides = []
    for side in problem.sides:
        sides.append(side.listed())
        if len(set(sides[-1].offsets)) < side.layout.size:
            raise LayoutError(
                f"{call}: two elements of the tile are one of the {side.name}, {side.layout}; leave that mode out"
            )
    linear = columns_of(source) is not None and columns_of(target) is not None
    return problem._replace(sides=(sides[0], sides[1]), linear=linear)
