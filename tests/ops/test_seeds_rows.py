"""What the source documents of this project can do, a capability a row: each is done here, or refused in words.

The documents are Tensorken's posts on tensors and GPUs (T), CuTe's document of tensors (C), TensorFlow.js's matrix
products in WebGPU (J) and PyTorch's TensorIterator (I). A row is a test by its id; its docstring or comment says what
the document claims. `REFUSED` lists what is not done here by a decision, with the way out that the message names;
`OPEN` what is missing: such a test fails, and says so when it no longer does.
"""

from __future__ import annotations

import contextlib
import copy as python_copy
import gc
import io
import itertools
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

from cutepy import (
    COPY_ATOMS,
    Layout,
    LayoutRight,
    _,
    ceil_div,
    composition,
    copy,
    cosize,
    depth,
    draw,
    fill,
    flat_divide,
    get,
    gpu,
    idx2crd,
    inner_partition,
    local_partition,
    local_tile,
    logical_divide,
    logical_product,
    make_counting_tensor,
    make_fragment_like,
    make_gmem_ptr,
    make_layout,
    make_smem_ptr,
    make_tensor,
    make_tensor_like,
    make_tiled_copy,
    ops,
    outer_partition,
    rank,
    recast,
    reduce,
    right_inverse,
    shape,
    size,
    slice_and_offset,
    tiled_divide,
    zipped_divide,
)
from cutepy.cli.main import main
from cutepy.errors import CutepyError, DeviceError
from cutepy.gpu.runtime import Binding, Program
from cutepy.tensor import Tensor, f16, f32

F = np.float32
DRAWN = np.random.default_rng(7)
X = DRAWN.standard_normal((64, 64)).astype(F)
COUNT = np.arange(384, dtype=F)
ROWS: dict[str, Callable[[], object]] = {}

REFUSED = {
    "T54": "gradients: no operation here is differentiated; write the backward kernel, the proof is the same",
    "I08b": "i8 and u8 do not meet in i16, a type that neither has: convert one",
    "I08c": "i32 and u32 do not meet in i64, which WGSL lacks: convert one",
    "J15c": "products of complex numbers on a device: WGSL has none; .view(np.float32), or the host",
    "I09d": "an `out` of another shape is not resized under its other views",
    "I14": "more than 2^32 elements, or than a binding holds: cut the tensor",
    "I19": "WGSL has no 64-bit types: .astype, or the host",
    "I20": "WGSL has no 8-bit arithmetic: ops on a device take astype(x, 'i32'), kernels unpack words",
}
OPEN: dict[str, str] = {}


def device_or_skip() -> None:
    try:
        gpu.default_device()
    except DeviceError as error:
        if os.environ.get("CUTEPY_REQUIRE_DEVICE", "0") != "0":
            raise
        pytest.skip(f"NOT TESTED: {str(error).partition(':')[0]}")


def row(name: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    def keep(test: Callable[[], object]) -> Callable[[], object]:
        assert name not in ROWS, name
        ROWS[name] = test
        return test

    return keep


def rows(**tests: Callable[[], object]) -> None:
    for name, test in tests.items():
        row(name)(test)


def D(x: object) -> Tensor:
    return gpu.array(x)


def near(found: object, wanted: object, tolerance: float = 1e-5) -> bool:
    """A result on the device, or numbers, beside what is wanted: the shape, and the elements."""
    if isinstance(found, Tensor):
        found = found.numpy()
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    assert np.shape(found) == np.shape(wanted)
    return True


def refused(call: Callable[[], object], *words: str) -> bool:
    with pytest.raises(CutepyError) as error:
        call()
    assert all(word in str(error.value) for word in words), str(error.value)
    return True


def of_device(t: Tensor) -> Tensor:
    assert isinstance(t.engine, gpu.DeviceEngine), t
    return t


def pipelines() -> int:
    return gpu.default_device().stats.pipelines


def moved_bytes() -> int:
    return gpu.default_device().stats.staging_copies


# Tensorken, "Tensors from scratch" and "Tensors on the GPU".

a57, b57 = DRAWN.standard_normal((2, 5, 7)).astype(F)
ARITHMETIC = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
}  # fmt: skip
rows(
    T01=lambda: near(ops.exp(D(X)), np.exp(X)),
    T02=lambda: near(ops.log(D(abs(X) + 1)), np.log(abs(X) + 1)),
    T03add=lambda: near(ops.add(D(a57), D(b57)), a57 + b57),
    T03sub=lambda: near(ops.sub(D(a57), D(b57)), a57 - b57),
    T03mul=lambda: near(ops.mul(D(a57), D(b57)), a57 * b57),
    T03div=lambda: near(ops.div(D(a57), D(b57)), a57 / b57, 1e-4),
    T03pow=lambda: near(ops.power(D(abs(a57)), D(b57)), abs(a57) ** b57, 1e-3),
    T03eq=lambda: near(ops.eq(D(a57), D(np.where(a57 > 0, a57, 0))), a57 > 0),
    T05=lambda: near(ops.max(D(X), (0, 1)), X.max()),
    T12=lambda: near(D(X).shape, (64, 64)),
    T13=lambda: near(ops.reshape(ops.permute(D(X), (1, 0)), -1), X.T.ravel()),
    T15=lambda: near(ops.mul(D(a57[:, None]), D(b57[None])), a57[:, None] * b57[None]),
    T41=lambda: near(ops.sum(D(a57), ()), a57),
    T45=lambda: near(ops.cumsum(D(np.int32([3, 1, 7, 0, 4, 1, 6, 3])), 0), [3, 4, 11, 11, 15, 16, 22, 25]),
    T64=lambda: near(ops.linspace(1, 20, 20), np.linspace(1, 20, 20)),
)


@row("T04")
def axes_stay_with_length_1() -> None:
    t = ops.reshape(D(ops.linspace(1, 20, 20)), (4, 5))
    assert near(ops.sum(t, (0,), keepdims=True), [[34, 38, 42, 46, 50]])


def is_view(view: Tensor, of: Tensor, wanted: np.ndarray) -> None:
    assert view.engine is of.engine and near(view, wanted)


