"""Engines: where the elements of a tensor are, or how they come about.

Law: an engine is two functions, `load(offsets, where)` and `store(offsets, values, where)`,
and every algorithm is written over these two alone. `offsets` is an int, an array of ints, an expression, or an
object array of such expressions, and the values come back in the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from ..errors import TensorError, shown
from ..layout import ComposedLayout, IntTuple, Layout
from ..layout.values.coordinates import Coordinate
from ..layout.values.int_tuple import map_leaves, show
from ..lazy import numpy as np
from .dtypes import BREADTH, DType, MatrixArray, MatrixType, i32

Space: TypeAlias = Literal["", "gmem", "smem", "rmem"]
"""The memory an engine stands for. An untagged engine ("") counts as register memory, as in CuTe."""

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
"""A NumPy array of any element type: numbers, or kernel expressions (dtype object)."""


class Scalars(Protocol):
    """What stands for one number or for many: a Python or NumPy number, an Array, or one kernel expression.

    What arithmetic gives, and what a tensor holds, is `Any`, as in NumPy: each kind of number has its own type.

    >>> def twice(x: Scalars) -> Scalars:
    ...     return x + x
    >>> twice(3), twice(np.arange(3))
    (6, array([0, 2, 4]))
    """

    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...


Place: TypeAlias = "Coordinate | Scalars | tuple[Place, ...]"
"""A coordinate of a tensor: its numbers may be arrays, or expressions of a kernel."""

Mask: TypeAlias = Any
"""Where accesses happen: a bool, an Array of bools or of expressions, one expression; None is everywhere."""


class Moved(NamedTuple):
    """The offsets `base + table` of an expression and integers, for an engine that is `apart`: it wants to see both.
    With `through`, a map of bits after an expression: `base + outer(offset + table)`."""

    base: Scalars
    table: Array
    through: ComposedLayout | None = None


@runtime_checkable
class Engine(Protocol):
    """What a tensor needs of the place where its elements are.

    `load` with a mask `where` gives 0 where it is false, without an access; `store` writes nothing there. Masks have
    the form of the offsets. Engines may also offer, and algorithms then use:
    `strided(offset, shape, stride)`, a NumPy view of the elements (in elements, not bytes);
    `host()`, all elements as a new array of the host, and `replace(elements)`, which writes them all;
    `load_matrix(matrix, window)` and `store_matrix(value, window)`, which move whole matrices of a fragment;
    `fma(a, b, c)`, the fused `a * b + c` of single values in this engine's accumulation type;
    `unbounded`, True where any offset has a value;
    `confined`, True where no prover checks accesses later, so that a view of the elements must not reach others.

    >>> from cutepy.tensor import f32
    >>> engine = allocate(f32, 4, name="registers")
    >>> engine.store(np.array([1, 3]), np.array([10, 30]))
    >>> engine.load(np.array([0, 1, 3]), where=np.array([True, True, False])).tolist()
    [0.0, 10.0, 0.0]
    >>> str(engine.dtype), engine.name, engine.space, engine.writable, isinstance(engine, Engine)
    ('f32', 'registers', '', True, True)
    """

    @property
    def dtype(self) -> DType: ...
    @property
    def space(self) -> Space: ...
    @property
    def writable(self) -> bool: ...
    @property
    def name(self) -> str: ...
    def load(self, offsets: Scalars, where: Mask = None) -> Any: ...
    def store(self, offsets: Scalars, values: Scalars, where: Mask = None) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class ViewEngine:
    """Memory that another object owns: `memory` is flat, and offset 0 is its element `origin`.

    `home` is the layout of the array it came from, if it was one.

    >>> from cutepy.tensor import f32
    >>> view = ViewEngine(np.arange(8, dtype=np.float32), f32, origin=2)
    >>> view.load(0), view.strided(0, (2, 3), (3, 1)).tolist()
    (np.float32(2.0), [[2.0, 3.0, 4.0], [5.0, 6.0, 7.0]])
    >>> view.address - view.memory.ctypes.data  # bytes
    8
    """

    memory: Array
    dtype: DType
    origin: int = 0
    space: Space = ""
    name: str = ""
    home: Layout | None = None
    confined: ClassVar[bool] = True

    @property
    def writable(self) -> bool:
        """False for a read-only view."""
        return bool(self.memory.flags.writeable)

    @property
    def address(self) -> int:
        """The address of offset 0, in bytes."""
        return int(self.memory.ctypes.data) + self.origin * self.memory.itemsize

    def load(self, offsets: Scalars, where: Mask = None) -> Any:
        """The elements at `offsets`; 0 where the mask is false. TensorError for an offset outside the memory."""
        if where is None:
            return self.memory[self._index(offsets)]
        # Where the mask is false nothing is accessed: such offsets may lie outside the memory.
        table = np.asarray(offsets)
        mask = np.broadcast_to(where, table.shape)
        values = np.zeros(table.shape, self.memory.dtype)
        values[mask] = self.memory[self._index(table[mask])]
        return values[()]

    def store(self, offsets: Scalars, values: Scalars, where: Mask = None) -> None:
        """Write `values` at `offsets`, in order, where the mask holds.

        Raises TensorError for a read-only view, for values that the type cannot hold and for an offset outside the
        memory; nothing is written then.
        """
        check_writable(self)
        # Check values and offsets before the first write, so that a refused store changes nothing.
        fitting = fit_values(values, self.dtype)
        table = np.asarray(offsets)
        if fitting.shape != table.shape:
            try:
                fitting = np.broadcast_to(fitting, table.shape)
            except ValueError as error:
                at = f"{table.size} offsets of shape {table.shape}" if table.shape else "one offset"
                text = f"store of values of shape {fitting.shape} at {at}: give a number, or a value for each offset"
                raise TensorError(text) from error
        if where is not None:
            mask = np.broadcast_to(where, table.shape)
            table, fitting = table[mask], fitting[mask]
        self.memory[self._index(table)] = fitting

    def strided(self, offset: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> Array:
        """A view of the elements `offset + sum(i * d)`; nothing is copied. TensorError where it leaves the memory."""
        if 0 in shape:
            return np.empty(shape, self.memory.dtype)
        for end in reached(offset, shape, stride):
            self._index(end)
        memory, first = self.memory, offset + self.origin
        if memory.dtype.kind not in "fiucb" or not memory.flags.c_contiguous:
            steps = tuple([step * memory.itemsize for step in stride])
            return np.lib.stride_tricks.as_strided(memory[first:], shape, steps, writeable=self.writable)
        view = strided_numbers(memory, first, shape, stride)
        if not self.writable:
            view.flags.writeable = False
        return view

    def _index(self, offsets: Scalars) -> Any:
        """Where in `memory` the offsets are: a negative place would count from the end, and views check none."""
        # NumPy counts negative indices from the end, so the range is checked here.
        index: Any = offsets + self.origin if self.origin else offsets
        if type(index) is int:
            low = high = index
        else:
            if not index.size:
                return index.astype(np.intp)
            low, high = index.min(), index.max()
        if low < 0 or high >= len(self.memory):
            raise TensorError(
                f"offset {(low if low < 0 else high) - self.origin} of {describe(self)}: "
                f"the memory holds offsets {-self.origin} to {len(self.memory) - self.origin - 1}"
            )
        return index


@dataclass(frozen=True, slots=True, eq=False)
class ArrayEngine(ViewEngine):
    """Memory of its own: `copy.deepcopy` of a tensor over it copies the elements.

    >>> from copy import deepcopy
    >>> from cutepy.tensor import f32
    >>> mine = ArrayEngine(np.zeros(2, np.float32), f32)
    >>> deepcopy(mine).store(0, 5)
    >>> mine.load(0)
    np.float32(0.0)
    """

    def __deepcopy__(self, memo: dict[int, object]) -> ArrayEngine:
        return ArrayEngine(self.memory.copy(), self.dtype, self.origin, self.space, self.name, self.home)


class Unstored:
    """Elements that are no memory: any offset has one, and none can be written."""

    __slots__ = ()
    space: ClassVar[Space] = ""
    writable: ClassVar[bool] = False
    unbounded: ClassVar[bool] = True

    def store(self: Engine, offsets: Scalars, values: Scalars, where: Mask = None) -> None:
        """Refused."""
        check_writable(self)


@dataclass(frozen=True, slots=True, eq=False)
class CountingEngine(Unstored):
    """The element at offset i is `start + i`: nothing is stored.

    >>> CountingEngine(i32, start=7).load(np.array([0, 5])).tolist()
    [7, 12]
    """

    dtype: DType = i32
    start: int = 0
    name: ClassVar[str] = "count"

    def load(self, offsets: Scalars, where: Mask = None) -> Any:
        """The offsets themselves, counted from `start`."""
        values: Any = offsets + self.start if self.start else offsets
        # Expressions of a kernel (dtype object) keep their own type.
        if isinstance(values, (int, np.integer)) or (isinstance(values, np.ndarray) and values.dtype.kind != "O"):
            values = np.asarray(values).astype(self.dtype.numpy)[()]
        return values if where is None else np.where(where, values, 0)


@dataclass(frozen=True, slots=True, eq=False)
class CoordinateEngine(Unstored):
    """The element at a coordinate is that coordinate: what an identity tensor is made of.

    `shape` is the shape whose coordinates they are.

    >>> CoordinateEngine((4, 8)).load((1, 2))
    (1, 2)
    """

    shape: IntTuple
    dtype: ClassVar[DType] = i32
    name: ClassVar[str] = ""

    def load(self, offsets: Scalars, where: Mask = None) -> Any:
        """The coordinate that `offsets` is."""
        return offsets


def check_writable(engine: Engine) -> None:
    """Raise TensorError if `engine` cannot be written."""
    if not engine.writable:
        raise TensorError(
            f"store to {describe(engine)}: it is read-only; copy it first, or make the tensor from a writable array"
        )


def describe(engine: Engine, offset: Any = 0) -> str:
    """What is at `offset` of an engine, as CuTe prints a pointer or an iterator: `gmem_ptr[32b](name + 4)`.

    >>> from cutepy.tensor import f32
    >>> describe(ArrayEngine(np.zeros(4, np.float32), f32, space="smem", name="tile"))
    'smem_ptr[32b](tile)'
    """
    if isinstance(engine, CoordinateEngine):
        return f"ArithTuple{show(map_leaves(lambda _extent: 0, engine.shape) if offset == 0 else offset)}"
    if isinstance(engine, CountingEngine):
        return f"counting_iter({engine.start + offset})"
    prefix = f"{engine.space}_" if engine.space else ""
    # No address: it would be another one in every run.
    name = engine.name or ("" if isinstance(engine, ViewEngine) else type(engine).__name__)
    moved = "" if type(offset) is int and offset == 0 else f" + {offset}"
    return f"{prefix}ptr[{engine.dtype.bits}b]" + (f"({name}{moved})" if name else moved)


def allocate(dtype: DType, length: int, *, space: Space = "", name: str = "") -> Engine:
    """A new engine that owns `length` elements: zeros on the host, registers under a kernel trace.

    >>> from cutepy.tensor import f32
    >>> describe(allocate(f32, 16, name="fragment"))
    'ptr[32b](fragment)'
    """
    return ALLOCATOR.get()(dtype, length, space, name)


def _allocate_array(dtype: DType, length: int, space: Space, name: str) -> Engine:
    if isinstance(dtype, MatrixType):
        return MatrixArray(np.zeros((length, dtype.rows, dtype.columns), dtype.numpy), dtype, name=name)
    return ArrayEngine(np.zeros(length, dtype.numpy), dtype, space=space, name=name)


ALLOCATOR: ContextVar[Callable[[DType, int, Space, str], Engine]] = ContextVar("allocator", default=_allocate_array)
"""The allocator of owning tensors; a kernel trace sets its own."""


def reached(offset: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, int]:
    """The least and the greatest offset of strided elements: negative strides lower the one, positive ones raise the
    other.

    >>> reached(10, (4, 3), (-1, 10))
    (7, 30)
    """
    low = high = offset
    for extent, step in zip(shape, stride, strict=True):
        if step > 0:
            high += (extent - 1) * step
        else:
            low += (extent - 1) * step
    return low, high


def strided_numbers(memory: Array, first: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> Array:
    """The elements `first + sum(i * d)` of numbers that lie together: NumPy's `as_strided` in a tenth of the time."""
    width = memory.itemsize
    return np.ndarray(shape, memory.dtype, memory, first * width, tuple([step * width for step in stride]))


