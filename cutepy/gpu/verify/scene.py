"""The accesses to one array in one phase, and what its threads share."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ...layout.affine import Congruent
from ..ir import Expr
from ..ranges import Sum, linear, range_of
from ..simplify import from_linear
from ..wgsl import show
from .bounds import last_of
from .evaluate import Data, Unknown
from .meeting import Meeting
from .model import Access, Model
from .phases import Phase
from .search import Domain, domain_of, ids_of, index_at, named, split_guards, unknowns, use
from .verdict import Witness


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found: a counter-example, or why none could be ruled out ('' if it could)."""

    witness: Witness | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Two accesses that meet, and the counter-example."""

    accesses: tuple[Access, Access]
    witness: Witness


#: A search, with made-up data or without what data decides; and whether it left nothing out.
Search = Callable[[Data | None], tuple[Found | None, bool]]


def decide(model: Model, accesses: Sequence[Access], search: Search) -> Answer:
    """What a search says; where memory decides who is where, it is repeated with made-up contents.

    An index that the kernel does not itself keep in bounds is the caller's affair: nothing is said about it.
    """
    strange = unknowns(model, [a.index for a in accesses])
    if not strange:
        found, complete = search(None)
        if found is None:
            return Answer() if complete else Answer(doubt="there are too many invocations to try them all")
        strange = unknowns(model, [g for a in found.accesses for g in split_guards(model, a)[1]])
        if not strange:
            return Answer(found.witness)
    for access in accesses:
        if unknowns(model, [access.index]):
            low, high = range_of(access.index)
            if low < 0 or high > last_of(access):
                return Answer(doubt=f"{access.text} depends on {named(strange)}")
    try:
        found, _ = search(model.data)
    except Unknown:
        found = None
    if found is None:
        return Answer(doubt=f"it depends on {named(strange)}")
    told = [e for a in found.accesses for e in (a.index, *a.guards) if unknowns(model, [e])]
    given = "for data that give these " + " and ".join(dict.fromkeys(map(show, told)))
    return Answer(replace(found.witness, given=given))


def found_by(
    model: Model, met: tuple[Access, Access], ids: tuple[dict[Expr, int], dict[Expr, int]], threads: tuple[int, int]
) -> Found:
    """The meeting of two invocations, each given by its ids and its thread, for people."""
    spots = list(zip(met, ids, threads, strict=True))
    uses = tuple(use(model, access, known, thread) for access, known, thread in spots)
    starts = [index_at(model, access, known, thread) for access, known, thread in spots]
    buffer = met[0].buffer
    return Found(met, Witness(buffer.name, buffer.note, max(starts), uses))


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The accesses to one array between two barriers."""

    model: Model
    phase: Phase
    accesses: tuple[Access, ...]

    def is_shared(self, leaf: Expr) -> bool:
        """Whether all threads of a workgroup agree on an id or iteration."""
        return leaf in self.model.workgroup_ids or leaf in self.phase.shared

    def shared_ids(self, values: Iterable[Expr]) -> set[Expr]:
        """The ids and iterations in `values` on which all threads of a workgroup agree."""
        return {leaf for leaf in ids_of(self.model, values) if self.is_shared(leaf)}

    def domain(self, ids: Iterable[Expr], each: int) -> Domain:
        """The values of shared ids."""
        return domain_of(self.model, ids, each=each, extents=self.phase.shared)

    def own_domain(self, access: Access) -> Domain:
        """The iterations of an access that each thread runs through at its own pace."""
        ids = ids_of(self.model, (access.index, *access.guards))
        return domain_of(self.model, {i for i in ids if not self.is_shared(i)}, each=self.model.threads)

    def still_indices(self) -> list[Expr]:
        """The indices, without what moves all of them alike."""
        forms = [linear(a.index) for a in self.accesses]
        moved = [self._moves(form) for form in forms]
        if any(m != moved[0] for m in moved):
            return [a.index for a in self.accesses]
        return [
            from_linear(Congruent({e: c for e, c in f.terms.items() if e not in moved[0]}, f.constant), a.index.dtype)
            for f, a in zip(forms, self.accesses, strict=True)
        ]

    def _moves(self, form: Sum) -> dict[Expr, int]:
        return {atom: c for atom, c in form.terms.items() if all(map(self.is_shared, self.model.leaves(atom)))}

    def found(self, meeting: Meeting, ids: dict[Expr, int], own: list[Domain]) -> Found:
        """The meeting for people; `ids` are what the workgroup shares, `own` the iterations of each access."""
        one, two = (
            (self.accesses[spot.table], {**ids, **own[spot.table].point(spot.row)}, spot.thread)
            for spot in (meeting.first, meeting.second)
        )
        return found_by(self.model, (one[0], two[0]), (one[1], two[1]), (one[2], two[2]))
