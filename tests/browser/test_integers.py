"""Integers in Chromium, whose compiler is Tint, are those of Python: random kernels, every operator, loops."""

import sys
from pathlib import Path

import numpy as np
from harness import Browser

from cutepy.gpu.ir import new_arena
from cutepy.gpu.lower import compile_kernel
from cutepy.gpu.trace.kernel import KernelFunction

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
from integer_kernels import cases
from test_integers import COUNTED, LITERALS, SAID, by_numpy, counting, interpreted, literals, operand, table


def run(
    browser: Browser, kernel: KernelFunction, arrays: list[np.ndarray], static: dict[str, object], *params: int
) -> list[np.ndarray]:
    """The arrays that the kernel writes, after Chromium ran it."""
    with new_arena():
        program = compile_kernel(kernel.ir(*arrays, *params, **static), dialect="tint")
    written = iter(browser.run(program, arrays, params))
    return [a if b.access == "read" else next(written) for a, b in zip(arrays, program.bindings, strict=True)]


def test_random_kernels_give_what_python_gives(browser: Browser) -> None:
    for seed, case in cases(24, 7000):
        if interpreted(case) is not None:
            found = run(browser, case.kernel, case.arrays, case.static)
            for got, wanted in zip(found, case.expected, strict=True):
                assert np.array_equal(got, wanted), seed


def test_operators_loops_and_literals(browser: Browser) -> None:
    for name in SAID:
        arrays = [*map(operand, "abus"), np.zeros(64, np.uint32)]
        assert np.array_equal(run(browser, table, arrays, {"name": name})[-1], by_numpy(name)), name
    for bounds, turns in COUNTED:
        (out,) = run(browser, counting, [np.zeros(16, np.int32)], {"bounds": bounds}, 5)
        assert out[: out[15]].tolist() == list(turns)
    for name in LITERALS:
        y = np.zeros(1, np.float32)
        literals.interpret(y, name=name)
        np.testing.assert_allclose(run(browser, literals, [np.zeros(1, np.float32)], {"name": name})[0], y, rtol=1e-6)
