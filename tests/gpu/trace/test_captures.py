"""What a kernel finds outside of itself, and its static arguments, are part of what it is: a change is traced anew."""

import dataclasses
import decimal
import enum
import math
import os
import re
import sys
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from captured_kinds import KINDS, SETUP, WRAPPED, Kind
from shares import ALL

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.operations.fold import plan_of_tile
from cutepy.gpu.trace.captures import READ, Captures, _Reader
from cutepy.layout import Layout
from cutepy.tensor import make_tensor
from cutepy.tensor.partition import local_tile

TILE = 32
FACTORS = {"a": [1.0, 2.0]}
ARRAY = np.zeros(3)


class Settings:
    """A user's object: a constant of the class, a field, a method."""

    shift = 1.0

    def __init__(self, scale: float = 3.0) -> None:
        self.scale = scale
        self.table = np.zeros(3)

    def shifted(self, value):
        return value + self.shift


class Other(Settings):
    shift = 6.0


class Hashable:
    def __init__(self) -> None:
        self.v = 5.0


@dataclasses.dataclass
class Slotted:
    __slots__ = ("step",)
    step: float


class Mode(enum.Enum):
    ADD = 1
    SUBTRACT = 2


SETTINGS, MODE = Settings(), Mode.ADD
SLOTTED, CHANGED, GRID = Slotted(1.0), Settings(), np.zeros((2, 3))


def act(v):
    return v + 1.0


act.step = 1.0  # type: ignore[attr-defined]


def outer_act(v):
    return act(v) if v is not None else outer_act(v)


def value_of(kernel: gpu.KernelFunction, **static: object) -> float:
    x = np.zeros(64, np.float32)
    kernel.interpret(x, **static)
    return float(x[-1])


def stores(value: Callable[[], object]) -> gpu.KernelFunction:
    @gpu.kernel
    def stored(x):
        gpu.launch(threads=64)
        x[gpu.thread] = value()

    return stored


def assign(name: str, value: object) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setitem(globals(), name, value)


class Meters(float):
    """A number of a user's class, with a method that reads a global."""

    def scaled(self):
        return self * TILE


class Pair(NamedTuple):
    a: float
    b: float

    def total(self):
        return (self.a + self.b) * TILE


LENGTH, PAIR, WORDS = Meters(2.0), Pair(1.0, 2.0), {"a": 1.0}
word = WORDS.get


def times_two(v):
    return v * 2.0


