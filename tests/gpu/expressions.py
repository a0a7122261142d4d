"""Random index expressions by seed, and their value by Python's own integers."""

import itertools
import random
from collections.abc import Iterator, Mapping

from cutepy.gpu.ir import Binary, Call, Cast, Const, Expr, Select, Unary, Var, binary, call, const, select, var
from cutepy.gpu.ir.operators import FOLD, wrapped
from cutepy.tensor.dtypes import u32

RANGES = [(0, 0), (0, 1), (0, 3), (2, 5), (0, 6), (0, 7), (0, 12), (0, 63)]
NUMBERS = [*range(18), 24, 32, 48, 64, 256, 2**31, 2**32 - 1]
SCALES = [1, 2, 3, 4, 6, 8, 12, 16, 32]
COMPARE = ["<", "<=", ">", ">=", "==", "!="]


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
        case Call(name="min" | "max", args=args):
            return {"min": min, "max": max}[value.name](evaluate(a, env) for a in args)
        case Cast(value=x):
            return int(wrapped(evaluate(x, env), value.dtype))
    raise AssertionError(value)


class Draw:
    """What one seed gives: variables, integer expressions over them, conditions, and points to try them at."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        ranges = self.random.choices(RANGES, k=self.random.randint(1, 3))
        self.names = [var(f"v{i}", u32, lo=lo, hi=hi) for i, (lo, hi) in enumerate(ranges)]

    def integer(self, leaves: int | None = None) -> Expr:
        """An expression over the operators that layouts and swizzles use."""
        pick = self.random
        leaves = pick.randint(1, 7) if leaves is None else leaves
        if leaves <= 1 and pick.random() < 0.5:
            return pick.choice(self.names) if pick.random() < 0.7 else const(pick.choice(NUMBERS))
        kind = pick.randrange(12)
        if kind < 6 or leaves <= 1:
            x = self.integer(leaves - 1)
            shift = pick.randint(0, 5)
            unary = [
                lambda: x * pick.choice(SCALES),
                lambda: x // pick.choice(SCALES),
                lambda: x % pick.choice(SCALES),
                lambda: x ^ ((x & (pick.choice([1, 3, 7]) << shift)) >> shift),
                lambda: x >> shift,
                lambda: x << shift,
            ]
            return unary[kind % 6]()
        x, y = self.integer(leaves // 2), self.integer(leaves - leaves // 2)
        if kind < 9:
            return x + y
        if kind == 9:
            return binary(pick.choice(["-", "*", "&", "|", "^"]), x, y)
        if kind == 10:
            return call(pick.choice(["min", "max"]), x, y)
        return select(self.condition(2), x, y)

    def condition(self, leaves: int = 4) -> Expr:
        """A comparison with a number or another expression, or a conjunction of two."""
        pick = self.random
        right = const(pick.choice(NUMBERS)) if pick.random() < 0.7 else self.integer(leaves)
        one = binary(pick.choice(COMPARE), self.integer(leaves), right)
        return binary(pick.choice("&|"), one, self.condition(leaves)) if pick.random() < 0.2 else one

    def points(self, most: int = 40) -> Iterator[dict[Expr, int]]:
        """Values of the variables: all of them, or `most` at random."""
        points = list(itertools.product(*[range(v.lo, v.hi + 1) for v in self.names]))
        for numbers in points if len(points) <= most else self.random.sample(points, most):
            yield dict(zip(self.names, numbers, strict=True))
