"""Memory of results: each is owned by one buffer, or pooled, whatever threads, finalizers and signals come between."""

import random
import signal
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from cutepy.gpu.runtime.buffer import LARGEST_CLASS, DeviceBuffer, Pool, pooled_bytes

SIZES = [1, 256, 300, 5000, 70_000]


class Owner:
    """What a buffer needs of a device: memory comes back to the pool."""

    def __init__(self) -> None:
        self.pool = Pool()

    def _reuse(self, nbytes: int, memory: Any) -> None:
        self.pool.give(nbytes, memory)

    def buffer(self, nbytes: int) -> DeviceBuffer:
        return DeviceBuffer(self, nbytes, "", True)  # type: ignore[arg-type]

    def filled(self, of_each: int) -> set[int]:
        """The numbers of what it is given, so much of each size."""
        numbers = iter(range(1, 1 + of_each * len(SIZES)))
        for nbytes in SIZES:
            for _ in range(of_each):
                self.pool.give(pooled_bytes(nbytes), (number := next(numbers), str(number)))  # type: ignore[arg-type]
        return set(range(1, 1 + of_each * len(SIZES)))


def test_memory_goes_by_the_least_number_and_as_little_of_it_stays_as_is_asked() -> None:
    """Against a model of sorted lists, over random calls."""
    pick, owner = random.Random(1), Owner()
    model: dict[int, list[int]] = {}
    used: list[int] = []  # sizes, that used longest ago first
    for number in range(1, 4000):
        nbytes = pooled_bytes(pick.choice([*SIZES, LARGEST_CLASS + 1]))
        same = model.setdefault(nbytes, [])
        match pick.choice("ggttk" if number % 50 == 0 else "ggtt"):
            case "g":
                owner.pool.give(nbytes, (number, ""))  # type: ignore[arg-type]
                same.append(number)
                used += [nbytes] * (nbytes not in used)
            case "t":
                buffer = owner.buffer(nbytes)
                assert owner.pool.take(buffer) == bool(same)
                if same:
                    assert buffer.uid == min(same) and buffer.owned == [(buffer.uid, "")]
                    same.remove(buffer.uid)
                    used.append(used.pop(used.index(nbytes)))
                buffer.owned.clear()
            case _:
                held = sum(size * len(each) for size, each in model.items())
                assert owner.pool.bytes == held and len(owner.pool) == sum(map(len, model.values()))
                gone, most = owner.pool.keep(held // 2), held // 2
                wanted = []
                for size in used:
                    while held > most and model[size]:
                        wanted.append(model[size].pop(model[size].index(min(model[size]))))
                        held -= size
                assert gone == wanted and owner.pool.bytes <= most
                used = [size for size in used if model[size] or size <= LARGEST_CLASS]


def test_threads_that_take_and_drop_share_nothing() -> None:
    owner = Owner()
    numbers, twice, lock = owner.filled(3), [], threading.Lock()
    held: set[int] = set()

    def run(seed: int) -> None:
        pick, mine = random.Random(seed), []
        for _ in range(3000):
            buffer = owner.buffer(pick.choice(SIZES))
            if owner.pool.take(buffer):
                with lock:
                    twice.extend({buffer.uid} & held)
                    held.add(buffer.uid)
                mine.append(buffer)
            while len(mine) > 2:
                gone = mine.pop(pick.randrange(len(mine)))
                with lock:
                    held.discard(gone.uid)
                del gone
        with lock:
            held.difference_update(buffer.uid for buffer in mine)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not twice
    assert {*owner.pool.keep(0)} == numbers


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that signal here")
def test_memory_that_was_taken_is_owned_when_a_signal_ends_the_call() -> None:
    class Ended(Exception):
        pass

    def handler(*_: object) -> None:
        came.append(True)
        raise Ended

    came: list[bool] = []
    pick, before, between = random.Random(0), signal.signal(signal.SIGALRM, handler), 0
    try:
        for _ in range(60):
            owner = Owner()
            numbers = owner.filled(20)
            buffers = [owner.buffer(pick.choice(SIZES)) for _ in range(100)]
            came.clear()
            with suppress(Ended):
                signal.setitimer(signal.ITIMER_REAL, pick.uniform(1e-5, 2e-4))
                for buffer in buffers:
                    owner.pool.take(buffer)
                while not came:  # CPython sees a signal that another thread was sent when it takes its lock again
                    time.sleep(0)
            taken = [memory[0] for buffer in buffers for memory in buffer.owned]
            between += 0 < len(taken) < 90
            assert sorted([*taken, *owner.pool.keep(0)]) == sorted(numbers)
            for buffer in buffers:
                buffer.owned.clear()
            del buffer, buffers  # a finalizer swallows what is raised in it
    finally:
        signal.signal(signal.SIGALRM, before)
    assert between
