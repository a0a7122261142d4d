"""The algebra of layouts beside pycute, tensor-layouts, CuTe's own tests and Triton's LinearLayout.

Where two answers differ, as functions of an index, each is held to the operation's law by brute force.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import cutepy
from cutepy.errors import CutepyError

from .rows import Row, missing

#: Functions of tiles that lie apart: they are asked about layouts whose offsets are distinct.
_OF_TILES = ("complement", "logical_product")
ROOT = Path(__file__).parents[2]
#: Layouts that are asked about, for each function.
ASKED = 2000


def layouts(rng: random.Random, size: int = 64) -> tuple[Any, Any]:
    """A random shape and stride of at most `size` coordinates, nested to depth 2."""

    def leaf() -> int:
        return rng.choice((1, 2, 2, 3, 4, 4, 6, 8))

    while True:
        shape: Any = tuple(
            leaf() if rng.random() < 0.7 else tuple(leaf() for _ in range(rng.randint(1, 2)))
            for _ in range(rng.randint(1, 3))
        )
        total = prod(n for mode in shape for n in (mode if isinstance(mode, tuple) else (mode,)))
        if total <= size:
            break
    if rng.random() < 0.5:  # compact, in a random order of modes
        flat = [n for mode in shape for n in (mode if isinstance(mode, tuple) else (mode,))]
        order = list(range(len(flat)))
        rng.shuffle(order)
        strides, step = [0] * len(flat), 1
        for i in order:
            strides[i], step = step, step * flat[i]
        left = iter(strides)
    else:
        left = iter(lambda: rng.choice((0, 1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)), None)
    stride = tuple(tuple(next(left) for _ in mode) if isinstance(mode, tuple) else next(left) for mode in shape)
    return shape, stride


def by_question(suite: str, theirs: Mapping[str, Callable[..., Any]], offsets: Callable[[Any], list[int]]) -> Row:
    """Questions that both answer: equal as functions of an index; where not, each answer is held to the law."""
    row, rng = Row(suite), random.Random(1)
    for name, call in theirs.items():
        for _ in range(ASKED):
            a = cutepy.Layout(*layouts(rng))
            while name in _OF_TILES and not cutepy.is_injective(a):  # as CuTe's complement takes it
                a = cutepy.Layout(*layouts(rng))
            b = cutepy.Layout(*layouts(rng, 16))
            words = f"{name}({a}, {b})"
            try:
                other: list[int] | None = offsets(call(a, b))
            except Exception:  # whatever they raise, an assertion as a rule
                other = None
            try:
                ours: list[int] | None = _ours(name, a, b).offsets().ravel(order="F").tolist()
            except CutepyError:
                ours = None
            if ours == other:
                row.add("both refuse" if ours is None else "right", words)
            elif ours is not None and _lawful(name, a, b, ours):
                row.add("theirs refuses" if other is None else "differ, ours lawful", words)
            elif ours is None and other is not None and not _lawful(name, a, b, other):
                row.add("ours refuses, theirs breaks the law", words)
            elif (
                ours is None
                and name in _OF_TILES
                and _translates(a, 64 if name == "complement" else a.size * b.cosize) is None
            ):
                row.add("ours refuses, no complement covers", words)
            else:
                row.add("wrong", f"{words}: {ours}, not {other}")
    return row


def _ours(name: str, a: cutepy.Layout, b: cutepy.Layout) -> Any:
    match name:
        case "coalesce" | "right_inverse" | "left_inverse":
            return getattr(cutepy, name)(a)
        case "complement":
            return cutepy.complement(a, 64)
        case _:
            return getattr(cutepy, name)(a, b)


def _lawful(name: str, a: cutepy.Layout, b: cutepy.Layout, found: list[int]) -> bool:
    """Whether offsets, index by index, obey the operation's law."""
    where = a.offsets().ravel(order="F").tolist()
    inner = b.offsets().ravel(order="F").tolist()
    match name:
        case "coalesce":
            return found == where
        case "composition":
            return found == [a(i) for i in inner]
        case "right_inverse":
            return all(i < a.size and where[i] == n for n, i in enumerate(found))
        case "left_inverse":
            return all(n < len(found) and where[found[n] % a.size] == n for n in where)
        case "complement":  # disjoint translates, in order
            sums = [x + y for x in set(where) for y in found]
            return len(set(sums)) == len(sums) and found == sorted(found)
        case "logical_divide":
            tile = [a(i) for i in inner]  # mode 0, with all coordinates of the tiler
            return len(found) == a.size and sorted(found) == sorted(where) and found[: b.size] == tile
        case (
            "logical_product"
        ):  # a tile for each index of the other, where that is equal the same one, else a disjoint one
            if len(found) != a.size * b.size:
                return False
            tiles = [found[k : k + a.size] for k in range(0, len(found), a.size)]
            at = {n: set(tile) for n, tile in zip(inner, tiles, strict=True)}
            same = all(tile == [x - where[0] + tile[0] for x in where] for tile in tiles)
            apart = sum(map(len, at.values())) == len(set().union(*at.values()))
            starts = _translates(a, a.size * b.cosize)  # the complement, index by index
            placed = starts is None or all(
                tile[0] - where[0] == starts[n] for n, tile in zip(inner, tiles, strict=True) if n < len(starts)
            )
            return same and apart and placed
    return False


