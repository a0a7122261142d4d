"""Faults of drivers that a kernel can meet, and what is done about each: one table.

Law: a program that would meet a fault of its device's driver is refused, and one that may meet it is warned of, once.
Each fault has a test that shows it on the driver, so that an entry goes when the driver is mended.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...errors import DeviceError
from .adapters import Adapter
from .program import Program

LLVMPIPE_ITERATIONS = 65_536
"""Iterations of all loops of an invocation. Mesa's gallivm counts them, inner loops and the test that ends each
included, down from LP_MAX_TGSI_LOOP_ITERATIONS = 65,535. At 0 every loop ends after its current iteration; the last
loop may do without its test."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What a driver does wrong. `has` tells adapters that do; `meets` gives what a launch would meet, and whether it
    certainly would; empty where it does not."""

    name: str
    has: Callable[[Adapter], bool]
    meets: Callable[[Program, Sequence[float]], tuple[str, bool]]
    way_out: str


def _too_many_iterations(program: Program, params: Sequence[float]) -> tuple[str, bool]:
    most = sum(loop.most(params) for loop in program.loops)
    if most <= LLVMPIPE_ITERATIONS:
        # How many turns a wait takes is up to other invocations.
        waits = " and ".join(program.waits)
        what = f"the loop at {waits} waits for other invocations, and ends after {LLVMPIPE_ITERATIONS} turns"
        return what if waits else "", False
    least = sum(loop.least(params) for loop in program.loops)
    certain = least > LLVMPIPE_ITERATIONS
    return f"its loops take {least if certain else most} turns, and end after {LLVMPIPE_ITERATIONS} together", certain


FAULTS = (
    Fault(
        "loops end early",
        lambda adapter: "llvmpipe" in adapter.name,
        _too_many_iterations,
        "share the turns out over more threads or launches, or run it on another driver or in the interpreter",
    ),
)


def faults_of(adapter: Adapter) -> tuple[Fault, ...]:
    """The faults of an adapter's driver."""
    return tuple(fault for fault in FAULTS if fault.has(adapter))


def check_faults(faults: Sequence[Fault], warned: set[Program], program: Program, params: Sequence[float]) -> None:
    """Refuse, or warn of, a program that meets a fault. Raises DeviceError."""
    for fault in faults:
        what, certain = fault.meets(program, params)
        if certain:
            raise DeviceError(f"{program.entry}: {what} on this driver ({fault.name}); {fault.way_out}")
        if what and program not in warned:
            warned.add(program)
            text = f"{program.entry}: the results may be wrong: {what} on this driver ({fault.name}); {fault.way_out}"
            warnings.warn(text, RuntimeWarning, stacklevel=4)
