"""Integer sums over ids, and what conditions say about them: enough to bound an index under its guards.

A `Form` is a table over the threads plus multiples of other ids, numbers of iterations, or whatever else is not a sum.
It equals its expression modulo 2**32; as an integer it is one only where it stays within the type.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..ir import Binary, Expr
from ..ranges import Interval, domain, linear, range_of, within
from .evaluate import Integers, Mask
from .model import Access, Model

_MOST_LIMITS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """`table[thread]` plus the sum of `factor * atom` over `terms`."""

    table: Integers
    terms: dict[Expr, int]

    def minus(self, other: "Form", factor: int) -> "Form":
        """This sum less `factor` times another one."""
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            left = terms.get(atom, 0) - factor * c
            if left:
                terms[atom] = left
            else:
                terms.pop(atom, None)
        return Form(self.table - factor * other.table, terms)

    def moved(self, by: int) -> "Form":
        """This sum plus a number."""
        return replace(self, table=self.table + by)

    def interval(self, mask: Mask | None = None) -> Interval:
        """The least and the largest value, for the threads of `mask` and all values of the atoms."""
        table = self.table if mask is None else self.table[mask]
        lo, hi = int(table.min()), int(table.max())
        for atom, c in self.terms.items():
            a, b = range_of(atom)
            lo, hi = (lo + c * a, hi + c * b) if c > 0 else (lo + c * b, hi + c * a)
        return lo, hi


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What the guards of an access say: the threads that may be there, and sums that are 0 or less."""

    mask: Mask
    limits: tuple[Form, ...]


def form_of(model: Model, value: Expr) -> Form:
    """The sum that `value` is, modulo 2**32."""
    total = linear(value)
    table = np.full(model.threads, total.constant, np.int64)
    terms: dict[Expr, int] = {}
    for atom, c in total.terms.items():
        if model.leaves(atom) == frozenset((model.tid,)):
            table = table + c * model.table(atom)
        else:
            terms[atom] = c
    return Form(table, terms)


def facts_of(model: Model, access: Access) -> Facts:
    """What is sure where `access` happens. A guard that cannot be used is left out: more may happen, never less."""
    mask = np.ones(model.threads, bool)
    limits: list[Form] = []
    for guard in access.guards:
        if model.leaves(guard) <= frozenset((model.tid,)):
            mask = mask & model.table(guard).astype(bool)
        else:
            limits += _limits(model, guard)
    return Facts(mask, tuple(limits))


def _limits(model: Model, guard: Expr) -> list[Form]:
    """Sums that are at most 0 where `guard` holds."""
    if not isinstance(guard, Binary) or guard.left.dtype.kind not in "iu" or guard.left.lanes > 1:
        return []
    left, right = form_of(model, guard.left), form_of(model, guard.right)
    whole = domain(guard.left.dtype)
    if not (within(left.interval(), whole) and within(right.interval(), whole)):
        return []
    below, above = left.minus(right, 1), right.minus(left, 1)
    match guard.op:
        case "<":
            return [below.moved(1)]
        case "<=":
            return [below]
        case ">":
            return [above.moved(1)]
        case ">=":
            return [above]
        case "==":
            return [below, above]
    return []


def upper(form: Form, facts: Facts) -> int:
    """A number that `form` does not exceed under `facts`: limits are added to it, as often as makes terms vanish.

    The multipliers of linear programming's dual, tried by hand: any choice gives a bound, the best one is kept.
    """
    return _upper(form, facts.mask, facts.limits[:8], _MOST_LIMITS)


def _upper(form: Form, mask: Mask, limits: tuple[Form, ...], depth: int) -> int:
    best = form.interval(mask)[1]
    if depth == 0:
        return best
    for i, limit in enumerate(limits):
        ratios = {form.terms[a] / c for a, c in limit.terms.items() if a in form.terms}
        factors = {int(r) for r in ratios if r >= 1} | {-int(-r // 1) for r in ratios if r > 0}
        for factor in factors:
            rest = form.minus(limit, factor)
            best = min(best, _upper(rest, mask, limits[:i] + limits[i + 1 :], depth - 1))
    return best


def lower(form: Form, facts: Facts) -> int:
    """A number that `form` does not fall below under `facts`."""
    return -upper(Form(-form.table, {a: -c for a, c in form.terms.items()}), facts)
