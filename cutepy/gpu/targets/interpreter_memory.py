"""The state of an interpreted run: values, arrays, accesses of memory, subgroup operations and matrices.

A matrix of a subgroup is an array (workgroups, subgroups, rows, columns), moved and combined by all of its threads at
once, or none. A `Watch` sees each of its elements accessed by one thread; devices leave open which thread that is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import KernelError
from ...tensor.dtypes import MatrixType, Window
from .. import ir
from ..ir import Barrier, Buffer, Expr, Kernel, Stmt, Var
from ..ir.laws import Array, Law

if TYPE_CHECKING:
    from .interpreter import Compiler


@dataclass(slots=True)
class InterpreterState:
    """One run over some workgroups: where each array lives, what the names hold, which threads are active (None: all).

    `statement_cache` and `iteration_cache` hold values of expressions until the statement, or the iteration, ends."""

    kernel: Kernel
    groups: int
    arrays: dict[Buffer, Array]
    ids: dict[tuple[str, int | None], Array]
    values: dict[Expr, Array] = field(default_factory=dict)
    iteration_cache: dict[Expr, Array] = field(default_factory=dict)
    statement_cache: dict[Expr, Array] = field(default_factory=dict)
    params: dict[Expr, Array] = field(default_factory=dict)
    active: Array | None = None
    subgroup_size: int = 32
    #: The counters of the loops that are running, outermost first.
    loops: list[Var] = field(default_factory=list)
    #: In kernels that wait: how often each array was changed, and what each atomic in a waiting loop read last.
    changes: Counter[Buffer] = field(default_factory=Counter)
    last_seen: dict[Stmt, tuple[int, bytes]] = field(default_factory=dict)
    watch: Watch | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.groups, self.kernel.threads

    @property
    def everyone(self) -> npt.NDArray[np.bool_]:
        return np.broadcast_to(np.True_ if self.active is None else self.active, self.shape)

    def workgroup(self, group: int) -> tuple[int, int, int]:
        x, y, z = [int(np.broadcast_to(self.ids["workgroup_id", a], self.shape)[group, 0]) for a in range(3)]
        return x, y, z

    def counters(self, group: int, thread: int) -> tuple[tuple[str, int], ...]:
        """What the loops around count, for one invocation."""
        return tuple((v.name, int(np.broadcast_to(self.values[v], self.shape)[group, thread])) for v in self.loops)


Compute = Callable[[InterpreterState], Array]
"""Computes a value."""
Run = Callable[[InterpreterState], None]
"""Runs a statement."""


class Watch:
    """An observer of a run, called at each access of memory that threads share, and at each barrier."""

    def begin(self, s: InterpreterState) -> None:
        """The workgroups of `s` are about to run."""

    def access(self, s: InterpreterState, check: AccessCheck, at: Array, active: Array | None, values: Array) -> None:
        """The active invocations access elements from `at` on, and read or write `values`."""

    def barrier(self, s: InterpreterState, stmt: Barrier) -> None:
        """The active invocations come to a barrier."""


class Phased(Watch):
    """Counts the barriers that each workgroup has passed, those of shared memory and those of bindings."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.groups: Array = np.zeros(0, np.int64)
        self.epochs: dict[str, Array] = {}

    def begin(self, s: InterpreterState) -> None:
        x, y, _ = s.kernel.grid
        at = [s.ids["workgroup_id", axis][:, 0].astype(np.int64) for axis in range(3)]
        self.groups = at[0] + x * (at[1] + y * at[2])
        self.epochs = {space: np.zeros(s.groups, np.int64) for space in ir.AddressSpace}

    def barrier(self, s: InterpreterState, stmt: Barrier) -> None:
        self.epochs[ir.AddressSpace.STORAGE if stmt.storage else ir.AddressSpace.WORKGROUP] += s.everyone.any(axis=1)


