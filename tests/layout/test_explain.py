"""Explanations: every story tells the result that the call gives, and a refusal where the call refuses."""

from __future__ import annotations

import pytest
from layout.cases import generator, random_layout, random_operand

from cutepy.errors import LayoutError
from cutepy.layout import Layout, complement, composition, explain, logical_divide, zipped_divide
from cutepy.layout.text.explain import STORIES

UNARY = {"coalesce", "right_inverse", "left_inverse"}


@pytest.mark.parametrize("function", list(STORIES), ids=lambda function: function.__name__)
def test_stories_agree_with_the_calls(function):
    rng = generator(f"explain {function.__name__}")
    outcomes = {"told": 0, "refused": 0}
    for _ in range(60):
        layout = random_layout(rng, 64, "permuted")
        operands = (layout,) if function.__name__ in UNARY else (layout, random_operand(rng, layout))
        if function.__name__ == "complement":
            operands = (layout, 256)
        story = explain(function, *operands)
        try:
            result = function(*operands)
        except LayoutError as error:
            outcomes["refused"] += 1
            assert story.result is None and str(story.error) == str(error) and str(error) in str(story)
        else:
            outcomes["told"] += 1
            assert story.error is None and story.result == result and str(story).endswith(f"= {result}")
    assert outcomes["told"] > 3, outcomes


def test_the_failing_step_and_the_way_out_are_told():
    text = str(explain(composition, Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3))))
    assert "3. Mode 1 of the right operand" in text and "Right operands that work" in text
    assert "4 * 2 = 8 coordinates, the layout 7" in str(explain(logical_divide, Layout(7, 2), 4))


def test_tuple_tilers_are_told_mode_by_mode():
    story = explain(zipped_divide, Layout((6, 8), (8, 1)), (3, 4))
    assert [step.text.partition(":")[0] for step in story.steps[:2]] == ["Mode 0", "Mode 1"]


def test_a_function_without_a_story_is_refused():
    with pytest.raises(LayoutError, match="there is one for blocked_product"):
        explain(len, Layout(4))


def test_the_story_of_a_complement_is_told_to_its_end():
    assert (
        str(explain(complement, Layout((2, 3), (2, 12)), 100))
        == """\
complement((2,3):(2,12), 100)
  1. The modes that move, by stride: 2:2, 3:12.
  2. Up to stride 2 the offsets fill 1: 2 copies fit, a mode 2:1.
  3. Up to stride 12 the offsets fill 4: 3 copies fit, a mode 3:4.
  4. From 36 on, 3 copies reach 100, a mode 3:36.
  5. Shifted by 0, 1, 4, 5, 8, 9, 36, 37, ..., the image of (2,3):(2,12) never meets itself: (2,3,3):(1,4,36).  \
[checked at 108]
  = (2,3,3):(1,4,36)"""
    )
