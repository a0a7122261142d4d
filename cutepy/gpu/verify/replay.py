"""A launch that may refute a claim, run by the interpreter.

Law: what the run shows is so, for it shares no code with a proof; what it does not show is left open. The launch has to
stay in bounds, and to keep what the user says of its data: data that a kernel is not meant for refute nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from ...errors import KernelError, VerificationError
from ..ir import Buffer, Kernel, Verb
from ..ir.laws import Array
from ..targets.interpreter import interpret
from ..targets.interpreter_memory import AccessCheck, InterpreterState
from .shadow_memory import Checks, Race, Unwritten, follow
from .verdict import Claim, Status, Verdict, Witness

#: Invocations and elements of a launch that is run, accesses of it that are looked at, and places in its text where
#: many invocations make one at once.
INVOCATIONS, ELEMENTS, ACCESSES, STEPS = 1 << 16, 1 << 22, 1 << 18, 1 << 12
#: Elements of an array that a witness writes out.
_SHOWN = 16


@dataclass(frozen=True, slots=True)
class Launch:
    """Parameters, contents of arrays (the others hold zeros), and which workgroup runs alone, if one does."""

    params: Mapping[str, Any] = field(default_factory=dict)
    contents: Mapping[Buffer, Array] = field(default_factory=dict)
    only: int | None = None

    def __str__(self) -> str:
        told = [f"{name} = {value}" for name, value in self.params.items()]
        for buffer, array in self.contents.items():
            numbers = [str(x) for x in array[:_SHOWN].tolist()] + ["..."] * (array.size > _SHOWN)
            told.append(f"{buffer.name} = [{', '.join(numbers)}]")
        return f"for {', '.join(told)}" if told else ""


def usual_params(kernel: Kernel) -> dict[str, float]:
    """Numbers for the parameters of a launch: 64, or what is nearest to it in their ranges."""
    return {p.name: 1.0 if p.dtype.kind == "f" else float(min(max(p.lo, 64), p.hi)) for p in kernel.params}


class TooLong(Exception):
    """As many accesses as are looked at."""


class Kept(Checks):
    """Keeps the first fault of each kind at one array, and goes on to the end."""

    def __init__(self, kernel: Kernel, array: str) -> None:
        super().__init__(kernel)
        self.array = array
        self.faults: dict[type[Exception], Race | Unwritten] = {}
        self.accesses = self.steps = 0

    def access(self, s: InterpreterState, check: AccessCheck, at: Array, active: Array | None, values: Array) -> None:
        self.steps += 1
        if check.buffer.name == self.array:
            self.accesses += int(np.count_nonzero(np.broadcast_to(np.True_ if active is None else active, s.shape)))
            super().access(s, check, at, active, values)
        if self.accesses > ACCESSES or self.steps > STEPS:
            raise TooLong

    def meet(self, fault: Race | Unwritten) -> None:
        self.faults.setdefault(type(fault), fault)


def shown(kernel: Kernel, claim: Claim, array: str, launch: Launch) -> Verdict | None:
    """A verdict that refutes `claim` about `array`, if the launch does what it must not. Raises TooLong for one of too
    many accesses."""
    large = launch.only is None and kernel.threads * prod(kernel.grid) > INVOCATIONS
    if large or sum(b.length for b in kernel.buffers) > ELEMENTS:
        return None

    def arrays() -> Sequence[Array]:
        return [launch.contents.get(b, np.zeros(b.length, b.dtype.numpy)).copy() for b in kernel.buffers]

    watch, given = Kept(kernel, array), str(launch)
    try:
        interpret(kernel, arrays(), launch.params, watch=watch, only=launch.only)
    except VerificationError:
        return None
    except KernelError as error:
        bounds = claim in (Claim.IN_BOUNDS, Claim.INSIDE_ITS_SHAPE)
        outside = f" {array} at " in str(error) and ("coordinate" in str(error)) == (claim is Claim.INSIDE_ITS_SHAPE)
        reason = f"replayed{' ' + given if given else ''}: {error}"
        return Verdict(claim, Status.REFUTED, reason, array) if bounds and outside else None
    contents = {b.name: values for b, values in launch.contents.items()}
    if claim is Claim.NO_RACES and (race := watch.faults.get(Race)) is not None:
        pair = follow(kernel, arrays(), launch.params, race.spot, only=launch.only)
        uses = tuple(access.use for access in pair)
        witness = Witness(array, race.spot.buffer.note, race.spot.element, uses, given, contents=contents)
        return Verdict(claim, Status.REFUTED, met(witness), array, witness)
    fault = watch.faults.get(Unwritten)
    if claim is Claim.WRITTEN_BEFORE_READ and isinstance(fault, Unwritten):
        spot = fault.spot
        witness = Witness(array, spot.buffer.note, spot.element, (fault.use,), given, contents=contents)
        return Verdict(claim, Status.REFUTED, "nobody has written it", array, witness)
    return None


def met(witness: Witness) -> str:
    """What the two uses of a race do to one another."""
    writing = {use.verb for use in witness.uses} == {Verb.WRITES}
    return "two invocations write one element" if writing else "one changes what another uses"
