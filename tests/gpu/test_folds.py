"""How reductions share out their operands: tiles follow memory, cover it once, and every kernel is proven."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutepy import gpu, ops
from cutepy.gpu.operations import fold, softmax
from cutepy.gpu.operations.fold import (
    FoldPlan,
    Rows,
    fold_kernel,
    plan_for,
    plan_of_staged_rows,
    plan_of_threads,
    sum_products,
)
from cutepy.gpu.operations.operand import ExecutionSite
from cutepy.gpu.operations.reductions import Reduction, launches
from cutepy.gpu.operations.softmax import STAGED_ROWS, STAGED_STEP, plan_of_whole_rows, softmax_kernel
from cutepy.gpu.runtime import Limits
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.layout import Layout, size
from cutepy.tensor import Tensor, as_tensor, make_tensor

ROOMY = Limits(binding_bytes=1 << 31)
LAYOUTS = {
    "row-major": Layout((96, 160), (160, 1)),
    "column-major": Layout((96, 160), (1, 96)),
    "tiled": Layout(((32, 3), (16, 10)), ((1, 5120), (32, 512))),
    "odd": Layout((37, 131), (131, 1)),
    "four axes": Layout((4, 32, 8, 24), (6144, 192, 24, 1)),
    "odd axes": Layout((3, 7, 5, 9), (315, 45, 9, 1)),
    "padded": Layout((70, 64), (72, 1)),
    "reversed": Layout((64, 32), (32, -1)),
}


def filled(layout: Layout) -> Tensor:
    """A tensor of random elements in this layout, ties among them."""
    least = int(layout.offsets().min())
    values = np.random.default_rng(0).integers(-9, 10, layout.cosize - least).astype(np.float32)
    return Tensor(make_tensor(values).engine, layout, -least)


def axes_of(layout: Layout) -> list[tuple[int, ...]]:
    every = tuple(range(layout.rank))
    return [every, *((axis,) for axis in every), *([(0, 2), (1, 3)] if layout.rank == 4 else [])]


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("many", [True, False])
def test_any_axes_of_any_layout(name: str, many: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum and the least by the tiles of many elements; the greatest and the least by those of few: one text folds and
    searches all."""
    for limit in ("MANY_ELEMENTS", "MANY_ROWS") if many else ():
        monkeypatch.setattr(fold, limit, 64)
    layout = LAYOUTS[name]
    x = filled(layout)
    host = x.numpy()
    for axes in axes_of(layout):
        folded = "sum" if many else "min"
        found = getattr(ops, folded)(x, axes, engine="interpreter").numpy()
        assert np.array_equal(found, getattr(host, folded)(axes)), (folded, axes)
        rest = [axis for axis in range(layout.rank) if axis not in axes]
        rows = host.transpose(*rest, *axes).reshape(*(host.shape[axis] for axis in rest), -1)
        if len(axes) in (1, layout.rank):
            call = "argmin" if many else "argmax"
            found = getattr(ops, call)(x, axes, engine="interpreter").numpy()
            assert np.array_equal(found, getattr(np, call)(rows, -1)), (call, axes)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_plan_covers_its_tile_once(name: str) -> None:
    layout = LAYOUTS[name]
    for axes in axes_of(layout):
        call = Reduction(filled(layout), axes, keepdims=False)
        site = ExecutionSite(None)
        rows, _ = call.matrices(site, site.new(call.shape, call.tensor.dtype))
        whole = plan_of_whole_rows(rows, rows)
        for parts, plan in (*((n, plan_for(rows, parts=n)) for n in (1, 2, 3)), *([(1, whole[0])] if whole else [])):
            places = sorted(plan.owned.offsets().ravel().tolist())
            assert places == list(range(plan.tile[0] * plan.tile[1]))
            assert plan.threads <= 256 and 4 * parts * plan.scratch.size <= 16384
        assert whole is None or size(rows, 1) <= whole[0].tile[1] * whole[1]


