"""Operations on whole tensors, on the interpreter: NumPy's meaning for any shape, layout, type and axes."""

import time
from itertools import permutations
from math import prod

import numpy as np
import operation_cases
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shares import ALL, share

from cutepy import gpu, ops
from cutepy.errors import CutepyError, KernelError, TensorError
from cutepy.gpu.operations import softmax as softmax_module
from cutepy.gpu.operations.copies import copy_kernel
from cutepy.gpu.operations.domain import (
    TRANSPOSED_ELEMENTS,
    Tiling,
    TransposedTile,
    tiling_of,
    transposed_tile_of,
)
from cutepy.gpu.operations.elements import read_formula
from cutepy.gpu.operations.pointwise import walk
from cutepy.gpu.trace import state
from cutepy.layout import Layout, Swizzle, make_composed_layout
from cutepy.tensor import Tensor, make_tensor

PER_FAMILY = 50


@pytest.mark.parametrize("family", operation_cases.FAMILIES)
def test_random_calls(family: str) -> None:
    for seed in share(range(PER_FAMILY)):
        operation_cases.FAMILIES[family](seed).check("interpreter")


LONG = [
    ((3000,), None), ((5, 3000), 1), ((3000, 5), 0), ((5, 3000), 0), ((3000, 5), 1), ((40, 30, 20), (0, 2)),
    ((40, 30, 20), 1),
]  # fmt: skip
FOLDS = "sum", "prod", "max", "min", "mean", "argmax", "argmin"


@pytest.mark.parametrize(  # half of the pairs: each fold meets half of the shapes, each shape half of the folds
    ("name", "shape", "axes"),
    [(name, *long) for i, name in enumerate(FOLDS) for j, long in enumerate(LONG) if ALL or (i + j) % 2],
)
def test_long_reductions_in_several_passes(name: str, shape: tuple[int, ...], axes: object, monkeypatch) -> None:
    monkeypatch.setattr("cutepy.gpu.operations.fold.THREADS", 16)
    if name.startswith("arg") and isinstance(axes, tuple):
        return
    x = np.random.default_rng(1).standard_normal(shape, dtype=np.float32)
    x = 1 + x / 100 if name == "prod" else x
    wanted = getattr(np, name)(x.astype(np.float64), axis=axes)
    got = getattr(ops, name)(x, axes, engine="interpreter")
    np.testing.assert_allclose(got.numpy(), wanted, rtol=2e-5, atol=1e-4)


def test_nan_wins_and_ties_go_to_the_first() -> None:
    x = np.float32([[-3, np.nan, -1], [-5, -2, -2], [-np.inf, -np.inf, -np.inf], [np.nan, np.inf, np.nan]])
    for name in ("max", "min", "argmax", "argmin"):
        got = getattr(ops, name)(x, 1, engine="interpreter").numpy()
        np.testing.assert_array_equal(got, getattr(np, name)(x, 1))
    assert ops.max(np.float32([-3e38, -1e38]), engine="interpreter").numpy() == np.float32(-1e38)
    assert ops.argmax(np.float32([[1, 9], [9, 0]]), engine="interpreter").numpy() == 1


def test_of_nothing() -> None:
    x = np.zeros((0, 4), np.float32)
    assert ops.sum(x, engine="interpreter").numpy() == 0 and ops.prod(x, engine="interpreter").numpy() == 1
    assert np.isnan(ops.mean(x, engine="interpreter").numpy())
    assert ops.sum(x, 0, engine="interpreter").numpy().tolist() == [0] * 4
    assert ops.max(x, 1, engine="interpreter").shape == (0,)
    assert ops.softmax(x, engine="interpreter").shape == (0, 4)
    assert gpu.pointwise("a + b")(x, np.zeros(4, "f4"), engine="interpreter").shape == (0, 4)
    gpu.copy(x, make_tensor(np.zeros((0,), np.float32)), engine="interpreter")
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(TensorError, match="of no elements none is chosen"):
            getattr(ops, name)(x, 0, engine="interpreter")


def turned(turn: TransposedTile) -> Tiling:
    return Tiling(turn.tile, turn.written, turn, (0,))


