"""The functions of the table as expressions: one call of the IR, or a decomposition into several."""

from functools import partial

from ...tensor.decompositions import Decomposition, Language, Value, is_true
from ...tensor.dtypes import DType, bool_, f16, f32
from ...tensor.functions import Function
from .expr import Expr
from .make import as_expr, call, cast, select, taken_by
from .operators import Number
from .weak import Weak, meeting


class _KernelLanguage(Language):
    """The language of kernels, as decompositions speak it."""

    def call(self, name: str, *values: Value) -> Expr:
        return call(name, *values)

    def select(self, condition: Value, then: Value, other: Value) -> Expr:
        like = next((x.dtype for x in (then, other) if isinstance(x, Expr)), f32)
        return select(as_expr(condition, bool_), as_expr(then, like), as_expr(other, like))

    def cast(self, value: Value, dtype: DType) -> Expr:
        return cast(value, dtype)

    def bits(self, value: Value, dtype: DType) -> Expr:
        return cast(value, dtype, bits=True)


_KERNEL_LANGUAGE = _KernelLanguage()


def apply_function(function: Function, *values: Expr) -> Expr:
    """A function of the table (`cutepy.tensor.functions`), by NumPy's law, of values of a kernel.

    The values, numbers or vectors of as many elements, have the types in which the function takes them
    (`function.types`), f16 as f32; of f16 the result is f32, to be rounded once, where it is stored.

    >>> from cutepy.gpu import constant
    >>> from cutepy.tensor.functions import FUNCTIONS
    >>> apply_function(FUNCTIONS["add"], constant(1.0, "f32"), constant(2.0, "f32"))
    1.0 + 2.0
    """
    if function.spelt is not None:
        return as_expr(
            function.spelt(_KERNEL_LANGUAGE, *values), bool_ if function.gives == "bool" else values[-1].dtype
        )
    value: Expr = call(function.ir, *values) if function.python is None else function.python(*values)
    return value


def decomposed(rule: Decomposition, *values: Expr) -> Expr:
    """What a rule that is said in the language of kernels gives of these values."""
    found: Expr = rule(_KERNEL_LANGUAGE, *values)
    return found


def truth(value: Expr) -> Expr:
    """Whether a value is not 0, as NaN is."""
    return as_expr(is_true(_KERNEL_LANGUAGE, value), bool_)


def applied(function: Function, *values: Expr | Number) -> Expr:
    """The same as the kernel language has it: operands of one type, numbers in the type they meet, f16 gives f16."""
    if any(isinstance(value, Weak) for value in values):
        return meeting(partial(_applied, function), values, fractions=function.gives == "fraction")
    return _applied(function, *values)


def _applied(function: Function, *values: Expr | Number) -> Expr:
    like = next(value for value in values if isinstance(value, Expr)).dtype
    operands = tuple([as_expr(value, like) for value in values])
    taken = taken_by(function, function.in_kernels, function.kinds, operands)
    value = apply_function(function, *[cast(x, x.dtype.accumulator) for x in taken])
    return cast(value, f16) if value.dtype is f32 and taken[0].dtype is f16 else value
