"""A refusal of the algebra is a picture, with calls that work: for refused calls of every kind, and each place that
raises.
"""

import random
import traceback
from collections import defaultdict

import pytest
from explore.questions import asked
from layout.texts import random_call
from shares import ALL

from cutepy.draw.views.steps import refused
from cutepy.errors import CutepyError, NotationError
from cutepy.layout import Layout
from cutepy.layout.text.parse import parse_expression

REFUSED = 120 if ALL else 40


def refusals() -> list[tuple[str, CutepyError]]:
    """Random calls that are refused, some of unknown sizes."""
    rng, found = random.Random("refusals"), []
    while len(found) < REFUSED:
        text, _meant = random_call(rng, rng.choice([1, 1, 2]))
        try:
            parse_expression(text)
        except NotationError:
            continue
        except CutepyError as error:
            found.append((text, error))
    return found


def test_every_refusal_has_a_picture_and_a_call_that_works() -> None:
    sites: dict[tuple[str, int], list[str]] = defaultdict(list)
    without = []
    for text, error in refusals():
        told = asked("look", text=text)
        frame = [at for at in traceback.extract_tb(error.__traceback__) if "/algebra/" in at.filename][-1:]
        for at in frame:
            sites[at.filename, at.lineno or 0].append(text)
        if not told.get("refusal", "").startswith("<svg") or not told.get("fixes"):
            without.append(f"{text}: {error}")
        for fix in told.get("fixes", ()):
            assert "value" in asked("look", text=fix)
    assert without == []
    assert len(sites) >= 10


@pytest.mark.parametrize(
    ("text", "framed"),
    [
        (
            "zipped_divide((8,8):(8,1), (3,3))",
            {(row, column) for row in range(8) for column in range(8) if max(row, column) > 5},
        ),
        ("complement((2,4):(1,1), 16)", {(1, 0), (0, 1)}),
    ],
)
def test_what_is_framed_is_the_counter_example(text: str, framed: set[tuple[int, int]]) -> None:
    with pytest.raises(CutepyError) as caught:
        parse_expression(text)
    (grid,) = refused(caught.value).grids
    assert {divmod(place, grid.columns.size) for place in grid.marked} == framed
    assert caught.value.refused and isinstance(caught.value.refused.operands[0], Layout)