CHANGES = {
    "a global": (lambda: TILE, assign("TILE", 16), 32.0, 16.0),
    "its type": (lambda: TILE / 64 * 2, assign("TILE", 16.0), 1.0, 0.5),
    "the sign of zero": (lambda: math.copysign(1.0, TILE), assign("TILE", -0.0), 1.0, -1.0),
    "a deep list": (lambda: FACTORS["a"][1], lambda p: p.setitem(FACTORS, "a", [1.0, 7.0]), 2.0, 7.0),
    "a dictionary": (lambda: len(FACTORS), lambda p: p.setitem(FACTORS, "b", 0), 1.0, 2.0),
    "a helper": (lambda: act(gpu.constant(1.0, "f32")), assign("act", times_two), 2.0, 2.0),
    "a helper's helper": (lambda: outer_act(gpu.constant(3.0, "f32")), assign("act", times_two), 4.0, 6.0),
    "a field": (lambda: SETTINGS.scale, lambda p: p.setattr(SETTINGS, "scale", 8.0), 3.0, 8.0),
    "a constant of a class": (lambda: SETTINGS.shift, lambda p: p.setattr(Settings, "shift", 8.0), 1.0, 8.0),
    "a class": (lambda: Settings.shift, lambda p: p.setattr(Settings, "shift", 8.0), 1.0, 8.0),
    "a field that hides it": (lambda: SETTINGS.shift, lambda p: p.setattr(SETTINGS, "shift", 4.0, False), 1.0, 4.0),
    "an object": (lambda: SETTINGS, assign("SETTINGS", Settings(9.0)), None, None),
    "a slot": (lambda: SLOTTED.step, lambda p: p.setattr(SLOTTED, "step", 6.0), 1.0, 6.0),
    "an enumeration": (lambda: 1.0 if MODE is Mode.ADD else 2.0, assign("MODE", Mode.SUBTRACT), 1.0, 2.0),
    "the code of a helper": (
        lambda: act(gpu.constant(3.0, "f32")),
        lambda p: p.setattr(act, "__code__", times_two.__code__),
        4.0,
        6.0,
    ),
    "a number of a user's class": (lambda: LENGTH, assign("LENGTH", Meters(3.0)), 2.0, 3.0),
    "what its method reads": (lambda: LENGTH.scaled(), assign("TILE", 10), 64.0, 20.0),
    "what the method of a tuple reads": (lambda: PAIR.total(), assign("TILE", 10), 96.0, 30.0),
    "the dictionary of a bound method": (lambda: word("a"), lambda p: p.setitem(WORDS, "a", 4.0), 1.0, 4.0),
    "an attribute of a function": (lambda: act.step, lambda p: p.setattr(act, "step", 4.0), 1.0, 4.0),
    "the class of an object": (lambda: CHANGED.shift, lambda p: p.setattr(CHANGED, "__class__", Other), 1.0, 6.0),
    "the shape of an array": (lambda: len(GRID.shape), assign("GRID", np.zeros((2, 3, 4))), 2.0, 3.0),
    "a name that hides a builtin": (lambda: min(4, 3), lambda p: p.setitem(globals(), "min", max), 3.0, 4.0),
}


@pytest.mark.parametrize("what", [name for name, case in CHANGES.items() if case[2] is not None])
def test_what_is_captured_is_read_again(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value, change, before, after = CHANGES[what]
    kernel = stores(value)
    assert value_of(kernel) == before
    first = kernel.ir(np.zeros(64, np.float32))
    assert kernel.ir(np.zeros(64, np.float32)) is first, "nothing changed: the same form"
    change(monkeypatch)
    assert value_of(kernel) == after
    monkeypatch.undo()
    assert kernel.ir(np.zeros(64, np.float32)) is first, "as before: the form of before"


def test_a_variable_of_the_enclosing_function() -> None:
    scale = 2.0

    @gpu.kernel
    def scaled(x):
        gpu.launch(threads=64)
        x[gpu.thread] = scale

    assert value_of(scaled) == 2.0
    scale = 5.0
    assert value_of(scaled) == 5.0


def test_a_default_of_a_helper() -> None:
    def helper(tile=[1.0]):  # noqa: B006  a default that changes is what is tested
        return tile[0]

    kernel = stores(helper)
    assert value_of(kernel) == 1.0
    helper.__defaults__[0][0] = 4.0
    assert value_of(kernel) == 4.0


def test_state_that_the_kernel_itself_changes_is_read_at_every_call() -> None:
    count = [0.0]

    @gpu.kernel
    def counts(x):
        count[0] += 1.0
        gpu.launch(threads=64)
        x[gpu.thread] = count[0]

    assert [value_of(counts) for _ in range(3)] == [1.0, 2.0, 3.0]


def test_functions_that_call_one_another_end() -> None:
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    assert value_of(stores(lambda: 1.0 if even(4) else 0.0)) == 1.0


STATIC = [
    (2, 2.0),
    (2, True),
    ((2,), (2.0,)),
    ((True, (1,)), (1, (1,))),
    (0.0, -0.0),
    ((0.0,), (-0.0,)),
    ({"a": 1}, {"a": 1.0}),
    ([1, 2], [1, 2.0]),
    (np.float32(1), np.float64(1)),
    (np.float32(0), np.float32(-0.0)),
    (Layout(4), Layout(4, 2)),
    (Layout((2, 2)), (2, 2)),
    ("1", 1),
    (Mode.ADD, Mode.SUBTRACT),
    (lambda v: v + 1, lambda v: v + 1.0),
    (act, times_two),
    (1j, 1 - 0j),
    (Decimal("0"), Decimal("-0")),
    (slice(0, 1), slice(0, 1.0)),
    (Meters(0.0), Meters(-0.0)),
    (Pair(0, 1), (0, 1)),
]


@pytest.mark.parametrize(("one", "other"), STATIC)
def test_static_values_differ_by_type_and_bits(one: object, other: object) -> None:
    captures = Captures(act)
    key = captures.static({"s": one})
    assert captures.static({"s": other}) != key
    assert captures.static({"s": one}) == key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (float("nan"), float("nan")),
        ((math.nan, [1]), (np.nan, [1])),
        (Layout((4, 8)), Layout((4, 8))),
        ({1, 2, 3}, {3, 2, 1}),
        (Mode.ADD, Mode(1)),
        (Slotted(1.0), Slotted(1.0)),
    ],
)
def test_equal_static_values_have_one_key(one: object, other: object) -> None:
    captures = Captures(act)
    assert captures.static({"s": one}) == captures.static({"s": other})


