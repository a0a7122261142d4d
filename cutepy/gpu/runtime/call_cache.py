"""Operations whose launches are recorded at the first call, and replayed by calls with like operands.

Law: what an operation allocates and launches follows from its static arguments and from the layouts, types and lengths
of its tensors, so a call with an equal key is the same launches over other buffers. It is recorded where the call did
nothing else on the device; any other call is computed anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from struct import pack
from typing import Any, ParamSpec, TypeVar, cast, overload
from weakref import WeakSet

import numpy as np

from ...layout import ComposedLayout, Layout
from ...tensor import DType, Tensor
from ...tensor.functions import Function
from . import Device, DeviceBuffer
from .batch import Played, Tape, taped
from .deferral import Deferral
from .device_tensor import DeviceEngine, settled

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

KEPT = 1024
"""Calls that one operation remembers."""
_STATIC = {int, bool, str, type(None), DType, Function}
_LARGEST = float(np.finfo(np.float32).max)


def static_type(kind: type[T]) -> type[T]:
    """Mark a class, as its decorator: objects that are equal are equal arguments of a `cached_launches` operation.

    Its objects must be hashable and never change, as those of a frozen dataclass of numbers. A call with an argument of
    any other class, beside tensors, numbers, texts, element types and tuples of integers, is not recorded.

    >>> from dataclasses import dataclass
    >>> @static_type
    ... @dataclass(frozen=True)
    ... class Tile:
    ...     rows: int
    """
    _STATIC.add(kind)
    return kind


def is_static(kind: type) -> bool:
    """Whether objects of this class that are equal are equal arguments, as its `static_type` says."""
    return kind in _STATIC


@dataclass(slots=True)
class CallKey:
    """A call as it is compared: its key, its buffers, each once, and its numbers, which the key does not hold."""

    key: tuple[Hashable, ...]
    device: Device
    buffers: list[DeviceBuffer]
    numbers: list[float]


def key_of(args: Iterable[object], *, numbers: bool = False) -> CallKey | None:
    """The key of a call over tensors of one device; None for a call that is not recorded.

    With `numbers`, floats are launch parameters: the key has their type alone.
    """
    key: list[Hashable] = []
    buffers: list[DeviceBuffer] = []
    given: list[float] = []
    for value in args:
        # Exact types: a subclass may hold state that its equality does not compare.
        kind: type = type(value)
        if type(value) is Tensor:
            engine = value.engine
            if (type(engine) is not DeviceEngine and not settled(engine)) or value.guard is not None:
                return None
            assert isinstance(engine, DeviceEngine)
            buffer = engine.buffer
            # Buffers enter the key by their order of first use, so other buffers make the same key, and equal ones stay
            # equal.
            if buffer in buffers:
                slot = buffers.index(buffer)
            else:
                slot = len(buffers)
                buffers.append(buffer)
            key += slot, value.layout, value.offset, engine.dtype.name, engine.length, engine.writable
        elif kind in _STATIC:
            key += kind, value
        elif numbers and (kind is float or kind is np.float32):
            key.append(kind)
            given.append(cast(float, value))
        elif kind is float:  # by its bits: 0.0 is not -0.0, and a NaN is itself
            key += kind, pack("d", value)
        elif type(value) is tuple and all(type(item) is int for item in value):
            key += kind, value
        else:
            return None
    if not buffers:
        return None
    device = buffers[0].device
    # A recording belongs to one device.
    for buffer in buffers:
        if buffer.device is not device:
            return None
    key.append(device.uid)
    return CallKey(tuple(key), device, buffers, given)


@dataclass(frozen=True, slots=True)
class Result:
    """Where a call leaves its result: in its argument `argument`, in a buffer, as a tensor of its own, or nowhere."""

    argument: int | None = None
    buffer: int = 0
    dtype: DType | None = None
    length: int = 0
    layout: Layout | ComposedLayout | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """The launches of a call. Buffers count through those of its tensors and then those that it makes, of these bytes;
    what varies of each launch is which parameter is which of the call's numbers."""

    made: tuple[int, ...]
    launches: tuple[Played, ...]
    varying: tuple[tuple[tuple[int, int], ...], ...]
    result: Result

    def run(self, call: CallKey, args: Sequence[object]) -> object:
        """The call over these buffers and numbers."""
        buffers, result = call.buffers, self.result
        kept = result.buffer - len(buffers) if result.dtype is not None else -1
        # Without numbers of the call, the same buffers make the same launches.
        if call.numbers:
            new = call.device.replay(self.made, self._with(call.numbers), buffers, None, kept)
        else:
            new = call.device.replay(self.made, self.launches, buffers, self, kept)
        if result.argument is not None:
            return args[result.argument]
        if result.dtype is None or result.layout is None:
            return None
        buffer = new if new is not None else buffers[result.buffer]
        return Tensor(DeviceEngine(buffer, result.dtype, result.length), result.layout, result.offset)

    def _with(self, numbers: list[float]) -> list[Played]:
        """The launches with these numbers in their places."""
        launches: list[Played] = []
        for (program, bound, params), varying in zip(self.launches, self.varying, strict=True):
            values = list(params)
            for number, which in varying:
                values[number] = single(numbers[which])
            launches.append((program, bound, values))
        return launches


