"""The verdicts on kernels of other verifiers' suites: `python tools/suites.py [-v]` counts them, -v shows each; with
`--read` those on their WGSL texts read back, beside those on the kernels.

The ports stand in tests/suites: GPUVerify's and Faial's kernels by what they access, and classic kernels with seeded
faults. A label is the source's; where WGSL has another rule, the rule is named.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "suites"))

from ported import all_ports

from cutepy.errors import KernelError


def main(verbose: bool) -> int:
    """Print the table; 1 where a verdict is false."""
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
    sys.exit(read_back() if "--read" in sys.argv[1:] else main("-v" in sys.argv[1:]))
