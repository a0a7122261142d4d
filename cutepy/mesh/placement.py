"""Who holds which element: one layout for each dimension of the array, from (device, local coordinate) to its index.

Law: device d holds the element x if and only if some local coordinate l has `dims[j](d, l_j) == x_j` for every j. Of an
extent that the devices do not divide the layouts reach beyond the array: what lies beyond `shape` is no element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import product
from math import prod

from ..errors import LayoutError
from ..layout import Layout, coalesce, composition, crd2idx, flat_modes, idx2crd, leaves, map_leaves
from .modes import Mode, count_below, digits_of, first_doubled, first_missing, reach


class Partial(Enum):
    """The operation that makes the element of what several devices hold of it.

    >>> Partial.SUM.name, Placement((4,), (2,), (Layout((2, 4), (0, 1)),), ((0, Partial.SUM),)).partial[0][0]
    ('SUM', 0)
    """

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class Holders:
    """The devices that hold one element: fixed coordinates along some axes of the mesh, all along the free ones.

    >>> (both,) = Placement.split((4, 4), (2, 2), [[0], []]).holders((3, 0))
    >>> print(both, len(both), list(both))
    (1, *) 2 [(1, 0), (1, 1)]
    """

    mesh: tuple[int, ...]
    coordinate: tuple[int | None, ...]

    def __len__(self) -> int:
        return prod(extent for extent, at in zip(self.mesh, self.coordinate, strict=True) if at is None)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        ranges = [range(n) if at is None else [at] for n, at in zip(self.mesh, self.coordinate, strict=True)]
        return iter(product(*ranges))

    def __str__(self) -> str:
        return "(" + ", ".join("*" if at is None else str(at) for at in self.coordinate) + ")"


@dataclass(frozen=True, slots=True)
class _Dimension:
    """One dimension of the array: its extent, a stride for each axis of the mesh, the modes of local memory."""

    extent: int
    strides: tuple[int, ...]
    local: tuple[Mode, ...]

    def base(self, device: Sequence[int]) -> int:
        """The index of a device's first element."""
        return sum(d * s for d, s in zip(device, self.strides, strict=True))


