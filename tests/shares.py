"""Of the random cases of a law every run of the tests tries a share; `make laws` tries all (`CUTEPY_LAWS=all`).

Where a fault of the law's kind is met by one case in twenty, fifty cases miss it in one run of thirteen: what more of
them notice is left to the runs that look for it.
"""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import settings

ALL = os.environ.get("CUTEPY_LAWS", "") == "all"
#: One case in so many.
SHARE = 4


def share(seeds: range) -> range:
    """Every fourth of the seeds, from the first one on; or all."""
    return seeds if ALL else seeds[::SHARE]


def in_share(count: int) -> int:
    """How often a share of the seeds meets an outcome that all of them meet so often: half of that, for few vary."""
    return count if ALL else count // (2 * SHARE)


def tries(examples: int) -> Callable[[Any], Any]:
    """Hypothesis tries a fourth of so many examples, whatever time one takes; or all."""
    return settings(max_examples=examples if ALL else -(-examples // SHARE))
