"""`exits`: a function without its exits computes what it computed, over generated functions, by Python's own loops."""

import ast
from itertools import count
from types import CodeType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shares import tries

from cutepy.gpu.trace.exits import (
    RESULT,
    BlockQuery,
    ExitableLoop,
    at,
    children,
    every,
    falls,
    leaves,
    statements,
    without_leaving,
)

ENDS = "return", "break", "continue"


def body_of(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def function_of(text: str) -> ast.FunctionDef:
    function = body_of(text)[0]
    assert isinstance(function, ast.FunctionDef)
    return function


class _Python(ast.NodeTransformer):
    """What a `LoopBlock` makes of the new text, where all conditions are Python's."""

    def visit_BlockQuery(self, node: BlockQuery) -> ast.AST:
        assert isinstance(node.func, ast.Attribute) and node.func.attr in ("goes_on", "ends")
        return ast.UnaryOp(ast.Not(), self.visit(node.args[0]))

    def visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, ExitableLoop):
            return super().visit(node)  # type: ignore[no-any-return]
        body = [self.visit(stmt) for stmt in node.body]
        body.append(ast.If(ast.Name(node.left, ast.Load()), [ast.Break()], []))
        if node.target is None or node.iter is None:
            return ast.While(ast.Constant(True), body, [])
        return ast.For(node.target, node.iter, body, [])


def rewritten(text: str) -> ast.FunctionDef:
    """The function of a text without its exits, of which Python runs each loop until it was left."""
    function = function_of(text)
    body = [_Python().visit(stmt) for stmt in without_leaving(function, yields="yield" in text)]
    function.body = body
    return ast.fix_missing_locations(function)


def code(function: ast.FunctionDef) -> CodeType:
    return compile(ast.Module([function], []), "<text>", "exec")


def run(function: ast.FunctionDef, answers: int) -> tuple[object, list[int]]:
    """What a function returns and what it did, where the bits of `answers` are what its conditions are in turn."""
    done: list[int] = []
    asked = count()

    def test() -> bool:
        if (number := next(asked)) > 60:
            raise TimeoutError
        return bool(answers >> number % 30 & 1)

    names: dict[str, object] = {"test": test, "do": done.append}
    exec(code(function), names)
    call = names["f"]
    assert callable(call)
    try:
        return call(), done
    except TimeoutError:
        return "on and on", done[:30]


