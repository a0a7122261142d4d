"""What the user says of the elements of a tensor: of each that is loaded from then on, or of their order."""

from __future__ import annotations

from ...errors import KernelError
from ...layout.values.int_tuple import leaves, moved
from ...tensor.tensor import Tensor
from ..ir import AddressSpace, ElementOrder, Elements, Expr, as_expr, const, in_type
from ..ir.simplify import simplify
from .engine import BufferEngine
from .sizes import KernelSize, as_value
from .state import ElementBounds, Trace

Bound = int | Expr | KernelSize


def _integers(tensor: Tensor, place: str) -> BufferEngine:
    engine = tensor.engine
    if not isinstance(engine, BufferEngine) or tensor.dtype.kind not in "iu":
        raise KernelError(f"{place}: gpu.assume({tensor}): give a tensor of i32 or u32, an argument of the kernel")
    return engine


def state_bounds(tensor: Tensor, bounds: tuple[Bound, Bound], place: str) -> None:
    """Each load of the tensor's argument says it from here to the end of the block; not those of another argument in
    the same memory."""
    engine = _integers(tensor, place)
    low, high = (simplify(as_expr(in_type(as_value(end), engine.dtype), engine.dtype)) for end in bounds)
    said = f"{engine.name} in ({bounds[0]}, {bounds[1]})"
    trace = engine.trace
    trace.bounds.append(ElementBounds(engine.buffer, engine.argument, low, high, said, place, trace.blocks[-1]))


def state_order(trace: Trace, tensor: Tensor, order: ElementOrder, place: str) -> None:
    """All elements of an argument are in an order; a part is refused, for it would say nothing of the rest."""
    engine = _integers(tensor, place)
    # An argument of unknown sizes has its strides beside the engine, a pair of unknown and number for each leaf.
    steps = getattr(engine, "strides", None)
    together = steps == ((None, 1),) if steps is not None else tensor.size == 1 or [*leaves(tensor.stride)] == [1]
    if not together or tensor.guard is not None or engine.buffer.space != AddressSpace.STORAGE:
        raise KernelError(f"{place}: gpu.assume({tensor}, {order}=True): give an argument of one mode without gaps")
    first, last = (engine.place(moved(tensor.offset, tensor.layout(at)))[0] for at in (0, tensor.size - 1))
    count, whole = simplify(last - first + 1), (*engine.buffer.shape, const(engine.buffer.length))[0]
    if count is not as_expr(whole, count.dtype):
        raise KernelError(f"{place}: gpu.assume({tensor}, {order}=True): it is a part of {engine.name}; give all of it")
    trace.emit(Elements(order, engine.buffer, first, count, f"{engine.name} is {order}", place))
