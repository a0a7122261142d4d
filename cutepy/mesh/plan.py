"""From one placement to another: the collectives that do it with the least traffic, and a proof that none costs less.

A state says of each dimension which digits of its index belong to which axis of the mesh. A step moves one axis or two:
every other axis keeps its digit. Then each group of devices along the moved axes holds the same elements before and
after: those whose index has the group's digits along the other axes. So the group can do the step by itself, by one
collective. A digit that an axis leaves stays where it is, in local memory, so between steps a device may hold an index
here and there: that is how a network is asked first, for as little as can be.

Two axes move at once in a permutation, and in an all-to-all that brings both to their digits at the goal. A sequence of
moves along the two may cost more: devices receive elements that they only pass on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from heapq import heappop, heappush
from itertools import combinations, pairwise
from math import isfinite, lcm, prod

from ..errors import LayoutError
from .digits import At, Digits, all_elements, matching
from .placement import Partial, Placement, extents_text
from .transfers import Message, reduction_messages, transfers


@dataclass(frozen=True, slots=True)
class PlanState:
    """The digits of each dimension's index, and the axes along which parts are held."""

    dims: tuple[Digits, ...]
    partial: tuple[tuple[int, Partial], ...] = ()

    def __str__(self) -> str:
        cuts = ", ".join(f"[{d}]" for d in self.dims)
        return cuts + "".join(f" {how.value} {axis}" for axis, how in self.partial)

    @property
    def cutting(self) -> set[int]:
        """The axes that cut a dimension."""
        return set().union(*(d.axes for d in self.dims))

    def without(self, axis: int) -> PlanState:
        """The axis does nothing: along it devices hold the same."""
        dims = tuple(d.without(axis) if axis in d.axes else d for d in self.dims)
        return PlanState(dims, tuple(part for part in self.partial if part[0] != axis))

    def cut_along(self, axis: int, devices: int, strides: Sequence[set[int]]) -> Iterator[PlanState]:
        """The axis, which does nothing so far, cuts a local digit of some dimension."""
        for j, dim in enumerate(self.dims):
            for cut in dim.cut(axis, devices, strides[j]):
                yield PlanState((*self.dims[:j], cut, *self.dims[j + 1 :]), self.partial)

    def exchanged(self, a: int, b: int) -> PlanState:
        """Two axes change places."""
        return PlanState(tuple(d.renamed({a: b, b: a}) for d in self.dims), self.partial)

    def placement(self, shape: tuple[int, ...], mesh: tuple[int, ...]) -> Placement:
        """The placement with these digits."""
        return Placement(shape, mesh, tuple(d.layout(mesh) for d in self.dims), self.partial)


class Collective(Enum):
    """What the devices along an axis do together.

    >>> [one.value for one in Collective]
    ['slice', 'all-gather', 'all-to-all', 'reduce-scatter', 'all-reduce', 'permutation']
    """

    SLICE = "slice"
    ALL_GATHER = "all-gather"
    ALL_TO_ALL = "all-to-all"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_REDUCE = "all-reduce"
    PERMUTATION = "permutation"


@dataclass(frozen=True, slots=True)
class CollectiveStep:
    """One collective along one axis of the mesh, or two, the slower link first, between two placements.

    `received` counts the elements that all devices together receive in it.

    >>> rows, whole = (Placement.split((4,), (2,), axes) for axes in ([[0]], [[]]))
    >>> (step,) = redistribution(rows, whole).steps
    >>> print(step)
    all-gather along axis 0: 4 elements
    >>> list(step.messages())
    [((1,), (0,), ([2, 3],)), ((0,), (1,), ([0, 1],))]
    """

    collective: Collective
    axes: tuple[int, ...]
    received: int
    before: Placement
    after: Placement

    def __str__(self) -> str:
        along = " and ".join(map(str, self.axes))
        return f"{self.collective.value} along axis {along}: {self.received} elements"

    def messages(self) -> Iterator[Message]:
        """Who sends what to whom: (sender, receiver, the indices along each dimension), `received` elements in all.

        Reductions are told as direct messages: each device sends what others reduce, and an all-reduce hands the
        results out. A ring sends as much, from neighbour to neighbour. The iterator lists devices.
        """
        if self.collective in (Collective.REDUCE_SCATTER, Collective.ALL_REDUCE):
            return reduction_messages(self.before, self.after, self.axes[0])
        return transfers(replace(self.before, partial=()), replace(self.after, partial=()))


