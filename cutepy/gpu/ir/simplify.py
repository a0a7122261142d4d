"""Integer expressions in their shortest equal form, by the ranges of what they are made of.

Sums are kept as `linear` gives them: equal terms are added up; the terms known first - ids, then outer
loops, then inner ones, the constant last - come first, so that what a loop does not change is the head of the sum.
`// c` and `% c` by a constant go where ranges or common factors prove it. `<<`, `>>` and masks of consecutive bits
become `* // %`, one spelling for all rules; what was written in bits is noted, and printed so. Only what `ranges.exact`
says is an exact sum is divided or compared; where a sum may wrap, the division stays.
"""

from collections.abc import Callable, Mapping
from math import gcd

from ...layout.affine import Affine, Congruent, within
from ...tensor.dtypes import DType, bool_
from . import Binary, Call, Const, Expr, Param, arena, binary, cast, const, rewrite, variables
from .operators import NEGATED, SWAPPED, U32_LIMIT
from .ranges import Exact, Sum, domain, exact, linear, range_of


def simplify(value: Expr) -> Expr:
    """An expression equal to `value` at every value of its variables in their ranges.

    >>> from cutepy.gpu.ir import builtin, const
    >>> tid = builtin("tid", 0, 255)
    >>> simplify((tid % 16 + tid // 16 * 16) // 256) is const(0)
    True

    Sources: the rules for index arithmetic of Halide and TVM, proved here by the property tests only.
    """
    return value if value.floats else rewrite(value, _step, arena().simple)


def replaced(value: Expr, put: Mapping[Expr, Expr], memo: dict[Expr, Expr] | None = None) -> Expr:
    """`value`, simplified, with other nodes in the place of some; `memo` is kept between calls with one table."""
    return simplify(rewrite(value, lambda node: put.get(node, node), {} if memo is None else memo))


def _step(value: Expr) -> Expr:
    """A node whose operands are simplified already."""
    if value.lanes != 1 or value.dtype.kind == "f" or not value.operands:
        return value
    match value:
        case Binary(op=op, left=left, right=right):
            if left.dtype.kind in "iu":
                return _compare(op, left, right) if value.dtype is bool_ else _integer(value, op, left, right)
        case Call(name="min" | "max", args=(left, right)) if value.dtype.kind in "iu":
            (a, b), (c, d) = range_of(left), range_of(right)
            if b <= c or d <= a:
                return left if (b <= c) == (value.name == "min") else right
    return value


def _integer(value: Expr, op: str, left: Expr, right: Expr) -> Expr:
    lo, hi = range_of(value)
    if lo == hi:
        return const(lo, value.dtype)
    if op in ("+", "-"):
        return from_linear(linear(value), value.dtype)
    if isinstance(left, Const) and op in ("*", "&", "|", "^"):
        left, right = right, left
    number = int(right.value) if isinstance(right, Const) else -1
    match op:
        case "*" if isinstance(right, Const):
            return _as_it_is(from_linear(linear(binary(op, left, right)), value.dtype))
        case "<<" if isinstance(right, Const):
            return _in_bits(from_linear(linear(binary(op, left, right)), value.dtype))
        case "//" if number >= 0:
            return _as_it_is(quotient(left, number))
        case "%" if number >= 0:
            return _as_it_is(remainder(left, number))
        case ">>" if number >= 0 and range_of(left)[0] >= 0:  # of a negative one, // would round towards 0
            return _in_bits(quotient(left, 1 << (number & 31)))
        case "&" if number > 0:
            return _mask(left, number)
        case "&" | "|" | "^":
            return _bits(op, left, right)
    return binary(op, left, right)


