"""Layouts: functions from coordinates to offsets, and their algebra. Integers only; NumPy is not loaded here.

What is needed less often (explanations, notation, recasts, symbols) is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from .algebra.bits import from_f2 as from_f2
from .algebra.bits import to_f2 as to_f2
from .algebra.composition import composition as composition
from .algebra.inverse import free_bits as free_bits
from .algebra.inverse import left_inverse as left_inverse
from .algebra.inverse import nullspace as nullspace
from .algebra.inverse import quotient as quotient
from .algebra.inverse import right_inverse as right_inverse
from .algebra.queries import compatible as compatible
from .algebra.queries import congruent as congruent
from .algebra.queries import coprofile as coprofile
from .algebra.queries import coshape as coshape
from .algebra.queries import cosize as cosize
from .algebra.queries import depth as depth
from .algebra.queries import is_bijective as is_bijective
from .algebra.queries import is_contiguous as is_contiguous
from .algebra.queries import is_injective as is_injective
from .algebra.queries import is_surjective as is_surjective
from .algebra.queries import rank as rank
from .algebra.queries import shape as shape
from .algebra.queries import size as size
from .algebra.queries import stride as stride
from .algebra.queries import weakly_congruent as weakly_congruent
from .algebra.rearrange import append as append
from .algebra.rearrange import coalesce as coalesce
from .algebra.rearrange import filter as filter
from .algebra.rearrange import filter_zeros as filter_zeros
from .algebra.rearrange import flatten as flatten
from .algebra.rearrange import get as get
from .algebra.rearrange import group_modes as group_modes
from .algebra.rearrange import make_layout_like as make_layout_like
from .algebra.rearrange import make_ordered_layout as make_ordered_layout
from .algebra.rearrange import prepend as prepend
from .algebra.rearrange import replace as replace
from .algebra.rearrange import select as select
from .algebra.rearrange import take as take
from .algebra.rearrange import unflatten as unflatten
from .algebra.tile import blocked_product as blocked_product
from .algebra.tile import complement as complement
from .algebra.tile import evenly_divides as evenly_divides
from .algebra.tile import flat_divide as flat_divide
from .algebra.tile import flat_product as flat_product
from .algebra.tile import logical_divide as logical_divide
from .algebra.tile import logical_product as logical_product
from .algebra.tile import raked_product as raked_product
from .algebra.tile import tile_to_shape as tile_to_shape
from .algebra.tile import tiled_divide as tiled_divide
from .algebra.tile import tiled_product as tiled_product
from .algebra.tile import zipped_divide as zipped_divide
from .algebra.tile import zipped_product as zipped_product
from .values.above import Question as _Question
from .values.above import by_name as _by_name
from .values.above import exported as _exported
from .values.above import provide as _provide
from .values.bit_map import BitMap as BitMap
from .values.bit_map import Swizzle as Swizzle
from .values.composed import Chained as Chained
from .values.composed import ComposedLayout as ComposedLayout
from .values.composed import axis_layout as axis_layout
from .values.composed import dice as dice
from .values.composed import make_composed_layout as make_composed_layout
from .values.composed import slice_ as slice_
from .values.composed import slice_and_offset as slice_and_offset
from .values.coordinates import E as E
from .values.coordinates import _ as _
from .values.coordinates import crd2crd as crd2crd
from .values.coordinates import crd2idx as crd2idx
from .values.coordinates import elem_less as elem_less
from .values.coordinates import idx2crd as idx2crd
from .values.coordinates import increment_coord as increment_coord
from .values.int_tuple import IntTuple as IntTuple
from .values.int_tuple import LayoutLeft as LayoutLeft
from .values.int_tuple import LayoutRight as LayoutRight
from .values.int_tuple import ceil_div as ceil_div
from .values.int_tuple import inner_product as inner_product
from .values.int_tuple import prefix_product as prefix_product
from .values.int_tuple import product as product
from .values.int_tuple import product_each as product_each
from .values.int_tuple import round_up as round_up
from .values.int_tuple import shape_div as shape_div
from .values.int_tuple import tuple_add as tuple_add
from .values.int_tuple import tuple_sub as tuple_sub
from .values.layout import Layout as Layout
from .values.layout import make_identity_layout as make_identity_layout
from .values.layout import make_layout as make_layout

if TYPE_CHECKING:
    from .algebra.banks import bank_conflicts as bank_conflicts
    from .algebra.banks import transactions as transactions
    from .algebra.convert import convert as convert
    from .algebra.copies import widest_copy as widest_copy
    from .algebra.find import conflict_free as conflict_free
    from .algebra.lanes import touched_by as touched_by
    from .algebra.lanes import vectorised as vectorised
    from .algebra.lanes import who_owns as who_owns
    from .algebra.recast import domain_offset as domain_offset
    from .algebra.recast import downcast as downcast
    from .algebra.recast import max_common_layout as max_common_layout
    from .algebra.recast import max_common_vector as max_common_vector
    from .algebra.recast import recast_layout as recast_layout
    from .algebra.recast import upcast as upcast
    from .text.explain import Explanation as Explanation
    from .text.explain import explain as explain
    from .text.parse import parse_layout as parse_layout
    from .text.parse import parse_parts as parse_parts
    from .text.parse import parse_tiler as parse_tiler
    from .unknown.given import divides as divides

_provide(
    __name__,
    {
        "algebra.composition": "composition",
        "algebra.swizzled": "greatest_offset",
        "algebra.table": "from_offsets from_strides",
        "text.parse": "parse_call parse_layout parse_tiler",
        "text.write": "text_grid to_cpp to_f2_strides to_latex to_pycute",
        "unknown.given": "formula given subs subs_offset",
        "unknown.lift": "lifted",
    },
)

QUESTIONS = _by_name(
    {
        "algebra.banks": "bank_conflicts transactions",
        "algebra.convert": "convert",
        "algebra.copies": "widest_copy",
        "algebra.find": "conflict_free",
        "algebra.lanes": "touched_by vectorised who_owns",
        "text.explain": "explain",
    }
)
"""What is asked of layouts, and the module that answers: loaded at the start they would make it a fifth longer."""
globals().update({name: _Question(f"{__name__}.{module}", name) for name, module in QUESTIONS.items()})

LATER = _by_name(
    {
        "algebra.recast": "domain_offset downcast max_common_layout max_common_vector recast_layout upcast",
        "text.explain": "Explanation",
        "text.parse": "parse_layout parse_parts parse_tiler",
        "unknown.given": "divides",
    }
)
"""Where what is loaded late is, by name."""


def __getattr__(name: str) -> object:
    return _exported(__name__, LATER, name)
