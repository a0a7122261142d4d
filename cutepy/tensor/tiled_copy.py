"""`TiledCopy`: a copy atom repeated over threads and values until it covers a tile.

Law: the partitions of a tile among all threads cover it, each element as
often as the thread-value layout says; a partition is `((value), rest, ...)` of one thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ..errors import TensorError
from ..layout import Layout, composition, group_modes, logical_product, make_layout, right_inverse, zipped_divide
from ..layout.algebra.recast import upcast
from ..layout.values.coordinates import _
from ..layout.values.int_tuple import IntTuple, product_each
from .atoms.atom import CopyAtom
from .engine import Place, Scalars, current_thread
from .tensor import Tensor, composed_slice, expect_tensors
from .thread_value import make_layout_tv
from .tiled_mma import AXES, TiledMMA


@dataclass(frozen=True, slots=True, eq=False)
class ThreadCopy:
    """What one thread copies: `copy(part.source(_, _, k), part.target)`.

    Both have the modes (values, tiles); modes beyond the tile follow.
    """

    source: Tensor
    target: Tensor


@dataclass(frozen=True, slots=True)
class TiledCopy:
    """`atom` over a tile: `layout_tv` maps (thread, value) to the index in `tile`.

    >>> from cutepy.tensor import make_tensor, universal_copy
    >>> copies = make_tiled_copy(universal_copy(4), Layout((8, 4), (4, 1)), Layout((1, 4)))
    >>> copies.tile, str(copies.layout_tv)
    ((8, 16), '((4,8),4):((32,1),8)')
    >>> copies.partition_S(make_tensor("f32", (16, 32), (32, 1)), 5).layout
    Layout((4, 2, 2), (1, 256, 16))
    """

    atom: CopyAtom
    layout_tv: Layout
    tile: tuple[int, ...]

    @property
    def threads(self) -> int:
        """How many threads take part."""
        return self.layout_tv[0].size

    def partition_S(self, source: Tensor, thread: Scalars | None = None) -> Tensor:
        """What `thread` reads of `source`: (values, rest of each mode, further modes). CuTe's `partition_S`."""
        self._check_space(source, 0)
        return self._partition(source, self.atom.read, thread)

    def partition_D(self, target: Tensor, thread: Scalars | None = None) -> Tensor:
        """What `thread` writes of `target`: as `partition_S`, by the atom's target layout. CuTe's `partition_D`."""
        self._check_space(target, 1)
        return self._partition(target, self.atom.write, thread)

    def thread(self, source: Tensor, target: Tensor, thread: Scalars | None = None) -> ThreadCopy:
        """Both partitions of one thread, the kernel's own by default, with the rests grouped: (values, tiles, ...)."""
        rank = len(self.tile)
        parts = (self.partition_S(source, thread), self.partition_D(target, thread))
        read, written = (part.lift_layout(group_modes, 1, 1 + rank) for part in parts)
        return ThreadCopy(read, written)

    def retile(self, fragment: Tensor) -> Tensor:
        """A thread's fragment, cut as another partition of the same tile, seen as values of this copy.

        `fragment` has the modes (values, rest, ...); the result has (copy values, rest, ...) over the same elements.
        Raises TensorError where the fragment does not hold whole copies. Source: CuTe, `copy_atom.hpp`.
        """
        expect_tensors("retile", fragment)
        held = fragment.layout[0].size
        numbered = composition(right_inverse(self.layout_tv), Layout(self.tile))
        if self.layout_tv[1].size % held:
            raise TensorError(
                f"retile({fragment}): its mode 0 has {held} values, the copy moves {self.layout_tv[1].size} at once, "
                "which is no multiple; make the copy from the same tiled MMA"
            )
        groups = upcast(numbered, self.threads * held)
        order = logical_product(Layout(held), right_inverse(groups))
        tiled = fragment.lift_layout(zipped_divide, (held, *product_each(groups.shape)))
        seen = tiled.lift_layout(composition, (order, _))
        rest = len(cast("tuple[tuple[IntTuple, ...], ...]", seen.shape)[1])
        return seen[(_, (0, *(_,) * (rest - 1)))]

    def _check_space(self, tensor: Tensor, side: int) -> None:
        expect_tensors("partition", tensor)
        wanted, found = self.atom.memory[side], tensor.engine.space
        if wanted and found and found != wanted:
            raise TensorError(
                f"{self.atom} {('reads', 'writes')[side]} {wanted}, but {tensor} is in {found}; choose another atom"
            )

    def _partition(self, tensor: Tensor, layout: Layout, thread: Scalars | None) -> Tensor:
        if tensor.rank < len(self.tile):
            raise TensorError(
                f"partition of {tensor}: it has {tensor.rank} modes, the tile {self.tile} {len(self.tile)}"
            )
        index = current_thread("partition", self.threads, thread)
        tiled = tensor.lift_layout(zipped_divide, self.tile)
        _own, rest = cast("tuple[IntTuple, tuple[IntTuple, ...]]", tiled.shape)
        crd: Place = (index, _), (_,) * len(rest)
        tiler = (self._layout_for(layout), _)
        return composed_slice(tiled, tiler, crd, "partition", tensor, tiler[0], self.tile, index)

    def _layout_for(self, layout: Layout) -> Layout:
        """(thread, value) to the index in the tile, when the atom moves its values as `layout` says."""
        registers = self.atom.registers
        if layout == registers:
            return self.layout_tv
        count = self.atom.threads.size
        by_atom = zipped_divide(self.layout_tv, (count, self.atom.values))
        moved = composition(by_atom, (composition(right_inverse(registers), layout), _))
        (threads, values), (more_threads, more_values) = (tuple(mode) for mode in moved)
        return make_layout(make_layout(threads, more_threads), make_layout(values, more_values))


