"""`mapped`: arrays of unknown strides, whose elements are told by coordinates."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from shares import tries
from size_judging import said_for

from cutepy import gpu
from cutepy.layout import Layout
from cutepy.tensor import Tensor, local_tile, make_fragment_like

held: list[Layout] = []


def kept(x: Tensor, y: Tensor, *, tile: tuple[int, int, int]) -> None:
    gpu.launch(threads=4)
    held.append(make_fragment_like(local_tile(x, tile, (0, 0, 0))).layout)
    y[gpu.thread] = 1.0


@tries(60)
@given(st.tuples(*[st.integers(1, 3)] * 3))
def test_a_fragment_of_unknown_sizes_is_ordered_as_of_rows(tile: tuple[int, int, int]) -> None:
    x, y = np.zeros((6, 7, 8), np.float32), np.zeros(4, np.float32)
    assert not isinstance(said_for(gpu.kernel(sizes={"x": "(A,B,C)"})(kept), (x, y), tile=tile), str)
    of_unknown = held.pop()
    held.clear()
    gpu.kernel(kept).ir(x, y, tile=tile)
    assert held.pop() == of_unknown
