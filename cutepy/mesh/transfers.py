"""Who sends what to whom, device by device: the lists behind the counts of a plan."""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import TypeAlias

from ..errors import LayoutError
from .placement import Placement, extents_text

#: (sender, receiver, the indices along each dimension): what is sent is the product of the lists.
Message: TypeAlias = "tuple[tuple[int, ...], tuple[int, ...], tuple[list[int], ...]]"


def transfers(old: Placement, new: Placement) -> Iterator[Message]:
    """Who sends what to whom, if each device gets what it lacks straight from a holder: (sender, receiver, indices).

    The indices are one list for each dimension; what is sent is their product. Of several holders the one is taken that
    shares the receiver's coordinate along the axes that copy.

    >>> halves, copies = Placement.split((4,), (4, 1), [[0]]), Placement.split((4,), (4, 1), [[]])
    >>> list(transfers(halves, copies))[:2]
    [((1, 0), (0, 0), ([1],)), ((2, 0), (0, 0), ([2],))]

    Raises LayoutError for placements of two arrays or meshes, for parts of a reduction, and for an element that no
    device holds before.
    """
    if (old.shape, old.mesh) != (new.shape, new.mesh):
        raise LayoutError(
            f"transfers: from {extents_text(old.shape)} over {extents_text(old.mesh)} to {extents_text(new.shape)} "
            f"over {extents_text(new.mesh)}; both placements must be of one array over one mesh"
        )
    if old.partial or new.partial:
        raise LayoutError(f"transfers({old}, {new}): parts of a reduction are no elements; redistribution plans them")
    if (missing := old.missing()) is not None:
        raise LayoutError(f"transfers({old}, {new}): no device holds {missing} before, so none can send it")
    return _lacking(old, new)


def _lacking(old: Placement, new: Placement) -> Iterator[Message]:
    owners = [_owners(old, j) for j in range(len(old.shape))]
    for receiver in product(*(range(n) for n in new.mesh)):
        own = [set(indices) for indices in old.local_coordinates(receiver)]
        groups: list[list[tuple[tuple[tuple[tuple[int, int], ...], bool], list[int]]]] = []
        for table, indices in zip(owners, new.local_coordinates(receiver), strict=True):
            # Indices along one dimension by the digits of their first holder, and by whether the receiver has them.
            by_holder: dict[tuple[tuple[tuple[int, int], ...], bool], list[int]] = {}
            for x in indices:
                by_holder.setdefault((table[x], x in own[len(groups)]), []).append(x)
            groups.append(list(by_holder.items()))
        for chosen in product(*groups):
            if not all(has for (_, has), _ in chosen):
                digits = dict(pair for (holder, _), _ in chosen for pair in holder)
                sender = tuple(digits.get(axis, at) for axis, at in enumerate(receiver))
                yield sender, receiver, tuple(indices for _, indices in chosen)


def _owners(placement: Placement, dim: int) -> list[tuple[tuple[int, int], ...]]:
    """For each index along a dimension the coordinates, along the axes that cut it, of the first device that holds
    it."""
    point = [0] * len(placement.shape)
    cutting = [axis for axis, stride in enumerate(placement.strides(dim)) if stride]
    owners = []
    for x in range(placement.shape[dim]):
        point[dim] = x
        first = placement.holders(point)[0].coordinate
        owners.append(tuple((axis, first[axis] or 0) for axis in cutting))
    return owners


def reduction_messages(before: Placement, after: Placement, axis: int) -> Iterator[Message]:
    """A reduction along an axis as direct messages: to each device of a group what the others hold of its elements.

    In an all-reduce each device of a group reduces a share of the elements, along their longest dimension, and sends
    the result to the others.
    """
    scatters = any(after.strides(j)[axis] for j in range(len(after.shape)))
    for receiver in product(*(range(n) for n in before.mesh)):
        group = [(*receiver[:axis], k, *receiver[axis + 1 :]) for k in range(before.mesh[axis])]
        indices = after.local_coordinates(receiver)
        others = [device for device in group if device != receiver]
        if scatters:
            yield from ((device, receiver, indices) for device in others if all(indices))
            continue
        longest = max(range(len(indices)), key=lambda j: len(indices[j]), default=None)
        shares = _shares(indices, longest, len(group))
        mine = shares[receiver[axis]]
        yield from ((device, receiver, mine) for device in others if all(mine))
        yield from ((device, receiver, shares[device[axis]]) for device in others if all(shares[device[axis]]))


def _shares(indices: tuple[list[int], ...], dim: int | None, count: int) -> list[tuple[list[int], ...]]:
    """Lists of indices cut into shares along one dimension, as even as they can be; without one, all in the first."""
    if dim is None:
        return [indices, *[([],)] * (count - 1)]
    along = indices[dim]
    bounds = [k * len(along) // count for k in range(count + 1)]
    return [(*indices[:dim], along[low:high], *indices[dim + 1 :]) for low, high in pairwise(bounds)]
