"""Collectives of a workgroup: reductions, scans and searches, by subgroups where the device has them.

Law: every thread gets the fold of what all threads give, a scan the fold of what the threads up to its own give, in
any grouping: floats may differ in rounding from device to device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CellType
from typing import Any

import numpy as np

from ...errors import KernelError
from ...layout import Layout
from ...tensor.bulk import computed
from ...tensor.dtypes import DType, u32
from ...tensor.engine import Moved
from ...tensor.make import make_fragment_like
from ...tensor.tensor import Tensor
from ..ir import AddressSpace, Expr, as_expr
from ..ir.place import user_place
from ..ir.ranges import range_of
from ..trace.blocks import only
from ..trace.engine import BufferEngine
from ..trace.loops import turns
from ..trace.state import Trace, current
from . import functions
from .control import barrier, lane, loop, subgroup, subgroup_size, thread
from .folds import NO_INDEX, ArgFold, Fold, accumulator, float_of_key, fold_lanes, order_key

Element = tuple[Expr, ...]
"""The contribution of a thread: a value, or several that are folded together."""
Operation = str | Callable[[Any, Any], Any]
NAMES = "sum", "prod", "max", "min", "any", "all"
_SCRATCH = "what threads give one another"


@dataclass(frozen=True, slots=True)
class FoldOperands:
    """The operands of a fold: the elements of this thread, in order, and the function that folds two."""

    trace: Trace
    elements: list[Element]
    combine: Callable[[Element, Element], Element]
    fold: Fold | None
    single: bool

    @property
    def dtypes(self) -> list[DType]:
        """The types in which they are folded."""
        return [value.dtype for value in self.elements[0]]

    @property
    def own(self) -> Element:
        """The elements of this thread, folded."""
        # A tree: pairs of neighbours, the odd one carried to the next level.
        values = self.elements
        while len(values) > 1:
            left = values[len(values) // 2 * 2 :]
            values = [self.combine(a, b) for a, b in zip(values[::2], values[1::2], strict=False)] + left
        return values[0]

    def given(self, element: Element) -> Any:
        """A result, as the user gave the elements."""
        if self.fold is not None and self.fold.name in ("any", "all"):
            return element[0] != 0
        return element[0] if self.single else element


def _entered(call: str) -> Trace:
    """The trace, of which all threads come here. Raises KernelError where some might not."""
    trace = current(call)
    trace.launched(call)
    if trace.divergent[-1]:
        raise KernelError(
            f"{user_place()}: {call} inside {trace.divergent[-1]}, which threads of a workgroup may decide "
            "differently: all of them must take part; move it out, and let those threads give what changes nothing"
        )
    return trace


def operands_of(call: str, value: Any, op: Operation) -> FoldOperands:
    trace, single = _entered(call), not isinstance(value, tuple)
    columns = [_values(call, column) for column in ((value,) if single else value)]
    if len({len(column) for column in columns}) != 1:
        raise KernelError(f"{user_place()}: {call} of values together: each has to have as many elements")
    elements: list[Element] = list(zip(*columns, strict=True))
    if callable(op):
        function = op
        combine = (lambda a, b: (function(a[0], b[0]),)) if single else (lambda a, b: tuple(function(a, b)))
        return FoldOperands(trace, elements, combine, None, single)
    if op not in NAMES or not single:
        what = "one value is" if single else f"{len(columns)} values together are not"
        raise KernelError(
            f"{user_place()}: {call}(..., {op!r}): {what} folded by {', '.join(NAMES)}; or give a function"
        )
    fold = Fold(op, accumulator(op, columns[0][0].dtype))
    taken: list[Element] = [(fold.taken(x),) for (x,) in elements]
    return FoldOperands(trace, taken, lambda a, b: (fold.combine(a[0], b[0]),), fold, single)


def _values(call: str, value: Any) -> list[Expr]:
    """The values of a fragment, or the one value."""
    values = computed(value).ravel(order="F").tolist() if isinstance(value, Tensor) else [value]
    if not values or not all(isinstance(x, Expr) for x in values):
        raise KernelError(f"{user_place()}: {call} of {value!r}: give a value of the kernel, or a fragment of them")
    return values


def workgroup_reduce(value: Any, op: Operation = "sum") -> Any:
    """The fold of what all threads of the workgroup give: a value each, a fragment each, or a tuple of such.

    `op` is "sum", "prod", "max", "min", "any" or "all", or an associative and commutative function of two values (of
    two tuples, where tuples are given). Every thread gets the result: by a name f16 is folded in f32 and given in f32,
    and any and all give a bool; by a function the result has the type that the function gives.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def total(x, out):
    ...     gpu.launch(grid=1, threads=64)
    ...     out[gpu.thread] = gpu.workgroup_reduce(x[gpu.thread])
    >>> x, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    >>> total.interpret(x, out); out[:3].tolist()
    [2016, 2016, 2016]

    Raises KernelError where not all threads of the workgroup would come here, for a name that is none of these or a
    tuple with a name, for fragments of unequal sizes together, and for a plain number.
    """
    given = operands_of("gpu.workgroup_reduce", value, op)
    fold = given.fold
    found = _reduced(given, None if fold is None else lambda own: (_subgroup_fold(own[0], fold),))
    # `together`: equal in all threads. `element != 0` of any and all is agreed on because its operands are.
    given.trace.together |= {*found}
    return given.given(found)


def _reduced(given: FoldOperands, of_subgroup: Callable[[Element], Element] | None) -> Element:
    """The fold of all threads; `of_subgroup` folds over a subgroup, where the target has a function for that."""
    if of_subgroup is not None and given.trace.has_subgroups():
        with given.trace.for_every_size():
            return _by_subgroups(given.trace, of_subgroup(given.own), given.combine)
    return _by_memory(given.trace, given.own, given.combine)


def _by_memory(trace: Trace, own: Element, combine: Callable[[Element, Element], Element]) -> Element:
    """A tree in shared memory."""
    threads, me = trace.threads, thread()
    tiles = scratch(trace, [value.dtype for value in own], threads)

    def step(a: Expr, b: Expr) -> None:
        put(tiles, a, combine(get(tiles, a), get(tiles, b)))

    put(tiles, me, own)
    # The largest power of 2; the threads beyond it are folded into the first ones, then the tree is whole.
    whole = 1 << threads.bit_length() - 1
    if whole < threads:
        barrier()
        with only(me < threads - whole):
            step(me, me + whole)
    fold_lanes(whole, me, step)
    barrier()
    return get(tiles, 0)


def _by_subgroups(trace: Trace, own: Element, combine: Callable[[Element, Element], Element]) -> Element:
    """The folds of the subgroups, folded by each thread in their order: the same bits in every thread."""
    tiles = scratch(trace, [value.dtype for value in own], -(-trace.threads // 4))
    with only(lane() == 0):
        put(tiles, subgroup(), own)
    barrier()
    folded = CellType(get(tiles, 0))
    for k in turns(loop(_subgroups(trace), start=1), "k", folded=folded):
        folded.cell_contents = combine(folded.cell_contents, get(tiles, k))
    whole: Element = folded.cell_contents
    return whole


def _subgroups(trace: Trace) -> Expr:
    """How many subgroups the workgroup has. Computed from the size: `num_subgroups` of some drivers omits a partial
    one."""
    return (trace.threads - 1) // subgroup_size() + 1


_OF_SUBGROUP: dict[str, Callable[[Expr], Expr]] = {
    "sum": functions.subgroup_add,
    "prod": functions.subgroup_mul,
    "max": functions.subgroup_max,
    "min": functions.subgroup_min,
    "any": functions.subgroup_max,
    "all": functions.subgroup_min,
}


def _subgroup_fold(value: Expr, fold: Fold) -> Expr:
    """The fold over a subgroup. Extremes of floats are compared by integer keys (`order_key`): a compiler may assume
    that there is no NaN."""
    extreme = fold.name in ("max", "min")
    key = _OF_SUBGROUP[fold.name](order_key(value, value.dtype, fold.name == "max") if extreme else value)
    return float_of_key(key, fold.dtype) if extreme else key


def workgroup_argmax(value: Any, index: Any = None) -> tuple[Any, Any]:
    """The greatest of what all threads give, and its index: by default its number among the elements in order of the
    threads. Of equal ones the least index; NaN counts as greatest, as in NumPy.

    Raises KernelError as `workgroup_reduce` does.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def place(x, y):
    ...     gpu.launch(threads=64)
    ...     value, at = gpu.workgroup_argmax(x[gpu.thread])
    ...     y[gpu.thread] = at
    >>> x, y = np.array([3, 1, 4, 1] * 16, np.int32), np.zeros(64, np.uint32)
    >>> place.interpret(x, y); int(y[0])
    2
    """
    return _arg_extreme("gpu.workgroup_argmax", value, index, True)


def workgroup_argmin(value: Any, index: Any = None) -> tuple[Any, Any]:
    """The least of what all threads give, and its index, as `workgroup_argmax`.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def place(x, y):
    ...     gpu.launch(threads=64)
    ...     value, at = gpu.workgroup_argmin(x[gpu.thread])
    ...     y[gpu.thread] = at
    >>> x, y = np.array([3, 1, 4, 1] * 16, np.int32), np.zeros(64, np.uint32)
    >>> place.interpret(x, y); int(y[0])
    1

    Raises KernelError as `workgroup_argmax`.
    """
    return _arg_extreme("gpu.workgroup_argmin", value, index, False)


def _arg_extreme(call: str, value: Any, index: Any, greatest: bool) -> tuple[Any, Any]:
    """The greatest or the least of all threads' values, and its index; of equal ones the least index."""
    trace, values = _entered(call), _values(call, value)
    search = ArgFold(greatest, values[0].dtype)
    places = [thread() * len(values) + j for j in range(len(values))] if index is None else _values(call, index)
    if len(places) != len(values):
        raise KernelError(f"{user_place()}: {call}: {len(values)} values and {len(places)} indices; give one for each")
    pairs: list[Element] = [(search.lift(v), functions.cast(at, u32)) for v, at in zip(values, places, strict=True)]

    def combine(a: Element, b: Element) -> Element:
        return search.combine((a[0], a[1]), (b[0], b[1]))

    def of_subgroup(own: Element) -> Element:
        best = (functions.subgroup_max if greatest else functions.subgroup_min)(own[0])
        return best, functions.subgroup_min(functions.select(own[0] == best, own[1], NO_INDEX))

    best, at = _reduced(FoldOperands(trace, pairs, combine, None, single=False), of_subgroup)
    trace.together |= {best, at}
    most = max(range_of(place)[1] for _, place in pairs)
    return search.value(best), functions.minimum(at, most)  # for the proof: what is read of shared memory has no bound


