"""cutepy: CuTe-style layout algebra, from a pasted layout to a proven, running GPU kernel and to its picture.

Layouts are loaded at once and need nothing but Python. Tensors, drawing and the modules `gpu` and `ops` are loaded when
they are first used, so that `import cutepy` loads neither NumPy nor SymPy nor wgpu.
"""

from typing import TYPE_CHECKING

from .errors import CompositionError as CompositionError
from .errors import CoordinateError as CoordinateError
from .errors import CutepyError as CutepyError
from .errors import DeviceError as DeviceError
from .errors import DrawError as DrawError
from .errors import KernelError as KernelError
from .errors import LayoutError as LayoutError
from .errors import NotationError as NotationError
from .errors import TableError as TableError
from .errors import TensorError as TensorError
from .errors import UndecidedError as UndecidedError
from .errors import VerificationError as VerificationError
from .layout import LATER as _layout_later
from .layout import BitMap as BitMap
from .layout import Chained as Chained
from .layout import ComposedLayout as ComposedLayout
from .layout import E as E
from .layout import IntTuple as IntTuple
from .layout import Layout as Layout
from .layout import LayoutLeft as LayoutLeft
from .layout import LayoutRight as LayoutRight
from .layout import Swizzle as Swizzle
from .layout import _ as _
from .layout import append as append
from .layout import axis_layout as axis_layout
from .layout import bank_conflicts as bank_conflicts
from .layout import blocked_product as blocked_product
from .layout import ceil_div as ceil_div
from .layout import coalesce as coalesce
from .layout import compatible as compatible
from .layout import complement as complement
from .layout import composition as composition
from .layout import conflict_free as conflict_free
from .layout import congruent as congruent
from .layout import convert as convert
from .layout import coprofile as coprofile
from .layout import coshape as coshape
from .layout import cosize as cosize
from .layout import crd2crd as crd2crd
from .layout import crd2idx as crd2idx
from .layout import depth as depth
from .layout import dice as dice
from .layout import evenly_divides as evenly_divides
from .layout import explain as explain
from .layout import filter as filter
from .layout import filter_zeros as filter_zeros
from .layout import flat_divide as flat_divide
from .layout import flat_product as flat_product
from .layout import flatten as flatten
from .layout import free_bits as free_bits
from .layout import from_f2 as from_f2
from .layout import get as get
from .layout import group_modes as group_modes
from .layout import idx2crd as idx2crd
from .layout import increment_coord as increment_coord
from .layout import inner_product as inner_product
from .layout import is_bijective as is_bijective
from .layout import is_contiguous as is_contiguous
from .layout import is_injective as is_injective
from .layout import is_surjective as is_surjective
from .layout import left_inverse as left_inverse
from .layout import logical_divide as logical_divide
from .layout import logical_product as logical_product
from .layout import make_composed_layout as make_composed_layout
from .layout import make_identity_layout as make_identity_layout
from .layout import make_layout as make_layout
from .layout import make_layout_like as make_layout_like
from .layout import make_ordered_layout as make_ordered_layout
from .layout import nullspace as nullspace
from .layout import prefix_product as prefix_product
from .layout import prepend as prepend
from .layout import product as product
from .layout import product_each as product_each
from .layout import quotient as quotient
from .layout import raked_product as raked_product
from .layout import rank as rank
from .layout import replace as replace
from .layout import right_inverse as right_inverse
from .layout import round_up as round_up
from .layout import select as select
from .layout import shape as shape
from .layout import shape_div as shape_div
from .layout import size as size
from .layout import slice_ as slice_
from .layout import slice_and_offset as slice_and_offset
from .layout import stride as stride
from .layout import take as take
from .layout import tile_to_shape as tile_to_shape
from .layout import tiled_divide as tiled_divide
from .layout import tiled_product as tiled_product
from .layout import to_f2 as to_f2
from .layout import touched_by as touched_by
from .layout import transactions as transactions
from .layout import tuple_add as tuple_add
from .layout import tuple_sub as tuple_sub
from .layout import unflatten as unflatten
from .layout import vectorised as vectorised
from .layout import weakly_congruent as weakly_congruent
from .layout import who_owns as who_owns
from .layout import widest_copy as widest_copy
from .layout import zipped_divide as zipped_divide
from .layout import zipped_product as zipped_product
from .layout.values.above import Later as _Later
from .layout.values.above import exported as _exported
from .layout.values.above import provide as _provide

