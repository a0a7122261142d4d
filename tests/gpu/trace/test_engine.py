"""`engine`: arrays of a kernel as engines of tensors."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from shares import tries

from cutepy import gpu
from cutepy.layout import Layout, Swizzle, _, make_composed_layout
from cutepy.tensor import copy, make_tensor


@tries(80)
@given(st.integers(1, 2), st.integers(0, 2), st.integers(1, 3), st.integers(1, 9), st.integers(1, 8))
def test_rows_through_a_map_of_bits_have_the_elements_that_it_tells(
    bits: int, base: int, shift: int, step: int, columns: int
) -> None:
    """A row begins at any multiple of the step, inside a unit of the map or not."""
    layout = make_composed_layout(Swizzle(bits, base, max(bits, shift)), 0, Layout((4, columns), (step, 1)))

    @gpu.kernel
    def rows(x, y):
        gpu.launch(threads=4)
        copy(x(gpu.thread, _), y(gpu.thread, _))

    x = make_tensor(np.arange(layout.cosize, dtype=np.float32), layout)
    y = np.zeros((4, columns), np.float32)
    rows.interpret(x, y)
    np.testing.assert_array_equal(y, x.numpy())
