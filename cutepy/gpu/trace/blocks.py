"""A block of a kernel while the user's code in it runs, and what stands in its place where Python decides.

Law: after a block a name that it rebinds is what Python would have given each thread: a register, where a register can
hold it, and else not bound. What a block does to Python's objects would be done once and not in each thread or turn, so
that is refused.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from types import FrameType

from ...errors import KernelError
from ..ir import Expr
from ..ir.place import place_of
from .carry import CannotCarry, alike, same, taken_apart
from .hooks import RESULT
from .snapshot import Snapshot
from .state import current

Names = tuple[tuple[str, int], ...]
Tables = tuple[Names, Names]


class Plain(ExitStack):
    """A `with` that is Python's own."""

    gpu, runs = False, True

    def __init__(self, manager: AbstractContextManager[object]) -> None:
        super().__init__()
        self.manager = manager

    def __enter__(self) -> "Plain":
        self.entered = self.enter_context(self.manager)
        return self


class Unrolled:
    """A `for` or an `if` that is Python's own; or a `with` whose block runs in all threads, or in none."""

    gpu, entered = False, None

    def __init__(self, items: Iterable[object] = (), *, runs: bool = True) -> None:
        self.items, self.runs = items, runs

    def __enter__(self) -> "Unrolled":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __iter__(self) -> Iterator[object]:
        return iter(self.items)

    def turn(self) -> bool:
        return not self.runs

    def done(self) -> None:
        pass


class Block:
    """A block over values of the GPU. `now` holds the names that it may bind, as the user's code is to find them."""

    gpu, runs, entered = True, True, None

    def __init__(self, word: str, place: str, tables: Tables, frame: FrameType) -> None:
        self.trace, self.frame, self.place = current(word), frame, place
        self.what = f"{word} at {place}"
        self.names, self.foreign = dict(tables[0]), dict(tables[1])
        self.now: dict[str, object] = {}
        self.missing: set[str] = set()
        self.before, self.foreign_before = self.bound(), self.outside()
        self.state = Snapshot(frame)
        self.trace.open.append(self)

    def bound(self) -> dict[str, object]:
        """The names as they are in the user's code."""
        found = self.frame.f_locals
        return {name: found[name] for name in self.names if name in found}

    def outside(self) -> list[object]:
        """What the names that belong to other scopes mean."""
        spaces = self.frame.f_locals, self.frame.f_globals
        return [next((space[n] for space in spaces if n in space), None) for n in self.foreign]

    def at(self, line: int) -> str:
        return place_of(self.frame.f_code.co_filename, line)

    def look(self, place: str) -> None:
        """Raise KernelError if Python's state is not what it was when the block began."""
        changed = self.state.changed()
        for (name, line), old, new in zip(self.foreign.items(), self.foreign_before, self.outside(), strict=True):
            if not same(old, new):
                changed, place = name, self.at(line)
        if changed:
            raise KernelError(
                f"{place}: {changed} is changed inside {self.what}: Python does that once, not in each thread or turn; "
                "keep what changes in a name of this function or in a tensor, or unroll with gpu.unroll"
            )

    def end(self) -> None:
        """The block is complete."""
        self.trace.open.pop()

    def fail(self, line: int) -> None:
        """An exception leaves the block; whoever catches it goes on in all threads, which no kernel can."""
        if self in self.trace.open:
            del self.trace.open[self.trace.open.index(self) :]
        if self.trace.error is None:
            self.trace.error = self.caught(self.at(line))

    def caught(self, place: str) -> KernelError:
        return KernelError(
            f"{place}: an exception leaves {self.what} and is caught: the other threads would go on in the "
            "block; decide with gpu.when instead"
        )

    def lose(self, name: str, why: str) -> None:
        """Note why a name is not bound from here on."""
        subject = "what the function returns" if name == RESULT else name
        self.trace.lost[self.frame.f_code, name] = f"{subject} is {why} {self.what}"

    def pairs(self, old: object, new: object) -> list[tuple[object, object]]:
        """The numbers of a name before and after. Raises CannotCarry where it holds anything else."""
        first, second = taken_apart(old), taken_apart(new)
        if first is None or second is None or not alike(old, new):
            other = new if second is None or first is not None else old
            raise CannotCarry(f"{_kind(old)} to {_kind(other)}: a register holds a number, or a tuple of as many")
        return list(zip(first, second, strict=True))

    def rebound(self, name: str, why: CannotCarry) -> None:
        self.lose(name, f"rebound at line {self.names[name]} from {why}; that happens inside")


def _kind(value: object) -> str:
    return f"a {type(value).__name__}" if not isinstance(value, Expr) else f"a value of type {value.dtype}"
