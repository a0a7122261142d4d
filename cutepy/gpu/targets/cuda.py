"""CUDA C++, written from the kernel that WGSL is written from: what is proven of one holds for the other.

A workgroup is a block, a subgroup a warp, workgroup memory is `__shared__`. Where C++ leaves open what the IR defines
(overflow of i32, division by 0, shifts by 32 and more, floats that an integer cannot hold), and bounds do not rule the
case out, a device function of the text computes what the IR means. Source: CUDA C++ Programming Guide 12.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...tensor.dtypes import DType, MatrixType, bool_, f16, f32, i32, u32
from .. import ir
from ..ir.operators import SUBGROUP
from ..ir.ranges import domain, range_of
from .printer import COMPARISON, INDENT, LOGIC, PRIMARY, Printer
from .wgsl_tokens import literal

WARP = 32
"""Threads of a warp, on every device so far."""

_KEYWORDS = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr const_cast"
    " continue decltype default delete do double dynamic_cast else enum explicit export extern false float for friend"
    " goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected"
    " public register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch"
    " template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile"
    " wchar_t while xor xor_eq"
)
_PREDECLARED = (
    "params Params vec2 vec4 threadIdx blockIdx blockDim gridDim warpSize float2 float4 uint2 uint3 uint4 int2 int4"
    " dim3 min max abs half half2 __half main NULL INT_MIN"
)

#: What an id is in the text: its name, and the declaration at the top of the kernel.
_IDS: Mapping[str, tuple[str, str]] = {
    "workgroup_id": ("group", "const uint3 group = blockIdx;"),
    "num_workgroups": ("groups", "const dim3 groups = gridDim;"),
    "local_invocation_index": ("tid", "const unsigned tid = {tid};"),
    "subgroup_size": ("subgroup_size", f"const unsigned subgroup_size = {WARP}u;"),
    "subgroup_invocation_id": ("lane", f"const unsigned lane = {{tid}} % {WARP}u;"),
    "subgroup_id": ("subgroup", f"const unsigned subgroup = {{tid}} / {WARP}u;"),
    "num_subgroups": ("num_subgroups", "const unsigned num_subgroups = {subgroups}u;"),
}

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_TYPES = {f32: "float", i32: "int", u32: "unsigned", f16: "__half", bool_: "bool"}

#: Functions of floats by CUDA's names; of f16 they are computed in f32.
_FLOAT = {
    name: f"{name}f"
    for name in (
        "exp exp2 log log2 sqrt rsqrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh"
        " pow floor ceil trunc"
    ).split()
}
_FLOAT |= {"round": "rintf", "abs": "fabsf", "min": "fminf", "max": "fmaxf", "fma": "fmaf"}
_INTEGER = {"min": "min", "max": "max", "abs": "abs"}

#: Device functions of the text, by their names: those that it uses stand before the kernel.
_FUNCTIONS = {
    "bitcast": """\
template <typename To, typename From> __device__ To bitcast(From x) {
    static_assert(sizeof(To) == sizeof(From), "bits of another width");
    To y;
    memcpy(&y, &x, sizeof(y));
    return y;
}""",
    "quotient": """\
__device__ unsigned quotient(unsigned a, unsigned b) { return b == 0u ? a : a / b; }
__device__ int quotient(int a, int b) { return b == 0 || (b == -1 && a == -2147483647 - 1) ? a : a / b; }""",
    "remainder": """\
__device__ unsigned remainder(unsigned a, unsigned b) { return b == 0u ? 0u : a % b; }
__device__ int remainder(int a, int b) { return b == 0 || b == -1 ? 0 : a % b; }""",
    "wrapping_add": "__device__ int wrapping_add(int a, int b) { return int(unsigned(a) + unsigned(b)); }",
    "wrapping_sub": "__device__ int wrapping_sub(int a, int b) { return int(unsigned(a) - unsigned(b)); }",
    "wrapping_mul": "__device__ int wrapping_mul(int a, int b) { return int(unsigned(a) * unsigned(b)); }",
    "to_i32": """\
