"""One grammar: what any writer writes is read wherever a layout is read, alone and as an operand of any operation."""

from __future__ import annotations

import random

import pytest
from layout.cases import cases
from layout.texts import WRITERS, any_layout, misread, small_layout

from cutepy.cli import main
from cutepy.draw import draw, drawing_of, read_body
from cutepy.errors import LayoutError, NotationError
from cutepy.layout import Layout, coalesce, composition, make_composed_layout, make_layout
from cutepy.layout.text.parse import parse_call, parse_expression


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_calls_around_every_notation_mean_what_python_makes_of_them(depth: int) -> None:
    rng = random.Random(depth)
    outcomes = [misread(rng, depth) for _case in range(cases(300))]
    assert [text for text in outcomes if text] == []
    assert outcomes.count(None) > cases(100), "too few calls that have a result"


@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_written_is_read_by_expressions_fences_and_commands(
    writer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(writer)
    for _case in range(cases(60)):
        layout = any_layout(rng)
        try:
            text = WRITERS[writer](layout)
        except LayoutError:
            continue
        assert parse_expression(text).value == layout == parse_expression(f"tensor<ptr<f32> o {text}>").value
        assert parse_call(text) == (None, ()) and parse_call(f"coalesce({text})") == (coalesce, (layout,))
        assert parse_expression(read_body(f"{text}\ncolor: row")[0]).value == layout
        assert main(["print", "--to", "cute", text]) == 0
        assert capsys.readouterr().out == f"{layout}\n"
    small = Layout((4, (2, 2)), (1, (4, 8)))
    assert drawing_of(WRITERS[writer](small)).text() == draw(small).text()


@pytest.mark.parametrize("to", ["cute", "python", "cpp", "pycute", "latex"])
def test_what_print_writes_print_and_explain_read(to: str, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(to)
    for _case in range(cases(60)):
        layout = small_layout(rng)
        if main(["print", f"--to={to}", str(layout)]):
            continue
        text = capsys.readouterr().out.strip()
        assert main(["print", "--to=cute", text]) == 0
        assert capsys.readouterr().out.strip() == str(layout)
        told = main(["explain", f"coalesce({text})"])
        out, err = capsys.readouterr()
        if isinstance(layout, Layout) and layout.facts is None:
            assert told == 0 and out.startswith(f"coalesce({layout})\n")
        else:
            assert told == 2 and "only layouts of known sizes" in err and err.count("\n") == 1


SWIZZLED = make_composed_layout(Layout.parse("S<1,0,2> o 0 o 8:1").outer, 0, Layout(4, 2))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("S<1,0,2> o 0 o coalesce((2,2):(2,4))", SWIZZLED),
        ("composition(Swizzle<1,0,2>{}, coalesce((2,2):(2,4)))", SWIZZLED),
        ("make_layout(coalesce((2,2):(1,2)), 3:8)", Layout((4, 3), (1, 8))),
        ("make_layout((8):(1), (2):(8))", make_layout(Layout((8,), (1,)), Layout((2,), (8,)))),
        ("coalesce(Layout<Shape<_2,_2>,Stride<_1,_2>>{});", Layout(4)),
        ("(coalesce((2,2):(1,2)))", Layout(4)),
        ("coalesce((2,2):(1,2)) o 1 o (2,2):(2,1)", make_composed_layout(Layout(4), 1, Layout((2, 2), (2, 1)))),
        ("zipped_divide((8):(1), (4))", Layout(((4,), (2,)), ((1,), (4,)))),
        ("composition(8:2, composition(8:1, 4:2))", Layout(4, 4)),
    ],
)
def test_calls_stand_wherever_a_layout_does(text: str, value: object) -> None:
    assert parse_expression(text).value == value


def test_each_unknown_of_a_text_is_another() -> None:
    product = parse_expression("make_layout(?:1, ?{div=8}:?)").value
    assert str(product) == "(n0,n1):(1,n2)" and "8 divides n1" in str(product.facts)  # type: ignore[attr-defined]
    found = parse_call("composition((?{div=8},4):(4,1), ?:1)")[1]
    assert [str(operand) for operand in found] == ["(n0,4):(4,1)", "n1:1"]
    assert "8 divides n0" in str(found[0].facts)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        "cute::Layout<cute::tuple<int,int>,cute::tuple<cute::C<1>,int>>",
        "Layout<Shape<X,X>,Stride<_1,X>>",
        "(?,?):(1,?)",
        "(int,uint32_t):(_1,int64_t)",
    ],
)
def test_sizes_that_a_type_does_not_know_are_different_unknowns(text: str) -> None:
    assert str(Layout.parse(text)) == "(n0,n1):(1,n2)"


def test_a_size_may_be_called_x() -> None:
    assert str(Layout.parse("(X,X):(1,X)")) == "(X,X):(1,X)"


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("coalesce((4,8):(1,2]))", 19, "expected"),
        ("coalesce((4,8):(1,4)", 20, "found the end"),
        ("coalesc((4,8):(1,4))", 0, "did you mean coalesce?"),
        ("make_layout(coalesc(4:1))", 12, "did you mean coalesce?"),
        ("zipped_divide((8,8):(8,1), (4,S<1,2,3>))", 30, "not a swizzle"),
        ("coalesce(S<1,2,3>)", 9, "a swizzle alone"),
        ("coalesce((4,8):(1,4)) 3", 22, "follows a complete"),
        ("logical_divide((8,8):(8,1))", 0, "takes (layout, tiler, round_up), not ((8,8):(8,1))"),
        ("coalesce(8:1, shape=4)", 0, "takes (layout, profile), not (8:1, shape=4)"),
        ("coalesce()", 0, "takes (layout, profile), not ()"),
        ("composition(4:1, 99999999:1)", 0, "99999999 coordinates"),
    ],
)
def test_errors_point_at_the_column(text: str, column: int, words: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse_expression(text)
    assert (caught.value.column, words in str(caught.value)) == (column, True), str(caught.value)


def test_what_an_operation_refuses_is_said_by_the_operation() -> None:
    with pytest.raises(LayoutError, match="is not a layout: at") as caught:
        parse_expression("composition((6,2):(1,7), (3,2):(2,3))")
    assert not isinstance(caught.value, NotationError)
    assert parse_call("composition((6,2):(1,7), (3,2):(2,3))") == (
        composition,
        (Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3))),
    )
