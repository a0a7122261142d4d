"""Two threads at one address: found by letting every writer sign its addresses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .evaluate import Integers, Mask

_FAR = 1 << 24
_WHOLE = (1 << 32) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where threads are at one access: addresses of the first lane, and who is there, as tables of (row, thread).

    `owners` is who each thread is; by default itself. Rows are iterations, say.
    """

    verb: Literal["reads", "writes", "updates"]
    addresses: Integers
    active: Mask
    lanes: int
    owners: Integers | None = None


@dataclass(frozen=True, slots=True)
class Spot:
    """The entry of a table: which one, which row and thread of it."""

    table: int
    row: int
    thread: int


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two entries with different owners at one address, at least one of which changes it."""

    address: int
    first: Spot
    second: Spot


@dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """Accesses one by one: address, owner, and where it stands."""

    at: Integers
    owner: Integers
    mark: Integers


def meet(places: Sequence[Places]) -> Meeting | None:
    """A meeting, if there is one. Updates do not disturb one another.

    The last signature at an address stays; a writer who finds another's, or a reader who finds a stranger's, has met
    somebody; if nobody has, each address has one writer, and only he reads it.
    """
    listed = {verb: _entries(places, verb) for verb in ("writes", "updates", "reads")}
    everywhere = np.concatenate([e.at for e in listed.values()])
    if not everywhere.size:
        return None
    low = int(everywhere.min())
    if int(everywhere.max()) - low <= _FAR:
        listed = {v: _Entries(e.at - low, e.owner, e.mark) for v, e in listed.items()}
        span, back = int(everywhere.max()) - low + 1, None
    else:
        back, inverse = np.unique(everywhere & _WHOLE, return_inverse=True)
        ends = np.cumsum([e.at.size for e in listed.values()])[:-1]
        parts = np.split(inverse, ends)
        listed = {v: _Entries(p, e.owner, e.mark) for (v, e), p in zip(listed.items(), parts, strict=True)}
        span = back.size
    found = _disturbed(listed["writes"], list(listed.values()), span) or _updated(
        listed["updates"], listed["reads"], span
    )
    if found is None:
        return None
    at, first, second = found
    return Meeting(at + low if back is None else int(back[at]), _spot(places, first), _spot(places, second))


def _entries(places: Sequence[Places], verb: str) -> _Entries:
    at, owner, mark = [], [], []
    start = 0
    for table in places:
        if table.verb == verb:
            active = np.broadcast_to(table.active, np.broadcast_shapes(table.active.shape, table.addresses.shape))
            rows, threads = np.nonzero(active)
            where = np.broadcast_to(table.addresses, active.shape)[rows, threads]
            who = threads if table.owners is None else np.broadcast_to(table.owners, active.shape)[rows, threads]
            lanes = np.arange(table.lanes)
            at.append((where[:, None] + lanes).ravel())
            owner.append(np.repeat(who, table.lanes))
            mark.append(np.repeat(start + rows * active.shape[1] + threads, table.lanes))
        start += _size(table)
    if not at:
        none = np.zeros(0, np.int64)
        return _Entries(none, none, none)
    return _Entries(np.concatenate(at), np.concatenate(owner), np.concatenate(mark))


def _size(table: Places) -> int:
    rows, threads = np.broadcast_shapes(table.active.shape, table.addresses.shape)
    return int(rows * threads)


def _disturbed(writes: _Entries, others: list[_Entries], span: int) -> tuple[int, int, int] | None:
    """A writer and somebody else at one address."""
    if not writes.at.size:
        return None
    signed = np.full(span, -1, np.int64)
    signed[writes.at] = np.arange(writes.at.size)
    for entries in others:
        last = signed[entries.at]
        met = (last >= 0) & (writes.owner[last] != entries.owner)
        if met.any():
            i = int(np.argmax(met))
            return int(entries.at[i]), int(writes.mark[last[i]]), int(entries.mark[i])
    return None


def _updated(updates: _Entries, reads: _Entries, span: int) -> tuple[int, int, int] | None:
    """A reader at an address that somebody else updates: the first or the last of those who do."""
    if not updates.at.size or not reads.at.size:
        return None
    order = np.argsort(updates.owner, kind="stable")
    for turn in (order, order[::-1]):
        signed = np.full(span, -1, np.int64)
        signed[updates.at[turn]] = turn
        last = signed[reads.at]
        met = (last >= 0) & (updates.owner[last] != reads.owner)
        if met.any():
            i = int(np.argmax(met))
            return int(reads.at[i]), int(updates.mark[last[i]]), int(reads.mark[i])
    return None


def _spot(places: Sequence[Places], mark: int) -> Spot:
    for i, table in enumerate(places):
        if mark < _size(table):
            threads = np.broadcast_shapes(table.active.shape, table.addresses.shape)[1]
            return Spot(i, mark // threads, mark % threads)
        mark -= _size(table)
    raise AssertionError("a mark beyond the tables")