__device__ int to_i32(float x, float most) {  // 0 for NaN
    return x != x ? 0 : int(fminf(fmaxf(x, fmaxf(-most, -2147483648.0f)), fminf(most, 2147483520.0f)));
}""",
    "to_u32": """\
__device__ unsigned to_u32(float x, float most) {  // 0 for NaN
    return x > 0.0f ? unsigned(fminf(x, fminf(most, 4294967040.0f))) : 0u;
}""",
    "clamp": """\
template <typename T> __device__ T clamp(T x, T low, T high) { return min(max(x, low), high); }
__device__ float clamp(float x, float low, float high) { return fminf(fmaxf(x, low), high); }""",
    "sign": """\
__device__ float sign(float x) { return float(x > 0.0f) - float(x < 0.0f); }
__device__ int sign(int x) { return int(x > 0) - int(x < 0); }""",
    "fract": "__device__ float fract(float x) { return x - floorf(x); }",
    "degrees": "__device__ float degrees(float x) { return x * 57.29577951308232f; }",
    "radians": "__device__ float radians(float x) { return x * 0.017453292519943295f; }",
    "nan_min": "__device__ float nan_min(float a, float b) { return a != a ? a : b != b ? b : fminf(a, b); }",
    "nan_max": "__device__ float nan_max(float a, float b) { return a != a ? a : b != b ? b : fmaxf(a, b); }",
    "count_ones": "template <typename T> __device__ T count_ones(T x) { return T(__popc(unsigned(x))); }",
    "leading_zeros": "template <typename T> __device__ T leading_zeros(T x) { return T(__clz(int(x))); }",
    "trailing_zeros": """\
template <typename T> __device__ T trailing_zeros(T x) { return x == T(0) ? T(32) : T(__ffs(int(x)) - 1); }""",
    "reverse_bits": "template <typename T> __device__ T reverse_bits(T x) { return T(__brev(unsigned(x))); }",
    "dot4I8Packed": "__device__ int dot4I8Packed(unsigned a, unsigned b) { return __dp4a(int(a), int(b), 0); }",
    "dot4U8Packed": "__device__ unsigned dot4U8Packed(unsigned a, unsigned b) { return __dp4a(a, b, 0u); }",
    "pack4x": """\
__device__ unsigned pack4x(int a, int b, int c, int d) {
    return (a & 255) | (b & 255) << 8 | (c & 255) << 16 | unsigned(d & 255) << 24;
}""",
    "byte_of": """\
__device__ int signed_byte(unsigned word, int at) { return int(word << (24 - 8 * at)) >> 24; }
__device__ unsigned byte_of(unsigned word, int at) { return word >> 8 * at & 255u; }""",
    "atomic_load": """\
template <typename T> __device__ T atomic_load(const T* at) { return *(const volatile T*)at; }
template <typename T> __device__ void atomic_store(T* at, T value) { *(volatile T*)at = value; }""",
    "atomic_float": """\
template <typename F> __device__ float atomic_float(float* at, F update) {  // until no other thread came between
    unsigned seen = *(volatile unsigned*)at, before;
    do {
        before = seen;
        seen = atomicCAS((unsigned*)at, before, __float_as_uint(update(__uint_as_float(before))));
    } while (seen != before);
    return __uint_as_float(seen);
}""",
    "lanes_of": """\
template <typename T, typename F> __device__ T over_lanes(unsigned mask, T value, T start, F combine) {
    for (unsigned rest = mask; rest != 0u; rest &= rest - 1u)
        start = combine(start, __shfl_sync(mask, value, __ffs(rest) - 1));
    return start;
}
__device__ unsigned lane_id() {
    unsigned id;
    asm("mov.u32 %0, %%laneid;" : "=r"(id));
    return id;
}""",
}
_FUNCTIONS |= {
    "pack4xI8": "__device__ unsigned pack4xI8(int a, int b, int c, int d) { return pack4x(a, b, c, d); }",
    "pack4xU8": """\
