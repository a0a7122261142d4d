"""Sizes, shapes and how two of them fit, against all coordinates: rules of `layout/algebra/queries.py`."""

import random
from itertools import product

import pytest

from cutepy.layout import (
    E,
    Layout,
    compatible,
    congruent,
    coprofile,
    coshape,
    cosize,
    depth,
    rank,
    shape,
    size,
    weakly_congruent,
)
from cutepy.layout.values.int_tuple import IntTuple, leaves


def nested(draw: random.Random, deep: int = 2) -> IntTuple:
    """An int tuple of few coordinates."""
    if deep == 0 or draw.random() < 0.4:
        return draw.choice([1, 2, 3, 4, 6])
    return tuple(nested(draw, deep - 1) for _ in range(draw.randint(1, 3)))


def natural(whole: IntTuple) -> list[IntTuple]:
    """Every coordinate that nests as a shape, the first mode fastest."""
    if isinstance(whole, int):
        return [*range(whole)]
    return [crd[::-1] for crd in product(*(natural(mode) for mode in reversed(whole)))]


def pattern(whole: IntTuple) -> str:
    return "()" if isinstance(whole, int) else f"[{''.join(map(pattern, whole))}]"


def merged(whole: IntTuple, draw: random.Random) -> IntTuple:
    """A coarser shape: some modes as one."""
    if isinstance(whole, int):
        return whole
    count = 1
    for leaf in leaves(whole):
        count *= leaf
    return count if draw.random() < 0.5 else tuple(merged(mode, draw) for mode in whole)


@pytest.mark.parametrize("seed", range(60))
def test_counting_says_the_same(seed: int) -> None:
    draw = random.Random(seed)
    whole = nested(draw)
    strides = [draw.randint(0, 9) for _ in leaves(whole)]
    layout = Layout(whole, _as(whole, iter(strides)))
    points = natural(whole)
    offsets = [layout(crd) for crd in points]
    assert size(layout) == size(whole) == len(points) and shape(layout) == whole
    assert cosize(layout) == coshape(layout) == max(offsets) - min(offsets) + 1
    assert rank(layout) == (1 if isinstance(whole, int) else len(whole))
    assert depth(layout) == max(pattern(whole)[: at + 1].count("[") - pattern(whole)[:at].count("]")
                                for at in range(len(pattern(whole))))  # fmt: skip
    axes = Layout(whole, _as(whole, (n * E(axis) for axis, n in enumerate(strides))))
    assert leaves(coshape(axes)) == tuple((n - 1) * step + 1 for n, step in zip(leaves(whole), strides, strict=True))
    assert not any(leaves(coprofile(axes)))


def _as(whole: IntTuple, entries: object) -> object:
    """The entries, nested as a shape."""
    return next(entries) if isinstance(whole, int) else tuple(_as(mode, entries) for mode in whole)  # type: ignore[call-overload]


@pytest.mark.parametrize("seed", range(60))
def test_a_finer_shape_has_every_coordinate_of_a_coarser_one(seed: int) -> None:
    draw = random.Random(seed)
    fine = nested(draw)
    for coarse in (merged(fine, draw), nested(draw)):
        try:
            fits = size(coarse) == size(fine) and all(
                Layout(coarse)(crd) == Layout(fine)(crd) for crd in natural(coarse)
            )
        except Exception:
            fits = False
        if compatible(coarse, fine):
            assert fits and weakly_congruent(coarse, fine)
        elif weakly_congruent(coarse, fine):
            assert any(a != size(b) for a, b in _beside(coarse, fine))
        assert congruent(coarse, fine) == (pattern(coarse) == pattern(fine))


def _beside(coarse: IntTuple, fine: IntTuple) -> list[tuple[int, IntTuple]]:
    """Each integer of a coarse shape, and what the fine one has there."""
    if isinstance(coarse, int):
        return [(coarse, fine)]
    assert isinstance(fine, tuple)
    return [pair for modes in zip(coarse, fine, strict=True) for pair in _beside(*modes)]
