"""What a refusal says to write runs where it was asked: in Python, on the command line, in a fence, in the page."""

import random
import re
from collections.abc import Callable

import pytest
from explore.questions import asked
from layout.texts import random_call
from shares import share

import cutepy
from cutepy.cli.main import main
from cutepy.docs import drawing_of_body
from cutepy.errors import CutepyError
from cutepy.layout.text.parse import parse_expression
from cutepy.layout.values.composed import AnyLayout

REFUSED = (
    "zipped_divide((8,8):(8,1), (3,3))",
    "logical_divide((8,8), 3)",
    "tiled_divide(10:1, 4)",
    "flat_divide(((2,5),8), (4,4))",
    "composition((6,2):(1,7), (3,2):(2,3))",
    "complement((4,2):(1,1), 8)",
    "get((4,8), 5)",
    "select((4,8), 3, 0)",
    "take((4,8), 1, 5)",
    "group_modes((4,8,2), 2, 1)",
    "swizzle(3,0,3)",
    "coalese((2,4))",
    "composition(coalese((2,4)), 2:1)",
    "S<3,0,3> o 0 o zipped_divide((8,8):(8,1), (8,8), round=True)",
)
GENERATED = len(share(range(200)))


def refusal(text: str) -> CutepyError | None:
    """What Python raises for an expression; nothing where it has a value."""
    try:
        parse_expression(text)
    except CutepyError as error:
        return error
    return None


def in_python(text: str) -> None:
    """The call as Python spells it: its name, and what its operands print as."""
    expression = parse_expression(text)
    call = f"{expression.function}({', '.join(map(repr, expression.operands))})" if expression.function else repr(text)
    assert eval(call, dict(vars(cutepy))) in (expression.value, text)


def on_the_command_line(text: str) -> None:
    assert main(["print", text, "-o", "-"]) == 0


def in_a_fence(text: str) -> None:
    if isinstance(parse_expression(text).value, AnyLayout):
        assert drawing_of_body(text, {})[0].svg().startswith("<svg")


def in_the_page(text: str) -> None:
    assert "value" in asked("look", text=text)


DOORS: tuple[Callable[[str], None], ...] = (in_python, on_the_command_line, in_a_fence, in_the_page)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("text", REFUSED)
def test_what_a_refusal_offers_runs_at_every_door(
    text: str, door: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    error = refusal(text)
    assert error is not None
    assert error.fixes or "round=True" in text or "coalese" in text.partition("(")[2]
    for fix in error.fixes:
        again = refusal(fix)
        if again is None:
            door(fix)
        else:  # one misspelt name of two, or the operands of a name that is right now
            assert again is None or str(again) != str(error)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("zipped_divide((8,8):(8,1), (3,3))", "zipped_divide((8,8):(8,1), (3,3), round_up=True)"),
        ("swizzle(3,0,3)", "Swizzle(3,0,3)"),
        ("8:1 @ x", "(8,8):(8,1) @ (2,4)"),
    ],
)
def test_what_a_message_says_in_words_runs_where_it_stands(text: str, written: str) -> None:
    """`round_up=True`, another name, another form of `@`: the words are in the message, and do what they say."""
    error = refusal(text)
    assert error is not None
    assert any(word in str(error) for word in re.findall(r"round_up=True|Swizzle|\(8,8\):\(8,1\) @ \(2,4\)", written))
    assert refusal(written) is None
    assert "value" in asked("look", text=written)


def test_every_offer_for_generated_refusals_is_computed() -> None:
    rng, offered, refused = random.Random("advice"), 0, 0
    while refused < GENERATED:
        text, meant = random_call(rng, rng.choice([1, 1, 2]))
        error = refusal(text)
        if error is None or not isinstance(meant, CutepyError):
            continue
        refused += 1
        for fix in error.fixes:
            offered += 1
            assert refusal(fix) is None, f"{text}: {fix}"
            assert "value" in asked("look", text=fix)
    assert offered > GENERATED // 4
