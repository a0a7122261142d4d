"""Writing layouts: C++ source, pycute source, LaTeX, the text table of CuTe's `print_layout`.

Law: `parse_layout` reads back what `to_cpp`, `to_pycute`, `to_latex` and `to_f2_strides` write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import LayoutError
from ..algebra.bits import columns_of, to_f2
from ..values.bit_map import BitMap, Swizzle
from ..values.composed import AnyLayout, Chained, ComposedLayout, Function, plain_part
from ..values.coordinates import Basis
from ..values.int_tuple import IntTuple, fold_profile, leaves, product, show

_CPP_NAMES = frozenset((*range(-10, 11), 12, 16, 24, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024))
"""The integers that every CuTe release names `_N` (`_mN` below 0); others are spelled `Int<N>`."""


@dataclass(frozen=True, slots=True)
class OverF2:
    """`F2(9)`, the stride of offsets that are XORs of carryless products."""

    step: int

    def __repr__(self) -> str:
        return f"F2({self.step})"


def spelt(operand: object) -> str:
    """An operand as the text of a call has it.

    >>> from cutepy.layout import Layout
    >>> spelt((4, Layout((2, 4))))
    '(4, (2,4):(1,2))'
    """
    if isinstance(operand, tuple):
        alone = len(operand) == 1 and not isinstance(operand[0], int | tuple)  # (4:1) is a layout, (4:1,) a tuple of it
        return f"({', '.join(map(spelt, operand))}{',' * alone})"
    return f'"{operand}"' if isinstance(operand, str) else str(operand)


def to_cpp(layout: Function) -> str:
    """CuTe C++ source: a static layout as its type, one with unknown sizes as a call of `make_layout`.

    >>> from cutepy.layout import Layout
    >>> print(to_cpp(Layout((4, (2, 3)), (1, (4, 8)))))
    Layout<Shape<_4,Shape<_2,_3>>,Stride<_1,Stride<_4,_8>>>{}
    >>> print(to_cpp(ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 64), (64, 1)))))
    composition(Swizzle<3,4,3>{},Layout<Shape<_8,_64>,Stride<_64,_1>>{})

    Raises LayoutError for sizes that have no C++ spelling (SymPy functions).
    """
    if isinstance(layout, Swizzle):
        return f"Swizzle<{layout.bits},{layout.base},{layout.shift}>{{}}"
    if isinstance(layout, BitMap):
        raise LayoutError(f"to_cpp: CuTe C++ has swizzles, no other map of bits, and {layout} is none")
    if isinstance(layout, (ComposedLayout, Chained)):
        parts = to_cpp(layout.outer), to_cpp(layout.inner)
        if layout.offset == 0 and isinstance(layout.outer, Swizzle):
            return f"composition({parts[0]},{parts[1]})"
        return f"make_composed_layout({parts[0]},{_cpp_tuple(layout.offset, 'make_coord')},{parts[1]})"
    # Static sizes: a type. Unknown ones: a call of make_layout.
    if layout.facts is None:
        return f"Layout<{_cpp_type(layout.shape, 'Shape')},{_cpp_type(layout.stride, 'Stride')}>{{}}"
    return f"make_layout({_cpp_tuple(layout.shape, 'make_shape')},{_cpp_tuple(layout.stride, 'make_stride')})"


def _cpp_type(tree: IntTuple, name: str) -> str:
    """A static int tuple as a C++ type: `_4`, `Int<5>`, `E<0>`, or `name<...>` for a tuple."""
    if isinstance(tree, tuple):
        return f"{name}<{','.join(_cpp_type(entry, name) for entry in tree)}>"
    if isinstance(tree, Basis):
        axes = ",".join(map(str, tree.path))
        return f"E<{axes}>" if tree.value == 1 else f"ScaledBasis<{_cpp_type(tree.value, name)},{axes}>"
    if tree in _CPP_NAMES:
        return f"_{tree}" if tree >= 0 else f"_m{-tree}"
    return f"Int<{tree}>"


def _cpp_tuple(value: IntTuple, name: str) -> str:
    """An int tuple, some sizes unknown, as a C++ value: `_4{}`, a name, or `name(...)` for a tuple."""
    if isinstance(value, tuple):
        return f"{name}({','.join(_cpp_tuple(entry, name) for entry in value)})"
    if isinstance(value, Basis):
        axes = ",".join(map(str, value.path))
        return f"E<{axes}>{{}}" if value.value == 1 else f"{_cpp_tuple(value.value, name)}*E<{axes}>{{}}"
    if type(value) is int:
        return _cpp_type(value, "") + "{}"
    text = str(value)
    if any(operator in text for operator in ("**", "floor", "ceiling", "Mod", "Max", "Min")):
        raise LayoutError(f"to_cpp: the size {text} has no C++ spelling; name it with a symbol of its own")
    return text if text.isidentifier() else f"({text})"


def to_pycute(layout: AnyLayout) -> str:
    """pycute source, as its own `repr` writes it.

    >>> from cutepy.layout import Layout
    >>> to_pycute(Layout((4, (2, 2)), (1, (4, 8)))), to_pycute(ComposedLayout(Swizzle(3, 4, 3), 0, Layout(8, 1)))
    ('Layout((4, (2, 2)),(1, (4, 8)))', 'ComposedLayout(Swizzle(3,4,3),0,Layout(8,1))')

    Raises LayoutError for basis strides and for chains with more than one outer function, which pycute does not have.
    """
    if isinstance(layout, ComposedLayout):
        if isinstance(layout.outer, (Chained, ComposedLayout)):
            raise LayoutError(f"to_pycute({layout}): pycute composes one function with a layout, here are more")
        outer = layout.outer
        if isinstance(outer, BitMap):
            raise LayoutError(f"to_pycute({layout}): pycute has swizzles, no other map of bits, and {outer} is none")
        first = f"Swizzle({outer.bits},{outer.base},{outer.shift})" if isinstance(outer, Swizzle) else to_pycute(outer)
        return f"ComposedLayout({first},{layout.offset},{to_pycute(layout.inner)})"
    if any(isinstance(step, Basis) for step in leaves(layout.stride)):
        raise LayoutError(f"to_pycute({layout}): pycute has no basis strides")
    return f"Layout({layout.shape!r},{layout.stride!r})"


def to_f2_strides(layout: AnyLayout) -> str:
    """The layout with strides over F2, where XOR adds: any map of bits after a layout is one, where all is known.

    >>> from cutepy.layout import Layout
    >>> to_f2_strides(ComposedLayout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1))))
    'Layout((8, 8), (F2(9), F2(1)))'

    A mode of several steps is nested. Raises LayoutError where the layout is not linear over XOR, as `to_f2`.
    Source: NVlabs, CuTe's strides over F2.
    """
    to_f2(layout)  # raises where the layout is not linear
    columns = [*(columns_of(layout) or ())]
    modes: list[tuple[IntTuple, Any]] = []
    shape = plain_part(layout).shape
    for extent in leaves(shape):
        steps: list[list[int]] = []
        for _bit in range(extent.bit_length() - 1):
            column = columns.pop(0)
            # Columns d, 2d, 4d, ... are one mode with stride d over F2.
            if steps and column == steps[-1][0] << len(steps[-1]):
                steps[-1].append(column)
            else:
                steps.append([column])
        pieces = [(1 << len(step), OverF2(step[0])) for step in steps] or [(1, OverF2(0))]
        modes.append(pieces[0] if len(pieces) == 1 else tuple(zip(*pieces, strict=True)))  # type: ignore[arg-type]
    sizes, strides = (fold_profile(iter(parts), shape) for parts in zip(*modes, strict=True))
    return f"Layout({sizes!r}, {strides!r})"


def to_latex(layout: Function) -> str:
    r"""LaTeX for math mode.

    >>> from cutepy.layout import Layout
    >>> print(to_latex(Layout((4, (2, 2)), (1, (4, 8)))))
    (4,(2,2)){:}(1,(4,8))
    >>> print(to_latex(ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 64), (64, 1)))))
    S\langle 3,4,3\rangle \circ 0 \circ (8,64){:}(64,1)

    Basis strides are `e_{i,j}`, the outer axis first.
    """
    if isinstance(layout, Swizzle):
        return rf"S\langle {layout.bits},{layout.base},{layout.shift}\rangle"
    if isinstance(layout, BitMap):
        return rf"F_2\langle {','.join(map(str, layout.columns))}\rangle"
    if isinstance(layout, (ComposedLayout, Chained)):
        return rf"{to_latex(layout.outer)} \circ {show(layout.offset)} \circ {to_latex(layout.inner)}"
    return f"{_latex_tree(layout.shape)}{{:}}{_latex_tree(layout.stride)}"


def _latex_tree(tree: IntTuple) -> str:
    if isinstance(tree, tuple):
        return f"({','.join(map(_latex_tree, tree))})"
    if isinstance(tree, Basis):
        axes = f"e_{{{','.join(map(str, tree.path))}}}"
        return axes if tree.value == 1 else rf"{_latex_tree(tree.value)}\,{axes}"
    return re.sub(r"\*\*(\d+)", r"^{\1}", str(tree)).replace("*", r" \cdot ")


LARGEST_GRID = 1 << 16


def text_grid(layout: AnyLayout) -> str:
    """A header line with the layout, column numbers, and a ruled row for each row of offsets.

    >>> from cutepy.layout import Layout
    >>> print(text_grid(Layout((2, (2, 2)), (4, (2, 1)))))
    (2,(2,2)):(4,(2,1))
          0   1   2   3
        +---+---+---+---+
     0  | 0 | 2 | 1 | 3 |
        +---+---+---+---+
     1  | 4 | 6 | 5 | 7 |
        +---+---+---+---+

    Rank 2 as CuTe prints it, without the blank that `print_layout` leaves at the end of the line of column numbers; a
    vector is one row. Raises LayoutError for higher ranks, symbolic sizes, and above 65,536 cells.
    Source: the format is that of CuTe's `print_layout` (`util/print_tensor.hpp`).
    """
    if any(type(extent) is not int for extent in leaves(layout.shape)):
        raise LayoutError(f"grid of {layout}: a size is not a number; substitute one first")
    if layout.rank > 2 or layout.size > LARGEST_GRID:
        raise LayoutError(
            f"grid of {layout}: rank {layout.rank} and {layout.size} cells; it draws ranks 1 and 2 "
            f"up to {LARGEST_GRID} cells, so group modes or slice"
        )
    rows, columns = extents(layout)
    cells = [[show(value) for value in row] for row in offset_rows(layout, range(rows), range(columns))]
    widest = max(len(cell) for row in cells for cell in row)
    digits = len(str(layout.cosize)) if gives_offsets(layout) else widest
    if any(cell.startswith("-") for row in cells for cell in row):
        digits = max(digits, widest)
    return "\n".join([str(layout), *ruled(cells, digits)])


def ruled(cells: Sequence[Sequence[str]], digits: int) -> list[str]:
    """The lines of a table: column numbers, then a rule and a row in turn; numbers to the right in `digits` places."""
    rule = "    " + ("+" + "-" * (digits + 2)) * len(cells[0]) + "+"
    lines = ["    " + "".join(f"  {column:>{digits}} " for column in range(len(cells[0]))).rstrip(), rule]
    for number, row in enumerate(cells):
        lines += [f"{number:2d}  " + "".join(f"| {cell:>{digits}} " for cell in row) + "|", rule]
    return lines


def gives_offsets(layout: AnyLayout) -> bool:
    """True if every stride inside is a number: none is a basis element."""
    return all(type(step) is int for step in leaves(plain_part(layout).stride))


def extents(layout: AnyLayout) -> tuple[int, int]:
    """Rows and columns of the table of a layout: its first two modes, or one row for a vector.

    >>> from cutepy.layout import Layout
    >>> extents(Layout((4, (2, 8)))), extents(Layout(8))
    ((4, 16), (1, 8))
    """
    sizes = [product(mode.shape) for mode in layout]
    return (sizes[0], sizes[1]) if len(sizes) > 1 else (1, sizes[0] if sizes else 1)


def offset_rows(layout: AnyLayout, rows: Sequence[int], columns: Sequence[int]) -> list[list[Any]]:
    """What the layout gives at the chosen rows and columns of its table; each mode is evaluated once, then added.

    >>> from cutepy.layout import Layout
    >>> offset_rows(Layout((4, (2, 2)), (1, (10, 100))), [0, 3], range(4))
    [[0, 10, 100, 110], [3, 13, 103, 113]]
    """
    plain = plain_part(layout)
    if plain.rank < 2:
        return [[layout(column if layout.rank else ()) for column in columns] for _row in rows]
    if not gives_offsets(plain):
        return [[layout((row, column)) for column in columns] for row in rows]
    down, across = plain[0], plain[1]
    # Offsets are additive over modes: evaluate each mode once, then add.
    along = [across(column) for column in columns]
    if not isinstance(layout, ComposedLayout):
        return [[base + step for step in along] for base in map(down, rows)]
    outer: Callable[[int], object] = layout.outer
    return [[outer(layout.offset + base + step) for step in along] for base in map(down, rows)]


NOTATIONS: dict[str, Callable[[AnyLayout], str]] = {
    "cute": str,
    "python": repr,
    "cpp": to_cpp,
    "pycute": to_pycute,
    "latex": to_latex,
}
"""A layout in each notation, by its name."""
