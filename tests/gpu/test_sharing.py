"""What is used twice is computed once, however deep and in however many statements; what is unused is not computed."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from kernels import CASES
from operation_cases import recorded

from cutepy import gpu, ops
from cutepy.errors import KernelError
from cutepy.gpu.ir import (
    Assign,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Store,
    all_nodes,
    builtin,
    const,
    load,
    var,
)
from cutepy.gpu.ir.expr import MOST_DEPTH
from cutepy.gpu.lower import lower
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.targets.wgsl import print_wgsl, show
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.gpu.verify import verify
from cutepy.layout import size
from cutepy.tensor import copy, make_fragment_like, transform
from cutepy.tensor.dtypes import f32
from cutepy.tensor.partition import local_tile


def high(a: object, b: int) -> object:
    """The upper half of the product of two u32."""
    low, up, other_low, other_up = a & 0xFFFF, a >> 16, b & 0xFFFF, b >> 16
    middle = up * other_low + (low * other_low >> 16)
    last = low * other_up + (middle & 0xFFFF)
    return up * other_up + (middle >> 16) + (last >> 16)


def philox(counter: tuple[object, ...], key: tuple[object, object], rounds: int = 10) -> tuple[object, ...]:
    """Philox-4x32 of Salmon et al. (SC 2011)."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(rounds):
        c0, c1, c2, c3 = (
            high(c2, 0xCD9E8D57) ^ c1 ^ k0,
            c2 * 0xCD9E8D57,
            high(c0, 0xD2511F53) ^ c3 ^ k1,
            c0 * 0xD2511F53,
        )
        k0, k1 = k0 + 0x9E3779B9, k1 + 0xBB67AE85
    return c0, c1, c2, c3


@gpu.kernel
def dropout(x, key, y, words):
    """The words as they are, and one of them in a float's condition."""
    gpu.launch(threads=64)
    i = gpu.thread
    found = philox((i, i * 0, i * 0, i * 0), (key[0], key[1]))
    y[i] = gpu.select(gpu.cast(found[0] >> 8, "f32") >= 8388608.0, x[i], 0.0)
    for j, word in enumerate(found):
        words[i, j] = word


def dropout_arguments() -> list[np.ndarray]:
    return [
        np.ones(64, np.float32),
        np.array([7, 9], np.uint32),
        np.zeros(64, np.float32),
        np.zeros((64, 4), np.uint32),
    ]


def test_a_generator_is_written_once_for_all_its_uses() -> None:
    text = dropout.wgsl(*dropout_arguments())
    assert 0 < text.count(f"* {0xCD9E8D57 & 0xFFFF}u") <= 10 * 2
    assert 0 < text.count(f"* {0xD2511F53 & 0xFFFF}u") <= 10 * 2


def test_a_generator_is_exact() -> None:
    arguments = dropout_arguments()
    dropout.interpret(*arguments)
    words = arguments[3]
    for row in (0, 5, 63):
        c, k = [row, 0, 0, 0], [7, 9]
        for _ in range(10):
            one, two = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
            c = [two >> 32 ^ c[1] ^ k[0], two % 2**32, one >> 32 ^ c[3] ^ k[1], one % 2**32]
            k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
        assert words[row].tolist() == c


STEPS: dict[str, Callable[[object], object]] = {
    "a float three times": lambda v: v * (1.5 - 0.5 * v * v),
    "calls": lambda v: gpu.sqrt(gpu.absolute(v)) + gpu.sin(v),
    "a choice": lambda v: gpu.select(v > 1.0, v * 0.5, v + 0.25),
    "an integer three times": lambda v: gpu.cast(mixed(gpu.cast(v * 64.0, "u32")) >> 20, "f32") * 0.001,
}


def mixed(v: object) -> object:
    v = (v ^ (v >> 7)) * (v + 12345)
    return (v + 1) * (v + 1)


@gpu.kernel
def repeated(x, y, *, step, times, how):
    """A step many times: on one number, on vectors, or from a register that a branch may have set."""
    gpu.launch(threads=16)
    t = gpu.thread

    def run(v):
        for _ in range(times):
            v = STEPS[step](v)
        return v

    if how == "vectors":
        source, target = (local_tile(array, (4,), (t,)) for array in (x, y))
        held = make_fragment_like(source)
        copy(source, held)
        transform(held, target, op=run)
        return
    held = make_fragment_like(local_tile(x, (1,), (0,)))
    held[0] = x[t]
    with gpu.when(x[t] > 0.75):
        held[0] = x[t] + 0.125
    y[t] = run(held[0] if how == "a register" else x[t])


@pytest.mark.parametrize("how", ["one number", "vectors", "a register"])
@pytest.mark.parametrize("step", STEPS)
def test_the_text_grows_with_the_distinct_expressions(step: str, how: str) -> None:
    x, y = np.linspace(0.5, 1.2, 64).astype(np.float32), np.zeros(64, np.float32)
    short, long = (len(repeated.wgsl(x, y, step=step, times=n, how=how)) for n in (40, 160))
    assert long < 6 * short
    repeated.interpret(x, y, step=step, times=40, how=how)
    assert np.isfinite(y).all()
    assert repeated.verify(x, y, step=step, times=40, how=how).ok


