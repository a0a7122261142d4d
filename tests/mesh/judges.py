"""Plans judged without the planner: what arrives where, what moves, and the least that any sequence of steps moves."""

import random
from collections.abc import Iterator
from functools import cache, reduce
from heapq import heappop, heappush
from itertools import permutations, product
from math import prod
from operator import or_

from placements import all_devices, chunks

from cutepy import LayoutError
from cutepy.mesh import Collective, Partial, Placement, redistribution

#: For each device and dimension the indices that it has, as the bits of a number; the axes along which sums are held.
Masks = tuple[tuple[tuple[int, ...], ...], frozenset[int]]
#: More states than this are not searched through: the case is not judged.
MOST_STATES = 6000
#: The same for steps.
MOST_STEPS = 200_000


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


def masks_of(placement: Placement) -> Masks:
    """What each device has; a device without indices along one dimension has nothing."""
    found = []
    for device in all_devices(placement.mesh):
        masks = tuple(sum(1 << x for x in indices) for indices in placement.local_coordinates(device))
        found.append(masks if all(masks) else (0,) * len(masks))
    return tuple(found), frozenset(axis for axis, _ in placement.partial)


def cheaper(old: Placement, new: Placement, weights: tuple[int, ...], cost: int) -> int | None:
    """The least cost below `cost` of any sequence of collectives between two placements, None if there is none.

    Found without the planner, from sets alone, among more steps than it knows: along an axis a group of devices puts
    together what it has, or divides it anew by even chunks of pieces of any number, or reduces; a group along two axes
    divides anew what it has together; or the coordinates along two axes are exchanged, or read in the other order.
    Raises RuntimeError where there are too many states.
    """
    mesh = old.mesh
    devices = all_devices(mesh)
    index = {device: k for k, device in enumerate(devices)}

    def groups(axis: int) -> list[list[int]]:
        firsts = [device for device in devices if device[axis] == 0]
        return [[index[(*d[:axis], k, *d[axis + 1 :])] for k in range(mesh[axis])] for d in firsts]

    along = [groups(axis) for axis in range(len(mesh))]

    def size(masks: tuple[int, ...]) -> int:
        return prod(mask.bit_count() for mask in masks)

    def lacking(before: tuple[int, ...], after: tuple[int, ...]) -> int:
        return size(after) - size(tuple(a & b for a, b in zip(before, after, strict=True)))

    def together(held: tuple[tuple[int, ...], ...], axis: int) -> tuple[tuple[int, ...], ...] | None:
        """Each group has what its members have, None where that is no product of lists."""
        made = list(held)
        for group in along[axis]:
            union = tuple(reduce(or_, masks) for masks in zip(*(held[k] for k in group), strict=True))
            if size(union) != len({element for k in group for element in elements(held[k])}):
                return None
            for k in group:
                made[k] = union
        return tuple(made)

    @cache
    def elements(masks: tuple[int, ...]) -> frozenset[tuple[int, ...]]:
        return frozenset(product(*([x for x in range(mask.bit_length()) if mask >> x & 1] for mask in masks)))

    @cache
    def divided(mask: int, pieces: int, count: int) -> tuple[int, ...]:
        indices = [x for x in range(mask.bit_length()) if mask >> x & 1]
        parts = [chunks(piece, count) for piece in chunks(indices, pieces)]
        return tuple(sum(1 << x for part in parts for x in part[k]) for k in range(count))

    def divisions(held: tuple[tuple[int, ...], ...], axis: int) -> set[tuple[tuple[int, ...], ...]]:
        made = set()
        for dim in range(len(old.shape)):
            for pieces in range(1, max(masks[dim].bit_count() for masks in held) + 1):
                after = list(held)
                for group in along[axis]:
                    for k, part in zip(group, divided(held[group[0]][dim], pieces, mesh[axis]), strict=True):
                        masks = (*held[k][:dim], part, *held[k][dim + 1 :])
                        after[k] = masks if all(masks) else (0,) * len(masks)
                # Shares are as even as they can be: what one device gathers for all is no collective of equals.
                shares = [after[k][dim].bit_count() * len(group) for group in along[axis] for k in group]
                if max(shares) < max(masks[dim].bit_count() for masks in held) + mesh[axis]:
                    made.add(tuple(after))
        return made

    def steps(state: Masks) -> Iterator[tuple[int, Masks]]:
        held, partial = state
        for axis, n in enumerate(mesh):
            union = together(held, axis) if n > 1 else None
            if union is None:
                continue
            options = divisions(union, axis)
            if axis in partial:
                left = partial - {axis}
                yield weights[axis] * sum(2 * (n - 1) * size(held[g[0]]) for g in along[axis]), (held, left)
                for after in options:
                    yield weights[axis] * sum((n - 1) * size(masks) for masks in after), (after, left)
            else:
                for after in {union, *options} - {held}:
                    moved = sum(lacking(a, b) for a, b in zip(held, after, strict=True))
                    yield weights[axis] * moved, (after, partial)
        for a, b in permutations([axis for axis in range(len(mesh)) if axis not in partial and mesh[axis] > 1], 2):
            union = together(held, a)
            union = union and together(union, b)
            if union is None:
                continue
            twice = {union}
            for once in {union, *divisions(union, a)}:
                twice |= {once, *divisions(once, b)}
            for after in twice - {held}:
                moved = sum(lacking(x, y) for x, y in zip(held, after, strict=True))
                yield max(weights[a], weights[b]) * moved, (after, partial)
        for a, b in permutations([axis for axis in range(len(mesh)) if axis not in partial], 2):
            for senders in exchanges(a, b):
                after = tuple(held[k] for k in senders)
                moved = sum(lacking(x, y) for x, y in zip(held, after, strict=True))
                yield max(weights[a], weights[b]) * moved, (after, partial)

    @cache
    def exchanges(a: int, b: int) -> list[list[int]]:
        """From whom each device takes all: by two coordinates exchanged, or by their number read in the other order."""
        n, m, found = mesh[a], mesh[b], []
        orders = [lambda i, j: divmod(j * n + i, m)] + ([lambda i, j: (j, i)] if n == m else [])
        for order in orders:
            senders = []
            for device in devices:
                i, j = order(device[a], device[b])
                senders.append(index[tuple({a: i, b: j}.get(k, x) for k, x in enumerate(device))])
            found.append(senders)
        return found

    start, goal = masks_of(old), masks_of(new)
    if not old.partial and cost <= min(weights) * sum(map(lacking, start[0], goal[0])):
        return None  # each device has to receive what it lacks, whatever the steps are
    best, done, heap, count, looked = {start: 0}, set(), [(0, 0, start)], 0, 0
    while heap:
        paid, _, state = heappop(heap)
        if state in done:
            continue
        if state == goal:
            return paid if paid < cost else None
        done.add(state)
        if len(done) > MOST_STATES:
            raise RuntimeError("too many states")
        for more, after in steps(state):
            looked += 1
            if looked > MOST_STEPS:
                raise RuntimeError("too many steps")
            if paid + more < min(cost, best.get(after, cost)):
                count += 1
                best[after] = paid + more
                heappush(heap, (paid + more, count, after))
    return None


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


def least(old: Placement, new: Placement, weights: tuple[int, ...] | None = None) -> bool | None:
    """Whether no sequence of collectives costs less than the plan; None where there are too many to look at."""
    weights = weights or (1,) * len(old.mesh)
    plan = redistribution(old, new, weights=weights)
    cost = sum(count * weight for count, weight in zip(plan.received, weights, strict=True))
    try:
        return cheaper(old, new, weights, cost) is None
    except RuntimeError:
        return None
