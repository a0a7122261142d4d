"""Numbers in the place of parameters: what is known when a kernel is launched, put into its IR."""

from collections.abc import Mapping
from dataclasses import replace

from .expr import Builtin, Const, Expr, Load, Param
from .make import builtin, const
from .stmt import Buffer, Change, Elements, Kernel, Stmt
from .walk import load_of, map_statements, rewrite, with_expressions, with_fields

Size3 = tuple[int, int, int]


def substitute(
    kernel: Kernel, values: Mapping[str, float], lengths: Mapping[str, int] | None = None, grid: Size3 | None = None
) -> Kernel:
    """`kernel` with these numbers for its parameters, these elements in its arrays, and this grid.

    Parameters and arrays that are not named stay. The result means what `kernel` means when it is launched so.
    """
    # Lengths of arrays may be known at launch too.
    given = {} if lengths is None else lengths
    arrays = {b: replace(b, length=given[b.name], shape=()) for b in kernel.buffers if b.name in given}
    body = map_statements(kernel.body, _Substitution(values, arrays, grid).statement)
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
            return load_of(buffer, node, node.index, node.where, at)
        return node

    def extents(self, shape: tuple[int | Expr, ...]) -> tuple[int | Expr, ...]:
        """The extents as numbers, where they are."""
        extents: list[int | Expr] = []
        for extent in shape:
            new = self.of(extent) if isinstance(extent, Expr) else extent
            extents.append(int(new.value) if isinstance(new, Const) else new)
        return tuple(extents)

    def statement(self, stmt: Stmt) -> Stmt:
        stmt = with_expressions(stmt, [self.of(x) for x in stmt.expressions])
        if isinstance(stmt, Change) and (stmt.buffer in self.arrays or stmt.shape):
            buffer = self.arrays.get(stmt.buffer, stmt.buffer)
            stmt = with_fields(stmt, buffer=buffer, shape=self.extents(stmt.shape))
        elif isinstance(stmt, Elements):
            stmt = with_fields(stmt, buffer=self.arrays.get(stmt.buffer, stmt.buffer))
        return stmt
