"""`--tile 64x64x16`: reading it, and the plan of a matrix product that has this tile.

Law: the plan fits the limits given, or CommandError says by how much it does not; nothing is traced to find out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import CommandError, KernelError
from ..gpu.matmul import Plan, copy_layout, slab_bytes
from ..gpu.operations.domain import power_of_two
from ..gpu.runtime import Limits

Tile = tuple[int, int, int]

_MOST_THREADS = 256
_BLOCK = 4
_MOST_SUMS = 256


def parse_tile(text: str) -> Tile:
    """The rows, columns and depth of a tile.

    >>> parse_tile("64x64x16")
    (64, 64, 16)

    Raises CommandError for anything but three numbers from 1 on, rows and columns multiples of 4.
    """
    match = re.fullmatch(r"(\d{1,9})[xX](\d{1,9})[xX](\d{1,9})", text.strip(), re.ASCII)
    if match is None:
        raise CommandError(f"--tile {text}: a tile is three numbers, rows x columns x depth, as 64x64x16")
    m, n, k = map(int, match.groups())
    if min(m, n, k) < 1:
        raise CommandError(f"--tile {text}: rows, columns and depth are at least 1, as in 64x64x16")
    if m % _BLOCK or n % _BLOCK:
        near = "x".join(str(-(-extent // _BLOCK) * _BLOCK) for extent in (m, n))
        raise CommandError(f"--tile {text}: rows and columns must be multiples of {_BLOCK}; {near}x{k} would do")
    return m, n, k


def plan_for(tile: Tile, limits: Limits, device: str) -> Plan:
    """The plan with this tile and the most threads, each with the squarest share. Raises CommandError if none fits."""
    text = "x".join(map(str, tile))
    shared = slab_bytes(tile)
    if shared > limits.workgroup_bytes:
        raise CommandError(
            f"--tile {text} needs {shared} bytes of workgroup memory, {device} has {limits.workgroup_bytes}"
        )
    most = min(_MOST_THREADS, limits.invocations)
    if plan := _best(tile, most):
        return plan
    if tile[0] * tile[1] > most * _MOST_SUMS:
        raise CommandError(
            f"--tile {text} has {tile[0] * tile[1]} sums, {most} threads hold at most {most * _MOST_SUMS}; "
            "choose fewer rows or columns"
        )
    rounded = power_of_two(tile[0]), power_of_two(tile[1]), power_of_two(tile[2])
    works = rounded if slab_bytes(rounded) <= limits.workgroup_bytes and _best(rounded, most) else (64, 64, 16)
    raise CommandError(
        f"--tile {text}: no number of threads shares it out evenly with at most {_MOST_SUMS} sums each; "
        f"{'x'.join(map(str, works))} would do"
    )


def _best(tile: Tile, most: int) -> Plan | None:
    for threads in _splits(tile[0] // _BLOCK, tile[1] // _BLOCK, most):
        if tile[0] * tile[1] <= _MOST_SUMS * threads[0] * threads[1] and (plan := _with_threads(tile, threads)):
            return plan
    return None


def _splits(rows: int, columns: int, most: int) -> Iterator[tuple[int, int]]:
    """Numbers of threads along both sides that divide them, the most threads first, then the squarest shares."""
    found = [
        (tm, tn)
        for tm in range(1, min(rows, most) + 1)
        if rows % tm == 0
        for tn in range(1, min(columns, most // tm) + 1)
        if columns % tn == 0
    ]
    return iter(sorted(found, key=lambda t: (-t[0] * t[1], abs(rows // t[0] - columns // t[1]))))


def _with_threads(tile: Tile, threads: tuple[int, int]) -> Plan | None:
    """The plan, if its copies share out both tiles among the threads, whichever way the operands are stored."""
    try:
        for rows in tile[:2]:
            for along_k in (True, False):
                copy_layout((rows, tile[2]), None, threads[0] * threads[1], along_k=along_k)
        return Plan(tile, threads)
    except (KernelError, ZeroDivisionError):
        return None
