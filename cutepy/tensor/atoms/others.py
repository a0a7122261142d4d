"""Register layouts of AMD's, Intel's and Apple's matrix instructions, each from its maker's documents.

AMD: in an MFMA (CDNA), lane `l` of 64 holds row `l % M` of A (column of B) and the slice of k number `l / M`, side by
side; of D it holds column `l % N`, four rows in succession. Blocks multiply independently of one another.

Intel: in DPAS, work-item l of a subgroup of 16 owns column l of B and of C, and of A the elements of k that fill its 16
bits. In AMX one thread has whole tile registers: values count along the row, then along the rows.

Apple documents the type of its 8x8 simdgroup matrices and its `thread_elements`, not which thread holds which element;
open kernels do: two neighbours of a row to each of 32 threads, in 4x4 quadrants.
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
    # 64 lanes = rows x blocks x slices of k; each lane holds k / slices elements side by side.
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
    # Lanes beyond one row of columns take further groups of rows, then further blocks.
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
    """The atom of an MFMA instruction of (size, size, k) with `blocks` independent blocks, on 64 lanes."""
    size, _, k = shape
    operand, result = _operand(size, k, blocks), _result(size, blocks, 1 if types[2] == "f64" and size > 4 else 4)
    name = f"{arch}.v_mfma_{types[2]}_{size}x{size}x{k}{f'_{blocks}b' if blocks > 1 else ''}_{types[0]}"
    return MMAAtom(name, shape, WAVE, operand, operand, result, types, CDNA, blocks)


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
        run = 4 if types[0] in ("f16", "bf16") else 8
        runs = ((run, k // (2 * run)), (16, 32 * run)) if k > 2 * run else (run, 16)
        operand = thread_value(((16, 2), (1, 16 * run)), runs)
        result = thread_value(((16, 2), (16, 8)), (8, 1))
    name = f"{arch}.v_wmma_{types[2]}_16x16x{k}_{types[0]}"
    source = RDNA3 if arch == "gfx11" else RDNA4
    return MMAAtom(name, (16, 16, k), Layout(32), operand, operand, result, types, source)


def _amd() -> list[MMAAtom]:
    """The MFMA atoms of CDNA and the WMMA atoms of RDNA3 and RDNA4."""
    atoms = [
        _mfma(arch, (size, size, k), blocks, (kind, kind, result))
        for arch, kind, result, forms in MFMA
        for size, k, blocks in forms
    ]
    for arch in ("gfx11", "gfx12"):
        for kind, result in (("f16", "f32"), ("bf16", "f32"), ("f16", "f16"), ("bf16", "bf16"), ("iu8", "i32")):
            atoms.append(_wmma(arch, (kind, kind, result)))
        atoms.append(_wmma(arch, ("iu4", "iu4", "i32")))
    return atoms + [_wmma("gfx12", (kind, kind, "f32")) for kind in ("fp8_fp8", "bf8_bf8")]


DPAS = "Khronos, OpenCL extension cl_intel_subgroup_matrix_multiply_accumulate, operands for a subgroup of 16"
AMX = (
    "Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, {}; Instruction Set Extensions, chapter 3"
)


def _dpas(rows: int, k: int, types: tuple[str, str, str]) -> MMAAtom:
    """The atom of a DPAS instruction: `rows` x 16 by k on a subgroup of 16."""
    packed = max(1, k // 16)
    if packed > 1:
        a = thread_value((16, packed * rows), ((packed, rows), (rows, 1)))
    elif k == 16:
        a = thread_value((16, rows), (rows, 1))
    else:  # tf32: 8 work-items' worth of k, two rows side by side
        a = thread_value(((8, 2), (rows, 1)), (rows // 2, 2)) if rows > 1 else thread_value(((8, 2), (1, 0)), (1, 0))
    b, c = thread_value((16, 1), (k, 16)), thread_value((16, rows), (rows, 1))
    name = f"xe_hpc.dpas.{rows}x16x{k}.{types[2]}.{types[0]}"
    return MMAAtom(name, (rows, 16, k), Layout(16), a, b, c, types, DPAS)


def _amx(instruction: str, packed: int, types: tuple[str, str, str]) -> MMAAtom:
    """16 rows of 64 bytes: B holds `packed` successive k of one column side by side."""
    k = 16 * packed
    a, b = thread_value((1, 0), ((k, 16), (16, 1))), thread_value((1, 0), ((packed, 16, 16), (16, 1, 16 * packed)))
    c, source = thread_value((1, 0), ((16, 16), (16, 1))), AMX.format(instruction.upper())
    return MMAAtom(f"amx.{instruction}", (16, 16, k), Layout(1), a, b, c, types, source)


def _intel() -> list[MMAAtom]:
    """The DPAS and AMX atoms."""
    atoms = []
    for rows in (1, 2, 4, 8):
        atoms.append(_dpas(rows, 16, ("f16", "f16", "f32")))
        atoms.append(_dpas(rows, 16, ("bf16", "bf16", "f32")))
        atoms += [_dpas(rows, 32, (kind, kind, "s32")) for kind in ("s8", "u8")]
        atoms.append(_dpas(rows, 8, ("tf32", "tf32", "f32")))
    atoms.append(_amx("tdpbf16ps", 2, ("bf16", "bf16", "f32")))
    atoms.append(_amx("tdpfp16ps", 2, ("f16", "f16", "f32")))
    for a in "su":
        atoms += [_amx(f"tdpb{a}{b}d", 4, (f"{a}8", f"{b}8", "s32")) for b in "su"]
    return atoms


APPLE = (
    "Apple, Metal Shading Language Specification, section 2.4, simdgroup matrices (the type); "
    "MLX, mlx/backend/metal/kernels/steel/gemm/mma.h, BaseMMAFrag::get_coord (the layout)"
)

_ROWS = thread_value(((2, 4, 2, 2), (16, 1, 32, 4)), (2, 8))
"""(thread, value) to row + 8 * column."""
_COLUMNS = thread_value(((2, 4, 2, 2), (2, 8, 4, 32)), (2, 1))
"""(thread, value) to column + 8 * row: B is stored as (K, N) and named as (N, K)."""


def _simdgroup(kind: str) -> MMAAtom:
    name, types = f"apple.simdgroup_{kind}8x8", (kind, kind, kind)
    return MMAAtom(name, (8, 8, 8), Layout(32), _ROWS, _COLUMNS, _ROWS, types, APPLE)


def mma_atoms() -> list[MMAAtom]:
    """Every matrix instruction of AMD, Intel and Apple."""
    return [*_amd(), *_intel(), *map(_simdgroup, ("half", "bfloat", "float"))]
