"""What is printed means what the IR means: expressions read back by a reader of their own, kernels by golden files."""

import random
import re
from collections.abc import Callable

import numpy as np
import pytest
from expressions import Draw, evaluate
from kernels import CASES, matmul
from wgsl_reader import read

from cutepy import gpu
from cutepy.gpu.ir import Barrier, Buffer, Kernel, Let, Store, builtin, call, cast, const, load, new_arena, select, var
from cutepy.gpu.ir.make import component
from cutepy.gpu.ir.simplify import simplify
from cutepy.gpu.lower import lower
from cutepy.gpu.targets.wgsl import WgslPrinter, print_wgsl, show, write_wgsl
from cutepy.gpu.targets.wgsl_tokens import NAGA, literal
from cutepy.layout import Layout, composition
from cutepy.tensor.dtypes import bool_, f16, f32, i32, u32


def test_printed_expressions_mean_what_the_ir_means() -> None:
    for seed in range(1000):
        with new_arena():
            draw = Draw(seed)
            for value in (draw.integer(), draw.condition(), simplify(draw.integer())):
                text = WgslPrinter(Kernel("expression", (), ()), NAGA).show(value)  # all of it, however deep
                points = list(draw.points(8))
                types = {v.name: np.int32 if v.dtype is i32 else np.int64 for v in draw.names}
                columns = {v.name: np.array([env[v] for env in points], types[v.name]) for v in draw.names}
                got = np.broadcast_to(read(text, columns), len(points))
                assert got.tolist() == [evaluate(value, env) for env in points], text


def test_the_reader_is_strict() -> None:
    for text in ("a & b | a", "a + b & a", "a << b << a", "a < b < a", "a & b + a", "a < b & b"):
        with pytest.raises(AssertionError):
            read(text, {"a": 1, "b": 2})


def random_partition(pick: random.Random) -> tuple[Layout, int, int]:
    """A layout of (thread, value) into a row- or column-major matrix, by composition with a thread-value layout."""
    m, n = pick.choice([4, 8, 12, 16]), pick.choice([4, 6, 8, 16])
    pitch = pick.choice([0, 1, 4])
    data = Layout((m, n), (n + pitch, 1)) if pick.random() < 0.5 else Layout((m, n), (1, m + pitch))
    tm = pick.choice([d for d in (1, 2, 4) if m % d == 0])
    tn = pick.choice([d for d in (1, 2) if n % d == 0])
    vm, vn = m // tm, n // tn
    if pick.random() < 0.5:
        tv = Layout(((tm, tn), (vm, vn)), ((vm, m * vn), (1, m)))
    else:
        tv = Layout(((tm, tn), (vm, vn)), ((1, m), (tm, m * tn)))
    return composition(data, tv), tm * tn, vm * vn


def test_printed_index_expressions_equal_500_partitions() -> None:
    for seed in range(500):
        with new_arena():
            layout, threads, values = random_partition(random.Random(seed))
            tid, value = var("tid", hi=threads - 1), var("v", hi=values - 1)
            plain, short = layout(tid, value), simplify(layout(tid, value))
            env = {"tid": np.arange(threads)[:, None], "v": np.arange(values)[None, :]}
            for text in (show(plain), show(short)):
                assert np.array_equal(np.broadcast_to(read(text, env), (threads, values)), layout.offsets()), text


@pytest.mark.parametrize("name", CASES)
def test_kernel_text(name: str, golden: Callable[[str, str], None]) -> None:
    with new_arena():
        golden(f"{name}.wgsl", print_wgsl(lower(CASES[name]().kernel)))


def test_precedence_is_for_readers_too() -> None:
    a, b, c = var("a"), var("b"), var("c")
    assert show(a // 4 * 16) == "(a / 4u) * 16u"
    assert show(a * 16 // 4) == "(a * 16u) / 4u"
    assert show(a * b * c) == "a * b * c"
    assert show(a - (b - c)) == "a - (b - c)"
    assert show((a + b) * c) == "(a + b) * c"
    assert show((a & 3) | (b << 2)) == "(a & 3u) | (b << 2u)"
    assert show((a < b) & ((b < c) | (a > 3))) == "a < b && (b < c || a > 3u)"
    assert show(-(var("x", f32) + 1)) == "-(x + 1.0)"
    assert show(var("x", f32) - const(-2, f32)) == "x - (-2.0)"


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1, f32, "1.0"),
        (0.1, f32, "0.1"),
        (1e30, f32, "1.0e+30"),
        (-0.0, f32, "-0.0"),
        (3.4028234663852886e38, f32, "3.4028234663852886e+38"),
        (1.17549435e-38, f32, "1.1754944e-38"),
        (2.5, f16, "2.5h"),
        (-(2**31), i32, "i32(-2147483648)"),
        (-3, i32, "-3i"),
        (True, bool_, "true"),
    ],
)
def test_literals(value: float, dtype: object, text: str) -> None:
    assert literal(value, dtype) == text


