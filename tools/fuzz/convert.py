"""Conversions of random pairs of thread-value layouts, followed step by step: `convert.py COUNT [SEED]`.

COUNT pairs each of permuted bits, of mixed ones, of layouts in which several threads hold the same, and of all these in
kernels that the interpreter runs and that are verified. Prints a line a kind, with its first wrong cases; exits with 1
if any is wrong.
"""

import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "gpu")]

import test_convert  # noqa: E402
from layout.convert_cases import judged  # noqa: E402

count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
wrong = 0
judges = {f"{kind} pairs": partial(judged, kind=kind) for kind in ("permuted", "linear", "copied")}
for name, judge in {**judges, "pairs in kernels": test_convert.judged}.items():
    bad = [f"  {seed}: {said}" for seed in range(first, first + count) if (said := judge(seed))]
    wrong += len(bad)
    print(f"{count} {name}: {len(bad)} wrong", *bad[:3], sep="\n")
sys.exit(wrong > 0)
