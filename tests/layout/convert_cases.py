"""Random pairs of thread-value layouts, and what a plan makes of them; `tools/fuzz/convert.py` runs thousands."""

from __future__ import annotations

import random

from cutepy.errors import LayoutError
from cutepy.layout import Layout, convert
from cutepy.layout.algebra.bits import layout_of_columns, mapped_layout
from cutepy.layout.algebra.convert import Conversion
from cutepy.layout.values.composed import AnyLayout
from cutepy.lazy import numpy as np
from cutepy.tensor.atoms import nvidia, others


def layout_of(columns: list[int], thread_bits: int) -> AnyLayout:
    shape = (1 << thread_bits, 1 << len(columns) - thread_bits)
    return layout_of_columns(tuple(columns), shape) or mapped_layout(tuple(columns), shape)


def random_pair(rng: random.Random, kind: str, thread_bits: int, value_bits: int) -> tuple[AnyLayout, AnyLayout]:
    """Two layouts of one tile, of bits permuted or mixed; "copied" ones have threads and values that hold the same."""
    columns = []
    for _side in range(2):
        side = [1 << bit for bit in range(thread_bits + value_bits)]
        rng.shuffle(side)
        for _step in range(3 * len(side) ** 2 if kind == "linear" and len(side) > 1 else 0):
            one, other = rng.sample(range(len(side)), 2)
            side[one] ^= side[other]
        columns.append((side[:thread_bits], side[thread_bits:]))
    more = rng.randint(1, 2) if kind == "copied" else 0
    for threads, values in columns:
        for _copy in range(more):
            threads.insert(rng.randint(0, len(threads)), rng.choice((0, *threads, *values)))
        if more and rng.random() < 0.3:
            values.insert(rng.randint(0, len(values)), rng.choice((0, *values)))
    source, target = (layout_of(threads + values, thread_bits + more) for threads, values in columns)
    return source, target


def table(layout: AnyLayout) -> np.ndarray:
    """A row for each thread."""
    threads = layout[0].size
    return np.array([[layout(t, v) for v in range(layout.size // threads)] for t in range(threads)])


def lacking(source: AnyLayout, target: AnyLayout) -> int:
    """The most elements that a thread wants and does not hold, counted: no plan gives it them in fewer shuffles."""
    return max(
        len(set(wanted) - set(held))
        for held, wanted in zip(table(source).tolist(), table(target).tolist(), strict=True)
    )


def wrong(plan: Conversion, source: AnyLayout, target: AnyLayout) -> str:
    """What is wrong with a plan, followed step by step for all threads; '' if nothing is."""
    asked = 0
    thread = np.arange(source[0].size)

    def shuffle(value: np.ndarray, other: np.ndarray, mask: int) -> np.ndarray:
        nonlocal asked
        asked += 1
        if ((other ^ mask) // plan.lanes != thread // plan.lanes).any():
            raise AssertionError("a shuffle leaves its subgroup")
        return value[other ^ mask]

    if plan.trip:
        return wrong_trip(plan, source, target)
    found = plan(list(table(source).T), thread, np.where, shuffle)
    if not (np.array(found) == table(target).T).all():
        return "other elements"
    if not plan.shuffles == asked == plan.least == lacking(source, target):
        return f"{asked} shuffles, told are {plan.shuffles}, a thread lacks {lacking(source, target)} ({plan.least})"
    return ""


def wrong_trip(plan: Conversion, source: AnyLayout, target: AnyLayout) -> str:
    """What is wrong with a way through memory: another place, a race, other rounds than told."""
    trip = plan.trip
    assert trip is not None
    memory: dict[int, int] = {}
    for thread, row in enumerate(table(source).tolist()):
        for value in trip.written if not thread & trip.copies else ():
            place = trip.found.layout(row[value])
            if memory.setdefault(place, row[value]) != row[value]:
                return f"thread {thread} writes over element {memory[place]}"
    for thread, row in enumerate(table(target).tolist()):
        if any(memory.get(trip.found.layout(row[value])) != row[value] for value in trip.read):
            return f"thread {thread} reads something else"
    if sorted(trip.read) != list(range(len(trip.read))):
        return "some values are not read"
    return ""


def judged(seed: int, kind: str, most_threads: int = 7) -> str:
    """What is wrong with the plan for a random pair; '' if nothing is."""
    rng = random.Random(f"{seed} {kind}")
    source, target = random_pair(rng, kind, rng.randint(0, most_threads), rng.randint(0, 5))
    lanes = rng.choice((8, 16, 32, 64))
    try:
        plan = convert(source, target, lanes, rng.choice((1, 2, 4)), rng.choice((None, "shuffles", "memory")))
    except LayoutError as error:
        if "shuffles cannot do that" not in str(error):
            raise
        plan = convert(source, target, lanes)
        if plan.trip is None:
            return f"refused, and then found: {plan}"
        if kind != "copied" and source[0].size <= lanes:
            return f"refused, though one subgroup holds the tile: {source} -> {target}"
    said = wrong(plan, source, target)
    return f"{said}: {plan}" if said else ""


def fragments() -> list[Layout]:
    """The register layouts of all matrix instructions; in one of shared memory all threads have everything."""
    found: dict[Layout, None] = {}
    for atom in (*nvidia.mma_atoms(), *others.mma_atoms()):
        for _name, layout, _tile in atom.operands():
            shared = layout[0].size > 1 and all(layout(t, 0) == 0 for t in range(layout[0].size))
            if not shared:
                found[layout] = None
    return list(found)
