"""Reading and writing layouts: every notation, errors with their columns, hostile texts."""

from __future__ import annotations

from contextlib import suppress

import pytest
from layout.cases import cases, generator
from layout.texts import WRITERS, any_layout, basis_or_chain, tokens_read

from cutepy.errors import LayoutError, NotationError
from cutepy.layout import (
    Chained,
    ComposedLayout,
    E,
    Layout,
    Swizzle,
    _,
    make_identity_layout,
    make_ordered_layout,
    parse_layout,
    parse_tiler,
)
from cutepy.layout.text.meaning import CALLS
from cutepy.layout.text.parse import parse_expression
from cutepy.layout.values.int_tuple import leaves

LAYOUT = Layout((4, (2, 2)), (1, (4, 8)))
SWIZZLED = ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 64), (64, 1)))
IDENTITY = Layout((2, 3), (E(0), E(1)))

PASTES = [
    # CuTe C++ prints
    ("(_4,(_2,_2)):(_1,(_4,_8))", LAYOUT),
    ("(4,(_2,2)):(_1,(4,_8))", LAYOUT),
    ("(_4):(_1)", Layout((4,), (1,))),
    ("_4:_-1", Layout(4, -1)),
    ("():()", Layout((), ())),
    # PyTorch: f"{x.shape}:{x.stride()}", and a shape alone
    ("torch.Size([4, 8]):(8, 1)", Layout((4, 8), (8, 1))),
    ("torch.Size([4]):(2,)", Layout((4,), (2,))),
    ("torch.Size([2, 3])", Layout((2, 3))),
    # XLA, as in what jax compiles: the axes from the fastest on
    ("f32[4,8]{1,0}", Layout((4, 8), (8, 1))),
    ("bf16[2,3,4]{1,2,0}", Layout((2, 3, 4), (12, 1, 3))),
    ("Sw<3,4,3> o _0 o (_8,_64):(_64,_1)", SWIZZLED),
    ("Sw<3,4,3> o smem_ptr[8b](0x7f3c) o (_8,_64):(_64,_1)", SWIZZLED),
    ("Sw<3,5,3>_smem_ptr[16b](0x7f3c) o (_8,_64):(_64,_1)", SWIZZLED),
    ("gmem_ptr[32b](0x7ffd2c0) o (4,(2,2)):(_1,(4,8))", LAYOUT),
    ("ptr[32b](0x55d0) o (_4,(_2,_2)):(_1,(_4,_8))", LAYOUT),
    ("ArithTuple(_0,_0) o (_2,_3):(_1@0,_1@1)", IDENTITY),
    ("(4,5):(5@1@0,_1@1)", Layout((4, 5), (5 * E(0, 1), E(1)))),
    # the CuTe DSL
    ("S<3,4,3> o 0 o (8,64):(64,1)", SWIZZLED),
    ("S<3,4,3> o 2 o (10,2):(2,1)", ComposedLayout(Swizzle(3, 4, 3), 2, Layout((10, 2), (2, 1)))),
    ("tensor<ptr<f32, gmem, align<16>> o (4,(2,2)):(1,(4,8))>", LAYOUT),
    ("tensor(raw_ptr(0x00007f: f32, gmem, align<16>) o (4,(2,2)):(1,(4,8)), data=[[1, 2]])", LAYOUT),
    ("tensor<(0,0) o (2,3):(1@0,1@1)>", IDENTITY),
    ("cute.make_layout((4, (2, 2)), stride=(1, (4, 8)))", LAYOUT),
    # pycute
    ("(4, (2, 2)):(1, (4, 8))", LAYOUT),
    ("Layout((4, (2, 2)),(1, (4, 8)))", LAYOUT),
    ("(4,):(1,)", Layout((4,), (1,))),
    ("Layout(4,1)", Layout(4, 1)),
    ("SW_3_4_3 o 0 o (8, 64):(64, 1)", SWIZZLED),
    ("ComposedLayout(Swizzle(3,4,3),0,Layout((8, 64),(64, 1)))", SWIZZLED),
    # tensor-layouts, Mojo
    ("(Swizzle(3, 4, 3)) o ((8, 64) : (64, 1))", SWIZZLED),
    ("(Swizzle(3, 4, 3)) o {0} o ((8, 64) : (64, 1))", SWIZZLED),
    ("ComposedLayout(Swizzle(3, 4, 3), Layout((8, 64), (64, 1)), offset=0)", SWIZZLED),
    ("(4, (2, 2)) : (1, (4, 8))", LAYOUT),
    ("((4, (2, 2)):(1, (4, 8)))", LAYOUT),
    ("(4:1)", Layout(4, 1)),
    ("(((2, 2), (2, 3)):((2, 12), (1, 4)))", Layout(((2, 2), (2, 3)), ((2, 12), (1, 4)))),
    # C++ source
    ("Layout<Shape<_4,Shape<_2,_2>>,Stride<_1,Stride<_4,_8>>>", LAYOUT),
    ("cute::Layout<cute::Shape<cute::_4, cute::Shape <C<2>,Int<2>>>>{}", LAYOUT),
    ("Layout<cute::tuple<cute::C<4>, cute::tuple<cute::C<2>, cute::C<2>>>>", LAYOUT),
    ("make_layout(make_shape(4, make_shape(_2{}, Int<2>{})), make_stride(1, make_stride(4, 8)));", LAYOUT),
    ("make_layout(Shape<_4,_8>{}, LayoutRight{})", Layout((4, 8), (8, 1))),
    ("make_layout(make_shape(4,8), GenColMajor{})", Layout((4, 8))),
    ("make_layout(Layout<_4,_1>{}, Layout<_8,Int<-4>>{})", Layout((4, 8), (1, -4))),
    ("Layout<_8,_m1>", Layout(8, -1)),
    ("composition(Swizzle<3,4,3>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{})", SWIZZLED),
    ("ComposedLayout<Swizzle<3,5,3>, smem_ptr_flag_bits<16>, Layout<Shape<_8,_64>,Stride<_64,_1>>>", SWIZZLED),
    ("Layout<Shape<_2,_3>,Stride<E<0>,E<1>>>", IDENTITY),
    ("Layout<_4,ScaledBasis<_5,0,1>>", Layout(4, 5 * E(0, 1))),
    ("make_identity_layout(make_shape(2,3))", IDENTITY),
    ("make_ordered_layout(Shape<_4,_8>{}, Step<_2,_1>{})", Layout((4, 8), (8, 1))),
    # cutepy, LaTeX, a bare shape, chains
    ("Layout((4, (2, 2)), (1, (4, 8)))", LAYOUT),
    ("Layout((2, 3), (E(0), E(1)))", IDENTITY),
    (r"\left(4,\left(2,2\right)\right){:}(1,(4,8))", LAYOUT),
    (r"\mathrm{} S\langle 3,4,3\rangle \circ 0 \circ (8,64){:}(64,1)", SWIZZLED),
    ("(4,(2,2))", LAYOUT),
    ("8", Layout(8, 1)),
    ("(2*4, 2**3 // 2)", Layout((8, 4))),
    ("(2,3):(3,1) o 2 o (3,4):(4,1)", ComposedLayout(Layout((2, 3), (3, 1)), 2, Layout((3, 4), (4, 1)))),
    (
        "(8,2):(2,1) o S<1,0,2> o 3 o 8:1",
        ComposedLayout(Chained(Layout((8, 2), (2, 1)), 0, Swizzle(1, 0, 2)), 3, Layout(8)),
    ),
]