@dataclass(frozen=True)
class PlanCertificate:
    """The least cost from the start to each state that costs less than the plan: checked without a search.

    With the numbers bounded by the plan's cost, the start's is 0, the goal's is the plan's, and no step makes them rise
    by more than it costs. So any sequence of steps from the start to the goal costs at least the plan's cost.

    >>> rows, columns = (Placement.split((8, 8), (4,), axes) for axes in ([[0], []], [[], [0]]))
    >>> redistribution(rows, columns).certificate.check()  # no plan costs less
    """

    space: _StateSpace
    start: PlanState
    goal: PlanState
    costs: Mapping[PlanState, int]
    path: tuple[PlanState, ...]

    def check(self) -> None:
        """Raise LayoutError unless the numbers prove that no plan costs less."""
        call = "PlanCertificate.check()"
        if not self.path or self.path[0] != self.start or self.path[-1] != self.goal:
            raise LayoutError(f"{call}: the plan does not lead from the start to the goal")
        total = 0
        for before, after in pairwise(self.path):
            costs = [step.cost for step in self.space.steps(before) if step.state == after]
            if not costs:
                raise LayoutError(f"{call}: no step leads from {before} to {after}")
            total += min(costs)
        for state, told in ((self.start, 0), (self.goal, total)):
            if min(self.costs.get(state, total), total) != told:
                raise LayoutError(f"{call}: the plan has cost {told} at {state}, the certificate {self.costs[state]}")
        for state, cost in self.costs.items():
            for step in self.space.steps(state) if cost < total else ():
                if min(self.costs.get(step.state, total), total) > cost + step.cost:
                    raise LayoutError(
                        f"{call}: from {state} to {step.state} costs {step.cost}, less than the difference"
                    )


