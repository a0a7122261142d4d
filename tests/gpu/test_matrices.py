"""Matrices of a subgroup: what they mean, how they are written, what is refused, and what is proven about them."""

from dataclasses import replace
from types import SimpleNamespace

import matrix_mutants
import numpy as np
import pytest
import tint
from hypothesis import given, settings
from hypothesis import strategies as st
from shares import share

from cutepy import gpu, ops
from cutepy.errors import CutepyError, KernelError, TensorError
from cutepy.gpu import Device, ir
from cutepy.gpu.lower import compile_kernel, lower
from cutepy.gpu.matmul import contraction as products
from cutepy.gpu.matmul.cost_model import (
    MATRIX_LARGE,
    MATRIX_SMALL,
    PACES,
    ProductProblem,
    choose_matrix_plan,
    matrix_plan,
)
from cutepy.gpu.matmul.int8 import of_bytes
from cutepy.gpu.matmul.kernel_subgroup import matrix_matmul_kernel
from cutepy.gpu.matmul.plan import TWO_WORKGROUPS_BYTES, MatrixPlan
from cutepy.gpu.matmul.staging import new_of_tiles, padded_kernel
from cutepy.gpu.operations.operand import ExecutionSite
from cutepy.gpu.runtime.program import MATRICES, MatrixShape
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.targets.wgsl import print_wgsl
from cutepy.gpu.verify import verify
from cutepy.layout import Layout, Swizzle, _, make_composed_layout
from cutepy.tensor import (
    Tensor,
    clear,
    cooperative_copy,
    copy,
    f16,
    f32,
    fill,
    gemm,
    local_tile,
    make_smem_ptr,
    make_tensor,
    make_tiled_mma,
    subgroup_matrix,
    transform,
)

ATOMS = [
    subgroup_matrix(),
    subgroup_matrix((16, 8, 16)),
    subgroup_matrix((16, 8, 8), ("f16", "f16", "f16")),
    subgroup_matrix((8, 8, 8), ("f32", "f32", "f32")),
]


def numbers(rng: np.random.Generator, *shape: int, kind: str = "float16") -> np.ndarray:
    return rng.integers(-4, 5, shape).astype(kind)