@pytest.mark.parametrize(("text", "layout"), PASTES, ids=[text[:40] for text, _layout in PASTES])
def test_what_people_paste(text: str, layout: object) -> None:
    assert parse_layout(text) == layout
    assert parse_layout(f"  {text} \n") == layout


ERRORS = [
    ("", 0, "no text"),
    ("(4,8:(1,4)", 4, "missing"),
    ("(4,8):(1,(4))", 9, "nests"),
    ("(4,8):(1,4", 10, "end of the text"),
    ("(4,0):(1,4)", 3, "at least 1"),
    ("(4,8):(1,4)x", 11, "'x'"),
    ("(4.5,8)", 2, "whole numbers"),
    ("(4,8):(1,4,5)", 6, "3 strides for 2 sizes"),
    ("(4,8):4", 5, "one stride"),
    ("(4,8):(1@x,4)", 9, "axis"),
    ("(4,@)", 3, "expected a number"),
    ("(4,8):", 6, "end of the text"),
    ("foo(4)", 0, "foo"),
    ("S<3,4,3>", 0, "swizzle alone"),
    ("S<3,4,1> o 0 o 8:1", 0, "|shift|"),
    ("S<3,4> o 0 o 8:1", 0, "2 numbers"),
    ("(4:1,8:2)", 0, "parse_tiler"),
    ("(4,8):(1,4) o 2", 14, "last link"),
    ("(1,2) o (2,3):(1,2)", 8, "no coordinates"),
    ("(1,2) o S<3,4,3> o (2,3):(1@0,1@1)", 0, "origin"),
    ("True", 0, "not a truth value"),
    ("(4,8]", 4, "expected"),
    ("$", 0, "no meaning"),
    ("gmem_ptr[32b(0x o (4)", 8, "never closed"),
    ("2**9999", 3, "power"),
    ("4/3", 0, "whole numbers"),
    ("1//0", 3, "division by 0"),
    ("1 % (2-2)", 5, "division by 0"),
    ("(4,8):(_,4)", 7, "`_`"),
    ("(4,8) (1,4)", 6, "stride"),
    ("4,8", 1, "follows"),
    ("Layout((4,8),(1,4),2)", 0, "3 arguments"),
    ("composition((4,8):(1,4), 4:1)", 0, "Python"),
    ("9" * 50, 0, "50 digits"),
    ("__import__('os')", 0, "no meaning"),
]


