"""The functions of values that kernels have, as one table: their names here, in NumPy and in WGSL, and their laws.

`gpu.NAME` follows NumPy's names. NumPy's own functions of kernel values, `np.ceil(v)` say, are the same by this table.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Function:
    """`gpu.name`, which takes so many operands; `wgsl` is its name in the IR, `numpy` are NumPy's names for its law.

    `floats` says that it is defined on f16 and f32 alone.
    """

    name: str
    wgsl: str
    law: str
    operands: int = 1
    numpy: tuple[str, ...] = ()
    floats: bool = True


_SAME = {
    "exp": "e to the power of x.",
    "exp2": "2 to the power of x.",
    "log": "The natural logarithm.",
    "log2": "The logarithm to base 2.",
    "sqrt": "The square root.",
    "sin": "The sine.",
    "cos": "The cosine.",
    "tan": "The tangent.",
    "sinh": "The hyperbolic sine.",
    "cosh": "The hyperbolic cosine.",
    "tanh": "The hyperbolic tangent.",
    "floor": "The greatest whole number that is not greater.",
    "ceil": "The least whole number that is not less.",
    "trunc": "The whole number next to it, towards zero.",
    "sign": "-1, 0 or 1, as x is below, equal to or above 0.",
}
_INVERSE = {
    "sin": "The angle of which x is the sine.",
    "cos": "The angle of which x is the cosine.",
    "tan": "The angle of which x is the tangent.",
    "sinh": "The number of which x is the hyperbolic sine.",
    "cosh": "The number of which x is the hyperbolic cosine.",
    "tanh": "The number of which x is the hyperbolic tangent.",
}
FUNCTIONS = (
    *[Function(name, name, law, numpy=(name,)) for name, law in _SAME.items()],
    *[Function(f"arc{name}", f"a{name}", law, numpy=(f"arc{name}",)) for name, law in _INVERSE.items()],
    Function("arctan2", "atan2", "The angle of the point (x, y), for operands y, x.", 2, ("arctan2",)),
    Function("rsqrt", "inverseSqrt", "1 over the square root."),
    Function("round", "round", "The whole number next to it, the even one of two as near.", 1, ("rint",)),
    Function("fract", "fract", "What x has above its floor."),
    Function("power", "pow", "x to the power of y, for x >= 0.", 2, ("power",)),
    Function("absolute", "abs", "The magnitude.", 1, ("absolute", "abs", "fabs"), floats=False),
    Function("minimum", "min", "The smaller of two; where one is NaN, the device decides.", 2, floats=False),
    Function("maximum", "max", "The greater of two; where one is NaN, the device decides.", 2, floats=False),
    Function("nan_minimum", "nan_min", "The smaller of two; NaN where one is.", 2, ("minimum",), floats=False),
    Function("nan_maximum", "nan_max", "The greater of two; NaN where one is.", 2, ("maximum",), floats=False),
    Function("clip", "clamp", "x, but not below the second and not above the third.", 3, ("clip",), floats=False),
    Function("fma", "fma", "a * b + c, rounded once where the device can.", 3),
)


BY_NAME = {function.name: function for function in FUNCTIONS}
#: By the name in the IR.
BY_WGSL = {function.wgsl: function for function in FUNCTIONS}
#: By NumPy's names.
BY_NUMPY = {name: function for function in FUNCTIONS for name in function.numpy}
