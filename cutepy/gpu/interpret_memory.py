"""Where the interpreter keeps values and arrays, and how invocations reach into them: checked, a gather or scatter."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import KernelError
from .ir import Buffer, Expr, Kernel

Array = npt.NDArray[Any]  # the dtype is the kernel's


@dataclass(slots=True)
class State:
    """One run over some workgroups: where each array lives, what the names hold, who is active (None: all)."""

    kernel: Kernel
    groups: int
    arrays: dict[Buffer, Array]
    ids: dict[str, Array]
    values: dict[Expr, Array] = field(default_factory=dict)
    lasting: dict[Expr, Array] = field(default_factory=dict)
    fleeting: dict[Expr, Array] = field(default_factory=dict)
    params: dict[Expr, Array] = field(default_factory=dict)
    active: Array | None = None
    subgroup_size: int = 32

    @property
    def shape(self) -> tuple[int, int]:
        return self.groups, self.kernel.threads


@dataclass(slots=True)
class Reach:
    """Checks that accesses stay inside their array, and says who left it."""

    kernel: Kernel
    buffer: Buffer
    lanes: int
    place: str
    verb: str

    def check_constant(self, first: int) -> None:
        if not 0 <= first <= self.buffer.length - self.lanes:
            raise KernelError(f"{self.context()} element {first}, it has {self.buffer.length}")

    def context(self) -> str:
        place = f"{self.place}: " if self.place else ""
        return f"{place}kernel {self.kernel.name} {self.verb} {self.buffer.name} at"

    def elements(self, s: State, index: Array, active: Array | None) -> Array:
        """The first element of each access, 0 for the inactive invocations."""
        at = index.astype(np.int64) * self.buffer.width
        if active is not None:
            at = np.where(active, at, 0)
        last = -(-self.buffer.length // self.buffer.width) * self.buffer.width - self.lanes
        if at.size and (int(at.max()) > last or int(at.min()) < 0):
            self.refuse(s, np.broadcast_to(at, s.shape), last)
        return at

    def refuse(self, s: State, at: Array, last: int) -> None:
        group, thread = map(int, np.argwhere((at > last) | (at < 0))[0])
        where = tuple(int(np.broadcast_to(s.ids[f"workgroup_id.{a}"], s.shape)[group, 0]) for a in "xyz")
        found = int(at[group, thread])
        size = f"it has {self.buffer.length} elements" + (f" and {self.lanes} are accessed" if self.lanes > 1 else "")
        raise KernelError(f"{self.context()} element {found}, {size}: workgroup {where}, thread {thread}")


def spread(s: State, buffer: Buffer, at: Array, lanes: int) -> Array:
    """Where elements stand in an array's memory: each workgroup, or each thread, has its own."""
    if lanes > 1:
        at = at + np.arange(lanes)[:, None, None]
    if buffer.space == "workgroup":
        at = at + np.arange(s.groups)[:, None] * s.arrays[buffer].shape[1]
    elif buffer.space == "private":
        at = (at * s.groups + np.arange(s.groups)[:, None]) * s.kernel.threads + np.arange(s.kernel.threads)
    return at


def gather(s: State, buffer: Buffer, at: Array, lanes: int) -> Array:
    found: Array = s.arrays[buffer].take(spread(s, buffer, at, lanes))
    return found


def scatter(s: State, buffer: Buffer, at: Array, value: Array, lanes: int) -> None:
    array, shape = s.arrays[buffer].reshape(-1), (lanes, *s.shape) if lanes > 1 else s.shape
    at, value = np.broadcast_to(spread(s, buffer, at, lanes), shape), np.broadcast_to(value, shape)
    if s.active is None:
        array[at] = value
    else:
        active = np.broadcast_to(s.active, shape)
        array[at[active]] = value[active]


def lane_of(vector: Array, lane: int) -> Array:
    """One lane of a vector; a splat keeps a single one for all."""
    found: Array = vector[0] if vector.shape[0] == 1 else vector[lane]
    return found


def both(a: Array | None, b: Array) -> Array:
    return b if a is None else np.logical_and(a, b)
