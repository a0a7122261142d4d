"""What a kernel for all sizes must be right about, or refuse with the numbers: each by its name, and a planted fault in
each check of the host."""

# ruff: noqa: F821  sizes in annotations are names of the kernel's own

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from size_kernels import CASES, SizeCase, flat, some

from cutepy import gpu
from cutepy.errors import CutepyError, KernelError, VerificationError
from cutepy.gpu.runtime.program import LaunchPlan
from cutepy.gpu.trace import kernel as kernel_module
from cutepy.gpu.trace import unknown_sizes
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.layout import Layout, ceil_div
from cutepy.tensor import Tensor, local_tile, make_tensor


def right(case: SizeCase, *sizes: int) -> str:
    """Whether it is traced for all sizes and right by NumPy; "" or why it is traced for these."""
    arrays = case.arrays(*sizes)
    wanted = case.wanted(*[array.copy() for array in arrays])
    case.kernel.interpret(*case.numbers, *arrays, check=True)
    assert np.allclose(arrays[-1], wanted, atol=1e-3), sizes
    return case.kernel.size_reason


def test_a_divisibility_had_by_accident() -> None:
    """The first call is of sizes that all of 2, 4, 16 and 64 divide; no later one is."""
    for name in ("axpy", "rows_in_vectors", "product", "transposed"):
        case = CASES[name]
        for sizes in ((64, 128, 64), (64, 127, 63), (63, 128, 64), (1, 1, 1), (65, 129, 66)):
            assert right(case, *sizes[: case.unknowns]) == ""


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 31, 33])
def test_a_ragged_last_tile_with_a_barrier(rows: int) -> None:
    for name in ("product", "transposed", "softmax"):
        case = CASES[name]
        for other in (1, 16, 17, 47):
            assert right(case, *(rows, other, 9)[: case.unknowns]) == ""


def test_a_barrier_that_a_ragged_tile_skips_is_refused() -> None:
    @gpu.kernel
    def skips(x: "(n)", y: "(n)") -> None:
        gpu.launch(grid=ceil_div(x.shape[0], 32), threads=32)
        tile = gpu.shared("f32", 32)
        i = gpu.workgroup.x * 32 + gpu.thread
        if i < x.shape[0]:
            tile[gpu.thread] = x[i]
            gpu.barrier()
            y[i] = tile[31 - gpu.thread]

    with pytest.raises(KernelError, match=r"gpu\.barrier inside the condition at .* may decide differently"):
        skips.verify(some(40), some(40))


def values(**shapes: tuple[int, ...]) -> dict[str, int]:
    return {f"{a}.shape[{i}]": n for a, shape in shapes.items() for i, n in enumerate(shape)}


def plan_of(kernel: KernelFunction, *arrays: object) -> LaunchPlan:
    plan = kernel.at(*arrays).traced.plan
    assert plan is not None
    return plan


def test_sizes_and_products_about_2_to_the_31_and_32() -> None:
    @gpu.kernel
    def doubled(x: "(n)", y: "(m)") -> None:
        n = x.shape[0]
        gpu.launch(grid=1, threads=1)
        if 2 * n > y.shape[0]:
            y[0] = x[0]

    plan = plan_of(flat, some(7, 9), some(7, 9))
    for m, n in ((1, (1 << 31) - 1), (46340, 46340)):
        assert plan.broken(values(x=(m, n), y=(m, n))) is None
    for m, n in ((2, 1 << 30), (65536, 32768), (65536, 65536), (65536, 65537), ((1 << 31) - 1, 3)):
        assert plan.broken(values(x=(m, n), y=(m, n))) == ("M*N <= 2147483647", False)
    plan = plan_of(doubled, some(9), some(7))
    assert plan.broken(values(x=((1 << 30) - 1,), y=(1,))) is None
    assert plan.broken(values(x=(1 << 30,), y=(1,))) == ("2*n <= 2147483647", False)
    call = CASES["scale"].kernel._bind((2.0, some(5), some(5)), {})
    long = replace(call.arguments[1], tensor=Tensor(make_tensor(some(5)).engine, Layout(1 << 31)), length=1 << 32)
    told = unknown_sizes.of_sizes(replace(call, arguments=(call.arguments[0], long)), CASES["scale"].kernel._specs, ())
    assert told == "x has 2147483648 elements along a mode, more than 2147418112"


