"""`sizes`: the unknown sizes of a trace."""

import pytest

from cutepy.gpu.trace.sizes import KernelSize, Sizes


@pytest.mark.parametrize(
    ("op", "asked"),
    [("==", "m - n == 0"), ("!=", "m - n == 0"), ("<", "m - n < 0"), (">=", "m - n < 0"), (">", "m - n < 0")],
)
def test_a_condition_that_nothing_decides_is_told_by_what_it_asks(op: str, asked: str) -> None:
    sizes = Sizes()
    m, n = (sizes.letter(name, name, 1) for name in "mn")
    assert isinstance(m, KernelSize) and isinstance(n, KernelSize)
    left = sizes.left_open(sizes.compared(op, m.poly, n.poly))
    assert left is not None
    assert f"nothing decides whether {asked}" in str(sizes.undecided(left))
