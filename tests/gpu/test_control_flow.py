"""Control flow of kernels: right in every engine, as plain Python has it, or refused at its line."""

import re
from pathlib import Path

import control_forms
import numpy as np
import one_thread
import pytest
from control_programs import outcome, program

from cutepy import gpu
from cutepy.errors import KernelError

FILE = Path(control_forms.__file__)
PLAIN = one_thread.functions_of(FILE.read_text(), str(FILE))


def arguments() -> tuple[np.ndarray, ...]:
    g = np.random.default_rng(3)
    return g.integers(0, 40, 64).astype(np.float32) / 4, g.integers(0, 1000, 64, np.uint32), np.zeros(64, np.float32)


@pytest.mark.parametrize("name", control_forms.RIGHT)
def test_as_plain_python(name: str) -> None:
    *given, wanted = arguments()
    one_thread.run(PLAIN, name, *[a.copy() for a in given], wanted)
    *given, found = arguments()
    kernel = gpu.kernel(control_forms.RIGHT[name])
    kernel.interpret(*given, found)
    np.testing.assert_array_equal(found, wanted)
    verdict = kernel.verify(*given, found)
    assert not verdict.refuted, verdict


@pytest.mark.parametrize("name", control_forms.REFUSED)
def test_refused_at_its_line(name: str) -> None:
    body, words = control_forms.REFUSED[name]
    lines = FILE.read_text().splitlines()
    first = body.__code__.co_firstlineno
    last = max(line for *_, line in body.__code__.co_lines() if line is not None)
    marked = [n for n in range(first, last + 1) if lines[n - 1].endswith("# here")]
    helpers = [n for n in range(first - 18, first) if n > 0 and lines[n - 1].endswith("# here")]
    line = marked[0] if marked else first if words in ("returns", "writes no argument") else helpers[-1]
    with pytest.raises(KernelError) as caught:
        gpu.kernel(body).interpret(*arguments())
    text = str(caught.value)
    assert words in text, text
    assert re.match(rf"control_forms\.py:{line}: ", text), (line, text)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    assert outcome(seed) == "right", program(seed)
