"""Random invertible matrices over F2, and all that layouts of them do; `tools/fuzz/bit_maps.py` tries thousands."""

from __future__ import annotations

import random
import re

from cutepy import (
    BitMap,
    ComposedLayout,
    Layout,
    Swizzle,
    composition,
    draw,
    gpu,
    is_bijective,
    left_inverse,
    make_tensor,
    right_inverse,
)
from cutepy.layout import from_f2, parse_layout, to_f2
from cutepy.lazy import numpy as np


def invertible(rng: random.Random, count: int) -> BitMap:
    """A random invertible matrix: unit columns, mixed by adding one column to another."""
    columns = [1 << bit for bit in range(count)]
    rng.shuffle(columns)
    for _step in range(4 * count * count):
        one, other = rng.sample(range(count), 2)
        columns[one] ^= columns[other]
    return BitMap(tuple(columns))


def matrix(f: BitMap, count: int) -> list[list[int]]:
    """The rows of `count` bits of a map."""
    return [[f(1 << bit) >> row & 1 for bit in range(count)] for row in range(count)]


def failing(f: BitMap, g: BitMap, count: int) -> str:
    """What does not hold of the layouts of two matrices of `count` bits; "" where all does."""
    layout, inner = from_f2(matrix(f, count)), from_f2(matrix(g, count))
    every = range(1 << count)
    table = [f(x) for x in every]
    if [layout(x) for x in every] != table or not is_bijective(layout):
        return "said"
    if [list(row) for row in to_f2(layout)] != matrix(f, count):
        return "as a matrix"
    both = composition(layout, inner)
    if [both(x) for x in every] != [f(g(x)) for x in every]:
        return "composed"
    mapped = any(isinstance(part, ComposedLayout) and isinstance(part.outer, BitMap) for part in (layout, inner))
    if mapped and isinstance(both, ComposedLayout) and not isinstance(both.outer, (BitMap, Swizzle)):
        return "composed into one map"
    undo = f.inverse()
    if any(undo(f(x)) != x for x in range(2 << count)):
        return "inverted"
    if any(inverse(table[x]) != x for inverse in (right_inverse(layout), left_inverse(layout)) for x in every):
        return "inverted as a layout"
    if list(map(composition(layout, right_inverse(layout)), every)) != [*every]:
        return "composed with its inverse"
    if any(parse_layout(text) != layout for text in (str(layout), repr(layout))):
        return "printed and read"
    return "" if eval(repr(f)) == f else "printed as a map and read"


@gpu.kernel
def placed(x, y):
    gpu.launch(grid=x.size // 8, threads=8)
    i = gpu.workgroup.x * 8 + gpu.thread
    y[i] = x[i]


def unused(f: BitMap, count: int) -> str:
    """What does not hold of the layout of a matrix that is drawn, and by which a kernel stores; "" where all does."""
    layout = ComposedLayout(f, 0, Layout(1 << count))
    table = [f(x) for x in range(1 << count)]
    if [int(cell) for cell in re.findall(r"\| +(\d+) ", draw(layout).text())] != table:
        return "drawn"
    x, memory = np.arange(1 << count, dtype=np.float32), np.zeros(1 << count, np.float32)
    y = make_tensor(memory, layout)
    proven = placed.verify(x, y).ok
    placed.interpret(x, y)
    return "" if proven and (memory[table] == x).all() else "used in a kernel"
