"""`gpu.print`: golden text in the interpreter, nothing of it in WGSL, in the proof and in what is counted."""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.ir import Print, statements
from cutepy.tensor import fill, make_tensor


def make(told: bool):
    @gpu.kernel
    def walk(a, x, y):
        gpu.launch(grid=2, threads=4)
        i = gpu.workgroup.x * 4 + gpu.thread
        pair = make_tensor("f32", 2)
        fill(pair, 0.0)
        total = 0.0
        for k in gpu.loop(2):
            total = total + x[i] * a
            if told and gpu.thread == 1:
                gpu.print("turn", k, "total", total, "half", total * 0.5)
            pair[k] = total
        if i > 6:
            if told:
                gpu.print("pair", pair, 7, "x", x[(i + 1) % 8])
        if i <= 6:
            y[i] = total
        if told:
            gpu.print("end", when=(gpu.workgroup.x == 1) & (gpu.thread == 0))
            gpu.print("never", when=False)

    return walk


GOLDEN = """\
workgroup (0, 0, 0), thread 1, k = 0: turn 0 total 0.1 half 0.05
workgroup (1, 0, 0), thread 1, k = 0: turn 0 total 0.5 half 0.25
workgroup (0, 0, 0), thread 1, k = 1: turn 1 total 0.2 half 0.1
workgroup (1, 0, 0), thread 1, k = 1: turn 1 total 1.0 half 0.5
workgroup (1, 0, 0), thread 3: pair [0.7, 1.4] 7 x 0.0
workgroup (1, 0, 0), thread 0: end
"""


def arguments():
    return 0.1, np.arange(8, dtype=np.float32), np.zeros(8, np.float32)


def test_it_says_who_and_where(capsys: pytest.CaptureFixture[str]) -> None:
    a, x, y = arguments()
    make(True).interpret(a, x, y)
    assert capsys.readouterr().out == GOLDEN
    np.testing.assert_allclose(y, [*(x[:7] * 0.2), 0], rtol=1e-6)


def test_the_device_gets_the_kernel_without_it() -> None:
    told, silent = make(True), make(False)
    assert told.wgsl(*arguments()) == silent.wgsl(*arguments())
    assert str(told.verify(*arguments())) == str(silent.verify(*arguments()))
    assert str(told.report(*arguments())) == str(silent.report(*arguments()))
    assert not any(isinstance(s, Print) for s in statements(told.ir(*arguments()).body))


def test_a_parameter_that_is_only_printed(capsys: pytest.CaptureFixture[str]) -> None:
    @gpu.kernel
    def k(a, x):
        gpu.launch(threads=1)
        x[0] = 1.0
        gpu.print(a, x[1])

    x = np.array([0, 2], np.float32)
    k.interpret(3, x)
    assert capsys.readouterr().out == "workgroup (0, 0, 0), thread 0: 3 2.0\n"
    assert not k.program(3, x).params


def test_many_threads_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    @gpu.kernel
    def k(x):
        gpu.launch(threads=128)
        x[gpu.thread] = 1.0
        gpu.print("i am", gpu.thread)

    k.interpret(np.zeros(128, np.float32))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 65 and lines[63].endswith("thread 63: i am 63")
    assert lines[64] == "... and 64 more threads; choose some, gpu.print(..., when=gpu.thread == 0)"


def test_what_it_refuses() -> None:
    @gpu.kernel
    def wide(x):
        gpu.launch(threads=1)
        gpu.print(x)
        x[0] = 1.0

    @gpu.kernel
    def unsure(x):
        gpu.launch(threads=1)
        gpu.print("a", when=x[0])
        x[0] = 1.0

    x = np.zeros(65, np.float32)
    with pytest.raises(KernelError, match=r"test_print.py:\d+: .* it has 65 elements; print at most 64"):
        wide.interpret(x)
    with pytest.raises(KernelError, match=r"gpu.print\(when=x_0\) of a f32 value; compare it"):
        unsure.interpret(x)
    with pytest.raises(KernelError, match=r"inside a @gpu.kernel function only"):
        gpu.print("a")
