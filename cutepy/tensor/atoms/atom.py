"""Atoms as data: which element of an operand is in which register of which thread.

Law: `atom.a` maps (thread, value) to the colexicographic index in the (M, K) tile of A, `atom.b` in
the (N, K) tile of B, `atom.c` in the (M, N) tile of C; every element of a tile is covered, each equally often.
The atoms that WebGPU itself has are made here: copies and multiply-adds of one thread, matrices of a subgroup, of which
each thread has the whole tile of each operand as its value, (rows, columns).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from math import prod
from typing import Generic, TypeVar

from ...errors import TensorError
from ...layout import IntTuple, Layout
from ...layout.values.methods import NotebookRepr
from ...lazy import numpy as np
from ..dtypes import as_dtype
from ..engine import Array


@dataclass(frozen=True, slots=True)
class MMAAtom(NotebookRepr):
    """One matrix instruction `D = A * B + C`, with B as (N, K).

    `threads` numbers the threads that take part, `types` are the element types of A, B and C (D is as C). An
    instruction of several independent `blocks` has them as a last mode of every tile. `source` names the document.
    `opaque` registers are those of all threads together: each has the whole tile, and a fragment holds whole matrices.

    >>> FMA.tile("a"), [(name, str(layout), tile) for name, layout, tile in FMA.operands()]
    ((1, 1), [('a', '(1,1):(0,0)', (1, 1)), ('b', '(1,1):(0,0)', (1, 1)), ('c', '(1,1):(0,0)', (1, 1))])
    """

    name: str
    shape: tuple[int, int, int]
    threads: Layout
    a: Layout
    b: Layout
    c: Layout
    types: tuple[str, str, str]
    source: str
    blocks: int = 1
    opaque: bool = False

    def tile(self, operand: str) -> tuple[int, ...]:
        """The shape of the tile of operand "a", "b" or "c"."""
        m, n, k = self.shape
        tile = {"a": (m, k), "b": (n, k), "c": (m, n)}[operand]
        return tile if self.blocks == 1 else (*tile, self.blocks)

    def operands(self) -> Iterable[tuple[str, Layout, tuple[int, ...]]]:
        """Name, thread-value layout and tile of each operand."""
        return (("a", self.a, self.tile("a")), ("b", self.b, self.tile("b")), ("c", self.c, self.tile("c")))

    def multiply(self, a: Array, b: Array, c: Array) -> Array:
        """What the instruction does to registers: arrays of (threads, values) in, those of D = A * B + C out.

        >>> ones = np.ones((1, 1), np.float32)
        >>> FMA.multiply(2 * ones, 3 * ones, ones).tolist()
        [[7.0]]
        """
        left, right, total = (self._gathered(name, held) for name, held in zip("abc", (a, b, c), strict=True))
        # z counts independent blocks; D = C + sum over k of A[m, k] * B[n, k].
        total = total + np.einsum("mkz,nkz->mnz", left, right)
        result: Array = total.ravel(order="F")[self.c.offsets()]
        return result

    def _gathered(self, operand: str, held: Array) -> Array:
        """The tile that registers hold, with the blocks as a last axis."""
        tile = self.tile(operand)
        flat = np.zeros(prod(tile), held.dtype)
        flat[getattr(self, operand).offsets()] = held
        return flat.reshape((*tile[:2], self.blocks), order="F")

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class CopyAtom(NotebookRepr):
    """One copy instruction: `read` and `write` map (thread, value) to the element that a thread reads, and writes.

    Elements have `bits` bits (0: any) and are counted colexicographically in `tile`. `memory` names the spaces that the
    instruction goes from and to; "" is any.

    >>> atom = universal_copy(4)
    >>> print(atom, atom.values, atom.registers)
    universal_copy(4) 4 (1,4):(0,1)
    """

    name: str
    tile: tuple[int, ...]
    threads: Layout
    read: Layout
    write: Layout
    bits: int
    source: str
    memory: tuple[str, str] = ("", "")

    @property
    def registers(self) -> Layout:
        """The side on which each thread has its own values: what it writes, or reads where it stores registers."""
        return self.read if self.memory[0] == "rmem" else self.write

    @property
    def values(self) -> int:
        """How many values a thread moves."""
        return self.registers.size // self.threads.size

    def __str__(self) -> str:
        return self.name


Kind = TypeVar("Kind", bound=MMAAtom | CopyAtom)


class Atoms(Mapping[str, Kind], Generic[Kind]):
    """Atoms by name, made when one is first asked for; `instruction` says what another name for one means."""

    def __init__(self, make: Callable[[], Iterable[Kind]], instruction: Callable[[str], str]) -> None:
        self._make, self._instruction = make, instruction

    @cached_property
    def _made(self) -> dict[str, Kind]:
        return {atom.name: atom for atom in self._make()}

    @cached_property
    def _by_instruction(self) -> dict[str, Kind]:
        return {name.partition(".")[2]: atom for name, atom in self._made.items()}

    def __getitem__(self, name: str) -> Kind:
        instruction = self._instruction(name)
        atom = self._by_instruction.get(instruction) if instruction else self._made.get(name)
        if atom is None:
            near = [other for other in self if name in other] or get_close_matches(name, self, 3, 0.3)
            raise KeyError(f"no atom {name!r}; near it are {', '.join(near[:3])}" if near else f"no atom {name!r}")
        return atom

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __repr__(self) -> str:
        return f"<{len(self)} atoms, from {next(iter(self))} to {[*self][-1]}>"


def thread_value(threads: tuple[IntTuple, IntTuple], values: tuple[IntTuple, IntTuple]) -> Layout:
    """The thread-value layout with these (shape, stride) pairs.

    >>> print(thread_value(((4, 8), (16, 1)), (2, 8)))
    ((4,8),2):((16,1),8)
    """
    return Layout((threads[0], values[0]), (threads[1], values[1]))


def universal_copy(elements: int = 1) -> CopyAtom:
    """The copy of 1, 2 or 4 elements side by side by one thread.

    >>> print(universal_copy(4), universal_copy(4).read)
    universal_copy(4) (1,4):(0,1)

    Raises TensorError for another number: WGSL has vectors of 2 and 4 (3 elements are copied one by one).
    """
    if elements not in (1, 2, 3, 4):
        raise TensorError(f"universal_copy({elements}): a thread copies 1 to 4 elements at once")
    one = Layout((1, elements), (0, 1))
    return CopyAtom(f"universal_copy({elements})", (elements,), Layout(1), one, one, 0, "WGSL, section 6.2.6: vectors")


_ONE = Layout((1, 1), (0, 0))

FMA = MMAAtom("fma", (1, 1, 1), Layout(1), _ONE, _ONE, _ONE, ("f32", "f32", "f32"), "WGSL, section 17.5.27: fma")
"""The fused multiply-add of one thread."""


_MATRICES = "gpuweb/gpuweb, proposals/subgroup-matrix.md, 2026-10-02; naga, cooperative matrices"


def subgroup_matrix(
    shape: tuple[int, int, int] = (16, 16, 16), types: tuple[str, str, str] = ("f16", "f16", "f32"), threads: int = 32
) -> MMAAtom:
    """The matrix instruction of these (m, n, k) and element types of A, B and C, on subgroups of `threads` threads.

    >>> atom = subgroup_matrix()
    >>> print(atom, atom.a)
    subgroup_matrix_16x16x16_f16_f16_f32 (32,(16,16)):(0,(1,16))

    Which there are is an adapter's to say. Raises TensorError for A and B of two
    types, extents that are no powers of two, and tiles of fewer elements than threads.
    """
    m, n, k = shape
    a, b, _c = (as_dtype(kind) for kind in types)
    if a is not b or any(extent < 1 or extent & (extent - 1) for extent in (*shape, threads)):
        raise TensorError(f"subgroup_matrix({shape}, {types}): A and B have one type, extents are powers of two")
    if min(m * n, m * k, n * k) < threads:
        raise TensorError(f"subgroup_matrix({shape}, {types}): {threads} threads have more than one tile")
    left, right, result = (Layout((threads, tile), (0, (1, tile[0]))) for tile in ((m, k), (n, k), (m, n)))
    name = f"subgroup_matrix_{m}x{n}x{k}_{'_'.join(types)}"
    return MMAAtom(name, shape, Layout(threads), left, right, result, types, _MATRICES, opaque=True)
