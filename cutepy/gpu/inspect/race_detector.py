"""A run that is looked over: the races, the reads before writes and the parted barriers of this very data.

Law: two accesses of one element race where different invocations make them, one writes, not both are atomic, and no
barrier of the element's memory lies between them; none ever does between two workgroups. So an element is raced for
where it is written, or both read and updated, by more than one invocation since the last barrier: it is enough to keep,
for each kind of access, the largest and the smallest number of those who made it.
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
from ..ir import Barrier, Buffer, Kernel
from ..ir.laws import Array
from ..targets.interpreter import interpret
from ..targets.interpreter_memory import InterpreterState, Reach, Watch, value_at
from ..targets.wgsl import show
from ..verify import Verdict, Verification
from ..verify.verdict import Use


@dataclass(frozen=True, slots=True)
class Spot:
    """An element of an array, and who is looked at: workgroups, counted along x, y and z, and threads."""

    buffer: Buffer
    element: int
    who: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Followed:
    """One access: who, where, the value found or put, and after how many barriers of that memory."""

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
    return "writes" in (one, two) or {one, two} == {"reads", "updates"}


def use_of(s: InterpreterState, reach: Reach, group: int, thread: int) -> Use:
    """The access that one invocation of a run makes."""
    text = reach.buffer.name if reach.index is None else f"{reach.buffer.name}[{show(reach.index)}]"
    return Use(s.workgroup(group), thread, s.counters(group, thread), reach.verb, text, reach.place)


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
        self.epochs = {space: np.zeros(s.groups, np.int64) for space in ("workgroup", "storage")}

    def barrier(self, s: InterpreterState, stmt: Barrier) -> None:
        self.epochs["storage" if stmt.storage else "workgroup"] += s.everyone.any(axis=1)


class _Done(Exception):
    """Enough was seen."""


class Follower(Phased):
    """Notes what some invocations do to one element; done with the first two that are in conflict."""

    def __init__(self, kernel: Kernel, spot: Spot) -> None:
        super().__init__(kernel)
        self.spot = spot
        self.found: list[tuple[tuple[int, int], Followed]] = []

    def access(self, s: InterpreterState, reach: Reach, at: Array, active: Array | None, values: Array) -> None:
        if reach.buffer is not self.spot.buffer:
            return
        on = np.broadcast_to(np.True_ if active is None else active, s.shape)
        first = np.broadcast_to(at, s.shape)
        for who in sorted(self.spot.who):
            for group in np.flatnonzero(self.groups == who[0]).tolist():
                lane = self.spot.element - int(first[group, who[1]])
                if on[group, who[1]] and 0 <= lane < reach.lanes:
                    found = value_at(values, reach.lanes, s.shape, group, who[1])
                    epoch = int(self.epochs[reach.buffer.space][group])
                    self.add(who, Followed(use_of(s, reach, group, who[1]), found[lane], epoch))

    def add(self, who: tuple[int, int], new: Followed) -> None:
        self.found.append((who, new))
        if self.pair() is not None:
            raise _Done

    def pair(self) -> tuple[Followed, Followed] | None:
        """The access noted last, and one before it that it is in conflict with."""
        (who, new), before = self.found[-1], self.found[:-1]
        for other, old in before:
            ordered = other[0] == who[0] and old.epoch != new.epoch
            if other != who and not ordered and conflict(old.use.verb, new.use.verb):
                return old, new
        return None


def follow(kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], spot: Spot) -> tuple[Followed, ...]:
    """The first two accesses of the element by those who are looked at that are in conflict; all of them if none are.

    The arrays stay as they are.
    """
    watch = Follower(kernel, spot)
    try:
        interpret(kernel, [array.copy() for array in arrays], params, watch=watch)
    except _Done:
        pair = watch.pair()
        assert pair is not None
        return pair
    return tuple(found for _, found in watch.found)


def interpret_checked(
    kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], *, subgroup_size: int = 0
) -> None:
    """Run `kernel` as `interpret` does, and look over every access and every barrier.

    Raises VerificationError for the first race, shared memory read before it is written, or barrier that not all
    threads come to, and KernelError for an index outside; then the arrays are as they were.
    """
    copies = [array.copy() for array in arrays]
    try:
        interpret(kernel, copies, params, subgroup_size=subgroup_size, watch=Checks(kernel))
    except Race as race:
        (one, two), spot = follow(kernel, arrays, params, race.spot), race.spot
        told = f"kernel {kernel.name} has a race for {named(spot.buffer, spot.element)}:"
        raise VerificationError("\n  ".join([told, str(one), str(two), _way_out(spot.buffer, one, two)])) from None
    for array, copy, buffer in zip(arrays, copies, kernel.buffers, strict=True):
        if buffer.writable:
            array[...] = copy


class Race(Exception):
    """Two invocations met at `spot`."""

    def __init__(self, spot: Spot) -> None:
        self.spot = spot


@dataclass(slots=True)
class Shadow:
    """Who accessed each element of one array: by threads since the last barrier and, where workgroups share the array,
    by invocations of the grid since the launch. For each kind of access two rows: the largest and the smallest that
    came by, as keys that only grow, 0 where nobody did; those under a larger base count for nothing any more."""

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
        """The marks, with the number of each invocation, what is above all numbers, and where an epoch begins. Those of
        the grid come first: where they show no race, an element that is written was accessed by one workgroup only, and
        its epochs are those of that workgroup."""
        near = self.near, thread, self.threads, epoch * self.threads
        return [(self.far, group * self.threads + thread, self.total, 0), near] if self.across else [near]

    def met(self, at: Array, group: Array, thread: Array, epoch: Array) -> tuple[int, tuple[tuple[int, int], ...]]:
        """The first of the accesses whose element is raced for, and who meet, by workgroup and thread; -1 if none."""
        for level, _, below, base in self.levels(group, thread, epoch):
            if not ("writes" in level or {"reads", "updates"} <= level.keys()):
                continue
            raced = self._raced(level, at, below, base)
            if raced.any():
                which = int(raced.argmax())
                start = int(np.broadcast_to(base, at.shape)[which])
                numbers = self._pair(level, int(at[which]), below, start)
                if level is self.far:
                    return which, tuple((n // self.threads, n % self.threads) for n in numbers)
                return which, tuple((int(group[which]), n) for n in numbers)
        return -1, ()

    def _raced(self, level: dict[str, Array], at: Array, below: int, base: Any) -> Array:
        most = {verb: marks[0][at] for verb, marks in level.items()}
        here = {verb: found > base for verb, found in most.items()}
        none = np.zeros(at.shape, bool)
        strong = here.get("writes", none) | (here.get("reads", none) & here.get("updates", none))
        last = np.maximum.reduce(list(most.values())) - base - 1
        first = below - (np.maximum.reduce([marks[1][at] for marks in level.values()]) - base)
        if level is self.far:
            last, first = last // self.threads, first // self.threads
        found: Array = strong & (last != first)
        return found

    def _pair(self, level: dict[str, Array], at: int, below: int, base: int) -> tuple[int, int]:
        """Two invocations of one element that are in conflict."""
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
    """Looks over a whole run; raises at the first fault."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.shadows: dict[Buffer, Shadow] = {}
        self.written: dict[Buffer, Array] = {}

    def begin(self, s: InterpreterState) -> None:
        super().begin(s)
        total = s.kernel.threads * int(np.prod(s.kernel.grid))
        for buffer, array in s.arrays.items():
            own = buffer.space == "workgroup"
            if own:
                self.written[buffer] = np.zeros(array.size, bool)
            if own or (buffer.space == "storage" and buffer.writable and buffer not in self.shadows):
                self.shadows[buffer] = Shadow(array.size, s.kernel.threads, total, not own)

    def access(self, s: InterpreterState, reach: Reach, at: Array, active: Array | None, values: Array) -> None:
        shadow = self.shadows.get(reach.buffer)
        if shadow is None:
            return
        on = np.broadcast_to(np.True_ if active is None else active, s.shape)
        group, thread = np.nonzero(on)
        first = np.broadcast_to(at, s.shape)[group, thread]
        if reach.buffer.space == "workgroup":
            first = first + group * (shadow.size // s.groups)
        if reach.lanes > 1:
            first = (first[:, None] + np.arange(reach.lanes)).reshape(-1)
            group, thread = np.repeat(group, reach.lanes), np.repeat(thread, reach.lanes)
        if reach.buffer.space == "workgroup":
            self.initialise(s, reach, first, group, thread)
        who = self.groups[group], thread, self.epochs[reach.buffer.space][group]
        shadow.note(reach.verb, first, *who)
        which, met = shadow.met(first, *who)
        if which >= 0:
            element = int(first[which])
            if reach.buffer.space == "workgroup":
                element %= shadow.size // s.groups
            raise Race(Spot(reach.buffer, element, frozenset(met)))

    def initialise(self, s: InterpreterState, reach: Reach, at: Array, group: Array, thread: Array) -> None:
        """Raise VerificationError where shared memory is read that nobody has written; note what is written."""
        written = self.written[reach.buffer]
        if reach.takes and not written[at].all():
            which = int(np.argmin(written[at]))
            element = int(at[which]) % (written.size // s.groups)
            use = use_of(s, reach, int(group[which]), int(thread[which]))
            raise VerificationError(
                f"kernel {self.kernel.name} reads what nobody has written, {named(reach.buffer, element)}: {use}; "
                "write every element that is read, with a gpu.barrier() before the read"
            )
        if reach.verb != "reads":
            written[at] = True

    def barrier(self, s: InterpreterState, stmt: Barrier) -> None:
        here = s.everyone
        parted = here.any(axis=1) & ~here.all(axis=1)
        if parted.any():
            group = int(parted.argmax())
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
    storage = buffer.space == "storage"
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
    kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], found: Verification
) -> tuple[Replay, ...]:
    """Each refuted verdict with a counter-example, replayed; the arrays stay as they are."""
    return tuple(_replay(kernel, arrays, params, verdict) for verdict in found.refuted)


def _replay(kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], verdict: Verdict) -> Replay:
    witness = verdict.witness
    buffer = next((b for b in (*kernel.buffers, *kernel.local) if witness and b.name == witness.array), None)
    if witness is None or buffer is None:
        return Replay(verdict, ())
    columns, rows, _ = kernel.grid
    who = {(x + columns * (y + rows * z), use.thread) for use in witness.uses for x, y, z in [use.workgroup]}
    element = -1 if witness.of else witness.element  # a coordinate is no element: the interpreter tells who leaves
    try:
        followed = follow(kernel, arrays, params, Spot(buffer, element, frozenset(who)))
    except KernelError as error:
        return Replay(verdict, (), str(error))
    return Replay(verdict, followed[:MOST_SHOWN])
