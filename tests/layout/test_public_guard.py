"""Public functions of the room: junk is refused in words and soon; unknown sizes are decided, or a fact asked for."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable

import pytest
import sympy
from layout.junk_cases import faults

from cutepy import (
    BitMap,
    E,
    Layout,
    _,
    append,
    ceil_div,
    coalesce,
    compatible,
    complement,
    composition,
    coprofile,
    coshape,
    cosize,
    crd2crd,
    depth,
    evenly_divides,
    explain,
    free_bits,
    from_f2,
    increment_coord,
    logical_divide,
    make_composed_layout,
    parse_layout,
    prefix_product,
    product,
    quotient,
    right_inverse,
    round_up,
    shape,
    shape_div,
    size,
    stride,
    tile_to_shape,
    to_f2,
)
from cutepy.errors import CutepyError, LayoutError, NotationError, UndecidedError
from cutepy.layout import Swizzle
from cutepy.layout.values.int_tuple import leaves

M, N = sympy.symbols("M N", integer=True, positive=True)
ROWS = Layout((M, 8)).given("64 divides M")
PLAIN = Layout(1)


@pytest.mark.parametrize("seed", range(6))
def test_junk_calls_of_every_public_name(seed: int) -> None:
    """A slice of tools/fuzz/junk.py."""
    assert faults(400, seed) == {}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: evenly_divides(ROWS, (64, 8)), True),
        (lambda: evenly_divides(ROWS, (_, 4)), True),
        (lambda: evenly_divides((4, 8), (_, 4)), True),
        (lambda: evenly_divides((4, 8), (None, 3)), False),
        (lambda: compatible(Layout(M).given("M == 8"), Layout(8)), True),
        (lambda: compatible(Layout(M * N + N), Layout((M + 1, N))), True),
        (lambda: compatible(Layout(M).given("M >= 9"), Layout(8)), False),
        (lambda: shape_div((8, 8), 16), (1, 4)),
        (lambda: str(shape_div(16 * M, 4)), "4*M"),
        (lambda: round_up((1, 8), 4), (4, 8)),
        (lambda: round_up((2, 3), 6), (6, 6)),
        (lambda: str(composition(Layout(()), 4)), "4:0"),
        (lambda: str(composition(Layout(((), ())), 4)), "4:0"),
        (lambda: str(composition(make_composed_layout(Swizzle(2, 0, 2), 0, Layout(())), 4)), "S<2,0,2> o 0 o 4:0"),
    ],
)
def test_what_was_wrong_or_bare_is_right(call: Callable[[], object], expected: object) -> None:
    """Faults 1, 2 and 6 of the review of the algebra."""
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "fact"),
    [
        (lambda: evenly_divides(Layout(M), Layout(2, 2)), "4 divides M"),
        (lambda: shape_div(M, 4), "4 divides M"),
        (lambda: compatible(Layout(M), Layout(8)), "M >= 9"),
    ],
)
def test_what_is_undecided_asks_for_the_fact(call: Callable[[], object], fact: str) -> None:
    with pytest.raises(UndecidedError) as caught:
        call()
    assert caught.value.fact == fact


@pytest.mark.parametrize("seed", range(30))
def test_round_up_is_the_least_multiple_not_below_each_entry(seed: int) -> None:
    rng = random.Random(f"round up {seed}")
    for _case in range(50):
        value = tuple(rng.randint(1, 20) for _entry in range(rng.randint(1, 4)))
        by = rng.randint(1, 9)
        multiples = rng.choice((by, tuple(rng.randint(1, 9) for _entry in value[: rng.randint(1, 4)])))
        each = (by,) * len(value) if isinstance(multiples, int) else multiples + (1,) * (len(value) - len(multiples))
        expected = tuple(min(n for n in range(v, v + m) if n % m == 0) for v, m in zip(value, each, strict=True))
        assert round_up(value, multiples) == expected


def predicate(name: str, rng: random.Random) -> tuple[Callable[..., object], tuple[object, ...]]:
    """A question about unknown sizes, which are multiples of 1, 2 or 4."""
    size_ = rng.choice((M, 2 * M, 4 * M, M + N, M * N, 8, 4))
    other = rng.choice((size_, 2 * M, M, 4, 8, M * N + M))
    if name == "compatible":
        return compatible, (Layout(size_), rng.choice((Layout(other), Layout((2, M)), Layout((M, N)))))
    if name == "evenly_divides":
        return evenly_divides, ((size_, 8), rng.choice((other, (2, 4), (other, _), Layout(2, 2))))
    function = {"shape_div": shape_div, "ceil_div": ceil_div, "round_up": round_up}[name]
    return function, ((size_, 8), rng.choice((2, 4, 8, (2, 4), (other, 2), M)))


def at(thing: object, point: dict[sympy.Symbol, int]) -> object:
    """An operand, or an answer, with values for the unknown sizes."""
    if isinstance(thing, tuple):
        return tuple(at(entry, point) for entry in thing)
    if isinstance(thing, Layout):
        return thing.subs({s: v for s, v in point.items() if s in getattr(thing.size, "free_symbols", ())})
    return int(thing.subs(point)) if hasattr(thing, "free_symbols") else thing


@pytest.mark.parametrize("name", ["compatible", "evenly_divides", "shape_div", "ceil_div", "round_up"])
def test_decided_questions_hold_at_three_values(name: str) -> None:
    """Whatever is answered with unknown sizes is the answer at values; the rest is undecided or refused."""
    rng, answered = random.Random(name), 0
    for _case in range(150):
        function, operands = predicate(name, rng)
        try:
            general = function(*operands)
        except UndecidedError:
            continue
        except LayoutError:
            general = None
        for _point in range(3):
            point = {M: rng.randint(1, 12), N: rng.randint(1, 12)}
            try:
                there = function(*(at(operand, point) for operand in operands))
            except LayoutError:
                there = None
            assert at(general, point) == there, (operands, point)
            answered += 1
    assert answered > 60


@pytest.mark.parametrize(
    "call",
    [
        lambda: cosize(1), lambda: coshape(3), lambda: coprofile(3), lambda: stride((4, 8)), lambda: to_f2(2),
        lambda: free_bits(()), lambda: quotient("a", 2), lambda: crd2crd((_, 1), (4, 2), (3,)), lambda: size((_, 1)),
        lambda: ceil_div((_, 1), 2), lambda: prefix_product((_, 2)), lambda: increment_coord((_, 1), (2, 2)),
        lambda: tile_to_shape(Layout(4), (_, 1)), lambda: depth((6, 6), (2,)), lambda: shape((2, 3), ((),)),
        lambda: from_f2(6), lambda: BitMap(8), lambda: size(Layout(4), mode=[0]),
        lambda: product("ab"), lambda: append(Layout(4), 10**8), lambda: Layout(4, E(10**9))(1),
        lambda: coalesce(Layout(4), 1, 2, 3), lambda: logical_divide(3, 4), lambda: complement(4),
    ],
)  # fmt: skip
def test_junk_that_ended_bare_is_refused_in_words(call: Callable[[], object]) -> None:
    with pytest.raises(CutepyError) as caught:
        call()
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize(
    "text", ["ArithTuple(1,2) o (4):(1@9999999)", "(4,4):(1@0,1@9999999)", "4:E<9999999>", "4:E(99999999)"]
)
def test_an_axis_beyond_all_lists_is_refused_with_a_caret(text: str) -> None:
    """Fault 5: it ran on without an end."""
    start = time.process_time()
    with pytest.raises(NotationError, match=r"axes are numbered below 1024") as caught:
        right_inverse(parse_layout(text))
    assert "^" in str(caught.value) and time.process_time() - start < 1


def test_a_step_of_an_explanation_that_is_false_raises_without_assertions() -> None:
    """A promise hangs on no `assert`, which `python -O` leaves out."""
    import inspect

    from cutepy.layout.text import explain as module

    assert not [line for line in inspect.getsource(module).splitlines() if line.strip().startswith("assert ")]


def test_an_explanation_names_no_mode_that_the_result_lacks() -> None:
    """Fault 7: "a mode 1:16" of a complement 4:2, and a negative step told as a positive one."""
    rng = random.Random("stories of complements")
    for _case in range(300):
        layout = Layout((rng.randint(1, 4), rng.randint(1, 3)), (1, rng.choice((1, 2, 4, 8))))
        try:
            story = explain(complement, layout, rng.randint(1, 40))
        except LayoutError:
            continue
        if story.result is not None:
            result = {f"{s}:{d}" for s, d in zip(leaves(story.result.shape), leaves(story.result.stride), strict=True)}
            named = set(re.findall(r"a mode (\d+:\d+)", str(story)))
            assert named <= result | {"1:1", "1:0"}, story
    assert "digits by -(24)" in str(explain(composition, Layout(48), Layout(2, -24)))
