"""How often an access happens and in how many ways it looks: sums over ids that are independent are taken apart.

What a subgroup costs depends on the addresses of its threads only up to whole segments (or whole rows of banks), and on
who takes part. Ids that guards tie to threads are tried in all combinations; of the others only the remainder of what
they add is counted, one id at a time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from ..evaluate import Array, Integers, Mask
from ..ir import Const, Expr
from ..ranges import linear
from ..verify.model import Domain, Loop, Model, environment, happens, ids_of, total, typed, unknowns

_MOST = 1 << 24


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The addresses of the threads of a workgroup, in elements, and who takes part; seen `times` times."""

    addresses: Integers
    active: Mask
    times: int


@dataclass(slots=True, eq=False)
class Counter:
    """The views of an index under guards and loops. `exact` turns False where guards had to be left out."""

    model: Model
    index: Expr
    guards: tuple[Expr, ...]
    loops: tuple[Loop, ...]
    exact: bool = True

    def views(self, modulus: int) -> Iterator[View]:
        """All views, with addresses up to multiples of `modulus`."""
        model = self.model
        known = [g for g in self.guards if not unknowns(model, [g])]
        self.exact = len(known) == len(self.guards)
        terms = linear(self.index).terms
        mixed = {atom for atom in terms if self._is_mixed(atom)}
        joint = self._joined(ids_of(model, [*known, *mixed]), terms)
        if self._size(joint) * model.threads > _MOST:
            self.exact = False
            known = [g for g in known if not ids_of(model, [g])]
            joint = self._joined(ids_of(model, [*known, *mixed]), terms)
        added, free = self._added(terms, joint, modulus)
        for addresses, active, times in self._rows(known, terms, joint, modulus):
            for by in np.flatnonzero(added).tolist():
                yield View(addresses + by, active, times * int(added[by]) * free)

    def _is_mixed(self, atom: Expr) -> bool:
        leaves = self.model.leaves(atom)
        return self.model.tid in leaves and len(leaves) > 1

    def _joined(self, ids: set[Expr], terms: Iterable[Expr]) -> set[Expr]:
        """`ids` with all that stand in a term with one of them."""
        groups = [ids_of(self.model, [atom]) for atom in terms]
        while any(group & ids and not group <= ids for group in groups):
            ids = ids.union(*(group for group in groups if group & ids))
        return ids

    def _size(self, ids: Iterable[Expr]) -> int:
        return prod(self.model.extent(i) for i in ids)

    def _added(self, terms: dict[Expr, int], joint: set[Expr], modulus: int) -> tuple[Integers, int]:
        """How often the terms without joint ids add each remainder; and how many values the other ids have."""
        model = self.model
        counts = np.zeros(modulus, np.int64)
        counts[0] = 1
        seen = set(joint)
        for atom in terms:
            ids = ids_of(model, [atom]) - seen
            if not ids:
                continue
            together = self._joined(ids, terms)
            seen |= together
            part = _remainders(
                self, {a: f for a, f in terms.items() if ids_of(model, [a]) & together}, together, modulus
            )
            rolled = [np.roll(counts, by) * int(part[by]) for by in np.flatnonzero(part).tolist()]
            counts = np.sum(rolled, axis=0)
        everything = {g for g in model.groups if not isinstance(g, Const)} | {loop.index for loop in self.loops}
        return counts, self._size(everything - seen)

    def _rows(
        self, guards: list[Expr], terms: dict[Expr, int], joint: set[Expr], modulus: int
    ) -> Iterator[tuple[Integers, Mask, int]]:
        """The different rows of addresses and of who takes part, over all combinations of joint ids."""
        model = self.model
        env = environment(model, _all_of(model, joint))
        memo: dict[Expr, Array] = {}
        active = happens(guards, env, memo)
        here = {atom: c for atom, c in terms.items() if ids_of(model, [atom]) <= joint}
        table = np.broadcast_to(total(here, env, memo) + linear(self.index).constant, active.shape)
        table = table - table.min(axis=1, keepdims=True) // modulus * modulus
        seen: dict[bytes, list[int]] = {}
        for row in range(len(active)):
            seen.setdefault(table[row].tobytes() + active[row].tobytes(), []).append(row)
        for found in seen.values():
            yield table[found[0]], active[found[0]], len(found)


def _remainders(counter: Counter, terms: dict[Expr, int], ids: set[Expr], modulus: int) -> Integers:
    """How often a sum over `ids` has each remainder."""
    model = counter.model
    if len(ids) == 1 and set(terms) == ids:
        (leaf,) = ids
        whole, rest = divmod(model.extent(leaf), modulus)
        steps = terms[leaf] * np.arange(modulus) % modulus
        return whole * np.bincount(steps, minlength=modulus) + np.bincount(steps[:rest], minlength=modulus)
    return np.bincount(total(terms, typed(_all_of(model, ids)), {}) % modulus, minlength=modulus)


def _all_of(model: Model, ids: Iterable[Expr]) -> dict[Expr, Integers]:
    """All combinations of the values of `ids`."""
    ordered = sorted(ids, key=str)
    return Domain(tuple(ordered), tuple(np.arange(model.extent(i)) for i in ordered), True).every
