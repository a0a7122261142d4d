"""Every law on layouts of unknown sizes, the last kind of operand: a result holds wherever its facts do.

A case of a law is drawn at known sizes; then some of them are unknowns, and the call is made on these. What it gives is
compared, at several values that keep the facts, with what the call gives on known sizes, and with the law.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import sympy
from layout.composed_cases import KINDS, LAWS, AnyLayout, Call, Outcome, normal, random_swizzle, table
from layout.composed_cases import tried as tried_known

from cutepy.errors import CutepyError
from cutepy.layout import ComposedLayout, Layout

UNKNOWN = "unknown sizes"
COLUMNS = (*KINDS, UNKNOWN)
M, N, K = SYMBOLS = sympy.symbols("M N K", integer=True, positive=True)
Point = dict[sympy.Symbol, int]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A layout with unknown sizes, and values that keep its facts, the first ones where laws are asked."""

    layout: AnyLayout
    points: list[Point]


def random_unknown(rng: random.Random) -> Unknown:
    """Compact, permuted or padded, of one to three modes; now and then after a swizzle."""
    divisors = {symbol: rng.choice((1, 2, 4, 4)) for symbol in SYMBOLS}
    extents: list[sympy.Expr | int] = []
    for _mode in range(rng.randint(1, 3)):
        symbol = rng.choice(SYMBOLS[:2])
        part = symbol / divisors[symbol] if rng.random() < 0.3 else symbol
        extents.append(rng.choice((2, 3, 4, 8)) if rng.random() < 0.4 else part)
    order = list(range(len(extents)))
    if rng.random() < 0.4:
        rng.shuffle(order)
    strides: list[sympy.Expr | int] = [0] * len(extents)
    running: sympy.Expr | int = 1
    for mode in order:
        running = running * rng.choice((2, K)) if rng.random() < 0.1 else running
        strides[mode] = running if rng.random() > 0.07 else 0
        running = running * extents[mode]
    if len(extents) == 1 and rng.random() < 0.5:
        shape, stride = extents[0], strides[0]
    elif len(extents) == 3 and rng.random() < 0.4:
        shape, stride = (extents[0], tuple(extents[1:])), (strides[0], tuple(strides[1:]))  # type: ignore[assignment]
    else:
        shape, stride = tuple(extents), tuple(strides)  # type: ignore[assignment]
    layout: AnyLayout = Layout(shape, stride)  # type: ignore[arg-type]
    if layout.facts is None:
        return random_unknown(rng)
    least = {symbol: divisors[symbol] * rng.choice((1, 1, 2)) for symbol in SYMBOLS}
    layout = layout.given(*[f"{d} divides {symbol}" for symbol, d in divisors.items() if d > 1])
    if rng.random() < 0.2:
        layout = ComposedLayout(random_swizzle(rng), rng.choice((0, 0, 8)), layout)  # type: ignore[arg-type]
    points = [least, *({s: d * rng.randint(1, 3) for s, d in divisors.items()} for _point in range(2))]
    return Unknown(layout, points)


def put(thing: object, point: Point) -> object:
    """`thing` with values for what is not known."""
    if isinstance(thing, (tuple, list)):
        return type(thing)(put(entry, point) for entry in thing)
    if isinstance(thing, (Layout, ComposedLayout)):
        return thing.subs(point)
    return int(thing.subs(point)) if hasattr(thing, "free_symbols") else thing


def seen(thing: object) -> object:
    """What two results are compared by: layouts by their tables."""
    if isinstance(thing, (tuple, list)):
        return [seen(entry) for entry in thing]
    if isinstance(thing, (Layout, ComposedLayout)):
        return table(thing)
    return normal(thing)


def tried(name: str, kind: str, count: int, seed: object = 0) -> Outcome:
    """`count` random cases of a law on operands of a kind, unknown sizes among the kinds."""
    if kind != UNKNOWN:
        return tried_known(name, kind, count, seed)
    rng, outcome = random.Random(f"unknown {name} {seed}"), Outcome()
    for number in range(count):
        unknown = random_unknown(rng)
        known = unknown.layout.subs(unknown.points[0])
        call, check = LAWS[name](rng, known)
        general = Call(call.function, tuple(exchanged(operand, known, unknown.layout) for operand in call.operands))
        said = f"{name}, {kind}, case {number}: {', '.join(map(str, general.operands))} at {unknown.points}"
        outcome.counts(general, holds_at(unknown.points, general, check), said)
    return outcome


def exchanged(operand: object, known: AnyLayout, unknown: AnyLayout) -> object:
    """An operand of the call at known sizes as one of the call at unknown ones."""
    if operand is known:
        return unknown
    if operand is known.shape and isinstance(operand, tuple):
        return unknown.shape
    return tuple(exchanged(o, known, unknown) for o in operand) if type(operand) is tuple else operand


def holds_at(points: list[Point], general: Call, check: Callable[[object], bool]) -> Callable[[object], bool]:
    """Whether a result is the law's at the first point, and at the others what the call gives on known sizes."""

    def holds(result: object) -> bool:
        for point in points:
            there = put(result, point)
            try:
                expected = general.function(*(put(operand, point) for operand in general.operands))
            except CutepyError:
                return False
            if seen(there) != seen(expected):
                return False
        return check(put(result, points[0]))

    return holds


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a law has no case of a kind that is answered: in words of the docs, and in words of the errors."""

    laws: str
    kinds: tuple[str, ...]
    because: str
    words: str


OUTSIDE = tuple(KINDS)[1:6]
REFUSALS = {
    "a": Refusal("offsets from_offsets", ("axes outside",), "coordinates are no array of numbers", "gives coordinates"),
    "b": Refusal(
        "offsets from_offsets to_f2", (UNKNOWN,), "a table has as many entries as there are coordinates",
        "not known|no power of two",
    ),
    "c": Refusal(
        "make_layout", (*OUTSIDE, "axes outside"), "modes with functions of their own have none together",
        "a function outside of its own",
    ),
    "d": Refusal("make_layout_like", ("basis strides",), "axes have no order", "no order"),
    "e": Refusal(
        "complement", (*OUTSIDE, "axes outside"), "what a function outside leaves out is no layout", "no layout",
    ),
    "f": Refusal(
        "right_inverse max_common_layout max_common_vector", ("offset",), "no coordinate has the offset 0",
        "offset 0|inverts|invertible|no layout",
    ),
    "g": Refusal(
        "max_common_layout max_common_vector", ("basis strides", "axes outside"),
        "coordinates do not lie next to each other", "next to each other",
    ),
    "h": Refusal(
        "to_f2", ("offset", "basis strides", "axes outside"), "its values are no XOR of steps",
        "affine|no power of two|not an integer|not linear|share a bit",
    ),
    "i": Refusal("nullspace", ("offset",), "no coordinate has the offset 0", "not linear over F2"),
}  # fmt: skip
"""Every cell that is refused, and why."""


def refusal(name: str, kind: str) -> str:
    """The letter of the reason why a law has no case of a kind; "" where it has."""
    return next((c for c, r in REFUSALS.items() if name in r.laws.split() and kind in r.kinds), "")
