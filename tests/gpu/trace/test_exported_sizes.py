"""`exported_sizes`: the numbers of a call of an exported kernel."""

import numpy as np
import pytest
from size_judging import said_for
from size_kernels import CASES

from cutepy.gpu.runtime.formulas import evaluate
from cutepy.gpu.trace.exported_sizes import exported_sizes
from cutepy.layout import Layout
from cutepy.tensor import Tensor, make_tensor


@pytest.mark.parametrize("padding", [0, 3, 4])
@pytest.mark.parametrize("sizes", [(6, 8), (5, 12), (7, 1), (1, 9)])
@pytest.mark.parametrize("name", ["axpy", "rows_in_vectors"])
def test_a_formula_is_the_same_number_in_the_numbers_of_a_call(name: str, sizes: tuple[int, int], padding: int) -> None:
    """Of views too, which begin somewhere and have room between their rows."""
    case, (m, n) = CASES[name], sizes

    def view(at: int) -> Tensor:
        memory = make_tensor(np.zeros(400, np.float32))
        return Tensor(memory.engine, Layout((m, n), (n + padding, 1)), at)

    said = said_for(case.kernel, (*case.numbers, view(4 * padding), view(8)))
    assert not isinstance(said, str) and said.launch.traced.plan is not None
    described, plan = exported_sizes(said.launch.call), said.launch.traced.plan
    numbers = described.values()
    for formula in (*dict(plan.params).values(), *plan.grid, *[condition for condition, *_ in plan.conditions]):
        wanted = evaluate(formula, said.launch.call.values)
        assert evaluate(described.renamed(formula), numbers) % 2**32 == wanted % 2**32
    assert all(n["least"] <= numbers[n["name"]] <= n["most"] for n in described.numbers)
    assert {n["name"]: n["least"] for n in described.numbers if "." not in n["name"]} == dict.fromkeys("MN", 1)