def from_linear(form: Sum | Exact, dtype: DType) -> Expr:
    """The sum as an expression of that type, in the one order that its terms have."""
    if not form.terms:
        return const(form.constant, dtype)
    form = _together(_rejoin(form if isinstance(form, Congruent) else form.modulo()), dtype)
    half = U32_LIMIT // 2  # modulo 2^32 it is -half
    terms = sorted(((atom, half if c == -half else c) for atom, c in form.terms.items()), key=_order)
    total: Expr = const(0, dtype)
    constant = form.constant
    if constant > 0 and terms and terms[0][1] < 0:
        total, constant = const(constant, dtype), 0
    for atom, c in terms:
        term = atom if atom.dtype is dtype else cast(atom, dtype)
        if c not in (1, -1):
            term = binary("*", term, const(abs(c), dtype))
        total = binary("+" if c > 0 else "-", total, term)
    return binary("+" if constant > 0 else "-", total, const(abs(constant), dtype)) if constant else total


def _together(form: Sum, dtype: DType) -> Sum:
    """The sum with c * f(x) + c * g(y) as c * (f(x) + g(y)), for results of functions: no rule takes these apart."""
    alike: dict[int, dict[Expr, int]] = {}
    for atom, c in form.terms.items():
        if type(atom) is Call and abs(c) > 1 and atom.dtype is dtype:
            alike.setdefault(c, {})[atom] = 1
    for c, ones in alike.items():
        if len(ones) > 1:
            rest = {atom: by for atom, by in form.terms.items() if atom not in ones}
            form = Congruent({**rest, from_linear(Congruent(ones, 0), dtype): c}, form.constant)
    return form


def _order(term: tuple[Expr, int]) -> tuple[bool, int, int, int]:
    """The sort key of a term: added before subtracted; then by the binding order of its latest variable, so that sums
    of outer variables can be hoisted; then the largest factor; then the first one met."""
    (atom, c), memo = term, arena().ranks
    if atom not in memo:
        memo[atom] = max((v.order for v in variables(atom)), default=0), len(memo)
    bound, met = memo[atom]
    return c < 0, bound, -abs(c), met


def _rejoin(form: Sum) -> Sum:
    """The sum with y // c * c + y % c written as y again, also where y is itself a quotient."""
    for atom, k in form.terms.items():
        match atom:
            case Binary(op="%", left=y, right=Const(value=c)):
                step = int(c)
                if k * step not in form.terms.values():
                    continue
                whole = quotient(y, step)
                for other, f in form.terms.items():
                    if f != k * step:
                        continue
                    rest = Congruent(
                        {a: g for a, g in form.terms.items() if a is not other and a is not atom}, form.constant
                    )
                    match other:
                        # k * (y % c) + (k * c) * (y // c) -> k * y
                        case _ if other is whole:
                            return _rejoin(rest.plus(linear(y), k))
                        # k * (y % c) + (k * c) * ((y // c) % d) -> k * (y % (c * d)) (requires d > 0)
                        case Binary(op="%", left=upper, right=Const(value=d)) if upper is whole and d > 0:
                            return _rejoin(rest.plus(linear(remainder(y, step * int(d))), k))
    return form


def _split(form: Exact, divisor: int) -> tuple[int, Exact, Exact] | None:
    """(g, Y, s) with the sum equal to g * Y + s, 0 <= s < g, g > 1 a divisor of `divisor`; the largest such g."""
    for g in sorted({gcd(c, divisor) for c in form.terms.values()} - {1}, reverse=True):
        high, low = form.split(g)
        if within(low.interval(range_of), (0, g - 1)):
            return g, high, low
    return None


def _once(function: Callable[..., Expr]) -> Callable[..., Expr]:
    """`function`, memoised in the arena: the same few sums recur in every index."""

    def memoised(*operands: object) -> Expr:
        memo, key = arena().memo, (function, *operands)
        value = memo.get(key)
        if value is None:
            value = memo[key] = function(*operands)
        return value

    return memoised


def _is_value(form: Exact, dtype: DType) -> bool:
    """Whether the sum is not negative, and within the type."""
    return within(form.interval(range_of), (0, domain(dtype)[1]))


