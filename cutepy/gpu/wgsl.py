"""WGSL, written from a lowered kernel. The only file that knows the language; it decides nothing.

Two dialects, "naga" (wgpu) and "tint" (Chromium, Dawn), differ in one line: Tint wants `enable subgroups;` where naga,
as of version 29, refuses it. Sources: the grammar of https://www.w3.org/TR/WGSL/ and what both compilers accept."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ..ops.functions import BY_WGSL, Word
from ..tensor.dtypes import DType, MatrixType, f16, f32, u32
from . import ir
from .ir.operators import SUBGROUP
from .runtime.program import MATRICES
from .runtime.program import Dialect as Dialect
from .wgsl_words import MATRIX_HEADER, RESERVED, literal, matrix_load, matrix_name, matrix_operation, matrix_store

_HELPERS = {"nan_min": "min(a, b)", "nan_max": "max(a, b)"}

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
#: What updates of floats compute of the element and the value: WGSL has atomics of integers alone.
OF_FLOATS = {"Add": "{} + {}", "Sub": "{} - {}", "Min": "min({}, {})", "Max": "max({}, {})"}
INDENT = "    "


@dataclass(frozen=True, slots=True)
class Source:
    """A text in WGSL, the name of its function (the kernel's own, unless WGSL reserves that), the features it needs."""

    text: str
    entry: str
    needs: tuple[str, ...]


def write_wgsl(kernel: ir.Kernel, dialect: Dialect = "naga", *, guarded: bool = False, to_run: bool = False) -> Source:
    """A kernel that `lower` has prepared, in WGSL; `guarded` keeps every index in its array, whatever it is."""
    printer = Printer(kernel, dialect, guarded)
    if to_run and dialect != "tint" and MATRICES in printer.needs:  # wgpu grants no matrices yet: Dawn runs them
        printer = Printer(kernel, "tint", guarded)
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
    return _Sketch(ir.Kernel("expression", (), ()), "tint").show(value)


def type_name(dtype: DType, lanes: int = 1, dialect: Dialect = "tint") -> str:
    """How WGSL calls a type."""
    if isinstance(dtype, MatrixType):
        return matrix_name(dtype, dialect)
    return dtype.name if lanes == 1 else f"vec{lanes}<{dtype.name}>"


def _features(kernel: ir.Kernel, seen: Iterable[ir.Expr]) -> tuple[str, ...]:
    """The device features that a kernel needs, by their WebGPU names."""
    arrays = {b.dtype for b in (*kernel.buffers, *kernel.local)}
    types = {n.dtype for n in seen}
    matrices = [dtype for dtype in types if isinstance(dtype, MatrixType)]
    half = f16 in arrays | types or any(dtype.element is f16 for dtype in matrices)
    named = {n.name for n in seen if isinstance(n, (ir.Call, ir.Builtin))}
    together = not named.isdisjoint(SUBGROUP) or any("subgroup" in name for name in named) or bool(matrices)
    return ("shader-f16",) * half + ("subgroups",) * together + (MATRICES,) * bool(matrices)


class Printer:
    """The text of one kernel."""

    def __init__(self, kernel: ir.Kernel, dialect: Dialect, guarded: bool = False) -> None:
        self.kernel, self.dialect, self.guarded = kernel, dialect, guarded
        self.names: dict[object, str] = {}
        seen = ir.all_nodes(kernel.body)
        self.needs = _features(kernel, seen)
        used = {n.name.partition(".")[0] for n in seen if isinstance(n, ir.Builtin)}
        self.first = ""
        if dialect == "tint" and "subgroup_id" in used and MATRICES in self.needs:
            # known to be the same for all threads of a subgroup, which a built-in value is not
            self.first = f"let subgroup = subgroupBroadcastFirst(tid / {kernel.lanes}u);"
            used |= {"local_invocation_index"}
        self.builtins = [name for name in _BUILTINS if name in used]
        self.taken = RESERVED | (BY_WGSL.keys() - _HELPERS.keys()) | {"params", "Params"}
        self.taken |= {_BUILTINS[name][0] for name in used}
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
        if MATRICES in self.needs:
            lines += MATRIX_HEADER[self.dialect]
        lines += [""] * (not lines[-1] == "")
        lines += declared + list(self.helpers.values())
        sizes = ", ".join(str(n) for n in kernel.workgroup[: 3 if kernel.workgroup[2] > 1 else 2])
        sizes = str(kernel.workgroup[0]) if kernel.workgroup[1:] == (1, 1) else sizes
        asked = [name for name in self.builtins if name != "subgroup_id" or not self.first]
        inputs = ", ".join(f"@builtin({n}) {_BUILTINS[n][0]}: {_BUILTINS[n][1]}" for n in asked)
        body = [INDENT + self.first, *body] if self.first else body
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
            yield "struct Params {"
            for p in self.kernel.params:
                yield f"{INDENT}{self.name_of(p, p.name)}: {type_name(p.dtype.accumulator)},"
            yield from ("}", "@group(1) @binding(0) var<uniform> params: Params;", "")

    def element(self, buffer: ir.Buffer) -> str:
        dtype = u32 if buffer.atomic and buffer.dtype is f32 else buffer.dtype  # there are no atomic floats: their bits
        name = type_name(dtype, buffer.width)
        return f"atomic<{name}>" if buffer.atomic else name

    def sized(self, buffer: ir.Buffer) -> str:
        return f"array<{self.element(buffer)}, {-(-buffer.length // buffer.width)}>"

    def block(self, block: ir.Block, depth: int) -> Iterator[str]:
        if depth == 1:
            for buffer in self.kernel.local:
                if buffer.space == "private":
                    yield f"{INDENT}var {self.name_of(buffer, buffer.name)}: {self.sized(buffer)};"
        for stmt in block:
            for line in LINES[type(stmt)](self, stmt, depth):
                yield INDENT * depth + line if not line.startswith(INDENT) and line else line

    def declare(self, stmt: ir.Declare, depth: int) -> Iterator[str]:
        var, value = stmt.var, stmt.value
        start = f": {type_name(var.dtype, var.lanes, self.dialect)}" if value is None else f" = {self.show(value)}"
        yield f"var {self.name_of(var, var.name)}{start};"

    def assign(self, stmt: ir.Assign, depth: int) -> Iterator[str]:
        part = "" if stmt.lane is None else f".{'xyzw'[stmt.lane]}"
        yield f"{self.name_of(stmt.var, stmt.var.name)}{part} = {self.show(stmt.value)};"

    def store(self, stmt: ir.Store, depth: int) -> Iterator[str]:
        place, text = self.element_of(stmt.buffer, stmt.index), self.show(stmt.value)
        if stmt.buffer.atomic and stmt.buffer.dtype is f32:
            text = f"bitcast<u32>({text})"
        yield f"atomicStore(&{place}, {text});" if stmt.buffer.atomic else f"{place} = {text};"

    def atomic(self, stmt: ir.Atomic, depth: int) -> Iterator[str]:
        place, value, real = self.element_of(stmt.buffer, stmt.index), self.show(stmt.value), stmt.buffer.dtype is f32
        name = "" if stmt.result is None else self.name_of(stmt.result, stmt.result.name)
        if stmt.compare is not None or (real and stmt.op in OF_FLOATS):
            yield from self.exchanging(stmt, place, name, INDENT * (depth + 1))
            return
        put = "" if stmt.op == "Load" else f", bitcast<u32>({value})" if real else f", {value}"
        call = f"atomic{stmt.op}(&{place}{put})"
        bound = f"let {name} = " if name else "_ = " if stmt.op == "Load" else ""
        yield f"{bound}{f'bitcast<f32>({call})' if real and name else call};"

    def exchanging(self, stmt: ir.Atomic, place: str, name: str, indent: str) -> Iterator[str]:
        """A loop of compare-exchanges, until one of them succeeds, or finds another value than it is to replace: what
        WGSL's own may fail to do for no reason."""
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
            yield f"var {bits} = atomicLoad(&{place});"
        yield "loop {"
        yield f"{indent}let {tried} = atomicCompareExchangeWeak(&{place}, {wanted}, {new});"
        if stmt.compare is not None:
            yield f"{indent}{bits} = {tried}.old_value;"
            yield f"{indent}if ({tried}.exchanged{ends}) {{ break; }}"
        else:
            yield f"{indent}if ({tried}.exchanged) {{ break; }}"
            yield f"{indent}{bits} = {tried}.old_value;"
        yield "}"
        if name and real:
            yield f"let {name} = bitcast<f32>({bits});"

    def branch(self, stmt: ir.If, depth: int) -> Iterator[str]:
        yield f"if ({self.show(stmt.condition)}) {{"
        yield from self.block(stmt.then, depth + 1)
        if stmt.orelse:
            yield "} else {"
            yield from self.block(stmt.orelse, depth + 1)
        yield "}"

    def loop(self, stmt: ir.For, depth: int) -> Iterator[str]:
        body = stmt.body
        if stmt.stop is not None:
            name = self.name_of(stmt.var, stmt.var.name)
            one = isinstance(stmt.step, ir.Const) and stmt.step.value == 1
            step = f"{name}++" if one else f"{name} += {self.show(stmt.step)}"
            yield f"for (var {name} = {self.show(stmt.start)}; {name} < {self.show(stmt.stop, SUM)}; {step}) {{"
        elif isinstance(first := body[0], ir.Break) and not first.last:
            yield f"while ({self.show(ir.negated(first.condition))}) {{"
            body = body[1:]
        else:
            yield "loop {"
        yield from self.block(body, depth + 1)
        yield "}"

    def leave(self, stmt: ir.Break, depth: int) -> Iterator[str]:
        if isinstance(stmt.condition, ir.Const) and stmt.condition.value:
            yield from self.block(stmt.last, depth)
            yield "break;"
            return
        yield f"if ({self.show(stmt.condition)}) {{"
        yield from self.block(stmt.last, depth + 1)
        yield INDENT * (depth + 1) + "break;"
        yield "}"

    def show(self, value: ir.Expr, outer: int = 0) -> str:
        """`value` as text that may stand where an operator of strength `outer` holds it."""
        return SPELLINGS[type(value)](self, value, outer)

    def constant(self, value: ir.Const, outer: int) -> str:
        text = literal(value.value, value.dtype)
        return f"({text})" if text.startswith("-") and outer > SUM else text

    def builtin(self, value: ir.Builtin, outer: int) -> str:
        root, _, axis = value.name.partition(".")
        return _BUILTINS[root][0] + (f".{axis}" if axis else "")

    def param(self, value: ir.Param, outer: int) -> str:
        text = f"params.{self.name_of(value, value.name)}"
        return f"f16({text})" if value.dtype is f16 else text

    def cast(self, value: ir.Cast, outer: int) -> str:
        name = type_name(value.dtype, value.lanes)
        return f"bitcast<{name}>({self.show(value.value)})" if value.bits else f"{name}({self.show(value.value)})"

    def load(self, value: ir.Load, outer: int) -> str:
        text = self.element_of(value.buffer, value.index)
        if value.buffer.atomic:
            text = f"atomicLoad(&{text})"
            return f"bitcast<f32>({text})" if value.dtype is f32 else text
        return text

    def load_matrix(self, value: ir.MatrixLoad, outer: int) -> str:
        name, kind = self.name_of(value.buffer, value.buffer.name), matrix_name(value.dtype, self.dialect)
        return matrix_load(self.dialect, kind, name, self.show(value.index), value)

    def store_matrix(self, stmt: ir.MatrixStore, depth: int) -> Iterator[str]:
        name, texts = self.name_of(stmt.buffer, stmt.buffer.name), (self.show(stmt.index), self.show(stmt.value))
        yield matrix_store(self.dialect, name, *texts, stmt)

    def call_matrix(self, value: ir.MatrixCall, outer: int) -> str:
        return matrix_operation(self.dialect, value, [self.show(x) for x in value.operands])

    def vector(self, value: ir.Vector, outer: int) -> str:
        items = value.items
        inside = items[:1] if all(x is items[0] for x in items) else items
        return f"{type_name(value.dtype, value.lanes)}({self.arguments(*inside)})"

    def component(self, value: ir.Component, outer: int) -> str:
        text, lane = self.show(value.value, PRIMARY), value.lane
        if isinstance(lane, ir.Expr):
            return f"{text}[{self.index(lane, value.value.lanes)}]"
        return f"{text}.{'xyzw'[lane]}"

    def element_of(self, buffer: ir.Buffer, index: ir.Expr) -> str:
        return f"{self.name_of(buffer, buffer.name)}[{self.index(index, -(-buffer.length // buffer.width))}]"

    def index(self, index: ir.Expr, length: int) -> str:
        """An index into so many elements; guarded, one beyond them is the last, as in a runtime's checks."""
        if not self.guarded or (isinstance(index, ir.Const) and 0 <= index.value < length):
            return self.show(index)
        text = self.show(index) if index.dtype is u32 else f"u32({self.show(index)})"
        return f"min({text}, {max(length, 1) - 1}u)"

    def arguments(self, *values: ir.Expr) -> str:
        """Arguments. Comparisons but the last are in parentheses: `f(a < b, c > d)` would be read as f(a<b, c>(d))."""
        texts = [self.show(x, PRIMARY if x.dtype.kind == "b" else 0) for x in values[:-1]]
        return ", ".join([*texts, self.show(values[-1])])

    def binary(self, value: ir.Binary, outer: int) -> str:
        """Operands of equal strength in parentheses on the right; and wherever WGSL or a reader wants them."""
        op, left, right = value.op, value.left, value.right
        left_op = left.op if isinstance(left, ir.Binary) else ""
        if left.dtype.kind == "b" and op in ("&", "|"):
            spelled, binds = op * 2, LOGIC
        else:
            spelled, binds = "/" if op == "//" else op, _BINDS[op]
        first, second = binds, binds + 1
        if binds in (SHIFT, BITS):
            first, second = (binds if left_op == op and op not in ("<<", ">>") else UNARY), UNARY
        elif binds == COMPARISON:
            first = second = SUM  # `a < b >> c` would be read as a list of types, a<b>
        elif binds == LOGIC:
            first = LOGIC if left_op == op else COMPARISON
            second = COMPARISON
        elif binds == PRODUCT and left_op in ("*", "/", "//", "%") and not (op == "*" == left_op):
            first = UNARY
        text = f"{self.show(left, first)} {spelled} {self.show(right, second)}"
        return f"({text})" if binds < outer else text

    def call(self, node: ir.Call, outer: int) -> str:
        inside = self.arguments(*node.args)
        if isinstance(word := BY_WGSL.get(node.name), Word) and word.joined:
            inside = f"{type_name(node.args[0].dtype, len(node.args))}({inside})"
        return f"{self.function(node)}({inside})"

    def function(self, node: ir.Call) -> str:
        if node.name not in _HELPERS:
            return node.name
        kind = type_name(node.dtype, node.lanes)
        name = self.name_of((node.name, kind), f"{node.name}_{node.dtype}" + f"x{node.lanes}" * (node.lanes > 1))
        bits, wide = (type_name(dtype, node.lanes) for dtype in (u32, f32))
        a, b = (x if node.dtype is f32 else f"{wide}({x})" for x in "ab")
        one, infinite = (x if node.lanes == 1 else f"{bits}({x})" for x in ("1u", "0xff000000u"))
        found = f"bitcast<{wide}>(most >> {one})"
        nan = found if node.dtype is f32 else f"{kind}({found})"
        self.helpers[name] = (  # a compiler may take a == a to be true, and a + b to be 0 where b is -a
            f"fn {name}(a: {kind}, b: {kind}) -> {kind} {{  // NaN if either operand is, told by its bits\n"
            f"{INDENT}let most = max(bitcast<{bits}>({a}) << {one}, bitcast<{bits}>({b}) << {one});\n"
            f"{INDENT}return select({_HELPERS[node.name]}, {nan}, most > {infinite});\n}}\n"
        )
        return name


#: How each kind of expression is written where an operator of some strength holds it.
SPELLINGS: dict[type[ir.Expr], Callable[[Any, Any, int], str]] = {
    ir.Const: Printer.constant,
    ir.Var: lambda printer, value, outer: printer.name_of(value, value.name),
    ir.Builtin: Printer.builtin,
    ir.Param: Printer.param,
    ir.Binary: Printer.binary,
    ir.Unary: lambda printer, value, outer: f"{value.op}{printer.show(value.value, PRIMARY)}",
    ir.Select: lambda printer, value, outer: f"select({printer.arguments(value.other, value.then, value.condition)})",
    ir.Cast: Printer.cast,
    ir.Call: Printer.call,
    ir.Load: Printer.load,
    ir.MatrixLoad: Printer.load_matrix,
    ir.MatrixCall: Printer.call_matrix,
    ir.Vector: Printer.vector,
    ir.Component: Printer.component,
}

#: The lines of each kind of statement, at a depth of blocks.
LINES: dict[type[ir.Stmt], Callable[[Any, Any, int], Iterable[str]]] = {
    ir.Let: lambda to, stmt, depth: [f"let {to.name_of(stmt.var, stmt.var.name)} = {to.show(stmt.value)};"],
    ir.Declare: Printer.declare,
    ir.Assign: Printer.assign,
    ir.Store: Printer.store,
    ir.MatrixStore: Printer.store_matrix,
    ir.Atomic: Printer.atomic,
    ir.If: Printer.branch,
    ir.For: Printer.loop,
    ir.Break: Printer.leave,
    ir.Barrier: lambda printer, stmt, depth: ["storageBarrier();" if stmt.storage else "workgroupBarrier();"],
    ir.Comment: lambda printer, stmt, depth: [f"// {stmt.text}"],
}


class _Sketch(Printer):
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


ir.Expr.written = staticmethod(show)