def _translates(a: cutepy.Layout, bound: int) -> list[int] | None:
    """Where disjoint translates of a layout's offsets begin that cover 0 to `bound`; None where there are none.

    The least offset that is not covered begins the next one: no other begins there.
    """
    covered: set[int] = set()
    starts = []
    for start in range(bound):
        if start not in covered:
            tile = {start + int(offset) for offset in a.offsets().ravel()}
            if tile & covered:
                return None
            covered |= tile
            starts.append(start)
    return starts


def of_module(suite: str, package: str, module: str, composition: str) -> Row:
    """The functions of a module that has CuTe's, on random layouts."""
    if (row := missing(suite, package, module)) is not None:
        return row
    theirs = import_module(module)

    def made(x: cutepy.Layout) -> Any:
        return theirs.Layout(x.shape, x.stride)

    def offsets(layout: Any) -> list[int]:
        return [layout(i) for i in range(theirs.size(layout))]

    def of_two(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda a, b: function(made(a), made(b))

    def of_one(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda a, _: function(made(a))

    calls = {name: of_two(getattr(theirs, name)) for name in ("logical_divide", "logical_product")}
    calls |= {name: of_one(getattr(theirs, name)) for name in ("coalesce", "right_inverse", "left_inverse")}
    calls["composition"] = of_two(getattr(theirs, composition))
    calls["complement"] = of_one(lambda layout: theirs.complement(layout, 64))
    return by_question(suite, calls, offsets)


def pycute() -> Row:
    """NVIDIA's pycute."""
    return of_module("pycute 4.2", "nvidia-cutlass", "pycute", "composition")


def tensor_layouts() -> Row:
    """tensor-layouts."""
    return of_module("tensor-layouts 0.3.2", "tensor-layouts", "tensor_layouts", "compose")


def cute() -> Row:
    """CuTe C++'s unit tests and CuTe DSL's results, as they stand in the tests."""
    row = Row("CuTe C++ unit tests, CuTe's results")
    files = ["tests/layout/test_cute_core.py", "tests/layout/test_conformance.py"]
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", *files]
    last = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()[-1]
    for word in last.replace(",", "").split(" in ")[0].split("  "):
        parts = word.split()
        for n, what in zip(parts[::2], parts[1::2], strict=False):
            row.counts[{"passed": "right", "failed": "wrong"}.get(what, what)] += int(n)
    row.wrong += [last] * bool(row.counts["wrong"])
    return row


def triton() -> Row:
    """Triton's own LinearLayout, as its wheel has it, on random bases: what each method gives, at every index."""
    name = "Triton's LinearLayout"
    if (row := missing(name, "triton", "triton")) is not None:
        return row
    theirs = import_module("triton._C.libtriton").linear_layout.LinearLayout
    row, rng = Row(name), random.Random(1)

    def made(columns: list[int], bits: int, taken: str, given: str) -> Any:
        return theirs.from_bases([(taken, [[c] for c in columns])], [given], [1 << bits], False)

    def table(layout: Any, n: int, taken: str, given: str) -> list[int]:
        return [layout.apply({taken: i})[given] for i in range(n)]

    def held(ours: Any, wanted: list[int], words: str) -> None:
        row.add("right" if ours.offsets().ravel(order="F").tolist() == wanted else "wrong", words)

    for _ in range(ASKED):
        bits, ins = rng.randint(1, 5), rng.randint(1, 5)
        columns, square = ([rng.randrange(1 << bits) for _ in range(n)] for n in (ins, bits))
        one, then = made(columns, bits, "i", "o"), made(square, bits, "o", "p")
        ours, after = linear(columns, bits), linear(square, bits)
        held(ours, table(one, 1 << ins, "i", "o"), f"apply {columns}")
        both = cutepy.composition(after, ours)
        held(both, table(one.compose(then), 1 << ins, "i", "p"), f"compose {columns}, {square}")
        row.add("right" if cutepy.is_injective(ours) == one.is_injective() else "wrong", f"is_injective {columns}")
        onto = cutepy.is_surjective(ours) and ours.cosize == 1 << bits
        row.add("right" if onto == one.is_surjective() else "wrong", f"is_surjective {columns}")
        if then.is_invertible():
            inverse = cutepy.right_inverse(after)
            held(inverse, table(then.invert(), 1 << bits, "p", "o"), f"invert {square}")
            solved = cutepy.composition(cutepy.left_inverse(after), linear(columns, bits))
            wanted = made(columns, bits, "i", "p").invert_and_compose(then)
            held(solved, table(wanted, 1 << ins, "i", "o"), f"invert_and_compose {columns}, {square}")
    return row


def linear(columns: list[int], bits: int) -> Any:
    """The layout that takes bit i of an index to column i."""
    return cutepy.from_f2([[c >> row & 1 for c in columns] for row in range(bits)], (1 << len(columns),))
