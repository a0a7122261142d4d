"""`TiledMMA`: a multiply-add atom repeated over threads, and over the values of a thread.

Law: over all threads the partitions of C cover it once, and summing over k the products
of the partitions of A and B gives the product of the tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, cast

from ..errors import TensorError
from ..layout import (
    Layout,
    complement,
    composition,
    logical_divide,
    make_layout,
    right_inverse,
    tiled_product,
    zipped_divide,
)
from ..layout.values.coordinates import _
from ..layout.values.int_tuple import IntTuple, as_tuple
from .atoms.atom import MMAAtom
from .engine import Scalars, current_thread
from .make import make_fragment_like
from .partition import thread_coordinate
from .tensor import Tensor, expect_tensors

Whole = TypeVar("Whole", Layout, Tensor)

AXES = {"a": (0, 2), "b": (1, 2), "c": (0, 1)}
"""Which of M, N and K the modes of each operand are."""


@dataclass(frozen=True, slots=True, eq=False)
class ThreadMMA:
    """What one thread multiplies: A with the modes (M, K), B (N, K), C (M, N); further modes follow.

    Where the atom is a matrix instruction each has the atom's values as a mode V before them.
    """

    A: Tensor
    B: Tensor
    C: Tensor


@dataclass(frozen=True, slots=True)
class TiledMMA:
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
    """

    atom: MMAAtom
    arrangement: Layout
    permutation: tuple[object, object, object]

    @property
    def threads_vmnk(self) -> Layout:
        """(thread in the atom, atom along M, along N, along K) to the index of the thread."""
        return tiled_product(self.atom.threads, self.arrangement)

    @property
    def threads(self) -> int:
        """How many threads are numbered, those of a quad pair's gaps included."""
        return self.threads_vmnk.cosize

    @property
    def tile(self) -> tuple[int, int, int]:
        """M, N and K of what all threads do at once."""
        m, n, k = (_size_of(entry) for entry in self._dealt())
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
        """Registers for a partition of A."""
        return make_fragment_like(part, dtype)

    make_fragment_B = make_fragment_C = make_fragment_A

    def thread(self, A: Tensor, B: Tensor, C: Tensor, thread: Scalars | None = None) -> ThreadMMA:
        """All three partitions of one thread, the kernel's own by default."""
        parts = [self._partition(name, tensor, thread) for name, tensor in zip("abc", (A, B, C), strict=True)]
        if self.atom.shape == (1, 1, 1) and self.atom.threads.size == 1:
            parts = [part[(0, *(_,) * (part.rank - 1))] for part in parts]
        return ThreadMMA(*parts)

    def layout_tv(self, operand: str) -> Layout:
        """(thread, value) to the index in the tile of operand "a", "b" or "c"."""
        extents = self.tile
        reference = Layout(tuple(extents[axis] for axis in AXES[operand]))
        dealt = self._dealt_out(operand, reference)
        numbered = self.threads_vmnk
        atoms = iter(dealt[0][1])
        along = [next(atoms) if axis in AXES[operand] else Layout(count.size, 0) for axis, count in self._counts()]
        place = make_layout(dealt[0][0], *along)
        gaps = complement(numbered)
        every = make_layout(place, Layout(gaps.size, 0))
        threads = composition(every, right_inverse(make_layout(numbered, gaps)))
        return make_layout(threads, dealt[1])

    def _counts(self) -> list[tuple[int, Layout]]:
        return list(enumerate(self.arrangement))

    def _dealt(self) -> tuple[object, object, object]:
        """The permutation with its defaults filled in."""
        m, n, k = (
            extent * count.size if entry is None or entry is _ else entry
            for extent, count, entry in zip(self.atom.shape, self.arrangement, self.permutation, strict=True)
        )
        return m, n, k

    def _dealt_out(self, operand: str, whole: Whole) -> Whole:
        """`((thread in atom, (atom, atom)), (V, (rest, rest, ...)))` of a layout or tensor of this operand."""
        axes = AXES[operand]
        dealt = self._dealt()
        ordered = logical_divide(whole, tuple(dealt[axis] for axis in axes))
        by_atom = zipped_divide(ordered, tuple(self.atom.shape[axis] for axis in axes))
        values = composition(by_atom, (getattr(self.atom, operand), _))
        return zipped_divide(values, (_, tuple(self.arrangement[axis].size for axis in axes)))

    def _partition(self, operand: str, tensor: Tensor, thread: Scalars | None) -> Tensor:
        expect_tensors(f"partition_{operand.upper()}", tensor)
        if tensor.rank < 2:
            raise TensorError(f"partition_{operand.upper()} of {tensor}: it needs the modes {_modes(operand)}")
        index = current_thread(f"partition_{operand.upper()}", self.threads, thread)
        place = thread_coordinate(self.threads_vmnk, index)
        chosen = (place[0], tuple(place[1 + axis] for axis in AXES[operand]))
        dealt = self._dealt_out(operand, tensor)
        rest = cast("tuple[tuple[IntTuple, ...], ...]", dealt.shape)[1][1]
        part: Tensor = dealt[(chosen, (_, (_,) * len(as_tuple(rest))))]
        return part


def make_tiled_mma(
    atom: MMAAtom,
    arrangement: Layout | tuple[int, int, int] = (1, 1, 1),
    permutation: tuple[object, object, object] = (None, None, None),
) -> TiledMMA:
    """`atom` repeated over threads as `arrangement` says, and dealt out as `permutation` says.

    >>> from cutepy.tensor import FMA
    >>> make_tiled_mma(FMA, (16, 8, 1)).tile
    (16, 8, 1)

    Raises TensorError where a permutation's extent is no whole number of atoms. Source: CuTe, `mma_atom.hpp`.
    """
    layout = arrangement if isinstance(arrangement, Layout) else Layout(arrangement)
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


def _size_of(entry: object) -> int:
    return entry.size if isinstance(entry, Layout) else cast(int, entry)


def _modes(operand: str) -> str:
    return f"({', '.join('MNK'[axis] for axis in AXES[operand])})"
