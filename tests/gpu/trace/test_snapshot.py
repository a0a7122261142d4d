"""`snapshot` and `mutable_places`: what code in a block can reach and change is noticed; looking is no change."""

import functools
import itertools
import sys
from collections import ChainMap, UserDict
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.trace.mutable_places import Item, items_of
from cutepy.gpu.trace.python_state import is_of_library
from cutepy.gpu.trace.snapshot import MOST, Snapshot


class Holder:
    shared = 1
    __slots__ = ("__dict__", "inner")

    def __init__(self) -> None:
        self.inner = [1]
        self.open = {"a": 1}


def frame() -> FrameType:
    return sys._getframe(1)


def state(value: object) -> tuple[Snapshot, object]:
    """A snapshot of a frame whose one name is `value`."""
    here = frame()
    return Snapshot(here, (), {}), value


def counter() -> Callable[[], int]:
    n = [0]

    def count() -> int:
        n[0] += 1
        return n[0]

    return count


def nested(depth: int) -> list[object]:
    made: list[object] = []
    for _ in range(depth):
        made = [made]
    return made


def innermost(value: Any) -> Any:
    while value:
        value = value[0]
    return value


def bump(f: Callable[[], int]) -> None:
    f()


def begun(values: Iterator[int]) -> Iterator[int]:
    next(values)
    return values


def delegating() -> Iterator[int]:
    yield from [1, 1, 1]


