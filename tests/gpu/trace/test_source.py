"""`source`, `memory` and `state`: arrays are called as the line says that makes them, and are as long as their type."""

import numpy as np
import pytest

from cutepy import KernelError, gpu, make_tensor
from cutepy.gpu.trace.kernel import KernelFunction


def arrays(kernel: KernelFunction, *arguments: object) -> dict[str, tuple[str, int, str]]:
    return {b.name: (str(b.space), b.length, b.dtype.name) for b in kernel.ir(*arguments).local}


def test_an_array_has_the_name_that_the_line_gives_it() -> None:
    class Kept:
        field: object = None

    @gpu.kernel
    def k(y: object) -> None:
        gpu.launch(threads=4)
        one = make_tensor("f32", (4,))
        (two) = make_tensor("i32", (3,))
        kept = Kept()
        kept.field = make_tensor("f32", (2,))
        several = [make_tensor("f32", (1,)), make_tensor("f32", (5,))]
        tile = gpu.shared("f32", (8,))
        for array in (one, kept.field, *several):
            array[0] = 1.0
        two[0] = 1
        tile[gpu.thread] = one[0] + kept.field[0] + several[0][0] + several[1][0]
        y[gpu.thread] = tile[gpu.thread] + gpu.cast(two[0], "f32")

    found = arrays(k, np.zeros(4, np.float32))
    assert found["one"] == ("private", 4, "f32") and found["two"] == ("private", 3, "i32")
    assert found["tile"] == ("workgroup", 8, "f32")
    assert {length for _, length, _ in found.values()} == {1, 2, 3, 4, 5, 8}
    assert len(found) == 6


def test_complex_numbers_are_pairs_in_registers() -> None:
    @gpu.kernel
    def k(y: object) -> None:
        gpu.launch(threads=1)
        pair = make_tensor("c64", (3,))
        pair[0] = gpu.Complex(y[0], 2.0)
        y[0] = pair[0].imag

    assert arrays(k, np.zeros(4, np.float32))["pair"] == ("private", 6, "f32")


def test_two_arrays_of_one_wish_have_two_names() -> None:
    @gpu.kernel
    def k(y: object) -> None:
        gpu.launch(threads=1)
        for i in gpu.unroll(2):
            part = make_tensor("f32", (2,))
            part[0] = float(i)
            y[i] = part[0]

    assert len(arrays(k, np.zeros(4, np.float32))) == 2


def test_a_call_is_traced_once_for_what_is_alike() -> None:
    @gpu.kernel
    def k(x: object, y: object, *, factor: int) -> None:
        gpu.launch(threads=4)
        y[gpu.thread] = x[gpu.thread] * factor

    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    for factor in (2, 2, 3, 2):
        k.interpret(x, y, factor=factor)
    assert k.stats.traces == 2 and (y == 2).all()


def test_an_array_outside_a_kernel_is_none_of_a_kernels() -> None:
    with pytest.raises(KernelError, match=r"gpu.shared"):
        gpu.shared("f32", (8,))
