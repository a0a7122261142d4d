"""Caches of calls: what threads that share one keep."""

import random
import sys
import threading
from types import SimpleNamespace

import pytest

from cutepy.gpu import CallCache
from cutepy.gpu.runtime import call_cache
from cutepy.gpu.runtime.call_recipe import CallRecipe, SizedCall
from cutepy.gpu.runtime.recorded_call import CallKey


def test_threads_that_use_one_class_find_each_recipe_that_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread puts the recipe that served it first, as the others do: no call fails, and none misses its recipe."""
    kept, served, wrong = CallCache(), object(), list[object]()

    def recipe(own: int) -> CallRecipe:
        entry = SimpleNamespace(run=lambda call, args: own, times=0)
        return CallRecipe(lambda numbers: entry if numbers[0] == own else None, (), "", {})  # type: ignore[arg-type,return-value]

    def key_of(args: list[int], *, numbers: bool) -> CallKey:
        return CallKey(("class",), (args[0],), served, [], [])  # type: ignore[arg-type]

    monkeypatch.setattr(call_cache, "key_of", key_of)
    monkeypatch.setattr(call_cache, "sized_call", lambda call: SizedCall("class", [*call.sizes]))
    count = 8
    kept.recipes["class", ()] = [recipe(own) for own in range(count)]

    def run(seed: int) -> None:
        pick = random.Random(seed)
        try:
            for _ in range(4000):
                own = pick.randrange(count)
                kept.recorded.clear()
                found = kept.call([own], lambda own: pytest.fail("no recipe"), key=tuple)
                if found != own:
                    wrong.append((own, found))
        except BaseException as error:
            wrong.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
