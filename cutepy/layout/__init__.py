"""Layouts: functions from coordinates to offsets, and their algebra. Integers only; NumPy is not loaded here.

What is needed less often (explanations, notation, recasts, bit matrices, symbols) is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .above import provide as provide
from .ask import compatible as compatible
from .ask import congruent as congruent
from .ask import coprofile as coprofile
from .ask import coshape as coshape
from .ask import cosize as cosize
from .ask import depth as depth
from .ask import evenly_divides as evenly_divides
from .ask import rank as rank
from .ask import shape as shape
from .ask import size as size
from .ask import stride as stride
from .ask import weakly_congruent as weakly_congruent
from .basis import E as E
from .complement import complement as complement
from .composed import Chained as Chained
from .composed import ComposedLayout as ComposedLayout
from .composed import Swizzle as Swizzle
from .composed import make_composed_layout as make_composed_layout
from .composed import slice_and_offset as slice_and_offset
from .composition import composition as composition
from .coordinates import _ as _
from .coordinates import crd2crd as crd2crd
from .coordinates import crd2idx as crd2idx
from .coordinates import dice as dice
from .coordinates import idx2crd as idx2crd
from .coordinates import increment_coord as increment_coord
from .coordinates import slice_ as slice_
from .divide import flat_divide as flat_divide
from .divide import logical_divide as logical_divide
from .divide import tiled_divide as tiled_divide
from .divide import zipped_divide as zipped_divide
from .int_tuple import IntTuple as IntTuple
from .int_tuple import ceil_div as ceil_div
from .int_tuple import round_up as round_up
from .int_tuple import shape_div as shape_div
from .int_tuple import tuple_add as tuple_add
from .int_tuple import tuple_sub as tuple_sub
from .inverse import left_inverse as left_inverse
from .inverse import right_inverse as right_inverse
from .layout import Layout as Layout
from .layout import LayoutLeft as LayoutLeft
from .layout import LayoutRight as LayoutRight
from .layout import axis_layout as axis_layout
from .layout import make_identity_layout as make_identity_layout
from .layout import make_layout as make_layout
from .product import blocked_product as blocked_product
from .product import flat_product as flat_product
from .product import logical_product as logical_product
from .product import make_layout_like as make_layout_like
from .product import make_ordered_layout as make_ordered_layout
from .product import raked_product as raked_product
from .product import tile_to_shape as tile_to_shape
from .product import tiled_product as tiled_product
from .product import zipped_product as zipped_product
from .rearrange import append as append
from .rearrange import coalesce as coalesce
from .rearrange import filter as filter
from .rearrange import filter_zeros as filter_zeros
from .rearrange import flatten as flatten
from .rearrange import get as get
from .rearrange import group_modes as group_modes
from .rearrange import prepend as prepend
from .rearrange import replace as replace
from .rearrange import select as select
from .rearrange import take as take
from .rearrange import unflatten as unflatten

if TYPE_CHECKING:
    from .banks import bank_conflicts as bank_conflicts
    from .banks import transactions as transactions
    from .explanation import Explanation as Explanation
    from .explanation import explain as explain
    from .f2 import from_f2 as from_f2
    from .f2 import to_f2 as to_f2
    from .given import divides as divides
    from .notation import parse_layout as parse_layout
    from .notation import parse_tiler as parse_tiler
    from .properties import is_bijective as is_bijective
    from .properties import is_contiguous as is_contiguous
    from .properties import is_injective as is_injective
    from .properties import is_surjective as is_surjective
    from .recast import domain_offset as domain_offset
    from .recast import downcast as downcast
    from .recast import max_common_layout as max_common_layout
    from .recast import max_common_vector as max_common_vector
    from .recast import nullspace as nullspace
    from .recast import recast_layout as recast_layout
    from .recast import upcast as upcast

provide(
    parse_layout="cutepy.layout.notation:parse_layout",
    from_offsets="cutepy.layout.from_table:from_offsets",
    from_strides="cutepy.layout.from_table:from_strides",
    given="cutepy.layout.given:given",
    subs="cutepy.layout.formula:subs",
    subs_offset="cutepy.layout.formula:subs_offset",
    formula="cutepy.layout.formula:formula",
    lifted="cutepy.layout.symbolic:lifted",
    greatest_offset="cutepy.layout.swizzled:greatest_offset",
    to_cpp="cutepy.layout.spelling:to_cpp",
    to_pycute="cutepy.layout.spelling:to_pycute",
    to_latex="cutepy.layout.spelling:to_latex",
    text_grid="cutepy.layout.grid:text_grid",
)

LATER = {
    "bank_conflicts": "banks",
    "transactions": "banks",
    "Explanation": "explanation",
    "explain": "explanation",
    "from_f2": "f2",
    "to_f2": "f2",
    "divides": "given",
    "parse_layout": "notation",
    "parse_tiler": "notation",
    "is_bijective": "properties",
    "is_contiguous": "properties",
    "is_injective": "properties",
    "is_surjective": "properties",
    "domain_offset": "recast",
    "downcast": "recast",
    "max_common_layout": "recast",
    "max_common_vector": "recast",
    "nullspace": "recast",
    "recast_layout": "recast",
    "upcast": "recast",
}


def __getattr__(name: str) -> object:
    if name in LATER:
        return getattr(import_module(f".{LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