@given(
    st.sampled_from(ATOMS),
    st.tuples(*[st.sampled_from([1, 2])] * 3),
    st.sampled_from([(1, 1), (2, 1), (2, 2)]),
    st.data(),
)
@settings(max_examples=25)
def test_fragments_on_the_host_multiply(atom: object, rests: tuple[int, int, int], arranged: object, data) -> None:
    """All subgroups together compute C = 2 (A B^T) + 1, whatever the order of memory."""
    mma = make_tiled_mma(atom, (*arranged, 1))
    m, n, k = (extent * rest for extent, rest in zip(mma.tile, rests, strict=True))
    rng = np.random.default_rng(0)
    turned = [data.draw(st.booleans()) for _ in "abc"]
    kinds = [np.dtype({"f16": "float16", "f32": "float32"}[t]) for t in atom.types]
    made = [numbers(rng, *shape, kind=kind) for shape, kind in zip(((m, k), (n, k), (m, n)), kinds, strict=True)]
    A, B, C = (np.asfortranarray(x) if t else x for x, t in zip(made, turned, strict=True))
    for subgroup in range(mma.threads // 32):
        a, b, c = mma.partition_A(make_tensor(A), 32 * subgroup), None, None
        b, c = mma.partition_B(make_tensor(B), 32 * subgroup), mma.partition_C(make_tensor(C), 32 * subgroup)
        frag_a, frag_b, acc = mma.make_fragment_A(a), mma.make_fragment_B(b), mma.make_fragment_C(c)
        copy(a, frag_a)
        copy(b, frag_b)
        clear(acc)
        gemm(frag_a, frag_b, acc)
        transform(acc, op=lambda x: 2 * x + 1)
        copy(acc, c)
    np.testing.assert_array_equal(C, 2 * (A.astype(np.float64) @ B.astype(np.float64).T) + 1)


@gpu.kernel
def staged_product(A: Tensor, B: Tensor, C: Tensor) -> None:
    """C = 2 A B^T + 1 in tiles of 32x32, four subgroups each."""
    gpu.launch(grid=(C.layout[1].size // 32, C.layout[0].size // 32), threads=128)
    mma, who = make_tiled_mma(subgroup_matrix(), (2, 2, 1)), 32 * gpu.subgroup
    tile_A = local_tile(A, (32, 16), (gpu.workgroup.y, _))
    tile_B = local_tile(B, (32, 16), (gpu.workgroup.x, _))
    sA, sB = gpu.shared(A, Layout((32, 16), (24, 1))), gpu.shared(B, Layout((32, 16), (1, 40)))
    part_A, part_B = mma.partition_A(sA, who), mma.partition_B(sB, who)
    part_C = mma.partition_C(local_tile(C, (32, 32), (gpu.workgroup.y, gpu.workgroup.x)), who)
    frag_A, frag_B, acc = mma.make_fragment_A(part_A), mma.make_fragment_B(part_B), mma.make_fragment_C(part_C)
    clear(acc)
    for k in gpu.loop(tile_A.layout[2].size):
        cooperative_copy(128, tile_A(_, _, k), sA)
        cooperative_copy(128, tile_B(_, _, k), sB)
        gpu.barrier()
        copy(part_A, frag_A)
        copy(part_B, frag_B)
        gemm(frag_A, frag_B, acc)
        gpu.barrier()
    transform(acc, op=lambda c: c * 2.0 + 1.0)
    copy(acc, part_C)


def operands(m: int = 64, n: int = 32, k: int = 48) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return numbers(rng, m, k), numbers(rng, n, k), np.zeros((m, n), np.float32)


def test_a_kernel_reads_like_cute_and_is_proven() -> None:
    A, B, C = operands()
    staged_product.interpret(A, B, C, check=True)
    right = 2 * (A.astype(np.float64) @ B.astype(np.float64).T) + 1
    np.testing.assert_array_equal(C, right)
    assert staged_product.verify(A, B, C).ok
    with ir.new_arena():
        found = np.zeros(C.size, np.float32)
        interpret(lower(staged_product.ir(A, B, C)), [A.ravel(), B.ravel(), found], {})
    np.testing.assert_array_equal(found.reshape(C.shape), right)


def test_both_spellings() -> None:
    text = staged_product.wgsl(*operands(), dialect="tint")
    for line in (
        "enable chromium_experimental_subgroup_matrix;",
        "diagnostic(off, chromium.subgroup_matrix_uniformity);",
        "acc = subgroupMatrixMultiplyAccumulate(frag_A, frag_B, acc);",
        "acc = subgroupMatrixScalarAdd(subgroupMatrixScalarMultiply(acc, 2.0), 1.0);",
    ):
        assert line in text
    assert "subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>>(&sA, subgroup_mod_2_times_384, false, 24u)" in text
    assert set(staged_product.program(*operands()).needs) >= {"shader-f16", "chromium-experimental-subgroup-matrix"}

    @gpu.kernel
    def plain(A, B, C):
        gpu.launch(grid=1, threads=32)
        mma = make_tiled_mma(subgroup_matrix())
        parts = mma.partition_A(A), mma.partition_B(B), mma.partition_C(C)
        frags = mma.make_fragment_A(parts[0]), mma.make_fragment_B(parts[1]), mma.make_fragment_C(parts[2])
        copy(parts[0], frags[0])
        copy(parts[1], frags[1])
        clear(frags[2])
        gemm(*frags)
        copy(frags[2], parts[2])

    A = np.zeros((16, 16), np.float16)
    with ir.new_arena():
        text = print_wgsl(lower(plain.ir(A, A.T, np.zeros((16, 16), np.float32))), "naga")
    for words in (
        "enable wgpu_cooperative_matrix;",
        "coopLoadT<coop_mat16x16<f16, A>>(&A[0u], 16u)",
        "coop_mat16x16<f32, C>()",
        "coopMultiplyAdd(",
        "coopStoreT(",
    ):
        assert words in text


@pytest.mark.parametrize("number", range(len(matrix_mutants.CASES)))
def test_the_product_is_right_proven_and_taken_by_tint(number: int) -> None:
    known = matrix_mutants.subject(number)  # which compares with f64
    assert verify(known.kernel, matrix_mutants.LIMITS).ok
    with ir.new_arena():
        ready = lower(known.kernel)
        assert not tint.pipeline_refusal(compile_kernel(known.kernel, dialect="tint"))
        c = np.zeros_like(known.right)
        interpret(ready, [*known.operands, c], {})
    np.testing.assert_array_equal(c, known.right)


@pytest.mark.parametrize(
    ("shapes", "plan"),
    [
        (((64, 64), (64, 64)), MatrixPlan((64, 64, 32))),
        (((100, 70), (70, 90)), MatrixPlan((64, 64, 32))),
        (((3, 65, 64), (64, 66)), MatrixPlan((64, 64, 32))),
        (((2, 33, 40), (2, 40, 50)), MatrixPlan((32, 32, 16))),
        (((70, 500), (500, 64)), MatrixPlan((64, 64, 32), splits=4)),
        (((128, 64), (64, 160)), MatrixPlan((32, 32, 32), band=2)),
        (((40, 64), (64, 40)), MatrixPlan((32, 32, 32), types=("f16", "f16"))),
        (((13, 130), (130, 70)), MatrixPlan((16, 64, 64), (1, 4))),
        (((2, 40, 200), (2, 200, 50)), MatrixPlan((32, 64, 64), (1, 4), splits=2)),
        (((100, 96), (96, 100)), MatrixPlan((32, 32, 32), (1, 2), band=2)),
    ],
)
@pytest.mark.parametrize("turned", [(False, False), (True, True)])
def test_matmul_by_matrices_at_any_size(shapes: tuple, plan: MatrixPlan, turned: tuple[bool, bool]) -> None:
    rng = np.random.default_rng(0)
    made = [numbers(rng, *shape) for shape in shapes]
    A, B = (x.swapaxes(-1, -2).copy().swapaxes(-1, -2) if t else x for x, t in zip(made, turned, strict=True))
    found = ops.matmul(A, B, engine="interpreter", plan=plan).numpy()
    right = A.astype(np.float64) @ B.astype(np.float64)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, right, rtol=1e-3, atol=0.5 if plan.types[1] == "f16" else 0)


@given(*[st.integers(1, 5000)] * 3, st.integers(1, 70))
@settings(max_examples=60)
def test_plans_are_made_for_any_extents(m: int, n: int, k: int, batch: int) -> None:
    plan, took = choose_matrix_plan(ProductProblem(m, n, k, batch))
    assert took > 0 and 1 <= plan.splits <= max(1, k // plan.tile[2] + 1)
    assert plan.tile in {pace.plan.tile for pace in PACES}
    assert plan.shared_bytes <= 49152


def test_which_way_is_told() -> None:
    A = np.zeros((64, 64), np.float16)
    assert "no matrices of a subgroup: the interpreter" in gpu.explain_matmul(A, A, engine="interpreter")
    assert "they multiply f16" not in gpu.explain_matmul(A, A, engine="interpreter")
    with pytest.raises(KernelError, match="sums='f64'"):
        gpu.explain_matmul(A, A, engine="interpreter", sums="f64")  # type: ignore[arg-type]


def refused(function, *args: np.ndarray) -> str:
    """What a kernel is refused for, when it is traced or interpreted."""
    with pytest.raises(CutepyError) as error:
        function.interpret(*args, check=True)
    return str(error.value)


def fragment(C: Tensor) -> tuple[Tensor, Tensor]:
    mma = make_tiled_mma(subgroup_matrix())
    part = mma.partition_C(C)
    return mma.make_fragment_C(part), part


@pytest.mark.parametrize("atom", [*ATOMS, subgroup_matrix((16, 16, 32), ("i8", "i8", "i32"))], ids=str)
def test_what_runs_matrices_is_written_for_dawn(atom) -> None:
    """Whatever the device speaks, and whether or not naga has such matrices."""

    @gpu.kernel
    def zeros(C):
        gpu.launch(grid=1, threads=32)
        mma = make_tiled_mma(atom)
        part = mma.partition_C(C)
        acc = mma.make_fragment_C(part)
        clear(acc)
        copy(acc, part)

    m, n, _k = atom.shape
    C = make_tensor(atom.types[-1], (m, n))
    assert "subgroup_matrix_result<" in zeros.program(C).wgsl


def test_elements_are_nobodys() -> None:
    @gpu.kernel
    def peeks(C):
        gpu.launch(grid=1, threads=32)
        acc, _part = fragment(C)
        clear(acc)
        C[0, 0] = acc[0, 0, 0]  # here

    @gpu.kernel
    def squares(C):
        gpu.launch(grid=1, threads=32)
        acc, part = fragment(C)
        clear(acc)
        transform(acc, op=lambda c: c * c)
        copy(acc, part)

    C = np.zeros((16, 16), np.float32)
    said = refused(peeks, C)
    assert "has no elements" in said and "test_matrices.py:" in said and "copy the fragment to shared memory" in said
    assert "numbers are added to it" in refused(squares, C)


def test_what_cannot_be_moved_whole_is_refused() -> None:
    mma = make_tiled_mma(subgroup_matrix())
    part = mma.partition_A(make_tensor("f16", (16, 16)), 0)
    held = mma.make_fragment_A(part)
    swizzled = make_tensor(
        make_smem_ptr(np.zeros(256, np.float16)), make_composed_layout(Swizzle(2, 3, 3), 0, Layout((16, 16)))
    )
    guarded = local_tile(make_tensor("f16", (10, 16)), (16, 16), (0, 0))
    scattered = make_tensor(np.zeros(1024, np.float16), Layout((16, 16), (32, 2)))
    near = make_tensor(np.zeros(256, np.float16), Layout((16, 16), (8, 1)))
    for tensor, words in (
        (swizzled, "swizzled"),
        (guarded, "reaches beyond"),
        (scattered, "side by side"),
        (near, "overlap themselves"),
        (make_tensor("f32", (16, 16)), "its own type"),
    ):
        with pytest.raises(TensorError, match=words):
            copy(mma.partition_A(tensor, 0), held)
    with pytest.raises(TensorError, match="powers of two"):
        subgroup_matrix((16, 12, 16))


def parted_kernel(test):
    @gpu.kernel
    def parted(C):
        gpu.launch(grid=1, threads=64)
        acc, part = fragment(C)
        clear(acc)
        with gpu.when(test()):
            copy(acc, part)

    return parted


@pytest.mark.parametrize("counts", ("for", "while"))
def test_a_place_in_a_loop_is_one_place(counts: str) -> None:
    @gpu.kernel
    def looped(C):
        gpu.launch(grid=2, threads=64)
        acc, part = fragment(C)
        if counts == "for":
            for _k in gpu.loop(4):
                clear(acc)
        else:
            k = gpu.workgroup.x
            while gpu.at_most(9, k < 4):
                clear(acc)
                k += 1
        copy(acc, part)

    C = np.zeros((16, 16), np.float32)
    (verdict,) = [v for v in looped.verify(C).verdicts if v.claim == "whole subgroups"]
    assert (verdict.status, verdict.reason) == ("proven", "2 places")


def test_whole_subgroups_come_or_none() -> None:
    C = np.zeros((16, 16), np.float32)
    whole = parted_kernel(lambda: gpu.subgroup == 0)
    whole.interpret(C, check=True)
    assert whole.verify(C).ok
    some = parted_kernel(lambda: gpu.thread < 20)
    assert "is parted" in refused(some, C)
    (verdict,) = [v for v in some.verify(C).refuted if v.claim == "whole subgroups"]
    assert verdict.witness is not None and {use.thread for use in verdict.witness.uses} == {0, 20}
    with pytest.raises(KernelError, match="whole subgroups"):
        some.program(C)


def test_a_matrix_beyond_its_memory_is_never_run() -> None:
    @gpu.kernel
    def beyond(C):
        gpu.launch(grid=1, threads=32)
        mma = make_tiled_mma(subgroup_matrix())
        part = mma.partition_C(Tensor(C.engine, C.layout, C.offset + 8))
        acc = mma.make_fragment_C(part)
        clear(acc)
        copy(acc, part)

    C = np.zeros((16, 16), np.float32)
    assert [v.claim for v in beyond.verify(C).refuted] == ["in bounds"]
    assert "element" in refused(beyond, C)
    with pytest.raises(KernelError, match="not proven to stay inside"):
        beyond.program(C)


#: Pairs of a kernel and a fault in it.
COUNT = len(share(range(100)))


def test_planted_faults_are_caught_and_originals_are_not() -> None:
    counts, missed = matrix_mutants.pairs(COUNT)
    assert sum(counts.values()) == COUNT and not missed, missed


def test_registers_are_chosen_when_the_kernel_is_written() -> None:
    @gpu.kernel
    def counts(C):
        gpu.launch(grid=1, threads=32)
        mma = make_tiled_mma(subgroup_matrix())
        part = mma.partition_C(C)
        acc = mma.make_fragment_C(part)
        for i in gpu.loop(2):
            clear(acc(_, _, i))
        copy(acc, part)

    assert "gpu.unroll" in refused(counts, np.zeros((16, 32), np.float32))


def test_large_is_the_plan_of_the_notes() -> None:
    assert choose_matrix_plan(ProductProblem(4096, 4096, 4096))[0] == MATRIX_LARGE
    A = np.zeros((256, 256), np.float16)
    for C in (np.zeros((256, 256), np.float32), np.zeros((201, 252), np.float16), np.zeros((252, 203), np.float16).T):
        assert matrix_matmul_kernel.verify(A, A.T, C, plan=MATRIX_LARGE, limits=matrix_mutants.LIMITS).ok


@pytest.mark.parametrize("columns", [(True, True), (False, True), (True, False), (False, False)])
def test_padding_keeps_matrix_loads_free_of_bank_conflicts(columns: tuple[bool, bool]) -> None:
    """The phases of a load are eight threads with 16 bytes each: without padding they meet in one bank."""
    A, C = np.zeros((64, 64), np.float16), np.zeros((64, 64), np.float32)

    def worst(padding: int) -> int:
        plan = MatrixPlan((64, 64, 32), padding=padding, columns=columns)
        found = matrix_matmul_kernel.report(A, A.T, C, plan=plan)
        return max(a.ways or 1 for a in found.accesses if a.space == "workgroup" and a.verb == "reads")

    assert worst(8) == 1 and worst(24) == 1
    assert worst(0) >= 4


@pytest.mark.parametrize("C", [np.zeros((64, 64), np.float16), np.zeros((64, 64), np.float16).T])
def test_blocks_of_results_are_small(C: np.ndarray) -> None:
    """They leave room for two workgroups on a processor of an H200, and are read and written without conflicts."""
    A, plan = np.zeros((64, 64), np.float16), MatrixPlan((64, 64, 32))
    found = matrix_matmul_kernel.report(A, A.T, C, plan=plan)
    blocks = [a.ways for a in found.accesses if a.array == "sC"]
    assert len(blocks) >= 2 and max(blocks) <= 4, blocks  # one by one in the text: four neighbours are no vector
    staged = [replace(MATRIX_LARGE, columns=(i, j)) for i in (True, False) for j in (True, False)]
    assert all(plan.shared_bytes <= TWO_WORKGROUPS_BYTES for plan in staged)


def test_a_report_counts_what_matrices_compute() -> None:
    A, B, C = operands(64, 32, 48)
    found = staged_product.report(A, B, C)
    assert found.flops == 2 * 64 * 32 * 48
    assert next(a for a in found.arrays if a.name == "C").written_bytes == C.nbytes


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(
    "shapes", [((64, 64), (64, 64)), ((70, 100), (100, 33)), ((2, 3, 40), (40, 5)), ((9,), (9, 7))]
)
def test_bytes_are_multiplied_exactly(kind: str, shapes: tuple) -> None:
    rng, limits = np.random.default_rng(0), np.iinfo(kind)
    A, B = (rng.integers(limits.min, limits.max + 1, shape).astype(kind) for shape in shapes)
    sums = {"int8": "i32", "uint8": "u32"}[kind]
    plan = of_bytes(MATRIX_SMALL, ({"int8": "i8", "uint8": "u8"}[kind], sums))
    right = A.astype(np.int64) @ B.astype(np.int64)
    for found in (ops.matmul(A, B, sums=sums, engine="interpreter", plan=p) for p in (plan, None)):
        assert found.dtype.name == sums
        np.testing.assert_array_equal(found.numpy(), right)
    if A.ndim == B.ndim == 2:
        A, B = np.asfortranarray(A), np.asfortranarray(B)
    doubled = ops.matmul(A, B, sums=sums, engine="interpreter", plan=plan, epilogue=lambda c: 2 * c)
    np.testing.assert_array_equal(doubled.numpy(), 2 * right)
    assert "matrices of a subgroup" in gpu.explain_matmul(A, B, sums=sums, engine="interpreter")


def test_bytes_want_bytes() -> None:
    with pytest.raises(KernelError, match="the operands are i8 and u8"):
        ops.matmul(np.zeros((4, 4), np.int8), np.zeros((4, 4), np.uint8), sums="i32", engine="interpreter")


def leaky(c):
    return gpu.select(c > 0, c, 0.25 * c) + 1


@pytest.mark.parametrize("plan", [None, MatrixPlan((64, 64, 32)), MatrixPlan((64, 64, 32), types=("f16", "f16"))])
@pytest.mark.parametrize(
    "shapes", [((64, 64), (64, 64)), ((33, 70), (70, 40)), ((1, 40), (40, 50)), ((3, 8, 32), (32, 9))]
)
def test_an_epilogue_is_of_whole_sums(plan: MatrixPlan | None, shapes: tuple) -> None:
    rng = np.random.default_rng(0)
    A, B = (numbers(rng, *shape) for shape in shapes)
    sums = A.astype(np.float64) @ B.astype(np.float64)
    right = np.where(sums > 0, sums, 0.25 * sums) + 1
    found = ops.matmul(A, B, engine="interpreter", plan=plan, epilogue=leaky).numpy()
    np.testing.assert_allclose(found, right, rtol=2e-3, atol=0.5 if plan is not None and plan.types[1] == "f16" else 0)


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
def test_operands_are_staged_as_they_lie(turned: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library chooses, A and B are staged along k where they lie so: nothing is turned on its way."""
    taken, brought = [], products.as_planned

    def planned(_place, problem, _sums):
        return MatrixPlan((32, 32, 32), columns=(not problem.across[0], not problem.across[1]))

    monkeypatch.setattr(products, "matrix_plan", planned)
    monkeypatch.setattr(products, "as_planned", lambda *given: (taken.append(given[2].columns), brought(*given))[1])
    made = [numbers(np.random.default_rng(0), *shape) for shape in ((40, 70), (70, 50))]
    A, B = (np.asfortranarray(x) if t else x for x, t in zip(made, turned, strict=True))
    found = ops.matmul(A, B, engine="interpreter").numpy()
    np.testing.assert_array_equal(found, A.astype(np.float64) @ B.astype(np.float64))
    assert taken == [(turned[0], not turned[1])]


H200 = tuple(
    MatrixShape("f16", sums, *shape) for sums in ("f32", "f16") for shape in ((16, 16, 16), (16, 8, 16), (16, 8, 8))
)


def place_with(
    shapes: tuple[MatrixShape, ...], *, feature: bool = True, nbytes: int = 49152, why: str = ""
) -> ExecutionSite:
    """A device that grants these matrices, as far as plans ask."""
    limits = SimpleNamespace(workgroup_bytes=nbytes)
    adapter = SimpleNamespace(matrices=shapes, no_matrices=why, limits=limits, kind="DiscreteGPU")
    granted = Device.matrices.fget(SimpleNamespace(adapter=adapter, features={MATRICES} if feature else ()))
    return ExecutionSite(SimpleNamespace(adapter=adapter, matrices=granted))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "dtype", "extents", "words"),
    [
        (ExecutionSite(None), f16, (64, 64, 64), "the interpreter is asked for"),
        (place_with(H200), f32, (64, 64, 64), "they multiply f16, not f32"),
        (place_with((), why="its driver gives none"), f16, (64, 64, 64), "its driver gives none"),
        (place_with(H200, feature=False), f16, (64, 64, 64), "lists none of f16"),
        (place_with((MatrixShape("f16", "f32", 8, 8, 8),)), f16, (64, 64, 64), "(8, 8, 8) and not (16, 16, 16)"),
        (place_with(H200, nbytes=16384), f16, (64, 64, 64), "16384 bytes of shared memory"),
        (place_with(H200), f16, (3, 8, 40), "by multiply-adds"),
    ],
)
def test_why_there_are_no_matrices_is_one_line(place: ExecutionSite, dtype: object, extents: tuple, words: str) -> None:
    found = matrix_plan(place, ProductProblem(*extents, 1, (str(dtype),) * 3), "f32")
    assert isinstance(found, str) and words in found and "\n" not in found


def test_an_h200_multiplies_by_matrices() -> None:
    for sums in ("f32", "f16"):
        found = matrix_plan(place_with(H200), ProductProblem(4096, 4096, 4096, 1, ("f16",) * 3), sums)
        assert isinstance(found, MatrixPlan) and found.types == ("f16", sums)
        assert f"sums in {sums}" in found.description


def test_a_plan_says_what_matrices_are_stored_to() -> None:
    """Whole tiles in the type of the sums, each row at a multiple of 16 bytes, and nothing else."""
    A, plan = numbers(np.random.default_rng(0), 64, 64), MatrixPlan((64, 64, 32))
    for kind, wide, first, taken in (
        ("float32", 64, 0, True),
        ("float32", 68, 4, True),
        ("float32", 66, 0, False),
        ("float16", 64, 0, False),
    ):
        C = np.zeros((64, wide), kind)[:, first : first + 64]
        assert plan.stores(make_tensor(C)) is taken, (kind, wide, first)
        assert ("sC" in matrix_matmul_kernel.wgsl(A, A, C, plan=plan)) is not taken
        matrix_matmul_kernel.interpret(A, A, C, plan=plan)
        np.testing.assert_array_equal(C, A.astype(np.float64) @ A.T.astype(np.float64))
    whole = make_tensor(np.zeros((64, 128), np.float32))
    for layout, first in (
        (Layout((64, 60), (128, 1)), 0),
        (Layout((64, 64), (128, 1)), 1),
        (Layout((32, 64), (4, 2)), 0),
    ):
        assert not plan.stores(Tensor(whole.engine, layout, first))


@given(st.tuples(*[st.integers(1, 70)] * 3), st.integers(1, 3), st.sampled_from(["f2", "f4"]), st.data())
@settings(max_examples=20)
def test_products_reach_any_result(sizes: tuple[int, int, int], batch: int, kind: str, data) -> None:
    """C = 2 A B + 1 of any sizes, in any order of memory, in either type, among elements that stay as they are."""
    (m, n, k), rng = sizes, np.random.default_rng(0)
    A, B = numbers(rng, batch, m, k), numbers(rng, batch, k, n)
    around = np.full((batch, m + 3, n + 5), 7, kind)
    around = around.swapaxes(1, 2).copy().swapaxes(1, 2) if data.draw(st.booleans()) else around
    first, tile = data.draw(st.integers(0, 3)), data.draw(st.sampled_from([(32, 32, 32), (64, 64, 32), (32, 64, 16)]))
    stages, band, splits = (
        data.draw(st.sampled_from([1, 2])),
        data.draw(st.sampled_from([0, 2])),
        data.draw(st.integers(1, 3)),
    )
    plan = MatrixPlan(tile, data.draw(st.sampled_from([(2, 2), (1, 2)])), stages=stages, band=band, splits=splits)
    C = around[:, first : first + m, first : first + n]
    epilogue = data.draw(st.sampled_from([None, lambda c: 2 * c + 1]))
    ops.matmul(A, B, make_tensor(C), engine="interpreter", plan=plan, epilogue=epilogue)
    right = A.astype(np.float64) @ B.astype(np.float64)
    np.testing.assert_array_equal(C, right if epilogue is None else 2 * right + 1)
    C[:] = 7
    assert (around == 7).all()


@pytest.mark.parametrize("size", [(64, 64), (65, 70), (7, 129), (64, 130)])
@pytest.mark.parametrize("turned", [False, True])
def test_operands_are_copied_among_zeros(size: tuple[int, int], turned: bool) -> None:
    """What was in the memory of the copy does not matter."""
    A = numbers(np.random.default_rng(0), 2, *size) + np.float16(9)
    A = A.swapaxes(1, 2).copy().swapaxes(1, 2) if turned else A
    source = make_tensor(A.transpose(1, 2, 0))
    fresh = new_of_tiles(ExecutionSite(None), source, (64, 32), f16)
    fill(fresh, np.nan)
    padded_kernel.interpret(source, fresh, tile=(64, 32, 1), check=True)
    whole = [(0, -extent % tile) for extent, tile in zip(size, (64, 32), strict=True)]
    np.testing.assert_array_equal(fresh.numpy(), np.pad(A.transpose(1, 2, 0), [*whole, (0, 0)]))
    assert padded_kernel.verify(source, fresh, tile=(64, 32, 1)).ok
