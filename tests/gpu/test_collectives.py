"""What a workgroup does together is what NumPy does with all its values, with subgroups and without; and proven."""

from typing import Any

import numpy as np
import pytest
from collective_cases import (
    NUMPY,
    SCANS,
    data,
    folded_tile,
    handed_on,
    moments,
    reduced,
    scanned,
    searched,
    voted,
    votes,
)

from cutepy import Layout, gpu
from cutepy.errors import KernelError
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.verify import verify
from cutepy.tensor import FMA, MMA_ATOMS, Tensor, make_tensor, make_tiled_mma

SHAPES = [(4, 64, 1), (2, 256, 3), (2, 37, 2), (3, 1, 4), (2, 96, 1)]
SIZES = (0, 4, 8, 32, 128)


def in_turn(types: tuple[str, ...], shape: tuple[int, int, int], size: int, number: int) -> str:
    """The type that an operation is tried with here: each meets each operation, shape and size, not all at once."""
    return types[(SHAPES.index(shape) + SIZES.index(size) + number) % len(types)]


def half(operations: dict[Any, Any], shape: tuple[int, int, int], size: int) -> list[tuple[int, tuple[Any, Any]]]:
    """Those that are tried here, numbered: neighbouring shapes and sizes meet the others."""
    return list(enumerate(operations.items()))[(SHAPES.index(shape) + SIZES.index(size)) % 2 :: 2]


def run(kernel: Any, arrays: list[np.ndarray], size: int, limits: Limits | None = None, **static: object) -> None:
    """In the interpreter: through memory for a `size` of 0, else with subgroups of that size; and it is proven."""
    call = kernel._bind(tuple(arrays), static)
    form = kernel._form(call, subgroups=size > 0).kernel
    assert verify(form, limits).ok, verify(form, limits)
    flat = [a.reshape(-1) for a in arrays]
    interpret(form, flat, {}, subgroup_size=size or 32)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions(shape: tuple[int, int, int], size: int) -> None:
    for seed, (op, wanted) in half(NUMPY, shape, size):
        dtype = in_turn(("float32", "int32", "uint32", "float16"), shape, size, seed)
        x = data(shape, dtype, seed)
        out = np.zeros(shape[:2], "float32" if dtype.startswith("f") else dtype)
        run(reduced, [x, out], size, op=op, rows=2 if shape[0] % 2 == 0 else 1)
        with np.errstate(all="ignore"):
            expected = [wanted(row.astype(out.dtype)) for row in x]
        np.testing.assert_array_equal(out, np.broadcast_to(np.array(expected, out.dtype)[:, None], out.shape), op)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("exclusive", [False, True])
def test_scans(shape: tuple[int, int, int], size: int, exclusive: bool) -> None:
    for seed, (op, wanted) in half(SCANS, shape, size):
        dtype = in_turn(("float32", "int32", "uint32"), shape, size, seed)
        x = data(shape, dtype, seed)
        out = np.zeros_like(x)
        run(scanned, [x, out], size, op=op, exclusive=exclusive)
        rows = x.reshape(shape[0], -1)
        with np.errstate(all="ignore"):
            expected = np.stack([wanted.accumulate(row) for row in rows])
        found = out.reshape(rows.shape)
        np.testing.assert_array_equal(found[:, exclusive:], expected[:, : rows.shape[1] - exclusive], op)
        if exclusive:
            limits = np.iinfo(dtype) if dtype != "float32" else None
            ends = (limits.min, limits.max) if limits else (-np.inf, np.inf)
            assert (found[:, 0] == {"sum": 0, "prod": 1, "max": ends[0], "min": ends[1]}[op]).all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_scans_hand_on_what_comes_before(shape: tuple[int, int, int], size: int) -> None:
    for seed, (op, wanted) in half({**SCANS, (lambda a, b: a + b): np.add}, shape, size):
        dtype, exclusive = in_turn(("int32", "uint32", "float32"), shape, size, seed), seed % 2 == 1
        x = np.nan_to_num(data(shape, dtype, seed), posinf=1, neginf=2)
        out, last = np.zeros_like(x), np.zeros(shape[1], dtype)
        run(handed_on, [x, out, last], size, op=op, exclusive=exclusive)
        with np.errstate(all="ignore"):
            expected = wanted.accumulate(np.concatenate([[2], x.ravel()]).astype(dtype))
        np.testing.assert_array_equal(out.ravel(), expected[:-1] if exclusive else expected[1:], str(op))
        np.testing.assert_array_equal(last, np.full(shape[1], expected[-1]))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_searches(shape: tuple[int, int, int], size: int) -> None:
    for greatest in (True, False):
        dtype = in_turn(("float32", "int32", "uint32", "float16"), shape, size, greatest)
        x = data(shape, dtype, 5)
        best, at = np.zeros(shape[:2], dtype), np.zeros(shape[:2], np.uint32)
        run(searched, [x, best, at], size, greatest=greatest)
        rows = x.reshape(shape[0], -1)
        places = (np.argmax if greatest else np.argmin)(rows, axis=1)
        np.testing.assert_array_equal(at, np.broadcast_to(places[:, None], at.shape))
        np.testing.assert_array_equal(best, np.broadcast_to(rows[range(len(rows)), places][:, None], best.shape))


