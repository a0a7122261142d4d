"""CUDA C++: readable, with the same names, compiled by NVRTC where it is installed."""

import numpy as np
import nvrtc
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.ir import (
    Atomic,
    Barrier,
    Buffer,
    Const,
    Expr,
    If,
    Kernel,
    Let,
    Store,
    binary,
    builtin,
    call,
    cast,
    component,
    const,
    load,
    select,
    splat,
    unary,
    var,
)
from cutepy.gpu.lower import lower
from cutepy.gpu.targets.cuda import write_cuda
from cutepy.tensor.dtypes import f16, f32, i32, u32

needs_nvrtc = pytest.mark.skipif(bool(nvrtc.missing()), reason=f"no NVRTC: {nvrtc.missing()} not installed")
TID = builtin("local_invocation_index", 0, 63)
X, Y = Buffer("x", f32, 64), Buffer("y", f32, 64, writable=True)
I, U, H = Buffer("i", i32, 64), Buffer("u", u32, 64), Buffer("h", f16, 64)
SHARED = Buffer("s", f32, 64, space="workgroup", note="staged")


def text_of(*body: object, buffers: tuple[Buffer, ...] = (X, Y, I, U, H), **more: object) -> str:
    return write_cuda(lower(Kernel("k", buffers, body, **more))).text  # type: ignore[arg-type]


def stored(value: Expr, buffer: Buffer | None = None) -> str:
    """What is stored, as text."""
    target = buffer or Buffer("y", value.dtype, 64, writable=True, width=value.lanes)
    line = text_of(Store(target, TID, value), buffers=(target, X, I, U, H)).splitlines()[-2]
    return line.partition(" = ")[2].removesuffix(";")


@gpu.kernel
def saxpy(a, x, y):
    gpu.launch(grid=2, threads=64)
    at = gpu.workgroup.x * 64 + gpu.thread
    if at < 100:
        y[at] = a * x[at] + y[at]


def test_a_kernel_reads_as_it_was_written() -> None:
    x = np.zeros(100, np.float32)
    text = saxpy.cuda(2.0, x, x.copy())
    assert "// launch <<<dim3(2, 1, 1), dim3(64, 1, 1)>>>: 0 bytes of shared memory" in text
    assert text[text.index("struct Params") :] == (
        "struct Params {\n    float a;\n};\n\n"
        'extern "C" __global__ void __launch_bounds__(64) saxpy(const float* x, float* y, const Params params) {\n'
        "    const uint3 group = blockIdx;\n"
        "    const unsigned tid = threadIdx.x;\n"
        "    const unsigned index = group.x * 64u + tid;\n"
        "    if (index < 100u) {\n"
        "        const float x_0 = x[index];\n"
        "        const float y_0 = y[index];\n"
        "        y[index] = params.a * x_0 + y_0;\n"
        "    }\n"
        "}\n"
    )


def test_shared_memory_barriers_and_blocks_of_two_axes() -> None:
    body = Store(SHARED, TID, load(X, TID)), Barrier(), Store(Y, TID, load(SHARED, TID))
    text = text_of(*body, local=(SHARED,), workgroup=(8, 8, 1))
    assert "    __shared__ float s[64];  // staged\n" in text and "    __syncthreads();\n" in text
    assert "const unsigned tid = (threadIdx.x + 8u * (threadIdx.y + 8u * threadIdx.z));" in text
    assert "256 bytes of shared memory" in text and "__launch_bounds__(64)" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (load(I, TID) + load(I, TID + 1), "wrapping_add(i[tid], i[tid + 1u])"),
        (binary("&", load(I, TID), const(7, i32)) + 1, "(i[tid] & 7) + 1"),
        (unary("-", load(I, TID)), "wrapping_sub(0, i[tid])"),
        (binary("//", load(U, TID), load(U, TID + 1)), "quotient(u[tid], u[tid + 1u])"),
        (binary("//", load(U, TID), const(3)), "u[tid] / 3u"),
        (binary("%", load(U, TID), load(U, TID + 1)), "remainder(u[tid], u[tid + 1u])"),
        (binary("<<", load(U, TID), load(U, TID + 1)), "(u[tid] << (u[tid + 1u] & 31u))"),
        (binary("<<", load(U, TID), const(3)), "u[tid] << 3u"),
        (cast(load(X, TID), i32), "to_i32(x[tid], 4294967296.0f)"),
        (cast(load(H, TID), u32), "to_u32(h[tid], 65504.0f)"),
        (cast(load(U, TID), f32, bits=True), "bitcast<float>(u[tid])"),
        (cast(load(U, TID), f32), "float(u[tid])"),
        (call("exp", load(X, TID)), "expf(x[tid])"),
        (call("exp", load(H, TID)), "__half(expf(float(h[tid])))"),
        (call("rsqrt", load(X, TID)), "rsqrtf(x[tid])"),
        (call("count_ones", load(U, TID)), "count_ones(u[tid])"),
        (call("max", load(U, TID), const(3)), "max(u[tid], 3u)"),
        (call("max", load(X, TID), const(3.0, f32)), "fmaxf(x[tid], 3.0f)"),
        (select(TID < 3, load(X, TID), const(0.5, f32)) * 2.0, "(tid < 3u ? x[tid] : 0.5f) * 2.0f"),
        (cast(load(X, TID), f16) + 0.5, "__half(x[tid]) + __half(0.5f)"),
        (const(-(1 << 31), i32), "(-2147483647 - 1)"),
    ],
)
def test_what_c_leaves_open_is_what_the_ir_means(value: Expr, text: str) -> None:
    assert stored(value) == text


