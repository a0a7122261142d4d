"""A counter-example of a claim for all sizes: numbers for the sizes, at which the prover of known sizes refutes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice, product
from math import prod
from random import Random
from typing import TYPE_CHECKING, Any

from ..ir import new_arena
from ..runtime.program import Limits
from ..verify import Status, Verification
from .sizes import divisors_of
from .unknown_sizes import WIDEST

if TYPE_CHECKING:
    from .call import BoundArguments
    from .kernel import SizedLaunch

#: Sizes that are tried, times what divides them, and how many launches.
_TRIED, _MOST = (1, 2, 3, 5, 8, 16, 17, 33, 65, 100, 257), 40
#: Sizes of a kernel of which all combinations are tried.
_COMBINED = 4


def launches(launch: SizedLaunch) -> Iterator[tuple[Mapping[str, int], SizedLaunch]]:
    """The launch at other sizes of its class, the smallest first, each with its tensors packed; and these sizes."""
    names: dict[str, int] = {}  # with what divides each
    divisors = divisors_of(launch.call.facts)
    for a in launch.call.arguments:
        for n, step in zip(a.sizes.shape, a.sizes.stride, strict=True) if a.sizes is not None else ():
            if isinstance(n, str):
                unit = WIDEST if a.sizes is not None and a.sizes.aligned and step == 1 else 1
                names[n] = max(names.get(n, 1), unit, divisors.get(n, 1))
    plan = launch.traced.plan
    assert plan is not None
    # Of many sizes not every combination, which are too many to sort.
    some = Random(0)
    tried: Iterable[tuple[int, ...]] = product(_TRIED, repeat=len(names))
    if len(names) > _COMBINED:
        tried = [tuple(some.choices(_TRIED[: 1 + turn // 4], k=len(names))) for turn in range(4 * len(_TRIED))]
    for numbers in sorted(tried, key=lambda numbers: (max(numbers), numbers)):
        sizes = {name: n * by for (name, by), n in zip(names.items(), numbers, strict=True)}
        call, values = _packed(launch.call, sizes)
        numbers_of_call: dict[str, Any] = {**call.params, **values}
        if plan.broken(numbers_of_call) is None:
            params, grid = plan.host(values)
            if 1 <= min(grid) and max(grid) <= Limits().workgroups:
                yield sizes, replace(launch, call=call, params=params, grid=grid)


def _packed(call: BoundArguments, sizes: Mapping[str, int]) -> tuple[BoundArguments, dict[str, int]]:
    """The call with tensors of these sizes, without room between their elements, and its numbers."""
    values: dict[str, int] = {}
    arguments = []
    for a in call.arguments:
        if a.sizes is not None:
            shape = [n if isinstance(n, int) else sizes[n] for n in a.sizes.shape]
            # The mode of stride 1 first, the others from the last on.
            steps = a.sizes.stride
            order = sorted(range(len(shape)), key=[(step != 1, -axis) for axis, step in enumerate(steps)].__getitem__)
            step, unit = 1, WIDEST if a.sizes.aligned else 1
            for axis in order:
                values[f"{a.name}.shape[{axis}]"] = shape[axis]
                known = a.sizes.stride[axis]
                values[f"{a.name}.stride[{axis}]"] = known if known is not None else step if shape[axis] > 1 else 0
                step = -(-step * shape[axis] // unit) * unit
            values[f"{a.name}.offset"] = 0
            a = replace(a, length=max(step, prod(shape)), offset=0)
        arguments.append(a)
    return replace(call, arguments=tuple(arguments), values=values), values


def refuted(launch: SizedLaunch, found: Verification) -> Verification:
    """What was found for all sizes, with what is undecided there refuted where it fails at some sizes."""
    left = {(v.claim, v.array) for v in found.undecided}
    told = {}
    for sizes, other in islice(launches(launch), _MOST if left else 0):
        with new_arena():
            known = other.verify()
        where = ", ".join(f"{name} = {n}" for name, n in sizes.items())
        for v in known.refuted:
            if (key := (v.claim, v.array)) in left:
                left.discard(key)
                told[key] = replace(v, reason=f"where {where}: {v.reason}")
        if not left:
            break
    if not told:
        return found
    verdicts = [told.get((v.claim, v.array), v) if v.status is Status.UNDECIDED else v for v in found.verdicts]
    return replace(found, verdicts=tuple(verdicts))
