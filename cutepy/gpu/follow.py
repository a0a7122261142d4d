"""What two invocations do to one element: the kernel is run again, and only they are looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .interpret import interpret
from .interpret_memory import Reach, State, Watch, value_at
from .ir import Barrier, Buffer, Kernel
from .ir.laws import Array
from .verify.verdict import Use
from .wgsl import show


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


def use_of(s: State, reach: Reach, group: int, thread: int) -> Use:
    """The access that one invocation of a run makes."""
    text = reach.buffer.name if reach.index is None else f"{reach.buffer.name}[{show(reach.index)}]"
    return Use(s.workgroup(group), thread, s.counters(group, thread), reach.verb, text, reach.place)


class Phased(Watch):
    """Counts the barriers that each workgroup has passed, those of shared memory and those of bindings."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.groups: Array = np.zeros(0, np.int64)
        self.epochs: dict[str, Array] = {}

    def begin(self, s: State) -> None:
        x, y, _ = s.kernel.grid
        at = [s.ids[f"workgroup_id.{axis}"][:, 0].astype(np.int64) for axis in "xyz"]
        self.groups = at[0] + x * (at[1] + y * at[2])
        self.epochs = {space: np.zeros(s.groups, np.int64) for space in ("workgroup", "storage")}

    def barrier(self, s: State, stmt: Barrier) -> None:
        self.epochs["storage" if stmt.storage else "workgroup"] += s.everyone.any(axis=1)


class _Done(Exception):
    """Enough was seen."""


class Follower(Phased):
    """Notes what some invocations do to one element; done with the first two that are in conflict."""

    def __init__(self, kernel: Kernel, spot: Spot) -> None:
        super().__init__(kernel)
        self.spot = spot
        self.found: list[tuple[tuple[int, int], Followed]] = []

    def access(self, s: State, reach: Reach, at: Array, active: Array | None, values: Array) -> None:
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
