"""Functions of values, for kernels and for arrays alike: mathematics, choice, conversion, subgroups, atomics.

Each takes one expression, or an object array of them, and also plain NumPy numbers: one function body serves a kernel's
epilogue and its reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import KernelError
from ...tensor.dtypes import bool_, gpu_dtype
from ...tensor.engine import Scalars
from ...tensor.tensor import Tensor
from ..interpret_functions import FUNCTIONS as NUMPY
from ..ir import Expr, as_expr, call
from ..ir import cast as cast_expr
from ..ir import select as select_expr
from ..ir.place import user_place
from .language import atomic
from .state import current


def _each(function: Callable[..., Expr], *values: Scalars) -> Scalars:
    """`function` of single values, or of the entries of object arrays."""
    if any(isinstance(v, np.ndarray) for v in values):
        return np.frompyfunc(function, len(values), 1)(*values)
    return function(*values)


def _traced(values: tuple[Scalars, ...]) -> bool:
    return any(isinstance(v, Expr) or (isinstance(v, np.ndarray) and v.dtype == object) for v in values)


def _function(name: str, doc: str) -> Callable[..., Any]:
    def apply(*values: Scalars) -> Scalars:
        if _traced(values):
            return _each(lambda *v: call(name, *v), *values)
        return NUMPY[name](*[np.asarray(v) for v in values])

    apply.__name__, apply.__doc__ = name, doc
    return apply


exp = _function("exp", "e to the power of x.")
exp2 = _function("exp2", "2 to the power of x.")
log = _function("log", "The natural logarithm.")
log2 = _function("log2", "The logarithm to base 2.")
sqrt = _function("sqrt", "The square root.")
rsqrt = _function("inverseSqrt", "1 over the square root.")
sin = _function("sin", "The sine.")
cos = _function("cos", "The cosine.")
tanh = _function("tanh", "The hyperbolic tangent.")
floor = _function("floor", "The greatest whole number that is not greater.")
fma = _function("fma", "a * b + c, rounded once where the device can.")
minimum = _function("min", "The smaller of two; which one where one is NaN, the device decides.")
maximum = _function("max", "The greater of two; which one where one is NaN, the device decides.")
nan_minimum = _function("nan_min", "The smaller of two; NaN where one is NaN.")
nan_maximum = _function("nan_max", "The greater of two; NaN where one is NaN.")
absolute = _function("abs", "The magnitude.")
power = _function("pow", "x to the power of y, for x >= 0.")


def select(condition: Scalars, then: Scalars, other: Scalars) -> Scalars:
    """`then` where the condition holds, else `other`; both are computed."""
    if not _traced((condition, then, other)):
        return np.where(condition, then, other)  # type: ignore[call-overload]

    def choose(c: object, a: object, b: object) -> Expr:
        like = next((v.dtype for v in (a, b) if isinstance(v, Expr)), None)
        if like is None:
            raise KernelError(f"{user_place()}: gpu.select of two numbers: give one a type with gpu.constant")
        return select_expr(as_expr(c, bool_), as_expr(a, like), as_expr(b, like))  # type: ignore[arg-type]

    return _each(choose, condition, then, other)


def cast(value: Scalars, dtype: object) -> Scalars:
    """`value` converted to an element type."""
    kind = gpu_dtype(dtype)
    if not _traced((value,)):
        return np.asarray(value).astype(kind.numpy)
    return _each(lambda v: cast_expr(v, kind), value)


def constant(value: float, dtype: object) -> Expr:
    """A number with an element type."""
    return as_expr(value, gpu_dtype(dtype))


def _subgroup(name: str, doc: str) -> Callable[..., Any]:
    def apply(value: Scalars, *lane: Scalars) -> Scalars:
        trace = current(f"gpu.{apply.__name__}")
        return _each(lambda v, *w: trace.let("lanes", call(name, v, *w), uniform=False), value, *lane)

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


def _atomic(op: str, doc: str) -> Callable[[Tensor, object, Scalars], Expr]:
    def apply(tensor: Tensor, crd: object, value: Scalars) -> Expr:
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
