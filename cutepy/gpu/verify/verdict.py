"""What a verification says: verdicts, each with the invocations and the address that refute a claim."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ...errors import VerificationError
from ...layout.affine import Affine
from ...layout.values.methods import ReprIsStr
from ..ir import Expr
from ..ir.laws import Array
from ..targets.interpreter_memory import AccessCheck, InterpreterState
from ..targets.wgsl import show


class Status(StrEnum):
    """The state of a claim, the worst first.

    >>> [str(status) for status in Status], Status.PROVEN.rank
    (['refuted', 'undecided', 'proven'], 2)
    """

    REFUTED = "refuted"
    UNDECIDED = "undecided"
    PROVEN = "proven"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return tuple(Status).index(self)


class Claim(StrEnum):
    """What verdicts are about.

    >>> [str(claim) for claim in Claim][:3]
    ['in bounds', 'inside its shape', 'bounded loops']
    """

    IN_BOUNDS = "in bounds"
    INSIDE_ITS_SHAPE = "inside its shape"
    BOUNDED_LOOPS = "bounded loops"
    UNIFORM_BARRIERS = "uniform barriers"
    WHOLE_SUBGROUPS = "whole subgroups"
    ALIGNED = "aligned"
    ANY_SUBGROUP_SIZE = "any subgroup size"
    NO_RACES = "no races"
    WRITTEN_BEFORE_READ = "written before read"
    FORWARD_PROGRESS = "forward progress"
    WITHIN_LIMITS = "within limits"


@dataclass(frozen=True, slots=True)
class Use:
    """One invocation at one access: `verb` is "reads", "writes" or "updates", `access` its text in WGSL.

    `loops` are the values of the counters of the loops around it.

    >>> print(Use((1, 0, 0), 5, (("k", 2),), "writes", "x[i0]"))
    workgroup (1, 0, 0), thread 5, k = 2 writes x[i0]
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


def use_of(s: InterpreterState, check: AccessCheck, group: int, thread: int) -> Use:
    """The access that one invocation of a run makes."""
    text = check.buffer.name if check.index is None else f"{check.buffer.name}[{show(check.index)}]"
    return Use(s.workgroup(group), thread, s.counters(group, thread), check.verb, text, check.place)


@dataclass(frozen=True, slots=True)
class Witness:
    """A counter-example: which invocations access which element of which array. `given` says what else must hold, if
    anything; `of` that `element` is a coordinate, and of which mode. A run showed it on these `contents` of arrays, by
    their names, where data decide it.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def same(x):
    ...     gpu.launch(threads=4)
    ...     x[0] = gpu.thread
    >>> witness = same.verify(np.zeros(4, np.uint32)).refuted[0].witness
    >>> witness.array, witness.element, [use.thread for use in witness.uses]
    ('x', 0, [3, 0])
    """

    array: str
    layout: str
    element: int
    uses: tuple[Use, ...]
    given: str = ""
    of: str = ""
    contents: Mapping[str, Array] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        layout = f", {self.layout}" if self.layout else ""
        given = f" {self.given}" if self.given else ""
        what = f"coordinate {self.element} of {self.of}" if self.of else f"element {self.element} of"
        where = f"{what} {self.array}{layout}" if self.array else ""
        return f"{where}{given}: ".lstrip(" :") + "; ".join(map(str, self.uses))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim about one array, or about the kernel (`array` is empty), and whether it holds: for all sizes, where the
    `conditions` do, sums of parameters that are 0 or less. `by` names a prover that is not cutepy. It rests on what is
    `given`: what the user says of data.

    >>> print(Verdict(Claim.IN_BOUNDS, Status.PROVEN, "0 <= i < 4", "x"))
    proven     in bounds x: 0 <= i < 4
    """

    claim: Claim
    status: Status
    reason: str
    array: str = ""
    witness: Witness | None = None
    conditions: tuple[Affine[Expr, int], ...] = ()
    by: str = ""
    given: tuple[str, ...] = ()

    def __str__(self) -> str:
        about = f" {self.array}" if self.array else ""
        given = f", given {' and '.join(self.given)}" if self.given else ""
        witness = f"; {self.witness}" if self.witness else ""
        return f"{self.status:<9}  {self.claim}{about}: {self.reason}{given}{witness}"


def concluded(claim: Claim, array: str, undecided: Iterable[str], proven: str) -> Verdict:
    """The verdict on a claim that nothing refutes: undecided where there is a reason, each said once, else `proven`.

    >>> print(concluded(Claim.NO_RACES, "x", ["", ""], "one owner").status)
    undecided
    """
    reasons = [*dict.fromkeys(undecided)]
    if reasons:
        return Verdict(claim, Status.UNDECIDED, "; ".join(reasons), array)
    return Verdict(claim, Status.PROVEN, proven, array)


def counted(number: int, thing: str) -> str:
    """So many things, in words.

    >>> counted(1, "access"), counted(2, "access"), counted(0, "loop")
    ('1 access', '2 accesses', '0 loops')
    """
    return f"{number} {thing}" + ("es" if thing.endswith("s") else "s") * (number != 1)


@dataclass(frozen=True, slots=True, repr=False)
class Verification(ReprIsStr):
    """All verdicts about one traced form of a kernel.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def same(x):
    ...     gpu.launch(threads=4)
    ...     x[0] = gpu.thread
    >>> found = same.verify(np.zeros(4, np.uint32))
    >>> found.ok, [str(verdict.claim) for verdict in found.refuted], found.undecided, found.given
    (False, ['no races'], (), ())
    >>> try:
    ...     found.raise_if_refuted()
    ... except VerificationError:
    ...     print("two threads write one element")
    two threads write one element
    """

    kernel: str
    verdicts: tuple[Verdict, ...]

    @property
    def ok(self) -> bool:
        """Whether every claim is proven."""
        return all(v.status is Status.PROVEN for v in self.verdicts)

    @property
    def given(self) -> tuple[str, ...]:
        """What the user says of data, and some claim rests on."""
        return tuple(dict.fromkeys([said for v in self.verdicts for said in v.given]))

    @property
    def refuted(self) -> tuple[Verdict, ...]:
        """The verdicts with a counter-example."""
        return tuple(v for v in self.verdicts if v.status is Status.REFUTED)

    @property
    def undecided(self) -> tuple[Verdict, ...]:
        """The verdicts that are neither proven nor refuted."""
        return tuple(v for v in self.verdicts if v.status is Status.UNDECIDED)

    def __str__(self) -> str:
        worst = min((v.status for v in self.verdicts), key=lambda status: status.rank, default=Status.PROVEN)
        given = f", given {' and '.join(self.given)}" if self.given else ""
        return "\n".join([f"{self.kernel}: {worst}{given}", *(f"  {v}" for v in self.verdicts)])

    def raise_if_refuted(self) -> None:
        """Raise VerificationError with every counter-example, if there is one."""
        if self.refuted:
            lines = [f"  {v}" for v in self.refuted]
            raise VerificationError("\n".join([f"{self.kernel} is refuted:", *lines]))