def test_a_function_of_several_values() -> None:
    x = np.random.default_rng(0).standard_normal((3, 96), dtype=np.float32)
    for size in SIZES:
        out = np.zeros((3, 96, 3), np.float32)
        run(moments, [x, out], size)
        expected = np.stack([np.full(3, 96.0), x.mean(1), x.var(1) * 96], axis=1)
        np.testing.assert_allclose(out, np.broadcast_to(expected[:, None], out.shape), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [4, 8, 32, 64, 128])
def test_votes(size: int) -> None:
    x = np.random.default_rng(1).integers(0, 9, 128).astype(np.uint32)
    out = np.zeros((128, 7), np.uint32)
    run(votes, [x, out], size, Limits(subgroup_sizes=(size, size)))
    assert np.array_equal(out, voted(x, size))


def test_what_is_refused() -> None:
    x, out = np.zeros(64, np.float32), np.zeros(64, np.float32)

    @gpu.kernel
    def parted(x: Tensor, out: Tensor) -> None:
        gpu.launch(grid=1, threads=64)
        with gpu.when(gpu.thread < 32):
            out[gpu.thread] = gpu.workgroup_reduce(x[gpu.thread])

    @gpu.kernel
    def named(x: Tensor, out: Tensor) -> None:
        gpu.launch(grid=1, threads=64)
        out[gpu.thread] = gpu.workgroup_reduce(x[gpu.thread], "median")

    @gpu.kernel
    def begins(x: Tensor, out: Tensor) -> None:
        gpu.launch(grid=1, threads=64)
        out[gpu.thread] = gpu.workgroup_scan(x[gpu.thread], lambda a, b: a * b, exclusive=True)

    @gpu.kernel
    def plain(x: Tensor, out: Tensor) -> None:
        gpu.launch(grid=1, threads=64)
        out[gpu.thread] = gpu.workgroup_reduce(1.0)

    @gpu.kernel
    def vote(x: Tensor, out: Tensor) -> None:
        gpu.launch(grid=1, threads=64)
        out[gpu.thread] = gpu.cast(gpu.subgroup_any(x[gpu.thread]), "f32")

    @gpu.kernel
    def from_lane(x: Tensor, out: Tensor) -> None:
        gpu.launch(grid=1, threads=64)
        out[gpu.thread] = gpu.subgroup_broadcast(x[gpu.thread], gpu.lane)

    for kernel, words in (
        (parted, "all of them must take part"),
        (named, "folded by sum, prod, max, min, any, all"),
        (begins, "nothing tells what it begins with"),
        (plain, "give a value of the kernel"),
        (vote, "compare it"),
        (from_lane, "use gpu.subgroup_shuffle"),
    ):
        with pytest.raises(KernelError, match=words) as error:
            kernel.ir(x, out)
        assert "test_collectives.py:" in str(error.value)


def test_the_form_follows_the_device() -> None:
    x, out = np.zeros((2, 64, 1), np.float32), np.zeros((2, 64), np.float32)
    call = reduced._bind((x, out), {"op": "sum", "rows": 1})
    without, with_them = (reduced._form(call, subgroups=has) for has in (False, True))
    assert without.program("naga", True).needs == () and with_them.program("naga", True).needs == ("subgroups",)
    assert len(with_them.program("naga", True).wgsl.splitlines()) < len(without.program("naga", True).wgsl.splitlines())
    for dialect in ("naga", "tint"):
        assert "subgroup" not in reduced.wgsl(x, out, op="sum", rows=1, dialect=dialect)


