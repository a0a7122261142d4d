"""Matrices as values: what the threads of a subgroup hold together, and nobody sees an element of.

Law: a matrix is an array of (rows, columns) in its element type; where an array holds it in memory, a `Window` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..layout.values.above import numpy_later as np
from .dtypes import DType

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

Role = Literal["left", "right", "result"]
ROLES: dict[str, Role] = {"a": "left", "b": "right", "c": "result"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixType(DType):
    """The type of one matrix that `threads` threads hold together: A of m x k, B of k x n, or C of m x n elements.

    `bits` is what each thread holds of it.
    """

    element: DType
    role: Role
    shape: tuple[int, int, int]
    threads: int

    @property
    def rows(self) -> int:
        """Rows of the matrix, as it is multiplied: B is (k, n)."""
        return self.shape[2] if self.role == "right" else self.shape[0]

    @property
    def columns(self) -> int:
        """Columns of the matrix, as it is multiplied."""
        return self.shape[2] if self.role == "left" else self.shape[1]

    @property
    def accumulator(self) -> DType:
        """Itself: matrices are computed in the type that they have."""
        return self


@cache
def matrix_type(element: DType, role: Role, shape: tuple[int, int, int], threads: int = 32) -> MatrixType:
    """The one type of these matrices.

    >>> from cutepy.tensor import f16
    >>> print(matrix_type(f16, "left", (16, 8, 4)), matrix_type(f16, "right", (16, 8, 4)).rows)
    left f16 16x4 of 16x8x4 4
    """
    m, n, k = shape
    rows, columns = {"left": (m, k), "right": (k, n), "result": (m, n)}[role]
    return MatrixType(
        name=f"{role} {element} {rows}x{columns} of {m}x{n}x{k}",
        numpy=element.numpy,
        bits=max(8, element.bits * rows * columns // threads),
        kind="m",
        on_gpu=True,
        element=element,
        role=role,
        shape=shape,
        threads=threads,
    )


class Window(NamedTuple):
    """Where a matrix lies in memory: element (row, column) at `offset + row * stride + column`, or, `by_columns`, at
    `offset + row + column * stride`."""

    offset: Any  # a number, or an expression of a kernel
    stride: int
    by_columns: bool

    def table(self, matrix: MatrixType) -> Array:
        """The offset of each element from that of the first, as (rows, columns)."""
        row, column = np.arange(matrix.rows)[:, None], np.arange(matrix.columns)
        found: Array = row + column * self.stride if self.by_columns else row * self.stride + column
        return found


@dataclass(frozen=True, slots=True, eq=False)
class MatrixArray:
    """Matrix registers on the host: an array of (rows, columns) for each."""

    memory: Array
    dtype: MatrixType
    space: Literal["rmem"] = "rmem"
    name: str = ""
    writable: bool = True

    def load(self, offsets: Any, where: Any = None) -> Any:
        """The matrices at `offsets`, each an array."""
        if not isinstance(offsets, np.ndarray):
            return self.memory[offsets]
        found: Array = np.empty(offsets.shape, object)
        for place, at in np.ndenumerate(offsets):
            found[place] = self.memory[at]
        return found

    def store(self, offsets: Any, values: Any, where: Any = None) -> None:
        """Write matrices, or numbers for all elements of one, at `offsets`."""
        given = np.asarray(values, object) if not isinstance(values, np.ndarray) else values
        places = np.asarray(offsets)
        for place in np.ndindex(places.shape):
            self.memory[places[place]] = given[place] if given.shape == places.shape else given

    def fma(self, a: Array, b: Array, c: Array) -> Array:
        """`a @ b + c`, in the element type of the result."""
        return multiply_accumulate(a, b, c)


def multiply_accumulate(a: Array, b: Array, c: Array) -> Array:
    """`a @ b + c` of (..., rows, columns): products are summed in f32 or i32 and rounded to the type of c.

    >>> one = np.ones((2, 2), np.float16)
    >>> multiply_accumulate(one, one, np.float32([[1, 2], [3, 4]])).tolist()
    [[3.0, 4.0], [5.0, 6.0]]
    """
    wide = np.promote_types(c.dtype, np.float32) if c.dtype.kind == "f" else c.dtype
    found: Array = (np.matmul(a.astype(wide), b.astype(wide)) + c).astype(c.dtype)
    return found
