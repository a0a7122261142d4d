"""A slice of the laws of pictures: cells clicked, actions against a fresh page; tools/fuzz/explorer.py has more."""

import random
from pathlib import Path

import pytest
from explore.browser import Browser
from explore.picture_laws import Case, actions_are_wrong, cases, cells_are_wrong
from shares import share

LAYOUTS, ACTIONS = 4, 4
FOLDED = Case(64, 1)
FRAGMENT = Case(((4, 8), (2, 2)), ((32, 1), (16, 8)))


@pytest.mark.parametrize("view", ["grid", "banks", "tiles", "memory"])
def test_a_folded_vector_is_read_where_it_is_drawn(browser: Browser, view: str) -> None:
    assert cells_are_wrong(browser, FOLDED, view) == []


def test_a_partition_of_the_line_frames_its_own_cells(browser: Browser) -> None:
    """Its 128 elements fold into eight rows."""
    assert cells_are_wrong(browser, FRAGMENT, "tv") == []


@pytest.mark.parametrize("seed", share(range(LAYOUTS)))
def test_every_cell_of_random_layouts_says_what_the_layout_gives(browser: Browser, seed: int) -> None:
    for case, text, view, lanes in cases(random.Random(f"cells {seed}")):
        assert cells_are_wrong(browser, case, view, lanes, text) == []


@pytest.mark.parametrize("seed", share(range(ACTIONS)))
def test_after_random_actions_the_page_is_a_fresh_one(browser: Browser, page_file: Path, seed: int) -> None:
    assert actions_are_wrong(browser, random.Random(f"actions {seed}"), 20, page_file.resolve().as_uri()) == []


def test_an_internal_error_is_shown(browser: Browser) -> None:
    browser.ask(ask="cell", text="(8,8):(8,1)", view="grid", options={}, grid=9, place=0, access={})
    browser.wait("document.getElementById('status').textContent.startsWith('Internal error')")
    assert "IndexError" in browser.text("#status")
    browser.go("(4,4):(4,1)")
    assert browser.text("#status") == ""
