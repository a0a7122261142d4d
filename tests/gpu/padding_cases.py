"""Random rims: views of `padded` tensors by tiles, slices, strides and compositions, judged by np.pad and slicing.

On arrays the view is read; in a kernel it is copied, by one thread or by several, to an array.
"""

from typing import Any

import numpy as np

from cutepy import gpu
from cutepy.layout import Layout, _, composition
from cutepy.tensor import Tensor, copy, local_partition, local_tile, make_tensor, padded

Array = np.ndarray
FILLS: tuple[Any, ...] = (0, -0.0, 7, -2.5, "edge", "reflect", "wrap")
Op = tuple[Any, ...]


def same(found: Array, wanted: Array) -> bool:
    """Whether numbers are equal, zeros with their signs."""
    return bool((found == wanted).all() and (np.signbit(found) == np.signbit(wanted)).all())


def by_numpy(x: Array, before: tuple[int, ...], after: tuple[int, ...], fill: Any) -> Array:
    """np.pad."""
    widths = list(zip(before, after, strict=True))
    return np.pad(x, widths, mode=fill) if isinstance(fill, str) else np.pad(x, widths, constant_values=fill)


def random_ops(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Op, ...]:
    """One to three steps from a tensor to a view: ("tile", tile, at), ("slice", mode, at), ("step", mode, n, by)."""
    ops: list[Op] = []
    for _turn in range(rng.integers(1, 4)):
        kind = rng.choice(["tile", "slice", "step"])
        mode = int(rng.integers(len(shape)))
        if kind == "tile":
            tile = tuple(int(rng.integers(1, n + 1)) for n in shape)
            at = tuple(int(rng.integers(-(-n // t))) for n, t in zip(shape, tile, strict=True))
            ops.append(("tile", tile, at))
            shape = tile
        elif kind == "slice" and len(shape) > 1:
            ops.append(("slice", mode, int(rng.integers(shape[mode]))))
            shape = shape[:mode] + shape[mode + 1 :]
        else:
            by = int(rng.integers(1, 4))
            n = int(rng.integers(1, (shape[mode] - 1) // by + 2))
            ops.append(("step", mode, n, by))
            shape = (*shape[:mode], n, *shape[mode + 1 :])
    return tuple(ops)


def viewed(t: Tensor, ops: tuple[Op, ...]) -> Tensor:
    """The view of a tensor."""
    for op in ops:
        rank = t.layout.rank if isinstance(t.shape, tuple) else 1
        match op:
            case "tile", tile, at:
                t = local_tile(t, tile, at)
            case "slice", mode, at:
                t = t[tuple(at if m == mode else _ for m in range(rank))]
            case "step", mode, n, by:
                t = composition(t, tuple(Layout(n, by) if m == mode else None for m in range(rank)))
    return t


def viewed_array(a: Array, ops: tuple[Op, ...]) -> Array:
    """The same of an array; a tile at the end goes on with zeros."""
    for op in ops:
        match op:
            case "tile", tile, at:
                whole = np.pad(a, [(0, t) for t in tile])
                a = whole[tuple(slice(t * i, t * i + t) for t, i in zip(tile, at, strict=True))]
            case "slice", mode, at:
                a = np.take(a, at, axis=mode)
            case "step", mode, n, by:
                a = np.take(a, np.arange(n) * by, axis=mode)
    return a


@gpu.kernel(sizes="known")
def copied(x, y, *, before, after, fill, ops, threads):
    """y = the view, by so many threads along its first mode."""
    gpu.launch(threads=threads)
    view = viewed(padded(x, before, after, value=fill), ops)
    share = Layout((threads, *(1,) * (y.layout.rank - 1)))
    copy(local_partition(view, share), local_partition(y, share))


def layout_of(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Numbers from 1 on, row by row, column by column, with gaps or backwards."""
    x = np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape)
    match rng.integers(4):
        case 0:
            return x
        case 1:
            return np.asfortranarray(x)
        case 2:
            wide = np.zeros(tuple(2 * n for n in shape), np.float32)
            wide[tuple(slice(None, None, 2) for _n in shape)] = x
            return wide[tuple(slice(None, None, 2) for _n in shape)]
    return x[::-1].copy()[::-1]


def judge(number: int, *, traced: bool = True, device: bool = False) -> None:
    """AssertionError where a view is not what np.pad and slicing give, or its kernel is not proven."""
    rng = np.random.default_rng(number)
    shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 4)))
    before, after = (
        tuple(int(n) for n in rng.integers(0, 9, len(shape)) * rng.integers(0, 2, len(shape))) for _e in "ab"
    )
    fill, x = FILLS[rng.integers(len(FILLS))], layout_of(rng, shape)
    around = by_numpy(x, before, after, fill)
    ops = random_ops(rng, around.shape)
    wanted = viewed_array(around, ops)
    told = f"{number}: {shape} {before} {after} {fill!r} {ops}"
    rim = padded(x, before, after, value=fill)
    assert same(rim.numpy(), around), told
    assert same(viewed(rim, ops).numpy(), wanted), told
    if not traced:
        return
    static = {"before": before, "after": after, "fill": fill, "ops": ops, "threads": int(rng.choice([1, 4]))}
    y = np.full(wanted.shape, -99, np.float32)
    copied.interpret(x, y, **static, check=True)
    assert same(y, wanted), told
    found = copied.verify(x, y, **static, prover="cutepy")
    assert found.ok, f"{told} {found}"
    if device:
        y[...] = -99
        copied(x, y, **static)
        assert same(y, wanted), told


def written(number: int) -> None:
    """A view with a number around it is written inside, and nowhere else."""
    rng = np.random.default_rng(number)
    shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 4)))
    before, after = (tuple(int(n) for n in rng.integers(0, 4, len(shape))) for _e in "ab")
    x, around = layout_of(rng, shape), np.zeros(tuple(np.add(np.add(shape, before), after)), np.float32)
    ops = random_ops(rng, around.shape)
    values = viewed_array(np.arange(around.size, dtype=np.float32).reshape(around.shape) + 100, ops)
    picked = viewed_array(np.arange(1, around.size + 1).reshape(around.shape), ops).astype(int).ravel()
    whole = np.ascontiguousarray(by_numpy(x, before, after, 0))
    whole.ravel()[picked[picked > 0] - 1] = values.ravel()[picked > 0]
    wanted = whole[tuple(slice(b, b + n) for b, n in zip(before, shape, strict=True))]
    view = viewed(padded(make_tensor_of(x), before, after), ops)
    copy(make_tensor_of(np.ascontiguousarray(values)), view)
    assert (x == wanted).all(), (number, ops)


def make_tensor_of(x: Array) -> Tensor:
    """A tensor over an array, its first axis first."""
    return make_tensor(x)