@_once
def quotient(x: Expr, c: int) -> Expr:
    """x // c for a simple x and c >= 0; x // 0 is x."""
    lo, hi = range_of(x)
    if c <= 1:
        return x
    # All values have one quotient.
    if lo >= 0 and lo // c == hi // c:
        return const(lo // c, x.dtype)
    form = exact(x)
    if lo < 0 or form is None:
        return binary("//", x, const(c, x.dtype))
    # (c * Y + s) // c -> Y + s // c (requires 0 <= s, within the type)
    outside, inside = form.split(c)
    if (outside.terms or outside.constant) and _is_value(inside, x.dtype):
        rest = quotient(from_linear(inside, x.dtype), c)
        return from_linear(outside.modulo().plus(linear(rest)), x.dtype)
    # (g * Y + s) // c -> Y // (c // g) (requires 0 <= s < g and g divides c)
    if split := _split(form, c):
        g, high, _ = split
        return quotient(from_linear(high, x.dtype), c // g)
    match x:
        # (y // d) // c -> y // (d * c): all round towards 0
        case Binary(op="//", left=y, right=Const(value=d)):
            return quotient(y, int(d) * c)
        # (y % d) // c -> (y // c) % (d // c) (requires d % c == 0)
        case Binary(op="%", left=y, right=Const(value=d)) if int(d) % c == 0:
            return remainder(quotient(y, c), int(d) // c)
    return binary("//", x, const(c, x.dtype))


@_once
def remainder(x: Expr, c: int) -> Expr:
    """x % c for a simple x and c >= 0; x % 0 is 0."""
    lo, hi = range_of(x)
    if c <= 1:
        return const(0, x.dtype)
    form = exact(x)
    if lo >= 0 and lo // c == hi // c:
        return from_linear(linear(x).plus(Congruent({}, lo // c * c), -1), x.dtype)
    if lo < 0 or form is None:
        return binary("%", x, const(c, x.dtype))
    _, inside = form.split(c)
    if not _is_value(inside, x.dtype):
        inside = Affine({a: f % c for a, f in inside.terms.items()}, inside.constant)
    if (inside.terms != form.terms or inside.constant != form.constant) and _is_value(inside, x.dtype):
        return remainder(from_linear(inside, x.dtype), c)
    if split := _split(form, c):
        g, high, low = split
        upper = remainder(from_linear(high, x.dtype), c // g)
        return from_linear(low.modulo().plus(linear(upper), g), x.dtype)
    match x:
        case Binary(op="%", left=y, right=Const(value=d)) if int(d) % c == 0:
            return remainder(y, c)
    return binary("%", x, const(c, x.dtype))


def _in_bits(value: Expr) -> Expr:
    """`value`, whose factors, quotients and remainders are printed as shifts and masks, if nobody writes them else."""
    if isinstance(value, Binary) and value.op in ("//", "%", "*"):
        arena().as_bits.setdefault(value, True)
    if isinstance(value, Binary) and value.op in ("+", "-", "*"):
        _in_bits(value.left)
        _in_bits(value.right)
    return value


def _as_it_is(value: Expr) -> Expr:
    """`value`, printed as it is."""
    arena().as_bits[value] = False
    return value


def _mask(x: Expr, mask: int) -> Expr:
    """x & mask; for consecutive bits as quotient and remainder."""
    low = mask & -mask
    if range_of(x)[0] >= 0 and (mask + low) & mask == 0:
        bits = _in_bits(remainder(_in_bits(quotient(x, low)), (mask + low) // low))
        return bits if low == 1 else _in_bits(from_linear(linear(bits).times(low), x.dtype))
    return _bits("&", x, const(mask, x.dtype))


@_once
def _bits(op: str, left: Expr, right: Expr) -> Expr:
    """Bitwise `op`, with the low bits that one operand lacks taken out: the high ones often cancel or divide."""
    if left is right:
        return const(0, left.dtype) if op == "^" else left
    if left is (zero := const(0, left.dtype)) or right is zero:
        return binary(op, left, right)
    for x, y in ((left, right), (right, left)):
        form, other = exact(x), exact(y)
        if form is None or other is None or range_of(x)[0] < 0 or range_of(y)[0] < 0:
            continue
        bound = 1 << range_of(y)[1].bit_length()
        above, below = form.split(bound)
        # Bits of x above those of y: & clears them, | and ^ keep them.
        if (above.terms or above.constant) and _is_value(below, x.dtype):
            reached = linear(_bits(op, from_linear(below, x.dtype), y))
            return from_linear(reached if op == "&" else reached.plus(above.modulo(), bound), x.dtype)
        # Both are multiples of g but for the low part of x, which y's zeros leave alone: divide, operate, multiply.
        step = gcd(*other.terms.values(), other.constant)
        g = step & -step
        if g < 2:
            continue
        split = _split(form, g)
        if split is None and not form.terms and form.constant:
            split = g, *form.split(g)
        if split is None:
            continue
        g, high, low = split
        upper = _bits(op, from_linear(high, x.dtype), from_linear(other.split(g)[0], x.dtype))
        joined = linear(upper).times(g)
        return from_linear(joined if op == "&" else joined.plus(low.modulo()), x.dtype)
    return binary(op, left, right)


def _compare(op: str, left: Expr, right: Expr) -> Expr:
    """A comparison of integers, decided by ranges or divided by a common factor."""
    if isinstance(left, Const):
        left, right, op = right, left, SWAPPED[op]
    if isinstance(right, Const):
        return _compare_constant(op, left, int(right.value))
    form, other = exact(left), exact(right)
    if form is None or other is None:
        return binary(op, left, right)
    apart = form.plus(other, -1)
    decided = _decide(op, apart.interval(range_of))
    if decided is not None:
        return decided
    if op in ("<", ">") and left.dtype.kind == "u" and any(isinstance(atom, Param) for atom in apart.terms):
        shorter = _compare_in_units(left.dtype, apart if op == "<" else apart.negative())
        return binary(op, left, right) if shorter is None else shorter
    return binary(op, left, right)


def _compare_in_units(dtype: DType, apart: Exact) -> Expr | None:
    """`apart < 0` where its atoms have a common factor: g * Y + c < 0 where Y + c // g < 0. So the lanes of a vector
    have one condition where its width divides a size that is a parameter."""
    g = gcd(*apart.terms.values())
    if g < 2:
        return None
    constant = apart.constant // g
    below = Affine({atom: c // g for atom, c in apart.terms.items() if c > 0}, max(constant, 0))
    above = Affine({atom: -c // g for atom, c in apart.terms.items() if c < 0}, max(-constant, 0))
    if not all(_is_value(side, dtype) for side in (below, above)):
        return None
    return binary("<", from_linear(below, dtype), from_linear(above, dtype))


def _compare_constant(op: str, left: Expr, number: int) -> Expr:
    lo, hi = range_of(left)
    decided = _decide(op, (lo - number, hi - number))
    if decided is not None:
        return decided
    if op in ("<=", ">"):
        op, number = ("<", number + 1) if op == "<=" else (">=", number + 1)
    form = exact(left)
    if op in ("==", "!=") and form is not None and (number - form.constant) % (gcd(*form.terms.values()) or 1):
        return const(op == "!=", bool_)  # all that the sum may be is as far from its constant as its factors divide
    if op in ("<", ">=") and number > 0 and lo >= 0 and form is not None:
        split = _split(form, number) or _split(form, gcd(*form.terms.values()))
        if split is not None:
            g, high, low = split
            if number % g == 0:
                return _compare_constant(op, from_linear(high, left.dtype), number // g)
            if not low.terms:
                return _compare_constant(op, from_linear(high, left.dtype), -((low.constant - number) // g))
    return binary(op, left, const(number, left.dtype))


def _decide(op: str, difference: tuple[int, int]) -> Expr | None:
    """`left op right` if the interval of left - right settles it."""
    lo, hi = difference
    # The intervals of left - right for which the comparison always holds; never where its opposite always does.
    always = {"<": hi < 0, "<=": hi <= 0, ">": lo > 0, ">=": lo >= 0, "==": lo == hi == 0, "!=": lo > 0 or hi < 0}
    return const(always[op], bool_) if always[op] or always[NEGATED[op]] else None