@pytest.mark.parametrize("given, sizes, told", [
    (["64 divides n"], 100, "'64 divides n' was stated; n = 100"),
    (["n <= 64"], 65, "'n <= 64' was stated; n = 65"),
])  # fmt: skip
def test_a_fact_broken_after_1000_good_calls(given: list[str], sizes: int, told: str) -> None:
    @gpu.kernel(given=given)
    def doubled(x: "(n)", y: "(n)") -> None:
        gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        if i < x.shape[0]:
            y[i] = 2 * x[i]

    x, y = some(64), np.zeros(64, np.float32)
    for _call in range(1000):
        doubled.interpret(x, y)
    assert doubled.size_reason == "" and (y == 2 * x).all()
    with pytest.raises(KernelError, match=told):
        doubled.interpret(some(sizes), np.zeros(sizes, np.float32))


# A planted fault in each check of the host: with the check taken out, a call that it stops goes through, and is wrong.


@gpu.kernel
def copied(x: "(M,N)", y: "(M,N)") -> None:
    M, N = x.shape
    gpu.launch(grid=M, threads=4)
    for j in gpu.loop(N, start=gpu.thread, step=4):
        y[gpu.workgroup.x, j] = x[gpu.workgroup.x, j]


@gpu.kernel
def to_known(x: "(M,N)", y: Tensor) -> None:
    M, N = x.shape
    gpu.launch(grid=M, threads=4)
    for j in gpu.loop(N, start=gpu.thread, step=4):
        y[gpu.workgroup.x, j] = x[gpu.workgroup.x, j]


@gpu.kernel
def to_another(x: "(n)", y: "(m)") -> None:
    gpu.launch(grid=x.shape[0], threads=1)
    y[gpu.workgroup.x] = x[gpu.workgroup.x]


def over_one_memory() -> tuple[object, ...]:
    memory = make_tensor(some(6, 6))
    return memory, Tensor(memory.engine, Layout((6, 6), (1, 6)))


def met_elements() -> tuple[object, ...]:
    return some(6, 8), Tensor(make_tensor(some(48)).engine, Layout((6, 8), (0, 1)))


def nothing() -> tuple[object, ...]:
    return np.zeros((3, 0), np.float32), np.zeros((3, 0), np.float32)


CHECKS: dict[str, tuple[KernelFunction, Callable[[], tuple[object, ...]], object, str, object]] = {
    "written elements meet": (copied, met_elements, kernel_module, "tells_apart", lambda layout: True),
    "one memory, two layouts": (copied, over_one_memory, unknown_sizes, "_views", lambda call, specs: []),
    "one memory that is written": (copied, over_one_memory, kernel_module, "written_view", lambda call, slots: ""),
    "one memory, annotated once": (to_known, over_one_memory, unknown_sizes, "_unsuited", lambda call, specs: ""),
    "conditions of the proof": (to_another, lambda: (some(9), some(5)), LaunchPlan, "broken", lambda plan, found: None),
}


@pytest.mark.parametrize("check", CHECKS)
def test_a_planted_fault_in_a_check_of_the_host_is_noticed(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, arguments, owner, name, without = CHECKS[check]

    def wrong() -> bool:
        """Whether it would be launched for all sizes though that is wrong."""
        kernel = gpu.kernel(chosen.function)  # one that has no form yet, and has refused none
        try:
            kernel.program(*arguments())  # the interpreter, which looks at each access, asks for no proof
        except (VerificationError, KernelError):
            pass
        return kernel.size_reason == ""

    assert not wrong()  # the check stops it
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, without)
        assert wrong()
    assert not wrong()


