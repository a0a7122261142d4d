"""Placements as JAX's shardings have them, both ways: for each dimension the axes of the mesh, the outermost first.

JAX's axes divide what they split. jax is imported here alone, when a function is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..errors import LayoutError
from ..layout import coalesce
from .placement import Placement


def from_named_sharding(sharding: Any, shape: Sequence[int]) -> Placement:
    """The placement of an array of that shape under a `NamedSharding`: `from_named_sharding(x.sharding, x.shape)`.

    Raises LayoutError where the devices do not divide a dimension, as JAX does.

    >>> from types import SimpleNamespace
    >>> mesh = SimpleNamespace(axis_names=("x", "y"), shape={"x": 2, "y": 3})  # as JAX's Mesh has them
    >>> print(from_named_sharding(SimpleNamespace(mesh=mesh, spec=("x", None)), (8, 6)).dims[0])
    ((2,3),4):((4,0),1)
    """
    names = tuple(sharding.mesh.axis_names)
    mesh = tuple(int(sharding.mesh.shape[name]) for name in names)
    return from_partition_spec(sharding.spec, shape, mesh, names)


def from_partition_spec(
    spec: Sequence[Any], shape: Sequence[int], mesh: Sequence[int], names: Sequence[str]
) -> Placement:
    """The placement of a `PartitionSpec`: for each dimension None, the name of an axis, or names, the outermost first.

    >>> print(from_partition_spec(("x", None), (8, 6), (2, 3), ("x", "y")).dims[0])
    ((2,3),4):((4,0),1)

    Raises LayoutError for names that the mesh lacks, and for a dimension that its axes do not divide.
    """
    shape, mesh, names = tuple(map(int, shape)), tuple(map(int, mesh)), tuple(names)
    call = f"from_partition_spec({tuple(spec)}, {shape}, {mesh}, {names})"
    if len(spec) > len(shape):
        raise LayoutError(f"{call}: the spec has {len(spec)} entries, the array {len(shape)} dimensions")
    axes: list[list[int]] = []
    for j, extent in enumerate(shape):
        entry = spec[j] if j < len(spec) else None
        along = () if entry is None else (entry,) if isinstance(entry, str) else tuple(entry)
        for name in along:
            if name not in names:
                raise LayoutError(f"{call}: dimension {j} names axis {name!r}; the mesh has {', '.join(names)}")
        axes.append([names.index(name) for name in along])
        devices = prod(mesh[axis] for axis in axes[j])
        if extent % devices:
            raise LayoutError(
                f"{call}: dimension {j} has {extent} elements and {devices} devices; JAX gives each the same number, "
                f"and index {extent - 1} would be in a piece of {extent % -(-extent // devices)}; pad it to "
                f"{-(-extent // devices) * devices}"
            )
    return Placement.split(shape, mesh, axes)


def to_partition_spec(placement: Placement, names: Sequence[str]) -> Any:
    """JAX's `PartitionSpec` over a mesh whose axes have these names.

    Raises LayoutError for what JAX's specs do not have, with an element that shows it: partial results, dimensions that
    the devices do not divide, halos, blocks dealt out in turns.

    >>> try:
    ...     print(len(to_partition_spec(Placement.split((8, 6), (2,), [[0], []]), ["x"])))
    ... except ImportError:  # JAX is not installed
    ...     print(2)
    2
    """
    from jax.sharding import PartitionSpec

    return PartitionSpec(*_entries(placement, tuple(names)))


def _entries(placement: Placement, names: tuple[str, ...]) -> list[tuple[str, ...] | None]:
    call = f"to_partition_spec({placement})"
    if len(names) != len(placement.mesh):
        raise LayoutError(f"{call}: {len(names)} names for {len(placement.mesh)} axes of the mesh")
    if placement.partial:
        axis, how = placement.partial[0]
        raise LayoutError(
            f"{call}: of index {(0,) * len(placement.shape)} each of {placement.mesh[axis]} devices along "
            f"axis {names[axis]!r} holds a part of a {how.value}; JAX's shardings are of whole values, reduce it first"
        )
    entries: list[tuple[str, ...] | None] = []
    for j, (extent, layout) in enumerate(zip(placement.shape, placement.dims, strict=True)):
        devices = [(stride, axis) for axis, stride in enumerate(placement.strides(j)) if stride]
        left = extent
        for stride, axis in sorted(devices, reverse=True):
            # The outermost axis has the longest stride: its devices cut what is left into equal parts.
            if left != stride * placement.mesh[axis]:
                raise LayoutError(
                    f"{call}: dimension {j}: device 1 along axis {names[axis]!r} begins at index {stride}; JAX cuts "
                    f"{left} "
                    f"indices into {placement.mesh[axis]} equal parts, so it begins at {left / placement.mesh[axis]:g}"
                )
            left = stride
        local = coalesce(layout[1])
        if local.size != left or (left > 1 and local != coalesce(layout[1].__class__(left))):
            wrong = next((k for k in range(min(local.size, left)) if local(k) != k), min(local.size, left))
            raise LayoutError(
                f"{call}: dimension {j}: a device has {left} indices in a row in JAX; the layout {layout} has "
                f"{local.size} and index {int(local(wrong))} at place {wrong} of device 0"
            )
        entries.append(tuple(names[axis] for _, axis in sorted(devices, reverse=True)) or None)
    return entries