def boxed(value: object) -> Array:
    """An array without axes that holds one object, an expression say, which NumPy goes through without asking it."""
    box = np.empty((), object)
    box[()] = value
    return box


def offset_of(layout: Layout | ComposedLayout, crd: Place) -> Any:
    """The offset of a coordinate: a number, or what its arrays and expressions give.

    >>> offset_of(Layout((4, 8), (8, 1)), (1, np.arange(3))).tolist()
    [8, 9, 10]

    `crd` is nested as the layout's shape. Raises CoordinateError where it is not.
    """
    return layout(crd)  # type: ignore[arg-type]


CURRENT_THREAD: ContextVar[Scalars | None] = ContextVar("current_thread", default=None)
"""The index of the thread within its workgroup; a kernel trace sets it to its own expression."""


def current_thread(call: str, count: int | None, thread: Scalars | None = None) -> Scalars:
    """`thread` itself, or the index of the thread that a kernel is being traced for: one of `count`, if that is known.

    Raises TensorError where neither is there, and for a number that is none of 0 to `count - 1`.
    """
    # An explicit thread wins over the kernel's own.
    index = CURRENT_THREAD.get() if thread is None else thread
    if index is None:
        raise TensorError(f"{call}: a partition needs a thread: pass thread=, or make it inside a kernel")
    if isinstance(index, (bool, np.bool_, float, np.floating, str, tuple)):
        raise TensorError(f"{call}: thread {index!r} is no whole number")
    if isinstance(index, (int, np.integer)):
        if count is not None and not 0 <= index < count:
            raise TensorError(f"{call}: thread {index} of 0 to {count - 1}")
        return int(index)
    return index


