"""Operations on tensors: pointwise, reductions, movement, creation, contractions, by the rules of `tensor.rules`.

Operands are tensors, arrays, or Python numbers (weak in type); results are tensors. NumPy computes on the host; where
an operand is on a device, that device does, and the result is there; `engine=` asks for another.
"""

from collections.abc import Callable as _Callable
from difflib import get_close_matches as _close_to
from types import ModuleType as _ModuleType

from ..errors import refusing as _refusing
from ..gpu import cached_launches as _cached_launches
from ..tensor import DTYPES as _DTYPES
from ..tensor import Tensor as _Tensor
from ..tensor import functions

# isort: off
# fmt: off
from .contraction import dot, einsum, fused_multiply_add, matmul, tensordot, vecdot
from .creation import (
    arange, asarray, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid, ones, ones_like, randn,
    zeros, zeros_like,
)
from .indexing import assigned, indexed
from .manipulation import (
    broadcast_arrays, diagonal, diff, expand_dims, moveaxis, repeat, roll, squeeze, tile, tril, triu, unstack,
)
from .movement import (
    concat, contiguous, crop, expand, flip, matrix_transpose, pad, permute, ravel, reshape, stack, take,
)
from .pointwise import astype, clip, conj, imag, isclose, positive, real
from .pointwise import operation as _operation
from .reductions import (
    all, any, argmax, argmin, count_nonzero, cummax, cummin, cumprod, cumsum, cumulative_prod, cumulative_sum,
    log_softmax, logsumexp, max, mean, min, norm, prod, scan, softmax, std, sum, var,
)
from .sorting import argsort, searchsorted, sort, take_along_axis, top_k
from .standard import __array_namespace_info__ as __array_namespace_info__
from .standard import broadcast_shapes, can_cast, finfo, iinfo, isdtype, result_type
# fmt: on
# isort: on

bool, float16, float32, float64, complex64, complex128 = (_DTYPES[n] for n in "bool f16 f32 f64 c64 c128".split())
int8, int16, int32, int64 = (_DTYPES[n] for n in "i8 i16 i32 i64".split())
uint8, uint16, uint32, uint64 = (_DTYPES[n] for n in "u8 u16 u32 u64".split())
permute_dims, broadcast_to = permute, expand
e, inf, nan, newaxis, pi = 2.718281828459045, float("inf"), float("nan"), None, 3.141592653589793

ARRAY_API_VERSIONS = ("2024.12",)
"""Versions of the array API standard by which `Tensor.__array_namespace__` names this module."""


def named_as(name: str) -> _Callable[..., _Tensor] | None:
    """The operation that has the name of a function of NumPy, if there is one."""
    return None if name in ("where", "clip") or name not in {*functions.NAMED, "matmul"} else _get(name)


def _get(name: str) -> _Callable[..., _Tensor]:
    return globals().get(name) or __getattr__(name)


def __dir__() -> list[str]:
    own = {name for name, value in globals().items() if name[0] != "_" and not isinstance(value, _ModuleType)}
    return sorted({*own, *functions.NAMED})


def __getattr__(name: str) -> _Callable[..., _Tensor]:
    if name in functions.NAMED:
        globals()[name] = _operation(functions.NAMED[name])
        _refusing(globals(), [name])
        made: _Callable[..., _Tensor] = globals()[name]
        return made
    if formula := functions.made_of(name, "ops"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; write {formula}")
    near = _close_to(name, __dir__(), 1, cutoff=0.75) if name[:1] != "_" else []
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + "".join(f"; is it {n!r}?" for n in near))


__all__ = [
    "all", "any", "arange", "argmax", "argmin", "argsort", "asarray", "assigned", "astype", "broadcast_arrays",
    "broadcast_shapes", "broadcast_to", "can_cast", "clip", "concat", "conj", "contiguous", "count_nonzero", "crop",
    "cummax", "cummin", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "diagonal", "diff", "dot",
    "einsum", "empty", "empty_like", "expand", "expand_dims", "eye", "finfo", "flip", "from_dlpack", "full",
    "full_like", "fused_multiply_add", "iinfo", "imag", "indexed", "isclose", "isdtype", "linspace", "log_softmax",
    "logsumexp", "matmul", "matrix_transpose", "max", "mean", "meshgrid", "min", "moveaxis", "norm", "ones",
    "ones_like", "pad", "permute", "permute_dims", "positive", "prod", "randn", "ravel", "real", "repeat",
    "reshape", "result_type", "roll", "scan", "searchsorted", "softmax", "sort", "squeeze", "stack", "std", "sum",
    "take", "take_along_axis", "tensordot", "tile", "top_k", "tril", "triu", "unstack", "var", "vecdot", "zeros",
    "zeros_like",
]  # fmt: skip
for _name in (
    "argmax", "argmin", "cummax", "cummin", "cumprod", "cumsum", "dot", "einsum", "fused_multiply_add", "logsumexp",
    "softmax", "std", "take", "tensordot", "var",
):  # fmt: skip
    globals()[_name] = _cached_launches(globals()[_name])  # one look-up for all that a call asks
for _name in ("all", "any", "matmul", "max", "mean", "min", "norm", "prod", "sum"):
    globals()[_name] = _cached_launches(deferred=True)(globals()[_name])  # `gpu.fused` may take the call
_refusing(globals(), __all__)
METHODS = frozenset({*functions.NAMED, *__all__}) - {
    "arange", "asarray", "assigned", "broadcast_arrays", "broadcast_shapes", "can_cast", "concat", "einsum",
    "empty", "empty_like", "eye", "finfo", "from_dlpack", "full", "full_like", "iinfo", "indexed", "isdtype",
    "linspace", "meshgrid", "ones", "ones_like", "randn", "result_type", "scan", "stack", "where", "zeros",
    "zeros_like",
}  # fmt: skip
"""The operations of which the first operand is a tensor: `t.f(...)` is `f(t, ...)`."""
