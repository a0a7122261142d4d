"""A dynamic race detector: races, reads of uninitialised memory and divergent barriers of one run, on its data.

Law: two accesses of one element race where different invocations make them, one writes, not both are atomic, and no
barrier of the element's memory lies between them; none ever does between two workgroups. So an element is raced for
where it is written, or both read and updated, by more than one invocation since the last barrier: it is enough to keep,
for each kind of access, the largest and the smallest number of the invocations that made it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from ...errors import VerificationError
from ..ir import AddressSpace, Barrier, Buffer, Kernel, Verb
from ..ir.laws import Array
from ..targets.interpreter import interpret
from ..targets.interpreter_memory import AccessCheck, InterpreterState, Phased, value_at
from .verdict import Use, use_of


@dataclass(frozen=True, slots=True)
class Spot:
    """An element of an array, and the invocations that are followed: (workgroup counted along x, y and z, thread)."""

    buffer: Buffer
    element: int
    invocations: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Followed:
    """An access of an invocation, the value that it read or wrote, and the barriers of that memory before it."""

    use: Use
    value: object
    epoch: int

    def __str__(self) -> str:
        return f"{self.use}: {self.value}"


def conflict(one: str, two: str) -> bool:
    """Whether two kinds of access must not meet: one writes, or one reads what the other updates.

    >>> conflict("reads", "reads"), conflict("updates", "updates"), conflict("reads", "updates")
    (False, False, True)
    """
    return Verb.WRITES in (one, two) or {one, two} == {Verb.READS, Verb.UPDATES}


class _Done(Exception):
    """Enough was seen."""


class Follower(Phased):
    """Notes what some invocations do to one element; done with the first two that are in conflict."""

    def __init__(self, kernel: Kernel, spot: Spot) -> None:
        super().__init__(kernel)
        self.spot = spot
        self.accesses: list[tuple[tuple[int, int], Followed]] = []

    def access(self, s: InterpreterState, check: AccessCheck, at: Array, active: Array | None, values: Array) -> None:
        if check.buffer is not self.spot.buffer:
            return
        on = np.broadcast_to(np.True_ if active is None else active, s.shape)
        first = np.broadcast_to(at, s.shape)
        # Whether this access of a vector touches the element, and with which lane.
        for invocation in sorted(self.spot.invocations):
            for group in np.flatnonzero(self.groups == invocation[0]).tolist():
                lane = self.spot.element - int(first[group, invocation[1]])
                if on[group, invocation[1]] and 0 <= lane < check.lanes:
                    values_of = value_at(values, check.lanes, s.shape, group, invocation[1])
                    epoch = int(self.epochs[check.buffer.space][group])
                    self.add(invocation, Followed(use_of(s, check, group, invocation[1]), values_of[lane], epoch))

    def add(self, invocation: tuple[int, int], new: Followed) -> None:
        self.accesses.append((invocation, new))
        if self.pair() is not None:
            raise _Done

    def pair(self) -> tuple[Followed, Followed] | None:
        """The access noted last, and one before it that it is in conflict with."""
        (invocation, new), before = self.accesses[-1], self.accesses[:-1]
        for other, old in before:
            # Only a barrier of its own workgroup orders an invocation's accesses.
            ordered = other[0] == invocation[0] and old.epoch != new.epoch
            if other != invocation and not ordered and conflict(old.use.verb, new.use.verb):
                return old, new
        return None


def follow(
    kernel: Kernel,
    arrays: Sequence[Array],
    params: Mapping[str, float],
    spot: Spot,
    *,
    only: int | None = None,
    subgroup_size: int = 0,
) -> tuple[Followed, ...]:
    """The first two accesses of the element by the followed invocations that conflict; all their accesses if none do.

    The arrays stay as they are. As `interpret` does, it may run `only` one workgroup, in subgroups of `subgroup_size`.
    """
    watch = Follower(kernel, spot)
    try:
        interpret(
            kernel, [array.copy() for array in arrays], params, subgroup_size=subgroup_size, watch=watch, only=only
        )
    except _Done:
        pair = watch.pair()
        assert pair is not None
        return pair
    return tuple(access for _, access in watch.accesses)


class Race(Exception):
    """Two invocations met at `spot`."""

    def __init__(self, spot: Spot) -> None:
        self.spot = spot


class Unwritten(VerificationError):
    """An invocation read what nobody had written at `spot`."""

    def __init__(self, message: str, spot: Spot, use: Use) -> None:
        super().__init__(message)
        self.spot, self.use = spot, use


@dataclass(slots=True)
class Shadow:
    """Shadow memory of one array: which invocations accessed each element.

    `near` counts the threads of a workgroup since its last barrier; `far`, where workgroups share the array (`across`),
    the invocations of the grid since the launch. Both map a kind of access to two rows of keys, one an element: the
    largest key `base + number + 1`, and the largest `base + below - number`, which is the smallest number. `base` grows
    with each barrier, so keys of earlier barrier intervals are at most `base` and count as no access; 0 is none at all.
    """

    size: int
    threads: int
    total: int
    across: bool
    near: dict[str, Array] = field(default_factory=dict)
    far: dict[str, Array] = field(default_factory=dict)

    def note(self, verb: str, at: Array, group: Array, thread: Array, epoch: Array) -> None:
        """Note accesses of elements `at`."""
        for level, number, below, base in self.levels(group, thread, epoch):
            if verb not in level:
                level[verb] = np.zeros((2, self.size), np.int64)
            np.maximum.at(level[verb][0], at, base + number + 1)
            np.maximum.at(level[verb][1], at, base + below - number)

    def levels(self, group: Array, thread: Array, epoch: Array) -> list[tuple[dict[str, Array], Array, int, Any]]:
        """(rows, number of each invocation, bound of the numbers, base of the barrier interval), grid first: where the
        grid shows no race, one workgroup alone accessed an element that is written, so its barriers order
        everything."""
        near = self.near, thread, self.threads, epoch * self.threads
        return [(self.far, group * self.threads + thread, self.total, 0), near] if self.across else [near]

    def first_race(
        self, at: Array, group: Array, thread: Array, epoch: Array
    ) -> tuple[int, tuple[tuple[int, int], ...]]:
        """The number of the first access whose element is in a race, and the racing invocations as (workgroup, thread);
        -1 and nothing if there is none."""
        for level, _, below, base in self.levels(group, thread, epoch):
            # Reads alone, and updates alone, never race.
            if not (Verb.WRITES in level or {Verb.READS, Verb.UPDATES} <= level.keys()):
                continue
            raced = self._raced(level, at, below, base)
            if raced.any():
                which = int(raced.argmax())
                start = int(np.broadcast_to(base, at.shape)[which])
                # Which two invocations, by their keys.
                numbers = self._pair(level, int(at[which]), below, start)
                if level is self.far:
                    return which, tuple((n // self.threads, n % self.threads) for n in numbers)
                return which, tuple((int(group[which]), n) for n in numbers)
        return -1, ()

    def _raced(self, level: dict[str, Array], at: Array, below: int, base: Any) -> Array:
        # Accesses of this interval, by kind; an element needs a write, or a read and an update.
        most = {verb: marks[0][at] for verb, marks in level.items()}
        here = {verb: raced > base for verb, raced in most.items()}
        none = np.zeros(at.shape, bool)
        strong = here.get(Verb.WRITES, none) | (here.get(Verb.READS, none) & here.get(Verb.UPDATES, none))
        # The largest and the smallest invocation of any kind differ: two invocations, or more.
        last = np.maximum.reduce(list(most.values())) - base - 1
        first = below - (np.maximum.reduce([marks[1][at] for marks in level.values()]) - base)
        if level is self.far:
            # In the grid, workgroups count: within one, barriers may order the accesses.
            last, first = last // self.threads, first // self.threads
        raced: Array = strong & (last != first)
        return raced

    def _pair(self, level: dict[str, Array], at: int, below: int, base: int) -> tuple[int, int]:
        """Two invocations of one element that are in conflict."""
        # The two extremes of each kind suffice: if any two conflict, two of these do.
        each = self.threads if level is self.far else 1
        here = [
            (verb, number)
            for verb, (most, least) in level.items()
            if most[at] > base
            for number in (int(most[at]) - base - 1, below - (int(least[at]) - base))
        ]
        return next(
            (a, b) for (one, a), (two, b) in product(here, here) if a // each != b // each and conflict(one, two)
        )


class Checks(Phased):
    """Checks every access and barrier of a run; `meet` raises at the first fault."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.shadows: dict[Buffer, Shadow] = {}
        self.written: dict[Buffer, Array] = {}

    def begin(self, s: InterpreterState) -> None:
        super().begin(s)
        total = s.kernel.threads * int(np.prod(s.kernel.grid))
        for buffer, array in s.arrays.items():
            own = buffer.space == AddressSpace.WORKGROUP
            if own:
                self.written[buffer] = np.zeros(array.size, bool)
            # Shared memory is new for each chunk of workgroups; a binding's shadow lasts for the launch.
            if own or (buffer.space == AddressSpace.STORAGE and buffer.writable and buffer not in self.shadows):
                self.shadows[buffer] = Shadow(array.size, s.kernel.threads, total, not own)

    def access(self, s: InterpreterState, check: AccessCheck, at: Array, active: Array | None, values: Array) -> None:
        shadow = self.shadows.get(check.buffer)
        if shadow is None:
            return
        on = np.broadcast_to(np.True_ if active is None else active, s.shape)
        group, thread = np.nonzero(on)
        first = np.broadcast_to(at, s.shape)[group, thread]
        if check.buffer.space == AddressSpace.WORKGROUP:
            # Each workgroup has elements of its own.
            first = first + group * (shadow.size // s.groups)
        # A vector accesses each of its elements.
        if check.lanes > 1:
            first = (first[:, None] + np.arange(check.lanes)).reshape(-1)
            group, thread = np.repeat(group, check.lanes), np.repeat(thread, check.lanes)
        if check.buffer.space == AddressSpace.WORKGROUP:
            self.initialise(s, check, first, group, thread)
        numbers = self.groups[group], thread, self.epochs[check.buffer.space][group]
        shadow.note(check.verb, first, *numbers)
        which, racing = shadow.first_race(first, *numbers)
        if which >= 0:
            element = int(first[which])
            if check.buffer.space == AddressSpace.WORKGROUP:
                # Back to an element of the workgroup's array.
                element %= shadow.size // s.groups
            self.meet(Race(Spot(check.buffer, element, frozenset(racing))))

    def meet(self, fault: Race | Unwritten) -> None:
        """There is a fault of the kernel's."""
        raise fault

    def initialise(self, s: InterpreterState, check: AccessCheck, at: Array, group: Array, thread: Array) -> None:
        """Meet where shared memory is read before it was written; note what is written."""
        written = self.written[check.buffer]
        if check.takes and not written[at].all():
            which = int(np.argmin(written[at]))
            element = int(at[which]) % (written.size // s.groups)
            use = use_of(s, check, int(group[which]), int(thread[which]))
            message = (
                f"kernel {self.kernel.name} reads what nobody has written, {named(check.buffer, element)}: {use}; "
                "write every element that is read, with a gpu.barrier() before the read"
            )
            invocation = int(self.groups[group[which]]), int(thread[which])
            self.meet(Unwritten(message, Spot(check.buffer, element, frozenset((invocation,))), use))
        if check.verb != Verb.READS:
            written[at] = True

    def barrier(self, s: InterpreterState, stmt: Barrier) -> None:
        here = s.everyone
        parted = here.any(axis=1) & ~here.all(axis=1)
        if parted.any():
            group = int(parted.argmax())
            # One thread that arrives, and one that does not.
            comes, waits = int(here[group].argmax()), int(here[group].argmin())
            use = Use(s.workgroup(group), comes, s.counters(group, comes), "comes to", "gpu.barrier()", stmt.place)
            raise VerificationError(
                f"kernel {self.kernel.name} parts a workgroup at a barrier: {use}; thread {waits} does not, and they "
                "would wait for ever; move the barrier out of what only some threads run"
            )
        super().barrier(s, stmt)


def named(buffer: Buffer, element: int) -> str:
    """An element, as a message says it."""
    return f"element {element} of {buffer.name}" + (f", {buffer.note}" if buffer.note else "")
