"""Junk to every public name beyond layouts is refused in words, by no bare error. `tools/fuzz/junk.py` runs more."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import sympy
from junk_calls import faults
from layout.junk_cases import nested

from cutepy import (
    BitMap,
    ComposedLayout,
    Layout,
    Swizzle,
    _,
    conflict_free,
    crd2idx,
    draw,
    gpu,
    local_tile,
    make_identity_tensor,
    make_tensor,
    ops,
    vectorised,
)
from cutepy.errors import CutepyError, DeviceError, DrawError, KernelError, LayoutError, TensorError
from cutepy.layout.public import OperandError
from cutepy.tensor.functions import MADE_OF, made_of


@pytest.mark.parametrize("seed", ["first", "second"])
def test_junk_calls_are_answered_or_refused(seed: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = faults(1500, seed)
    assert not found, "\n".join(found.values())


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: Layout(10**5000, (2, 8)), LayoutError, "too long to be written"),
        (lambda: ComposedLayout(nested(3000), Layout(()), 4), LayoutError, "a swizzle"),
        (lambda: BitMap(10**5000), LayoutError, "BitMap"),
        (lambda: BitMap((1, 3, 6))(np.float32(2)), LayoutError, "a whole number"),
        (lambda: make_identity_tensor((4, 8)).moved_to((_, 1)), TensorError, "for slices"),
        (lambda: ops.pad(1, 1), OperandError, r"pad\(1, 1\)"),
        (lambda: ops.sum([[1], [2, 3]]), TensorError, "equal lengths"),
        (lambda: draw(Layout(4), title=["x"]), DrawError, "title="),
        (lambda: draw(Layout(4), palette=np.zeros(3)), DrawError, "palette="),
        (lambda: draw(Layout(4), color=np.zeros(3)), DrawError, "color="),
        (lambda: draw(Layout(4), background=np.zeros(3)), DrawError, "background="),
        (lambda: gpu.open_device("²"), DeviceError, "²"),
        (lambda: gpu.pointwise(Layout(4)), KernelError, "a formula"),
        (lambda: gpu.MatrixPlan(1), KernelError, "tile is 1"),
        (lambda: make_tensor(np.zeros(4, np.float32))[10**5000], TensorError, "coordinate"),
        (lambda: Layout(int, -1), LayoutError, "a size is <class 'int'>"),
        (lambda: Swizzle((), 10**5000, (1, 1)), LayoutError, "whole numbers"),
        (lambda: Swizzle(1, 10**5000, 3), LayoutError, "bits"),
        (lambda: gpu.Plan(10**5000), KernelError, "tile is a int"),
        (lambda: make_tensor(np.zeros((4, 8), np.float32))(1, 2, 10**5000), CutepyError, "coordinate"),
        (lambda: make_tensor(np.zeros(4, np.float32)).__setitem__(1, Layout(1 << 20)), TensorError, "no number"),
        (lambda: ops.arange(1 << 40), TensorError, "i32 holds"),
        (lambda: ops.arange(250, 260, dtype="u8"), TensorError, "u8 holds 0 to 255"),
        (lambda: draw(Layout(4), color=np.float32), DrawError, "its value"),
        (lambda: draw(Layout(4), label=lambda: 1), DrawError, "its value"),
        (lambda: Layout((4, 8)) * 2, OperandError, r"Layout\(\(4, 8\), .* \* 2: .*logical_product"),
        (lambda: 2 * Layout(4), OperandError, r"2 \* Layout\(4, 1\): .*blocked_product"),
        (lambda: Layout(4) + Layout(8), OperandError, "make_layout"),
        (lambda: Layout(8) / 2, OperandError, "zipped_divide"),
        (lambda: Swizzle(3, 0, 3) - 1, OperandError, "complement"),
        (lambda: Layout(4) < Layout(8), OperandError, "compatible"),
        (lambda: -Layout(4), OperandError, "neg"),
        (lambda: Layout(shape=(4, 8), strides=(8, 1)), OperandError, r"no strides=; write Layout\(shape, stride\)"),  # type: ignore[arg-type]
        (lambda: conflict_free((8, 8), [Layout((8, 8))], element_bytes=12), LayoutError, "an access of 12 bytes"),
        (
            lambda: local_tile(make_tensor(np.zeros((8, 8), np.float32)), (2, 2), (4, 0)),
            TensorError,
            r"local_tile or .*: \(4, 0\) of the tiles \(2, 2\) of .*, which are \(4, 4\): coordinate 4",
        ),
    ],
)
def test_what_ended_bare(call, error, says) -> None:
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize(
    ("thing", "name", "says"),
    [
        (Layout(4), "offset", "a tensor has an offset"),
        (Layout(4), "tile", "zipped_divide"),
        (Layout(4), "strides", "it is x.stride"),
        (Layout(4), "coalesce", r"it is a function, coalesce\(x, ...\)"),
        (Layout(4), "shap", "is it 'shape'"),
        (gpu, "relu6", r"write gpu.clip\(x, 0, 6\)"),
        (ops, "gelu", r"write 0.5 \* x \* \(1 \+ ops.erf\("),
    ],
)
def test_an_attribute_that_is_not_there_says_what_is(thing, name, says) -> None:
    with pytest.raises(AttributeError, match=says):
        getattr(thing, name)


@pytest.mark.parametrize("name", MADE_OF)
def test_what_other_libraries_have_is_made_of_what_is_there(name: str) -> None:
    """The formula computes, by `ops` and in a kernel, the same as NumPy's functions in its text."""
    x = (
        np.array([-1.5, -0.5, 0.25, 0.75], np.float32)
        if name not in ("logit", "sinc")
        else np.float32([0.1, 0.3, 0.5, 0.9])
    )
    bounds = {"low": -1.0, "high": 1.0}
    text = made_of(name, "library")
    own = {
        "silu": lambda v: v / (1 + np.exp(-v)),
        "softplus": lambda v: np.log1p(np.exp(v)),
        "erf": np.vectorize(math.erf),
    }
    numpys = {"library": SimpleNamespace(**{**vars(np), **own})}
    wanted = eval(text, numpys, {"x": x.astype(np.float64), **bounds})
    got = eval(text, {"library": ops}, {"x": make_tensor(x), **bounds}).numpy()
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    body = eval(f"lambda x, low, high: {text.replace('library.', 'gpu.')}", {"gpu": gpu})

    @gpu.kernel
    def made(x, y):
        gpu.launch(threads=4)
        y[gpu.thread] = body(x[gpu.thread], -1.0, 1.0)

    y = np.zeros(4, np.float32)
    made.interpret(x, y)
    np.testing.assert_allclose(y, wanted, rtol=1e-5)


