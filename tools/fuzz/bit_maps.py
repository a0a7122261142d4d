"""Random invertible matrices over F2, of 3 x 3 to 10 x 10: `bit_maps.py COUNT`, COUNT pairs of each size.

Each is said as a layout, composed with another, inverted, printed and read back, drawn, and used in a kernel. Exits
with 1 where one of these fails.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "tests")]

from layout.bit_map_cases import failing, invertible, unused  # noqa: E402


def main(count: int) -> int:
    failed = 0
    for bits in range(3, 11):
        rng = random.Random(bits)
        for _pair in range(count):
            f, g = invertible(rng, bits), invertible(rng, bits)
            word = failing(f, g, bits) or unused(f, bits)
            if word:
                failed += 1
                print(f"{bits} bits: {f} and {g} are not {word}")
    print(f"{8 * count} pairs of invertible matrices, 3 x 3 to 10 x 10: {8 * count - failed} hold, {failed} do not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
