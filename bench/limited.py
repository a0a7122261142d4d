"""Cases that are measured in a process of their own, which is ended and begun again after one that takes too long.

A driver may take minutes to compile one kernel; the others must not wait for it. Each line is printed at once.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection

STARTING = 120.0
"""Seconds that a process may take before its first case: torch is loaded there."""


def say(*words: object) -> None:
    """Print, at once."""
    print(*words, flush=True)


def run_limited(work: Callable[[str], None], names: Iterable[str], *, limit: float, total: float = 1e9) -> None:
    """`work(name)` for each name, at most `limit` seconds each and `total` for all; what fails says why.

    `work` is a function of a module, called in a process that begins afresh after a case that was ended.
    """
    left, ends = list(names), time.monotonic() + total
    while left and time.monotonic() < ends:
        left = _until_one_is_ended(work, left, limit, ends)
    for name in left:
        say(f"{name}: not run, no time left")


def _until_one_is_ended(work: Callable[[str], None], names: list[str], limit: float, ends: float) -> list[str]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=_worker, args=(work, names, there), daemon=True)
    child.start()
    there.close()
    allowed, left = STARTING, list(names)
    while left:
        done = here.poll(max(0.0, min(allowed, ends - time.monotonic())))
        try:
            done = done and here.recv()
        except EOFError:
            done = False
        if not done:
            say(f"{left[0]}: ended after {allowed:.0f} s, or by itself ({child.exitcode})")
            child.kill()
            child.join()
            return left[1:]
        left.remove(done)
        allowed = limit
    child.join(10)
    return []


def _worker(work: Callable[[str], None], names: list[str], pipe: Connection) -> None:
    for name in names:
        try:
            work(name)
        except Exception as fault:
            say(f"{name}: {type(fault).__name__}: {str(fault)[:600]}")
        pipe.send(name)
