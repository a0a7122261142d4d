"""GPU kernels over tensors: written in Python, printed as WGSL, run by wgpu or by the NumPy interpreter.

Inside a `@kernel`, `workgroup.x`, `thread`, `lane`, `subgroup`, `subgroup_size` are values of the running invocation.
"""

from difflib import get_close_matches as _close_to
from types import ModuleType as _ModuleType
from typing import Any as _Any

from ..ops.functions import BY_WGSL as _BY_WGSL
from ..ops.functions import IN_KERNELS as _IN_KERNELS
from ..ops.functions import NAMED as _NAMED
from ..tensor.dtypes import DTYPES as _DTYPES
from .array import DeviceEngine as DeviceEngine
from .array import array as array
from .array import empty as empty
from .ir import Expr as Expr
from .ir import Kernel as Kernel
from .library import OnDevice as OnDevice
from .matmul_matrices import MatrixPlan as MatrixPlan
from .multiply import explain_matmul as explain_matmul
from .multiply import matmul as matmul
from .operations.copies import copy as copy
from .operations.pointwise import Pointwise as Pointwise
from .operations.pointwise import pointwise as pointwise
from .operations.reductions import all as all
from .operations.reductions import any as any
from .operations.reductions import argmax as argmax
from .operations.reductions import argmin as argmin
from .operations.reductions import cumprod as cumprod
from .operations.reductions import cumsum as cumsum
from .operations.reductions import logsumexp as logsumexp
from .operations.reductions import max as max
from .operations.reductions import mean as mean
from .operations.reductions import min as min
from .operations.reductions import norm as norm
from .operations.reductions import prod as prod
from .operations.reductions import std as std
from .operations.reductions import sum as sum
from .operations.reductions import var as var
from .operations.softmax import softmax as softmax
from .plan import Plan as Plan
from .runtime import Adapter as Adapter
from .runtime import adapters as adapters
from .runtime import default_device as default_device
from .runtime import open_device as open_device
from .trace import language as _language
from .trace.accesses import atomic_add as atomic_add
from .trace.accesses import atomic_and as atomic_and
from .trace.accesses import atomic_compare_exchange as atomic_compare_exchange
from .trace.accesses import atomic_exchange as atomic_exchange
from .trace.accesses import atomic_load as atomic_load
from .trace.accesses import atomic_max as atomic_max
from .trace.accesses import atomic_min as atomic_min
from .trace.accesses import atomic_or as atomic_or
from .trace.accesses import atomic_store as atomic_store
from .trace.accesses import atomic_sub as atomic_sub
from .trace.accesses import atomic_xor as atomic_xor
from .trace.accesses import load as load
from .trace.accesses import store as store
from .trace.collectives import workgroup_argmax as workgroup_argmax
from .trace.collectives import workgroup_argmin as workgroup_argmin
from .trace.collectives import workgroup_reduce as workgroup_reduce
from .trace.collectives import workgroup_scan as workgroup_scan
from .trace.complex import Complex as Complex
from .trace.convert import convert as convert
from .trace.functions import bitcast as bitcast
from .trace.functions import cast as cast
from .trace.functions import constant as constant
from .trace.functions import of_table as _of_table
from .trace.functions import select as select
from .trace.functions import subgroup_add as subgroup_add
from .trace.functions import subgroup_all as subgroup_all
from .trace.functions import subgroup_any as subgroup_any
from .trace.functions import subgroup_ballot as subgroup_ballot
from .trace.functions import subgroup_broadcast as subgroup_broadcast
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
from .trace.kernel import KernelFunction as KernelFunction
from .trace.kernel import kernel as kernel
from .trace.language import at_most as at_most
from .trace.language import barrier as barrier
from .trace.language import launch as launch
from .trace.language import loop as loop
from .trace.language import note as note
from .trace.language import shared as shared
from .trace.language import solve as solve
from .trace.language import unroll as unroll
from .trace.language import when as when
from .trace.language import workgroup as workgroup
from .trace.printing import print as print
from .trace.rows import reduce_columns as reduce_columns
from .trace.rows import reduce_rows as reduce_rows
from .tuner import Tuning as Tuning
from .tuner import tune as tune

lane: Expr
subgroup: Expr
subgroup_size: Expr
thread: Expr
_IDS = ("lane", "subgroup", "subgroup_size", "thread")


def __dir__() -> list[str]:
    own = {name for name, value in globals().items() if name[0] != "_" and not isinstance(value, _ModuleType)}
    return sorted({*own, *_IDS, *_IN_KERNELS})


def __getattr__(name: str) -> _Any:
    if name in _IDS:
        return getattr(_language, name)()
    if name in _IN_KERNELS:
        return _of_table(_IN_KERNELS[name])
    meant = _BY_WGSL.get(name) or _NAMED.get(name)
    near = [meant.in_kernels] if meant else _close_to(name, __dir__(), 1, cutoff=0.75)
    if name in _DTYPES:
        near = [f"cast(value, {name!r})", f"cutepy.tensor.{name}"]
    hint = f"; is it {' or '.join(map(repr, near))}?" if near else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
