"""An operation of the algebra is one entry: its record says all that texts, explanations and other layouts need."""

import subprocess
import sys

ADDED = """
from cutepy import ComposedLayout, Layout, Swizzle
from cutepy.layout.algebra.operation import on_inner, operation
from cutepy.layout.algebra.rearrange import joined
from cutepy.layout.algebra.tile import logical_divide

@operation(composed=on_inner, tiled=True, put=(logical_divide, "(rest, tile)"), tiles="rake", on_tensor="divided")
def turned_divide(layout, tiler):
    return joined(reversed(list(logical_divide(layout, tiler))))

from cutepy import draw, explain, make_tensor
from cutepy.cli import main
from cutepy.layout.text.parse import parse_expression

print(turned_divide(Layout(8, 2), 4))
print(turned_divide(ComposedLayout(Swizzle(1, 0, 1), 0, Layout(8)), 4))
print(turned_divide(Layout.parse("M:2").given("4 divides M"), 4))
print(parse_expression("coalesce(turned_divide(8:2, 4), (1, 1))").value)
try:
    turned_divide(Layout.parse("M:2"), 4)
except Exception as error:
    print(type(error).__name__, error)
print(turned_divide(make_tensor("f32", 8, 2), 4).layout, turned_divide(make_tensor("f32", 7), 4).guard.table().sum())
main(["print", "turned_divide(8:2, 4)", "--to", "cpp"])
steps = [draw(f"{name}(8:1, 4)", view="steps").figure.grids for name in ("turned_divide", "logical_divide")]
print(*(grids[0].caption.split("\\n")[0] for grids in steps), steps[0][1].paints == steps[1][1].paints)
main(["draw", "turned_divide(8:2, 4)", "--view", "steps", "--to", "text"])
main(["explain", "turned_divide(8:2, 4)"])
"""


def test_adding_an_operation_is_one_entry() -> None:
    done = subprocess.run([sys.executable, "-c", ADDED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:4] == ["(2,4):(8,2)", "S<1,0,1> o 0 o (2,4):(4,1)", "(M/4,4):(8,2)", "(2,4):(8,2)"]
    assert lines[4].startswith("UndecidedError turned_divide(M:2, 4)") and "'4 divides M'" in lines[4]
    assert lines[5:8] == [
        "(2,4):(8,2) 7",
        "Layout<Shape<_2,_4>,Stride<_8,_2>>{}",
        "whole, a colour a tile whole, a colour a tile False",
    ]
    assert "turned_divide(8:2, 4)" in lines[8]
    assert lines[-2:] == ["  4. The modes of (4,2):(2,8) are put as (rest, tile): (2,4):(8,2).", "  = (2,4):(8,2)"]
