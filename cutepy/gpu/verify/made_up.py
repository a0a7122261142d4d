"""Contents of read-only arrays that are tried for a race, where data decide which threads access what.

Law: only what a run shows is refuted, on contents that keep what the user says of them. Nothing is tried of an array
that is not proven to be accessed inside for all such contents: there the caller promises more of the data than is said.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from .. import ir
from ..ir.laws import Array
from .model import orders_of
from .replay import Launch, TooLong, shown, usual_params
from .verdict import Claim, Status, Verdict

#: How far the numbers of an array are apart at most: loops that count up to them are short.
_APART = 63


def with_made_up(kernel: ir.Kernel, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts, with those on races refuted that some contents of the arrays refute."""
    proven = {(v.claim, v.array) for v in verdicts if v.status is Status.PROVEN}
    left = {v.array for v in verdicts if v.claim is Claim.NO_RACES and v.status is Status.UNDECIDED}
    left = {array for array in left if (Claim.IN_BOUNDS, array) in proven}
    found: dict[str, Verdict] = {}
    if kernel.sizes is None and 0 not in kernel.grid and (Claim.BOUNDED_LOOPS, "") in proven:
        with suppress(TooLong):  # other contents make it no shorter
            for launch in _launches(kernel) if left else ():
                tried = [shown(kernel, Claim.NO_RACES, array, launch) for array in sorted(left - found.keys())]
                found |= {verdict.array: verdict for verdict in tried if verdict is not None}
    return [found.get(v.array, v) if v.claim is Claim.NO_RACES else v for v in verdicts]


def _launches(kernel: ir.Kernel) -> Iterator[Launch]:
    """Launches whose arrays hold numbers drawn at random, the least, the greatest, or these two in turns: of two arrays
    each in another way."""
    limits = _limits(kernel)
    orders = orders_of(kernel)
    read = [b for b in kernel.buffers if not b.writable and b.dtype.kind in "iu"]
    for way in range(5) if read else ():
        contents: dict[ir.Buffer, Array] = {}
        for number, buffer in enumerate(read):
            low, high = limits.get(buffer, (0, _APART))
            high = min(high, low + _APART)
            at = np.arange(buffer.length)
            filled = (
                np.random.default_rng(number).integers(low, high + 1, buffer.length),
                np.full(buffer.length, low),
                np.full(buffer.length, high),
                np.where(at % 2, high, low),
                np.where(at % 2, low, high),
            )[(way + number) % 5]
            if (buffer, ir.ElementOrder.DISTINCT) in orders:
                filled = low + np.argsort(filled, kind="stable")
            filled = np.sort(filled) if (buffer, ir.ElementOrder.ASCENDING) in orders else filled
            contents[buffer] = filled.astype(buffer.dtype.numpy)
        yield Launch(usual_params(kernel), contents)


def _limits(kernel: ir.Kernel) -> dict[ir.Buffer, tuple[int, int]]:
    """Between which numbers the user says that the elements of arrays lie."""
    names: dict[ir.Expr, ir.Expr] = {}
    limits: dict[ir.Buffer, tuple[int, int]] = {}
    for stmt in ir.statements(kernel.body):
        if isinstance(stmt, ir.Let):
            names[stmt.var] = stmt.value
        for test in ir.conjuncts(stmt.condition) if isinstance(stmt, ir.Assume) else ():
            match test:
                case ir.Binary(op="<" | "<=" | ">" | ">=" as op, left=left, right=ir.Const(value=end)):
                    load = names.get(left, left)
                    load = load.value if isinstance(load, ir.Component) else load
                    if isinstance(load, ir.Load):
                        low, high = limits.get(load.buffer, (0, 1 << 31))
                        strict = len(op) == 1
                        low, high = (
                            (low, min(high, int(end) - strict)) if "<" in op else (max(low, int(end) + strict), high)
                        )
                        limits[load.buffer] = low, high
    return limits
