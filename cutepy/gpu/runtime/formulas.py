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
1; "and", "or" and "not" of these."""

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
    texts = [text_of(part, name) for part in parts]
    if op in ("abs", "not"):
        return f"{'not ' if op == 'not' else op}({texts[0]})"
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