def workgroup_scan(value: Any, op: Operation = "sum", *, exclusive: bool = False, carry: Any = None) -> Any:
    """The fold of what the threads up to this one give; with `exclusive`, of those before it: a running sum.

    Of a fragment, whose elements go on from thread to thread, the fragment of what each would get. `op` is as in
    `workgroup_reduce`, and need not be commutative; what comes before the first thread only the named ones know.

    With `carry`, the fold of all that comes before these threads, two things: the scan that goes on from it, and the
    `carry` of what comes after them.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def places(x, out):
    ...     gpu.launch(grid=1, threads=64)
    ...     out[gpu.thread] = gpu.workgroup_scan(x[gpu.thread], exclusive=True)
    >>> x, out = np.full(64, 3, np.uint32), np.zeros(64, np.uint32)
    >>> places.interpret(x, out); out[:4].tolist()
    [0, 3, 6, 9]

    Raises KernelError as `workgroup_reduce` does.
    """
    given = operands_of("gpu.workgroup_scan", value, op)
    if exclusive and given.fold is None and carry is None:
        raise KernelError(
            f"{user_place()}: gpu.workgroup_scan(..., exclusive=True) with a function: nothing tells what it begins "
            "with; scan inclusively, or by a name"
        )
    running: list[Element] = []
    for element in given.elements:
        running.append(given.combine(running[-1], element) if running else element)
    before, first, whole = _before(given, running[-1], total=carry is not None)
    if whole is not None:
        start = _as_given(given, carry)
        joined = given.combine(start, before)
        before = joined if first is None else _chosen(first, start, joined)
        first, whole = None, given.combine(start, whole)
    found: list[Element] = []
    for share in [None, *running[:-1]] if exclusive else running:
        met = before if share is None else given.combine(before, share)
        if first is not None:
            met = _chosen(first, _identity(given) if share is None else share, met)
        found.append(met)
    result: Any = given.given(found[0])
    if isinstance(value, Tensor):
        result = make_fragment_like(value, given.fold.dtype if given.fold else None)
        for place, element in enumerate(found):
            result[place] = given.given(element)
    return result if whole is None else (result, given.given(whole))


