"""Formulas of a launch: what a host computes of the sizes, strides and offsets of a call, as plain data.

Law: a formula's text in Python gives, for the same numbers, what `evaluate` gives. `export.es_module` prints those
of exported kernels in JavaScript.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add, floordiv, mod, mul
from typing import Any

Formula = int | str | tuple[Any, ...]
"""What the host computes for a launch, as plain data: a number, the name of a number of the call, or an operation with
formulas for its operands: "+", "*", "//", "%" of integers, // and % rounded down; "abs"; "==" and "<=", which are 0 or
1; "and", "or" and "not" of these; in Python also "chosen", the name of a function of
numbers and these, which gives a truth, and "float", the text of a float."""

_APPLY: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "*": mul, "//": floordiv, "%": mod}


def evaluate(formula: Formula, values: Mapping[str, int]) -> int:
    """The number that a formula is where the call has these numbers.

    >>> evaluate(("//", ("+", "x.shape[0]", 255), 256), {"x.shape[0]": 1000})
    4
    >>> evaluate(("or", ("==", "n", 1), ("<=", 4, ("abs", "step"))), {"n": 2, "step": -3})
    0
    """
    if isinstance(formula, int):
        return formula
    if isinstance(formula, str):
        return values[formula]
    op, *parts = formula
    if op == "and":
        return int(all(evaluate(part, values) for part in parts))
    if op == "or":
        return int(any(evaluate(part, values) for part in parts))
    numbers = [evaluate(part, values) for part in parts]
    if op == "abs":
        return abs(numbers[0])
    if op == "not":
        return int(not numbers[0])
    if op == "==":
        return int(numbers[0] == numbers[1])
    if op == "<=":
        return int(numbers[0] <= numbers[1])
    return int(reduce(_APPLY[op], numbers))


def simplified(formula: Formula) -> Formula:
    """A formula that has the same truth or number for all numbers: what is known is computed, a sum and a product have
    their number last, and a comparison has no number below 0 as a factor.

    >>> simplified(("<=", 0, ("+", 12, ("*", -4, ("+", "n", 0)))))
    ('<=', ('*', 'n', 4), 12)
    >>> simplified(("and", ("==", ("%", 32, 4), 0), ("or", ("==", "n", 1), ("==", "n", 1))))
    ('==', 'n', 1)
    """
    return _node(formula[0], *map(simplified, formula[1:])) if isinstance(formula, tuple) else formula


def _node(op: str, *parts: Formula) -> Formula:
    """An operation on simplified formulas, simplified."""
    if op in ("+", "*", "and", "or"):
        flat = [p for part in parts for p in (part[1:] if isinstance(part, tuple) and part[0] == op else (part,))]
        terms, numbers = [p for p in flat if not isinstance(p, int)], [p for p in flat if isinstance(p, int)]
        number = evaluate((op, _NEUTRAL[op], *numbers), {})
        if op in ("and", "or"):
            terms = list(dict.fromkeys(terms))
        if number != _NEUTRAL[op]:
            terms = [number] if op != "+" and number in (0, 1) else [*terms, number]
        return (op, *terms) if len(terms) > 1 else terms[0] if terms else number
    if all(isinstance(part, int) for part in parts):
        return evaluate((op, *parts), {})
    if op in ("//", "%") and parts[1:] == (1,):
        return parts[0] if op == "//" else 0
    if op == "<=" and 0 in parts:
        low, high = [([*side[1:]] if isinstance(side, tuple) and side[0] == "+" else [side]) for side in parts]
        left, right = _not_negative(low, high), _not_negative(high, low)
        return op, _node("+", *left), _node("+", *right)
    return op, *parts


_NEUTRAL: Mapping[str, int] = {"+": 0, "*": 1, "and": 1, "or": 0}


def _factor(term: Formula) -> int:
    """The number that a term of a sum begins with."""
    if isinstance(term, tuple) and term[0] == "*" and isinstance(term[-1], int):
        return term[-1]
    return term if isinstance(term, int) else 1


def _not_negative(mine: Sequence[Formula], others: Sequence[Formula]) -> list[Formula]:
    """The terms of a side of a comparison without those of a factor below 0, and those of the other side instead."""
    taken: list[Formula] = [_node("*", term, -1) for term in others if _factor(term) < 0]
    return [term for term in mine if _factor(term) >= 0] + taken


def least_of(formula: Formula, least: Mapping[str, int]) -> int | None:
    """A number that a formula is never below, for numbers that are at least so much; None where this tells none.

    >>> least_of(("//", ("+", ("*", "n", 4), 63), 64), {"n": 1}), least_of(("+", "n", ("*", "m", -1)), {"n": 1, "m": 0})
    (1, None)
    """
    if isinstance(formula, int):
        return formula
    if isinstance(formula, str):
        return least.get(formula)
    op, *parts = formula
    if op not in _APPLY:
        return None if op == "float" else 0
    bounds = [bound for part in parts if (bound := least_of(part, least)) is not None]
    if len(bounds) < len(parts) or (op != "+" and min(bounds) < 0):
        return None
    if op in ("//", "%"):
        if not all(isinstance(by, int) and by > 0 for by in parts[1:]):
            return None
        return reduce(floordiv, parts[1:], bounds[0]) if op == "//" else 0
    return reduce(_APPLY[op], bounds)


def without_implied(conditions: Sequence[Formula]) -> list[Formula]:
    """Fewer conditions that together have the truth of all of these, for whole numbers of which none divides by 0.

    >>> without_implied([("==", "m", 1), ("<=", 2, "n"), ("not", ("==", "n", 0)), ("<=", ("*", "n", "m", 4), 9)])
    [('==', 'm', 1), ('<=', 2, 'n'), ('<=', 'n', 2)]
    """
    # 1. A number that equals another, or is known, stands for it everywhere else.
    equal: dict[Formula, Formula] = {}
    left: list[Formula] = []
    for form in conditions:
        form = _with(equal, {}, form)
        if isinstance(form, tuple) and form[0] == "==" and isinstance(form[1], str) and isinstance(form[2], str | int):
            equal[form[1]] = form[2]
        else:
            left.append(form)
    left = [_with(equal, {}, form) for form in left]
    # 2. Bounds of numbers first: with these other formulas are simpler, and some bounds follow.
    least = {form: bound for form, bound in _bounds(left)[0].items() if isinstance(form, str)}
    left = [_with({}, least, form) for form in left]
    low, high, others = _bounds(left)
    kept: list[Formula] = [("==", name, _with(equal, {}, value)) for name, value in equal.items()]
    for form, bound in low.items():
        implied = None if isinstance(form, str) else least_of(form, least)
        if implied is None or implied < bound:
            kept.append(("<=", bound, form))
    kept += [("<=", form, bound) for form, bound in high.items()]
    # 3. What is no bound, where bounds do not tell it.
    for form in others:
        match form:
            case ("not", ("==", one, int(number))):
                bounds = [low.get(one), least_of(one, least)]
                if any(bound is not None and bound > number for bound in bounds) or high.get(one, number) < number:
                    continue
            case 1:
                continue
        kept.append(form)
    return list(dict.fromkeys(kept))


def _with(equal: Mapping[Formula, Formula], least: Mapping[str, int], formula: Formula) -> Formula:
    """A formula in which numbers stand for those that equal them, simplified for numbers that are at least so much."""
    if not isinstance(formula, tuple):
        return _with(equal, least, equal[formula]) if formula in equal else formula
    if formula[0] == "chosen":
        return (*formula[:2], *[_with(equal, least, part) for part in formula[2:]])
    op, *parts = formula[0], *[_with(equal, least, part) for part in formula[1:]]
    first = least_of(parts[0], least)
    if first is not None and op == "abs" and first >= 0:
        return parts[0]
    if first is not None and op in ("%", "//") and parts[0] == parts[1] and first >= 1:
        return int(op == "//")
    if op in ("==", "<=") and parts[0] == parts[1]:
        return 1
    if op == "==" and isinstance(parts[0], int):
        parts.reverse()
    return _node(op, *(sorted(parts, key=repr) if op in ("+", "*") else parts))


def _bounds(conditions: Sequence[Formula]) -> tuple[dict[Formula, int], dict[Formula, int], list[Formula]]:
    """The greatest lower and the least upper bound of each formula that has one, and what else is asked."""
    low: dict[Formula, int] = {}
    high: dict[Formula, int] = {}
    others: list[Formula] = []
    for condition in conditions:
        negated = isinstance(condition, tuple) and condition[0] == "not"
        inner: Any = condition[1] if isinstance(condition, tuple) and negated else condition
        if not isinstance(inner, tuple) or inner[0] != "<=" or not any(isinstance(part, int) for part in inner[1:]):
            others.append(condition)
            continue
        above = isinstance(inner[1], int) != negated  # the formula is at least the number
        form, number = (inner[2], inner[1]) if isinstance(inner[1], int) else (inner[1], inner[2])
        number += negated * (1 if above else -1)
        if isinstance(form, tuple) and form[0] == "*" and isinstance(form[-1], int) and form[-1] > 0:
            number = -(-number // form[-1]) if above else number // form[-1]
            form = form[1] if len(form) == 3 else form[:-1]
        table, choose = (low, max) if above else (high, min)
        table[form] = choose(table.get(form, number), number)
    return low, high, others


def text_of(formula: Formula, name: Callable[[Formula], str | None]) -> str:
    """A formula in Python; `name` gives what names a number of the call, or a formula that has been computed.

    >>> text_of(("//", ("+", "n", 3), 4), lambda part: part if part == "n" else None)
    '((n + 3) // 4)'
    """
    if (known := name(formula)) is not None:
        return known
    if isinstance(formula, int):
        return f"({formula})" if formula < 0 else str(formula)
    if isinstance(formula, str):
        raise KeyError(formula)
    op, *parts = formula
    if op == "chosen":
        return f"{parts[0]}({', '.join([text_of(part, name) for part in parts[1:]])})"
    if op == "float":
        return f"float({parts[0]!r})"
    texts = [text_of(part, name) for part in parts]
    if op in ("abs", "not"):
        return f"(not {texts[0]})" if op == "not" else f"abs({texts[0]})"
    return texts[0] if len(texts) == 1 else f"({f' {op} '.join(texts)})"


def shared(formulas: Sequence[Formula]) -> list[Formula]:
    """The operations that occur more than once in formulas, each after those that it is made of.

    >>> shared([("+", ("*", "m", "n"), 1), ("//", ("*", "m", "n"), 4)])
    [('*', 'm', 'n')]
    """
    counts: Counter[Formula] = Counter()

    def count(formula: Formula) -> None:
        if isinstance(formula, tuple):
            counts[formula] += 1
            if counts[formula] == 1:
                for part in formula[1:]:
                    count(part)

    for formula in formulas:
        count(formula)
    order: dict[Formula, None] = {}

    def visit(formula: Formula) -> None:
        if isinstance(formula, tuple) and formula not in order:
            for part in formula[1:]:
                visit(part)
            order[formula] = None

    for formula in formulas:
        visit(formula)
    return [formula for formula in order if counts[formula] > 1]


def compiled(text: str, scope: Mapping[str, object]) -> Callable[[Any], Any]:
    """The function `recipe` that a text defines, over these objects."""
    names: dict[str, Any] = dict(scope)
    exec(compile(text, "<recipe>", "exec"), names)
    run: Callable[[Any], Any] = names["recipe"]
    return run


class Statements:
    """Lines of Python in which formulas stand: what occurs more than once in all `formulas` is computed by a line of
    its own, before the first line that needs it. `names` are those of the numbers of the call.

    >>> lines = Statements({"m": "m"}, [("//", ("*", "m", 3), 4), ("<=", ("*", "m", 3), 9)])
    >>> lines.say("return {}", ("//", ("*", "m", 3), 4))
    >>> lines.lines
    ['t0 = (m * 3)', 'return (t0 // 4)']
    """

    def __init__(self, names: Mapping[Formula, str], formulas: Sequence[Formula], indent: str = "") -> None:
        self.names, self.lines, self._indent = dict(names), list[str](), indent
        self._waiting = {form: f"t{number}" for number, form in enumerate(shared(formulas))}

    def text(self, formula: Formula) -> str:
        """The text of a formula, after the lines that it needs."""
        self._compute(formula)
        return text_of(formula, self.names.get)

    def say(self, line: str, *formulas: Formula) -> None:
        """A line, with the texts of formulas in its holes."""
        texts = [self.text(formula) for formula in formulas]
        self.lines.append(self._indent + line.format(*texts))

    def _compute(self, formula: Formula) -> None:
        if not isinstance(formula, tuple) or formula in self.names:
            return
        for part in formula[1:]:
            self._compute(part)
        if (name := self._waiting.get(formula)) is not None:
            self.lines.append(f"{self._indent}{name} = {text_of(formula, self.names.get)}")
            self.names[formula] = name
