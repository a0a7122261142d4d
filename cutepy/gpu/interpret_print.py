"""What a kernel prints while it is interpreted: a line for each invocation, by workgroup and thread."""

from collections.abc import Iterator, Sequence

import numpy as np

from .interpret_memory import State
from .ir.laws import Array

#: Lines that one statement prints at a time.
MOST_LINES = 64


def say(s: State, parts: Sequence[str | int], values: Sequence[Array]) -> None:
    """Print the parts of an `ir.Print` for the active invocations, the first of them where there are many."""
    who = np.argwhere(s.everyone)
    wide = [np.broadcast_to(value, s.shape) for value in values]
    for group, thread in who[:MOST_LINES].tolist():
        rest = (str(value[group, thread]) for value in wide)
        place = [f"workgroup {s.workgroup(group)}, thread {thread}"]
        place += [f"{name} = {value}" for name, value in s.counters(group, thread)]
        print(f"{', '.join(place)}: {' '.join(_part(part, rest) for part in parts)}")
    if len(who) > MOST_LINES:
        print(f"... and {len(who) - MOST_LINES} more threads; choose some, gpu.print(..., when=gpu.thread == 0)")


def _part(part: str | int, rest: Iterator[str]) -> str:
    if isinstance(part, str):
        return part
    return f"[{', '.join(next(rest) for _ in range(part))}]" if part else next(rest)
