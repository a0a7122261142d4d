"""Uneven tiles on request: the layout of whole tiles, and the guard that says which coordinates are real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from layout.cases import cases, generator

from cutepy.errors import LayoutError
from cutepy.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    elem_less,
    explain,
    flat_divide,
    idx2crd,
    logical_divide,
    make_composed_layout,
    make_identity_layout,
    tiled_divide,
    zipped_divide,
)

DIVIDES: dict[str, Callable[..., Any]] = {
    "logical": logical_divide, "zipped": zipped_divide, "tiled": tiled_divide, "flat": flat_divide,
}  # fmt: skip

OF_CUTE = [
    (Layout(1000), 128, "(128,8):(1,128)"),
    (Layout((10, 7), (7, 1)), (4, 4), "((4,4),(3,2)):((7,1),(28,4))"),
    (Layout((10, 7), (7, 1)), (4,), "((4),(3,7)):((7),(28,1))"),
    (Layout(2), 32, "(32,1):(1,32)"),
    (Layout(48), 32, "(32,2):(1,32)"),
]


@pytest.mark.parametrize(("layout", "tiler", "text"), OF_CUTE, ids=[text for *_rest, text in OF_CUTE])
def test_whole_tiles_are_those_of_cute(layout: Layout, tiler: object, text: str) -> None:
    found = zipped_divide(layout, tiler, round_up=True)
    assert str(found) == text


@pytest.mark.parametrize("name", DIVIDES)
def test_real_coordinates_are_those_of_the_layout(name: str) -> None:
    """Where the guard is below the shape the rounded layout is the layout there, each coordinate once."""
    rng = generator(f"uneven {name}")
    divide = DIVIDES[name]
    for _case in range(cases(80)):
        shape: Any = tuple(rng.randint(1, 9) for _mode in range(rng.randint(1, 3)))
        stride = tuple(rng.choice((0, 1, 1, 3, 8, 40)) for _mode in shape)
        layout: Any = Layout(shape, stride)
        if rng.random() < 0.3:
            layout = make_composed_layout(Swizzle(2, 0, 3), rng.choice((0, 5)), layout)
        tiler: Any = tuple(rng.choice((rng.randint(1, 6), Layout(2, rng.choice((1, 2))))) for _mode in shape)
        tiled = divide(layout, tiler, round_up=True)
        guard: Any = divide(make_identity_layout(shape), tiler, round_up=True)
        assert tiled.shape == guard.shape
        real = []
        for index in range(tiled.size):
            at = guard(idx2crd(index, guard.shape))
            if elem_less(at, shape):
                real.append(at)
                assert tiled(index) == layout(at)
        assert len(real) == len(set(real)) == layout.size
        if tiled.size == layout.size:
            assert divide(layout, tiler) == tiled


def test_what_divides_stays_and_without_request_it_is_refused() -> None:
    assert logical_divide(Layout((6, 8)), (3, 4), round_up=True) == logical_divide(Layout((6, 8)), (3, 4))
    with pytest.raises(LayoutError, match="round"):
        logical_divide(Layout(1000), 128)
    with pytest.raises(LayoutError, match="gaps"):
        logical_divide(Layout(12), Layout((2, 2), (2, 6)), round_up=True)
    with pytest.raises(LayoutError, match="True or False"):
        logical_divide(Layout(12), 5, 1)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match=r"logical_divide\(4:1, \(2,2\)\): the tiler has 2 entries"):
        logical_divide(Layout(4), (2, 2), round_up=True)
    told = explain(logical_divide, Layout((10, 8)), (4,), True)
    assert str(told.result) == "((4,3),8):((1,4),10)" and "logical_divide(10:1, 4, True) = (4,3):(1,4)" in str(told)
    nested: ComposedLayout | Layout = logical_divide(Layout((4, 8)), 5, round_up=True)
    assert str(nested) == "(5,8):(1,5)"
