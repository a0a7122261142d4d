"""Elements that a thread has by a number of the launch, `x * p + k` with `k < p`: proven for all p, or not at all."""

# ruff: noqa: F821  the type of a number

import random
from collections import Counter

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import VerificationError
from cutepy.gpu.verify import Claim, Status
from cutepy.layout import size

THREADS, GROUPS, MOST = 8, 3, 40


@gpu.kernel(sizes="known")
def strips(p: "u32", y, *, form):
    """Thread t of group g writes y[x * p + k + c] for k below p + more, by steps; or the threads of a group share those
    of its number x, or each digit k has p digits of its own."""
    who, more, step, c, bounded, way = form
    gpu.launch(grid=GROUPS, threads=THREADS)
    if bounded:
        gpu.assume(p <= MOST)
    g, t = gpu.workgroup.x, gpu.thread
    x = {"all": g * THREADS + t, "own": t, "pairs": (g * THREADS + t) // 2, "apart": (g * THREADS + t) * 2, "group": g}[
        who
    ]
    first, step = (t, step * THREADS // 2) if way == "shared" else (0, step)
    for k in gpu.loop(p + more, start=first, step=step):
        if way == "digits":
            for j in gpu.loop(p):
                i = (x * p + k) * p + j + c
                if i < size(y):
                    y[i] = g * THREADS + t
        else:
            i = x * p + k + c
            if i < size(y):
                y[i] = g * THREADS + t


@gpu.kernel(sizes="known")
def strips_of_data(strides, y):
    gpu.launch(grid=GROUPS, threads=THREADS)
    gpu.assume(strides, bounds=(0, MOST + 1))
    for k in gpu.loop(strides[0]):
        i = (gpu.workgroup.x * THREADS + gpu.thread) * strides[0] + k
        if i < size(y):
            y[i] = k


def judge(number: int) -> str:
    draw = random.Random(number)
    usual = draw.random() < 0.5
    way = draw.choice(["own", "own", "shared", "digits"])
    form = (
        draw.choice(
            ["group", "group", "own"] if way == "shared" else ["all", "all", "all", "own", "pairs", "apart", "group"]
        ),
        0 if usual else draw.choice([0, 1]),
        draw.choice([2, 2, 1, 3] if way == "shared" else [1, 1, 2, 3]),
        draw.choice([0, 0, 1, 5]),
        draw.random() < 0.8,
        way,
    )
    y = np.zeros(500, np.uint32)
    found = strips.verify(1, y, form=form, prover="cutepy")
    status = next(v.status for v in found.verdicts if v.claim is Claim.NO_RACES)
    # Where nothing bounds p, a product may wrap: for these p two threads meet.
    for p in (0, 1, 2, 3, 7, MOST, *(() if form[4] else (1 << 31, (1 << 32) // 3 + 1, (1 << 30) + 1))):
        try:
            if p <= MOST:
                strips.interpret(p, y, form=form, check=True)
            elif form[0] == "all" and way != "shared" and p * (THREADS * GROUPS - 1) >= 1 << 32:
                assert status is not Status.PROVEN, (number, form, p)
        except VerificationError as error:
            assert status is not Status.PROVEN, (number, form, p, error)
    return str(status)


@pytest.mark.parametrize("form", [("group", 0, 2, 0, True, "shared"), ("all", 0, 1, 0, True, "digits")])
def test_digits_below_an_unknown_base_have_digits_of_their_own(form: tuple[object, ...]) -> None:
    found = strips.verify(1, np.zeros(500, np.uint32), form=form, prover="cutepy")
    assert [v.status for v in found.verdicts if v.claim is Claim.NO_RACES] == [Status.PROVEN], found


@pytest.mark.parametrize("slice_", range(2))
def test_what_is_proven_holds_for_every_number(slice_: int) -> None:
    found = Counter(judge(number) for number in range(60 * slice_, 60 * slice_ + 60))
    assert found["proven"] >= 10 and found["undecided"] >= 10, found


def test_a_stride_in_a_buffer() -> None:
    y = np.zeros(500, np.uint32)
    found = strips_of_data.verify(np.array([7], np.uint32), y, prover="cutepy")
    assert found.ok and found.given == (f"strides in (0, {MOST + 1})",)
    strips_of_data.interpret(np.array([7], np.uint32), y, check=True)
    assert (y[:168] == np.tile(np.arange(7), 24)).all()


@gpu.kernel(sizes="known")
def two_strides(strides, y, *, apart):
    """Group g and thread t write y[g * strides[0] + t * strides[1]], of which each group has rows of its own."""
    gpu.launch(grid=GROUPS, threads=THREADS)
    outer, inner = strides[0], strides[1]
    gpu.assume((inner >= 1) & (inner <= MOST))
    gpu.assume((outer >= inner * apart) & (outer <= MOST))
    y[gpu.workgroup.x * outer + gpu.thread * inner] = 1


@pytest.mark.parametrize("apart", [THREADS, THREADS - 1])
def test_two_strides_in_a_buffer(apart: int) -> None:
    y = np.zeros(500, np.uint32)
    found = two_strides.verify(np.array([40, 2], np.uint32), y, apart=apart, prover="cutepy")
    status = next(v.status for v in found.verdicts if v.claim is Claim.NO_RACES)
    assert (status is Status.PROVEN) == (apart == THREADS), found
    for strides in ([40, 5], [8, 1], [apart, 1], [apart * 5, 5]):
        try:
            two_strides.interpret(np.array(strides, np.uint32), y, apart=apart, check=True)
        except VerificationError:
            assert status is not Status.PROVEN
