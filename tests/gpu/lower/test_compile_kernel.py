"""`compile_kernel`: the program of a kernel, with a second text where the size of subgroups may be asked for."""

import numpy as np

from cutepy import Tensor, gpu


def test_the_text_requires_a_size_where_rows_are_whole_subgroups() -> None:
    @gpu.kernel
    def sums(x: Tensor, y: Tensor, *, threads: int) -> None:
        gpu.launch(threads=threads, subgroup=32)
        y[gpu.thread] = gpu.subgroup_add(x[gpu.thread])

    x = np.zeros(64, np.float32)
    sized = sums.program(x, x.copy(), threads=64, dialect="tint").sized
    assert "enable subgroup_size_control;" in sized and "@workgroup_size(64) @subgroup_size(32)" in sized
    assert not sums.program(x, x.copy(), threads=48, dialect="tint").sized
    assert not sums.program(x, x.copy(), threads=64).sized
