"""Operations on tensors: pointwise, reductions, movement, creation, contractions, by the rules of `tensor.rules`.

Operands are tensors, arrays, or Python numbers (weak in type); results are tensors. NumPy computes on the host; where
an operand is on a device, that device does, and the result is there; `engine=` asks for another.
"""

from collections.abc import Callable as _Callable
from difflib import get_close_matches as _close_to
from types import ModuleType as _ModuleType

from ..errors import refusing as _refusing
from ..gpu import cached_launches as _cached_launches
from ..tensor import Tensor as _Tensor
from ..tensor import functions
from .contraction import dot, einsum, fused_multiply_add, matmul, tensordot
from .indexing import assigned, indexed
from .movement import (
    arange,
    asarray,
    concat,
    contiguous,
    crop,
    expand,
    flip,
    full,
    linspace,
    matrix_transpose,
    ones,
    pad,
    permute,
    randn,
    ravel,
    reshape,
    stack,
    take,
    zeros,
)
from .pointwise import astype, clip
from .pointwise import operation as _operation
from .reductions import (
    all,
    any,
    argmax,
    argmin,
    cumprod,
    cumsum,
    logsumexp,
    max,
    mean,
    min,
    norm,
    prod,
    softmax,
    std,
    sum,
    var,
)

ARRAY_API_VERSIONS = ("2024.12",)
"""Versions of the array API standard by which `Tensor.__array_namespace__` names this module."""


def named_as(name: str) -> _Callable[..., _Tensor] | None:
    """The operation that has the name of a function of NumPy, if there is one."""
    return None if name in ("where", "clip") or name not in {*functions.NAMED, "matmul"} else _get(name)


def _get(name: str) -> _Callable[..., _Tensor]:
    found: _Callable[..., _Tensor] = globals().get(name) or __getattr__(name)
    return found


def __dir__() -> list[str]:
    own = {name for name, value in globals().items() if name[0] != "_" and not isinstance(value, _ModuleType)}
    return sorted({*own, *functions.NAMED})


def __getattr__(name: str) -> _Callable[..., _Tensor]:
    if name in functions.NAMED:
        globals()[name] = _operation(functions.NAMED[name])
        _refusing(globals(), [name])
        made: _Callable[..., _Tensor] = globals()[name]
        return made
    near = _close_to(name, __dir__(), 1, cutoff=0.75) if name[:1] != "_" else []
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + "".join(f"; is it {n!r}?" for n in near))


__all__ = [
    "all", "any", "arange", "argmax", "argmin", "asarray", "assigned", "astype", "clip", "concat", "contiguous",
    "crop", "cumprod", "cumsum", "dot", "einsum", "expand", "flip", "full", "fused_multiply_add", "indexed",
    "linspace", "logsumexp", "matmul", "matrix_transpose", "max", "mean", "min", "norm", "ones", "pad", "permute",
    "prod", "randn", "ravel", "reshape", "softmax", "stack", "std", "sum", "take", "tensordot", "var", "zeros",
]  # fmt: skip
for _name in (
    "all", "any", "argmax", "argmin", "cumprod", "cumsum", "dot", "einsum", "fused_multiply_add", "logsumexp", "matmul",
    "max", "mean", "min", "norm", "prod", "softmax", "std", "sum", "take", "tensordot", "var",
):  # fmt: skip
    globals()[_name] = _cached_launches(globals()[_name])  # one look-up for all that a call asks
_refusing(globals(), __all__)
METHODS = frozenset({*functions.NAMED, *__all__}) - {
    "arange", "asarray", "assigned", "concat", "einsum", "full", "indexed", "linspace", "ones", "randn", "stack",
    "where", "zeros",
}  # fmt: skip
"""The operations of which the first operand is a tensor: `t.f(...)` is `f(t, ...)`."""
