"""GPU kernels over tensors: written in Python, printed as WGSL, run by wgpu or by the NumPy interpreter.

Inside a `@kernel`, `workgroup.x`, `thread`, `lane`, `subgroup`, `subgroup_size` are values of the running invocation.
"""

from difflib import get_close_matches as _close_to
from types import ModuleType as _ModuleType

from .array import DeviceEngine as DeviceEngine
from .array import array as array
from .array import empty as empty
from .ir import Expr as Expr
from .ir import Kernel as Kernel
from .ir.operators import BY_WGSL as _BY_WGSL
from .library import OnDevice as OnDevice
from .matmul import Plan as Plan
from .matmul import matmul as matmul
from .operations.copies import copy as copy
from .operations.pointwise import Pointwise as Pointwise
from .operations.pointwise import pointwise as pointwise
from .operations.reductions import all as all
from .operations.reductions import any as any
from .operations.reductions import argmax as argmax
from .operations.reductions import argmin as argmin
from .operations.reductions import max as max
from .operations.reductions import mean as mean
from .operations.reductions import min as min
from .operations.reductions import prod as prod
from .operations.reductions import sum as sum
from .operations.softmax import softmax as softmax
from .runtime import Adapter as Adapter
from .runtime import adapters as adapters
from .runtime import default_device as default_device
from .runtime import open_device as open_device
from .trace import language as _language
from .trace.functions import absolute as absolute
from .trace.functions import arccos as arccos
from .trace.functions import arccosh as arccosh
from .trace.functions import arcsin as arcsin
from .trace.functions import arcsinh as arcsinh
from .trace.functions import arctan as arctan
from .trace.functions import arctan2 as arctan2
from .trace.functions import arctanh as arctanh
from .trace.functions import atomic_add as atomic_add
from .trace.functions import atomic_and as atomic_and
from .trace.functions import atomic_exchange as atomic_exchange
from .trace.functions import atomic_max as atomic_max
from .trace.functions import atomic_min as atomic_min
from .trace.functions import atomic_or as atomic_or
from .trace.functions import atomic_sub as atomic_sub
from .trace.functions import atomic_xor as atomic_xor
from .trace.functions import cast as cast
from .trace.functions import ceil as ceil
from .trace.functions import clip as clip
from .trace.functions import constant as constant
from .trace.functions import cos as cos
from .trace.functions import cosh as cosh
from .trace.functions import exp as exp
from .trace.functions import exp2 as exp2
from .trace.functions import floor as floor
from .trace.functions import fma as fma
from .trace.functions import fract as fract
from .trace.functions import log as log
from .trace.functions import log2 as log2
from .trace.functions import maximum as maximum
from .trace.functions import minimum as minimum
from .trace.functions import nan_maximum as nan_maximum
from .trace.functions import nan_minimum as nan_minimum
from .trace.functions import power as power
from .trace.functions import round as round
from .trace.functions import rsqrt as rsqrt
from .trace.functions import select as select
from .trace.functions import sign as sign
from .trace.functions import sin as sin
from .trace.functions import sinh as sinh
from .trace.functions import sqrt as sqrt
from .trace.functions import subgroup_add as subgroup_add
from .trace.functions import subgroup_broadcast_first as subgroup_broadcast_first
from .trace.functions import subgroup_exclusive_add as subgroup_exclusive_add
from .trace.functions import subgroup_inclusive_add as subgroup_inclusive_add
from .trace.functions import subgroup_max as subgroup_max
from .trace.functions import subgroup_min as subgroup_min
from .trace.functions import subgroup_mul as subgroup_mul
from .trace.functions import subgroup_shuffle as subgroup_shuffle
from .trace.functions import subgroup_shuffle_down as subgroup_shuffle_down
from .trace.functions import subgroup_shuffle_up as subgroup_shuffle_up
from .trace.functions import subgroup_shuffle_xor as subgroup_shuffle_xor
from .trace.functions import tan as tan
from .trace.functions import tanh as tanh
from .trace.functions import trunc as trunc
from .trace.kernel import KernelFunction as KernelFunction
from .trace.kernel import kernel as kernel
from .trace.language import barrier as barrier
from .trace.language import launch as launch
from .trace.language import loop as loop
from .trace.language import note as note
from .trace.language import shared as shared
from .trace.language import unroll as unroll
from .trace.language import when as when
from .trace.language import workgroup as workgroup

_IDS = ("lane", "subgroup", "subgroup_size", "thread")


def __dir__() -> list[str]:
    return sorted([*(n for n, v in globals().items() if n[0] != "_" and not isinstance(v, _ModuleType)), *_IDS])


def __getattr__(name: str) -> Expr:
    if name in _IDS:
        value: Expr = getattr(_language, name)()
        return value
    near = [_BY_WGSL[name].name] if name in _BY_WGSL else _close_to(name, __dir__(), 1, cutoff=0.75)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + "".join(f"; is it {n!r}?" for n in near))
