"""Numbers in the place of parameters: what is known when a kernel is launched, put into its IR."""

from collections.abc import Mapping
from dataclasses import replace

from .expr import Builtin, Const, Expr, Load, MatrixLoad, Param
from .make import builtin, const, load
from .matrices import load_matrix
from .stmt import Block, Buffer, Change, Kernel
from .walk import rewrite, with_blocks, with_expressions, with_fields

Size3 = tuple[int, int, int]


def substitute(
    kernel: Kernel,
    values: Mapping[str, float],
    lengths: Mapping[str, int] | None = None,
    grid: Size3 | None = None,
) -> Kernel:
    """`kernel` with these numbers for its parameters, these elements in its arrays, and this grid.

    Parameters and arrays that are not named stay. The result means what `kernel` means when it is launched so.
    """
    # Lengths of arrays may be known at launch too.
    given = {} if lengths is None else lengths
    arrays = {b: replace(b, length=given[b.name], shape=()) for b in kernel.buffers if b.name in given}
    body = _Substitution(values, arrays, grid).block(kernel.body)
    return replace(
        kernel,
        buffers=tuple([arrays.get(b, b) for b in kernel.buffers]),
        body=body,
        grid=kernel.grid if grid is None else grid,
        params=tuple([p for p in kernel.params if p.name not in values]),
    )


class _Substitution:
    def __init__(self, values: Mapping[str, float], arrays: Mapping[Buffer, Buffer], grid: Size3 | None) -> None:
        self.values, self.arrays, self.grid = values, arrays, grid
        self.memo: dict[Expr, Expr] = {}

    def of(self, value: Expr) -> Expr:
        return rewrite(value, self.change, self.memo)

    def change(self, node: Expr) -> Expr:
        if isinstance(node, Param) and node.name in self.values:
            return const(self.values[node.name], node.dtype)
        if isinstance(node, Builtin) and node.axis is not None and self.grid is not None:
            return builtin(node.name, 0, max(0, self.grid[node.axis] - 1), axis=node.axis)
        if isinstance(node, Load) and (node.buffer in self.arrays or not all(type(n) is int for n in node.shape)):
            buffer, at = self.arrays.get(node.buffer, node.buffer), (node.coordinates, self.extents(node.shape))
            if isinstance(node, MatrixLoad):
                how = node.stride, node.by_columns
                return load_matrix(node.dtype, buffer, node.index, how, node.place, at)
            return load(buffer, node.index, lanes=node.lanes, where=node.where, place=node.place, at=at)
        return node

    def extents(self, shape: tuple[int | Expr, ...]) -> tuple[int | Expr, ...]:
        """The extents as numbers, where they are."""
        extents: list[int | Expr] = []
        for extent in shape:
            new = self.of(extent) if isinstance(extent, Expr) else extent
            extents.append(int(new.value) if isinstance(new, Const) else new)
        return tuple(extents)

    def block(self, block: Block) -> Block:
        out = []
        for stmt in block:
            stmt = with_expressions(stmt, [self.of(x) for x in stmt.expressions])
            if isinstance(stmt, Change) and (stmt.buffer in self.arrays or stmt.shape):
                buffer = self.arrays.get(stmt.buffer, stmt.buffer)
                stmt = with_fields(stmt, buffer=buffer, shape=self.extents(stmt.shape))
            out.append(with_blocks(stmt, tuple([self.block(inner) for inner in stmt.blocks])))
        return tuple(out)
