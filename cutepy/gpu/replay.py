"""A refuted claim on real data: what the invocations of its counter-example do, and a picture of the element."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import KernelError
from ..layout.values.above import Answer, provided
from ..layout.values.coordinates import idx2crd
from .check import Followed, Spot, follow
from .ir import Kernel
from .ir.laws import Array
from .verify import Verdict, Verification

#: Accesses that are shown of one invocation alone.
MOST_SHOWN = 8


@dataclass(frozen=True, slots=True, repr=False)
class Replay(Answer):
    """A refuted verdict, and what its invocations did with the element on this data: `followed`, or the `error` that
    ended the run."""

    verdict: Verdict
    followed: tuple[Followed, ...]
    error: str = ""

    @property
    def picture(self) -> Any:
        """The layout of the array, the coordinates of the element framed: a drawing. None where there is none."""
        witness = self.verdict.witness
        if witness is None or not witness.layout:
            return None
        layout = provided("parse_layout")(witness.layout)
        marked = [i for i in range(layout.size) if layout(i) == witness.element]
        where = {"highlight": idx2crd(marked[0], layout.shape)} if marked else {}
        return provided("draw")(layout, title=f"{witness.array}, element {witness.element}", **where)

    def __str__(self) -> str:
        lines = [str(self.verdict), *(f"  {one}" for one in self.followed)]
        lines += [f"  {self.error}"] if self.error else []
        lines += ["  on this data, they do not come there"] if not self.followed and not self.error else []
        picture = self.picture
        return "\n".join([*lines, repr(picture)] if picture is not None else lines)


def replay(
    kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], found: Verification
) -> tuple[Replay, ...]:
    """Each refuted verdict with a counter-example, replayed; the arrays stay as they are."""
    return tuple(_replay(kernel, arrays, params, verdict) for verdict in found.refuted)


def _replay(kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float], verdict: Verdict) -> Replay:
    witness = verdict.witness
    buffer = next((b for b in (*kernel.buffers, *kernel.local) if witness and b.name == witness.array), None)
    if witness is None or buffer is None:
        return Replay(verdict, ())
    columns, rows, _ = kernel.grid
    who = {(x + columns * (y + rows * z), use.thread) for use in witness.uses for x, y, z in [use.workgroup]}
    try:
        followed = follow(kernel, arrays, params, Spot(buffer, witness.element, frozenset(who)))
    except KernelError as error:
        return Replay(verdict, (), str(error))
    return Replay(verdict, followed[:MOST_SHOWN])
