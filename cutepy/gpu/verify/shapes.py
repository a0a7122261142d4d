"""Is every access inside the shape of what it accesses? A coordinate may leave its mode, and memory may still be there.

A coordinate that an access carries is judged as an index into an array of as many elements as its mode has: by the
rules of `bounds`, under the guards of the access. So a column beyond a view of columns is refuted, which is in bounds
of the memory under the view.
"""

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace

from ..ir import Buffer
from .bounds import decide_array
from .model import Access, Model
from .verdict import Claim, Status, Verdict, concluded, counted


def decide_shapes(model: Model, racing: Set[Buffer]) -> list[Verdict]:
    """One verdict for each array that is accessed by coordinates which the kernel computes."""
    arrays: dict[Buffer, list[Access]] = {}
    for access in model.accesses:
        if any(isinstance(extent, int) for _, extent in access.coordinates[len(access.buffer.shape) * access.lanes :]):
            arrays.setdefault(access.buffer, []).append(access)
    return [_array(model, buffer, accesses, racing) for buffer, accesses in arrays.items()]


def _array(model: Model, buffer: Buffer, accesses: list[Access], racing: Set[Buffer]) -> Verdict:
    """The verdict on one array: the first mode that a coordinate is refuted to keep to, else those undecided."""
    modes: dict[int, list[Access]] = {}
    for mode in _modes(accesses):
        modes.setdefault(mode.buffer.length, []).append(mode)
    undecided: list[str] = []
    for extent, coordinates in modes.items():
        verdict = decide_array(model, replace(buffer, length=extent, width=1), coordinates, racing)
        if verdict.witness is not None:
            reason = f"a mode has {extent} elements"
            witness = replace(verdict.witness, of=f"a mode of {extent} of")
            return Verdict(Claim.INSIDE_ITS_SHAPE, Status.REFUTED, reason, buffer.name, witness)
        if verdict.status is Status.UNDECIDED:
            undecided.append(f"a mode of {extent}: {verdict.reason}")
    return concluded(Claim.INSIDE_ITS_SHAPE, buffer.name, undecided, counted(len(accesses), "access"))


def _modes(accesses: Iterable[Access]) -> Iterator[Access]:
    """Each different coordinate as an access of an array of as many elements as its mode has."""
    seen: set[tuple[object, ...]] = set()
    for access in accesses:
        for coordinate, extent in access.coordinates:
            key = coordinate, extent, access.guards, access.loops
            if not isinstance(extent, int):
                continue  # it is judged for all sizes, with the bounds
            if key not in seen:
                seen.add(key)
                mode = replace(access.buffer, length=extent, width=1)
                yield replace(access, buffer=mode, index=coordinate, lanes=1, coordinates=())
