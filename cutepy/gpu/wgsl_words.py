"""Words that WGSL keeps for itself, or that a kernel's names had better not hide.

Keywords and reserved words are those of https://www.w3.org/TR/WGSL/#keyword-summary and #reserved-words.
"""

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
#: Types and functions of the language that printed kernels use: hiding one would change what it means.
PREDECLARED = (
    "array atomic bool f16 f32 i32 u32 vec2 vec3 vec4 bitcast select fma min max abs clamp exp exp2 log log2"
    " sqrt inverseSqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh floor ceil round trunc fract"
    " sign pow atan2 workgroupBarrier storageBarrier atomicAdd atomicSub atomicMin atomicMax atomicAnd atomicOr"
    " atomicXor atomicExchange atomicLoad atomicStore subgroupAdd subgroupMul subgroupMin subgroupMax"
    " subgroupAnd subgroupOr subgroupInclusiveAdd subgroupExclusiveAdd subgroupShuffle subgroupShuffleXor"
    " subgroupShuffleDown subgroupShuffleUp subgroupBroadcastFirst"
)

RESERVED = frozenset((KEYWORDS + " " + RESERVED_WORDS + " " + PREDECLARED).split())
