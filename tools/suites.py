"""What other projects' suites say of cutepy, in one table: `python tools/suites.py [-v] [--kernels] [--device]`.

The ports stand in tests/suites: GPUVerify's and Faial's kernels by what they access, and classic kernels with seeded
faults. A label is the source's; where WGSL has another rule, the rule is named. `tools/public_suites.py` has the other
suites: what is not installed is said. `-v` shows each verdict on a port, `--kernels` runs ONNX's tests and the array
API's functions on the interpreter of kernels too, `--device` on a device, `--ports` counts the ports alone. `--read`
counts the verdicts on the ports' WGSL texts read back, beside those on the kernels. `--tinygrad FILE [--device]` runs
tinygrad's test_ops.py alone (`tools/public_suites/tinygrad_ops.py`). Exits with 1 where cutepy is wrong.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / "suites"), str(Path(__file__).parent)]

from ported import all_ports  # noqa: E402  found through the path above

from cutepy.errors import KernelError  # noqa: E402

if TYPE_CHECKING:
    from public_suites import Row


def others(engines: Sequence[str]) -> int:
    """Print a row for each other suite, those of arrays on these engines; how many answers are wrong."""
    from public_suites import all_suites

    return told(all_suites(engines))


def told(rows: Iterable[Row]) -> int:
    """Print these rows; how many answers are wrong."""
    wrong = 0
    for row in rows:
        cases = sum(row.counts.values())
        outcomes = ", ".join(f"{n} {outcome}" for outcome, n in row.counts.most_common())
        print(f"{row.suite:<45} {cases:6} cases: {outcomes}" if cases else f"{row.suite:<45} {row.note}", flush=True)
        for words in row.wrong:
            print(f"  WRONG {words}")
        wrong += len(row.wrong)
    return wrong


def main(verbose: bool) -> int:
    """Print the table of the ports; 1 where a verdict is false."""
    counts: dict[str, Counter[str]] = {}
    for port in all_ports():
        outcome = port.outcome
        suite = port.source.split("/")[0]
        counts.setdefault(suite, Counter())[outcome] += 1
        if verbose or outcome.startswith("false"):
            rule = f" ({port.rule.value})" if port.rule else ""
            print(f"{port.source}: label {port.label}{rule}: {port.verdict.splitlines()[0]}")
    total = sum(counts.values(), Counter())
    for suite, outcomes in [*counts.items(), ("all", total)]:
        print(
            f"{suite:<8} {sum(outcomes.values()):4} kernels: "
            + ", ".join(f"{n} {o}" for o, n in sorted(outcomes.items()))
        )
    return int(any(outcome.startswith("false") for outcome in total))


def read_back() -> int:
    """Print how often a text read back has the verdict of its kernel, and each where it has not."""
    counts: Counter[str] = Counter()
    for port in all_ports():
        try:
            ours, theirs = port.read_back
        except KernelError as error:
            counts["no text, or not read"] += 1
            print(f"{port.source}: {error}")
            continue
        counts["same" if ours == theirs else "other"] += 1
        if ours != theirs:
            print(f"{port.source}: {ours}, read back {theirs}")
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    return 0


if __name__ == "__main__":
    words = sys.argv[1:]
    if "--read" in words:
        sys.exit(read_back())
    if "--tinygrad" in words:
        from public_suites.tinygrad_ops import tinygrad_ops

        file = words[words.index("--tinygrad") + 1]
        sys.exit(told([tinygrad_ops(file, device="--device" in words, verbose="-v" in words)]) > 0)
    failed = main("-v" in words)
    engines = [
        "numpy",
        *(["interpreter"] if "--kernels" in words else []),
        *(["device"] if "--device" in words else []),
    ]
    sys.exit(failed or int("--ports" not in words and others(engines) > 0))
