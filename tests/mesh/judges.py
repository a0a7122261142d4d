"""Plans judged without the planner: what arrives where, what moves, and the least that any sequence of steps moves."""

import random
from functools import cache
from itertools import product
from math import prod

from placements import all_devices, chunks

from cutepy import LayoutError
from cutepy.mesh import Collective, Partial, Placement, redistribution

#: For each dimension the axes that cut it, and the axes along which sums are held.
Cuts = tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]


def held_by(shape, mesh, cuts: Cuts) -> dict[tuple[int, ...], list[list[int]]]:
    """What each device has: each dimension's list, cut by its axes one after another."""
    held = {}
    for device in all_devices(mesh):
        left = [list(range(n)) for n in shape]
        for dim, axes in enumerate(cuts[0]):
            for axis in axes:
                left[dim] = chunks(left[dim], mesh[axis])[device[axis]]
        held[device] = left
    return held


def random_pair(
    draw: random.Random, devices: int = 16, mesh: tuple[int, ...] | None = None
) -> tuple[Placement, Placement]:
    """Two placements of one array, partial sums in some of the first."""
    given = mesh
    while True:
        mesh = given or tuple(draw.choice([2, 2, 3, 4]) for _ in range(draw.randint(1, 3)))
        if prod(mesh) > devices:
            continue
        shape = tuple(draw.choice([2, 4, 5, 6, 8, 12]) for _ in range(draw.randint(1, 3)))
        pair = []
        for first in (True, False):
            axes: list[list[int]] = [[] for _ in shape]
            partial = []
            for axis in draw.sample(range(len(mesh)), len(mesh)):
                choice = draw.random()
                if choice < 0.6:
                    axes[draw.randrange(len(shape))].append(axis)
                elif first and choice < 0.7:
                    partial.append((axis, Partial.SUM))
            try:
                pair.append(Placement.split(shape, mesh, axes, partial))
            except LayoutError:
                break
        if len(pair) == 2:
            return pair[0], pair[1]


def follow(old: Placement, plan_steps, shape, mesh) -> tuple[dict, int]:
    """Run the steps on sets: what each device has in the end, and how many elements moved between devices.

    A value is (element, the devices along partial axes whose parts it sums). Devices exchange along the step's axes
    alone.
    """
    partial_axes = [axis for axis, _ in old.partial]
    state = {}
    for device in all_devices(mesh):
        element_lists = old.local_coordinates(device)
        own = tuple(device[axis] for axis in partial_axes)
        state[device] = {element: frozenset([own]) for element in product(*element_lists)}
    moved = 0
    for step in plan_steps:
        after = {}
        for device in all_devices(mesh):
            wanted = set(product(*step.after.local_coordinates(device)))
            free = [range(n) if axis in step.axes else [device[axis]] for axis, n in enumerate(mesh)]
            group = list(product(*free))
            values = {}
            for element in wanted:
                holders = [d for d in group if element in state[d]]
                assert holders, (step, device, element)
                if step.collective in (Collective.REDUCE_SCATTER, Collective.ALL_REDUCE):
                    values[element] = frozenset().union(*(state[d][element] for d in holders))
                    if step.collective is Collective.REDUCE_SCATTER:
                        moved += len(holders) - 1
                else:
                    values[element] = state[device if device in holders else holders[0]][element]
                    moved += device not in holders
            after[device] = values
        if step.collective is Collective.ALL_REDUCE:
            extent = mesh[step.axes[0]]
            moved += sum(2 * (extent - 1) * len(after[d]) for d in after if d[step.axes[0]] == 0)
        state = after
    return state, moved


def exhaustive(shape, mesh, start: Cuts, goal: Cuts, longest: int) -> int | None:
    """The least traffic of all sequences of at most `longest` steps, found without the planner, from lists alone.

    A step changes what one axis does, or exchanges two; it is one that devices can do along these axes alone: what each
    needs after it, some device of its group has before it, and groups keep what they have together.
    """

    @cache
    def having(cuts: Cuts):
        return {d: set(product(*lists)) for d, lists in held_by(shape, mesh, cuts).items()}

    def groups(device: tuple[int, ...], axes: tuple[int, ...]) -> list[tuple[int, ...]]:
        return list(product(*(range(n) if axis in axes else [device[axis]] for axis, n in enumerate(mesh))))

    def traffic(before: Cuts, after: Cuts, axes: tuple[int, ...]) -> int | None:
        old, new, moved = having(before), having(after), 0
        for device, wanted in new.items():
            group = groups(device, axes)
            if set().union(*(old[d] for d in group)) != set().union(*(new[d] for d in group)):
                return None
            others = len(group) - 1
            if axes[0] in before[1]:
                gathers = not any(axes[0] in along for along in after[0])
                moved += (2 * others * len(wanted) if device[axes[0]] == 0 else 0) if gathers else others * len(wanted)
            else:
                moved += len(wanted - old[device])
        return moved

    @cache
    def moves(cuts: Cuts) -> list[tuple[Cuts, int]]:
        dims, partial = cuts
        found = []
        for axis in range(len(mesh)):
            rest = tuple(tuple(a for a in along if a != axis) for along in dims)
            options = [rest]
            for j, along in enumerate(rest):
                options += [(*rest[:j], (*along[:k], axis, *along[k:]), *rest[j + 1 :]) for k in range(len(along) + 1)]
            for option in options:
                after = option, tuple(a for a in partial if a != axis)
                if after != cuts and (cost := traffic(cuts, after, (axis,))) is not None:
                    found.append((after, cost))
        for a, b in product(range(len(mesh)), repeat=2):
            if a < b and mesh[a] == mesh[b] and not {a, b} & set(partial):
                names = {a: b, b: a}
                after = tuple(tuple(names.get(axis, axis) for axis in along) for along in dims), partial
                if after != cuts and (cost := traffic(cuts, after, (a, b))) is not None:
                    found.append((after, cost))
        return found

    best: dict[Cuts, int] = {start: 0}
    frontier = dict(best)
    for _ in range(longest):
        following: dict[Cuts, int] = {}
        for cuts, cost in frontier.items():
            for after, more in moves(cuts):
                if cost + more < best.get(after, 1 << 60):
                    best[after] = following[after] = cost + more
        frontier = following
    return best.get(goal)


def arrives(old: Placement, new: Placement) -> bool:
    """Whether a plan brings each device what it must have, summed over all parts, and receives as much as it says."""
    plan = redistribution(old, new)
    state, moved = follow(old, plan.steps, old.shape, old.mesh)
    whole = frozenset(product(*(range(old.mesh[axis]) for axis, _ in old.partial)))
    right = all(
        state[device] == dict.fromkeys(product(*new.local_coordinates(device)), whole)
        for device in all_devices(old.mesh)
    )
    plan.certificate.check()
    return right and moved == sum(plan.received) == sum(step.received for step in plan.steps)


def least_traffic(old: Placement, new: Placement) -> tuple[int, int | None]:
    """What the plan receives, and the least of all sequences of at most six steps."""
    plan = redistribution(old, new)
    ends = [(state.axes, tuple(axis for axis, _ in state.partial)) for state in plan.certificate.path]
    return sum(plan.received), exhaustive(old.shape, old.mesh, ends[0], ends[-1], 6)