@pytest.mark.parametrize("step", STEPS)
def test_a_chain_of_thousands_of_operations_is_traced_and_run(step: str) -> None:
    x, y = np.linspace(0.5, 1.2, 64).astype(np.float32), np.zeros(64, np.float32)
    arguments = {"step": step, "times": 600, "how": "one number"}
    kernel = repeated.ir(x, y, **arguments)
    assert max(node.depth for node in all_nodes(kernel.body)) <= MOST_DEPTH + 2
    repeated.interpret(x, y, **arguments)
    assert len(repeated.wgsl(x, y, **arguments)) > 600 * 10


def test_an_index_from_a_long_chain_is_guarded_and_traced() -> None:
    @gpu.kernel
    def scatter(x, y):
        gpu.launch(threads=64)
        at = x[gpu.thread]
        for _ in range(100):
            at = mixed(at)
        y[at % size(y)] = 1.0

    x, y = np.arange(64, dtype=np.uint32), np.zeros(256, np.float32)
    scatter.interpret(x, y)
    assert 1 < y.sum() <= 64
    found = {v.claim: v for v in scatter.verify(x, y).verdicts if v.array in ("y", "")}
    assert found["in bounds"].status == "proven" and found["no races"].status != "proven"
    assert len(str(found)) < 20_000


