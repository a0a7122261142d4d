"""`gpu.print`: what a kernel says while it is interpreted."""

from ...errors import KernelError
from ...tensor.dtypes import bool_
from ...tensor.engine import Scalars
from ...tensor.tensor import Tensor
from ..ir import Expr, If, Print, Stmt, settled
from ..ir.place import user_place
from ..ir.simplify import simplify
from ..trace.state import current, is_known

#: Elements of a tensor that are printed; a larger one is refused.
MOST_ELEMENTS = 64


def print(*parts: object, when: Scalars = True) -> None:
    """Print texts, values and small tensors, where the kernel is interpreted, in the threads where `when` holds.

    Each line begins with the workgroup, the thread and the counters of the loops around. The kernel's WGSL holds
    nothing of it; a launch on a device says so once.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def double(x):
    ...     gpu.launch(threads=4)
    ...     x[gpu.thread] = x[gpu.thread] * 2
    ...     gpu.print("now", x[gpu.thread], when=gpu.thread > 1)
    >>> double.interpret(np.arange(4, dtype=np.float32))
    workgroup (0, 0, 0), thread 2: now 4.0
    workgroup (0, 0, 0), thread 3: now 6.0

    Raises KernelError for a tensor of more than 64 elements and for a condition that is none.
    """
    trace = current("gpu.print")
    shown: list[str | int] = []
    values: list[Expr] = []
    for item in parts:
        elements = _elements(item) if isinstance(item, Tensor) else [item]
        traced = [settled(value) for value in elements if isinstance(value, Expr)]
        if isinstance(item, Tensor) and len(traced) == len(elements):
            shown.append(len(traced))
            values += traced
        elif traced and not isinstance(item, Tensor):
            shown.append(0)
            values += traced
        else:
            shown.append(str(item))
    stmt: Stmt = Print(tuple(shown), tuple(simplify(value) for value in values))
    if isinstance(when, Expr):
        if when.dtype is not bool_:
            raise KernelError(f"{user_place()}: gpu.print(when={when}) of a {when.dtype} value; compare it")
        when = simplify(when)
    if isinstance(when, Expr) and not is_known(when, True):
        trace.emit(If(when, (stmt,), place=user_place()))
    elif is_known(when, True):
        trace.emit(stmt)


def _elements(tensor: Tensor) -> list[object]:
    if tensor.size > MOST_ELEMENTS:
        raise KernelError(
            f"{user_place()}: gpu.print of {tensor}: it has {tensor.size} elements; print at most {MOST_ELEMENTS}, "
            "those of a slice or a partition"
        )
    return [tensor[i] for i in range(tensor.size)]
