"""`kernel.tune`: the fastest choice of static arguments on this machine, found by timing those that are proven.

Law: a choice is found again for the kernel's text, the adapter, its driver, the version of cutepy, the choices that
there are, and the class of its arguments: their types, the order of their modes, their extents to half an octave. The
elements of the arguments stay as they are.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import product
from typing import Any, Protocol

import numpy as np

from ...errors import CutepyError, KernelError
from ...layout import Layout
from ...layout.values.int_tuple import leaves
from ...tensor import Tensor, make_tensor
from ...tensor.engine import Engine
from ...tensor.packed import PackedEngine, words_as
from ..runtime import Device, default_device
from ..runtime.device_tensor import DeviceEngine, array
from ..runtime.plan_file import PlanFile, size_class
from ..runtime.program import Program
from ..runtime.timing import Trial, Tuning, seconds_in_turn

FINALISTS, FIRST_ROUNDS = 4, 0.75
"""Choices that are timed again, and the part of the seconds after which the first trials end."""
WORSE_CONFLICTS = 2
"""How many times the least bank conflicts a choice may have."""


class Choice(dict[str, Any]):
    """Static arguments of a kernel, by name: `kernel(*arguments, **choice)`."""

    @property
    def label(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.items())


@dataclass(frozen=True, slots=True)
class TuningOptions:
    """The seconds that all may take, whether what was found before counts for nothing, and whether trials are shown."""

    seconds: float
    again: bool
    progress: bool


class Tunable(Protocol):
    """What is asked of a kernel, with its arguments and static arguments; its text is `str(kernel)`."""

    @property
    def function(self) -> Callable[..., None]: ...
    def __call__(self, *args: Any, **static: Any) -> None: ...
    def program(self, *args: Any, **static: Any) -> Program: ...
    def verify(self, *args: Any, **static: Any) -> Any: ...
    def report(self, *args: Any, **static: Any) -> Any: ...


def choices_of(over: Mapping[str, Iterable[object]] | Iterable[Mapping[str, object]]) -> list[Choice]:
    """Every choice, the first first: of a mapping all combinations, of anything else what is in it.

    >>> [choice.label for choice in choices_of({"threads": (64, 128), "pad": (0, 1)})][:3]
    ['threads=64, pad=0', 'threads=64, pad=1', 'threads=128, pad=0']

    Raises KernelError where there is none, and for a value that no other process knows by its text.
    """
    if isinstance(over, Mapping):
        found = [Choice(zip(over, values, strict=True)) for values in product(*over.values())]
    else:
        found = [Choice(choice) for choice in over]
    if not found:
        raise KernelError(
            f"tune: over={over!r} has no choice; give each static argument its values, {{'threads': (64, 128)}}"
        )
    for name, value in (pair for choice in found for pair in choice.items()):
        if " at 0x" in repr(value):
            raise KernelError(
                f"tune: {name}={value!r} has no text that another process knows it by; give a value with one"
            )
    return found


def class_of(value: object) -> str:
    """The class of an argument: of a tensor its type, the classes of its extents, the order of its strides.

    >>> from cutepy.tensor import make_tensor
    >>> class_of(make_tensor("f32", (100, 64))), class_of(2.0)
    ('f32 13*,12* 0,1', 'float')
    """
    if isinstance(value, tuple | list):
        return f"({'; '.join(map(class_of, value))})"
    if isinstance(value, Mapping):
        return f"({'; '.join(f'{name}: {class_of(each)}' for name, each in value.items())})"
    if not isinstance(value, Tensor):
        if not _is_array(value):
            return type(value).__name__
        value = make_tensor(value)
    extents = list(leaves(value.shape))
    strides = [abs(step) for step in leaves(value.stride)] if isinstance(value.layout, Layout) else []
    order = [sorted({*strides}).index(step) for step in strides]
    return f"{value.dtype.name} {','.join(map(size_class, extents))} {','.join(map(str, order))}"


def _is_array(value: Any) -> bool:
    return bool(getattr(value, "__array_interface__", None)) and np.ndim(value) > 0


def copied(value: object, device: Device, buffers: dict[int, Any]) -> Any:
    """An argument with elements of its own on a device: tensors over one buffer share it afterwards, too."""
    if isinstance(value, tuple | list):
        return type(value)(copied(each, device, buffers) for each in value)
    if isinstance(value, Mapping):
        return {name: copied(each, device, buffers) for name, each in value.items()}
    if isinstance(value, Tensor) and device_of(value) is not None:
        return Tensor(_own(value.engine, device, buffers), value.layout, value.offset, value.guard)
    if isinstance(value, Tensor) or _is_array(value):
        return array(value, device=device)
    return value


def _own(engine: Engine, device: Device, buffers: dict[int, Any]) -> Engine:
    """An engine on a device over a buffer of its own."""
    if isinstance(engine, PackedEngine):
        return words_as(_own(engine.words, device, buffers), engine.dtype)
    assert isinstance(engine, DeviceEngine)
    if engine.buffer.uid not in buffers:
        buffers[engine.buffer.uid] = device.upload(engine.buffer.read())
    buffer = buffers[engine.buffer.uid]
    return DeviceEngine(buffer, engine.dtype, engine.length, engine.space, engine.name, engine.writable)


def device_of(value: object) -> Device | None:
    """The device of an argument, or of the first of its parts that has one."""
    if isinstance(value, tuple | list | Mapping):
        inside = value.values() if isinstance(value, Mapping) else value
        return next((device for each in inside if (device := device_of(each)) is not None), None)
    engine = value.engine if isinstance(value, Tensor) else None
    engine = engine.words if isinstance(engine, PackedEngine) else engine
    return engine.device if isinstance(engine, DeviceEngine) else None


@dataclass(slots=True)
class _Trials:
    """Choices tried on a device, each beside the first that could be timed."""

    kernel: Tunable
    device: Device
    args: tuple[Any, ...]
    static: Mapping[str, object]
    least_conflicts: float = math.inf
    first: Trial[Choice] | None = None
    quickest: float = 0.0  # the least seconds of the first: how quick the warm GPU is
    launches: dict[str, Callable[[], None]] = field(default_factory=dict)
    programs: dict[Program, str] = field(default_factory=dict)

    def of(self, choice: Choice) -> Trial[Choice]:
        """One choice: dropped, or timed."""
        named = {**self.static, **choice}
        try:
            # What no driver has to see: an equal program, a refuted one, one with more conflicts.
            program = self.kernel.program(*self.args, dialect=self.device.dialect, **named)
            same = self.programs.setdefault(replace(program, checked=False), choice.label)
            if same != choice.label:
                return Trial(choice, dropped=f"the same program as {same}", early=True)
            # By the prover that a launch asks: the other one takes seconds for what this one leaves undecided.
            verdict = self.kernel.verify(*self.args, prover="cutepy", **named)
            if verdict.refuted:
                return Trial(choice, dropped=f"refuted: {verdict.refuted[0]}"[:200], early=True)
            conflicts = self.kernel.report(*self.args, **named).worst_conflict
            if conflicts > WORSE_CONFLICTS * self.least_conflicts:
                return Trial(choice, dropped=f"{conflicts}-way conflicts", early=True)
            self.least_conflicts = min(self.least_conflicts, max(1, conflicts))
            launch = partial(self.kernel, *self.args, **named)
            launch()
            self.device.wait()
        except CutepyError as error:
            return Trial(choice, dropped=str(error).splitlines()[0][:200])
        self.launches[choice.label] = launch
        return self.timed([choice])[0]

    def timed(self, choices: Sequence[Choice]) -> list[Trial[Choice]]:
        """Choices that were launched, timed in turn with the first: in its seconds at the clock that there was then."""
        first = self.first.plan if self.first else choices[0]
        beside = [first, *[choice for choice in choices if choice != first]]
        with PlanFile.alone():
            took = seconds_in_turn(self.device, [self.launches[choice.label] for choice in beside], self.quickest)
        self.quickest = min(took[0], self.quickest or took[0])
        scale = self.first.seconds / took[0] if self.first and self.first.seconds else 1.0
        found = {choice.label: Trial(choice, scale * seconds) for choice, seconds in zip(beside, took, strict=True)}
        self.first = self.first or found[first.label]
        return [found[choice.label] for choice in choices]


def tune_kernel(
    kernel: Tunable,
    args: tuple[object, ...],
    static: Mapping[str, object],
    over: Mapping[str, Iterable[object]] | Iterable[Mapping[str, object]],
    how: TuningOptions,
) -> Tuning[Choice]:
    """See `KernelFunction.tune`."""
    device = device_of(args) or default_device()
    choices = choices_of(over)
    name = kernel.function.__qualname__
    told = "\n".join([str(kernel), repr(sorted(static.items(), key=str)), *[choice.label for choice in choices]])
    problem = f"{name} {'; '.join(map(class_of, args))}"
    key = PlanFile.key(device.adapter, f"{problem} {sha256(told.encode()).hexdigest()[:16]}")
    if not how.again and (kept := _kept(key, choices)) is not None:
        return Tuning(problem, *kept, (), cached=True)
    PlanFile.lock().close()  # raises where nothing can be kept, before anything is compiled
    buffers: dict[int, Any] = {}
    start = time.perf_counter()
    trying = _Trials(kernel, device, tuple([copied(value, device, buffers) for value in args]), static)
    # First each choice once, beside the first; then the quickest again, in turn.
    trials: list[Trial[Choice]] = []
    for choice in choices:
        if trials and time.perf_counter() - start > FIRST_ROUNDS * how.seconds:
            trials.append(Trial(choice, dropped="there was no time for it", early=True))
            continue
        trials.append(trying.of(choice))
        if how.progress:
            print(trials[-1], file=sys.stderr, flush=True)
    timed = sorted((t for t in trials if t.seconds is not None), key=lambda t: t.seconds or 0.0)
    if not timed:
        why = {trial.dropped: trial for trial in reversed(trials)}  # of each reason the first
        raise KernelError(f"tune: no choice of {name} could be timed; {'; '.join(map(str, reversed(why.values())))}")
    best = min(trying.timed([t.plan for t in timed[:FINALISTS]]), key=lambda t: t.seconds or 0.0)
    assert best.seconds is not None
    PlanFile.keep(key, {"choice": best.plan.label, "seconds": best.seconds})
    return Tuning(problem, best.plan, best.seconds, tuple(trials))


def _kept(key: str, choices: Sequence[Choice]) -> tuple[Choice, float] | None:
    """The choice that was found before, by any process, and its seconds."""
    entry = PlanFile.entries().get(key)
    if entry is None:
        return None
    with suppress(TypeError, KeyError, ValueError):
        found = next((choice for choice in choices if choice.label == entry["choice"]), None)
        if found is not None:
            return found, PlanFile.seconds_of(entry)
    PlanFile.warn(f"what is kept for {key!r} in {PlanFile.path()} is none of the choices, and is not taken")
    return None
