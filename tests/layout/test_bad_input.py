"""Bad input: a LayoutError (or CoordinateError) that names the operand, the numbers and the way out; never a hang."""

from __future__ import annotations

import pickle
from contextlib import suppress

import pytest
from layout.junk_cases import calls
from layout.texts import tokens_read

from cutepy import make_tensor
from cutepy.draw import steps
from cutepy.errors import CompositionError, CoordinateError, CutepyError, LayoutError
from cutepy.layout import (
    E,
    Layout,
    Swizzle,
    _,
    append,
    blocked_product,
    coalesce,
    complement,
    composition,
    flatten,
    group_modes,
    logical_divide,
    logical_product,
    make_composed_layout,
    make_layout,
    make_ordered_layout,
    select,
    shape_div,
    tile_to_shape,
    unflatten,
    zipped_divide,
)
from cutepy.layout.algebra import table
from cutepy.lazy import numpy as np


def deep(levels: int, leaf: object = 2) -> object:
    for _level in range(levels):
        leaf = (leaf,)
    return leaf


@pytest.mark.parametrize(
    ("shape", "stride", "says"),
    [
        (True, None, "bool"),
        ((4, True), None, "bool"),
        ((4, 2.0), None, "2.0 of type float"),
        ((4, "8"), None, "type str"),
        ([4, 8], None, "type list"),
        (None, None, "NoneType"),
        (0, None, "a size is 0; sizes are at least 1"),
        ((4, -2), None, "a size is -2"),
        ((4, (2, 0)), (1, (4, 8)), "a size is 0"),
        ((4, 8), (1,), r"\(1\) stands against \(4,8\)"),
        ((4, 8), 1, "the stride must nest as the shape"),
        ((4, (2, 2)), (1, 4), r"4 stands against \(2,2\)"),
        ((4, 8), (1, (4, 8)), r"the stride \(4,8\) nests where the shape is 8"),
        ((4, 8), (1, 0.5), "0.5 of type float"),
        ((np.float32(4), 8), None, "float32"),
    ],
)
def test_a_layout_that_is_none(shape, stride, says):
    with pytest.raises(LayoutError, match=says):
        Layout(shape, stride)


def test_numpy_integers_are_integers():
    layout = Layout((np.int64(4), np.uint8(8)), (np.int32(1), np.int64(4)))
    assert layout == Layout((4, 8)) and all(type(n) is int for n in (*layout.shape, *layout.stride))


@pytest.mark.parametrize("levels", [101, 5000, 100_000])
def test_nesting_without_end_is_refused(levels):
    with pytest.raises(LayoutError, match=r"nests deeper than 100|nested too deep"):
        Layout(deep(levels))
    with pytest.raises(LayoutError, match=r"nests deeper than 100|nested too deep"):
        Layout(deep(levels), deep(levels, 1))


@pytest.mark.parametrize("leaf", [1, _, "a", Layout(4)], ids=str)
def test_no_public_function_or_method_runs_out_of_stack(leaf):
    """What nests without end is refused in words, also behind a `_`, where a slice is meant."""
    tree = deep(100_000, leaf)
    tensor = make_tensor(np.zeros((4, 8), np.float32), Layout((4, 8)))
    operands = [(tree,), (_, tree), (tree, _), (Layout((4, 8)), tree), (tree, (4, 8))]
    for _name, call in [*calls(), ("Tensor()", tensor), ("Tensor[]", tensor.__getitem__), ("steps", steps)]:
        for given in operands:
            with suppress(CutepyError, TypeError):  # TypeError: so many operands
                call(*given)


def test_the_deepest_layout_works():
    layout = Layout(deep(100))
    assert layout(1) == 1 and coalesce(layout) == Layout(2, 1) and str(layout).count("(") == 200
    assert composition(Layout((2, 2), (2, 1)), layout).size == 2 and pickle.loads(pickle.dumps(layout)) == layout


@pytest.mark.parametrize("levels", [150, 20_000, 500_000])
def test_a_recursion_bomb_in_parse_is_refused_at_its_beginning(levels, monkeypatch):
    read = tokens_read(monkeypatch)
    with pytest.raises(LayoutError):
        Layout.parse("(" * levels + "4" + ")" * levels)
    with pytest.raises(LayoutError):
        Layout.parse("(" * levels)
    assert max(read) <= 105 and len(read) <= 2 * 105


