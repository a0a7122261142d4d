"""Conversions inside kernels, run by the interpreter."""

import random

import numpy as np
import pytest
from layout.convert_cases import fragments, random_pair, table

from cutepy import Layout, convert, gpu, make_tensor
from cutepy.errors import KernelError
from cutepy.gpu.targets.interpreter import interpret
from cutepy.layout.values.composed import AnyLayout


@gpu.kernel
def converted(x, y, *, source, target, lanes, through, threads):
    """Thread t of each group holds its part of the tile `x` as `source`, and writes its part of `target` to `y[t]`."""
    gpu.launch(threads=threads)
    mine = make_tensor(x.dtype, (x.shape[1],))
    for value in gpu.unroll(x.shape[1]):
        mine[value] = x[gpu.thread, value]
    found = gpu.convert(mine, source, target, lanes=lanes, through=through)
    for value in gpu.unroll(y.shape[1]):
        y[gpu.thread, value] = found[value]


def case(source: AnyLayout, target: AnyLayout, groups: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the threads hold, room for what they get, and what that is to be; each group has a tile of its own."""
    here, there = (np.concatenate([table(part) + 1000 * group for group in range(groups)]) for part in (source, target))
    return here.astype(np.int32), np.zeros(there.shape, np.int32), there.astype(np.int32)


def judged(seed: int) -> str:
    """What is wrong with a random conversion in a kernel; '' if nothing is."""
    rng = random.Random(f"{seed} in kernels")
    kind = rng.choice(("permuted", "linear", "copied"))
    source, target = random_pair(rng, kind, rng.randint(0, 5), rng.randint(0, 3))
    plan = convert(source, target)
    groups = 1 if plan.trip else rng.choice((1, 2))
    x, y, wanted = case(source, target, groups)
    options = {"source": source, "target": target, "lanes": 32, "through": rng.choice((None, "memory")[: 3 - groups])}
    converted.interpret(x, y, **options, threads=len(x))
    if not (y == wanted).all():
        return f"other elements: {options}, {plan}"
    return "" if converted.verify(x, y, **options, threads=len(x)).ok else f"not proven: {options}, {plan}"


@pytest.mark.parametrize("seed", range(25))
def test_random_pairs(seed: int) -> None:
    assert judged(seed) == ""


def test_pairs_of_fragments() -> None:
    every = [layout for layout in fragments() if layout[0].size == 32 and layout.cosize == 256]
    for source in every:
        for target in every:
            x, y, wanted = case(source, target)
            converted.interpret(x, y, source=source, target=target, lanes=32, through=None, threads=32)
            assert (y == wanted).all(), (source, target)
    assert len(every) > 3


def test_subgroups_that_are_too_small_are_refused() -> None:
    source, target = Layout((32, 4), (4, 1)), Layout((32, 4), (1, 32))
    x, y, _wanted = case(source, target)
    kernel = converted.ir(x, y, source=source, target=target, lanes=32, through="shuffles", threads=32)
    with pytest.raises(KernelError, match="it shuffles within subgroups of 32 threads, here they have 16"):
        interpret(kernel, [x.ravel(), y.ravel()], subgroup_size=16)
    interpret(kernel, [x.ravel(), y.ravel()], subgroup_size=64)
    assert (y == _wanted).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"threads": 16}, "32 threads hold the tile, the workgroup has 16; launch 32, or a multiple"),
        ({"threads": 64, "through": "memory"}, "the workgroup has 64; launch 32$"),
        ({"source": Layout((32, 8), (8, 1)), "target": Layout((32, 8))}, "the layout has 8 values a thread"),
    ],
)
def test_bad_input(change: dict[str, object], words: str) -> None:
    options = {"source": Layout((32, 4), (4, 1)), "target": Layout((32, 4)), "lanes": 32, "through": None} | change
    x, y = np.zeros((64, 4), np.int32), np.zeros((64, 4), np.int32)
    with pytest.raises(KernelError, match=words):
        converted.interpret(x, y, **{"threads": 32, **options})


@gpu.kernel
def apart(x):
    gpu.launch(threads=32)
    with gpu.when(gpu.thread < 8):
        gpu.convert(x, Layout((32, 1), (1, 0)), Layout((32, 1), (1, 0)))


def test_all_threads_must_come() -> None:
    with pytest.raises(KernelError, match="where threads may be missing"):
        apart.interpret(np.zeros(1, np.float32))
