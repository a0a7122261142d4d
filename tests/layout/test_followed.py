"""Numbers that are followed: programs over integers, run once on followed numbers, against the same on others."""

import gc
import weakref
from collections.abc import Callable
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutepy.gpu.runtime.formulas import Statements
from cutepy.layout import Layout, coalesce, complement, composition, logical_divide
from cutepy.layout.values import followed
from cutepy.layout.values.followed import (
    FollowedNumber,
    Trail,
    Unfollowed,
    choice,
    following,
    formula_of,
    trail,
    value_at,
)

STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "radd": lambda a, b: 3 + a,
    "sub": lambda a, b: a - b,
    "rsub": lambda a, b: 7 - a,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "of a number": lambda a, b: 100 // a + 100 % b,
    "rounded up": lambda a, b: -(-a // 4),
    "divmod": lambda a, b: sum(divmod(a, b)),
    "rdivmod": lambda a, b: divmod(64, a)[1],
    "abs": lambda a, b: abs(a - b),
    "less": lambda a, b: a if a < b else b,
    "not above": lambda a, b: a + 1 if a <= b else b,
    "above": lambda a, b: a if a > 5 else b,
    "not less": lambda a, b: a if 4 >= b else a + b,
    "equal": lambda a, b: 1 if a == b else a,
    "other": lambda a, b: a if a != 2 else b,
    "truth": lambda a, b: a if b else 9,
    "greatest": lambda a, b: max(a, b, 3) - min(a, 2),
    "one of": lambda a, b: a if b in (1, 2, 4) else 0,
    "in order": lambda a, b: sorted([a, b, 3], key=lambda n: -n)[1],
    "product": lambda a, b: prod([a, b, 2]),
    "listed": lambda a, b: len(range(a % 5)) + b,
    "index": lambda a, b: [10, 20, 30][a % 3] + b,
    "text": lambda a, b: len(f"{a}") + b,
    "bits": lambda a, b: (a & 3) + b.bit_length(),
    "of floats": lambda a, b: a if 1.5 * b < 4.0 else a + 1,
    "quotient": lambda a, b: int((a + 1) / 2) + b,
    "chosen": lambda a, b: choice(lambda n, m: 5 if (n ^ m) & 1 else 6, a, b) + a,
    "layout": lambda a, b: coalesce(Layout((abs(a) + 1, 3), (1, abs(a) + 1))).stride + b,
}
"""What a program may do with two of its numbers; each gives a number."""
NUMBERS = st.integers(-3, 12)
PROGRAMS = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), NUMBERS, NUMBERS), min_size=1, max_size=6)


def run(program: list[tuple[str, int, int]], numbers: list[Any]) -> Any:
    """The last number of a program: each step takes two of those that there are so far."""
    held = list(numbers)
    for name, one, two in program:
        held.append(STEPS[name](held[one % len(held)], held[two % len(held)]))
    return held[-1]


def text_of_run(program: list[tuple[str, int, int]], numbers: list[int]) -> tuple[str, dict[str, object]]:
    """The same as a function of the numbers, which gives None where a condition does not hold."""
    running = Trail()
    with following(running):
        found = run(program, [running.number(f"n{at}", n) for at, n in enumerate(numbers)])
    assert value_at(found) == run(program, numbers), "a followed number has the value of the number"
    names = [f"n{at}" for at in range(len(numbers))]
    said = Statements({name: name for name in names}, [*running.conditions, formula_of(found)], "    ")
    for condition in running.conditions:
        said.say("if not {}: return None", condition)
    said.say("return {}", formula_of(found))
    return "\n".join([f"def given({', '.join(names)}):", *said.lines]), {**running.choices}


def broken(program: list[tuple[str, int, int]], numbers: list[int], others: list[list[int]]) -> str:
    """What the function of a program gives otherwise than the program, at some other numbers; "" where it does not."""
    try:
        text, scope = text_of_run(program, numbers)
    except ZeroDivisionError:
        return ""
    exec(text, scope)
    for other in [numbers, *others]:
        try:
            found = scope["given"](*other)  # type: ignore[operator]
        except ZeroDivisionError:
            found = None
        if found is None:
            if other is numbers:
                return f"its own numbers {other} are refused: {text}"
            continue
        try:
            wanted = run(program, other)
        except ZeroDivisionError:
            return f"{other} divides by 0, and {found} is given: {text}"
        if (found, type(found)) != (wanted, type(wanted)):
            return f"{other} gives {wanted}, not {found}: {text}"
    return ""


