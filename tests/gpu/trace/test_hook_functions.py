"""`hook_functions`: what stands for Python's operators that decide, in the frame of their expression."""

import inspect
from collections.abc import Callable

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError

held: list[int] = []


def noted() -> float:
    held.append(1)
    return 5.0


def choosing(v):
    return noted() if v > 0.0 else 1.0


def both(v):
    return v > 0.0 and noted() > 1.0


def either(v):
    return v > 0.0 or noted() > 1.0


def chained(v):
    return 0.0 < v < noted()


@pytest.mark.parametrize("decides", [choosing, both, either, chained])
def test_an_expression_with_sides_is_named_by_its_line(decides: Callable[[object], object]) -> None:
    @gpu.kernel
    def k(x, y):
        gpu.launch(threads=4)
        y[gpu.thread] = gpu.cast(decides(x[gpu.thread]), "f32")

    place = f"test_hook_functions.py:{inspect.getsourcelines(decides)[1] + 1}:"
    with pytest.raises(KernelError, match=f"held is .* the conditional expression at {place}"):
        k.ir(np.zeros(4, np.float32), np.zeros(4, np.float32))
