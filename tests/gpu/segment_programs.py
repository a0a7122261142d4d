"""Random kernels that write segments of a sorted array, some into those of others: what is proven does not race.

The judge is the interpreter, which looks at each access, on random offsets that are as the kernel assumes.
"""

import random

import numpy as np

from cutepy import gpu
from cutepy.errors import KernelError, VerificationError
from cutepy.gpu.verify import Claim, Status

Form = tuple[int | str, ...]
ROWS, COUNT = 24, 5


@gpu.kernel(sizes="known")
def segments(offsets, y, *, form):
    """Workgroup e goes from offsets[e + a] + b to offsets[e + c] + d, in steps of m rows."""
    a, b, c, d, m, w, clamp, kind = form
    gpu.launch(grid=COUNT, threads=4)
    gpu.assume(offsets, ascending=True)
    if clamp != "both":
        gpu.assume(offsets, bounds=(2, ROWS - 2))
    e, t = gpu.workgroup.x, gpu.thread
    first, stop = offsets[e + a], offsets[e + c]
    if clamp in ("both", "stop"):
        stop = gpu.minimum(stop, ROWS - 2)
    if clamp == "both":
        first = gpu.minimum(first, ROWS - 2)
    first, stop = first + b, stop + d
    for r in gpu.loop(stop, start=first, step=m):
        if kind == "row":
            if r + t < stop:
                y[r + t] = e
        elif kind == "twice":  # threads 0, 1 and 2, 3 write alike
            if r + t // 2 < stop:
                y[r + t // 2] = e
        elif kind == "wide":
            if r < stop:
                y[r * w + t] = e
        elif kind == "apart":
            if r + t * w < stop:
                y[r + t * w] = e
        elif r + t < stop:
            y[stop - 1 - t] = e


def judge(number: int) -> str:
    """The verdict on the races of a random kernel, proven where nothing is written; AssertionError if it is false."""
    draw = random.Random(number)
    usual = draw.random() < 0.5
    form: Form = (
        0 if usual else draw.choice([0, 0, 1]),
        0 if usual else draw.choice([0, 0, 1, 2]),
        1 if usual else draw.choice([1, 1, 2]),
        0 if usual else draw.choice([0, 0, 1]),
        draw.choice([1, 2, 4, 4, 8]),
        draw.choice([1, 2, 3, 4, 5]),
        draw.choice(["", "stop", "both"]),
        draw.choice(["row", "row", "twice", "wide", "apart", "back"]),
    )
    y = np.zeros(ROWS * 6, np.uint32)
    offsets = np.full(COUNT + 3, 2, np.uint32)
    prover = "z3" if number % 20 == 0 else "cutepy"
    found = segments.verify(offsets, y, form=form, prover=prover)
    races, bounds = (
        next((v.status for v in found.verdicts if (v.claim, v.array) == (claim, "y")), Status.PROVEN)
        for claim in (Claim.NO_RACES, Claim.IN_BOUNDS)
    )
    rng = np.random.default_rng(number)
    for _turn in range(12):
        high = ROWS - 2 if form[6] != "both" else ROWS + 5
        offsets = np.sort(rng.integers(2, high, COUNT + 3)).astype(np.uint32)
        try:
            segments.interpret(offsets, y, form=form, check=True)
        except VerificationError as error:
            assert races is not Status.PROVEN, (number, form, offsets, error)
        except KernelError as error:
            assert bounds is not Status.PROVEN, (number, form, offsets, error)
    return str(races)
