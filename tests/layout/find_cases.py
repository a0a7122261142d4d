"""Random accesses of tiles, and what they cost counted byte by byte; `tools/fuzz/find.py` runs thousands."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from itertools import product as combinations_of

from cutepy.errors import LayoutError
from cutepy.layout import Layout, conflict_free, from_f2
from cutepy.layout.algebra.conflict_free import Found
from cutepy.layout.values.composed import AnyLayout

Case = dict[str, object]


def rounds(
    layout: AnyLayout, access: AnyLayout, element_bytes: int, wide: int, lanes: int, banks: int = 32
) -> int | None:
    """The rounds of the worst phase, by looking at every byte; None where the elements of a lane are torn."""
    count = wide // element_bytes
    together = max(1, lanes * 4 // max(4, wide))
    down = access[0].size
    values = access.size // down
    worst = 0
    for first in range(0, values, count):
        taken = []
        for lane in range(down):
            at = [layout(access(lane + down * (first + k))) for k in range(count)]
            if at != [at[0] + k for k in range(count)] or at[0] % count:
                return None
            taken.append({byte // 4 for byte in range(at[0] * element_bytes, at[0] * element_bytes + wide)})
        for group in range(0, down, lanes):
            for start in range(group, min(group + lanes, down), together):
                words = set().union(*taken[start : min(start + together, group + lanes)])
                worst = max(worst, max(sum(word % banks == bank for word in words) for bank in range(banks)))
    return worst


def needed(access: AnyLayout, element_bytes: int, wide: int, lanes: int, banks: int = 32) -> int:
    """The rounds that the bytes of a phase need, if no word holds bytes that nobody wants."""
    together = max(1, lanes * 4 // max(4, wide))
    elements = {access(lane + access[0].size * k) for lane in range(together) for k in range(wide // element_bytes)}
    return max(1, -(-len(elements) * element_bytes // (4 * banks)))


def permuted(rng: random.Random, bits: int, vector: int, lane_bits: int) -> AnyLayout:
    """Each bit of (value, lane) is a bit of the element; the lowest `vector` bits of both are the same."""
    rest = rng.sample(range(vector, bits), bits - vector)
    lanes = [1 << bit for bit in rest[:lane_bits]]
    values = [*(1 << bit for bit in range(vector)), *(1 << bit for bit in rest[lane_bits:])]
    return Layout(
        ((2,) * len(lanes) or (1,), (2,) * len(values) or (1,)), (tuple(lanes) or (0,), tuple(values) or (0,))
    )


def linear(rng: random.Random, bits: int, vector: int, lane_bits: int) -> AnyLayout:
    """Any invertible matrix that keeps what a lane takes at once."""
    columns = [1 << bit for bit in range(bits)]
    rest = columns[vector:]
    rng.shuffle(rest)
    for _step in range(3 * bits * bits):
        if len(rest) > 1:
            one, other = rng.sample(range(len(rest)), 2)
            rest[one] ^= rest[other]
    whole = [*rest[:lane_bits], *columns[:vector], *rest[lane_bits:]]
    matrix = [[column >> row & 1 for column in whole] for row in range(bits)]
    return from_f2(matrix, (1 << len(rest[:lane_bits]), 1 << bits - len(rest[:lane_bits])))


def random_case(rng: random.Random, kind: str, count: int, same_width: bool, most_bits: int) -> Case:
    """A tile of 2**8 to 2**14 elements of 1 to 16 bytes, and so many accesses of it by 16, 32 or 64 lanes."""
    bits, element_bytes, lanes = rng.randint(8, most_bits), rng.choice((1, 2, 4, 8, 16)), rng.choice((16, 32, 64))
    make = permuted if kind == "permuted" else linear
    wides = [element_bytes << rng.randint(0, (16 // element_bytes).bit_length() - 1) for _access in range(count)]
    wides = wides[:1] * count if same_width else wides
    accesses = [make(rng, bits, (wide // element_bytes).bit_length() - 1, lanes.bit_length() - 1) for wide in wides]
    rows = rng.randint(0, bits)
    return {
        "shape": (1 << rows, 1 << bits - rows), "accesses": accesses, "element_bytes": element_bytes,
        "access_bytes": wides, "lanes": lanes,
    }  # fmt: skip


def judged(seed: int, kind: str, count: int, *, same_width: bool = False, most_bits: int = 14) -> str:
    """What is wrong with the layout found for a random case; '' if nothing is."""
    rng = random.Random(f"{seed} {kind} {count} {same_width}")
    case = random_case(rng, kind, count, same_width, most_bits)
    found = conflict_free(**case)  # type: ignore[arg-type]
    element_bytes, lanes = case["element_bytes"], case["lanes"]
    if sorted(found.layout(i) for i in range(found.layout.size)) != list(range(found.layout.size)):
        return f"no permutation: {found} for {case}"
    for access, wide, ways in zip(case["accesses"], case["access_bytes"], found.ways, strict=True):  # type: ignore[call-overload]
        counted = rounds(found.layout, access, element_bytes, wide, lanes)  # type: ignore[arg-type]
        if counted != ways:
            return f"{counted} rounds, told are {ways}: {found} for {case}"
        if found.free and ways != needed(access, element_bytes, wide, lanes):  # type: ignore[arg-type]
            return f"{ways} rounds are no conflict-free access: {found} for {case}"
    if found.free or not (same_width and count == 2) or lanes == 64:  # 64 lanes may want more words than banks
        return ""
    return f"two accesses of one width conflict: {found} for {case}"


def judged_small(seed: int, kind: str) -> str:
    """Up to six accesses of a small tile, where every XOR layout can be tried: the least worst access, then the sum."""
    rng = random.Random(f"{seed} {kind}")
    bits, rows = rng.choice(((3, 1), (3, 2), (4, 1), (4, 2), (4, 2), (5, 2), (5, 3)))
    make = permuted if kind == "permuted" else linear
    accesses = [make(rng, bits, 0, rows) for _access in range(rng.randint(3, 6))]
    found = conflict_free((1 << bits,), accesses, lanes=1 << rows, banks=1 << rows)
    best = least([[access(1 << bit) for bit in range(rows)] for access in accesses], bits, rows)
    counted = [rounds(found.layout, access, 4, 4, 1 << rows, 1 << rows) for access in accesses]
    if counted != list(found.ways) or (max(found.ways), sum(found.ways)) != best:
        return f"{counted} counted, the least worst and sum are {best}: {found} for {accesses}"
    return ""


def judged_padded(seed: int) -> str:
    """Tiles of any extents: no smaller pitch of the same order, and no order with fewer elements, is free."""
    rng = random.Random(f"{seed} padded")
    shape = (rng.randint(1, 40), rng.randint(1, 40))
    element_bytes, lanes = rng.choice((1, 2, 4, 8)), rng.choice((16, 32))
    rows, columns = shape
    down, across = Layout((rows, columns), (1, rows)), Layout((columns, rows), (rows, 1))
    accesses = rng.choice(([down], [across], [down, across]))
    found = conflict_free(shape, accesses, element_bytes, lanes=lanes, pad=True)
    counted = [rounds(found.layout, access, element_bytes, element_bytes, lanes) for access in accesses]
    if counted != list(found.ways):
        return f"{counted} rounds, told are {found.ways}: {found} for {accesses}"
    for first, pitches in ((1, range(rows, rows + 130)), (0, range(columns, columns + 130))):
        for pitch in pitches:
            layout = Layout(shape, (1, pitch) if first else (pitch, 1))
            if layout.cosize >= found.layout.cosize and found.free:
                break
            if all(is_free(layout, access, element_bytes, lanes) for access in accesses):
                return f"{layout} is free, found was {found} for {accesses}"
    return ""


def judged_padded_modes(seed: int) -> str:
    """Tiles of three modes: no padding of any of them, in any order, is free and smaller."""
    rng = random.Random(f"{seed} padded modes")
    shape, lanes = tuple(rng.choice((2, 3, 4, 5, 6)) for _mode in range(3)), rng.choice((4, 8))
    steps = [1, shape[0], shape[0] * shape[1]]
    accesses = []
    for order in rng.sample(list(permutations(range(3))), rng.randint(1, 3)):
        first, second, third = ((shape[mode], steps[mode]) for mode in order)
        accesses.append(Layout(((first[0], second[0]), third[0]), ((first[1], second[1]), third[1])))
    found = conflict_free(shape, accesses, lanes=lanes, banks=lanes, pad=True)
    counted = [rounds(found.layout, access, 4, 4, lanes, lanes) for access in accesses]
    if counted != list(found.ways):
        return f"{counted} rounds, told are {found.ways}: {found} for {accesses}"
    for order in permutations(range(3)):
        for pads in combinations_of(range(lanes + 1), repeat=2):
            pitch = shape[order[0]] + pads[0]
            stride = [1, pitch, pitch * shape[order[1]] + pads[1]]
            layout = Layout(shape, tuple(stride[order.index(mode)] for mode in range(3)))
            if layout.cosize < found.layout.cosize or not found.free:
                if all(is_free(layout, access, 4, lanes, lanes) for access in accesses):
                    return f"{layout} is free, found was {found} for {accesses}"
    return ""


def judged_any_extents(seed: int) -> str:
    """Tiles of any extents without a word of padding: as told, never worse than with a pitch, and no larger."""
    rng = random.Random(f"{seed} any")
    rows, columns = rng.choice((6, 12, 20, 24, 40, 48)), rng.randint(4, 40)
    element_bytes, wide = rng.choice(((2, 2), (4, 4), (4, 16), (2, 8)))
    count = wide // element_bytes
    down = Layout((rows * columns // count, count), (count, 1)) if rows % count == 0 else Layout((rows, columns))
    wides = [wide if rows % count == 0 else element_bytes, element_bytes]
    accesses = [down, Layout((columns, rows), (rows, 1))]
    found, padded = (conflict_free((rows, columns), accesses, element_bytes, wides, pad=pad) for pad in (False, True))
    counted = [rounds(found.layout, a, element_bytes, w, 32) for a, w in zip(accesses, wides, strict=True)]
    if counted != list(found.ways) or len({found.layout(at) for at in range(rows * columns)}) < rows * columns:
        return f"{counted} rounds, told are {found.ways}: {found} for {accesses}"
    if max(found.ways) > max(padded.ways) or (found.ways == padded.ways and found.layout.cosize > padded.layout.cosize):
        return f"{padded} serves better than {found}"
    return ""


def is_free(layout: AnyLayout, access: AnyLayout, element_bytes: int, lanes: int, banks: int = 32) -> bool:
    """True if no phase takes more rounds than its different words, spread evenly."""
    down, together = access[0].size, max(1, lanes * 4 // max(4, element_bytes))
    for value in range(access.size // down):
        for group in range(0, down, lanes):
            for start in range(group, min(group + lanes, down), together):
                at = [layout(access(lane + down * value)) for lane in range(start, min(start + together, down))]
                words = {byte // 4 for x in at for byte in range(x * element_bytes, (x + 1) * element_bytes)}
                most = max(sum(word % banks == bank for word in words) for bank in range(banks))
                if most > -(-len(words) // banks):
                    return False
    return True


def least(phases: Sequence[Sequence[int]], bits: int, rows: int) -> tuple[int, int]:
    """The least (worst, summed) rounds over all XOR layouts: every choice of bank bits."""
    best = (2 << bits, (2 << bits) * len(phases))
    spans = [[span_of(phase)] for phase in phases]
    for chosen in combinations(range(1, 1 << bits), rows):
        lacking = []
        for (span,) in spans:
            banks = [sum(((x & row).bit_count() & 1) << at for at, row in enumerate(chosen)) for x in span]
            most = max(banks.count(bank) for bank in set(banks))
            lacking.append(most)
        best = min(best, (max(lacking), sum(lacking)))
    return best


def span_of(vectors: Sequence[int]) -> list[int]:
    found = {0}
    for vector in vectors:
        found |= {vector ^ other for other in found}
    return sorted(found)


def mutants(found: Found, rng: random.Random) -> Iterator[Found]:
    """The same claim with one thing changed: rounds, the word free, the layout."""
    at = rng.randrange(len(found.ways))
    for change in (-1, 1):
        yield replace(found, ways=(*found.ways[:at], found.ways[at] + change, *found.ways[at + 1 :]))
    yield replace(found, free=not found.free)
    yield replace(found, layout=Layout((found.layout.size // 2, 2), (1, 0)))


def judged_certificate(seed: int) -> str:
    """A claim of a small tile holds when it is counted again, and no mutant does; "" if that is so."""
    rng = random.Random(f"certificate {seed}")
    bits, rows = rng.choice(((3, 1), (3, 2), (4, 1), (4, 2)))
    make = rng.choice((permuted, linear))
    accesses = [make(rng, bits, 0, rows) for _access in range(rng.randint(1, 6))]
    found = conflict_free((1 << bits,), accesses, lanes=1 << rows, banks=1 << rows, pad=rng.random() < 0.2)
    found.check()
    for mutant in mutants(found, rng):
        try:
            mutant.check()
        except LayoutError:
            continue
        return f"{seed}: {mutant} is taken for {found}"
    return ""
