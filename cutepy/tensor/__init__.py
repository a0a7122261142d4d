"""Tensors: an engine (where the elements are) and a layout (in which order), and algorithms written once over both.

For those who write operations on arrays there are `rules` (types, broadcasting and axes as NumPy has them), `functions`
(the table of functions of elements), `as_tensor` and `from_array` (operands), and the axes of a tensor as layouts
(`mode_layouts`, `with_layout`, `broadcast_to`, `broadcast_modes`, `least_strides`, `is_row_major`).
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from ..errors import refusing as _refusing

# isort: off
# fmt: off
from . import rules
from .algorithms import axpby, clear, cooperative_copy, copy, copy_if, elem_less, fill, reduce, reduce_tree, transform
from .atoms import COPY_ATOMS, FMA, MMA_ATOMS, CopyAtom, MMAAtom, subgroup_matrix, universal_copy
from .bulk import common_refinement, leaf_view, load_all, mode_sizes, strided_modes, strided_view
from .domain import broadcast_modes, broadcast_to, is_row_major, least_strides, mode_layouts, with_layout
from .dtypes import (
    DTYPES, DType, as_dtype, bool_, c64, c128, f16, f32, f64, gpu_dtype, i8, i16, i32, i64, u8,
    u16, u32, u64,
)
from .engine import (
    Array, ArrayEngine, CoordinateEngine, CountingEngine, Engine, Scalars, ViewEngine,
    allocate, fit_values, offset_of,
)
from .gemm import gemm
from .make import (
    make_counting_tensor, make_fragment_like, make_gmem_ptr, make_identity_tensor, make_rmem_ptr, make_smem_ptr,
    make_tensor, make_tensor_like, recast, view_of,
)
from .operand import TensorLike, as_tensor, from_array
from .packed import PackedEngine
from .padded import padded
from .partition import (
    inner_partition, invert_tv, local_partition, local_tile, make_layout_tv, outer_partition, thread_value_partition,
)
from .tensor import Tensor, TensorIndexError
from .tiled import (
    ThreadCopy, ThreadMMA, TiledCopy, TiledMMA, make_tiled_copy, make_tiled_copy_A, make_tiled_copy_B,
    make_tiled_copy_C, make_tiled_copy_tv, make_tiled_mma,
)
# fmt: on
# isort: on

if TYPE_CHECKING:
    from . import functions


def __getattr__(name: str) -> _Any:
    if name == "functions":  # the table names NumPy's functions, so it is loaded when it is asked for
        return _import_module(f"{__name__}.functions")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "COPY_ATOMS", "DTYPES", "FMA", "MMA_ATOMS", "Array", "ArrayEngine", "CoordinateEngine", "CopyAtom",
    "CountingEngine", "DType", "Engine", "MMAAtom", "PackedEngine", "Scalars", "Tensor", "TensorIndexError",
    "TensorLike", "ThreadCopy", "ThreadMMA", "TiledCopy", "TiledMMA", "ViewEngine", "allocate", "as_dtype", "as_tensor",
    "axpby", "bool_", "broadcast_modes", "broadcast_to", "c64", "c128", "clear", "common_refinement",
    "cooperative_copy", "copy", "copy_if", "elem_less", "f16", "f32", "f64", "fill", "fit_values", "from_array",
    "functions", "gemm", "gpu_dtype", "i8", "i16", "i32", "i64", "inner_partition", "invert_tv", "is_row_major",
    "leaf_view", "least_strides", "load_all", "local_partition", "local_tile", "make_counting_tensor",
    "make_fragment_like", "make_gmem_ptr", "make_identity_tensor", "make_layout_tv", "make_rmem_ptr", "make_smem_ptr",
    "make_tensor", "make_tensor_like", "make_tiled_copy", "make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C",
    "make_tiled_copy_tv", "make_tiled_mma", "mode_layouts", "mode_sizes", "offset_of", "outer_partition", "padded",
    "recast", "reduce", "reduce_tree", "rules", "strided_modes", "strided_view", "subgroup_matrix",
    "thread_value_partition", "transform", "u8", "u16", "u32", "u64", "universal_copy", "view_of", "with_layout",
]  # fmt: skip

CALL_USERS = ("reduce", "reduce_tree", "transform")
"""Functions that call one of the user's, whose errors are the user's own."""

_refusing(globals(), [name for name in __all__ if name not in CALL_USERS and name in globals()])
