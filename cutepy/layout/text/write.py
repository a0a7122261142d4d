"""Writing layouts: C++ source, pycute source, LaTeX, the text table of CuTe's `print_layout`.

Law: `parse_layout` reads back what `to_cpp`, `to_pycute` and `to_latex` write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import cast

from ...errors import LayoutError
from ..values.basis import Basis
from ..values.composed import AnyLayout, Chained, ComposedLayout, Function, Swizzle
from ..values.int_tuple import IntTuple, leaves, product, show
from ..values.layout import Layout

_CPP_NAMES = frozenset((*range(-10, 11), 12, 16, 24, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024))
"""The integers that every CuTe release names `_N` (`_mN` below 0); others are spelled `Int<N>`."""


def spelt(operand: object) -> str:
    """An operand as the text of a call has it.

    >>> spelt((4, Layout((2, 4))))
    '(4, (2,4):(1,2))'
    """
    return f"({', '.join(map(spelt, operand))})" if isinstance(operand, tuple) else str(operand)


def to_cpp(layout: AnyLayout) -> str:
    """CuTe C++ source: a static layout as its type, one with unknown sizes as a call of `make_layout`.

    >>> from cutepy.layout import Layout
    >>> print(to_cpp(Layout((4, (2, 3)), (1, (4, 8)))))
    Layout<Shape<_4,Shape<_2,_3>>,Stride<_1,Stride<_4,_8>>>{}
    >>> print(to_cpp(ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 64), (64, 1)))))
    composition(Swizzle<3,4,3>{},Layout<Shape<_8,_64>,Stride<_64,_1>>{})

    Raises LayoutError for sizes that have no C++ spelling (SymPy functions).
    """
    return _cpp(layout)


def _cpp(function: Function) -> str:
    if isinstance(function, Swizzle):
        return f"Swizzle<{function.bits},{function.base},{function.shift}>{{}}"
    if isinstance(function, (ComposedLayout, Chained)):
        parts = _cpp(function.outer), _cpp(function.inner)
        if function.offset == 0 and isinstance(function.outer, Swizzle):
            return f"composition({parts[0]},{parts[1]})"
        return f"make_composed_layout({parts[0]},{_cpp_value(function.offset)},{parts[1]})"
    if function.facts is None:
        return f"Layout<{_cpp_type(function.shape, 'Shape')},{_cpp_type(function.stride, 'Stride')}>{{}}"
    return f"make_layout({_cpp_tuple(function.shape, 'make_shape')},{_cpp_tuple(function.stride, 'make_stride')})"


def _cpp_type(tree: IntTuple, name: str) -> str:
    if isinstance(tree, tuple):
        return f"{name}<{','.join(_cpp_type(entry, name) for entry in tree)}>"
    if isinstance(tree, Basis):
        axes = ",".join(map(str, tree.path))
        return f"E<{axes}>" if tree.value == 1 else f"ScaledBasis<{_cpp_type(tree.value, name)},{axes}>"
    if tree in _CPP_NAMES:
        return f"_{tree}" if tree >= 0 else f"_m{-tree}"
    return f"Int<{tree}>"


def _cpp_tuple(tree: IntTuple, name: str) -> str:
    if isinstance(tree, tuple):
        return f"{name}({','.join(_cpp_tuple(entry, name) for entry in tree)})"
    return _cpp_value(tree)


def _cpp_value(value: IntTuple) -> str:
    if isinstance(value, Basis):
        axes = ",".join(map(str, value.path))
        return f"E<{axes}>{{}}" if value.value == 1 else f"{_cpp_value(value.value)}*E<{axes}>{{}}"
    if type(value) is int:
        return _cpp_type(value, "") + "{}"
    text = str(value)
    if any(word in text for word in ("**", "floor", "ceiling", "Mod", "Max", "Min")):
        raise LayoutError(f"to_cpp: the size {text} has no C++ spelling; name it with a symbol of its own")
    return text if value.is_Symbol else f"({text})"  # type: ignore[union-attr]


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
        first = f"Swizzle({outer.bits},{outer.base},{outer.shift})" if isinstance(outer, Swizzle) else to_pycute(outer)
        return f"ComposedLayout({first},{layout.offset},{to_pycute(layout.inner)})"
    if any(isinstance(step, Basis) for step in leaves(layout.stride)):
        raise LayoutError(f"to_pycute({layout}): pycute has no basis strides")
    return f"Layout({layout.shape!r},{layout.stride!r})"


def to_latex(layout: AnyLayout) -> str:
    r"""LaTeX for math mode.

    >>> from cutepy.layout import Layout
    >>> print(to_latex(Layout((4, (2, 2)), (1, (4, 8)))))
    (4,(2,2)){:}(1,(4,8))
    >>> print(to_latex(ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 64), (64, 1)))))
    S\langle 3,4,3\rangle \circ 0 \circ (8,64){:}(64,1)

    Basis strides are `e_{i,j}`, the outer axis first.
    """
    return _latex(layout)


def _latex(function: Function) -> str:
    if isinstance(function, Swizzle):
        return rf"S\langle {function.bits},{function.base},{function.shift}\rangle"
    if isinstance(function, (ComposedLayout, Chained)):
        return rf"{_latex(function.outer)} \circ {function.offset} \circ {_latex(function.inner)}"
    return f"{_latex_tree(function.shape)}{{:}}{_latex_tree(function.stride)}"


def _latex_tree(tree: IntTuple) -> str:
    if isinstance(tree, tuple):
        return f"({','.join(map(_latex_tree, tree))})"
    if isinstance(tree, Basis):
        axes = f"e_{{{','.join(map(str, tree.path))}}}"
        return axes if tree.value == 1 else rf"{_latex_tree(tree.value)}\,{axes}"
    return re.sub(r"\*\*(\d+)", r"^{\1}", str(tree)).replace("*", r" \cdot ")


LARGEST_GRID = 1 << 16


def text_grid(layout: Layout | ComposedLayout) -> str:
    """A header line with the layout, column numbers, and a ruled row for each row of offsets.

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
    digits = widest if any(type(step) is not int for step in _steps(layout)) else len(str(layout.cosize))
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


