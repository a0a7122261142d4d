"""What is known of integer expressions: the sum that each is, and the interval it lies in.

`linear` gives the sum that an expression equals modulo 2**32, `exact` the one that it is as an integer. Facts are kept
in the arena of the expressions, so each node is looked at once.
"""

from ..layout.affine import Affine, Congruent, Interval, copy_of
from ..tensor.dtypes import DType, bool_, i32
from .ir import Binary, Builtin, Call, Cast, Const, Expr, Param, Select, Unary, Var, keep
from .ir.operators import U32_LIMIT

Sum = Congruent[Expr, int]
Exact = Affine[Expr, int]


def domain(dtype: DType) -> Interval:
    """The values of an integer type, or of bool as 0 and 1."""
    if dtype is bool_:
        return 0, 1
    return (-U32_LIMIT // 2, U32_LIMIT // 2 - 1) if dtype is i32 else (0, U32_LIMIT - 1)


def linear(value: Expr) -> Sum:
    """`value` as a sum of multiples of atoms: whatever is not `+`, `-`, `*` or `<<` by a constant is an atom."""
    try:
        return value.known_sum
    except AttributeError:
        found = _linear(value)
        keep(value, "known_sum", found)
        return found


def _linear(value: Expr) -> Sum:
    match value:
        case Const(value=number):
            return Affine({}, int(number)).modulo()
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
    return Congruent({value: 1}, 0)


def exact(value: Expr) -> Exact | None:
    """The sum that `value` is as an integer; None where that may wrap."""
    try:
        return value.known_exact
    except AttributeError:
        found = linear(value).exact(domain(value.dtype), range_of)
        keep(value, "known_exact", found)
        return found


def range_of(value: Expr) -> Interval:
    """The least and the largest value that an integer or bool expression can take, as far as known."""
    try:
        return value.known_range
    except AttributeError:
        found, whole = _range(value), domain(value.dtype)
        by = None if found is None else copy_of(found, whole)
        known = whole if found is None or by is None else (found[0] + by, found[1] + by)
        keep(value, "known_range", known)
        return known


def _range(value: Expr) -> Interval | None:
    """Where the numbers lie that `value` is congruent to; in its type they are what they become there, if they stay
    neighbours."""
    match value:
        case Const(value=number):
            return int(number), int(number)
        case Var(lo=lo, hi=hi, dtype=dtype) | Builtin(lo=lo, hi=hi, dtype=dtype) | Param(lo=lo, hi=hi, dtype=dtype):
            return (lo, hi) if dtype.kind in "iu" else None
        case Binary(op=op, left=left, right=right) if value.dtype is not bool_:
            return _range_binary(value, op, left, right)
        case Unary(op="-" | "~", value=inner) if inner.dtype.kind in "iu":
            a, b = range_of(inner)
            return (-b, -a) if value.op == "-" else (~b, ~a)
        case Select(then=then, other=other) | Call(name="clamp", args=(_, then, other)):
            (a, b), (c, d) = range_of(then), range_of(other)
            return min(a, c), max(b, d)
        case Call(name="min", args=(left, right)):
            (a, b), (c, d) = range_of(left), range_of(right)
            return min(a, c), min(b, d)
        case Call(name="max", args=(left, right)):
            (a, b), (c, d) = range_of(left), range_of(right)
            return max(a, c), max(b, d)
        case Cast(value=inner) if inner.dtype.kind in "iub" and value.dtype.kind in "iu":
            return range_of(inner)
    return None


def _range_binary(value: Expr, op: str, left: Expr, right: Expr) -> Interval | None:
    if op in ("+", "-", "<<") or (op == "*" and (isinstance(left, Const) or isinstance(right, Const))):
        form = linear(value)
        return None if value in form.terms else Affine(form.terms, form.constant).interval(range_of)
    (a, b), (c, d) = range_of(left), range_of(right)
    match op:
        case "*":
            corners = a * c, a * d, b * c, b * d
            return min(corners), max(corners)
        case ">>":
            return (a >> (c & 31), b >> (c & 31)) if c == d else (min(a, 0), max(b, 0))
        case "&" if min(a, c) >= 0:
            return 0, min(b, d)
        case "&" if max(a, c) >= 0:
            return 0, d if c >= 0 else b
        case "|" | "^" if min(a, c) >= 0:
            return (max(a, c) if op == "|" else 0), (1 << max(b, d).bit_length()) - 1
        case "//" if c > 0:
            return (a // d if a >= 0 else -(-a // c)), (b // c if b >= 0 else -(-b // d))
        case "%" if c > 0:
            return (a, b) if 0 <= a and b < c else (max(min(a, 0), 1 - d), min(max(b, 0), d - 1))
        case "//" if min(a, c) == 0:  # x // 0 is x
            return 0, b
        case "%" if min(a, c) >= 0:
            return 0, min(b, max(d - 1, 0))
    return None