@dataclass(slots=True)
class AccessCheck:
    """Checks that one access of the text stays inside its array, and names the invocation that leaves it."""

    kernel: Kernel
    buffer: Buffer
    lanes: int
    place: str
    verb: ir.Verb
    index: Expr | None = None
    takes: bool = True
    coordinates: tuple[tuple[Compute, int], ...] = ()

    def check_coordinates(self, s: InterpreterState, active: Array | None) -> None:
        """Raise KernelError where an active invocation has a coordinate outside its extent."""
        for compute, extent in self.coordinates:
            value = compute(s)
            # Only active threads count: the values of the others are not computed on a device.
            outside = (value < 0) | (value >= extent)
            if active is not None:
                outside = outside & active
            if outside.any():
                group, thread = first_invocation(s, outside)
                coordinate = int(np.broadcast_to(value, s.shape)[group, thread])
                raise KernelError(
                    f"{self.context()} coordinate {coordinate} of a mode of {extent}, outside its shape: "
                    + ", ".join(self.invocation(s, group, thread))
                )

    @staticmethod
    def invocation(s: InterpreterState, group: int, thread: int) -> list[str]:
        """Which invocation it is, with the counters of its loops."""
        counters = [f"{name} = {value}" for name, value in s.counters(group, thread)]
        return [f"workgroup {s.workgroup(group)}, thread {thread}", *counters]

    def check_constant(self, first: int) -> None:
        if not 0 <= first <= self.buffer.length - self.lanes:
            raise KernelError(f"{self.context()} element {first}, it has {self.buffer.length}")

    def context(self) -> str:
        place = f"{self.place}: " if self.place else ""
        return f"{place}kernel {self.kernel.name} {self.verb} {self.buffer.name} at"

    def elements(
        self,
        s: InterpreterState,
        index: Array,
        active: Array | None,
        put: Callable[[InterpreterState], Array] | None = None,
    ) -> Array:
        """The first element of each access, 0 for the inactive invocations; `put` gives what is written."""
        # In 64 bits, so that the product with the width cannot wrap.
        at = index.astype(np.int64) * self.buffer.width
        if active is not None:
            at = np.where(active, at, 0)
        # The last element that an access of so many lanes may begin at, in whole vectors.
        last = -(-self.buffer.length // self.buffer.width) * self.buffer.width - self.lanes
        if at.size and (int(at.max()) > last or int(at.min()) < 0):
            self.refuse(s, np.broadcast_to(at, s.shape), last, put)
        return at

    def refuse(
        self, s: InterpreterState, at: Array, last: int, put: Callable[[InterpreterState], Array] | None
    ) -> None:
        group, thread = first_invocation(s, (at > last) | (at < 0))
        element = int(at[group, thread])
        size = f"it has {self.buffer.length} elements" + (f" and {self.lanes} are accessed" if self.lanes > 1 else "")
        where = self.invocation(s, group, thread)
        if put is not None:
            where.append(f"value {' '.join(map(str, value_at(put(s), self.lanes, s.shape, group, thread)))}")
        raise KernelError(f"{self.context()} element {element}, {size}: {', '.join(where)}")


def first_invocation(s: InterpreterState, which: Array) -> tuple[int, int]:
    """The first of these invocations: its workgroup of those that are run together, and its thread."""
    group, thread = map(int, np.argwhere(np.broadcast_to(which, s.shape))[0])
    return group, thread


def refuse_stated(s: InterpreterState, stmt: ir.Stated, at: tuple[int, int], found: str) -> None:
    """Raise KernelError for what the user says of data and does not hold, with what was found at an invocation."""
    where = ", ".join(AccessCheck.invocation(s, *at))
    raise KernelError(f"{stmt.place}: kernel {s.kernel.name} assumes {stmt.said}: {found} ({where})")


def check_wait(s: InterpreterState, check: AccessCheck, stmt: Stmt, at: Array, old: Array) -> None:
    """Raise KernelError where a waiting loop reads what it read on its last iteration, and the array has not changed:
    as workgroups run one after the other, it cannot change before this one ends."""
    on = s.everyone
    # The state of the wait: writes so far, which threads wait, where, and what they read.
    now = s.changes[check.buffer], on.tobytes() + at[on].tobytes() + old[on].tobytes()
    if on.any() and s.last_seen.get(stmt) == now:
        group, thread = first_invocation(s, on)
        raise KernelError(
            f"{check.place}: kernel {check.kernel.name} waits here for ever: workgroup {s.workgroup(group)}, thread "
            f"{thread} finds {old[group, thread]} in element {at[group, thread]} of {check.buffer.name} again, and none"
            " that runs meanwhile changes it: the interpreter runs one workgroup after the other, and no device has to "
            "run two at once; let workgroups wait for those before them, which took a number by gpu.atomic_add"
        )
    s.last_seen[stmt] = now


def value_at(values: Array, lanes: int, shape: tuple[int, int], group: int, thread: int) -> Array:
    """The lanes of what one invocation has."""
    whole = np.broadcast_to(values, (lanes, *shape) if lanes > 1 else shape)
    return np.atleast_1d(whole[..., group, thread])


def spread(s: InterpreterState, buffer: Buffer, at: Array, lanes: int) -> Array:
    """Where elements stand in an array's memory: each workgroup, or each thread, has its own."""
    if lanes > 1:
        at = at + np.arange(lanes)[:, None, None]
    if buffer.space == ir.AddressSpace.WORKGROUP:
        # (workgroups, elements), flattened
        at = at + np.arange(s.groups)[:, None] * s.arrays[buffer].shape[1]
    elif buffer.space == ir.AddressSpace.PRIVATE:
        # (elements, workgroups, threads), flattened
        at = (at * s.groups + np.arange(s.groups)[:, None]) * s.kernel.threads + np.arange(s.kernel.threads)
    return at


def gather(s: InterpreterState, buffer: Buffer, at: Array, lanes: int) -> Array:
    values: Array = s.arrays[buffer].take(spread(s, buffer, at, lanes))
    return values


def scatter(s: InterpreterState, buffer: Buffer, at: Array, value: Array, lanes: int) -> None:
    array, shape = s.arrays[buffer].reshape(-1), (lanes, *s.shape) if lanes > 1 else s.shape
    at, value = np.broadcast_to(spread(s, buffer, at, lanes), shape), np.broadcast_to(value, shape)
    if s.active is None:
        # Of several stores to one element NumPy keeps the last one; a kernel with such stores is a race.
        array[at] = value
    else:
        active = np.broadcast_to(s.active, shape)
        array[at[active]] = value[active]


def both(a: Array | None, b: Array) -> Array:
    return b if a is None else np.logical_and(a, b)


def _wrapping(law: np.ufunc) -> Law:
    """A reduction in the type of the elements: NumPy would widen integers."""
    return lambda values, axis: law.reduce(values, axis=axis, dtype=values.dtype)


# Reductions of a subgroup: the ufunc, and its neutral element.
_REDUCE: dict[str, tuple[Law, float]] = {
    "subgroup_add": (_wrapping(np.add), 0),
    "subgroup_mul": (_wrapping(np.multiply), 1),
    "subgroup_min": (np.fmin.reduce, float("inf")),
    "subgroup_max": (np.fmax.reduce, float("-inf")),
    "subgroup_and": (np.bitwise_and.reduce, -1),
    "subgroup_or": (np.bitwise_or.reduce, 0),
    "subgroup_any": (np.logical_or.reduce, 0),
    "subgroup_all": (np.logical_and.reduce, 1),
}


def _neutral(number: float, dtype: np.dtype[Any]) -> object:
    # -1 stands for all bits set, infinities for the ends of an integer type.
    if dtype.kind in "fb":
        return number
    limits = np.iinfo(dtype)
    if np.isinf(number):
        return limits.max if number > 0 else limits.min
    return limits.max if number == -1 and dtype.kind == "u" else int(number)


def subgroup_call(name: str, args: list[Array], shape: tuple[int, int], active: Array | None, size: int) -> Array:
    """A subgroup operation over consecutive runs of `size` threads; inactive ones take no part."""
    value = np.broadcast_to(args[0], shape if args[0].ndim == 2 else (args[0].shape[0], *shape))
    threads = shape[1]
    # 1. Threads are cut into rows of `size`; the last row is padded by inactive lanes.
    padding = -threads % size
    on = np.ones(shape, bool) if active is None else np.broadcast_to(active, shape)
    pad = [(0, 0)] * (value.ndim - 1) + [(0, padding)]
    rows = np.pad(value, pad).reshape(*value.shape[:-1], -1, size)
    live = np.broadcast_to(np.pad(on, [(0, 0), (0, padding)]).reshape(shape[0], -1, size), rows.shape)
    # 2. Inactive lanes hold the neutral element.
    if name in _REDUCE:
        reduce, start = _REDUCE[name]
        kept = np.where(live, rows, np.asarray(_neutral(start, value.dtype), value.dtype))
        result = np.broadcast_to(reduce(kept, axis=-1)[..., None], rows.shape)
    # An exclusive scan is the inclusive one of the row shifted by a lane.
    elif name in ("subgroup_inclusive_add", "subgroup_exclusive_add"):
        kept = np.where(live, rows, value.dtype.type(0))
        if name == "subgroup_exclusive_add":
            kept = np.concatenate([np.zeros_like(kept[..., :1]), kept[..., :-1]], axis=-1)
        result = np.cumsum(kept, axis=-1, dtype=value.dtype)
    # A ballot is 128 bits, as four u32, lane 0 in the lowest bit.
    elif name == "subgroup_ballot":
        bits = np.pad(live & rows, [*[(0, 0)] * (rows.ndim - 1), (0, 128 - size)]).astype(np.uint32)
        ballots = (bits.reshape(*bits.shape[:-1], 4, 32) << np.arange(32, dtype=np.uint32)).sum(-1, dtype=np.uint32)
        result = np.broadcast_to(np.moveaxis(ballots, -1, 0)[..., None], (4, *rows.shape))
    # The first active lane of each row.
    elif name == "subgroup_broadcast_first":
        result = np.broadcast_to(np.take_along_axis(rows, live.argmax(-1)[..., None], -1), rows.shape)
    else:
        result = np.take_along_axis(rows, _partners(name, args[1], rows, shape, size), -1)
    return result.reshape(*result.shape[:-2], -1)[..., :threads]


def _partners(name: str, operand: Array, rows: Array, shape: tuple[int, int], size: int) -> npt.NDArray[np.intp]:
    """The lane from which each lane takes its value; beyond the subgroup, its own."""
    given = np.broadcast_to(operand, shape)
    padded = np.pad(given, [(0, 0), (0, -shape[1] % size)]).reshape(shape[0], -1, size).astype(np.int64)
    lane = np.arange(size)
    moves = {
        "subgroup_shuffle": padded,
        "subgroup_broadcast": padded,
        "subgroup_shuffle_xor": lane ^ padded,
        "subgroup_shuffle_down": lane + padded,
        "subgroup_shuffle_up": lane - padded,
    }
    # A source outside of the subgroup is undefined on a device; here a lane then keeps its own value.
    source = moves[name]
    return np.broadcast_to(np.where((source >= 0) & (source < size), source, lane), rows.shape).astype(np.intp)


_UPDATE: dict[str, np.ufunc] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Min": np.minimum,
    "Max": np.maximum,
    "And": np.bitwise_and,
    "Or": np.bitwise_or,
    "Xor": np.bitwise_xor,
}


