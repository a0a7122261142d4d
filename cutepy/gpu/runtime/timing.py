"""Launches timed beside one another: what was tried, how long each took, and what is the quickest.

Law: launches are timed in turn, so that a change of the GPU's clock meets all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Generic, TypeVar

from .device import Device

Choice = TypeVar("Choice")
CLOCK_STEPS, ROUND_SECONDS = 100, 3e-4
"""Steps of the clock, and seconds, that a round takes at least."""
ROUNDS, TOO_SLOW = 9, 2.0
"""Rounds, and how many times the quickest plan's time a plan may take to be in them."""
WARM_SECONDS, BATCH_SECONDS = 0.6, 2e-3
"""Seconds of launches before the first round, at most, and those of one batch: an H200 that waited for 3 s, or worked a
tenth of the last 2 s, has 345 MHz, and takes 0.3 s of launches to its 1980."""
AS_QUICK = 1.03
"""How much more than the least time of a plan it may take on a GPU that has not slowed down."""


@dataclass(frozen=True, slots=True)
class Trial(Generic[Choice]):
    """A plan that was tried: its seconds, or why it was dropped; `early` where no driver saw it.

    >>> print(Trial("32 threads", 2e-6))
    32 threads         2.0 us
    """

    plan: Choice
    seconds: float | None = None
    dropped: str = ""
    early: bool = False

    def __str__(self) -> str:
        found = self.dropped if self.seconds is None else f"{1e6 * self.seconds:10.1f} us"
        return f"{getattr(self.plan, 'label', self.plan)}  {found}"


@dataclass(frozen=True, slots=True)
class Tuning(Generic[Choice]):
    """What was found for a `problem`: its plan, the seconds of one launch, what was tried; `cached` if it was known.

    >>> trials = Trial("32 threads", 2e-6), Trial("7 threads", dropped="refuted")
    >>> print(Tuning("sums of 64", "32 threads", 2e-6, trials))
    sums of 64: 2.0 us
    32 threads         2.0 us  <
    7 threads  refuted
    """

    problem: object
    plan: Choice
    seconds: float
    trials: tuple[Trial[Choice], ...]
    cached: bool = False

    def __str__(self) -> str:
        name = getattr(self.problem, "label", self.problem)
        lines = [f"{name}: {1e6 * self.seconds:.1f} us" + ", known" * self.cached]
        return "\n".join([*lines, *(f"{trial}{'  <' * (trial.plan == self.plan)}" for trial in self.trials)])


def seconds_in_turn(device: Device, launches: Sequence[Callable[[], None]], quick: float = 0.0) -> list[float]:
    """Median times of launches, in turn: at one clock of the GPU for all; those that are too slow are launched twice.

    The GPU is warmed until the first launch is as quick as it was before: `quick` seconds.
    """
    # How long each takes, roughly: the lesser of two launches.
    once = [min(_round(device, launch, 1) for _ in "12") for launch in launches]
    batch = max(1, min(256, int(BATCH_SECONDS / max(once[0], 1e-9))))
    warm = time.perf_counter() + WARM_SECONDS
    while _round(device, launches[0], batch) > AS_QUICK * quick and time.perf_counter() < warm:
        pass
    # A round has as many launches as the clock can measure: 1 us with timestamps of the GPU, else 10 us.
    least = max(ROUND_SECONDS, CLOCK_STEPS * (1e-6 if "timestamp-query" in device.features else 1e-5))
    repeats = [max(1, min(256, ceil(least / max(seconds, 1e-9)))) for seconds in once]
    times = [[seconds] if seconds > TOO_SLOW * min(once) else [] for seconds in once]
    # Launch after launch, round after round, so that a change of the GPU's clock meets all of them.
    left = [place for place, found in enumerate(times) if not found]
    for _ in range(ROUNDS):
        for place in left:
            times[place].append(_round(device, launches[place], repeats[place]))
    return [sorted(found)[len(found) // 2] for found in times]


def _round(device: Device, launch: Callable[[], None], repeats: int) -> float:
    """Seconds of one launch, of so many in a row: by the GPU's timestamps where there are any."""
    if "timestamp-query" in device.features:
        with device.timed() as watch:
            for _ in range(repeats):
                launch()
        return watch.seconds / repeats
    start = time.perf_counter()
    for _ in range(repeats):
        launch()
    device.wait()
    return (time.perf_counter() - start) / repeats