@dataclass(frozen=True)
class RedistributionPlan:
    """The steps from one placement to another, with the traffic along each axis and the proof that it is the least.

    >>> rows, columns = (Placement.split((8, 8), (4,), axes) for axes in ([[0], []], [[], [0]]))
    >>> print(redistribution(rows, columns))
    8x8 over 4: ((4),2):((2),1), ((4),8):((0),1) -> ((4),8):((0),1), ((4),2):((2),1)
      all-to-all along axis 0: 48 elements

    >>> plan = redistribution(rows, columns)
    >>> plan.received, plan.bytes(4)
    ((48,), (192,))
    """

    old: Placement
    new: Placement
    steps: tuple[CollectiveStep, ...]
    certificate: PlanCertificate

    @property
    def received(self) -> tuple[int, ...]:
        """For each axis of the mesh how many elements all devices together receive along it.

        A step along two axes counts along the slower one.
        """
        along = [0] * len(self.old.mesh)
        for step in self.steps:
            along[step.axes[0]] += step.received
        return tuple(along)

    def bytes(self, element_bytes: int) -> tuple[int, ...]:
        """For each axis of the mesh how many bytes all devices together receive along it."""
        return tuple(count * element_bytes for count in self.received)

    def link_bytes(self, element_bytes: int) -> dict[tuple[int, ...], tuple[int, int]]:
        """For each link of a hierarchical mesh the bytes that leave and that enter by it.

        The mesh is a tree, its first axis the outermost: a link of level k joins the unit (d0, ..., dk) to the other
        units of (d0, ..., dk-1). A message takes the links of the level at which the coordinates of its two devices
        first differ. On a mesh of (machines, GPUs) `(m,)` is the network card of machine m, `(m, g)` the port of its
        GPU g to the others in the machine. Links without traffic are left out. The call lists devices.

        >>> inner, outer = (Placement.split((8, 8), (2, 2), axes) for axes in ([[0, 1], []], [[0], [1]]))
        >>> redistribution(inner, outer).link_bytes(4)[1, 0]
        (32, 32)
        """
        links: dict[tuple[int, ...], list[int]] = {}
        for step in self.steps:
            for sender, receiver, indices in step.messages():
                level = next(k for k, (a, b) in enumerate(zip(sender, receiver, strict=True)) if a != b)
                sent = prod(map(len, indices)) * element_bytes
                links.setdefault(sender[: level + 1], [0, 0])[0] += sent
                links.setdefault(receiver[: level + 1], [0, 0])[1] += sent
        return {unit: (out, into) for unit, (out, into) in sorted(links.items())}

    def explain(self) -> str:
        """The steps, why each needs what it sends, an example of each, and what the plan was compared with.

        >>> rows, columns = (Placement.split((8, 8), (4,), axes) for axes in ([[0], []], [[], [0]]))
        >>> print(redistribution(rows, columns).explain())
        8x8 over 4: ((4),2):((2),1), ((4),8):((0),1) -> ((4),8):((0),1), ((4),2):((2),1)
          1. all-to-all along axis 0: 48 elements
             the axis cut dimension 0 with stride 2 and cuts dimension 1 with stride 2
             (1) sends (0) 4 elements, the first of them (2, 0)
          No other sequence of steps receives less. Looked at: all steps from 1 states reached for less than 48.
          Gathering all copies first would receive 192 elements.
        """
        lines = [str(self).split("\n", 1)[0]]
        for number, step in enumerate(self.steps, 1):
            lines.append(f"  {number}. {step}\n     {_move(step)}")
            first = next(step.messages(), None)
            if first is not None:
                sender, receiver, indices = first
                lines.append(
                    f"     {_point(sender)} sends {_point(receiver)} {prod(map(len, indices))} elements, the first of "
                    f"them {tuple(along[0] for along in indices)}"
                )
        if not self.steps:
            return "\n".join([*lines, "  nothing to do: each device holds what it must have"])
        proof = self.certificate
        total = proof.costs[proof.goal]
        unit = "receives" if proof.space.scale == 1 and set(proof.space.weights) == {1} else "costs"
        cheaper = sum(cost < total for cost in proof.costs.values())
        lines.append(
            f"  No other sequence of steps {unit} less. Looked at: all steps from {cheaper} states reached for less "
            f"than {Fraction(total, proof.space.scale)}."
        )
        if not self.old.partial:
            everything = self.old.devices * prod(self.old.shape) - all_elements(self.old.mesh, proof.start.dims)
            lines.append(f"  Gathering all copies first would receive {everything} elements.")
        return "\n".join(lines)

    def __str__(self) -> str:
        what = f"{extents_text(self.old.shape)} over {extents_text(self.old.mesh)}"
        dims = (str(placement).partition(": ")[2] for placement in (self.old, self.new))
        return "\n".join([f"{what}: {' -> '.join(dims)}", *(f"  {step}" for step in self.steps or ("nothing to do",))])


def _point(device: Sequence[int]) -> str:
    return f"({', '.join(map(str, device))})"


def _move(step: CollectiveStep) -> str:
    """What the axes of a step did before and do after it."""

    def role(placement: Placement, axis: int) -> str:
        for j in range(len(placement.shape)):
            if stride := placement.strides(j)[axis]:
                return f"cut dimension {j} with stride {stride}"
        return next((f"held parts of a {how.value}" for at, how in placement.partial if at == axis), "copied")

    if step.collective is Collective.PERMUTATION:
        return f"axes {step.axes[0]} and {step.axes[1]} change places, each device sends all to one other"
    told = []
    for axis in step.axes:
        verb, *rest = role(step.after, axis).split(" ")
        now = " ".join([{"cut": "cuts", "copied": "copies"}.get(verb, verb), *rest])
        told.append(f"{'the axis' if len(step.axes) == 1 else f'axis {axis}'} {role(step.before, axis)} and {now}")
    return "; ".join(told)