def fit_values(values: Scalars | Sequence[object], dtype: DType) -> Array:
    """`values` as an array that `dtype` holds: Python numbers are weak, arrays keep their kind.

    >>> from cutepy.tensor import f32
    >>> fit_values(3, f32), fit_values(np.arange(3), i32).dtype.name
    (array(3., dtype=float32), 'int32')

    Raises TensorError where a fraction, a sign or high bits would be lost.
    """
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise TensorError(f"store of {shown(values)} as {dtype}: it is no number and no array: {error}") from error
    if array.dtype.name == dtype.numpy:
        return array
    # Kinds only widen: bool < integer < float < complex; between integers the values decide.
    kind, wanted = array.dtype.kind, dtype.kind
    if kind in "iu" and wanted in "iub":
        least, most = (0, 1) if wanted == "b" else (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)
        if array.size and (int(array.min()) < least or int(array.max()) > most):
            raise TensorError(
                f"store of {_sample(array)} as {dtype}: it holds {least} to {most}; use another element type"
            )
    elif kind not in BREADTH or BREADTH[kind] > BREADTH[wanted]:
        raise TensorError(
            f"store of {_sample(array)} ({array.dtype}) as {dtype}: {dtype} cannot hold it; convert the values first"
        )
    # f64 to f32 may give infinity, as NumPy's own assignment does.
    with np.errstate(over="ignore"):
        return array.astype(dtype.numpy)


def _sample(array: Array) -> str:
    return str(array) if array.ndim == 0 else f"an array of shape {array.shape}"
