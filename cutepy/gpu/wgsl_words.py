"""The words of WGSL: those that no name may be, and numbers as they are spelt. Source: https://www.w3.org/TR/WGSL/."""

import math

import numpy as np

from ..errors import KernelError
from ..tensor.dtypes import DType, f16
from .ir.operators import SUBGROUP
from .wgsl_matrix import MATRIX_WORDS

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
#: What updates of floats compute of the element and the value: WGSL has atomics of integers alone.
OF_FLOATS = {"Add": "{} + {}", "Sub": "{} - {}", "Min": "min({}, {})", "Max": "max({}, {})"}
#: Types and functions of the language that printed kernels use: hiding one would change what it means.
PREDECLARED = "array atomic bool f16 f32 i32 u32 vec2 vec3 vec4 bitcast select workgroupBarrier storageBarrier"

RESERVED = {*KEYWORDS.split(), *RESERVED_WORDS.split(), *PREDECLARED.split(), *SUBGROUP}
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
    text = np.format_float_positional(number, unique=True, trim="0")
    if len(text) > 16:
        text = np.format_float_scientific(number, unique=True, trim="0")
    if abs(float(text)) > float(np.finfo(dtype.numpy).max):  # Tint refuses what is beyond the type before rounding
        text = repr(float(number))
    return text + ("h" if dtype is f16 else "")