def test_the_bound_of_a_loop_is_computed_once_before_it() -> None:
    @gpu.kernel
    def spinning(x, y):
        gpu.launch(threads=16)
        held = make_fragment_like(local_tile(x, (1,), (0,)))
        held[0] = x[gpu.thread]
        with gpu.when(x[gpu.thread] > 3):
            held[0] = x[gpu.thread] + 1
        end = held[0]
        for _ in range(20):
            end = mixed(end)
        for k in gpu.loop(end & 7):
            y[gpu.thread] = y[gpu.thread] + k + 1

    x, y = np.arange(16, dtype=np.uint32), np.zeros(16, np.uint32)
    spinning.interpret(x, y)
    ends = x + (x > 3)
    for _ in range(20):
        ends = mixed(ends)
    ends = ends & np.uint32(7)
    assert y.tolist() == (ends * (ends + 1) // 2).tolist()
    assert spinning.wgsl(x, y).count("* (") <= 2 * 20


def test_a_message_shows_the_beginning_of_a_long_expression() -> None:
    value: Expr = var("v")
    for _ in range(50):
        value = value * value + (value ^ 3)
    assert "..." in show(value) and len(show(value)) < 20_000


def kernel_of(*body: object) -> Kernel:
    return Kernel("direct", (X, Y), tuple(body), workgroup=(4, 1, 1))


X, Y = Buffer("x", f32, 4), Buffer("y", f32, 4, writable=True)
TID = builtin("local_invocation_index", 0, 3)


def test_a_value_of_a_changing_name_is_shared_within_a_statement_only() -> None:
    a, twice = var("a", f32), var("twice", f32)
    double = a * a * a
    body = (
        Declare(a, load(X, TID)),
        Store(Y, TID, double + double * double),
        Assign(a, double + double * double),
        Let(twice, a + 1),
        Store(Y, TID, double + double * double + twice),
    )
    text = print_wgsl(lower(kernel_of(*body)))
    assert text.count("a * a * a") == 3
    x, y = np.array([1, 2, 0.5, -1], np.float32), np.zeros(4, np.float32)
    want = x**3 + x**6
    want = want**3 + want**6 + want + 1
    for kernel in (kernel_of(*body), lower(kernel_of(*body))):
        interpret(kernel, [x, y])
        np.testing.assert_allclose(y, want, rtol=1e-6)


@pytest.mark.parametrize("read", [verify, lower, lambda kernel: interpret(kernel, [np.zeros(4, np.float32)] * 2)])
def test_a_name_outside_its_block_is_refused_alike(read: Callable[[Kernel], object]) -> None:
    k, v = var("k", hi=3), var("v", f32)
    use = Store(Y, k, const(1, f32), "kernel.py:7")
    for body in (
        (For(k, const(0), const(4), const(1), (Store(Y, k, const(1, f32)),)), use),
        (If(TID < 2, (Let(k, TID),), (use,)),),
        (use, Let(k, TID)),
        (Assign(v, const(1, f32)), use),
    ):
        with pytest.raises(KernelError, match=r"kernel direct uses [kv] where nothing binds it"):
            read(kernel_of(*body))


def test_what_simplifying_leaves_unused_is_gone() -> None:
    @gpu.kernel
    def same(x):
        gpu.launch(threads=64)
        held = make_fragment_like(local_tile(x, (1,), (0,)))
        v = held[0]
        x[gpu.thread] = v - v + (v & 7) // 8 + 7
        held[0] = x[gpu.thread]
        x[gpu.thread] = held[0]

    x = np.ones(64, np.uint32)
    same.interpret(x)
    assert x.tolist() == [7] * 64 and same.verify(x).ok
    assert "v" not in same.wgsl(x).partition("fn same")[2].split()


def test_the_old_value_of_an_atomic_is_a_name_like_others() -> None:
    @gpu.kernel
    def tickets(u, y):
        gpu.launch(threads=32)
        at = gpu.atomic_add(u, 0, 1)
        y[at % 32] = y[at % 32 + 32] + at

    u, y = np.zeros(1, np.uint32), np.zeros(64, np.uint32)
    tickets.interpret(u, y)
    assert y[:32].tolist() == list(range(32))
    assert tickets.wgsl(u, y).count("% 32u") == 1


def test_the_old_value_at_a_guarded_element_is_0_where_it_does_not_happen() -> None:
    @gpu.kernel
    def edge(counts, y):
        gpu.launch(threads=64)
        tile = local_tile(counts, (64,), (0,))
        y[gpu.thread] = gpu.atomic_add(tile, gpu.thread, 1)

    @gpu.kernel
    def unused(counts):
        gpu.launch(threads=64)
        gpu.atomic_add(local_tile(counts, (64,), (0,)), gpu.thread, 1)

    counts, y = np.full(40, 5, np.uint32), np.ones(64, np.uint32)
    edge.interpret(counts, y)
    assert y.tolist() == [5] * 40 + [0] * 24 and counts.tolist() == [6] * 40
    assert edge.verify(counts, y).ok and "var old" in edge.wgsl(counts, y)
    assert "old" not in unused.wgsl(counts)


@pytest.mark.parametrize("space", ["registers", "shared memory"])
def test_a_constant_index_beyond_an_array_is_refused_at_its_line(space: str) -> None:
    @gpu.kernel
    def beyond(x, *, space):
        gpu.launch(threads=64)
        tile = local_tile(x, (4,), (0,))
        held = make_fragment_like(tile) if space == "registers" else gpu.shared(x, 4, name="fragment")
        held[gpu.thread // 64 + 4] = 1.0
        x[gpu.thread] = held[0]

    for ask in (beyond.wgsl, beyond.verify, beyond.interpret):
        with pytest.raises(KernelError, match=r"test_sharing.py:\d+: kernel beyond uses element 4 of fragment"):
            ask(np.zeros(64, np.float32), space=space)


def test_loops_of_threads_that_take_no_part_end() -> None:
    @gpu.kernel
    def stepping(y):
        gpu.launch(threads=8)
        with gpu.when(gpu.thread > 0):
            for k in gpu.loop(10, step=gpu.thread):
                y[gpu.thread] = k

    @gpu.kernel
    def triangle(y):
        gpu.launch(grid=5, threads=1)
        w = gpu.workgroup.x
        for i in gpu.loop(w + 1):
            for _ in gpu.loop(w - i):
                y[w] = y[w] + 1

    y = np.zeros(8, np.uint32)
    stepping.interpret(y)
    assert y.tolist() == [0] + [9 // t * t for t in range(1, 8)]
    y = np.zeros(5, np.uint32)
    triangle.interpret(y)
    assert y.tolist() == [w * (w + 1) // 2 for w in range(5)]


def test_a_kernel_is_lowered_once_and_forgotten_with_it() -> None:
    gc.freeze()  # what other tests left need not be looked at
    kernel = CASES["matmul"]().kernel
    ready = lower(kernel)
    assert lower(kernel) is ready  # what is printed is what is proven
    assert lower(replace(kernel)) is not ready
    known = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert known() is None


def test_no_trace_holds_what_it_was_traced_over() -> None:
    """Nor does one for all sizes that met conditions which nothing decides, as the tiles of a product do."""
    a, b = np.ones((40, 40), np.float32), np.ones((40, 40), np.float32)
    with recorded() as runs:
        ops.matmul(a, b, engine="interpreter")
    known, arguments, static = runs[0].kernel, runs[0].arguments, runs[0].static
    kernel = KernelFunction(known.function, known.given, known._said)  # one that has traced nothing yet
    assert kernel.ir(*arguments, **static).sizes is not None
    gone = weakref.ref(a), weakref.ref(b)
    runs.clear()
    del a, b, arguments
    gc.collect()
    assert all(ref() is None for ref in gone)


def test_a_trace_leaves_nothing_to_collect() -> None:
    x = np.ones(256, np.float32)
    y = np.zeros(256, np.float32)
    repeated.interpret(x[:64], y[:64], step="calls", times=2, how="a register")
    gc.freeze()
    gc.disable()
    try:
        repeated.wgsl(x, y, step="calls", times=2, how="a register")
        repeated.interpret(x, y, step="calls", times=2, how="vectors")
        assert gc.collect() == 0
    finally:
        gc.enable()
