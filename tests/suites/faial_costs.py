"""Kernels of Faial's suite of bank conflicts (umb-svl Faial, examples/bc), each with the cost that its authors expect.

A cost is for one warp: of an access to workgroup memory its rounds beyond those that its words need, of an access to a
binding (`ua-`) its transactions of 32 bytes; over loops these add up. Where Faial's cost is a formula over unknown
sizes, a row is its value at the sizes of the call. `Meaning` says what the expected number is where it is no cost.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ported import floats

from cutepy import Layout, gpu


class Meaning(Enum):
    """How the source's number relates to the cost of the kernel as it is written."""

    EXACT = "the cost"
    WAYS = "the row counts rounds, not those beyond the first"
    BOUND = "an upper bound: the source's tool takes all threads to be active in every turn"
    SHORT = "one turn less than the loop has: 512, 256, ..., 1 are ten values, the source counts nine"


@dataclass(frozen=True, slots=True)
class Cost:
    """One row of the source's table: its file, the cost that it expects and what that means, what the kernel costs, and
    what cutepy's report says."""

    source: str
    expected: int
    meaning: Meaning
    cost: int
    reported: int


def excess(*turns: Iterable[int]) -> int:
    """The rounds beyond the first, over turns of a loop, each with the words that the active threads want."""
    banks = [Counter(word % 32 for word in {*words}) for words in turns]
    return sum(max(counts.values()) - 1 for counts in banks if counts)


@gpu.kernel
def strided(x, *, step, turns=1, skew=0):
    gpu.launch(threads=32)
    x[gpu.thread] = 0  # a kernel has a result
    y = gpu.shared("f32", 4096)
    for i in gpu.loop(turns):
        y[skew + step * gpu.thread] = x[i]


@gpu.kernel
def three_strides(x):
    gpu.launch(threads=32)
    x[gpu.thread] = 0  # a kernel has a result
    y = gpu.shared("f32", 1024)
    for step in (2, 4, 8):
        y[step * gpu.thread] = x[0]


@gpu.kernel
def halving(x, *, start):
    gpu.launch(threads=32)
    x[gpu.thread] = 0  # a kernel has a result
    y = gpu.shared("f32", 1024)
    i = start
    while i >= 1:
        y[2 * gpu.thread] = x[i]
        i //= 2


@gpu.kernel
def nested(x, *, outer, inner):
    gpu.launch(threads=32)
    x[gpu.thread] = 0  # a kernel has a result
    y = gpu.shared("f32", 1024)
    for i in gpu.loop(outer):
        for j in gpu.loop(inner):
            y[2 * gpu.thread] = x[i + j]


@gpu.kernel
def triangle(x, *, n):
    gpu.launch(threads=32)
    x[gpu.thread] = 0  # a kernel has a result
    y = gpu.shared("f32", 1024)
    for i in gpu.loop(n):
        for j in gpu.loop(n):
            if j >= i:
                y[2 * gpu.thread] = x[i]


@gpu.kernel
def from_thread(x, *, end):
    gpu.launch(threads=32)
    x[gpu.thread] = 0  # a kernel has a result
    y = gpu.shared("f32", 4096)
    for i in gpu.loop(end):
        if i >= gpu.thread:
            y[2 * gpu.thread] = x[i]


@gpu.kernel
def to_thread(x, *, more):
    gpu.launch(threads=32)
    x[gpu.thread] = 0  # a kernel has a result
    y = gpu.shared("f32", 4096)
    for i in gpu.loop(32 + more):
        if i < gpu.thread + more:
            y[2 * gpu.thread] = x[i]


@gpu.kernel
def turn_times_thread(x, *, end, rising):
    gpu.launch(threads=32)
    x[gpu.thread] = 0  # a kernel has a result
    y = gpu.shared("f32", 4096)
    for i in gpu.loop(end):
        if (i >= gpu.thread) if rising else (i <= gpu.thread):
            y[i * gpu.thread] = x[i]


@gpu.kernel
def square(out, *, rows):
    gpu.launch(threads=32)
    tile = gpu.shared("f32", Layout((32, 32), (32, 1)))
    if rows:
        tile[0, gpu.thread] = out[0]
        out[gpu.thread] = 0  # a kernel has a result
    else:
        out[gpu.thread] = tile[gpu.thread, 0]


