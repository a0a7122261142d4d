"""Wrong calls in kernels, and what wgpu says of those that are traced: `python tools/fuzz/misuse.py COUNT [SEED]`."""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "gpu"))

import misuse


def main(count: int = 5000, seed: int = 0) -> int:
    """Print one line of figures; 1 where a call was neither refused at its line nor accepted by wgpu."""
    warnings.simplefilter("ignore", RuntimeWarning)
    found = misuse.misuses(count, seed, lambda kernel, x, u: kernel(x, u))
    for line in found.raw[:10]:
        print(line)
    print(f"misuse: {count} calls: {found.refused} refused, {found.traced} traced; {len(found.raw)} wrong")
    return 1 if found.raw else 0


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
