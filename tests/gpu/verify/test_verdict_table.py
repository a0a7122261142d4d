"""What is decided of some hundred kernels, drawn by seeds: a golden table, a line a kernel.

P is proven, R refuted (with the element of the witness), U undecided. Other tests say that verdicts are true; this one
says that they stay as sharp as they are. After a change that makes some of them sharper: `pytest --update-golden`.
"""

from collections.abc import Callable, Iterable
from importlib.util import find_spec

import barrier_programs
import numpy as np
import pytest
import while_programs
from mutants import LIMITS, plant
from random_kernels import Maker
from while_programs import budget

from cutepy.errors import CutepyError
from cutepy.gpu.ir import new_arena
from cutepy.gpu.verify import Verification, verify
from cutepy.gpu.verify.verdict import Status

BUDGETS = None, 0, 1 << 10
#: Kernels for which z3 takes more than a quarter of a second: a limit of time decides nothing here.
SLOW = {0, 3, 11, 22, 23, 31, 48, 50, 53, 57, 59}


def line(verification: Verification) -> str:
    """The verdicts of one kernel: claim by claim, array by array."""
    claims: dict[str, list[str]] = {}
    for verdict in verification.verdicts:
        where = f"@{verdict.witness.element}" if verdict.witness is not None else ""
        text = f"{verdict.array or ''}{str(verdict.status)[0].upper()}{where}"
        claims.setdefault(str(verdict.claim), []).append(text)
    return "; ".join(f"{claim} {' '.join(found)}" for claim, found in claims.items() if claim != "within limits")


def random_kernels() -> Iterable[tuple[str, str]]:
    for seed in range(160):
        with new_arena(), budget(BUDGETS[seed % 3]):
            kernel = Maker(seed, data=seed % 4 == 1, wild=seed % 4 == 3).kernel()
            yield f"random {seed}", line(verify(kernel))


def loops() -> Iterable[tuple[str, str]]:
    for seed in range(80):
        writer = while_programs.Writer(seed)
        kernel = writer.kernel()
        try:
            with budget(None if seed % 8 == 0 else 1 << 13):
                yield f"while {seed}", line(kernel.verify(*writer.arrays(np.random.default_rng(seed), 64)))
        except CutepyError:
            continue


def barriers() -> Iterable[tuple[str, str]]:
    for seed in range(60):
        writer = barrier_programs.Writer(seed)
        kernel = writer.kernel()
        try:
            yield f"barrier {seed}", line(kernel.verify(*writer.arrays(np.random.default_rng(seed))))
        except CutepyError:
            continue


def planted() -> Iterable[tuple[str, str]]:
    for seed in range(24):
        with new_arena():
            _, kernel, mutant = plant(seed)
            yield f"right {seed}", line(verify(kernel, LIMITS))
            if mutant.kernel is not None:
                yield f"wrong {seed}", line(verify(mutant.kernel, LIMITS))


@pytest.mark.parametrize("corpus", [random_kernels, loops, barriers, planted], ids=lambda f: f.__name__)
def test_what_is_decided(corpus: Callable[[], Iterable[tuple[str, str]]], golden: Callable[[str, str], None]) -> None:
    golden(f"verdicts_of_{corpus.__name__}.txt", "".join(f"{name}: {text}\n" for name, text in corpus()))


@pytest.mark.skipif(find_spec("z3") is None, reason="z3-solver is not installed")
def test_what_z3_decides(golden: Callable[[str, str], None]) -> None:
    """z3 alone, of small kernels: its limits count steps, so a busy machine decides nothing."""
    lines = []
    for seed in sorted({*range(60)} - SLOW):
        with new_arena():
            kernel = Maker(seed, data=seed % 4 == 1, wild=seed % 4 == 3).kernel()
            found = verify(kernel, prover="z3")
        # What is not proven is refuted or left open, as the model says that z3 happens upon.
        told = [f"{v.array}{'P' if v.status is Status.PROVEN else '-'}" for v in found.verdicts if v.by == "z3"]
        lines.append(f"z3 {seed}: {' '.join(told)}")
    golden("verdicts_of_z3.txt", "\n".join(lines) + "\n")
