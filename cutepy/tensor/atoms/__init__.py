"""Atoms: the copies and multiply-adds that hardware does in one step, as data."""

from . import nvidia, others
from .atom import FMA as FMA
from .atom import CopyAtom as CopyAtom
from .atom import MMAAtom as MMAAtom
from .atom import universal_copy as universal_copy
from .subgroup import subgroup_matrix as subgroup_matrix

MMA_ATOMS: dict[str, MMAAtom] = {FMA.name: FMA} | nvidia.MMA_ATOMS | others.MMA_ATOMS
"""Every multiply-add atom by name."""

COPY_ATOMS: dict[str, CopyAtom] = {atom.name: atom for atom in map(universal_copy, (1, 2, 3, 4))} | nvidia.COPY_ATOMS
"""Every copy atom by name."""