@row("T06")
def reshape_is_a_view() -> None:
    d = D(X)
    is_view(ops.reshape(d, (32, 128)), d, X.reshape(32, 128))


@row("T07")
def permute_is_a_view() -> None:
    d = D(X)
    is_view(ops.permute(d, (1, 0)), d, X.T)


@row("T08")
def expand_is_a_view_of_stride_0() -> None:
    d = D(X[:1])
    is_view(ops.expand(d, (5, 64)), d, np.broadcast_to(X[:1], (5, 64)))
    assert ops.expand(d, (5, 64)).stride == (0, 1)


@row("T09")
def pad_stays_on_the_device() -> None:
    d, before = D(X), moved_bytes()
    padded = of_device(ops.pad(d, [(1, 2), (0, 3)]))
    assert moved_bytes() == before and near(padded, np.pad(X, [(1, 2), (0, 3)]))


@row("T10")
def crop_is_a_view() -> None:
    d = D(np.arange(1, 21, dtype=F).reshape(4, 5))
    is_view(ops.crop(d, [(0, 4), (0, 1)]), d, np.float32([[1], [6], [11], [16]]))


rows(
    T11=lambda: near(make_tensor([[1.0, 2.0], [3.0, 4.0]]), [[1, 2], [3, 4]]),
    # Memory in the order of rows is said by its layout; without a word it is CuTe's, by columns.
    T11b=lambda: near(make_tensor([1.0, 2.0, 3.0, 4.0], (2, 2), LayoutRight), [[1, 2], [3, 4]]),
)


@row("T14")
def a_matrix_product_of_the_raw_operations() -> None:
    a, b = D(X[:8]), D(X[:, :6].copy())
    left, right = ops.reshape(a, (8, 1, 64)), ops.reshape(ops.permute(b, (1, 0)), (1, 6, 64))
    products = ops.mul(ops.expand(left, (8, 6, 64)), ops.expand(right, (8, 6, 64)))
    assert near(ops.reshape(ops.sum(products, (2,), keepdims=True), (8, 6)), X[:8] @ X[:, :6], 1e-4)


@row("T16")
def views_share_memory_which_may_be_closed_to_writes() -> None:
    d = D(X)
    fill(ops.crop(d, [(0, 1), (0, 64)]), 7.0)
    assert d.numpy()[0, 0] == 7
    closed = X.copy()
    closed.flags.writeable = False
    refused(lambda: fill(make_tensor(closed), 7.0))


rows(
    T17=lambda: near(ops.permute(D(X), (1, 0)).layout == ops.permute(make_tensor(X), (1, 0)).layout, True),
    T23=lambda: near(gpu.default_device() is gpu.default_device(), True),
    T34=lambda: near([Layout((4, 5), (5, 1))(i, j) for i in range(4) for j in range(5)], np.arange(20)),
    T35=lambda: near([idx2crd(5 * i + j, (4, 5), (5, 1)) == (i, j) for i in range(4) for j in range(5)], [True] * 20),
    T37=lambda: near(ops.exp(ops.crop(D(X), [(3, 9), (2, 5)])), np.exp(X[3:9, 2:5])),
    T38=lambda: near(ops.mul(ops.permute(D(X), (1, 0)), D(X)), X.T * X),
    T61=lambda: near(ops.matmul(D(X), D(X)), X @ X, 1e-3),
)


SHADER = """
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn add_1(@builtin(global_invocation_id) id: vec3u) { x[id.x] += 1.0; }
"""


@row("T18")
def a_shader_of_ones_own() -> None:
    x = D(FLAT[:128].copy())
    program = Program(SHADER, "add_1", (Binding("x", "read_write"),), (64, 1, 1), (2, 1, 1))
    gpu.default_device().launch(program, [x.engine.buffer])
    assert near(x, FLAT[:128] + 1)


