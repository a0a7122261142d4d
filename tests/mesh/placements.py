"""Random placements as DTensor says them, and what each device holds, found without layouts: by cutting lists."""

import random
from itertools import product
from math import prod

#: What an axis does: ("shard", dim), ("strided", dim, pieces), ("replicate",), ("partial", how).
Said = tuple[tuple[object, ...], ...]
Case = tuple[tuple[int, ...], tuple[int, ...], Said]


def random_case(
    draw: random.Random, devices: int = 64, mesh: tuple[int, ...] | None = None, partial: bool = False
) -> Case:
    """A shape of up to 4 dimensions, a mesh of up to 4 axes and at most `devices`, and what each axis does."""
    if mesh is None:
        axes = []
        for _ in range(draw.randint(1, 4)):
            axes.append(draw.choice([n for n in (1, 2, 2, 3, 4, 4, 8) if n * prod(axes) <= devices]))
        mesh = tuple(axes)
    shape = tuple(draw.choice([1, 2, 3, 4, 5, 6, 8, 8, 9, 12, 16, 16, 24, 48]) for _ in range(draw.randint(1, 4)))
    said: list[tuple[object, ...]] = []
    for _ in mesh:
        dim = draw.randrange(len(shape))
        if partial and draw.random() < 0.3:
            said.append(("partial", draw.choice(["sum", "max", "min", "product"])))
            continue
        said.append(
            draw.choice([("shard", dim), ("shard", dim), ("replicate",), ("strided", dim, draw.choice([2, 2, 3, 4]))])
        )
    return shape, mesh, tuple(said)


def chunks(indices: list[int], count: int) -> list[list[int]]:
    """torch.chunk's pieces, filled up with empty ones."""
    step = -(-len(indices) // count) or 1
    pieces = [indices[k : k + step] for k in range(0, len(indices), step)]
    return pieces + [[]] * (count - len(pieces))


def held(case: Case, device: tuple[int, ...]) -> list[list[int]]:
    """For each dimension the indices of a device: the axes cut what is left, one after another."""
    shape, mesh, said = case
    left = [list(range(n)) for n in shape]
    for axis, what in enumerate(said):
        match what:
            case ("shard", int(dim)):
                left[dim] = chunks(left[dim], mesh[axis])[device[axis]]
            case ("strided", int(dim), int(pieces)):
                parts = [chunks(piece, mesh[axis])[device[axis]] for piece in chunks(left[dim], pieces)]
                left[dim] = [x for part in parts for x in part]
    return left


def all_devices(mesh: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The devices in order of rank."""
    return list(product(*(range(n) for n in mesh)))
