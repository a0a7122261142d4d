"""What a verification says: verdicts, each with the invocations and the address that refute a claim."""

from dataclasses import dataclass
from typing import Literal

from ...errors import VerificationError
from ...layout.values.above import Answer

Status = Literal["proven", "refuted", "undecided"]
Claim = Literal[
    "in bounds",
    "bounded loops",
    "uniform barriers",
    "whole subgroups",
    "no races",
    "written before read",
    "forward progress",
    "within limits",
]


@dataclass(frozen=True, slots=True)
class Use:
    """One invocation at one access: `verb` is "reads", "writes" or "updates", `access` its text in WGSL.

    `loops` are the values of the counters of the loops around it.
    """

    workgroup: tuple[int, int, int]
    thread: int
    loops: tuple[tuple[str, int], ...]
    verb: str
    access: str
    place: str = ""

    def __str__(self) -> str:
        where = ", ".join(
            [f"workgroup {self.workgroup}", f"thread {self.thread}"] + [f"{name} = {at}" for name, at in self.loops]
        )
        return f"{where} {self.verb} {self.access}" + (f" ({self.place})" if self.place else "")


@dataclass(frozen=True, slots=True)
class Witness:
    """A counter-example: who meets at which element of which array. `given` says what else must hold, if anything."""

    array: str
    layout: str
    element: int
    uses: tuple[Use, ...]
    given: str = ""

    def __str__(self) -> str:
        layout = f", {self.layout}" if self.layout else ""
        given = f" {self.given}" if self.given else ""
        where = f"element {self.element} of {self.array}{layout}" if self.array else ""
        return f"{where}{given}: ".lstrip(" :") + "; ".join(map(str, self.uses))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim about one array, or about the kernel (`array` is empty), and whether it holds."""

    claim: Claim
    status: Status
    reason: str
    array: str = ""
    witness: Witness | None = None

    def __str__(self) -> str:
        about = f" {self.array}" if self.array else ""
        witness = f"; {self.witness}" if self.witness else ""
        return f"{self.status:<9}  {self.claim}{about}: {self.reason}{witness}"


@dataclass(frozen=True, slots=True, repr=False)
class Verification(Answer):
    """All verdicts about one traced form of a kernel."""

    kernel: str
    verdicts: tuple[Verdict, ...]

    @property
    def ok(self) -> bool:
        """Whether every claim is proven."""
        return all(v.status == "proven" for v in self.verdicts)

    @property
    def refuted(self) -> tuple[Verdict, ...]:
        """The verdicts with a counter-example."""
        return tuple(v for v in self.verdicts if v.status == "refuted")

    @property
    def undecided(self) -> tuple[Verdict, ...]:
        """The verdicts that are neither proven nor refuted."""
        return tuple(v for v in self.verdicts if v.status == "undecided")

    def __str__(self) -> str:
        word = "refuted" if self.refuted else "undecided" if self.undecided else "proven"
        return "\n".join([f"{self.kernel}: {word}", *(f"  {v}" for v in self.verdicts)])

    def raise_if_refuted(self) -> None:
        """Raise VerificationError with every counter-example, if there is one."""
        if self.refuted:
            lines = [f"  {v}" for v in self.refuted]
            raise VerificationError("\n".join([f"{self.kernel} is refuted:", *lines]))
