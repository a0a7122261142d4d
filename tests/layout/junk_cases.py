"""Junk calls of every public name of the layout room.

Every function and class of `cutepy.layout`, and every method of its classes, is called with operands of all kinds,
right, wrong and huge ones. A call gives a result or a CutepyError that names it; a bare Python error, a call over a
second (of processor time) or over 100 MiB is a fault.
"""

from __future__ import annotations

import random
import re
import resource
import signal
import time
from collections.abc import Callable, Iterator

import numpy as np
import sympy

import cutepy.layout as room
from cutepy.errors import CutepyError
from cutepy.layout import BitMap, ComposedLayout, E, Layout, Swizzle, _
from cutepy.layout.public import shown
from cutepy.tensor import Tensor

SECONDS, LONGEST, MEBIBYTES, ELEMENTS = 1.0, 10, 100, 10**7
M = sympy.Symbol("M", integer=True, positive=True)

POOL: list[Callable[[random.Random], object]] = [
    lambda rng: rng.choice((0, 1, 2, 3, 4, 6, 8, 16, 32, -1, -3)),
    lambda rng: rng.choice((10**8, 1 << 40, 10**30, 1 << 20, -(10**12), 10**5000)),
    lambda rng: tuple(rng.choice((1, 2, 3, 4, 8)) for _entry in range(rng.randint(0, 4))),
    lambda rng: (rng.choice((2, 4)), tuple(rng.choice((1, 2, 3)) for _entry in range(rng.randint(0, 3)))),
    lambda rng: Layout(tuple(rng.choice((1, 2, 4, 6)) for _mode in range(rng.randint(0, 3)))),
    lambda rng: Layout((4, (2, 3)), (rng.choice((-1, 0, 1, 6)), (rng.choice((1, 4, 24)), 8))),
    lambda rng: Layout((rng.choice((4, 8, 64)), 32), (rng.choice((1, 32)), rng.choice((1, 8, 33)))),
    lambda rng: Layout((4, 8), (E(0), rng.choice((1, 2)) * E(1))),
    lambda rng: Layout(rng.choice((1 << 20, 1 << 40, 10**9))),
    lambda rng: Layout((30, 30, 30, 7), (6, 10, 15, rng.choice((1, 4, 10**9)))),
    lambda rng: ComposedLayout(Swizzle(rng.choice((1, 2)), 0, 3), rng.choice((0, 4)), Layout((8, 8), (8, 1))),
    lambda rng: ComposedLayout(Layout((4, 5), (1, 4)), 2, Layout((2, 2), (1, 8))),
    lambda rng: rng.choice((Swizzle(2, 0, 3), Swizzle(0, 0, 0), BitMap((1, 3, 6)), BitMap(()))),
    lambda rng: rng.choice((M, M * M, Layout((M, 8)), Layout((M, 8)).given("4 divides M"))),
    lambda rng: rng.choice((None, _, (_, 1), (None, _), True, False, room.LayoutLeft, room.LayoutRight)),
    lambda rng: rng.choice((1.5, float("nan"), 1j, "a", "(4,8):(1,4)", "", b"4", [4, 8], {}, {1}, range(4))),
    lambda rng: rng.choice((object(), int, len, E(1), 3 * E(0, 1), np.arange(4), np.float32(2), np.int64(4))),
    lambda rng: rng.choice(([[0, 1], [2, 3]], [0, 5, 1], ((),), ((), ()), (("a", 1), 2), (4, (8, None)))),
    lambda rng: nested(rng.choice((40, 99, 101, 3000))),
]


def nested(levels: int) -> object:
    """A tuple nested so many levels deep."""
    tree: object = 2
    for _level in range(levels):
        tree = (tree,)
    return tree


def calls() -> Iterator[tuple[str, Callable[..., object]]]:
    """Every public function and class, and every public method on objects of each class."""
    for name in room.__all__:
        public = getattr(room, name)
        if callable(public) and name not in ("IntTuple", "_", "Explanation"):
            yield name, public
    objects = (
        *(Layout((4, 8), (8, 1)), Layout((2, (2, 3)), (1, (2, 4))), Layout((4, 8), (E(0), E(1))), Layout((M, 8))),
        *(ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 8))), Swizzle(2, 0, 3), BitMap((1, 3, 6))),
    )
    for thing in objects:
        for name in dir(type(thing)):
            if (name[0] != "_" or name in ("__call__", "__getitem__")) and callable(getattr(thing, name, None)):
                yield f"{type(thing).__name__}.{name}", getattr(thing, name)


def _stop(*_signal: object) -> None:
    raise TimeoutError(f"no answer after {LONGEST} s")


def fault(call: Callable[..., object], operands: list[object], named: dict[str, object]) -> str:
    """What is wrong with a call, "" where it answers or refuses."""
    memory, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    said, large = "", False
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        # A result that is itself large was asked for, as by randn(100000000): its time and memory are no fault.
        result = call(*operands, **named)
        large = isinstance(result, np.ndarray | Tensor) and getattr(result, "size", 0) > ELEMENTS
    except CutepyError as error:
        said = "" if len(str(error)) > 10 else f"an error without words: {error!r}"
    except TypeError as error:  # Python's own words on the operands that a call lacks name it, too
        own = re.search(r"^[\w.]+\(\) (takes|missing|got an unexpected|got multiple)", str(error))
        said = "" if own else f"TypeError: {str(error)[:90]}"
    except Exception as error:
        said = f"{type(error).__name__}: {str(error)[:90]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if time.process_time() - start > SECONDS and not large:
        said += f" {time.process_time() - start:.1f} s"
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory > MEBIBYTES << 10 and not large:
        said += " more than 100 MiB"
    return said


def faults(count: int, seed: object) -> dict[tuple[str, str], str]:
    """The faults of `count` calls: by name and kind of error, the first call."""
    rng = random.Random(f"junk {seed}")
    names, found = list(calls()), dict[tuple[str, str], str]()
    for _call in range(count):
        name, call = rng.choice(names)
        operands = [rng.choice(POOL)(rng) for _operand in range(rng.choice((0, 1, 1, 2, 2, 2, 3, 4)))]
        named = {rng.choice(("mode", "stride", "lanes", "shape")): 2} if rng.random() < 0.05 else {}
        if said := fault(call, operands, named):
            found.setdefault(
                (name, said.partition(":")[0]), f"{name}({', '.join(map(shown, operands))}, {named}) -> {said}"
            )
    return found