TILES = {
    "plain": (make_tiled_mma(FMA, (8, 8, 1)), (16, 24)),
    "row-major threads": (make_tiled_mma(FMA, Layout((4, 16, 1), (16, 1, 0))), (8, 32)),
    "odd threads": (make_tiled_mma(FMA, (6, 5, 1)), (12, 10)),
    "several values": (
        make_tiled_mma(FMA, Layout((8, 8, 1)), (Layout((8, 4), (4, 1)), Layout((8, 2), (2, 1)), None)),
        (64, 32),
    ),
    "an instruction": (make_tiled_mma(MMA_ATOMS["sm_80.mma.m16n8k16.f32.f16.f16.f32"]), (16, 32)),
    "instructions": (make_tiled_mma(MMA_ATOMS["sm_80.mma.m16n8k16.f32.f16.f16.f32"], (2, 4, 1)), (64, 64)),
    "columns first": (
        make_tiled_mma(
            MMA_ATOMS["sm_75.mma.m16n8k8.f32.f16.f16.f32"], (1, 2, 1), (None, Layout((8, 2, 2), (1, 16, 8)), None)
        ),
        (32, 64),
    ),
}


@pytest.mark.parametrize("name", TILES)
@pytest.mark.parametrize("size", [0, 32])
def test_rows_and_columns_of_accumulators(name: str, size: int) -> None:
    mma, shape = TILES[name]
    for columns in (False, True):
        for op, lanes in (("max", 4), ("min", 32), (lambda a, b: gpu.maximum(a, b), 8)):
            x = data(shape, "float32", 3)
            x = np.nan_to_num(x) if callable(op) else x
            out = np.zeros_like(x)
            run(folded_tile, [x, out], size, mma=mma, op=op, columns=columns, lanes=lanes)
            fold = np.min if op == "min" else np.max
            expected = np.broadcast_to(fold(x, axis=0 if columns else 1, keepdims=True), shape)
            np.testing.assert_array_equal(out, expected)


def test_registers_that_are_no_accumulators_are_refused() -> None:
    shape = TILES["plain"][1]

    @gpu.kernel
    def other(x: Tensor, out: Tensor) -> None:
        gpu.launch(grid=1, threads=64)
        out[gpu.thread, 0] = gpu.reduce_rows(make_tensor("f32", (3, 3)), make_tiled_mma(FMA, (8, 8, 1)))[0]
        out[gpu.thread, 1] = gpu.reduce_rows(make_tensor("f32", (7,)), make_tiled_mma(FMA, (8, 8, 1)))[0]

    with pytest.raises(KernelError, match="is no fragment of C"):
        other.ir(np.zeros(shape, np.float32), np.zeros((64, 2), np.float32))


@pytest.mark.parametrize("size", [4, 8, 16, 32, 64, 128])
@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32])
def test_an_exchange_inside_groups_counts_from_the_first_of_each(lanes: int, size: int) -> None:
    """Lanes and masks are of Python's numbers, u32 and i32, modulo the threads of a group."""

    @gpu.kernel
    def grouped(x: Tensor, at: Tensor, y: Tensor, z: Tensor) -> None:
        gpu.launch(grid=1, threads=128)
        value, number = x[gpu.thread], at[gpu.thread]
        y[gpu.thread] = gpu.subgroup_shuffle(value, number, lanes=lanes) + gpu.subgroup_shuffle(value, -3, lanes=lanes)
        z[gpu.thread] = gpu.subgroup_shuffle_xor(value, number, lanes=lanes)

    t, x = np.arange(128), np.arange(128, dtype=np.float32) ** 2
    first = t // lanes * lanes
    for at in ((t * 7 + 3).astype(np.uint32), (t * 5 - 200).astype(np.int32)):
        y, z = np.zeros_like(x), np.zeros_like(x)
        if size < lanes:
            with pytest.raises(KernelError, match=f"subgroups of {lanes} threads, here they have {size}"):
                run(grouped, [x, at, y, z], size)
            continue
        run(grouped, [x, at, y, z], size)
        assert (y == x[first + at % lanes] + x[first + -3 % lanes]).all() and (z == x[t ^ (at % lanes)]).all()
