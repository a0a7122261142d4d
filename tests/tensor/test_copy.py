"""`copy` between any two layouts of one size, by views, by blocks and by offsets; and what it costs in memory."""

import tracemalloc
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from tensor.cases import coordinates, element, random_shape, random_tensor

from cutepy import ops
from cutepy.layout import ComposedLayout, Layout, Swizzle
from cutepy.tensor import Tensor, bulk, copy, make_tensor


@pytest.mark.parametrize("seed", range(10))
def test_pairs_of_layouts(seed: int) -> None:
    """The shapes differ, only the sizes agree; some pairs have no common refinement."""
    random = Random(seed)
    for _case in range(20):
        source = random_tensor(random, random_shape(random), swizzled=random.random() < 0.3)
        others = [shape for shape in (random_shape(random) for _try in range(200)) if Layout(shape).size == source.size]  # type: ignore[arg-type]
        target = random_tensor(random, others[0] if others else (source.size,))
        untouched = np.ones(len(target.engine.memory), bool)  # type: ignore[attr-defined]
        untouched[target.layout.offsets() + target.offset] = False  # type: ignore[operator]
        before = target.engine.memory.copy()  # type: ignore[attr-defined]
        copy(source, target)
        for one, other in zip(coordinates(source.shape), coordinates(target.shape), strict=True):
            assert element(target, other) == element(source, one)
        assert (target.engine.memory[untouched] == before[untouched]).all()  # type: ignore[attr-defined]


@pytest.mark.parametrize("block", [8, 128])
def test_transposing_in_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "BLOCK", block)
    random = Random(block)
    for _case in range(30):
        shape = tuple(random.choice([1, 3, 16, 17, 33]) for _mode in range(random.randint(2, 4)))
        source, target = (random_tensor(random, shape) for _side in range(2))
        copy(source, target)
        assert (target.numpy() == source.numpy()).all()


class Operands:
    """128 MiB of ones, made when the first test asks for them."""

    def __init__(self) -> None:
        self.half = np.ones((8192, 4096), np.float16)  # 64 MiB; in f32 it would take 128
        self.single = np.ones((4096, 4096), np.float32)
        self.tiled = make_tensor(self.single, ((64, 64), (64, 64)), ((1, 4096), (64, 262144)))
        self.swizzled = make_tensor(self.single, ComposedLayout(Swizzle(3, 2, 3), 0, Layout((4096, 4096))))


@pytest.fixture(scope="module")
def operands() -> Operands:
    return Operands()


OPERATIONS: list[tuple[Callable[[Operands], Tensor], int]] = [
    (lambda x: ops.sum(x.half), 1),
    (lambda x: ops.sum(x.half, 0), 1),
    (lambda x: ops.mean(x.half.T, 1), 1),
    (lambda x: ops.max(x.swizzled, 1), 64),
    (lambda x: ops.sum(x.tiled, 0), 1),
    (lambda x: ops.argmax(x.single.T), 64),
    (lambda x: ops.argmin(x.tiled, 1), 64),
    (lambda x: ops.matmul(x.half, x.half[:4096, :64]), 64),
    (lambda x: ops.matmul(x.single[::2, ::2], x.single[1::2, :64]), 64),
    (lambda x: ops.matmul(x.tiled, x.single[:, :64]), 64),
    (lambda x: ops.matmul(x.swizzled, x.single[:, :16]), 64),
    (lambda x: ops.dot(x.single.reshape(-1), x.single.reshape(-1)[::-1]), 64),
    (lambda x: ops.fused_multiply_add(x.half, x.half[::-1], 1), 64),
    (lambda x: ops.fused_multiply_add(x.single[:512, None, :1024], x.single[None, 512:1024, :1024], 2), 64),
]


@pytest.mark.parametrize(("operation", "allowed"), OPERATIONS, ids=[str(number) for number in range(len(OPERATIONS))])
def test_peak_memory(operands: Operands, operation: Callable[[Operands], Tensor], allowed: int) -> None:
    """NumPy holds no more than the result, and so many MiB, beyond what was there before."""
    tracemalloc.start()
    try:
        result = operation(operands)
        most = tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
    assert most <= result.size * result.dtype.bytes / 2**20 + allowed