@pytest.mark.parametrize("most", [3, 7])
def test_grids_longer_than_a_dimension(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST_GROUPS", most)
    x = np.random.default_rng(0).standard_normal((40 + most, 257), dtype=np.float32)
    y = np.zeros((257, 40 + most), np.float32).T
    gpu.copy(x, make_tensor(y), engine="interpreter")
    assert np.array_equal(x, y)
    assert np.array_equal(gpu.pointwise("2 * a")(x, engine="interpreter").numpy(), 2 * x)
    assert np.array_equal(ops.max(x, 1, engine="interpreter").numpy(), x.max(1))
    assert np.array_equal(ops.argmin(x, 1, engine="interpreter").numpy(), x.argmin(1))

    @gpu.kernel
    def ones(out):
        gpu.launch(grid=18, threads=1)
        out[gpu.workgroup.x] = 1.0

    grid = ones.program(np.zeros(18, np.float32)).grid
    assert grid == (18 // -(-18 // most), -(-18 // most), 1)  # 18 tiles, none of which is no tile


@pytest.mark.parametrize(
    "shape", [(3, 5, 7, 9), (8, 4, 33, 2), (2, 3, 40, 33), (16, 16, 16, 4), (4, 72, 8, 68)], ids=str
)
def test_any_permutation_of_4_axes(shape: tuple[int, ...]) -> None:
    """Half of them: each meets a shape of even extent, and one of odd extent, in front."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for axes in list(permutations(range(4)))[shape[0] % 2 :: 2]:
        turned = np.zeros([shape[axis] for axis in axes], np.float32)
        gpu.copy(x.transpose(axes), make_tensor(turned), engine="interpreter")
        assert np.array_equal(turned, x.transpose(axes)), axes


@given(st.permutations(range(3)), st.lists(st.integers(0, 4), min_size=3, max_size=3), st.sampled_from((1, 2, 4)))
def test_both_sides_of_a_turn_deal_out_the_whole_tile(order: list[int], exponents: list[int], width: int) -> None:
    tile = [1 << exponent for exponent in exponents]
    for mode in {0, order[0]} if order[0] else ():
        tile[mode] *= width
    turn = TransposedTile(tuple(tile), tuple(order), width if order[0] else 1)
    for layout in (turn.written, turn.read):
        assert sorted(layout.offsets().ravel().tolist()) == list(range(prod(tile)))
    block = turn.read[1][0].offsets()
    assert block.tolist() == [[turn.read[1][0](i, 0) + j for j in range(turn.width)] for i in range(turn.width)]


@pytest.mark.parametrize(
    ("rows", "columns", "first", "width"),
    [
        (300, 140, 0, 4),
        (301, 140, 0, 1),
        (300, 141, 0, 1),
        (300, 140, 1, 1),
        (300, 140, 4, 4),
        (16, 16, 0, 4),
        (18, 64, 0, 1),
    ],
)
def test_what_is_turned_is_read_and_written_by_vectors_where_all_rows_begin_with_one(
    rows: int, columns: int, first: int, width: int
) -> None:
    memory = np.random.default_rng(0).standard_normal(first + rows * columns).astype(np.float32)
    x, y = memory[first:].reshape(rows, columns), np.zeros((columns, rows), np.float32)
    source = Tensor(make_tensor(memory).engine, Layout((columns, rows), (1, columns)), first)
    (a, b), tiling = walk([source, make_tensor(y)])
    assert tiling is not None and tiling.transposed is not None and tiling.transposed.width == width
    found = copy_kernel.report(a, b, tiling=tiling)
    loads = sum(access.times for access in found.accesses if access.array == "source")
    assert loads * width == rows * columns
    gpu.copy(source, make_tensor(y), engine="interpreter")
    assert np.array_equal(y, x.T)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((1024, 1024), (1, 0)), ((8, 32, 64, 64), (0, 2, 3, 1)), ((4, 64, 28, 28), (0, 2, 3, 1)),
        ((16, 24, 20, 32), (3, 2, 1, 0)), ((64, 32, 16, 32), (1, 3, 0, 2)),
    ],
    ids=str,
)  # fmt: skip
def test_a_turned_copy_moves_whole_segments_without_conflicts(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    target = make_tensor(np.zeros([shape[axis] for axis in axes], np.float32))
    (a, b), _tiling = walk([make_tensor(x.transpose(axes)), target])
    turn = transposed_tile_of(a.layout, b.layout)
    assert turn is not None
    found = copy_kernel.report(a, b, tiling=turned(turn))
    assert found.transactions == found.perfect_transactions and found.worst_conflict == 1
    assert copy_kernel.verify(a, b, tiling=turned(turn)).ok


@pytest.mark.parametrize("crossing", [1, 2, 3, 4])
def test_a_turned_tile_has_room_whatever_the_modes(crossing: int) -> None:
    """Sides are powers of two, at most so many elements together, as the memory of all that cross lets, and where a
    mode is long no place of the tile lies beyond a short one that a side of half would have held."""
    random = np.random.default_rng(crossing)
    for _ in range(400):
        extents = [int(random.choice([1, 2, 3, 4, 5, 7, 8, 15, 16, 100, 900])) for _ in range(random.choice([3, 5]))]
        target, order = Layout(tuple(extents)), random.permutation(len(extents))
        steps, step = [0] * len(extents), 1
        for mode in order:
            steps[mode], step = step, step * extents[mode]
        domain = [*[Layout(tuple(extents), tuple(steps))] * crossing, target]
        found = tiling_of(domain)
        if found is None or found.transposed is None:
            continue
        turn = found.transposed
        assert all(side & (side - 1) == 0 and side > 0 for side in turn.tile)
        assert crossing * prod(turn.tile) <= TRANSPOSED_ELEMENTS, (extents, turn)
        if max(extents) >= TRANSPOSED_ELEMENTS:
            assert all(side < 2 * max(extent, 4) for side, extent in zip(turn.tile, extents, strict=True) if side <= 8)
        for layout in (turn.written, turn.read):
            assert sorted(layout.offsets().ravel().tolist()) == list(range(prod(turn.tile)))


def test_two_operands_turned_with_four_short_modes() -> None:
    x = np.random.default_rng(0).random((7, 300, 100, 5), np.float32)
    y = x + 1
    found = gpu.pointwise("a + b")(x.T, y.T, out=make_tensor(np.zeros(x.shape[::-1], np.float32)), engine="interpreter")
    assert np.array_equal(found.numpy(), (x + y).T)


def test_same_bits_every_time() -> None:
    x = np.random.default_rng(0).standard_normal((300, 200), dtype=np.float32)
    for name in ("sum", "mean", "prod"):
        assert len({getattr(ops, name)(x, 0, engine="interpreter").numpy().tobytes() for _ in range(3)}) == 1


def test_long_rows_of_softmax(monkeypatch: pytest.MonkeyPatch) -> None:
    g = np.random.default_rng(0)
    for most, shape in ((0, (5, 300)), (8192, (3, 70_000)), (8192, (70, 9000))):
        monkeypatch.setattr(softmax_module, "WHOLE_ROWS", most)
        x = 4 * g.standard_normal(shape, dtype=np.float32)
        e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        np.testing.assert_allclose(ops.softmax(x, engine="interpreter").numpy(), e / e.sum(1, keepdims=True), rtol=1e-4)


@pytest.mark.parametrize(
    ("columns", "pitch", "step"),
    [(17, 17, 1), (20, 20, 1), (32, 40, 1), (19, 19, -1), (24, 51, 2), (5, 5, 1), (10, 11, 1), (16, 16, 1), (1, 1, 1)],
)
def test_many_short_rows_of_softmax(columns: int, pitch: int, step: int) -> None:
    """They go through shared memory: whole and ragged tiles, apart in memory, backwards, by steps."""
    memory = 4 * np.random.default_rng(0).standard_normal((8201, pitch), dtype=np.float32)
    x = memory[:, : columns * abs(step) : abs(step)][:, :: 1 if step > 0 else -1]
    assert x.shape == (8201, columns)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    found = ops.softmax(x, engine="interpreter")
    np.testing.assert_allclose(found.numpy(), e / e.sum(1, keepdims=True), rtol=1e-4)


def test_softmax_of_infinities_is_what_the_formula_says() -> None:
    x = np.float32([[1, np.nan], [np.inf, 1], [-np.inf, -np.inf], [-np.inf, 0], [-3e38, 3e38], [3e38, 3e38]])
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(1, keepdims=True))
        wanted = e / e.sum(1, keepdims=True)
    np.testing.assert_array_equal(ops.softmax(x, engine="interpreter").numpy(), wanted)


def test_a_million_elements_take_no_loop_in_python() -> None:
    x = np.random.default_rng(0).standard_normal((1000, 1000), dtype=np.float32)
    ops.max(x, 0, engine="interpreter")
    start = time.process_time()
    assert np.array_equal(ops.max(x, 0, engine="interpreter").numpy(), x.max(0))
    assert np.array_equal(gpu.pointwise("a - b")(x, x.T, engine="interpreter").numpy(), x - x.T)
    assert time.process_time() - start < 3


def test_swizzled_tensors_and_factors_that_do_not_meet() -> None:
    layout = make_composed_layout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1)))
    x = make_tensor(np.random.default_rng(0).random(64, dtype=np.float32), layout)
    assert np.array_equal(gpu.pointwise("2 * a")(x, engine="interpreter").numpy(), 2 * x.numpy())
    assert np.array_equal(ops.max(x, 0, engine="interpreter").numpy(), x.numpy().max(0))
    assert np.array_equal(ops.argmax(x, 1, engine="interpreter").numpy(), x.numpy().argmax(1))
    assert np.array_equal(np.argsort(ops.softmax(x, engine="interpreter").numpy()), np.argsort(x.numpy()))
    a = make_tensor(np.arange(6, dtype=np.int32), Layout(((2, 3), 1), ((3, 1), 6)))
    b = make_tensor(np.arange(6, dtype=np.int32), Layout(((3, 2), 1), ((2, 1), 6)))
    assert np.array_equal(gpu.pointwise("a + b")(a, b, engine="interpreter").numpy(), a.numpy() + b.numpy())
    out = make_tensor(np.zeros(6, np.int32), Layout(((3, 2), 1), ((2, 1), 6)))
    gpu.copy(a, out, engine="interpreter")
    assert np.array_equal(out.numpy(), a.numpy())


def test_a_decorated_function_and_its_text() -> None:
    @gpu.pointwise
    def gelu(x, bias):
        """A smooth step."""
        y = x + bias
        return 0.5 * y * (1 + gpu.tanh(0.797885 * (y + 0.044715 * y * y * y)))

    g = np.random.default_rng(0)
    x, bias = g.standard_normal((30, 44), dtype=np.float32), g.standard_normal(44, dtype=np.float32)
    np.testing.assert_allclose(
        gelu(x, bias, engine="interpreter").numpy(), gelu.function(x, bias), rtol=1e-5, atol=1e-6
    )
    text = gelu.wgsl(x, bias)
    assert "fn gelu(" in text and "array<vec4<f32>>" in text and "tanh(" in text
    assert gelu.__doc__ == "A smooth step."


def test_functions_of_numpy_mean_those_of_the_gpu() -> None:
    def bell(x):
        return np.exp(-(x**2)) + abs(x) ** 3 + np.sqrt(abs(x) + 1) ** 0.5

    x = np.random.default_rng(0).standard_normal(100, dtype=np.float32)
    np.testing.assert_allclose(gpu.pointwise(bell)(x, engine="interpreter").numpy(), bell(x), rtol=1e-5)
    text = gpu.pointwise(bell).wgsl(x)
    assert "exp(" in text and "abs(" in text and "pow(" in text
    with pytest.raises(KernelError, match="exp is not defined on bool"):
        gpu.pointwise(lambda x: np.exp(x > 0))(x, engine="interpreter")


def test_a_formula_is_one_operation_for_all_its_calls() -> None:
    assert gpu.pointwise("a + b") is gpu.pointwise("a + b")


def test_numbers_are_parameters_and_the_result_may_be_an_operand() -> None:
    axpy = gpu.pointwise("a + alpha * b")
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    assert axpy.wgsl(x, 2.0, y) == axpy.wgsl(x, 3.0, y)
    tensor = make_tensor(x)
    assert axpy(tensor, 2, y, out=tensor, engine="interpreter") is tensor
    assert x.tolist() == [i + 2 for i in range(8)]
    assert axpy(np.float16([1]), 0.1, np.float16([1]), engine="interpreter").numpy() == np.float16(1 + np.float32(0.1))


def test_results_keep_the_order_of_the_operand() -> None:
    x = np.zeros((3, 4, 5), np.float32)
    for view in (x, x.T, x.transpose(1, 0, 2)):
        assert gpu.pointwise("-a")(view, engine="interpreter").numpy().strides == view.strides


X, Y = np.zeros((3, 4), np.float32), np.zeros((3, 5), np.float32)
FROZEN = np.zeros(4, np.float32)
FROZEN.flags.writeable = False


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gpu.pointwise("a +"), "it is not an expression"),
        (lambda: gpu.pointwise("a.b + 1"), "Attribute has no meaning here"),
        (lambda: gpu.pointwise("open(a)"), "there are the functions exp"),
        (lambda: gpu.pointwise("a + result"), "is the name of what it gives"),
        (lambda: gpu.pointwise("a + plan"), "'plan' is the name of how threads share it out"),
        (lambda: gpu.pointwise(lambda plan: (plan, plan), results=2), "'plan' is the name of"),
        (lambda: gpu.pointwise(lambda a: (a,), results=1), "2 and more are a tuple; leave it out for one"),
        (lambda: gpu.pointwise("a + 'x'"), "Constant has no meaning here"),
        (lambda: gpu.pointwise(lambda *a: a), "give each operand a parameter"),
        (lambda: gpu.pointwise("a + b")(X, Y, engine="interpreter"), r"the shapes \(3, 4\), \(3, 5\) do not broadcast"),
        (lambda: gpu.pointwise("a + b")(X, engine="interpreter"), "takes a, b once each"),
        (lambda: gpu.pointwise("a + b")(np.int32([1]), np.uint32([1]), engine="interpreter"), "i32 and u32 do not mix"),
        (lambda: gpu.pointwise("a & 1")(X, engine="interpreter"), "bitwise_and: it is not defined on f32"),
        (lambda: gpu.pointwise("a + b")(np.uint32([1]), -3, engine="interpreter"), "-3 is out of range for u32"),
        (
            lambda: gpu.pointwise("a + b")(np.uint32([1]), 2**33, engine="interpreter"),
            "8589934592 is out of range for u32",
        ),
        (lambda: gpu.pointwise("a + b")(np.int32([1]), np.uint32(3), engine="interpreter"), "i32 and u32 do not mix"),
        (lambda: gpu.pointwise("a / 2")(X, out=make_tensor(X.astype("i4")), engine="interpreter"), "out holds i32"),
        (lambda: gpu.pointwise("a + 1")(X, out=make_tensor(Y), engine="interpreter"), r"out has the shape \(3, 5\)"),
        (lambda: gpu.pointwise("a + 1")(X[:, ::-1], out=make_tensor(X), engine="interpreter"), "out overlaps a"),
        (lambda: gpu.pointwise("a + 1")(FROZEN, out=make_tensor(FROZEN), engine="interpreter"), "read-only"),
        (lambda: gpu.pointwise("a + 1")(X, engine="cuda"), "there are 'wgpu' and 'interpreter'"),
        (lambda: gpu.pointwise("a + 1")(X.astype(complex), engine="interpreter"), "no such element type"),
        (lambda: gpu.copy(X, make_tensor(Y), engine="interpreter"), "the sizes 12 and 15 differ"),
        (lambda: gpu.copy(X[0], make_tensor(FROZEN), engine="interpreter"), "the target is read-only"),
        (lambda: gpu.copy(X, make_tensor(np.zeros(12, np.int32)), engine="interpreter"), "i32 cannot hold f32 values"),
        (lambda: gpu.copy(X[::-1], make_tensor(X), engine="interpreter"), "they may overlap"),
        (lambda: ops.max(X, 2, engine="interpreter"), "axis 2 of a tensor with 2 axes"),
        (lambda: ops.max(X, (0, -2), engine="interpreter"), "name one axis twice"),
        (lambda: ops.softmax(X, 5, engine="interpreter"), "axis 5 of a tensor with 2 axes"),
        (lambda: ops.max("text", engine="interpreter"), "a view of str"),
    ],
)
def test_bad_calls(call, message: str) -> None:
    with pytest.raises(CutepyError, match=message):
        call()


def test_a_formula_points_at_the_mistake() -> None:
    with pytest.raises(KernelError, match="\n  a \\+ foo\\(b\\)\n      \\^"):
        read_formula("a + foo(b)")
    with pytest.raises(KernelError):
        read_formula("(" * 500 + "a" + ")" * 500)
    with pytest.raises(KernelError):
        read_formula("-" * 5000 + "a")


def test_operands_of_different_layouts_meet_in_shared_memory() -> None:
    """Each is read, and the result written, in whole segments; a mask of bools is read as it lies."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((130, 97)).astype(np.float32) for _ in "ab")
    b, c, mask = np.asfortranarray(b), np.asfortranarray(b.astype(np.float16)), np.asfortranarray(a > 0)
    operation = gpu.pointwise("where(m, a + b * c, s)")
    found = operation(m=mask, a=a, b=b, c=c, s=a[:1].copy(), engine="interpreter").numpy()
    np.testing.assert_allclose(found, np.where(mask, a + b * c, a[:1]), rtol=1e-5)
    add = gpu.pointwise("a + b")
    call = add._bind((np.zeros((256, 256), np.float32), np.zeros((256, 256), np.float32).T), {}, (), "interpreter")
    figures = add.kernel.report(*call.arguments, plan=call.plan)
    assert figures.transactions == figures.perfect_transactions and figures.worst_conflict == 1
    assert add.kernel.verify(*call.arguments, plan=call.plan).ok
