"""A check of the verifier by runs: what is proven is run on corner data by the interpreter, which looks at each access.

It shares no code with the proofs. A race, a read before a write, a parted barrier or an index outside, in a kernel that
was proven, raises AssertionError; so every generator of programs asks it.
"""

from collections.abc import Sequence

import numpy as np

from cutepy.errors import KernelError, VerificationError
from cutepy.gpu.inspect.race_detector import interpret_checked
from cutepy.gpu.ir import Kernel
from cutepy.gpu.lower import finish
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.gpu.verify import verify

Array = np.ndarray


def corners(array: Array, *, extreme: bool) -> list[Array]:
    """Zeros, ones, steps, and, where nothing waits for what is read, the ends of the type."""
    found = [np.zeros_like(array), np.ones_like(array), np.arange(array.size).reshape(array.shape).astype(array.dtype)]
    if extreme and array.dtype.kind in "iu":
        ends = np.iinfo(array.dtype)
        found += [np.full_like(array, ends.max), np.full_like(array, ends.min)]
    return found


def check_function(kernel: KernelFunction, *arrays: Array, extreme: bool = True) -> bool:
    """Whether a kernel is proven on arrays like these; then it was run on corner data, and no fault was met."""
    if not kernel.verify(*arrays).ok:
        return False
    for data in zip(*(corners(array, extreme=extreme) for array in arrays), strict=False):
        try:
            kernel.interpret(*[values.copy() for values in data], check=True)
        except (KernelError, VerificationError) as error:
            raise AssertionError(f"proven, and on {data}: {error}") from error
    return True


def check_kernel(kernel: Kernel, contents: Sequence[Sequence[Array]]) -> bool:
    """The same for a kernel of the IR without parameters, on these contents too."""
    try:
        ready = finish(kernel)
    except KernelError:
        return False  # a constant index outside, which is never reached, is refused before anything runs
    if kernel.params or not verify(kernel).ok:
        return False
    plain = [np.zeros(-(-b.length // b.width) * b.width, b.dtype.numpy) for b in kernel.buffers]
    data = list(zip(*(corners(array, extreme=True) for array in plain), strict=False))
    for arrays in [*data, *contents]:
        try:
            interpret_checked(ready, [array.copy() for array in arrays], {})
        except (KernelError, VerificationError) as error:
            raise AssertionError(f"proven, and on {arrays}: {error}") from error
    return True