@pytest.mark.parametrize(
    ("crd", "says"),
    [
        ((1, 2, 3), r"has 3 modes, the shape \(4, 8\) has 2"),
        ((1, (2, 3)), "nests where the shape is the integer 8"),
        (1.0, "type float"),
        ([1, 2], r"write the tuple \(1, 2\)"),
        ("1", "type str"),
        ((1, "2"), "type str"),
    ],
)
def test_a_coordinate_that_does_not_fit(crd, says):
    with pytest.raises(CoordinateError, match=says):
        Layout((4, 8))(crd)
    if isinstance(crd, tuple):
        with pytest.raises(CoordinateError):
            Layout((4, 8))((*crd[:-1], _, 1, 2))


L = Layout((4, 8), (8, 1))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: composition(L, (2, 2, 2)), r"the tiler has 3 entries, the layout 2 modes"),
        (lambda: composition(L, "4:1"), "the right operand is a layout, an integer, `_` or a tuple"),
        (lambda: composition(L, 0), "a size is 0"),
        (lambda: composition("4:1", L), "the first operand is a str"),
        (lambda: composition((4, 8), L), "write Layout"),
        (lambda: composition(L, Layout(3, 2 * E(2))), "axis 2 of the basis stride is not a mode"),
        (lambda: complement(Layout((2, 2), (1, 1)), 24), "modes overlap.*a stride of 2 would not"),
        (lambda: complement(Layout((4, 4), (1, 2)), 24), "modes overlap: mode 4:2 starts within the 4 offsets"),
        (lambda: complement(Layout(4, -1), 24), "stride -1 is negative"),
        (lambda: complement(Layout(4, 1), 0), "the cotarget must be"),
        (lambda: logical_divide(Layout(6, 1), Layout(4, 1)), r"4 \* 2 = 8 coordinates, the layout 6"),
        (lambda: logical_divide(Layout(30, 1), Layout((2, 3), (1, 5))), "leave gaps"),
        (lambda: zipped_divide(L, (2, 2, 2)), "the tiler has 3 entries"),
        (lambda: append(L, 3, 5), "a mode is a layout, a rank a whole number"),
        (lambda: logical_product(Layout((2, 2), (1, 1)), 3), "modes overlap"),
        (lambda: logical_product(L, "x"), "a tiler is a layout"),
        (lambda: blocked_product(L, (2, 2)), "tiler"),
        (lambda: tile_to_shape(L, 32), "the block has 2 modes, the shape 1"),
        (lambda: make_ordered_layout((4, 8), (1, 0, 2)), "one entry a mode"),
        (lambda: make_layout(L, (4, 8)), "after a layout come layouts"),
        (lambda: make_layout((4, 8), L), "give a shape and a stride, or layouts only"),
        (lambda: select(L, 2), "mode 2 of"),
        (lambda: group_modes(L, 1, 3), "modes go from 0 to 2"),
        (lambda: unflatten(flatten(L), (0, (0, 0))), "2 modes do not fill 3 places"),
        (lambda: coalesce(L, (1, 1, 1)), "the tiler has 3 entries"),
        (lambda: shape_div((6, 4), 5), "neither 6 nor 5 divides the other"),
        (lambda: shape_div((6, 4), (2, 2, 2)), "ranks 2 and 3 differ"),
    ],
)
def test_operands_that_do_not_fit(call, says):
    with pytest.raises((LayoutError, CoordinateError), match=says):
        call()


def test_a_composition_that_no_table_can_hold_is_refused_without_one(monkeypatch):
    looked_at = []
    listing = table.leaf_values

    def counted(outer, extent, step):
        looked_at.append(extent)
        return listing(outer, extent, step)

    monkeypatch.setattr(table, "leaf_values", counted)
    with pytest.raises(CompositionError) as caught:
        composition(Layout((6, 1 << 40), (1, 7)), Layout((3, 2, 1 << 20), (2, 3, 1 << 30)))
    assert caught.value.clause == "stride" and 0 < sum(looked_at) < 10_000, looked_at


@pytest.mark.parametrize(
    "layout", [Layout((4, 8), (8, 1)), Swizzle(3, 0, 3), make_composed_layout(Swizzle(2, 0, 3), 0, Layout((4, 8)))]
)
def test_a_layout_is_no_array_of_numpys(layout):
    """NumPy takes what has a length and brackets for a sequence: of a mode the only mode is itself, without end."""
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for call in (lambda: np.array(layout), lambda: masked > layout, lambda: masked == layout):
        with pytest.raises(LayoutError, match=r"is no array: layout.offsets\(\) is the table of its offsets"):
            call()
