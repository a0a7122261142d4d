"""Random integer kernels: Python = interpreter = device with checks = device without = Chromium (of every TINT-th).

python tools/fuzz/integers.py COUNT [SEED] [TINT]: one line with the counts; exits with 1 where any engine differs.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parents[2] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "gpu"), str(TESTS / "browser")]

from harness import Browser, find_chromium  # noqa: E402  found through the path above
from integer_kernels import Case, cases  # noqa: E402
from test_integers import interpreted  # noqa: E402

from cutepy import gpu  # noqa: E402
from cutepy.gpu.ir import new_arena  # noqa: E402
from cutepy.gpu.lower import compile_kernel  # noqa: E402


def on_device(case: Case, *, checked: bool) -> list[np.ndarray]:
    """The arrays after the default device ran the kernel."""
    device = gpu.default_device()
    program = replace(case.kernel.program(*case.arrays, checks="always", **case.static), checked=checked)
    buffers = [device.upload(array) for array in case.arrays]
    device.launch(program, buffers)
    return [buffer.read(array.dtype, array.size) for buffer, array in zip(buffers, case.arrays, strict=True)]


def in_browser(case: Case, browser: Browser) -> list[np.ndarray]:
    """The arrays after Chromium ran the kernel."""
    with new_arena():
        program = compile_kernel(case.kernel.ir(*case.arrays, **case.static), dialect="tint")
    written = iter(browser.run(program, case.arrays))
    kept = [binding.access == "read" for binding in program.bindings]
    return [array if same else next(written) for array, same in zip(case.arrays, kept, strict=True)]


def main(count: int, seed: int = 0, tint: int = 0) -> int:
    browser = Browser(find_chromium() or "chromium") if tint else None
    wrong: list[tuple[int, str]] = []
    refused = tried = 0
    for number, case in cases(count, seed):
        arrays = interpreted(case)
        if arrays is None:
            refused += 1
            continue
        engines = {"interpreter": arrays}
        engines |= {f"checked={c}": on_device(case, checked=c) for c in (True, False)}
        if browser is not None and number % tint == 0:
            engines["Chromium"] = in_browser(case, browser)
            tried += 1
        for name, found in engines.items():
            if not all(np.array_equal(got, wanted) for got, wanted in zip(found, case.expected, strict=True)):
                wrong.append((number, name))
    if browser is not None:
        browser.close()
    print(
        f"integers: {count} kernels from seed {seed}, {refused} refused, {tried} in Chromium, {len(wrong)} wrong", wrong
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
