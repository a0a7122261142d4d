"""Laws of the functions of int tuples and of the questions about shapes, for known sizes and for unknown ones.

Each law judges by listing coordinates, or entry by entry, and shares no code with the room. A call at known sizes is
made again with symbols for some of its numbers: at three values the answer is the one for these.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product as cartesian
from math import prod
from typing import Any

import pytest
import sympy
from shares import share

import cutepy
import cutepy.layout as room
from cutepy import Layout
from cutepy.errors import CutepyError

Tree = Any
Case = tuple[tuple[Tree, ...], Tree]
M, N = SYMBOLS = sympy.symbols("M N", integer=True, positive=True)


def random_tree(rng: random.Random, depth: int = 2, most: int = 5) -> Tree:
    """A nested tuple of numbers from 1."""
    if depth == 0 or rng.random() < 0.4:
        return rng.randint(1, most)
    return tuple(random_tree(rng, depth - 1, most) for _entry in range(rng.randint(1, 3)))


def leaves(tree: Tree) -> list[int]:
    return [leaf for entry in tree for leaf in leaves(entry)] if isinstance(tree, tuple) else [tree]


def alike(tree: Tree, numbers: list[Any]) -> Tree:
    """`tree` with other numbers, taken from the front of a list."""
    return tuple(alike(entry, numbers) for entry in tree) if isinstance(tree, tuple) else numbers.pop(0)


def coordinates(shape: Tree) -> list[Tree]:
    """Every coordinate, the first mode fastest."""
    ranges = [range(extent) for extent in reversed(leaves(shape))]
    return [alike(shape, list(reversed(crd))) for crd in cartesian(*ranges)]


def coarse(rng: random.Random, crd: Tree, shape: Tree) -> Tree:
    """The coordinate with the index of some of its modes in their place."""
    if rng.random() < 0.3 or not isinstance(crd, tuple):
        return coordinates(shape).index(crd)
    return tuple(coarse(rng, entry, part) for entry, part in zip(crd, shape, strict=True))


def crd2idx(rng: random.Random) -> Case:
    shape = random_tree(rng)
    index = rng.randrange(prod(leaves(shape)))
    return (coarse(rng, coordinates(shape)[index], shape), shape), index


def idx2crd(rng: random.Random) -> Case:
    shape = random_tree(rng)
    index = rng.randrange(prod(leaves(shape)))
    return (index, shape), coordinates(shape)[index]


def crd2crd(rng: random.Random) -> Case:
    shape = random_tree(rng)
    index = rng.randrange(prod(leaves(shape)))
    flat = tuple(leaves(shape))
    if isinstance(shape, tuple) and len(flat) == len(shape):
        return (coordinates(shape)[index], shape, shape), coordinates(shape)[index]
    return (coordinates(flat)[index], flat, (flat,)), (coordinates(flat)[index],)


def increment_coord(rng: random.Random) -> Case:
    shape = tuple(leaves(random_tree(rng)))
    index = rng.randrange(prod(shape))
    following = coordinates((*shape[:-1], shape[-1] + 1))[index + 1]
    return (coordinates(shape)[index], shape), following


def shorter(rng: random.Random) -> tuple[list[int], list[int]]:
    left, right = ([rng.randint(0, 9) for _entry in range(rng.randint(1, 4))] for _side in range(2))
    return left, right


def tuple_add(rng: random.Random) -> Case:
    left, right = shorter(rng)
    width = max(len(left), len(right))
    padded = ([*side, *[0] * (width - len(side))] for side in (left, right))
    return (tuple(left), tuple(right)), tuple(map(sum, zip(*padded, strict=True)))


def tuple_sub(rng: random.Random) -> Case:
    (left, right), _total = tuple_add(rng)
    width = max(len(left), len(right))
    ones, others = ([*side, *[0] * (width - len(side))] for side in (left, right))
    return (left, right), tuple(a - b for a, b in zip(ones, others, strict=True))


def product(rng: random.Random) -> Case:
    tree = random_tree(rng)
    return (tree,), prod(leaves(tree))


def product_each(rng: random.Random) -> Case:
    tree = random_tree(rng)
    return (tree,), tuple(prod(leaves(entry)) for entry in (tree if isinstance(tree, tuple) else (tree,)))


def prefix_product(rng: random.Random) -> Case:
    tree = random_tree(rng)
    numbers = leaves(tree)
    return (tree,), alike(tree, [prod(numbers[:at]) for at in range(len(numbers))])


def inner_product(rng: random.Random) -> Case:
    tree = random_tree(rng)
    other = alike(tree, [rng.randint(0, 9) for _leaf in leaves(tree)])
    return (tree, other), sum(a * b for a, b in zip(leaves(tree), leaves(other), strict=True))


def ceil_div(rng: random.Random) -> Case:
    value = tuple(rng.randint(1, 30) for _entry in range(rng.randint(1, 4)))
    by = tuple(rng.randint(1, 9) for _entry in value[: rng.randint(1, 4)])
    tiles = [next(n for n in range(99) if n * b >= v) for v, b in zip(value, by, strict=False)]
    return (value, by), (*tiles, *value[len(by) :])


def shape_div(rng: random.Random) -> Case:
    value = tuple(rng.choice((1, 2, 3, 4, 6, 12)) for _entry in range(rng.randint(1, 3)))
    by = tuple(rng.choice([d for d in range(1, 13) if v % d == 0 or d % v == 0]) for v in value)
    return (value, by), tuple(v // b if v % b == 0 else 1 for v, b in zip(value, by, strict=True))


def nesting(tree: Tree) -> Tree:
    return tuple(map(nesting, tree)) if isinstance(tree, tuple) else 0


def refined(rng: random.Random, tree: Tree) -> Tree:
    """A tree that nests at least as finely, of the same sizes or of others."""
    if isinstance(tree, tuple):
        return tuple(refined(rng, entry) for entry in tree)
    return rng.choice((tree, tree, tree + 1, (tree, 1), (1, (tree,)), (tree, 2)))


def congruent(rng: random.Random) -> Case:
    left = random_tree(rng)
    right = rng.choice((refined(rng, left), random_tree(rng)))
    return (left, right), nesting(left) == nesting(right)


def within(left: Tree, right: Tree, holds: Callable[[Tree, Tree], bool]) -> bool:
    if not isinstance(left, tuple):
        return holds(left, right)
    if not isinstance(right, tuple) or len(left) != len(right):
        return False
    return all(within(one, other, holds) for one, other in zip(left, right, strict=True))


def weakly_congruent(rng: random.Random) -> Case:
    (left, right), _congruent = congruent(rng)
    return (left, right), within(left, right, lambda one, other: True)


def compatible(rng: random.Random) -> Case:
    (left, right), _congruent = congruent(rng)
    return (left, right), within(left, right, lambda one, other: one == prod(leaves(other)))


def depth(rng: random.Random) -> Case:
    tree = random_tree(rng, 3)
    levels = 0
    level = [tree]
    while any(isinstance(entry, tuple) for entry in level):
        level, levels = [inner for entry in level if isinstance(entry, tuple) for inner in entry], levels + 1
    return (tree,), levels


def rank(rng: random.Random) -> Case:
    tree = random_tree(rng)
    return (tree,), len(tree) if isinstance(tree, tuple) else 1


def size(rng: random.Random) -> Case:
    tree = random_tree(rng)
    return (Layout(tree),), len(coordinates(tree))


def shape(rng: random.Random) -> Case:
    tree = (random_tree(rng), random_tree(rng))
    return (Layout(tree), 1), tree[1]


def stride(rng: random.Random) -> Case:
    tree = random_tree(rng)
    steps = alike(tree, [rng.randint(0, 9) for _leaf in leaves(tree)])
    return (Layout(tree, steps),), steps


def coprofile(rng: random.Random) -> Case:
    return (Layout(random_tree(rng)),), 0


def elem_less(rng: random.Random) -> Case:
    limits = random_tree(rng)
    crd = alike(limits, [rng.randint(0, 5) for _leaf in leaves(limits)])
    return (crd, limits), all(a < b for a, b in zip(leaves(crd), leaves(limits), strict=True))


def axis_layout(rng: random.Random) -> Case:
    sizes = tuple(rng.randint(1, 4) for _mode in range(3))
    axes = [rng.randrange(2) for _mode in sizes]
    steps = [rng.randint(1, 4) for _mode in sizes]
    axis = rng.randrange(2)
    strides = tuple(step * cutepy.E(along) for step, along in zip(steps, axes, strict=True))
    kept = tuple(step if along == axis else 0 for step, along in zip(steps, axes, strict=True))
    return (Layout(sizes, strides), axis), Layout(sizes, kept)  # type: ignore[arg-type]


LAWS = {
    law.__name__: law
    for law in (
        *(crd2idx, idx2crd, crd2crd, increment_coord, tuple_add, tuple_sub, product, product_each, prefix_product),
        *(inner_product, ceil_div, shape_div, congruent, weakly_congruent, compatible, depth, rank, size, shape),
        *(stride, coprofile, elem_less, axis_layout),
    )
}
"""By the name of the public function: operands, and the result that they must have."""


@pytest.mark.parametrize("name", LAWS)
def test_a_law_holds_for_known_sizes(name: str) -> None:
    rng = random.Random(f"{name} known")
    for _case in range(200):
        operands, expected = LAWS[name](rng)
        assert getattr(cutepy, name)(*operands) == expected, (name, operands)


def unknown(rng: random.Random, tree: Tree) -> Tree:
    """The operand with symbols for some of its numbers from 1 on."""
    if isinstance(tree, Layout):
        sizes = unknown(rng, tree.shape)
        return Layout(sizes, unknown(rng, tree.stride))
    if isinstance(tree, tuple):
        return tuple(unknown(rng, entry) for entry in tree)
    return rng.choice((M, N, 2 * M, M * N)) if tree > 0 and rng.random() < 0.4 else tree


def at(tree: Tree, point: dict[sympy.Symbol, int]) -> Tree:
    """A thing with values for its symbols."""
    if isinstance(tree, tuple):
        return tuple(at(entry, point) for entry in tree)
    if isinstance(tree, Layout):
        return Layout(at(tree.shape, point), at(tree.stride, point))
    if not hasattr(tree, "subs"):
        return tree
    value = tree.subs(point)
    return bool(value) if value in (sympy.true, sympy.false) else int(value)


@pytest.mark.parametrize("name", sorted(set(LAWS) - {"shape", "axis_layout"}))
def test_unknown_sizes_answer_as_at_three_values(name: str) -> None:
    """What is answered is the answer at values; what the values would decide in two ways is refused.

    Without two names whose further operand is the number of a mode or an axis, and no size.
    """
    rng, compared = random.Random(f"{name} unknown"), 0
    function = getattr(cutepy, name)
    for _case in range(60):
        known, _expected = LAWS[name](rng)
        operands = tuple(unknown(rng, operand) for operand in known)
        try:
            general = function(*operands)
        except CutepyError:
            continue
        for _point in range(3):
            point = {symbol: rng.randint(1, 6) for symbol in SYMBOLS}
            assert at(general, point) == function(*at(operands, point)), (name, operands, point)
            compared += 1
    assert compared > 30, name


def test_helpers_of_trees_and_modes() -> None:
    """`leaves`, `as_tuple`, `map_leaves`, `flat_modes`, `joined`, `from_modes`: entry by entry."""
    rng = random.Random("helpers")
    for _case in share(range(60)):
        tree = (random_tree(rng), random_tree(rng))
        numbers, layout = leaves(tree), Layout(tree)
        assert list(room.leaves(tree)) == numbers and room.as_tuple(tree) == tree and room.as_tuple(3) == (3,)
        assert room.map_leaves(lambda leaf: 2 * leaf, tree) == alike(tree, [2 * number for number in numbers])
        steps = leaves(layout.stride)
        assert list(room.flat_modes(layout)) == list(zip(numbers, steps, strict=True))
        assert room.joined(list(layout)) == layout
        again = room.from_modes(numbers, steps)
        assert [again(index) for index in range(layout.size)] == [layout(index) for index in range(layout.size)]
