"""1,000 random slices, tiles, partitions and copies against brute force over coordinates."""

from collections import Counter
from itertools import product as cartesian
from random import Random

import numpy as np
import pytest
from shares import share
from tensor.cases import coordinates, element, filled, flat, product, random_coordinate, random_shape, random_tensor

from cutepy.errors import LayoutError, TensorError
from cutepy.layout import Layout, _, make_ordered_layout, zipped_divide
from cutepy.tensor import (
    Tensor,
    TensorIndexError,
    copy,
    local_partition,
    local_tile,
    make_identity_tensor,
    make_layout_tv,
    make_tensor,
    make_tiled_copy,
    thread_value_partition,
    universal_copy,
)
from cutepy.tensor.bulk import load_all, mask_table

SEEDS = share(range(10))


def flat_shape(random: Random, rank: int, largest: int = 14) -> tuple[int, ...]:
    return tuple(random.randint(1, largest) for _mode in range(rank))


def existing(part: Tensor) -> list[float]:
    """The elements of a partition that its guard lets exist."""
    values, mask = load_all(part), mask_table(part)
    chosen = values.ravel() if mask is None else values[np.broadcast_to(mask, values.shape)]
    return [float(value) for value in chosen]


@pytest.mark.parametrize("seed", SEEDS)
def test_slices(seed: int) -> None:
    random = Random(seed)
    for _case in range(40):
        shape = random_shape(random)
        tensor = random_tensor(random, shape, swizzled=random.random() < 0.3)
        crd = random_coordinate(random, shape, 0.4)
        if isinstance(crd, int):
            assert float(tensor[crd]) == element(tensor, crd)
            continue
        part = tensor(crd)
        if not isinstance(part, Tensor):
            assert float(part) == element(tensor, crd)  # type: ignore[arg-type]
            continue
        table = load_all(part)
        for place, inner in enumerate(coordinates(part.shape)):
            kept = iter(inner) if isinstance(crd, tuple) else iter([inner])  # type: ignore[arg-type, call-overload]
            expected = element(tensor, filled(crd, kept))
            assert float(part[inner]) == expected == float(table.ravel(order="F")[place])
        assert (np.asarray(part.numpy()).ravel(order="F") == table.ravel(order="F")).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_tiles(seed: int) -> None:
    random = Random(1000 + seed)
    for _case in range(25):
        shape = flat_shape(random, random.randint(1, 3))
        tensor = random_tensor(random, shape, swizzled=random.random() < 0.2)
        tiler = tuple(random.randint(1, 6) for _mode in shape)
        counts = [-(-size // step) for size, step in zip(shape, tiler, strict=True)]
        owned: Counter[float] = Counter()
        for tile_crd in cartesian(*map(range, counts)):
            tile = local_tile(tensor, tiler, tile_crd)
            assert tile.shape == tiler
            for inner in coordinates(tiler):
                at = tuple(t * b + i for t, b, i in zip(tile_crd, tiler, inner, strict=True))  # type: ignore[arg-type]
                if all(a < s for a, s in zip(at, shape, strict=True)):
                    assert float(tile[inner]) == element(tensor, at)
                    owned[float(tile[inner])] += 1
                else:
                    with pytest.raises(TensorIndexError):
                        tile[inner]
            fragment = make_tensor("f32", tiler)
            copy(tile, fragment)
            assert float(fragment.numpy().sum()) == sum(existing(tile))
        assert len(owned) == product(shape) and set(owned.values()) == {1}


@pytest.mark.parametrize("seed", SEEDS)
def test_local_partitions(seed: int) -> None:
    random = Random(2000 + seed)
    for _case in range(15):
        shape = flat_shape(random, random.randint(1, 2))
        tensor = random_tensor(random, shape)
        extents = tuple(random.randint(1, 4) for _mode in shape)
        order = list(range(len(extents)))
        random.shuffle(order)
        threads = make_ordered_layout(extents, tuple(order))
        owned: Counter[float] = Counter()
        for index in range(threads.size):
            part = local_partition(tensor, threads, index)
            place = next(c for c in coordinates(extents) if threads(c) == index)
            for value, rest in zip(existing_or_none(part), coordinates(part.shape), strict=True):
                at = tuple(p + r * e for p, r, e in zip(place, rest, extents, strict=True))  # type: ignore[arg-type]
                inside = all(a < s for a, s in zip(at, shape, strict=True))
                assert value == (element(tensor, at) if inside else None)
                if inside:
                    owned[element(tensor, at)] += 1
        assert len(owned) == product(shape) and set(owned.values()) == {1}


def existing_or_none(part: Tensor) -> list[float | None]:
    found: list[float | None] = []
    for crd in coordinates(part.shape):
        try:
            found.append(float(part[crd]))  # type: ignore[arg-type]
        except TensorIndexError:
            found.append(None)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_thread_value_partitions(seed: int) -> None:
    random = Random(3000 + seed)
    for _case in range(15):
        rank = random.randint(1, 2)
        threads = make_ordered_layout(*_extents_and_order(random, rank))
        values = make_ordered_layout(*_extents_and_order(random, rank))
        tile, layout_tv = make_layout_tv(threads, values)
        if random.random() < 0.3:  # every element belongs to three threads
            layout_tv = Layout(
                ((layout_tv.shape[0], 3), layout_tv.shape[1]), ((layout_tv.stride[0], 0), layout_tv.stride[1])
            )  # type: ignore[index]
        tensor = random_tensor(random, tile)
        table = layout_tv.offsets()
        owned: Counter[float] = Counter()
        for thread in range(layout_tv[0].size):
            part = thread_value_partition(tensor, layout_tv, thread)
            expected = [element(tensor, int(index)) for index in table[thread]]
            assert [float(value) for value in load_all(part).ravel(order="F")] == expected
            owned.update(expected)
        assert len(owned) == product(tile) and set(owned.values()) == {layout_tv.size // product(tile)}


def _extents_and_order(random: Random, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    order = list(range(rank))
    random.shuffle(order)
    return tuple(random.choice([1, 2, 3, 4]) for _mode in range(rank)), tuple(order)


@pytest.mark.parametrize("seed", SEEDS)
def test_tiled_copies_move_every_element_once(seed: int) -> None:
    random = Random(4000 + seed)
    for _case in range(4):
        threads = make_ordered_layout(*_extents_and_order(random, 2))
        values = make_ordered_layout(*_extents_and_order(random, 2))
        copies = make_tiled_copy(universal_copy(1), threads, values)
        shape = flat_shape(random, 2)
        block = tuple(step * random.randint(1, 2) for step in copies.tile)
        source = random_tensor(random, shape)
        target = make_tensor(np.full(product(shape), -1, np.float32), shape)
        for tile_crd in cartesian(*(range(-(-s // b)) for s, b in zip(shape, block, strict=True))):
            staged = make_tensor("f32", block)
            read, written = local_tile(source, block, tile_crd), local_tile(target, block, tile_crd)
            for thread in range(copies.threads):
                part = copies.thread(read, staged, thread)
                copy(part.source, part.target)
            for thread in range(copies.threads):
                part = copies.thread(staged, written, thread)
                copy(part.source, part.target)
        assert (target.numpy() == source.numpy()).all()


@pytest.mark.parametrize("seed", range(5))
def test_nested_modes_tile_or_say_why_not(seed: int) -> None:
    """Where a tile cuts nested modes, the result is exact or refused: never wrong."""
    random = Random(5000 + seed)
    exact = 0
    for _case in range(60):
        shape = random_shape(random, largest=200)
        tensor = random_tensor(random, shape)
        tiler = tuple(random.randint(1, 5) for _mode in shape)
        try:
            tiled = zipped_divide(tensor, tiler)
        except (LayoutError, TensorError):
            continue
        exact += 1
        sizes = [product(mode) for mode in shape]
        for crd in coordinates(tuple(tiler)):
            for tile_crd in coordinates(tuple(-(-s // b) for s, b in zip(sizes, tiler, strict=True))):
                at = tuple(t * b + i for t, b, i in zip(tile_crd, tiler, crd, strict=True))  # type: ignore[arg-type]
                if all(a < s for a, s in zip(at, sizes, strict=True)):
                    assert float(tiled[crd, tile_crd]) == element(tensor, at)
                else:
                    with pytest.raises(TensorIndexError):
                        tiled[crd, tile_crd]
    assert exact > 20


def test_identity_tensors_tell_where_a_slice_is() -> None:
    random = Random(6)
    for _case in range(100):
        shape = random_shape(random)
        crd = random_coordinate(random, shape, 0.5)
        where = make_identity_tensor(shape)  # type: ignore[arg-type]
        if not isinstance(crd, tuple):
            continue
        part = where(crd)
        for inner in coordinates(part.shape) if isinstance(part, Tensor) else [()]:
            found = part[inner] if isinstance(part, Tensor) else part
            full = filled(crd, iter(inner))  # type: ignore[call-overload]
            assert flat_of(found, shape) == flat_of(_unfolded(full, shape), shape)


def flat_of(crd: object, shape: object) -> list[int]:
    return flat(_unfolded(crd, shape))


def _unfolded(crd: object, shape: object) -> object:
    """The coordinate with every integer unfolded to the nesting of the shape."""
    if not isinstance(shape, tuple):
        return crd
    if isinstance(crd, tuple):
        padded = crd + (0,) * (len(shape) - len(crd))
        return tuple(_unfolded(c, s) for c, s in zip(padded, shape, strict=True))
    assert isinstance(crd, int)
    found = []
    for position, entry in enumerate(shape):
        size = product(entry)
        found.append(
            _unfolded(crd if position == len(shape) - 1 and not isinstance(entry, tuple) else crd % size, entry)
        )
        crd //= size
    return tuple(found)


def test_keeping_everything_changes_nothing() -> None:
    tensor = random_tensor(Random(1), (3, (2, 4)))
    assert (tensor(_).numpy() == tensor.numpy()).all() and (tensor(_, _).numpy() == tensor.numpy()).all()
