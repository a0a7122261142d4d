"""Integers in a kernel are Python's, wrapped: every operator, any divisor and amount, loops as `range` has them."""

import numpy as np
from integer_kernels import Case, cases

from cutepy.errors import KernelError


def interpreted(case: Case) -> list[np.ndarray] | None:
    """The arrays after the interpreter; None where a shift by a negative constant is refused."""
    arrays = [a.copy() for a in case.arrays]
    try:
        case.kernel.interpret(*arrays, **case.static)
    except KernelError as error:
        assert "shift the other way" in str(error)
        return None
    return arrays


def test_random_kernels_give_what_python_gives() -> None:
    refused = 0
    for seed, case in cases(300):
        arrays = interpreted(case)
        if arrays is None:
            refused += 1
            continue
        for got, wanted in zip(arrays, case.expected, strict=True):
            assert np.array_equal(got, wanted), seed
    assert refused < 30
