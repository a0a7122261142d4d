"""COUNT [SEED [ROOM]]: junk calls of every public name, each answered or refused in words, and soon.

ROOM is "layouts" or "others" (tensors, `ops`, `gpu` on the host, pictures, the command line); both by default, half
of the calls each. `misuse.py` does the same for what a kernel says.
"""

import resource
import sys
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / folder) for folder in ("tests", ".")]

import junk_calls  # noqa: E402 (tests are no package)
from layout import junk_cases  # noqa: E402

resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
warnings.simplefilter("ignore")
count, seed = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "0"
rooms = {"layouts": junk_cases.faults, "others": junk_calls.faults}
chosen = sys.argv[3:4] or list(rooms)
found = [line for room in chosen for line in rooms[room](count // len(chosen), seed).values()]
print(*found, f"junk: {count} calls of {' and '.join(chosen)}, {len(found)} kinds of faults", sep="\n")
sys.exit(bool(found))