if TYPE_CHECKING:
    from . import gpu as gpu
    from . import ops as ops
    from .draw import draw as draw
    from .layout import divides as divides
    from .layout import domain_offset as domain_offset
    from .layout import downcast as downcast
    from .layout import max_common_layout as max_common_layout
    from .layout import max_common_vector as max_common_vector
    from .layout import parse_layout as parse_layout
    from .layout import parse_parts as parse_parts
    from .layout import parse_tiler as parse_tiler
    from .layout import recast_layout as recast_layout
    from .layout import upcast as upcast
    from .tensor import COPY_ATOMS as COPY_ATOMS
    from .tensor import FMA as FMA
    from .tensor import MMA_ATOMS as MMA_ATOMS
    from .tensor import Tensor as Tensor
    from .tensor import TiledCopy as TiledCopy
    from .tensor import TiledMMA as TiledMMA
    from .tensor import axpby as axpby
    from .tensor import bool_ as bool_
    from .tensor import clear as clear
    from .tensor import cooperative_copy as cooperative_copy
    from .tensor import copy as copy
    from .tensor import copy_if as copy_if
    from .tensor import elem_less as elem_less
    from .tensor import f16 as f16
    from .tensor import f32 as f32
    from .tensor import fill as fill
    from .tensor import gemm as gemm
    from .tensor import i32 as i32
    from .tensor import inner_partition as inner_partition
    from .tensor import local_partition as local_partition
    from .tensor import local_tile as local_tile
    from .tensor import make_counting_tensor as make_counting_tensor
    from .tensor import make_fragment_like as make_fragment_like
    from .tensor import make_gmem_ptr as make_gmem_ptr
    from .tensor import make_identity_tensor as make_identity_tensor
    from .tensor import make_layout_tv as make_layout_tv
    from .tensor import make_rmem_ptr as make_rmem_ptr
    from .tensor import make_smem_ptr as make_smem_ptr
    from .tensor import make_tensor as make_tensor
    from .tensor import make_tensor_like as make_tensor_like
    from .tensor import make_tiled_copy as make_tiled_copy
    from .tensor import make_tiled_mma as make_tiled_mma
    from .tensor import outer_partition as outer_partition
    from .tensor import recast as recast
    from .tensor import reduce as reduce
    from .tensor import reduce_tree as reduce_tree
    from .tensor import subgroup_matrix as subgroup_matrix
    from .tensor import thread_value_partition as thread_value_partition
    from .tensor import transform as transform
    from .tensor import u32 as u32
    from .tensor import universal_copy as universal_copy
else:
    draw, gpu, ops = (_Later(f"{__name__}.{name}") for name in ("draw", "gpu", "ops"))

__version__ = "0.1.0"

_provide(__name__, {"draw.drawing": "bundle_of draw", "explore.pack": "explore"})


def __getattr__(name: str) -> object:
    return _exported(__name__, _LATER, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATER, *(name for name in globals() if name[:2] == "__"), "errors", "layout", "tensor"})


# Written out for type checkers, which do not run `__dir__`; a test compares them. What reads texts and what decides
# about unknown sizes takes long to load, and is loaded when `Layout.parse` or `given` is called: the names of these two
# rooms, such as `parse_parts` and `divides`, are imported one by one.
__all__ = [
    "COPY_ATOMS", "FMA", "MMA_ATOMS", "BitMap", "Chained", "ComposedLayout", "CompositionError", "CoordinateError",
    "CutepyError", "DeviceError", "DrawError", "E", "IntTuple", "KernelError", "Layout", "LayoutError", "LayoutLeft",
    "LayoutRight", "NotationError", "Swizzle", "TableError", "Tensor", "TensorError", "TiledCopy", "TiledMMA",
    "UndecidedError", "VerificationError", "_", "append", "axis_layout", "axpby", "bank_conflicts", "blocked_product",
    "bool_", "ceil_div", "clear", "coalesce", "compatible", "complement", "composition", "conflict_free", "congruent",
    "convert", "cooperative_copy", "coprofile", "copy", "copy_if", "coshape", "cosize", "crd2crd", "crd2idx", "depth",
    "dice", "domain_offset", "downcast", "draw", "elem_less", "evenly_divides", "explain", "f16", "f32",
    "fill", "filter", "filter_zeros", "flat_divide", "flat_product", "flatten", "free_bits", "from_f2", "gemm", "get",
    "gpu", "group_modes", "i32", "idx2crd", "increment_coord", "inner_partition", "inner_product", "is_bijective",
    "is_contiguous", "is_injective", "is_surjective", "left_inverse", "local_partition", "local_tile", "logical_divide",
    "logical_product", "make_composed_layout", "make_counting_tensor", "make_fragment_like", "make_gmem_ptr",
    "make_identity_layout", "make_identity_tensor", "make_layout", "make_layout_like", "make_layout_tv",
    "make_ordered_layout", "make_rmem_ptr", "make_smem_ptr", "make_tensor", "make_tensor_like", "make_tiled_copy",
    "make_tiled_mma", "max_common_layout", "max_common_vector", "nullspace", "ops", "outer_partition",
    "prefix_product", "prepend", "product", "product_each", "quotient", "raked_product",
    "rank", "recast", "recast_layout", "reduce", "reduce_tree", "replace", "right_inverse", "round_up", "select",
    "shape", "shape_div", "size", "slice_", "slice_and_offset", "stride", "subgroup_matrix", "take",
    "thread_value_partition", "tile_to_shape",
    "tiled_divide", "tiled_product", "to_f2", "touched_by", "transactions", "transform", "tuple_add",
    "tuple_sub", "u32", "unflatten", "universal_copy", "upcast", "vectorised", "weakly_congruent", "who_owns",
    "widest_copy", "zipped_divide", "zipped_product",
]  # fmt: skip

_LATER = {
    name: "layout" if name in _layout_later else "tensor"
    for name in {*__all__, *_layout_later} - globals().keys() - {"Explanation"}
}
