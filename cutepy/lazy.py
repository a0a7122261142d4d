"""Lazy loading: a module or a function that is imported when it is first used, so that `import cutepy` is light.

Law: a lazy name behaves as what it stands for. Where it is made, an import under `TYPE_CHECKING` names the definition,
which type checkers and editors follow; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as numpy
    import sympy as sympy


class LazyModule(ModuleType):
    """A module that is imported when one of its names is asked for; a call of it is a call of that module.

    >>> later = LazyModule("colorsys")
    >>> later.rgb_to_hsv(1, 1, 1)
    (0.0, 0.0, 1)
    """

    def __getattr__(self, name: str) -> Any:
        module = import_module(self.__name__)
        self.__dict__["__getattr__"] = partial(getattr, module)  # from now on C asks the module for it
        return getattr(module, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(import_module(self.__name__), name, value)

    def __dir__(self) -> list[str]:
        return dir(import_module(self.__name__))

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        module: Any = import_module(self.__name__)  # `cutepy.draw` is a module that can be called
        return module(*arguments, **options)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return import_module(self.__name__).__doc__


class _LazyPackage(LazyModule):
    """A package whose names never change: each of them is looked up once."""

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(import_module(self.__name__), name)
        return value


if not TYPE_CHECKING:
    numpy, sympy = _LazyPackage("numpy"), _LazyPackage("sympy")


class LazyFunction:
    """A function whose module is imported with the first call; its name, signature and documentation are that one's.

    >>> later = LazyFunction("colorsys", "rgb_to_hsv")
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
        return self.__wrapped__.__get__(instance, owner)  # what `help` takes for a function, and a class for a method

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> tuple[type[LazyFunction], tuple[str, str]]:
        return LazyFunction, (self._module, self._name)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        doc: str | None = self.__wrapped__.__doc__
        return doc


def lazy_functions(package: str, names_of: Mapping[str, str]) -> dict[str, LazyFunction]:
    """The functions of some modules of a package, each by its name.

    >>> list(lazy_functions("cutepy.layout", {"algebra.banks": "bank_conflicts transactions"}))
    ['bank_conflicts', 'transactions']
    """
    return {
        name: LazyFunction(f"{package}.{module}", name) for module, names in names_of.items() for name in names.split()
    }


def lazy_exports(package: str, names_of: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package that imports the modules of some of its names when they are asked for.

    >>> lazy_exports("cutepy.layout", {"text.explain": "Explanation"})("Explanation")
    <class 'cutepy.layout.text.explain.Explanation'>
    """
    module_of = {name: module for module, names in names_of.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return __getattr__
