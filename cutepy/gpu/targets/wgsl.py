"""WGSL, written from a lowered kernel. The only file that knows the language; it decides nothing.

What its two compilers, naga (wgpu) and Tint (Chromium, Dawn), want written differently is a `Target` of `wgsl_tokens`.
Sources: the grammar of https://www.w3.org/TR/WGSL/ and what both compilers accept."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

from ...tensor.dtypes import MATRIX_BYTES, DType, MatrixType, f16, f32, u32
from ...tensor.functions import IR_FUNCTIONS, Word
from .. import ir
from ..ir.operators import SUBGROUP
from ..runtime.program import MATRICES
from ..runtime.program import Dialect as Dialect
from .printer import INDENT, SUM, Printer
from .wgsl_tokens import RESERVED, TARGETS, TINT, Target, literal, matrix_name, matrix_operation, spelling

#: Functions of the IR that WGSL has not: the text defines them, by this of a and b where neither is NaN.
_HELPERS = {"nan_min": "min(a, b)", "nan_max": "max(a, b)"}
#: Names that no variable of a text has.
_TAKEN = RESERVED | set(map(spelling, IR_FUNCTIONS.keys() - _HELPERS.keys())) | {"params", "Params"}

#: Ids by the IR's names, which are WGSL's attributes: the name in the text, and its type.
_IDS = {
    "workgroup_id": ("group", "vec3<u32>"),
    "local_invocation_index": ("tid", "u32"),
    "num_workgroups": ("groups", "vec3<u32>"),
    "subgroup_size": ("subgroup_size", "u32"),
    "subgroup_invocation_id": ("lane", "u32"),
    "subgroup_id": ("subgroup", "u32"),
    "num_subgroups": ("num_subgroups", "u32"),
}
#: What updates of floats compute of the element and the value: WGSL has atomics of integers alone.
OF_FLOATS = {"Add": "{} + {}", "Sub": "{} - {}", "Min": "min({}, {})", "Max": "max({}, {})"}


@dataclass(frozen=True, slots=True)
class Source:
    """A text in WGSL, the name of its function (the kernel's own, unless WGSL reserves that), the features it needs."""

    text: str
    entry: str
    needs: tuple[str, ...]


def write_wgsl(
    kernel: ir.Kernel, dialect: Dialect = "naga", *, guarded: bool = False, to_run: bool = False, sized: bool = False
) -> Source:
    """A kernel that `lower` has prepared, in WGSL; `guarded` keeps every index in its array, whatever it is, `sized`
    requires the size of a subgroup that the kernel asks for, where a device has subgroup-size-control."""
    # The features are known after the whole kernel was scanned, so a printer says whether another dialect must run it.
    printer = WgslPrinter(kernel, TARGETS[dialect], guarded, kernel.subgroup if sized else 0)
    if to_run and dialect != "tint" and MATRICES in printer.needs:  # wgpu grants no matrices yet: Dawn runs them
        printer = WgslPrinter(kernel, TINT, guarded)
    return Source(printer.text(), printer.entry, printer.needs)


def print_wgsl(kernel: ir.Kernel, dialect: Dialect = "naga") -> str:
    """The text of `write_wgsl`."""
    return write_wgsl(kernel, dialect).text


def show(value: ir.Expr) -> str:
    """One expression as WGSL, with variables under their own names.

    >>> from cutepy.gpu.ir import var
    >>> tid = var("tid")
    >>> show(tid // 4 * 16 + (tid % 4 | 1))
    '(tid / 4u) * 16u + ((tid % 4u) | 1u)'
    """
    return _Sketch(ir.Kernel("expression", (), ()), TINT).show(value)


def _features(kernel: ir.Kernel, seen: Iterable[ir.Expr]) -> tuple[str, ...]:
    """The device features that a kernel needs, by their WebGPU names."""
    arrays = {b.dtype for b in (*kernel.buffers, *kernel.local)}
    types = {n.dtype for n in seen}
    matrices = [dtype for dtype in types if isinstance(dtype, MatrixType)]
    half = f16 in arrays | types or any(dtype.element is f16 for dtype in matrices)
    named = {n.name for n in seen if isinstance(n, (ir.Call, ir.Builtin))}
    together = not named.isdisjoint(SUBGROUP) or any("subgroup" in name for name in named) or bool(matrices)
    return ("shader-f16",) * half + ("subgroups",) * together + (MATRICES,) * bool(matrices)


class WgslPrinter(Printer):
    """The text of one kernel in WGSL, for one of its compilers."""

    LANGUAGE = "WGSL"
    IDS: ClassVar = {name: spelled for name, (spelled, _) in _IDS.items()}

    def __init__(self, kernel: ir.Kernel, target: Target, guarded: bool = False, subgroup: int = 0) -> None:
        seen = ir.all_nodes(kernel.body)
        used = {n.name for n in seen if isinstance(n, ir.Builtin)}
        self.target, self.subgroup = target, subgroup
        self.needs = _features(kernel, seen)
        self.first = ""
        if target.divergent_subgroup_id and "subgroup_id" in used and MATRICES in self.needs:
            # Equal for all threads of a subgroup; of the built-in value Tint's uniformity analysis denies that.
            self.first = f"let subgroup = subgroupBroadcastFirst(tid / {kernel.lanes}u);"
            used |= {"local_invocation_index"}
        super().__init__(kernel, _TAKEN | {_IDS[name][0] for name in used}, guarded=guarded)
        self.asked = [name for name in _IDS if name in used]
        self.helpers: dict[str, str] = {}
        self.agreed = False
        self.entry = self.name_of(kernel, kernel.name)

    # The kernel.

    def text(self) -> str:
        kernel = self.kernel
        # Declarations and body first: they claim names, and ask for the helper functions that stand between them.
        declared = list(self.declarations())
        body = [*self.private(), *self.block(kernel.body, 1)]
        lines = [f"// {kernel.name}", *[f"// {note}" for note in kernel.notes], ""]
        lines += ["enable f16;"] * ("shader-f16" in self.needs)
        lines += self.target.header if "subgroups" in self.needs else ()
        lines += ["enable subgroup_size_control;"] * bool(self.subgroup)
        lines += self.target.matrix_header if MATRICES in self.needs else ()
        # One blank line after the directives.
        lines += [""] * (not lines[-1] == "")
        lines += declared + list(self.helpers.values())
        # As few dimensions as the workgroup has.
        sizes = ", ".join(str(n) for n in kernel.workgroup[: 3 if kernel.workgroup[2] > 1 else 2])
        sizes = str(kernel.workgroup[0]) if kernel.workgroup[1:] == (1, 1) else sizes
        # `subgroup_id` is no input where the first line computes it.
        asked = [name for name in self.asked if name != "subgroup_id" or not self.first]
        inputs = ", ".join(f"@builtin({n}) {_IDS[n][0]}: {_IDS[n][1]}" for n in asked)
        body = [INDENT + self.first, *body] if self.first else body
        size = f" @subgroup_size({self.subgroup})" * bool(self.subgroup)
        lines += [f"@compute @workgroup_size({sizes}){size}", f"fn {self.entry}({inputs}) {{", *body, "}"]
        return "\n".join(lines) + "\n"

    def declarations(self) -> Iterator[str]:
        for i, buffer in enumerate(self.kernel.buffers):
            access = "read_write" if buffer.writable or buffer.in_order else "read"
            note = f"  // {buffer.note}" if buffer.note else ""
            name = self.name_of(buffer, buffer.name)
            yield f"@group(0) @binding({i}) var<storage, {access}> {name}: array<{self.element(buffer)}>;{note}"
        for buffer in self.kernel.local:
            if buffer.space == ir.AddressSpace.WORKGROUP:
                note = f"  // {buffer.note}" if buffer.note else ""
                yield f"var<workgroup> {self.name_of(buffer, buffer.name)}: {self.sized(buffer)};{note}"
            elif buffer.space == ir.AddressSpace.CONSTANT:
                yield f"const {self.name_of(buffer, buffer.name)} = {self.sized(buffer)}({self.numbers(buffer)});"
        yield ""
        # f16 is no uniform type everywhere: such a parameter is an f32 member.
        if self.kernel.params:
            yield "struct Params {"
            for p in self.kernel.params:
                yield f"{INDENT}{self.name_of(p, p.name)}: {self.type_name(p.dtype.accumulator)},{self.said_of(p)}"
            yield from ("}", f"@group(0) @binding({len(self.kernel.buffers)}) var<uniform> params: Params;", "")

    def private(self) -> Iterator[str]:
        for buffer in self.kernel.local:
            if buffer.space == ir.AddressSpace.PRIVATE:
                yield f"{INDENT}var {self.name_of(buffer, buffer.name)}: {self.sized(buffer)};"

    def element(self, buffer: ir.Buffer) -> str:
        dtype = (
            u32 if buffer.atomic and buffer.dtype is f32 else buffer.dtype
        )  # WGSL has no atomic floats: their bits are updated
        name = self.type_name(dtype, buffer.width)
        return f"atomic<{name}>" if buffer.atomic else name

    def sized(self, buffer: ir.Buffer) -> str:
        """The type of a workgroup or private array. Drivers pack workgroup variables one after the other, so beside
        matrices each takes a multiple of 16 bytes: then all of them begin at one."""
        count = -(-buffer.length // buffer.width)
        if buffer.space == ir.AddressSpace.WORKGROUP and MATRICES in self.needs:
            # Elements in 16 bytes.
            unit = max(1, MATRIX_BYTES // (buffer.width * buffer.dtype.bytes))
            count = -(-count // unit) * unit
        return f"array<{self.element(buffer)}, {count}>"

    # Words.

    def literal(self, value: ir.Const) -> str:
        return literal(value.value, value.dtype)

    def spelling(self, name: str) -> str:
        return spelling(name)

    def type_name(self, dtype: DType, lanes: int = 1) -> str:
        if isinstance(dtype, MatrixType):
            return matrix_name(dtype, self.target)
        return dtype.name if lanes == 1 else f"vec{lanes}<{dtype.name}>"

    def declared(self, var: ir.Var, value: ir.Expr | None) -> str:
        start = f": {self.type_name(var.dtype, var.lanes)}" if value is None else f" = {self.show(value)}"
        return f"var {self.name_of(var, var.name)}{start};"

    def bound(self, var: ir.Var, value: ir.Expr) -> str:
        return f"let {self.name_of(var, var.name)} = {self.show(value)};"

    def counter(self, stmt: ir.For) -> str:
        return f"var {self.name_of(stmt.var, stmt.var.name)} = {self.show(stmt.start)}"

    def endless(self) -> str:
        return "loop {"

    # Statements.

    def lines_Store(self, stmt: ir.Store, depth: int) -> Iterator[str]:
        element, text = self.element_of(stmt.buffer, stmt.index), self.show(stmt.value)
        if stmt.buffer.atomic and stmt.buffer.dtype is f32:
            text = f"bitcast<u32>({text})"
        yield f"atomicStore(&{element}, {text});" if stmt.buffer.atomic else f"{element} = {text};"

    def lines_Atomic(self, stmt: ir.Atomic, depth: int) -> Iterator[str]:
        element, value = self.element_of(stmt.buffer, stmt.index), self.show(stmt.value)
        real = stmt.buffer.dtype is f32
        name = "" if stmt.result is None else self.name_of(stmt.result, stmt.result.name)
        if stmt.compare is not None or (real and stmt.op in OF_FLOATS):
            yield from self.compare_exchange(stmt, element, name, INDENT * (depth + 1))
            return
        put = "" if stmt.op == "Load" else f", bitcast<u32>({value})" if real else f", {value}"
        call = f"atomic{stmt.op}(&{element}{put})"
        bound = f"let {name} = " if name else "_ = " if stmt.op == "Load" else ""
        yield f"{bound}{f'bitcast<f32>({call})' if real and name else call};"

    def compare_exchange(self, stmt: ir.Atomic, element: str, name: str, indent: str) -> Iterator[str]:
        """A loop of compare-exchanges, until one of them succeeds, or reads another value than it is to replace: WGSL's
        own may fail though the values are equal."""
        real, value = stmt.buffer.dtype is f32, self.show(stmt.value)
        bits = self.name_of((stmt, "bits"), "bits") if real or not name else name
        tried = self.name_of((stmt, "tried"), "tried")
        if stmt.compare is not None:
            wanted = self.name_of((stmt, "wanted"), "wanted")
            as_bits = "bitcast<u32>({})" if real else "{}"
            yield f"let {wanted} = {as_bits.format(self.show(stmt.compare))};"
            yield f"var {bits} = {wanted};"
            new, ends = as_bits.format(value), f" || {bits} != {wanted}"
        else:
            wanted, ends = bits, ""
            updated = OF_FLOATS[stmt.op].format(f"bitcast<f32>({bits})", self.show(stmt.value, SUM + 1))
            new = f"bitcast<u32>({updated})"
            yield f"var {bits} = atomicLoad(&{element});"
        yield "loop {"
        yield f"{indent}let {tried} = atomicCompareExchangeWeak(&{element}, {wanted}, {new});"
        if stmt.compare is not None:
            yield f"{indent}{bits} = {tried}.old_value;"
            yield f"{indent}if ({tried}.exchanged{ends}) {{ break; }}"
        else:
            yield f"{indent}if ({tried}.exchanged) {{ break; }}"
            yield f"{indent}{bits} = {tried}.old_value;"
        yield "}"
        if name and real:
            yield f"let {name} = bitcast<f32>({bits});"

    def lines_MatrixStore(self, stmt: ir.MatrixStore, depth: int) -> Iterator[str]:
        yield self.target.matrix_store.format(value=self.show(stmt.value), **self.window(stmt))

    def window(self, access: ir.MatrixLoad | ir.MatrixStore) -> dict[str, object]:
        """Where a matrix lies in its array."""
        name, order = self.name_of(access.buffer, access.buffer.name), self.target.orders[not access.by_columns]
        return {"name": name, "index": self.show(access.index), "order": order, "stride": access.stride}

    def lines_Barrier(self, stmt: ir.Barrier, depth: int) -> Iterator[str]:
        yield "storageBarrier();" if stmt.storage else "workgroupBarrier();"

    def lines_UniformLoad(self, stmt: ir.UniformLoad, depth: int) -> Iterator[str]:
        self.agreed = True
        yield self.bound(stmt.var, stmt.value)
        self.agreed = False

    # Expressions.

    def show_Cast(self, value: ir.Cast, outer: int) -> str:
        name = self.type_name(value.dtype, value.lanes)
        return f"bitcast<{name}>({self.show(value.value)})" if value.bits else f"{name}({self.show(value.value)})"

    def show_Binary(self, value: ir.Binary, outer: int) -> str:
        if value.op == "!=" and value.left.dtype.kind == "f":  # with a NaN naga's `!=` is false, and `==` too
            return f"!({self.show(value.left, SUM)} == {self.show(value.right, SUM)})"
        return super().show_Binary(value, outer)

    def show_Select(self, value: ir.Select, outer: int) -> str:
        return f"select({self.arguments(value.other, value.then, value.condition)})"

    def show_Load(self, value: ir.Load, outer: int) -> str:
        text = self.element_of(value.buffer, value.index)
        if self.agreed and value.buffer.space == ir.AddressSpace.WORKGROUP:
            return f"workgroupUniformLoad(&{text})"
        if value.buffer.atomic:
            text = f"atomicLoad(&{text})"
            return f"bitcast<f32>({text})" if value.dtype is f32 else text
        return text

    def show_MatrixLoad(self, value: ir.MatrixLoad, outer: int) -> str:
        return self.target.matrix_load.format(type=matrix_name(value.dtype, self.target), **self.window(value))

    def show_MatrixCall(self, value: ir.MatrixCall, outer: int) -> str:
        return matrix_operation(self.target, value, [self.show(x) for x in value.operands])

    def show_Call(self, value: ir.Call, outer: int) -> str:
        inside = self.arguments(*value.args)
        if isinstance(function := IR_FUNCTIONS.get(value.name), Word) and function.joined:
            inside = f"{self.type_name(value.args[0].dtype, len(value.args))}({inside})"
        name = self.helper(value) if value.name in _HELPERS else self.spelling(value.name)
        return f"{name}({inside})"

    def helper(self, node: ir.Call) -> str:
        """The name of a function that the text defines, for these types."""
        kind = self.type_name(node.dtype, node.lanes)
        name = self.name_of((node.name, kind), f"{node.name}_{node.dtype}" + f"x{node.lanes}" * (node.lanes > 1))
        bits, wide = (self.type_name(dtype, node.lanes) for dtype in (u32, f32))
        a, b = (x if node.dtype is f32 else f"{wide}({x})" for x in "ab")
        one, infinite = (x if node.lanes == 1 else f"{bits}({x})" for x in ("1u", "0xff000000u"))
        quiet = f"bitcast<{wide}>(most >> {one})"
        nan = quiet if node.dtype is f32 else f"{kind}({quiet})"
        self.helpers[name] = (  # a compiler may take a == a to be true, and a + b to be 0 where b is -a
            f"fn {name}(a: {kind}, b: {kind}) -> {kind} {{  // NaN if either operand is, told by its bits\n"
            f"{INDENT}let most = max(bitcast<{bits}>({a}) << {one}, bitcast<{bits}>({b}) << {one});\n"
            f"{INDENT}return select({_HELPERS[node.name]}, {nan}, most > {infinite});\n}}\n"
        )
        return name


class _Sketch(WgslPrinter):
    """A printer for messages: of an expression too long or too deep for one it leaves out the rest, and of numbers for
    which WGSL has no literal it has words."""

    left, levels = 400, 64

    def show(self, value: ir.Expr, outer: int = 0) -> str:
        if self.left == 0 or self.levels == 0:
            return "..."
        self.left, self.levels = self.left - 1, self.levels - 1
        if isinstance(value, ir.Const) and value.dtype.kind == "f" and not isfinite(value.value):
            text = str(value.value)
        else:
            text = super().show(value, outer)
        self.levels += 1
        return text


ir.Expr._written = staticmethod(show)
