"""`while`, `break`, `continue`, early `return`: as plain Python has them, on both engines, or refused at their line."""

import re
from pathlib import Path

import leaving_forms
import numpy as np
import one_thread
import pytest
from test_control_flow import arguments

from cutepy import gpu
from cutepy.errors import KernelError

FILE = Path(leaving_forms.__file__)
PLAIN = one_thread.functions_of(FILE.read_text(), str(FILE))


def test_there_are_sixty_forms() -> None:
    assert len(leaving_forms.RIGHT) + len(leaving_forms.REFUSED) >= 60


@pytest.mark.parametrize("name", leaving_forms.RIGHT)
def test_as_plain_python(name: str) -> None:
    *given, wanted = arguments()
    one_thread.run(PLAIN, name, *given, wanted)
    kernel = gpu.kernel(leaving_forms.RIGHT[name])
    *given, found = arguments()
    kernel.interpret(*given, found)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    *given, found = arguments()
    kernel(*given, found)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert not kernel.verify(*given, found).refuted


@pytest.mark.parametrize("name", leaving_forms.REFUSED)
def test_refused_at_its_line(name: str) -> None:
    body, words = leaving_forms.REFUSED[name]
    lines = FILE.read_text().splitlines()
    first = body.__code__.co_firstlineno
    last = max(line for *_, line in body.__code__.co_lines() if line is not None)
    marked = [n for n in range(first, last + 1) if lines[n - 1].endswith("# here")]
    with pytest.raises(KernelError) as caught:
        gpu.kernel(body).interpret(*arguments())
    assert words in str(caught.value)
    if marked:
        assert re.match(rf"leaving_forms\.py:{marked[0]}: ", str(caught.value))
