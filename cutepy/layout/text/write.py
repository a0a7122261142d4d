"""Writing layouts: C++ source, pycute source, LaTeX.

Law: `parse_layout` reads back what each of these writes.
"""

from __future__ import annotations

import re

from ...errors import LayoutError
from ..values.basis import Basis
from ..values.composed import AnyLayout, Chained, ComposedLayout, Function, Swizzle
from ..values.int_tuple import IntTuple, leaves

_CPP_NAMES = frozenset((*range(-10, 11), 12, 16, 24, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024))
"""The integers that every CuTe release names `_N` (`_mN` below 0); others are spelled `Int<N>`."""


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
