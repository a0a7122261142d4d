"""Register layouts of NVIDIA's tensor-core instructions, from the PTX ISA.

Most are built of one core matrix: thread `4 * g + t` of a warp has, of 8 rows of four 32-bit registers,
register t of row g, with 32 / bits elements side by side. Sections are those of "Parallel Thread Execution ISA", 8.x.
"""

from __future__ import annotations

import re

from ...layout import Layout
from .atom import CopyAtom, MMAAtom, thread_value

Shape = tuple[int, int, int]
"""m, n, k."""
Types = tuple[str, str, str]
"""The element types of A, B and C."""
WARP = Layout(32)
MMA = "PTX ISA, 9.7.14.5, Matrix fragments for mma.{}"
MULTIPLY = r"SM\d+(?:_|::GMMA::MMA_)(\d+)x(\d+)x(\d+)_((?:TF32|BF16|[FSU]\d+|E\dM\d)+)_(\w+)"
MATRICES = r"SM\d+_U(16|32)x(\d)_(LD|ST)SM_(N|T)"


def instruction(operation: str) -> str:
    """The PTX instruction that an operation of CuTe C++ is, "" for what is none.

    >>> instruction("SM80_16x8x16_F32F16F16F32_TN"), instruction("SM75_U16x8_LDSM_T")
    ('mma.m16n8k16.f32.f16.f16.f32', 'ldmatrix.m8n8.x4.trans.b16')

    An architecture is not part of it: CuTe names a later one than the first for some.
    """
    if match := re.fullmatch(MATRICES, operation):
        bits, count, way, order = match.groups()
        return f"{way.lower()}matrix.m8n8.x{int(bits) * int(count) // 32}{'.trans' * (order == 'T')}.b16"
    match = re.fullmatch(MULTIPLY, operation)
    if match is None:
        return ""
    m, n, k, listed, how = match.groups()
    types = re.findall(r"tf32|bf16|[bfsu]\d+|e\dm\d", listed.lower().replace("u1", "b1"))
    shape = f"m{m}n{n}k{k}"
    if m == "64":
        return ".".join(("wgmma", shape, *types[:3], "rs" if how.startswith("RS") else "ss"))
    volta = (m, k, types[1]) == ("8", "4", "f16")
    orders = ("row" if how[0] == "T" else "col", "col" if how[1] == "N" else "row") if volta else ()
    return ".".join(("mma", shape, *orders, *types))


