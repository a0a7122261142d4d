"""Every place of the layout room that refuses is reached by a text or a call here; a refused call has a fix and a
picture.

What has neither is one of three kinds: a text that is not read, whose caret is its picture; what Python values alone
reach, for which there is no text to write instead; a guard that no call reaches.
"""

import dataclasses
from collections.abc import Callable
from functools import cache

import numpy
import pytest
import sympy
from explore.questions import asked
from layout.junk_cases import nested
from layout.site_cases import CALLS, GUARDS, TEXTS
from layout.sites import Site, raised_at, sites

import cutepy.layout
from cutepy.errors import CutepyError, NotationError
from cutepy.layout.text.parse import expression_of, parse_parts, parse_tiler

M, N = sympy.symbols("M N", integer=True, positive=True)
NAMES = {
    **{name: getattr(cutepy.layout, name) for name in cutepy.layout.__all__},
    **{each.__name__: each for each in (nested, parse_parts, parse_tiler, sympy)},
    "changed": dataclasses.replace,
    "np": numpy,
    "M": M,
    "N": N,
}


def refusal(call: Callable[[], object]) -> CutepyError:
    with pytest.raises(CutepyError) as caught:
        call()
    return caught.value


@cache
def read(text: str) -> CutepyError:
    return refusal(lambda: expression_of(text))


@cache
def reached() -> dict[str, set[Site]]:
    """The sites of refused calls in texts, of texts that are not read beyond these, and of Python's calls alone."""
    kinds: dict[str, set[Site]] = {"call": set(), "unread": set(), "python": set()}
    for text in TEXTS:
        kinds["call" if read(text).refused[0] else "unread"] |= raised_at(read(text))
    for call in CALLS:
        kinds["python"] |= raised_at(refusal(lambda call=call: eval(call, dict(NAMES))))  # type: ignore[misc]
    kinds["unread"] -= kinds["call"]
    kinds["python"] -= kinds["call"] | kinds["unread"]
    return kinds


def test_every_site_is_reached_but_the_guards() -> None:
    assert {str(site) for site in set(sites().values()).difference(*reached().values())} == set(GUARDS)


def test_how_many_sites_there_are_of_each_kind() -> None:
    """Calls with a fix and a picture may become more, the others fewer."""
    assert {kind: len(sites) for kind, sites in reached().items()} == COUNTS


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_refused_call_has_a_picture_and_a_call_that_works(text: str) -> None:
    error = read(text)
    assert raised_at(error)
    if not error.refused[0]:
        assert isinstance(error, NotationError) and error.column is not None
        return
    told = asked("look", text=text)
    assert told["refusal"].startswith("<svg") and told["fixes"] == list(error.fixes) != []
    for fix in error.fixes:
        assert "value" in asked("look", text=fix)


COUNTS = {"call": 105, "unread": 79, "python": 107}