def _as_given(given: FoldOperands, carry: Any) -> Element:
    """A carry as the threads' own elements are."""
    parts = (carry,) if given.single else tuple(carry)
    found = tuple([as_expr(part, dtype) for part, dtype in zip(parts, given.dtypes, strict=True)])
    return found if given.fold is None else (given.fold.taken(found[0]),)


def _chosen(condition: Expr, then: Element, other: Element) -> Element:
    return tuple([functions.select(condition, a, b) for a, b in zip(then, other, strict=True)])


def _identity(given: FoldOperands) -> Element:
    assert given.fold is not None
    return (functions.constant(given.fold.identity, given.fold.dtype),)


def _before(given: FoldOperands, own: Element, *, total: bool) -> tuple[Element, Expr | None, Element | None]:
    """(fold of the threads before this one, condition under which there is none, fold of all threads).

    The condition is None where the first is then the identity anyway, the last None unless `total` asks for it.
    """
    trace, me = given.trace, thread()
    if given.fold is not None and given.fold.name == "sum" and trace.has_subgroups():
        with trace.for_every_size():
            if total:
                inside, whole = _sums(trace, own[0])
                return (inside,), None, (whole,)
            return (_sum_before(trace, own[0]),), None, None
    tiles = _scanned(trace, own, given.combine)
    # Thread 0 has none before it: it reads its own element, and the caller takes the identity.
    at = functions.maximum(me, 1) - 1
    return get(tiles, at), me == 0, get(tiles, trace.threads - 1) if total else None


