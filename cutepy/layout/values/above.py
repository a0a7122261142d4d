"""What is found by name when first asked for: what upper rooms do with a value of a lower one, rare exports.

Law: a lower room knows the name of what it asks for, never the module; the package that has it says so with `provide`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from .int_tuple import Shaped

Kind = TypeVar("Kind")
_WHERE: dict[str, str] = {}


def by_name(where: Mapping[str, str]) -> dict[str, str]:
    """The module of each name, from the names of each module.

    >>> by_name({"drawing": "bundle_of draw"})
    {'bundle_of': 'drawing', 'draw': 'drawing'}
    """
    return {name: module for module, names in where.items() for name in names.split()}


def provide(package: str, where: Mapping[str, str]) -> None:
    """Say which functions, by their names, the modules of a package have for rooms below.

    >>> provide("cutepy.draw", {"drawing": "bundle_of draw"})
    """
    _WHERE.update({name: f"{package}.{module}" for name, module in by_name(where).items()})
    provided.cache_clear()


@lru_cache(maxsize=256)
def provided(name: str) -> Callable[..., Any]:
    """The function that an upper room provides under `name`, whatever it gives."""
    found: Callable[..., Any] = getattr(import_module(_WHERE[name]), name)
    return found


def above(name: str, kind: type[Kind]) -> Callable[..., Kind]:
    """The function that an upper room provides under `name`, which gives a `kind`.

    >>> above("parse_layout", object)("(4,8):(8,1)")
    Layout((4, 8), (8, 1))
    """
    return provided(name)


class Question:
    """A function whose module is loaded with the first question to it; it says of itself what that one says.

    >>> later = Question("colorsys", "rgb_to_hsv")
    >>> later.__name__, later(1, 1, 1)
    ('rgb_to_hsv', (0.0, 0.0, 1))
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    @property
    def __wrapped__(self) -> Any:
        return getattr(import_module(self._module), self._name)

    def __call__(self, *operands: Any, **named: Any) -> Any:
        return self.__wrapped__(*operands, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self.__wrapped__.__get__(instance, owner)  # a routine, to `help` and as a method

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> tuple[type[Question], tuple[str, str]]:
        return Question, (self._module, self._name)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        doc: str | None = self.__wrapped__.__doc__
        return doc


class Later(ModuleType):
    """A module that is loaded with the first of its names that is asked for; to call it is to call that module.

    >>> later = Later("colorsys")
    >>> later.rgb_to_hsv(1, 1, 1)
    (0.0, 0.0, 1)
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(import_module(self.__name__), name, value)

    def __dir__(self) -> list[str]:
        return dir(import_module(self.__name__))

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        module: Any = import_module(self.__name__)  # `draw` is such a module
        return module(*arguments, **options)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return import_module(self.__name__).__doc__


class _Package(Later):
    """A package that takes long to load, each name of it asked for once."""

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(import_module(self.__name__), name)
        return found


if TYPE_CHECKING:
    import numpy
    import sympy

    from .composed import AnyLayout

    numpy_later = numpy
    sympy_later = sympy
else:
    numpy_later, sympy_later = _Package("numpy"), _Package("sympy")


class Shown:
    """What a notebook shows without a call: a picture where there is one, else a readable text; who draws makes both.

    >>> class Mine(Shown): ...
    >>> Mine()._repr_mimebundle_()
    {}
    """

    __slots__ = ()

    def _repr_mimebundle_(self, include: object = None, exclude: Container[str] | None = None) -> dict[str, str]:
        return provided("bundle_of")(self, exclude) if "bundle_of" in _WHERE else {}


class Answer(Shown):
    """What a question gives; at a prompt it reads as it prints.

    >>> from cutepy import Layout, bank_conflicts
    >>> bank_conflicts(Layout(32, 2))
    2-way conflict, 2 rounds for 1 phases: at access 0 lanes 0, 16 want words 0, 32 of bank 0
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Map(Shown):
    """A function on integers: a layout of any kind, or a map of bits."""

    __slots__ = ()

    def __matmul__(self, inner: Map) -> AnyLayout:
        """`A @ B` is `composition(A, B)`: A after B.

        >>> from cutepy import Layout, Swizzle
        >>> Layout((6, 2), (8, 2)) @ Layout((4, 3), (3, 1))
        Layout(((2, 2), 3), ((24, 2), 8))
        >>> print(Swizzle(2, 0, 3) @ Layout((8, 8), (8, 1)))
        S<2,0,3> o 0 o (8,8):(8,1)
        """
        found: AnyLayout = provided("composition")(self, inner) if isinstance(inner, Map) else NotImplemented
        return found


class Told(Shaped, Map):
    """What upper rooms make of a layout of any kind: its text in other notations, its table, its picture."""

    __slots__ = ()

    def __len__(self) -> int:
        return self.rank

    def to_cpp(self) -> str:
        """CuTe C++ source of this layout; see `write.to_cpp`.

        >>> from cutepy import Layout
        >>> Layout((4, 8), (8, 1)).to_cpp()
        'Layout<Shape<_4,_8>,Stride<_8,_1>>{}'
        """
        return above("to_cpp", str)(self)

    def to_pycute(self) -> str:
        """pycute source of this layout; see `write.to_pycute`.

        >>> from cutepy import Layout
        >>> Layout((4, 8), (8, 1)).to_pycute()
        'Layout((4, 8),(8, 1))'

        Raises LayoutError for basis strides.
        """
        return above("to_pycute", str)(self)

    def to_latex(self) -> str:
        """LaTeX of this layout, for math mode; see `write.to_latex`.

        >>> from cutepy import Layout
        >>> Layout((4, 8), (8, 1)).to_latex()
        '(4,8){:}(8,1)'
        """
        return above("to_latex", str)(self)

    def to_f2_strides(self) -> str:
        """This layout with strides over F2, as NVlabs' CuTe has them; see `write.to_f2_strides`.

        >>> from cutepy import Layout
        >>> Layout((4, 8), (8, 1)).to_f2_strides()
        'Layout((4, 8), (F2(8), F2(1)))'
        """
        return above("to_f2_strides", str)(self)

    def grid(self) -> str:
        """The offsets as a text table, equal to CuTe's `print_layout`; ranks 1 and 2."""
        return above("text_grid", str)(self)


def exported(package: str, later: Mapping[str, str], name: str) -> object:
    """What `package` exports under `name` from a module that is loaded now: `later[name]`, or the module of that name.

    >>> exported("cutepy.layout", {"parse_layout": "text.parse"}, "parse_layout")("(4,8):(8,1)")
    Layout((4, 8), (8, 1))

    Raises AttributeError for another name.
    """
    if name not in later:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module = import_module(f".{later[name] or name}", package)
    return getattr(module, name) if later[name] else module
