"""Element types: NumPy's numbers, under WGSL's way of naming them; five of them a GPU has too.

`i8` has 8 bits, as in WGSL and Rust; NumPy's code "i8" of eight bytes is `i64`.

A matrix of a subgroup is a value too: what its threads hold together, an array of (rows, columns), and no thread sees
an element of. Where an array holds it in memory a `Window` says.

Law: a host tensor holds any type of `DTYPES`; what goes to a GPU passes `gpu_dtype` first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..errors import TensorError, shown
from ..lazy import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class DType:
    """An element type. `bits` is its width in memory; `kind` is NumPy's letter (f, i, u, b, c).

    >>> f16.bits, f16.accumulator.name, f64.on_gpu
    (16, 'f32', False)

    >>> bool_.bytes, f16.bytes, str(i8.register), str(f64.register)
    (4, 2, 'i32', 'f64')
    """

    name: str
    numpy: str
    bits: int
    kind: str
    on_gpu: bool = False

    @property
    def accumulator(self) -> DType:
        """The type in which values of this type are computed and summed: f32 for f16, itself otherwise."""
        return f32 if self.name == "f16" else self

    @property
    def bytes(self) -> int:
        """Bytes an element takes in a buffer. A bool is stored as a u32 on a device: 4."""
        return 4 if self.kind == "b" else -(-self.bits // 8)

    @property
    def register(self) -> DType:
        """The type in which a kernel holds such an element: i32 and u32 for integers of fewer bits."""
        return self if self.bits >= 32 or self.kind not in "iu" else i32 if self.kind == "i" else u32

    def __str__(self) -> str:
        return self.name


f16 = DType("f16", "float16", 16, "f", on_gpu=True)
f32 = DType("f32", "float32", 32, "f", on_gpu=True)
f64 = DType("f64", "float64", 64, "f")
i8 = DType("i8", "int8", 8, "i")
i16 = DType("i16", "int16", 16, "i")
i32 = DType("i32", "int32", 32, "i", on_gpu=True)
i64 = DType("i64", "int64", 64, "i")
u8 = DType("u8", "uint8", 8, "u")
u16 = DType("u16", "uint16", 16, "u")
u32 = DType("u32", "uint32", 32, "u", on_gpu=True)
u64 = DType("u64", "uint64", 64, "u")
c64 = DType("c64", "complex64", 64, "c")
c128 = DType("c128", "complex128", 128, "c")
bool_ = DType("bool", "bool", 8, "b", on_gpu=True)

DTYPES = {d.name: d for d in (f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, c64, c128, bool_)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallFloat(DType):
    """A float whose elements are bits in memory and f32 everywhere else: a sign, an exponent, `fraction` bits.

    What is beyond the greatest number is infinite; without `infinities` it is NaN, the one pattern that is no number.

    >>> bf16.bias, e5m2.bias, e4m3.greatest, hex(e5m2.greatest), str(e4m3.register)
    (127, 15, 126, '0x7b', 'f32')
    """

    fraction: int
    infinities: bool = True

    @property
    def bias(self) -> int:
        """What the exponent of 1.0 is as bits."""
        return (1 << self.bits - self.fraction - 2) - 1

    @property
    def greatest(self) -> int:
        """The bits of the greatest number."""
        return (1 << self.bits - 1) - (1 + (1 << self.fraction) if self.infinities else 2)

    @property
    def accumulator(self) -> DType:
        return f32

    @property
    def register(self) -> DType:
        return f32


#: What NumPy has no arrays of: integers of less than a byte, and floats of a GPU's products. `recast` makes them.
i4 = DType("i4", "int8", 4, "i")
u4 = DType("u4", "uint8", 4, "u")
bf16 = SmallFloat("bf16", "float32", 16, "f", fraction=7)
e5m2 = SmallFloat("e5m2", "float32", 8, "f", fraction=2)
e4m3 = SmallFloat("e4m3", "float32", 8, "f", fraction=3, infinities=False)
PACKED: dict[str, DType] = {d.name: d for d in (i4, u4, bf16, e5m2, e4m3)}
ML_DTYPES = {"bfloat16": bf16, "float8_e5m2": e5m2, "float8_e4m3fn": e4m3}
"""The element types that arrays have through the package ml_dtypes, by their names there."""
_SPELLINGS = DTYPES | {dtype.numpy: dtype for dtype in DTYPES.values()}


BREADTH = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
"""Which kinds of numbers hold others: those of a higher number hold those of a lower one."""


def as_dtype(spec: object) -> DType:
    """The element type that `spec` names: a DType, a NumPy dtype or scalar type, a Python number type, or a name.

    >>> as_dtype("float32") is f32, as_dtype("u8").numpy, as_dtype(complex).name
    (True, 'uint8', 'c128')

    Raises TensorError for anything but numbers (text, objects, dates), naming what there is.
    """
    if isinstance(spec, DType):
        return spec
    # Python's number types mean what NumPy makes of them on 64-bit systems.
    spec = {float: "f64", int: "i64", complex: "c128"}.get(spec, spec) if isinstance(spec, type) else spec
    name = spec if isinstance(spec, str) else getattr(spec, "name", None) or getattr(spec, "__name__", shown(spec))
    try:
        return _SPELLINGS[str(name)]
    except KeyError:
        raise TensorError(f"dtype {shown(spec)}: no such element type; there are {_listed(DTYPES.values())}") from None


def gpu_dtype(spec: object) -> DType:
    """The element type that `spec` names, for what goes to a GPU.

    >>> gpu_dtype("i32") is i32
    True

    Raises TensorError for a type that WGSL lacks (f64, 8, 16 and 64-bit integers, complex), saying how to convert.
    """
    kind = as_dtype(spec)
    if kind.on_gpu:
        return kind
    there = _listed(dtype for dtype in DTYPES.values() if dtype.on_gpu)
    pairs = ".view(np.float32) of complex64, pairs of numbers; gpu.array and kernels take complex64 itself"
    # The conversion that the message names, by NumPy's kind.
    one, torchs = ".astype(np.{0})", ", of a torch tensor .to(torch.{0})"
    way = {"i": (one + torchs).format("int32"), "u": one.format("uint32"), "c": pairs}
    raise TensorError(
        f"dtype {kind} ({kind.numpy}): no such element type on a GPU; there are {there}; "
        f"convert the array first: {way.get(kind.kind, (one + torchs).format('float32'))}"
    )


def _listed(dtypes: Iterable[DType]) -> str:
    return ", ".join(f"{dtype.name} ({dtype.numpy})" for dtype in dtypes)


MATRIX_BYTES = 16
"""Alignment, in bytes, of what matrices are loaded from and stored to: an array, a matrix in it, a run of a matrix."""

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

    def run_alignment(self, *, by_columns: bool) -> int:
        """Of how many elements the first one of a matrix in memory, and the stride of its runs, are multiples.

        A run is a row, or a column with `by_columns`. Vulkan asks for 16 bytes, or for a whole run where that is less
        (VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986).
        """
        return min(MATRIX_BYTES // self.element.bytes, self.rows if by_columns else self.columns)

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
    # Shape of the operand as it is multiplied: A (m, k), B (k, n), C (m, n).
    rows, columns = {"left": (m, k), "right": (k, n), "result": (m, n)}[role]
    return MatrixType(
        # The name is the identity of the type: equal names, equal types.
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
        # Offsets by broadcasting a column of row numbers against a row of column numbers.
        row, column = np.arange(matrix.rows)[:, None], np.arange(matrix.columns)
        return row + column * self.stride if self.by_columns else row * self.stride + column


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
        matrices: Array = np.empty(offsets.shape, object)
        for position, at in np.ndenumerate(offsets):
            matrices[position] = self.memory[at]
        return matrices

    def store(self, offsets: Any, values: Any, where: Any = None) -> None:
        """Write matrices, or numbers for all elements of one, at `offsets`."""
        given = np.asarray(values, object) if not isinstance(values, np.ndarray) else values
        places = np.asarray(offsets)
        for position in np.ndindex(places.shape):
            self.memory[places[position]] = given[position] if given.shape == places.shape else given

    def fma(self, a: Array, b: Array, c: Array) -> Array:
        """`a @ b + c`, in the element type of the result."""
        return multiply_accumulate(a, b, c)


def multiply_accumulate(a: Array, b: Array, c: Array) -> Array:
    """`a @ b + c` of (..., rows, columns): products are summed in f32 or i32 and rounded to the type of c.

    >>> one = np.ones((2, 2), np.float16)
    >>> multiply_accumulate(one, one, np.float32([[1, 2], [3, 4]])).tolist()
    [[3.0, 4.0], [5.0, 6.0]]
    """
    # Products of f16 are summed in f32 and rounded once; integers wrap in the type of C.
    wide = np.promote_types(c.dtype, np.float32) if c.dtype.kind == "f" else c.dtype
    result: Array = (np.matmul(a.astype(wide), b.astype(wide)) + c).astype(c.dtype)
    return result
