"""`gpu.in_order`: bindings that are declared `read_write`, and tensors that nothing takes for written."""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.lower import compile_kernel


@gpu.kernel
def running(x, odd, y, *, early):
    gpu.launch(threads=32)
    if early:
        gpu.in_order(x)
    following, total = x[gpu.thread, 0], 0.0
    for j in gpu.loop(x.shape[1]):
        value = following
        following = x[gpu.thread, gpu.minimum(j + 1, x.shape[1] - 1)]
        total = total + value
    y[gpu.thread] = total + gpu.cast(odd[gpu.thread, 0] % 2, "f32")


def operands() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Three arguments, and what the last one becomes."""
    x = np.arange(320, dtype=np.float32).reshape(32, 10)
    odd = np.arange(320, dtype=np.uint32).reshape(32, 10)[::-1]
    return x, odd, np.zeros(32, np.float32), x.sum(1) + odd[:, 0] % 2


def test_nothing_but_the_declaration_differs() -> None:
    x, odd, y, right = operands()
    plain, early = (running.wgsl(x, odd, y, early=e) for e in (False, True))
    assert "var<storage, read> x" in plain and "var<storage, read_write> x" in early
    rest = [
        [line for line in text.splitlines() if "x:" not in line and "// early" not in line] for text in (plain, early)
    ]
    assert rest[0] == rest[1]
    assert running.verify(x, odd, y, early=True).ok
    running.interpret(x, odd, y, early=True)
    np.testing.assert_array_equal(y, right)


def test_it_is_read_and_not_written() -> None:
    x, odd, y, _right = operands()
    x.flags.writeable = False
    program = compile_kernel(running.ir(x, odd, y, early=True))
    assert [b.access for b in program.bindings] == ["in_order", "read", "read_write"]
    told = running.exported(x, odd, y, sizes="known", early=True).data
    assert [b["written"] for b in told["buffers"]] == [False, False, True]
    assert told["variants"][0]["launches"][0]["access"] == ["read_write", "read", "read_write"]


def test_only_arguments_are_bindings() -> None:
    @gpu.kernel
    def shared(y):
        gpu.launch(threads=32)
        gpu.in_order(gpu.shared("f32", 32))
        y[gpu.thread] = 0

    with pytest.raises(KernelError, match="arguments of the kernel"):
        shared.wgsl(np.zeros(32, np.float32))
