"""complex64 in kernels: what NumPy computes, one access an element, and proven; other operations refuse it."""

from collections.abc import Callable

import numpy as np
import pytest
from complex_cases import CASES, NAMES, elementwise, operands, tiles

from cutepy import Layout, gpu, make_tensor
from cutepy.errors import CutepyError, KernelError


@pytest.mark.parametrize(("kernel", "law"), CASES, ids=NAMES)
def test_as_in_numpy(kernel: gpu.KernelFunction, law: Callable) -> None:
    a, b, y = operands()
    kernel.interpret(a, b, y)
    np.testing.assert_allclose(y, law(a, b), rtol=2e-5, atol=1e-5)
    assert kernel.verify(a, b, y).ok


def test_layouts_and_views_are_of_whole_elements() -> None:
    a, b, y = operands()
    steps = Layout(20, 3)
    parts = [make_tensor(t[1:], steps) for t in (a, b, y)]
    elementwise(lambda v, w: v + w).interpret(*parts)
    wanted = np.zeros_like(y)
    wanted[1:61:3] = (a + b)[1:61:3]
    np.testing.assert_array_equal(y, wanted)


def test_an_element_is_one_access_and_two_are_too() -> None:
    a, b, y = operands()
    text = elementwise(lambda v, w: v * w).wgsl(a, b, y)
    assert text.count("array<vec2<f32>>") == 3 and text.count("a[") == text.count("b[") == text.count("y[") == 1
    whole = [np.concatenate([t, t[:3]]) for t in (a, b, y)]
    assert tiles.wgsl(*whole).count("array<vec4<f32>>") == 3


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (lambda a, b: 1.0 if a else 0.0, "a complex number decides nothing by itself; compare it"),
        (lambda a, b: a + "1", "'1' is no complex number"),
        (lambda a, b: a.real + 1j, "unsupported operand"),
        (lambda a, b: gpu.shared(a.real, 4), "dtype"),
        (lambda a, b: gpu.shared("c64", 4, layout=gpu.solve), r"share the parts, gpu.shared\(.f32., \(n, 2\)"),
    ],
)
def test_refused(operation: Callable, words: str) -> None:
    with pytest.raises((CutepyError, TypeError), match=words):
        elementwise(operation).interpret(*operands())


def test_a_complex_number_is_no_element_of_floats() -> None:
    a, b, _ = operands()
    with pytest.raises(KernelError, match="complex"):
        elementwise(lambda v, w: v * w).interpret(a, b, np.zeros(61, np.float32))
    with pytest.raises(CutepyError, match="complex128"):
        elementwise(lambda v, w: v * w).interpret(a.astype(complex), b, np.zeros_like(a))
