"""Random layouts for the laws: every kind that people write, and the kinds that break peers.

Sizes to 512, ranks to 6, depths to 4; compact, permuted, padded, random, zero and negative strides; operands that
divide and operands that do not. `CUTEPY_CASES` sets the number of cases of a law (10,000 for the published figures).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from itertools import pairwise
from math import prod

from cutepy.layout import Layout, flatten
from cutepy.layout.values.int_tuple import IntTuple, leaves

CASES = int(os.environ.get("CUTEPY_CASES", "400"))
EXTENTS = (1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 6, 7, 8, 9, 12, 16)


def cases(usual: int) -> int:
    """How many cases of a law that is not tried `CASES` times, but `usual` where these are 400."""
    return max(1, usual * CASES // 400)


def generator(law: str) -> random.Random:
    """A stream of its own for each law, the same on every run."""
    return random.Random(f"cutepy {law}")


def random_shape(rng: random.Random, size_limit: int = 512, depth: int = 4, rank: int = 6) -> IntTuple:
    """A nested shape with at most `size_limit` coordinates."""
    budget = [size_limit]

    def build(level: int) -> IntTuple:
        if level == 0 or rng.random() < 0.55:
            extent = rng.choice([e for e in EXTENTS if e <= budget[0]])
            budget[0] //= extent
            return extent
        return tuple(build(level - 1) for _ in range(rng.randint(1, 3)))

    if rng.random() < 0.15:
        return rng.choice([e for e in (*EXTENTS, 24, 30, 36, 60, 64) if e <= size_limit])
    return tuple(build(depth - 1) for _ in range(rng.randint(1, rank)))


def random_strides(rng: random.Random, shape: IntTuple, kind: str | None = None) -> IntTuple:
    """Strides of one kind for `shape`."""
    extents = leaves(shape)
    kind = kind or rng.choice(["compact", "compact", "permuted", "permuted", "padded", "random", "zeros", "negative"])
    order = list(range(len(extents)))
    if kind != "compact":
        rng.shuffle(order)
    strides = [0] * len(extents)
    running = 1
    for leaf in order:
        if kind in ("padded", "zeros", "negative") and rng.random() < 0.3:
            running *= rng.choice((2, 3, 5))
        strides[leaf] = running
        running = running * extents[leaf] + (rng.choice((0, 0, 1, 2)) if kind == "padded" else 0)
    if kind == "random":
        strides = [rng.choice((0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24)) for _ in extents]
    if kind == "zeros":
        strides = [0 if rng.random() < 0.4 else d for d in strides]
    if kind == "negative":
        strides = [-d if rng.random() < 0.4 else d for d in strides]
    return refold(strides, shape)


def refold(flat: list[int], shape: IntTuple) -> IntTuple:
    entries = iter(flat)

    def build(part: IntTuple) -> IntTuple:
        return tuple(map(build, part)) if isinstance(part, tuple) else next(entries)

    return build(shape)


def random_layout(rng: random.Random, size_limit: int = 512, kind: str | None = None) -> Layout:
    shape = random_shape(rng, size_limit)
    return Layout(shape, random_strides(rng, shape, kind))


def vast_layout(rng: random.Random) -> Layout:
    """A layout of which some extents and strides are beyond what machine integers hold."""
    layout = random_layout(rng, 64)
    extents, steps = (
        [x * rng.choice((1, 1, 1 << 31, 1 << 63, 3**41, 1 << 64)) for x in leaves(part)]
        for part in (layout.shape, layout.stride)
    )
    return Layout(refold(extents, layout.shape), refold(steps, layout.shape))


def random_operand(rng: random.Random, layout: Layout) -> Layout:
    """A right operand for `layout`: half of them made from its own divisors, so that many compose and many do not."""
    if rng.random() < 0.35:
        return random_layout(rng, 64)
    extents = [e for e in leaves(layout.shape) if e > 1] or [1]
    marks = [1, *(prod(extents[:n]) for n in range(1, len(extents) + 1))]
    choices = marks + [m * d for m, e in zip(marks, extents, strict=False) for d in (2, 3) if e % d == 0] + [0, 1, 3]
    shape = random_shape(rng, 64, depth=2, rank=3)
    strides = [rng.choice(choices) * rng.choice((1, 1, 1, 1, 2, 3)) for _ in leaves(shape)]
    return Layout(shape, refold(strides, shape))


def values(layout: Layout, count: int | None = None) -> list[int]:
    """The offsets of integer coordinates 0, 1, ... one by one, through nothing but the call."""
    return [layout(i) for i in range(layout.size if count is None else count)]


def factorizations(number: int) -> Iterator[list[int]]:
    """Every ordered factorization into factors from 2; [] for 1."""
    if number == 1:
        yield []
    for first in range(2, number + 1):
        if number % first == 0:
            for rest in factorizations(number // first):
                yield [first, *rest]


def is_layout_table(table: list[int]) -> bool:
    """By exhaustion: whether some shape of this many coordinates with some strides has these values."""
    for extents in factorizations(len(table)):
        marks = [prod(extents[:n]) for n in range(len(extents))]
        strides = [table[mark] for mark in marks]
        if all(
            table[i] == sum(i // m % e * d for m, e, d in zip(marks, extents, strides, strict=True))
            for i in range(len(table))
        ):
            return True
    return table == [0]


def composition_exists(outer: Layout, inner: Layout) -> bool:
    """By exhaustion: whether any layout with a shape that refines `inner`'s is `outer o inner`."""
    flat = flatten(inner)
    extents, steps = leaves(flat.shape), leaves(flat.stride)
    for extent, step in zip(extents, steps, strict=True):
        if not is_layout_table([outer(step * x) for x in range(extent)]):
            return False
    marks = [prod(extents[:n]) for n in range(len(extents) + 1)]
    for i in range(inner.size):
        parts = [i % above // below * d for (below, above), d in zip(pairwise(marks), steps, strict=True)]
        if outer(sum(parts)) != sum(outer(part) for part in parts):
            return False
    return True
