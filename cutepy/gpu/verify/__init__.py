"""Is a kernel correct for every invocation? Decided from its index arithmetic, before it runs.

`verify` answers with verdicts: each claim is proven, refuted with the invocations and the address, or undecided with
the reason. What memory holds is never guessed to be harmless.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec

from ...errors import KernelError
from ...layout.affine import Affine
from ..ir import Buffer, Expr, Kernel, Stated, Stmt, check, map_statements, new_arena, statements
from ..ir.expr import Arena
from ..lower import could_be_wider, drop_stated, lower
from ..runtime.program import Limits
from .alignment import decide_alignment
from .barriers import decide_barriers, decide_whole
from .bounds import decide_bounds, is_in_bounds
from .collect import uses_matrices, uses_subgroups
from .for_all_sizes import decide_all
from .initialised import decide_written
from .loops import decide_loops, decide_progress
from .made_up import with_made_up
from .model import Model
from .races import decide_races
from .shapes import decide_shapes
from .shared_values import understood
from .subgroup_size import decide_subgroup_size, sizes_of
from .verdict import Claim, Status, Use, Verdict, Verification, Witness


def decide_limits(kernel: Kernel, limits: Limits, aliases: tuple[str, ...] = ()) -> Verdict:
    """Workgroup size and memory, grid, bindings and parameters; `aliases` names bindings that share memory."""
    shared = kernel.shared_bytes
    exceeded = [f"{names} share memory that the kernel writes" for names in aliases]
    exceeded += limits.exceeded(kernel.workgroup, shared, len(kernel.buffers), len(kernel.params))
    exceeded += [
        f"{count} workgroups along {axis}, the device has {limits.workgroups}"
        for axis, count in zip("xyz", kernel.grid, strict=True)
        if count > limits.workgroups
    ]
    exceeded += [
        f"{b.name} has {nbytes} bytes, the device binds {limits.binding_bytes}"
        for b in kernel.buffers
        if not b.shape and (nbytes := -(-b.length // b.width) * b.width * b.dtype.bytes) > limits.binding_bytes
    ]
    if exceeded:
        return Verdict(Claim.WITHIN_LIMITS, Status.REFUTED, "; ".join(exceeded))
    return Verdict(Claim.WITHIN_LIMITS, Status.PROVEN, f"{kernel.threads} threads, {shared} bytes of workgroup memory")


CHECKS = "auto", "always"


#: Who proves: cutepy, and z3 where it is installed for what that leaves undecided; or one of them alone.
PROVERS = "auto", "cutepy", "z3"


def verify(
    kernel: Kernel, limits: Limits | None = None, *, aliases: tuple[str, ...] = (), prover: str | None = None
) -> Verification:
    """All verdicts about `kernel`, for a device with `limits` (by default, for every WebGPU device).

    `prover` is one of `PROVERS`, by default what the environment variable CUTEPY_PROVER says, or "auto"; "z3" decides
    bounds, shapes, races and first writes, and cutepy the other claims. With "auto", z3 has `z3_prover.LEFT` steps
    for what cutepy leaves undecided. The verdict's `by` says whose it is.
    Raises KernelError for another prover, and for "z3" where it is not installed.

    Where it asks how threads fall into subgroups, for every size of subgroup that the device may have: consecutive
    threads, as all devices have it. `aliases` names bindings that share memory.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def shift(x, y):
    ...     gpu.launch(grid=1, threads=64)
    ...     y[gpu.thread] = x[gpu.thread + 1]
    >>> x = np.zeros(64, np.float32)
    >>> found = verify(shift.ir(x, x.copy()))
    >>> for v in found.refuted:
    ...     print(v.claim, v.array, v.witness.element, v.witness.uses[0].thread)
    in bounds x 64 63
    >>> [f"{v.claim}: {v.status}" for v in found.verdicts if v.array == "y"]
    ['in bounds: proven', 'no races: proven']
    """
    prover = os.environ.get("CUTEPY_PROVER", "auto") if prover is None else prover
    if prover not in PROVERS:
        raise KernelError(f"verify(prover={prover!r}): the provers are {', '.join(map(repr, PROVERS))}")
    installed = find_spec("z3") is not None
    if prover == "z3" and not installed:
        raise KernelError("verify(prover='z3'): z3 is not installed: pip install 'cutepy[z3]'")
    chosen = limits if limits is not None else Limits()
    verdicts = _decided(check(kernel), chosen, aliases, prover, installed)
    # What the user says of data is used where it has to be.
    if (plain := drop_stated(kernel)) is not kernel:
        own = _decided(plain, chosen, aliases, "cutepy", installed)
        alone = "z3" if prover == "z3" else "cutepy"  # what z3 finds in its time is no measure of what is missed
        verdicts = _with_given(kernel, verdicts, own, lambda less: _decided(less, chosen, aliases, alone, installed))
    return Verification(kernel.name, tuple(with_made_up(kernel, verdicts)))


#: Statements of the user's that are left out one by one, to see which a proof rests on.
_STATED = 8


def _with_given(
    kernel: Kernel, verdicts: list[Verdict], plain: list[Verdict], decided: Callable[[Kernel], list[Verdict]]
) -> list[Verdict]:
    """The verdicts, with what each that is not proven of the `plain` kernel rests on: all that is said without which it
    is not proven, or all that is said where no part alone is missed."""
    proven = {(v.claim, v.array): v for v in plain if v.status is Status.PROVEN}
    verdicts = [proven.get((v.claim, v.array), v) for v in verdicts]
    resting = [v for v in verdicts if v.status is Status.PROVEN and (v.claim, v.array) not in proven]
    said = list(dict.fromkeys(s.said for s in statements(kernel.body) if isinstance(s, Stated)))
    missed: dict[tuple[Claim, str], list[str]] = {(v.claim, v.array): [] for v in resting}
    for text in said if resting and 1 < len(said) <= _STATED else ():
        for v in decided(_without(kernel, text)):
            if v.status is not Status.PROVEN and (v.claim, v.array) in missed:
                missed[v.claim, v.array].append(text)
    return [replace(v, given=tuple(missed[v.claim, v.array] or said)) if v in resting else v for v in verdicts]


def _without(kernel: Kernel, said: str) -> Kernel:
    """The kernel without what the user says in these words."""

    def kept(stmt: Stmt) -> Stmt | None:
        return None if isinstance(stmt, Stated) and stmt.said == said else stmt

    return replace(kernel, body=map_statements(kernel.body, kept))


def _decided(kernel: Kernel, chosen: Limits, aliases: tuple[str, ...], prover: str, installed: bool) -> list[Verdict]:
    """The verdicts, by one prover or by both."""
    verdicts = [*_for_sizes(kernel, chosen), *decide_progress(kernel), *decide_subgroup_size(kernel, chosen)]
    verdicts.append(decide_limits(kernel, chosen, aliases))
    if kernel.sizes is not None:
        verdicts = [_of_some_size(verdict) for verdict in verdicts]
    if prover != "cutepy" and installed and 0 not in kernel.grid:
        verdicts = _with_z3(kernel, verdicts, only_undecided=prover == "auto")
    return verdicts


def _of_some_size(verdict: Verdict) -> Verdict:
    """What is refuted for numbers that nothing keeps to sizes that there are is not decided."""
    if verdict.status is not Status.REFUTED:
        return verdict
    why = f"not proven for all sizes: {verdict.reason}"
    return replace(verdict, status=Status.UNDECIDED, reason=why, witness=None)


def conditions_for_all_sizes(kernel: Kernel, arena: Arena | None = None) -> tuple[Affine[Expr, int], ...] | None:
    """Where these sums of parameters are 0 or less, every access of `kernel` is inside, and its loops end: as it is
    printed, unchecked; or, where that rests on what the user says of data, with the runtime's checks. None where it is
    not proven. What the `arena` of its trace knows of expressions serves the proof."""
    if needs_checks(kernel, arena) and drop_stated(kernel) is kernel:
        return None
    with _modelled(kernel, 32, arena) as model:
        found = decide_all(model)
        found += (
            [decide_loops(model), *decide_bounds(model, _racing(model))] if drop_stated(kernel) is not kernel else []
        )
    if any(verdict.status is not Status.PROVEN for verdict in found):
        return None
    return tuple([condition for verdict in found for condition in verdict.conditions])


def _with_z3(kernel: Kernel, verdicts: list[Verdict], *, only_undecided: bool) -> list[Verdict]:
    """The verdicts, with z3's in place of all that are z3's to decide, or of those that are undecided and it decides.
    Races and first writes come first: what is read of an array that is raced for may change."""
    asked = [v for v in verdicts if v.claim in Z3_CLAIMS and (v.status is Status.UNDECIDED or not only_undecided)]
    if not asked:
        return verdicts
    from .z3_prover import LEFT, LEFT_QUESTION, QUESTION, TOTAL, decide_by_z3  # an extra, and 50 ms to import

    held = all(v.status is Status.PROVEN for v in verdicts if v.claim is Claim.UNIFORM_BARRIERS)
    found = {(v.claim, v.array): v for v in verdicts}
    question, total = (LEFT_QUESTION, LEFT) if only_undecided else (QUESTION, TOTAL)
    with new_arena():
        for ordered in (True, False):
            keys = [(v.claim, v.array) for v in asked if (v.claim in _BY_BARRIERS) is ordered]
            racing = frozenset(
                a for (c, a), v in found.items() if c is Claim.NO_RACES and v.status is not Status.PROVEN
            )
            told = (
                decide_by_z3(kernel, keys, racing=frozenset() if ordered else racing, question=question, total=total)
                if keys
                else {}
            )
            decided = [*told.values()]
            if ordered and not held:
                decided = _if_held(next(v for v in verdicts if v.claim is Claim.UNIFORM_BARRIERS), decided)
            for v in decided:
                if not only_undecided or v.status is not Status.UNDECIDED:
                    found[v.claim, v.array] = v
    return [found[v.claim, v.array] for v in verdicts]


#: What z3 decides, and which of it rests on barriers.
_BY_BARRIERS = frozenset({Claim.NO_RACES, Claim.WRITTEN_BEFORE_READ})
Z3_CLAIMS = _BY_BARRIERS | {Claim.IN_BOUNDS, Claim.INSIDE_ITS_SHAPE}


def needs_checks(kernel: Kernel, arena: Arena | None = None) -> bool:
    """Whether `kernel` is not proven to do without the run-time checks of bounds and loops: as it is printed, after
    lowering. What the user says of data proves nothing here: where it is not so, nothing outside is to be written."""
    kernel = drop_stated(kernel)
    if 0 in kernel.grid:
        return True  # an empty grid was not verified, and a launch may bring another one
    with new_arena():
        ready = lower(kernel)
        forms = [ready]
        if any(b.length % b.width for b in (*ready.buffers, *ready.local) if not b.shape):
            forms.append(kernel)  # vectors reach into padding: only where lowering made them so
        # The unlowered form too where lowering widened an array beyond its length: only there the padding is out of
        # bounds.
    return not all(_is_inside(form, size, arena) for form in forms for size in _sizes(ready, Limits()))


def _is_inside(kernel: Kernel, size: int, arena: Arena | None) -> bool:
    """Whether the loops of `kernel` are bounded and its accesses in bounds, with so many threads in a subgroup."""
    with _modelled(kernel, size, arena) as model:
        return decide_loops(model).status is Status.PROVEN and is_in_bounds(model, _racing(model))


def with_wider_vectors(kernel: Kernel) -> Kernel:
    """`kernel` with its shared arrays over wider vectors than its narrowest stores, where no other thread is proven to
    touch a vector while one of its elements is set: WGSL may write the whole of it then."""
    names = could_be_wider(kernel)
    if not names or 0 in kernel.grid:
        return kernel
    wider = replace(kernel, widened=names)
    if [b.width for b in lower(kernel).local] == [b.width for b in lower(wider).local]:
        return kernel
    for size in _sizes(lower(wider), Limits()):
        with _modelled(lower(wider), size) as model:
            barriers, races = _order(model)
            claims = [v for v in (*races, *_if_held(barriers, decide_written(model))) if v.array in names]
        if any(v.status is not Status.PROVEN for v in (barriers, *claims)):
            return kernel
    return wider


def check_matrices(kernel: Kernel) -> None:
    """Raise KernelError for a kernel whose subgroups hold matrices and that is not proven to move and compute them as
    a whole, aligned and inside its arrays: no runtime checks that."""
    if not uses_matrices(kernel) or 0 in kernel.grid:
        return
    with new_arena():
        model = understood(lower(kernel), kernel.lanes)
        moved = [] if model.kernel is kernel else decide_shapes(understood(kernel, kernel.lanes), set(kernel.buffers))
        for verdict in (*decide_whole(model), *decide_alignment(model), *moved):
            if verdict.status is not Status.PROVEN:
                raise KernelError(f"{kernel.name} is not run: {verdict}")
        if not is_in_bounds(model, _racing(model)):
            failed = [f": {v}" for v in decide_bounds(model, _racing(model)) if v.status is not Status.PROVEN]
            reason = "".join(failed[:1])
            raise KernelError(
                f"{kernel.name} is not run: its matrices are not proven to stay inside their memory{reason}"
            )


#: The models of the last proofs, each with the arena of its expressions: whoever asks for a kernel's text, which rests
#: on a proof, asks for its verdicts next. A proof takes its model out, for no two threads work on one.
_LAST: OrderedDict[tuple[Kernel, int], tuple[Arena, Model]] = OrderedDict()
_KEPT = 8


@contextmanager
def _modelled(kernel: Kernel, size: int, arena: Arena | None = None) -> Iterator[Model]:
    """The model of `kernel` with so many threads in a subgroup, in its arena: the one given, or one of its own."""
    arena, model = _LAST.pop((kernel, size), (arena, None))
    with new_arena(arena) as own:
        model = understood(kernel, size) if model is None else model
        yield model
    _LAST[kernel, size] = own, model
    while len(_LAST) > _KEPT:
        _LAST.popitem(last=False)


def _sizes(kernel: Kernel, limits: Limits) -> list[int]:
    """The subgroup sizes to verify for: all that the device may have, where the kernel depends on them; else one."""
    return sizes_of(kernel, limits) if uses_matrices(kernel) or uses_subgroups(kernel) else [32]


def _for_sizes(kernel: Kernel, limits: Limits) -> list[Verdict]:
    """The worst verdict on each claim, over the sizes of subgroup."""
    if 0 in kernel.grid:
        return []
    worst: dict[tuple[str, str], Verdict] = {}
    sizes = _sizes(kernel, limits)
    for size in sizes:
        with _modelled(kernel, size) as model:
            for verdict in _decide(model):
                # The worst verdict over all sizes stands for the kernel.
                key = verdict.claim, verdict.array
                if len(sizes) > 1 and verdict.status is not Status.PROVEN:
                    verdict = replace(verdict, reason=f"{verdict.reason}, with {size} threads in a subgroup")
                if key not in worst or verdict.status.rank < worst[key].status.rank:
                    worst[key] = verdict
    return list(worst.values())


def _decide(model: Model) -> list[Verdict]:
    # Order matters: races rely on barriers, bounds on races (an index may be read again), initialisation on barriers.
    barriers, races = _order(model)
    bounds = [*decide_bounds(model, _racing(model, races)), *decide_all(model)]
    written = _if_held(barriers, decide_written(model))
    in_bounds = {verdict.array: verdict.status for verdict in bounds}
    shapes = [
        verdict  # beside one on the same array that is no better it would say nothing new
        for verdict in decide_shapes(model, _racing(model, races))
        if (beside := in_bounds[verdict.array]) is Status.PROVEN or verdict.status.rank < beside.rank
    ]
    return [
        *bounds,
        *shapes,
        decide_loops(model),
        barriers,
        *decide_whole(model),
        *decide_alignment(model),
        *races,
        *written,
    ]


def _order(model: Model) -> tuple[Verdict, list[Verdict]]:
    """The verdict on barriers, and those on races, which rely on it."""
    barriers = decide_barriers(model)
    return barriers, _if_held(barriers, decide_races(model))


def _if_held(barriers: Verdict, verdicts: list[Verdict]) -> list[Verdict]:
    """Nothing is proven by barriers that may not hold for all threads."""
    if barriers.status is Status.PROVEN:
        return verdicts
    why = "a barrier is not proven to hold for all threads"
    return [
        Verdict(v.claim, Status.UNDECIDED, why, v.array, by=v.by) if v.status is Status.PROVEN else v for v in verdicts
    ]


def _racing(model: Model, races: list[Verdict] | None = None) -> set[Buffer]:
    """The arrays that indices are read from and that are not proven free of races: another thread may change them."""
    used = {model.read_from[x] for a in model.accesses for x in model.leaves(a.index) if x in model.read_from}
    if not used:
        return used
    names = {v.array for v in (_order(model)[1] if races is None else races) if v.status is not Status.PROVEN}
    return {b for b in used if b.name in names}


__all__ = ["CHECKS", "PROVERS", "Claim", "Status", "Use", "Verdict", "Verification", "Witness", "verify"]
