"""WGSL, written from a lowered kernel. The only file that knows the language; it decides nothing.

Two dialects, "naga" (wgpu) and "tint" (Chromium, Dawn), differ in one line: Tint wants `enable subgroups;` where naga,
as of version 29, refuses it. Sources: the grammar of https://www.w3.org/TR/WGSL/ and what both compilers accept."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np

from ..errors import KernelError
from ..tensor.dtypes import DType, f16
from .ir import (
    Assign,
    Atomic,
    Barrier,
    Binary,
    Block,
    Buffer,
    Builtin,
    Call,
    Cast,
    Comment,
    Component,
    Const,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Load,
    Param,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    Vector,
    all_nodes,
)
from .ir.operators import BY_WGSL, SUBGROUP

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
_HELPERS = {
    "nan_min": "min(a, b)",
    "nan_max": "max(a, b)",
}
_ATOMICS = "Add Sub Min Max And Or Xor Exchange Load Store".split()
#: Types and functions of the language that printed kernels use: hiding one would change what it means.
PREDECLARED = "array atomic bool f16 f32 i32 u32 vec2 vec3 vec4 bitcast select workgroupBarrier storageBarrier"

RESERVED = {*KEYWORDS.split(), *RESERVED_WORDS.split(), *PREDECLARED.split(), *SUBGROUP}
RESERVED |= BY_WGSL.keys() - _HELPERS.keys() | {f"atomic{name}" for name in _ATOMICS}


Dialect = Literal["naga", "tint"]

PRIMARY, UNARY, PRODUCT, SUM, SHIFT, COMPARISON, BITS, LOGIC = 9, 8, 7, 6, 5, 4, 3, 2
_BINDS = {"*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "+": SUM, "-": SUM, "<<": SHIFT, ">>": SHIFT}
_BINDS |= dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), COMPARISON) | dict.fromkeys("&|^", BITS)

#: name in the source, the attribute, its type
_BUILTINS = {
    "workgroup_id": ("group", "vec3<u32>"),
    "local_invocation_index": ("tid", "u32"),
    "num_workgroups": ("groups", "vec3<u32>"),
    "subgroup_size": ("subgroup_size", "u32"),
    "subgroup_invocation_id": ("lane", "u32"),
    "subgroup_id": ("subgroup", "u32"),
    "num_subgroups": ("num_subgroups", "u32"),
}
INDENT = "    "


@dataclass(frozen=True, slots=True)
class Source:
    """A text in WGSL, the name of its function (the kernel's own, unless WGSL reserves that), the features it needs."""

    text: str
    entry: str
    needs: tuple[str, ...]


def write_wgsl(kernel: Kernel, dialect: Dialect = "naga") -> Source:
    """A kernel that `lower` has prepared, in WGSL."""
    printer = _Printer(kernel, dialect)
    return Source(printer.text(), printer.entry, printer.needs)


def print_wgsl(kernel: Kernel, dialect: Dialect = "naga") -> str:
    """The text of `write_wgsl`."""
    return write_wgsl(kernel, dialect).text


def show(value: Expr) -> str:
    """One expression as WGSL, with variables under their own names.

    >>> from cutepy.gpu.ir import var
    >>> tid = var("tid")
    >>> show(tid // 4 * 16 + (tid % 4 | 1))
    '(tid / 4u) * 16u + ((tid % 4u) | 1u)'
    """
    return _Sketch(Kernel("expression", (), ()), "naga").show(value)


def type_name(dtype: DType, lanes: int = 1) -> str:
    """How WGSL calls a type."""
    return dtype.name if lanes == 1 else f"vec{lanes}<{dtype.name}>"


def features(kernel: Kernel) -> tuple[str, ...]:
    """The device features that a kernel needs, by their WebGPU names."""
    return _features(kernel, all_nodes(kernel.body))


def _features(kernel: Kernel, seen: Iterable[Expr]) -> tuple[str, ...]:
    arrays = {b.dtype for b in (*kernel.buffers, *kernel.local)}
    half = f16 in arrays or any(n.dtype is f16 for n in seen)
    calls = any(isinstance(n, Call) and n.name in SUBGROUP for n in seen)
    ids = any(isinstance(n, Builtin) and "subgroup" in n.name for n in seen)
    return ("shader-f16",) * half + ("subgroups",) * (calls or ids)


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


class _Printer:
    def __init__(self, kernel: Kernel, dialect: Dialect) -> None:
        self.kernel, self.dialect = kernel, dialect
        self.names: dict[object, str] = {}
        seen = all_nodes(kernel.body)
        self.needs = _features(kernel, seen)
        used = {n.name.partition(".")[0] for n in seen if isinstance(n, Builtin)}
        self.builtins = [name for name in _BUILTINS if name in used]
        self.taken = RESERVED | {_BUILTINS[name][0] for name in used} | {"params", "Params"}
        self.counts: dict[str, int] = {}
        self.helpers: dict[str, str] = {}
        self.entry = self.name_of(kernel, kernel.name)

    def name_of(self, thing: object, wish: str = "") -> str:
        """The name of `thing` in the text: its own, with a suffix where that is reserved or taken."""
        known = self.names.get(thing)
        if known is None:
            stem = re.sub(r"\W", "_", wish or "value", flags=re.ASCII)
            stem = stem if not stem[0].isdigit() and not stem.startswith("__") and stem != "_" else f"v{stem}"
            name = stem
            while name in self.taken:
                self.counts[stem] = self.counts.get(stem, 0) + 1
                name = f"{stem}_{self.counts[stem]}"
            self.taken.add(name)
            known = self.names[thing] = name
        return known

    def text(self) -> str:
        kernel = self.kernel
        declared = list(self.declarations())
        body = list(self.block(kernel.body, 1))
        lines = [f"// {kernel.name}", *[f"// {note}" for note in kernel.notes], ""]
        lines += ["enable f16;"] * ("shader-f16" in self.needs)
        lines += ["enable subgroups;"] * ("subgroups" in self.needs and self.dialect == "tint")
        lines += [""] * (not lines[-1] == "")
        lines += declared + list(self.helpers.values())
        sizes = ", ".join(str(n) for n in kernel.workgroup[: 3 if kernel.workgroup[2] > 1 else 2])
        sizes = str(kernel.workgroup[0]) if kernel.workgroup[1:] == (1, 1) else sizes
        inputs = ", ".join(f"@builtin({n}) {_BUILTINS[n][0]}: {_BUILTINS[n][1]}" for n in self.builtins)
        lines += [f"@compute @workgroup_size({sizes})", f"fn {self.entry}({inputs}) {{", *body, "}"]
        return "\n".join(lines) + "\n"

    def declarations(self) -> Iterator[str]:
        for i, buffer in enumerate(self.kernel.buffers):
            access = "read_write" if buffer.writable else "read"
            note = f"  // {buffer.note}" if buffer.note else ""
            name = self.name_of(buffer, buffer.name)
            yield f"@group(0) @binding({i}) var<storage, {access}> {name}: array<{self.element(buffer)}>;{note}"
        for buffer in self.kernel.local:
            if buffer.space == "workgroup":
                note = f"  // {buffer.note}" if buffer.note else ""
                yield f"var<workgroup> {self.name_of(buffer, buffer.name)}: {self.sized(buffer)};{note}"
        yield ""
        if self.kernel.params:
            members = (
                f"{INDENT}{self.name_of(p, p.name)}: {type_name(p.dtype.accumulator)}," for p in self.kernel.params
            )
            yield from ("struct Params {", *members, "}")
            yield from ("@group(1) @binding(0) var<uniform> params: Params;", "")

    def element(self, buffer: Buffer) -> str:
        name = type_name(buffer.dtype, buffer.width)
        return f"atomic<{name}>" if buffer.atomic else name

    def sized(self, buffer: Buffer) -> str:
        return f"array<{self.element(buffer)}, {-(-buffer.length // buffer.width)}>"

    def block(self, block: Block, depth: int) -> Iterator[str]:
        if depth == 1:
            for buffer in self.kernel.local:
                if buffer.space == "private":
                    yield f"{INDENT}var {self.name_of(buffer, buffer.name)}: {self.sized(buffer)};"
        for stmt in block:
            for line in self.stmt(stmt, depth):
                yield INDENT * depth + line if not line.startswith(INDENT) and line else line

    def stmt(self, stmt: Stmt, depth: int) -> Iterator[str]:
        match stmt:
            case Let(var=var, value=value):
                yield f"let {self.name_of(var, var.name)} = {self.show(value)};"
            case Declare(var=var, value=value):
                start = f": {type_name(var.dtype, var.lanes)}" if value is None else f" = {self.show(value)}"
                yield f"var {self.name_of(var, var.name)}{start};"
            case Assign(var=var, value=value, lane=lane):
                part = "" if lane is None else f".{'xyzw'[lane]}"
                yield f"{self.name_of(var, var.name)}{part} = {self.show(value)};"
            case Store(buffer=buffer, index=index, value=value):
                place = f"{self.name_of(buffer, buffer.name)}[{self.show(index)}]"
                text = self.show(value)
                yield f"atomicStore(&{place}, {text});" if buffer.atomic else f"{place} = {text};"
            case Atomic(op=op, buffer=buffer, index=index, value=value, result=result):
                old = "" if result is None else f"let {self.name_of(result, result.name)} = "
                place = f"{self.name_of(buffer, buffer.name)}[{self.show(index)}]"
                yield f"{old}atomic{op}(&{place}, {self.show(value)});"
            case If(condition=condition, then=then, orelse=orelse):
                yield f"if ({self.show(condition)}) {{"
                yield from self.block(then, depth + 1)
                if orelse:
                    yield "} else {"
                    yield from self.block(orelse, depth + 1)
                yield "}"
            case For():
                yield self.loop_head(stmt)
                yield from self.block(stmt.body, depth + 1)
                yield "}"
            case Barrier(storage=storage):
                yield "storageBarrier();" if storage else "workgroupBarrier();"
            case Comment(text=text):
                yield f"// {text}"
            case _:
                assert_never(stmt)

    def loop_head(self, loop: For) -> str:
        name = self.name_of(loop.var, loop.var.name)
        one = isinstance(loop.step, Const) and loop.step.value == 1
        step = f"{name}++" if one else f"{name} += {self.show(loop.step)}"
        return f"for (var {name} = {self.show(loop.start)}; {name} < {self.show(loop.stop, SUM)}; {step}) {{"

    def show(self, value: Expr, outer: int = 0) -> str:
        """`value` as text that may stand where an operator of strength `outer` holds it."""
        match value:
            case Const(value=number, dtype=dtype):
                text = literal(number, dtype)
                return f"({text})" if text.startswith("-") and outer > SUM else text
            case Var(name=name):
                return self.name_of(value, name)
            case Builtin(name=name):
                root, _, axis = name.partition(".")
                return _BUILTINS[root][0] + (f".{axis}" if axis else "")
            case Param(name=name):
                text = f"params.{self.name_of(value, name)}"
                return f"f16({text})" if value.dtype is f16 else text
            case Binary(op=op, left=left, right=right):
                return self.binary(value, op, left, right, outer)
            case Unary(op=op, value=operand):
                return f"{op}{self.show(operand, PRIMARY)}"
            case Select(condition=condition, then=then, other=other):
                return f"select({self.arguments(other, then, condition)})"
            case Cast(value=operand, bits=bits):
                name = type_name(value.dtype, value.lanes)
                return f"bitcast<{name}>({self.show(operand)})" if bits else f"{name}({self.show(operand)})"
            case Call(args=args):
                return f"{self.function(value)}({self.arguments(*args)})"
            case Load(buffer=buffer, index=index):
                text = f"{self.name_of(buffer, buffer.name)}[{self.show(index)}]"
                return f"atomicLoad(&{text})" if buffer.atomic else text
            case Vector(items=items):
                inside = items[:1] if all(x is items[0] for x in items) else items
                return f"{type_name(value.dtype, value.lanes)}({self.arguments(*inside)})"
            case Component(value=whole, lane=lane):
                text = self.show(whole, PRIMARY)
                return f"{text}[{self.show(lane)}]" if isinstance(lane, Expr) else f"{text}.{'xyzw'[lane]}"
        raise AssertionError(f"{type(value).__name__} has no spelling")

    def arguments(self, *values: Expr) -> str:
        """Arguments. Comparisons but the last are in parentheses: `f(a < b, c > d)` would be read as f(a<b, c>(d))."""
        texts = [self.show(x, PRIMARY if x.dtype.kind == "b" else 0) for x in values[:-1]]
        return ", ".join([*texts, self.show(values[-1])])

    def binary(self, value: Expr, op: str, left: Expr, right: Expr, outer: int) -> str:
        """Operands of equal strength in parentheses on the right; and wherever WGSL or a reader wants them."""
        if left.dtype.kind == "b" and op in ("&", "|"):
            spelled, binds = op * 2, LOGIC
        else:
            spelled, binds = "/" if op == "//" else op, _BINDS[op]
        first, second = binds, binds + 1
        if binds in (SHIFT, BITS):
            first, second = (binds if _op(left) == op and op not in ("<<", ">>") else UNARY), UNARY
        elif binds == COMPARISON:
            first = second = SUM  # `a < b >> c` would be read as a list of types, a<b>
        elif binds == LOGIC:
            first = LOGIC if _op(left) == op else COMPARISON
            second = COMPARISON
        elif binds == PRODUCT and _op(left) in ("*", "/", "//", "%") and not (op == "*" == _op(left)):
            first = UNARY
        text = f"{self.show(left, first)} {spelled} {self.show(right, second)}"
        return f"({text})" if binds < outer else text

    def function(self, node: Call) -> str:
        if node.name not in _HELPERS:
            return node.name
        kind = type_name(node.dtype, node.lanes)
        name = self.name_of(
            (node.name, kind), f"{node.name}_{node.dtype}" + (f"x{node.lanes}" if node.lanes > 1 else "")
        )
        self.helpers[name] = (
            f"fn {name}(a: {kind}, b: {kind}) -> {kind} {{  // NaN if either operand is\n"
            f"{INDENT}return select({_HELPERS[node.name]}, a + b, !((a == a) & (b == b)));\n}}\n"
        )
        return name


def _op(value: Expr) -> str:
    return value.op if isinstance(value, Binary) else ""


class _Sketch(_Printer):
    """A printer for messages: of an expression too long or too deep for one it leaves out the rest."""

    left, levels = 400, 64

    def show(self, value: Expr, outer: int = 0) -> str:
        if self.left == 0 or self.levels == 0:
            return "..."
        self.left, self.levels = self.left - 1, self.levels - 1
        text = super().show(value, outer)
        self.levels += 1
        return text


Expr.written = staticmethod(show)
