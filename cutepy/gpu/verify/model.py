"""A kernel as its accesses: each with its index, and the conditions and loops around it, over ids alone.

Names bound to values are replaced by what they stand for, loops are numbered from 0 by 1, and ids have the ranges that
the launch gives them. What is left in an index is ids, numbers of iterations, and what memory or the host decides. Ids
and iterations are looked at for many invocations at once: all of them where they are few, else those at the edges.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm, prod
from typing import TYPE_CHECKING

import numpy as np

from ...layout.affine import Affine, Congruent
from ..ir import (
    Binary,
    Buffer,
    Builtin,
    Const,
    ElementOrder,
    Elements,
    Expr,
    For,
    Kernel,
    Param,
    Stmt,
    Var,
    Verb,
    ask_operands_first,
    nodes,
)
from ..ir.operators import U32_LIMIT
from ..ir.ranges import Array, Exact, Integers, Mask, Points, Sum, exact, is_opaque, linear, range_of
from ..targets.wgsl import show
from .verdict import Use

if TYPE_CHECKING:
    from .tickets import Ticket


@dataclass(frozen=True, slots=True, eq=False)
class LoopModel:
    """A loop of at most `count` iterations, numbered by `index`; number `index` happens where `inside` holds.

    `counter` is the value of the user's counter; `bounded` tells that it cannot wrap around past the end. Where it may,
    the iterations are those before that. `turns` is how many there are, None where that is not known. Threads leave the
    loop early where one of `leaving` holds, in the iteration that it is about.
    """

    stmt: For
    index: Expr
    counter: Expr
    count: int
    inside: Expr | None
    bounded: bool
    turns: Expr | None = None
    leaving: list[Expr] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """A place in the text that reads, writes or updates elements [index, index + lanes) of an array.

    It happens where all `guards` hold. `written` is its index as it stands in the kernel, `counters` are the counters
    of the loops around it. Where it is a share of a matrix that a subgroup moves, `moved` is the number of the place in
    the text, from 1 on: which thread accesses which element is the hardware's to choose. `takes` tells that what the
    elements held before plays a part. `coordinates` chose the elements, each with the extent that it stays below.
    """

    verb: Verb
    buffer: Buffer
    index: Expr
    lanes: int
    guards: tuple[Expr, ...]
    loops: tuple[LoopModel, ...]
    written: Expr
    place: str
    counters: tuple[tuple[str, Expr], ...]
    moved: int = 0
    takes: bool = True
    coordinates: tuple[tuple[Expr, int | Expr], ...] = ()

    def owners(self, threads: int) -> Integers | None:
        """Who each thread is at this access: itself, or, for a share of a matrix, a stranger to all other places."""
        return np.arange(threads)[None, :] + threads * self.moved if self.moved else None

    @property
    def text(self) -> str:
        more = f" and {self.lanes - 1} more" if self.lanes > self.buffer.width else ""
        return f"{self.buffer.name}[{show(self.written)}]{more}"


def orders_of(kernel: Kernel) -> frozenset[tuple[Buffer, ElementOrder]]:
    """What is said of arrays in every run: not under a condition."""
    return frozenset((stmt.buffer, stmt.order) for stmt in kernel.body if isinstance(stmt, Elements))


def counters_of(loops: Iterable[LoopModel]) -> tuple[tuple[str, Expr], ...]:
    """The names and the values of the counters of loops."""
    return tuple((loop.stmt.var.name, loop.counter) for loop in loops)


@dataclass(frozen=True, slots=True, eq=False)
class Gathering:
    """A place where `threads` threads come together: a whole subgroup, for a matrix. `conditions` (also those of loops)
    decide who comes there; all agree on what is `meant`, where the matrix begins, if it is in memory. There it lies in
    runs of neighbours, `stride` elements apart, and each run begins at a multiple of `unit` elements.
    """

    place: str
    text: str
    threads: int
    guards: tuple[Expr, ...]
    loops: tuple[LoopModel, ...]
    conditions: tuple[Expr, ...]
    meant: tuple[Expr, ...] = ()
    stride: int = 0
    unit: int = 1

    @property
    def counters(self) -> tuple[tuple[str, Expr], ...]:
        return counters_of(self.loops)


def located(item: Access | Gathering, reason: str) -> str:
    """A reason that is about an access or a place, with its line."""
    return f"{item.text}: {reason}" + (f" ({item.place})" if item.place else "")


@dataclass(frozen=True, slots=True, eq=False)
class Fence(Gathering):
    """A barrier, for a whole workgroup: whether it is one of bindings, and its statement."""

    storage: bool = False
    stmt: Stmt | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BranchModel:
    """The two sides of an `if`."""

    condition: Expr

    then: "tuple[Item, ...]"
    other: "tuple[Item, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class ExitModel(BranchModel):
    """A place where a loop is left: `then` is what those do who leave, `other` the rest of the iteration."""


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """The body of a loop."""

    loop: LoopModel
    body: "tuple[Item, ...]"


Item = Access | Fence | BranchModel | Repeat


def flat(items: Iterable[Item]) -> Iterator[Access | Fence]:
    """The accesses and barriers in `items` and inside them, in order of text."""
    for item in items:
        match item:
            case BranchModel(then=then, other=other):
                yield from flat((*then, *other))
            case Repeat(body=body):
                yield from flat(body)
            case _:
                yield item


@dataclass(frozen=True, slots=True)
class SampleData:
    """Made-up data for a counter-example: contents of the arrays that are only read, and numbers for parameters."""

    readable: frozenset[Buffer]
    numbers: Mapping[Expr, int]

    def given(self, values: Iterable[Expr]) -> str:
        """What has to hold of memory and of parameters, for a witness about `values`."""
        told, used = list(dict.fromkeys(map(show, values))), {p for value in values for p in nodes(value)}
        numbers = [f"{show(p)} = {n}" for p, n in self.numbers.items() if p in used]
        return "for data that give these " + " and ".join(told) + (f", {', '.join(numbers)}" if numbers else "")


Form = Affine[Expr, Integers]
Wrapping = Congruent[Expr, Integers]


@dataclass(frozen=True, slots=True, eq=False)
class GuardFacts:
    """What the guards of an access say: the threads that may be there (`mask`), sums that are 0 or less for these, and
    values that guards compare although their sums may wrap: an atom, and what it is congruent to."""

    mask: Mask
    limits: tuple[Form, ...]
    names: tuple[tuple[Wrapping, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """What is known of a claim: it follows, it holds where these sums of parameters are 0 or less, or `reason` says
    why neither is known."""

    conditions: tuple[Affine[Expr, int], ...] = ()
    reason: str = ""


#: A statement, with the guards and the loops around it.
Work = tuple[Stmt, tuple[Expr, ...], tuple[LoopModel, ...]]
#: Evaluations that an exact answer may take.
MOST = 1 << 22
_CHUNK = 1 << 19
#: Choices of parameters that are tried for a counter-example.
_TRIALS = 48


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """Values for ids and numbers of iterations; `complete` tells whether they are all there are."""

    ids: tuple[Expr, ...]
    values: tuple[Integers, ...]
    complete: bool

    @property
    def size(self) -> int:
        return prod(len(v) for v in self.values)

    def at(self, numbers: Integers) -> dict[Expr, Integers]:
        """The values of the combinations with these numbers, the first id fastest."""
        found: dict[Expr, Integers] = {}
        for leaf, values in zip(self.ids, self.values, strict=True):
            found[leaf] = values[numbers % len(values)]
            numbers = numbers // len(values)
        return found

    @property
    def every(self) -> dict[Expr, Integers]:
        return self.at(np.arange(self.size))

    def point(self, number: int) -> dict[Expr, int]:
        return {leaf: int(v) for leaf, v in self.at(np.asarray(number)).items()}

    def chunks(self, each: int, alike: Sequence[Array] = ()) -> Iterator[Integers]:
        """The numbers of all combinations, in runs such that `each` evaluations for one fit; where values are `alike`,
        the first alone."""
        numbers, step = np.arange(self.size), max(1, _CHUNK // each)
        if alike:
            rows = np.stack([np.broadcast_to(values.astype(np.int64), numbers.shape) for values in alike], axis=1)
            numbers = np.unique(rows, axis=0, return_index=True)[1]
        for start in range(0, len(numbers), step):
            yield numbers[start : start + step]


@dataclass(slots=True, eq=False)
class Model:
    """A kernel, ready to reason about, with what was worked out about its expressions.

    `groups` are the ids of the workgroup that indices are over; `workgroup` is its place in the grid, made of them.
    `work` lists the statements that compute or store, with the guards and loops around them, `gatherings` what whole
    subgroups do. `read_from` tells of an unknown which array it was read from, where the kernel writes that; `stored`
    lists what integers are put in shared memory, None for one that nothing tells. `tickets` are the unknowns that
    atomic additions hand out. `facts` are sums of parameters and groups that are 0 or less, `products` the parameters
    that are products of a number and two others. What the user says of the order of arrays are `orders`.
    `agreed` are the unknowns that each thread of a workgroup has alike, by `UniformLoad`. `facts_under` keeps what
    guards say, `assumed` what the first of them say, `sums` what values are congruent to, `judged` which coordinates
    are inside their extents.
    """

    kernel: Kernel
    items: tuple[Item, ...]
    accesses: list[Access]
    fences: list[Fence]
    loops: list[LoopModel]
    tid: Expr
    groups: tuple[Expr, ...]
    workgroup: tuple[Expr, Expr, Expr]
    readable: frozenset[Buffer]
    work: list[Work]
    read_from: dict[Expr, Buffer]
    gatherings: list[Gathering]
    stored: list[tuple[Access, Expr | None]]
    tickets: "Mapping[Expr, Ticket]"
    facts: tuple[Affine[Expr, int], ...] = ()
    products: Mapping[Expr, tuple[int, Expr, Expr]] = field(default_factory=dict)
    orders: frozenset[tuple[Buffer, ElementOrder]] = frozenset()
    agreed: frozenset[Expr] = frozenset()
    facts_under: dict[tuple[tuple[Expr, ...], ...], GuardFacts] = field(default_factory=dict, init=False)
    assumed: dict[tuple[Expr, ...], GuardFacts] = field(default_factory=dict, init=False)
    sums: dict[Expr, Wrapping] = field(default_factory=dict, init=False)
    judged: dict[tuple[Expr, object, GuardFacts], Judged] = field(default_factory=dict, init=False)
    _leaves: dict[Expr, frozenset[Expr]] = field(default_factory=dict)
    _tables: dict[Expr, Integers] = field(default_factory=dict)

    def says(self, buffer: Buffer, order: ElementOrder) -> bool:
        """Whether the user says that the elements of an array, which is only read, are in an order."""
        return (buffer, order) in self.orders and buffer in self.readable

    @property
    def workgroup_ids(self) -> frozenset[Expr]:
        """The ids that all threads of a workgroup share."""
        return frozenset(self.groups)

    @property
    def threads(self) -> int:
        return self.kernel.threads

    def leaves(self, value: Expr) -> frozenset[Expr]:
        """The ids, iterations and unknowns that `value` depends on."""
        known = self._leaves.get(value)
        if known is None:
            ask_operands_first(value, self._leaves, self.leaves)
            inner = frozenset[Expr]().union(*map(self.leaves, value.operands))
            if is_opaque(value):
                inner |= {value}
            known = self._leaves[value] = inner if value.operands or isinstance(value, Const) else frozenset((value,))
        return known

    def is_id(self, leaf: Expr) -> bool:
        """Whether a leaf is an id or the number of an iteration, not what memory or the host decides."""
        return isinstance(leaf, Builtin) or (isinstance(leaf, Var) and leaf.order < 0)

    def table(self, value: Expr) -> Integers:
        """`value`, which depends on the thread alone, for every thread; bools as 0 and 1."""
        known = self._tables.get(value)
        if known is None:
            found = Points({self.tid: np.arange(self.threads, dtype=np.uint32)}).whole(value)
            known = self._tables[value] = np.broadcast_to(found, (self.threads,))
        return known

    def extent(self, leaf: Expr) -> int:
        """How many values, from 0 on, an id or the number of an iteration takes."""
        return range_of(leaf)[1] + 1

    def unknowns(self, values: Iterable[Expr]) -> list[Expr]:
        """What `values` depend on beyond ids and iterations."""
        return [leaf for value in values for leaf in self.leaves(value) if not self.is_id(leaf)]

    def ids_of(self, values: Iterable[Expr]) -> set[Expr]:
        """The ids and iterations that `values` depend on, but for the thread."""
        return {leaf for value in values for leaf in self.leaves(value) if self.is_id(leaf) and leaf is not self.tid}

    def split_guards(self, access: Access) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """The guards that ids decide, and those that memory or the host decides."""
        known = tuple(g for g in access.guards if not self.unknowns([g]))
        return known, tuple(g for g in access.guards if self.unknowns([g]))

    def period(self, leaf: Expr, values: Iterable[Expr]) -> int:
        """After how many steps of an id or iteration all `values` come again, if they see it through remainders alone;
        else how many values it has."""
        found = 1
        for value in values:
            for atom in linear(value).terms if value.dtype.kind in "iu" else (value,):
                if leaf not in self.leaves(atom):
                    continue
                match atom:
                    case Binary(op="%", left=left, right=Const(value=by)) if (form := _sum(left, int(by))) is not None:
                        if any(leaf in self.leaves(a) for a in form.terms if a is not leaf):
                            return self.extent(leaf)
                        found = lcm(found, int(by))
                    case _:
                        return self.extent(leaf)
        return min(found, self.extent(leaf))

    def domain(
        self, ids: Iterable[Expr], *, each: int, most: int | None = None, extents: Mapping[Expr, int] | None = None
    ) -> Domain:
        """All values of `ids` if they cost no more than `most` evaluations, `each` for a combination; else edge values,
        at a sixteenth of the cost. `extents` says how many values some have, where that is not what their ranges say.
        """
        most = MOST if most is None else min(most, MOST)
        chosen = tuple(sorted(ids, key=lambda leaf: (leaf.order if isinstance(leaf, Var) else 0, str(leaf))))
        counts = [(extents or {}).get(leaf, self.extent(leaf)) for leaf in chosen]
        if not chosen or prod(counts) * each <= most:
            return Domain(chosen, tuple(np.arange(n) for n in counts), True)
        room = max(1, most // 16 // each)
        many = max(2, int(room ** (1 / len(chosen)) + 1e-9))
        values = tuple(_edges(n, many) for n in counts)
        return Domain(chosen, values, all(len(v) == n for v, n in zip(values, counts, strict=True)))

    def environment(self, *over: Mapping[Expr, Integers]) -> dict[Expr, Array]:
        """Each of `over` along an axis of its own, threads along the last one, in the types of the kernel."""
        env: dict[Expr, Array] = {self.tid: np.arange(self.threads, dtype=np.uint32)[(None,) * len(over)]}
        for axis, ids in enumerate(over):
            shape = tuple(-1 if i == axis else 1 for i in range(len(over) + 1))
            env |= {leaf: v.reshape(shape) for leaf, v in typed(ids).items()}
        return env

    def points(self, env: Mapping[Expr, Array], data: SampleData | None) -> Points:
        """The values at invocations, with made-up data or, for None, without what data decides."""
        if data is None:
            return Points(env)
        numbers = {p: np.asarray(n, p.dtype.numpy) for p, n in data.numbers.items()}
        return Points({**env, **numbers}, data.readable)

    def trials(self, values: Iterable[Expr]) -> Iterator[SampleData]:
        """Data to try where `values` depend on what the host decides.

        Each integer parameter is 64, 0, 1, an end of its range, and every number near a constant that `values` compare
        or compute it with; the others are 64 meanwhile, or all take their value of the same number.
        """
        over = nodes(*values)
        near = {int(n.value) + by for n in over if isinstance(n, Const) and n.dtype.kind in "iu" for by in (0, -1, 1)}
        parameters = [p for p in over if isinstance(p, Param) and p.dtype.kind in "iu"]
        tried = [[min(max(n, p.lo), p.hi) for n in (64, 0, 1, p.lo, p.hi, *sorted(near))] for p in parameters]
        usual: dict[Expr, int] = {p: numbers[0] for p, numbers in zip(parameters, tried, strict=True)}
        rows = [usual]
        for p, numbers in zip(parameters, tried, strict=True):
            rows += [{**usual, p: n} for n in numbers]
        rows += [dict(zip(parameters, row, strict=True)) for row in zip(*tried, strict=True)]
        for row in list({tuple(row.items()): row for row in rows}.values())[:_TRIALS]:
            yield SampleData(self.readable, row)

    def use(self, item: Access | Gathering, ids: dict[Expr, int], thread: int, verb: str) -> Use:
        """One invocation at an access or a barrier, for a witness."""
        known = [(name, counter) for name, counter in item.counters if not self.unknowns([counter])]
        at = self._at([counter for _, counter in known], ids, thread)
        counters = tuple((name, int(at.of(counter))) for name, counter in known)
        x, y, z = (int(at.of(group)) for group in self.workgroup)
        return Use((x, y, z), thread, counters, verb, item.text, item.place)

    def index_at(self, access: Access, ids: dict[Expr, int], thread: int) -> int:
        return int(self._at([access.index], ids, thread).of(access.index))

    def _at(self, values: Iterable[Expr], ids: dict[Expr, int], thread: int) -> Points:
        env: dict[Expr, Array] = {leaf: np.asarray(n, leaf.dtype.numpy) for leaf, n in ids.items()}
        env[self.tid] = np.asarray(thread, np.uint32)
        for leaf in (*self.groups, *self.ids_of(values)):
            env.setdefault(leaf, np.asarray(0, leaf.dtype.numpy))
        return Points(env, self.readable)


def _sum(value: Expr, base: int) -> Exact | Sum | None:
    """The sum of which `value % base` is the remainder: where it may wrap, only to a base that divides 2**32."""
    return linear(value) if U32_LIMIT % base == 0 else exact(value)


def _edges(extent: int, many: int) -> Integers:
    """Up to `many` of the numbers below `extent`: both ends first, then the middle."""
    if extent <= many:
        return np.arange(extent)
    middle = max(0, min(2, many - 4))
    low, high = np.arange((many - middle + 1) // 2), np.arange(extent - (many - middle) // 2, extent)
    return np.unique(np.concatenate([low, extent // 2 + np.arange(middle), high]))


def typed(ids: Mapping[Expr, Integers]) -> dict[Expr, Array]:
    return {leaf: v.astype(leaf.dtype.numpy) for leaf, v in ids.items()}


def named(unknown: Iterable[Expr]) -> str:
    """What unknowns are called, for a reason."""
    return " and ".join(sorted({leaf.name if isinstance(leaf, Var) else show(leaf) for leaf in unknown}))
