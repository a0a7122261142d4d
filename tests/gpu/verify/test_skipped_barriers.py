"""Iterations that pass no barrier: what is open before them meets what comes after them."""

from typing import Any

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.verify import Claim, Status


@gpu.kernel
def in_the_loop(y, *, closed=False):
    """With a barrier on either side of what is shared, there is no race."""
    gpu.launch(grid=1, threads=64)
    shared = gpu.shared("f32", 64)
    for k in gpu.loop(4):
        if k % 2 == 0:
            shared[gpu.thread] = gpu.cast(k, "f32")
            gpu.barrier()
            y[gpu.thread] = y[gpu.thread] + shared[63 - gpu.thread]
            if closed:
                gpu.barrier()


@gpu.kernel
def by_an_inner_loop(y):
    gpu.launch(grid=1, threads=64)
    shared = gpu.shared("f32", 64)
    for k in gpu.loop(4):
        for _inner in gpu.loop(1 - k % 2):
            shared[gpu.thread] = gpu.cast(k, "f32")
            gpu.barrier()
            y[gpu.thread] = y[gpu.thread] + shared[63 - gpu.thread]


@gpu.kernel
def before_the_loop(y):
    gpu.launch(grid=1, threads=64)
    shared = gpu.shared("f32", 64)
    shared[gpu.thread] = 1.0
    for k in gpu.loop(3):
        if k == 1:
            y[gpu.thread] = y[gpu.thread] + shared[63 - gpu.thread]
            gpu.barrier()


@gpu.kernel
def after_the_loop(y):
    gpu.launch(grid=1, threads=64)
    shared = gpu.shared("f32", 64)
    shared[gpu.thread] = 1.0
    gpu.barrier()
    for k in gpu.loop(3):
        if k == 1:
            gpu.barrier()
            y[gpu.thread] = y[gpu.thread] + shared[63 - gpu.thread]
    shared[gpu.thread] = 2.0


@pytest.mark.parametrize(
    "kernel",
    [in_the_loop, by_an_inner_loop, before_the_loop, after_the_loop],
    ids=lambda kernel: kernel.function.__name__,
)
@pytest.mark.parametrize("prover", ["auto", "cutepy", "z3"])
def test_a_race_over_a_turn_without_a_barrier_is_not_proven_away(kernel: Any, prover: str) -> None:
    y = np.zeros(64, np.float32)
    with pytest.raises(KernelError, match="race"):
        kernel.interpret(y.copy(), check=True)
    found = kernel.verify(y, prover=prover)
    assert Claim.NO_RACES in {v.claim for v in (*found.undecided, *found.refuted)}, found


def test_none_is_where_barriers_stand_on_both_sides() -> None:
    found = in_the_loop.verify(np.zeros(64, np.float32), closed=True, prover="cutepy")
    assert found.ok and all(v.status == Status.PROVEN for v in found.verdicts if v.claim == Claim.NO_RACES)
