"""What it costs to begin: processor time of a new Python that imports cutepy, above one that imports nothing.

The least of many runs in turn, so that a busy machine shows little; the modules are compiled before. Bar: 60 ms, and
no NumPy.
"""

import os
import resource
import subprocess
import sys
from tempfile import TemporaryDirectory

RUNS = 25
BAR = 60
STARTS = ("pass", "import cutepy", "from cutepy import *")


def taken(program: str, compiled: str) -> float:
    """Milliseconds of user and system time of one run."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program += "; import sys; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, env={**variables, "PYTHONPYCACHEPREFIX": compiled})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def main() -> None:
    """Print what each import costs."""
    with TemporaryDirectory() as compiled:
        runs = [[taken(program, compiled) for program in STARTS] for _ in range(RUNS)]
    python, *others = map(min, zip(*runs, strict=True))
    print(f"{'python':<24}{python:6.1f} ms")
    for program, least in zip(STARTS[1:], others, strict=True):
        print(f"{program:<24}{least - python:6.1f} ms more, bar {BAR}: {'met' if least - python <= BAR else 'MISSED'}")


if __name__ == "__main__":
    main()
