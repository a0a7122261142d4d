"""Random integer expressions by seed, u32 and i32 with their extremes, and their value by Python's own integers."""

import random
from collections.abc import Iterator, Mapping

from cutepy.gpu.ir import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Select,
    Unary,
    Var,
    binary,
    call,
    cast,
    const,
    new_arena,
    select,
    unary,
    var,
)
from cutepy.gpu.ir.operators import FOLD, wrapped
from cutepy.gpu.ir.ranges import range_of
from cutepy.gpu.ir.simplify import simplify
from cutepy.tensor.dtypes import DType, i32, u32

#: Small intervals; intervals at the ends of a type, and wide ones.
NEAR = [(0, 0), (0, 1), (0, 3), (2, 5), (0, 6), (0, 7), (1, 8), (8, 16), (0, 12), (0, 63), (5, 256)]
FAR = {
    u32: [(0, 2**16 - 1), (0, 2**31), (2**31 - 3, 2**31 + 4), (2**32 - 5, 2**32 - 1), (0, 2**32 - 1), (3, 2**30)],
    i32: [(-1, 0), (-7, 9), (-64, -3), (-(2**31), -(2**31) + 4), (2**31 - 5, 2**31 - 1), (-(2**31), 2**31 - 1)],
}
NUMBERS = [*range(18), 24, 32, 48, 64, 256, 65536]
LARGE = {
    u32: [2**16 - 1, 2**30, 2**31 - 2, 2**31 - 1, 2**31, 2**31 + 2, 0x90000000, 2**32 - 2, 2**32 - 1],
    i32: [-1, -2, -8, -64, -(2**30), -(2**31), 1 - 2**31, 2**30, 2**31 - 1],
}
SCALES = [1, 2, 3, 4, 6, 8, 12, 16, 32]
MASKS = [1, 3, 7, 10, 0x14, 0x38, 0x55, 0xF0, 0xFF, 0x10001, 0x80000000, 0xFFFFFFF0]
COMPARE = ["<", "<=", ">", ">=", "==", "!="]
_PYTHON = {"min": min, "max": max, "clamp": lambda x, low, high: min(max(x, low), high)}


def evaluate(value: Expr, env: Mapping[Expr, int]) -> int:
    """The value of a scalar integer or bool expression, straight from the meaning of its operators."""
    match value:
        case Const(value=number):
            return int(number)
        case Var():
            return env[value]
        case Unary(op=op, value=x):
            inner = evaluate(x, env)
            return int(wrapped({"-": -inner, "~": ~inner, "!": not inner}[op], value.dtype))
        case Binary(op=op, left=left, right=right):
            return int(wrapped(FOLD[op](evaluate(left, env), evaluate(right, env)), value.dtype))
        case Select(condition=condition, then=then, other=other):
            return evaluate(then if evaluate(condition, env) else other, env)
        case Call(name="min" | "max" | "clamp", args=args):
            return int(_PYTHON[value.name](*[evaluate(a, env) for a in args]))
        case Cast(value=x):
            return int(wrapped(evaluate(x, env), value.dtype))
    raise AssertionError(value)


