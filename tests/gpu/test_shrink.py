"""The reducer of the fuzzers: `tools/fuzz/shrink.py`."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "tools" / "fuzz"))  # last: it has modules by the names of some here
from shrink import shrink

PROGRAM = """
def program(x, y):
    a = x[0] + 3
    for k in range(4):
        b = a * k
        if b > 2:
            a = b // 3 + a
        else:
            a = a - 1
    y[0] = a
    y[1] = b
"""


def test_what_is_left_fails_and_holds_nothing_else() -> None:
    assert shrink(PROGRAM, lambda text: "// 3" in text) == "def program(x, y):\n    b // 3"


def test_what_the_fault_needs_stays() -> None:
    def is_wrong(text: str) -> bool:
        names: dict[str, object] = {}
        y = [0, 0]
        try:
            exec(text, names)
            names["program"]([5], y)  # type: ignore[operator]
        except Exception:
            return False
        return y[0] > 8

    left = shrink(PROGRAM, is_wrong)
    assert is_wrong(left)
    assert len(left.splitlines()) <= 7


def test_a_text_that_does_not_fail_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fail"):
        shrink(PROGRAM, lambda text: False)
