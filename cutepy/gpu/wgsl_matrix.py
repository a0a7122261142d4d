"""How matrices of a subgroup are written: Tint's subgroup matrices, naga's cooperative matrices.

Sources: gpuweb/gpuweb, proposals/subgroup-matrix.md (2026-10-02); naga 29, cooperative matrices.
"""

from collections.abc import Sequence

from ..errors import KernelError
from ..tensor.dtypes import DType
from ..tensor.matrix import MatrixType
from . import ir
from .runtime.program import Dialect

#: What a text says before it may use them. That offsets are the same for a whole subgroup is proven here; Tint would
#: ask that they are the same for the workgroup.
MATRIX_HEADER: dict[Dialect, list[str]] = {
    "tint": [
        "enable chromium_experimental_subgroup_matrix;",
        "diagnostic(off, chromium.subgroup_matrix_uniformity);",
    ],
    "naga": ["enable wgpu_cooperative_matrix;"],
}
_TINT = "Load Store MultiplyAccumulate ScalarAdd ScalarSubtract ScalarMultiply".split()
#: Words that a text with matrices uses.
MATRIX_WORDS = {f"subgroupMatrix{name}" for name in _TINT}
MATRIX_WORDS |= {f"subgroup_matrix_{role}" for role in ("left", "right", "result")}
MATRIX_WORDS |= set("coopLoad coopLoadT coopStore coopStoreT coopMultiplyAdd coop_mat8x8 coop_mat16x16".split())


def matrix_name(kind: DType, dialect: Dialect) -> str:
    """How a compiler calls a type of matrices. Raises KernelError for one that naga does not have.

    >>> from cutepy.tensor import f16, matrix_type
    >>> left = matrix_type(f16, "left", (16, 16, 16))
    >>> matrix_name(left, "tint"), matrix_name(left, "naga")
    ('subgroup_matrix_left<f16, 16, 16>', 'coop_mat16x16<f16, A>')
    """
    assert isinstance(kind, MatrixType)
    if dialect == "tint":
        return f"subgroup_matrix_{kind.role}<{kind.element}, {kind.columns}, {kind.rows}>"
    if len({*kind.shape}) > 1 or kind.shape[0] not in (8, 16) or kind.element.kind != "f":
        raise KernelError(f"naga has square matrices of 8 or 16 in f16 and f32 only, not {kind}; run it on Dawn")
    letter = {"left": "A", "right": "B", "result": "C"}[kind.role]
    return f"coop_mat{kind.rows}x{kind.columns}<{kind.element}, {letter}>"


def matrix_load(dialect: Dialect, kind: str, name: str, index: str, node: ir.MatrixLoad) -> str:
    """The read of a matrix of that kind from array `name`."""
    if dialect == "tint":
        return f"subgroupMatrixLoad<{kind}>(&{name}, {index}, {_true(node.by_columns)}, {node.stride}u)"
    return f"coopLoad{'' if node.by_columns else 'T'}<{kind}>(&{name}[{index}], {node.stride}u)"


def matrix_store(dialect: Dialect, name: str, index: str, matrix: str, stmt: ir.MatrixStore) -> str:
    """The write of a matrix to array `name`."""
    if dialect == "tint":
        return f"subgroupMatrixStore(&{name}, {index}, {matrix}, {_true(stmt.by_columns)}, {stmt.stride}u);"
    return f"coopStore{'' if stmt.by_columns else 'T'}({matrix}, &{name}[{index}], {stmt.stride}u);"


def matrix_operation(dialect: Dialect, node: ir.MatrixCall, operands: Sequence[str]) -> str:
    """An operation on matrices. Raises KernelError for one that naga does not have."""
    operation, kind = ir.MATRIX[node.name], matrix_name(node.dtype, dialect)
    if dialect == "tint":
        return operation.tint.format(*operands, type=kind)
    first = node.operands[0]
    if node.name == "fill" and isinstance(first, ir.Const) and first.value == 0:
        return f"{kind}()"
    if not operation.naga:
        raise KernelError(f"{node.place}: naga has no {node.name} of a matrix and a number; run it on Dawn")
    return operation.naga.format(*operands, type=kind)


def subgroup_line(dialect: Dialect, lanes: int) -> str:
    """How a text names the number of the subgroup where its matrices are placed by it; "" for the built-in value."""
    return f"let subgroup = subgroupBroadcastFirst(tid / {lanes}u);" if dialect == "tint" else ""


def _true(value: bool) -> str:
    return "true" if value else "false"
