"""Matrices of a subgroup in the IR: how their expressions are made, and what they mean.

Law: the value of a matrix is an array (workgroups, subgroups, rows, columns); numbers are the same for all threads of
a subgroup, and the first one's counts.
"""

from collections.abc import Callable

from ...errors import KernelError
from ...tensor.dtypes import DType, MatrixType, multiply_accumulate
from .expr import Const, Expr, MatrixCall, MatrixLoad, arena, interned, made
from .laws import Array, Law
from .make import NO_COORDINATES, Coordinates, as_expr
from .place import user_place
from .stmt import Buffer


def _spread(kind: MatrixType, number: Array) -> Array:
    """A number of each subgroup, as an array that broadcasts against matrices."""
    first = number[:, :: kind.threads] if number.shape[1] > 1 else number
    values: Array = first[..., None, None].astype(kind.element.numpy)
    return values


def _filled(kind: MatrixType) -> Law:
    def fill(number: Array) -> Array:
        values = _spread(kind, number)
        return values.repeat(kind.rows, axis=2).repeat(kind.columns, axis=3)

    return fill


#: The operations on matrices: what each does to arrays of a `MatrixType`.
MATRIX: dict[str, Callable[[MatrixType], Law]] = {
    "fill": _filled,
    "multiply_accumulate": lambda kind: multiply_accumulate,
    "*": lambda kind: lambda m, x: m * _spread(kind, x),
    "+": lambda kind: lambda m, x: m + _spread(kind, x),
    "-": lambda kind: lambda m, x: m - _spread(kind, x),
}


def matrix_call(name: str, kind: MatrixType, *operands: Expr, place: str = "") -> Expr:
    """An operation of `MATRIX` that gives a matrix of type `kind`."""
    return made(MatrixCall, kind, 1, operands, name, place)


def fill_matrix(kind: MatrixType, number: object) -> Expr:
    """The matrix of which each element is `number`."""
    value = as_expr(number, kind.element)
    place = "" if isinstance(value, Const) else user_place()  # a number of its own has no threads that must agree
    return matrix_call("fill", kind, value, place=place)


def multiply_matrices(a: Expr, b: Expr, c: Expr) -> Expr:
    """`a * b + c`. Raises KernelError where the types are not those of one matrix instruction."""
    kinds = [x.dtype for x in (a, b, c)]
    roles = [k.role for k in kinds if isinstance(k, MatrixType)]
    shapes = {k.shape for k in kinds if isinstance(k, MatrixType)}
    if roles != ["left", "right", "result"] or len(shapes) != 1:
        raise KernelError(
            f"{user_place()}: gemm of {', '.join(map(str, kinds))}: the fragments are A, B and C of one tiled MMA"
        )
    assert isinstance(c.dtype, MatrixType)
    return matrix_call("multiply_accumulate", c.dtype, a, b, c, place=user_place())


def scale_matrix(op: str, left: object, right: object) -> Expr:
    """`matrix op number`, or `number op matrix` where that is the same."""
    swapped = op in ("*", "+") and not (isinstance(left, Expr) and isinstance(left.dtype, MatrixType))
    matrix, number = (right, left) if swapped else (left, right)
    kind = matrix.dtype if isinstance(matrix, Expr) else None
    wrong = isinstance(number, Expr) and number.dtype.kind == "m"
    if op not in MATRIX or not isinstance(kind, MatrixType) or not isinstance(matrix, Expr) or wrong:
        raise KernelError(
            f"{user_place()}: {op} of a matrix of a subgroup: numbers are added to it, subtracted and multiplied, and "
            "gemm multiplies matrices; for anything else copy it to shared memory"
        )
    given = as_expr(number, kind.element)
    if given.dtype is not kind.element:
        raise KernelError(f"{user_place()}: {op} of a matrix of {kind.element} and a {given.dtype}; use gpu.cast")
    return matrix_call(op, kind, matrix, given, place=user_place())


def load_matrix(
    kind: DType, buffer: Buffer, index: Expr, run: tuple[int, bool], place: str = "", at: Coordinates = NO_COORDINATES
) -> Expr:
    """The read of a matrix of which `run` says the stride, and whether columns are neighbours; `at` as for `load`."""
    coordinates, shape = at
    sizes = tuple([id(n) if isinstance(n, Expr) else n for n in shape])
    key = (MatrixLoad, kind.name, id(buffer), id(index), run, sizes, *map(id, coordinates))
    existing = arena().nodes.get(key)
    own = buffer, index, None, place, coordinates, shape, *run
    return interned(key, MatrixLoad, kind, 1, (index, *coordinates), *own) if existing is None else existing


Expr._on_matrices = staticmethod(scale_matrix)
