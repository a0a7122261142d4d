"""Methods that layouts of every kind share: other notations, tables, pictures, `@`; answers that print as they read.

Law: a method here is one call of the function of that name in the room above, imported inside the method: those rooms
import this one when they are loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, NoReturn, cast

from ...errors import OperandError, shown
from .int_tuple import IntTuple, Shaped

if TYPE_CHECKING:
    from .composed import AnyLayout


class NotebookRepr:
    """What a notebook shows without a call: a picture where there is one, else the readable text.

    >>> class Mine(NotebookRepr): ...
    >>> Mine()._repr_mimebundle_()
    {}
    """

    __slots__ = ()

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str]:
        from ...draw.drawing import bundle_of

        return bundle_of(self, include, exclude)


class ReprIsStr(NotebookRepr):
    """The result of an analysis: at a prompt it reads as it prints.

    >>> from cutepy import Layout, bank_conflicts
    >>> bank_conflicts(Layout(32, 2))
    2-way conflict, 2 rounds for 1 phases: at access 0 lanes 0, 16 want words 0, 32 of bank 0
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Composable(NotebookRepr):
    """A function on integers that can be composed: a layout of any kind, or a map of bits."""

    __slots__ = ()
    __array_ufunc__ = None  # an array of NumPy on the left of an operator leaves it to this side

    def __array__(self, *_type: object, **_options: object) -> NoReturn:
        """Refuses: NumPy would take a layout for a sequence of its modes, without end."""
        raise OperandError(f"{shown(self)} is no array: layout.offsets() is the table of its offsets")

    def __matmul__(self, inner: Composable | IntTuple) -> AnyLayout:
        """`A @ B` is `composition(A, B)`: A after B; a number or a tuple is a tiler.

        >>> from cutepy import Layout, Swizzle
        >>> Layout((6, 2), (8, 2)) @ Layout((4, 3), (3, 1))
        Layout(((2, 2), 3), ((24, 2), 8))
        >>> print(Swizzle(2, 0, 3) @ Layout((8, 8), (8, 1)))
        S<2,0,3> o 0 o (8,8):(8,1)
        >>> print(Layout((4, 8), (8, 1)) @ (2, 2))
        (2,2):(8,1)
        """
        from ..algebra.composition import composition
        from ..algebra.operation import on_any

        return on_any(composition, self, inner) if isinstance(inner, (Composable, int, tuple)) else NotImplemented


_TILES = "zipped_divide(A, tile) and logical_divide(A, tile) cut it into tiles"
_ORDER = "compatible(A, B) and congruent(A, B) compare shapes, A.size and A.cosize are numbers"
_REFUSED = {
    "add +": "make_layout(A, B) has both as modes; a tensor's offset, or domain_offset, is where it begins",
    "sub -": "complement(A, n) is what A leaves of n",
    "mul *": "logical_product(A, B) and blocked_product(A, B) repeat A as B says, A @ B is A after B",
    "truediv /": _TILES,
    "floordiv //": _TILES,
    "mod %": _TILES,
    "pow **": "logical_product(A, B) repeats A as B says",
    "lshift <<": "recast_layout, upcast and downcast change the width of elements",
    "rshift >>": "recast_layout, upcast and downcast change the width of elements",
    "and &": "make_layout(A, B) has both as modes",
    "or |": "make_layout(A, B) has both as modes",
    "xor ^": "Swizzle(B, M, S) permutes offsets by exclusive or",
}


def _refused(symbol: str, instead: str, swapped: bool = False) -> Callable[[Composable, object], NoReturn]:
    def refuse(self: Composable, other: object) -> NoReturn:
        left, right = (other, self) if swapped else (self, other)
        raise OperandError(f"{shown(left)} {symbol} {shown(right)}: there is no such operation on layouts; {instead}")

    return refuse


def _refused_alone(name: str) -> Callable[[Composable], NoReturn]:
    def refuse(self: Composable) -> NoReturn:
        raise OperandError(
            f"{name}({shown(self)}): there is no such operation on layouts; Layout(shape, stride) has any"
        )

    return refuse


for _said, _instead in _REFUSED.items():
    _name, _symbol = _said.split()
    setattr(Composable, f"__{_name}__", _refused(_symbol, _instead))
    setattr(Composable, f"__r{_name}__", _refused(_symbol, _instead, swapped=True))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Composable, f"__{_name}__", _refused_alone(_name))
for _said in ("lt <", "le <=", "gt >", "ge >="):  # these have no reflected name
    _name, _symbol = _said.split()
    setattr(Composable, f"__{_name}__", _refused(_symbol, _ORDER))


class LayoutMethods(Shaped, Composable):
    """What layouts of every kind can be asked for: the text in other notations, the table, the picture."""

    __slots__ = ()

    def __len__(self) -> int:
        return self.rank

    def to_cpp(self) -> str:
        """CuTe C++ source of this layout; see `write.to_cpp`.

        >>> from cutepy import Layout
        >>> Layout((4, 8), (8, 1)).to_cpp()
        'Layout<Shape<_4,_8>,Stride<_8,_1>>{}'
        """
        from ..text.write import to_cpp

        return to_cpp(_as_layout(self))

    def to_pycute(self) -> str:
        """pycute source of this layout; see `write.to_pycute`.

        >>> from cutepy import Layout
        >>> Layout((4, 8), (8, 1)).to_pycute()
        'Layout((4, 8),(8, 1))'

        Raises LayoutError for basis strides.
        """
        from ..text.write import to_pycute

        return to_pycute(_as_layout(self))

    def to_latex(self) -> str:
        """LaTeX of this layout, for math mode; see `write.to_latex`.

        >>> from cutepy import Layout
        >>> Layout((4, 8), (8, 1)).to_latex()
        '(4,8){:}(8,1)'
        """
        from ..text.write import to_latex

        return to_latex(_as_layout(self))

    def to_f2_strides(self) -> str:
        """This layout with strides over F2, as NVlabs' CuTe has them; see `write.to_f2_strides`.

        >>> from cutepy import Layout
        >>> Layout((4, 8), (8, 1)).to_f2_strides()
        'Layout((4, 8), (F2(8), F2(1)))'
        """
        from ..text.write import to_f2_strides

        return to_f2_strides(_as_layout(self))

    def grid(self) -> str:
        """The offsets as a text table, equal to CuTe's `print_layout`; ranks 1 and 2."""
        from ..text.write import text_grid

        return text_grid(_as_layout(self))


def _as_layout(methods: LayoutMethods) -> AnyLayout:
    """`Layout` and `ComposedLayout` are the only classes with these methods."""
    return cast("AnyLayout", methods)
