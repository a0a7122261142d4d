"""From one placement to another: the collectives that do it with the least traffic, and a proof that none costs less.

A state says of each dimension along which axes it is cut, the outermost first. A step moves one axis (a permutation
two): every other axis keeps its stride in every dimension. Then each group of devices along the axis holds the same
elements before and after: those whose index has the group's digits along the other axes. So the group can do the step
by itself, by one collective.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from heapq import heappop, heappush
from itertools import combinations, permutations, product
from math import prod

from ..errors import LayoutError
from ..layout import Layout, coalesce
from .placement import Partial, Placement


@dataclass(frozen=True, slots=True)
class State:
    """For each dimension the axes of the mesh that cut it, the outermost first; the axes along which parts are held."""

    axes: tuple[tuple[int, ...], ...]
    partial: tuple[tuple[int, Partial], ...] = ()

    def __str__(self) -> str:
        return str([list(along) for along in self.axes]) + "".join(f" {how.value} {axis}" for axis, how in self.partial)

    def without(self, axis: int) -> State:
        """The axis does nothing."""
        axes = tuple(tuple(a for a in along if a != axis) for along in self.axes)
        return State(axes, tuple(part for part in self.partial if part[0] != axis))

    def placed(self, axis: int) -> Iterator[State]:
        """The axis, which does nothing so far, cuts some dimension, outside or inside of the axes that cut it."""
        for j, along in enumerate(self.axes):
            for k in range(len(along) + 1):
                cut = (*along[:k], axis, *along[k:])
                yield State((*self.axes[:j], cut, *self.axes[j + 1 :]), self.partial)

    def exchanged(self, a: int, b: int) -> State:
        """Two axes change places."""
        names = {a: b, b: a}
        return State(tuple(tuple(names.get(axis, axis) for axis in along) for along in self.axes), self.partial)


class Collective(Enum):
    """What the devices along an axis do together."""

    SLICE = "slice"
    ALL_GATHER = "all-gather"
    ALL_TO_ALL = "all-to-all"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_REDUCE = "all-reduce"
    PERMUTATION = "permutation"


@dataclass(frozen=True, slots=True)
class Step:
    """One collective along one axis of the mesh (a permutation: two), and the elements that all devices receive in
    it."""

    collective: Collective
    axes: tuple[int, ...]
    received: int
    after: Placement

    def __str__(self) -> str:
        along = " and ".join(map(str, self.axes))
        return f"{self.collective.value} along axis {along}: {self.received} elements"


@dataclass(frozen=True)
class Certificate:
    """For every state the least cost from there to the goal. It is checked edge by edge, without a search.

    The numbers prove the plan: no step makes the cost that is left fall by more than the step costs, so any sequence of
    steps from the start to the goal costs at least the start's number; the plan costs just that.
    """

    space: _Space
    start: State
    goal: State
    costs: Mapping[State, float]
    path: tuple[State, ...]

    def check(self) -> None:
        """Raise LayoutError unless the numbers prove that no plan costs less."""
        call = "Certificate.check()"
        if self.costs.get(self.goal) != 0:
            raise LayoutError(f"{call}: the goal's cost is {self.costs.get(self.goal)}, not 0")
        if not self.path or self.path[0] != self.start or self.path[-1] != self.goal:
            raise LayoutError(f"{call}: the plan does not lead from the start to the goal")
        total = 0.0
        for before, after in zip(self.path, self.path[1:], strict=False):
            costs = [step.cost for step in self.space.steps(before) if step.state == after]
            if not costs:
                raise LayoutError(f"{call}: no step leads from {before} to {after}")
            total += min(costs)
        if total != self.costs.get(self.start):
            raise LayoutError(f"{call}: the plan costs {total:g}, the certificate says {self.costs.get(self.start)}")
        todo, seen = [self.start], {self.start}
        while todo:
            state = todo.pop()
            for step in self.space.steps(state):
                if self.costs.get(state, float("inf")) > step.cost + self.costs.get(step.state, float("inf")):
                    raise LayoutError(
                        f"{call}: from {state} to {step.state} costs {step.cost:g}, less than the difference"
                    )
                if step.state not in seen:
                    seen.add(step.state)
                    todo.append(step.state)


@dataclass(frozen=True)
class Plan:
    """The steps from one placement to another, with the traffic along each axis and the proof that it is the least.

    >>> rows, columns = (Placement.split((8, 8), (4,), axes) for axes in ([[0], []], [[], [0]]))
    >>> print(redistribution(rows, columns))
    8x8 over 4: ((4),2):((2),1), ((4),8):((0),1) -> ((4),8):((0),1), ((4),2):((2),1)
      all-to-all along axis 0: 48 elements
    """

    old: Placement
    new: Placement
    steps: tuple[Step, ...]
    certificate: Certificate

    @property
    def received(self) -> tuple[int, ...]:
        """For each axis of the mesh how many elements all devices together receive along it."""
        along = [0] * len(self.old.mesh)
        for step in self.steps:
            along[step.axes[0]] += step.received
        return tuple(along)

    def bytes(self, element_bytes: int) -> tuple[int, ...]:
        """For each axis of the mesh the bytes that all devices together receive along it."""
        return tuple(count * element_bytes for count in self.received)

    def __str__(self) -> str:
        dims = [", ".join(str(layout) for layout in placement.dims) for placement in (self.old, self.new)]
        what = "x".join(map(str, self.old.shape)) + " over " + "x".join(map(str, self.old.mesh))
        return "\n".join(
            [f"{what}: {dims[0]} -> {dims[1]}", *(f"  {step}" for step in self.steps or ("nothing to do",))]
        )


@dataclass(frozen=True, slots=True)
class _Edge:
    collective: Collective
    axes: tuple[int, ...]
    received: int
    cost: float
    state: State


class _Space:
    """All states over one array and mesh, with the steps between them. A state whose cuts are no layout is none."""

    def __init__(self, shape: tuple[int, ...], mesh: tuple[int, ...], weights: tuple[float, ...]) -> None:
        self.shape, self.mesh, self.weights = shape, mesh, weights
        self._placements: dict[State, Placement | None] = {}
        self._steps: dict[State, list[_Edge]] = {}

    def placement(self, state: State) -> Placement | None:
        """The placement of a state, None where the cuts are no layout."""
        if state not in self._placements:
            try:
                self._placements[state] = Placement.split(self.shape, self.mesh, state.axes, state.partial)
            except LayoutError:
                self._placements[state] = None
        return self._placements[state]

    def steps(self, state: State) -> list[_Edge]:
        """The steps from a state."""
        if state not in self._steps:
            self._steps[state] = [*self._moves(state), *self._exchanges(state)]
        return self._steps[state]

    def _moves(self, state: State) -> Iterator[_Edge]:
        """One axis moves: to nothing, or to a dimension. Sums, once made, are not taken apart again."""
        for axis, devices in enumerate(self.mesh):
            rest = state.without(axis)
            for after in [rest, *rest.placed(axis)]:
                if devices > 1 and after != state and self._keeps_others(state, after, axis):
                    collective = _collective(state, after, axis)
                    received = self._received(collective, state, after, axis)
                    yield _Edge(collective, (axis,), received, received * self.weights[axis], after)

    def _exchanges(self, state: State) -> Iterator[_Edge]:
        """Two axes of one extent change places: each device sends all that it has to one other."""
        parts = {axis for axis, _ in state.partial}
        for a, b in combinations([axis for axis, n in enumerate(self.mesh) if n > 1 and axis not in parts], 2):
            after = state.exchanged(a, b)
            before, made = self.placement(state), self.placement(after)
            if self.mesh[a] == self.mesh[b] and after != state and before is not None and made is not None:
                if self._exchanged(before, made, a, b):
                    moved = sum(
                        made.elements(at)
                        for at in product(*(range(n) for n in self.mesh))
                        if before.local_coordinates(at) != made.local_coordinates(at)
                    )
                    cost = moved * max(self.weights[a], self.weights[b])
                    yield _Edge(Collective.PERMUTATION, (a, b), moved, cost, after)

    def _exchanged(self, before: Placement, after: Placement, a: int, b: int) -> bool:
        """Whether the strides of two axes changed places in every dimension, and no other changed."""
        swap = {a: b, b: a}
        return all(
            old[0][axis].stride == new[0][swap.get(axis, axis)].stride
            for old, new in zip(before.dims, after.dims, strict=True)
            for axis in range(len(self.mesh))
        )

    def _keeps_others(self, state: State, after: State, moving: int) -> bool:
        before, made = self.placement(state), self.placement(after)
        return (
            before is not None
            and made is not None
            and all(
                old[0][axis].stride == new[0][axis].stride
                for old, new in zip(before.dims, made.dims, strict=True)
                for axis in range(len(self.mesh))
                if axis != moving
            )
        )

    def _received(self, collective: Collective, state: State, after: State, axis: int) -> int:
        """How many elements all devices receive, each exactly what it lacks; reductions as a ring does them."""
        before, made = self.placement(state), self.placement(after)
        assert before is not None and made is not None
        devices = list(product(*(range(n) for n in self.mesh)))
        others = self.mesh[axis] - 1
        match collective:
            case Collective.SLICE:
                return 0
            case Collective.ALL_GATHER:
                return sum(made.elements(at) - before.elements(at) for at in devices)
            case Collective.REDUCE_SCATTER:
                return sum(others * made.elements(at) for at in devices)
            case Collective.ALL_REDUCE:
                return sum(2 * others * before.elements(at) for at in devices if at[axis] == 0)
            case _:
                return sum(made.elements(at) - _common(before, made, at) for at in devices)


def _collective(before: State, after: State, axis: int) -> Collective:
    """What the devices along an axis do where it moves."""
    cuts_after = any(axis in along for along in after.axes)
    if any(axis == part for part, _ in before.partial):
        return Collective.REDUCE_SCATTER if cuts_after else Collective.ALL_REDUCE
    if not any(axis in along for along in before.axes):
        return Collective.SLICE
    return Collective.ALL_TO_ALL if cuts_after else Collective.ALL_GATHER


def _common(a: Placement, b: Placement, device: tuple[int, ...]) -> int:
    """How many elements a device holds in both placements."""
    pairs = zip(a.local_coordinates(device), b.local_coordinates(device), strict=True)
    return prod(len(set(x) & set(y)) for x, y in pairs)


def redistribution(old: Placement, new: Placement, weights: Sequence[float] | None = None) -> Plan:
    """The collectives from one placement to another, with the least weighted traffic of all sequences of steps.

    `weights` is the cost of an element that is received along each axis of the mesh: a slow network's axis has a larger
    one than the links inside a machine; all 1 by default. Of equal costs the plan has the fewest steps.

    Raises LayoutError for placements of two arrays or meshes, and for those that are no sequence of equal cuts.
    """
    call = f"redistribution({old} -> {new})"
    if (old.shape, old.mesh) != (new.shape, new.mesh):
        raise LayoutError(f"{call}: they place two arrays, or over two meshes; both must be the same")
    weights = tuple(map(float, weights)) if weights is not None else (1.0,) * len(old.mesh)
    if len(weights) != len(old.mesh) or min(weights, default=1) < 0:
        raise LayoutError(f"{call}: weights {weights} for {len(old.mesh)} axes; give a number from 0 on for each")
    start, goal = _state(old), _state(new)
    if not set(goal.partial) <= set(start.partial):
        raise LayoutError(f"{call}: the new placement holds parts of a reduction that the old one does not")
    space = _Space(old.shape, old.mesh, weights)
    costs, following = _costs_to(space, start, goal)
    if start not in costs:
        raise LayoutError(f"{call}: no sequence of collectives, each along one axis, leads there")
    path, steps = [start], []
    while path[-1] != goal:
        edge = following[path[-1]]
        after = space.placement(edge.state)
        assert after is not None
        steps.append(Step(edge.collective, edge.axes, edge.received, after))
        path.append(edge.state)
    return Plan(old, new, tuple(steps), Certificate(space, start, goal, costs, tuple(path)))


def _state(placement: Placement) -> State:
    """The cuts of a placement.

    Raises LayoutError for one that is no sequence of cuts into equal pieces, with an element that shows it.
    """
    order = []
    for j, layout in enumerate(placement.dims):
        strides = placement.strides(j)
        axes = [a for a, stride in enumerate(strides) if stride]
        # The outermost axis has the longest stride, but where one device holds all of a piece.
        likely = sorted(axes, key=strides.__getitem__, reverse=True)
        for along in [tuple(likely), *permutations(axes)]:
            try:
                cut = Placement.split((placement.shape[j],), placement.mesh, [along])
            except LayoutError:
                continue
            if _same(cut.dims[0], layout, placement.mesh):
                order.append(along)
                break
        else:
            index = int(layout[0](tuple(int(n > 1) for n in placement.mesh)))
            raise LayoutError(
                f"redistribution: {placement}: dimension {j} is not cut into pieces of one length, axis by axis: "
                f"{layout}; "
                f"index {index} begins a device's list otherwise than any such cut. `transfers` says who sends what"
            )
    return State(tuple(order), tuple(sorted(placement.partial, key=lambda part: part[0])))


def _same(a: Layout, b: Layout, mesh: tuple[int, ...]) -> bool:
    """Whether two layouts of one dimension give each device the same indices in the same order."""
    strides = [a[0][k].stride == b[0][k].stride for k, n in enumerate(mesh) if n > 1]
    return all(strides) and coalesce(a[1]) == coalesce(b[1])


def _costs_to(space: _Space, start: State, goal: State) -> tuple[dict[State, float], dict[State, _Edge]]:
    """The least cost to the goal from each state that the start reaches, and the first step there (Dijkstra)."""
    into: dict[State, list[tuple[State, _Edge]]] = {}
    todo, seen = [start], {start}
    while todo:
        state = todo.pop()
        for edge in space.steps(state):
            into.setdefault(edge.state, []).append((state, edge))
            if edge.state not in seen:
                seen.add(edge.state)
                todo.append(edge.state)
    costs: dict[State, float] = {}
    following: dict[State, _Edge] = {}
    heap: list[tuple[float, int, int, State, _Edge | None]] = [(0.0, 0, 0, goal, None)]
    count = 0
    while heap:
        cost, length, _, state, chosen = heappop(heap)
        if state in costs:
            continue
        costs[state] = cost
        if chosen is not None:
            following[state] = chosen
        for before, leads_here in into.get(state, ()):
            if before not in costs:
                count += 1
                heappush(heap, (leads_here.cost + cost, length + 1, count, before, leads_here))
    return costs, following


def transfers(
    old: Placement, new: Placement
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[list[int], ...]]]:
    """Who sends what to whom, if each device gets what it lacks straight from a holder: (sender, receiver, indices).

    The indices are one list for each dimension; what is sent is their product. Of several holders the one is taken that
    shares the receiver's coordinate along the axes that copy.

    >>> halves, quarters = Placement.split((4,), (4, 1), [[0]]), Placement.split((4,), (4, 1), [[]])
    >>> [(a[0], b[0], what) for a, b, what in transfers(halves, quarters)][:3]
    [(1, 0, ([1],)), (2, 0, ([2],)), (3, 0, ([3],))]
    """
    if (old.shape, old.mesh) != (new.shape, new.mesh):
        raise LayoutError(f"transfers({old}, {new}): they place two arrays, or over two meshes; both must be the same")
    if old.partial or new.partial:
        raise LayoutError(f"transfers({old}, {new}): parts of a reduction are no elements; redistribution plans them")
    owners = [_owners(old, j) for j in range(len(old.shape))]
    for receiver in product(*(range(n) for n in new.mesh)):
        groups = []
        for table, indices in zip(owners, new.local_coordinates(receiver), strict=True):
            split: dict[tuple[tuple[int, int], ...], list[int]] = {}
            for x in indices:
                split.setdefault(table[x], []).append(x)
            groups.append(list(split.items()))
        for chosen in product(*groups):
            digits = dict(pair for held, _ in chosen for pair in held)
            sender = tuple(digits.get(axis, at) for axis, at in enumerate(receiver))
            if sender != receiver:
                yield sender, receiver, tuple(indices for _, indices in chosen)


def _owners(placement: Placement, dim: int) -> list[tuple[tuple[int, int], ...]]:
    """For each index along a dimension the coordinates, along the axes that cut it, of the first device that holds
    it."""
    point = [0] * len(placement.shape)
    found = []
    for x in range(placement.shape[dim]):
        point[dim] = x
        first = placement.holders(point)[0].coordinate
        cutting = [axis for axis in range(len(placement.mesh)) if placement.dims[dim][0][axis].stride]
        found.append(tuple((axis, first[axis] or 0) for axis in cutting if placement.mesh[axis] > 1))
    return found
