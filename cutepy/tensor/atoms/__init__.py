"""Atoms: the copies and multiply-adds that hardware does in one step, as data."""

from . import nvidia, others
from .atom import FMA, Atoms, CopyAtom, MMAAtom, subgroup_matrix, universal_copy

MMA_ATOMS: Atoms[MMAAtom] = Atoms(lambda: [FMA, *nvidia.mma_atoms(), *others.mma_atoms()], nvidia.instruction)
"""Every multiply-add atom by name, NVIDIA's also by that of CuTe's operation, as "SM80_16x8x8_F16F16F16F16_TN"."""

COPY_ATOMS: Atoms[CopyAtom] = Atoms(
    lambda: [*map(universal_copy, (1, 2, 3, 4)), *nvidia.copy_atoms()], nvidia.instruction
)
"""Every copy atom by name, those of matrices also by that of CuTe's operation, as "SM75_U32x4_LDSM_N"."""

__all__ = ["COPY_ATOMS", "FMA", "MMA_ATOMS", "Atoms", "CopyAtom", "MMAAtom", "subgroup_matrix", "universal_copy"]
