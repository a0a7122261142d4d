"""Unknown sizes: substituting after an operation equals operating after the substitution.

Random layouts over up to three unknowns with random facts; what is returned is compared at many substitutions, among them
the least sizes that the facts allow; what is refused for all sizes must be refused at every one of them.
"""

from __future__ import annotations

import random
from itertools import islice, product
from math import prod

import pytest
import sympy
from layout.cases import CASES, generator

from cutepy.errors import LayoutError, UndecidedError
from cutepy.layout import (
    ComposedLayout,
    E,
    Layout,
    Swizzle,
    _,
    blocked_product,
    coalesce,
    complement,
    composition,
    cosize,
    divides,
    downcast,
    filter,
    flat_divide,
    flatten,
    group_modes,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout,
    make_ordered_layout,
    nullspace,
    raked_product,
    right_inverse,
    select,
    size,
    tile_to_shape,
    tiled_divide,
    upcast,
    zipped_divide,
)
from cutepy.layout.int_tuple import IntTuple, leaves

M, N, K = SYMBOLS = sympy.symbols("M N K", integer=True, positive=True)
SOME = max(120, CASES // 12)

Facts = dict[sympy.Symbol, tuple[int, int]]


def random_facts(rng: random.Random) -> Facts:
    """For each unknown a divisor and a least value."""
    return {symbol: (rng.choice((1, 1, 2, 4, 6, 8)), rng.choice((1, 1, 1, 2, 5))) for symbol in SYMBOLS}


def statements(facts: Facts) -> list[object]:
    stated: list[object] = [divides(divisor, symbol) for symbol, (divisor, _low) in facts.items() if divisor > 1]
    return stated + [symbol >= low for symbol, (_divisor, low) in facts.items() if low > 1]


def substitutions(rng: random.Random, facts: Facts) -> list[dict[sympy.Symbol, int]]:
    """Values that satisfy the facts: the least ones, and some more."""
    choices = {}
    for symbol, (divisor, low) in facts.items():
        least = -(-low // divisor) * divisor
        choices[symbol] = [least + divisor * k for k in (0, 1, 2, 3, 5)]
    picked = [dict(zip(facts, values, strict=True)) for values in product(*([c[0], c[1]] for c in choices.values()))]
    return picked + [{symbol: rng.choice(c) for symbol, c in choices.items()} for _more in range(3)]


def random_symbolic(rng: random.Random, facts: Facts, rank: int = 4) -> Layout:
    """Extents that are numbers, unknowns or parts of unknowns; strides compact in some order, padded, or 0."""
    extents: list[object] = []
    for _mode in range(rng.randint(1, rank)):
        symbol = rng.choice(SYMBOLS)
        divisor = facts[symbol][0]
        kind = rng.random()
        if kind < 0.4:
            extents.append(rng.choice((1, 2, 3, 4, 4, 8, 8, 16)))
        elif kind < 0.7:
            extents.append(symbol)
        elif kind < 0.85:
            extents.append(symbol * rng.choice((2, 4)))
        else:
            extents.append(symbol / divisor if divisor > 1 else symbol)
    order = list(range(len(extents)))
    if rng.random() < 0.5:
        rng.shuffle(order)
    strides: list[object] = [0] * len(extents)
    running: object = 1
    for mode in order:
        if rng.random() < 0.1:
            running = running * rng.choice((2, 3, K))  # type: ignore[operator]
        strides[mode] = running if rng.random() > 0.07 else 0
        running = running * extents[mode]  # type: ignore[operator]
    shape: object = tuple(extents)
    stride: object = tuple(strides)
    if len(extents) == 1 and rng.random() < 0.5:
        shape, stride = extents[0], strides[0]
    elif len(extents) > 2 and rng.random() < 0.5:
        shape = (extents[0], tuple(extents[1:]))
        stride = (strides[0], tuple(strides[1:]))
    layout = Layout(shape, stride)  # type: ignore[arg-type]
    return layout.given(*statements(facts))


def random_tile(rng: random.Random, facts: Facts, layout: Layout) -> Layout:
    """A right operand made from the marks of `layout`: its partial products, and their parts."""
    extents = list(leaves(layout.shape))
    marks: list[object] = [1]
    for extent in extents:
        marks.append(sympy.sympify(marks[-1] * extent))
    sizes: list[object] = [2, 4, 8, *extents, *[facts[symbol][0] for symbol in SYMBOLS]]
    modes = [(rng.choice(sizes), rng.choice([*marks[:-1], 1, 1, 2, 0])) for _mode in range(rng.randint(1, 2))]
    if len(modes) == 1:
        tile = Layout(*modes[0])  # type: ignore[arg-type]
    else:
        tile = Layout(tuple(e for e, _d in modes), tuple(d for _e, d in modes))  # type: ignore[arg-type]
    return tile.given(*statements(facts))


def values(layout: Layout, count: int = 400) -> list[object]:
    total = prod(leaves(layout.shape))
    return [layout(i) for i in range(min(total, count))] + [total]


def top_sizes(layout: Layout) -> list[int]:
    return [mode.size for mode in layout]


UNARY = [coalesce, flatten, right_inverse, left_inverse, complement, filter, nullspace]
BINARY = [composition, logical_divide, zipped_divide, tiled_divide, flat_divide, logical_product, blocked_product, raked_product]
KEEPS_RANK = {composition, zipped_divide, logical_product, blocked_product, raked_product}


def at(thing: object, point: dict[sympy.Symbol, int]) -> object:
    if isinstance(thing, Layout):
        known = {str(symbol) for leaf in leaves(thing.shape) + leaves(thing.stride) for symbol in getattr(leaf, "free_symbols", ())}
        known |= {str(s) for fact in getattr(thing.facts, "stated", ()) for side in (fact.left, fact.right) for s in getattr(side, "free_symbols", ())}
        return thing.subs({symbol: value for symbol, value in point.items() if str(symbol) in known})
    if isinstance(thing, tuple):
        return tuple(at(entry, point) for entry in thing)
    return int(thing.subs(point)) if hasattr(thing, "free_symbols") else thing  # type: ignore[attr-defined]


def check_law(operation: object, operands: tuple[object, ...], points: list[dict[sympy.Symbol, int]]) -> str:
    """"decided", "undecided" or "refused"; asserts the law."""
    try:
        result = operation(*operands)  # type: ignore[operator]
    except UndecidedError as error:
        assert error.fact or "listing" in str(error)
        return "undecided"
    except LayoutError:
        for point in points:
            with pytest.raises(LayoutError):
                operation(*(at(operand, point) for operand in operands))  # type: ignore[operator]
        return "refused"
    for point in points:
        expected = operation(*(at(operand, point) for operand in operands))  # type: ignore[operator]
        put = at(result, point)
        where = (operation, operands, point, result, expected)
        assert isinstance(put, Layout) and put.facts is None
        assert values(put) == values(expected), where
        if operation in KEEPS_RANK:
            assert top_sizes(put) == top_sizes(expected), where
        if all(extent != 1 for extent in leaves(put.shape)) and all(extent != 1 for extent in leaves(expected.shape)):
            assert coalesce(put) == coalesce(expected), where
    return "decided"


@pytest.mark.parametrize("operation", UNARY, ids=[operation.__name__ for operation in UNARY])
def test_law_of_one_operand(operation: object) -> None:
    rng = generator(f"symbolic {operation.__name__}")  # type: ignore[attr-defined]
    outcomes = {"decided": 0, "undecided": 0, "refused": 0}
    for _case in range(SOME // 2):
        facts = random_facts(rng)
        outcomes[check_law(operation, (random_symbolic(rng, facts),), substitutions(rng, facts))] += 1
    assert outcomes["decided"] > SOME // 6, outcomes


@pytest.mark.parametrize("operation", BINARY, ids=[operation.__name__ for operation in BINARY])
def test_law_of_two_operands(operation: object) -> None:
    rng = generator(f"symbolic {operation.__name__}")  # type: ignore[attr-defined]
    outcomes = {"decided": 0, "undecided": 0, "refused": 0}
    for _case in range(SOME):
        facts = random_facts(rng)
        layout = random_symbolic(rng, facts, 3)
        operands = (layout, random_tile(rng, facts, layout))
        outcomes[check_law(operation, operands, substitutions(rng, facts))] += 1
    assert outcomes["decided"] > SOME // 8, outcomes


def test_law_of_tilers_and_shapes() -> None:
    rng = generator("symbolic tilers")
    outcomes = {"decided": 0, "undecided": 0, "refused": 0}
    for _case in range(SOME):
        facts = random_facts(rng)
        layout = random_symbolic(rng, facts, 2)
        tiler = tuple(rng.choice((_, 2, 4, facts[rng.choice(SYMBOLS)][0], rng.choice(SYMBOLS))) for _mode in range(layout.rank))
        points = substitutions(rng, facts)
        operation = rng.choice((composition, logical_divide, zipped_divide, flat_divide))
        outcomes[check_law(operation, (layout, tiler), points)] += 1
        target = rng.choice((M, 8 * N, M * N, 24))
        outcomes[check_law(complement, (layout, target), points)] += 1
        shape = tuple(rng.choice((8, M, 2 * N)) for _mode in range(layout.rank))
        outcomes[check_law(tile_to_shape, (layout, shape), points)] += 1
        count = rng.choice((2, 4))
        outcomes[check_law(lambda one, count=count: upcast(one, count), (layout,), points)] += 1
        outcomes[check_law(lambda one, count=count: downcast(one, count), (layout,), points)] += 1
    assert outcomes["decided"] > SOME, outcomes
