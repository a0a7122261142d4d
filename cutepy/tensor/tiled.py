"""`TiledCopy` and `TiledMMA`: an atom repeated over threads, and over the values of a thread, until it covers a tile.

Law: the partitions of a tile among all threads cover it, each element as often as the thread-value layout says, C
once; and summing over k the products of the partitions of A and B gives the product of the tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, TypeVar

from ..errors import TensorError
from ..layout import Layout, append, composition, group_modes, make_layout, rank, right_inverse
from ..layout.algebra.recast import upcast
from ..layout.algebra.tile import complement, logical_divide, logical_product, tiled_product, zipped_divide
from ..layout.values.coordinates import Underscore, _
from ..layout.values.int_tuple import product_each
from ..layout.values.methods import NotebookRepr
from .atoms.atom import CopyAtom, MMAAtom
from .dtypes import ROLES, as_dtype, matrix_type
from .engine import Place, Scalars, allocate, current_thread
from .make import make_fragment_like
from .partition import make_layout_tv, thread_coordinate
from .tensor import Tensor, composed_slice, expect_tensors

Deal: TypeAlias = "int | Layout | Underscore | None"
"""How much of a mode is dealt out at once, and in which order; one atom a thread where that is left open."""
Whole = TypeVar("Whole", Layout, Tensor)

AXES = {"a": (0, 2), "b": (1, 2), "c": (0, 1)}
"""Which of M, N and K the modes of each operand are."""


@dataclass(frozen=True, slots=True, eq=False)
class ThreadMMA:
    """What one thread multiplies: A with the modes (M, K), B (N, K), C (M, N); further modes follow.

    Where the atom is a matrix instruction each has the atom's values as a mode V before them.

    >>> from cutepy.tensor import FMA, make_tensor
    >>> mma = make_tiled_mma(FMA, Layout((2, 2, 1)))
    >>> part = mma.thread(make_tensor("f32", (4, 3)), make_tensor("f32", (4, 3)), make_tensor("f32", (4, 4)), thread=1)
    >>> part.A.shape, part.B.shape, part.C.shape
    ((2, 3), (2, 3), (2, 2))
    """

    A: Tensor
    B: Tensor
    C: Tensor


@dataclass(frozen=True, slots=True)
class TiledMMA(NotebookRepr):
    """`atom` over `arrangement` (M, N, K) atoms side by side, and `permutation` of each of M, N and K.

    An entry of the permutation is the extent that is dealt out at once, as an integer or as a layout that says in which
    order; None or `_` is one atom a thread.

    >>> from cutepy.tensor.atoms import FMA
    >>> threads = make_tiled_mma(FMA, Layout((16, 16, 1)), (Layout((16, 4), (4, 1)), Layout((16, 4), (4, 1)), None))
    >>> threads.tile, threads.threads
    ((64, 64, 1), 256)
    >>> print(threads.layout_tv("c"))
    ((16,16),(1,(4,4))):((4,256),(0,(1,64)))

    Source: CuTe, `mma_atom.hpp`.

    >>> from cutepy.tensor import make_tensor
    >>> A, C = make_tensor("f32", (64, 8)), make_tensor("f32", (64, 64))
    >>> threads.partition_A(A, 3).shape, threads.partition_B(A, 3).shape, threads.partition_C(C, 3).shape
    ((1, 4, 8), (1, 4, 8), (1, 4, 4))
    >>> a = threads.make_fragment_A(threads.partition_A(A, 3))
    >>> a.shape, threads.make_fragment_B(a).shape, threads.make_fragment_C(threads.partition_C(C, 3)).shape
    ((1, 4, 8), (1, 4, 8), (1, 4, 4))
    >>> print(threads.threads_vmnk, threads.thread(A, A, C, 3).C.shape)
    (1,16,16,1):(0,1,16,0) (4, 4)
    """

    atom: MMAAtom
    arrangement: Layout
    permutation: tuple[Deal, Deal, Deal]

    @property
    def threads_vmnk(self) -> Layout:
        """(thread in the atom, atom along M, along N, along K) to the index of the thread."""
        return _numbered(self.atom.threads, self.arrangement)

    @property
    def threads(self) -> int:
        """How many threads are numbered, those of a quad pair's gaps included."""
        return self.threads_vmnk.cosize

    @property
    def tile(self) -> tuple[int, int, int]:
        """M, N and K of what all threads do at once."""
        m, n, k = (entry.size if isinstance(entry, Layout) else entry for entry in self._dealt())
        return m, n, k

    def partition_A(self, tensor: Tensor, thread: Scalars | None = None) -> Tensor:
        """What `thread` has of A (M, K): (V, rest of M, rest of K, further modes). CuTe's `partition_A`."""
        return self._partition("a", tensor, thread)

    def partition_B(self, tensor: Tensor, thread: Scalars | None = None) -> Tensor:
        """What `thread` has of B (N, K): (V, rest of N, rest of K, further modes). CuTe's `partition_B`."""
        return self._partition("b", tensor, thread)

    def partition_C(self, tensor: Tensor, thread: Scalars | None = None) -> Tensor:
        """What `thread` has of C (M, N): (V, rest of M, rest of N, further modes). CuTe's `partition_C`."""
        return self._partition("c", tensor, thread)

    def make_fragment_A(self, part: Tensor, dtype: object = None) -> Tensor:
        """Registers for a partition of A: whole matrices, (1, rest of M, rest of K), where the atom's are opaque.

        Raises TensorError for an element type that an opaque atom does not take.
        """
        return self._fragment("a", part, dtype)

    def make_fragment_B(self, part: Tensor, dtype: object = None) -> Tensor:
        """Registers for a partition of B: (V, rest of N, rest of K).

        Raises TensorError as `make_fragment_A`.
        """
        return self._fragment("b", part, dtype)

    def make_fragment_C(self, part: Tensor, dtype: object = None) -> Tensor:
        """Registers for a partition of C: (V, rest of M, rest of N).

        Raises TensorError as `make_fragment_A`.
        """
        return self._fragment("c", part, dtype)

    def _fragment(self, operand: str, part: Tensor, dtype: object) -> Tensor:
        """Registers for a partition: like its elements, or one matrix register for each (rest, rest) of an opaque
        atom."""
        # Opaque matrices: one register holds a whole matrix, so mode V has size 1.
        if not self.atom.opaque:
            return make_fragment_like(part, dtype)
        element = as_dtype(self.atom.types["abc".index(operand)])
        if dtype is not None and as_dtype(dtype) is not element:
            raise TensorError(
                f"make_fragment_{operand.upper()}({part}, {dtype}): matrices of {self.atom} are {element}"
            )
        kind = matrix_type(element, ROLES[operand], self.atom.shape, self.atom.threads.size)
        layout = Layout((1, *[mode.size for mode in part.layout][1:]))
        return Tensor(allocate(kind, layout.size, space="rmem"), layout)

    def thread(self, A: Tensor, B: Tensor, C: Tensor, thread: Scalars | None = None) -> ThreadMMA:
        """All three partitions of one thread, the kernel's own by default."""
        parts = [self._partition(name, tensor, thread) for name, tensor in zip("abc", (A, B, C), strict=True)]
        # A scalar FMA has one value, so its mode V is dropped.
        if self.atom.shape == (1, 1, 1) and self.atom.threads.size == 1:
            parts = [view[(0, *(_,) * (view.rank - 1))] for view in parts]
        return ThreadMMA(*parts)

    def layout_tv(self, operand: str) -> Layout:
        """(thread, value) to the index in the tile of operand "a", "b" or "c"."""
        extents = self.tile
        reference = Layout(tuple(extents[axis] for axis in AXES[operand]))
        # Divide an index layout as a tensor would be; what comes out are indices in the tile.
        dealt = self._dealt_out(operand, reference)
        numbered = self.threads_vmnk
        atoms = iter(dealt[0][1])
        counts = enumerate(self.arrangement)
        # Atoms along the axis that this operand lacks see the same elements: stride 0.
        along = [next(atoms) if axis in AXES[operand] else Layout(count.size, 0) for axis, count in counts]
        per_atom = make_layout(dealt[0][0], *along)
        # Thread numbers that no atom uses (quad pairs on Volta) get stride 0.
        gaps = complement(numbered)
        every = make_layout(per_atom, Layout(gaps.size, 0))
        threads = composition(every, right_inverse(make_layout(numbered, gaps)))
        return make_layout(threads, dealt[1])

    def _dealt(self) -> list[int | Layout]:
        """The permutation of M, N and K with its defaults filled in."""
        return [
            extent * count.size if entry is None or isinstance(entry, Underscore) else entry
            for extent, count, entry in zip(self.atom.shape, self.arrangement, self.permutation, strict=True)
        ]

    def _dealt_out(self, operand: str, whole: Whole) -> Whole:
        """`((thread in atom, (atom, atom)), (V, (rest, rest, ...)))` of a layout or tensor of this operand."""
        axes = AXES[operand]
        dealt = self._dealt()
        # 1. what is dealt out at once, 2. one atom's tile, 3. (thread, value) within it, 4. atoms beside one another.
        ordered = logical_divide(whole, tuple(dealt[axis] for axis in axes))
        by_atom = zipped_divide(ordered, tuple(self.atom.shape[axis] for axis in axes))
        values = composition(by_atom, (getattr(self.atom, operand), _))
        return zipped_divide(values, (_, tuple(self.arrangement[axis].size for axis in axes)))

    def _partition(self, operand: str, tensor: Tensor, thread: Scalars | None) -> Tensor:
        """The (V, rest, rest) view that one thread has of an operand's tensor, further modes after it."""
        expect_tensors(f"partition_{operand.upper()}", tensor)
        if tensor.rank < 2:
            modes = f"({', '.join('MNK'[axis] for axis in AXES[operand])})"
            raise TensorError(f"partition_{operand.upper()} of {tensor}: it needs the modes {modes}")
        index = current_thread(f"partition_{operand.upper()}", self.threads, thread)
        # (thread in atom, atom along M, N, K); the operand uses its two axes.
        crd = thread_coordinate(self.threads_vmnk, index)
        chosen = (crd[0], tuple(crd[1 + axis] for axis in AXES[operand]))
        dealt = self._dealt_out(operand, tensor)
        view: Tensor = dealt[(chosen, (_, (_,) * rank(dealt, 1, 1)))]
        return view


