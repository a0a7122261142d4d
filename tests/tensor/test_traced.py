"""The same calls on arrays and on expressions: one source, no look at a value, whole tables in one access."""

from collections.abc import Callable, Iterator
from functools import reduce as fold

import numpy as np
import pytest
from tensor.opaque import Opaque, OpaqueEngine, reveal

from cutepy.errors import TensorError
from cutepy.layout import ComposedLayout, Layout, Swizzle, _, make_ordered_layout, size, zipped_divide
from cutepy.tensor import (
    FMA,
    DType,
    Tensor,
    axpby,
    clear,
    cooperative_copy,
    copy,
    copy_if,
    elem_less,
    fill,
    gemm,
    local_partition,
    local_tile,
    make_fragment_like,
    make_identity_tensor,
    make_tensor,
    make_tensor_like,
    make_tiled_copy,
    make_tiled_mma,
    reduce,
    reduce_tree,
    thread_value_partition,
    transform,
    universal_copy,
)
from cutepy.tensor.engine import ALLOCATOR, CURRENT_THREAD

Number = Callable[[int], object]


class World:
    """Where tensors live: arrays with numbers, or opaque memory with opaque numbers."""

    def __init__(self, traced: bool) -> None:
        self.traced, self.accesses = traced, []  # type: ignore[var-annotated]

    def number(self, value: int) -> object:
        return Opaque(value) if self.traced else value

    def tensor(self, data: np.ndarray, layout: Layout | ComposedLayout) -> Tensor:
        return Tensor(OpaqueEngine(data, self.accesses), layout) if self.traced else make_tensor(data, layout)

    def allocate(self, dtype: DType, length: int, space: str, name: str) -> OpaqueEngine:
        return OpaqueEngine(np.zeros(length, dtype.numpy), self.accesses, dtype, "rmem")


