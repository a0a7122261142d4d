"""Do results depend on the size of subgroups, which the hardware chooses? Decided by what the kernel asks of them.

Collectives give the same for every size, up to the rounding of sums of floats, and an exchange by a mask below the
least size stays inside groups that every subgroup has whole. Any other subgroup operation may depend on
the size; whether it does is tested: one workgroup is interpreted with each size, on numbers of which all sums are
exact. Another result refutes; no difference proves nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import KernelError
from ..ir import Buffer, Builtin, Call, For, Kernel, all_nodes, statements
from ..ir.operators import SUBGROUP, SUBGROUP_SIZES
from ..runtime.program import Limits
from ..targets.interpreter import interpret
from ..targets.interpreter_memory import Watch
from .collect import uses_matrices
from .replay import TooLong, usual_params
from .verdict import Claim, Status, Verdict

#: Accesses of one trial, and elements of all its arrays: a fraction of a second each.
_MOST_ACCESSES, _MOST_ELEMENTS = 2000, 1 << 20

Values = np.ndarray[Any, np.dtype[Any]]


def asks_subgroups(kernel: Kernel) -> bool:
    """Whether the kernel asks anything of its subgroups: which they are, or what their threads have."""
    return any(
        (isinstance(node, Call) and node.name in SUBGROUP) or (isinstance(node, Builtin) and "subgroup" in node.name)
        for node in all_nodes(kernel.body)
    )


def sizes_of(kernel: Kernel, limits: Limits) -> list[int]:
    """The sizes of subgroup with which `kernel` may run on a device with `limits`."""
    if uses_matrices(kernel):
        return [kernel.lanes]
    if kernel.subgroup:
        return [kernel.subgroup]
    least, most = limits.subgroup_sizes
    sizes = [size for size in SUBGROUP_SIZES if max(least, kernel.lanes) <= size <= most]
    return sizes or [max(32, kernel.lanes)]


def decide_subgroup_size(kernel: Kernel, limits: Limits) -> list[Verdict]:
    """One verdict, where a kernel asks anything of its subgroups."""
    if not asks_subgroups(kernel) or 0 in kernel.grid:
        return []
    sizes = sizes_of(kernel, limits)
    # 1. One size, or nothing that depends on it: proven. 2. A trial refutes. 3. Else undecided.
    if len(sizes) == 1:
        return [Verdict(Claim.ANY_SUBGROUP_SIZE, Status.PROVEN, f"subgroups have {sizes[0]} threads")]
    if not kernel.varying:
        least = f", of {kernel.lanes} threads or more" if kernel.lanes > SUBGROUP_SIZES[0] else ""
        return [Verdict(Claim.ANY_SUBGROUP_SIZE, Status.PROVEN, f"collectives and exchanges inside groups{least}")]
    asked = ", ".join(kernel.varying)
    difference = _difference(kernel, sizes)
    if difference:
        return [Verdict(Claim.ANY_SUBGROUP_SIZE, Status.REFUTED, f"{difference}: {asked}")]
    return [Verdict(Claim.ANY_SUBGROUP_SIZE, Status.UNDECIDED, f"nothing tells that each size gives the same: {asked}")]


class _Counted(Watch):
    """Ends a trial after so many accesses."""

    left = _MOST_ACCESSES

    def access(self, *_: object) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooLong


def _difference(kernel: Kernel, sizes: Sequence[int]) -> str:
    """A text that names two subgroup sizes with different results in an element; "" where no trial shows any."""
    endless = any(isinstance(stmt, For) and stmt.stop is None for stmt in statements(kernel.body))
    if endless or sum(buffer.length for buffer in kernel.buffers) > _MOST_ELEMENTS:
        return ""
    first: Mapping[Buffer, Values] = {}
    for size in sizes:
        arrays = {buffer: _numbers(buffer) for buffer in kernel.buffers}
        try:
            interpret(kernel, list(arrays.values()), usual_params(kernel), subgroup_size=size, watch=_Counted(), only=0)
        except (KernelError, TooLong):
            return ""
        first = first or arrays
        for buffer, array in arrays.items():
            # NaN in both is no difference.
            differs = (array != first[buffer]) & ~((array != array) & (first[buffer] != first[buffer]))
            if differs.any():
                at = int(np.argmax(differs))
                one, other = first[buffer][at], array[at]
                return f"{buffer.name}[{at}] is {one} with {sizes[0]} threads in a subgroup, {other} with {size}"
    return ""


def _numbers(buffer: Buffer) -> Values:
    """Contents of which all sums are exact in the element's type: whole numbers from 0 to 6."""
    numbers = np.arange(buffer.length) * 5 % 7
    values: Values = numbers.astype(buffer.dtype.numpy)
    return values