@dataclass(frozen=True, slots=True)
class _Edge:
    """A step from an order of cuts to another, and its cost: elements received times the weight of the link."""

    collective: Collective
    axes: tuple[int, ...]
    received: int
    cost: int
    state: PlanState


class _StateSpace:
    """All states of one array over one mesh, with the steps between them.

    An axis cuts what is left as a whole, or at a stride that it has at the start or at the goal. Costs are integers:
    `weights` are the given ones times `scale`, the least number that makes all of them whole, for a float never decides
    which plan is the least.
    """

    def __init__(self, mesh: tuple[int, ...], weights: Sequence[Fraction], ends: Sequence[PlanState]) -> None:
        self.mesh = mesh
        self.goal = ends[1]
        self.scale = lcm(*(weight.denominator for weight in weights))
        self.weights = [int(weight * self.scale) for weight in weights]
        self._strides = [
            [
                {d.position(axis)[1] for d in (end.dims[j] for end in ends) if axis in d.axes}
                for j in range(len(ends[0].dims))
            ]
            for axis in range(len(mesh))
        ]
        self._steps: dict[PlanState, list[_Edge]] = {}

    def steps(self, state: PlanState) -> list[_Edge]:
        """The steps from a state."""
        if state not in self._steps:
            self._steps[state] = [*self._moves(state), *self._exchanges(state)]
        return self._steps[state]

    def _moves(self, state: PlanState) -> Iterator[_Edge]:
        """One axis moves: to nothing, or to a digit. Sums, once made, are not taken apart again."""
        for axis, devices in enumerate(self.mesh):
            rest = state.without(axis)
            # In one order, whatever the process hashes by: of equal plans each process has to make the same.
            cut = dict.fromkeys((rest, *rest.cut_along(axis, devices, self._strides[axis])))
            for after in cut if devices > 1 else ():
                if after != state:
                    collective = _collective(state, after, axis)
                    received = self._received(collective, state, after, axis)
                    if received is not None:
                        yield _Edge(collective, (axis,), received, received * self.weights[axis], after)

    def _exchanges(self, state: PlanState) -> Iterator[_Edge]:
        """Two axes move: they change places, or both take what they do at the goal."""
        parts = {axis for axis, _ in state.partial}
        free = [axis for axis, n in enumerate(self.mesh) if n > 1 and axis not in parts]
        for a, b in combinations(free, 2):
            if self.mesh[a] == self.mesh[b]:
                yield from self._exchange(Collective.PERMUTATION, state, state.exchanged(a, b), (a, b))
        for j, dim in enumerate(state.dims):
            for a, b, digits in dim.reordered(self.mesh):
                after = PlanState((*state.dims[:j], digits, *state.dims[j + 1 :]), state.partial)
                yield from self._exchange(Collective.PERMUTATION, state, after, (a, b))
        for a, b in combinations(free, 2):
            rest = state.without(a).without(b)
            # In either order: where both cut one dimension the second cuts what the first has left.
            orders = [self._as_goal(first, y) for x, y in ((a, b), (b, a)) for first in self._as_goal(rest, x)]
            for after in dict.fromkeys(after for made in orders for after in made):
                yield from self._exchange(Collective.ALL_TO_ALL, state, after, (a, b))

    def _as_goal(self, state: PlanState, axis: int) -> Iterator[PlanState]:
        """An axis, which does nothing so far, does what it does at the goal."""
        at = [(j, d.position(axis)) for j, d in enumerate(self.goal.dims) if axis in d.axes]
        if not at:
            yield state
        for after in state.cut_along(axis, self.mesh[axis], self._strides[axis]) if at else ():
            j, position = at[0]
            if axis in after.dims[j].axes and after.dims[j].position(axis) == position:
                yield after

    def _exchange(
        self, what: Collective, before: PlanState, after: PlanState, axes: tuple[int, int]
    ) -> Iterator[_Edge]:
        """The devices along two axes exchange what they lack; nothing if that is not counted."""
        a, b = axes
        kept = self._kept(before.dims, after.dims, axes) if after != before else None
        if kept is not None:
            received = all_elements(self.mesh, after.dims) - kept
            slower = (a, b) if self.weights[a] >= self.weights[b] else (b, a)
            yield _Edge(what, slower, received, received * self.weights[slower[0]], after)

    def _kept(self, before: tuple[Digits, ...], after: tuple[Digits, ...], moved: tuple[int, ...]) -> int | None:
        """How many elements, over all devices, stay on their device in a step that moves these axes.

        A device keeps an element whose digits, of each axis that cuts before and after, are equal at both positions.
        """

        def at(dims: tuple[Digits, ...], axis: int) -> At | None:
            found = [(j, self.mesh[axis], d.position(axis)[1]) for j, d in enumerate(dims) if axis in d.axes]
            return found[0] if found else None

        pairs = [(old, new) for axis in moved if (old := at(before, axis)) and (new := at(after, axis)) and old != new]
        free = prod(n for axis, n in enumerate(self.mesh) if not any(axis in d.axes for d in (*before, *after)))
        equal = matching([d.extent for d in before], pairs)
        return None if equal is None else free * equal

    def _received(self, collective: Collective, before: PlanState, after: PlanState, axis: int) -> int | None:
        """How many elements all devices receive, each exactly what it lacks; reductions as a ring does them."""
        others, total = self.mesh[axis] - 1, all_elements(self.mesh, after.dims)
        match collective:
            case Collective.SLICE:
                return 0
            case Collective.ALL_GATHER:
                return total - all_elements(self.mesh, before.dims)
            case Collective.REDUCE_SCATTER:
                return others * total
            case Collective.ALL_REDUCE:
                # Each part of the result is reduced on its way past all devices, then goes round once more.
                return 2 * others * total // self.mesh[axis]
            case _:
                kept = self._kept(before.dims, after.dims, (axis,))
                return None if kept is None else total - kept


