"""Plans that were found by timing on this machine: kept in a file of the user's, asked for by every product.

Law: a plan is found again for the adapter, its driver, the version of cutepy and the class of shape that it was timed
for, and for no other. Without a file every product takes the plan that `choose_plan` gives.

An entry of the file is read when a product asks for it, and one that is no plan for this device and product spoils
itself alone. What is there and not taken is said once, in a warning.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...errors import KernelError
from .. import Adapter
from ..runtime.plan_file import PlanFile
from .cost_model import PROCESSORS, ProductProblem, registers_per_thread, workgroups_of
from .plan import Plan

# A plan is taken within these bounds, and the tuner tries none beyond: a driver may compile such a one for minutes.
TILE_SIDES, DEEPEST_TILE = (4, 256), 1024
"""The least and the most rows and columns of a tile, and its most columns of k."""
THREAD_COUNTS, MOST_REGISTERS = (32, 256), 160
"""The least and the most threads of a workgroup, and the numbers of 4 bytes that a thread holds at most."""


def key_of(adapter: Adapter, problem: ProductProblem) -> str:
    """The name under which a plan is kept: the device, and the class of the shape."""
    return PlanFile.key(adapter, f"matmul {problem.shape_class}")


def tuned_plan(adapter: Adapter | None, problem: ProductProblem) -> Plan | None:
    """The plan that was found for products of this class; None where none was."""
    if adapter is None or not PlanFile.entries():
        return None
    found = known(adapter, problem)
    return None if found is None else found[0]


@lru_cache(maxsize=1024)
def known(adapter: Adapter, problem: ProductProblem) -> tuple[Plan, float] | None:
    """The plan that was found for this class, and its seconds; None where there is none for this device."""
    key = key_of(adapter, problem)
    entry = PlanFile.entries().get(key)
    if entry is None:
        return None
    # The entry may be anything: it is made a plan, and held to what the device and the tuner allow.
    try:
        plan, seconds = plan_of(entry["plan"]), PlanFile.seconds_of(entry)
        why = _beyond(plan, problem, adapter)
    except (KernelError, TypeError, KeyError, ValueError, AttributeError, OverflowError) as error:
        why = str(error) or type(error).__name__
    if why:
        where = f"{key!r} in {PlanFile.path()}"
        PlanFile.warn(f"the plan kept for {where} is not taken: {why[:200]}; products take the default plan")
        return None
    return plan, seconds


def _beyond(plan: Plan, problem: ProductProblem, adapter: Adapter) -> str:
    """What of a plan is beyond this device, or beyond what the tuner tries, in words; "" where nothing is."""
    # What is counted, its least and most in the plan, and the bounds of these.
    (bm, bn, bk), threads = plan.tile, math.prod(plan.threads)
    asked = [
        ("rows and columns of a tile", (min(bm, bn), max(bm, bn)), TILE_SIDES),
        ("columns of k", (bk, bk), (1, DEEPEST_TILE)),
        ("threads", (threads, threads), (THREAD_COUNTS[0], min(THREAD_COUNTS[1], adapter.limits.invocations))),
        ("numbers of a thread", (1, registers_per_thread(plan)), (1, MOST_REGISTERS)),
        ("bytes of workgroup memory", (1, plan.shared_bytes), (1, adapter.limits.workgroup_bytes)),
        ("parts of k", (1, plan.splits), (1, max(2, 8 * PROCESSORS // workgroups_of(problem, plan)))),
    ]
    return "; ".join(
        f"{least} to {most} {what}, between {low} and {high} are taken"
        for what, (least, most), (low, high) in asked
        if least < low or most > high
    )


def plan_of(entry: dict[str, Any]) -> Plan:
    """A plan from its fields, as JSON has them. Raises KernelError, TypeError or AttributeError for what is none."""
    return Plan(**tuples(entry))


def tuples(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields with tuples where JSON has lists.

    >>> tuples({"tile": [64, 64, 16], "copies": [[4, 1], [4, 2]]})
    {'tile': (64, 64, 16), 'copies': ((4, 1), (4, 2))}
    """

    def tupled(value: Any) -> Any:
        return tuple(map(tupled, value)) if isinstance(value, list) else value

    return {name: tupled(value) for name, value in fields.items()}


def keep(adapter: Adapter, problem: ProductProblem, plan: Plan, seconds: float) -> Path:
    """Keep a plan, beside what is there. Returns the file; see `PlanFile.keep`."""
    path = PlanFile.keep(key_of(adapter, problem), {"plan": asdict(plan), "seconds": seconds})
    known.cache_clear()
    return path


def reread() -> None:
    """Forget what the file held: the next product reads it again."""
    PlanFile.entries.cache_clear()
    known.cache_clear()
