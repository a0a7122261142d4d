"""Stores into a view stay inside it: where that is not proven, each is guarded by its coordinates.

A device checks that an index is in the memory that is bound. Memory under a view may hold elements of others between
those of the view, which the device's own check does not protect.
"""

from collections.abc import Set
from dataclasses import replace
from functools import reduce

from ...tensor.dtypes import bool_
from .. import ir
from ..ir.simplify import simplify
from ..lower.drop_stated import drop_stated
from ..runtime.program import Limits
from .shapes import decide_shapes
from .shared_values import understood
from .subgroup_size import sizes_of
from .verdict import Status


def confine(kernel: ir.Kernel, views: Set[str]) -> ir.Kernel:
    """`kernel` that writes no element outside the arrays called `views`, as it is where that is proven of it."""
    written = {s.buffer for s in ir.statements(kernel.body) if isinstance(s, ir.Change) and s.coordinates}
    open_ = {buffer for buffer in written if buffer.name in views}
    if not open_ or 0 in kernel.grid:
        return kernel
    with ir.new_arena():
        plain = drop_stated(kernel)  # what the user says may not be so
        verdicts = [v for size in sizes_of(kernel, Limits()) for v in decide_shapes(understood(plain, size), open_)]
    left = {
        buffer for buffer in open_ if any(v.array == buffer.name and v.status is not Status.PROVEN for v in verdicts)
    }
    return replace(kernel, body=_block(kernel.body, left)) if left else kernel


def _block(block: ir.Block, views: Set[ir.Buffer]) -> ir.Block:
    out: list[ir.Stmt] = []
    for stmt in block:
        if not isinstance(stmt, ir.Change) or stmt.buffer not in views or isinstance(stmt, ir.MatrixStore):
            out.append(ir.with_blocks(stmt, tuple([_block(inner, views) for inner in stmt.blocks])))
        elif isinstance(stmt, ir.Atomic) and stmt.result is not None:
            # the old value is 0 where the atomic does not happen: the name of its result becomes a variable
            name = stmt.result
            given = ir.var(f"{name.name}_given", name.dtype, lo=name.lo, hi=name.hi)
            inside = ir.with_fields(stmt, result=given), ir.Assign(name, given)
            out += [ir.Declare(name), ir.If(_inside(stmt), inside, place=stmt.place)]
        else:
            out.append(ir.If(_inside(stmt), (stmt,), place=stmt.place))
    return tuple(out)


def _inside(stmt: ir.Change) -> ir.Expr:
    """Whether the coordinates of a statement are inside their extents."""
    conditions = [
        ir.binary(op, coordinate, ir.as_expr(bound, coordinate.dtype))
        for coordinate, extent in zip(stmt.coordinates, stmt.shape, strict=True)
        for op, bound in ((">=", 0), ("<", extent))
    ]
    always: ir.Expr = ir.const(True, bool_)
    return reduce(lambda whole, one: simplify(ir.binary("&", whole, one)), conditions, always)
