"""The lexicon of WGSL: reserved words, how numbers are written, and what its two compilers write differently.

Matrices are Tint's subgroup matrices or naga's cooperative matrices. Sources: https://www.w3.org/TR/WGSL/;
gpuweb/gpuweb, proposals/subgroup-matrix.md (2026-10-02); naga 29, cooperative matrices.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import KernelError
from ...tensor.dtypes import DType, MatrixType, f16
from .. import ir
from ..ir.operators import SUBGROUP
from ..runtime.program import Dialect

KEYWORDS = (
    "alias break case const const_assert continue continuing default diagnostic discard else enable false fn"
    " for if let loop override requires return struct switch true var while"
)
RESERVED_WORDS = (
    "NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await become cast"
    " catch class co_await co_return co_yield coherent column_major common compile compile_fragment concept"
    " const_cast consteval constexpr constinit crate debugger decltype delete demote demote_to_helper do"
    " dynamic_cast enum explicit export extends extern external fallthrough filter final finally friend from"
    " fxgroup get goto groupshared highp impl implements import inline instanceof interface layout lowp macro"
    " macro_rules match mediump meta mod module move mut mutable namespace new nil noexcept noinline"
    " nointerpolation non_coherent noncoherent noperspective null nullptr of operator package packoffset"
    " partition pass patch pixelfragment precise precision premerge priv protected pub public readonly ref"
    " regardless register reinterpret_cast require resource restrict self set shared sizeof smooth snorm static"
    " static_assert static_cast std subroutine super target template this thread_local throw trait try type"
    " typedef typeid typename typeof union unless unorm unsafe unsized use using varying virtual volatile wgsl"
    " where with writeonly yield"
)
ATOMICS = "Add Sub Min Max And Or Xor Exchange CompareExchangeWeak Load Store".split()
#: Types and functions of the language that printed kernels use: hiding one would change what it means.
PREDECLARED = "array atomic bool f16 f32 i32 u32 vec2 vec3 vec4 bitcast select workgroupBarrier storageBarrier"

#: What the address space and the access of a variable are called: a declaration of that name would hide them.
ENUMERANTS = "function handle private read read_write storage uniform workgroup write"

_TINT = "Load Store MultiplyAccumulate ScalarAdd ScalarSubtract ScalarMultiply".split()
#: Names of types and functions of subgroup matrices, of Tint and of naga: reserved in every text.
MATRIX_WORDS = {f"subgroupMatrix{name}" for name in _TINT}
MATRIX_WORDS |= {f"subgroup_matrix_{role}" for role in ("left", "right", "result")}
MATRIX_WORDS |= set("coopLoad coopLoadT coopStore coopStoreT coopMultiplyAdd coop_mat8x8 coop_mat16x16".split())

#: Functions of the IR whose name in the text is not the IR's in camel case.
_CALLED = {
    "count_ones": "countOneBits",
    "leading_zeros": "countLeadingZeros",
    "trailing_zeros": "countTrailingZeros",
    "rsqrt": "inverseSqrt",
    "nan_min": "nan_min",  # a helper function that the text defines
    "nan_max": "nan_max",
}


def spelling(name: str) -> str:
    """WGSL's name of a function of the IR: the IR's in camel case, but for those of `_CALLED`.

    >>> spelling("subgroup_exclusive_add"), spelling("rsqrt"), spelling("exp")
    ('subgroupExclusiveAdd', 'inverseSqrt', 'exp')
    """
    first, *others = name.split("_")
    return _CALLED.get(name) or first + "".join(map(str.capitalize, others))


RESERVED = {
    *KEYWORDS.split(),
    *RESERVED_WORDS.split(),
    *PREDECLARED.split(),
    *ENUMERANTS.split(),
    *map(spelling, SUBGROUP),
}
RESERVED |= {f"atomic{name}" for name in ATOMICS}
RESERVED |= MATRIX_WORDS


def literal(value: int | float | bool, dtype: DType) -> str:
    """A literal of that type which reads back as the same value.

    >>> from cutepy.tensor.dtypes import f32, u32
    >>> literal(-3, f32), literal(0.1, f32), literal(7, u32)
    ('-3.0', '0.1', '7u')
    """
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        return f"i32({value})" if value == -(1 << 31) else f"{value}{dtype.kind}"
    number = np.dtype(dtype.numpy).type(value)
    if not math.isfinite(number):
        raise KernelError(f"WGSL has no literal for {value} in {dtype}")
    # The shortest digits that read back as the same number of this type.
    text = np.format_float_positional(number, unique=True, trim="0")
    # Positional digits of 1e30 would be long.
    if len(text) > 16:
        text = np.format_float_scientific(number, unique=True, trim="0")
    if abs(float(text)) > float(np.finfo(dtype.numpy).max):  # Tint refuses what is beyond the type before rounding
        text = repr(float(number))
    return text + ("h" if dtype is f16 else "")


@dataclass(frozen=True, slots=True)
class Target:
    """A compiler of WGSL: the directives that it requires, and its names for matrices of a subgroup.

    `header` are the lines of a text with subgroups, `matrix_header` of one with matrices. The others are formats:
    `matrix_type` of a kind; loads and stores of the array's {name}, the {index} and the {stride}, with an {order}; in
    `matrix_calls`, {} are the operands of an operation of the IR and {type} is the type of the result, "" where there
    is no such operation.
    """

    dialect: Dialect
    header: tuple[str, ...]
    matrix_header: tuple[str, ...]
    matrix_type: str
    matrix_load: str
    matrix_store: str
    #: What by columns and by rows are called in `matrix_load` and `matrix_store`.
    orders: tuple[str, str]
    matrix_calls: Mapping[str, str]
    #: Whether `subgroup_id` is taken to differ between the threads of a subgroup, which loads of matrices refuse.
    divergent_subgroup_id: bool


#: Tint: Chromium and Dawn. That offsets are the same for a whole subgroup is proven here; Tint would ask that they are
#: the same for the workgroup.
TINT = Target(
    "tint",
    ("enable subgroups;",),
    ("enable chromium_experimental_subgroup_matrix;", "diagnostic(off, chromium.subgroup_matrix_uniformity);"),
    "subgroup_matrix_{0.role}<{0.element}, {0.columns}, {0.rows}>",
    "subgroupMatrixLoad<{type}>(&{name}, {index}, {order}, {stride}u)",
    "subgroupMatrixStore(&{name}, {index}, {value}, {order}, {stride}u);",
    ("true", "false"),
    {
        "fill": "{type}({})",
        "multiply_accumulate": "subgroupMatrixMultiplyAccumulate({}, {}, {})",
        "*": "subgroupMatrixScalarMultiply({}, {})",
        "+": "subgroupMatrixScalarAdd({}, {})",
        "-": "subgroupMatrixScalarSubtract({}, {})",
    },
    divergent_subgroup_id=True,
)
#: naga: wgpu-native. It refuses `enable subgroups;`, as of version 29, and its matrices are square.
NAGA = Target(
    "naga",
    (),
    ("enable wgpu_cooperative_matrix;",),
    "coop_mat{0.rows}x{0.columns}<{0.element}, {role}>",
    "coopLoad{order}<{type}>(&{name}[{index}], {stride}u)",
    "coopStore{order}({value}, &{name}[{index}], {stride}u);",
    ("", "T"),
    {"fill": "", "multiply_accumulate": "coopMultiplyAdd({}, {}, {})", "*": "({} * {})", "+": "", "-": ""},
    divergent_subgroup_id=False,
)
TARGETS: Mapping[Dialect, Target] = {"naga": NAGA, "tint": TINT}


def matrix_name(kind: DType, target: Target) -> str:
    """How a compiler calls a type of matrices. Raises KernelError for one that naga does not have.

    >>> from cutepy.tensor.dtypes import f16, matrix_type
    >>> left = matrix_type(f16, "left", (16, 16, 16))
    >>> matrix_name(left, TINT), matrix_name(left, NAGA)
    ('subgroup_matrix_left<f16, 16, 16>', 'coop_mat16x16<f16, A>')
    """
    assert isinstance(kind, MatrixType)
    square = len({*kind.shape}) == 1 and kind.shape[0] in (8, 16)
    if target is NAGA and not (square and kind.element.kind == "f"):
        raise KernelError(f"naga has square matrices of 8 or 16 in f16 and f32 only, not {kind}; run it on Dawn")
    return target.matrix_type.format(kind, role={"left": "A", "right": "B", "result": "C"}[kind.role])


def matrix_operation(target: Target, node: ir.MatrixCall, operands: Sequence[str]) -> str:
    """An operation on matrices. Raises KernelError for one that naga does not have."""
    kind, first = matrix_name(node.dtype, target), node.operands[0]
    spelled = target.matrix_calls[node.name]
    # naga has no fill; its value of a type without arguments is zeros.
    if not spelled and node.name == "fill" and isinstance(first, ir.Const) and first.value == 0:
        return f"{kind}()"
    if not spelled:
        raise KernelError(f"{node.place}: {target.dialect} has no {node.name} of a matrix and a number; run it on Dawn")
    return spelled.format(*operands, type=kind)
