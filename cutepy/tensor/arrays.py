"""What a tensor has of an array: operators, methods, numbers, and NumPy's indices; `cutepy.ops` computes them all.

Law: `a + b` is `ops.add(a, b)`, `t.f(...)` is `ops.f(t, ...)`, and what `ops` refuses is refused in its words: of a
tensor inside a kernel, all of them. `float(t)`, `int(t)`, `bool(t)` are the one element of a tensor of size 1.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import TensorError
from ..lazy import numpy as np
from .bulk import mode_sizes

if TYPE_CHECKING:
    from .tensor import Tensor

NumberKind = TypeVar("NumberKind", bool, int, float, complex)
PRINTED, EDGE = 1000, 3
"""From how many elements on a tensor is printed cut, and what is left at each end of an axis: NumPy's numbers."""


def operations() -> Any:
    """The room above that computes: `cutepy.ops`."""
    if TYPE_CHECKING:
        return None
    else:
        from .. import ops

        return ops


def _is_operand(other: object) -> bool:
    """Whether an operator takes it: Python asks the other operand, or compares by identity, where not."""
    return isinstance(other, (ArrayMethods, np.ndarray, np.generic, Number, list)) or hasattr(other, "operands")


def _binary(name: str, *, reflected: bool = False) -> Callable[[Any, Any], Tensor]:
    def method(self: Tensor, other: object) -> Tensor:
        operands = (other, self) if reflected else (self, other)
        return getattr(operations(), name)(*operands) if _is_operand(other) else NotImplemented

    return method


def _both(name: str) -> tuple[Callable[[Any, Any], Tensor], Callable[[Any, Any], Tensor]]:
    """An operator with the tensor on the left, and on the right."""
    return _binary(name), _binary(name, reflected=True)


def _unary(name: str) -> Callable[[Any], Tensor]:
    return lambda self: getattr(operations(), name)(self)


class ArrayMethods:
    """Operators, methods and attributes of arrays, for `Tensor`."""

    __slots__ = ()

    __add__, __radd__ = _both("add")
    __sub__, __rsub__ = _both("sub")
    __mul__, __rmul__ = _both("mul")
    __truediv__, __rtruediv__ = _both("div")
    __floordiv__, __rfloordiv__ = _both("floordiv")
    __mod__, __rmod__ = _both("mod")
    __pow__, __rpow__ = _both("power")
    __matmul__, __rmatmul__ = _both("matmul")
    __and__, __rand__ = _both("bitwise_and")
    __or__, __ror__ = _both("bitwise_or")
    __xor__, __rxor__ = _both("bitwise_xor")
    __lshift__, __rlshift__ = _both("left_shift")
    __rshift__, __rrshift__ = _both("right_shift")
    __lt__, __le__, __gt__, __ge__ = _binary("lt"), _binary("le"), _binary("gt"), _binary("ge")
    __hash__ = object.__hash__
    __neg__, __abs__, __invert__ = _unary("neg"), _unary("absolute"), _unary("bitwise_not")

    def __eq__(self, other: object) -> Any:
        return operations().eq(self, other) if _is_operand(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return operations().ne(self, other) if _is_operand(other) else NotImplemented

    def __pos__(self: Any) -> Tensor:
        found: Tensor = self
        return found

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        """NumPy's functions of a tensor are those of `ops`: where the tensor is, and never by a copy of it."""
        function = getattr(operations(), "named_as", lambda _name: None)(ufunc.__name__)
        return NotImplemented if method != "__call__" or options or function is None else function(*operands)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """`cutepy.ops`, by the array API standard. Raises TensorError for a version of it that is not offered."""
        namespace = operations()
        if api_version not in (None, *namespace.ARRAY_API_VERSIONS):
            raise TensorError(
                f"__array_namespace__(api_version={api_version!r}): there are {', '.join(namespace.ARRAY_API_VERSIONS)}"
            )
        return namespace

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Tensor]: ...
    else:

        def __getattr__(self, name: str) -> Any:
            if name[:1] != "_" and name in operations().METHODS:
                function = getattr(operations(), name)

                def method(*arguments: Any, **options: Any) -> Any:
                    return function(self, *arguments, **options)

                method.__name__, method.__doc__ = name, function.__doc__
                return method
            return super().__getattr__(name)

    def _number(self: Any, kind: type[NumberKind]) -> NumberKind:
        if self.size != 1:
            raise TensorError(f"{kind.__name__}({self}): it has {self.size} elements; a number is one of them")
        return kind(self[0 if mode_sizes(self) else ()])

    def __bool__(self) -> bool:
        return self._number(bool)

    def __int__(self) -> int:
        return self._number(int)

    def __float__(self) -> float:
        return self._number(float)

    def __complex__(self) -> complex:
        return self._number(complex)

    def __index__(self: Any) -> int:
        if self.dtype.kind not in "iu":
            raise TensorError(f"{self} as an index: it holds {self.dtype}; indices are integers")
        return int(self)

    @property
    def ndim(self: Any) -> int:
        """The number of axes: of top-level modes."""
        return len(mode_sizes(self))

    @property
    def T(self: Any) -> Tensor:
        """The axes in reverse, a view."""
        found: Tensor = operations().permute(self, tuple(range(self.ndim))[::-1])
        return found

    @property
    def mT(self) -> Tensor:
        """The last two axes exchanged, a view."""
        found: Tensor = operations().matrix_transpose(self)
        return found

    @property
    def device(self: Any) -> Any:
        """Where the elements are: a `gpu` device, or "cpu"."""
        return getattr(getattr(self.engine, "words", self.engine), "device", "cpu")

    def to_device(self: Any, device: Any, /, *, stream: None = None) -> Tensor:
        """The elements on a device, or on "cpu": the tensor itself where they are there, else a copy."""
        found: Tensor = operations().asarray(self, device=device)
        return found


def numbers_of(tensor: Tensor) -> str:
    """The elements as NumPy prints them, cut where they are many; "" where the tensor has no numbers to show."""
    engine: Any = getattr(tensor.engine, "words", tensor.engine)
    sizes = mode_sizes(tensor)
    if hasattr(engine, "trace") or not hasattr(engine, "load") or engine.dtype.kind not in "biufc":
        return ""
    if any(type(size) is not int for size in sizes) or getattr(engine, "unbounded", False):
        return ""
    if tensor.size <= PRINTED:
        return str(np.asarray(tensor.numpy()))
    # Of an axis that is cut NumPy shows what stands at its ends: seven elements print as all of them would.
    ends = [
        np.arange(n) if n <= 2 * EDGE else np.r_[0 : EDGE + 1, n - EDGE : n] if n > 2 * EDGE + 1 else np.arange(n)
        for n in sizes
    ]
    grid = np.ix_(*ends)
    values = np.broadcast_to(np.asarray(tensor[grid if tensor.rank > 1 else grid[0]]), [len(e) for e in ends])
    return np.array2string(values, threshold=0, edgeitems=EDGE)


def is_numpy_index(crd: object) -> bool:
    """Whether an index is NumPy's and no coordinate: a slice, `...` or None, alone or in a tuple."""
    entries = crd if type(crd) is tuple else (crd,)
    return any(entry is None or isinstance(entry, slice | EllipsisType) for entry in entries)
