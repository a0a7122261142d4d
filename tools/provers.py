"""cutepy's prover and z3 on the same kernels: `python tools/provers.py [ports] [kernels] [K/N] [-v]` counts.

`ports` are those of tests/suites, `kernels` those of the project, its tests and its examples; K/N takes every N-th of
them from number K on, and N is 0/N. Each
claim that z3 decides is decided by both, alone; a disagreement is a claim that one proves and the other refutes. The
times are those of z3's questions, of CPU. Exits with 1 where they disagree.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "suites"), str(TESTS / "gpu"), str(TESTS)]

from ported import LIMITS, all_ports  # noqa: E402  found through the path above

from cutepy.errors import KernelError  # noqa: E402
from cutepy.gpu.ir import Kernel, new_arena  # noqa: E402
from cutepy.gpu.verify import Z3_CLAIMS, verify  # noqa: E402
from cutepy.gpu.verify.z3_prover import Statistics, decide_by_z3  # noqa: E402

#: Steps of z3 for one question and for one kernel, about 2 million a second; a busy machine changes no verdict.
QUESTION, TOTAL = 1_000_000, 12_000_000


def kernels(wanted: set[str]) -> Iterator[tuple[str, Kernel]]:
    """The kernels, by name."""
    if "ports" in wanted:
        for port in all_ports():
            try:
                yield port.source, port.kernel.ir(*port.arguments, **port.static)
            except KernelError:
                continue  # refused: nothing to prove
    if "kernels" in wanted:
        from every_kernel import every_kernel

        for name, run in every_kernel().items():
            yield name, run.kernel.ir(*run.arguments, **run.static)


def main(wanted: set[str], *, verbose: bool, first: int = 0, every: int = 1) -> int:
    """Print the table."""
    counts: Counter[tuple[str, str]] = Counter()
    statistics, wrong, helped = Statistics(), 0, 0
    seen = 0
    start = perf_counter()
    for number, (name, kernel) in enumerate(kernels(wanted)):
        if number % every != first:
            continue
        seen += 1
        with new_arena():
            ours = [v for v in verify(kernel, LIMITS, prover="cutepy").verdicts if v.claim in Z3_CLAIMS]
            theirs = decide_by_z3(
                kernel, [(v.claim, v.array) for v in ours], question=QUESTION, total=TOTAL, statistics=statistics
            )
        for v in ours:
            other = theirs[v.claim, v.array]
            counts[str(v.status), str(other.status)] += 1
            helped += v.status == "undecided" != other.status
            if {v.status, other.status} == {"proven", "refuted"}:
                wrong += 1
                print(f"DISAGREE {name}\n  cutepy: {v}\n  z3:     {other}")
            elif verbose and v.status != other.status:
                print(f"{name}\n  cutepy: {v}\n  z3:     {other}")
    for (mine, other), n in sorted(counts.items()):
        print(f"{n:6} claims: cutepy {mine}, z3 {other}")
    times = statistics.times
    middle = 1000 * median(times or [0])
    print(
        f"{seen} kernels, {sum(counts.values())} claims, {wrong} disagreements; z3 decides {helped} that cutepy leaves "
        f"undecided; {len(times)} questions, {middle:.1f} ms in the median, {sum(times):.0f} s of CPU in "
        f"{perf_counter() - start:.0f} s"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if not word.startswith("-")]
    parts = [tuple(map(int, f"0/{word}".split("/")[-2:])) for word in given if word[0].isdigit()] or [(0, 1)]
    words = {word for word in given if not word[0].isdigit()} or {"ports", "kernels"}
    sys.exit(main(words, verbose="-v" in sys.argv, first=parts[0][0], every=parts[0][1]))
