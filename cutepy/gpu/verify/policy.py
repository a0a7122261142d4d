"""All claims about a kernel, and what follows from them for how it runs."""

from typing import Literal, get_args

from ..ir import Kernel, check, new_arena
from ..lower import lower
from ..runtime.program import Limits
from .bounds import decide_bounds, is_in_bounds
from .collect import collect, uses_subgroups
from .control import decide_barriers, decide_loops
from .initial import decide_written
from .limits import decide_limits
from .model import Model
from .races import decide_races
from .verdict import Verdict, Verification

Checks = Literal["auto", "always"]
CHECKS: tuple[Checks, ...] = get_args(Checks)

_RANK = {"refuted": 0, "undecided": 1, "proven": 2}


def verify(kernel: Kernel, limits: Limits | None = None, *, aliases: tuple[str, ...] = ()) -> Verification:
    """All verdicts about `kernel`, for a device with `limits` (by default, for every WebGPU device).

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
    >>> [(v.claim, v.status) for v in found.verdicts if v.array == "y"]
    [('in bounds', 'proven'), ('no races', 'proven')]
    """
    chosen = limits if limits is not None else Limits()
    check(kernel)
    verdicts = [*_for_sizes(kernel, chosen), decide_limits(kernel, chosen, aliases)]
    return Verification(kernel.name, tuple(verdicts))


def needs_checks(kernel: Kernel, checks: Checks = "auto") -> bool:
    """Whether `kernel` has to run with the run-time checks of bounds and loops: it is not proven to do without, or
    `checks` is "always". What is proven is the kernel as it is printed, after lowering."""
    if checks == "always":
        return True
    if 0 in kernel.grid:
        return False
    with new_arena():
        ready = lower(kernel)
        models = (collect(ready, size) for size in _sizes(ready, Limits()))
        return not all(decide_loops(m).status == "proven" and is_in_bounds(m) for m in models)


def _sizes(kernel: Kernel, limits: Limits) -> list[int]:
    """The sizes of subgroup to look at: those that the device may have, where the kernel asks for them."""
    least, most = limits.subgroup_sizes
    sizes = [1 << i for i in range(8) if least <= 1 << i <= most]
    return sizes if sizes and uses_subgroups(kernel) else [32]


def _for_sizes(kernel: Kernel, limits: Limits) -> list[Verdict]:
    """The worst verdict on each claim, over the sizes of subgroup."""
    if 0 in kernel.grid:
        return []
    worst: dict[tuple[str, str], Verdict] = {}
    for size in _sizes(kernel, limits):
        with new_arena():
            for verdict in _decide(collect(kernel, size)):
                key = verdict.claim, verdict.array
                if key not in worst or _RANK[verdict.status] < _RANK[worst[key].status]:
                    worst[key] = verdict
    return list(worst.values())


def _decide(model: Model) -> list[Verdict]:
    barriers, races = decide_barriers(model), decide_races(model)
    if barriers.status != "proven":
        why = "a barrier is not proven to hold for all threads"
        races = [Verdict(v.claim, "undecided", why, v.array) if v.status == "proven" else v for v in races]
    return [*decide_bounds(model), decide_loops(model), barriers, *races, *decide_written(model)]