def atomic_update(
    op: str, array: Array, at: Array, values: tuple[Array, Array | None], active: Array, wants_old: bool
) -> Array | None:
    """Apply `op` at each active invocation's element, one after the other, with its values: what is put, and what it is
    compared with. The values before, 0 for an inactive invocation; None of updates whose old values nobody wants."""
    value, compare = values
    targets, operands = at[active], value[active]
    # Updates commute, so without old values they are made at once; `ufunc.at` counts repeated elements.
    if not wants_old and op in _UPDATE:
        _UPDATE[op].at(array, targets, operands)
        return None
    old = np.zeros(at.shape, array.dtype)
    before = np.empty(targets.shape, array.dtype)
    met = np.empty(targets.shape, bool) if compare is None else compare[active]
    for i, (target, operand) in enumerate(zip(targets.tolist(), operands, strict=True)):
        before[i] = array[target]
        # Compared by bits, as a device does: NaN equals the same NaN, 0.0 differs from -0.0.
        if op in ("Exchange", "Store") or (op == "CompareExchange" and before[i].tobytes() == met[i].tobytes()):
            array[target] = operand
        elif op in _UPDATE:
            array[target] = _UPDATE[op](array[target], operand)
    old[active] = before
    return old


#: Lines that one statement prints at a time.
MOST_LINES = 64


