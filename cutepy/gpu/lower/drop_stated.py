"""A kernel without what the user says of its data: proofs have used it, and no device computes it.

Law: for data of which all that is said is true, the same elements are written, with the same values.
"""

from dataclasses import replace

from .. import ir
from .drop_unused import drop_unused


def drop_stated(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without its `Stated` statements; itself where there are none."""
    if not any(isinstance(stmt, ir.Stated) for stmt in ir.statements(kernel.body)):
        return kernel
    return replace(kernel, body=ir.without(kernel.body, ir.Stated))


def stated_alone(kernel: ir.Kernel) -> ir.Kernel:
    """What of `kernel` decides whether what is said holds: without stores that nothing reads."""
    read = {x.buffer for stmt in ir.statements(kernel.body) for root in stmt.expressions for x in ir.loads(root)}

    def kept(stmt: ir.Stmt) -> ir.Stmt | None:
        return None if isinstance(stmt, ir.Store | ir.MatrixStore) and stmt.buffer not in read else stmt

    return drop_unused(replace(kernel, body=ir.map_statements(kernel.body, kept)))