def test_no_elements_go_their_own_way_or_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    copied.interpret(*nothing())
    assert copied.size_reason == "x has no elements"
    monkeypatch.setattr(unknown_sizes, "_unsuited", lambda call, specs: "")
    copied.interpret(*nothing())
    assert copied.size_reason != "x has no elements"


# Bad input: one error that names the call, the sizes and the fact.


def test_bad_sizes_of_at() -> None:
    with pytest.raises(KernelError, match=r"^copied\.at\(M=3\): give each size of the annotations a number: N$"):
        copied.at(M=3)
    with pytest.raises(KernelError, match=r"^copied\.at\(M=3, N=0\): sizes are 1 or more"):
        copied.at(M=3, N=0)
    with pytest.raises(KernelError, match=r"its grid is \(70000, 1, 1\) where M = 70000, N = 1, and the form"):
        copied.at(M=70000, N=1)


def test_what_needs_a_number_names_the_call_and_the_size() -> None:
    @gpu.kernel
    def shares(x: "(n)", y: "(n)") -> None:
        gpu.launch(threads=32)
        tile = gpu.shared("f32", (4, x.shape[0]))
        y[gpu.thread] = tile[0, 0]

    @gpu.kernel
    def unrolls(x: "(n)", y: "(n)") -> None:
        gpu.launch(threads=1)
        for i in gpu.unroll(x.shape[0]):
            y[i] = x[i]

    with pytest.raises(KernelError, match=r"gpu\.shared\(\.\.\., \(4, n\)\): the size n is known only at the launch"):
        shares.at(n=64)
    with pytest.raises(KernelError, match=r"gpu\.unroll\(n\): it needs numbers known now"):
        unrolls.at(n=64)


def test_coordinates_of_two_types_are_refused_in_words_of_the_call() -> None:
    @gpu.kernel
    def mixed(x: Tensor, y: Tensor) -> None:
        gpu.launch(threads=8)
        i = gpu.cast(gpu.thread, "i32") - 1
        y[0, gpu.thread] = gpu.load(x, (i, gpu.thread), where=i >= 0)

    with pytest.raises(CutepyError, match=r"coordinate \(i32\(tid\) - 1i, tid\) of .*: its entries are of i32 and u32"):
        mixed.verify(some(8, 8), some(8, 8))


def test_a_tile_of_static_size_over_unknown_rows_keeps_both_of_its_operands() -> None:
    """`width and cond` and `cond or size` are conditions of the launch."""

    @gpu.kernel
    def odd(x: "(n)", y: "(n)") -> None:
        gpu.launch(grid=ceil_div(x.shape[0], 8), threads=8)
        n = x.shape[0]
        tile = local_tile(y, 8, gpu.workgroup.x)
        i = gpu.workgroup.x * 8 + gpu.thread
        if i < n:
            tile[gpu.thread] = 1.0 if (n % 8 and i > 4) else 2.0

    for n in (8, 13, 16, 3):
        y = np.zeros(n, np.float32)
        odd.interpret(some(n), y)
        assert odd.size_reason == ""
        assert (y == [1.0 if n % 8 and i > 4 else 2.0 for i in range(n)]).all()


def test_powers_of_a_size() -> None:
    @gpu.kernel
    def powers(x: "(n)", y: "(4)") -> None:
        gpu.launch(threads=1)
        n = x.shape[0]
        y[0], y[1], y[2], y[3] = n**2, n**0, n**0.5, n**-1

    @gpu.kernel
    def of_two(x: "(n)", y: "(4)") -> None:
        gpu.launch(threads=1)
        y[0] = 2 ** x.shape[0]

    for n in (1, 4, 9, 30):
        y = np.zeros(4, np.float32)
        powers.interpret(some(n), y)
        assert powers.size_reason == "" and np.allclose(y, [n * n, 1, n**0.5, 1 / n])
    with pytest.raises(KernelError, match="the size n is known only at the launch and cannot be an exponent"):
        of_two.at(n=4)
