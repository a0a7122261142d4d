"""All of CuTe's own worked results, identical, or the same function where only size-1 modes are spelled differently.

`cute_results.txt` holds facts read off the tests of CuTe's compiler dialect, a line each: call => result.
What is not identical is listed in SPELLED (the same function) or DEVIATIONS (with the counter-example that decides).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cutepy.errors import LayoutError
from cutepy.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    blocked_product,
    ceil_div,
    coalesce,
    complement,
    composition,
    cosize,
    flat_divide,
    flat_product,
    flatten,
    group_modes,
    increment_coord,
    left_inverse,
    logical_divide,
    logical_product,
    make_composed_layout,
    make_layout,
    make_ordered_layout,
    parse_layout,
    parse_tiler,
    raked_product,
    right_inverse,
    shape_div,
    size,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    tuple_add,
    tuple_sub,
    zipped_divide,
    zipped_product,
)
from cutepy.layout.values.int_tuple import product, product_each

RESULTS = Path(__file__).parent / "cute_results.txt"
ORIGINAL = Path(__file__).parents[3] / "shared" / "conformance" / "cute_results.txt"


def read(text: str) -> object:
    """An operand or a result: its kind, then its notation."""
    kind, notation = text.strip().split(" ", 1)
    if kind in ("layout", "composed_layout"):
        return parse_layout(notation)
    if kind == "swizzle":
        return Swizzle(*map(int, re.findall(r"-?\d+", notation)))
    return parse_tiler(notation)


def cases() -> list[tuple[str, str]]:
    lines = [line for line in RESULTS.read_text().splitlines() if line and not line.startswith("#")]
    return [(call.strip(), result.strip()) for call, result in (line.split("=>") for line in lines)]


FUNCTIONS: dict[str, Callable[..., object]] = {
    function.__name__: function
    for function in (
        blocked_product, ceil_div, coalesce, complement, composition, flat_divide, flat_product, increment_coord,
        left_inverse, logical_divide, logical_product, make_composed_layout, make_layout, make_ordered_layout,
        raked_product, right_inverse, shape_div, tile_to_shape, tiled_divide, tiled_product, tuple_add, tuple_sub,
        zipped_divide, zipped_product,
    )
}  # fmt: skip


def run(call: str) -> object:
    """The call as cutepy spells it: attributes in `<...>` are the modes, coordinates come first in `layout_eval`."""
    name, *operands = (part.strip() for part in call.split("|"))
    attributes: list[int] = []
    if "<" in name:
        name, listed = name.split(" <")
        attributes = [int(number) for number in re.findall(r"\d+", listed)]
    values = [read(operand) for operand in operands]
    if name == "flatten":
        return flatten(values[0]) if isinstance(values[0], (Layout, ComposedLayout)) else flat(values[0])  # type: ignore
    if name == "group_modes":
        return group_modes(values[0], *attributes)  # type: ignore[arg-type]
    if name in ("size", "cosize"):
        return (size if name == "size" else cosize)(values[0], *attributes)  # type: ignore[operator]
    if name == "layout_eval":
        return values[1](values[0])  # type: ignore[operator]
    if name == "tuple_product":
        return product(values[0])  # type: ignore[arg-type]
    if name == "tuple_product_each":
        return product_each(values[0])  # type: ignore[arg-type]
    return FUNCTIONS[name](*values)


def flat(tree: object) -> tuple[object, ...]:
    return tuple(leaf for entry in tree for leaf in flat(entry)) if isinstance(tree, tuple) else (tree,)


def same_function(left: object, right: object) -> bool:
    """Layouts of equal size with the same value everywhere."""
    if not isinstance(left, (Layout, ComposedLayout)) or not isinstance(right, (Layout, ComposedLayout)):
        return False
    return left.size == right.size and all(left(i) == right(i) for i in range(left.size))


SPELLED: frozenset[str] = frozenset()
"""Calls whose result is the same function with size-1 modes spelled differently. None is."""

DEVIATIONS = {
    "flat_divide | layout ((8,8),(8,8),1):((512,64),(1,8),4096) | tile [128:1;128:1]": (
        "a tile of 128 over a mode of 64: CuTe's result has 128 * 128 coordinates, the layout 64 * 64; cutepy refuses"
    ),
    "tiled_divide | layout ((8,8),(8,8),1):((512,64),(1,8),4096) | tile [128:1;128:1]": "as flat_divide",
    "zipped_divide | layout ((8,8),(8,8),1):((512,64),(1,8),4096) | tile [128:1;128:1]": "as flat_divide",
    "tuple_sub | int_tuple ((5,8),(3,4)) | int_tuple ((1,2),(1,1,1))": (
        "0 - 1 is written 1: adding the right operand again gives ((5,8),(3,4,2)), not ((5,8),(3,4)); cutepy gives -1"
    ),
}
"""Calls where CuTe's result breaks the law of the operation, and how."""


@pytest.mark.parametrize(("call", "result"), cases(), ids=[call for call, _result in cases()])
def test_cute_gives_the_same(call: str, result: str) -> None:
    expected = read(result)
    if call in DEVIATIONS:
        return check_deviation(call, expected)
    found = run(call)
    if call in SPELLED:
        assert found != expected and same_function(found, expected)
    else:
        assert found == expected and repr(found) == repr(expected)


def check_deviation(call: str, theirs: object) -> None:
    """That CuTe's result breaks the law, and that cutepy's does not."""
    values = [read(operand) for operand in call.split("|")[1:]]
    if call.startswith("tuple_sub"):
        ours = run(call)
        assert tuple_add(ours, values[1]) == ((5, 8), (3, 4, 0))  # type: ignore[arg-type]
        assert tuple_add(theirs, values[1]) == ((5, 8), (3, 4, 2))  # type: ignore[arg-type]
        return
    assert isinstance(theirs, Layout) and isinstance(values[0], Layout)
    assert theirs.size == 128 * 128 != values[0].size
    with pytest.raises(LayoutError, match="128"):
        run(call)


def test_every_listed_call_is_a_case() -> None:
    calls = {call for call, _result in cases()}
    assert set(DEVIATIONS) | SPELLED <= calls and len(calls) >= 264


@pytest.mark.skipif(not ORIGINAL.exists(), reason="the results that this file copies are not beside the checkout")
def test_the_copy_is_the_original() -> None:
    assert RESULTS.read_text() == ORIGINAL.read_text()


def test_composition_keeps_its_law_on_all_results() -> None:
    checked = 0
    for call, _result in cases():
        name, *operands = (part.strip() for part in call.split("|"))
        values = [read(operand) for operand in operands]
        if name == "composition" and all(isinstance(value, Layout) for value in values):
            outer, inner = values
            assert isinstance(inner, Layout) and isinstance(outer, Layout)
            made = composition(outer, inner)
            assert [made(i) for i in range(inner.size)] == [outer(inner(i)) for i in range(inner.size)], call
            checked += 1
    assert checked >= 28, checked
