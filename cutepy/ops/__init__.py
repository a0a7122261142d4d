"""Operations on tensors: pointwise, reductions, movement, creation, contractions, by the rules that `rules` lists.

Operands are tensors, arrays, or Python numbers (weak in type); results are tensors. NumPy computes on the host; where
an operand is on a device, that device does, and the result is there.
"""

from collections.abc import Callable as _Callable
from difflib import get_close_matches as _close_to
from types import ModuleType as _ModuleType

from ..tensor.tensor import Tensor as _Tensor
from .contraction import dot as dot
from .contraction import einsum as einsum
from .contraction import fused_multiply_add as fused_multiply_add
from .contraction import matmul as matmul
from .contraction import tensordot as tensordot
from .functions import NAMED as _NAMED
from .movement import arange as arange
from .movement import crop as crop
from .movement import expand as expand
from .movement import flip as flip
from .movement import full as full
from .movement import linspace as linspace
from .movement import ones as ones
from .movement import pad as pad
from .movement import permute as permute
from .movement import randn as randn
from .movement import reshape as reshape
from .movement import zeros as zeros
from .pointwise import astype as astype
from .pointwise import operation as _operation
from .reductions import all as all
from .reductions import any as any
from .reductions import argmax as argmax
from .reductions import argmin as argmin
from .reductions import cumprod as cumprod
from .reductions import cumsum as cumsum
from .reductions import logsumexp as logsumexp
from .reductions import max as max
from .reductions import mean as mean
from .reductions import min as min
from .reductions import norm as norm
from .reductions import prod as prod
from .reductions import softmax as softmax
from .reductions import std as std
from .reductions import sum as sum
from .reductions import var as var


def __dir__() -> list[str]:
    own = {name for name, value in globals().items() if name[0] != "_" and not isinstance(value, _ModuleType)}
    return sorted({*own, *_NAMED})


def __getattr__(name: str) -> _Callable[..., _Tensor]:
    if name in _NAMED:
        return _operation(_NAMED[name])
    near = _close_to(name, __dir__(), 1, cutoff=0.75) if name[:1] != "_" else []
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + "".join(f"; is it {n!r}?" for n in near))
