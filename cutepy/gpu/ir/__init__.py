"""The kernel IR, typed and frozen: `expr` makes values, `stmt` says what happens, `walk` reads and rewrites."""

# isort: off
# fmt: off
from .expr import (
    Binary, Builtin, Call, Cast, Component, Computed, Const, Expr, Load, MatrixCall, MatrixLoad, Param, Select,
    TracedValueError, Unary, UnknownVar, Var, Vector, arena, keep, loads, made, new_arena, variables,
)
from .make import (
    NO_COORDINATES, Coordinates, as_expr, binary, builtin, call, cast, component, const, load, param, select, splat,
    unary, var, vector, weak_param,
)
from .matrices import MATRIX, fill_matrix, load_matrix, multiply_matrices
from .stmt import (
    UNKNOWN_LENGTH, AddressSpace, Assign, Assume, Atomic, Barrier, Block, Break, Buffer, Change, Comment, Declare,
    ElementOrder, Elements, For, If, Kernel, Let, MatrixStore, Print, SizeFacts, Stated, Stmt, Store, UniformLoad, Verb,
    fences,
)
from .substitute import substitute
from .validate import check, check_constants, check_ids
from .walk import (
    NODES, Node, all_nodes, ask_operands_first, conjuncts, is_pure, is_uniform, load_of, map_block, map_statements,
    meaning, negated, nodes, rebuild, rewrite, statements, with_blocks, with_expressions, with_fields, without,
)
from .weak import SCALARS, Weak, in_type, settled
# fmt: on
# isort: on

__all__ = [
    "MATRIX", "NODES", "NO_COORDINATES", "SCALARS", "UNKNOWN_LENGTH", "AddressSpace", "Assign", "Assume",
    "Atomic", "Barrier", "Binary", "Block", "Break", "Buffer", "Builtin", "Call", "Cast", "Change", "Comment",
    "Component", "Computed", "Const", "Coordinates", "Declare", "ElementOrder", "Elements", "Expr", "For", "If",
    "Kernel", "Let", "Load", "MatrixCall", "MatrixLoad", "MatrixStore", "Node", "Param", "Print", "Select",
    "SizeFacts", "Stated", "Stmt", "Store", "TracedValueError", "Unary", "UniformLoad", "UnknownVar", "Var", "Vector",
    "Verb", "Weak", "all_nodes", "arena", "as_expr", "ask_operands_first", "binary", "builtin", "call", "cast", "check",
    "check_constants", "check_ids", "component", "conjuncts", "const", "fences", "fill_matrix", "in_type",
    "is_pure", "is_uniform", "keep", "load", "load_matrix", "load_of", "loads", "made", "map_block", "map_statements",
    "meaning", "multiply_matrices", "negated", "new_arena", "nodes", "param", "rebuild", "rewrite", "select",
    "settled", "splat", "statements", "substitute", "unary", "var", "variables", "vector", "weak_param",
    "with_blocks", "with_expressions", "with_fields", "without",
]  # fmt: skip
