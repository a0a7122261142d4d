"""Values on which a workgroup agrees: `workgroupUniformLoad` makes compilers and proofs know it.

Law: every thread gets what thread 0 has, or what an element of shared memory holds once all have come; the threads wait
for one another before and after.
"""

from __future__ import annotations

from ...errors import KernelError
from .. import ir
from ..ir.place import user_place
from ..ir.ranges import range_of
from .state import Trace

_NOTE = "what all threads read"


def uniform_value(trace: Trace, value: ir.Expr, what: str) -> ir.Expr:
    """`value` as thread 0 has it, in all threads; itself where they are sure to agree. A value that was just read of
    shared memory is read anew, when all have come.

    Raises KernelError where not all threads would come here.
    """
    trace.launched(what)
    if trace.is_uniform(value):
        return value
    if trace.divergent[-1]:
        raise KernelError(
            f"{user_place()}: {what} inside {trace.divergent[-1]}, which threads of a workgroup may decide "
            "differently: all of them must come here; move it out"
        )
    if value.lanes != 1 or value.dtype.kind not in "iufb":
        raise KernelError(f"{user_place()}: {what} of a {value.dtype} value: give a number")
    if value.dtype.kind == "b":
        word = ir.select(value, ir.const(1), ir.const(0))
        return uniform_value(trace, word, what) != 0
    # 1. An element of shared memory that was read for this: the load becomes one that waits.
    block = trace.blocks[-1]
    last = block[-1] if block else None
    if isinstance(last, ir.Let) and last.var is value and _is_shared(trace, last.value):
        block.pop()
        return _load(trace, value, last.value, None)
    if isinstance(last, ir.Atomic) and last.op == "Load" and last.result is value:
        element = ir.load(last.buffer, last.index, place=last.place)
        if _is_shared(trace, element):
            block.pop()
            return _load(trace, value, element, None)
    # 2. Any other value: thread 0 puts it where all read it.
    source = value if isinstance(value, ir.Var) else trace.let("own", value)
    length_one = [b for b in trace.local if b.note == _NOTE and b.dtype is value.dtype]
    buffer = (
        length_one[0] if length_one else trace.local_array(value.dtype, 1, ir.AddressSpace.WORKGROUP, "common", _NOTE)
    )
    store = ir.Store(buffer, ir.const(0), source, user_place())
    trace.emit(ir.If(ir.binary("==", trace.thread, ir.const(0)), (store,), place=user_place()))
    return _load(trace, value, ir.load(buffer, ir.const(0), place=user_place()), source)


def _is_shared(trace: Trace, value: ir.Expr) -> bool:
    return (
        isinstance(value, ir.Load)
        and value.buffer.space == ir.AddressSpace.WORKGROUP
        and value.where is None
        and trace.is_uniform(value.index)
    )


def _load(trace: Trace, value: ir.Expr, element: ir.Expr, source: ir.Expr | None) -> ir.Var:
    count = trace.counts["agreed"] = trace.counts.get("agreed", -1) + 1
    lo, hi = range_of(value) if value.dtype.kind in "iu" else (0, 0)
    name = ir.var(f"agreed_{count}", value.dtype, lo=lo, hi=hi)
    trace.uniform.add(name)
    trace.emit(ir.UniformLoad(name, element, source, user_place()))
    return name


def decided_together(trace: Trace, condition: ir.Expr, what: str) -> ir.Expr:
    """A condition, as all threads are known to decide it, where it is made of what a workgroup computed together."""
    if not trace.together or trace.divergent[-1] or trace.workgroup is None or trace.is_uniform(condition):
        return condition
    return uniform_value(trace, condition, what) if trace.is_agreed(condition) else condition
