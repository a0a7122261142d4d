"""What CuTe's own documents say, statement by statement: each runs here, and gives what they say.

`cute_documents.txt` holds the statements; where another result is right here, it is in OTHERWISE with the reason.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from textwrap import dedent

import numpy as np
import sympy

import cutepy
from cutepy.errors import CutepyError

LINES = (Path(__file__).parent / "cute_documents.txt").read_text().splitlines()
STATEMENT = re.compile(r"(?P<number>\d+)\. (?P<claim>.+?) :: (?P<expression>.+) => (?P<result>.+)")
STATEMENTS = [found for found in map(STATEMENT.fullmatch, LINES) if found]
OTHERWISE = {
    "complement((4,6):(1,4), 24)": ("1:24", "the stride of its one element, as CuTe's compiler prints it; C++ has 1:0"),
}
"""The claim, what cutepy gives, and why."""


@cache
def results() -> dict[str, str]:
    """What each expression gives, by its number; the lines of a document run in its order."""
    found: dict[str, str] = {}
    names: dict[str, object] = {}
    code = ""
    for line in LINES:
        statement = STATEMENT.fullmatch(line)
        if line.startswith("## "):
            names = {
                name: getattr(cutepy, name) for name in (*cutepy.__all__, "parse_layout", "parse_parts", "parse_tiler")
            }
            names |= {"np": np, "Symbol": sympy.Symbol, "symbols": sympy.symbols}
        elif line.startswith("    "):
            code += line + "\n"
        elif statement:
            exec(dedent(code), names)
            code = ""
            try:
                found[statement["number"]] = printed(eval(statement["expression"], names))
            except CutepyError as error:
                found[statement["number"]] = f"refused: {error}"
        else:
            assert not line or line.startswith("#"), line
    return found


def printed(value: object) -> str:
    """Layouts and tensors as they print, tuples without spaces, lists with spaces, rows of a table after `; `."""
    if isinstance(value, np.ndarray):
        return printed(value.tolist())
    if isinstance(value, list):
        return ("; " if value and isinstance(value[0], list) else " ").join(map(printed, value))
    if isinstance(value, tuple):
        return f"({','.join(repr(entry) if isinstance(entry, str) else printed(entry) for entry in value)})"
    return f"{value}".strip()  # of a tensor the line of its layout, as CuTe prints it


def is_so(statement: re.Match[str], found: str) -> bool:
    """Whether an expression gives what its statement says, or what OTHERWISE has for it."""
    expected = statement["result"]
    if statement["claim"] in OTHERWISE:
        return found == OTHERWISE[statement["claim"]][0] != expected
    if expected.startswith("refused: "):
        return found.startswith("refused: ") and expected.removeprefix("refused: ") in found
    return found == expected


def test_cute_says_so() -> None:
    found = results()
    wrong = {s[0]: found[s["number"]] for s in STATEMENTS if not is_so(s, found[s["number"]])}
    assert wrong == {}


def test_the_list_is_that_of_the_bar() -> None:
    numbers = [int(statement["number"]) for statement in STATEMENTS]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= 135
    assert OTHERWISE.keys() <= {statement["claim"] for statement in STATEMENTS} and len(OTHERWISE) <= 5
