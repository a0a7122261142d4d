"""GPU kernels over tensors: written in Python, printed as WGSL, run by wgpu or by the NumPy interpreter.

Inside a `@kernel`, `workgroup.x`, `thread`, `lane`, `subgroup`, `subgroup_size` are values of the running invocation.
"""

from .array import DeviceEngine as DeviceEngine
from .array import array as array
from .array import empty as empty
from .ir import Expr as Expr
from .ir import Kernel as Kernel
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
from .trace.functions import atomic_add as atomic_add
from .trace.functions import atomic_and as atomic_and
from .trace.functions import atomic_exchange as atomic_exchange
from .trace.functions import atomic_max as atomic_max
from .trace.functions import atomic_min as atomic_min
from .trace.functions import atomic_or as atomic_or
from .trace.functions import atomic_sub as atomic_sub
from .trace.functions import atomic_xor as atomic_xor
from .trace.functions import cast as cast
from .trace.functions import constant as constant
from .trace.functions import cos as cos
from .trace.functions import exp as exp
from .trace.functions import exp2 as exp2
from .trace.functions import floor as floor
from .trace.functions import fma as fma
from .trace.functions import log as log
from .trace.functions import log2 as log2
from .trace.functions import maximum as maximum
from .trace.functions import minimum as minimum
from .trace.functions import nan_maximum as nan_maximum
from .trace.functions import nan_minimum as nan_minimum
from .trace.functions import power as power
from .trace.functions import rsqrt as rsqrt
from .trace.functions import select as select
from .trace.functions import sin as sin
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
from .trace.functions import tanh as tanh
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


def __getattr__(name: str) -> Expr:
    if name in ("thread", "lane", "subgroup", "subgroup_size"):
        value: Expr = getattr(_language, name)()
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
