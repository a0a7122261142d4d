"""A kernel as its accesses: each with its index, and the conditions and loops around it, over ids alone.

Names bound to values are replaced by what they stand for, loops are numbered from 0 by 1, and ids have the ranges that
the launch gives them. What is left in an index is ids, numbers of iterations, and what memory or the host decides.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..ir import Barrier, Buffer, Builtin, Const, Expr, For, Kernel, Load, Stmt, Var, ask_operands_first, children
from ..ranges import range_of
from ..wgsl import show
from .evaluate import Data, Integers, evaluate

Verb = Literal["reads", "writes", "updates"]


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop of at most `count` iterations, numbered by `index`; number `index` happens where `inside` holds.

    `counter` is the value of the user's counter; `bounded` tells that it cannot wrap around past the end.
    """

    stmt: For
    index: Expr
    counter: Expr
    count: int
    inside: Expr | None
    bounded: bool


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """A place in the text that reads, writes or updates elements [index, index + lanes) of an array.

    It happens where all `guards` hold. `written` is its index as it stands in the kernel, `counters` are the counters
    of the loops around it.
    """

    verb: Verb
    buffer: Buffer
    index: Expr
    lanes: int
    guards: tuple[Expr, ...]
    loops: tuple[Loop, ...]
    written: Expr
    place: str
    counters: tuple[tuple[str, Expr], ...]

    @property
    def text(self) -> str:
        """The access as WGSL."""
        more = f" and {self.lanes - 1} more" if self.lanes > self.buffer.width else ""
        return f"{self.buffer.name}[{show(self.written)}]{more}"


@dataclass(frozen=True, slots=True, eq=False)
class Fence:
    """A barrier, with the conditions (also those of loops) that decide who comes to it."""

    stmt: Barrier
    guards: tuple[Expr, ...]
    loops: tuple[Loop, ...]
    conditions: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """The two sides of an `if`."""

    condition: Expr

    then: "tuple[Item, ...]"
    other: "tuple[Item, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """The body of a loop."""

    loop: Loop
    body: "tuple[Item, ...]"


Item = Access | Fence | Branch | Repeat


@dataclass(slots=True, eq=False)
class Model:
    """A kernel, ready to reason about, with what was worked out about its expressions.

    `groups` are the ids of the workgroup that indices are over; `workgroup` is its place in the grid, made of them.
    `work` lists the statements that compute or store, with the guards and loops around them.
    """

    kernel: Kernel
    items: tuple[Item, ...]
    accesses: list[Access]
    fences: list[Fence]
    loops: list[Loop]
    tid: Expr
    groups: tuple[Expr, ...]
    workgroup: tuple[Expr, Expr, Expr]
    readable: frozenset[Buffer]
    work: list[tuple[Stmt, tuple[Expr, ...], tuple[Loop, ...]]]
    _leaves: dict[Expr, frozenset[Expr]] = field(default_factory=dict)
    _tables: dict[Expr, Integers] = field(default_factory=dict)

    @property
    def workgroup_ids(self) -> frozenset[Expr]:
        """The ids that all threads of a workgroup share."""
        return frozenset(self.groups)

    @property
    def threads(self) -> int:
        """Invocations in a workgroup."""
        return self.kernel.threads

    @property
    def data(self) -> Data:
        """Made-up contents of what the kernel only reads."""
        return Data(self.readable)

    def leaves(self, value: Expr) -> frozenset[Expr]:
        """The ids, iterations and unknowns that `value` depends on."""
        known = self._leaves.get(value)
        if known is None:
            ask_operands_first(value, self._leaves, self.leaves)
            own = () if isinstance(value, Const) or (children(value) and not isinstance(value, Load)) else (value,)
            known = self._leaves[value] = frozenset(own).union(*map(self.leaves, children(value)))
        return known

    def is_id(self, leaf: Expr) -> bool:
        """Whether a leaf is an id or the number of an iteration, not what memory or the host decides."""
        return isinstance(leaf, Builtin) or (isinstance(leaf, Var) and leaf.order < 0)

    def table(self, value: Expr) -> Integers:
        """`value`, which depends on the thread alone, for every thread; bools as 0 and 1."""
        known = self._tables.get(value)
        if known is None:
            found = evaluate(value, {self.tid: np.arange(self.threads, dtype=np.uint32)}, {})
            known = self._tables[value] = np.broadcast_to(found.astype(np.int64), (self.threads,))
        return known

    def extent(self, leaf: Expr) -> int:
        """How many values, from 0 on, an id or the number of an iteration takes."""
        return range_of(leaf)[1] + 1