def _sum_before(trace: Trace, own: Expr) -> Expr:
    (partial,) = scratch(trace, [own.dtype], -(-trace.threads // 4))
    inside = CellType(functions.subgroup_exclusive_add(own))
    with only(lane() == subgroup_size() - 1):  # only the last subgroup may be partial, and its sum is not used
        partial[subgroup()] = inside.cell_contents + own
    barrier()
    for k in turns(loop(subgroup()), "k", inside=inside):
        inside.cell_contents = inside.cell_contents + partial[k]
    before: Expr = inside.cell_contents
    return before


def _sums(trace: Trace, own: Expr) -> tuple[Expr, Expr]:
    """The sum of the threads before this one, and that of all: the same in each, for each adds up in one order."""
    (partial,) = scratch(trace, [own.dtype], -(-trace.threads // 4))
    inside, mine = functions.subgroup_exclusive_add(own), functions.subgroup_add(own)
    with only(lane() == 0):
        partial[subgroup()] = mine
    barrier()
    before = CellType(functions.constant(0, own.dtype))
    for k in turns(loop(subgroup()), "k", before=before):
        before.cell_contents = before.cell_contents + partial[k]
    whole = CellType(before.cell_contents)
    for k in turns(loop(_subgroups(trace), start=subgroup()), "k", whole=whole):
        whole.cell_contents = whole.cell_contents + partial[k]
    return inside + before.cell_contents, whole.cell_contents


def _scanned(trace: Trace, own: Element, combine: Callable[[Element, Element], Element]) -> list[Tensor]:
    """The inclusive scan in shared memory, by steps of 1, 2, 4 ... (Hillis and Steele), to and fro between two rows."""
    threads, me = trace.threads, thread()
    # Two rows, so that a step reads one and writes the other: one barrier a step is enough.
    rows = [scratch(trace, [value.dtype for value in own], threads, side) for side in (0, 1)]
    side, step = 0, 1
    put(rows[side], me, own)
    while step < threads:
        barrier()
        with only(me >= step):
            put(rows[1 - side], me, combine(get(rows[side], me - step), get(rows[side], me)))
        with only(me < step):
            put(rows[1 - side], me, get(rows[side], me))
        side, step = 1 - side, 2 * step
    barrier()
    return rows[side]


def scratch(trace: Trace, dtypes: Sequence[DType], length: int, row: int = 0) -> list[Tensor]:
    """Shared memory for a collective, one array a type, which later collectives use again."""
    tiles: list[Tensor] = []
    again = False
    for number, dtype in enumerate(dtypes):
        note = _SCRATCH + f", value {number + 1}" * (number > 0) + ", in turn" * (row > 0)
        same = [b for b in trace.local if b.note == note and b.dtype is dtype and b.length >= length]
        # Memory that was used before, or in a loop's last iteration: a barrier keeps its readers before these writers.
        again |= bool(same or trace.open)
        buffer = same[0] if same else trace.local_array(dtype, length, AddressSpace.WORKGROUP, "partial", note)
        tiles.append(Tensor(BufferEngine(trace, buffer), Layout(length)))
    if again and not row:
        barrier()
    return tiles


def put(tiles: Sequence[Tensor], at: Any, element: Element) -> None:
    for tile, value in zip(tiles, element, strict=True):
        tile[at] = value


def get(tiles: Sequence[Tensor], at: Any) -> Element:
    return tuple([tile[at] for tile in tiles])


def get_each(tiles: Sequence[Tensor], first: Any, steps: list[int]) -> list[Element]:
    """The elements at `first + step` for each step, loaded one by one, as they were stored: no vector spans two
    threads'."""
    engines = [tile.engine for tile in tiles if isinstance(tile.engine, BufferEngine)]
    return list(zip(*[engine.load(Moved(first, np.array(steps)), most=1).tolist() for engine in engines], strict=True))
