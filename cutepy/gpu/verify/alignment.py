"""Is every vector and every matrix aligned in memory? Decided by the factors of indices, or by trying every invocation.

A vector of n elements begins at a multiple of n: arrays are declared over vectors, and an index in elements is divided
by n without a remainder. A matrix, and each of its runs, begins at a multiple of 16 bytes, or of a whole run where that
is less. Bindings are aligned by WebGPU (256 bytes), workgroup variables beside matrices by their sizes, which the text
rounds up to 16 bytes. Every unit is a power of two, so an index may be looked at modulo 2**32.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

import numpy as np

from ..ir import Binary, Const, Expr, Select
from ..ir.operators import U32_LIMIT
from ..ir.ranges import Points, Unknown, linear
from .model import Access, Gathering, Model, located, named
from .verdict import Claim, Status, Verdict, Witness, concluded, counted


@dataclass(frozen=True, slots=True)
class _Address:
    """An index that has to be a multiple of `unit` elements wherever `item` happens."""

    item: Access | Gathering
    verb: str
    array: str
    index: Expr
    unit: int


def decide_alignment(model: Model) -> list[Verdict]:
    """One verdict for each array with vectors or matrices in it."""
    arrays: dict[str, list[_Address]] = {}
    for address in _addresses(model):
        arrays.setdefault(address.array, []).append(address)
    factors: dict[Expr, int] = {}
    return [_decide_array(model, name, addresses, factors) for name, addresses in arrays.items()]


def _decide_array(model: Model, array: str, addresses: list[_Address], factors: dict[Expr, int]) -> Verdict:
    """The verdict on one array: the first address that is refuted, else all that are undecided."""
    undecided: list[str] = []
    for address in addresses:
        if isinstance(address.item, Gathering) and address.item.stride % address.unit:
            reason = f"its stride {address.item.stride} is no multiple of {address.unit}"
            return Verdict(Claim.ALIGNED, Status.REFUTED, f"{address.item.text}: {reason}", array)
        # 1. By factors of the terms, for every invocation at once.
        if multiple_of(model, address.index, factors) % address.unit == 0:
            continue
        # 2. By trying every invocation.
        witness, reason = _misaligned(model, address)
        if witness is not None:
            why = f"{address.item.text} has to begin at a multiple of {address.unit}"
            return Verdict(Claim.ALIGNED, Status.REFUTED, why, array, witness)
        if reason:
            undecided.append(located(address.item, reason))
    return concluded(Claim.ALIGNED, array, undecided, counted(len(addresses), "address"))


def _addresses(model: Model) -> Iterator[_Address]:
    """What must be aligned: each vector that is no run of a matrix, and each matrix in memory."""
    for access in model.accesses:
        if access.lanes > 1 and not access.moved:
            yield _Address(access, access.verb, access.buffer.name, access.index, access.lanes)
    for gathering in model.gatherings:
        for index in gathering.meant:
            yield _Address(gathering, "moves", gathering.text.partition("[")[0], index, gathering.unit)


def multiple_of(model: Model, value: Expr, memo: dict[Expr, int]) -> int:
    """A power of two that divides `value` modulo 2**32, for every invocation: 2**32 for 0."""
    if value not in memo:
        # The greatest power of 2 that divides every term divides the sum, also modulo 2^32.
        form = linear(value)
        terms = [_factor(form.constant), *(_factor(c) * _of_atom(model, a, memo) for a, c in form.terms.items())]
        memo[value] = min(U32_LIMIT, *terms) if len(terms) > 1 else terms[0]
    return memo[value]


def _of_atom(model: Model, atom: Expr, memo: dict[Expr, int]) -> int:
    """As `multiple_of`, for what is no sum: 1 where no rule applies."""
    if model.leaves(atom) == frozenset((model.tid,)):
        return _factor(gcd(*map(int, model.table(atom))))
    match atom:
        case Binary(op="%", left=left, right=Const(value=by)) if by > 0:
            # x % by == x - x // by * by, both of which the common factor divides
            return min(multiple_of(model, left, memo), _factor(int(by)))
        # Either value may be chosen.
        case Select(then=then, other=other):
            return min(multiple_of(model, then, memo), multiple_of(model, other, memo))
        case Binary(op="&" | "^" | "|" as op, left=left, right=right) if atom.dtype.kind in "iu":
            sides = multiple_of(model, left, memo), multiple_of(model, right, memo)
            return max(sides) if op == "&" else min(sides)  # low bits that are 0 in one, or in both
    return 1


def _factor(number: int) -> int:
    """The greatest power of two that divides a number; of 0, 2**32."""
    return number & -number if number else U32_LIMIT


def _misaligned(model: Model, address: _Address) -> tuple[Witness | None, str]:
    """An invocation whose address is no multiple of the unit; or why there may be one, "" if there is none."""
    item, values = address.item, (address.index, *address.item.guards)
    if strange := model.unknowns([address.index]):
        return None, f"it begins where {named(strange)} tells, and nothing tells that this is aligned"
    over = model.domain(model.ids_of(values), each=model.threads)
    unknown = model.unknowns(item.guards)
    for numbers in over.chunks(model.threads):
        ids = over.at(numbers)
        points = Points(model.environment(ids), model.readable if unknown else None)
        off = points.whole(address.index) % address.unit != 0
        # Guards over data are tried on the values that can be known; elsewhere the address stays undecided.
        decided = off & points.where(g for g in item.guards if not model.unknowns([g]))
        if not decided.any():
            continue
        try:
            off = decided & points.where(item.guards)
        except Unknown:
            off = decided & False
        if not off.any():
            return None, f"it is guarded by what {named(unknown)} holds"
        row, thread = map(int, np.argwhere(np.broadcast_to(off, (len(numbers), model.threads)))[0])
        point = {leaf: int(v[row]) for leaf, v in ids.items()}
        at = points.whole(address.index)
        element = int(np.broadcast_to(at, (len(numbers), model.threads))[row, thread])
        given = "for some data" if unknown else ""
        use = model.use(item, point, thread, address.verb)
        return Witness(address.array, "", element, (use,), given), ""
    return None, "" if over.complete else "no factor of its index follows from its terms"
