"""Layouts: functions from coordinates to offsets, and their algebra. Integers only; NumPy is not loaded here.

What is needed less often (explanations, notation, recasts, symbols) is loaded when it is first used.
"""

from inspect import isfunction
from typing import TYPE_CHECKING

from ..lazy import lazy_exports, lazy_functions

# isort: off
# fmt: off
from .algebra.bits import from_f2, to_f2
from .algebra.composition import composition
from .algebra.inverse import free_bits, left_inverse, nullspace, quotient, right_inverse
from .algebra.operation import OPERATIONS
from .algebra.queries import (
    compatible, congruent, coprofile, coshape, cosize, depth, is_bijective, is_contiguous, is_injective, is_surjective,
    rank, shape, size, stride, weakly_congruent,
)
from .algebra.rearrange import (
    append, coalesce, filter, filter_zeros, flatten, from_modes, get, group_modes, joined, make_layout_like,
    make_ordered_layout, prepend, replace, select, take, unflatten,
)
from .algebra.tile import (
    blocked_product, complement, evenly_divides, flat_divide, flat_product, logical_divide, logical_product,
    raked_product, tile_to_shape, tiled_divide, tiled_product, zipped_divide, zipped_product,
)
from .public import DECIDING, guarded
from .values.bit_map import BitMap, Swizzle
from .values.composed import Chained, ComposedLayout, axis_layout, dice, make_composed_layout, slice_, slice_and_offset
from .values.coordinates import E, _, crd2crd, crd2idx, elem_less, idx2crd, increment_coord
from .values.int_tuple import (
    IntTuple, LayoutLeft, LayoutRight, as_tuple, ceil_div, inner_product, leaves, map_leaves, prefix_product, product,
    product_each, round_up, shape_div, tuple_add, tuple_sub,
)
from .values.layout import Layout, flat_modes, make_identity_layout, make_layout
# fmt: on
# isort: on

if TYPE_CHECKING:
    from .algebra.banks import bank_conflicts, transactions
    from .algebra.conflict_free import conflict_free
    from .algebra.convert import convert
    from .algebra.copies import widest_copy
    from .algebra.recast import domain_offset, downcast, max_common_layout, max_common_vector, recast_layout, upcast
    from .algebra.thread_values import touched_by, vectorised, who_owns
    from .symbolic.given import divides
    from .text.explain import Explanation, explain
    from .text.parse import parse_layout, parse_parts, parse_tiler
else:
    for _name, _public in list(globals().items()):
        if isfunction(_public) and _public.__module__.startswith(f"{__name__}.") and _name not in OPERATIONS:
            globals()[_name] = guarded(_public, decides=_name in DECIDING)
            globals()[_name].__module__ = __name__  # where `pickle` looks for it
    globals().update(
        lazy_functions(
            __name__,
            {
                "algebra.banks": "bank_conflicts transactions",
                "algebra.conflict_free": "conflict_free",
                "algebra.convert": "convert",
                "algebra.copies": "widest_copy",
                "algebra.thread_values": "touched_by vectorised who_owns",
                "symbolic.given": "divides",
                "text.explain": "explain",
                "text.parse": "parse_layout parse_parts parse_tiler",
            },
        )
    )

__getattr__ = lazy_exports(
    __name__,
    {
        "algebra.recast": "domain_offset downcast max_common_layout max_common_vector recast_layout upcast",
        "text.explain": "Explanation",
    },
)

__all__ = [
    "BitMap", "Chained", "ComposedLayout", "E", "Explanation", "IntTuple", "Layout", "LayoutLeft", "LayoutRight",
    "Swizzle", "_", "append", "as_tuple", "axis_layout", "bank_conflicts", "blocked_product", "ceil_div", "coalesce",
    "compatible", "complement", "composition", "conflict_free", "congruent", "convert", "coprofile", "coshape",
    "cosize", "crd2crd", "crd2idx", "depth", "dice", "divides", "domain_offset", "downcast", "elem_less",
    "evenly_divides", "explain", "filter", "filter_zeros", "flat_divide", "flat_modes", "flat_product", "flatten",
    "free_bits", "from_f2", "from_modes", "get", "group_modes", "idx2crd", "increment_coord", "inner_product",
    "is_bijective", "is_contiguous", "is_injective", "is_surjective", "joined", "leaves", "left_inverse",
    "logical_divide", "logical_product", "make_composed_layout", "make_identity_layout", "make_layout",
    "make_layout_like", "make_ordered_layout", "map_leaves", "max_common_layout", "max_common_vector", "nullspace",
    "parse_layout", "parse_parts", "parse_tiler", "prefix_product", "prepend", "product", "product_each", "quotient",
    "raked_product", "rank", "recast_layout", "replace", "right_inverse", "round_up", "select", "shape", "shape_div",
    "size", "slice_", "slice_and_offset", "stride", "take", "tile_to_shape", "tiled_divide", "tiled_product", "to_f2",
    "touched_by", "transactions", "tuple_add", "tuple_sub", "unflatten", "upcast", "vectorised", "weakly_congruent",
    "who_owns", "widest_copy", "zipped_divide", "zipped_product",
]  # fmt: skip
