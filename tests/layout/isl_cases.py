"""A second judge: layouts as relations over the integers, decided by isl, which knows nothing of layouts.

A layout is the relation of index and offset with its coordinates between them, a map of bits one with the bits between
them. isl composes, inverts and compares such relations exactly. `tools/fuzz/isl.py` runs 10,000 cases an operation.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import islpy as isl
from layout.cases import random_layout, random_operand
from layout.composed_cases import random_swizzle

from cutepy import (
    ComposedLayout,
    Layout,
    complement,
    composition,
    is_bijective,
    is_injective,
    is_surjective,
    left_inverse,
    right_inverse,
)
from cutepy.errors import CutepyError
from cutepy.layout.values.bit_map import OfBits
from cutepy.layout.values.composed import Function
from cutepy.layout.values.int_tuple import leaves

AnyLayout = Layout | ComposedLayout
MOST_WORK = 40_000
"""Operations of isl for one case; those that take more are left undecided, and drawn anew."""


@lru_cache(4096)
def read(text: str) -> isl.Map:
    """The relation that a text is; reading it is no work of the case."""
    isl.DEFAULT_CONTEXT.set_max_operations(0)
    made = isl.Map(text)
    isl.DEFAULT_CONTEXT.set_max_operations(MOST_WORK)
    return made


@lru_cache(4096)
def read_set(text: str) -> isl.Set:
    return read(text.replace("{ [i] :", "{ [0] -> [i] :")).range()


def of_layout(layout: Layout, ends: bool = True) -> isl.Map:
    """{ index -> offset }, with the coordinates between; without an end the last mode goes on."""
    pairs = [(s, d) for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True)] or [(1, 0)]
    index, offset, bounds, size = [], [], [], 1
    for k, (extent, step) in enumerate(pairs):
        index.append(f"{size}*c{k}")
        offset.append(f"{step}*c{k}")
        last = k == len(pairs) - 1 and not ends
        bounds.append(f"0 <= c{k}" + ("" if last else f" < {extent}"))
        size *= extent
    names = ", ".join(f"c{k}" for k in range(len(pairs)))
    made = f"i = {' + '.join(index)} and o = {' + '.join(offset)} and {' and '.join(bounds)}"
    return read(f"{{ [i] -> [o] : exists ({names} : {made}) }}")


def of_bits(function: OfBits) -> isl.Map:
    """{ offset -> offset }: a translation for each value of the bits below the span."""
    span = function.span
    moves: dict[int, list[int]] = {}
    for x in range(span):
        moves.setdefault(function(x) - x, []).append(x)
    pieces = [
        f"[x] -> [x {by:+d}] : exists (h, r : x = {span}*h + r and ({' or '.join(within(at))}))"
        for by, at in moves.items()
    ]
    return read(f"{{ {'; '.join(pieces)} }}")


def within(numbers: list[int]) -> list[str]:
    """Increasing numbers as intervals."""
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    return [f"{low} <= r <= {high}" for low, high in zip(starts, ends, strict=True)]


def relation(function: Function, ends: bool = True) -> isl.Map:
    """{ index -> value } of any function; a layout outside goes on in its last mode."""
    if isinstance(function, Layout):
        return of_layout(function, ends)
    if isinstance(function, OfBits):
        return of_bits(function)
    moved = read(f"{{ [i] -> [i + {function.offset}] }}")
    return relation(function.inner, ends).apply_range(moved).apply_range(relation(function.outer, False))


def image(function: Function) -> isl.Set:
    """{ value }: of a layout the sums of what its modes reach, from small steps to large, joined as they come."""
    if not isinstance(function, Layout):
        assert isinstance(function, ComposedLayout)
        moved = read(f"{{ [i] -> [i + {function.offset}] }}")
        return image(function.inner).apply(moved).apply(relation(function.outer, False))
    reached = interval(1)
    for step, extent in sorted(zip(leaves(function.stride), leaves(function.shape), strict=True)):
        if extent > 1 and step:
            along = read_set(f"{{ [i] : exists (c : i = {step}*c and 0 <= c < {extent}) }}")
            reached = sums(reached, along).range().coalesce()
    return reached


def interval(end: int) -> isl.Set:
    return read_set(f"{{ [i] : 0 <= i < {end} }}")


def never(found: isl.Map, sign: str) -> bool:
    """No pair of the relation is so related: a question for isl of one system of equations, not of a difference."""
    return bool(found.intersect(read(f"{{ [i] -> [j] : i {sign} j }}")).is_empty())


def operand(rng: random.Random, swizzled: bool) -> AnyLayout:
    """A layout of offsets from 0, small enough for isl; a swizzle after it."""
    kind = rng.choice(("compact", "compact", "permuted", "permuted", "padded", "zeros", "random"))
    layout = random_layout(rng, rng.choice((8, 24, 64)), kind)
    return ComposedLayout(random_swizzle(rng, 5), rng.choice((0, 0, 0, 4)), layout) if swizzled else layout


def composes(rng: random.Random, swizzled: bool) -> bool:
    outer = operand(rng, swizzled and rng.random() < 0.6)
    plain = outer if isinstance(outer, Layout) else outer.inner
    inner: AnyLayout = random_operand(rng, plain)
    if min(leaves(inner.stride)) < 0 or inner.size > 64:
        inner = operand(rng, False)
    if swizzled and isinstance(outer, Layout):
        inner = ComposedLayout(random_swizzle(rng, 5), 0, inner)
    found = composition(outer, inner)
    pairs = relation(found).reverse().apply_range(relation(inner)).apply_range(relation(outer, False))
    total = image(inner).is_subset(read_set("{ [i] : 0 <= i }"))  # every function is defined from 0 on
    return bool(total) and found.size == inner.size and never(pairs, "<") and never(pairs, ">")


def inverts_right(rng: random.Random, swizzled: bool) -> bool:
    layout = operand(rng, swizzled)
    found = right_inverse(layout)
    back = relation(found)
    stays = back.range().is_subset(interval(layout.size))
    identity = read("{ [i] -> [i] }").intersect_domain(interval(found.size))
    return bool(stays and back.apply_range(relation(layout)).is_equal(identity))


def inverts_left(rng: random.Random, swizzled: bool) -> bool:
    layout = operand(rng, swizzled)
    found = left_inverse(layout)
    reached = image(layout)
    back = relation(found, False).intersect_domain(reached)
    again = back.apply_range(relation(layout, False))
    return bool(reached.is_subset(again.domain())) and never(again, "<") and never(again, ">")


def sums(left: isl.Set, right: isl.Set) -> isl.Map:
    """{ (a, b) -> a + b } for a and b of two sets."""
    pairs = left.flat_product(right)
    return read("{ [a, b] -> [a + b] }").intersect_domain(pairs)


def complements(rng: random.Random, _swizzled: bool) -> bool:
    """The translates are disjoint and in order; and cover, where the strides divide one another in order."""
    layout, reach = operand(rng, False), rng.choice((16, 24, 48, 64, 96))
    assert isinstance(layout, Layout)
    found = complement(layout, reach)
    both = sums(image(layout), image(found))
    rising = read("{ [i] -> [j] : i < j }")
    shifts = relation(found)
    ordered = shifts.reverse().apply_range(rising).apply_range(shifts).is_subset(rising) if found.size > 1 else True
    pairs = sorted((d, s) for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True) if s > 1 and d)
    filled, even = 1, True
    for step, extent in pairs:
        even, filled = even and step % filled == 0, step * extent
    covers = not even or interval(reach).is_subset(both.range())
    return bool(both.is_injective() and ordered and covers)


def tells_injective(rng: random.Random, swizzled: bool) -> bool:
    layout = operand(rng, swizzled)
    return disjoint(layout) == is_injective(layout)


def disjoint(layout: AnyLayout) -> bool:
    """No two indices have one offset."""
    there = relation(layout)
    return never(there.apply_range(there.reverse()), "<")


def tells_cover(rng: random.Random, swizzled: bool) -> bool:
    layout = operand(rng, swizzled)
    reached = image(layout)
    between = reached.apply(read("{ [i] -> [j] : i <= j }")).intersect(reached.apply(read("{ [i] -> [j] : j <= i }")))
    whole = bool(between.is_subset(reached))
    return is_surjective(layout) == whole and is_bijective(layout) == (whole and disjoint(layout))


JUDGED: dict[str, Callable[[random.Random, bool], bool]] = {
    "composition": composes,
    "right_inverse": inverts_right,
    "left_inverse": inverts_left,
    "complement": complements,
    "disjoint (is_injective)": tells_injective,
    "cover (is_surjective, is_bijective)": tells_cover,
}


@dataclass(slots=True)
class Judgement:
    """How often isl agrees, how many calls are refused, how many it gives up on, and where it does not agree."""

    agreed: int = 0
    refused: int = 0
    undecided: int = 0
    against: list[str] = field(default_factory=list)


def judged(name: str, swizzled: bool, count: int, seed: object = 0) -> Judgement:
    """Random cases until isl has decided `count` of them."""
    rng, found = random.Random(f"isl {name} {swizzled} {seed}"), Judgement()
    while found.agreed + len(found.against) < count:
        isl.DEFAULT_CONTEXT.reset_operations()
        state = rng.getstate()
        try:
            verdict = JUDGED[name](rng, swizzled)
        except CutepyError:
            found.refused += 1
            continue
        except isl.Error as error:
            if "number of operations" not in str(error):
                raise
            found.undecided += 1
            continue
        if verdict:
            found.agreed += 1
        else:
            rng.setstate(state)
            found.against.append(f"{name}: {operand(rng, swizzled)} comes first in case {found}")
    return found
