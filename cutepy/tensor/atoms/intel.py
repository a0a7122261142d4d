"""Register layouts of Intel's DPAS (GPU) and AMX (CPU) instructions.

Imports `atom`. In DPAS, work-item l of a subgroup of 16 owns column l of B and of C, and of A the elements of k that
fill its 16 bits. In AMX one thread has whole tile registers: values count along the row, then along the rows.
"""

from __future__ import annotations

from ...layout import Layout
from .atom import MMAAtom, thread_value

DPAS = "Khronos, OpenCL extension cl_intel_subgroup_matrix_multiply_accumulate, operands for a subgroup of 16"
AMX = (
    "Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, {}; Instruction Set Extensions, chapter 3"
)


def _dpas(rows: int, k: int, types: tuple[str, str, str]) -> MMAAtom:
    packed = max(1, k // 16)
    if packed > 1:
        a = thread_value((16, packed * rows), ((packed, rows), (rows, 1)))
    elif k == 16:
        a = thread_value((16, rows), (rows, 1))
    else:  # tf32: 8 work-items' worth of k, two rows side by side
        a = thread_value(((8, 2), (rows, 1)), (rows // 2, 2)) if rows > 1 else thread_value(((8, 2), (1, 0)), (1, 0))
    return MMAAtom(
        f"xe_hpc.dpas.{rows}x16x{k}.{types[2]}.{types[0]}",
        (rows, 16, k),
        Layout(16),
        a,
        thread_value((16, 1), (k, 16)),
        thread_value((16, rows), (rows, 1)),
        types,
        DPAS,
    )


def _amx(instruction: str, packed: int, types: tuple[str, str, str]) -> MMAAtom:
    """16 rows of 64 bytes: B holds `packed` successive k of one column side by side."""
    k = 16 * packed
    return MMAAtom(
        f"amx.{instruction}",
        (16, 16, k),
        Layout(1),
        thread_value((1, 0), ((k, 16), (16, 1))),
        thread_value((1, 0), ((packed, 16, 16), (16, 1, 16 * packed))),
        thread_value((1, 0), ((16, 16), (16, 1))),
        types,
        AMX.format(instruction.upper()),
    )


def _all() -> list[MMAAtom]:
    found = []
    for rows in (1, 2, 4, 8):
        found.append(_dpas(rows, 16, ("f16", "f16", "f32")))
        found.append(_dpas(rows, 16, ("bf16", "bf16", "f32")))
        found += [_dpas(rows, 32, (kind, kind, "s32")) for kind in ("s8", "u8")]
        found.append(_dpas(rows, 8, ("tf32", "tf32", "f32")))
    found.append(_amx("tdpbf16ps", 2, ("bf16", "bf16", "f32")))
    found.append(_amx("tdpfp16ps", 2, ("f16", "f16", "f32")))
    for a in "su":
        found += [_amx(f"tdpb{a}{b}d", 4, (f"{a}8", f"{b}8", "s32")) for b in "su"]
    return found


MMA_ATOMS = {atom.name: atom for atom in _all()}