def single(number: float) -> float:
    """A number that an f32 holds or rounds to: what is beyond the greatest is infinite.

    >>> single(1e300), single(0.5)
    (inf, 0.5)
    """
    if -_LARGEST <= number <= _LARGEST:
        return float(number)
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def recorded(
    tape: Tape, call: CallKey, args: Sequence[object], result: object, names: tuple[str, ...] = ()
) -> Recorded | None:
    """The launches on a tape, with what varies: parameters by these `names` are the call's numbers, in order."""
    buffers = [*call.buffers, *tape.made]
    places = {id(buffer): number for number, buffer in enumerate(buffers)}
    # The call did something else on the device, such as a read: it is not recorded.
    if not tape.whole:
        return None
    launches, varying = [], []
    for program, operands, params in tape.launches:
        # A buffer from elsewhere, which the key does not cover.
        if any(id(operand) not in places for operand in operands):
            return None
        varying.append(tuple((i, names.index(p.name)) for i, p in enumerate(program.params) if p.name in names))
        launches.append((program, tuple(places[id(operand)] for operand in operands), params))
    # A number that no launch has as a parameter of its name may be part of another.
    if {which for each in varying for _, which in each} != set(range(len(names))):
        return None
    kept = _result_of(result, args, places)
    return None if kept is None else Recorded(tuple(b.nbytes for b in tape.made), tuple(launches), tuple(varying), kept)


def _result_of(result: object, args: Sequence[object], places: dict[int, int]) -> Result | None:
    """Where the result is, among the arguments or in one of the buffers; None where it is elsewhere."""
    if not isinstance(result, Tensor):
        return Result() if result is None else None
    argument = next((number for number, value in enumerate(args) if value is result), None)
    if argument is not None:
        return Result(argument)
    # A result in a buffer of the call: as a new tensor over it.
    engine = result.engine
    if not isinstance(engine, DeviceEngine) or id(engine.buffer) not in places:
        return None
    return Result(None, places[id(engine.buffer)], engine.dtype, engine.length, result.layout, result.offset)


class CallCache:
    """The recorded calls of one operation, at most `KEPT`; `cached_launches` makes one for a function.

    A `patient` one records a call when it is made again: its calls may differ in where views begin without end.

    >>> kept = CallCache()
    >>> kept.call((1, 2), lambda: "nothing of a device: computed")
    'nothing of a device: computed'
    >>> CallCache.clear_all(); len(kept.recorded)
    0
    """

    def __init__(self, *, patient: bool = False) -> None:
        self.recorded: dict[Hashable, Recorded] = {}
        self._met: set[int] | None = set() if patient else None
        _CACHES.add(self)

    def call(
        self,
        args: Sequence[object],
        uncached: Callable[[], R],
        *,
        key: Callable[[], Hashable] = tuple,
        parameters: Callable[[], tuple[str, ...]] | None = None,
    ) -> R:
        """What `uncached()` gives and launches: by the recorded launches of an equal call, where there are any.

        `key()` is what a call depends on beside `args`. With `parameters`, floats among `args` are launch parameters,
        and `parameters()` names them in order: another value is the same call.
        """
        call = key_of(args, numbers=parameters is not None)
        if call is None:
            return uncached()
        # The recorded launches of an equal call, else a first call under a tape.
        whole = call.key, key()
        entry = self.recorded.get(whole)
        if entry is not None:
            return cast(R, entry.run(call, args))
        if self._met is not None and not self._met_before(hash(whole)):
            return uncached()
        with taped(call.device) as tape:
            result = uncached()
        made = recorded(tape, call, args, result, parameters() if parameters is not None else ())
        if made is not None:
            # A full cache is emptied: keys that vary without end would fill any cache.
            if len(self.recorded) >= KEPT:
                self.recorded.clear()
            self.recorded[whole] = made
        return result

    def _met_before(self, digest: int) -> bool:
        """Whether a call with this hash was made; it is from now on."""
        assert self._met is not None
        if digest in self._met:
            return True
        if len(self._met) >= KEPT:
            self._met.clear()
        self._met.add(digest)
        return False

    @staticmethod
    def clear_all() -> None:
        """Drop the recorded calls of every operation: what an operation would launch may be another thing now."""
        for cache in _CACHES:
            cache.recorded.clear()


_CACHES: WeakSet[CallCache] = WeakSet()


@overload
def cached_launches(operation: Callable[P, R]) -> Callable[P, R]: ...
@overload
def cached_launches(*, deferred: bool) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def cached_launches(operation: Callable[..., Any] | None = None, *, deferred: bool = False) -> Callable[..., Any]:
    """A decorator: an operation whose launches are recorded at the first call, and replayed by calls like it.

    Calls are alike whose tensors are on one device and have equal layouts and types, and whose other arguments are
    equal; what the operation allocates and launches must follow from these alone, not from elements. A call with
    arguments that are not static (`static_type`) is computed as if there were no decorator; and so is, inside a block
    such as `gpu.fused`, a call of an operation that is `deferred`, for it asks the block to take the call.

    >>> @cached_launches
    ... def doubled(x):
    ...     return x
    >>> doubled(3)
    3
    """
    if operation is None:
        return partial(_cached, deferred=deferred)
    return _cached(operation, deferred=deferred)


def _cached(operation: Callable[P, R], *, deferred: bool) -> Callable[P, R]:
    cache = CallCache()

    @wraps(operation)
    def call(*args: P.args, **named: P.kwargs) -> R:
        if deferred and Deferral.current() is not None:
            return operation(*args, **named)
        given: tuple[object, ...] = (*args, *named.values()) if named else args
        return cache.call(given, lambda: operation(*args, **named), key=lambda: tuple(named))

    return call
