"""Sums of independent modes, one dimension of an array at a time: which sums there are, how many, and how often.

A mode of extent n and stride s > 0 gives the numbers 0, s, ..., (n-1)s; a dimension's index is the sum of one number of
each mode. Every question is answered from extents and strides: no table of devices or elements is made.
"""

from collections.abc import Iterator, Sequence
from math import prod

#: A mode: extent and stride, both positive.
Mode = tuple[int, int]


def reach(modes: Sequence[Mode]) -> int:
    """The largest sum.

    >>> reach([(4, 1), (3, 10)])
    23
    """
    return sum((extent - 1) * stride for extent, stride in modes)


def digits_of(modes: Sequence[Mode], value: int) -> Iterator[tuple[int, ...]]:
    """Every choice of one digit a mode whose sum is `value`; for modes that do not overlap there is at most one.

    >>> list(digits_of([(4, 1), (3, 10)], 12)), list(digits_of([(3, 1), (2, 2)], 2))
    ([(2, 1)], [(2, 0), (0, 1)])
    """
    order = sorted(range(len(modes)), key=lambda k: -modes[k][1])

    def choose(depth: int, rest: int) -> Iterator[dict[int, int]]:
        if depth == len(order):
            if rest == 0:
                yield {}
            return
        extent, stride = modes[order[depth]]
        below = reach([modes[k] for k in order[depth + 1 :]])
        # What the smaller strides cannot reach must come from this mode.
        least = max(0, -(-(rest - below) // stride))
        for digit in range(least, min(extent - 1, rest // stride) + 1):
            for others in choose(depth + 1, rest - digit * stride):
                yield {order[depth]: digit, **others}

    found = [tuple(chosen[k] for k in range(len(modes))) for chosen in choose(0, value)]
    return iter(sorted(found, key=lambda digits: digits[::-1]))


def count_below(modes: Sequence[Mode], bound: int) -> int:
    """How many choices of digits have a sum below `bound`.

    >>> count_below([(4, 1), (3, 10)], 12), count_below([(4, 1), (3, 10)], 100)
    (6, 12)
    """
    if bound <= 0:
        return 0
    total = prod(extent for extent, _ in modes)
    if not modes or reach(modes) < bound:
        return total
    largest = max(range(len(modes)), key=lambda k: modes[k][1])
    extent, stride = modes[largest]
    rest = [*modes[:largest], *modes[largest + 1 :]]
    # Digits for which all of the rest fits, then those for which some of it does.
    whole = max(0, min(extent, (bound - 1 - reach(rest)) // stride + 1))
    counted = whole * (total // extent)
    for digit in range(whole, min(extent, (bound - 1) // stride + 1)):
        counted += count_below(rest, bound - digit * stride)
    return counted


def first_missing(modes: Sequence[Mode]) -> int:
    """The least number that is no sum.

    With the modes in order of stride, all numbers up to R are sums of the first ones. A next stride beyond R + 1 leaves
    R + 1 out for good, as every later stride is larger still; any other extends the run by its own reach.

    >>> first_missing([(4, 1), (3, 4)]), first_missing([(4, 1), (3, 5)])
    (12, 4)
    """
    top = 0
    for extent, stride in sorted(modes, key=lambda mode: mode[1]):
        if extent > 1:
            if stride > top + 1:
                break
            top += (extent - 1) * stride
    return top + 1


def first_doubled(modes: Sequence[Mode], bound: int) -> int | None:
    """The least sum below `bound` that two choices of digits have, None where there is none.

    Two choices differ by digits d with sum of d*s = 0; the least sum that they share has the positive part of d alone.

    >>> first_doubled([(4, 1), (3, 4)], 99), first_doubled([(4, 1), (3, 3)], 99), first_doubled([(4, 1), (3, 3)], 3)
    (None, 3, None)
    """
    order = sorted((mode for mode in modes if mode[0] > 1), key=lambda mode: mode[1])
    covered = 0
    for extent, stride in order:
        if stride <= covered:
            break
        covered += (extent - 1) * stride
    else:
        return None  # each stride is beyond all that the smaller ones reach: digits are unique

    best: list[int] = []

    def search(depth: int, total: int, positive: int) -> None:
        if positive >= (best[0] if best else bound):
            return
        if depth < 0:
            if total == 0 and positive > 0:
                best[:] = [positive]
            return
        extent, stride = order[depth]
        below = reach(order[:depth])
        least, most = -(-(-below - total) // stride), (below - total) // stride
        for digit in range(max(least, 1 - extent), min(most, extent - 1) + 1):
            search(depth - 1, total + digit * stride, positive + max(digit, 0) * stride)

    search(len(order) - 1, 0, 0)
    return best[0] if best else None