def _collective(before: PlanState, after: PlanState, axis: int) -> Collective:
    """What the devices along an axis do where it moves."""
    cuts_after = axis in after.cutting
    if any(axis == part for part, _ in before.partial):
        return Collective.REDUCE_SCATTER if cuts_after else Collective.ALL_REDUCE
    if axis not in before.cutting:
        return Collective.SLICE
    return Collective.ALL_TO_ALL if cuts_after else Collective.ALL_GATHER


def redistribution(old: Placement, new: Placement, *, weights: Sequence[float] | None = None) -> RedistributionPlan:
    """The collectives from one placement to another, with the least weighted traffic of all sequences of steps.

    `weights` is the cost of an element that is received along each axis of the mesh: a slow network's axis has a larger
    one than the links inside a machine; all 1 by default. Of equal costs the plan has the fewest all-to-alls along two
    axes, then the fewest steps.

    Raises LayoutError for placements of two arrays or meshes, for weights that are no finite numbers from 0 on, and for
    placements that are no sequence of equal cuts.

    >>> rows, columns = (Placement.split((8, 8), (2, 2), axes) for axes in ([[0, 1], []], [[0], [1]]))
    >>> print(redistribution(rows, columns, weights=(10, 1)))
    8x8 over 2x2: ((2,2),2):((4,2),1), ((2,2),8):((0,0),1) -> ((2,2),4):((4,0),1), ((2,2),4):((0,4),1)
      all-to-all along axis 1: 32 elements
    """
    _same_place("redistribution", old, new)
    call = f"redistribution({old} -> {new})"
    given = tuple(weights) if weights is not None else (1,) * len(old.mesh)
    if len(given) != len(old.mesh) or not all(isfinite(weight) and weight >= 0 for weight in given):
        raise LayoutError(f"{call}: weights {given} for {len(old.mesh)} axes; give a number from 0 on for each")
    start, goal = _state(old), _state(new)
    if not set(goal.partial) <= set(start.partial):
        raise LayoutError(f"{call}: the new placement holds parts of a reduction that the old one does not")
    space = _StateSpace(old.mesh, [Fraction(weight) for weight in given], (start, goal))
    costs, steps = _search(space, start, goal)
    if goal not in costs:
        raise LayoutError(f"{call}: no sequence of collectives, each along one axis, leads there")
    path, edges = [goal], []
    while path[-1] != start:
        origin, edge = steps[path[-1]]
        path.append(origin)
        edges.append(edge)
    path.reverse()
    made, before = [], old
    for edge in reversed(edges):
        after = new if edge.state == goal else edge.state.placement(old.shape, old.mesh)
        made.append(CollectiveStep(edge.collective, edge.axes, edge.received, before, after))
        before = after
    return RedistributionPlan(old, new, tuple(made), PlanCertificate(space, start, goal, costs, tuple(path)))


