"""Formulas and the plan of a variant in JavaScript.

Law: a formula's text gives, over BigInts for the whole numbers of a call, what `evaluate` gives in Python.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, groupby
from string import ascii_letters
from typing import Any

from ..runtime.formulas import Formula, least_of, shared

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
LARGE = 1 << 20
"""A number from here on is written once."""


class Script:
    """Formulas as JavaScript. `numbers` are those of a call: name, type, and what each is at least, None for floats.

    >>> js = Script([("M", "u32", 1), ("i", "i32", -5)])
    >>> js.text(("//", ("+", ("*", "M", 4), 1), 64)), js.text(("%", "i", 4)), js.text(3)
    ('(a*4n+1n)/64n', 'floorModulo(b,4n)', '3')
    """

    def __init__(self, numbers: Sequence[tuple[str, str, int | None]]) -> None:
        self.names = _names()
        self.locals: dict[Formula, str] = {}
        self.least = {name: least for name, _, least in numbers if least is not None}
        # A number may be there as a float and as a whole number: formulas are of whole ones.
        self.parameters = {(name, kind[0]): next(self.names) for name, kind, _ in numbers}
        self.whole = {
            name: self.parameters[name, kind[0]] for name, kind, least in reversed(numbers) if least is not None
        }

    def name(self) -> str:
        """A name that nothing has."""
        return next(self.names)

    def sharing(self, formulas: Sequence[Formula]) -> Iterator[str]:
        """Definitions of what occurs more than once, each after those that it is made of; then its name is printed."""
        large = Counter(n for formula in formulas for n in _integers(formula) if abs(n) >= LARGE)
        for formula in [*[n for n, times in large.items() if times > 1], *shared(formulas)]:
            text = self.operand(formula)
            self.locals[formula] = self.name()
            yield f"{self.locals[formula]}={text}"

    def text(self, formula: Formula) -> str:
        """A formula that stands alone; a number then is no BigInt."""
        plain = isinstance(formula, int) and abs(formula) <= 1 << 53
        return str(formula) if plain else self.operand(formula)

    def operand(self, formula: Formula, outer: int = 0) -> str:
        """A formula inside of an operation that binds so strongly."""
        if formula in self.locals:
            return self.locals[formula]
        if isinstance(formula, str):
            return self.whole[formula]
        if isinstance(formula, int):
            return f"{formula}n" if formula >= 0 else f"({formula}n)"
        operator, *operands = formula
        if len(operands) == 1:
            return self.operand(operands[0], outer)
        if operator == "==" and operands[1] == 0 and isinstance(operands[0], tuple) and operands[0][0] in TRUTHS:
            return f"!{self.operand(operands[0], 9)}"
        if operator in ROUNDED and not self._positive(operands):
            return f"{ROUNDED[operator]}({','.join(self.operand(part) for part in operands)})"
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
            return (
                self.text(value)
                if not isinstance(value, str)
                else self.parameters.get((value, kind[0])) or self.text(value)
            )
        if isinstance(value, int | float):
            return str(struct.unpack("<I", struct.pack("<f", value))[0])
        return f"floatBits({self.parameters.get((value, 'f')) or self.operand(value)})"

    def template(self, text: str, more: Mapping[str, str] | None = None) -> str:
        """A text in which names in braces are numbers of the call, or some more."""
        told = escaped(text)
        for name, local in [*self.whole.items(), *(more or {}).items()]:
            told = told.replace(f"{{{name}}}", f"${{{local}}}")
        return json.dumps(text) if told == text else f"`{told}`"

    def refusal(self, facts: Sequence[tuple[Formula, str]]) -> tuple[str, list[str]]:
        """Why a call is refused, or 0, and the names that this takes: facts in a row whose texts begin and end alike
        say that once."""
        parts: list[str] = []
        taken: list[str] = []
        for _, group in groupby(facts, lambda fact: (fact[1].split(" ")[0], fact[1].partition(";")[2])):
            several = list(group)
            texts = [text for _, text in several]
            start = _common(texts) if texts[1:] else ""
            end = _common([text[len(start) :][::-1] for text in texts])[::-1] if texts[1:] else ""
            said = "0"
            for holds, text in reversed(several):
                said = f"{self.operand(holds)}?{said}:{self.template(text[len(start) : len(text) - len(end)])}"
            if start + end:
                taken.append(name := self.name())
                said = f"({name}={said})&&{self.template(f'{start}{{?}}{end}', {'?': name})}"
            parts.append(said)
        return "||".join(f"({part})" if len(parts) > 1 else part for part in parts) or "0", taken

    def _positive(self, operands: Sequence[Formula]) -> bool:
        least, by = (least_of(operand, self.least) for operand in operands)
        return least is not None and by is not None and least >= 0 and by > 0


def plan(data: Mapping[str, Any], variant: Mapping[str, Any], used: Sequence[set[str]], own: Sequence[int]) -> str:
    """The plan of a variant, an arrow function; each launch binds what its text has `used`, and `own` are its texts."""
    numbers = data["numbers"]
    js = Script([(n["name"], n["type"], n.get("least")) for n in numbers])
    facts = [(formula_of(fact["holds"]), fact["text"]) for fact in variant["facts"]]
    needs = [formula_of(buffer["bytes"]) for buffer in data["buffers"]]
    grids = [[formula_of(extent) for extent in launch["grid"]] for launch in variant["launches"]]
    params = [[(p["type"], formula_of(p["value"])) for p in launch["params"]] for launch in variant["launches"]]
    whens = [formula_of(launch.get("when", 1)) for launch in variant["launches"]]
    taken = [
        js.parameters[n["name"], n["type"][0]] + (f"={js.operand(formula_of(n['default']))}" if "default" in n else "")
        for n in numbers
    ]
    values = [value for some in params for _, value in some if not isinstance(value, float)]
    all_of_them = [*[holds for holds, _ in facts], *needs, *whens, *[n for grid in grids for n in grid], *values]
    definitions = list(js.sharing(all_of_them))
    why, middles = js.refusal(facts)
    launches = []
    for i, launch in enumerate(variant["launches"]):
        bound = [str(slot) if f"0 {at}" in used[i] else "" for at, slot in enumerate(launch["buffers"])]
        extents = [js.text(n) for n in grids[i]]
        while extents[1:] and extents[-1] == "1":
            extents.pop()
        given = [js.parameter(kind, value) for kind, value in params[i]] if "1 0" in used[i] else []
        every = bound == [str(slot) for slot in range(len(needs))]
        held = [str(own.index(launch["text"])), listed(extents), listed(given) if given else ""]
        text = listed([*held, "" if every else f"[{','.join(bound)}]"])
        launches.append(text if whens[i] == 1 else f"{js.operand(whens[i], 1)}&&{text}")
    result = listed([why, listed(js.text(need) for need in needs), listed(launches)])
    return f"({','.join([listed(taken), *definitions, *middles])})=>{result}"


def _common(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    first, last = min(texts), max(texts)
    return first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


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


def _integers(formula: Formula) -> Iterator[int]:
    if isinstance(formula, int):
        yield formula
    elif isinstance(formula, tuple):
        for part in formula[1:]:
            yield from _integers(part)


def _names() -> Iterator[str]:
    """a to Z, then a0, b0 and so on: no word of JavaScript."""
    yield from ascii_letters.replace("F", "").replace("T", "")
    for i in count():
        yield from (f"{letter}{i}" for letter in ascii_letters)
