"""Functions of values, for kernels and for arrays alike: mathematics, choice, conversion, subgroups, atomics.

Each takes one expression, or an object array of them, and also plain NumPy numbers: one function body serves a kernel's
epilogue and its reference.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, overload

import numpy as np

from ...errors import KernelError
from ...tensor.dtypes import DType, bool_, gpu_dtype
from ...tensor.engine import Place, Scalars
from ...tensor.tensor import Tensor
from ..evaluate import FUNCTIONS as NUMPY
from ..ir import Expr, as_expr, call
from ..ir import cast as cast_expr
from ..ir import select as select_expr
from ..ir.operators import BY_NAME, BY_NUMPY
from ..ir.place import user_place
from ..ir.weak import Weak, own_type, strong_type
from .language import atomic
from .state import current


def _each(function: Callable[..., Expr], *values: Scalars) -> Any:
    """`function` of single values, or of the entries of object arrays."""
    if any(isinstance(v, np.ndarray) for v in values):
        return np.frompyfunc(function, len(values), 1)(*values)
    return function(*values)


def _traced(values: tuple[Scalars, ...]) -> bool:
    return any(isinstance(v, Expr) or (isinstance(v, np.ndarray) and v.dtype == object) for v in values)


def _function(name: str) -> Callable[..., Any]:
    function = BY_NAME[name]

    def apply(*values: Scalars) -> Any:
        if _traced(values):
            return _each(partial(call, function.wgsl), *values)
        if len(values) != function.operands:
            raise KernelError(f"gpu.{name} takes {function.operands} operands, given are {len(values)}")
        return NUMPY[function.wgsl](*[np.asarray(v) for v in values])

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = function.law
    return apply


absolute = _function("absolute")
arccos = _function("arccos")
arccosh = _function("arccosh")
arcsin = _function("arcsin")
arcsinh = _function("arcsinh")
arctan = _function("arctan")
arctan2 = _function("arctan2")
arctanh = _function("arctanh")
ceil = _function("ceil")
clip = _function("clip")
cos = _function("cos")
cosh = _function("cosh")
exp = _function("exp")
exp2 = _function("exp2")
floor = _function("floor")
fma = _function("fma")
fract = _function("fract")
log = _function("log")
log2 = _function("log2")
maximum = _function("maximum")
minimum = _function("minimum")
nan_maximum = _function("nan_maximum")
nan_minimum = _function("nan_minimum")
power = _function("power")
round = _function("round")
rsqrt = _function("rsqrt")
sign = _function("sign")
sin = _function("sin")
sinh = _function("sinh")
sqrt = _function("sqrt")
tan = _function("tan")
tanh = _function("tanh")
trunc = _function("trunc")


def select(condition: Any, then: Any, other: Any) -> Any:
    """`then` where the condition holds, else `other`; both are computed."""
    if not _traced((condition, then, other)):
        return np.where(condition, then, other)

    return _each(_choose, condition, then, other)


def _choose(condition: object, then: object, other: object) -> Expr:
    test = as_expr(condition, bool_)
    if test.dtype is not bool_:
        raise KernelError(
            f"{user_place()}: gpu.select by a {test.dtype} value; compare it, as in gpu.select(v != 0, ...)"
        )

    def chosen(dtype: DType) -> Expr:
        return select_expr(test, as_expr(then, dtype), as_expr(other, dtype))

    strong = strong_type((then, other))
    return chosen(strong) if strong is not None else Weak(chosen(own_type((then, other))), chosen)


@overload
def cast(value: Expr, dtype: object) -> Expr: ...
@overload
def cast(value: Scalars, dtype: object) -> Any: ...
def cast(value: Scalars, dtype: object) -> Any:
    """`value` converted to an element type."""
    kind = gpu_dtype(dtype)
    if not _traced((value,)):
        return np.asarray(value).astype(kind.numpy)
    return _each(lambda v: cast_expr(v, kind), value)


def constant(value: float, dtype: object) -> Expr:
    """A number with an element type."""
    return as_expr(value, gpu_dtype(dtype))


#: NumPy wants bools of these, which only the GPU knows.
_COMPARISONS: dict[str, Callable[..., Expr]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


def _ufunc(self: Expr, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """NumPy's functions of kernel values: the same as gpu's by the table of functions, or element by element."""
    name = ufunc.__name__ if method == "__call__" and not options else ""
    if name in _COMPARISONS:
        return _each(_COMPARISONS[name], *inputs)
    if name in BY_NUMPY and name != "power":
        return _each(partial(call, BY_NUMPY[name].wgsl), *inputs)
    try:
        return getattr(ufunc, method)(*_boxed(inputs), **options)
    except (TypeError, AttributeError) as error:
        if isinstance(error, KernelError):
            raise
        raise KernelError(f"{user_place()}: np.{ufunc.__name__} has no meaning for values of a kernel") from None


def _array_function(self: Expr, function: Callable[..., Any], kinds: object, given: Any, options: Any) -> Any:
    """`np.where`, `np.clip` and `np.round` of kernel values; other functions of arrays see an array of one object."""
    own = {np.where: select, np.clip: clip, np.round: round}.get(function)
    if own is not None and not options and len(given) == (1 if function is np.round else 3):
        return own(*given)
    return function(*_boxed(given), **options)


def _boxed(values: Sequence[Any]) -> list[Any]:
    boxed = []
    for value in values:
        if isinstance(value, Expr):
            box = np.empty((), object)
            box[()] = value
            value = box
        boxed.append(_boxed(value) if isinstance(value, list | tuple) else value)
    return boxed


Expr.__array_ufunc__ = _ufunc
Expr.__array_function__ = _array_function


def _subgroup(name: str, doc: str) -> Callable[..., Any]:
    operands = 2 if "Shuffle" in name else 1

    def apply(*values: Scalars) -> Any:
        trace = current(f"gpu.{apply.__name__}")
        if len(values) != operands or not _traced(values[:1]):
            what = "a value of the kernel" + (" and a lane, a distance or a mask" if operands == 2 else "")
            raise KernelError(f"{user_place()}: {name} takes {what}")
        return _each(lambda *v: trace.let("lanes", call(name, *v), uniform=False), *values)

    apply.__name__, apply.__doc__ = name, doc
    return apply


subgroup_add = _subgroup("subgroupAdd", "The sum over the active threads of the subgroup.")
subgroup_mul = _subgroup("subgroupMul", "The product over the active threads of the subgroup.")
subgroup_min = _subgroup("subgroupMin", "The least value in the subgroup.")
subgroup_max = _subgroup("subgroupMax", "The greatest value in the subgroup.")
subgroup_inclusive_add = _subgroup("subgroupInclusiveAdd", "The sum over this and the lower threads.")
subgroup_exclusive_add = _subgroup("subgroupExclusiveAdd", "The sum over the lower threads.")
subgroup_shuffle = _subgroup("subgroupShuffle", "The value of thread `lane` of the subgroup.")
subgroup_shuffle_xor = _subgroup(
    "subgroupShuffleXor", "The value of the thread whose index differs in the bits of `mask`."
)
subgroup_shuffle_down = _subgroup("subgroupShuffleDown", "The value of the thread `delta` further up in index.")
subgroup_shuffle_up = _subgroup("subgroupShuffleUp", "The value of the thread `delta` lower in index.")
subgroup_broadcast_first = _subgroup("subgroupBroadcastFirst", "The value of the first active thread.")


def _atomic(op: str, doc: str) -> Callable[[Tensor, Place, Scalars], Expr]:
    def apply(tensor: Tensor, crd: Place, value: Scalars) -> Expr:
        return atomic(op, tensor, crd, value)

    apply.__name__, apply.__doc__ = f"atomic_{op.lower()}", doc
    return apply


atomic_add = _atomic("Add", "Add `value` to the element at `crd`, atomically; gives what it was.")
atomic_sub = _atomic("Sub", "Subtract `value`, atomically; gives what it was.")
atomic_min = _atomic("Min", "Keep the smaller, atomically; gives what it was.")
atomic_max = _atomic("Max", "Keep the greater, atomically; gives what it was.")
atomic_and = _atomic("And", "Keep the common bits, atomically; gives what it was.")
atomic_or = _atomic("Or", "Join the bits, atomically; gives what it was.")
atomic_xor = _atomic("Xor", "Flip the bits, atomically; gives what it was.")
atomic_exchange = _atomic("Exchange", "Write `value`, atomically; gives what was there.")