def say(s: InterpreterState, parts: Sequence[str | int], values: Sequence[Array]) -> None:
    """Print the parts of an `ir.Print` for the active invocations, the first of them where there are many."""
    invocations = np.argwhere(s.everyone)
    wide = [np.broadcast_to(value, s.shape) for value in values]
    for group, thread in invocations[:MOST_LINES].tolist():
        rest = (str(value[group, thread]) for value in wide)
        where = [f"workgroup {s.workgroup(group)}, thread {thread}"]
        where += [f"{name} = {value}" for name, value in s.counters(group, thread)]
        print(f"{', '.join(where)}: {' '.join(_part(part, rest) for part in parts)}")
    if len(invocations) > MOST_LINES:
        print(
            f"... and {len(invocations) - MOST_LINES} more threads; choose some, gpu.print(..., when=gpu.thread == 0)"
        )


def _part(part: str | int, rest: Iterator[str]) -> str:
    if isinstance(part, str):
        return part
    return f"[{', '.join(next(rest) for _ in range(part))}]" if part else next(rest)


def by_subgroup(s: InterpreterState, kind: MatrixType, place: str, what: str) -> Array | None:
    """Which subgroups are active, as (workgroups, subgroups, 1, 1); None if all are. Raises KernelError where some
    threads of one are and some are not, or where subgroups have another size."""
    threads = s.kernel.threads
    if s.subgroup_size != kind.threads or threads % kind.threads:
        raise KernelError(
            f"{_at(place)}kernel {s.kernel.name}: matrices of {kind.threads} threads in workgroups of {threads}, with "
            f"subgroups of {s.subgroup_size}"
        )
    if s.active is None:
        return None
    # A matrix belongs to all threads of its subgroup: they are active together, or none is.
    on = np.broadcast_to(s.active, s.shape).reshape(s.groups, -1, kind.threads)
    why = "where {} is parted: some of its threads come here, others do not; let all of them come"
    _refuse(s, on.any(axis=2) & ~on.all(axis=2), place, f"{what} a matrix {why}")
    return on[:, :, :1, None]


