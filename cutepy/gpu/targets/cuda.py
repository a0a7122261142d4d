"""CUDA C++, written from the kernel that WGSL is written from: what is proven of one holds for the other.

A workgroup is a block, a subgroup a warp, workgroup memory is `__shared__`. Where C++ leaves open what the IR defines
(overflow of i32, division by 0, shifts by 32 and more, floats that an integer cannot hold), and bounds do not rule the
case out, a device function of the text computes what the IR means. Source: CUDA C++ Programming Guide 12.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
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

_DEFINED = re.compile(r"(?:struct alignas.*|__device__ (?!explicit)[\w<>]+) (\w+)[( ]")


@cache
def _functions() -> Mapping[str, str]:
    """The device functions of a text by their names, each with the block that defines it."""
    _, *blocks = (files(__package__) / "device_functions.cuh").read_text().rstrip().split("\n\n")
    return {name: block for block in blocks for name in _DEFINED.findall(block)}


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
        reserved = {*_KEYWORDS.split(), *_PREDECLARED.split(), *_functions(), *_FLOAT, *_FLOAT.values()}
        super().__init__(kernel, reserved | {_IDS[name][0] for name in used}, guarded=guarded)
        if kernel.lanes > WARP:
            raise self.refuse(f"subgroups of {kernel.lanes} threads: a warp has {WARP}")
        self.asked = [name for name in _IDS if name in used]
        self.functions: dict[str, str] = {}
        roots = [root for stmt in ir.statements(kernel.body) for root in stmt.expressions]
        self.read = {load.buffer for root in roots for load in ir.loads(root)}
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
        # A compiler warns of what is set and never read.
        unread = "" if buffer in self.read else "[[maybe_unused]] "
        if buffer.space == ir.AddressSpace.CONSTANT:
            yield f"{INDENT}const {kind} {sized} = {{{self.numbers(buffer)}}};"
            return
        yield f"{INDENT}{unread}__shared__ {kind} {sized};{note}" if shared else f"{INDENT}{kind} {sized} = {{}};"

    def use(self, name: str) -> str:
        """The name of a function of the text, which then stands in it."""
        block = _functions()[name]
        if block not in self.functions:
            words = set(re.findall(r"\w+", block))
            for other, needed in _functions().items():
                if other in words and needed != block:
                    self.use(other)
            self.functions[block] = block
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
        yield f"{self.use('atomic_store')}(&{element}, {text});" if stmt.buffer.atomic else f"{element} = {text};"

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
        elif name in _functions():
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