@pytest.fixture(params=[False, True], ids=["arrays", "expressions"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    made = World(request.param)
    token = ALLOCATOR.set(made.allocate) if made.traced else None  # type: ignore[arg-type]
    yield made
    if token is not None:
        ALLOCATOR.reset(token)


def values(shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(-5, 6, shape).astype(np.float32)


@pytest.mark.parametrize("swizzled", [False, True])
def test_tiles_partitions_and_copies(world: World, swizzled: bool) -> None:
    source, target = np.arange(13 * 10, dtype=np.float32), np.full(256, -1, np.float32)
    row_major = Layout((13, 10), (10, 1))
    goal: Layout | ComposedLayout = Layout((13, 10), (1, 16))
    if swizzled:
        goal = ComposedLayout(Swizzle(2, 0, 4), 0, goal)
    A, B = world.tensor(source, row_major), world.tensor(target, goal)
    threads = make_ordered_layout((4, 2), (1, 0))
    for m in range(2):
        for n in range(3):
            a, b = (local_tile(t, (8, 4), (world.number(m), world.number(n))) for t in (A, B))
            for thread in range(8):
                parts = [local_partition(t, threads, world.number(thread)) for t in (a, b)]
                copy(*parts)
    offsets = goal.offsets()
    assert (target[offsets] == source.reshape(13, 10)).all()
    untouched = np.setdiff1d(np.arange(256), offsets)
    assert (target[untouched] == -1).all()
    assert not world.traced or set(world.accesses) == {("load", 4), ("store", 4)}


def test_elements(world: World) -> None:
    data = np.arange(40, dtype=np.float32)
    A = world.tensor(data, Layout(((4, 2), 5), ((1, 20), 4)))
    i, j = world.number(5), world.number(3)
    assert reveal(A[i, j]) == A.layout(5, 3) == reveal(A((world.number(1), world.number(1)), j))
    assert reveal(A(_, j)[i,]) == A.layout(5, 3) and reveal(A[world.number(29)]) == A.layout(29)
    A[i, j] = world.number(100)
    assert data[A.layout(5, 3)] == 100
    tile = local_tile(A, (4, 2), (world.number(1), world.number(2)))
    assert reveal(tile[2, 0]) == A.layout(6, 4)
    if world.traced:
        assert reveal(tile[0, 1]) == reveal(tile[3, 1]) == 0
        assert reveal(tile[world.number(3), world.number(0)]) == A.layout(7, 4)


def test_thread_value_partitions(world: World) -> None:
    layout_tv = Layout(((2, 4), (2, 2)), ((8, 1), (4, 16)))
    A = world.tensor(np.arange(32, dtype=np.float32), Layout((4, 8), (8, 1)))
    for thread in range(8):
        part = thread_value_partition(A, layout_tv, world.number(thread))
        assert [reveal(part[v]) for v in range(4)] == [A.layout(layout_tv(thread, v)) for v in range(4)]


def test_matmul_as_a_kernel_writes_it(world: World) -> None:
    """The kernel of docs/design.md, thread by thread, on sizes that no tile divides."""
    m, n, k = 21, 13, 9
    bm, bn, bk = 16, 8, 4
    a, b, c = values((m, k), 1), values((n, k), 2), np.zeros((m, n), np.float32)
    A, B = (world.tensor(x.ravel(), Layout(x.shape, (k, 1))) for x in (a, b))
    C = world.tensor(c.ravel(), Layout((m, n), (n, 1)))
    copies = make_tiled_copy(universal_copy(1), Layout((4, 2), (2, 1)), Layout((1, 2)))
    threads = make_tiled_mma(FMA, (4, 2, 1), (Layout((4, 2), (2, 1)), None, None))
    shared = np.zeros((2, 400), np.float32)
    for y in range(-(-m // bm)):
        for x in range(-(-n // bn)):
            gA = local_tile(A, (bm, bk), (world.number(y), _))
            gB = local_tile(B, (bn, bk), (world.number(x), _))
            gC = local_tile(C, (bm, bn), (world.number(y), world.number(x)))
            sA = world.tensor(shared[0], Layout((bm, bk), (1, bm + 4)))
            sB = world.tensor(shared[1], Layout((bn, bk), (1, bn + 4)))
            mine = [threads.thread(sA, sB, gC, world.number(t)) for t in range(8)]
            sums = [make_fragment_like(part.C) for part in mine]
            for fragment in sums:
                clear(fragment)
            for step in range(size(gA, 2)):
                for t in range(8):
                    for whole, staged in ((gA, sA), (gB, sB)):
                        part = copies.thread(whole, staged, world.number(t))
                        copy(part.source(_, _, world.number(step)), part.target)
                for part_of, fragment in zip(mine, sums, strict=True):
                    for kk in range(bk):
                        gemm(part_of.A(_, kk), part_of.B(_, kk), fragment)
            for part_of, fragment in zip(mine, sums, strict=True):
                copy(fragment, part_of.C)
    assert (C.engine.memory.reshape(m, n) == a @ b.T).all()  # type: ignore[attr-defined]


FORMS = [
    ((4,), (4,), (4,), "v,v->v"),
    ((4,), (3,), (4, 3), "m,n->mn"),
    ((4, 5), (3, 5), (4, 3), "mk,nk->mn"),
    ((2, 4), (2, 3), (2, 4, 3), "vm,vn->vmn"),
    ((2, 4, 5), (2, 3, 5), (2, 4, 3), "vmk,vnk->vmn"),
]


@pytest.mark.parametrize(("one", "other", "result", "sums"), FORMS, ids=[form[3] for form in FORMS])
def test_gemm_forms(world: World, one: tuple, other: tuple, result: tuple, sums: str) -> None:
    a, b, c = values(one, 1), values(other, 2), values(result, 3)
    expected = c + np.einsum(sums, a, b)
    tensors = [world.tensor(x.ravel(order="F").copy(), Layout(x.shape)) for x in (a, b, c)]
    gemm(*tensors)
    found = tensors[2].engine.memory.reshape(result, order="F")  # type: ignore[attr-defined]
    assert (found == expected).all()
    products = np.einsum(sums, np.ones_like(a), np.ones_like(b)).sum()
    assert not world.traced or world.accesses.count(("fma", 1)) == products


def test_axpby_fill_clear_transform_reduce(world: World) -> None:
    x, y = values((3, 4), 1), values((3, 4), 2)
    X, Y = (world.tensor(v.ravel(order="F").copy(), Layout((3, 4))) for v in (x, y))
    memory = Y.engine.memory  # type: ignore[attr-defined]
    axpby(2, X, 3, Y)
    assert (memory == (2 * x + 3 * y).ravel(order="F")).all()
    axpby(world.number(2), X, 0, Y)
    assert (memory == 2 * x.ravel(order="F")).all()
    assert not world.traced or world.accesses.count(("load", 12)) == 3  # beta = 0 does not read y
    transform(X, Y, op=lambda v: v * v + 1)
    assert (memory == (x * x + 1).ravel(order="F")).all()
    transform(X, X, Y, op=lambda v, w: v - 2 * w)
    assert (memory == -x.ravel(order="F")).all()
    transform(Y, op=lambda v: v + 1)
    assert (memory == 1 - x.ravel(order="F")).all()
    transform(*[X] * 70, Y, op=lambda *v: sum(v))  # more than a ufunc of NumPy has operands
    assert (memory == 70 * x.ravel(order="F")).all()
    assert reveal(reduce_tree(X, 7, lambda v, w: v + w)) == 7 + x.sum()
    assert reveal(reduce(X, 7, lambda v, w: v * 0.5 + w)) == fold(lambda v, w: v * 0.5 + w, x.ravel(order="F"), 7)
    fill(Y, 5)
    assert (memory == 5).all()
    clear(Y)
    assert (memory == 0).all()


def test_predicated_copies(world: World) -> None:
    data, goal = np.arange(30, dtype=np.float32), np.full(30, -1, np.float32)
    A, B = (world.tensor(v, Layout((5, 6))) for v in (data, goal))
    where = make_identity_tensor((5, 6))
    for m in range(2):
        tile = (world.number(m), world.number(1))
        parts = [local_tile(t, (4, 4), tile) for t in (A, B, where)]
        copy_if(elem_less(parts[2], (4, 5)), parts[0], parts[1])
    expected = np.full((5, 6), -1, np.float32)
    expected[:4, 4:5] = data.reshape(5, 6, order="F")[:4, 4:5]
    assert (goal.reshape(5, 6, order="F") == expected).all()


@pytest.mark.parametrize("count", [1, 3, 8, 50])
def test_cooperative_copies(world: World, count: int) -> None:
    data, goal = np.arange(160, dtype=np.float32), np.full(200, -1, np.float32)
    A, B = world.tensor(data, Layout((8, 5), (1, 16))), world.tensor(goal, Layout((8, 5), (1, 10)))
    for thread in range(count):
        cooperative_copy(count, A, B, thread=world.number(thread))
    assert (goal[B.layout.offsets()] == A.layout.offsets()).all() and (goal != -1).sum() == 40
    tiles = [local_tile(t, (3, 4), (world.number(2), world.number(1))) for t in (A, B)]
    goal[:] = -1
    for thread in range(count):
        cooperative_copy(count, *tiles, thread=world.number(thread))
    assert (goal != -1).sum() == 2 and goal[B.layout(7, 4)] == A.layout(7, 4)


def test_whole_divides_then_a_slice(world: World) -> None:
    A = world.tensor(np.arange(24 * 16, dtype=np.float32), Layout((24, 16)))
    tiled = zipped_divide(A, (8, 4))
    fragment = make_tensor_like(tiled(_, 0))
    for j in range(size(tiled, 1)):
        copy(tiled(_, world.number(j)), fragment)
        corner = A.layout(8 * (j % 3), 4 * (j // 3))
        assert reveal(fragment[0]) == corner and reveal(fragment[31]) == corner + 7 + 3 * 24


def test_the_current_thread_is_the_default(world: World) -> None:
    A = world.tensor(np.arange(24, dtype=np.float32), Layout((6, 4)))
    with pytest.raises(TensorError, match="a partition needs a thread"):
        local_partition(A, Layout((3, 2)))
    token = CURRENT_THREAD.set(world.number(4))
    try:
        assert reveal(local_partition(A, Layout((3, 2)))[1, 1]) == A.layout(4, 3)
    finally:
        CURRENT_THREAD.reset(token)
