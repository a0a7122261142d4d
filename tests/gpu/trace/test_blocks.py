"""`blocks`: what the sides of a branch bind, in registers."""

import numpy as np
import pytest

from cutepy import gpu


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
