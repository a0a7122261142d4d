"""isl, the second judge, agrees on plain and on swizzled layouts."""

from __future__ import annotations

import os

import pytest

if os.environ.get("CUTEPY_REQUIRE_ISL") != "1":
    pytest.importorskip("islpy", reason="islpy is not installed: the second judge of the algebra is not asked")

import islpy as isl
from layout.cases import cases
from layout.isl_cases import JUDGED, judged, read, relation

from cutepy import BitMap, ComposedLayout, Layout, Swizzle


@pytest.mark.parametrize("swizzled", [False, True])
@pytest.mark.parametrize("name", JUDGED)
def test_isl_agrees(name: str, swizzled: bool) -> None:
    found = judged(name, swizzled and name != "complement", cases(20))
    assert not found.against and found.agreed == cases(20)


@pytest.mark.parametrize(
    "layout",
    [
        Layout((4, (2, 3)), (3, (1, 16))),
        ComposedLayout(Swizzle(1, 1, 2), 4, Layout((4, 4), (4, 1))),
        ComposedLayout(BitMap((1, 3, 6)), 0, Layout(16)),
        ComposedLayout(Layout((4, 2), (2, 1)), 3, Layout(7, 2)),
    ],
    ids=str,
)
def test_a_relation_is_the_layout(layout: Layout | ComposedLayout) -> None:
    isl.DEFAULT_CONTEXT.reset_operations()
    made = relation(layout)
    listed = read(f"{{ {'; '.join(f'[{i}] -> [{layout(i)}]' for i in range(layout.size))} }}")
    isl.DEFAULT_CONTEXT.set_max_operations(0)
    assert made.is_equal(listed)
