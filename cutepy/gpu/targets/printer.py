"""What the texts of all targets share: names, precedence of operators, blocks. A target is a class derived from this.

The text of an expression of class `Binary` is made by the method `show_Binary`, the lines of a statement of class `For`
by `lines_For`, as in `ast.NodeVisitor`: a subclass overrides what its language says otherwise. A printer decides
nothing: what it prints is a kernel that `lower` has prepared.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar

from ...errors import KernelError
from ...tensor.dtypes import DType, f16, u32
from .. import ir

#: How tightly the operators of an expression bind: C's order, but for bits, which WGSL binds apart.
PRIMARY, UNARY, PRODUCT, SUM, SHIFT, COMPARISON, BITS, LOGIC = 9, 8, 7, 6, 5, 4, 3, 2
_BINDS = {"*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "+": SUM, "-": SUM, "<<": SHIFT, ">>": SHIFT}
_BINDS |= dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), COMPARISON) | dict.fromkeys("&|^", BITS)
INDENT = "    "


class Printer(ABC):
    """The text of one kernel; `names` are the names that its things have in it."""

    #: The language, for messages.
    LANGUAGE: ClassVar[str]
    #: What ids are called, by the IR's names.
    IDS: ClassVar[Mapping[str, str]]

    def __init__(self, kernel: ir.Kernel, taken: Iterable[str], *, guarded: bool = False) -> None:
        """`taken` are the names that mean something already; `guarded` keeps every index in its array."""
        self.kernel, self.guarded = kernel, guarded
        self.names: dict[object, str] = {}
        self.taken = set(taken)
        self.counts: dict[str, int] = {}

    # What each language says its own way.

    @abstractmethod
    def literal(self, value: ir.Const) -> str:
        """The text of a number."""

    @abstractmethod
    def type_name(self, dtype: DType, lanes: int = 1) -> str:
        """The name of a type, of a vector where it has several lanes."""

    def spelling(self, name: str) -> str:
        """The language's name of a function of the IR."""
        return name

    @abstractmethod
    def declared(self, var: ir.Var, value: ir.Expr | None) -> str:
        """The declaration of a variable that may be set again."""

    @abstractmethod
    def bound(self, var: ir.Var, value: ir.Expr) -> str:
        """The declaration of a name that is never set again."""

    @abstractmethod
    def counter(self, stmt: ir.For) -> str:
        """The declaration of a loop's counter, at its start."""

    def numbers(self, buffer: ir.Buffer) -> str:
        """The numbers of a constant array."""
        return ", ".join([self.literal(ir.const(value, buffer.dtype)) for value in buffer.values])

    # Names.

    def said_of(self, param: ir.Param) -> str:
        """The comment of a parameter that the host makes of sizes, strides and offsets: its formula."""
        sizes = self.kernel.sizes
        times, word = (1, param.name) if sizes is None else sizes.words.get(param.name, (1, param.name))
        return "" if word == param.name else f"  // {word}" if times == 1 else f"  // {word} / {times}"

    def name_of(self, thing: object, wish: str = "") -> str:
        """The name of `thing` in the text: its own, with a suffix where that is reserved or taken."""
        name = self.names.get(thing)
        if name is None:
            # WGSL's identifiers: letters, digits, underscores; neither `_` alone nor a beginning with two.
            stem = re.sub(r"\W", "_", wish or "value", flags=re.ASCII)
            stem = stem if not stem[0].isdigit() and not stem.startswith("__") and stem != "_" else f"v{stem}"
            name = stem
            # The first free suffix, counted on for each stem, so that many equal names take linear time.
            while name in self.taken:
                self.counts[stem] = self.counts.get(stem, 0) + 1
                name = f"{stem}_{self.counts[stem]}"
            self.taken.add(name)
            self.names[thing] = name
        return name

    def refuse(self, what: str, place: str = "") -> KernelError:
        """The error for what the language lacks, at its line in the user's kernel."""
        return KernelError(f"{place or self.kernel.name}: {self.LANGUAGE} has no {what}")

    # Statements.

    def block(self, block: ir.Block, depth: int) -> Iterator[str]:
        for stmt in block:
            for line in self.lines(stmt, depth):
                yield INDENT * depth + line if not line.startswith(INDENT) and line else line

    def lines(self, stmt: ir.Stmt, depth: int) -> Iterable[str]:
        """The lines of a statement in a block of that depth; those of its own blocks are indented already."""
        method = getattr(self, f"lines_{type(stmt).__name__}", None)
        if method is None:
            raise self.refuse(f"counterpart of {type(stmt).__name__}", getattr(stmt, "place", ""))
        lines: Iterable[str] = method(stmt, depth)
        return lines

    def lines_Let(self, stmt: ir.Let, depth: int) -> Iterator[str]:
        yield self.bound(stmt.var, stmt.value)

    def lines_Declare(self, stmt: ir.Declare, depth: int) -> Iterator[str]:
        yield self.declared(stmt.var, stmt.value)

    def lines_Assign(self, stmt: ir.Assign, depth: int) -> Iterator[str]:
        lane = "" if stmt.lane is None else f".{'xyzw'[stmt.lane]}"
        yield f"{self.name_of(stmt.var, stmt.var.name)}{lane} = {self.show(stmt.value)};"

    def lines_If(self, stmt: ir.If, depth: int) -> Iterator[str]:
        yield f"if ({self.show(stmt.condition)}) {{"
        yield from self.block(stmt.then, depth + 1)
        if stmt.orelse:
            yield "} else {"
            yield from self.block(stmt.orelse, depth + 1)
        yield "}"

    def lines_For(self, stmt: ir.For, depth: int) -> Iterator[str]:
        body = stmt.body
        if stmt.stop is not None:
            start, name = self.counter(stmt), self.name_of(stmt.var, stmt.var.name)
            one = isinstance(stmt.step, ir.Const) and stmt.step.value == 1
            step = f"{name}++" if one else f"{name} += {self.show(stmt.step)}"
            yield f"for ({start}; {name} < {self.show(stmt.stop, SUM)}; {step}) {{"
        # loop { if (c) { break; } S } -> while (!c) { S } (requires that the break does nothing else)
        elif isinstance(first := body[0], ir.Break) and not first.last:
            yield f"while ({self.show(ir.negated(first.condition))}) {{"
            body = body[1:]
        else:
            yield self.endless()
        yield from self.block(body, depth + 1)
        yield "}"

    def endless(self) -> str:
        """The head of a loop without an end of its own."""
        return "while (true) {"

    def lines_Break(self, stmt: ir.Break, depth: int) -> Iterator[str]:
        if isinstance(stmt.condition, ir.Const) and stmt.condition.value:
            yield from self.block(stmt.last, depth)
            yield "break;"
            return
        yield f"if ({self.show(stmt.condition)}) {{"
        yield from self.block(stmt.last, depth + 1)
        yield INDENT * (depth + 1) + "break;"
        yield "}"

    def lines_Comment(self, stmt: ir.Comment, depth: int) -> Iterator[str]:
        yield f"// {stmt.text}"

    # Expressions.

    def show(self, value: ir.Expr, outer: int = 0) -> str:
        """`value` as text that may stand where an operator of strength `outer` holds it."""
        kind = type(value)
        method: Callable[[ir.Expr, int], str] | None = getattr(self, f"show_{kind.__name__}", None)
        if method is None:
            raise self.refuse(f"counterpart of {kind.__name__}", getattr(value, "place", ""))
        return method(value, outer)

    def show_Const(self, value: ir.Const, outer: int) -> str:
        text = self.literal(value)
        return f"({text})" if text.startswith("-") and outer > SUM else text

    def show_Var(self, value: ir.Var, outer: int) -> str:
        return self.name_of(value, value.name)

    show_UnknownVar = show_Var

    def show_Param(self, value: ir.Param, outer: int) -> str:
        """A member of the parameters; no uniform type everywhere is f16, so such a one is an f32 there."""
        text = f"params.{self.name_of(value, value.name)}"
        return f"{self.type_name(f16)}({text})" if value.dtype is f16 else text

    def show_Builtin(self, value: ir.Builtin, outer: int) -> str:
        return self.IDS[value.name] + ("" if value.axis is None else f".{'xyz'[value.axis]}")

    def show_Unary(self, value: ir.Unary, outer: int) -> str:
        return f"{value.op}{self.show(value.value, PRIMARY)}"

    def show_Binary(self, value: ir.Binary, outer: int) -> str:
        """Every operator is left-associative, so a right operand of equal precedence is in parentheses; further
        parentheses where WGSL requires them (shifts, bits, logic) or a reader would look twice (`a % b * c`)."""
        op, left, right = value.op, value.left, value.right
        left_op = left.op if isinstance(left, ir.Binary) else ""
        if left.dtype.kind == "b" and op in ("&", "|"):
            spelled, binds = op * 2, LOGIC
        else:
            spelled, binds = "/" if op == "//" else op, _BINDS[op]
        # The precedence that each operand must have at least to stand without parentheses.
        first, second = binds, binds + 1
        # WGSL: operands of shifts and bit operators are unary, but for a chain of one of `& | ^`.
        if binds in (SHIFT, BITS):
            first, second = (binds if left_op == op and op not in ("<<", ">>") else UNARY), UNARY
        elif binds == COMPARISON:
            first = second = SUM  # `a < b >> c` would be read as a list of types, a<b>
        elif binds == LOGIC:
            # `&&` and `||` do not mix without parentheses.
            first = LOGIC if left_op == op else COMPARISON
            second = COMPARISON
        elif binds == PRODUCT and left_op in ("*", "/", "//", "%") and not (op == "*" == left_op):
            first = UNARY
        text = f"{self.show(left, first)} {spelled} {self.show(right, second)}"
        return f"({text})" if binds < outer else text

    def show_Call(self, value: ir.Call, outer: int) -> str:
        return f"{self.spelling(value.name)}({self.arguments(*value.args)})"

    def show_Vector(self, value: ir.Vector, outer: int) -> str:
        items = value.items
        inside = items[:1] if all(x is items[0] for x in items) else items
        return f"{self.type_name(value.dtype, value.lanes)}({self.arguments(*inside)})"

    def show_Component(self, value: ir.Component, outer: int) -> str:
        text, lane = self.show(value.value, PRIMARY), value.lane
        if isinstance(lane, ir.Expr):
            return f"{text}[{self.index(lane, value.value.lanes)}]"
        return f"{text}.{'xyzw'[lane]}"

    def arguments(self, *values: ir.Expr) -> str:
        """Arguments. Comparisons but the last are in parentheses: `f(a < b, c > d)` would be read as f(a<b, c>(d))."""
        texts = [self.show(x, PRIMARY if x.dtype.kind == "b" else 0) for x in values[:-1]]
        return ", ".join([*texts, self.show(values[-1])])

    def element_of(self, buffer: ir.Buffer, index: ir.Expr) -> str:
        return f"{self.name_of(buffer, buffer.name)}[{self.index(index, -(-buffer.length // buffer.width))}]"

    def index(self, index: ir.Expr, length: int) -> str:
        """An index into so many elements; guarded, one beyond them is the last, as in a runtime's checks."""
        if not self.guarded or (isinstance(index, ir.Const) and 0 <= index.value < length):
            return self.show(index)
        text = self.show(index) if index.dtype is u32 else f"{self.type_name(u32)}({self.show(index)})"
        return f"min({text}, {max(length, 1) - 1}u)"
