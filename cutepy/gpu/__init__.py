"""GPU kernels over tensors: written in Python, printed as WGSL, run by wgpu or by the NumPy interpreter.

Inside a `@kernel`, `workgroup.x`, `thread`, `lane`, `subgroup`, `subgroup_size` are values of the running invocation.
"""

from difflib import get_close_matches as _close_to
from types import ModuleType as _ModuleType
from typing import Any as _Any

from ..tensor.dtypes import DTYPES as _DTYPES
from ..tensor.functions import IN_KERNELS as _IN_KERNELS
from ..tensor.functions import IR_FUNCTIONS as _IR_FUNCTIONS
from ..tensor.functions import NAMED as _NAMED
from .ir import Expr, Kernel
from .language import control as _language
from .language.atomics import (
    atomic_add,
    atomic_and,
    atomic_compare_exchange,
    atomic_exchange,
    atomic_load,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_store,
    atomic_sub,
    atomic_xor,
    load,
    store,
)
from .language.collectives import workgroup_argmax, workgroup_argmin, workgroup_reduce, workgroup_scan
from .language.control import at_most, barrier, launch, loop, note, shared, solve, unroll, when, workgroup
from .language.convert import convert
from .language.functions import (
    bitcast,
    cast,
    constant,
    select,
    subgroup_add,
    subgroup_all,
    subgroup_any,
    subgroup_ballot,
    subgroup_broadcast,
    subgroup_broadcast_first,
    subgroup_exclusive_add,
    subgroup_inclusive_add,
    subgroup_max,
    subgroup_min,
    subgroup_mul,
    subgroup_shuffle,
    subgroup_shuffle_down,
    subgroup_shuffle_up,
    subgroup_shuffle_xor,
)
from .language.functions import of_table as _of_table
from .language.mma_reductions import reduce_columns, reduce_rows
from .language.printing import print
from .matmul.api import explain_matmul
from .matmul.kernel_subgroup import MatrixPlan
from .matmul.plan import Plan
from .matmul.tuner import Tuning, tune
from .operations.copies import copy
from .operations.pointwise import Pointwise, pointwise
from .runtime import Adapter, adapters, default_device, open_device
from .runtime.device_tensor import DeviceEngine, array, empty, zeros
from .targets.wgsl import Dialect
from .targets.wgsl_tokens import spelling as _spelling
from .trace.complex import Complex
from .trace.kernel import KernelFunction, kernel

lane: Expr
subgroup: Expr
subgroup_size: Expr
thread: Expr
_OPERATIONS = frozenset(
    "sum prod mean max min any all argmax argmin var std logsumexp norm cumsum cumprod softmax matmul".split()
)
"""What `cutepy.ops` computes, with `engine="wgpu"` on a device: its names are no names of the kernel language."""
del globals()["matmul"]  # the room, which an import has bound here: a call says what to write instead
_IDS = ("lane", "subgroup", "subgroup_size", "thread")


def __dir__() -> list[str]:
    own = {name for name, value in globals().items() if name[0] != "_" and not isinstance(value, _ModuleType)}
    return sorted({*own, *_IDS, *_IN_KERNELS})


def __getattr__(name: str) -> _Any:
    if name in _IDS:
        return getattr(_language, name)()
    if name in _IN_KERNELS:
        return _of_table(_IN_KERNELS[name])
    if name in _OPERATIONS:
        raise AttributeError(f"gpu.{name}: operations on arrays are in cutepy.ops; write ops.{name}(x, engine='wgpu')")
    meant = {_spelling(known): function for known, function in _IR_FUNCTIONS.items()}.get(name) or _NAMED.get(name)
    near = [meant.in_kernels] if meant else _close_to(name, __dir__(), 1, cutoff=0.75)
    if name in _DTYPES:
        near = [f"cast(value, {name!r})", f"cutepy.tensor.{name}"]
    hint = f"; is it {' or '.join(map(repr, near))}?" if near else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


__all__ = [
    "Adapter", "Complex", "DeviceEngine", "Dialect", "Expr", "Kernel", "KernelFunction", "MatrixPlan", "Plan",
    "Pointwise", "Tuning", "adapters", "array", "at_most", "atomic_add", "atomic_and", "atomic_compare_exchange",
    "atomic_exchange", "atomic_load", "atomic_max", "atomic_min", "atomic_or", "atomic_store", "atomic_sub",
    "atomic_xor", "barrier", "bitcast", "cast", "constant", "convert", "copy", "default_device", "empty",
    "explain_matmul", "kernel", "lane", "launch", "load", "loop", "note", "open_device", "pointwise", "print",
    "reduce_columns", "reduce_rows", "select", "shared", "solve", "store", "subgroup", "subgroup_add", "subgroup_all",
    "subgroup_any", "subgroup_ballot", "subgroup_broadcast", "subgroup_broadcast_first", "subgroup_exclusive_add",
    "subgroup_inclusive_add", "subgroup_max", "subgroup_min", "subgroup_mul", "subgroup_shuffle",
    "subgroup_shuffle_down", "subgroup_shuffle_up", "subgroup_shuffle_xor", "subgroup_size", "thread", "tune",
    "unroll", "when", "workgroup", "workgroup_argmax", "workgroup_argmin", "workgroup_reduce", "workgroup_scan",
    "zeros",
]  # fmt: skip
