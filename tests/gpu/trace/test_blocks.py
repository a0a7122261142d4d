"""`blocks`: what the sides of a branch bind, in registers."""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.ir import const, new_arena
from cutepy.gpu.trace.state import Trace
from cutepy.tensor.dtypes import f32


@pytest.mark.parametrize("count", [2, 5])
def test_a_variable_that_branch_after_branch_changes_stays_in_one_register(count: int) -> None:
    def registers(count: int) -> int:
        @gpu.kernel
        def changed(x, y):
            gpu.launch(threads=4)
            pair = (0.0, 1)
            for turn in range(count):
                if x[gpu.thread] > turn:
                    pair = (pair[0] + 1.0, pair[1] + 1)
                elif x[gpu.thread] < -turn:
                    pair = (pair[0] - 1.0, pair[1])
            y[gpu.thread] = pair[0] + pair[1]

        x = np.zeros(4, np.float32)
        return len(changed.ir(x, x.copy()).local)

    assert registers(count) == registers(1)


def test_a_value_of_a_block_that_is_complete_is_refused() -> None:
    with new_arena():
        trace = Trace("k")
        trace.begin_block("")
        name = trace.let("v", const(1.0, f32))
        trace.end_block("if at k.py:3")
        with pytest.raises(KernelError, match=r"v_0 .* is bound inside if at k\.py:3 and used after it"):
            trace.let("w", name + 1.0)