def test_numbers_of_many_digits_are_written() -> None:
    huge = Layout((2, 10**5000), (1, -(10**4999)))
    assert eval(repr(huge)) == huge
    assert str(huge) == f"(2,{10**5000:#x}):(1,{-(10**4999):#x})"


def test_values_that_repeat_are_moved_together() -> None:
    """Two values of a thread hold each element: an access takes one of each."""
    found = vectorised(Layout((1, (2, 2)), (0, (0, 1))), Layout(2))
    assert (found.possible, found.order) == (2, (0, 2, 1, 3))
    uneven = vectorised(Layout((1, (3, 2)), (0, (0, 1))), Layout((2, 2)))
    assert uneven.possible == 2 and len(uneven.order) == 6


def test_a_nan_differs_from_everything_on_a_device() -> None:
    @gpu.kernel
    def differs(x, z, y):
        gpu.launch(threads=4)
        y[gpu.thread] = gpu.select(x[gpu.thread] != z[gpu.thread], gpu.constant(1, "u32"), 0)

    nan = np.nan
    x, z = np.array([nan, 1, 2, nan], np.float32), np.array([nan, 1, 3, 1], np.float32)
    for run in (differs.interpret, differs):
        y = np.zeros(4, np.uint32)
        run(x, z, y)
        assert y.tolist() == (x != z).tolist()


def test_sizes_beyond_memory_strides_that_nest_otherwise_and_stores_of_lists_are_refused() -> None:
    for call, words in (
        (lambda: ops.ones((1 << 20, 1 << 20)), "ones\\(.*allocate"),
        (lambda: crd2idx(100_000_000, sympy.Symbol("M", integer=True, positive=True), ((),)), "one stride for each"),
        (lambda: crd2idx((1, 2), (3, 4), (1, (2, 3))), "one stride for each"),
        (lambda: make_tensor(np.zeros(6), Layout((2, 3))).__setitem__(2, (1, 2)), "a value for each offset"),
    ):
        with pytest.raises(CutepyError, match=words):
            call()
