"""A run on the interpreter that is looked over, and refuted claims replayed on the data of a call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import KernelError, VerificationError
from ...layout.text.parse import parse_layout
from ...layout.values.coordinates import idx2crd
from ...layout.values.methods import ReprIsStr
from ..ir import AddressSpace, Buffer, Kernel
from ..ir.laws import Array
from ..targets.interpreter import interpret
from ..verify import Verdict, Verification
from ..verify.shadow_memory import Checks, Followed, Race, Spot, follow, named


def interpret_checked(
    kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], *, subgroup_size: int = 0
) -> None:
    """Run `kernel` as `interpret` does, and look over every access and every barrier.

    Raises VerificationError for the first race, shared memory read before it is written, or barrier that not all
    threads come to, and KernelError for an index outside; then the arrays are as they were.
    """
    # A run without notes of single accesses, which would not fit in memory.
    copies = [array.copy() for array in arrays]
    try:
        interpret(kernel, copies, params, subgroup_size=subgroup_size, watch=Checks(kernel))
    except Race as race:
        # A second run notes the accesses of that element alone, for the message.
        spot = race.spot
        one, two = follow(kernel, arrays, params, spot, subgroup_size=subgroup_size)
        head = f"kernel {kernel.name} has a race for {named(spot.buffer, spot.element)}:"
        raise VerificationError("\n  ".join([head, str(one), str(two), _way_out(spot.buffer, one, two)])) from None
    for array, copy, buffer in zip(arrays, copies, kernel.buffers, strict=True):
        if buffer.writable:
            array[...] = copy


def _way_out(buffer: Buffer, one: Followed, two: Followed) -> str:
    storage = buffer.space == AddressSpace.STORAGE
    if one.use.workgroup != two.use.workgroup:
        return "no barrier orders workgroups: give each element one workgroup, update it by atomics, or launch twice"
    barrier = "gpu.barrier(storage=True)" if storage else "gpu.barrier()"
    if one.use.place == two.use.place and one.use.verb == two.use.verb:
        return (
            "let one thread do it, give each thread an element of its own, or update it by gpu.atomic_add and its kin"
        )
    return f"put {barrier} between the two, or update it by atomics in both"


#: Accesses that are shown of one invocation alone.
MOST_SHOWN = 8


@dataclass(frozen=True, slots=True, repr=False)
class Replay(ReprIsStr):
    """A refuted verdict, and what its invocations did with the element on this data: `followed`, or the `error` that
    ended the run."""

    verdict: Verdict
    followed: tuple[Followed, ...]
    error: str = ""

    @property
    def picture(self) -> Any:
        """The layout of the array, the coordinates of the element framed: a drawing. None where there is none."""
        from ...draw.drawing import draw

        witness = self.verdict.witness
        if witness is None or not witness.layout:
            return None
        layout = parse_layout(witness.layout)
        marked = [i for i in range(layout.size) if layout(i) == witness.element]
        highlight = idx2crd(marked[0], layout.shape) if marked else None
        return draw(layout, title=f"{witness.array}, element {witness.element}", highlight=highlight)

    def __str__(self) -> str:
        lines = [str(self.verdict), *(f"  {one}" for one in self.followed)]
        lines += [f"  {self.error}"] if self.error else []
        lines += ["  on this data, they do not come there"] if not self.followed and not self.error else []
        picture = self.picture
        return "\n".join([*lines, repr(picture)] if picture is not None else lines)


def replay(
    kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], verification: Verification
) -> tuple[Replay, ...]:
    """Each refuted verdict with a counter-example, replayed; the arrays stay as they are."""
    return tuple(_replay(kernel, arrays, params, verdict) for verdict in verification.refuted)


def _replay(kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], verdict: Verdict) -> Replay:
    witness = verdict.witness
    buffer = next((b for b in (*kernel.buffers, *kernel.local) if witness and b.name == witness.array), None)
    if witness is None or buffer is None:
        return Replay(verdict, ())
    columns, rows, _ = kernel.grid
    invocations = {(x + columns * (y + rows * z), use.thread) for use in witness.uses for x, y, z in [use.workgroup]}
    element = -1 if witness.of else witness.element  # a coordinate is no element: the interpreter names the invocation
    try:
        followed = follow(kernel, arrays, params, Spot(buffer, element, frozenset(invocations)))
    except KernelError as error:
        return Replay(verdict, (), str(error))
    return Replay(verdict, followed[:MOST_SHOWN])
