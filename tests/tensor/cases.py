"""Random tensors, coordinates and tilers, and evaluation by the definition, apart from the library's own."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np

from cutepy.layout import ComposedLayout, Layout, Swizzle, _
from cutepy.tensor import Tensor, make_gmem_ptr, make_tensor

Tree = "int | tuple[Tree, ...]"


def product(tree: object) -> int:
    if isinstance(tree, tuple):
        total = 1
        for entry in tree:
            total *= product(entry)
        return total
    assert isinstance(tree, int)
    return tree


def random_shape(random: Random, largest: int = 400, depth: int = 2) -> tuple[object, ...]:
    """A shape of one to four modes, some nested, of at most `largest` elements."""
    while True:
        shape = tuple(_random_mode(random, depth) for _mode in range(random.randint(1, 4)))
        if product(shape) <= largest:
            return shape


def _random_mode(random: Random, depth: int) -> object:
    if depth > 0 and random.random() < 0.3:
        return tuple(_random_mode(random, depth - 1) for _mode in range(random.randint(1, 3)))
    return random.choice([1, 2, 2, 3, 4, 5, 6, 8])


def flat(tree: object) -> list[int]:
    if isinstance(tree, tuple):
        return [leaf for entry in tree for leaf in flat(entry)]
    assert isinstance(tree, int)
    return [tree]


def folded(leaves: Iterator[int], like: object) -> object:
    if isinstance(like, tuple):
        return tuple(folded(leaves, entry) for entry in like)
    return next(leaves)


def random_layout(random: Random, shape: tuple[object, ...]) -> Layout:
    """Injective strides in random order, some with gaps, some negative."""
    extents = flat(shape)
    order = list(range(len(extents)))
    random.shuffle(order)
    strides, running = [0] * len(extents), random.choice([1, 1, 2])
    for leaf in order:
        strides[leaf] = running * random.choice([1, 1, 1, -1])
        running *= extents[leaf]
        running += random.choice([0, 0, 0, 3])
    return Layout(shape, folded(iter(strides), shape))  # type: ignore[arg-type]


def random_tensor(random: Random, shape: tuple[object, ...], *, swizzled: bool = False) -> Tensor:
    """A tensor over fresh data in which every element is different."""
    layout: Layout | ComposedLayout = random_layout(random, shape)
    if swizzled and all(step >= 0 for step in flat(layout.stride)):
        layout = ComposedLayout(Swizzle(2, 0, 3), 0, layout)
    low, high = reach(layout)
    data = np.arange(high - low + 5, dtype=np.float32)
    memory = make_gmem_ptr(data[max(0, -low) :] if low >= 0 else data, name="A")
    if low < 0:
        flipped = np.arange(high - low, dtype=np.float32)
        return Tensor(make_gmem_ptr(flipped, name="A"), layout, -low)
    return make_tensor(memory, layout)


def reach(layout: Layout | ComposedLayout) -> tuple[int, int]:
    if isinstance(layout, ComposedLayout):
        return 0, 1 << (reach(layout.inner)[1] + 32).bit_length()
    ends = [(s - 1) * d for s, d in zip(flat(layout.shape), flat(layout.stride), strict=True)]
    return sum(min(0, end) for end in ends), sum(max(0, end) for end in ends) + 1


def coordinates(shape: object) -> Iterator[object]:
    """Every coordinate of a shape, nested, first mode fastest."""
    if not isinstance(shape, tuple):
        yield from range(product(shape))
    elif not shape:
        yield ()
    else:
        for last in coordinates(shape[-1]):
            for rest in coordinates(shape[:-1]):
                assert isinstance(rest, tuple)
                yield (*rest, last)


def offset_at(crd: object, shape: object, stride: object) -> int:
    """The inner product of coordinate and stride; an integer is unfolded, first mode fastest."""
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        if isinstance(crd, tuple):
            return sum(offset_at(c, s, d) for c, s, d in zip(crd, shape, stride, strict=True))
        assert isinstance(crd, int)
        total = 0
        for extent, step in zip(shape, stride, strict=True):
            total += offset_at(crd % product(extent), extent, step)
            crd //= product(extent)
        return total
    assert isinstance(crd, int) and isinstance(stride, int)
    return crd * stride


def element(tensor: Tensor, crd: object) -> float:
    """What is at `crd`, by the definition."""
    layout = tensor.layout
    inner = layout.inner if isinstance(layout, ComposedLayout) else layout
    offset = offset_at(crd, inner.shape, inner.stride)
    if isinstance(layout, ComposedLayout):
        offset = layout.outer(layout.offset + offset)  # type: ignore[operator, assignment]
    return float(tensor.engine.load(tensor.offset + offset))  # type: ignore[operator, arg-type]


def random_coordinate(random: Random, shape: object, keep: float) -> object:
    """A coordinate of a shape, with `_` here and there."""
    if random.random() < keep:
        return _
    if isinstance(shape, tuple) and random.random() < 0.7:
        return tuple(random_coordinate(random, entry, keep) for entry in shape)
    return random.randrange(product(shape))


def filled(crd: object, kept: Iterator[object]) -> object:
    """`crd` with each `_` replaced by the next entry of `kept`."""
    if isinstance(crd, tuple):
        return tuple(filled(entry, kept) for entry in crd)
    return next(kept) if crd is _ else crd