def _rows(rows: int, k: int, bits: int) -> Layout:
    """A (rows 8 or 16) or B (rows 8) of `mma.sync`: core matrices stacked along the rows, then along k."""
    # Elements in a 32-bit register.
    packed = max(1, 32 // bits)
    # Core matrices of 8 rows by 4 registers: `halves` along the rows, `steps` along k.
    halves, steps = rows // 8, k // (4 * packed)
    values = [(packed, rows), (halves, 8), (steps, 4 * packed * rows)]
    kept = [(extent, step) for extent, step in values if extent > 1] or [(1, 0)]
    extents, strides = zip(*kept, strict=True)
    if len(kept) == 1:
        return thread_value(((4, 8), (packed * rows, 1)), (extents[0], strides[0]))
    return thread_value(((4, 8), (packed * rows, 1)), (extents, strides))


def _accumulator(m: int) -> Layout:
    """C of `mma.sync`: pairs of neighbouring columns, in m / 8 blocks of rows."""
    if m == 8:
        return thread_value(((4, 8), (16, 1)), (2, 8))
    return thread_value(((4, 8), (32, 1)), ((2, 2), (16, 8)))


def _mma(arch: str, shape: Shape, bits: int, types: Types) -> MMAAtom:
    m, n, k = shape
    name, source = f"{arch}.mma.m{m}n{n}k{k}.{types[2]}.{types[0]}.{types[1]}.{types[2]}", MMA.format(f"m{m}n{n}k{k}")
    return MMAAtom(name, shape, WARP, _rows(m, k, bits), _rows(n, k, bits), _accumulator(m), types, source)


def _volta(accumulator: str, a_order: str, b_order: str) -> MMAAtom:
    """`mma.m8n8k4` by a quad pair: threads 0-3 and 16-19, and three more groups like it."""
    # A quad pair: 8 threads, each a row (or column) of 4 elements of k.
    row = thread_value((8, 1), (4, 8))
    col = thread_value(((4, 2), (8, 4)), (4, 1))
    half = thread_value((8, 1), (8, 8))
    single = thread_value(((2, 2, 2), (1, 16, 4)), ((2, 2, 2), (8, 2, 32)))
    a, b = (row if a_order == "row" else col), (row if b_order == "col" else col)
    c, types = (single if accumulator == "f32" else half), ("f16", "f16", accumulator)
    name = f"sm_70.mma.m8n8k4.{a_order}.{b_order}.{accumulator}.f16.f16.{accumulator}"
    return MMAAtom(name, (8, 8, 4), Layout((4, 2), (1, 16)), a, b, c, types, MMA.format("m8n8k4 with .f16"))


def _wgmma(n: int, k: int, bits: int, types: Types, from_registers: bool) -> MMAAtom:
    """`wgmma.m64nNkK` by a warpgroup: each warp has 16 rows; operands in shared memory belong to every thread."""
    # Elements in a 32-bit register.
    packed = 32 // bits
    registers = thread_value(((4, 8, 4), (packed * 64, 1, 16)), ((packed, 2, 2), (64, 8, 4 * packed * 64)))
    shared = thread_value((128, 0), ((64, k), (1, 64)))
    a, b = (registers if from_registers else shared), thread_value((128, 0), ((n, k), (1, n)))
    c = thread_value(((4, 8, 4), (128, 1, 16)), ((2, 2, n // 8), (64, 8, 512)))
    name = f"sm_90.wgmma.m64n{n}k{k}.{types[2]}.{types[0]}.{types[1]}.{'rs' if from_registers else 'ss'}"
    source = f"PTX ISA, 9.7.15.5.1, Register fragments for wgmma.mma_async.m64nNk{k}"
    return MMAAtom(name, (64, n, k), Layout(128), a, b, c, types, source)


def _tcgen05(n: int, k: int, types: Types) -> MMAAtom:
    """`tcgen05.mma` of one CTA with M = 128: row i of the accumulator is lane i of tensor memory, column j column j."""
    a, b = thread_value((128, 0), ((128, k), (1, 128))), thread_value((128, 0), ((n, k), (1, n)))
    c = thread_value((128, 1), (n, 128))
    name = f"sm_100.tcgen05.mma.m128n{n}k{k}.{types[2]}.{types[0]}.{types[1]}"
    source = "PTX ISA, 9.7.16.10.5, Data path layout organization, layout D"
    return MMAAtom(name, (128, n, k), Layout(128), a, b, c, types, source)


_INT8, _INT4, _FP8 = ("s8", "u8"), ("s4", "u4"), ("e4m3", "e5m2")
SYNC: list[tuple[int, list[Types], list[tuple[str, Shape]]]] = [
    (16, [("f16", "f16", c) for c in ("f16", "f32")], [("sm_75", (16, 8, 8)), ("sm_80", (16, 8, 16))]),
    (16, [("bf16", "bf16", "f32")], [("sm_80", (16, 8, k)) for k in (8, 16)]),
    (32, [("tf32", "tf32", "f32")], [("sm_80", (16, 8, k)) for k in (4, 8)]),
    (
        8,
        [(a, b, "s32") for a in _INT8 for b in _INT8],
        [("sm_75", (8, 8, 16)), ("sm_80", (16, 8, 16)), ("sm_80", (16, 8, 32))],
    ),
    (
        4,
        [(a, b, "s32") for a in _INT4 for b in _INT4],
        [("sm_75", (8, 8, 32)), ("sm_80", (16, 8, 32)), ("sm_80", (16, 8, 64))],
    ),
    (1, [("b1", "b1", "s32")], [("sm_75", (8, 8, 128)), ("sm_80", (16, 8, 128)), ("sm_80", (16, 8, 256))]),
    (64, [("f64", "f64", "f64")], [("sm_80", (8, 8, 4)), *(("sm_90", (16, 8, k)) for k in (4, 8, 16))]),
    (8, [(a, b, c) for a in _FP8 for b in _FP8 for c in ("f16", "f32")], [("sm_89", (16, 8, 32))]),
    (8, [(a, a, "f32") for a in ("e3m2", "e2m3", "e2m1")], [("sm_120", (16, 8, 32))]),
    (4, [("e2m1", "e2m1", "f32")], [("sm_120", (16, 8, 64))]),
]
"""`mma.sync`: bits of an element of A and B, types of A, B and C, architectures with (m, n, k); all types with all."""
WGMMA: list[tuple[int, int, Types]] = [
    *((16, 16, ("f16", "f16", c)) for c in ("f16", "f32")),
    (16, 16, ("bf16", "bf16", "f32")),
    (8, 32, ("tf32", "tf32", "f32")),
    (32, 8, ("e4m3", "e4m3", "f32")),
    (32, 8, ("s8", "s8", "s32")),
]
"""k, bits of an element of A and B, types of A, B and C."""
TCGEN05: list[tuple[int, Types]] = [
    (16, ("f16", "f16", "f32")),
    (32, ("e4m3", "e4m3", "f32")),
    (8, ("tf32", "tf32", "f32")),
]
"""k, types of A, B and C."""


def mma_atoms() -> list[MMAAtom]:
    """Every matrix instruction, the oldest first."""
    return [
        *(_volta(c, a, b) for c in ("f16", "f32") for a in ("row", "col") for b in ("row", "col")),
        *(_mma(arch, shape, bits, each) for bits, types, forms in SYNC for each in types for arch, shape in forms),
        *(_wgmma(n, *kind, way) for kind in WGMMA for n in (8, 16, 32, 64, 128, 256) for way in (False, True)),
        *(_tcgen05(n, *kind) for n in (16, 32, 64, 128, 256) for kind in TCGEN05),
    ]


def _matrices(count: int, transposed: bool, storing: bool) -> CopyAtom:
    """`ldmatrix` and `stmatrix`: `count` 8x8 matrices of 16-bit elements; thread r names row r, all share."""
    rows = thread_value(((8, count, 4 // count), (1, 64, 0)) if count < 4 else ((8, 4), (1, 64)), (8, 8))
    lanes = ((4, 8), (2, 8)) if transposed else ((4, 8), (16, 1))
    pair = 1 if transposed else 8
    spread = thread_value(lanes, ((2, count), (pair, 64)) if count > 1 else (2, pair))
    tile, form = ((8, 8, count) if count > 1 else (8, 8)), f"m8n8.x{count}{'.trans' * transposed}.b16"
    if storing:
        source, memory = "PTX ISA, 9.7.14.5.16, stmatrix", ("rmem", "smem")
        return CopyAtom(f"sm_90.stmatrix.{form}", tile, WARP, spread, rows, 16, source, memory)
    source, memory = "PTX ISA, 9.7.14.5.15, ldmatrix", ("smem", "rmem")
    return CopyAtom(f"sm_75.ldmatrix.{form}", tile, WARP, rows, spread, 16, source, memory)


def _async_copy(size: int) -> CopyAtom:
    one, name = thread_value((1, 0), (size, 1)), f"sm_80.cp.async.{size}"
    return CopyAtom(name, (size,), Layout(1), one, one, 8, "PTX ISA, 9.7.9.25.3.1, cp.async", ("gmem", "smem"))


def _tensor_memory_load(columns: int) -> CopyAtom:
    """`tcgen05.ld.32x32b`: thread t of a warp reads lane t, `columns` columns of 32 bits."""
    lanes, name = thread_value((32, 1), (columns, 32)), f"sm_100.tcgen05.ld.32x32b.x{columns}"
    source = "PTX ISA, 9.7.16.8.1, tcgen05.ld, shape .32x32b"
    return CopyAtom(name, (32, columns), WARP, lanes, lanes, 32, source, ("", "rmem"))


def copy_atoms() -> list[CopyAtom]:
    """Every copy instruction."""
    atoms = [_matrices(n, t, s) for s in (False, True) for t in (False, True) for n in (1, 2, 4)]
    atoms += [_async_copy(size) for size in (4, 8, 16)]
    return atoms + [_tensor_memory_load(1 << power) for power in range(8)]