def _same_place(call: str, old: Placement, new: Placement) -> None:
    """Raise LayoutError unless two placements are of one array over one mesh."""
    for what, before, after in (("array", old.shape, new.shape), ("mesh", old.mesh, new.mesh)):
        if before != after:
            raise LayoutError(
                f"{call}({old} -> {new}): the {what} is {extents_text(before)} before and {extents_text(after)} after; "
                "both placements must be of one array over one mesh"
            )


def _state(placement: Placement) -> PlanState:
    """The digits of a placement.

    Raises LayoutError, with an index, for one whose modes are no digits.
    """
    dims = []
    for j, (extent, layout) in enumerate(zip(placement.shape, placement.dims, strict=True)):
        try:
            dims.append(Digits.of(extent, placement.mesh, layout))
        except LayoutError as error:
            raise LayoutError(
                f"redistribution: {placement}: dimension {j}: {error}; `transfers` says who sends what"
            ) from None
    parts = [part for part in placement.partial if placement.mesh[part[0]] > 1]
    return PlanState(tuple(dims), tuple(sorted(parts, key=lambda part: part[0])))


def _search(
    space: _StateSpace, start: PlanState, goal: PlanState
) -> tuple[dict[PlanState, int], dict[PlanState, tuple[PlanState, _Edge]]]:
    """The least cost from the start to each state that costs no more than the goal, and the last step there (Dijkstra).

    Of equal costs the fewest all-to-alls along two axes are taken, then the fewest steps, then the fewest gaps in what
    devices hold on the way.
    """
    costs: dict[PlanState, int] = {}
    steps: dict[PlanState, tuple[PlanState, _Edge]] = {}
    best: dict[PlanState, tuple[int, int, int, int]] = {start: (0, 0, 0, 0)}
    heap: list[tuple[int, int, int, int, int, PlanState]] = [(0, 0, 0, 0, 0, start)]
    count = 0
    while heap:
        cost, doubles, length, gaps, _, state = heappop(heap)
        if state in costs:
            continue
        costs[state] = cost
        if state == goal:
            break
        for edge in space.steps(state):
            double = edge.collective is Collective.ALL_TO_ALL and len(edge.axes) > 1
            after = cost + edge.cost, doubles + double, length + 1, gaps + sum(d.gaps for d in edge.state.dims)
            if edge.state not in costs and (edge.state not in best or after < best[edge.state]):
                count += 1
                best[edge.state] = after
                steps[edge.state] = state, edge
                heappush(heap, (*after, count, edge.state))
    return costs, steps
