"""A GPU value is no key of a set or dictionary in a kernel; and what else of Python a kernel cannot mean says so."""

import copy
import inspect
import itertools
import pydoc
from collections.abc import Callable

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.ir import Expr
from cutepy.tensor.atoms import MMA_ATOMS


def kernel_of(value: Callable[[], object]) -> gpu.KernelFunction:
    @gpu.kernel
    def k(x):
        gpu.launch(threads=8)
        x[gpu.thread] = value()

    return k


def run(value: Callable[[], object]) -> None:
    kernel_of(value).interpret(np.zeros(8, np.float32))


def endless_while():
    w = 0
    while w < 20:
        w = w * 2
    return w


def endless_constants():
    w = gpu.constant(0, "u32")
    while w < 20:
        w = w * 2
    return w


def endless_for():
    for _ in itertools.count():
        pass
    return 1


def endless_calls():
    return endless_calls()


TABLE = ("f32", "u32")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda: 1.0 if gpu.thread in {0, 2} else 0.0, "no key of a set or dictionary"),
        (lambda: {0: 5.0}.get(gpu.thread, 9.0), "no key of a set or dictionary"),
        (lambda: np.array([1.0, 2.0])[gpu.thread % 2], "an array of NumPy's cannot be read at an index"),
        (lambda: TABLE[gpu.thread % 2], "a table holds Python.s numbers"),
        (lambda: "xy"[gpu.thread % 2], "cannot serve as a Python integer"),
        (endless_while, "more than 16384 turns of a `while`"),
        (endless_constants, "more than 16384 turns of a `while`"),
        (endless_for, "more than 1048576 turns of a `for`"),
        (endless_calls, "functions call one another without an end"),
        (lambda: range(gpu.thread)[::-1], "has no items or slices in Python"),
        (lambda: len(range(gpu.thread)), "has no length in Python"),
        (lambda: list(reversed(range(gpu.thread))), "has no reverse"),
        (lambda: isinstance(gpu.thread, int), r"ask isinstance\(v, gpu.Expr\)"),
        (lambda: (gpu.thread > 3) == 3, "3 meets a bool"),
        (lambda: [1, 2][5], "IndexError: list index out of range"),
        (lambda: {}["a"], "KeyError: 'a'"),
    ],
)
def test_it_is_refused_at_its_line(value: Callable[[], object], message: str) -> None:
    with pytest.raises(KernelError, match=rf"test_unhashable\.py:\d+: .*{message}"):
        run(value)


def test_an_error_that_the_kernel_raises_itself_stays_as_it_is() -> None:
    def raises():
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine") as caught:
        run(raises)
    assert not isinstance(caught.value, KernelError)


def test_expressions_are_hashed_as_before_outside_of_a_trace() -> None:
    with pytest.raises(KernelError):
        run(lambda: len({gpu.thread}))
    assert Expr.__hash__ is object.__hash__


def test_a_kernel_may_name_the_atoms() -> None:
    assert MMA_ATOMS
    run(lambda: float(len(MMA_ATOMS)))


def test_names_of_kernels_are_no_attributes_outside_of_one() -> None:
    assert not hasattr(gpu, "thread") and not hasattr(gpu, "lane")
    assert dict(inspect.getmembers(gpu))["barrier"] is gpu.barrier
    assert "GPU kernels" in pydoc.render_doc(gpu)
    with pytest.raises(KernelError, match=r"inside a @gpu\.kernel function only"):
        _ = gpu.thread


def test_a_method_is_no_kernel() -> None:
    class Model:
        @gpu.kernel
        def k(self, x):
            gpu.launch(threads=8)
            x[gpu.thread] = 1.0

    with pytest.raises(KernelError, match=r"test_unhashable\.py:\d+: .*Model.k is a method"):
        Model().k(np.zeros(8, np.float32))


def test_divmod_and_copies() -> None:

    x = np.zeros(8, np.float32)
    kernel_of(lambda: copy.deepcopy(sum(divmod(gpu.thread, 3)))).interpret(x)
    assert x.tolist() == [0, 1, 2, 1, 2, 3, 2, 3]


def test_a_kernel_that_a_class_holds_is_itself_behind_the_class_and_its_objects() -> None:
    class Model:
        @gpu.kernel
        def doubled(x, y):
            gpu.launch(threads=4)
            y[gpu.thread] = 2 * x[gpu.thread]

    for holder in (Model, Model()):
        y = np.zeros(4, np.float32)
        holder.doubled.interpret(np.arange(4, dtype=np.float32), y)
        assert y.tolist() == [0, 2, 4, 6]
