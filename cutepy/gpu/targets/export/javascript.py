"""Formulas in JavaScript.

Law: a formula's text gives, over BigInts for the whole numbers of a call, what `evaluate` gives in Python.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from string import ascii_letters
from typing import Any

from ...runtime.formulas import Formula, least_of, shared

#: What a module has beside its runtime where it uses it: division and remainder of BigInts rounded down, for
#: JavaScript's own are rounded to 0, and the bits of a float.
HELPERS = {
    "floorDivide": "(a,b)=>(a-(a%b+b)%b)/b",
    "floorModulo": "(a,b)=>(a%b+b)%b",
    "floatBits": "v=>new Uint32Array(Float32Array.of(Number(v)).buffer)[0]",
}
ROUNDED = {"//": "floorDivide", "%": "floorModulo"}
OPERATORS = {"or": "||", "and": "&&", "|": "|", "==": "==", "<=": "<=", "+": "+", "*": "*", "//": "/", "%": "%"}
PRECEDENCE = {"or": 1, "and": 2, "|": 3, "==": 4, "<=": 5, "+": 6, "*": 7, "//": 7, "%": 7}
TRUTHS = ("or", "and", "==", "<=")


class Script:
    """Formulas as JavaScript. `least` is what whole numbers of a call are at least.

    >>> js = Script({"M": 1, "i": -5})
    >>> js.text(("//", ("+", ("*", "M", 4), 1), 64)), js.text(("%", "i", 4)), js.text(3)
    ('(a*4n+1n)/64n', 'floorModulo(b,4n)', '3')
    """

    def __init__(self, least: Mapping[str, int]) -> None:
        self.names = _names()
        self.least = dict(least)
        self.locals: dict[Formula, str] = {name: self.name() for name in least}
        # A number may be there as a float and as a whole number: formulas are of whole ones.
        self.floats: dict[str, str] = {}

    def name(self) -> str:
        """A name that nothing has."""
        return next(self.names)

    def sharing(self, formulas: Sequence[Formula], own: Iterable[str] = ()) -> Iterator[str]:
        """Definitions of what occurs more than once, each after those that it is made of; then its name is printed.
        What has names of its `own` is not looked at."""
        for formula in shared(formulas):
            if formula not in self.locals and not {*_leaves(formula)}.intersection(own):
                text = self.operand(formula)
                self.locals[formula] = self.name()
                yield f"{self.locals[formula]}={text}"

    def text(self, formula: Formula) -> str:
        """A formula that stands alone; a number then is no BigInt."""
        match formula:
            case int() if abs(formula) <= 1 << 53:
                return str(formula)
            case ("?", which, one, other) if formula not in self.locals:
                return f"{self.operand(which, 1)}?{self.text(one)}:{self.text(other)}"
        return self.operand(formula)

    def operand(self, formula: Formula, outer: int = 0) -> str:
        """A formula inside of an operation that binds so strongly."""
        if formula in self.locals:
            return self.locals[formula]
        if isinstance(formula, str):
            raise KeyError(formula)
        if isinstance(formula, int):
            return f"{formula}n" if formula >= 0 else f"({formula}n)"
        operator, *operands = formula
        if len(operands) == 1:
            return self.operand(operands[0], outer)
        if operator == "==" and operands[1] == 0 and isinstance(operands[0], tuple) and operands[0][0] in TRUTHS:
            return f"!{self.operand(operands[0], 9)}"
        if operator in ROUNDED and not self._positive(operands):
            return f"{ROUNDED[operator]}({','.join(self.operand(part) for part in operands)})"
        if operator == "?":
            which, one, other = operands
            text = f"{self.operand(which, 1)}?{self.operand(one)}:{self.operand(other)}"
            return f"({text})" if outer else text
        binds = PRECEDENCE[operator]
        if operator == "and":
            operands = _divided_at_once(operands)
            if len(operands) == 1:
                return self.operand(operands[0], outer)
        first, *rest = operands
        text = self.operand(first, binds - 1)
        for part in rest:
            said = f"{part}n" if operator == "+" and isinstance(part, int) else self.operand(part, binds)
            text += said if said.startswith("-") else OPERATORS[operator] + said
        return f"({text})" if outer >= binds else text

    def parameter(self, kind: str, value: Any) -> str:
        """A parameter of a program of that type: a whole number, or the bits of a float."""
        if kind[0] != "f":
            return self.text(value)
        if isinstance(value, int | float):
            return str(struct.unpack("<I", struct.pack("<f", value))[0])
        return f"floatBits({self.floats.get(value) or self.operand(value)})"

    def template(self, text: str) -> str:
        """A text in which names in braces are numbers of the call."""
        told = escaped(text)
        for name, local in self.locals.items():
            told = told.replace(f"{{{name}}}", f"${{{local}}}")
        return json.dumps(text) if told == text else f"`{told}`"

    def refusal(self, facts: Sequence[tuple[Formula, str]]) -> str:
        """Why a call is refused, or 0."""
        parts = [f"{self.operand(holds)}?0:{self.template(text)}" for holds, text in facts]
        return "||".join(f"({part})" if len(parts) > 1 else part for part in parts) or "0"

    def _positive(self, operands: Sequence[Formula]) -> bool:
        least, by = (min(n[2:]) if isinstance(n, tuple) and n[0] == "?" else least_of(n, self.least) for n in operands)
        return least is not None and by is not None and least >= 0 and by > 0


def escaped(text: str) -> str:
    """A text as it stands between backquotes."""
    return text.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${")


def listed(items: Iterable[str]) -> str:
    """A list without what is empty at its end."""
    return f"[{','.join(items).rstrip(',')}]"


def helpers(text: str = " ".join(HELPERS)) -> str:
    """The definitions of the helpers that a text names."""
    return "".join(f"const {name}={body};\n" for name, body in HELPERS.items() if name in text)


def formula_of(value: Any) -> Formula:
    """A formula as it stands in JSON."""
    return tuple(map(formula_of, value)) if isinstance(value, list) else value


def _divided_at_once(parts: Sequence[Formula]) -> list[Formula]:
    """The same truth, with one remainder for all that a power of two divides: of the bits of all the low ones are 0."""
    divided: dict[int, list[Formula]] = {}
    others: list[Formula] = []
    for part in parts:
        match part:
            case ("==", ("%", x, int(by)), 0) if by & (by - 1) == 0:
                divided.setdefault(by, []).append(x)
            case _:
                others.append(part)
    return [*[("==", ("%", ("|", *some), by), 0) for by, some in divided.items()], *others]


def _leaves(formula: Formula) -> Iterator[int | str]:
    if isinstance(formula, tuple):
        for part in formula[1:]:
            yield from _leaves(part)
    else:
        yield formula


def _names() -> Iterator[str]:
    """a to Z, then a0, b0 and so on: no word of JavaScript."""
    yield from (letter for letter in ascii_letters if letter not in "Fmn")
    for i in count():
        yield from (f"{letter}{i}" for letter in ascii_letters)
