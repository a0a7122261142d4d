"""Questions about layouts: which accesses collide, who owns what, what layout or copy or conversion is best, and why.

Law: the answer is that of the function of the same name in the room that knows. That room is loaded with the first
question to it; loaded at the start, the rooms would make every start a fifth longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .values.above import provided

if TYPE_CHECKING:
    from .algebra.banks import BankConflicts, Transactions
    from .algebra.convert import Conversion
    from .algebra.copies import WidestCopy
    from .algebra.find import Found
    from .algebra.lanes import Owners, Touched, Vectorised
    from .algebra.operation import Act
    from .text.explain import Explanation
    from .values.composed import AnyLayout
    from .values.int_tuple import IntTuple


def bank_conflicts(
    layout: AnyLayout, element_bytes: int = 4, access_bytes: int | None = None, lanes: int = 32, banks: int = 32
) -> BankConflicts:
    """How many rounds workgroup memory takes for the accesses of `layout`, a map from (lane, value) to an element.

    Mode 0 counts lanes, subgroup after subgroup; each coordinate of the other modes is an access of its own. A bank
    gives one word of 4 bytes a round, to all lanes that want it. As many lanes are served together as 4 bytes a lane
    allow: accesses of 8 and 16 bytes take a half and a quarter of a subgroup at a time, a phase each.

    >>> from cutepy.layout import Layout
    >>> print(bank_conflicts(Layout((32, 2), (32, 1))))
    32-way conflict, 64 rounds for 2 phases: at access 0 lanes 0, 1, 2, 3, ... want words 0, 32, 64, 96, ... of bank 0
    >>> bank_conflicts(Layout(32, 33)).ways, bank_conflicts(Layout(32, 1), element_bytes=16).phases
    (1, (1, 1, 1, 1))

    With `access_bytes` a lane takes so many bytes at once: its values in order, which must be neighbours, or, where the
    layout has lanes only, the bytes from its element on. Raises LayoutError for accesses that are no whole elements or
    do not begin at a multiple of their bytes, for unknown sizes, and above a million elements.
    """
    answer: BankConflicts = provided("bank_conflicts")(layout, element_bytes, access_bytes, lanes, banks)
    return answer


def transactions(
    layout: AnyLayout, element_bytes: int = 4, access_bytes: int | None = None, lanes: int = 32, segment_bytes: int = 32
) -> Transactions:
    """How many segments of memory the accesses of `layout` touch, a map from (lane, value) to an element.

    Lanes, values and `access_bytes` are those of `bank_conflicts`; a subgroup asks for a segment once an access.

    >>> from cutepy.layout import Layout
    >>> print(transactions(Layout(32, 1)), "|", transactions(Layout(32, 2)), "|", transactions(Layout(32, 8)))
    4 transactions, 4 would do | 8 transactions, 4 would do | 32 transactions, 4 would do

    Raises LayoutError as `bank_conflicts`.
    """
    answer: Transactions = provided("transactions")(layout, element_bytes, access_bytes, lanes, segment_bytes)
    return answer


def who_owns(layout_tv: AnyLayout, crd: IntTuple, tile: IntTuple) -> Owners:
    """The threads and values of a thread-value layout that hold the element at `crd` of a tile of this shape.

    >>> from cutepy.layout import Layout
    >>> print(who_owns(Layout(((4, 8), 2), ((16, 1), 8)), (3, 5), (8, 8)))
    (3,5): thread 14 as value 1

    Raises LayoutError for unknown sizes and a coordinate that the tile does not have.
    """
    answer: Owners = provided("who_owns")(layout_tv, crd, tile)
    return answer


def touched_by(layout_tv: AnyLayout, thread: int, tile: IntTuple) -> Touched:
    """The coordinates that `thread` touches of a tile of this shape, in the order of its values.

    >>> from cutepy.layout import Layout
    >>> print(touched_by(Layout(((4, 8), 2), ((16, 1), 8)), 14, (8, 8)))
    thread 14: (3,4), (3,5)

    Raises LayoutError for unknown sizes and a thread that the layout does not have.
    """
    answer: Touched = provided("touched_by")(layout_tv, thread, tile)
    return answer


def vectorised(layout_tv: AnyLayout, memory: AnyLayout, *, element_bytes: int = 4, align: int = 16) -> Vectorised:
    """How many values a thread moves at once between registers and a tile that lies in memory as `memory`.

    They are neighbours in memory and begin at a multiple of their bytes, for every thread; `align` is that of the first
    element. An order of the values that makes accesses wider is found where there is one.

    >>> from cutepy.layout import Layout
    >>> print(vectorised(Layout((8, (2, 2)), (4, (2, 1))), Layout(32)))
    4 bytes at once; 16 with the values in the order 0, 2, 1, 3
    >>> print(vectorised(Layout((8, 4), (1, 8)), Layout(32)))
    4 bytes at once
      16 bytes: thread 0 has the element at offset 0, and not that at 1; memory has both: give them to one thread
      8 bytes: thread 0 has the element at offset 0, and not that at 1; memory has both: give them to one thread

    Raises LayoutError for unknown sizes, and where the layout reaches out of the tile.
    """
    answer: Vectorised = provided("vectorised")(layout_tv, memory, element_bytes, align)
    return answer


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

    With `pad` it is the smallest pitch that does it, in any order of the modes. Where extents are no powers of two it
    is such a pitch, or a swizzle of an order of the modes: what is better, and then what is smaller. Where the tile
    allows none the certificate says so, and the layout is the best there is. Raises LayoutError for an access that is
    no map into the tile, that tears what a lane takes at once, for unknown sizes, and for more than 65,536 elements.
    """
    answer: Found = provided("conflict_free")(shape, accesses, element_bytes, access_bytes, lanes, banks, pad)
    return answer


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
    rounds of the banks in "smem" are fewest, both sides added. `align` says to how many bytes the first element of each
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
    answer: WidestCopy = provided("widest_copy")(source, target, threads, element_bytes, align, spaces, lanes, banks)
    return answer


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
    nobody holds, and where elements leave their `lanes` threads though shuffles are asked for.
    """
    answer: Conversion = provided("convert")(source, target, lanes, element_bytes, through)
    return answer


def explain(function: Act | str, *operands: object) -> Explanation:
    """How `function(*operands)` comes to its result, in checked steps; for a refusal, the step that fails and why.

    >>> from cutepy.layout import Layout, composition
    >>> print(explain(composition, Layout((4, 2), (2, 1)), Layout((2, 2), (4, 1))))
    composition((4,2):(2,1), (2,2):(4,1))
      1. The left operand, coalesced, is (4,2):(2,1): it reads an index as digits of extents (4,2), the last unbounded.
      2. Mode 0 of the right operand, 2:4: a step moves these digits by (0,1); the offsets 0, 1 are 2:1.  [checked at 2]
      3. Mode 1 of the right operand, 2:1: a step moves these digits by (1,0); the offsets 0, 2 are 2:2.  [checked at 2]
      4. The modes add up without disturbing one another, so they stand side by side: (2,2):(1,2).  [checked at 4]
      = (2,2):(1,2)

    A text of a call is read as the command line and pictures read it: `explain("composition((4,2), (2,2):(4,1))")`.
    Works for coalesce, composition, complement, the inverses, the divides and the products.
    Raises LayoutError for another function, composed layouts and unknown sizes, and TypeError for operands that it
    does not take.
    """
    answer: Explanation = provided("explain")(function, *operands)
    return answer