def _refuse(s: InterpreterState, wrong: Any, place: str, message: str) -> None:
    """Raise KernelError about the first subgroup of which something is wrong."""
    for group, subgroup in np.argwhere(wrong)[:1].tolist():
        where = f"subgroup {subgroup} of workgroup {s.workgroup(group)}"
        raise KernelError(f"{_at(place)}kernel {s.kernel.name} {message.format(where)}")


def _at(place: str) -> str:
    return f"{place}: " if place else ""


def lanes_of(
    s: InterpreterState, check: AccessCheck, node: ir.MatrixLoad | ir.MatrixStore, kind: MatrixType, value: Array
) -> Array:
    """The element of each (lane, workgroup, thread), checked to be inside the array: all threads of an active subgroup
    say where its matrix begins."""
    what = {ir.Verb.READS: "loads", ir.Verb.WRITES: "stores"}[check.verb]
    whole = np.broadcast_to(value, s.shape).reshape(s.groups, -1, kind.threads)
    # All threads of a subgroup must give one address.
    differ = (whole != whole[:, :, :1]).any(axis=2)
    active = by_subgroup(s, kind, node.place, what)
    if active is not None:
        differ = differ & active[:, :, 0, 0]
    why = "at places that threads of {} do not agree on; make the place of gpu.subgroup(), not of gpu.thread()"
    _refuse(s, differ, node.place, f"{what} a matrix {why}")
    # 8-bit elements are packed four to a word, so the addresses count words.
    packed = 4 if kind.element.bits == 8 else 1
    table = Window(0, node.stride, node.by_columns).table(kind)
    own = (table.T if node.by_columns else table).reshape(-1)[::packed] // packed
    at = whole[:, :, 0, None, None].astype(np.int64) // packed + own.reshape(kind.threads, -1)
    lanes: Array = np.moveaxis(at.reshape(s.groups, s.kernel.threads, -1), -1, 0)
    for lane in lanes:
        check.elements(s, lane, s.active)
    check.check_coordinates(s, s.active)
    return lanes