def extents(layout: Layout | ComposedLayout) -> tuple[int, int]:
    """Rows and columns of the table of a layout: its first two modes, or one row for a vector.

    >>> extents(Layout((4, (2, 8)))), extents(Layout(8))
    ((4, 16), (1, 8))
    """
    sizes = [product(mode.shape) for mode in layout]
    return (sizes[0], sizes[1]) if len(sizes) > 1 else (1, sizes[0] if sizes else 1)


def offset_rows(
    layout: Layout | ComposedLayout, rows: Sequence[int], columns: Sequence[int]
) -> list[list[int | tuple[object, ...]]]:
    """What the layout gives at the chosen rows and columns of its table; each mode is evaluated once, then added.

    >>> offset_rows(Layout((4, (2, 2)), (1, (10, 100))), [0, 3], range(4))
    [[0, 10, 100, 110], [3, 13, 103, 113]]
    """
    outer, start, plain = _taken_apart(layout)
    if plain.rank < 2 or any(type(step) is not int for step in leaves(plain.stride)):
        flat = plain.rank < 2
        return [[_value(layout, (column,) if flat else (row, column)) for column in columns] for row in rows]
    down, across = plain[0], plain[1]
    along = [across(column) for column in columns]
    table: list[list[int | tuple[object, ...]]] = []
    for row in rows:
        base = start + down(row)
        table.append([base + step for step in along] if outer is None else [outer(base + step) for step in along])
    return table


def _value(layout: Layout | ComposedLayout, crd: tuple[int, ...]) -> int | tuple[object, ...]:
    index = crd[0] if len(crd) == 1 else crd
    return cast("int | tuple[object, ...]", layout(index if layout.rank else ()))


def _taken_apart(layout: Layout | ComposedLayout) -> tuple[Callable[[int], int] | None, int, Layout]:
    """The outer function or None, its offset, and the plain layout inside."""
    if isinstance(layout, ComposedLayout):
        return cast("Callable[[int], int]", layout.outer), layout.offset, layout.inner
    return None, 0, layout


def _steps(layout: Layout | ComposedLayout) -> tuple[object, ...]:
    return leaves(_taken_apart(layout)[2].stride)
