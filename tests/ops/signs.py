"""Functions of the table over values at the edges, element by element against NumPy: signs of zeros and infinities."""

from __future__ import annotations

import numpy as np

from cutepy import gpu, ops
from cutepy.tensor.functions import FUNCTIONS, Function

EDGES = np.float32([s * x for x in (0.0, 1.0, 0.5, 2.0, 3.0, 2.5, 1e-30, 1e10, 7.0, np.inf, np.nan) for s in (1, -1)])
SHIFTS = np.array([0, 1, 5, 30, 31, 32, 33, 64, 2**31 - 1, -1, -31, -32, -(2**31)], np.int32)
OF_FLOATS = [f for f in FUNCTIONS.values() if "f" in f.takes and not f.conditional and f.arity <= 2]
OPEN = {"cosh", "sinh"}
"""Beyond 88 a device's own may be infinite a little early: WGSL computes it from exp."""

EITHER_ZERO = {"minimum", "maximum", "fmin", "fmax"}
"""Of 0.0 and -0.0 either is the smaller: NumPy promises no order of them, and GPUs differ (NVIDIA's gives -0.0)."""
ABSOLUTE = {"sin": 2.0**-11, "tan": 2.0**-10, "sinh": 2.0**-11}
"""WGSL's error of these is absolute near 0 (its table of accuracies): a tiny result may be a zero of its sign."""


def wrong_edges(function: Function, engine: str) -> list[str]:
    """Where a result is NaN, infinite or zero and NumPy's is not, or has the other sign."""
    given = [x.ravel() for x in np.meshgrid(*[EDGES] * function.arity)]
    if function.name == "mod":  # beyond 2**24 the quotient is no whole number of f32
        with np.errstate(all="ignore"):
            small = ~(np.abs(given[0] / given[1]) >= 2**24) | ~np.isfinite(given[0]) | (given[1] == 0)
        given = [x[small] for x in given]
    if function.name in ("sin", "cos", "tan"):
        given = [x[~(np.abs(x) > 100) | np.isinf(x)] for x in given]
    wanted = getattr(ops, function.name)(*given).numpy()
    moved = [gpu.array(x) for x in given] if engine == "wgpu" else given
    found = getattr(ops, function.name)(*moved, engine=engine).numpy()
    if wanted.dtype.kind != "f":
        return [f"{x}" for x in zip(*given, found, wanted, strict=True) if x[-1] != x[-2]]
    special = ~np.isfinite(wanted) | (wanted == 0) | ~np.isfinite(found) | (found == 0)
    alike = np.isnan(wanted) & np.isnan(found) | (wanted == found) & (np.signbit(wanted) == np.signbit(found))
    least = ABSOLUTE.get(function.name, 1e-37)
    tiny = (np.abs(wanted) < least) & (np.abs(found) < least) & (np.signbit(wanted) == np.signbit(found))
    if function.name in EITHER_ZERO:
        tiny |= (wanted == 0) & (found == 0)
    here = special & ~alike & ~tiny
    return [f"{x}" for x in zip(*(y[here] for y in given), found[here], wanted[here], strict=True)]
