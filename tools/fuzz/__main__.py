"""The fuzzers, by one entry: `python -m tools.fuzz NAME [--seed S] [--count N] [--shrink] [-- MORE]`.

NAME is a module of this folder that takes COUNT and SEED; without one, the names are listed. `all --seconds 300` runs
every fuzzer from seed S on, each as many cases as it tries in its share of about the time: the same ones each time.
`--shrink` reduces the first wrong program of `control` or `whiles` to the statements that it takes.
"""

import argparse
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parents[1]), str(FOLDER.parents[1] / "tests" / "gpu"), str(FOLDER)]

from shrink import shrink  # noqa: E402  found through the path above

#: Fuzzers that take COUNT and SEED, some with an option, and how many cases each tries in about a second.
FUZZERS = {
    "barriers": 20, "barriers --data": 10, "claims": 3, "control": 10, "control --again": 10, "control --held": 10,
    "control --numbers": 10, "convert": 20, "copies": 10, "expressions": 50, "host_tensors": 20, "integers": 5,
    "junk": 200, "kernels": 20, "misuse": 50, "operations": 5, "ragged": 2, "sizes": 1, "subgroups": 10, "whiles": 10,
}  # fmt: skip


MOST_SECONDS = 2.0
"""What a program that is shrunk may take."""


def run(name: str, count: int, seed: int, more: list[str]) -> int:
    """Run one fuzzer in a process of its own; its exit status."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), str(count), str(seed), *more]
    return subprocess.run(command, check=False).returncode


def run_all(seconds: float, seed: int) -> int:
    """Run every fuzzer, a share of the time each by the rates of `FUZZERS`; 1 if one found a fault."""
    failed = False
    for words, rate in FUZZERS.items():
        name, *more = words.split()
        count = max(1, int(rate * seconds / len(FUZZERS)))
        failed |= run(name, count, seed, more) != 0
    return int(failed)


def first_wrong(name: str, count: int, seed: int) -> tuple[int, str, Callable[[str], bool]] | None:
    """The first wrong program of a fuzzer whose programs are texts, and whether a text is wrong in the same way."""
    from control_programs import outcome, program

    if name != "control":
        raise SystemExit(f"--shrink: the programs of {name} are no texts; those of control are")

    def late(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    for number in range(seed, seed + count):

        def is_wrong(text: str, number: int = number) -> bool:
            signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)  # without some statements a loop never ends
            try:
                return outcome(number, write=lambda _: text).startswith("wrong")
            except Exception:
                return False  # another fault than the one that is looked for: a name that is gone, say
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)

        text = program(number)
        if is_wrong(text):
            return number, text, is_wrong
    return None


def main(arguments: argparse.Namespace) -> int:
    """Run what is asked for."""
    if arguments.name == "all":
        return run_all(arguments.seconds, arguments.seed)
    if arguments.name not in FUZZERS:
        print("fuzzers:", *FUZZERS, "all")
        return 2
    if not arguments.shrink:
        return run(arguments.name, arguments.count, arguments.seed, arguments.more)
    found = first_wrong(arguments.name, arguments.count, arguments.seed)
    if found is None:
        print(f"{arguments.name}: none of {arguments.count} programs from seed {arguments.seed} is wrong")
        return 0
    number, text, is_wrong = found
    print(f"program {number}, shrunk:\n{shrink(text, is_wrong)}")
    return 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--shrink", action="store_true")
    # What stands after -- is the fuzzer's own: argparse would give up on options there.
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parsed = parser.parse_args(sys.argv[1:end])
    parsed.more = sys.argv[end + 1 :]
    sys.exit(main(parsed))