def load_matrix(c: Compiler, node: ir.MatrixLoad) -> Compute:
    buffer, index, kind = node.buffer, c.expr(node.index), node.dtype
    assert isinstance(kind, MatrixType)
    check = AccessCheck(c.kernel, buffer, 1, node.place, ir.Verb.READS, node.index, coordinates=c.coordinates(node))

    def read(s: InterpreterState) -> Array:
        lanes = lanes_of(s, check, node, kind, index(s))
        lanes = lanes if s.active is None else np.where(s.active, lanes, 0)
        fragments = np.stack([np.broadcast_to(gather(s, buffer, lane, 1), s.shape) for lane in lanes])
        if s.watch is not None:
            for lane, fragment in zip(lanes, fragments, strict=True):
                s.watch.access(s, check, lane, s.active, fragment)
        # The fragments of the threads, side by side, are the elements of the matrix in order of its window.
        flat = np.moveaxis(fragments, 0, -1).reshape(s.groups, s.kernel.threads // kind.threads, -1)
        if kind.element.bits == 8:
            flat = np.ascontiguousarray(flat).view(kind.element.numpy)
        shape = (kind.columns, kind.rows) if node.by_columns else (kind.rows, kind.columns)
        whole = flat.reshape(*flat.shape[:2], *shape)
        return whole.swapaxes(2, 3) if node.by_columns else whole

    return read


def call_matrix(c: Compiler, node: ir.MatrixCall) -> Compute:
    law, kind, operands = ir.meaning(node), node.dtype, [c.expr(x) for x in node.operands]
    assert law is not None and isinstance(kind, MatrixType)

    def compute(s: InterpreterState) -> Array:
        by_subgroup(s, kind, node.place, "computes")
        return law(*[x(s) for x in operands])

    return compute


def store_matrix(c: Compiler, stmt: ir.MatrixStore) -> Run:
    buffer, index, value, kind = stmt.buffer, c.expr(stmt.index), c.expr(stmt.value), stmt.value.dtype
    assert isinstance(kind, MatrixType)
    check = AccessCheck(
        c.kernel, buffer, 1, stmt.place, ir.Verb.WRITES, stmt.index, takes=False, coordinates=c.coordinates(stmt)
    )

    def write(s: InterpreterState) -> None:
        lanes = lanes_of(s, check, stmt, kind, index(s))
        held = np.broadcast_to(value(s), (s.groups, s.kernel.threads // kind.threads, kind.rows, kind.columns))
        flat = (held.swapaxes(2, 3) if stmt.by_columns else held).reshape(s.groups, s.kernel.threads, -1)
        put = np.moveaxis(flat, -1, 0)
        for lane, each in zip(lanes, put, strict=True):
            if s.watch is not None:
                s.watch.access(s, check, lane, s.active, each)
            scatter(s, buffer, lane, each, 1)

    return write