@pytest.mark.parametrize("name", ["row-major", "column-major", "tiled", "four axes"])
def test_a_tile_is_read_in_the_order_of_memory(name: str) -> None:
    """Neighbouring threads of a subgroup meet one stretch of memory, whichever axes are reduced."""
    layout = LAYOUTS[name]
    for axes in axes_of(layout):
        call = Reduction(filled(layout), axes, keepdims=False)
        (operands, static), *_ = launches(
            "sum", call, ExecutionSite(None), ExecutionSite(None).new(call.shape, call.tensor.dtype)
        )
        reads = [a for a in fold_kernel.report(*operands, **static).accesses if a.array == "x"]
        assert any(read.times for read in reads), axes
        assert all(read.excess == 1 for read in reads if read.times), (axes, static["plan"])


def proving(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that are launched from here on, by name: each is proven for all sizes, and none runs."""
    launched: list[str] = []

    def proven(kernel: KernelFunction, *operands: object, **static: object) -> None:
        launched.append(kernel.__name__)
        proof = kernel.verify(*operands, limits=ROOMY, **static)
        assert not proof.refuted and not proof.undecided, proof
        assert not kernel.size_reason, kernel.size_reason  # one text serves all sizes

    monkeypatch.setattr(KernelFunction, "interpret", proven)
    return launched


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_launch_is_proven(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    launched = proving(monkeypatch)
    x = filled(LAYOUTS[name])
    for axes in axes_of(x.layout):
        ops.sum(x, axes, keepdims=True, engine="interpreter")
        ops.argmax(x, axes, keepdims=True, engine="interpreter")
    ops.softmax(x, 0, engine="interpreter")
    ops.softmax(x, -1, engine="interpreter")
    assert len(launched) >= 2 * len(axes_of(x.layout)) + 2


@pytest.mark.parametrize("stride", [(40000, 1), (1, 3)])
def test_what_goes_on_from_parts_of_rows_is_proven(stride: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Which part of a row a workgroup writes is its number times a share of the tiles."""
    launched = proving(monkeypatch)
    x = filled(Layout((3, 40000), stride))
    ops.softmax(x, 1, engine="interpreter")
    ops.cumsum(x, 1, engine="interpreter")
    assert launched == ["softmax_sums_kernel", "softmax_quotients_kernel", *["scan_kernel"] * 3]


@pytest.mark.parametrize("axes", [None, (0, 1), (1, 2)])
def test_axes_that_lie_in_the_order_of_the_index_are_searched_where_they_are(
    axes: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row-major memory counts its last axes as NumPy's index does: nothing is copied first."""
    launched = proving(monkeypatch)
    ops.argmax(filled(Layout((5, 30, 40), (1200, 40, 1))), axes, engine="interpreter")
    assert set(launched) == {"search_kernel"}


def test_the_first_of_equals_in_numpys_order_whatever_memory_has() -> None:
    x = np.zeros((300, 40), np.float32)
    x[7, 30] = x[9, 2] = 1
    for stored in (x, np.asfortranarray(x)):
        assert ops.argmax(stored, engine="interpreter").numpy() == 7 * 40 + 30
    low = np.full((5, 3000), -np.inf, np.float32)
    assert ops.argmax(low, 1, engine="interpreter").numpy().tolist() == [0] * 5
    low[3, 2222] = np.nan
    assert ops.argmax(low, 1, engine="interpreter").numpy().tolist() == [0, 0, 0, 2222, 0]


def test_sums_of_a_cache_have_one_plan_at_every_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scores of one token more, sums of 64 products each over all heads: whatever their number, by one kernel."""
    plans: set[tuple[str, object]] = set()
    run = ExecutionSite.run

    def noted(place: ExecutionSite, kernel: KernelFunction, *args: object, **static: object) -> None:
        plans.add((kernel.__name__, static["plan"]))
        run(place, kernel, *args, **static)

    monkeypatch.setattr(ExecutionSite, "run", noted)
    heads, width = 12, 64
    g = np.random.default_rng(0)
    for count in (2, 21, 22, 100, 256, 1000):
        cache, one = g.standard_normal((count, heads, width), np.float32), g.standard_normal((heads, width), np.float32)
        x = Tensor(as_tensor(cache).engine, Layout((count, width, heads), (heads * width, 1, width)))
        y = Tensor(as_tensor(one).engine, Layout((count, width, heads), (0, 1, width)))
        out = np.zeros((heads, count), np.float32)
        target = Tensor(as_tensor(out).engine, Layout((count, 1, heads), (1, 0, count)))
        sum_products(ExecutionSite(None), x, y, target)
        np.testing.assert_allclose(out, np.einsum("chw,hw->hc", cache, one), rtol=1e-4, atol=1e-4)
    assert len(plans) == 1, plans


def short_rows(count: int, columns: int, offset: int = 0, gap: int = 0) -> Tensor:
    """(rows, columns, batch) of random elements, some of them special, `gap` NaNs after each row."""
    g, stride = np.random.default_rng(count * 64 + columns), columns + gap
    memory = np.full(offset + count * stride + 1, np.nan, np.float32)
    rows = memory[offset : offset + count * stride].reshape(count, stride)[:, :columns]
    rows[:] = g.standard_normal(rows.shape)
    for value in (np.nan, np.inf, -np.inf):
        rows[g.integers(count), g.integers(columns)] = value
    rows[g.integers(count)] = -np.inf
    return Tensor(make_tensor(memory).engine, Layout((count, columns, 1), (stride, 1, 0)), offset)


def softmax_by(plan: FoldPlan, x: Tensor, gap: int, kernel: KernelFunction = softmax_kernel) -> np.ndarray:
    """The memory of a result, in which rows lie `gap` apart."""
    count, columns = size(x, 0), size(x, 1)
    memory = np.full((count, columns + gap), 7, np.float32)
    layout = Layout((count, columns, 1), (columns + gap, 1, 0))
    kernel.interpret(x, Tensor(make_tensor(memory).engine, layout), plan=plan, tiles=1)
    return memory


def staged_is_direct(x: Tensor, wide: int, gap: int = 0, kernel: KernelFunction = softmax_kernel) -> None:
    """What goes through shared memory is what each thread loads and stores itself, to the bit, and nothing else."""
    rows = STAGED_ROWS[wide]
    found = softmax_by(plan_of_staged_rows(rows, wide, 1), x, gap, kernel)
    np.testing.assert_array_equal(found, softmax_by(plan_of_threads(rows, wide, 1), x, gap))
    held = x.numpy()[..., 0].astype(np.float64)
    with np.errstate(all="ignore"):
        e = np.exp(held - held.max(1, keepdims=True))
        np.testing.assert_allclose(found[:, : size(x, 1)], e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)
    assert (found[:, size(x, 1) :] == 7).all()


@settings(max_examples=30)
@given(st.integers(1, 32), st.integers(1, 260), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
def test_staged_rows_are_those_of_memory(columns: int, count: int, offset: int, gap: int, result_gap: int) -> None:
    """Any number of rows, of columns, any offset and stride of rows."""
    wide = min(most for most in STAGED_ROWS if columns <= most)
    staged_is_direct(short_rows(count, columns, offset, gap), wide, result_gap)


@pytest.mark.parametrize("fault", ["pitch", "rows", "columns"])
def test_a_fault_of_staged_rows_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that overlap in shared memory, rows that are left out, and columns beyond the rows that are summed."""
    across = Rows._across
    if fault == "pitch":
        monkeypatch.setattr(FoldPlan, "staged_layout", property(lambda plan: Layout(plan.tile, (plan.tile[1] - 1, 1))))
    elif fault == "rows":
        monkeypatch.setattr(Rows, "_across", lambda rows: ((p := across(rows))[0], p[1][:-1], p[2]))
    else:
        monkeypatch.setattr(softmax, "STAGED_STEP", 0)
    kernel = gpu.kernel(sizes={"x": "(...)", "y": "(...)"})(softmax_kernel.function)
    with pytest.raises(AssertionError):
        staged_is_direct(short_rows(160, 19), 20, kernel=kernel)


def test_staged_rows_are_proven_for_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With vectors and without, and in any strides."""
    proving(monkeypatch)
    for columns in (3, 8, 11, 16, 17, 20, 23, 24, 31):
        for gap in (0, 1):
            x, y = short_rows(9000, columns, gap=gap), short_rows(9000, columns)
            plan, tiles = plan_of_whole_rows(x, y) or pytest.fail("no plan")
            assert plan.staged is not None and plan.tile[1] - STAGED_STEP < columns <= plan.tile[1]
            softmax_kernel.interpret(x, y, plan=plan, tiles=tiles)
