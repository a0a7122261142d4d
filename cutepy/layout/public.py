"""The public functions of the room: an operand that a function does not take is refused in words.

Law: a public function gives its result or raises a CutepyError that names the call, the operand and what to write; a
comparison of unknown sizes is decided by the prover or refused with the fact that would decide it.
Inside the package the functions themselves are called, which check nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

from ..errors import BARE, CutepyError, OperandError, shown
from .values.coordinates import Underscore
from .values.int_tuple import MAX_DEPTH, Shaped
from .values.size import is_unknown

Given = ParamSpec("Given")
Result = TypeVar("Result")
Test = Callable[[object], bool]

MOST_CHECKED = 100
"""Further operands, as the modes of `size(L, 0, 1)`, that are tested one by one."""

DECIDING = {"ceil_div", "compatible", "evenly_divides", "round_up", "shape_div"}
"""The functions of tuples that compare sizes, which the prover decides where they are unknown."""


def guarded(function: Callable[Given, Result], *, decides: bool = False) -> Callable[Given, Result]:
    """`function` for callers from outside: refuses what its annotations do not name, and never ends in a bare error.

    A function that `decides` compares sizes: with unknown ones it runs on the prover's.

    >>> from cutepy.layout import product
    >>> product((4, "8"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    cutepy.errors.OperandError: product((4, '8')): tree is (4, '8'); it is an integer, or a tuple of them...
    """
    act: Callable[..., Any] = function

    @wraps(function)
    def call(*operands: Given.args, **named: Given.kwargs) -> Result:
        try:
            # Imported here: symbolic.lift imports the operations, which import this module.
            if decides and not named and any(map(is_unknown, operands)):
                from .symbolic.lift import lifted

                result: Result = lifted(act, *operands)  # type: ignore[assignment]
            else:
                result = function(*operands, **named)
        except CutepyError:
            raise
        except BARE as error:
            raise refusal(function, operands, named, error) from error
        # A function says best itself what it refuses; this finds what it computed with, and should not have.
        # Checked after the call: a good call pays one test per operand, and the function's own error is better.
        for fits, operand in zip(_tests(function), operands, strict=False):
            if fits is not None and not fits(operand):
                raise refusal(function, operands, named, None)
        return result

    return call


@lru_cache(maxsize=256)
def _tests(function: Callable[..., object]) -> tuple[Test | None, ...]:
    """A test for each positional operand; of further operands, for as many as a call may have."""
    tests: list[Test | None] = []
    for parameter in signature(function).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            tests.append(_kind_of(parameter))
        elif parameter.kind is parameter.VAR_POSITIONAL:
            tests += [_kind_of(parameter)] * MOST_CHECKED
    return tuple(tests)


def refusal(
    function: Callable[..., object], operands: tuple[object, ...], named: dict[str, Any], error: Exception | None
) -> OperandError:
    """The error of a call that ended in `error`: names the operand of another kind than the function's annotation says.

    >>> print(refusal(len, (3,), {}, TypeError("object of type 'int' has no len()")))
    len(3): these operands do not go together: object of type 'int' has no len(); see help(len)
    """
    name = function.__name__
    said = [shown(operand) for operand in operands] + [f"{key}={shown(value)}" for key, value in named.items()]
    call = f"{name}({', '.join(said)})"
    try:
        bound = signature(function).bind(*operands, **named)
    except TypeError as wrong:
        names = ", ".join(str(p).partition(":")[0].partition("=")[0] for p in signature(function).parameters.values())
        return OperandError(f"{call}: {wrong}; write {name}({names})")
    for parameter, value in bound.arguments.items():
        annotated = signature(function).parameters[parameter]
        fits = _kind_of(annotated)
        for one in value if annotated.kind is Parameter.VAR_POSITIONAL else (value,):
            if fits is not None and not fits(one):
                words = " or ".join(dict.fromkeys(KINDS[kind][1] for kind in _kinds(annotated) if kind in KINDS))
                return OperandError(f"{call}: {parameter} is {shown(one)}; it is {words}")
    return OperandError(f"{call}: these operands do not go together: {error}; see help({name})")


NO_NUMBER = (str, bytes, float, complex, list, dict, set, frozenset, range, type, Underscore, type(None))


def _is_number(leaf: object) -> bool:
    """Whole numbers, and what computes as they do: arrays of NumPy, SymPy's and a kernel's expressions."""
    return type(leaf) is int or (not isinstance(leaf, NO_NUMBER) and hasattr(leaf, "__floordiv__"))


def nested(is_leaf: Test) -> Test:
    """The test of a tuple nested at most MAX_DEPTH deep, every leaf of which passes `is_leaf`."""

    def fits(tree: object) -> bool:
        """True if every leaf down to MAX_DEPTH levels passes `is_leaf`."""
        # Level by level instead of recursively: the depth is bounded by MAX_DEPTH, also for hostile input.
        level: list[Any] = [tree]
        for _depth in range(MAX_DEPTH + 1):
            if not all(is_leaf(entry) for entry in level if type(entry) is not tuple):
                return False
            level = [inner for entry in level if type(entry) is tuple for inner in entry]
            if not level:
                return True
        return False

    return fits


_is_int_tuple = nested(_is_number)
_is_coordinate = nested(lambda leaf: leaf is None or isinstance(leaf, Underscore) or _is_number(leaf))
_has_shape = nested(lambda leaf: hasattr(leaf, "shape") or _is_number(leaf))


def _is_layout(thing: object) -> bool:
    return isinstance(thing, Shaped)


KINDS: dict[str, tuple[Test, str]] = {
    "IntTuple": (_is_int_tuple, f"an integer, or a tuple of them, up to {MAX_DEPTH} deep"),
    "HasShape": (_has_shape, "a layout, a shape, or a tuple of these"),
    "Coordinate": (_is_coordinate, "a coordinate: a whole number, `_`, or a nested tuple of them"),
    "Layout": (_is_layout, "a layout; write Layout(shape, stride)"),
    "AnyLayout": (_is_layout, "a layout; write Layout(shape, stride)"),
    "Shaped": (_is_layout, "a layout; write Layout(shape, stride)"),
    "int": (_is_number, "a whole number"),
    "str": (lambda thing: isinstance(thing, str), "a text"),
    "bool": (lambda thing: isinstance(thing, bool), "True or False"),
    "None": (lambda thing: thing is None, "None"),
}
"""What an annotation of a public function takes, and how a message says it."""


def _kinds(parameter: Parameter) -> list[str]:
    return [kind.strip() for kind in str(parameter.annotation).split("|")]


def _kind_of(parameter: Parameter) -> Test | None:
    """The test of an annotation; None for one that says nothing here, such as `object`."""
    tests = [KINDS[kind][0] for kind in _kinds(parameter) if kind in KINDS]
    if len(tests) != len(_kinds(parameter)):
        return None
    return tests[0] if len(tests) == 1 else lambda thing: any(test(thing) for test in tests)
