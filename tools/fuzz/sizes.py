"""Kernels for unknown sizes, judged: no proof for all sizes may be false at any.

`python tools/fuzz/sizes.py COUNT [SEED] [--processes P] [--only texts brute] [--part I/N]`, or by the common entry
`python -m tools.fuzz sizes --count COUNT --seed SEED -- --processes P`.

`texts`, the default, are COUNT random kernels from SEED on, each at 12 sizes, some 2 seconds each: by the prover of
known sizes (through `kernel.at`), by the interpreter that looks at each access, by the kernel traced for its sizes, and
by z3 over the integers with sizes free. `brute` are fifty kernels at all sizes to 300 of one unknown, to 40 of two, and
around the edges of tiles of three, by the first two, and by z3. With `--part I/N` only every N-th piece of work
from the I-th on is done, so that N machines or shells share it; with `--seconds S` none is waited for later.
Prints how far it is twice a minute, what was found, and what is undecided with the missing fact; 1 for any fault.
"""

import argparse
import sys
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "gpu")]

#: Sizes that one piece of work looks at.
CHUNK = 200
Piece = tuple[str, str, int]
Found = tuple[Counter[str], Counter[str], list[str]]


def pieces(count: int, seed: int, only: list[str]) -> list[Piece]:
    """The work, in pieces: random kernels by their seeds, the fifty by their sizes."""
    from size_judging import subjects

    found: list[Piece] = []
    if "texts" in only:
        found += [("texts", "", number) for number in range(seed, seed + count)]
    if "brute" in only:
        for name, subject in subjects().items():
            found.append(("integers", name, 0))
            found += [("brute", name, at) for at in range(0, len(subject.sizes()), CHUNK)]
    return found


def run(piece: Piece) -> Found:
    """What one piece of work finds: counts, what is undecided with its reason, faults."""
    from size_judging import brute, by_integers, judge_text, subjects

    kind, name, number = piece
    told: Counter[str] = Counter()
    if kind == "texts":
        try:
            found, undecided = judge_text(number)
        except AssertionError as error:
            return Counter({"texts: FAULTS": 1}), told, [str(error)]
        faults = [line for line in undecided if line.startswith("FALSE")]
        return Counter({f"texts: {what}": n for what, n in found.items()}), Counter(undecided), faults
    subject = subjects()[name]
    if kind == "brute":
        found, reasons, faults = brute(subject, subject.sizes()[number : number + CHUNK])
        told += Counter({f"{name}: {reason}": n for reason, n in reasons.items()})
        return Counter({f"brute: {what}": n for what, n in found.items()}), told, faults
    counts: Counter[str] = Counter()
    faults = []
    for verdict, what in by_integers(subject):
        counts[f"z3: {verdict}"] += 1
        if verdict.startswith("FALSE"):
            faults.append(f"{verdict}: {what}")
        elif verdict not in ("confirmed", "undecided and fails"):
            told[f"{verdict}: {what}"] += 1
    return counts, told, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=("texts", "brute"), default=["texts"])
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--part", default="0/1", help="I/N: every N-th piece from the I-th on")
    parser.add_argument("--told", type=int, default=60, help="how many undecided lines are printed")
    options = parser.parse_args()
    first, every = map(int, options.part.split("/"))
    work = pieces(options.count, options.seed, options.only)[first::every]
    start, found, told, faults = time.monotonic(), Counter[str](), Counter[str](), []
    done, shown = 0, start
    with get_context("spawn").Pool(options.processes) as pool:
        for counts, reasons, wrong in pool.imap_unordered(run, work):
            found += counts
            told += reasons
            faults += wrong
            done += 1
            for line in wrong:
                print(line, flush=True)
            if time.monotonic() - start > options.seconds:
                break
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                print(f"  {done} of {len(work)} pieces, {len(faults)} faults", flush=True)
    print(f"{done} of {len(work)} pieces of work in {time.monotonic() - start:.0f} s")
    for what, n in sorted(found.items()):
        print(f"  {n:7} {what}")
    print(f"undecided, or said of no call, with the reason ({len(told)}):")
    for line, n in sorted(told.items())[: options.told]:
        print(f"  {n:5} {line[:260]}")
    print(f"{len(faults)} faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
