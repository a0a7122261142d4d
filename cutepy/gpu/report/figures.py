"""The figures of a report, as data and as text."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the figures are for: threads in a subgroup, bytes of a memory segment, and banks of 4 bytes each of
    workgroup memory.

    >>> Hardware(segment_bytes=128)
    Hardware(subgroup=32, banks=32, segment_bytes=128)
    """

    subgroup: int = 32
    banks: int = 32
    segment_bytes: int = 32


@dataclass(frozen=True, slots=True)
class AccessFigures:
    """One access of the text, over the whole dispatch. None where memory decides the addresses.

    `times` counts invocations that perform it, `bytes` what they ask for. `transactions` counts the segments that
    subgroups touch, `perfect` those that the different bytes they ask for would fill (bindings only). `ways` is the
    worst bank conflict: how many words of one bank a subgroup wants at once, 1 being none; `rounds` adds up these over
    all subgroups, of which `perfect` would do (workgroup memory only). `exact` is False where guards too many to count
    were taken to hold.
    """

    verb: str
    array: str
    space: str
    access: str
    place: str
    layout: str
    width_bytes: int
    times: int
    bytes: int
    transactions: int | None = None
    ways: int | None = None
    rounds: int | None = None
    perfect: int | None = None
    exact: bool = True

    @property
    def excess(self) -> float | None:
        """Transactions, or rounds, in parts of a perfect pattern's."""
        got = self.transactions if self.space == "storage" else self.rounds
        return None if got is None or not self.perfect else got / self.perfect


@dataclass(frozen=True, slots=True)
class ArrayFigures:
    """The bytes that all invocations read from an array and write to it; an update counts as both."""

    name: str
    space: str
    layout: str
    read_bytes: int
    written_bytes: int


@dataclass(frozen=True, slots=True)
class Report:
    """What a kernel asks of memory and arithmetic, for one dispatch.

    `flops` counts `+ - * /` and functions of floating-point values once each lane, `fma` twice.
    """

    kernel: str
    hardware: Hardware
    workgroups: int
    threads: int
    workgroup_bytes: int
    flops: int
    arrays: tuple[ArrayFigures, ...]
    accesses: tuple[AccessFigures, ...]

    @property
    def transactions(self) -> int:
        """Segments that all subgroups touch in bindings."""
        return sum(a.transactions or 0 for a in self.accesses)

    @property
    def perfect_transactions(self) -> int:
        """Segments that the bytes they ask for would fill."""
        return sum(a.perfect or 0 for a in self.accesses if a.space == "storage")

    @property
    def worst_conflict(self) -> int:
        """The worst bank conflict of all accesses to workgroup memory; 1 is none."""
        return max((a.ways or 1 for a in self.accesses if a.space == "workgroup"), default=1)

    def as_dict(self) -> dict[str, object]:
        """The figures as plain dictionaries, lists and numbers."""
        return asdict(self)

    def __str__(self) -> str:
        h = self.hardware
        lines = [
            f"{self.kernel}: {self.workgroups:,} workgroups of {self.threads} threads, "
            f"{self.workgroup_bytes:,} bytes of workgroup memory, {self.flops:,} FLOP",
            *_table(("array", "layout", "bytes read", "bytes written"), map(_array_row, self.arrays)),
        ]
        bindings = [a for a in self.accesses if a.space == "storage"]
        if bindings:
            lines.append(f"transactions of {h.segment_bytes} bytes by subgroups of {h.subgroup}:")
            heads = "access", "bytes a thread", "transactions", "perfect", "excess", "place"
            lines += _table(heads, _merged(bindings))
        shared = [a for a in self.accesses if a.space == "workgroup"]
        if shared:
            lines.append(f"workgroup memory in {h.banks} banks of 4 bytes:")
            heads = "access", "bytes a thread", "rounds", "perfect", "conflict", "place"
            lines += _table(heads, _merged(shared))
        return "\n".join(lines)


def _array_row(array: ArrayFigures) -> tuple[str, ...]:
    return array.name, array.layout, f"{array.read_bytes:,}", f"{array.written_bytes:,}"


def _merged(accesses: Iterable[AccessFigures]) -> list[tuple[str, ...]]:
    """A row for the accesses of one line of source that are alike in everything but their index."""
    groups: dict[tuple[object, ...], list[AccessFigures]] = {}
    for a in accesses:
        groups.setdefault((a.verb, a.array, a.place, a.width_bytes, a.excess, a.ways, a.exact), []).append(a)
    return [_row(group) for group in groups.values()]


def _row(group: list[AccessFigures]) -> tuple[str, ...]:
    first = group[0]
    more = f" and {len(group) - 1} like it" if len(group) > 1 else ""
    about = "" if first.exact else "at most "
    got = [a.transactions if a.space == "storage" else a.rounds for a in group]
    if any(n is None for n in got):
        figures = ["data decide", "", ""]
    else:
        worst = f"{first.excess or 1:.2f}x" if first.space == "storage" else f"{first.ways}-way"
        figures = [f"{about}{sum(n or 0 for n in got):,}", f"{sum(a.perfect or 0 for a in group):,}", worst]
    return f"{first.verb} {first.access}{more}", str(first.width_bytes), *figures, first.place


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    cells = [heads, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    numeric = [i for i, head in enumerate(heads) if head not in ("array", "layout", "access", "place")]

    def line(row: tuple[str, ...]) -> str:
        return "  ".join(
            c.rjust(w) if i in numeric else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )

    return [("  " + line(row)).rstrip() for row in cells]
