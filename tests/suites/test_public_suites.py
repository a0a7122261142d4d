"""What other projects answer is asked of them by `tools/suites.py`; here: that a wrong answer is noticed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from public_suites import layout_functions
from public_suites.layout_functions import _lawful, _translates, by_question

from cutepy import Layout, coalesce, complement, composition, logical_divide


def offsets(layout: Layout) -> list[int]:
    return [int(layout(i)) for i in range(layout.size)]


def test_right_answers_are_right_and_wrong_ones_lose_to_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_functions, "ASKED", 100)
    same = by_question("itself", {"coalesce": lambda a, b: coalesce(a), "composition": composition}, offsets)
    assert not same.wrong and same.counts["right"] > 100
    other = by_question("another", {"composition": lambda a, b: b}, offsets)
    assert not other.wrong and other.counts["differ, ours lawful"] > 10


def test_a_wrong_answer_of_ours_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_functions, "ASKED", 100)
    monkeypatch.setattr(layout_functions, "_ours", lambda name, a, b: b)
    assert by_question("planted", {"composition": composition}, offsets).wrong


def test_laws_hold_of_what_cute_says_and_not_of_its_neighbours() -> None:
    a, b = Layout((4, 6), (6, 1)), Layout(4, 2)
    assert _lawful("logical_divide", a, b, offsets(logical_divide(a, b)))
    assert not _lawful("logical_divide", a, b, offsets(a))
    assert _lawful("complement", Layout(4, 2), b, offsets(complement(Layout(4, 2), 64)))
    assert not _lawful("complement", Layout(4, 2), b, [0, 2, 4])
    assert _translates(Layout(4, 2), 16) == [0, 1, 8, 9] and _translates(Layout((2, 2), (2, 3)), 8) is None
