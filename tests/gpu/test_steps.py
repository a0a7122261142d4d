"""A workgroup from barrier to barrier, and refuted verdicts replayed on data."""

import threading
from itertools import islice

import numpy as np
import pytest

from cutepy import draw, gpu
from cutepy.errors import KernelError
from cutepy.tensor import make_tensor


@gpu.kernel
def total(x, y):
    gpu.launch(grid=2, threads=8)
    s = gpu.shared("f32", (4, 2))
    i = gpu.thread
    pair = make_tensor("f32", 2)
    pair[0] = x[gpu.workgroup.x * 8 + i]
    pair[1] = 1.0
    s[i] = pair[0]
    gpu.barrier()
    stride = 4
    while stride:
        if i < stride:
            s[i] = s[i] + s[i + stride]
        gpu.barrier()
        stride //= 2
    if i == 0:
        y[gpu.workgroup.x] = s[0] + pair[1]


def arguments():
    return np.arange(16, dtype=np.float32), np.zeros(2, np.float32)


def test_what_a_collective_keeps_in_shared_memory_is_a_row() -> None:
    @gpu.kernel
    def shares(x, y):
        gpu.launch(threads=8)
        y[gpu.thread] = x[gpu.thread] / gpu.workgroup_reduce(x[gpu.thread])

    x = np.arange(8, dtype=np.float32)
    first, *_rest, last = shares.steps(x, np.zeros(8, np.float32))
    ((name, partial),) = first.shared.items()
    assert partial.numpy().tolist() == x.tolist() and last.shared[name][0] == x.sum()


def test_each_step_shows_what_memory_holds() -> None:
    x, y = arguments()
    seen = list(total.steps(x, y, workgroup=(1, 0, 0)))
    memories = [np.asarray(step.shared["s"]).ravel(order="F") for step in seen]
    wanted = x[8:].copy()
    for memory, stride in zip(memories, (0, 4, 2, 1, 0), strict=True):
        wanted[:stride] += wanted[stride : 2 * stride]
        assert np.array_equal(memory, wanted)
    assert [step.number for step in seen] == [0, 1, 2, 3, 4]
    assert seen[0].place.startswith("test_steps.py:") and seen[1].place == seen[2].place != seen[0].place
    assert seen[4].place == "the end" and seen[4].threads == tuple(range(8))
    assert seen[0].thread(3)["pair"] == [11.0, 1.0]
    assert not y.any()  # the arrays stay as they are


def test_steps_are_drawn_and_told() -> None:
    step = next(total.steps(*arguments()))
    assert " 3  | 3 | 7 |" in str(draw(step.shared["s"]))
    assert " 0  | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |" in str(draw(step.registers["pair"]))
    first, second, third = str(step).split("\n")
    assert first.endswith(": 8 threads of workgroup (0, 0, 0)") and second == "  shared s (4,2):(1,4)"
    assert third.startswith("  registers pair")


def test_a_kernel_is_run_no_further_than_asked_and_left_behind() -> None:
    @gpu.kernel
    def long(x):
        gpu.launch(threads=4)
        for k in gpu.loop(1 << 31):
            x[gpu.thread] = gpu.cast(k, "f32")
            gpu.barrier()

    before = threading.active_count()
    found = long.steps(np.zeros(4, np.float32))
    assert [step.thread(0)["k"] for step in islice(found, 3)] == [0, 1, 2]
    found.close()
    assert threading.active_count() == before


def test_errors_come_after_the_steps_before_them() -> None:
    @gpu.kernel
    def beyond(x):
        gpu.launch(threads=4)
        x[gpu.thread] = 1.0
        gpu.barrier()
        x[gpu.thread + 1] = 2.0

    found = beyond.steps(np.zeros(4, np.float32))
    assert next(found).number == 0
    with pytest.raises(KernelError, match=r"writes x at element 4, .*thread 3, value 2\.0"):
        next(found)
    with pytest.raises(KernelError, match=r"beyond\.steps\(workgroup=\(1, 0, 0\)\): the grid has \(1, 1, 1\)"):
        beyond.steps(np.zeros(4, np.float32), workgroup=(1, 0, 0))


@gpu.kernel
def shift(x, y, *, far):
    gpu.launch(grid=2, threads=16)
    s = gpu.shared("f32", (4, 4))
    i = gpu.workgroup.x * 16 + gpu.thread
    s[gpu.thread] = x[i] + 0.5
    y[i + far] = s[(gpu.thread + 1) % 16]


def test_a_refuted_verdict_replays() -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    race = next(r for r in shift.replay(x, y, far=0) if r.verdict.claim == "no races")
    one, two = race.followed
    assert {one.use.thread, two.use.thread} == {0, 1}
    assert (one.use.verb, one.value, two.use.verb, two.value) == ("writes", 1.5, "reads", 1.5)
    assert one.use.place.startswith("test_steps.py:") and one.use.place != two.use.place
    text = str(race)
    assert f"  {one}\n  {two}\ns, element 1\n" in text
    assert " 1  |[ 1]|  5 |  9 | 13 |" in text and text.count("|[") == 1
    assert not y.any()


def test_an_index_outside_replays() -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    outside = next(r for r in shift.replay(x, y, far=1) if r.verdict.claim == "in bounds")
    assert "writes y at element 32, it has 32 elements: workgroup (1, 0, 0), thread 15, value" in outside.error
    assert outside.error in str(outside)


def test_what_is_proven_has_no_replay() -> None:
    assert total.replay(*arguments()) == ()