@gpu.kernel
def binding(y, *, step=1, start=0, guard=None):
    gpu.launch(threads=32)
    if guard == "half":
        if gpu.thread < 16:
            y[start + step * gpu.thread] = 1
    elif guard == "odd":
        if gpu.thread % 2 == 1:
            y[start + step * gpu.thread] = 1
    else:
        y[start + step * gpu.thread] = 1


def row(
    source: str,
    expected: int,
    kernel: gpu.KernelFunction,
    differs: tuple[Meaning, int] | None = None,
    **static: object,
) -> Cost:
    """A row; `differs` says what the source's number means, and what the kernel costs."""
    meaning, cost = differs or (Meaning.EXACT, expected)
    accesses = kernel.report(floats(4096), **static).accesses
    shared = [a for a in accesses if a.space == "workgroup"]
    reported = sum(a.rounds - a.perfect for a in shared) if shared else sum(a.transactions for a in accesses)
    return Cost(source, expected, meaning, cost, reported)


def costs() -> list[Cost]:
    """The rows of the source's table; a formula at some sizes."""
    lanes = range(32)
    rows = [row(f"{step}tid", cost, strided, step=step) for step, cost in STRIDES.items()]
    rows += [
        row("assume", 1, strided, step=2),
        row("setRowReadCol --only-reads", 32, square, (Meaning.WAYS, 31), rows=False),
        row("setRowReadCol --only-writes", 1, square, (Meaning.WAYS, 0), rows=True),
        row("loops-1-multiple", 1 + 3 + 7, three_strides),
        row("loops-1-div", 9, halving, (Meaning.SHORT, 10), start=512),
        row("loops-1-pow-unknown-bound n=1025", 10, halving, (Meaning.SHORT, 11), start=1024),
        row("ifs-2 n=3", 1, strided, step=2, skew=10),
        row("ifs-2 n=4", 3, strided, step=4),
        row("ua-aligned-1", 4, binding, start=64),
        row("ua-aligned-3", 5, binding, start=5),
        row("ua-aligned-5", 3, binding, start=5, guard="half"),
        row("ua-broadcast", 1, binding, step=0, start=5),
    ]
    # Loops whose turns a thread's number bounds.
    late = excess(*([2 * t for t in lanes if t <= i] for i in range(1024)))
    early = excess(*([2 * t for t in lanes if t > i] for i in range(32)))
    rising = excess(*([i * t for t in lanes if t <= i] for i in range(10)))
    falling = excess(*([i * t for t in lanes if t >= i] for i in range(32)))
    rows += [
        row("loops-1-tid-lb", 1024, from_thread, (Meaning.BOUND, late), end=1024),
        row("loops-1-tid-ub", 31, to_thread, (Meaning.BOUND, early), more=0),
        row("loops-1-tid-var-1", 310, turn_times_thread, (Meaning.BOUND, rising), end=10, rising=True),
        row("loops-1-tid-var-2", 31744, turn_times_thread, (Meaning.BOUND, falling), end=32, rising=False),
    ]
    for n in (3, 11):
        more = excess(*([2 * t for t in lanes if t + n > i] for i in range(32 + n)))
        log = (n - 1).bit_length() - 1
        rows += [
            row(f"loops-1-step-plus lb=0 ub={n} step=2", n // 2 + 1, strided, step=2, turns=n // 2 + 1),
            row(f"loops-1-bitwise n={n} m=2", n << 2, strided, step=2, turns=n << 2),
            row(f"loops-1-minus n={n}", n + 1, strided, step=2, turns=n + 1),
            row(f"loops-1-tid-ub-var n={n}", 31 + n, to_thread, (Meaning.BOUND, more), more=n),
            row(f"loops-nested-2 n={n}", n * (n + 1) // 2, triangle, n=n),
            row(f"loops-nested-2-ind n={n}", n * n, nested, outer=n, inner=n),
            row(f"loops-nested-2-pow n={n}", n * log, nested, (Meaning.SHORT, n * (log + 1)), outer=n, inner=log + 1),
        ]
    rows += [row(f"ua-unif-times-tid-3 n={n}", min(4 * n, 16), binding, step=n, guard="odd") for n in (1, 2, 3, 4, 9)]
    return rows + [row(f"ua-unif-times-tid-4 n={n}", 16, binding, step=33 * n, guard="odd") for n in (1, 2)]


#: The cost of `y[step * threadIdx.x] = ...`, 32-bit elements, 32 banks.
STRIDES = {2: 1, 4: 3, 10: 1, 12: 3, 14: 1, 16: 15, 26: 1, 28: 3, 30: 1, 32: 31}
