"""Random kernels that write where data say: segments of a sorted array, some into those of others, and the places
that distinct numbers give. What is proven does not race; what is refuted does on the data of its witness.

The judge is the interpreter, which looks at each access, on random offsets that are as the kernel assumes.
"""

import random

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError, VerificationError
from cutepy.gpu.verify import Claim, Status, Verification

Array = np.ndarray
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
    high, rng = ROWS - 2 if form[6] != "both" else ROWS + 5, np.random.default_rng(number)
    data = [np.sort(rng.integers(2, high, COUNT + 3)).astype(np.uint32) for _turn in range(12)]
    return _judge(segments, form, data, "z3" if number % 20 == 0 else "cutepy")


@gpu.kernel(sizes="known")
def places(ids, y, *, form):
    """Thread t of workgroup e writes where number i of `ids` says, in row ids[i] of w elements."""
    i, w, lane, plus, distinct, guarded = form
    gpu.launch(grid=COUNT, threads=4)
    if distinct:
        gpu.assume(ids, distinct=True)
    if not guarded:
        gpu.assume(ids, bounds=(0, ROWS))
    e, t = gpu.workgroup.x, gpu.thread
    ways = {"own": e * 4 + t, "pairs": e * 4 + t // 2, "group": e, "back": 19 - e * 4 - t, "again": (e * 4 + t) % 8}
    row = ids[ways[i]]
    lanes = {"none": 0, "t": t, "pair": t % 2, "other": ids[ways["group"]] % 4}
    if row < ROWS:
        y[row * w + lanes[lane]] = e
        if plus:
            y[row * w + plus] = e


def judge_places(number: int) -> str:
    """The same of a random kernel that writes to the places that distinct numbers give, or any."""
    draw = random.Random(number)
    usual = draw.random() < 0.5
    form: Form = (
        draw.choice(["own", "back"] if usual else ["own", "pairs", "group", "back", "again"]),
        draw.choice([1, 2, 4, 4]),
        "none" if usual else draw.choice(["none", "t", "t", "pair", "other"]),
        0 if usual else draw.choice([0, 0, 1, 2]),
        int(usual or draw.random() < 0.7),
        draw.randrange(2),
    )
    rng, most = np.random.default_rng(number), ROWS + 4 if form[5] else ROWS
    numbers = rng.permuted(np.tile(np.arange(most), (12, 1)), axis=1)[:, : 4 * COUNT]
    data = list((numbers if form[4] else rng.integers(0, most, numbers.shape)).astype(np.uint32))
    return _judge(places, form, data, "z3" if number % 20 == 0 else "cutepy")


def _judge(kernel: gpu.KernelFunction, form: Form, data: list[Array], prover: str) -> str:
    """The verdict on the races of a kernel, which holds for all data and for those of a witness."""
    y = np.zeros(ROWS * 6, np.uint32)
    found: Verification = kernel.verify(data[0], y, form=form, prover=prover)
    races, bounds = (
        next((v for v in found.verdicts if (v.claim, v.array) == (claim, "y")), None)
        for claim in (Claim.NO_RACES, Claim.IN_BOUNDS)
    )
    if races is not None and races.status is Status.REFUTED:
        assert races.witness is not None
        for contents in races.witness.contents.values():
            with pytest.raises(VerificationError, match="has a race"):
                kernel.interpret(contents, y, form=form, check=True)
    for array in data:
        try:
            kernel.interpret(array, y, form=form, check=True)
        except VerificationError as error:
            assert races is not None and races.status is not Status.PROVEN, (form, array, error)
        except KernelError as error:
            assert bounds is not None and bounds.status is not Status.PROVEN, (form, array, error)
    return str(races.status) if races is not None else "proven"
