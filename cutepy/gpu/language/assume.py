"""What the user knows of data, stated for the proof."""

from __future__ import annotations

import ast

from ...errors import KernelError
from ...tensor.dtypes import bool_
from ...tensor.tensor import Tensor
from ..ir import Assume, ElementOrder, Expr
from ..ir.place import running_text, user_place
from ..ir.simplify import simplify
from ..trace.state import current, is_known
from ..trace.stated import Bound, state_bounds, state_order


def assume(
    fact: Expr | Tensor | bool,
    *,
    bounds: tuple[Bound, Bound] | None = None,
    ascending: bool = False,
    distinct: bool = False,
) -> None:
    """State what is known of the data, and the proof may use it.

    `gpu.assume(i < n)` says that the condition holds in each thread that comes here, from here to the end of the block.
    `gpu.assume(ids, bounds=(low, high))` says `low <= x < high` of each element of an argument of integers that is
    loaded from here to the end of the block, `gpu.assume(offsets, ascending=True)` that each is at least the one before
    it, and `gpu.assume(ids, distinct=True)` that no two are equal.

    A verdict names what it rests on: "proven, given ids in (0, n)". The interpreter looks at each, and so does
    `kernel.check_assumptions(...)`. A device does not: a kernel whose proof needs it keeps the runtime's checks, so
    that nothing outside a tensor is read or written where it is not so.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> from cutepy.layout import size
    >>> @gpu.kernel
    ... def gather(x, ids, y):
    ...     gpu.launch(threads=4)
    ...     i = ids[gpu.thread]
    ...     gpu.assume(i < size(x))
    ...     y[gpu.thread] = x[i]
    >>> x, ids, y = np.arange(8, dtype=np.float32), np.array([7, 0, 3, 3], np.uint32), np.zeros(4, np.float32)
    >>> gather.interpret(x, ids, y); y.tolist()
    [7.0, 0.0, 3.0, 3.0]
    >>> found = gather.verify(x, ids, y)
    >>> found.ok, found.given
    (True, ('i < size(x)',))

    Raises KernelError for a condition that is never true, for bounds of what holds no integers, and for an order of
    what is no whole argument of one mode without gaps.
    """
    trace, place = current("gpu.assume"), user_place()
    said = _said(str(fact))
    if isinstance(fact, Tensor):
        if bounds is None and not (ascending or distinct):
            raise KernelError(f"{place}: gpu.assume({said}): say bounds=(low, high), ascending=True or distinct=True")
        if bounds is not None:
            state_bounds(fact, bounds, place)
        for order in ElementOrder:
            if {ElementOrder.ASCENDING: ascending, ElementOrder.DISTINCT: distinct}[order]:
                state_order(trace, fact, order, place)
        return
    if bounds is not None or ascending or distinct:
        raise KernelError(f"{place}: gpu.assume({said}): bounds, ascending and distinct are said of a tensor")
    if isinstance(fact, Expr) and fact.dtype is not bool_:
        raise KernelError(f"{place}: gpu.assume of a {fact.dtype} value; compare it, as in gpu.assume({fact} != 0)")
    condition = simplify(fact) if isinstance(fact, Expr) else fact
    if is_known(condition, False):
        raise KernelError(f"{place}: gpu.assume({said}): it is never so, and anything would follow")
    if isinstance(condition, Expr) and not is_known(condition, True):
        trace.emit(Assume(condition, said, place))


def _said(default: str) -> str:
    """What is assumed, in the user's words."""
    try:
        node = ast.parse(running_text(), mode="eval").body
    except (SyntaxError, ValueError):
        return default
    return ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else default
