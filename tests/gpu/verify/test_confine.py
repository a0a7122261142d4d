"""`confine`: what is not proven to stay inside a view is guarded by its coordinates, and nothing else changes."""

import numpy as np
import pytest
from test_verify import TID

from cutepy.gpu.ir import Atomic, Buffer, If, Kernel, Stmt, Store, const, new_arena, statements, var
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.verify.confine import confine
from cutepy.tensor.dtypes import u32

Y, C = Buffer("y", u32, 64, writable=True), Buffer("c", u32, 64, writable=True, atomic=True)


def kernel_of(*body: Stmt) -> Kernel:
    return Kernel("k", (Y, C), body, (1, 1, 1), (16, 1, 1))


def held(kernel: Kernel) -> tuple[list[int], list[int]]:
    arrays = [np.zeros(64, np.uint32), np.zeros(64, np.uint32)]
    interpret(kernel, arrays)
    return arrays[0].tolist(), arrays[1].tolist()


@pytest.mark.parametrize("extent", [1, 7, 15, 16, 20])
def test_a_store_stays_inside_its_view(extent: int) -> None:
    """Elements 2, 5, 8, ... of an array: those between and beyond belong to others."""
    with new_arena():
        kernel = kernel_of(Store(Y, TID * 3 + 2, TID + 1, coordinates=(TID,), shape=(extent,)))
        confined = confine(kernel, {"y"})
        assert (confined is kernel) is (extent >= 16)
        wanted = np.zeros(64, int)
        wanted[2 : 2 + 3 * min(16, extent) : 3] = np.arange(1, min(16, extent) + 1)
        assert held(confined)[0] == wanted.tolist()


def test_what_is_no_view_or_has_no_coordinates_stays_as_it_is() -> None:
    with new_arena():
        store = Store(Y, TID, const(1), coordinates=(TID,), shape=(4,))
        for kernel, views in (
            (kernel_of(store), {"c"}),
            (kernel_of(store), set()),
            (kernel_of(Store(Y, TID, const(1))), {"y"}),
        ):
            assert confine(kernel, views) is kernel


def test_an_atomic_that_does_not_happen_gives_0() -> None:
    with new_arena():
        old = var("old")
        add = Atomic("Add", C, TID, TID + 5, result=old, coordinates=(TID,), shape=(3,))
        twice = Atomic("Add", C, TID, TID + 5, result=old, coordinates=(TID,), shape=(3,))
        kernel = kernel_of(add, Store(Y, TID, old + 1))
        confined = confine(kernel, {"c"})
        assert held(confined) == ([1] * 16 + [0] * 48, [5, 6, 7] + [0] * 61)
        again = confine(kernel_of(If(TID < 8, (twice, Store(Y, TID, old + 1)))), {"c"})
        assert held(again) == ([1] * 8 + [0] * 56, [5, 6, 7] + [0] * 61)
        assert sum(isinstance(s, Atomic) for s in statements(again.body)) == 1