class Draw:
    """What one seed gives: variables, integer expressions over them, conditions, and points to try them at."""

    def __init__(self, seed: int) -> None:
        self.random = pick = random.Random(seed)
        self.names: list[Var] = []
        for i in range(pick.randint(1, 3)):
            dtype = u32 if pick.random() < 0.7 else i32
            lo, hi = pick.choice(NEAR if pick.random() < 0.6 else FAR[dtype])
            self.names.append(var(f"v{i}", dtype, lo=lo, hi=hi))

    def number(self, dtype: DType) -> Expr:
        """A literal: small, or at the ends of its type."""
        pick = self.random
        return const(pick.choice(NUMBERS if pick.random() < 0.75 else LARGE[dtype]), dtype)

    def integer(self, leaves: int | None = None, dtype: DType | None = None) -> Expr:
        """An expression over all operators: those of layouts and swizzles most often."""
        pick = self.random
        leaves = pick.randint(1, 7) if leaves is None else leaves
        dtype = pick.choice(self.names).dtype if dtype is None else dtype
        if leaves <= 1 and pick.random() < 0.5:
            if pick.random() < 0.3:
                return self.number(dtype)
            return cast(pick.choice(self.names), dtype)
        if leaves <= 1 or pick.random() < 0.5:
            return self.one(self.integer(leaves - 1, dtype))
        return self.two(self.integer(leaves // 2, dtype), self.integer(leaves - leaves // 2, dtype))

    def one(self, x: Expr) -> Expr:
        """An operator on `x` and a number."""
        pick, dtype = self.random, x.dtype
        shift = pick.randint(0, 5) if pick.random() < 0.8 else pick.choice([16, 30, 31, 32, 33])
        scale = const(pick.choice(SCALES), dtype)
        swizzled = binary(">>", binary("&", x, const(pick.choice([1, 3, 7]) << (shift & 15), dtype)), const(shift & 15))
        ways = [
            lambda: binary("*", x, scale),
            lambda: binary("//", x, scale),
            lambda: binary("%", x, scale),
            lambda: binary("^", x, swizzled),
            lambda: binary(">>", x, const(shift)),
            lambda: binary("<<", x, const(shift)),
            lambda: binary("&", x, const(pick.choice(MASKS), dtype)),
            lambda: binary(pick.choice("|^"), x, const(pick.choice(MASKS), dtype)),
            lambda: binary(pick.choice(["+", "-", "*", "//", "%"]), x, self.number(dtype)),
            lambda: binary(pick.choice(["+", "-", "*", "//", "%"]), self.number(dtype), x),
            lambda: pick.choice([x // scale, x % scale]),  # Python's, which floor
            lambda: unary(pick.choice("-~"), x),
            lambda: cast(cast(x, i32 if dtype is u32 else u32) + pick.choice([0, 1, 8]), dtype),
            lambda: call("clamp", x, scale, const(64, dtype)),
        ]
        weights = [4, 4, 4, 2, 3, 3, 3, 2, 3, 1, 1, 1, 1, 1]
        return pick.choices(ways, weights)[0]()

    def two(self, x: Expr, y: Expr) -> Expr:
        """An operator on two expressions of one type."""
        pick, kind = self.random, self.random.random()
        if kind < 0.4:
            return binary("+", x, y)
        if kind < 0.75:
            op = pick.choice(["-", "*", "&", "|", "^", "//", "%", "<<", ">>"])
            return binary(op, x, cast(y, u32) if op in ("<<", ">>") else y)
        if kind < 0.87:
            return call(pick.choice(["min", "max"]), x, y)
        return select(self.condition(2), x, y)

    def condition(self, leaves: int = 4) -> Expr:
        """A comparison with a number or another expression, or a conjunction of two."""
        pick = self.random
        dtype = pick.choice(self.names).dtype
        left = self.integer(leaves, dtype)
        right = self.number(dtype) if pick.random() < 0.6 else self.integer(leaves, dtype)
        one = binary(pick.choice(COMPARE), *((left, right) if pick.random() < 0.8 else (right, left)))
        return binary(pick.choice("&|"), one, self.condition(leaves)) if pick.random() < 0.2 else one

    def points(self, most: int = 40) -> Iterator[dict[Expr, int]]:
        """Values of the variables: all of them, or `most` at random, the ends of each often."""
        extents = [v.hi - v.lo + 1 for v in self.names]
        total = 1
        for n in extents:
            total *= n
        for number in range(min(total, most)):
            env: dict[Expr, int] = {}
            for v, n in zip(self.names, extents, strict=True):
                if total <= most:
                    env[v], number = v.lo + number % n, number // n
                else:
                    env[v] = self.random.choice(
                        [v.lo, v.hi, min(v.lo + 1, v.hi), *[self.random.randint(v.lo, v.hi)] * 3]
                    )
            yield env


def examine(seed: int, most: int = 40) -> str:
    """What is wrong with the simplified form or the range of one random expression; '' if nothing is."""
    with new_arena():
        draw = Draw(seed)
        value = draw.condition() if seed % 3 == 2 else draw.integer()
        short = simplify(value)
        again = simplify(short)
        ranges = [(form, range_of(form)) for form in (value, short)]
        for env in draw.points(most):
            wanted = evaluate(value, env)
            at = {v.name: n for v, n in env.items() if isinstance(v, Var)}
            for form in (short, again):
                if evaluate(form, env) != wanted:
                    return f"seed {seed}: {value} became {form}: {evaluate(form, env)} instead of {wanted} at {at}"
            for form, (lo, hi) in ranges:
                if not lo <= wanted <= hi:
                    return f"seed {seed}: {form} is {wanted}, outside {lo}..{hi}, at {at}"
        if short.dtype is not value.dtype:
            return f"seed {seed}: {value} of {value.dtype} became {short} of {short.dtype}"
    return ""
