"""Vectors and matrices are aligned in memory: proven of right kernels, refuted of planted misalignments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu import ir
from cutepy.gpu.ir import Buffer, Kernel, Let, Store, builtin, component, const, load, select, var
from cutepy.gpu.verify import Verdict, check_matrices, verify
from cutepy.gpu.verify.alignment import multiple_of
from cutepy.gpu.verify.collect import collect
from cutepy.gpu.verify.model import Model
from cutepy.layout import Layout
from cutepy.tensor import Tensor, copy, f16, f32, make_tiled_mma, subgroup_matrix, u32
from cutepy.tensor.dtypes import matrix_type

THREADS = 32


def alignment(kernel: Kernel) -> Verdict:
    """The worst verdict on alignment."""
    ranks = ["refuted", "undecided", "proven"]
    return min((v for v in verify(kernel).verdicts if v.claim == "aligned"), key=lambda v: ranks.index(v.status))


def move(source: Tensor, target: Tensor) -> None:
    """One matrix, through registers."""
    mma = make_tiled_mma(subgroup_matrix((16, 16, 16), ("f16", "f16", "f16")))
    read, written = mma.partition_C(source), mma.partition_C(target)
    held = mma.make_fragment_C(read)
    copy(read, held)
    copy(held, written)


@gpu.kernel
def through_shared(x: Tensor, y: Tensor, *, start: int, stride: int) -> None:
    """One matrix from shared memory, beside a variable of 4 bytes."""
    gpu.launch(grid=1, threads=THREADS)
    flag = gpu.shared("u32", 1)
    tile = gpu.shared("f16", 16 * stride + 16)
    with gpu.when(gpu.thread == 0):
        flag[0] = 1
    gpu.barrier()
    for k in range(-(-(16 * stride + 16) // THREADS)):
        with gpu.when(gpu.thread + k * THREADS < 16 * stride + 16):
            tile[gpu.thread + k * THREADS] = x[gpu.thread] * gpu.cast(flag[0], "f16")
    gpu.barrier()
    move(Tensor(tile.engine, Layout((16, 16), (stride, 1)), start), y)


ARGUMENTS = np.zeros(32, np.float16), np.zeros((16, 16), np.float16)


@pytest.mark.parametrize(("start", "stride"), [(0, 16), (8, 24), (16, 40)])
def test_aligned_matrices_are_proven(start: int, stride: int) -> None:
    assert alignment(through_shared.ir(*ARGUMENTS, start=start, stride=stride)).status == "proven"


@pytest.mark.parametrize(("start", "stride"), [(1, 16), (4, 16), (0, 17), (0, 20), (0, 36)])
def test_misaligned_matrices_are_refuted_and_not_run(start: int, stride: int) -> None:
    kernel = through_shared.ir(*ARGUMENTS, start=start, stride=stride)
    found = alignment(kernel)
    assert found.status == "refuted"
    assert "multiple of 8" in str(found)
    with pytest.raises(KernelError, match="aligned"):
        check_matrices(kernel)


def test_an_argument_whose_rows_begin_between_is_refuted() -> None:
    @gpu.kernel
    def first(x: Tensor, y: Tensor) -> None:
        gpu.launch(grid=1, threads=THREADS)
        move(x, y)

    whole, y = np.zeros((16, 48), np.float16), np.zeros((16, 16), np.float16)
    assert alignment(first.ir(whole[:, 8:24], y)).status == "proven"
    assert alignment(first.ir(whole[:, 3:19], y)).status == "proven"  # bound from its own first element on
    assert alignment(first.ir(np.zeros((16, 17), np.float16)[:, :16], y)).status == "refuted"


def test_where_memory_tells_the_address_nothing_is_proven_and_nothing_runs() -> None:
    kind = matrix_type(f16, "left", (16, 16, 16))
    x, at, y = Buffer("x", f16, 512), Buffer("at", u32, 1), Buffer("y", f16, 256, writable=True)
    begin, name = var("begin", u32), var("held", kind)
    matrix = ir.load_matrix(kind, x, ir.binary("%", begin, const(200)), (16, False))
    body = (Let(begin, load(at, const(0))), Let(name, matrix), ir.MatrixStore(y, const(0), name, 16, False))
    kernel = Kernel("given", (x, at, y), body, workgroup=(32, 1, 1), lanes=32)
    assert alignment(kernel).status == "undecided"
    with pytest.raises(KernelError, match="aligned"):
        check_matrices(kernel)


def test_workgroup_variables_beside_matrices_fill_whole_blocks() -> None:
    text = through_shared.wgsl(*ARGUMENTS, start=0, stride=16, dialect="tint")
    assert "var<workgroup> flag: array<u32, 4>;" in text
    assert "var<workgroup> tile: array<f16, 272>;" in text

    @gpu.kernel
    def plain(y: Tensor) -> None:
        gpu.launch(grid=1, threads=1)
        flag = gpu.shared("u32", 1)
        flag[0] = 1
        y[0] = flag[0]

    assert "var<workgroup> flag: array<u32, 1>;" in plain.wgsl(np.zeros(1, np.uint32))


def test_a_vector_that_begins_between_is_refuted_with_its_thread() -> None:
    x, y = Buffer("x", f32, 256), Buffer("y", f32, 64, writable=True)
    tid, held = builtin("local_invocation_index", 0, 31), var("held", f32, lanes=4)
    for step, status in ((4, "proven"), (3, "refuted"), (6, "refuted")):
        read = Let(held, load(x, tid * step, lanes=4))
        found = alignment(Kernel("k", (x, y), (read, Store(y, tid, component(held, 0))), workgroup=(32, 1, 1)))
        assert found.status == status
        if found.witness is not None:
            assert found.witness.element == step * found.witness.uses[0].thread == step


@given(st.data())
@settings(max_examples=300)
def test_the_factor_divides_every_value(data: st.DataObject) -> None:
    """Against the values themselves, computed by NumPy modulo 2**32."""
    tid, group = builtin("local_invocation_index", 0, 31), builtin("workgroup_id.x", 0, 31)
    threads, groups = (x.ravel().astype(np.uint64) for x in np.meshgrid(np.arange(32), np.arange(32)))

    def draw(depth: int) -> tuple[ir.Expr, np.ndarray]:
        kind = data.draw(st.sampled_from("tgc" if depth == 0 else "+-*%&|?"))
        if kind in "tg":
            return (tid, threads) if kind == "t" else (group, groups)
        number = data.draw(st.sampled_from([0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 64, 1 << 31, (1 << 32) - 8]))
        if kind == "c":
            return const(number), np.full(1024, number, np.uint64)
        (x, a), (y, b) = draw(depth - 1), draw(depth - 1)
        if kind == "?":
            return select(group < 7, x, y), np.where(groups < 7, a, b)
        if kind == "%":
            return ir.binary("%", x, const(max(1, number))), a % np.uint64(max(1, number))
        law = {"+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or}[kind]
        return ir.binary(kind, x, y), law(a, b) % np.uint64(1 << 32)

    with ir.new_arena():
        value, truth = draw(data.draw(st.integers(0, 3)))
        out = Buffer("y", u32, 1, writable=True)
        body = (Store(out, const(0), value),)
        model = collect(Kernel("k", (out,), body, grid=(32, 1, 1), workgroup=(32, 1, 1)))
        factor = multiple_of(model, _resolved(model, value), {})
        assert not (truth % np.uint64(factor)).any()


def _resolved(model: Model, value: ir.Expr) -> ir.Expr:
    """`value` over the ids of the model."""
    ids = {"local_invocation_index": model.tid, "workgroup_id.x": model.groups[0]}
    return ir.rewrite(value, lambda node: ids.get(node.name, node) if isinstance(node, ir.Builtin) else node, {})