def test_a_static_object_that_changes() -> None:
    @gpu.kernel
    def holds(x, *, c):
        gpu.launch(threads=64)
        x[gpu.thread] = c.v

    c = Hashable()
    assert value_of(holds, c=c) == 5.0
    c.v = 7.0
    assert value_of(holds, c=c) == 7.0


def test_a_static_list() -> None:
    @gpu.kernel
    def weighed(x, *, weights):
        gpu.launch(threads=64)
        x[gpu.thread] = sum(weights)

    weights = [1.0, 2.0]
    assert value_of(weighed, weights=weights) == 3.0
    weights.append(4.0)
    assert value_of(weighed, weights=weights) == 7.0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda: ARRAY[0], r"uses ARRAY, an array, .* tuple\(ARRAY.tolist\(\)\)"),
        (lambda: SETTINGS.shifted(1.0), r"uses SETTINGS.table, an array"),
        (lambda: GENERATOR.random(), r"uses GENERATOR, a numpy\.random\._generator\.Generator, which may change"),
        (lambda: TENSOR[0], r"uses TENSOR, an array"),
        (lambda: globals()["TILE"], r"uses globals\(\), by which it may read anything"),
        (lambda: eval("TILE"), r"uses eval\(\)"),
        (lambda: len(vars(MODULE)), r"uses the module MODULE as a value; write MODULE.NAME"),
    ],
)
def test_what_may_change_unseen_is_refused(value: Callable[[], object], message: str) -> None:
    with pytest.raises(KernelError, match=rf"test_captures\.py:\d+: stored {message}"):
        value_of(stores(value))


MODULE = sys.modules[__name__]
GENERATOR = np.random.default_rng(0)
TENSOR = make_tensor(np.zeros(3, np.float32))


def test_the_guard_of_a_tensor_is_part_of_the_key() -> None:
    @gpu.kernel
    def filled(t):
        gpu.launch(threads=64)
        with gpu.when(gpu.thread < 8):
            t[gpu.thread, 1] = 1.0

    base = np.zeros((10, 10), np.float32)
    T = make_tensor(base)
    corner = local_tile(T, (8, 8), (1, 1))
    narrow = local_tile(local_tile(T, (10, 9), (0, 0)), (8, 8), (1, 1))
    assert corner.layout == narrow.layout and corner.offset == narrow.offset
    filled.interpret(corner)
    assert base.sum() == 2
    base[:] = 0
    filled.interpret(narrow)
    assert base.sum() == 0, "column 9 does not exist here"


#: Ids of whichever launch asked first.
KEPT_IDS: dict[str, object] = {}


def kept_id(what: str) -> object:
    return KEPT_IDS.setdefault(what, gpu.thread * 1 if what == "thread" else gpu.workgroup.x)


