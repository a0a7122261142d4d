"""Does an address tell which workgroup, or which thread, it belongs to? Proven by reading it digit by digit.

If an address is `m * high + low` with `low` in a window of m numbers, it tells both: two accesses meet only where their
lows and their highs are equal. Both are taken apart in the same way, until the ids of the workgroup stand alone, and
the rest are tables in which each row belongs to one thread. Guards help: they keep the low digits of a tile at the edge
within its row. Positional notation, in short; where it does not apply, nothing is proven and nothing is refuted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...layout.affine import Affine
from ..evaluate import Integers, Points
from ..ir import Const, Expr
from ..ranges import domain, linear, range_of
from .bounds import Facts, Form, Wrapping, at, facts_of, sum_of
from .model import Access, Model, typed

#: Entries of all tables together, and digits into which an address is taken apart.
_ENTRIES, _DIGITS, _GRID = 1 << 18, 24, 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class _Member:
    """Accesses of one form, by entry (a thread, a lane, an iteration): whose each is, and what is sure there."""

    thread: Integers
    limits: tuple[Form, ...]
    index: Form


_Digit = list[Form]


@dataclass(frozen=True, slots=True)
class Owned:
    """What an address tells: its workgroup, its thread."""

    workgroup: bool
    thread: bool


def owned(model: Model, accesses: Sequence[Access]) -> Owned:
    """Whether every address belongs to one workgroup, and whether it belongs to one thread."""
    found = [(a, facts) for a in accesses if (facts := facts_of(model, a)).mask.any()]
    if not found:
        return Owned(True, True)
    sums = [linear(a.index) for a in accesses]
    least = min(total.constant for total in sums)
    moduli = {abs(c) for total in sums for c in total.terms.values()}
    moduli |= set(sorted({total.constant - least for total in sums})[-_DIGITS * 4 :])
    wrapping = [at(sum_of(model, a.index), facts.mask) for a, facts in found]
    whole = [
        form.exact(domain(a.index.dtype), range_of, facts.limits)
        for form, (a, facts) in zip(wrapping, found, strict=True)
    ]
    exact = [form for form in whole if form is not None]
    family = [_member(a, facts, form, len(accesses)) for form, (a, facts) in zip(exact, found, strict=False)]
    if len(exact) < len(found):  # wrapping around keeps what is low, to a base that divides 2**32
        family = _low_digits(found, wrapping, sorted((m for m in moduli if m & (m - 1) == 0 and m > 1), reverse=True))
    digits = _taken_apart(family, [_shifted([m.index for m in family])], moduli) if family else []
    return Owned(_tells_workgroup(model, digits), bool(family) and _tells_thread(family, digits))


def _low_digits(found: list[tuple[Access, Facts]], wrapping: list[Wrapping], bases: list[int]) -> list[_Member]:
    """The accesses by the remainders of their indices to the largest base to which these lie in one window."""
    for base in bases:
        family = [
            _member(a, facts, form.remainder(base), len(found))
            for form, (a, facts) in zip(wrapping, found, strict=True)
        ]
        if _window(family, [m.index for m in family]) < base:
            return family
    return []


def _window(family: list[_Member], digit: _Digit) -> int:
    """How far apart the values of a digit may be."""
    least = min(form.lower(range_of, m.limits) for form, m in zip(digit, family, strict=True))
    most = max(form.upper(range_of, m.limits) for form, m in zip(digit, family, strict=True))
    return most - least


def _member(access: Access, facts: Facts, index: Form, count: int) -> _Member:
    """The entries of one of `count` accesses, loops written out where that is not too much."""
    thread, limits = np.flatnonzero(facts.mask), facts.limits
    room = _ENTRIES // count // (thread.size * access.lanes)
    for loop in sorted(access.loops, key=lambda loop: loop.count):
        if loop.count <= room and loop.index in index.terms:
            room //= loop.count
            numbers = np.arange(loop.count)
            index = _written_out(index, loop.index, numbers)
            limits = tuple(_written_out(limit, loop.index, numbers) for limit in limits)
            thread = np.repeat(thread, loop.count)
    lanes = np.arange(access.lanes)
    index = Affine(index.terms, np.repeat(index.constant, access.lanes) + np.tile(lanes, index.constant.size))
    limits = tuple(Affine(limit.terms, np.repeat(limit.constant, access.lanes)) for limit in limits)
    return _Member(np.repeat(thread, access.lanes), limits, index)


def _written_out(form: Form, atom: Expr, values: Integers) -> Form:
    """`form` with an entry for each value of `atom`."""
    factor = form.terms.get(atom, 0)
    table = np.repeat(form.constant, values.size) + factor * np.tile(values, form.constant.size)
    return Affine({a: c for a, c in form.terms.items() if a is not atom}, table)


def _shifted(digit: _Digit) -> _Digit:
    """The same digit, counted from the least entry of all tables."""
    low = min(int(form.constant.min()) for form in digit)
    return [form.moved(-low) for form in digit] if low else digit


def _taken_apart(family: list[_Member], digits: list[_Digit], moduli: set[int]) -> list[_Digit]:
    done: list[_Digit] = []
    todo = [(digit, moduli) for digit in digits]
    while todo:
        digit, bases = todo.pop()
        bases = {b for b in bases | {abs(c) for form in digit for c in form.terms.values()} if b > 1}
        if len(done) + len(todo) < _DIGITS:
            for base in sorted(bases, reverse=True):
                split = _split(family, digit, base)
                if split is not None:
                    low, high = split
                    todo += [(low, {b for b in bases if b < base}), (high, {b // base for b in bases})]
                    break
            else:
                done.append(digit)
        else:
            done.append(digit)
    return done


def _split(family: list[_Member], digit: _Digit, base: int) -> tuple[_Digit, _Digit] | None:
    """(low, high) with digit = high * base + low and low in a window of `base` numbers; None if that is not so, or if
    it says nothing new."""
    highs, lows = map(list, zip(*[form.split(base) for form in digit], strict=True))
    if _is_constant(lows) or _is_constant(highs):
        return None
    if _window(family, lows) >= base:
        return None
    return _shifted(lows), _shifted(highs)


def _is_constant(digit: _Digit) -> bool:
    first = int(digit[0].constant[0])
    return all(not form.terms and bool((form.constant == first).all()) for form in digit)


def _tells_workgroup(model: Model, digits: list[_Digit]) -> bool:
    """Whether the digits in which only ids of the workgroup stand have other values in every workgroup."""
    sums = []
    for digit in digits:
        terms = digit[0].terms
        plain = all(form.terms == terms and not form.constant.any() for form in digit)
        if plain and terms and all(model.leaves(atom) <= model.workgroup_ids for atom in terms):
            sums.append(terms)
    moving = {g for g in model.groups if not isinstance(g, Const)}
    single = {next(iter(terms)) for terms in sums if len(terms) == 1}
    if moving <= single:
        return True
    if prod(map(model.extent, moving)) > _GRID:
        return False
    domain = model.domain(moving, each=1)
    points = Points(typed(domain.every))
    rows = [points.total(terms) for terms in sums]
    return bool(rows) and _distinct(rows) == domain.size


def _distinct(columns: list[Integers]) -> int:
    """How many different rows there are."""
    key: Integers = np.zeros(columns[0].size, np.int64)
    for column in columns:
        values, numbers = np.unique(column, return_inverse=True)
        key = np.unique(key * values.size + numbers, return_inverse=True)[1]
    return int(key.max()) + 1


def _tells_thread(family: list[_Member], digits: list[_Digit]) -> bool:
    """Whether the digits without ids and iterations are different for different threads."""
    tables = [np.concatenate([form.constant for form in digit]) for digit in digits if not any(f.terms for f in digit)]
    thread = np.concatenate([m.thread for m in family])
    if not tables:
        return bool((thread == thread[0]).all())
    order = np.lexsort((thread, *tables))
    same = np.ones(thread.size - 1, bool)
    for table in tables:
        same &= table[order][1:] == table[order][:-1]
    return not bool((same & (thread[order][1:] != thread[order][:-1])).any())
