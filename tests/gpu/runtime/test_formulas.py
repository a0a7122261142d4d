"""What is told of formulas holds for all numbers: their least, a simpler one, and conditions without those that follow
from others."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from shares import tries

from cutepy.gpu.runtime.formulas import Formula, evaluate, least_of, simplified, text_of, without_implied

NAMES = ("a", "b", "d")
"""Of which "d" divides, and is not 0: what divides by 0 is refused by a condition, when Python follows numbers."""
DIVIDES: Formula = ("not", ("==", "d", 0))
terms: st.SearchStrategy[Formula] = st.recursive(
    st.sampled_from(["a", "b", ("%", "d", "d"), ("//", "d", "d")]) | st.integers(-3, 9),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "*"]), inner, inner),
        st.tuples(st.sampled_from(["+", "*"]), inner, inner, inner),
        st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(1, 4) | st.just("d")),
        st.tuples(st.just("abs"), inner),
    ),
    max_leaves=5,
)
asked = st.tuples(st.sampled_from(["==", "<="]), terms, terms)
conditions: st.SearchStrategy[Formula] = st.one_of(
    asked, st.tuples(st.just("not"), asked), st.tuples(st.sampled_from(["and", "or"]), asked, asked)
)

wholes: st.SearchStrategy[Formula] = st.recursive(
    terms | conditions,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: ("+", *parts)),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: ("*", *parts)),
        st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(1, 4)),
        st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(1, 3), st.integers(1, 4)),
    ),
    max_leaves=4,
)
floats = st.sampled_from([("float", "-2.5"), ("float", "1.5")])
numbers: st.SearchStrategy[Formula] = wholes | floats | st.tuples(st.sampled_from(["+", "*"]), wholes, floats)


def value_of(formula: Formula, values: dict[str, int]) -> float:
    """The number that the text of a formula has in Python, which knows floats as well."""
    text = text_of(formula, lambda part: part if isinstance(part, str) else None)
    return float(eval(text, {}, dict(values)))


@tries(100)
@given(numbers, st.tuples(*[st.integers(-2, 5)] * 3).filter(lambda each: each[2]), st.integers(0, 2))
def test_a_formula_is_not_below_its_least_and_has_the_value_of_the_simpler_one(
    formula: Formula, each: tuple[int, ...], slack: int
) -> None:
    values = dict(zip(NAMES, each, strict=True))
    value = value_of(formula, values)
    least = least_of(formula, {name: number - slack for name, number in values.items()})
    assert least is None or least <= value
    assert value_of(simplified(formula), values) == value
    assert simplified(simplified(formula)) == simplified(formula)


def judge(forms: list[Formula], fewer: list[Formula], numbers: range) -> None:
    """Both have one truth wherever nothing divides by 0."""
    for values in itertools.product(numbers, numbers, [n for n in numbers if n]):
        named = dict(zip(NAMES, values, strict=True))
        wanted, found = (all(evaluate(form, named) for form in each) for each in (forms, fewer))
        assert wanted is found, (fewer, named)


@tries(100)
@given(st.lists(conditions, max_size=6))
def test_the_truth_of_all_is_the_same(forms: list[Formula]) -> None:
    judge(forms, without_implied([*forms, DIVIDES]), range(-2, 5))


@tries(100)
@given(st.lists(conditions, max_size=6), st.lists(st.integers(1, 4), min_size=3, max_size=3))
def test_bounds_are_used(forms: list[Formula], least: list[int]) -> None:
    """What holds of all numbers that are so large follows from their bounds, and none is left out that does not."""
    bounds: list[Formula] = [("<=", low, name) for name, low in zip(NAMES, least, strict=True)]
    fewer = without_implied([*forms, *bounds, *[("not", ("==", name, 0)) for name in NAMES]])
    assert not any(("not", ("==", name, 0)) in fewer for name in NAMES)
    judge([*bounds, *forms], fewer, range(-1, 5))


def test_a_recipe_asks_little() -> None:
    """The conditions of a sum of two equal shapes, as following them gives them, are a few."""
    n, m, step = "n", "m", "step"
    size: Formula = ("*", m, n)
    given: list[Formula] = [
        ("not", ("<=", n, 1)), ("not", ("==", n, 1)), ("not", ("==", n, 0)), ("not", ("<=", m, 1)), ("==", step, 1),
        ("<=", 0, ("*", size, 4)), ("<=", ("*", m, n, 4), 2147483632), ("<=", ("*", m, n, 4), 134217728),
        ("not", ("==", ("*", n, m), 0)), ("==", ("%", n, n), 0), ("not", ("==", ("abs", m), 1)), ("<=", 1, size),
        ("not", ("<=", ("*", ("+", size, -1), step), 0)), ("not", ("<=", 1048576, size)),
    ]  # fmt: skip
    assert without_implied(given) == [
        ("==", step, 1), ("<=", 2, n), ("<=", 2, m), ("<=", ("*", m, n), 1048575),
    ]  # fmt: skip
