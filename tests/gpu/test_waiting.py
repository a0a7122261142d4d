"""Kernels that wait for other invocations: never called proven, and never wrong in silence in the interpreter."""

import numpy as np
import pytest
from atomic_cases import locked, looked_back, looked_back_while, summed

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.verify.loops import waiting
from cutepy.tensor import Tensor, fill, make_tensor


def arrays(tiles: int) -> list[np.ndarray]:
    x = np.random.default_rng(0).integers(0, 9, tiles * 64).astype(np.uint32)
    return [x, np.zeros_like(x), np.zeros(tiles, np.uint32), np.zeros(tiles, np.uint32), np.zeros(1, np.uint32)]


@pytest.mark.parametrize("tiles", [1, 2, 30])
def test_a_scan_that_looks_back(tiles: int) -> None:
    given = arrays(tiles)
    looked_back.interpret(*given, turns=1000, ahead=False)
    assert np.array_equal(given[1], np.cumsum(given[0], dtype=np.uint32))


def test_it_is_said_to_need_progress() -> None:
    found = looked_back.verify(*arrays(4), turns=1000, ahead=False)
    verdicts = [v for v in found.verdicts if v.claim == "forward progress"]
    assert [(v.status, v.array) for v in verdicts] == [("undecided", "flags")] and not found.ok
    assert "atomic_cases.py:" in verdicts[0].reason and "no device has to run that one meanwhile" in verdicts[0].reason


def test_who_waits_for_a_later_workgroup_is_told() -> None:
    given = arrays(4)
    with pytest.raises(
        KernelError, match=r"atomic_cases\.py:\d+: kernel looked_back waits here for ever: workgroup"
    ) as e:
        looked_back.interpret(*given, turns=1000, ahead=True)
    assert "finds 0 in element 1 of flags again" in str(e.value)


def test_a_thread_that_waits_for_its_neighbour_is_told() -> None:
    @gpu.kernel
    def neighbours(flags: Tensor, out: Tensor) -> None:
        gpu.launch(threads=64)
        seen = gpu.constant(0, "u32")
        for _turn in gpu.loop(100):
            if seen == 0:
                seen = gpu.atomic_load(flags, gpu.thread)
        gpu.atomic_store(flags, (gpu.thread + 1) % 64, 1)
        out[gpu.thread] = seen

    flags = np.zeros(64, np.uint32)
    flags[0] = 1
    with pytest.raises(KernelError, match="thread 1 finds 0 in element 1 of flags again"):
        neighbours.interpret(flags, np.zeros(64, np.uint32))


def test_a_spin_lock_waits() -> None:
    @gpu.kernel
    def critical(lock: Tensor, total: Tensor) -> None:
        gpu.launch(grid=4, threads=64)
        done = gpu.constant(0, "u32")
        for _turn in gpu.loop(1000):
            if done == 0:
                _old, got = gpu.atomic_compare_exchange(lock, 0, 0, 1)
                if got:
                    gpu.atomic_store(total, 0, gpu.atomic_load(total, 0) + 1)
                    gpu.atomic_store(lock, 0, 0)
                    done = gpu.constant(1, "u32")

    lock, total = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    critical.interpret(lock, total)
    assert total[0] == 256
    assert {v.array for v in critical.verify(lock, total).undecided} >= {"lock"}


def test_what_only_updates_does_not_wait() -> None:
    keys, out = np.ones(128, np.uint32), np.zeros(16, np.uint32)
    assert not waiting(summed.ir(keys, keys.copy(), out, keys.copy(), op="add", shared=True))
    assert not waiting(locked.ir(keys, np.zeros(64, np.uint32), keys.copy()))

    @gpu.kernel
    def skipping(stop: Tensor, x: Tensor) -> None:
        gpu.launch(threads=64)
        for k in gpu.loop(8):
            if gpu.atomic_load(stop, 0) == 0:
                x[gpu.thread, k] = 1

    stop, x = np.zeros(1, np.uint32), np.zeros((64, 8), np.uint32)
    skipping.interpret(stop, x)
    assert x.all() and not waiting(skipping.ir(stop, x))


@pytest.mark.parametrize(("step", "always"), [(1, True), (3, True), (16, True), (1, False)])
def test_who_looks_elsewhere_each_turn_does_not_wait(step: int, always: bool) -> None:
    """Keys in a table: the next place, round the table, unless the step leads nowhere or is not always made."""

    @gpu.kernel
    def inserted(keys: Tensor, table: Tensor) -> None:
        gpu.launch(threads=8)
        key = keys[gpu.thread]
        place = key % 16
        for _turn in gpu.loop(16):
            _old, done = gpu.atomic_compare_exchange(table, place, 0, key)
            if done:
                break
            if always or key > 3:
                place = (place + step) % 16

    keys, table = np.arange(1, 129, 16, dtype=np.uint32), np.zeros(16, np.uint32)
    moves = step % 16 != 0 and always
    assert inserted.verify(keys, table).ok == moves == (not waiting(inserted.ir(keys, table)))
    if moves:
        inserted.interpret(keys, table, check=True)
        assert sorted(table[table > 0]) == keys.tolist()


@pytest.mark.parametrize("tiles", [1, 5, 40])
def test_a_scan_that_looks_back_by_while(tiles: int) -> None:
    x, out, _sums, flags, ticket = arrays(tiles)
    given = x, out, np.zeros((tiles, 2), np.uint32), flags, ticket
    looked_back_while.interpret(*given)
    assert np.array_equal(out, np.cumsum(x, dtype=np.uint32))
    found = looked_back_while.verify(*given)
    assert [v.array for v in found.verdicts if v.claim == "forward progress"] == ["flags"] * (tiles > 1)
    assert not found.refuted


def test_a_while_that_nobody_ends_is_told() -> None:
    @gpu.kernel
    def forever(flags: Tensor, out: Tensor) -> None:
        gpu.launch(grid=2, threads=1)
        while gpu.atomic_load(flags, 1 - gpu.workgroup.x) == 0:
            out[gpu.workgroup.x] = 1
        gpu.atomic_store(flags, gpu.workgroup.x, 1)

    flags, out = np.zeros(2, np.uint32), np.zeros(2, np.uint32)
    with pytest.raises(KernelError, match="waits here for ever: workgroup"):
        forever.interpret(flags, out)
    assert {v.claim for v in forever.verify(flags, out).undecided} >= {"forward progress", "bounded loops"}


@gpu.kernel
def counted_tries(y, flag):
    gpu.launch(grid=1, threads=4)
    top = make_tensor("f32", 1)
    for _turn in gpu.loop(2):
        fill(top, np.inf)
        if gpu.atomic_exchange(flag, 0, gpu.thread) < gpu.thread:
            break
    y[gpu.thread] = top[0]


def test_a_float_register_counts_no_turns_and_counted_tries_are_no_endless_wait() -> None:
    """Infinity is no index; a driver that ends loops after 65,536 turns does not end two tries."""
    y, flag = np.zeros(4, np.float32), np.zeros(1, np.uint32)
    counted_tries.interpret(y, flag)
    assert np.isinf(y).all() and counted_tries.verify(y, flag).verdicts
    assert counted_tries.program(y, flag).waits == ()
    x, out, _sums, flags, ticket = arrays(3)
    (endless,) = looked_back_while.program(x, out, np.zeros((3, 2), np.uint32), flags, ticket).waits
    assert "atomic_cases.py:" in endless
