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

from ...errors import KernelError, VerificationError
from ...layout.text.parse import parse_layout
from ...layout.values.coordinates import idx2crd
from ...layout.values.methods import ReprIsStr
from ..ir import AddressSpace, Barrier, Buffer, Kernel, Verb
from ..ir.laws import Array
from ..targets.interpreter import interpret
from ..targets.interpreter_memory import AccessCheck, InterpreterState, Phased, value_at
from ..verify import Verdict, Verification
from ..verify.verdict import Use, use_of


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


def follow(kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], spot: Spot) -> tuple[Followed, ...]:
    """The first two accesses of the element by the followed invocations that conflict; all their accesses if none do.

    The arrays stay as they are.
    """
    watch = Follower(kernel, spot)
    try:
        interpret(kernel, [array.copy() for array in arrays], params, watch=watch)
    except _Done:
        pair = watch.pair()
        assert pair is not None
        return pair
    return tuple(access for _, access in watch.accesses)


def interpret_checked(
    kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], *, subgroup_size: int = 0
) -> None:
    """Run `kernel` as `interpret` does, and look over every access and every barrier.

    Raises VerificationError for the first race, shared memory read before it is written, or barrier that not all
    threads come to, and KernelError for an index outside; then the arrays are as they were.
    """
    # A run without notes of single accesses, which would not fit in memory.
    copies = [array.copy() for array in arrays]
    try:
        interpret(kernel, copies, params, subgroup_size=subgroup_size, watch=Checks(kernel))
    except Race as race:
        # A second run notes the accesses of that element alone, for the message.
        (one, two), spot = follow(kernel, arrays, params, race.spot), race.spot
        head = f"kernel {kernel.name} has a race for {named(spot.buffer, spot.element)}:"
        raise VerificationError("\n  ".join([head, str(one), str(two), _way_out(spot.buffer, one, two)])) from None
    for array, copy, buffer in zip(arrays, copies, kernel.buffers, strict=True):
        if buffer.writable:
            array[...] = copy


class Race(Exception):
    """Two invocations met at `spot`."""

    def __init__(self, spot: Spot) -> None:
        self.spot = spot


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
    """Checks every access and barrier of a run; raises at the first fault."""

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
            raise Race(Spot(check.buffer, element, frozenset(racing)))

    def initialise(self, s: InterpreterState, check: AccessCheck, at: Array, group: Array, thread: Array) -> None:
        """Raise VerificationError where shared memory is read before it was written; note what is written."""
        written = self.written[check.buffer]
        if check.takes and not written[at].all():
            which = int(np.argmin(written[at]))
            element = int(at[which]) % (written.size // s.groups)
            use = use_of(s, check, int(group[which]), int(thread[which]))
            raise VerificationError(
                f"kernel {self.kernel.name} reads what nobody has written, {named(check.buffer, element)}: {use}; "
                "write every element that is read, with a gpu.barrier() before the read"
            )
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


def _way_out(buffer: Buffer, one: Followed, two: Followed) -> str:
    storage = buffer.space == AddressSpace.STORAGE
    if one.use.workgroup != two.use.workgroup:
        return "no barrier orders workgroups: give each element one workgroup, update it by atomics, or launch twice"
    barrier = "gpu.barrier(storage=True)" if storage else "gpu.barrier()"
    if one.use.place == two.use.place and one.use.verb == two.use.verb:
        return (
            "let one thread do it, give each thread an element of its own, or update it by gpu.atomic_add and its kin"
        )
    return f"put {barrier} between the two, or update it by atomics in both"


#: Accesses that are shown of one invocation alone.
MOST_SHOWN = 8


@dataclass(frozen=True, slots=True, repr=False)
class Replay(ReprIsStr):
    """A refuted verdict, and what its invocations did with the element on this data: `followed`, or the `error` that
    ended the run."""

    verdict: Verdict
    followed: tuple[Followed, ...]
    error: str = ""

    @property
    def picture(self) -> Any:
        """The layout of the array, the coordinates of the element framed: a drawing. None where there is none."""
        from ...draw.drawing import draw

        witness = self.verdict.witness
        if witness is None or not witness.layout:
            return None
        layout = parse_layout(witness.layout)
        marked = [i for i in range(layout.size) if layout(i) == witness.element]
        highlight = idx2crd(marked[0], layout.shape) if marked else None
        return draw(layout, title=f"{witness.array}, element {witness.element}", highlight=highlight)

    def __str__(self) -> str:
        lines = [str(self.verdict), *(f"  {one}" for one in self.followed)]
        lines += [f"  {self.error}"] if self.error else []
        lines += ["  on this data, they do not come there"] if not self.followed and not self.error else []
        picture = self.picture
        return "\n".join([*lines, repr(picture)] if picture is not None else lines)


def replay(
    kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], verification: Verification
) -> tuple[Replay, ...]:
    """Each refuted verdict with a counter-example, replayed; the arrays stay as they are."""
    return tuple(_replay(kernel, arrays, params, verdict) for verdict in verification.refuted)


def _replay(kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], verdict: Verdict) -> Replay:
    witness = verdict.witness
    buffer = next((b for b in (*kernel.buffers, *kernel.local) if witness and b.name == witness.array), None)
    if witness is None or buffer is None:
        return Replay(verdict, ())
    columns, rows, _ = kernel.grid
    invocations = {(x + columns * (y + rows * z), use.thread) for use in witness.uses for x, y, z in [use.workgroup]}
    element = -1 if witness.of else witness.element  # a coordinate is no element: the interpreter names the invocation
    try:
        followed = follow(kernel, arrays, params, Spot(buffer, element, frozenset(invocations)))
    except KernelError as error:
        return Replay(verdict, (), str(error))
    return Replay(verdict, followed[:MOST_SHOWN])
