"""One dimension of a placement as digits of its index: who has which digit, and how many elements that is.

Law: with the extents of the digits multiplied up to a stride for each, the innermost first, a device holds index x if
and only if `x // stride % extent` is its coordinate along the axis, for every digit of an axis. The digits without an
axis are local memory. The last digit that moves an index below `extent` is cut short there; digits beyond it have
extent 1, so that the first device holds all and the others nothing.

Each index then has one device along the axes that cut the dimension. So sums over devices are counts of indices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, lcm, prod

from ..errors import LayoutError
from ..layout import Layout
from .modes import Mode
from .placement import modes_of, placement_layout

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
        modes = [(n, s, axis) for axis, (n, s) in enumerate(modes_of(layout[0])) if s and n > 1]
        local = [(n, s, LOCAL) for n, s in modes_of(layout[1]) if n > 1]
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

    def reordered(self, mesh: tuple[int, ...]) -> Iterator[tuple[int, int, Digits, int]]:
        """Two digits of axes side by side change places: (inner axis, outer axis, the digits then, indices that stay).

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
            # u + n * v is v + m * u where u * (m - 1) is v * (n - 1).
            common = gcd(n - 1, m - 1)
            still = [t * (n - 1) // common + n * (t * (m - 1) // common) for t in range(common + 1)]
            kept = sum(_with_digit(self.extent, stride, n * m, block) for block in still)
            yield a, b, Digits(self.extent, _normal(self.extent, digits)), kept

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


def equal_digits(extent: int, a: Mode, b: Mode) -> int | None:
    """How many indices below `extent` have equal digits at two positions (extent, stride); None if that is not decided.

    >>> equal_digits(16, (4, 1), (4, 4)), equal_digits(16, (4, 1), (4, 2)), equal_digits(9, (2, 1), (2, 4))
    (4, 4, 5)
    """
    (small, low), (large, high) = sorted((a, b), key=lambda mode: mode[1])
    if low * small <= high and high % (low * small) == 0:
        # Two digits apart: for each value of the outer one, the indices of a block that have it inside too.
        whole, rest = divmod(extent, high * large)
        total = 0
        for value in range(min(small, large)):
            total += whole * _with_digit(high, low, small, value)
            total += _with_digit(max(0, min(high, rest - value * high)), low, small, value)
        return total
    unit = gcd(low, high)
    period = lcm(low * small, high * large)
    if min(period, extent) // unit > MOST_COMPARED:
        return None

    def below(bound: int) -> int:
        """How many indices below a bound, in blocks of `unit`."""
        return sum(min(unit, bound - x) for x in range(0, bound, unit) if x // low % small == x // high % large)

    whole, rest = divmod(extent, period)
    return whole * (below(period) if whole else 0) + below(rest)


def paired_digits(a: Digits, b: Digits, first: int, second: int) -> int:
    """How many pairs of an index of `a` and one of `b` have equal digits, of the axis `first` and of `second`."""
    (n, s), (m, t) = a.position(first), b.position(second)
    # A digit's count is one number up to some value, another at it, a third beyond: three runs each, at most five.
    bounds = {0, min(n, m)}
    for extent, stride, count in ((a.extent, s, n), (b.extent, t, m)):
        edge = extent % (stride * count) // stride
        bounds |= {value for value in (edge, edge + 1) if value < min(n, m)}
    marks = sorted(bounds)
    return sum(
        (after - value) * _with_digit(a.extent, s, n, value) * _with_digit(b.extent, t, m, value)
        for value, after in pairwise(marks)
    )


def _with_digit(extent: int, stride: int, count: int, value: int) -> int:
    """How many indices below `extent` have the digit `value` at a stride, of `count` values."""
    whole, rest = divmod(extent, stride * count)
    return whole * stride + max(0, min(stride, rest - value * stride))


def all_elements(mesh: tuple[int, ...], dims: tuple[Digits, ...]) -> int:
    """How many elements all devices hold, copies counted: each index has one device along the axes that cut."""
    cutting = set().union(*(d.axes for d in dims))
    return prod(d.extent for d in dims) * prod(n for axis, n in enumerate(mesh) if axis not in cutting)