#: It is asked for with each partition.
_numbered = lru_cache(maxsize=64)(tiled_product)


def make_tiled_mma(
    atom: MMAAtom,
    arrangement: Layout | tuple[int, ...] = (1, 1, 1),
    permutation: tuple[Deal, Deal, Deal] = (None, None, None),
) -> TiledMMA:
    """`atom` repeated over threads as `arrangement` says, and dealt out as `permutation` says.

    >>> from cutepy.tensor import FMA
    >>> make_tiled_mma(FMA, (16, 8, 1)).tile
    (16, 8, 1)

    An arrangement of fewer modes goes on with 1:0. Raises TensorError where a permutation's extent is no whole number
    of atoms. Source: CuTe, `mma_atom.hpp`.
    """
    layout = arrangement if isinstance(arrangement, Layout) else Layout(arrangement)
    if layout.rank < 3:
        layout = append(layout, 3)
    if layout.rank != 3 or len(permutation) != 3:
        raise TensorError(f"make_tiled_mma({atom}, {layout}, {permutation}): give one entry each for M, N and K")
    tiled = TiledMMA(atom, layout, permutation)
    for name, extent, count, size in zip("MNK", atom.shape, layout, tiled.tile, strict=True):
        if size % (extent * count.size):
            raise TensorError(
                f"make_tiled_mma({atom}, {layout}, {permutation}): {name} deals out {size} at once, "
                f"which is no multiple of {count.size} atoms of {extent}"
            )
    return tiled


