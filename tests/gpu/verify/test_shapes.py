"""Accesses stay inside the shape of what they access: classic mistakes refuted, random ones judged by brute force."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from shares import in_share, share

from cutepy import gpu
from cutepy.errors import KernelError, TensorError
from cutepy.gpu.lower import lower
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.verify import Verdict
from cutepy.layout import Layout, _
from cutepy.tensor import Tensor, copy, local_tile, make_tensor, thread_value_partition

ROWS, COLUMNS = 8, 16


def image() -> np.ndarray:
    return np.zeros((ROWS, COLUMNS), np.float32)


def verdicts(kernel: object, *args: object, **static: object) -> dict[tuple[str, str], Verdict]:
    found = kernel.verify(*args, **static)  # type: ignore[attr-defined]
    return {(str(v.claim), v.array): v for v in found.verdicts}


# Each kernel is right with `off=0`, and makes its mistake with `off=1`: in memory it stays in bounds.


@gpu.kernel
def halo_to_the_left(x: Tensor, y: Tensor, *, off: int) -> None:
    gpu.launch(grid=ROWS, threads=COLUMNS)
    i, j = gpu.workgroup.x, gpu.thread
    with gpu.when((i > 0) & (j >= 1 - off)):
        y[i, j] = x[i, j] + x[i, j - 1]


@gpu.kernel
def halo_to_the_right(x: Tensor, y: Tensor, *, off: int) -> None:
    gpu.launch(grid=ROWS, threads=COLUMNS)
    i, j = gpu.workgroup.x, gpu.thread
    with gpu.when((i + 1 < ROWS) & (j + 1 < COLUMNS + off)):
        y[i, j] = x[i, j] + x[i, j + 1]


@gpu.kernel
def guard_with_less_or_equal(x: Tensor, y: Tensor, *, off: int) -> None:
    gpu.launch(grid=ROWS - 1, threads=32)
    i, j = gpu.workgroup.x, gpu.thread
    with gpu.when(j < COLUMNS + off):
        y[i, j] = x[i, 0]


@gpu.kernel
def guard_of_the_other_axis(x: Tensor, y: Tensor, *, off: int) -> None:
    gpu.launch(grid=1, threads=(32, 4))
    i, j = gpu.thread.y, gpu.thread.x
    with gpu.when((j < (32 if off else COLUMNS)) & (i < ROWS)):
        y[i, j] = x[i, 0]


@gpu.kernel
def coordinates_in_the_other_order(x: Tensor, y: Tensor, *, off: int) -> None:
    gpu.launch(grid=4, threads=12)
    i, j = gpu.workgroup.x, gpu.thread
    y[i, j] = x[j, i] if off else x[i, j]


@gpu.kernel
def one_tile_too_many(x: Tensor, y: Tensor, *, off: int) -> None:
    gpu.launch(grid=(2 + off, 1), threads=64)
    tile = local_tile(x, (4, 8), (0, gpu.workgroup.x))
    y[gpu.workgroup.x, gpu.thread % 16] = tile[gpu.thread // 8 % 4, gpu.thread % 8]


@gpu.kernel
def padding_of_a_shared_tile(x: Tensor, y: Tensor, *, off: int) -> None:
    gpu.launch(grid=1, threads=7 * 8)
    tile = gpu.shared("f32", Layout((8, 8), (9, 1)))
    i, j = gpu.thread // 8, gpu.thread % 8
    tile[i, j + off] = x[i, j]
    gpu.barrier()
    y[i, j] = 1.0


@gpu.kernel
def past_the_end_of_a_row(x: Tensor, y: Tensor, *, off: int) -> None:
    gpu.launch(grid=4, threads=COLUMNS)
    row = x(gpu.workgroup.x, _)
    y[gpu.workgroup.x, gpu.thread] = row[gpu.minimum(gpu.thread + 1, COLUMNS - 1 + off)]


@gpu.kernel
def mask_of_rows_alone(x: Tensor, y: Tensor, *, off: int) -> None:
    gpu.launch(grid=ROWS, threads=COLUMNS)
    i, j = gpu.workgroup.x, gpu.thread
    mask = (i > 0) & (i + 1 < ROWS)
    y[i, j] = gpu.load(x, (i, j + 2), where=mask if off else mask & (j + 2 < COLUMNS))


@gpu.kernel
def a_loop_over_one_column_more(x: Tensor, y: Tensor, *, off: int) -> None:
    gpu.launch(grid=1, threads=ROWS - 1)
    total = 0.0
    for j in gpu.loop(COLUMNS + off):
        total += x[gpu.thread, j]
    y[gpu.thread, 0] = total


@gpu.kernel
def a_column_of_another_thread(x: Tensor, y: Tensor, *, off: int) -> None:
    gpu.launch(grid=2, threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    width = COLUMNS + off  # the pitch of another image
    with gpu.when(i < 7 * width):
        y[i // width, i % width] = 1.0 + x[0, 0]


MISTAKES = [
    halo_to_the_left,
    halo_to_the_right,
    guard_with_less_or_equal,
    guard_of_the_other_axis,
    coordinates_in_the_other_order,
    one_tile_too_many,
    padding_of_a_shared_tile,
    past_the_end_of_a_row,
    mask_of_rows_alone,
    a_loop_over_one_column_more,
    a_column_of_another_thread,
]


@pytest.mark.parametrize("kernel", MISTAKES, ids=lambda kernel: kernel.__name__)
def test_classic_mistakes_are_refuted_and_their_twins_proven(kernel: Callable[..., None]) -> None:
    x = image() if kernel is not coordinates_in_the_other_order else np.asfortranarray(image())
    right, wrong = (verdicts(kernel, x, image(), off=off) for off in (0, 1))
    claims = "in bounds", "inside its shape"
    assert {v.status for (claim, _array), v in right.items() if claim in claims} == {"proven"}
    assert {v.status for (claim, _array), v in wrong.items() if claim == "in bounds"} == {"proven"}
    (refuted,) = (v for (claim, _array), v in wrong.items() if claim == "inside its shape" and v.status == "refuted")
    assert refuted.witness is not None
    assert refuted.witness.uses[0].place.startswith("test_shapes.py:")
    with pytest.raises(KernelError, match=r"coordinate \d+ of a mode of \d+, outside its shape: workgroup"):
        kernel.interpret(x, image(), off=1)  # type: ignore[attr-defined]
    kernel.interpret(x, image(), off=0)  # type: ignore[attr-defined]


@gpu.kernel
def ones(x: Tensor) -> None:
    gpu.launch(threads=8)
    x[0, gpu.thread] = 1.0


@gpu.kernel
def one_each(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    y[gpu.thread] = x[gpu.thread]


def test_a_view_of_columns_and_an_array_of_one() -> None:
    whole = np.zeros((8, 8), np.float32)
    told = verdicts(ones, whole[:, :4])["inside its shape", "x"]
    assert told.status == "refuted"
    assert "coordinate 4 of a mode of 4 of x" in str(told)
    assert told.witness.uses[0].thread == 4
    assert verdicts(ones, whole).get(("inside its shape", "x")) is None  # the range of the thread says it
    alone = verdicts(one_each, np.zeros(1, np.float32), np.zeros(8, np.float32))["inside its shape", "x"]
    assert alone.witness.element == 1


def test_what_runs_writes_nothing_outside_a_view() -> None:
    """The text that is launched for a view whose stores are not proven inside tests their coordinates."""

    @gpu.kernel
    def stores(x: Tensor, at: Tensor) -> None:
        gpu.launch(threads=8)
        x[0, gpu.thread] = 1.0
        x[1, at[gpu.thread]] = 2.0

    @gpu.kernel
    def counts(x: Tensor, at: Tensor, y: Tensor) -> None:
        gpu.launch(threads=8)
        y[gpu.thread] = gpu.atomic_add(x, (1, at[gpu.thread]), 1) + 1

    at = np.array([0, 1, 2, 3, 4, 5, 6, 7], np.int32)
    for kernel, dtype, more in ((stores, np.float32, ()), (counts, np.uint32, (np.zeros(8, np.uint32),))):
        memory = np.zeros((8, 8), dtype)
        view = memory[:, :4]
        form = kernel._form(kernel._bind((view, at, *more), {}))
        ready = lower(form.ready)
        flat = memory.reshape(-1)[: form.kernel.buffers[0].length].copy()
        interpret(ready, [flat, at, *more], {})
        assert flat[:4].all() == (kernel is stores)
        assert flat[8:12].all()
        assert not flat[4:8].any() and not flat[12:].any()
        assert not more or more[0].tolist() == [1, 1, 1, 1, 1, 1, 1, 1]
        assert "< 4" in form.program("naga", True).wgsl
        whole = kernel._form(kernel._bind((memory, at, *more), {}))
        assert whole.ready is whole.kernel
    right = ones._form(ones._bind((np.zeros((8, 16), np.float32)[:, :8],), {}))
    assert right.ready is right.kernel


def test_what_leaves_memory_is_told_once() -> None:
    told = verdicts(one_each, np.zeros(5, np.float32), np.zeros(8, np.float32))
    assert told["in bounds", "x"].status == "refuted"
    assert ("inside its shape", "x") not in told


def test_a_partition_for_another_tile_is_refused_on_the_host_and_in_a_kernel() -> None:
    """(4,8):(8,1) dealt out as 16 x 8: thread 3 would get the elements of row 3 once more."""
    deal = Layout((16, 8), (1, 16))
    with pytest.raises(TensorError, match=r"index|offset"):
        thread_value_partition(make_tensor(np.zeros((4, 8), np.float32)), deal, 3)

    @gpu.kernel
    def dealt(x: Tensor, y: Tensor) -> None:
        gpu.launch(threads=16)
        mine = make_tensor("f32", 8)
        copy(thread_value_partition(x, deal), mine)
        y[gpu.thread] = mine[0]

    x, y = np.zeros((4, 8), np.float32), np.zeros(16, np.float32)
    told = verdicts(dealt, x, y)
    assert "refuted" in (
        told["in bounds", "x"].status,
        told.get(("inside its shape", "x"), told["in bounds", "x"]).status,
    )
    assert verdicts(dealt, np.zeros((16, 8), np.float32), y)["in bounds", "x"].status == "proven"


@pytest.mark.parametrize(
    ("layout", "offset"), [(Layout(2, 1 << 32), 0), (Layout((65536, 65536), (65537, 1)), 0), (Layout(8), (1 << 32) - 4)]
)
def test_offsets_beyond_32_bits_are_refused_with_the_number(layout: Layout, offset: int) -> None:
    memory = make_tensor(np.zeros(64, np.float32)).engine
    with pytest.raises(KernelError, match=r"argument x is .* offsets \d+ to \d{10}, .* 0 to 4294967295, in 32 bits"):
        one_each.verify(Tensor(memory, layout, offset), np.zeros(8, np.float32))
    pairs = make_tensor(np.zeros(8, np.complex64)).engine
    with pytest.raises(KernelError, match="in 32 bits"):
        one_each.verify(Tensor(pairs, Layout(2, 1 << 31)), np.zeros(8, np.complex64))


# Random kernels over random views, judged by running every thread in Python.

Tree = tuple[str, object, object]


def drawn(draw: random.Random, depth: int) -> object:
    """An expression over the thread t, the workgroup g and the iteration k."""
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(["t", "g", "k", draw.randrange(6)])
    name = draw.choice(["+", "+", "-", "*", "//", "%", "min"])
    left = drawn(draw, depth - 1)
    return name, left, draw.randrange(1, 8) if name in ("//", "%") else drawn(draw, depth - 1)


def built(tree: object, names: dict[str, object], least: Callable[..., object]) -> object:
    """The value of a tree in a kernel, or in Python."""
    if isinstance(tree, str):
        return names[tree]
    if not isinstance(tree, tuple):
        return tree
    name, left, right = tree[0], *(built(side, names, least) for side in tree[1:])
    match name:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "//":
            return left // right
        case "%":
            return left % right
    return least(left, right)


def wrapped(tree: object, names: dict[str, int]) -> int:
    """The value of a tree as a u32: each operation modulo 2**32."""
    if not isinstance(tree, tuple):
        return names.get(tree, tree)  # type: ignore[arg-type]
    left, right = (wrapped(side, names) for side in tree[1:])
    return built((tree[0], left, right), {}, min) % (1 << 32)  # type: ignore[operator]


@gpu.kernel
def random_access(x: Tensor, y: Tensor, *, at: tuple[object, object], guard: object, threads: int) -> None:
    gpu.launch(grid=3, threads=threads)
    for k in gpu.loop(2):
        names = {"t": gpu.thread + 0, "g": gpu.workgroup.x + 0, "k": k}
        row, column = (gpu.cast(gpu.constant(0, "u32") + built(tree, names, gpu.minimum), "u32") for tree in at)
        limit, below = guard
        with gpu.when(gpu.constant(0, "u32") + built(limit, names, gpu.minimum) < below):
            y[gpu.workgroup.x, gpu.thread, k] = x[row, column]


def happening(at: tuple[object, object], guard: tuple[object, int], threads: int) -> Iterator[tuple[int, ...]]:
    """Each access: workgroup, thread, row, column."""
    for g, t, k in product(range(3), range(threads), range(2)):
        names = {"t": t, "g": g, "k": k}
        if wrapped(guard[0], names) < guard[1]:
            yield g, t, wrapped(at[0], names), wrapped(at[1], names)


def view(draw: random.Random) -> np.ndarray:
    """A view of an array of 16 x 24: cut, stepped, reversed, transposed."""
    found = np.zeros((16, 24), np.float32)
    for axis in (0, 1):
        size = found.shape[axis]
        start, step = draw.randrange(4), draw.choice([1, 1, 2, 3])
        kept = [slice(None), slice(None)]
        kept[axis] = slice(start, draw.randrange(start + 1, size + 1), step)
        found = found[tuple(kept)]
        if draw.random() < 0.3:
            found = np.flip(found, axis)
    return found.T if draw.random() < 0.3 else found


@pytest.mark.parametrize("part", range(4))
def test_random_kernels_over_random_views(part: int) -> None:
    """800 of them: none falsely proven, none falsely refuted, and the witness is one of those outside."""
    counts: Counter[str] = Counter()
    for seed in share(range(200 * part, 200 * part + 200)):
        draw = random.Random(seed)
        x, threads = view(draw), draw.choice([4, 6, 8])
        depth = draw.choice([1, 1, 2])
        at = drawn(draw, depth), drawn(draw, depth)
        guard = drawn(draw, 1), draw.randrange(1, 12)
        static = {"at": at, "guard": guard, "threads": threads}
        y = np.zeros((3, threads, 2), np.float32)
        try:
            told = verdicts(random_access, x, y, **static)
        except (KernelError, TensorError):  # a constant outside, which is refused while it is traced
            counts["refused"] += 1
            continue
        outside = [
            (g, t, value)
            for g, t, *crd in happening(at, guard, threads)
            for value, extent in zip(crd, x.shape, strict=True)
            if not 0 <= value < extent
        ]
        shape, bounds = told.get(("inside its shape", "x")), told.get(("in bounds", "x"))
        status = "proven" if shape is None and (bounds is None or bounds.status == "proven") else "else"
        status = shape.status if shape is not None else status
        counts[str(status)] += 1
        if status == "proven":
            assert not outside, (seed, at, guard, x.shape)
        if shape is not None and shape.status == "refuted":
            use = shape.witness.uses[0]
            assert (use.workgroup[0], use.thread, shape.witness.element) in outside, (seed, str(shape), outside[:5])
        if status == "else" and bounds.status == "refuted":
            assert outside, (seed, str(bounds))
    assert counts["proven"] > in_share(50) and counts["refuted"] > in_share(30), counts
    assert counts["undecided"] < 10, counts
