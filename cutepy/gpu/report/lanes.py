"""What the threads of subgroups ask of memory at one access: segments touched, words wanted of each bank."""

from dataclasses import dataclass

import numpy as np

from ..verify.evaluate import Integers, Mask
from .figures import Hardware


@dataclass(frozen=True, slots=True)
class Cost:
    """Of all subgroups together: segments or rounds, those of a perfect pattern, and the worst conflict."""

    units: int
    perfect: int
    ways: int = 1


def segments(first: Integers, active: Mask, nbytes: int, hardware: Hardware) -> Cost:
    """Segments that each subgroup touches when thread t asks for `nbytes` from byte `first[t]` on.

    >>> Hardware().segment_bytes, segments(np.arange(32) * 8, np.ones(32, bool), 4, Hardware())
    (32, Cost(units=8, perfect=4, ways=1))
    """
    size = hardware.segment_bytes
    touched = _distinct(_rows(first, active, (nbytes, size), hardware.subgroup))
    wanted = _distinct(_rows(first, active, (nbytes, 2), hardware.subgroup))
    return Cost(int(touched.sum()), int((-(-wanted * 2 // size)).sum()))


def rounds(first: Integers, active: Mask, nbytes: int, hardware: Hardware) -> Cost:
    """Rounds in which the banks serve each subgroup, when thread t asks for `nbytes` from byte `first[t]` on.

    A bank serves one word of 4 bytes in a round, to all who want it. Accesses of 8 or 16 bytes are served to half or
    quarter subgroups, one after the other, as GPUs do.

    >>> rounds(np.arange(32) * 8, np.ones(32, bool), 4, Hardware())
    Cost(units=2, perfect=1, ways=2)
    """
    together = max(1, hardware.subgroup * 4 // max(4, nbytes))
    words = [_rows(part, on, (nbytes, 4), together) for part, on in _split(first, active, hardware.subgroup)]
    wanted = np.concatenate(words)
    fresh = _fresh(wanted)
    rows, columns = np.nonzero(fresh)
    per_bank = np.zeros((len(wanted), hardware.banks), np.int64)
    np.add.at(per_bank, (rows, wanted[rows, columns] % hardware.banks), 1)
    ways = per_bank.max(axis=1)
    return Cost(int(ways.sum()), int((-(-per_bank.sum(axis=1) // hardware.banks)).sum()), max(1, int(ways.max())))


def _split(first: Integers, active: Mask, width: int) -> list[tuple[Integers, Mask]]:
    """The subgroups one by one, if threads that are served together must not come from two of them."""
    if len(first) % width == 0 or len(first) < width:
        return [(first, active)]
    whole = len(first) // width * width
    return [(first[:whole], active[:whole]), (first[whole:], active[whole:])]


def _rows(first: Integers, active: Mask, sizes: tuple[int, int], width: int) -> Integers:
    """The units that each `width` consecutive threads ask for, sorted, -1 for none; `sizes` are (nbytes, unit)."""
    nbytes, unit = sizes
    most = (nbytes + unit - 2) // unit + 1
    units = first[:, None] // unit + np.arange(most)
    inside = active[:, None] & (units <= ((first + nbytes - 1) // unit)[:, None])
    values = np.where(inside, units, -1)
    missing = -len(values) % width
    padded = np.concatenate([values, np.full((missing, most), -1, np.int64)])
    return np.sort(padded.reshape(-1, width * most), axis=1)


def _fresh(rows: Integers) -> Mask:
    """Where a sorted row has a value for the first time."""
    first = rows[:, :1] >= 0
    return np.concatenate([first, (rows[:, 1:] != rows[:, :-1]) & (rows[:, 1:] >= 0)], axis=1)


def _distinct(rows: Integers) -> Integers:
    """How many different values each sorted row has."""
    found: Integers = _fresh(rows).sum(axis=1)
    return found
