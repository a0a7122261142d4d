"""Register layouts of AMD's MFMA (CDNA) and WMMA (RDNA) instructions, from AMD's ISA documents.

Imports `atom`. In an MFMA, lane `l` of 64 holds row `l % M` of A (column of B) and the slice of k number `l / M`,
side by side; of D it holds column `l % N`, four rows in succession. Blocks multiply independently of one another.
"""

from __future__ import annotations

from ...layout import Layout
from .atom import MMAAtom, thread_value

CDNA = (
    '"AMD Instinct MI300" ISA, section 7.1, Matrix Arithmetic Instructions, and the AMD Matrix Instruction Calculator'
)
RDNA3 = (
    '"RDNA3" ISA, section 7.9, Wave Matrix Multiply Accumulate; GPUOpen, "How to accelerate AI on RDNA 3 using WMMA"'
)
RDNA4 = '"RDNA4" ISA, section 7.12, Wave Matrix Multiply Accumulate; the AMD Matrix Instruction Calculator'
WAVE = Layout(64)


def _operand(rows: int, k: int, blocks: int) -> Layout:
    """A as (M, K, blocks), or B as (N, K, blocks)."""
    slices = 64 // (rows * blocks)
    packed = k // slices
    lanes = [(rows, 1)]
    if blocks > 1:
        lanes.append((blocks, rows * k))
    if slices > 1:
        lanes.append((slices, rows * packed))
    extents, steps = zip(*lanes, strict=True)
    return thread_value((extents, steps), (packed, rows if packed > 1 else 0))


def _result(size: int, blocks: int, rows_in_succession: int) -> Layout:
    """D as (M, N, blocks) with M = N = size: column `lane % N`; groups of lanes take turns at rows, then at blocks."""
    groups = 64 // size
    block = size * size
    in_rows = min(groups, size // rows_in_succession)
    lanes = [(size, size), (in_rows, rows_in_succession)]
    if groups > in_rows:
        lanes.append((groups // in_rows, block))
    values = [(rows_in_succession, 1), (size // (rows_in_succession * in_rows), rows_in_succession * in_rows)]
    values.append((blocks * in_rows // groups, block * groups // in_rows))
    lanes = [(extent, step) for extent, step in lanes if extent > 1]
    values = [(extent, step) for extent, step in values if extent > 1] or [(1, 0)]
    (lane_extents, lane_steps), (extents, steps) = zip(*lanes, strict=True), zip(*values, strict=True)
    return thread_value((lane_extents, lane_steps), (extents, steps) if len(values) > 1 else values[0])


def _mfma(arch: str, shape: tuple[int, int, int], blocks: int, types: tuple[str, str, str]) -> MMAAtom:
    size, _, k = shape
    in_succession = 1 if types[2] == "f64" and size > 4 else 4
    return MMAAtom(
        f"{arch}.v_mfma_{types[2]}_{size}x{size}x{k}{f'_{blocks}b' if blocks > 1 else ''}_{types[0]}",
        shape,
        WAVE,
        _operand(size, k, blocks),
        _operand(size, k, blocks),
        _result(size, blocks, in_succession),
        types,
        CDNA,
        blocks,
    )


MFMA: list[tuple[str, str, str, list[tuple[int, int, int]]]] = [
    ("gfx908", "f32", "f32", [(32, 1, 2), (16, 1, 4), (4, 1, 16), (32, 2, 1), (16, 4, 1)]),
    ("gfx908", "f16", "f32", [(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)]),
    ("gfx908", "i8", "i32", [(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)]),
    ("gfx908", "bf16", "f32", [(32, 2, 2), (16, 2, 4), (4, 2, 16), (32, 4, 1), (16, 8, 1)]),
    ("gfx90a", "bf16_1k", "f32", [(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)]),
    ("gfx90a", "f64", "f64", [(16, 4, 1)]),
    ("gfx942", "xf32", "f32", [(16, 8, 1), (32, 4, 1)]),
    ("gfx942", "fp8_fp8", "f32", [(16, 32, 1), (32, 16, 1)]),
    ("gfx942", "bf8_bf8", "f32", [(16, 32, 1), (32, 16, 1)]),
    ("gfx942", "i8", "i32", [(16, 32, 1), (32, 16, 1)]),
    ("gfx950", "f16", "f32", [(16, 32, 1), (32, 16, 1)]),
    ("gfx950", "bf16", "f32", [(16, 32, 1), (32, 16, 1)]),
    ("gfx950", "i8", "i32", [(16, 64, 1), (32, 32, 1)]),
]
"""Architecture, input type, accumulator, and (M = N, K, blocks) of each instruction."""


def _wmma(arch: str, types: tuple[str, str, str]) -> MMAAtom:
    """RDNA3 keeps A and B twice, once in each half of the wave; in RDNA4 the halves take turns at 64 bits of k."""
    k = 16
    if arch == "gfx11":
        operand = thread_value(((16, 2), (1, 0)), (k, 16))
        result = thread_value(((16, 2), (16, 1)), (8, 2))
    else:
        turn = 4 if types[0] in ("f16", "bf16") else 8
        runs = ((turn, k // (2 * turn)), (16, 32 * turn)) if k > 2 * turn else (turn, 16)
        operand = thread_value(((16, 2), (1, 16 * turn)), runs)
        result = thread_value(((16, 2), (16, 8)), (8, 1))
    name = f"{arch}.v_wmma_{types[2]}_16x16x{k}_{types[0]}"
    source = RDNA3 if arch == "gfx11" else RDNA4
    return MMAAtom(name, (16, 16, k), Layout(32), operand, operand, result, types, source)


def _all() -> list[MMAAtom]:
    found = [
        _mfma(arch, (size, size, k), blocks, (kind, kind, result))
        for arch, kind, result, forms in MFMA
        for size, k, blocks in forms
    ]
    for arch in ("gfx11", "gfx12"):
        for kind, result in (("f16", "f32"), ("bf16", "f32"), ("f16", "f16"), ("bf16", "bf16"), ("iu8", "i32")):
            found.append(_wmma(arch, (kind, kind, result)))
        found.append(_wmma(arch, ("iu4", "iu4", "i32")))
    return found + [_wmma("gfx12", (kind, kind, "f32")) for kind in ("fp8_fp8", "bf8_bf8")]


MMA_ATOMS = {atom.name: atom for atom in _all()}
