"""Random copies of small tiles, and the best of all ways to share them out; `tools/fuzz/copies.py` runs hundreds."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, permutations
from math import prod

from cutepy.errors import LayoutError
from cutepy.layout import Layout, Swizzle, left_inverse, make_composed_layout, widest_copy
from cutepy.layout.algebra.copies import WidestCopy
from cutepy.layout.values.composed import AnyLayout, plain_part

Groups = list[list[int]]
"""The elements that are moved at once."""

SIDES = ("source", "target")


def random_side(rng: random.Random, shape: tuple[int, ...]) -> AnyLayout:
    """An order of the modes, each maybe followed by unused elements, maybe swizzled."""
    order = rng.sample(range(len(shape)), len(shape))
    steps, step = [0] * len(shape), rng.choice((1, 1, 1, 1, 1, 2))
    for mode in order:
        steps[mode] = step
        step = step * shape[mode] + rng.choice((0, 0, 0, 0, 1, 2, 4, 8))
    layout = Layout(shape, tuple(steps))
    if rng.random() < 0.4:
        bits = rng.randint(1, 2)
        return make_composed_layout(Swizzle(bits, rng.choice((0, 0, 1, 2, 3)), rng.randint(bits, 3)), 0, layout)
    return layout


def random_copy(rng: random.Random, extents: Sequence[int], most: int) -> dict[str, object]:
    while True:
        shape = tuple(rng.choice(extents) for _mode in range(rng.randint(1, 3)))
        if 8 <= prod(shape) <= most:
            break
    size = prod(shape)
    source = random_side(rng, shape)
    target = source if rng.random() < 0.4 else random_side(rng, shape)
    element_bytes = rng.choice((1, 1, 2, 4, 8))
    return {
        "source": source,
        "target": target,
        "threads": rng.choice([n for n in (4, 6, 8, 12, 16) if size % n == 0] or [1]),
        "element_bytes": element_bytes,
        "align": (max(element_bytes, rng.choice((16, 32, 128, 8, 4))), 16),
        "spaces": rng.choice((("gmem", "smem"), ("gmem", "gmem"), ("smem", "gmem"), ("smem", "smem"))),
        "lanes": rng.choice((4, 8)),
        "banks": 8,
    }


def offsets_of(layout: AnyLayout) -> list[int]:
    return [layout(index) for index in range(layout.size)]


def groups_of(case: dict[str, object], count: int) -> Groups | None:
    """The elements that can be moved `count` at a time; None where some cannot."""
    source, target = offsets_of(case["source"]), offsets_of(case["target"])  # type: ignore[arg-type]
    wide = count * case["element_bytes"]  # type: ignore[operator]
    if any(known % wide for known in case["align"]) or len(source) // case["threads"] % count:  # type: ignore[attr-defined, operator]
        return None
    found = []
    for index in sorted(range(len(source)), key=source.__getitem__):
        if found and len(found[-1]) < count:
            last = found[-1][-1]
            if source[index] != source[last] + 1 or target[index] != target[last] + 1:
                return None
            found[-1].append(index)
        elif source[index] % count or target[index] % count:
            return None
        else:
            found.append([index])
    return found if len(found[-1]) == count else None


class Costs:
    """What accesses of a case take, each by so many threads that begin at its elements, counted byte by byte.

    An access takes the same whatever the others are, so each is counted once.
    """

    def __init__(self, case: dict[str, object], count: int) -> None:
        self.case, self.counted = case, dict[tuple[int, ...], int]()
        self.wide = count * case["element_bytes"]  # type: ignore[operator]
        self.offsets = [(space, offsets_of(case[side])) for side, space in zip(SIDES, case["spaces"], strict=True)]  # type: ignore[call-overload, arg-type]

    def __call__(self, accesses: Sequence[Sequence[int]]) -> int:
        return sum(self.access(tuple(access)) for access in accesses)

    def access(self, elements: tuple[int, ...]) -> int:
        """The transactions of one access on both sides."""
        if elements not in self.counted:
            lanes: int = self.case["lanes"]  # type: ignore[assignment]
            groups = [elements[start : start + lanes] for start in range(0, len(elements), lanes)]
            self.counted[elements] = sum(
                self.group(space, [offsets[element] for element in group])
                for space, offsets in self.offsets
                for group in groups
            )
        return self.counted[elements]

    def group(self, space: str, offsets: list[int]) -> int:
        """The transactions of the lanes of one subgroup that begin at these elements."""
        banks, size = self.case["banks"], self.case["element_bytes"]
        bytes_of = [range(offset * size, offset * size + self.wide) for offset in offsets]  # type: ignore[operator]
        if space == "gmem":
            return len({byte // 32 for some in bytes_of for byte in some})
        together, total = max(1, self.case["lanes"] * 4 // max(4, self.wide)), 0  # type: ignore[operator]
        for first in range(0, len(bytes_of), together):
            words = {byte // 4 for some in bytes_of[first : first + together] for byte in some}
            total += max(sum(word % banks == bank for word in words) for bank in range(banks))  # type: ignore[operator, call-overload]
        return total


def accesses_of(case: dict[str, object], found: WidestCopy) -> list[list[int]]:
    return [
        [found.layout_tv(thread, value) for thread in range(case["threads"])]  # type: ignore[call-overload]
        for value in range(0, found.layout_tv[1].size, found.elements)
    ]


def orders(case: dict[str, object], count: int) -> Iterator[list[list[int]]]:
    """The accesses by every layout of (thread, value): each orders the digits of the tile's index in some radix."""
    size = case["source"].size  # type: ignore[attr-defined]
    groups = groups_of(case, count)
    assert groups is not None
    first = {group[0] for group in groups}
    threads = case["threads"]
    seen = set()
    for radix in set(permutations(primes(size))) if len(primes(size)) <= 7 else ():
        digits = [(extent, prod(radix[:at])) for at, extent in enumerate(radix)]
        rest = [digit for digit in digits if digit[1] in first]
        if prod(extent for extent, _ in rest) * count != size or len(rest) > 6:
            continue
        for order in permutations(rest):
            if threads not in {prod(extent for extent, _ in order[:size]) for size in range(len(order) + 1)}:
                continue  # no layout of (thread, value): the threads end within a digit
            elements = [0]
            for extent, by in order:
                elements = [element + by * number for number in range(extent) for element in elements]
            if not set(elements) <= first:
                break
            accesses = [elements[start : start + threads] for start in range(0, len(elements), threads)]  # type: ignore[call-overload, operator]
            key = tuple(map(tuple, accesses))
            if key not in seen:
                seen.add(key)
                yield accesses