__device__ unsigned pack4xU8(unsigned a, unsigned b, unsigned c, unsigned d) { return pack4x(a, b, c, d); }""",
    "pack4x8snorm": """\
__device__ int snorm(float x) { return int(floorf(0.5f + 127.0f * fminf(fmaxf(x, -1.0f), 1.0f))); }
__device__ unsigned pack4x8snorm(float a, float b, float c, float d) {
    return pack4x(snorm(a), snorm(b), snorm(c), snorm(d));
}""",
    "pack4x8unorm": """\
__device__ int unorm(float x) { return int(floorf(0.5f + 255.0f * fminf(fmaxf(x, 0.0f), 1.0f))); }
__device__ unsigned pack4x8unorm(float a, float b, float c, float d) {
    return pack4x(unorm(a), unorm(b), unorm(c), unorm(d));
}""",
    "pack2x16float": """\
__device__ unsigned pack2x16float(float a, float b) {
    return unsigned(__half_as_ushort(__half(a))) | unsigned(__half_as_ushort(__half(b))) << 16;
}""",
    "unpack2x16float": """\
__device__ vec2<float> unpack2x16float(unsigned word) {
    return vec2<float>(float(__ushort_as_half(word & 65535u)), float(__ushort_as_half(word >> 16)));
}""",
    "subgroup_ballot": """\
