"""Random calls of gpu's public functions inside kernels, most of them wrong: each runs or is refused at its line."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cutepy import gpu
from cutepy.errors import CutepyError

X, U = np.full(64, 0.5, np.float32), np.ones(64, np.uint32)
OPERANDS: dict[str, Callable[..., object]] = {
    "v": lambda x, u, v: v,
    "an integer": lambda x, u, v: u[gpu.thread],
    "the thread": lambda x, u, v: gpu.thread,
    "a bool": lambda x, u, v: v > 0,
    "a half": lambda x, u, v: gpu.cast(v, "f16"),
    "1": lambda x, u, v: 1,
    "1.5": lambda x, u, v: 1.5,
    "-1": lambda x, u, v: -1,
    "True": lambda x, u, v: True,
    "None": lambda x, u, v: None,
    "text": lambda x, u, v: "text",
    "x": lambda x, u, v: x,
    "u": lambda x, u, v: u,
    "a list": lambda x, u, v: [1],
}
#: Those that make or run something outside of kernels.
HOST = set("adapters all any array argmax argmin copy default_device empty kernel matmul max mean min".split())
HOST |= {"open_device", "pointwise", "prod", "softmax", "sum"}
IDS = {"lane", "subgroup", "subgroup_size", "thread"}
PUBLIC = [n for n in dir(gpu) if n not in HOST | IDS and callable(getattr(gpu, n)) and n[0].islower()]


@dataclass(slots=True)
class Misuses:
    """How many calls were refused at their line, how many traced, and what went wrong in another way."""

    refused: int = 0
    traced: int = 0
    raw: list[str] = field(default_factory=list)


def misuses(count: int, seed: int, run: Callable[..., object] | None = None) -> Misuses:
    """So many random calls; `run(kernel, x, u)` is what is done with those that can be traced."""
    draw, found = random.Random(seed), Misuses()
    for _ in range(count):
        name = draw.choice(PUBLIC)
        chosen = [draw.choice(list(OPERANDS)) for _ in range(draw.choice((0, 1, 1, 2, 2, 3, 3, 4)))]
        _try(found, name, chosen, run)
    return found


def _try(found: Misuses, name: str, chosen: list[str], run: Callable[..., object] | None) -> None:
    function = getattr(gpu, name)

    @gpu.kernel
    def misused(x, u):
        gpu.launch(threads=64)
        given = function(*[OPERANDS[o](x, u, x[gpu.thread]) for o in chosen])
        x[gpu.thread] = gpu.cast(given, "f32") if isinstance(given, gpu.Expr) and given.lanes == 1 else 0.25

    call = f"{name}({', '.join(chosen)})"
    x, u = X.copy(), U.copy()
    try:
        misused.ir(x, u)
    except CutepyError as error:
        found.refused += 1
        if not str(error).startswith("misuse.py:"):
            found.raw.append(f"{call}: {error}")
        return
    except Exception as error:
        found.raw.append(f"{call}: {type(error).__name__}: {error}")
        return
    found.traced += 1
    try:
        if run is not None:
            run(misused, x, u)
    except CutepyError as error:
        found.raw.append(f"{call}: {error}")
