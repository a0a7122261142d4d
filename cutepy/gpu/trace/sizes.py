"""Sizes that a kernel does not know while it is traced: exact integers for Python, parameters for the GPU.

Law: where a size, or what Python computes of sizes, meets a value of the kernel, that value is the integer that Python
means, from 0 to 2^31 - 1: it follows from what is known of the sizes, or the host checks it at each call. A comparison
is decided by what is known, or is a condition that a whole launch agrees on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import gcd, lcm, prod
from typing import Any, NoReturn

from ...errors import KernelError
from ...layout.affine import Affine
from ...layout.symbolic.lift import mapped, solved
from ...layout.symbolic.prover import Context
from ...layout.values.size import ONE, Monomial, Operand, Poly, Size, Undecided, poly_of, times
from ...tensor.dtypes import f32, u32
from .. import ir
from ..ir.place import user_place
from ..ir.simplify import simplify
from ..runtime.formulas import Formula

#: Of a size, and of every number that is made of sizes and meets a value of the kernel.
LARGEST = (1 << 31) - 1

#: Of an extent, so that rounded up to a multiple of at most 2^16 it is no larger than `LARGEST`: tiles then ask for
#: nothing that the host would have to check.
LARGEST_EXTENT = LARGEST + 1 - (1 << 16)


Facts = tuple[str, ...]
"""What is stated of sizes, such as "64 divides K" or "M <= 65536"."""


class KernelSize(Size):
    """A size of a kernel that is being traced."""

    __slots__ = ()
    context: Sizes

    def __eq__(self, other: object) -> Any:
        return self._compared("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compared("!=", other)

    def __lt__(self, other: object) -> Any:
        return self._compared("<", other)

    def __gt__(self, other: object) -> Any:
        return self._compared(">", other)

    def __le__(self, other: object) -> Any:
        return self._compared("<=", other)

    def __ge__(self, other: object) -> Any:
        return self._compared(">=", other)

    def _compared(self, op: str, other: object) -> Any:
        if isinstance(other, Size) and other.context is not self.context:
            return NotImplemented
        right = poly_of(other)
        return NotImplemented if right is None else self.context.compared(op, self.poly, right)

    def __hash__(self) -> int:
        return hash((id(self.context), self.poly))

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __truediv__(self, other: Any) -> Any:
        return ir.cast(self.in_kernel(), f32) / (other.in_kernel() if isinstance(other, KernelSize) else other)

    def __rtruediv__(self, other: Any) -> Any:
        return other / ir.cast(self.in_kernel(), f32)

    def __pow__(self, exponent: Any) -> Any:
        if type(exponent) is int and exponent >= 0:
            return self.context.size(self.poly**exponent)
        return ir.cast(self.in_kernel(), f32) ** exponent

    def __rpow__(self, base: object) -> NoReturn:
        self.context.refuse(self.poly, "be an exponent of a Python number")

    def __index__(self) -> int:
        self.context.refuse(self.poly, "serve as a Python integer")

    def __float__(self) -> float:
        self.context.refuse(self.poly, "serve as a Python float")

    def in_kernel(self) -> ir.Expr:
        """The size as a value of the kernel."""
        return self.context.expr(self.poly)

    def __repr__(self) -> str:
        return self.context.text(self.poly)


@dataclass(frozen=True, slots=True)
class Condition:
    """A polynomial in sizes that must be 0 or more. `stated` by the user, or found by the trace."""

    poly: Poly
    text: str
    stated: bool = False


class Sizes(Context):
    """The sizes of one trace: which unknowns there are, what the host computes, what is known and what must hold.

    Tables by the number of an unknown: `names`, its parameter; `units`, what the parameter counts, as a divisor and the
    size that it divides; `highs`, the most that it may be; `sources`, the formula of one that is read of the call.
    `letters`: name of a size -> its polynomial.
    `derived`: polynomial that is a parameter of its own -> the name of that.
    `formulas`: parameter, derived or not, that the kernel uses -> what the host computes for it.
    `conditions`: polynomial -> that it has to be 0 or more, looked at by the host at each call.
    `places`: parameter of a stride or an offset -> by how much it is multiplied, and the name of its tensor.
    `taken`: names that no parameter may get.
    `asked`: condition of the kernel that was left open -> the question, as `left_open` raises it. No exceptions are
    kept: one that was raised holds its frames, with the tensors of the call in them.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        super().__init__()
        self.names: dict[int, str] = {}
        self.units: dict[int, tuple[int, str]] = {}
        self.highs: dict[int, int] = {}
        self.sources: dict[int, Formula] = {}
        self.letters: dict[str, Poly] = {}
        self.derived: dict[Poly, str] = {}
        self.conditions: dict[Poly, Condition] = {}
        self.formulas: dict[str, Formula] = {}
        self.places: dict[str, tuple[int, str]] = {}
        self.taken = set(taken)
        self.asked: dict[ir.Expr, tuple[str, Poly]] = {}

    # Unknowns.

    def letter(self, name: str, source: str, divisor: int) -> Operand:
        """The size of that name, equal wherever it stands: a number of the launch that `divisor` divides, of which the
        parameter is the quotient."""
        if name not in self.letters:
            number = self.number(1)
            self.names[number] = self._unique(name if divisor == 1 else f"{name}_{divisor}")
            self.units[number] = divisor, name
            self.highs[number] = LARGEST_EXTENT // divisor
            self.sources[number] = source if divisor == 1 else ("//", source, divisor)
            self.letters[name] = Poly.unknown(number) * divisor
        return self.size(self.letters[name])

    def size(self, poly: Poly) -> Operand:
        value = poly.number()
        return KernelSize(self, poly) if value is None else value

    def _unique(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    # What is decided.

    def decided(self, question: Callable[[Poly], bool | None], poly: Poly, kind: str) -> bool:
        """The answer to a question; nothing is assumed outside of `solve`."""
        answer = question(poly)
        if answer is None:
            raise Undecided(self, kind, poly)
        return answer

    def solve(self, function: Callable[..., Any], operands: tuple[object, ...]) -> Any:
        """What an operation of layouts gives for all sizes: what it assumes of them on its way is looked at in the
        cases that were assumed away, which must give the same. Undecided where they do not."""
        try:
            result = solved(function, list(operands), self)
        except Undecided as undecided:
            raise Undecided(self, undecided.kind, undecided.left, undecided.right) from None
        return mapped(self._adopted, result)

    def _adopted(self, leaf: object) -> object:
        """A size of the context of an operation as one of this: what was rounded down there is rounded down here."""
        if not isinstance(leaf, Size) or leaf.context is self:
            return leaf
        for number in sorted(leaf.context.floors.keys() - self.floors.keys()):
            above, below = leaf.context.floors[number]
            self.check_rounding(above, below)
            if number != len(self.lows):
                raise Undecided(self, "table", above)
            self.floors[self.number(int(self.not_negative(above - below)))] = above, below
            left_over = above - Poly.unknown(number) * below
            self.at_least += [left_over, below - left_over - 1]
        return self.size(leaf.poly)

    def undecided(self, undecided: Undecided) -> KernelError:
        """The refusal, with the fact to state."""
        left, right = self.text(undecided.left), self.text(undecided.right)
        asked = {"equal": f"{left} == 0", "less": f"{left} < 0", "divides": f"{left} divides {right}"}
        said = f"nothing decides whether {asked[undecided.kind]}" if undecided.kind in asked else f"{left} is not known"
        return KernelError(
            f"{user_place()}: {said}, for all sizes: state a fact, @gpu.kernel(given=[...]), or give the size a "
            "number, in the annotation of the argument"
        )

    def compared(self, op: str, left: Poly, right: Poly) -> Any:
        """`left op right`: a bool where it is known, else a condition of the kernel, the same for all invocations."""
        difference = left - right
        # a > b -> b - a < 0 and a <= b -> not b - a < 0
        asked = right - left if op in (">", "<=") else difference
        answer = self.is_zero(difference) if op in ("==", "!=") else self.is_less(asked)
        known = answer if answer is None or op in ("==", "<", ">") else not answer
        if known is not None:
            return known
        above = Poly({m: c for m, c in difference.items() if c > 0})
        below = Poly({m: -c for m, c in difference.items() if c < 0})
        condition = simplify(ir.binary(op, self.expr(above), self.expr(below)))
        self.asked[condition] = "equal" if op in ("==", "!=") else "less", asked
        return condition

    def left_open(self, condition: ir.Expr) -> Undecided | None:
        """What to raise where Python asks for a condition that `compared` gave."""
        asked = self.asked.get(condition)
        return None if asked is None else Undecided(self, *asked)

    def refuse(self, poly: Poly, what: str) -> NoReturn:
        raise KernelError(
            f"{user_place()}: the size {self.text(poly)} is known only at the launch and cannot {what}; use it in the "
            "kernel (gpu.loop, a grid, an index), or give it a number, in the annotation of the argument"
        )

    # What meets values of the kernel.

    def expr(self, poly: Poly) -> ir.Expr:
        """The number as a value of the kernel: a sum of parameters where that cannot wrap, else a parameter."""
        number = poly.number()
        if number is not None:
            return ir.const(number)
        linear = all(sum(e for _, e in monomial) <= 1 for monomial in poly)
        if linear and 0 <= self.interval(poly)[0] and self.interval(poly)[1] <= 2 * LARGEST + 1:
            if self.interval(poly)[1] > LARGEST:
                self.require(-poly + LARGEST, f"{self.text(poly)} <= {LARGEST}")
            return self._sum(poly)
        if poly not in self.derived:
            if not self.not_negative(poly):
                self.require(poly, f"{self.text(poly)} >= 0")
            self.require(-poly + LARGEST, f"{self.text(poly)} <= {LARGEST}")
            self.derived[poly] = self._unique(f"size_{len(self.derived)}")
        name = self.derived[poly]
        self.formulas[name] = self.formula(poly)
        return ir.param(name, u32, **self._derived_range(poly))

    def _sum(self, poly: Poly) -> ir.Expr:
        total: ir.Expr | None = None
        for monomial, c in sorted(poly.items(), key=lambda entry: (entry[1] < 0, entry[0] == ONE)):
            part: ir.Expr = ir.const(abs(c)) if monomial == ONE else self.param(monomial[0][0])
            if monomial != ONE and abs(c) != 1:
                part = ir.binary("*", part, ir.const(abs(c)))
            if total is None:
                total = part if c > 0 else ir.binary("-", ir.const(0), part)
            else:
                total = ir.binary("+" if c > 0 else "-", total, part)
        assert total is not None
        return simplify(total)

    def param(self, number: int) -> ir.Param:
        """The parameter of an unknown."""
        name = self.name_of(number)
        self.formulas[name] = self.source_of(number)
        return ir.param(name, u32, lo=self.lows[number], hi=self.highs[number])

    def name_of(self, number: int) -> str:
        if number not in self.names:
            above, below = self.floors[number]
            _, up, by = self.rounded(number)
            wish = f"{self.text(up)}_by_{self.text(by)}"
            self.names[number] = self._unique(wish if wish.isidentifier() else f"quotient_{number}")
            most, divisor = self.interval(above)[1], self.interval(below)[0]
            self.highs[number] = most // max(1, divisor)
        return self.names[number]

    def interval(self, poly: Poly) -> tuple[int, int]:
        """The least and the largest that a polynomial may be, unknown by unknown."""
        low = high = 0
        for monomial, c in poly.items():
            for number, _ in monomial:
                self.name_of(number)
            least = prod(self.lows[number] ** e for number, e in monomial)
            most = prod(self.highs[number] ** e for number, e in monomial)
            low, high = (low + c * least, high + c * most) if c > 0 else (low + c * most, high + c * least)
        return low, high

    def require(self, poly: Poly, text: str, *, stated: bool = False) -> None:
        """What the host has to see at each call."""
        self.conditions.setdefault(poly, Condition(poly, text, stated))

    # What the host computes.

    def source_of(self, number: int) -> Formula:
        """The formula of an unknown."""
        if number in self.sources:
            return self.sources[number]
        above, below = self.floors[number]
        return "//", self.formula(above), self.formula(below)

    def formula(self, poly: Poly) -> Formula:
        """The formula of a polynomial."""
        parts: list[Formula] = []
        for monomial, c in poly.items():
            factors: list[Formula] = [self.source_of(number) for number, e in monomial for _ in range(e)]
            factors = factors if c == 1 and factors else [c, *factors]
            parts.append(factors[0] if len(factors) == 1 else ("*", *factors))
        return parts[0] if len(parts) == 1 else ("+", *parts) if parts else 0

    # What the prover may use.

    def facts(self) -> tuple[Affine[ir.Expr, int], ...]:
        """Sums of parameters that are 0 or less: what is known of quotients, what was stated, what products are."""
        found: list[Affine[ir.Expr, int]] = []
        products: dict[Monomial, ir.Expr] = {}
        seen = 0
        while seen < len(self.at_least):  # `sum_of` may name further products, never further quotients
            form = self.sum_of(-self.at_least[seen], products)
            found += [form] if form.terms else []
            seen += 1
        for poly, name in list(self.derived.items()):
            one: Affine[ir.Expr, int] = Affine({ir.param(name, u32, **self._derived_range(poly)): 1}, 0)
            difference = one.plus(self.sum_of(poly, products), -1)
            if difference.terms:
                found += [difference, difference.negative()]
        for monomial, node in products.items():  # factors are 1 or more
            for number, _ in monomial:
                if all(self.lows[other] >= 1 for other, _ in monomial):
                    found.append(Affine({self.param(number): 1, node: -1}, 0))
        return tuple(found)

    def products(self) -> dict[ir.Expr, tuple[int, ir.Expr, ir.Expr]]:
        """The parameters that are products of a number and two others, with these: of several ways the one whose first
        factor is the longest."""
        made: dict[Monomial, tuple[int, ir.Expr]] = {}
        for poly, name in self.derived.items():
            [(monomial, c), *more] = poly.items()
            if c >= 1 and not more:
                made[monomial] = c, ir.param(name, u32, **self._derived_range(poly))
        made |= {((number, 1),): (1, self.param(number)) for monomial in [*made] for number, _ in monomial}
        found: dict[ir.Expr, tuple[int, ir.Expr, ir.Expr]] = {}
        for monomial, (c, node) in made.items():
            for first in sorted(made, key=lambda each: -sum(e for _, e in each)):
                rest = times(monomial, first, -1)
                if first == monomial or rest not in made:
                    continue
                (one, a), (two, b) = made[first], made[rest]
                if c % (one * two) == 0:
                    found[node] = c // (one * two), a, b
                    break
        return found

    def words(self) -> dict[str, tuple[int, str]]:
        """How each parameter reads, that number of times."""
        known = {self.names[number]: (1, self._word(number)) for number in self.names}
        known |= self.places | {self.names[number]: unit for number, unit in self.units.items()}
        return known | {name: (1, self.text(poly)) for poly, name in self.derived.items()}

    def _derived_range(self, poly: Poly) -> dict[str, int]:
        return {"lo": min(max(0, self.interval(poly)[0]), LARGEST), "hi": LARGEST}

    def sum_of(self, poly: Poly, products: dict[Monomial, ir.Expr] | None = None) -> Affine[ir.Expr, int]:
        """A polynomial as a sum of parameters; a product of unknowns is one of its own."""
        terms: dict[ir.Expr, int] = {}
        for monomial, c in poly.items():
            if monomial == ONE:
                continue
            if len(monomial) == 1 and monomial[0][1] == 1:
                node: ir.Expr = self.param(monomial[0][0])
            else:
                node = self.expr(Poly({monomial: 1}))
                if products is not None:
                    products[monomial] = node
            terms[node] = terms.get(node, 0) + c
        return Affine({node: c for node, c in terms.items() if c}, poly.get(ONE, 0))

    def text(self, poly: Poly) -> str:
        """How a polynomial reads."""
        parts: list[str] = []
        for monomial, c in sorted(poly.items(), key=lambda entry: (entry[1] < 0, entry[0] == ONE)):
            numbers = [number for number, e in monomial for _ in range(e)]
            by = prod(self.units[number][0] for number in numbers if number in self.units)
            # 4 * (n / 4) reads n
            words = [
                self.units[number][1] if c % by == 0 and number in self.units else self._word(number)
                for number in numbers
            ]
            c = c // by if c % by == 0 else c
            factor = [str(abs(c))] if abs(c) != 1 or not words else []
            sign = ("- " if c < 0 else "+ ") if parts else "-" if c < 0 else ""
            parts.append(sign + "*".join([*factor, *words]))
        return " ".join(parts) or "0"

    def _word(self, number: int) -> str:
        if number in self.sources:
            return self.names[number]
        rounding, above, below = self.rounded(number)
        over, under = self.text(above), self.text(below)
        over, under = over if len(above) == 1 else f"({over})", f"({under})" if set(under) & set("+-*") else under
        return f"{'ceil' if rounding == 'ceiling' else 'floor'}({over}/{under})".replace(" ", "")

    # What the user states.

    def state(self, fact: str) -> None:
        """Take a fact of the user's for granted; the host checks it. Divisors are known before, by `divisors_of`."""
        if _DIVIDES.fullmatch(fact.strip()):
            return
        tree = ast.parse(fact, mode="eval").body
        assert isinstance(tree, ast.Compare)
        sides = [self._read(fact, side) for side in (tree.left, *tree.comparators)]
        for op, left, right in zip(tree.ops, sides[:-1], sides[1:], strict=True):
            below = isinstance(op, ast.Lt | ast.LtE)
            poly = right - left if below else left - right
            for each in [poly, -poly] if isinstance(op, ast.Eq) else [poly - isinstance(op, ast.Lt | ast.Gt)]:
                self.at_least.append(_whole(each))
                self.require(each, fact, stated=True)

    def _read(self, fact: str, tree: ast.expr) -> Poly:
        match tree:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return Poly.of(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._read(fact, operand)
            case ast.Name(id=name) if name in self.letters:
                return self.letters[name]
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
                one, two = self._read(fact, left), self._read(fact, right)
                return one * two if isinstance(op, ast.Mult) else one.plus(two, 1 if isinstance(op, ast.Add) else -1)
        raise KernelError(f"the fact {fact!r}: {ast.unparse(tree)} is no size of the arguments, nor made of them")


def _whole(poly: Poly) -> Poly:
    """A polynomial that is 0 or more exactly where `poly` is: 6 - 4*q is 2 or more, or negative, so 1 - q."""
    common = gcd(*[c for monomial, c in poly.items() if monomial != ONE])
    if common < 2:
        return poly
    return Poly({m: c // common for m, c in poly.items() if c // common})


def contradiction(names: Sequence[str], facts: Facts) -> Facts:
    """Facts of these that no sizes satisfy together: one, two or three of them where so few are refuted, else all; ()
    where nothing refutes them.

    >>> contradiction(["n", "m"], ("n <= m", "4 divides n", "n < 4"))
    ('4 divides n', 'n < 4')

    Raises KernelError for a fact that is none.
    """

    def holds(some: Facts) -> bool:
        sizes, divisors = Sizes(), divisors_of(some)
        for name in names:
            sizes.letter(name, name, divisors.get(name, 1))
        for fact in some:
            sizes.state(fact)
        sizes.at_least += [Poly.of(most) - Poly.unknown(number) for number, most in sizes.highs.items()]
        for poly in sizes.at_least:  # x - c >= 0 is a least value, which holds in products as well
            match sorted(poly.items()):
                case [((), c), (((number, 1),), 1)]:
                    sizes.lows[number] = max(sizes.lows[number], -c)
        return not sizes.impossible()

    if holds(facts):
        return ()
    fewer = (some for count in range(1, min(4, len(facts))) for some in combinations(facts, count))
    return next((some for some in fewer if not holds(some)), facts)


def formula_of(fact: str, sources: Mapping[str, str]) -> Formula:
    """What is true of the numbers of a call exactly where a fact holds; `sources` has the number that each size is.

    >>> formula_of("64 divides K", {"K": "x.shape[1]"}), formula_of("n <= 5", {"n": "x.shape[0]"})
    (('==', ('%', 'x.shape[1]', 64), 0), ('and', 1, ('<=', 0, ('+', 5, ('*', -1, 'x.shape[0]')))))
    """
    sizes = Sizes()
    for name, source in sources.items():
        sizes.letter(name, source, 1)
    if match := _DIVIDES.fullmatch(fact.strip()):
        return "==", ("%", sizes.formula(sizes._read(fact, ast.Name(match[2]))), int(match[1])), 0
    sizes.state(fact)
    return "and", 1, *[("<=", 0, sizes.formula(condition.poly)) for condition in sizes.conditions.values()]


_DIVIDES = re.compile(r"(\d+) divides ([A-Za-z_]\w*)")


def divisors_of(facts: Iterable[str]) -> dict[str, int]:
    """By what each size is stated to be divided. Raises KernelError for a fact that is none.

    >>> divisors_of(["64 divides K", "M <= 65536", "4 divides K"])
    {'K': 64}
    """
    found: dict[str, int] = {}
    for fact in facts:
        if not isinstance(fact, str):
            raise KernelError(f'the fact {fact!r} is no text: write "64 divides K", "M <= 65536" or "n <= m"')
        if match := _DIVIDES.fullmatch(fact.strip()):
            by, name = int(match[1]), match[2]
            if by < 1:
                raise KernelError(f"the fact {fact!r}: nothing is divided by 0")
            found[name] = lcm(found.get(name, 1), by)
            continue
        try:
            tree = ast.parse(fact, mode="eval").body
        except SyntaxError:
            tree = None
        orders = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq)
        if not isinstance(tree, ast.Compare) or not all(isinstance(op, orders) for op in tree.ops):
            raise KernelError(f'the fact {fact!r} is none: write "64 divides K", "M <= 65536" or "n <= m"')
    return found


def as_value(value: object) -> object:
    """A size as a value of the kernel; anything else as it is."""
    return value.in_kernel() if isinstance(value, KernelSize) else value