@pytest.mark.parametrize("what", ["thread", "workgroup"])
def test_an_id_of_another_launch_is_refused(what: str) -> None:
    """There `% 4` was nothing, for its 4 threads; here it is."""

    @gpu.kernel
    def taken(x, y, *, count):
        gpu.launch(threads=count) if what == "thread" else gpu.launch(grid=count, threads=1)
        at = gpu.thread if what == "thread" else gpu.workgroup.x
        y[at] = x[kept_id(what) % 4]

    KEPT_IDS.clear()
    x, y = np.arange(4, dtype=np.float32), np.zeros(8, np.float32)
    taken.interpret(x, y, count=4)
    taken.interpret(x, y, count=3)
    assert y.tolist() == [0, 1, 2, 3, 0, 0, 0, 0]
    for run in (taken.interpret, taken.verify):
        with pytest.raises(KernelError, match=r"test_captures\.py:\d+: kernel taken uses .* of another launch"):
            run(x, y, count=8)


def in_module(kind: Kind, wrapped: str, name: str) -> dict[str, Any]:
    """A module in which H is of a kind, `read()` reads it and `of(h)` does what that does with H."""
    space: dict[str, Any] = {"__name__": name}
    exec(SETUP, space)
    put, taken = WRAPPED[wrapped]
    exec(f"{kind.made}\n{put}", space)
    held = taken.format("H")
    text = re.sub(r"\bH\b", held, kind.read) if wrapped != "itself" else kind.read
    exec(f"def read(): return {text}\ndef of(h): return {re.sub(chr(92) + 'bH' + chr(92) + 'b', 'h', text)}", space)
    return space


def kernel_of_a_global(space: dict[str, Any]) -> Callable[[], float]:
    kernel = stores(space["read"])
    return lambda: value_of(kernel)


def kernel_with_a_static_argument(space: dict[str, Any]) -> Callable[[], float]:
    of = space["of"]

    @gpu.kernel
    def given(x, *, h):
        gpu.launch(threads=64)
        x[gpu.thread] = of(h)

    return lambda: value_of(given, h=space["H"])


def pointwise_operation(space: dict[str, Any]) -> Callable[[], float]:
    read = space["read"]
    operation = gpu.pointwise(lambda a: a + read())
    return lambda: float(operation(np.zeros(4, np.float64).astype(np.float32), engine="interpreter").numpy()[0])


def attempt(run: Callable[[], object]) -> object:
    """The number that a call gives, as an f32, or the type of its error."""
    try:
        with np.errstate(all="ignore"):
            return float(np.float32(run()))
    except Exception as error:
        return type(error)


WAYS = kernel_of_a_global, kernel_with_a_static_argument, pointwise_operation


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_no_kernel_of_a_state_that_has_changed_runs(way: Callable[..., Any], wrapped: str) -> None:
    """What plain Python reads after a change is what the kernel reads, or the kernel is refused.

    Each kind meets each wrapping in one kernel, of a global or of an argument; a pointwise operation, which takes ten
    times as long, meets each kind in one wrapping.
    """
    kept = dict(vars(math)), decimal.getcontext().copy(), dict(os.environ)
    stale, refused, right = [], 0, 0
    each = (1 if ALL else 3) * (len(WRAPPED) if way is pointwise_operation else 2)
    first = (list(WRAPPED).index(wrapped) + WAYS.index(way)) % each
    for number, kind in list(enumerate(KINDS.values()))[first::each]:
        fresh = f"{kind.made}\n{WRAPPED[wrapped][0]}"
        again = fresh.replace("2.0", "3.0").replace("'2", "'3").replace("(2,", "(3,")
        for change in (*kind.changes, again):
            space = in_module(kind, wrapped, f"captured_{number}")
            run = way(space)
            attempt(run)
            if WRAPPED[wrapped][0] != "H = H" and "H" in re.findall(r"\w+", change) and change != again:
                change = re.sub(r"\bH\b", f"({WRAPPED[wrapped][1].format('H')})", change)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(change, space)
            got, want = attempt(run), attempt(space["read"])
            refused += got is KernelError
            right += got == want
            if got is not KernelError and got != want:
                stale.append(f"{kind.name} -> {change}: {got}, not {want}")
        decimal.setcontext(kept[1].copy())
        math.tau = kept[0]["tau"]  # type: ignore[misc]
    os.environ.pop("CUTEPY_TEST", None)
    assert not stale, "\n".join(stale)
    assert right > (200 if ALL else 100) // each, (right, refused)