@dataclass(frozen=True, slots=True, eq=False)
class ThreadCopy:
    """What one thread copies: `copy(part.source(_, _, k), part.target)`.

    Both have the modes (values, tiles); modes beyond the tile follow.

    >>> from cutepy.tensor import make_tensor, universal_copy
    >>> tiled = make_tiled_copy(universal_copy(), Layout((2, 4)))
    >>> part = tiled.thread(make_tensor("f32", (4, 8)), make_tensor("f32", (4, 8)), thread=5)
    >>> part.source.shape, part.target.shape
    ((1, (2, 2)), (1, (2, 2)))
    """

    source: Tensor
    target: Tensor


@dataclass(frozen=True, slots=True)
class TiledCopy(NotebookRepr):
    """`atom` over a tile: `layout_tv` maps (thread, value) to the index in `tile`.

    >>> from cutepy.tensor import make_tensor, universal_copy
    >>> copies = make_tiled_copy(universal_copy(4), Layout((8, 4), (4, 1)), Layout((1, 4)))
    >>> copies.tile, str(copies.layout_tv)
    ((8, 16), '((4,8),4):((32,1),8)')
    >>> copies.partition_S(make_tensor("f32", (16, 32), (32, 1)), 5).layout
    Layout((4, 2, 2), (1, 256, 16))

    >>> S = make_tensor("f32", (16, 32), (32, 1))
    >>> copies.threads, copies.partition_D(S, 5).shape, copies.thread(S, S, 5).source.shape
    (32, (4, 2, 2), (4, (2, 2)))
    >>> copies.retile(make_tensor("f32", (4, 2, 2))).shape
    ((4, 1), 2, 2)
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
        read, written = (view.lift_layout(group_modes, 1, 1 + rank) for view in parts)
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
        # Group the tile into fragments of `held` values of all threads, then order the copy's values over those
        # groups.
        groups = upcast(numbered, self.threads * held)
        order = logical_product(Layout(held), right_inverse(groups))
        tiled = fragment.lift_layout(zipped_divide, (held, *product_each(groups.shape)))
        seen = tiled.lift_layout(composition, (order, _))
        return seen[(_, (0, *(_,) * (rank(seen, 1) - 1)))]

    def _check_space(self, tensor: Tensor, side: int) -> None:
        expect_tensors("partition", tensor)
        wanted, space = self.atom.memory[side], tensor.engine.space
        if wanted and space and space != wanted:
            raise TensorError(
                f"{self.atom} {('reads', 'writes')[side]} {wanted}, but {tensor} is in {space}; choose another atom"
            )

    def _partition(self, tensor: Tensor, layout: Layout, thread: Scalars | None) -> Tensor:
        """The (values, rest of each mode) view that one thread has of a tensor, further modes after it."""
        if tensor.rank < len(self.tile):
            raise TensorError(
                f"partition of {tensor}: it has {tensor.rank} modes, the tile {self.tile} {len(self.tile)}"
            )
        index = current_thread("partition", self.threads, thread)
        tiled = tensor.lift_layout(zipped_divide, self.tile)
        crd: Place = (index, _), (_,) * rank(tiled, 1)
        tiler = (self._layout_for(layout), _)
        return composed_slice(tiled, tiler, crd, "partition", tensor, tiler[0], self.tile, index)

    def _layout_for(self, layout: Layout) -> Layout:
        """(thread, value) to the index in the tile, when the atom moves its values as `layout` says."""
        registers = self.atom.registers
        if layout == registers:
            return self.layout_tv
        count = self.atom.threads.size
        # Replace the atom's register order by `layout`, keep the arrangement of atoms.
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

    >>> from cutepy.tensor import universal_copy
    >>> make_tiled_copy_tv(universal_copy(2), Layout((4, 2), (2, 1)), (8,)).threads
    4
    """
    threads, values = (mode.size for mode in layout_tv)
    if threads % atom.threads.size or values % atom.values:
        raise TensorError(
            f"make_tiled_copy({atom}, {layout_tv}): {threads} threads with {values} values each are no whole atoms "
            f"of {atom.threads.size} threads with {atom.values}; give each thread a multiple of {atom.values}"
        )
    return TiledCopy(atom, layout_tv, tile)