def test_vectors_have_the_operators_that_are_used() -> None:
    v = Let(var("v", f32, lanes=4), load(X, TID * 4, lanes=4))
    use = Store(Y, TID * 4, v.var * 2.0 + splat(const(1.0, f32), 4))
    text = text_of(v, use, Store(Y, const(0), splat(component(v.var, 2), 4)))
    assert text.count("struct alignas(4 * sizeof(T)) vec4") == 1
    assert text.count("operator*") == 1 and text.count("operator+") == 1 and "operator/" not in text
    assert "const vec4<float> v = x[tid];" in text and "y[tid] = v * 2.0f + vec4<float>(1.0f);" in text


def test_atomics_are_cudas_and_of_floats_loops() -> None:
    counts = Buffer("c", u32, 4, writable=True)
    old = var("old")
    update = Atomic("Add", counts, const(0), const(1), result=old)
    text = text_of(update, Store(Y, TID, cast(old, f32)), buffers=(counts, Y))
    assert "const unsigned old = atomicAdd(&c[0u], 1u);" in text
    least = text_of(Atomic("Min", Y, const(0), load(X, TID)))
    assert "atomic_float(&y[0u], [=](float x) { return fminf(x, (x" in least
    swap = Atomic("CompareExchange", counts, const(0), const(1), const(2))
    assert "atomicCAS(&c[0u], 2u, 1u);" in text_of(swap, buffers=(counts,))


def test_subgroups_are_warps_and_their_masks_who_runs() -> None:
    shuffled = call("subgroup_shuffle_xor", load(X, TID), const(1))
    inside = Store(Y, TID, call("subgroup_add", load(X, TID)))
    text = text_of(Let(a := var("a", f32), shuffled), Store(Y, TID, a), If(TID < 3, (inside,)), lanes=32)
    assert "subgroup_shuffle_xor(0xffffffffu, x[tid], 1u)" in text
    assert "subgroup_add(__activemask(), x[tid])" in text
    with pytest.raises(KernelError, match="k: CUDA C\\+\\+ has no subgroups of 64 threads: a warp has 32"):
        text_of(Store(Y, TID, shuffled), lanes=64)


def test_an_index_that_may_leave_its_array_is_kept_inside() -> None:
    kernel = lower(Kernel("k", (U, Y), (Store(Y, load(U, TID), const(1.0, f32)),)))
    assert "y[min(u[min(tid, 63u)], 63u)] = 1.0f;" in write_cuda(kernel, guarded=True).text
    assert "y[u[tid]] = 1.0f;" in write_cuda(kernel).text


def test_names_of_the_language_are_not_the_kernels() -> None:
    template = Buffer("template", f32, 64, writable=True)
    text = write_cuda(lower(Kernel("float", (template,), (Store(template, TID, const(1.0, f32)),)))).text
    assert "void __launch_bounds__(64) float_1(float* template_1)" in text


@needs_nvrtc
def test_nvrtc_refuses_what_is_wrong() -> None:
    assert "error" in nvrtc.refusal('extern "C" __global__ void k(float* y) { y[0] = z; }')


def test_literals_read_back() -> None:
    for number in (0.1, 1e-30, 3.4e38, -0.0):
        found = const(number, f32)
        assert isinstance(found, Const)
        text = stored(found).strip("()").removesuffix("f")
        assert np.float32(text) == np.float32(number)