@gpu.kernel
def exp_each(x, y):
    gpu.launch(grid=ceil_div(size(y), 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < size(y):
        y[i] = gpu.exp(x[i])


@gpu.kernel
def exp_chunk(x, y, *, chunk):
    gpu.launch(grid=16, threads=64)
    first = (gpu.workgroup.x * 64 + gpu.thread) * chunk
    for i in gpu.loop(first + chunk, start=first):
        if i >= size(y):
            return
        y[i] = gpu.exp(x[i])


@gpu.kernel
def exp_chunk_from_0(x, y, *, chunk):
    gpu.launch(grid=16, threads=64)
    first = (gpu.workgroup.x * 64 + gpu.thread) * chunk
    for k in gpu.loop(chunk):
        if first + k < size(y):
            y[first + k] = gpu.exp(x[first + k])


def on_device_and_proven(kernel: Any, wanted: np.ndarray, *arrays: Any, **static: object) -> None:
    """The last array becomes what is wanted, and the kernel is proven."""
    assert kernel.verify(*arrays, **static).ok, kernel.verify(*arrays, **static)
    kernel(*arrays, **static)
    assert near(arrays[-1], wanted)


FLAT = X.ravel()[:2000].copy()
rows(
    T19=lambda: on_device_and_proven(exp_each, np.exp(FLAT), FLAT, np.zeros_like(FLAT)),
    T20=lambda: on_device_and_proven(exp_chunk, np.exp(FLAT), FLAT, np.zeros_like(FLAT), chunk=3),
    T20b=lambda: on_device_and_proven(exp_chunk_from_0, np.exp(FLAT), FLAT, np.zeros_like(FLAT), chunk=3),
)


@gpu.kernel
def count_all(o):
    gpu.launch(grid=(2, 3, 4), threads=(4, 2, 1))
    gpu.atomic_add(o, 0, 1)


@gpu.kernel
def ones_of_groups(o):
    gpu.launch(grid=70000, threads=1)
    o[gpu.workgroup.x] = 1.0


@gpu.kernel
def numbered(o):
    gpu.launch(grid=(2, 3), threads=(4, 2))
    x = gpu.workgroup.x * 4 + gpu.thread.x
    y = gpu.workgroup.y * 2 + gpu.thread.y
    o[x, y] = gpu.cast(x + 10 * y, "f32")


def after(kernel: Any, out: np.ndarray, *more: Any, **static: object) -> np.ndarray:
    kernel(*more, out, **static)
    return out


rows(
    T21=lambda: near(after(count_all, np.zeros(1, np.uint32)), [2 * 3 * 4 * 8]),
    # global_invocation_id is the workgroup's number times its threads, and the thread's.
    T22=lambda: near(after(numbered, np.zeros((8, 6), F)), np.arange(8)[:, None] + 10 * np.arange(6)),
    T29=lambda: near(ops.exp(D(np.ones(1 << 24, F))).numpy()[-3:], [np.e] * 3),
    T29b=lambda: near(after(ones_of_groups, np.zeros(70000, F)), np.ones(70000)),
)


@row("T24")
def a_second_launch_compiles_nothing() -> None:
    d = D(X)
    ops.exp(d)
    before = pipelines()
    ops.exp(d)
    assert pipelines() == before


@row("T25")
def elements_come_without_waiting() -> None:
    pending = ops.exp(D(X)).numpy_async()
    assert pending.done() in (True, False) and near(pending.result(), np.exp(X))
    gpu.default_device().wait()


@row("T26")
def to_the_host_with_the_same_strides() -> None:
    d = ops.permute(D(X), (1, 0))
    here = make_tensor(d.numpy())
    assert here.layout == d.layout and near(here, X.T)


rows(
    T27=lambda: near(D(ops.randn((8, 8), seed=5)), ops.randn((8, 8), seed=5).numpy()),
    # The bench of the document is bench/: here only that both sides give the same at each of its sizes.
    T28=lambda: [near(ops.exp(D(X[:n, :n])), ops.exp(X[:n, :n]).numpy()) for n in (16, 32, 64)],
)


@gpu.kernel
def mapped(x, y, *, op, threads):
    gpu.launch(grid=ceil_div(size(x), threads), threads=threads)
    i = gpu.workgroup.x * threads + gpu.thread
    if i < size(x):
        y[i] = op(x[i])


@row("T30")
def the_operation_is_a_parameter() -> None:
    x = abs(FLAT) + 1
    for op, wanted in ((gpu.exp, np.exp), (gpu.log, np.log), (lambda v: v * v, np.square)):
        assert near(after(mapped, np.zeros_like(x), x, op=op, threads=64), wanted(x), 1e-4)


@row("T31")
def the_workgroup_size_is_a_parameter() -> None:
    for threads in (1, 16, 256):
        assert near(after(mapped, np.zeros_like(FLAT), FLAT, op=gpu.exp, threads=threads), np.exp(FLAT))


@row("T32")
def functions_of_what_is_not_contiguous() -> None:
    turned = ops.permute(ops.reshape(D(X), (32, 128)), (1, 0))
    assert near(ops.exp(turned), np.exp(X.reshape(32, 128).T))


@row("T32b")
def contiguous_on_the_device() -> None:
    side_by_side = of_device(ops.contiguous(ops.permute(D(X), (1, 0))))
    assert side_by_side.stride == (64, 1) and near(side_by_side, X.T)


@row("T36")
def the_index_map_of_a_kernel_is_a_layout() -> None:
    inner, outer = Layout((4, 5), (1, 4)), Layout((4, 5), (5, 1))
    m = composition(inner, right_inverse(outer))
    assert [m(outer(i, j)) for i in range(4) for j in range(5)] == [inner(i, j) for i in range(4) for j in range(5)]


@row("T39")
def what_no_view_says_is_copied_on_the_device() -> None:
    d, before = D(X[:6, :4].copy()), moved_bytes()
    swizzled = ops.reshape(ops.pad(ops.permute(d, (1, 0)), [(0, 1), (0, 0)]), (30,))
    assert moved_bytes() == before and near(of_device(swizzled), np.pad(X[:6, :4].T, [(0, 1), (0, 0)]).ravel())


@row("T40")
def any_axes_are_folded() -> None:
    A = DRAWN.standard_normal((3, 4, 5)).astype(F)
    d = D(A)
    for axes in [c for r in range(4) for c in itertools.combinations(range(3), r)]:
        assert near(ops.sum(d, axes), A.sum(axes), 1e-4) and near(ops.max(d, axes), A.max(axes))


@gpu.kernel
def column_sums(x, out):
    gpu.launch(grid=1, threads=64)
    column = gpu.thread
    if column >= size(out):
        return
    total = 0.0
    for i in gpu.loop(size(x, 0)):
        total += x[i, column]
    out[column] = total


@gpu.kernel
def column_sums_by_parts(x, out, *, parts, in_memory):
    gpu.launch(grid=1, threads=(size(x, 1), parts))
    held = gpu.shared("f32", (size(x, 1) * parts,))
    column, part = gpu.thread.x, gpu.thread.y
    mine = column * parts + part
    total = 0.0
    if in_memory:
        held[mine] = 0.0
        for i in gpu.loop(size(x, 0), start=part, step=parts):
            held[mine] += x[i, column]
    else:
        for i in gpu.loop(size(x, 0), start=part, step=parts):
            total += x[i, column]
        held[mine] = total
    gpu.barrier()
    if part == 0:
        whole = 0.0
        for j in gpu.unroll(parts):
            whole += held[column * parts + j]
        out[column] = whole


GRID = np.arange(1, 21, dtype=F).reshape(4, 5)
SUMS = GRID.sum(0)
rows(
    T42=lambda: on_device_and_proven(column_sums, SUMS, GRID, np.zeros(5, F)),
    T43=lambda: on_device_and_proven(column_sums_by_parts, SUMS, GRID, np.zeros(5, F), parts=2, in_memory=False),
    T43b=lambda: on_device_and_proven(column_sums_by_parts, SUMS, GRID, np.zeros(5, F), parts=2, in_memory=True),
)


@row("T44")
def a_sum_of_all() -> None:
    A = DRAWN.standard_normal((512, 512)).astype(F)
    assert near(ops.sum(D(A), (0, 1)), A.astype(np.float64).sum(), 0.1)


@gpu.kernel
def greatest_so_far(x, y):
    gpu.launch(threads=8)
    y[gpu.thread] = gpu.workgroup_scan(x[gpu.thread], lambda a, b: gpu.maximum(a, b))


@row("T45b")
def prefixes_by_any_associative_operator() -> None:
    x = np.int32([3, 1, 7, 0, 4, 1, 6, 3])
    assert near(after(greatest_so_far, np.zeros(8, np.int32), x), np.maximum.accumulate(x))


@gpu.kernel
def sum_of_workgroup(x, y):
    gpu.launch(threads=64)
    total = gpu.workgroup_reduce(x[gpu.thread])
    if gpu.thread == 0:
        y[0] = total


@gpu.kernel
def multiply_add(a, b, c):
    gpu.launch(threads=64)
    i = gpu.thread
    c[i] = gpu.fma(a[i], b[i], c[i])


rows(
    T46=lambda: near(after(sum_of_workgroup, np.zeros(1, F), np.arange(64, dtype=F)), [2016]),
    T49=lambda: near("fma(" in multiply_add.wgsl(FLAT[:64], FLAT[:64], np.zeros(64, F)), True),
    T48=lambda: refused(lambda: gpu.empty((1 << 15, 1 << 16)), "buffer"),
    T57=lambda: refused(
        lambda: ops.mul(D(np.ones((1 << 13, 1, 1 << 7), F)), D(np.ones((1, 1 << 13, 1 << 7), F))), "buffer"
    ),
)


@row("T47")
def products_summed_without_being_stored() -> None:
    left, right = ops.reshape(D(X), (64, 1, 64)), ops.reshape(ops.permute(D(X), (1, 0)), (1, 64, 64))
    assert near(ops.fused_multiply_add(left, right, (2,)), X @ X, 1e-3)


@row("T50")
def one_program_for_host_and_device() -> None:
    def net(x: Any, w: Any) -> Tensor:
        return ops.softmax(ops.maximum(ops.matmul(x, w), 0), 1)

    assert near(net(D(X), D(X)), net(X, X).numpy(), 1e-4)


rows(
    T56=lambda: near("(64,64)" in exp_each.wgsl(X, X) or "4096" in gpu.pointwise("exp(a)").wgsl(X), True),
    T62=lambda: near(ops.max(D(F([1, np.nan, np.inf]))), np.nan) and near(ops.min(D(F([1, -np.inf]))), -np.inf),
    T63=lambda: near(ops.exp(D(np.zeros((0, 3), F))), np.zeros((0, 3))) and near(ops.exp(D(np.zeros((), F))), 1),
    T65=lambda: near(ops.exp(X.astype(np.float64)), np.exp(X.astype(np.float64)), 1e-13),
)


@gpu.kernel
def beyond(x, y):
    gpu.launch(grid=2, threads=64)
    y[gpu.workgroup.x * 64 + gpu.thread] = x[gpu.workgroup.x * 64 + gpu.thread]


@gpu.kernel
def one_place_twice(x, y):
    gpu.launch(grid=2, threads=64)
    y[gpu.thread] = x[gpu.thread]


rows(
    T58=lambda: near("element 100" in str(beyond.verify(F([0] * 100), F([0] * 100)).refuted[0]), True),
    T59=lambda: near("two invocations" in str(one_place_twice.verify(FLAT[:64], FLAT[:64].copy()).refuted[0]), True),
    T60=lambda: near("exp" in str(gpu.pointwise("exp(a)").wgsl(X, dialect="tint")) and callable(gpu.export), True),
)


@gpu.kernel
def by_strides_in_memory(x, shapes, y, *, axes):
    """Sizes and strides are data: `shapes` holds the sizes, then the strides of x, then those of y."""
    gpu.launch(grid=ceil_div(size(y), 64), threads=64)
    e = gpu.cast(gpu.workgroup.x * 64 + gpu.thread, "u32")
    if e >= size(y):
        return
    at = gpu.constant(0, "u32")
    for d in gpu.unroll(axes):
        at += (e // gpu.maximum(shapes[2 * axes + d], 1) % gpu.maximum(shapes[d], 1)) * shapes[axes + d]
    y[e] = gpu.exp(x[gpu.minimum(at, size(x) - 1)])


rows(
    T66=lambda: on_device_and_proven(
        by_strides_in_memory, np.exp(GRID.T.ravel()), GRID.ravel(), np.uint32([5, 4, 1, 5, 4, 1]), np.zeros(20, F),
        axes=2,
    ),
)  # fmt: skip


def few_pipelines(call: Callable[[Tensor], object], *, most: int = 3) -> None:
    """Sizes are numbers of a launch: many of them share their pipelines."""
    before = pipelines()
    for n in range(100, 120):
        call(D(X[:n, :50].copy()))
    assert pipelines() - before <= most


rows(
    T67=lambda: few_pipelines(ops.exp),
    J20=lambda: few_pipelines(lambda x: ops.sum(x, 1)),
    C14c=lambda: few_pipelines(lambda x: exp_each(x, gpu.empty(x.shape))),
)


# CuTe, "Tensors".


def pointer(name: str = "A") -> Any:
    return make_gmem_ptr(COUNT, name=name)


def text(t: object) -> str:
    return repr(t)


@row("C01")
def data_is_the_engine() -> None:
    t = make_tensor(COUNT, (4, 8))
    assert make_tensor(t, Layout((4, 8), (8, 1))).engine is t.engine and t.offset == 0


rows(
    C02=lambda: near((make_tensor(COUNT, (4, 8)).size, size(make_tensor(COUNT, (4, 8)))), (32, 32)),
    C05=lambda: near((make_tensor(COUNT, 8).dtype is f32, make_tensor(COUNT, 8).engine.load(3)), (True, 3)),
    C06=lambda: near(make_counting_tensor(Layout((4, 8)), start=42)[1, 2], 51),
)


@row("C03")
def access_by_brackets_and_calls() -> None:
    t = make_tensor(COUNT, (4, 8))
    assert t[(1, 2)] == t((1, 2)) == t(1, 2) == t[1, 2] == 9


NESTED = ((2, 2), 8), ((1, 2), 4)


@row("C04")
def rank_depth_shape_size_by_mode() -> None:
    t = make_tensor(COUNT, *NESTED)
    assert (rank(t), rank(t, 0), depth(t), depth(t, 0), shape(t, 0), shape(t, 0, 1), size(t, 0, 1)) == (
        2, 2, 2, 1, (2, 2), 2, 2,
    )  # fmt: skip


rows(
    C04b=lambda: near(make_tensor(COUNT, *NESTED).layout[0] == Layout((2, 2), (1, 2)), True),
    C04c=lambda: (
        near(get(make_tensor(COUNT, *NESTED), 0).numpy(), [[0, 2], [1, 3]])
        and near(make_tensor(COUNT, *NESTED).mode(0, 1), [0, 2])
    ),
)


@dataclass(frozen=True)
class Squares:
    """Elements that are computed when they are read."""

    dtype = f32
    space = ""
    name = "squares"
    writable = False

    def load(self, offsets: Any, where: Any = None) -> Any:
        return np.float32(offsets) ** 2


rows(
    C06b=lambda: near(Tensor(Squares(), Layout((4, 8)))[1, 2], 81),
    C07=lambda: near(
        [text(t).partition("[")[0] for t in (make_tensor(pointer(), 8), make_tensor(make_smem_ptr(COUNT), 8))]
        == ["gmem_ptr", "smem_ptr"],
        True,
    ),
    C07b=lambda: near(recast(make_tensor(pointer(), 8), "i32"), COUNT[:8].view(np.int32)),
    C09=lambda: near(text(make_tensor(pointer(), make_layout(8))) == "gmem_ptr[32b](A) o 8:1", True),
    C10=lambda: near(text(make_tensor(pointer(), 8)) == "gmem_ptr[32b](A) o 8:1", True),
    C11=lambda: near(make_tensor(COUNT, 8, 2)[3], 6),
    C12=lambda: near(text(make_tensor(pointer(), (8, 16))) == "gmem_ptr[32b](A) o (8,16):(1,8)", True),
    C13=lambda: near(text(make_tensor(pointer(), (8, 16), (16, 1))) == "gmem_ptr[32b](A) o (8,16):(16,1)", True),
)


@row("C08")
def tags_are_checked() -> None:
    copies = make_tiled_copy(COPY_ATOMS["SM75_U32x4_LDSM_N"], Layout((16, 2)), Layout((1, 8)))
    source, target = (make_tensor(make_gmem_ptr(np.zeros(256, np.float16)), (16, 16)) for _turn in "ab")
    assert source.size == target.size
    refused(lambda: copies.partition_S(source, 0), "reads smem")


n = sympy.Symbol("n", integer=True, positive=True)


@row("C14")
def sizes_are_known_or_not() -> None:
    assert str(Layout((8, n))) == "(8,n):(1,8)" and str(Layout((8, 16))) == "(8,16):(1,8)"
    assert Layout((8, n)).subs({n: 16}) == Layout((8, 16))


@gpu.kernel(sizes={"x": "(8,n)", "y": "(8,n)"})
def doubled(x, y):
    gpu.launch(grid=ceil_div(size(x), 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < size(x):
        y[i] = 2 * x[i]


@row("C14b")
def a_tensor_of_unknown_size() -> None:
    """In a kernel a mode has a size that only the launch knows, and its proof holds for all of them."""
    for columns in (3, 16, 40):
        x = X[:8, :columns].copy()
        assert near(after(doubled, np.zeros_like(x), x), 2 * x)


rows(
    C15=lambda: near(
        [text(make_tensor(make_smem_ptr(np.zeros(32, F), name="s"), *how)) for how in (
            [make_layout((4, 8))], [(4, 8), LayoutRight])]
        == ["smem_ptr[32b](s) o (4,8):(1,4)", "smem_ptr[32b](s) o (4,8):(8,1)"],
        True,
    ),
    C16=lambda: near(text(make_tensor(COUNT, 8)) == "ptr[32b] o 8:1", True),
    C16b=lambda: near(text(make_tensor(COUNT, make_layout(8))).endswith(" o 8:1"), True),
    C17=lambda: near(make_tensor("f32", (4, 8)).stride, (1, 4)),
    C18=lambda: near(make_tensor("f32", (4, 8), LayoutRight).stride, (8, 1)),
    C19=lambda: near(cosize(make_tensor("f32", (4, 8), (2, 32)).layout), 231),
    C20=lambda: near(make_tensor_like(make_tensor("f32", (4, 8), (2, 32))).stride, (1, 4)),
    C20b=lambda: near(make_tensor_like(make_tensor("f32", (4, 8), (64, 1))).stride, (8, 1)),
    C20c=lambda: refused(lambda: make_tensor("f32", (4, n)), "known"),
)  # fmt: skip


@row("C20d")
def a_deep_copy_owns_its_memory() -> None:
    t = make_tensor("f32", (4, 8))
    own = python_copy.deepcopy(t)
    own[0, 0] = 5.0
    assert t[0, 0] == 0


@row("C21")
def filled_by_natural_coordinates() -> None:
    A = make_tensor("f32", ((4, 5), 13), ((12, 1), 64))
    for i, j, k in itertools.product(range(4), range(5), range(13)):
        A[(i, j), k] = k + 2 * i
    B = make_tensor(np.zeros(260, F), (13, 20))
    for m, k in itertools.product(range(20), range(13)):
        B[k, m] = A[m, k]
    assert near(B, np.arange(13)[:, None] + 2 * (np.arange(20) % 4))


@row("C22")
def tilers_act_on_tensors() -> None:
    t, tiler = make_tensor(COUNT, (8, 16)), (4, 8)
    for f in (composition, logical_divide, zipped_divide, tiled_divide, flat_divide):
        assert f(t, tiler).layout == f(t.layout, tiler)


rows(C23=lambda: refused(lambda: logical_product(make_tensor(COUNT, (4, 8)), 2), "outside"))


@row("C24")
def slices_of_the_document() -> None:
    A = make_tensor(np.arange(300), ((3, 2), (2, 5, 2)), ((4, 1), (2, 13, 100)))
    found = [str(s.layout) for s in (A(2, _), A(_, 5), A((_, _), 5), A((2, _), (_, 3, _)))]
    assert found[:3] == ["((2,5,2)):((2,13,100))", "((3,2)):((4,1))", "(3,2):(4,1)"]
    kept, offset = slice_and_offset(((2, _), (_, 3, _)), A.layout)
    assert found[3] == str(kept) and A((2, _), (_, 3, _)).offset == offset


@row("C24b")
def as_many_modes_as_are_kept() -> None:
    A = Layout(((3, 2), (2, 5, 2)), ((4, 1), (2, 13, 100)))
    t = make_tensor(np.arange(300), A)
    assert [rank(s) for s in (t(2, _), t((2, _), _), t((_, _), (_, 3, _)))] == [1, 2, 4]
    assert "<svg" in draw(A, highlight=(2, _)).svg()


def tiles(shape: tuple[int, int] = (8, 24), tiler: Any = (4, 8)) -> tuple[Tensor, Tensor]:
    A = make_tensor(COUNT, shape)
    return A, zipped_divide(A, tiler)


@row("C26")
def inner_partition_by_hand() -> None:
    A, t = tiles()
    assert near(t((_, _), (1, 2)), A.numpy()[4:8, 16:24])


@row("C28")
def outer_partition_by_hand() -> None:
    A, t = tiles()
    assert near(t(5, (_, _)), A.numpy()[1::4, 1::8]) and near(t(5, (_, _)), outer_partition(A, (4, 8), (1, 1)).numpy())


rows(
    C25=lambda: near(tiles()[1].shape == ((4, 8), (2, 3)), True),
    C27=lambda: near(
        inner_partition(tiles()[0], (4, 8), (1, 2)), local_tile(tiles()[0], (4, 8), (1, 2)).numpy()
    ),
    C29=lambda: near(local_partition(tiles()[0], Layout((4, 8), (8, 1)), 9), tiles()[0].numpy()[1::4, 1::8])
    and near(local_partition(tiles()[0], Layout((4, 8)), 9), tiles()[0].numpy()[1::4, 2::8]),
)  # fmt: skip
TV = Layout(((2, 4), (2, 2)), ((8, 1), (4, 16)))


@row("C30")
def by_threads_and_values() -> None:
    A = make_tensor(np.arange(32, dtype=F), (4, 8), LayoutRight)
    mine = composition(A, TV)(3, _)
    # Thread 3 = (1,1): element 8 + 1 of the tile in colexicographic order, and what its values add.
    assert near(sorted(mine.numpy().ravel()), sorted(A.numpy().ravel("F")[[9, 13, 25, 29]]))


rows(C31=lambda: near(all(f"T{t} V{v}" in draw(TV, over=(4, 8)).text() for t in range(8) for v in range(4)), True))


def sum_by_copies(g: Tensor, count: int) -> float:
    r, total = make_tensor_like(g(_, 0)), 0.0
    for j in range(count):
        copy(g(_, j), r)
        total += float(r.numpy().sum())
    return total


rows(
    C32=lambda: near(sum_by_copies(make_tensor(COUNT, (8, 16)), 16), COUNT[:128].sum()),
    C34=lambda: near(sum_by_copies(tiles((24, 16), (8, 4))[1], 12), COUNT.sum()),
    C34b=lambda: near(sum_by_copies(tiles((24, 16), (Layout(8, 3), Layout(4, 2)))[1], 12), COUNT.sum()),
    C35=lambda: near(tiles((24, 16), (8, 4))[1](_, 5).numpy().ravel("F"),
                     tiles((24, 16))[0].numpy()[16:24, 4:8].ravel("F")),
    C36=lambda: near(all(f" {i} " in draw(make_tensor(COUNT, (4, 8))).text() for i in range(32)), True),
    C33=lambda: near((rank(make_tensor(COUNT, (8, 16))), type(shape(make_tensor(COUNT, (8, 16)), 0)) is int), (2, 1)),
)  # fmt: skip


@gpu.kernel
def sums_in_registers(x, y):
    gpu.launch(threads=16)
    r = make_fragment_like(x(_, 0))
    copy(x(_, gpu.thread), r)
    y[gpu.thread] = reduce(r, 0.0, lambda a, b: a + b)


@gpu.kernel
def sums_by_a_copy_loop(x, y):
    gpu.launch(threads=1)
    r, total = make_tensor_like(x(_, 0)), 0.0
    for j in gpu.loop(size(x, 1)):
        copy(x(_, j), r)
        total += reduce(r, 0.0, lambda a, b: a + b)
    y[0] = total


TALL = X[:8, :16].copy()
rows(
    C32b=lambda: on_device_and_proven(sums_in_registers, TALL.sum(0), TALL, np.zeros(16, F)),
    C32c=lambda: on_device_and_proven(sums_by_a_copy_loop, [TALL.sum(dtype=np.float64)], TALL, np.zeros(1, F)),
)


# TensorFlow.js, matrix products in WebGPU.


def product(*sizes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return tuple(DRAWN.standard_normal(s).astype(F) for s in sizes)


def product_is(f: Callable[..., Tensor], wanted: Callable[..., np.ndarray], *sizes: tuple[int, ...]) -> bool:
    arrays = product(*sizes)
    return near(of_device(f(*map(D, arrays))), wanted(*arrays), 1e-3)


def explained(m: int, n: int, k: int) -> str:
    return str(gpu.explain_matmul(D(np.ones((m, k), F)), D(np.ones((k, n), F))))


rows(
    J01=lambda: product_is(ops.dot, np.dot, (3, 2, 5), (4, 2, 5, 3)),
    J02=lambda: product_is(ops.matmul, np.matmul, (2, 1, 5, 6), (3, 6, 4)),
    J03=lambda: product_is(
        lambda a, b: ops.matmul(ops.permute(a, (1, 0)), ops.permute(b, (1, 0))), lambda a, b: a.T @ b.T, (6, 5), (4, 6)
    ),
    J05=lambda: near("row by row" in explained(1, 1, 4096), True),
    J06=lambda: near("parts" in explained(32, 32, 8192), True),
    J07=lambda: near("32x32x16" in explained(16, 16, 64), True),
    J08=lambda: near("tiles of" in explained(512, 512, 512), True),
    J17=lambda: product_is(ops.matmul, np.matmul, (7,), (7, 5)) and product_is(ops.matmul, np.matmul, (5, 7), (7,)),
    J18=lambda: (
        product_is(ops.matmul, np.matmul, (3, 0), (0, 4)) and product_is(ops.matmul, np.matmul, (0, 3, 4), (4, 4))
    ),
)


@row("J04")
def tiles_and_threads_as_a_plan() -> None:
    plan = gpu.Plan((32, 32, 32), threads=(8, 8))
    assert near(ops.matmul(D(X), D(X), plan=plan), X @ X, 1e-3)


@row("J19")
def elements_of_a_thread_are_said() -> None:
    assert near(ops.matmul(D(X), D(X), plan=gpu.Plan((32, 64, 8), threads=(8, 16))), X @ X, 1e-3)


def text_of_a_product() -> str:
    """What the command line prints of it."""
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
        path = Path(folder) / "A.npy"
        np.save(path, X)
        assert main(["matmul", str(path), str(path), "--show", "wgsl"]) == 0
    return said.getvalue()


@row("J09")
def the_text_of_a_product() -> None:
    assert "@compute" in text_of_a_product()


@row("J10")
def its_bindings() -> None:
    lines = [line for line in text_of_a_product().splitlines() if "@binding" in line]
    assert len(lines) >= 3 and sum("array<" in line for line in lines) == 3


@gpu.kernel
def not_numbers(x):
    gpu.launch(threads=1)
    x[0] = float("inf")
    x[1] = float("nan")
    x[2] = -float("inf")


rows(
    J11=lambda: near(after(not_numbers, np.zeros(3, F)), [np.inf, np.nan, -np.inf]),
    J13=lambda: refused(lambda: make_tensor(np.zeros(10, F), (4, 8)), "offset 31"),
    J14=lambda: near(Layout((3, 4, 5), LayoutRight)(1, 2, 3), 1 * 20 + 2 * 5 + 3),
)


@row("J12")
def memory_goes_with_its_tensor() -> None:
    device = gpu.default_device()
    gc.collect()
    before = device.stats.bytes
    t = D(np.zeros(1 << 20, F))
    assert device.stats.bytes - before == 1 << 22
    del t
    gc.collect()
    assert device.stats.bytes <= before


@row("J15")
def products_of_the_types_of_wgsl() -> None:
    for dtype in ("i4", "u4", "f2"):
        a = DRAWN.integers(0, 5, (20, 30)).astype(dtype)
        assert near(ops.matmul(D(a), D(a.T.copy())), a.astype(int) @ a.T.astype(int))


@row("J15b")
def products_of_bytes() -> None:
    a = DRAWN.integers(-5, 5, (20, 32)).astype("i1")
    assert near(of_device(ops.matmul(D(a), D(a.T.copy()), sums="i32")), a.astype(int) @ a.T.astype(int))


@row("J16")
def bias_and_activation_in_the_product() -> None:
    bias = DRAWN.standard_normal(64).astype(F)
    v = X @ X + bias
    for formula, wanted in {
        "max(c + bias, 0)": np.maximum(v, 0),
        "sigmoid(c + bias)": 1 / (1 + np.exp(-v)),
        "where(c + bias > 0, c + bias, 0.2 * (c + bias))": np.where(v > 0, v, 0.2 * v),
        "where(c + bias > 0, c + bias, exp(c + bias) - 1)": np.where(v > 0, v, np.expm1(v)),
    }.items():
        assert near(ops.matmul(D(X), D(X), epilogue=formula, bias=D(bias)), wanted, 1e-3)


# PyTorch, TensorIterator.

AXPY = gpu.pointwise("a + alpha * b")
H = X[:8].astype(np.float16)
rows(
    I01=lambda: near(AXPY(D(X), alpha=0.5, b=D(X)), 1.5 * X)
    and near(AXPY(D(X), alpha=0.5, b=3.0), X + 1.5)
    and near(AXPY(2.0, alpha=0.5, b=D(X)), 2 + 0.5 * X),
    I02=lambda: near(ops.mul(D(H), 0.1), (H.astype(F) * F(0.1)).astype(np.float16), 0)
    and near(ops.mul(D(H), 0.1).dtype is f16, True),
    I02b=lambda: near(gpu.pointwise("a * s / r")(D(np.float16([1, 2, 3])), 1e5, 1e5), [1, 2, 3]),
    I04=lambda: near(ops.add(D(X), F(2)), X + 2) and near(ops.add(D(X), np.array(2, F)), X + 2),
    I06=lambda: near(ops.add(D(H), D(X[:8].copy())).dtype is f32, True),
    I10b=lambda: refused(
        lambda: gpu.pointwise("a + 1")(D(X[:3]), out=ops.expand(D(X[:1]), (3, 64))), "share memory"
    ),
    I12=lambda: near("vec4" in gpu.pointwise("exp(a)").wgsl(X), True),
    I13=lambda: near(gpu.pointwise("+".join(f"x{i}" for i in range(12)))(*[D(np.full(64, i, F)) for i in range(12)]),
                     np.full(64, 66)),
    I15=lambda: near(gpu.pointwise("a * b + a")(D(X), D(X)),
                     gpu.pointwise("a * b + a")(X, X, engine="interpreter").numpy()),
    I18=lambda: near(gpu.pointwise("exp(a + b) * c")(D(X), D(X), D(X)), np.exp(2 * X) * X, 1e-3),
)  # fmt: skip


@row("I03")
def halves_are_rounded_once() -> None:
    a, b = DRAWN.standard_normal((2, 1000)).astype(np.float16)
    exact = a.astype(np.float64) + np.float64(F(0.3)) * b
    found = AXPY(D(a), alpha=0.3, b=D(b)).numpy()
    assert (np.abs(found - exact) <= np.spacing(np.abs(exact).astype(np.float16)) * 0.51).all()


@row("I05")
def a_new_number_is_no_new_pipeline() -> None:
    f, d = gpu.pointwise("a * s"), D(X)
    f(d, 1.5)
    before = pipelines()
    assert all(near(f(d, s), X * F(s)) for s in (0.25, 7.5, -3.0)) and pipelines() == before


@row("I07")
def functions_of_the_users_own() -> None:
    @gpu.pointwise
    def damped(a, b):
        return a * gpu.exp(b)

    assert near(damped(D(X), D(X.T.copy())), X * np.exp(X.T), 1e-4)


@row("I07b")
def closures_with_what_they_capture() -> None:
    alpha = 0.5
    assert near(gpu.pointwise(lambda a, b: a + alpha * b)(D(X), D(X)), 1.5 * X)


def type_of(a: str, b: Any) -> str:
    return str(ops.add(np.ones(1, a), np.ones(1, b) if isinstance(b, str) else b).dtype)


rows(
    I08=lambda: near(
        [type_of("i4", 1.5), type_of("?", "i4"), type_of("i4", "f2"), type_of("f2", "f4"), type_of("u1", "i4")]
        == ["f32", "i32", "f16", "f32", "i32"],
        True,
    ),
    I08b=lambda: refused(lambda: type_of("i1", "u1"), "convert one with astype"),
    I08c=lambda: refused(lambda: type_of("i4", "u4"), "convert one with astype"),
    I09b=lambda: near(ops.add(D(X), D(X), out=gpu.empty((64, 64))), 2 * X),
)


@row("I09")
def into_a_given_tensor() -> None:
    out = gpu.empty((64, 64))
    assert gpu.pointwise("a + b")(D(X), D(X), out=out) is out and near(out, 2 * X)


@row("I09c")
def into_another_type_of_the_same_kind() -> None:
    out = gpu.empty((64, 64), "f16")
    gpu.pointwise("a + b")(D(X), D(X), out=out)
    assert near(out, (2 * X).astype(np.float16), 1e-3)
    refused(lambda: gpu.pointwise("a + b")(D(X), D(X), out=gpu.empty((64, 64), "i32")), "astype")


@row("I10")
def partial_overlap_is_refused() -> None:
    a = make_tensor(np.zeros(100, F))
    first, second = ops.crop(a, [(0, 50)]), ops.crop(a, [(1, 51)])
    refused(lambda: gpu.pointwise("a + 1")(first, out=second, engine="interpreter"), "overlap")


@row("I10c")
def in_place() -> None:
    d = D(X)
    gpu.pointwise("a + 1")(d, out=d)
    assert near(d, X + 1)


@row("I11")
def neighbouring_axes_are_one() -> None:
    """Four axes side by side in memory are walked as one: the text is that of a vector."""
    exp = gpu.pointwise("exp(a)")
    assert exp.wgsl(np.zeros((2, 3, 4, 8), F)) == exp.wgsl(np.zeros(192, F))


rows(I13b=lambda: near(gpu.pointwise(lambda a: (a + 1, a * 2), results=2)(D(X))[1], 2 * X))


@row("I16")
def folds_of_permuted_axes() -> None:
    A = DRAWN.standard_normal((3, 4, 5, 6)).astype(F)
    assert near(ops.sum(ops.permute(D(A), (2, 0, 3, 1)), (0, 2)), A.transpose(2, 0, 3, 1).sum((0, 2)), 1e-4)


@row("I17")
def the_plan_is_told() -> None:
    lines = gpu.pointwise("a + b").wgsl(np.zeros((64, 64), np.float16), np.zeros((64, 64), F)).splitlines()
    assert any("plan tiles of" in line for line in lines[:8])


@row("I18b")
def a_chain_is_one_launch() -> None:
    d = D(X)
    with gpu.profile() as profile, gpu.fused():
        found = ops.mul(ops.exp(ops.add(d, d)), d)
        assert near(found, np.exp(2 * X) * X, 1e-4)
    assert sum(kernel.launches for kernel in profile.kernels) == 1


rows(
    I21=lambda: near(D(np.uint8([1, 2, 3])), [1, 2, 3]),
    J21=lambda: near(ops.matmul(D(X), D(X), epilogue="alpha * c", alpha=2.0), 2 * (X @ X), 1e-3),
    T13b=lambda: near(ops.ravel(D(X)), X.ravel()),
    T33=lambda: near(D(X).T, X.T) and near(ops.matrix_transpose(D(X[None])), X.T[None]),
    T51=lambda: near("19." in str(D(np.arange(20, dtype=F).reshape(4, 5))), True),
    T52=lambda: near(-(D(X) + D(X)) * 0.5 @ D(X), -X @ X, 1e-3),
    T53=lambda: near(D(X).exp().sum(0), np.exp(X).sum(0), 1e-4),
    T68=lambda: near(float(D(X).sum()), X.sum(), 1e-2),
    T55=lambda: (
        near(ops.relu(D(X)), np.maximum(X, 0))
        and near(ops.silu(D(X)), X / (1 + np.exp(-X)))
        and near(ops.softplus(D(X)), np.log1p(np.exp(X)))
        and near(ops.log_softmax(D(X)), X - np.log(np.exp(X).sum(1, keepdims=True)))
    ),
)

# What is refused, with its reason.
rows(
    J15c=lambda: refused(lambda: ops.matmul(D(X.astype("c8")), D(X.astype("c8"))), "c64"),
    I09d=lambda: refused(lambda: gpu.pointwise("a + b")(D(X), D(X), out=gpu.empty((1,))), "shape"),
    I14=lambda: refused(lambda: gpu.empty((1 << 33,), "f16"), "32-bit offsets"),
    I19=lambda: refused(lambda: ops.add(D(np.ones(3, np.int32)), np.ones(3, np.int64)), "no such element type"),
    I20=lambda: refused(lambda: ops.add(D(np.ones(8, np.uint8)), D(np.ones(8, np.uint8))), "astype"),
)


@row("T54")
def no_gradients() -> None:
    with pytest.raises(AttributeError):
        ops.grad  # noqa: B018


@row("C21b")
def assignment_by_coordinates() -> None:
    """Python assigns to brackets, and to no call."""
    t = make_tensor("f32", (13, 20))
    t[3, 4] = 5.0
    assert t(3, 4) == 5


@pytest.mark.parametrize("name", ROWS)
def test_a_capability(name: str, request: pytest.FixtureRequest) -> None:
    device_or_skip()
    if name in OPEN:
        request.applymarker(pytest.mark.xfail(reason=OPEN[name], strict=True, raises=Exception))
    ROWS[name]()


def test_every_row_is_here_and_few_are_refused() -> None:
    assert len(ROWS) == 186 and {*REFUSED, *OPEN} <= {*ROWS} and len(REFUSED) <= 8