@dataclass(frozen=True)
class Placement:
    """An array of `shape` over the devices of `mesh`: `dims[j]` maps (device, local coordinate) to the index along j.

    `dims[j]` has two modes: the device, with an extent for each axis of the mesh and stride 0 where the axis does not
    split this dimension, and the local coordinate. `partial` names the axes along which devices hold parts of a result
    (sums, say) instead of the elements.

    >>> rows = Placement.split((6, 4), (2, 3), [[0], []])          # dimension 0 over axis 0 of the mesh
    >>> print(rows.dims[0], rows.dims[1])
    ((2,3),3):((3,0),1) ((2,3),4):((0,0),1)
    >>> print(*rows.holders((4, 1)))
    (1, *)

    Raises LayoutError for layouts whose device mode is not the mesh, for strides below 0, and for an axis that splits
    two dimensions.

    >>> rows.devices, rows.copies(), rows.strides(0)
    (6, 3, (3, 0))
    >>> print(Placement.split((6,), (2,), [[0]]).layout)
    ((2),(3)):((3),(1))
    """

    shape: tuple[int, ...]
    mesh: tuple[int, ...]
    dims: tuple[Layout, ...]
    partial: tuple[tuple[int, Partial], ...] = ()

    def __post_init__(self) -> None:
        call = f"Placement({self.shape}, {self.mesh})"
        whole_extents(call, (*self.shape, *self.mesh))
        if len(self.dims) != len(self.shape):
            raise LayoutError(f"{call}: {len(self.dims)} layouts for {len(self.shape)} dimensions; give one for each")
        for j, layout in enumerate(self.dims):
            if len(layout) != 2 or leaves(layout[0].shape) != self.mesh:
                raise LayoutError(
                    f"{call}: the layout {layout} of dimension {j} has no mode {self.mesh} for the devices; "
                    f"write it as ({extents_text(self.mesh)}, local):(strides of the devices, strides of local memory)"
                )
            if any(stride < 0 for stride in (*leaves(layout[0].stride), *leaves(layout[1].stride))):
                raise LayoutError(f"{call}: the layout {layout} of dimension {j} has a stride below 0")
        for axis in range(len(self.mesh)):
            splits = [j for j in range(len(self.dims)) if self._dimensions[j].strides[axis] and self.mesh[axis] > 1]
            named = [name for name, _ in self.partial if name == axis]
            if len(splits) + len(named) > 1:
                what = " and ".join([*(f"dimension {j}" for j in splits), *("a partial result" for _ in named)])
                raise LayoutError(f"{call}: axis {axis} of the mesh splits {what}; it can do one of these")
        for axis, _ in self.partial:
            if not 0 <= axis < len(self.mesh):
                raise LayoutError(f"{call}: partial along axis {axis}; the mesh has axes 0 to {len(self.mesh) - 1}")

    @classmethod
    def split(
        cls,
        shape: Sequence[int],
        mesh: Sequence[int],
        axes: Sequence[Sequence[int]],
        partial: Sequence[tuple[int, Partial]] = (),
    ) -> Placement:
        """Dimension j is cut along the mesh's axes `axes[j]`, the first one into the longest pieces.

        The first axis of a dimension cuts as torch.chunk does: pieces have equal extents but the last ones, which may
        be shorter or empty. A further axis has to divide what a device has of the dimension, unless that is one index.

        >>> print(Placement.split((8,), (2, 2), [[1, 0]]).dims[0])
        ((2,2),2):((2,4),1)

        Raises LayoutError where a further axis does not divide a piece, for no layout holds pieces of both kinds: with
        an element that shows it.
        """
        call = f"Placement.split({tuple(shape)}, {tuple(mesh)}, {[list(a) for a in axes]})"
        shape, mesh = whole_extents(call, shape), whole_extents(call, mesh)
        if len(axes) != len(shape):
            raise LayoutError(f"{call}: axes for {len(axes)} dimensions, the array has {len(shape)}")
        for axis in (a for along in axes for a in along):
            if not 0 <= axis < len(mesh):
                raise LayoutError(f"{call}: axis {axis}; the mesh has axes 0 to {len(mesh) - 1}")
        dims = []
        for j, (extent, along) in enumerate(zip(shape, axes, strict=True)):
            if len(set(along)) != len(along):
                raise LayoutError(f"{call}: dimension {j} is cut twice along one axis")
            cut = Cut.whole(extent, mesh)
            for axis in along:
                cut = cut.chunked(axis, f"{call}: dimension {j}")
            dims.append(cut.layout)
        return cls(shape, mesh, tuple(dims), tuple(partial))

    @classmethod
    def of_layout(cls, layout: Layout, shape: Sequence[int]) -> Placement:
        """The placement that a layout (device, local coordinate) -> index is; the index counts `shape`
        colexicographically.

        >>> tiles = Layout(((8, 4), (128, 128)), ((128, 131072), (1, 1024)))
        >>> print(*Placement.of_layout(tiles, (1024, 512)).dims, sep=" | ")
        ((8,4),128):((128,0),1) | ((8,4),128):((0,128),1)

        Raises LayoutError for a mode that crosses from one dimension into the next, or leaves the array.
        """
        call = f"Placement.of_layout({layout}, {tuple(shape)})"
        shape = whole_extents(call, shape)
        if len(layout) != 2:
            raise LayoutError(f"{call}: it needs two modes, (device, local coordinate)")
        mesh = leaves(layout[0].shape)
        starts = [prod(shape[:j]) for j in range(len(shape) + 1)]
        devices = [[0] * len(mesh) for _ in shape]
        local: list[list[Mode]] = [[] for _ in shape]
        modes = [(n, s, axis) for axis, (n, s) in enumerate(flat_modes(layout[0]))]
        for extent, stride, axis in [*modes, *((n, s, -1) for n, s in flat_modes(layout[1]))]:
            if stride == 0 or extent == 1:
                continue
            fits = [j for j in range(len(shape)) if stride % starts[j] == 0 and stride < starts[j + 1]]
            last = (extent - 1) * stride
            if not fits or last >= starts[fits[-1] + 1]:
                raise LayoutError(
                    f"{call}: the mode {extent}:{stride} does not stay in one dimension: its last index is "
                    f"{idx2crd(last % starts[-1], shape)}{' + the whole array' if last >= starts[-1] else ''}; "
                    "split the mode where the dimension ends"
                )
            j = fits[-1]
            if axis < 0:
                local[j].append((extent, stride // starts[j]))
            else:
                devices[j][axis] = stride // starts[j]
        dims = [placement_layout(mesh, devices[j], local[j]) for j in range(len(shape))]
        return cls(shape, mesh, tuple(dims))

    @cached_property
    def _dimensions(self) -> tuple[_Dimension, ...]:
        return tuple(
            _Dimension(
                extent,
                tuple(0 if n == 1 else s for n, s in flat_modes(layout[0])),
                tuple((n, s) for n, s in flat_modes(layout[1]) if n > 1),
            )
            for extent, layout in zip(self.shape, self.dims, strict=True)
        )

    def strides(self, dim: int) -> tuple[int, ...]:
        """For each axis of the mesh by how much it moves the index along a dimension, 0 where it does not cut it."""
        return self._dimensions[dim].strides

    @property
    def devices(self) -> int:
        """How many devices the mesh has."""
        return prod(self.mesh)

    @property
    def layout(self) -> Layout:
        """(device, local coordinate) -> index of the element, colexicographic in `shape`; for extents that are divided.

        Raises LayoutError where some device's last elements lie outside the array.
        """
        for j, d in enumerate(self._dimensions):
            last = reach([*zip(self.mesh, d.strides, strict=True), *d.local])
            if last >= d.extent:
                raise LayoutError(
                    f"{self}.layout: dimension {j} has {d.extent} elements and its layout {self.dims[j]} reaches "
                    f"{last}; the devices do not divide it, ask `local_coordinates` instead"
                )
        starts = [prod(self.shape[:j]) for j in range(len(self.shape))]
        device = Layout(
            self.mesh,
            tuple(
                sum(d.strides[axis] * start for d, start in zip(self._dimensions, starts, strict=True))
                for axis in range(len(self.mesh))
            ),
        )
        local = [
            Layout(layout[1].shape, map_leaves(lambda step, start=start: step * start, layout[1].stride))
            for layout, start in zip(self.dims, starts, strict=True)
        ]
        return Layout(
            (device.shape, tuple(mode.shape for mode in local)), (device.stride, tuple(mode.stride for mode in local))
        )

    def __str__(self) -> str:
        dims = ", ".join(str(layout) for layout in self.dims)
        parts = "".join(f", {how.value} along axis {axis}" for axis, how in self.partial)
        return f"{extents_text(self.shape)} over {extents_text(self.mesh)}: {dims}{parts}"

    def device(self, index: int | Sequence[int]) -> tuple[int, ...]:
        """A device's coordinate in the mesh; devices are numbered with the last axis fastest, as ranks are.

        >>> Placement.split((4,), (2, 3), [[0]]).device(4)
        (1, 1)
        """
        if not isinstance(index, Sequence):
            index = int(index)
            if not 0 <= index < self.devices:
                raise LayoutError(f"device {index} of a mesh {extents_text(self.mesh)}, which has {self.devices}")
            return leaves(idx2crd(index, self.mesh[::-1]))[::-1]
        if len(index) != len(self.mesh) or not all(0 <= d < n for d, n in zip(index, self.mesh, strict=True)):
            raise LayoutError(f"device {tuple(index)} of a mesh {extents_text(self.mesh)}")
        return tuple(index)

    def rank(self, device: Sequence[int]) -> int:
        """The number of a device: the last axis of the mesh is the fastest.

        >>> Placement.split((4,), (2, 3), [[0]]).rank((1, 1))
        4
        """
        return int(crd2idx(self.device(device)[::-1], self.mesh[::-1]))

    def holders(self, element: Sequence[int]) -> tuple[Holders, ...]:
        """The devices that hold an element, in time that grows with the layouts, not with the mesh.

        >>> print(*Placement.split((1 << 30,), (1024, 1024), [[0]]).holders((5_000_000,)))
        (4, *)
        """
        element = tuple(element)
        if len(element) != len(self.shape) or not all(0 <= x < n for x, n in zip(element, self.shape, strict=True)):
            raise LayoutError(f"{self}: there is no element {element}")
        choices: list[list[dict[int, int]]] = []
        for x, d in zip(element, self._dimensions, strict=True):
            axes = [axis for axis, stride in enumerate(d.strides) if stride]
            modes = [*((self.mesh[axis], d.strides[axis]) for axis in axes), *d.local]
            found = {tuple(zip(axes, digits, strict=False)) for digits in digits_of(modes, x)}
            choices.append([dict(pairs) for pairs in sorted(found)])
        return tuple(
            Holders(self.mesh, tuple(_only(chosen, axis) for axis in range(len(self.mesh))))
            for chosen in product(*choices)
        )

    def overlap(self) -> tuple[int, ...] | None:
        """An element that two devices hold, or one device twice, though no axis copies it; None where there is none.

        >>> halo = Placement((8,), (4,), (Layout((4, 4), (2, 1)),))
        >>> halo.overlap(), Placement.split((8,), (4,), [[0]]).overlap()
        ((2,), None)
        """
        doubled = [first_doubled(self._moving(d), d.extent) for d in self._dimensions]
        if all(x is None for x in doubled):
            return None
        return tuple(x or 0 for x in doubled)

    def missing(self) -> tuple[int, ...] | None:
        """An element that no device holds; None where every element has a device.

        >>> Placement((8,), (2,), (Layout((2, 2), (4, 1)),)).missing()
        (2,)
        """
        for j, d in enumerate(self._dimensions):
            missing = first_missing(self._moving(d))
            if missing < d.extent:
                return tuple(missing if k == j else 0 for k in range(len(self.shape)))
        return None

    def copies(self) -> int:
        """How many devices hold each element, along the axes of the mesh that split nothing."""
        split = {axis for d in self._dimensions for axis, stride in enumerate(d.strides) if stride}
        named = {axis for axis, _ in self.partial}
        return prod(n for axis, n in enumerate(self.mesh) if axis not in split | named)

    def elements(self, device: int | Sequence[int]) -> int:
        """How many elements of the array a device holds.

        >>> uneven = Placement.split((10,), (4,), [[0]])
        >>> [uneven.elements(d) for d in range(4)]
        [3, 3, 3, 1]
        """
        at = self.device(device)
        return prod(count_below(d.local, d.extent - d.base(at)) for d in self._dimensions)

    def balance(self) -> tuple[int, int]:
        """The fewest and the most elements that a device holds.

        A device further along the mesh begins later and so holds no more: the first and the last device are the ends.

        >>> Placement.split((10,), (4,), [[0]]).balance()
        (1, 3)
        """
        last = tuple(n - 1 for n in self.mesh)
        return self.elements(last), self.elements((0,) * len(self.mesh))

    def local_coordinates(self, device: int | Sequence[int]) -> tuple[list[int], ...]:
        """For each dimension the indices that a device holds, in the order of its memory.

        >>> Placement.split((5, 4), (2, 2), [[0], [1]]).local_coordinates((1, 0))
        ([3, 4], [0, 1])
        """
        at = self.device(device)
        held = []
        for d, layout in zip(self._dimensions, self.dims, strict=True):
            base, local = d.base(at), layout[1]
            held.append([x for k in range(local.size) if (x := base + int(local(k))) < d.extent])
        return tuple(held)

    def _moving(self, d: _Dimension) -> list[Mode]:
        """The modes of a dimension that move its index."""
        return [*((n, s) for n, s in zip(self.mesh, d.strides, strict=True) if s), *d.local]


@dataclass(frozen=True, slots=True)
class Cut:
    """One dimension while it is cut, axis by axis: the stride of each axis, and what a device has left.

    `local` maps a device's own index to the array's, from the device's first element on. `short` is how many elements
    the one device has that was cut short, 0 where the devices divide the extent.
    """

    extent: int
    mesh: tuple[int, ...]
    strides: tuple[int, ...]
    local: Layout
    short: int = 0

    @classmethod
    def whole(cls, extent: int, mesh: tuple[int, ...]) -> Cut:
        """Nothing is cut."""
        return cls(extent, mesh, (0,) * len(mesh), Layout(extent, 1))

    def chunked(self, axis: int, call: str, pieces: int = 1) -> Cut:
        """Cut what is left into `pieces` pieces, each along an axis of the mesh: a device keeps its chunk of every
        piece.

        This is DTensor's `Shard` for one piece and its `_StridedShard(split_factor=pieces)` for more. It is
        composition: a device's index is (within the chunk, piece), and the devices step by chunks.
        """
        size, devices = self.local.size, self.mesh[axis]
        if devices == 1:
            return self
        if pieces < 1:
            raise LayoutError(f"{call}: cut into {pieces} pieces along axis {axis}; give a number from 1 on")
        first = not any(self.strides)
        pieces = -(-size // -(-size // pieces))  # those that are not empty
        if pieces == size:
            # Pieces of one index: the first device keeps them; a step of the whole extent leaves nothing to the others.
            return replace(self, strides=self._with(axis, self.extent))
        piece = -(-size // pieces)
        chunk = -(-piece // devices)
        if first and pieces == 1:
            # torch.chunk's rule; what the last chunk lacks lies beyond the extent.
            short = size % chunk
        else:
            if size % (devices * pieces):
                raise LayoutError(
                    f"{call}: {size} indices of a device are cut into {devices * pieces} chunks of {chunk} along axis "
                    f"{axis}; index {int(self.local(size))} is in the last of them, and another device's: no layout "
                    f"holds both. Let {devices * pieces} divide {size}, or cut along one axis alone"
                )
            least = -(-self.short // devices)
            if self.short and (pieces > 1 or least != chunk):
                raise LayoutError(
                    f"{call}: one device was cut short to {self.short} indices, its chunks along axis {axis} are of "
                    f"{least} where others have {chunk}: index {self.extent - self.short + min(least, self.short - 1)} "
                    "changes its device. Let the extent be a multiple of all the cuts, or cut along one axis alone"
                )
            short = self.short % chunk
        kept = Layout((chunk, pieces), (1, piece)) if pieces > 1 else Layout(chunk)
        try:
            local = composition(self.local, kept)
        except LayoutError as error:
            raise LayoutError(f"{call}: what a device has along axis {axis} is no layout: {error}") from None
        step = int(self.local(chunk))
        device = None if first else _off_stride(self.local, chunk, devices)
        if device is not None:
            raise LayoutError(
                f"{call}: along axis {axis} device 1 begins at index {step} and device {device} at index "
                f"{int(self.local(device * chunk))}: no stride leads to both; cut along one axis alone"
            )
        return Cut(self.extent, self.mesh, self._with(axis, step), coalesce(local), short)

    def _with(self, axis: int, stride: int) -> tuple[int, ...]:
        return tuple(stride if k == axis else s for k, s in enumerate(self.strides))

    @property
    def layout(self) -> Layout:
        """The layout (device, local index) -> index of the dimension."""
        return placement_layout(self.mesh, self.strides, [*flat_modes(self.local)])


#: What one axis of the mesh does: the dimension that it cuts and the pieces that are cut first, a reduction, or
#: nothing.
Kind = tuple[int, int] | Partial | None


def placed(shape: tuple[int, ...], mesh: tuple[int, ...], kinds: Sequence[Kind], call: str) -> Placement:
    """The placement whose axes do what `kinds` say, one after another, each to what the axes before have left."""
    shape, mesh = whole_extents(call, shape), whole_extents(call, mesh)
    cuts = [Cut.whole(extent, mesh) for extent in shape]
    for axis, kind in enumerate(kinds):
        if isinstance(kind, tuple):
            dim, pieces = kind
            cuts[dim] = cuts[dim].chunked(axis, f"{call}: dimension {dim}", pieces)
    partial = tuple((axis, kind) for axis, kind in enumerate(kinds) if isinstance(kind, Partial))
    return Placement(shape, mesh, tuple(cut.layout for cut in cuts), partial)


def whole_extents(call: str, extents: Sequence[int]) -> tuple[int, ...]:
    """Extents as ints, NumPy's too.

    Raises LayoutError for an extent that is no whole number from 1 on.
    """
    whole = tuple(n.__index__() if hasattr(n, "__index__") and not isinstance(n, bool) else 0 for n in extents)
    for given, n in zip(extents, whole, strict=True):
        if n < 1:
            raise LayoutError(f"{call}: the extent {given!r}; extents of arrays and meshes are whole numbers from 1 on")
    return whole


def _off_stride(local: Layout, chunk: int, devices: int) -> int | None:
    """The first device whose chunk of `local` does not begin where device 1's stride says, None where there is none.

    Device k begins at local(k * chunk), the composition of `local` with `devices:chunk`. Where that coalesces to one
    mode, it has one stride; only where it does not are the devices compared one by one.
    """
    try:
        begins = coalesce(composition(local, Layout(devices, chunk)))
    except LayoutError:
        begins = None
    if begins is not None and len(leaves(begins.shape)) == 1:
        return None
    step = int(local(chunk))
    return next((k for k in range(2, devices) if int(local(k * chunk)) != k * step), None)


def _only(chosen: tuple[dict[int, int], ...], axis: int) -> int | None:
    return next((digits[axis] for digits in chosen if axis in digits), None)


def placement_layout(mesh: tuple[int, ...], strides: Sequence[int], local: Sequence[Mode]) -> Layout:
    modes = [mode for mode in local if mode[0] > 1] or [(1, 0)]
    shape = tuple(n for n, _ in modes) if len(modes) > 1 else modes[0][0]
    steps = tuple(s for _, s in modes) if len(modes) > 1 else modes[0][1]
    return Layout((mesh, shape), (tuple(strides), steps))


def extents_text(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))
