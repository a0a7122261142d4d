"""Every place of the layout room that refuses is reached by a text or a call here; a refused call has a fix and a
picture.

A text that is not read has no picture but its caret, and a text to write instead where one is near; no call reaches a
guard.
"""

import dataclasses
import random
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache

import numpy
import pytest
import sympy
from explore.questions import asked
from layout.junk_cases import POOL, calls, nested
from layout.site_cases import CALLS, GUARDS, TEXTS
from layout.sites import Site, raised_at, sites
from shares import in_share, share

import cutepy.layout
from cutepy.draw import draw
from cutepy.errors import CutepyError, NotationError
from cutepy.layout.text.parse import expression_of, parse_parts, parse_tiler
from cutepy.layout.text.repair import _alike, _any, _numbers

M, N = sympy.symbols("M N", integer=True, positive=True)
ROOM = {name: getattr(cutepy.layout, name) for name in cutepy.layout.__all__}
NAMES = {
    **ROOM,
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
        kinds["call" if read(text).refused else "unread"] |= raised_at(read(text))
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
    told = asked("look", text=text)
    assert told.get("fixes", []) == list(error.fixes)
    for fix in error.fixes:
        assert "value" in asked("look", text=fix)
    if error.refused is None:
        assert isinstance(error, NotationError) and error.column is not None
    else:
        assert told["refusal"].startswith("<svg") and error.fixes


def test_most_texts_that_are_not_read_have_a_text_near_them_that_is() -> None:
    unread = [text for text in TEXTS if read(text).refused is None]
    assert [text for text in unread if not read(text).fixes] == WITHOUT


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_a_refused_call_of_python_has_a_picture_and_calls_that_work(call: str) -> None:
    error = refusal(lambda: eval(call, dict(NAMES)))
    assert error.fixes
    if isinstance(error, NotationError):
        assert all(parse_parts(fix) for fix in error.fixes)
        return
    assert draw(error).svg().startswith("<svg")
    for fix in error.fixes:
        eval(fix, dict(ROOM))


def test_what_a_refusal_of_any_call_says_to_write_works() -> None:
    """Random calls of every public function and method, right and wrong: each fix is Python that runs."""
    rng, names, fixed = random.Random("fixes"), list(calls()), 0
    for _call in share(range(300)):
        name, call = rng.choice(names)
        operands = [rng.choice(POOL)(rng) for _operand in range(rng.choice((1, 1, 2, 2, 3)))]
        with suppress(TypeError):
            try:
                call(*operands)
            except NotationError:
                continue
            except CutepyError as error:
                start = time.process_time()
                fixes = error.fixes
                assert time.process_time() - start < SLOWEST, (name, operands)
                draw(error)
                fixed += bool(fixes)
                for fix in fixes:
                    eval(fix, dict(ROOM))
    assert fixed > in_share(50)


SLOWEST = 0.5
COUNTS = {"call": 104, "unread": 81, "python": 110}
WITHOUT = [
    " -> (",
    "!",
    TEXTS[3],
    "#ttg.blocked<{order = [1, 0]}>",
    "#ttg.blocked<{sizePerThread = [1, 3], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>",
    "#ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
    TEXTS[7],
    TEXTS[10],
    "(4,4):(4,1)\ntiler: (2,2)\nlabel: tile\n",
    "-(0,6)",
    "99999999999999999999999999999999999999999999999999*99999999999999999999999999999999999999:1",
    "<",
    "E(_)",
    "F2(-1)",
    "L(",
    "Sw<3,4,3>_smem_ptr[",
    "Swizzle(6)",
    "_",
    "composition(S<2,0,3>)",
    "get(1, S<2,0,3>)",
    "make_composed_layout(2, 6:2)",
    "make_ordered_layout(1)",
    "memref<f16>",
    "|",
]
"""Texts near which none is read."""


@pytest.mark.parametrize("number", range(-9, 10))
def test_candidates_near_a_number(number: int) -> None:
    """The power of two below it, and last its place in the nesting of the operand beside it, for every number."""
    near = list(_numbers(number, cutepy.layout.Layout((4, (2, 8)))))
    assert near[2] == abs(number) and near[3] in (0, 1, 2, 4, 8) and near[3] <= near[2] < 2 * near[3] + (not number)
    assert near[-1] == (number, (1, 1))


@pytest.mark.parametrize(
    ("operand", "beside"),
    [
        ((None, 4), cutepy.layout.Layout(8)),
        (("a", (4, None)), 3),
        (3, (0, 3)),
        ((2, 2), (-1, 3)),
        (cutepy.layout.Layout((M, 4)), cutepy.layout.Layout(4)),
    ],
    ids=str,
)
def test_what_may_stand_instead_of_an_operand_comes_to_its_end(operand: object, beside: object) -> None:
    """Nothing that cannot be made ends the row: operands of every kind are in it, bytes last."""
    assert isinstance(list(_any(operand, beside))[-1], memoryview)
    assert list(_alike(operand, beside))
    if isinstance(operand, cutepy.layout.Layout):
        assert list(_alike(operand, beside))[-1] == beside
