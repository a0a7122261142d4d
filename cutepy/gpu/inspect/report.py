"""What a kernel asks of a machine: bytes, memory transactions, bank conflicts, operations - counted, not sampled.

The kernel is counted as it is printed, after lowering: an array of scalars is read by scalars, whatever lies side by
side; what is loaded once, or hoisted out of a loop, counts once.

Everything follows from the kernel's index arithmetic, so a report needs no device and no data. Sums over ids that are
independent are taken apart: what a subgroup costs depends on the addresses of its threads only up to whole segments (or
whole rows of banks), and on which threads are active. Ids that guards tie to threads are tried in all combinations; of
the others only the remainder of what they add is counted, one id at a time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from math import prod

import numpy as np

from ...layout.algebra.banks import WORD, fetched, served
from ...layout.values.methods import ReprIsStr
from ...tensor.dtypes import MatrixType
from ...tensor.functions import IR_FUNCTIONS
from ..ir import AddressSpace, Binary, Call, Const, Expr, Kernel, MatrixCall, Stmt, Verb, const, new_arena, nodes
from ..ir.operators import ARITHMETIC, SUBGROUP_REDUCE
from ..ir.ranges import Integers, Mask, Points, linear
from ..lower import lower
from ..targets.wgsl import show
from ..verify.collect import collect
from ..verify.model import Access, LoopModel, Model, typed


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the figures are for: threads in a subgroup, bytes of a memory segment, and banks of 4 bytes each of
    workgroup memory.

    >>> Hardware(segment_bytes=128)
    Hardware(subgroup=32, banks=32, segment_bytes=128)
    """

    subgroup: int = 32
    banks: int = 32
    segment_bytes: int = 32


@dataclass(frozen=True, slots=True)
class AccessFigures:
    """One access of the text, over the whole dispatch. None where memory decides the addresses.

    `times` counts invocations that perform it, `bytes` what they ask for. `transactions` counts the segments that
    subgroups touch, `perfect` those that the different bytes they ask for would fill (bindings only). `ways` is the
    worst bank conflict: how many words of one bank a subgroup accesses at once, 1 being none; `rounds` adds up these
    over all subgroups, of which `perfect` would do (workgroup memory only). `exact` is False where guards too many to
    count were taken to hold.
    """

    verb: str
    array: str
    space: AddressSpace
    access: str
    place: str
    layout: str
    width_bytes: int
    times: int
    bytes: int
    transactions: int | None = None
    ways: int | None = None
    rounds: int | None = None
    perfect: int | None = None
    exact: bool = True

    @property
    def excess(self) -> float | None:
        """Transactions, or rounds, over those of a perfect pattern: 1.0 is perfect."""
        got = self.transactions if self.space == AddressSpace.STORAGE else self.rounds
        return None if got is None or not self.perfect else got / self.perfect


@dataclass(frozen=True, slots=True)
class ArrayFigures:
    """The bytes that all invocations read from an array and write to it; an update counts as both."""

    name: str
    space: AddressSpace
    layout: str
    read_bytes: int
    written_bytes: int


@dataclass(frozen=True, slots=True, repr=False)
class Report(ReprIsStr):
    """What a kernel asks of memory and arithmetic, for one dispatch.

    `flops` counts `+ - * /` and functions of floating-point values once each lane, `fma` twice.
    """

    kernel: str
    hardware: Hardware
    workgroups: int
    threads: int
    workgroup_bytes: int
    flops: int
    arrays: tuple[ArrayFigures, ...]
    accesses: tuple[AccessFigures, ...]

    @property
    def transactions(self) -> int:
        """Segments that all subgroups touch in bindings."""
        return sum(a.transactions or 0 for a in self.accesses)

    @property
    def perfect_transactions(self) -> int:
        """Segments that the bytes they ask for would fill."""
        return sum(a.perfect or 0 for a in self.accesses if a.space == AddressSpace.STORAGE)

    @property
    def worst_conflict(self) -> int:
        """The worst bank conflict of all accesses to workgroup memory; 1 is none."""
        return max((a.ways or 1 for a in self.accesses if a.space == AddressSpace.WORKGROUP), default=1)

    def as_dict(self) -> dict[str, object]:
        """The figures as plain dictionaries, lists and numbers."""
        return asdict(self)

    def __str__(self) -> str:
        h = self.hardware
        lines = [
            f"{self.kernel}: {self.workgroups:,} workgroups of {self.threads} threads, "
            f"{self.workgroup_bytes:,} bytes of workgroup memory, {self.flops:,} FLOP",
            *_table(
                ("array", "layout", "bytes read", "bytes written"),
                [(a.name, a.layout, f"{a.read_bytes:,}", f"{a.written_bytes:,}") for a in self.arrays],
            ),
        ]
        bindings = [a for a in self.accesses if a.space == AddressSpace.STORAGE]
        if bindings:
            lines.append(f"transactions of {h.segment_bytes} bytes by subgroups of {h.subgroup}:")
            heads = "access", "bytes a thread", "transactions", "perfect", "excess", "place"
            lines += _table(heads, _merged(bindings))
        shared = [a for a in self.accesses if a.space == AddressSpace.WORKGROUP]
        if shared:
            lines.append(f"workgroup memory in {h.banks} banks of 4 bytes:")
            heads = "access", "bytes a thread", "rounds", "perfect", "conflict", "place"
            lines += _table(heads, _merged(shared))
        return "\n".join(lines)