__device__ vec4<unsigned> subgroup_ballot(unsigned mask, bool holds) {
    return vec4<unsigned>(__ballot_sync(mask, holds), 0u, 0u, 0u);
}""",
}
for _name, _each in {
    "unpack4xI8": ("int", "signed_byte(word, {})"),
    "unpack4xU8": ("unsigned", "byte_of(word, {})"),
    "unpack4x8snorm": ("float", "fmaxf(signed_byte(word, {}) / 127.0f, -1.0f)"),
    "unpack4x8unorm": ("float", "byte_of(word, {}) / 255.0f"),
}.items():
    _FUNCTIONS[_name] = (
        f"__device__ vec4<{_each[0]}> {_name}(unsigned word) {{\n"
        f"    return vec4<{_each[0]}>({', '.join(_each[1].format(at) for at in range(4))});\n}}"
    )
for _name, _start, _combined in (
    ("add", "T(0)", "a + b"),
    ("mul", "T(1)", "a * b"),
    ("min", "value", "b < a ? b : a"),
    ("max", "value", "a < b ? b : a"),
    ("and", "value", "a & b"),
    ("or", "value", "a | b"),
):
    _FUNCTIONS[f"subgroup_{_name}"] = (
        f"template <typename T> __device__ T subgroup_{_name}(unsigned mask, T value) {{\n"
        f"    return over_lanes(mask, value, {_start}, [](T a, T b) {{ return {_combined}; }});\n}}"
    )
for _name, _below in (("inclusive", "2u << lane_id()"), ("exclusive", "1u << lane_id()")):
    _FUNCTIONS[f"subgroup_{_name}_add"] = (
        f"template <typename T> __device__ T subgroup_{_name}_add(unsigned mask, T value) {{\n"
        "    T sum = T(0);\n"
        "    for (unsigned rest = mask; rest != 0u; rest &= rest - 1u) {\n"
        "        const T other = __shfl_sync(mask, value, __ffs(rest) - 1);\n"
        f"        if (((rest & -rest) & (({_below}) - 1u)) != 0u) sum = sum + other;\n"
        "    }\n    return sum;\n}"
    )
for _name, _call in (
    ("shuffle", "__shfl_sync(mask, value, lane)"),
    ("shuffle_xor", "__shfl_xor_sync(mask, value, lane)"),
    ("shuffle_down", "__shfl_down_sync(mask, value, lane)"),
    ("shuffle_up", "__shfl_up_sync(mask, value, lane)"),
    ("broadcast", "__shfl_sync(mask, value, lane)"),
):
    _FUNCTIONS[f"subgroup_{_name}"] = (
        f"template <typename T> __device__ T subgroup_{_name}(unsigned mask, T value, unsigned lane) {{\n"
        f"    return {_call};\n}}"
    )
_FUNCTIONS["subgroup_broadcast_first"] = (
    "template <typename T> __device__ T subgroup_broadcast_first(unsigned mask, T value) {\n"
    "    return __shfl_sync(mask, value, __ffs(mask) - 1);\n}"
)
_FUNCTIONS["subgroup_any"] = (
    "__device__ bool subgroup_any(unsigned mask, bool holds) { return __any_sync(mask, holds) != 0; }"
)
_FUNCTIONS["subgroup_all"] = (
    "__device__ bool subgroup_all(unsigned mask, bool holds) { return __all_sync(mask, holds) != 0; }"
)

#: Which other functions a function of the text calls, or its vectors.
_CALLS = {
    **dict.fromkeys(("pack4xI8", "pack4xU8", "pack4x8snorm", "pack4x8unorm"), ("pack4x",)),
    **dict.fromkeys(("unpack4xI8", "unpack4xU8", "unpack4x8snorm", "unpack4x8unorm"), ("byte_of", "vec4")),
    **{f"subgroup_{name}": ("lanes_of",) for name in "add mul min max and or inclusive_add exclusive_add".split()},
    "subgroup_ballot": ("vec4",),
    "unpack2x16float": ("vec2",),
}


def _vector(lanes: int) -> str:
    """The type of vectors of 2 or 4, aligned as WGSL aligns them."""
    names, kind = "xyzw"[:lanes], f"vec{lanes}"
    each = ", ".join(f"{n}({n})" for n in names)
    return "\n".join(
        [
            f"template <typename T> struct alignas({lanes} * sizeof(T)) {kind} {{",
            f"    T {', '.join(names)};",
            f"    {kind}() = default;",
            f"    __device__ {kind}({', '.join(f'T {n}' for n in names)}) : {each} {{}}",
            f"    __device__ explicit {kind}(T all) : {', '.join(f'{n}(all)' for n in names)} {{}}",
            f"    template <typename U> __device__ explicit {kind}({kind}<U> v)",
            f"        : {', '.join(f'{n}(T(v.{n}))' for n in names)} {{}}",
            "    __device__ T operator[](unsigned lane) const { return (&x)[lane]; }",
            "};",
        ]
    )


def _operator(op: str, lanes: int, left: int, right: int) -> str:
    """An operator on vectors, lane by lane; an operand of one lane serves every lane. `left` is 0 for a sign."""
    names, kind = "xyzw"[:lanes], f"vec{lanes}"
    result = f"{kind}<{'bool' if op in _COMPARISONS else 'T'}>"
    operands = [("T" if n == 1 else f"{kind}<T>", letter) for n, letter in ((left, "a"), (right, "b")) if n]
    texts = [letter if n == 1 else letter + ".{0}" for n, letter in ((left, "a"), (right, "b")) if n]
    lane = f"{texts[0]} {op} {texts[1]}" if left else f"{op}{texts[0]}"
    head = f"template <typename T> __device__ {result} operator{op}({', '.join(map(' '.join, operands))})"
    return f"{head} {{\n    return {result}({', '.join(lane.format(n) for n in names)});\n}}"


@dataclass(frozen=True, slots=True)
class CudaSource:
    """A text in CUDA C++, the name of its function, and how it is launched."""

    text: str
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


def write_cuda(kernel: ir.Kernel, *, guarded: bool = False) -> CudaSource:
    """A kernel that `lower` has prepared, in CUDA C++; `guarded` keeps every index in its array, whatever it is.

    Raises KernelError at the line of what CUDA C++ has no counterpart for: matrices of a subgroup, subgroups of more
    than 32 threads.
    """
    printer = CudaPrinter(kernel, guarded)
    return CudaSource(printer.text(), printer.entry, kernel.grid, kernel.workgroup)


class CudaPrinter(Printer):
    """The text of one kernel in CUDA C++."""

    LANGUAGE = "CUDA C++"
    IDS: ClassVar = {name: spelled for name, (spelled, _) in _IDS.items()}

    def __init__(self, kernel: ir.Kernel, guarded: bool = False) -> None:
        used = {n.name for n in ir.all_nodes(kernel.body) if isinstance(n, ir.Builtin)}
        reserved = {*_KEYWORDS.split(), *_PREDECLARED.split(), *_FUNCTIONS, *_FLOAT, *_FLOAT.values()}
        super().__init__(kernel, reserved | {_IDS[name][0] for name in used}, guarded=guarded)
        if kernel.lanes > WARP:
            raise self.refuse(f"subgroups of {kernel.lanes} threads: a warp has {WARP}")
        self.asked = [name for name in _IDS if name in used]
        self.functions: dict[str, str] = {}
        self.divergent = 0  # blocks around that some threads of a warp may not run
        self.entry = self.name_of(kernel, kernel.name)

    # The kernel.

    def text(self) -> str:
        kernel = self.kernel
        x, y, _ = kernel.workgroup
        # Names of bindings and parameters are claimed before those of the body.
        bindings = [self.binding(b) for b in kernel.buffers]
        fields = [
            f"{INDENT}{self.type_name(p.dtype.accumulator)} {self.name_of(p, p.name)};{self.said_of(p)}"
            for p in kernel.params
        ]
        parameters = ", ".join([*bindings, *["const Params params"] * bool(fields)])
        flat = kernel.workgroup[1:] == (1, 1)
        # CUDA counts the threads of a block along x, then y, then z, as WGSL's local_invocation_index does.
        tid = "threadIdx.x" if flat else f"(threadIdx.x + {x}u * (threadIdx.y + {y}u * threadIdx.z))"
        subgroups = -(-kernel.threads // WARP)
        body = [INDENT + _IDS[name][1].format(tid=tid, subgroups=subgroups) for name in self.asked]
        body += [line for b in kernel.local for line in self.array(b)]
        body += self.block(kernel.body, 1)
        launch = (
            f"// launch <<<dim3{kernel.grid}, dim3{kernel.workgroup}>>>: {kernel.shared_bytes} bytes of shared memory"
        )
        head = [f"// {kernel.name}", *[f"// {note}" for note in kernel.notes], launch, ""]
        head += (
            ["#include <cuda_fp16.h>", ""] if "__half" in " ".join([*body, *bindings, *self.functions.values()]) else []
        )
        head += ["struct Params {", *fields, "};", ""] if fields else []
        entry = f'extern "C" __global__ void __launch_bounds__({kernel.threads}) {self.entry}({parameters}) {{'
        return "\n".join([*head, *self.functions.values(), *[""] * bool(self.functions), entry, *body, "}"]) + "\n"

    def binding(self, buffer: ir.Buffer) -> str:
        const = "" if buffer.writable else "const "
        return f"{const}{self.type_name(buffer.dtype, buffer.width)}* {self.name_of(buffer, buffer.name)}"

    def array(self, buffer: ir.Buffer) -> Iterator[str]:
        name, kind = self.name_of(buffer, buffer.name), self.type_name(buffer.dtype, buffer.width)
        note = f"  // {buffer.note}" if buffer.note else ""
        sized = f"{name}[{-(-buffer.length // buffer.width)}]"
        shared = buffer.space == ir.AddressSpace.WORKGROUP
        yield f"{INDENT}__shared__ {kind} {sized};{note}" if shared else f"{INDENT}{kind} {sized} = {{}};"

    def use(self, name: str) -> str:
        """The name of a function of the text, which then stands in it."""
        if name not in self.functions:
            for other in _CALLS.get(name, ()):
                self.use(other)
            self.functions[name] = _vector(int(name[3])) if name in ("vec2", "vec4") else _FUNCTIONS[name]
        return name

    def use_operator(self, op: str, lanes: int, left: int, right: int) -> None:
        """Define an operator on vectors, of operands with so many lanes."""
        if lanes > 1:
            spelled = "/" if op == "//" else op
            self.use(f"vec{lanes}")
            self.functions.setdefault(f"{op} {left} {right}", _operator(spelled, lanes, left, right))

    # Words.

    def literal(self, value: ir.Const) -> str:
        number, dtype = value.value, value.dtype
        if dtype is i32:
            return "(-2147483647 - 1)" if number == -(1 << 31) else str(number)
        text = literal(number, dtype).removesuffix("h")
        return f"__half({text}f)" if dtype is f16 else text + "f" * (dtype is f32)

    def type_name(self, dtype: DType, lanes: int = 1) -> str:
        if isinstance(dtype, MatrixType):
            raise self.refuse("matrices of a subgroup as the IR has them; run the kernel on Dawn")
        return _TYPES[dtype] if lanes == 1 else f"{self.use(f'vec{lanes}')}<{_TYPES[dtype]}>"

    def declared(self, var: ir.Var, value: ir.Expr | None) -> str:
        start = "{}" if value is None else self.show(value)
        return f"{self.type_name(var.dtype, var.lanes)} {self.name_of(var, var.name)} = {start};"

    def bound(self, var: ir.Var, value: ir.Expr) -> str:
        return f"const {self.declared(var, value)}"

    def counter(self, stmt: ir.For) -> str:
        return f"{self.type_name(stmt.var.dtype)} {self.name_of(stmt.var, stmt.var.name)} = {self.show(stmt.start)}"

    # Statements.

    def lines_If(self, stmt: ir.If, depth: int) -> Iterator[str]:
        # Threads of a warp may differ in the condition, so subgroup operations inside ask for the active mask.
        self.divergent += 1
        yield from super().lines_If(stmt, depth)
        self.divergent -= 1

    def lines_For(self, stmt: ir.For, depth: int) -> Iterator[str]:
        bounds = stmt.start, stmt.stop, stmt.step
        # A loop between constants that nothing leaves runs equally in all threads.
        counted = all(isinstance(x, ir.Const) for x in bounds) and not any(isinstance(s, ir.Break) for s in stmt.body)
        self.divergent += not counted
        yield from super().lines_For(stmt, depth)
        self.divergent -= not counted

    def lines_Store(self, stmt: ir.Store, depth: int) -> Iterator[str]:
        element, text = self.element_of(stmt.buffer, stmt.index), self.show(stmt.value)
        if stmt.buffer.atomic:
            self.use("atomic_load")
            yield f"atomic_store(&{element}, {text});"
        else:
            yield f"{element} = {text};"

    def lines_Atomic(self, stmt: ir.Atomic, depth: int) -> Iterator[str]:
        call = self.updated(stmt, f"&{self.element_of(stmt.buffer, stmt.index)}")
        if stmt.result is not None:
            call = f"const {self.type_name(stmt.result.dtype)} {self.name_of(stmt.result, stmt.result.name)} = {call}"
        yield f"{call};"

    def updated(self, stmt: ir.Atomic, at: str) -> str:
        """The call that updates an element and gives what it was before."""
        value, real = self.show(stmt.value), stmt.buffer.dtype is f32
        if stmt.op in ("Load", "Store"):
            self.use("atomic_load")
            return f"atomic_load({at})" if stmt.op == "Load" else f"atomic_store({at}, {value})"
        if stmt.compare is not None:
            wanted = self.show(stmt.compare)
            if not real:
                return f"atomicCAS({at}, {wanted}, {value})"
            # atomicCAS compares integers: the bits of floats.
            bits = [f"__float_as_uint({text})" for text in (wanted, value)]
            return f"__uint_as_float(atomicCAS((unsigned*){at}, {', '.join(bits)}))"
        # CUDA has atomicAdd and atomicExch of floats; the others are a loop of compare-and-swap.
        if real and stmt.op not in ("Add", "Exchange"):
            update = {"Sub": "x - {}", "Min": "fminf(x, {})", "Max": "fmaxf(x, {})"}[stmt.op].format(f"({value})")
            return f"{self.use('atomic_float')}({at}, [=](float x) {{ return {update}; }})"
        return f"atomic{'Exch' if stmt.op == 'Exchange' else stmt.op}({at}, {value})"

    def lines_Barrier(self, stmt: ir.Barrier, depth: int) -> Iterator[str]:
        yield "__syncthreads();"

    def lines_UniformLoad(self, stmt: ir.UniformLoad, depth: int) -> Iterator[str]:
        yield "__syncthreads();"
        yield self.bound(stmt.var, stmt.value)
        yield "__syncthreads();"

    def lines_MatrixStore(self, stmt: ir.MatrixStore, depth: int) -> Iterator[str]:
        raise self.refuse("store of a matrix of a subgroup as the IR has it; run the kernel on Dawn", stmt.place)

    # Expressions.

    def show_MatrixLoad(self, value: ir.MatrixLoad, outer: int) -> str:
        raise self.refuse("load of a matrix of a subgroup as the IR has it; run the kernel on Dawn", value.place)

    def show_MatrixCall(self, value: ir.MatrixCall, outer: int) -> str:
        raise self.refuse(
            f"{value.name} of matrices of a subgroup as the IR has it; run the kernel on Dawn", value.place
        )

    def show_Param(self, value: ir.Param, outer: int) -> str:
        text = f"params.{self.name_of(value, value.name)}"
        return f"__half({text})" if value.dtype is f16 else text

    def show_Unary(self, value: ir.Unary, outer: int) -> str:
        # -INT_MIN is undefined in C++, and INT_MIN in the IR.
        if value.op == "-" and value.dtype is i32 and range_of(value.value)[0] == domain(i32)[0]:
            return self.lanewise("wrapping_sub", ir.splat(ir.const(0, i32), value.lanes), value.value)
        self.use_operator(value.op, value.lanes, 0, value.lanes)
        return super().show_Unary(value, outer)

    def show_Binary(self, value: ir.Binary, outer: int) -> str:
        op, left, right, dtype = value.op, value.left, value.right, value.left.dtype
        # Division by 0, INT_MIN / -1, signed overflow, shifts by 32 and more: undefined in C++, defined in the IR.
        if op in ("//", "%") and dtype.kind in "iu" and not _divides(left, right):
            return self.lanewise("quotient" if op == "//" else "remainder", left, right)
        if op in ("+", "-", "*") and dtype is i32 and not _fits(op, left, right):
            return self.lanewise({"+": "wrapping_add", "-": "wrapping_sub", "*": "wrapping_mul"}[op], left, right)
        if op in ("<<", ">>") and not (right.lanes == 1 and range_of(right)[1] < 32):
            value_ = ir.binary("&", right, ir.splat(ir.const(31), right.lanes))
            return f"({self.show(left, PRIMARY)} {op} {self.show(value_, PRIMARY)})"
        if op == "%" and dtype.kind == "f":
            return self.lanewise("fmodf", left, right)
        self.use_operator(op, value.lanes, left.lanes, right.lanes)
        return super().show_Binary(value, outer)

    def show_Select(self, value: ir.Select, outer: int) -> str:
        then, other = (ir.splat(x, value.lanes) for x in (value.then, value.other))
        text = f"{self.show(value.condition, COMPARISON)} ? {self.show(then, LOGIC)} : {self.show(other, LOGIC)}"
        return f"({text})" if outer > 0 else text

    def show_Cast(self, value: ir.Cast, outer: int) -> str:
        source, target, name = value.value.dtype, value.dtype, self.type_name(value.dtype, value.lanes)
        text = self.show(value.value)
        if value.bits and "f" in (source.kind, target.kind):
            return f"{self.use('bitcast')}<{name}>({text})"
        # C++ leaves a float outside of the integer type undefined; the IR clamps it.
        if source.kind == "f" and target.kind in "iu":
            return self.lanewise("to_i32" if target is i32 else "to_u32", value.value)
        return f"{name}({text})"

    def show_Load(self, value: ir.Load, outer: int) -> str:
        text = self.element_of(value.buffer, value.index)
        return f"{self.use('atomic_load')}(&{text})" if value.buffer.atomic else text

    def arguments(self, *values: ir.Expr) -> str:
        return ", ".join(map(self.show, values))

    def show_Call(self, value: ir.Call, outer: int) -> str:
        # The mask names the threads that take part, and all of them must arrive.
        if value.name in SUBGROUP:
            mask = "__activemask()" if self.divergent else self.full_mask()
            return f"{self.use(value.name)}({', '.join([mask, *map(self.show, value.args)])})"
        return self.lanewise(value.name, *value.args)

    def full_mask(self) -> str:
        """The threads of a warp where all run; the last warp of a block may have fewer."""
        threads = self.kernel.threads
        if threads % WARP == 0:
            return "0xffffffffu"
        return f"0x{(1 << threads) - 1:x}u" if threads < WARP else "__activemask()"

    def scalar(self, name: str, dtype: DType, arguments: list[str]) -> str:
        """A call on single values of a type."""
        # The last argument is the largest value of the source's type.
        if name in ("to_i32", "to_u32"):
            return f"{self.use(name)}({', '.join(arguments)}, {'65504.0f' if dtype is f16 else '4294967296.0f'})"
        if name == "fmodf" or (dtype.kind == "f" and name in _FLOAT):
            # f16 has no mathematical functions of its own: all are computed in f32.
            called = _FLOAT.get(name, name)
        elif name in _INTEGER and dtype.kind in "iu":
            if name == "abs" and dtype is u32:
                return arguments[0]
            called = _INTEGER[name]
        elif name in _FUNCTIONS:
            called = self.use(name)
        else:
            raise self.refuse(f"function {name!r} of {dtype}")
        if dtype is f16:  # in f32, which holds every f16, and rounded once
            return f"__half({called}({', '.join(f'float({text})' for text in arguments)}))"
        return f"{called}({', '.join(arguments)})"

    def lanewise(self, name: str, *operands: ir.Expr) -> str:
        """A call of a function of single values; on vectors, one for each lane."""
        lanes, dtype = max(x.lanes for x in operands), operands[0].dtype
        if lanes == 1:
            return self.scalar(name, dtype, [self.show(x) for x in operands])
        letters = "abc"[: len(operands)]
        # One call for each lane; a scalar operand serves all lanes.
        each = [
            self.scalar(name, dtype, [f"{a}.{n}" if x.lanes > 1 else a for a, x in zip(letters, operands, strict=True)])
            for n in "xyzw"[:lanes]
        ]
        # A function of the text for this signature, named after the scalar one.
        result = i32 if name == "to_i32" else u32 if name == "to_u32" else dtype
        kinds = [self.type_name(x.dtype, x.lanes) for x in operands]
        own = f"{name}_lanes"
        kind, given = self.type_name(result, lanes), ", ".join(map(" ".join, zip(kinds, letters, strict=True)))
        head = f"__device__ {kind} {own}({given})"
        self.functions[head] = f"{head} {{\n{INDENT}return {kind}({', '.join(each)});\n}}"
        return f"{own}({', '.join(map(self.show, operands))})"


def _divides(left: ir.Expr, right: ir.Expr) -> bool:
    """Whether C++ divides: not by 0, and not the least i32 by -1."""
    if left.lanes > 1 or right.lanes > 1:
        return False
    low, high = range_of(right)
    return low > 0 or (high < 0 and (high < -1 or range_of(left)[0] > domain(i32)[0]))


def _fits(op: str, left: ir.Expr, right: ir.Expr) -> bool:
    """Whether the result is within i32, whatever the operands are."""
    if left.lanes > 1 or right.lanes > 1:
        return False
    (a, b), (c, d) = range_of(left), range_of(right)
    ends = {"+": (a + c, b + d), "-": (a - d, b - c), "*": (a * c, a * d, b * c, b * d)}[op]
    low, high = domain(i32)
    return low <= min(ends) and max(ends) <= high
