"""Numbers that atomic additions hand out: rules of `gpu/verify/tickets.py`."""

from collections.abc import Callable

import numpy as np
import pytest

from cutepy import gpu
from cutepy.gpu.ir import Atomic, Barrier, Buffer, Declare, If, Kernel, Let, Store, builtin, const, var
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.gpu.verify import verify
from cutepy.layout import size
from cutepy.tensor import Tensor
from cutepy.tensor.dtypes import u32


def u(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.uint32)


def statuses(kernel: KernelFunction, *arrays: np.ndarray, **static: int) -> dict[str, str]:
    return {f"{v.claim} {v.array}".strip(): str(v.status) for v in kernel.verify(*arrays, **static).verdicts}


def kernel_that(init: Callable[..., object], add: Callable[..., object], *, threads: int = 8) -> KernelFunction:
    """Thread t takes a number of a shared counter, and writes where it says."""

    @gpu.kernel
    def taken(y: Tensor) -> None:
        gpu.launch(threads=threads)
        counter = gpu.shared("u32", 2)
        init(counter)
        gpu.barrier()
        y[add(counter)] = gpu.thread

    return taken


def reset(counter: Tensor) -> None:
    if gpu.thread == 0:
        gpu.atomic_store(counter, 0, 0)


def test_a_shared_counter_gives_each_thread_a_place() -> None:
    kernel = kernel_that(reset, lambda c: gpu.atomic_add(c, 0, 1))
    assert kernel.verify(u(8)).ok
    y = u(8)
    kernel.interpret(y, check=True)
    assert sorted(y.tolist()) == list(range(8))
    assert statuses(kernel, u(7))["in bounds y"] != "proven"


def test_a_step_leaves_room_for_as_many_elements() -> None:
    @gpu.kernel
    def pairs(y: Tensor, *, step: int) -> None:
        gpu.launch(threads=8)
        counter = gpu.shared("u32", 1)
        reset(counter)
        gpu.barrier()
        at = gpu.atomic_add(counter, 0, step)
        y[at], y[at + 1] = 1, 2

    assert pairs.verify(u(16), step=2).ok
    assert not pairs.verify(u(16), step=1).ok


@pytest.mark.parametrize("add", [
    lambda c: gpu.atomic_add(c, 0, 0),
    lambda c: gpu.atomic_add(c, 0, gpu.thread),
    lambda c: gpu.atomic_add(c, gpu.thread % 2, 1),
    lambda c: gpu.atomic_max(c, 0, 1),
    lambda c: gpu.atomic_add(c, 0, 1) // 2,
])  # fmt: skip
def test_other_numbers_are_not_distinct(add: Callable[..., object]) -> None:
    def init(counter: Tensor) -> None:
        if gpu.thread < 2:
            gpu.atomic_store(counter, gpu.thread, 0)

    assert statuses(kernel_that(init, add), u(64))["no races y"] != "proven"


def test_a_counter_that_is_reset_meanwhile_is_none() -> None:
    @gpu.kernel
    def meanwhile(y: Tensor) -> None:
        gpu.launch(threads=8)
        counter = gpu.shared("u32", 1)
        reset(counter)
        gpu.barrier()
        y[gpu.atomic_add(counter, 0, 1) % 8] = 1
        if gpu.thread == 3:
            gpu.atomic_store(counter, 0, 0)

    assert statuses(meanwhile, u(8))["no races y"] != "proven"


def test_a_counter_without_a_first_value_is_not_bounded() -> None:
    kernel = kernel_that(lambda counter: None, lambda c: gpu.atomic_add(c, 0, 1))
    found = statuses(kernel, u(8))
    assert found["in bounds y"] != "proven" and found["written before read counter"] != "proven"


def test_streams_are_compacted_through_a_counter_of_a_binding() -> None:
    @gpu.kernel
    def compact(x: Tensor, count: Tensor, y: Tensor) -> None:
        gpu.launch(grid=4, threads=64)
        v = x[gpu.workgroup.x * 64 + gpu.thread]
        if v > 3:
            at = gpu.atomic_add(count, 0, 1)
            if at < size(y):
                y[at] = v

    x = np.arange(256, dtype=np.uint32) % 9
    assert compact.verify(x, u(1), u(256)).ok
    y, count = u(256), u(1)
    compact.interpret(x, count, y, check=True)
    assert sorted(y[: count[0]].tolist()) == sorted(x[x > 3].tolist())


def test_workgroups_share_no_numbers_of_a_shared_counter() -> None:
    @gpu.kernel
    def grouped(y: Tensor, *, apart: int) -> None:
        gpu.launch(grid=2, threads=8)
        counter = gpu.shared("u32", 1)
        reset(counter)
        gpu.barrier()
        y[gpu.workgroup.x * apart + gpu.atomic_add(counter, 0, 1)] = 1

    assert grouped.verify(u(16), apart=8).ok
    assert statuses(grouped, u(16), apart=7)["no races y"] != "proven"


def test_a_name_narrows_the_ticket_that_its_register_holds() -> None:
    """Whoever bound a name proved its bounds; a ticket of 64 additions is otherwise below 64."""
    counter = Buffer("c", u32, 1, space="workgroup")
    tid = builtin("local_invocation_index", 0, 63)
    ticket, register, name = var("t"), var("r"), var("n", hi=7)
    start = If(tid < 1, (Atomic("Store", counter, const(0), const(0)),)), Barrier()
    take = Atomic("Add", counter, const(0), const(1), result=ticket), Declare(register, ticket)
    for length, wanted in ((8, "proven"), (7, "undecided")):
        short = Buffer("out", u32, length, writable=True)
        kernel = Kernel(
            "k",
            (short,),
            (*start, *take, Let(name, register), Store(short, name, const(1))),
            (1, 1, 1),
            (64, 1, 1),
            local=(counter,),
        )
        found = verify(kernel, prover="cutepy").verdicts
        assert [str(v.status) for v in found if v.claim == "in bounds" and v.array == "out"] == [wanted]
