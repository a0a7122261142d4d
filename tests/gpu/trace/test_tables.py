"""Tables: a tuple of numbers, at an index of the GPU, is a constant of the text, and gives what Python has there."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import traced
from hypothesis import given, settings
from hypothesis import strategies as st
from nvrtc import missing, refusal
from tint import verdict

from cutepy import gpu, size
from cutepy.errors import KernelError
from cutepy.gpu.trace.tables import MOST

NUMBERS = {
    "f32": st.floats(-(2.0**100), 2.0**100, width=32),
    "i32": st.integers(-(2**31), 2**31 - 1),
    "u32": st.integers(0, 2**32 - 1),
}
LEVELS = 0.5, -1.0, 2.0, 4.0
ORDER = 1, 0, 3, 2


@given(st.data())
@settings(max_examples=60)
def test_a_table_gives_what_python_has_there(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(NUMBERS)))
    dtype: Any = {"f32": np.float32, "i32": np.int32, "u32": np.uint32}[kind]
    numbers = tuple(map(dtype, data.draw(st.lists(NUMBERS[kind], min_size=1, max_size=40))))
    places = np.array(data.draw(st.lists(st.integers(0, len(numbers) - 1), min_size=1, max_size=40)), np.uint32)

    def of_table(places, y, *, numbers):
        gpu.launch(grid=1, threads=64)
        if gpu.thread < size(places):
            y[gpu.thread] = numbers[places[gpu.thread] % len(numbers)]

    kernel, y = gpu.kernel(of_table), np.zeros(len(places), dtype)
    kernel.interpret(places, y, numbers=numbers)
    assert y.tobytes() == np.array(numbers, dtype)[places].tobytes()
    assert kernel.verify(places, y, numbers=numbers).ok


@pytest.mark.parametrize("by", ["tid % 4", "3 - tid % 4", "tid // 16", "ORDER[tid % 4]"])
def test_what_a_table_leads_to_is_proven_by_its_numbers(by: str) -> None:
    """Orders of four are permutations, so no two threads store to one element; a repeated number is a race."""
    text = "def f(x, y, *, order):\n    gpu.launch(grid=1, threads=64)\n    tid = gpu.thread\n"
    text += f"    y[tid // 4 * 4 + order[{by}]] = x[tid]\n"
    kernel = made(text)
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    table = {n: np.array(eval(by, {"tid": n, "ORDER": ORDER})) for n in range(64)}
    alike = len({n // 4 * 4 + ORDER[int(table[n])] for n in range(64)}) == 64
    assert kernel.verify(x, y, order=ORDER).ok is alike
    assert not kernel.verify(x, y, order=(0, 1, 1, 2)).ok
    outside = kernel.verify(x, y, order=(0, 1, 2, 68))
    assert not outside.ok and "y[" in str(outside)


def made(text: str) -> Any:
    """The kernel of a text, which a file holds."""
    import linecache

    scope: dict[str, Any] = {"gpu": gpu, "ORDER": ORDER, "LEVELS": LEVELS, "helper": helper}
    name = f"/tables/{abs(hash(text))}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), scope)
    return gpu.kernel(scope["f"])


def test_an_index_outside_is_refuted() -> None:
    def outside(x, y):
        gpu.launch(grid=1, threads=5)
        y[gpu.thread] = LEVELS[gpu.thread]

    kernel, x, y = gpu.kernel(outside), np.zeros(5, np.float32), np.zeros(5, np.float32)
    said = str(kernel.verify(x, y))
    assert "LEVELS" in said and not kernel.verify(x, y).ok
    with pytest.raises(KernelError, match="LEVELS at element 4, it has 4 elements"):
        kernel.interpret(x, y)


def helper(t):
    return LEVELS[t % 4]


FORMS: dict[str, str] = {
    "captured": "y[tid] = LEVELS[tid % 4]",
    "of a list": "levels = [0.5, -1.0, 2.0]\n    levels.append(4)\n    y[tid] = levels[tid % 4]",
    "of a function": "at = lambda t: LEVELS[t % 4]\n    y[tid] = at(tid)",
    "of a helper": "y[tid] = helper(tid)",
    "of an expression": "y[tid] = (0.5, -1.0, 2.0, 4.0)[tid % 4]",
    "weak": "y[tid] = (1, -2, 4, 8)[tid % 4] * 0.5 + LEVELS[tid % 4] * 0",
    "bools": "y[tid] = gpu.select((True, False, False, True)[tid % 4], 0.5, 2.0)",
    "a constant": "k = gpu.cast(2, 'u32')\n    y[tid] = LEVELS[k]",
    "twice": "y[tid] = LEVELS[tid % 4] + LEVELS[(tid + 1) % 4]",
    "two": "y[tid] = LEVELS[tid % 4] + ORDER[tid % 4]",
    "signed zero": "y[tid] = 1 / (0.0, 1.0)[1 - tid % 2] + 1 / (-0.0, 1.0)[1 - tid % 2]",
}
WANTED: dict[str, Callable[[int], float]] = {
    "captured": lambda t: LEVELS[t % 4],
    "of a list": lambda t: LEVELS[t % 4],
    "of a function": lambda t: LEVELS[t % 4],
    "of a helper": lambda t: LEVELS[t % 4],
    "of an expression": lambda t: LEVELS[t % 4],
    "weak": lambda t: (0.5, -1.0, 2.0, 4.0)[t % 4],
    "bools": lambda t: (0.5, 2.0, 2.0, 0.5)[t % 4],
    "a constant": lambda t: LEVELS[2],
    "twice": lambda t: LEVELS[t % 4] + LEVELS[(t + 1) % 4],
    "two": lambda t: LEVELS[t % 4] + ORDER[t % 4],
    "signed zero": lambda t: 2.0 if t % 2 == 0 else float("nan"),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    kernel = made(f"def f(x, y):\n    gpu.launch(grid=1, threads=8)\n    tid = gpu.thread\n    {FORMS[form]}\n")
    x, y = np.zeros(8, np.float32), np.zeros(8, np.float32)
    kernel.interpret(x, y)
    np.testing.assert_array_equal(y, np.float32([WANTED[form](t) for t in range(8)]))
    text = kernel.wgsl(x, y)
    assert text.count("const ") == {"two": 2, "a constant": 0, "signed zero": 2, "weak": 2}.get(form, 1)
    assert kernel.verify(x, y).ok and verdict(kernel.wgsl(x, y, dialect="tint")) == []
    if not missing():
        assert refusal(kernel.cuda(x, y)) == ""


def test_a_table_of_one_number() -> None:
    kernel = made("def f(at, y):\n    gpu.launch(grid=1, threads=8)\n    y[gpu.thread] = (2.5,)[at[gpu.thread]]\n")
    y = np.zeros(8, np.float32)
    kernel.interpret(np.zeros(8, np.uint32), y)
    assert (y == 2.5).all() and not kernel.verify(np.ones(8, np.uint32), y).ok


REFUSED = {
    "mixed": ("(1, None, 3)[tid]", "NoneType, which is no number"),
    "of the GPU": ("(x[0], x[1])[tid]", "a table holds Python's numbers"),
    "rows": ("((1, 2), (3, 4))[tid][0]", "one after the other"),
    "types": ("tuple(TYPES)[tid]", "numbers of several types"),
    "empty": ("()[tid]", "has 0 items"),
    "large": (f"tuple(range({MOST + 1}))[tid]", f"1 to {MOST}"),
    "not finite": ("(1.0, float('inf'))[tid]", "inf is no f32"),
    "too great": ("(-1, 2 ** 32 - 1)[tid]", "4294967295 is no i32"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    text, said = REFUSED[what]
    kernel = made(
        "import numpy as np\n\n\ndef f(x, y):\n    TYPES = np.float32(1), np.int32(2)\n"
        f"    gpu.launch(grid=1, threads=2)\n    tid = gpu.thread\n    y[tid] = {text}\n"
    )
    with pytest.raises(KernelError, match=said):
        kernel.wgsl(np.zeros(2, np.float32), np.zeros(2, np.float32))


def test_the_largest_table_is_taken() -> None:
    def largest(x, y, *, table):
        gpu.launch(grid=1, threads=8)
        y[gpu.thread] = table[x[gpu.thread] % MOST]

    kernel, table = gpu.kernel(largest), tuple(range(MOST))
    x, y = np.arange(2040, 2048, dtype=np.uint32), np.zeros(8, np.uint32)
    kernel.interpret(x, y, table=table)
    assert y.tolist() == [n % MOST for n in range(2040, 2048)]
    assert verdict(kernel.wgsl(x, y, dialect="tint", table=table)) == []


def test_the_decoded_case() -> None:
    case = traced.cases()["decoded"]()
    case.kernel.interpret(*case.arguments, **case.static)
    case.check()
    assert case.kernel.verify(*case.arguments, **case.static).ok


class Squares(tuple):
    """Items that are computed when they are read."""

    def __getitem__(self, index):
        return index * index


def test_a_class_of_the_users_reads_its_items_itself() -> None:
    def squares(x, y):
        gpu.launch(grid=1, threads=8)
        y[gpu.thread] = Squares((1, 2))[gpu.thread] + gpu.cast(x[gpu.thread], "u32")

    y = np.zeros(8, np.uint32)
    gpu.kernel(squares).interpret(np.zeros(8, np.float32), y)
    assert y.tolist() == [n * n for n in range(8)]