@st.composite
def bodies(draw: st.DrawFn, depth: int = 2, loop: bool = False, final: bool = False) -> list[str]:
    """Lines of statements that count what they do and leave in all ways."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["do", "do", *(["if", "for", "while", "try", "with"] if depth else [])]
        kinds += [] if final else ["return", *(["break", "continue"] if loop else [])]
        kind = draw(st.sampled_from(kinds))
        number = draw(st.integers(0, 99))
        inner = (
            [f"    {line}" for line in draw(bodies(depth - 1, loop or kind in ("for", "while"), final))]
            if (kind in ("if", "for", "while", "try", "with"))
            else []
        )
        other = (
            [f"    {line}" for line in draw(bodies(depth - 1, loop, final))] if inner and draw(st.booleans()) else []
        )
        orelse = ["else:", *other] if other else []
        match kind:
            case "do":
                lines.append(f"do({number})")
            case "return":
                lines.append(draw(st.sampled_from([f"return {number}", "return"])))
            case "if":
                lines += ["if test():", *inner, *orelse]
            case "for":
                lines += [f"for i in range({number % 3}):", *inner, *orelse]
            case "while":
                # Counts its iterations: a loop that goes on for ever tells nothing.
                test = draw(st.sampled_from(["test()", "True"]))
                stop = "    if test(): break" if not final else "    do(1)"
                lines += [f"while {'test()' if final else test}:", "    do(0)", stop, *inner, *orelse]
            case "try":
                handler = ["except ValueError:", "    do(2)"]
                last = ["finally:", "    do(3)"] if draw(st.booleans()) else []
                lines += ["try:", *inner, *handler, *orelse, *last]
            case "with":
                lines += ["with nothing():", *inner]
            case _:
                lines.append(kind)
    return lines


NESTED = ["if test():", "    if test(): {}", "    do(1)", "do(2)"]
LOOPS = ["for i in range(2):", "while True:", "while test():"]


@pytest.mark.parametrize("answers", [0, 2, 5, 0b1011])
@pytest.mark.parametrize("end", ["", "do(4)", "return 9"])
@pytest.mark.parametrize("exit_", [*ENDS, "return 7"])
@pytest.mark.parametrize("loop", LOOPS)
def test_an_exit_inside_two_branches_skips_what_follows_both(loop: str, exit_: str, end: str, answers: int) -> None:
    inner = ["if test(): break", *[line.format(exit_) for line in NESTED]]
    for other in ([], ["else:", "    do(3)"]):
        lines = [loop, *[f"    {line}" for line in inner], *other, *([end] if end else [])]
        text = "\n    ".join(["def f():", *lines]) + "\n"
        assert run(rewritten(text), answers) == run(function_of(text), answers)
        twice = ["for j in range(2):", *[f"    {line}" for line in lines if line != "do(4)"], "do(5)"]
        text = "\n    ".join(["def f():", *twice]) + "\n"
        assert run(rewritten(text), answers) == run(function_of(text), answers)


@tries(300)
@given(bodies(depth=3), st.integers(0, 2**30 - 1))
def test_a_function_without_its_exits_computes_the_same(lines: list[str], answers: int) -> None:
    text = "\n    ".join(["def f():", "from contextlib import nullcontext as nothing", *lines]) + "\n"
    assert run(rewritten(text), answers) == run(function_of(text), answers)


@tries(200)
@given(bodies())
def test_only_the_end_returns_and_no_loop_is_left(lines: list[str]) -> None:
    text = "\n    ".join(["def f():", *lines]) + "\n"
    function = function_of(text)
    new = without_leaving(function, yields=False)
    assert leaves(*[stmt for stmt in new if not isinstance(stmt, ast.Return)]) == set()
    assert not [n for stmt in new for n in every(stmt) if isinstance(n, ast.Break | ast.Continue)]
    assert all(hasattr(n, "lineno") for stmt in new for n in every(stmt) if isinstance(n, ast.stmt | ast.expr))


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    if test():\n        return 1\n    yield 2\n",
        "def f():\n    for i in x:\n        try:\n            pass\n        finally:\n            break\n",
        "def f():\n    for i in x:\n        do(i)\n    return 3\n",
    ],
)
def test_what_stays_as_it_is(text: str) -> None:
    function = function_of(text)
    assert without_leaving(function, yields="yield" in text) is function.body


def test_one_side_of_an_if_that_goes_on_needs_no_flag() -> None:
    text = "def f():\n    if test():\n        return 1\n    do(2)\n    return 3\n"
    new = without_leaving(function_of(text), yields=False)
    assert [ast.unparse(stmt) for stmt in new] == [
        f"if test():\n    {RESULT} = 1\nelse:\n    do(2)\n    {RESULT} = 3",
        f"return {RESULT}",
    ]


@pytest.mark.parametrize(
    "side", ["if test():\n            {}", "if test():\n            pass\n        else:\n            {}"]
)
def test_one_side_of_an_if_that_goes_on_with_a_loop_needs_no_flag(side: str) -> None:
    text = f"def f():\n    for i in x:\n        {side.format('continue')}\n        do(2)\n"
    read = [n.id for n in every(rewritten(text)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    assert not [name for name in read if name.startswith(".skipped")]


def test_what_leaves_a_statement_is_told_from_what_leaves_a_part_of_it() -> None:
    whole = "for i in x:\n    if a: break\n    if b: continue\n    if c: return\n"
    assert leaves(*body_of(f"def f():\n{whole}".replace("\n", "\n    "))) == set()
    (loop,) = body_of(whole)
    assert leaves(loop) == {"return"} and isinstance(loop, ast.For)
    assert leaves(*loop.body) == set(ENDS)
    assert leaves(*body_of("for i in x: pass\nelse: return")) == {"return"}
    assert leaves(*body_of("class A:\n    def f(self): return 1")) == set()
    assert leaves(*body_of("try: pass\nexcept E: return")) == {"return"}
    assert leaves(*body_of("match x:\n    case 1: return")) == {"return"}


@pytest.mark.parametrize(
    ("text", "comes"),
    [
        ("do()", True),
        ("return", False),
        ("raise E", False),
        ("if a: return\nelse: raise E", False),
        ("if a: return", True),
        ("if a: do()\nelse: return", True),
        ("while True: return", True),
    ],
)
def test_whether_a_list_of_statements_may_come_to_its_end(text: str, comes: bool) -> None:
    assert falls(body_of(text)) is comes
    assert falls([])


def test_statements_are_those_of_blocks_and_if_asked_those_of_functions() -> None:
    tree = ast.parse("if a:\n    def g():\n        return 1\nelse:\n    b\n")
    kinds = [type(n).__name__ for n in statements(tree)]
    assert kinds == ["If", "FunctionDef", "Expr"]
    assert "Return" in [type(n).__name__ for n in statements(tree, inside=True)]


def test_what_is_new_gets_a_line_and_what_has_one_keeps_it() -> None:
    old = ast.parse("\n\nx + 1", mode="eval").body
    new = at(ast.UnaryOp(ast.Not(), old), ast.parse("y", mode="eval").body)
    assert (new.lineno, old.lineno) == (1, 3)
    assert children(new) == [old] and list(every(new))[:2] == [new, old]
