"""Questions of the explorer's page, asked as it asks them, and random expressions to ask about."""

import json
import random
import sys
from collections.abc import Iterator

import pytest
from layout.texts import random_call

from cutepy.errors import CutepyError
from cutepy.explore.answers import answer
from cutepy.layout.text.parse import parse_expression

ACCESS = {"element_bytes": 4, "access_bytes": 4, "lanes": 0}


def asked(ask: str, **question: object) -> dict:
    """The answer to a question."""
    return json.loads(answer(json.dumps({"ask": ask, **question})))


def expressions(name: str, count: int) -> Iterator[str]:
    """Random layouts and calls of known sizes, some of them mistyped."""
    rng = random.Random(f"explore {name}")
    while count:
        text, _meant = random_call(rng, rng.choice([0, 0, 1, 1, 2]))
        if rng.random() < 0.2 and text:
            place = rng.randrange(len(text))
            text = rng.choice([text[:place], text[:place] + rng.choice("(),:x<7 ") + text[place:]])
        if not needs_sympy(text):
            count -= 1
            yield text


def needs_sympy(text: str) -> bool:
    """True if a name in the text is read as a size known later."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "sympy", None)
        try:
            parse_expression(text)
        except CutepyError as error:
            return isinstance(error.__cause__, ImportError)
        except ImportError:
            return True
    return False


def shown(text: str) -> str:
    """What Python shows for an expression: its value or its error."""
    try:
        return str(parse_expression(text).value)
    except CutepyError as error:
        return str(error)