@settings(max_examples=600)
@given(PROGRAMS, st.lists(NUMBERS, min_size=3, max_size=3), st.lists(st.lists(NUMBERS, min_size=3, max_size=3)))
def test_formulas_give_what_the_program_gives_where_the_conditions_hold(
    program: list[tuple[str, int, int]], numbers: list[int], others: list[list[int]]
) -> None:
    assert broken(program, numbers, others) == ""


@pytest.mark.parametrize("name", STEPS)
def test_each_step_by_all_numbers(name: str) -> None:
    """Each step alone, followed at some numbers, at all of a range."""
    pairs = [[a, b] for a in range(-3, 8) for b in range(-3, 8)]
    for numbers in ([1, 2], [4, 4], [5, 3], [2, 0], [0, 7], [-2, 3], [3, -1]):
        assert broken([(name, 0, 1)], numbers, pairs) == ""


FAULTS: dict[str, dict[str, object]] = {
    "a comparison without a condition": {"__lt__": lambda a, b: value_at(a) < value_at(b)},
    "an equality without a condition": {"__eq__": lambda a, b: value_at(a) == value_at(b)},
    "an index without a condition": {"__index__": lambda a: a.value, "__int__": lambda a: a.value},
    "a truth without a condition": {"__bool__": lambda a: a.value != 0},
    "a text without a condition": {"__format__": lambda a, spec: format(a.value, spec)},
    "a sum without its formula": {"__add__": lambda a, b: FollowedNumber(a.trail, a.value + value_at(b), a.formula)},
    "a value kept as a number": {"__mul__": lambda a, b: a.value * value_at(b)},
    "a division without its divisor": {"__floordiv__": lambda a, b: FollowedNumber(a.trail, a.value // value_at(b), 1)},
    "an absolute value left out": {"__abs__": lambda a: a if a.value >= 0 else -a},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, method in FAULTS[fault].items():
        monkeypatch.setattr(FollowedNumber, name, method)
    pairs = [[a, b] for a in range(-3, 8) for b in range(-3, 8)]
    starts = [[1, 2], [4, 4], [5, 3], [2, 0], [-2, 3]]

    def noticed(name: str, start: list[int]) -> bool:
        try:
            return broken([(name, 0, 1)], start, pairs) != ""
        except (AssertionError, TypeError):
            return True

    assert any(noticed(name, start) for name in STEPS for start in starts)


def test_a_followed_number_is_no_key() -> None:
    """What is computed of it would serve calls that are not followed."""
    n = Trail().number("n", 4)
    for kept in ({4: 1}.get, {4, 5}.__contains__, lambda n: {n: 1}, hash):
        with pytest.raises(Unfollowed):
            kept(n)


def test_a_followed_number_acts_as_an_integer() -> None:
    running = Trail()
    n = running.number("n", 6)
    assert isinstance(n, int)
    assert not isinstance(n, float)
    assert isinstance(1.5 * n, float)
    assert not hasattr(n, "free_symbols")
    assert not running.conditions
    assert [n << 1, n | 1, n.bit_length(), list(range(n))[-1], f"{n}", n / 4] == [12, 7, 3, 5, "6", 1.5]
    assert running.conditions == {("==", "n", 6): None}
    assert trail() is None


@settings(max_examples=100)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(-50, 50))
def test_layouts_of_followed_numbers(rows: int, columns: int, step: int) -> None:
    """The algebra gives the layouts that it gives for the numbers, or refuses the same."""
    running = Trail()
    n, m, s = (running.number(name, value) for name, value in (("n", rows), ("m", columns), ("s", step)))
    for operation in (coalesce, lambda x: logical_divide(x, 4), lambda x: composition(x, Layout((2, 2))), complement):
        known: Any = Layout((rows, columns), (step, 1))
        try:
            wanted = operation(known)
        except Exception as error:
            with pytest.raises((type(error), Unfollowed)):
                operation(Layout((n, m), (s, 1)))
            continue
        try:
            found: Any = operation(Layout((n, m), (s, 1)))
        except Unfollowed:
            continue
        assert found == wanted


def test_the_trail_of_one_thread_is_not_anothers() -> None:
    from threading import Thread

    seen: list[object] = []
    with following(Trail()):
        thread = Thread(target=lambda: seen.append(followed.trail()))
        thread.start()
        thread.join()
    assert seen == [None]


def test_of_choices_of_many_functions_few_are_kept() -> None:
    """A function may hold a device, and each call may make one anew."""
    gone = []

    class Chooses:
        def __call__(self, n: int) -> int:
            return n % 2

    for _ in range(1000):
        function, running = Chooses(), Trail()
        weakref.finalize(function, gone.append, None)
        with following(running):
            choice(function, running.number("n", 4))
        assert all(holds(6) for holds in running.choices.values())
    gc.collect()
    assert len(gone) > 500
