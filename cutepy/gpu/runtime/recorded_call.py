"""What a call launched, to be launched again over other buffers.

Law: where another call's allocations and launches are those of the recorded one, `run` allocates and launches the same,
and gives the same view of the buffer that holds the result.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...tensor import Tensor
from . import Device, DeviceBuffer
from .batch import Played, Tape
from .device_tensor import DeviceEngine, Result

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(slots=True)
class CallKey:
    """A call as it is compared: what is `common` to all calls of its class and the `sizes` of its tensors, for each its
    shape, its stride, its offset and its length (of a layout with a function outside, that layout and None); and what
    is not compared: its buffers, each once, and its numbers."""

    common: tuple[Hashable, ...]
    sizes: tuple[Any, ...]
    device: Device
    buffers: list[DeviceBuffer]
    numbers: list[float]


@dataclass(slots=True, eq=False)
class Recorded:
    """The launches of a call, which never change. Buffers count through those of its tensors and then those that it
    makes, of these bytes; what varies of each launch is which parameter is which of the call's numbers. What is bound
    is kept of a call that was made several `times`: many are made once or twice."""

    made: tuple[int, ...]
    launches: tuple[Played, ...]
    varying: tuple[tuple[tuple[int, int], ...], ...]
    result: Result
    times: int = 0

    def run(self, call: CallKey, args: Sequence[object]) -> object:
        """The call over these buffers and numbers."""
        buffers, result, kept = call.buffers, self.result, self.kept(call)
        if call.numbers:
            new = call.device.replay(self.made, self._with(call.numbers), buffers, kept)
        else:
            new = call.device.replay(self.made, self.launches, buffers, kept, self if self.times > 1 else None)
            self.times += 1
        if result.argument is not None:
            return args[result.argument]
        if result.dtype is None:
            return None
        return result.over(new if new is not None else buffers[result.buffer])

    def kept(self, call: CallKey) -> int:
        """Which of the buffers that it makes holds its result; -1 for none."""
        return self.result.buffer - len(call.buffers) if self.result.dtype is not None else -1

    def _with(self, numbers: list[float]) -> Sequence[Played]:
        """The launches with these numbers in their places."""
        launches: list[Played] = []
        for (program, bound, params, grid), varying in zip(self.launches, self.varying, strict=True):
            values = list(params)
            for number, which in varying:
                values[number] = single(numbers[which])
            launches.append((program, bound, values, grid))
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
        launches.append((program, tuple(places[id(operand)] for operand in operands), params, program.grid))
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
