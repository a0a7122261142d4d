"""An operation of the algebra is one entry: its record says all that texts, explanations and other layouts need."""

import subprocess
import sys

ADDED = """
from cutepy import ComposedLayout, Layout, Swizzle
from cutepy.layout.algebra.operation import on_inner, operation
from cutepy.layout.algebra.rearrange import joined
from cutepy.layout.algebra.tile import logical_divide

@operation(composed=on_inner, tiled=True, put=(logical_divide, "(rest, tile)"))
def turned_divide(layout, tiler):
    return joined(reversed(list(logical_divide(layout, tiler))))

from cutepy import explain
from cutepy.layout.text.expression import parse_expression

print(turned_divide(Layout(8, 2), 4))
print(turned_divide(ComposedLayout(Swizzle(1, 0, 1), 0, Layout(8)), 4))
print(turned_divide(Layout.parse("M:2").given("4 divides M"), 4))
print(parse_expression("coalesce(turned_divide(8:2, 4), (1, 1))").value)
print(explain("turned_divide(8:2, 4)"))
"""


def test_adding_an_operation_is_one_entry() -> None:
    done = subprocess.run([sys.executable, "-c", ADDED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:4] == ["(2,4):(8,2)", "S<1,0,1> o 0 o (2,4):(4,1)", "(M/4,4):(8,2)", "(2,4):(8,2)"]
    assert lines[4] == "turned_divide(8:2, 4)"
    assert lines[-2:] == ["  4. The modes of (4,2):(2,8) are put as (rest, tile): (2,4):(8,2).", "  = (2,4):(8,2)"]
