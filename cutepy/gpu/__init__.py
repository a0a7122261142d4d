"""GPU kernels over tensors: written in Python, printed as WGSL, run by wgpu or by the NumPy interpreter.

Inside a `@kernel`, `workgroup.x`, `thread`, `lane`, `subgroup`, `subgroup_size` are values of the running invocation.

For those who write operations of their own there are the fold language (`Fold`, `ArgFold`), functions of elements by
their records (`apply_function`, `abstract_eval`), the cache of recorded launches (`cached_launches`, `CallCache`,
`static_type`) and what a device can do (`Limits`, `workgroup_bytes`). The operations and matrix products of this
package are written with the public names alone, and are loaded when they are first used.
"""

from difflib import get_close_matches as _close_to
from sys import modules as _modules
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING
from typing import Any as _Any

# isort: off
# fmt: off
from ..errors import refusing as _refusing
from ..layout.values.followed import choice
from ..lazy import lazy_exports as _lazy_exports
from ..tensor.dtypes import DTYPES as _DTYPES
from ..tensor.functions import IN_KERNELS as _IN_KERNELS
from ..tensor.functions import IR_FUNCTIONS as _IR_FUNCTIONS
from ..tensor.functions import NAMED as _NAMED
from ..tensor.functions import made_of as _made_of
from .ir import Expr, Kernel
from .ir.functions import apply_function
from .ir.stmt import workgroup_bytes
from .language import control as _language
from .language.assume import assume
from .language.atomics import (
    atomic_add, atomic_and, atomic_compare_exchange, atomic_exchange, atomic_load, atomic_max, atomic_min, atomic_or,
    atomic_store, atomic_sub, atomic_xor, load, store,
)
from .language.collectives import workgroup_argmax, workgroup_argmin, workgroup_reduce, workgroup_scan
from .language.control import (
    at_most, barrier, in_order, launch, loop, note, shared, solve, uniform, unroll, when, workgroup,
)
from .language.convert import convert
from .language.folds import ArgFold, Fold
from .language.functions import (
    abstract_eval, bitcast, cast, constant, select, subgroup_add, subgroup_all, subgroup_any, subgroup_ballot,
    subgroup_broadcast, subgroup_broadcast_first, subgroup_exclusive_add, subgroup_inclusive_add, subgroup_max,
    subgroup_min, subgroup_mul, subgroup_shuffle, subgroup_shuffle_down, subgroup_shuffle_up, subgroup_shuffle_xor,
)
from .language.functions import of_table as _of_table
from .language.mma_reductions import reduce_columns, reduce_rows
from .language.printing import print
from .language.ragged import ragged
from .runtime import Adapter, Device, Limits, adapters, default_device, open_device
from .runtime.call_cache import CallCache, cached_launches, static_type
from .runtime.deferral import Deferral
from .runtime.device_tensor import DeviceEngine, array, awaited_by, deferred_engine, empty
from .runtime.profile import Profile, profile
from .runtime.recording import Recording, record
from .runtime.timing import Trial, Tuning
from .targets.export import Export, ExportedFunction, export
from .targets.wgsl import Dialect
from .targets.wgsl_tokens import spelling as _spelling
from .trace.complex import Complex
from .trace.kernel import KernelFunction, kernel
# fmt: on
# isort: on

if TYPE_CHECKING:
    from .fusion import Fused, fused
    from .matmul import MatrixPlan, Plan, explain_matmul, tune
    from .operations.copies import copy
    from .operations.pointwise import Pointwise, pointwise

_ROOMS = {
    "fusion": "Fused fused",
    "matmul": "MatrixPlan Plan explain_matmul tune",
    "operations.copies": "copy",
    "operations.pointwise": "Pointwise pointwise",
}
_LAZY = frozenset(" ".join(_ROOMS.values()).split())
_operation = _lazy_exports(__name__, _ROOMS)
lane: Expr
subgroup: Expr
subgroup_size: Expr
thread: Expr
_OPERATIONS = frozenset(
    "sum prod mean max min any all argmax argmin var std logsumexp norm cumsum cumprod softmax matmul".split()
)
"""What `cutepy.ops` computes, with `engine="wgpu"` on a device: its names are no names of the kernel language."""
_IDS = ("lane", "subgroup", "subgroup_size", "thread")
"""What has a value inside a kernel alone: `__all__`, of which a star import asks each name, has none of them."""


class _GpuModule(_ModuleType):
    """`cutepy.gpu`, whose room `matmul` is no attribute: who calls `gpu.matmul` is told what to write instead."""

    @property
    def matmul(self) -> _Any:
        return __getattr__("matmul")

    @matmul.setter
    def matmul(self, _room: object) -> None:
        """An import of the room binds nothing."""


_modules[__name__].__class__ = _GpuModule


def __dir__() -> list[str]:
    return sorted({*__all__, *_IDS, *_IN_KERNELS})


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        value = globals()[name] = _operation(name)
        return value
    if name in _IDS:
        return getattr(_language, name)()
    if name in _IN_KERNELS:
        return _of_table(_IN_KERNELS[name])
    if name in _OPERATIONS:
        raise AttributeError(f"gpu.{name}: operations on arrays are in cutepy.ops; write ops.{name}(x, engine='wgpu')")
    meant = {_spelling(known): function for known, function in _IR_FUNCTIONS.items()}.get(name) or _NAMED.get(name)
    if meant is None and (formula := _made_of(name, "gpu")):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; write {formula}")
    near = [meant.in_kernels] if meant else _close_to(name, __dir__(), 1, cutoff=0.75)
    if name in _DTYPES:
        near = [f"cast(value, {name!r})", f"cutepy.tensor.{name}"]
    hint = f"; is it {' or '.join(map(repr, near))}?" if near else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


__all__ = [
    "Adapter", "ArgFold", "CallCache", "Complex", "Deferral", "Device", "DeviceEngine", "Dialect", "Export",
    "ExportedFunction", "Expr", "Fold", "Fused", "Kernel", "KernelFunction", "Limits", "MatrixPlan", "Plan",
    "Pointwise", "Profile", "Recording", "Trial", "Tuning", "abstract_eval", "adapters", "apply_function", "array",
    "assume",
    "at_most", "atomic_add", "atomic_and", "atomic_compare_exchange", "atomic_exchange", "atomic_load",
    "atomic_max", "atomic_min", "atomic_or", "atomic_store", "atomic_sub", "atomic_xor", "awaited_by", "barrier",
    "bitcast", "cached_launches", "cast", "choice", "constant", "convert", "copy", "default_device",
    "deferred_engine", "empty", "explain_matmul", "export", "fused", "in_order", "kernel", "launch", "load",
    "loop", "note", "open_device", "pointwise", "print", "profile", "ragged", "record", "reduce_columns",
    "reduce_rows", "select", "shared", "solve", "static_type", "store", "subgroup_add", "subgroup_all",
    "subgroup_any", "subgroup_ballot", "subgroup_broadcast", "subgroup_broadcast_first", "subgroup_exclusive_add",
    "subgroup_inclusive_add", "subgroup_max", "subgroup_min", "subgroup_mul", "subgroup_shuffle",
    "subgroup_shuffle_down", "subgroup_shuffle_up", "subgroup_shuffle_xor", "tune",
    "uniform", "unroll", "when", "workgroup", "workgroup_argmax", "workgroup_argmin", "workgroup_bytes",
    "workgroup_reduce", "workgroup_scan",
]  # fmt: skip
_refusing(globals(), ["array", "empty", "open_device", "static_type"])