def make_tiled_copy_A(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:
    """The copy of A whose threads hold what `mma` multiplies; `make_tiled_copy_B` and `_C` do it for B and C.

    >>> from cutepy.tensor import FMA, make_tensor, universal_copy
    >>> mma = make_tiled_mma(FMA, Layout((4, 2, 1)))
    >>> [make(universal_copy(), mma).tile for make in (make_tiled_copy_A, make_tiled_copy_B, make_tiled_copy_C)]
    [(4, 1), (2, 1), (4, 2)]
    """
    return _like_operand(atom, mma, "a")


def make_tiled_copy_B(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:
    """As `make_tiled_copy_A`, of B, which is (N, K): the copy whose threads hold what `mma` multiplies."""
    return _like_operand(atom, mma, "b")


def make_tiled_copy_C(atom: CopyAtom, mma: TiledMMA) -> TiledCopy:
    """As `make_tiled_copy_A`, of C, which is (M, N): the copy whose threads hold what `mma` computes."""
    return _like_operand(atom, mma, "c")


def _like_operand(atom: CopyAtom, mma: TiledMMA, operand: str) -> TiledCopy:
    extents = mma.tile
    return make_tiled_copy_tv(atom, mma.layout_tv(operand), tuple(extents[axis] for axis in AXES[operand]))
