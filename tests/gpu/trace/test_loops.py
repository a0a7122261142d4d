"""`loops`: what an iteration knows when it begins."""

import leaving_forms
import pytest
from test_control_flow import arguments

from cutepy import gpu
from cutepy.gpu.ir import For, loads, statements

RETURNING = [name for name, function in leaving_forms.RIGHT.items() if "return" in name or "helper" in name]


@pytest.mark.parametrize("name", RETURNING)
def test_no_thread_has_returned_where_an_iteration_begins(name: str) -> None:
    """So an innermost loop sets the flag and never reads it."""
    loops = [s for s in statements(gpu.kernel(leaving_forms.RIGHT[name]).ir(*arguments()).body) if isinstance(s, For)]
    for loop in loops:
        inside = list(statements(loop.body))
        if not any(isinstance(stmt, For) for stmt in inside):
            read = [load.buffer.name for stmt in inside for root in stmt.expressions for load in loads(root)]
            assert not [name for name in read if name.startswith("returned")]
