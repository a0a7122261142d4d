"""Numbers of a call that are followed: what Python computes of them is kept as formulas, and what it asks of them as
conditions.

Law: code that runs on followed numbers gives, for any other numbers of which the same conditions hold, what its
formulas give for those. A followed number acts as an `int` with its value; what is no arithmetic of integers (an index,
a text) takes the value, and that it is this one is a condition then. It is no subclass of `int`, so that C code asks
too. It is no key: a cache would keep what was computed of it for calls that are not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from operator import add, floordiv, mod, mul
from typing import Any, TypeVar

Result = TypeVar("Result")
Term = int | str | tuple[Any, ...]
"""A formula, as `gpu/runtime/formulas.py` has them: a number, the name of a number of the call, or an operation."""

_RUNNING: ContextVar[Trail | None] = ContextVar("trail", default=None)


class Unfollowed(Exception):
    """What is done with followed numbers leads beyond the call: they are kept as a key, say."""


class Trail:
    """What is asked of followed numbers while code runs: `conditions` that hold, in their order, each once. A condition
    ("chosen", name, numbers ...) is one of `choices`, which tells whether other numbers give what these gave."""

    def __init__(self) -> None:
        self.conditions: dict[Term, None] = {}
        self.choices: dict[str, Callable[..., bool]] = {}

    def number(self, name: str, value: int) -> Any:
        """A number of the call, which stands for an `int`."""
        return FollowedNumber(self, value, name)

    def holds(self, condition: Term, truth: bool) -> bool:
        """Note that a condition has this truth, which is given back."""
        self.conditions[condition if truth else ("not", condition)] = None
        return truth


def trail() -> Trail | None:
    """The trail of the call that is followed in this thread, if one is."""
    return _RUNNING.get()


@contextmanager
def following(running: Trail) -> Iterator[None]:
    """A block that runs on followed numbers."""
    token = _RUNNING.set(running)
    try:
        yield
    finally:
        _RUNNING.reset(token)


def choice(function: Callable[..., Result], *numbers: int) -> Result:
    """`function(*numbers)`, a choice of few by what is no arithmetic of integers, such as a model of times.

    Of followed numbers it is computed by their values, and that others give an equal result is a condition. Conditions
    of equal functions share what was chosen last, until `forget_choices`.

    >>> choice(lambda n: "even" if n & 1 == 0 else "odd", 4)
    'even'
    """
    running = _RUNNING.get()
    if running is None:
        return function(*numbers)
    found, name = function(*map(value_at, numbers)), f"choice{len(running.choices)}"
    last = _last_choice(function)

    def holds(*others: int) -> bool:
        chosen = last.get(others, last)
        if chosen is last:  # nothing is kept for these
            chosen = function(*others)
            last.clear()
            last[others] = chosen
        return bool(chosen == found)

    running.choices[name] = holds
    running.holds(("chosen", name, *map(formula_of, numbers)), True)
    return found


@lru_cache(maxsize=256)
def _last_choice(function: Callable[..., Any]) -> dict[tuple[int, ...], Any]:
    """What a function chose last, of which numbers. Few functions are kept: each may hold a device."""
    return {}


def forget_choices() -> None:
    """What functions choose may be another thing now."""
    _last_choice.cache_clear()


def value_at(number: Any) -> Any:
    """The value of a followed number, without a condition; anything else as it is."""
    return number.value if type(number) is FollowedNumber else number


def formula_of(number: Any) -> Term:
    """The formula of a number, followed or not; of a NumPy scalar, that of its number."""
    if type(number) is FollowedNumber:
        return number.formula
    value = number.item() if hasattr(number, "item") else number
    return ("float", repr(value)) if type(value) is float else value


def _arithmetic(op: str, apply: Callable[[int, int], int], neutral: int | None) -> tuple[Any, Any]:
    """An operation and its reflection. Where one operand is the neutral number it is the other one."""

    def made(trail: Trail, left: Any, right: Any) -> Any:
        value = apply(value_at(left), value_at(right))
        one, two = formula_of(left), formula_of(right)
        if type(two) is int and two == neutral:
            return left
        if type(one) is int and one == neutral and op in "+*":
            return right
        if op == "*" and type(value) is int and 0 in (one, two):
            return 0
        if op in ("//", "%"):
            if two == 1 and type(value) is int:
                return left if op == "//" else 0
            if type(two) is not int:
                trail.holds(("==", two, 0), False)
        return FollowedNumber(trail, value, (op, one, two))

    def forward(self: FollowedNumber, other: Any) -> Any:
        return made(self.trail, self, other) if _number(other) else NotImplemented

    def reflected(self: FollowedNumber, other: Any) -> Any:
        return made(self.trail, other, self) if _number(other) else NotImplemented

    return forward, reflected


def _comparison(op: str, swapped: bool, truth: bool) -> Any:
    """A comparison: of the operands as they stand or `swapped`, that its condition has this truth."""

    def compared(self: FollowedNumber, other: Any) -> Any:
        if not _number(other):
            return NotImplemented
        one, two = (other, self) if swapped else (self, other)
        left, right = value_at(one), value_at(two)
        holds = left == right if op == "==" else left <= right
        formulas = formula_of(one), formula_of(two)
        if formulas[0] != formulas[1]:
            self.trail.holds((op, *formulas), holds)
        return holds is truth

    return compared


def _number(other: object) -> bool:
    return type(other) in (int, FollowedNumber, float, bool)


class FollowedNumber:
    """A number of a call, or what was computed of some, also by floats: its value in this call, and the formula."""

    __slots__ = ("formula", "trail", "value")

    def __init__(self, trail: Trail, value: float, formula: Term) -> None:
        self.trail, self.value, self.formula = trail, value, formula

    @property  # type: ignore[misc]  # `isinstance(number, int)` asks for it
    def __class__(self) -> type:
        return type(self.value)

    __add__, __radd__ = _arithmetic("+", add, 0)
    __mul__, __rmul__ = _arithmetic("*", mul, 1)
    __floordiv__, __rfloordiv__ = _arithmetic("//", floordiv, None)
    __mod__, __rmod__ = _arithmetic("%", mod, None)
    __eq__ = _comparison("==", False, True)
    __ne__ = _comparison("==", False, False)
    __le__ = _comparison("<=", False, True)
    __gt__ = _comparison("<=", False, False)
    __ge__ = _comparison("<=", True, True)
    __lt__ = _comparison("<=", True, False)

    def __sub__(self, other: Any) -> Any:
        return self + -other if _number(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other if _number(other) else NotImplemented

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __abs__(self) -> Any:
        return FollowedNumber(self.trail, abs(self.value), ("abs", self.formula))

    def __bool__(self) -> bool:
        return bool(self != 0)

    def known(self) -> Any:
        """The value: that it is this one is a condition from now on."""
        self.trail.holds(("==", self.formula, formula_of(self.value)), True)
        return self.value

    __int__ = __index__ = known

    def __hash__(self) -> int:
        raise Unfollowed

    def __getattr__(self, name: str) -> Any:
        if not hasattr(int, name):
            raise AttributeError(f"'int' object has no attribute {name!r}", name=name, obj=self)
        return getattr(self.known(), name)

    def __repr__(self) -> str:
        return repr(self.known())

    def __format__(self, spec: str) -> str:
        return format(self.known(), spec)


def _by_value(name: str) -> Any:
    """A method of `int` that takes the values of its operands."""

    def method(self: FollowedNumber, *others: Any) -> Any:
        return getattr(self.known(), name)(
            *[other.known() if type(other) is FollowedNumber else other for other in others]
        )

    return method


for _name in ("truediv", "rtruediv", "pow", "rpow", "lshift", "rlshift", "rshift", "rrshift", "and", "rand"):
    setattr(FollowedNumber, f"__{_name}__", _by_value(f"__{_name}__"))
for _name in ("or", "ror", "xor", "rxor", "invert", "float", "round", "trunc", "ceil", "floor"):
    setattr(FollowedNumber, f"__{_name}__", _by_value(f"__{_name}__"))
