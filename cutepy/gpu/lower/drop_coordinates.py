"""A kernel without the coordinates of its accesses: they are claims about it, and no device computes them."""

from dataclasses import replace

from .. import ir


def drop_coordinates(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` whose accesses are at their indices alone."""
    return replace(kernel, body=_block(kernel.body, {}))


def _block(block: ir.Block, memo: dict[ir.Expr, ir.Expr]) -> ir.Block:
    out: list[ir.Stmt] = []
    for stmt in block:
        if isinstance(stmt, ir.Change) and stmt.coordinates:
            stmt = ir.with_fields(stmt, coordinates=(), shape=())
        if any(load.coordinates for root in stmt.expressions for load in ir.loads(root)):
            stmt = ir.with_expressions(stmt, [ir.rewrite(root, _at_its_index, memo) for root in stmt.expressions])
        out.append(ir.with_blocks(stmt, tuple([_block(inner, memo) for inner in stmt.blocks])))
    return tuple(out)


def _at_its_index(node: ir.Expr) -> ir.Expr:
    if not isinstance(node, ir.Load) or not node.coordinates:
        return node
    if isinstance(node, ir.MatrixLoad):
        return ir.load_matrix(node.dtype, node.buffer, node.index, (node.stride, node.by_columns), node.place)
    return ir.load(node.buffer, node.index, lanes=node.lanes, where=node.where, place=node.place)
