"""Texts of several lines: names mean their values, errors point into the line as it was written."""

import ast
import random
import re
from pathlib import Path

import pytest
from layout.texts import random_call

import cutepy
from cutepy.docs import drawing_of_body
from cutepy.errors import CutepyError, NotationError
from cutepy.layout.text.lines import pieces
from cutepy.layout.text.parse import expression_of, parse_expression, parse_line, read_lines

QUESTIONS = Path(__file__).parents[2] / "docs" / "algebra" / "questions.md"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A = (8,8):(8,1); zipped_divide(A, (4,4))", "((4,4),(2,2)):((8,1),(32,4))"),
        ("A = (4,4)\nzipped_divide((8,8):(8,1), A)", "((4,4),(2,2)):((8,1),(32,4))"),
        ("n = 4\n(n, 8):(8,1)", "(4,8):(8,1)"),
        ("S = S<3,0,3>\nA = (8,8):(8,1)\nS o 0 o A", "S<3,0,3> o 0 o (8,8):(8,1)"),
        ("T = (4:1, 4:2)\nzipped_divide((8,8):(8,1), T)", "((4,4),(2,2)):((8,2),(32,1))"),
        ("A = (8,8):(8,1)\nA(2,3)", "19"),
        ("A = (8,8):(8,1)\nA(2,_)", "(8):(1)"),
        ("A = (4,8):(8,1)\nB = 32:1\nA @ B", "(4,8):(8,1)"),
        ("A = (4,8):(8,1)\nsize(A)", "32"),
        ("A = complement((2,2):(1,4), 16)\nA", "(2,2):(2,8)"),
    ],
)
def test_names_mean_their_values(text: str, value: str) -> None:
    assert str(parse_expression(text).value) == value


@pytest.mark.parametrize("seed", range(60))
def test_a_name_means_what_its_text_means(seed: int) -> None:
    """A call with a name for its first operand is the call with that operand written out."""
    rng = random.Random(f"lines {seed}")
    text, _meant = random_call(rng, 0)
    try:
        value = parse_line(text).value
    except CutepyError:
        return
    if not hasattr(value, "shape") or ":" not in text:
        return  # a bare shape stands for a tiler, too
    calls = ("coalesce({})", "size({})", "zipped_divide({}, 1)", "({}) @ 1:1", "blocked_product({}, 2:1)")
    for call in calls:
        try:
            written = str(parse_line(call.format(value)).value)
        except CutepyError as error:
            with pytest.raises(type(error)):
                parse_expression(f"A = {text}\n{call.format('A')}")
            continue
        assert str(parse_expression(f"A = {text}\n{call.format('A')}").value) == written


@pytest.mark.parametrize(
    ("text", "column", "why"),
    [
        ("A = (8,8:(8,1)\nA", 8, "is '\\)' missing"),
        ("A = (8,8):(8,1)\nzipped_divide(A, (3,3))", 16, "3 \\* 3 = 9"),
        ("A = 4:1\nA = 4:1", 8, "named twice"),
        ("composition = 4:1\n3", 0, "a word of the grammar"),
        ("A =\n4:1", 0, "no value"),
    ],
)
def test_an_error_points_into_its_line(text: str, column: int, why: str) -> None:
    with pytest.raises(CutepyError, match=why) as caught:
        expression_of(text)
    assert caught.value.column == column
    line, caret = str(caught.value).splitlines()[-2:]
    assert line.strip() in text and text[column:].startswith(line[caret.index("^")])


def test_fixes_are_whole_texts_that_work() -> None:
    with pytest.raises(CutepyError) as caught:
        parse_expression("A = (6,2):(1,7); B = (3,2):(2,3)\ncomposition(A, B)")
    assert caught.value.fixes
    for fix in caught.value.fixes:
        assert fix.startswith("A = (6,2):(1,7); B = (3,2):(2,3)\n")
        parse_expression(fix)


def test_a_refusal_about_unknown_sizes_has_calls_with_numbers_that_work() -> None:
    rng, refused = random.Random("unknown sizes"), 0
    while refused < 40:
        text, _meant = random_call(rng, rng.choice([1, 1, 2]))
        if not re.search(r"\b[MN]\b", text):
            continue
        try:
            parse_expression(text)
        except NotationError:
            continue
        except CutepyError as error:
            refused += 1
            assert error.fixes, text
            for fix in error.fixes:
                assert not re.search(r"\b[MN]\b", fix)
                parse_expression(fix)


def test_lines_are_cut_outside_brackets_alone() -> None:
    assert pieces("composition((6,2):(8,2),\n  (4,3):(3,1))") == [(0, "composition((6,2):(8,2),\n  (4,3):(3,1))")]
    assert [piece for _start, piece in pieces("[_;(2,4)]\n# a remark\n 4:1")] == ["[_;(2,4)]", "4:1"]
    with pytest.raises(NotationError, match="at most 64"):
        read_lines("\n".join(["4:1"] * 65))


def test_a_fence_shows_two_layouts_and_where_they_differ() -> None:
    drawing, said = drawing_of_body("A = (4,4):(4,1)\nA\n(4,4):(1,4)\ntitle: Two\ncaption: c", {})
    first, second = drawing.figure.grids
    assert said == {"caption": "c"} and drawing.figure.title == "Two"
    assert not first.marked
    table = {(row, column) for row in range(4) for column in range(4) if row * 4 + column != row + 4 * column}
    assert {divmod(place, 4) for place in second.marked} == table
    assert f"at {len(table)} of 16 indices" in drawing.figure.notes[0]
    shown = drawing_of_body("A = (4,4):(4,1)\nzipped_divide(A, (2,2))\ncolor: tile", {})[0]
    assert shown.figure == drawing_of_body("zipped_divide((4,4):(4,1), (2,2))\ncolor: tile", {})[0].figure


def questions() -> list[tuple[str, str]]:
    """The calls of the page of questions, each with the first line of what Python prints for it."""
    found = []
    session = re.compile(r">>> # (\d+)\n>>> ((?:.*\n)(?:\.\.\. .*\n)*)((?:(?!>>>|```).*\n)*)")
    for match in session.finditer(QUESTIONS.read_text(encoding="utf-8")):
        call = match[2].replace("\n...", "").strip().replace("\n", " ")
        for around in (r"print\((.*)\)", r"str\((.*)\)\.splitlines\(\)\[0\]", r"(.*)\.grid\(\)"):
            call = re.sub(f"^{around}$", r"\1", call)
        found.append((call, match[3].splitlines()[0]))
    return found


def test_there_are_24_questions() -> None:
    assert len(questions()) == 24


@pytest.mark.parametrize(("call", "printed"), questions())
def test_a_question_has_the_same_answer_as_a_text(call: str, printed: str) -> None:
    asked, _dot, attribute = call.rpartition(".") if call.endswith(".shuffles") else (call, "", "")
    value = parse_expression(asked).value
    told = str(getattr(value, attribute) if attribute else value).splitlines()[0]
    assert told == printed
    python = eval(compile(ast.parse(asked, mode="eval"), "question", "eval"), vars(cutepy) | names())
    assert str(python) == str(value)


def names() -> dict[str, object]:
    return {name: getattr(cutepy, name) for name in cutepy.__all__}