@pytest.mark.parametrize(("text", "column", "words"), ERRORS, ids=[text[:20] for text, *_rest in ERRORS])
def test_errors_point_at_the_column(text: str, column: int, words: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse_layout(text)
    message = str(caught.value)
    assert caught.value.column == column and words in message, message
    if text:
        *_lines, shown, caret = message.split("\n")
        assert shown == "  " + text and caret == "  " + " " * column + "^"


def test_an_error_in_a_long_text_shows_the_place_only() -> None:
    with pytest.raises(NotationError) as caught:
        parse_layout("(4,8):(1," + " " * 10_000 + "\n 4 4)")
    assert caught.value.column == 10_013 and len(str(caught.value)) < 300
    assert str(caught.value).endswith("\n   4 4)\n     ^")


@pytest.mark.parametrize("thing", [None, 4, (4, 8), b"(4,8)"])
def test_only_text_is_parsed(thing: object) -> None:
    with pytest.raises(LayoutError, match="from text"):
        parse_layout(thing)  # type: ignore[arg-type]


HOSTILE = {
    "deep": "(" * 1_000_000,
    "deep and closed": "(" * 5_000 + "4" + ")" * 5_000,
    "deep calls": "Layout(" * 100_000,
    "deep templates": "Shape<" * 100_000,
    "minus": "-" * 100_000,
    "digits": "9" * 1_000_000,
    "name": "a" * 1_000_000,
    "call": "a" * 1_000_000 + "(4)",
    "spaces": " " * 1_000_000,
    "commas": "," * 1_000_000,
    "modes": "(" + "2," * 1_000_000 + ")",
    "sum": "1+" * 1_000_000,
    "names": "(" + ",".join(f"a{i}+b{i}" for i in range(10_000)) + ")",
    "dynamic": "(" + "?," * 100_000 + ")",
    "braces": "{" * 1_000_000,
    "pointer": "ptr" + "[" * 100_000,
    "powers": "2" + "**64" * 1_000,
    "products": "9999999999*" * 100_000,
    "axes": "1" + "@1" * 100_000,
    "chain": "4:1 o 0 o " * 50_000,
    "question": "?{" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_refused_early(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each token is read once, and of a million no more than a text may hold."""
    read = tokens_read(monkeypatch)
    with pytest.raises(NotationError) as caught:
        parse_layout(HOSTILE[name])
    assert len(read) == len(set(read)) < 10_000 and len(str(caught.value)) < 600


def test_a_hundred_levels_are_read() -> None:
    deep = parse_layout("(" * 100 + "4" + ")" * 100)
    assert deep.depth == 100 and deep.size == 4


def test_broken_texts_are_errors_and_nothing_else() -> None:
    rng = generator("broken notation")
    letters = "()[]<>{}:,;@*+-/%=_?123 oSMLE\\"
    for _case in range(cases(1500)):
        text = list(rng.choice(PASTES)[0])
        for _change in range(rng.randint(1, 3)):
            at = rng.randrange(len(text) + 1)
            text[at : at + rng.randint(0, 2)] = rng.choice(["", rng.choice(letters), rng.choice(letters)])
        try:
            parse_layout("".join(text))
        except NotationError as error:
            assert 0 <= error.column <= len(text)


@pytest.mark.parametrize("writer", WRITERS)
def test_reading_inverts_writing(writer: str) -> None:
    rng = generator(f"notation {writer}")
    written = 0
    for _case in range(cases(250)):
        layout = any_layout(rng)
        if writer == "to_pycute" and basis_or_chain(layout):
            with pytest.raises(LayoutError):
                layout.to_pycute()
            continue
        text = WRITERS[writer](layout)
        assert parse_layout(text) == layout, text
        assert parse_layout(text.replace(" ", "  ")) == layout
        assert parse_layout(f"{rng.choice(('tCgA: ', 's8  :', 'M:'))}{text}") == layout, text
        written += 1
    assert written > cases(160)


def test_a_name_before_a_stride_is_a_size() -> None:
    for text in ("M: 7", "M : N + 1", "M: (N+1)*4", "M:floor(N/2)", "M: 5@1", "M: C<4>{}", "M:?"):
        assert parse_layout(text).size == parse_layout("M:1").size, text


def test_repr_is_python() -> None:
    rng = generator("repr")
    names = {"Layout": Layout, "ComposedLayout": ComposedLayout, "Swizzle": Swizzle, "Chained": Chained, "E": E}
    for _case in range(cases(160)):
        layout = any_layout(rng)
        assert eval(repr(layout), names) == layout


def test_unknown_sizes() -> None:
    import sympy

    M = sympy.Symbol("M", integer=True, positive=True)
    assert parse_layout("(M,8):(8,1)") == Layout((M, 8), (8, 1))
    assert parse_layout("(4*M,(M+1)*2)") == Layout((4 * M, 2 * M + 2), (1, 4 * M))
    dynamic = parse_layout("(?,n1,?{i64 div=8}):(1,?,_4)")
    assert [str(name) for name in leaves(dynamic.shape)] == ["n0", "n1", "n2"]
    assert str(dynamic.stride) == "(1, n3, 4)"
    n2 = leaves(dynamic.shape)[2]
    assert "8 divides n2" in str(dynamic.facts)
    with pytest.raises(LayoutError, match="8 divides n2"):
        dynamic.subs({n2: 12})


TILERS = [
    ("<3:1, 8:1>", (Layout(3, 1), Layout(8, 1))),
    ("[3:1;8:1]", (Layout(3, 1), Layout(8, 1))),
    ("[_;[2:1;1:1]]", (_, (Layout(2, 1), Layout(1, 1)))),
    ("(4,(2,8))", (4, (2, 8))),
    ("8", 8),
    ("(3)", (3,)),
    ("(_,None)", (_, _)),
    ("[(2,4):(1,2)]", (Layout((2, 4), (1, 2)),)),
    ("2:64@0", Layout(2, 64 * E(0))),
    ("Tile<Layout<_4,_1>,_8>", (Layout(4, 1), 8)),
    ("()", ()),
]


@pytest.mark.parametrize(("text", "tiler"), TILERS, ids=[text for text, _tiler in TILERS])
def test_tilers(text: str, tiler: object) -> None:
    assert parse_tiler(text) == tiler


@pytest.mark.parametrize("text", ["gmem_ptr(0x0)", "S<1,2,3>", "LayoutLeft", "(3:1,8:1"])
def test_what_is_no_tiler(text: str) -> None:
    with pytest.raises(NotationError):
        parse_tiler(text)


GIVEN = {
    **dict.fromkeys(("Layout", "make_layout"), "((4,8),(8,1))"),
    **dict.fromkeys(("Swizzle", "Sw", "S", "make_swizzle"), "(1,0,2)"),
    **dict.fromkeys(("ComposedLayout", "Chained", "make_composed_layout"), "(S<1,0,2>,0,8:1)"),
    **dict.fromkeys(("Mod", "Max", "Min", "ScaledBasis"), "(7,3)"),
    "F2": "<2,1>",
    "BitMap": "((2,1))",
    "composition": "(S<1,0,2>,8:1)",
    "make_ordered_layout": "((4,8),(1,0))",
}
KEYWORDS = {"shape": "5", "stride": "7", "order": "(0,1)", "offset": "3", "swizzle": "S<1,0,3>", "other": "1"}


@pytest.mark.parametrize("name", CALLS)
def test_a_keyword_of_a_call_counts_or_is_refused(name: str) -> None:
    spelt, given = name.removesuffix("()"), GIVEN.get(name, "(4)")
    read = 0
    for around in ("{}", "4:{}", "{} o 0 o 8:1"):
        with suppress(NotationError):
            plain = parse_tiler(around.format(spelt + given))
            read += 1
            for keyword, value in KEYWORDS.items():
                with suppress(NotationError):
                    assert parse_tiler(around.format(f"{spelt}{given[:-1]},{keyword}={value}{given[-1]}")) != plain
    assert read


def test_arguments_are_those_that_python_would_pass() -> None:
    calls = {call.__name__: call for call in (Layout, make_identity_layout, make_ordered_layout)}
    calls["make_layout"] = Layout  # of a shape and a stride, as in C++
    rng, read = generator("arguments of calls"), 0
    for _case in range(cases(2000)):
        arguments = rng.choices(("(2,3)", "(3,1)"), k=rng.randrange(3))
        names = rng.choices(("shape", "stride", "order", "layout"), k=rng.randrange(3))
        arguments += [f"{name}={rng.choice(('(2,3)', '(1,2)'))}" for name in names]
        text = f"{rng.choice([*calls])}({', '.join(arguments)})"
        with suppress(NotationError):
            found = parse_layout(text)
            read += 1
            assert found == eval(text, dict(calls)), text
    assert read > cases(200)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("get<x=1>((4,8):(1,4))", "takes modes without names"),
        ("get<1>((4,8):(1,4), mode=0)", "then no mode="),
        ("get((4,8):(1,4), mode=1, mode=0)", "get is given mode= twice"),
        ("Layout(4, stride=1, stride=2)", "Layout is given stride= twice"),
        ("4:F2(1,2)", r"F2\(\) does not take 2 numbers"),
    ],
)
def test_what_is_said_twice_is_refused(text: str, words: str) -> None:
    with pytest.raises(NotationError, match=words):
        parse_expression(text)
