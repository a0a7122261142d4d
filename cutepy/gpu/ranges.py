"""What is known of integer expressions: the interval they lie in, and their linear form.

Both are exact about wrapping: a sum whose terms could leave the type has the whole type as its range. Facts are kept
in the arena of the expressions, so each node is looked at once.
"""

from dataclasses import dataclass

from ..tensor.dtypes import DType, bool_, i32
from .ir import Binary, Builtin, Call, Cast, Const, Expr, Param, Select, Var, arena
from .ir.operators import U32_LIMIT

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Linear:
    """The sum of coefficient * atom over `terms`, plus `constant`: equal to an expression modulo 2**32."""

    terms: dict[Expr, int]
    constant: int = 0

    def interval(self) -> Interval:
        """Where the sum lies as an integer, before any wrapping."""
        lo = hi = self.constant
        for atom, c in self.terms.items():
            a, b = range_of(atom)
            lo, hi = (lo + c * a, hi + c * b) if c > 0 else (lo + c * b, hi + c * a)
        return lo, hi

    def plus(self, other: "Linear", factor: int = 1) -> "Linear":
        """This sum plus `factor` times another one."""
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            total = signed(terms.get(atom, 0) + factor * c)
            if total:
                terms[atom] = total
            else:
                terms.pop(atom, None)
        return Linear(terms, signed(self.constant + factor * other.constant))

    def times(self, factor: int) -> "Linear":
        """This sum, multiplied."""
        return Linear({}, 0).plus(self, factor)


def signed(value: int) -> int:
    """The number of least magnitude that equals `value` modulo 2**32."""
    return (value + U32_LIMIT // 2) % U32_LIMIT - U32_LIMIT // 2


def domain(dtype: DType) -> Interval:
    """The values of an integer type, or of bool as 0 and 1."""
    if dtype is bool_:
        return 0, 1
    return (-U32_LIMIT // 2, U32_LIMIT // 2 - 1) if dtype is i32 else (0, U32_LIMIT - 1)


def within(inner: Interval, outer: Interval) -> bool:
    """Whether every number of `inner` is in `outer`."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def linear(value: Expr) -> Linear:
    """`value` as a sum of multiples of atoms: whatever is not `+`, `-`, `*` or `<<` by a constant is an atom."""
    memo = arena().facts.setdefault("linear", {})
    known = memo.get(value)
    if known is None:
        known = memo[value] = _linear(value)
    assert isinstance(known, Linear)
    return known


def _linear(value: Expr) -> Linear:
    match value:
        case Const(value=number):
            return Linear({}, signed(int(number)))
        case Binary(op="+", left=left, right=right):
            return linear(left).plus(linear(right))
        case Binary(op="-", left=left, right=right):
            return linear(left).plus(linear(right), -1)
        case (
            Binary(op="*", left=left, right=Const(value=number)) | Binary(op="*", left=Const(value=number), right=left)
        ):
            return linear(left).times(int(number))
        case Binary(op="<<", left=left, right=Const(value=number)):
            return linear(left).times(1 << (int(number) & 31))
    return Linear({value: 1})


def range_of(value: Expr) -> Interval:
    """The least and the largest value that an integer or bool expression can take, as far as known."""
    match value:
        case Const(value=number):
            return int(number), int(number)
        case Var(lo=lo, hi=hi, dtype=dtype) | Builtin(lo=lo, hi=hi, dtype=dtype) | Param(lo=lo, hi=hi, dtype=dtype):
            return (lo, hi) if dtype.kind in "iu" else domain(dtype)
    memo = arena().facts.setdefault("range", {})
    known = memo.get(value)
    if known is None:
        whole = domain(value.dtype)
        found = _range(value)
        known = memo[value] = found if found is not None and within(found, whole) else whole
    assert isinstance(known, tuple)
    return known


def _range(value: Expr) -> Interval | None:
    match value:
        case Binary(op=op, left=left, right=right) if value.dtype is not bool_:
            return _range_binary(value, op, left, right)
        case Select(then=then, other=other) | Call(name="clamp", args=(_, then, other)):
            (a, b), (c, d) = range_of(then), range_of(other)
            return min(a, c), max(b, d)
        case Call(name="min", args=(left, right)):
            (a, b), (c, d) = range_of(left), range_of(right)
            return min(a, c), min(b, d)
        case Call(name="max", args=(left, right)):
            (a, b), (c, d) = range_of(left), range_of(right)
            return max(a, c), max(b, d)
        case Cast(value=inner, bits=False) if inner.dtype.kind in "iub":
            return range_of(inner)
    return None


def _range_binary(value: Expr, op: str, left: Expr, right: Expr) -> Interval | None:
    if op in ("+", "-", "<<") or (op == "*" and (isinstance(left, Const) or isinstance(right, Const))):
        form = linear(value)
        return None if value in form.terms else form.interval()
    (a, b), (c, d) = range_of(left), range_of(right)
    if a < 0 or c < 0:
        return None
    match op:
        case "*":
            return a * c, b * d
        case "//" if c > 0:
            return a // d, b // c
        case "%" if c > 0:
            return (a, b) if b < c else (0, min(b, d - 1))
        case "&":
            return 0, min(b, d)
        case "|" | "^":
            return (max(a, c) if op == "|" else 0), (1 << max(b, d).bit_length()) - 1
        case ">>" if c == d:
            return a >> (c & 31), b >> (c & 31)
        case ">>":
            return 0, b
    return None
