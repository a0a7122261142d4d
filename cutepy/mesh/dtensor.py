"""Placements as PyTorch's DTensor has them, both ways: `Shard`, `_StridedShard`, `Replicate`, `Partial` for each axis.

DTensor cuts from the first axis of the mesh to the last, each time what the axes before have left. torch is imported
here alone, when a function is called.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from ..errors import LayoutError
from ..layout import coalesce
from .placement import Cut, Kind, Partial, Placement, placed

_REDUCTIONS = {Partial.SUM: "sum", Partial.MAX: "max", Partial.MIN: "min", Partial.PRODUCT: "product"}


def from_dtensor(shape: Sequence[int], mesh: Sequence[int], placements: Sequence[Any]) -> Placement:
    """The placement of a DTensor of that global shape: `from_dtensor(t.shape, t.device_mesh.shape, t.placements)`.

    Raises LayoutError for placements that are none of DTensor's four, for a mean, and where uneven pieces would be cut
    again into other pieces, with an element that shows it.

    >>> rows = Placement.split((8, 6), (2,), [[0], []])
    >>> try:
    ...     print(from_dtensor((8, 6), (2,), to_dtensor(rows)) == rows)
    ... except ImportError:  # PyTorch is not installed
    ...     print(True)
    True
    """
    shape, mesh = tuple(map(int, shape)), tuple(map(int, mesh))
    call = f"from_dtensor({shape}, {mesh}, {list(placements)})"
    if len(placements) != len(mesh):
        raise LayoutError(f"{call}: {len(placements)} placements for {len(mesh)} axes of the mesh; give one for each")
    kinds: list[Kind] = []
    for axis, placement in enumerate(placements):
        if placement.is_partial():
            how = [kind for kind, name in _REDUCTIONS.items() if name == placement.reduce_op]
            if not how:
                raise LayoutError(
                    f"{call}: axis {axis} reduces by {placement.reduce_op!r}; a sum, max, min or product can"
                )
            kinds.append(how[0])
        elif placement.is_replicate():
            kinds.append(None)
        elif not hasattr(placement, "dim"):
            raise LayoutError(f"{call}: axis {axis} has {placement!r}; it is Shard, Replicate or Partial")
        else:
            dim = placement.dim + len(shape) if placement.dim < 0 else placement.dim
            if not 0 <= dim < len(shape):
                raise LayoutError(f"{call}: axis {axis} shards dimension {placement.dim} of {len(shape)}")
            kinds.append((dim, int(getattr(placement, "split_factor", 1))))
    return placed(shape, mesh, kinds, call)


def to_dtensor(placement: Placement) -> list[Any]:
    """DTensor's placements, one for each axis of the mesh.

    An axis of one device is `Replicate()`. Raises LayoutError for what DTensor does not have, with an element that
    shows it: halos, blocks dealt out in turns, local memory in another order.

    >>> try:
    ...     print(to_dtensor(Placement.split((8, 6), (2,), [[0], []])))
    ... except ImportError:  # PyTorch is not installed
    ...     print("[Shard(dim=0)]")
    [Shard(dim=0)]
    """
    from torch.distributed.tensor.placement_types import Partial as TorchPartial
    from torch.distributed.tensor.placement_types import Replicate, Shard, _StridedShard

    partial = dict(placement.partial)
    made: list[Any] = []
    for axis, cut in cuts_of(placement):
        if axis in partial:
            made.append(TorchPartial(_REDUCTIONS[partial[axis]]))
        elif cut is None:
            made.append(Replicate())
        else:
            dim, pieces = cut
            made.append(Shard(dim) if pieces == 1 else _StridedShard(dim, split_factor=pieces))
    return made


def cuts_of(placement: Placement) -> list[tuple[int, tuple[int, int] | None]]:
    """For each axis the dimension that it cuts and into how many pieces first, None where it cuts none."""
    cuts = [Cut.whole(extent, placement.mesh) for extent in placement.shape]
    found: list[tuple[int, tuple[int, int] | None]] = []
    for axis in range(len(placement.mesh)):
        dims = [j for j in range(len(placement.shape)) if placement.strides(j)[axis]]
        if not dims:
            found.append((axis, None))
            continue
        dim = dims[0]
        pieces = _pieces(placement, cuts[dim], dim, axis)
        cuts[dim] = cuts[dim].chunked(axis, f"to_dtensor({placement}): dimension {dim}", pieces)
        found.append((axis, (dim, pieces)))
    for dim, (cut, layout) in enumerate(zip(cuts, placement.dims, strict=True)):
        if coalesce(cut.layout[1]) != coalesce(layout[1]):
            sizes = cut.local.size, layout[1].size
            local = next((k for k in range(min(sizes)) if cut.local(k) != layout[1](k)), min(sizes))
            raise LayoutError(
                f"to_dtensor({placement}): dimension {dim}: the axes of the mesh cut it to {sizes[0]} indices a "
                f"device, in order; the layout {layout} has index {int(layout[1](local))} at place {local} of device "
                f"0, DTensor {int(cut.local(local)) if local < sizes[0] else 'nothing'}"
            )
    return found


def _pieces(placement: Placement, cut: Cut, dim: int, axis: int) -> int:
    """Into how many pieces DTensor must cut first, so that the devices of an axis have the stride of the layout."""
    devices, stride = placement.mesh[axis], placement.strides(dim)[axis]
    size = cut.local.size
    if stride == cut.extent:
        return size  # the first device keeps all: pieces of one index each
    # Indices rise along what is left: the chunk is where device 1's first index stands.
    chunk = bisect_left(range(size), stride, key=lambda k: int(cut.local(k)))
    for pieces in (1, size // (devices * chunk) if chunk else 1):
        if pieces and -(-size // (devices * pieces)) == chunk and int(cut.local(chunk)) == stride:
            return pieces
    raise LayoutError(
        f"to_dtensor({placement}): dimension {dim}: device 1 along axis {axis} begins at index {stride}; DTensor cuts "
        f"the {size} indices that are left into equal chunks, and none begins there"
    )