def test_reserved_names_get_a_suffix_and_others_stay() -> None:
    buffers = tuple(Buffer(name, f32, 4, writable=name == "out") for name in ("A", "target", "_", "__x", "out", "tid"))
    tid = builtin("local_invocation_index", 0, 3)
    total = load(buffers[0], tid)
    for b in (*buffers[1:4], buffers[5]):
        total = total + load(b, tid)
    text = print_wgsl(lower(Kernel("loop", buffers, (Store(buffers[4], tid, total),), workgroup=(4, 1, 1))))
    assert re.findall(r"> (\w+): array", text) == ["A", "target_1", "v_", "v__x", "out", "tid_1"]
    assert "fn loop_1(" in text and "out[tid] = A[tid] + target_1[tid]" in text


def test_dialects_differ_in_the_directive() -> None:
    y = Buffer("y", f16, 32, writable=True)
    tid = builtin("local_invocation_index", 0, 31)
    kernel = lower(Kernel("lanes", (y,), (Store(y, tid, call("subgroup_add", cast(tid, f16))),), workgroup=(32, 1, 1)))
    assert write_wgsl(kernel).needs == ("shader-f16", "subgroups")
    naga, tint = print_wgsl(kernel), print_wgsl(kernel, "tint")
    assert "enable f16;" in naga and "enable subgroups;" not in naga
    assert tint == naga.replace("enable f16;\n", "enable f16;\nenable subgroups;\n")


def test_invariant_addresses_leave_the_loop() -> None:
    text = print_wgsl(lower(matmul().kernel))
    inner = text[text.index("for (var kk") :]
    inner = inner[: inner.index("}")]
    assert "/" not in inner and "%" not in inner


def test_a_store_of_scalars_keeps_the_array_scalar() -> None:
    s, y = Buffer("s", f32, 64, space="workgroup"), Buffer("y", f32, 64, writable=True)
    tid, v = builtin("local_invocation_index", 0, 15), var("v", f32, lanes=4)
    body = (Store(s, tid, const(1, f32)), Barrier(), Let(v, load(s, tid * 4, lanes=4)), Store(y, tid * 4, v))
    text = print_wgsl(lower(Kernel("k", (y,), body, workgroup=(16, 1, 1), local=(s,))))
    assert "var<workgroup> s: array<f32, 64>" in text and "y: array<vec4<f32>>" in text


def test_a_scalar_read_of_a_vector_array_picks_a_lane() -> None:
    x, y = Buffer("x", f32, 64), Buffer("y", f32, 16, writable=True)
    tid, v = builtin("local_invocation_index", 0, 15), var("v", f32, lanes=4)
    total = load(x, tid) + load(x, tid * 4 + 1)
    body = (Let(v, load(x, tid * 4, lanes=4)), Store(y, tid, total + component(v, 2)))
    text = print_wgsl(lower(Kernel("k", (x, y), body, workgroup=(16, 1, 1))))
    assert "x[tid / 4u][tid % 4u] + x[tid].y + v.z" in text


def test_infinity_comes_from_bits() -> None:
    y = Buffer("y", f32, 1, writable=True)
    tid = builtin("local_invocation_index", 0, 3)
    value = select(tid > 1, const(float("-inf"), f32), const(float("nan"), f32))
    text = print_wgsl(lower(Kernel("k", (y,), (Store(y, const(0), value),), workgroup=(4, 1, 1))))
    assert "var infinity_bits = 2139095040u;" in text
    assert "select(bitcast<f32>(nan_bits), -bitcast<f32>(infinity_bits), tid >= 2u)" in text


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_verdicts_and_reports_have_words_for_every_number(number: float) -> None:
    @gpu.kernel
    def extreme(x, y):
        gpu.launch(threads=64)
        y[gpu.cast(gpu.maximum(x[gpu.thread], number), "u32")] = 1.0

    x = np.zeros(64, np.float32)
    assert f"max(x[tid], {number})" in str(extreme.verify(x, x.copy())) and str(extreme.report(x, x.copy()))


def test_names_are_u32_by_default() -> None:
    assert var("i").dtype is u32


def test_tanh_keeps_to_numbers_whose_sinh_and_cosh_a_device_holds() -> None:
    """Software devices divide the two, which are infinite from 89 on."""

    @gpu.kernel
    def squash(x, y):
        gpu.launch(threads=64)
        y[gpu.thread] = gpu.tanh(x[gpu.thread]) + gpu.tanh(gpu.maximum(x[gpu.thread], 3))

    x, y = np.linspace(-200, 200, 64).astype(np.float32), np.zeros(64, np.float32)
    assert squash.wgsl(x, y).count("tanh(clamp(") == 2
    squash.interpret(x, y)
    np.testing.assert_allclose(y, np.tanh(x) + np.tanh(np.maximum(x, 3)), atol=1e-6)
