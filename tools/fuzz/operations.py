"""`python tools/fuzz/operations.py COUNT [SEED] [ENGINE...]`: calls made through ops, the interpreter and a device.

Prints what is not alike, then one line: how many calls, how many answered with elements, how many refused, how many
unlike. Exits with 1 where some are unlike. ENGINE is numpy or wgpu; both by default.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from ops.same_calls import call_of, differences, outcome


def main(count: int, first: int, engines: list[str]) -> int:
    unlike = refused = 0
    for seed in range(first, first + count):
        found = differences(seed, engines)
        refused += outcome(call_of(seed).host).values is None
        if found:
            unlike += 1
            print("\n".join(found), flush=True)
    print(
        f"{count} calls from seed {first} on {', '.join(engines)}: {count - refused} answered, {refused} refused alike"
    )
    print(f"{unlike} unlike")
    return 1 if unlike else 0


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.lstrip("-").isdigit()]
    chosen = [word for word in sys.argv[1:] if word in ("interpreter", "wgpu")]
    sys.exit(
        main(numbers[0] if numbers else 500, numbers[1] if len(numbers) > 1 else 0, chosen or ["interpreter", "wgpu"])
    )
