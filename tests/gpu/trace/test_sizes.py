"""`sizes`: the unknown sizes of a trace."""

import re

import pytest

from cutepy.gpu.trace.sizes import KernelSize, Sizes
from cutepy.layout.values.size import Poly

OPERATORS = ("==", "!=", "<", "<=", ">", ">=")


def asked_for(op: str, right: int | None, fact: str = "") -> tuple[bool, str]:
    """Whether `m op n`, or `m op right`, is decided where a fact is stated; else the fact that the refusal names."""
    sizes = Sizes()
    m, n = (sizes.letter(name, name, 1) for name in "mn")
    assert isinstance(m, KernelSize) and isinstance(n, KernelSize)
    if fact:
        sizes.state(fact)
    truth = sizes.compared(op, m.poly, n.poly if right is None else Poly.of(right))
    if isinstance(truth, bool):
        return True, ""
    left = sizes.left_open(truth)
    assert left is not None
    asked = re.search("nothing decides whether (.*), for all sizes", str(sizes.undecided(left)))
    assert asked is not None
    return False, asked[1]


@pytest.mark.parametrize("right", [None, 4])
@pytest.mark.parametrize("op", OPERATORS)
def test_the_fact_that_a_refusal_asks_for_decides_the_comparison(op: str, right: int | None) -> None:
    decided, fact = asked_for(op, right)
    assert not decided
    assert asked_for(op, right, fact) == (True, ""), fact
    if op not in ("==", "!="):  # its opposite decides as well
        assert asked_for(op, right, fact.replace("<", ">=")) == (True, ""), fact