def make_tiled_copy(atom: CopyAtom, threads: Layout, values: Layout | None = None) -> TiledCopy:
    """`atom` over `threads`, each with `values` side by side; both layouts have one mode a mode of the tile.

    >>> from cutepy.tensor import universal_copy
    >>> tiled = make_tiled_copy(universal_copy(4), Layout((32, 8)), Layout((4, 1)))
    >>> tiled.tile, str(tiled.layout_tv)
    ((128, 8), '(256,4):(4,1)')

    Raises TensorError where the values are no whole atoms. Source: CuTe, `copy_atom.hpp`.
    """
    values = Layout(tuple(1 for _mode in threads)) if values is None else values
    tile, layout_tv = make_layout_tv(threads, values)
    return make_tiled_copy_tv(atom, layout_tv, tile)


def make_tiled_copy_tv(atom: CopyAtom, layout_tv: Layout, tile: tuple[int, ...]) -> TiledCopy:
    """`atom` over the threads and values of a layout from (thread, value) to the index in `tile`.

    Raises TensorError where threads or values are no whole atoms. Source: CuTe, `copy_atom.hpp`.
    """
    threads, values = (mode.size for mode in layout_tv)
    if threads % atom.threads.size or values % atom.values:
        raise TensorError(
            f"make_tiled_copy({atom}, {layout_tv}): {threads} threads with {values} values each are no whole atoms "
            f"of {atom.threads.size} threads with {atom.values}; give each thread a multiple of {atom.values}"
        )
    return TiledCopy(atom, layout_tv, tile)


def make_tiled_copy_A(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:
    """The copy of A whose threads hold what `mma` multiplies; `make_tiled_copy_B` and `_C` do it for B and C."""
    return _like_operand(atom, mma, "a")


def make_tiled_copy_B(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:
    """The copy of B whose threads hold what `mma` multiplies."""
    return _like_operand(atom, mma, "b")


def make_tiled_copy_C(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:
    """The copy of C whose threads hold what `mma` computes."""
    return _like_operand(atom, mma, "c")


def _like_operand(atom: CopyAtom, mma: TiledMMA, operand: str) -> TiledCopy:
    extents = mma.tile
    return make_tiled_copy_tv(atom, mma.layout_tv(operand), tuple(extents[axis] for axis in AXES[operand]))