CHANGES: dict[str, tuple[Callable[[], object], Callable[..., object]]] = {
    "a list": (lambda: [1, 2], lambda v: v.append(3)),
    "a list in a list": (lambda: [[1], 2], lambda v: v[0].append(3)),
    "a list nested deep": (lambda: nested(2_000), lambda v: innermost(v).append(3)),
    "an item": (lambda: [1, 2], lambda v: v.__setitem__(0, 5)),
    "a dictionary": (lambda: {"a": 1}, lambda v: v.update(b=1)),
    "a value of a dictionary": (lambda: {"a": [1]}, lambda v: v["a"].clear()),
    "a set": (lambda: {1}, lambda v: v.add(2)),
    "an attribute": (Holder, lambda v: setattr(v, "new", 1)),
    "a slot": (Holder, lambda v: v.inner.append(2)),
    "an attribute of a namespace": (lambda: SimpleNamespace(a=1), lambda v: setattr(v, "a", 2)),
    "an array": (lambda: np.zeros(3), lambda v: v.__setitem__(1, 4)),
    "an array of objects": (lambda: np.array([None, 1], object), lambda v: v.__setitem__(0, 4)),
    "bytes": (lambda: bytearray(b"ab"), lambda v: v.append(3)),
    "an iterator": (lambda: iter([1, 2]), next),
    "an iterator over others": (lambda: zip([1, 2], iter([3, 4]), strict=True), next),
    "a generator": (lambda: (i for i in [1, 2]), next),
    "a generator that stands where it stood": (lambda: begun(i for i in [1, 1, 1]), next),
    "a generator over another": (lambda: begun(delegating()), next),
    "an iterator of itertools": (lambda: itertools.chain([1, 2]), next),
    "an iterator over what nobody else holds": (lambda: iter([3, 3, 1].pop, 0), next),
    "a function that keeps what it gave": (lambda: functools.cache(abs), lambda v: v(-1)),
    "a view of memory": (lambda: memoryview(bytearray(b"ab")), lambda v: v.__setitem__(0, 5)),
    "a dictionary of Python's": (lambda: UserDict(a=1), lambda v: v.update(a=2)),
    "dictionaries one after the other": (lambda: ChainMap({"a": 1}), lambda v: v.update(a=2)),
    "a closure": (counter, bump),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_noticed_and_looking_is_none(kind: str) -> None:
    make, change = CHANGES[kind]
    taken, value = state(make())
    assert taken.changed() is None and taken.changed() is None
    change(value)
    assert taken.changed()


@pytest.mark.parametrize("make", [itertools.cycle, itertools.permutations, lambda items: itertools.tee(items)[0]])
def test_an_iterator_that_does_not_tell_how_far_it_has_come_is_refused(make: Callable[[list[int]], object]) -> None:
    with pytest.raises(KernelError, match=r"value is an iterator, .*, that does not tell how far"):
        state(make([1, 2]))


def test_the_name_of_what_changed_is_how_it_is_reached() -> None:
    def inside() -> str | None:
        table = {"a": [1, [2]]}
        taken = Snapshot(frame(), (), {})
        table["a"][1].append(3)  # type: ignore[attr-defined,index]
        return taken.changed()

    assert inside() == "table['a'][1]"


def test_what_a_block_carries_is_no_state_and_its_neighbours_are() -> None:
    values = [1, [2], 3]
    here = sys._getframe()
    items = items_of(here)
    assert set(items) >= {"values[0]", "values[1][0]", "values[2]"}
    taken = Snapshot(here, items.values(), {})
    values[0], values[1][0] = 7, 8  # type: ignore[index]
    assert taken.changed() is None
    values[1] = [8]
    assert taken.changed() == "values"


def test_items_are_numbers_in_what_the_function_made() -> None:
    class Sub(dict):  # type: ignore[type-arg]
        def __getitem__(self, key: object) -> object:
            raise AssertionError

        def __setitem__(self, key: object, value: object) -> None:
            raise AssertionError

    table, pair, thing, text = Sub(n=1), (1, [2.5]), Holder(), ["a", (1, 2)]
    items = items_of(sys._getframe())
    assert {"table['n']", "pair[1][0]", "thing.open['a']", "text[1]"} <= set(items)
    assert not {"pair[0]", "pair[1]", "text[0]", "thing.inner"} & set(items)
    item = items["table['n']"]
    item.cell_contents = 4
    assert item.cell_contents == 4 == dict.__getitem__(table, "n") and item.kind is dict
    items["pair[1][0]"].cell_contents = 9
    assert pair[1] == [9] and Item(pair, 0).cell_contents == 1
    assert thing.open == {"a": 1} and text and not is_of_library(Holder)


def test_more_than_can_be_looked_at_is_refused() -> None:
    many = [[i] for i in range(MOST + 1)]
    with pytest.raises(KernelError, match=f"more than {MOST} Python objects can be reached from many"):
        Snapshot(sys._getframe(), (), {})
    assert many


def test_what_code_sets_of_a_users_module_is_its_state() -> None:
    text = "def f(look):\n    taken = look()\n    mine.{}\n    return taken.changed()\n"
    for line, name in (("count = 5", "mine.count"), ("count.append(2)", "mine.count"), ("new = 3", "mine.new")):
        mine = ModuleType("mine_of_a_test")
        mine.count = [1]  # type: ignore[attr-defined]
        names: dict[str, object] = {"mine": mine, "__name__": "a_test"}
        exec(text.format(line), names)
        function = names["f"]
        assert callable(function)
        assert function(lambda: Snapshot(sys._getframe(1), (), {})) == name


def makes_a_global() -> None:
    global MADE_BY_A_TEST
    MADE_BY_A_TEST = 1


def test_a_global_that_a_function_makes_in_a_block_is_a_change() -> None:
    @gpu.kernel
    def makes(x, y):  # type: ignore[no-untyped-def]
        if x[0] > 0:
            makes_a_global()
        y[0] = x[0]

    with pytest.raises(KernelError, match="MADE_BY_A_TEST is changed inside if"):
        makes.wgsl(np.ones(4, np.float32), np.zeros(4, np.float32))


NAMELESS = """
def closed():
    count = [0]
    def more():
        count[0] += 1
    return more

def of_its_own(seen=[0]):
    seen[0] += 1

def attributed():
    attributed.count = 1

class Counted:
    count = 0
    def more(self):
        type(self).count += 1
"""


@pytest.mark.parametrize("change", ["closed()", "of_its_own", "attributed", "Counted().more"])
def test_what_a_text_without_a_module_makes_is_state_too(change: str) -> None:
    names: dict[str, Any] = {}
    exec(NAMELESS, names)
    change_it = eval(change, names)
    assert change_it.__module__ in (None, "builtins")
    taken, value = state(change_it)
    assert taken.changed() is None
    value()  # type: ignore[operator]
    assert taken.changed()
