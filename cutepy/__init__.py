"""cutepy: CuTe-style layout algebra, from a pasted layout to a proven, running GPU kernel and to its picture.

Layouts are loaded at once and need nothing but Python. Tensors, drawing and the modules `gpu` and `ops` are loaded when
they are first used, so that `import cutepy` loads neither NumPy nor SymPy nor wgpu.
"""

from typing import TYPE_CHECKING

# isort: off
# fmt: off
from .errors import (
    CompositionError, CoordinateError, CutepyError, DeviceError, DrawError, KernelError, LayoutError, NotationError,
    OperandError, TableError, TensorError, UndecidedError, VerificationError,
)
from .layout import (
    BitMap, Chained, ComposedLayout, E, IntTuple, Layout, LayoutLeft, LayoutRight, Swizzle, _, append, axis_layout,
    bank_conflicts, blocked_product, ceil_div, coalesce, compatible, complement, composition, conflict_free, congruent,
    convert, coprofile, coshape, cosize, crd2crd, crd2idx, depth, dice, divides, evenly_divides, explain, filter,
    filter_zeros, flat_divide, flat_product, flatten, free_bits, from_f2, get, group_modes, idx2crd, increment_coord,
    inner_product, is_bijective, is_contiguous, is_injective, is_surjective, left_inverse, logical_divide,
    logical_product, make_composed_layout, make_identity_layout, make_layout, make_layout_like, make_ordered_layout,
    nullspace, parse_layout, parse_parts, parse_tiler, prefix_product, prepend, product, product_each, quotient,
    raked_product, rank, replace, right_inverse, round_up, select, shape, shape_div, size, slice_, slice_and_offset,
    stride, take, tile_to_shape, tiled_divide, tiled_product, to_f2, touched_by, transactions, tuple_add, tuple_sub,
    unflatten, vectorised, weakly_congruent, who_owns, widest_copy, zipped_divide, zipped_product,
)
from .lazy import LazyModule, lazy_exports

if TYPE_CHECKING:
    from . import gpu, ops
    from .draw import draw
    from .layout import domain_offset, downcast, max_common_layout, max_common_vector, recast_layout, upcast
    from .tensor import (
        COPY_ATOMS, FMA, MMA_ATOMS, Tensor, TiledCopy, TiledMMA, axpby, bool_, clear, cooperative_copy, copy, copy_if,
        elem_less, f16, f32, fill, gemm, i32, inner_partition, local_partition, local_tile, make_counting_tensor,
        make_fragment_like, make_gmem_ptr, make_identity_tensor, make_layout_tv, make_rmem_ptr, make_smem_ptr,
        make_tensor, make_tensor_like, make_tiled_copy, make_tiled_mma, outer_partition, recast, reduce, reduce_tree,
        subgroup_matrix, thread_value_partition, transform, u32, universal_copy,
    )
else:
    draw, gpu, ops = (LazyModule(f"{__name__}.{name}") for name in ("draw", "gpu", "ops"))
# fmt: on
# isort: on

__version__ = "0.1.0"

__all__ = [
    "COPY_ATOMS", "FMA", "MMA_ATOMS", "BitMap", "Chained", "ComposedLayout", "CompositionError", "CoordinateError",
    "CutepyError", "DeviceError", "DrawError", "E", "IntTuple", "KernelError", "Layout", "LayoutError", "LayoutLeft",
    "LayoutRight", "NotationError", "OperandError", "Swizzle", "TableError", "Tensor", "TensorError", "TiledCopy",
    "TiledMMA", "UndecidedError", "VerificationError", "_", "append", "axis_layout", "axpby", "bank_conflicts",
    "blocked_product", "bool_", "ceil_div", "clear", "coalesce", "compatible", "complement", "composition",
    "conflict_free", "congruent", "convert", "cooperative_copy", "coprofile", "copy", "copy_if", "coshape", "cosize",
    "crd2crd", "crd2idx", "depth", "dice", "divides", "domain_offset", "downcast", "draw", "elem_less",
    "evenly_divides", "explain", "f16", "f32", "fill", "filter", "filter_zeros", "flat_divide", "flat_product",
    "flatten", "free_bits", "from_f2", "gemm", "get", "gpu", "group_modes", "i32", "idx2crd", "increment_coord",
    "inner_partition", "inner_product", "is_bijective", "is_contiguous", "is_injective", "is_surjective",
    "left_inverse", "local_partition", "local_tile", "logical_divide", "logical_product", "make_composed_layout",
    "make_counting_tensor", "make_fragment_like", "make_gmem_ptr", "make_identity_layout", "make_identity_tensor",
    "make_layout", "make_layout_like", "make_layout_tv", "make_ordered_layout", "make_rmem_ptr", "make_smem_ptr",
    "make_tensor", "make_tensor_like", "make_tiled_copy", "make_tiled_mma", "max_common_layout", "max_common_vector",
    "nullspace", "ops", "outer_partition", "parse_layout", "parse_parts", "parse_tiler", "prefix_product", "prepend",
    "product", "product_each", "quotient", "raked_product", "rank", "recast", "recast_layout", "reduce",
    "reduce_tree", "replace", "right_inverse", "round_up", "select", "shape", "shape_div", "size", "slice_",
    "slice_and_offset", "stride", "subgroup_matrix", "take", "thread_value_partition", "tile_to_shape",
    "tiled_divide", "tiled_product", "to_f2", "touched_by", "transactions", "transform", "tuple_add", "tuple_sub",
    "u32", "unflatten", "universal_copy", "upcast", "vectorised", "weakly_congruent", "who_owns", "widest_copy",
    "zipped_divide", "zipped_product",
]  # fmt: skip

__getattr__ = lazy_exports(
    __name__,
    {
        "tensor": " ".join(name for name in __all__ if name not in globals()),
        "layout": "domain_offset downcast max_common_layout max_common_vector recast_layout upcast",
    },
)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name[:2] == "__"), "errors", "layout", "tensor"})
