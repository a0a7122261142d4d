"""Control flow means what it means in Python: generated functions, shrunk, each thread beside Python's own run.

It goes through `exits`, `hooks`, `hook_functions`, `blocks`, `loops`, `statements`, `registers` and `mutable_places`.
"""

import linecache
from itertools import count
from types import SimpleNamespace

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cutepy import gpu

THREADS = 8
HEAD = """\
def f(x, gpu):
    a, b, c, turns = x, x % 3, 0, 0
    ok, pair, items, table = x > 2, (x, 1), [x, 2], {"n": 0}
"""
TAIL = """\
    return a + 3 * b + 7 * c + 11 * pair[0] + 13 * pair[1] + 17 * items[0] + 19 * items[1] + 23 * table["n"] + (
        29 if ok else 0)
"""
TEXTS = count()
VALUES = "a", "b", "c", "x", "1", "2", "5", "pair[0]", "pair[1]", "items[0]", "items[1]", 'table["n"]'
NAMES = "a", "b", "c", "items[0]", "items[1]", 'table["n"]'


@st.composite
def values(draw: st.DrawFn) -> str:
    """A number from 0 to 30: nothing wraps, and `//` and `%` are those of all languages."""
    one, two = draw(st.sampled_from(VALUES)), draw(st.sampled_from(VALUES))
    kinds = ["{0}", "({0} + {1}) % 13", "{0} * {1} % 7", "({0} if {1} > {0} else 3)", "(2 if {2} else {0})"]
    return draw(st.sampled_from(kinds)).format(one, two, draw(conditions()) if draw(st.booleans()) else "ok")


@st.composite
def conditions(draw: st.DrawFn) -> str:
    one, two = draw(st.sampled_from(VALUES)), draw(st.sampled_from(VALUES))
    kinds = ["{0} < {1}", "ok", "not ok", "{0} == {1}", "1 < {0} <= {1}", "{0} > 1 and ok", "ok or {0} != {1}"]
    return draw(st.sampled_from(kinds)).format(one, two)


@st.composite
def blocks(draw: st.DrawFn, depth: int = 3, loop: bool = False) -> list[str]:
    """Lines of a block; `loop` where a loop is around, so that it may be left."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["set", "set", "add", "pair", "ok", *(["if", "if", "for", "while", "unroll"] if depth else [])]
        kinds += ["return", *(["break", "continue"] if loop else [])]
        kind = draw(st.sampled_from(kinds))
        inside: list[str] = []
        other: list[str] = []
        if kind in ("if", "for", "while", "unroll"):
            inside = [f"    {line}" for line in draw(blocks(depth - 1, loop or kind in ("for", "while", "unroll")))]
            other = [f"    {line}" for line in draw(blocks(depth - 1, loop))] if draw(st.booleans()) else []
        match kind:
            case "set":
                lines.append(f"{draw(st.sampled_from(NAMES))} = {draw(values())}")
            case "add":
                lines.append(f"{draw(st.sampled_from(NAMES))} += {draw(st.integers(0, 2))}")
            case "pair":
                lines.append(f"pair = {draw(values())}, {draw(values())}")
            case "ok":
                lines.append(f"ok = {draw(conditions())}")
            case "if":
                lines += [f"if {draw(conditions())}:", *inside, *(["else:", *other] if other else [])]
            case "for":
                lines += [f"for i in range({draw(values())} % 4):", *inside, *(["else:", *other] if other else [])]
            case "unroll":
                lines += ["for i in (1, 2):", *inside, *(["else:", *other] if other else [])]
            case "while":
                lines += [f"while turns < 9 and ({draw(conditions())}):", "    turns += 1", *inside]
            case "return":
                lines += [f"if {draw(conditions())}:", f"    return {draw(values())}"]
            case _:
                lines += [f"if {draw(conditions())}:", f"    {kind}"]
    return lines


def functions(lines: list[str]) -> tuple[SimpleNamespace, str]:
    """What a text of a kernel defines, whose lines `linecache` gives to whoever reads it."""
    body = "".join(f"    {line}\n" for line in lines)
    kernel = "def k(x, y):\n    gpu.launch(threads=8)\n    y[gpu.thread] = f(x[gpu.thread], gpu)\n"
    text, file = HEAD + body + TAIL + kernel, f"<control {next(TEXTS)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names: dict[str, object] = {"gpu": gpu}
    exec(compile(text, file, "exec"), names)
    return SimpleNamespace(**names), text


#: A loop inside a loop whose condition holds for no register: all threads leave it at once.
NEVER_BEGUN = ["while turns < 9 and (ok):", "    turns += 1", "    while turns < 9 and (c < c):", "        c = a"]


@settings(max_examples=150)
@given(blocks())
@example(NEVER_BEGUN)
def test_each_thread_computes_what_python_computes(lines: list[str]) -> None:
    made, text = functions(lines)
    x = np.arange(THREADS, dtype=np.int32)
    want = [made.f(int(v), gpu) for v in x]
    y = np.zeros(THREADS, np.int32)
    gpu.kernel(made.k).interpret(x, y)
    assert [int(v) for v in y] == want, text
