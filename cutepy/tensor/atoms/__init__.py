"""Atoms: the copies and multiply-adds that hardware does in one step, as data."""

from . import nvidia, others
from .atom import FMA as FMA
from .atom import Atoms as Atoms
from .atom import CopyAtom as CopyAtom
from .atom import MMAAtom as MMAAtom
from .atom import universal_copy as universal_copy
from .subgroup import subgroup_matrix as subgroup_matrix

MMA_ATOMS: Atoms[MMAAtom] = Atoms(lambda: [FMA, *nvidia.mma_atoms(), *others.mma_atoms()])
"""Every multiply-add atom by name."""

COPY_ATOMS: Atoms[CopyAtom] = Atoms(lambda: [*map(universal_copy, (1, 2, 3, 4)), *nvidia.copy_atoms()])
"""Every copy atom by name."""
