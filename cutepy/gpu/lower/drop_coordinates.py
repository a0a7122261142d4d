"""A kernel without the coordinates of its accesses: they are claims about it, and no device computes them."""

from dataclasses import replace

from .. import ir


def drop_coordinates(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` whose accesses are at their indices alone."""
    memo: dict[ir.Expr, ir.Expr] = {}

    def at_its_index(stmt: ir.Stmt) -> ir.Stmt:
        if isinstance(stmt, ir.Change) and stmt.coordinates:
            stmt = ir.with_fields(stmt, coordinates=(), shape=())
        if any(load.coordinates for root in stmt.expressions for load in ir.loads(root)):
            stmt = ir.with_expressions(stmt, [ir.rewrite(root, _load_at_its_index, memo) for root in stmt.expressions])
        return stmt

    return replace(kernel, body=ir.map_statements(kernel.body, at_its_index))


def _load_at_its_index(node: ir.Expr) -> ir.Expr:
    if not isinstance(node, ir.Load) or not node.coordinates:
        return node
    return ir.load_of(node.buffer, node, node.index, node.where, ir.NO_COORDINATES)
