"""One dimension of a placement as digits of its index: who has which digit, and how many elements that is.

Law: with the extents of the digits multiplied up to a stride for each, the innermost first, a device holds index x if
and only if `x // stride % extent` is its coordinate along the axis, for every digit of an axis. The digits without an
axis are local memory. The last digit that moves an index below `extent` is cut short there; digits beyond it have
extent 1, so that the first device holds all and the others nothing.

Each index then has one device along the axes that cut the dimension. So sums over devices are counts of indices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import gcd, lcm, prod

from ..errors import LayoutError
from ..layout import Layout, flat_modes
from .modes import Mode
from .placement import placement_layout

#: The axis of a digit of local memory.
LOCAL = -1
#: How many digits are compared one by one where two positions of an axis overlap.
MOST_COMPARED = 1 << 16


@dataclass(frozen=True, slots=True)
class Digits:
    """The digits of an index below `extent`, the innermost first: (extent, axis of the mesh or LOCAL)."""

    extent: int
    digits: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return " ".join(f"{n}" if axis == LOCAL else f"{n}:{axis}" for n, axis in self.digits) or "1"

    @classmethod
    def of(cls, extent: int, mesh: tuple[int, ...], layout: Layout) -> Digits:
        """The digits that a layout (device, local index) -> index has.

        Raises LayoutError, with an index, where its modes are no digits: they overlap, leave gaps or are out of order.
        """
        modes = [(n, s, axis) for axis, (n, s) in enumerate(flat_modes(layout[0])) if s and n > 1]
        local = [(n, s, LOCAL) for n, s in flat_modes(layout[1]) if n > 1]
        if any(s > after for (_, s, _), (_, after, _) in pairwise(local)):
            raise LayoutError(
                f"local memory of {layout} is not in the order of the index: index {int(layout[1](1))} is next to 0"
            )
        digits, tail, stride = [], [], 1
        for n, s, axis in sorted([*modes, *local], key=lambda mode: (mode[1] >= extent, mode[1], mode[2])):
            if s >= extent:
                tail += [(1, axis)] if axis != LOCAL else []
                continue
            if s != stride:
                raise LayoutError(
                    f"the modes of {layout} are no digits of an index: those below stride {s} end at {stride - 1}: "
                    f"index {min(s, stride)} {'has no device' if s > stride else 'has two places'}"
                )
            n = min(n, -(-extent // s))
            digits.append((n, axis))
            stride *= n
        if stride < extent:
            raise LayoutError(f"no device holds index {stride} of {extent} in {layout}")
        return cls(extent, _normal(extent, [*digits, *sorted(tail, key=lambda digit: digit[1])]))

    def layout(self, mesh: tuple[int, ...]) -> Layout:
        """The layout (device, local index) -> index."""
        strides, local, stride = [0] * len(mesh), [], 1
        for n, axis in self.digits:
            if axis == LOCAL:
                local.append((n, stride))
            else:
                strides[axis] = self.extent if n == 1 else stride
            stride *= n
        return placement_layout(mesh, strides, local)

    @property
    def axes(self) -> set[int]:
        """The axes that cut this dimension."""
        return {axis for _, axis in self.digits} - {LOCAL}

    @property
    def gaps(self) -> int:
        """How many times a device's indices are interrupted by those of others, digit by digit."""
        return max(0, sum(axis == LOCAL for _, axis in self.digits) - 1)

    def position(self, axis: int) -> Mode:
        """The extent and the stride of the digit of an axis."""
        stride = 1
        for n, at in self.digits:
            if at == axis:
                return n, stride
            stride *= n
        raise KeyError(axis)

    def without(self, axis: int) -> Digits:
        """The axis' digit becomes local: each device holds what all along the axis held."""
        return Digits(self.extent, _normal(self.extent, [(n, LOCAL if at == axis else at) for n, at in self.digits]))

    def renamed(self, names: dict[int, int]) -> Digits:
        """Other axes have the digits."""
        moved = [(n, names.get(at, at)) for n, at in self.digits]
        body, tail = [d for d in moved if d[0] > 1], sorted((d for d in moved if d[0] == 1), key=lambda d: d[1])
        return Digits(self.extent, (*body, *tail))

    def reordered(self, mesh: tuple[int, ...]) -> Iterator[tuple[int, int, Digits]]:
        """Two digits of axes side by side change places: (inner axis, outer axis, the digits then).

        Device (u, v) had block u + n * v of the indices and has block v + m * u: each block goes to one other device.
        """
        body = [digit for digit in self.digits if digit[0] > 1]
        tail = [digit for digit in self.digits if digit[0] == 1]
        pairs = [(k, body[k + 1]) for k in range(len(body) - 1)] + [(len(body) - 1, after) for after in tail if body]
        for k, (_, b) in pairs:
            a, stride = body[k][1], prod(n for n, _ in body[:k])
            if LOCAL in (a, b):
                continue
            n, m = mesh[a], mesh[b]
            top = k + 2 >= len(body)
            blocks = min(n * m, -(-self.extent // stride)) if top else n * m
            inner = min(m, blocks)
            rest = [*body[k + 2 :], *(digit for digit in tail if digit[1] != b)]
            digits = [*body[:k], (inner, b), (-(-blocks // inner), a), *rest]
            yield a, b, Digits(self.extent, _normal(self.extent, digits))

    def cut(self, axis: int, devices: int, strides: set[int]) -> Iterator[Digits]:
        """The axis takes a part of a local digit: the outermost, or the one at one of these strides.

        A digit that is not the last one must be divided; of the last one what lies beyond the extent is no index.
        """
        stride, last = 1, max((k for k, (n, _) in enumerate(self.digits) if n > 1), default=-1)
        if all(at != LOCAL for _, at in self.digits):
            # Nothing is left to cut: the first device keeps the one index, the others have none.
            yield Digits(self.extent, _normal(self.extent, [*self.digits, (1, axis)]))
        for k, (n, at) in enumerate(self.digits):
            if at == LOCAL:
                for inner in {-(-n // devices), *(s // stride for s in strides if s % stride == 0)}:
                    outer = -(-n // (inner * devices))
                    if 0 < inner < n and (n == inner * devices * outer or k == last):
                        taken = min(devices, -(-n // inner))
                        split = [(inner, LOCAL), (taken, axis), (outer, LOCAL)]
                        yield Digits(
                            self.extent, _normal(self.extent, [*self.digits[:k], *split, *self.digits[k + 1 :]])
                        )
            stride *= n


def _normal(extent: int, digits: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """One spelling of what devices hold: local digits side by side are one, of extent 1 none; axes of extent 1 stand
    last, in order; the last digit ends where the extent does."""
    body: list[tuple[int, int]] = []
    for n, axis in digits:
        if n > 1 and axis == LOCAL and body and body[-1][1] == LOCAL:
            body[-1] = body[-1][0] * n, LOCAL
        elif n > 1:
            body.append((n, axis))
    if body:
        inner = prod(n for n, _ in body[:-1])
        body[-1] = min(body[-1][0], -(-extent // inner)), body[-1][1]
    return (*body, *sorted(((n, axis) for n, axis in digits if n == 1 and axis != LOCAL), key=lambda d: d[1]))


#: Where a digit stands: (dimension, extent, stride).
At = tuple[int, int, int]


def matching(extents: Sequence[int], equal: Sequence[tuple[At, At]]) -> int | None:
    """How many elements of an array have, for each of the pairs, equal digits at both; None if that is not decided.

    >>> matching([16], [((0, 4, 1), (0, 4, 4))]), matching([9], [((0, 2, 1), (0, 2, 4))]), matching([4, 6], [])
    (4, 5, 24)
    """
    # A digit whose stride is the extent or more is 0: it is that of a dimension with one index.
    sizes = [*extents, 1]
    pairs = [[at if at[2] < sizes[at[0]] else (len(extents), at[1], 1) for at in (*pair,)] for pair in equal]
    involved = sorted({at[0] for pair in pairs for at in pair} - {len(extents)})
    others = prod(n for j, n in enumerate(extents) if j not in involved)
    bounds = _refined(pairs, len(sizes))
    count = _listed(sizes, pairs) if bounds is None else _boxed(sizes, pairs, bounds)
    return None if count is None else others * count


def _refined(pairs: Sequence[Sequence[At]], dims: int) -> list[list[int]] | None:
    """For each dimension the strides at which its index is cut so that equal digits are equal digit by digit; None
    where some stride does not divide the next."""
    bounds = [{1} for _ in range(dims)]
    for dim, n, s in (at for pair in pairs for at in pair):
        bounds[dim] |= {s, s * n}
    while True:
        before = [len(b) for b in bounds]
        for pair in pairs:
            cuts = set()
            for dim, n, s in pair:
                cuts |= {Fraction(b, s) for b in bounds[dim] if s <= b <= s * n}
            if any(cut.denominator > 1 for cut in cuts):
                return None
            for dim, _, s in pair:
                bounds[dim] |= {s * int(cut) for cut in cuts}
        if before == [len(b) for b in bounds]:
            break
    chains = [sorted(b) for b in bounds]
    return None if any(high % low for chain in chains for low, high in pairwise(chain)) else chains


def _boxed(sizes: Sequence[int], pairs: Sequence[Sequence[At]], bounds: Sequence[Sequence[int]]) -> int:
    """The count where digits are equal digit by digit: the indices below a size are boxes of digits."""
    group: dict[tuple[int, int], tuple[int, int]] = {}

    def root(node: tuple[int, int]) -> tuple[int, int]:
        while group.get(node, node) != node:
            node = group[node]
        return node

    for first, second in pairs:
        inner = [[k for k, b in enumerate(bounds[dim]) if s <= b < s * n] for dim, n, s in (first, second)]
        for a, b in zip(*inner, strict=True):
            group[root((first[0], a))] = root((second[0], b))
    dims = sorted({at[0] for pair in pairs for at in pair})
    total = 0
    for boxes in product(*(_boxes(sizes[dim], bounds[dim]) for dim in dims)):
        ranges: dict[tuple[int, int], tuple[int, int]] = {}
        for dim, box in zip(dims, boxes, strict=True):
            for k, (low, high) in enumerate(box):
                node = root((dim, k))
                least, most = ranges.get(node, (low, high))
                ranges[node] = max(low, least), min(high, most)
        total += prod(max(0, high - low) for low, high in ranges.values())
    return total


def _boxes(size: int, bounds: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """The indices below `size` as ranges of digits: those whose digit k is the first, from the outermost on, below that
    of `size`."""
    extents = [high // low for low, high in pairwise(bounds)]
    digits = [size // low % n for low, n in zip(bounds, extents, strict=False)] + [size // bounds[-1]]
    for k, digit in enumerate(digits):
        if digit:
            yield [*((0, n) for n in extents[:k]), (0, digit), *((d, d + 1) for d in digits[k + 1 :])]


def _listed(sizes: Sequence[int], pairs: Sequence[Sequence[At]]) -> int | None:
    """The count by listing the values of each dimension's digits; None where they are more than MOST_COMPARED."""
    dims = sorted({at[0] for pair in pairs for at in pair})
    found: dict[tuple[int | None, ...], int] = {(None,) * len(pairs): 1}
    for dim in dims:
        ends = [(k, n, s) for k, pair in enumerate(pairs) for at, n, s in pair if at == dim]
        unit, period = gcd(*(s for _, _, s in ends)), lcm(*(n * s for _, n, s in ends))
        if len(dims) > 1 or period > sizes[dim]:
            period = sizes[dim]
        if period // unit > MOST_COMPARED:
            return None
        table: dict[tuple[int | None, ...], int] = {}
        whole, rest = divmod(sizes[dim], period)
        for x in range(0, period, unit):
            values: dict[int, set[int]] = {}
            for k, n, s in ends:
                values.setdefault(k, set()).add(x // s % n)
            if all(len(one) == 1 for one in values.values()):
                key = tuple(min(values[k]) if k in values else None for k in range(len(pairs)))
                weight = whole * min(unit, period - x) + max(0, min(unit, rest - x))
                table[key] = table.get(key, 0) + weight
        joined: dict[tuple[int | None, ...], int] = {}
        shared = [k for k in {k for k, _, _ in ends} if any(at[0] in dims[: dims.index(dim)] for at in pairs[k])]
        by_shared: dict[tuple[int | None, ...], list[tuple[tuple[int | None, ...], int]]] = {}
        for key, weight in table.items():
            by_shared.setdefault(tuple(key[k] for k in shared), []).append((key, weight))
        for left, count in found.items():
            for right, weight in by_shared.get(tuple(left[k] for k in shared), ()):
                both = tuple(b if a is None else a for a, b in zip(left, right, strict=True))
                joined[both] = joined.get(both, 0) + count * weight
        found = joined
    return sum(found.values())


def all_elements(mesh: tuple[int, ...], dims: tuple[Digits, ...]) -> int:
    """How many elements all devices hold, copies counted: each index has one device along the axes that cut."""
    cutting = set().union(*(d.axes for d in dims))
    return prod(d.extent for d in dims) * prod(n for axis, n in enumerate(mesh) if axis not in cutting)
