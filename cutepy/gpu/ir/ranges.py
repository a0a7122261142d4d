"""Analyses of expressions: an integer as a sum of terms, the interval it lies in, its values for many invocations.

`linear` gives the sum that an expression equals modulo 2**32, `exact` the one that it is as an integer. Facts are kept
in the arena of the expressions, so each node is looked at once. `Points` has values as far as the text of a kernel
tells them: a load from a binding that the kernel never writes may be given made-up data, the same at every visit;
anything else that memory decides raises `Unknown`. So does all arithmetic of floats: a device rounds as it likes, and
what it compares then is for it to say.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from ...layout.affine import Affine, Congruent, Interval, copy_of, signed
from ...tensor.dtypes import DType, bool_, i32
from . import (
    Binary,
    Buffer,
    Builtin,
    Call,
    Cast,
    Component,
    Const,
    Expr,
    Load,
    Param,
    Select,
    Unary,
    Var,
    Vector,
    is_pure,
    keep,
    meaning,
    nodes,
)
from .expr import MOST_DEPTH
from .laws import Array as Array
from .operators import U32_LIMIT

Sum = Congruent[Expr, int]
Exact = Affine[Expr, int]


def domain(dtype: DType) -> Interval:
    """The values of an integer type, or of bool as 0 and 1."""
    if dtype is bool_:
        return 0, 1
    return (-U32_LIMIT // 2, U32_LIMIT // 2 - 1) if dtype is i32 else (0, U32_LIMIT - 1)


def linear(value: Expr) -> Sum:
    """`value` as a sum of multiples of atoms: whatever is not `+`, `-`, `*` or `<<` by a constant is an atom."""
    form: Sum | None = getattr(value, "known_sum", None)
    if form is None:
        form = _linear(value)
        keep(value, "known_sum", form)
    return form


def _linear(value: Expr) -> Sum:
    if isinstance(value, Const):
        return Congruent({}, signed(int(value.value)))
    if isinstance(value, Binary):
        op, left, right = value.op, value.left, value.right
        if op in ("+", "-"):
            return linear(left).plus(linear(right), 1 if op == "+" else -1)
        # c * x -> x * c; x << k -> x * 2^k
        if op == "*" and isinstance(left, Const):
            left, right = right, left
        if op in ("*", "<<") and isinstance(right, Const):
            return linear(left).times(int(right.value) if op == "*" else 1 << (int(right.value) & 31))
    return Congruent({value: 1}, 0)


def exact(value: Expr) -> Exact | None:
    """The sum that `value` is as an integer; None where that may wrap."""
    try:
        return value.known_exact
    except AttributeError:
        form = linear(value).exact(domain(value.dtype), range_of)
        keep(value, "known_exact", form)
        return form


Expr._may_wrap = staticmethod(lambda value: exact(value) is None)


def range_of(value: Expr) -> Interval:
    """The least and the largest value that an integer or bool expression can take, as far as known."""
    kept: Interval | None = getattr(value, "known_range", None)
    if kept is None:
        unwrapped, whole = _range(value), domain(value.dtype)
        by = None if unwrapped is None else copy_of(unwrapped, whole)
        kept = whole if unwrapped is None or by is None else (unwrapped[0] + by, unwrapped[1] + by)
        keep(value, "known_range", kept)
    return kept


def _range(value: Expr) -> Interval | None:
    """Where the numbers lie that `value` is congruent to; in its type they are what they become there, if they stay
    neighbours."""
    if isinstance(value, Binary):
        return None if value.dtype is bool_ else _range_binary(value, value.op, value.left, value.right)
    match value:
        case Const(value=number):
            return int(number), int(number)
        case Var(lo=lo, hi=hi, dtype=dtype) | Builtin(lo=lo, hi=hi, dtype=dtype) | Param(lo=lo, hi=hi, dtype=dtype):
            return (lo, hi) if dtype.kind in "iu" else None
        case Unary(op="-" | "~", value=inner) if inner.dtype.kind in "iu":
            a, b = range_of(inner)
            return (-b, -a) if value.op == "-" else (~b, ~a)
        case Select(
            condition=Binary(op="<", left=x, right=Const(value=0)),
            then=Binary(op="+", left=y, right=Const(value=by)),
            other=z,
        ) if x is y is z:  # a remainder that is rounded down
            a, b = range_of(x)
            return min(max(a, 0), a + int(by)), max(b, min(b, -1) + int(by))
        case Select(then=then, other=other) | Call(name="clamp", args=(_, then, other)):
            (a, b), (c, d) = range_of(then), range_of(other)
            return min(a, c), max(b, d)
        case Call(name="min", args=(left, right)):
            (a, b), (c, d) = range_of(left), range_of(right)
            return min(a, c), min(b, d)
        case Call(name="max", args=(left, right)):
            (a, b), (c, d) = range_of(left), range_of(right)
            return max(a, c), max(b, d)
        case Call(name="abs", args=(inner,)):
            a, b = range_of(inner)
            return max(a, -b, 0), max(-a, b)
        case Call(name="count_ones" | "leading_zeros" | "trailing_zeros"):
            return 0, 32
        case Load(buffer=Buffer(values=values)) if values and value.dtype.kind in "iu":
            return int(min(values)), int(max(values))
        case Component(value=Call(name="unpack4xU8" | "unpack4xI8" as name)):
            return (0, 255) if name == "unpack4xU8" else (-128, 127)
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
        # x & y <= min(x, y) of the operands that are not negative
        case "&" if max(a, c) >= 0:
            return 0, d if c >= 0 else b
        # Neither sets a bit above the highest of both.
        case "|" | "^" if min(a, c) >= 0:
            return (max(a, c) if op == "|" else 0), (1 << max(b, d).bit_length()) - 1
        # Division truncates, so the ends divide by the divisor that keeps them farthest out.
        case "//" if c > 0:
            return (a // d if a >= 0 else -(-a // c)), (b // c if b >= 0 else -(-b // d))
        # x % y -> x (0 <= x < least divisor); else the sign of x and |x % y| < |y|
        case "%" if c > 0:
            return (a, b) if 0 <= a and b < c else (max(min(a, 0), 1 - d), min(max(b, 0), d - 1))
        case "//" if min(a, c) == 0:  # x // 0 is x
            return 0, b
        # x % 0 is 0: a divisor of 0 acts as 1.
        case "%" if min(a, c) >= 0:
            return 0, min(b, max(d - 1, 0))
    return None


Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
MadeUp = frozenset[Buffer] | None


class Unknown(Exception):
    """A value that only the memory of a running kernel decides."""


def is_opaque(value: Expr) -> bool:
    """Whether only a running kernel tells what `value` is, whatever its operands are."""
    if isinstance(value, Const):
        return False
    vectors = isinstance(value, Vector | Component)
    floats = value.dtype.kind == "f" or (isinstance(value, Cast) and value.value.dtype.kind == "f")
    return vectors or floats or not is_pure(value)


class Points:
    """Many invocations at once: their `ids` and iterations, as arrays that broadcast, and what follows from these.

    Where `made_up` is given, the elements of these bindings, which are never written, and the parameters have made-up
    values."""

    def __init__(self, ids: Mapping[Expr, Array], made_up: MadeUp = None) -> None:
        self.ids, self.made_up = ids, made_up
        self.shape = np.broadcast_shapes(*[values.shape for values in ids.values()])
        self._memo = dict(ids)

    def of(self, value: Expr) -> Array:
        """The values of an expression there. Raises Unknown for one that depends on memory without made-up contents."""
        values = self._memo.get(value)
        if values is None:
            if value.depth > MOST_DEPTH:  # lanes of memory are looked at one by one
                for node in nodes(*value.operands, skip=self._memo):
                    if node.lanes == 1:
                        self.of(node)
            values = self._memo[value] = self._compute(value)
        return values

    def whole(self, value: Expr) -> Integers:
        """An integer or a bool there, as integers."""
        values: Integers = self.of(value).astype(np.int64)
        return values

    def total(self, terms: Mapping[Expr, int]) -> Integers:
        """A sum of multiples of atoms, as integers."""
        total: Integers = np.zeros((), np.int64)
        for atom, c in terms.items():
            total = total + c * self.whole(atom)
        return total

    def where(self, guards: Iterable[Expr]) -> Mask:
        """Where all `guards` hold."""
        active: Mask = np.ones(self.shape, bool)
        for guard in guards:
            active = active & self.of(guard).astype(bool)
        return active

    def _compute(self, value: Expr) -> Array:
        match value:
            case Const(value=number, dtype=dtype):
                return np.asarray(number, dtype.numpy)
            case Component(value=Load(where=None) as load, lane=int(lane)) if self.made_up is not None:
                return _contents(load, self.of(load.index), lane, self.made_up)
            case Load(lanes=1, where=None) if self.made_up is not None and not is_pure(value):
                return _contents(value, self.of(value.index), 0, self.made_up)
            case Param(dtype=dtype) if self.made_up is not None:
                return np.asarray(1 if dtype.kind == "f" else min(max(value.lo, 64), value.hi), dtype.numpy)
        compute = None if is_opaque(value) else meaning(value)
        if compute is None:
            raise Unknown
        with np.errstate(all="ignore"):
            return compute(*map(self.of, value.operands))


def _contents(load: Load, index: Array, lane: int, made_up: frozenset[Buffer]) -> Array:
    """Made-up elements of a binding: numbers below 64, halves of them in floating-point types."""
    buffer = load.buffer
    if buffer not in made_up:
        raise Unknown
    at = index.astype(np.uint64) * np.uint64(buffer.width) + np.uint64(lane)
    with np.errstate(over="ignore"):
        mixed = (at + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    number = (mixed ^ (mixed >> np.uint64(29))) >> np.uint64(33) & np.uint64(63)
    if load.dtype.kind == "f":
        return ((number.astype(np.float64) - 32) / 2).astype(load.dtype.numpy)
    return (number % np.uint64(2) if load.dtype.kind == "b" else number).astype(load.dtype.numpy)
