"""What `gpu.loop`, `gpu.at_most` and `gpu.when` give to Python's `for`, `while` and `with` until the hooks run them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from ...errors import KernelError
from ...tensor.dtypes import i32, u32
from ...tensor.engine import Scalars
from ..ir import Expr, Var, Weak, as_expr, const, var
from ..ir.place import user_place
from ..ir.ranges import domain, range_of
from ..ir.simplify import simplify
from .sizes import KernelSize
from .state import current


@dataclass(frozen=True, slots=True)
class LoopRange:
    """What `gpu.loop` gives to a `for` in the text of a kernel: there it becomes a loop of the kernel."""

    start: Expr
    stop: Expr | None
    step: Expr
    bounds: tuple[int, int]
    uniform: bool
    place: str

    @property
    def divergent(self) -> str:
        return "" if self.uniform else f"the loop at {self.place}"

    def counter(self, name: str) -> Var:
        """The variable that counts, under the name that the user gives it."""
        counter = var(name, self.start.dtype, lo=self.bounds[0], hi=self.bounds[1])
        if self.uniform:
            current("gpu.loop").uniform.add(counter)
        return counter

    def __iter__(self) -> Iterator[Expr]:
        raise _unread("gpu.loop", self.place)

    def _refuse(self, what: str) -> NoReturn:
        raise KernelError(
            f"{self.place}: a range whose ends are known only on the GPU is a loop of the kernel, and has no {what}; "
            "count with it in a `for`"
        )

    def __len__(self) -> int:
        self._refuse("length in Python")

    def __getitem__(self, index: object) -> NoReturn:
        self._refuse("items or slices in Python")

    def __contains__(self, value: object) -> bool:
        self._refuse("`in`: compare with its ends")

    def __reversed__(self) -> NoReturn:
        self._refuse("reverse: subtract its counter from the last")


class UnreadBlockError(KernelError):
    """A block of the kernel in a function of which the text was not read."""


def _unread(what: str, place: str) -> KernelError:
    return UnreadBlockError(
        f"{place}: {what} outside a `for` or `with` that cutepy can read: it reads the text of a kernel and of the "
        "functions that it calls; keep them in a file or a notebook, and let the kernel call them itself"
    )


def loop_over(stop: Scalars, start: Scalars = 0, step: Scalars = 1) -> Iterable[Expr]:
    """The `LoopRange` from `start` below `stop` by `step`; an empty tuple where it has no turn."""
    trace = current("gpu.loop")
    place = user_place()
    first, last, by = _bounds(place, start, stop, step)
    (lo, _), (_, hi) = range_of(first), range_of(last)
    if hi <= lo:
        trace.skipped = True
        return ()
    return LoopRange(first, last, by, (lo, hi - 1), all(trace.is_uniform(value) for value in (first, last, by)), place)


def _bounds(place: str, start: Scalars, stop: Scalars, step: Scalars) -> list[Expr]:
    """Start, stop and step of a loop, of one type; numbers that give no turn in Python give none here."""
    given = [_whole(place, value) for value in (start, stop, step)]
    text = f"{place}: gpu.loop({stop}, start={start}, step={step})"
    types = {v.dtype for v in given if isinstance(v, Expr) and not isinstance(v, Weak)}
    weak = {v.dtype for v in given if isinstance(v, Weak)}
    types = types or ({i32} & weak or weak)
    numbers = [n for n in given if isinstance(n, int)]
    if len(types) > 1:
        raise KernelError(f"{text}: it counts in i32 and in u32; convert one with gpu.cast")
    turns = range(*numbers) if not types and given[2] != 0 else range(1)
    if not turns:
        return [const(0), const(0), const(1)]
    if isinstance(given[2], int) and given[2] < 1:
        raise KernelError(f"{text}: a loop counts up by 1 or more; turn it round, and subtract its counter")
    dtype = types.pop() if types else i32 if numbers[0] < 0 else u32
    for value in given:
        if isinstance(value, Weak):
            value.check_meets(dtype, wraps=False)
    least, most = domain(dtype)
    if isinstance(given[1], int) and given[1] < least:
        given[1] = least  # an end below all numbers of the type: no turn
    numbers = [n for n in given if isinstance(n, int)]
    if not all(least <= n <= most for n in numbers) or turns[-1] + turns.step > most:
        raise KernelError(f"{text}: it counts in {dtype}, from {least} to {most}; gpu.cast what is known on the GPU")
    return [simplify(as_expr(n, dtype)) for n in given]


def _whole(place: str, value: Scalars) -> Expr | int:
    """A bound of a loop: a number, or a simple integer expression."""
    if isinstance(value, Expr) and value.dtype.kind in "iu":
        return value if isinstance(value, Weak) else simplify(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, KernelSize):
        return value.in_kernel()
    raise KernelError(f"{place}: gpu.loop counts with whole numbers, not with {value!r}")


@dataclass(frozen=True, slots=True)
class AtMost:
    """What `gpu.at_most` gives to a `while`."""

    turns: Scalars
    condition: object
    place: str

    def __bool__(self) -> bool:
        raise KernelError(
            f"{self.place}: gpu.at_most is the whole condition of a while: `while gpu.at_most(n, a < b):`"
        )


@dataclass(frozen=True, slots=True)
class When:
    """What `gpu.when` gives to a `with` in the text of a kernel."""

    condition: object
    place: str

    def __enter__(self) -> None:
        raise _unread("gpu.when", self.place)

    def __exit__(self, *error: object) -> None:
        pass