def primes(number: int) -> list[int]:
    found, factor = [], 2
    while number > 1:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 1
    return found


def every_sharing(units: Sequence[int], size: int) -> Iterator[list[list[int]]]:
    """All ways to share units out to accesses of so many."""
    if not units:
        yield []
        return
    for others in combinations(units[1:], size - 1):
        rest = [unit for unit in units[1:] if unit not in others]
        for more in every_sharing(rest, size):
            yield [[units[0], *others], *more]


def is_layout(values: Sequence[int]) -> bool:
    """Whether some layout has these values, those of an integer coordinate."""
    return len(values) == 1 or any(
        all(value == values[at - at % extent] + at % extent * values[1] for at, value in enumerate(values))
        and is_layout(values[::extent])
        for extent in range(2, len(values) + 1)
        if len(values) % extent == 0
    )


def has_inverse(layout: AnyLayout) -> bool:
    """Whether a layout leads from the offsets of the plain part back to the tile's index: one that does, tried at every
    offset."""
    plain = plain_part(layout)
    try:
        back = left_inverse(plain)
    except LayoutError:
        return False
    return all(back(plain(index)) == index for index in range(plain.size))


@cache
def injections(count: int, size: int) -> list[tuple[int, ...]]:
    """What all layouts of `count` coordinates say that give each its own number below `size`: every extent, stride."""
    found = {(0,)} if count == 1 else set[tuple[int, ...]]()
    for extent in (extent for extent in range(2, count + 1) if count % extent == 0):
        for inner in injections(count // extent, size):
            for stride in range(1, size):
                values = tuple(more * stride + value for more in range(extent) for value in inner)
                if max(values) < size and len(set(values)) == count:
                    found.add(values)
    return sorted(found)


@cache
def plain_layouts(threads: int, values: int) -> list[tuple[tuple[int, ...], ...]]:
    """What all layouts of (thread, value), flat or nested, say that have each index once: for each thread its own."""
    size = threads * values
    return [
        tuple(tuple(first + step for step in held) for first in begin)
        for begin in injections(threads, size)
        for held in injections(values, size)
        if len({first + step for first in begin for step in held}) == size and max(begin) + max(held) < size
    ]


def judged_small(seed: int) -> tuple[str, float]:
    """What a copy of at most 16 elements and 6 accesses says falsely beside all layouts, and its cost by all sharings.

    It is as wide as any plain layout, and as cheap as the cheapest of those that are as wide; and what it says of a
    wider access, that no plain layout has it, is so.
    """
    rng = random.Random(f"small {seed}")
    while True:
        case = random_copy(rng, (2, 2, 3, 4, 5, 6, 7, 8), 16)
        size: int = case["source"].size  # type: ignore[attr-defined]
        threads = rng.choice([threads for threads in range(1, size + 1) if size % threads == 0])
        case |= {"threads": threads, "lanes": rng.choice((2, 4, 8)), "banks": rng.choice((2, 4, 8))}
        found = widest_copy(**case)  # type: ignore[arg-type]
        accesses = size // threads // found.elements
        if accesses <= 6:
            break
    tables = plain_layouts(threads, size // threads)
    widest = 16 // case["element_bytes"]  # type: ignore[operator]
    while True:
        groups = {tuple(group) for group in groups_of(case, widest) or ()}
        starts = range(0, size // threads, widest)
        fit = [
            table for table in tables if all(held[at : at + widest] in groups for held in table for at in starts)
        ]  # no group at all: nothing fits
        said = any(text.startswith(f"{widest * case['element_bytes']} bytes: no plain") for text in found.limits)  # type: ignore[operator]
        if said and (fit or not groups):
            return f"{widest} at once by {fit[:1]}: {found} for {case}", 1
        if widest <= found.elements:
            break
        if fit:
            return f"{widest} at once by {fit[0]}: {found} for {case}", 1
        widest //= 2
    cost = Costs(case, found.elements)
    spent = cost(accesses_of(case, found))
    least = min(
        (cost([[held[at] for held in table] for at in starts]) for table in fit),
        default=spent,
    )
    if spent > least:
        return f"{spent} where a layout takes {least}: {found} for {case}", spent / least
    if accesses * threads > 12:
        return "", 1
    return "", spent / min(map(cost, every_sharing(sorted(group[0] for group in groups), threads)))


def judged(seed: int, extents: Sequence[int] = (2, 3, 4, 6, 8, 16), most: int = 128) -> tuple[str, float]:
    """What is wrong with the copy that is found, '' if nothing is; and how its cost compares with the least."""
    rng = random.Random(f"copy {seed}")
    case = random_copy(rng, extents, most)
    found = widest_copy(**case)  # type: ignore[arg-type]
    widest = 16 // case["element_bytes"]  # type: ignore[operator]
    while groups_of(case, widest) is None:
        widest //= 2
    while widest > found.elements and any("no plain layout" in said for said in found.limits):
        starts = [tuple(at - group[0] for at in group) for group in groups_of(case, widest) or []]
        memories = [sorted(offsets_of(case[side])) for side in SIDES if has_inverse(case[side])]  # type: ignore[arg-type]
        if len(set(starts)) == 1 or any(is_layout([at - some[0] for at in some]) for some in memories):
            return f"accesses of {widest} are alike, or taken as a memory has them: {found} for {case}", 1
        widest //= 2
    layout = found.layout_tv
    if sorted(layout(index) for index in range(layout.size)) != list(range(case["source"].size)):  # type: ignore[attr-defined]
        return f"no permutation: {found} for {case}", 1
    if found.elements != widest or len(found.limits) != (16 // case["element_bytes"] // widest).bit_length() - 1:  # type: ignore[operator]
        return f"{widest} elements at once are possible: {found} for {case}", 1
    for thread in range(case["threads"]):  # type: ignore[call-overload]
        for value in range(0, layout[1].size, widest):
            some = [layout(thread, value + step) for step in range(widest)]
            if some not in (groups_of(case, widest) or []):
                return f"{some} is no access: {found} for {case}", 1
    cost = Costs(case, widest)
    counted = cost(accesses_of(case, found))
    if counted != found.reads[0] + found.writes[0]:
        return f"{counted} counted, told are {found.reads[0]} and {found.writes[0]}: {found} for {case}", 1
    least = min((cost(accesses) for accesses in orders(case, widest)), default=counted)
    return "", counted / least


def judged_any(seed: int) -> float:
    """How the cost compares with the least of all sharings out whatsoever of a very small tile."""
    rng = random.Random(f"any {seed}")
    while True:
        case = random_copy(rng, (2, 3, 4, 6), 12) | {"threads": 4, "lanes": 4, "banks": 4}
        if case["source"].size % 4 == 0:  # type: ignore[attr-defined]
            break
    found = widest_copy(**case)  # type: ignore[arg-type]
    units = [group[0] for group in groups_of(case, found.elements) or []]
    cost = Costs(case, found.elements)
    return cost(accesses_of(case, found)) / min(map(cost, every_sharing(units, 4)))
