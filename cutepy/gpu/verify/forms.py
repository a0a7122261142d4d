"""Indices as sums over ids, and what guards say about them: enough to bound an index under its guards.

The constant of a sum is a table: one number for each thread.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...layout.affine import Affine, Congruent, Interval
from ..ir import Binary, Cast, Expr
from ..ranges import domain, linear, range_of
from .evaluate import Integers, Mask
from .model import Access, Model

Form = Affine[Expr, Integers]
Wrapping = Congruent[Expr, Integers]


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What the guards of an access say: the threads that may be there (`mask`), sums that are 0 or less for these, and
    values that guards compare although their sums may wrap: an atom, and what it is congruent to."""

    mask: Mask
    limits: tuple[Form, ...]
    names: tuple[tuple[Wrapping, Expr], ...] = ()


def sum_of(model: Model, value: Expr) -> Wrapping:
    """The sum that `value` is congruent to: what depends on the thread alone is in the table, and casts between
    integers, which keep the number modulo 2**32, are looked through."""
    total = linear(value)
    form: Wrapping = Congruent({}, np.full(model.threads, total.constant, np.int64))
    for atom, c in total.terms.items():
        if model.leaves(atom) == frozenset((model.tid,)):
            term: Wrapping = Congruent({}, model.table(atom))
        elif isinstance(atom, Cast) and atom.value.dtype.kind in "iu":
            term = sum_of(model, atom.value)
        else:
            term = Congruent({atom: 1}, np.zeros(model.threads, np.int64))
        form = form.plus(term, c)
    return form


def facts_of(model: Model, access: Access) -> Facts:
    """What is sure where `access` happens. A guard that cannot be used is left out: more may happen, never less."""
    mask = np.ones(model.threads, bool)
    for guard in access.guards:
        if model.leaves(guard) <= frozenset((model.tid,)):
            mask = mask & model.table(guard).astype(bool)
    found = Facts(mask, ())
    if mask.any():
        for guard in access.guards:
            if not model.leaves(guard) <= frozenset((model.tid,)):
                found = _with(model, found, guard)
    return found


def _with(model: Model, facts: Facts, guard: Expr) -> Facts:
    """`facts`, and what `guard` says: sums that are at most 0 where it holds."""
    if not isinstance(guard, Binary) or guard.left.dtype.kind not in "iu" or guard.lanes > 1 or guard.op == "!=":
        return facts
    left, right = guard.left, guard.right
    (a, b), (c, d) = range_of(left), range_of(right)
    windows = {
        "<": ((a, min(b, d - 1)), (max(c, a + 1), d)),
        "<=": ((a, min(b, d)), (max(c, a), d)),
        ">": ((max(a, c + 1), b), (c, min(d, b - 1))),
        ">=": ((max(a, c), b), (c, min(d, b))),
        "==": ((max(a, c), min(b, d)),) * 2,
    }[guard.op]
    sides = []
    for value, window in zip((left, right), windows, strict=True):
        whole = at(sum_of(model, value), facts.mask)
        form = whole.exact(window, range_of)
        if form is None:  # it may wrap: an atom of its own
            facts = replace(facts, names=(*facts.names, (whole, value)))
            form = Affine({value: 1}, np.zeros_like(whole.constant))
        if form.interval(range_of)[0] < window[0]:
            facts = replace(facts, limits=(*facts.limits, form.negative().moved(window[0])))
        sides.append(form)
    below, above = sides[0].plus(sides[1], -1), sides[1].plus(sides[0], -1)
    new = {
        "<": (below.moved(1),),
        "<=": (below,),
        ">": (above.moved(1),),
        ">=": (above,),
        "==": (below, above),
    }[guard.op]
    return replace(facts, limits=(*facts.limits, *new))


def at(form: Wrapping, threads: Mask) -> Wrapping:
    """The same sum, for some of the threads."""
    return Congruent(form.terms, form.constant[threads])


def reach(model: Model, value: Expr, facts: Facts) -> Interval:
    """The least and the largest that `value` is where `facts` hold."""
    whole = domain(value.dtype)
    low, high = range_of(value)
    for form in _spellings(at(sum_of(model, value), facts.mask), facts):
        sum_ = form.exact(whole, range_of, facts.limits)
        if sum_ is not None:
            low = max(low, sum_.lower(range_of, facts.limits))
            high = min(high, sum_.upper(range_of, facts.limits))
    return low, high


def _spellings(form: Wrapping, facts: Facts) -> list[Wrapping]:
    """The sum, also with the values that guards compare in place of sums that may wrap."""
    found = [form]
    for meant, atom in facts.names:
        named: Wrapping = Congruent({atom: 1}, np.zeros_like(form.constant))
        factors = {form.terms[a] // c for a, c in meant.terms.items() if a in form.terms and form.terms[a] % c == 0}
        found += [form.plus(meant, -factor).plus(named, factor) for factor in sorted(factors)]
    return found