def _merged(accesses: Iterable[AccessFigures]) -> list[tuple[str, ...]]:
    """A row for the accesses of one line of source that are alike in everything but their index."""
    groups: dict[tuple[object, ...], list[AccessFigures]] = {}
    for a in accesses:
        groups.setdefault((a.verb, a.array, a.place, a.width_bytes, a.excess, a.ways, a.exact), []).append(a)
    return [_row(group) for group in groups.values()]


def _row(group: list[AccessFigures]) -> tuple[str, ...]:
    first = group[0]
    more = f" and {len(group) - 1} like it" if len(group) > 1 else ""
    about = "" if first.exact else "at most "
    got = [a.transactions if a.space == AddressSpace.STORAGE else a.rounds for a in group]
    if any(n is None for n in got):
        figures = ["data decide", "", ""]
    else:
        worst = f"{first.excess or 1:.2f}x" if first.space == AddressSpace.STORAGE else f"{first.ways}-way"
        figures = [f"{about}{sum(n or 0 for n in got):,}", f"{sum(a.perfect or 0 for a in group):,}", worst]
    return f"{first.verb} {first.access}{more}", str(first.width_bytes), *figures, first.place


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    cells = [heads, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    numeric = [i for i, head in enumerate(heads) if head not in ("array", "layout", "access", "place")]

    def line(row: tuple[str, ...]) -> str:
        return "  ".join(
            c.rjust(w) if i in numeric else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )

    return [("  " + line(row)).rstrip() for row in cells]


def report(kernel: Kernel, hardware: Hardware | None = None) -> Report:
    """What one dispatch of `kernel` asks of memory and arithmetic, on hardware of that make.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def every_second(x, y):
    ...     gpu.launch(grid=2, threads=64)
    ...     i = gpu.workgroup.x * 64 + gpu.thread
    ...     y[i] = 3 * x[2 * i]
    >>> found = report(every_second.ir(np.zeros(256, np.float32), np.zeros(128, np.float32)))
    >>> found.flops, [(str(a.verb), a.transactions, a.perfect) for a in found.accesses]
    (128, [('reads', 32, 16), ('writes', 16, 16)])

    A subgroup runs its threads in step, and guards that memory decides are taken to hold.
    """
    chosen = hardware if hardware is not None else Hardware()
    with new_arena():
        model = collect(lower(kernel), chosen.subgroup)
        accesses = tuple(_measure(model, a, chosen) for a in model.accesses if a.buffer.is_shared)
        figures = prod(kernel.grid), kernel.threads, kernel.shared_bytes, _flops(model)
        return Report(kernel.name, chosen, *figures, _arrays(kernel, accesses), accesses)


def _measure(model: Model, access: Access, hardware: Hardware) -> AccessFigures:
    buffer, each = access.buffer, access.buffer.dtype.bytes
    nbytes, stored = each * access.lanes, buffer.space == AddressSpace.STORAGE
    # Addresses that memory decides are not counted, only their bytes.
    strange = bool(model.unknowns([access.index]))
    index = const(0) if strange else access.index
    counter = _Counter(model, index, access.guards, access.loops)
    times = units = perfect = 0
    ways = 1
    # Bytes after which the pattern of segments, or of banks, repeats.
    modulus = hardware.segment_bytes if stored else WORD * hardware.banks
    for addresses, active, count in counter.views(max(1, modulus // each)):
        times += int(active.sum()) * count
        if strange or not active.any():
            continue
        # The first byte of each thread's access, None for inactive threads.
        firsts = [at if on else None for at, on in zip((addresses * each).tolist(), active, strict=True)]
        if stored:
            costs = list(fetched(firsts, nbytes, hardware.subgroup, hardware.segment_bytes))
        else:
            phases = served(firsts, nbytes, hardware.subgroup, hardware.banks)
            costs = [(phase.ways, phase.perfect(hardware.banks)) for phase in phases]
            ways = max(ways, *(rounds for rounds, _ in costs))
        units += sum(cost for cost, _ in costs) * count
        perfect += sum(least for _, least in costs) * count
    where = access.verb, buffer.name, buffer.space, _text(access), access.place, buffer.note
    return AccessFigures(
        *where,
        nbytes,
        times,
        times * nbytes,
        transactions=None if strange or not stored else units,
        ways=None if strange or stored else ways,
        rounds=None if strange or stored else units,
        perfect=None if strange else perfect,
        exact=counter.exact,
    )


def _text(access: Access) -> str:
    """An access over ids and counters, in elements: the text has names for what is computed once."""
    more = f" and {access.lanes - 1} more" if access.lanes > 1 else ""
    return f"{access.buffer.name}[{show(access.index)}]{more}"


def _arrays(kernel: Kernel, accesses: tuple[AccessFigures, ...]) -> tuple[ArrayFigures, ...]:
    figures = []
    for buffer in (*kernel.buffers, *kernel.local):
        mine = [a for a in accesses if a.array == buffer.name]
        if mine:
            read = sum(a.bytes for a in mine if a.verb != Verb.WRITES)
            written = sum(a.bytes for a in mine if a.verb != Verb.READS)
            figures.append(ArrayFigures(buffer.name, buffer.space, buffer.note, read, written))
    return tuple(figures)


def _flops(model: Model) -> int:
    # Work under the same guards and loops runs equally often: counted once.
    total = 0
    invocations: dict[tuple[tuple[Expr, ...], tuple[LoopModel, ...]], int] = {}
    for stmt, guards, loops in model.work:
        amount = _operations(stmt)
        if amount:
            key = guards, loops
            if key not in invocations:
                views = _Counter(model, const(0), guards, loops).views(1)
                invocations[key] = sum(int(active.sum()) * times for _, active, times in views)
            total += amount * invocations[key]
    return total


def _operations(stmt: Stmt) -> int:
    """Floating-point operations of one invocation at a statement: each expression once, each lane counts."""
    total = 0
    for node in nodes(*stmt.expressions):
        if isinstance(node, MatrixCall) and isinstance(kind := node.dtype, MatrixType):
            total += (2 * prod(kind.shape) if node.name == "multiply_accumulate" else 0) // kind.threads
        if node.dtype.kind == "f":
            match node:
                case Binary(op=op) if op in ARITHMETIC:
                    total += node.lanes
                case Call(name=name) if name in IR_FUNCTIONS or name in SUBGROUP_REDUCE:
                    total += (2 if name == "fma" else 1) * node.lanes
    return total


# Combinations of ids times threads that are enumerated, at most: 128 MiB an array of int64.
_MOST = 1 << 24


@dataclass(slots=True, eq=False)
class _Counter:
    """Counts the addresses of an access under its guards and loops. `exact` becomes False where guards are left out."""

    model: Model
    index: Expr
    guards: tuple[Expr, ...]
    loops: tuple[LoopModel, ...]
    exact: bool = True

    def views(self, modulus: int) -> Iterator[tuple[Integers, Mask, int]]:
        """The addresses of the threads of a workgroup, in elements up to multiples of `modulus`, which are
        active, and how many workgroups and iterations have just these; over the whole dispatch."""
        model = self.model
        # 1. Ids of guards, and of terms that mix the thread with other ids, are enumerated jointly.
        guards = [g for g in self.guards if not model.unknowns([g])]
        self.exact = len(guards) == len(self.guards)
        terms = linear(self.index).terms
        mixed = {atom for atom in terms if model.tid in model.leaves(atom) and len(model.leaves(atom)) > 1}
        joint = self._joined(model.ids_of([*guards, *mixed]), terms)
        # 2. Too many: guards over ids are dropped, an upper bound.
        if prod(map(model.extent, joint)) * model.threads > _MOST:
            self.exact = False
            guards = [g for g in guards if not model.ids_of([g])]
            joint = self._joined(model.ids_of([*guards, *mixed]), terms)
        # 3. The other ids add a remainder each, independently of the threads: their distribution is a convolution.
        added, free = self._added(terms, joint, modulus)
        for addresses, active, times in self._rows(guards, terms, joint, modulus):
            for by in np.flatnonzero(added).tolist():
                yield addresses + by, active, times * int(added[by]) * free

    def _joined(self, ids: set[Expr], terms: Iterable[Expr]) -> set[Expr]:
        """`ids` with all that stand in a term with one of them."""
        # The closure: ids that share a term cannot be taken apart.
        groups = [self.model.ids_of([atom]) for atom in terms]
        while any(group & ids and not group <= ids for group in groups):
            ids = ids.union(*(group for group in groups if group & ids))
        return ids

    def _added(self, terms: dict[Expr, int], joint: set[Expr], modulus: int) -> tuple[Integers, int]:
        """How often the terms without joint ids add each remainder; and how many values the other ids have."""
        model = self.model
        # A histogram of sums modulo `modulus`; it starts with the empty sum.
        counts = np.zeros(modulus, np.int64)
        counts[0] = 1
        seen = set(joint)
        for atom in terms:
            ids = model.ids_of([atom]) - seen
            if not ids:
                continue
            together = self._joined(ids, terms)
            seen |= together
            mine = {a: f for a, f in terms.items() if model.ids_of([a]) & together}
            remainders = self._remainders(mine, together, modulus)
            # The sum of two independent distributions: a cyclic convolution.
            rolled = [np.roll(counts, by) * int(remainders[by]) for by in np.flatnonzero(remainders).tolist()]
            counts = np.sum(rolled, axis=0)
        everything = {g for g in model.groups if not isinstance(g, Const)} | {loop.index for loop in self.loops}
        return counts, prod(map(model.extent, everything - seen))

    def _rows(
        self, guards: list[Expr], terms: dict[Expr, int], joint: set[Expr], modulus: int
    ) -> Iterator[tuple[Integers, Mask, int]]:
        """The different rows of addresses and of active threads, over all combinations of joint ids, with their
        counts."""
        model = self.model
        over, times = self._over(joint, [*terms, *guards])
        points = Points(model.environment(over))
        # Rows that are equal up to whole segments cost the same: each is yielded once, with its count.
        active = points.where(guards)
        here = {atom: c for atom, c in terms.items() if model.ids_of([atom]) <= joint}
        table = np.broadcast_to(points.total(here) + linear(self.index).constant, active.shape)
        table = table - table.min(axis=1, keepdims=True) // modulus * modulus
        seen: dict[bytes, list[int]] = {}
        for row in range(len(active)):
            seen.setdefault(table[row].tobytes() + active[row].tobytes(), []).append(row)
        for rows in seen.values():
            yield table[rows[0]], active[rows[0]], len(rows) * times

    def _remainders(self, terms: dict[Expr, int], ids: set[Expr], modulus: int) -> Integers:
        """How often a sum over `ids` has each remainder."""
        if len(ids) == 1 and set(terms) == ids:
            (leaf,) = ids
            # A multiple of one id repeats after `modulus` steps: whole periods, and a rest.
            whole, rest = divmod(self.model.extent(leaf), modulus)
            steps = terms[leaf] * np.arange(modulus) % modulus
            return whole * np.bincount(steps, minlength=modulus) + np.bincount(steps[:rest], minlength=modulus)
        over, times = self._over(ids, terms)
        return np.bincount(Points(typed(over)).total(terms) % modulus, minlength=modulus) * times

    def _over(self, ids: set[Expr], values: Iterable[Expr]) -> tuple[dict[Expr, Integers], int]:
        """The values of `ids`, all where that is not too much; else as far as they make a difference to `values`, or
        those at the edges. And how many there are for each."""
        model, extents = self.model, {leaf: self.model.extent(leaf) for leaf in ids}
        count, each = prod(extents.values()), 0
        if count * model.threads > _MOST:
            # Too many values: one period of each id, with the edges where guards cut it.
            values, each = list(values), model.threads
            extents = {leaf: model.period(leaf, values) for leaf in ids}
        domain = model.domain(ids, each=each, extents=extents)
        self.exact = self.exact and count % domain.size == 0 and domain.complete
        return domain.every, max(1, count // domain.size)