SCALE = [2.0]


@dataclasses.dataclass
class Held:
    x: object
    y: object
    constant: ClassVar[float] = 2.0

    def scaled(self, i):
        self.y[i] = self.x[i] * SCALE[0] * self.constant


class HeldTuple(NamedTuple):
    x: object
    y: object

    def scaled(self, i):
        self.y[i] = self.x[i] * SCALE[0] * HeldTuple.constant


HeldTuple.constant = 2.0  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [Held, HeldTuple])
def test_the_class_of_an_argument_that_holds_tensors_is_part_of_the_key(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    @gpu.kernel
    def run(pair):
        gpu.launch(threads=8)
        pair.scaled(gpu.thread)

    def result() -> float:
        x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
        run.interpret(kind(x, y))
        return float(y[0])

    assert result() == 4.0
    monkeypatch.setattr(sys.modules[__name__], "SCALE", [3.0])
    assert result() == 6.0
    monkeypatch.setattr(kind, "constant", 5.0)
    assert result() == 15.0
    monkeypatch.setattr(kind, "scaled", lambda self, i: self.y.__setitem__(i, 7.0))
    assert result() == 7.0


def test_the_keys_of_a_dictionary_argument_are_told_apart_by_type() -> None:
    @gpu.kernel
    def run(tables):
        gpu.launch(threads=8)
        (key,) = tables
        tables[key][gpu.thread] = 2.0 if key is True else 1.0 if type(key) is int else 3.0

    for key, want in [(1, 1.0), (True, 2.0), (1.0, 3.0)]:
        x = np.zeros(8, np.float32)
        run.interpret({key: x})
        assert x[0] == want


def test_defaults_of_static_arguments_that_are_replaced() -> None:
    @gpu.kernel
    def run(x, *, c=2.0):
        gpu.launch(threads=64)
        x[gpu.thread] = c

    assert value_of(run) == 2.0
    run.function.__kwdefaults__["c"] = 3.0
    assert value_of(run) == 3.0
    run.function.__kwdefaults__ = {"c": 4.0}
    assert value_of(run) == 4.0


def test_a_structure_too_deep_or_too_large_is_refused() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(KernelError, match="nested too deeply"):
        value_of(stores(lambda: float(len(deep))))
    many = [[i] for i in range(150_000)]
    with pytest.raises(KernelError, match="more than 100000 objects"):
        value_of(stores(lambda: float(len(many))))
    while deep:  # one level after another: Python's own deallocation is as deep as the list
        deep = deep.pop()  # type: ignore[assignment]


def test_what_was_read_of_static_arguments_in_turn_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions by identity, plans of cutepy by value; what changed since is read anew, and few are kept."""
    level = [1]

    def low(x: object) -> object:
        return x, level[0]

    def high(x: object) -> object:
        return x, 3

    read: list[object] = []
    whole = _Reader.whole
    monkeypatch.setattr(_Reader, "whole", lambda self, name: read.append(self.subject) or whole(self, name))
    captures = Captures(high)
    plans = [plan_of_tile((1, 1024), (0, 1), 4), plan_of_tile((1, 64), (0, 32), 1)]
    for _turn in range(3):
        for value in (low, high, *map(dataclasses.replace, plans)):
            captures.static({"s": value})
    assert read == [low, high, *plans]
    before = captures.static({"s": low})
    level[0] = 2
    assert captures.static({"s": low}) != before and read[4:] == [low]
    for n in range(3 * READ):
        captures.static({"s": (n,)})
    assert len(captures._static) <= READ
