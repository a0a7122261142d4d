"""Control flow of a shader; its functions are put where they are called.

What leaves a block early turns the statements after it into the other branch, or, inside several blocks, sets a flag
that guards them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from ...tensor.dtypes import bool_
from .. import ir
from .calls import CallReader
from .memory import ArrayType, HandleType, Place, PointerType, StructType, Value, VectorType
from .questions import EXITS, always_leaves, assigned, exits_of, names_in, reads_memory, step_of
from .syntax import SyntaxNode


@dataclass(slots=True)
class Exits:
    """Where statements leave to: flags of the innermost loop and function, and what follows the block at hand.

    `top`: the block is the body of the loop itself. `last`: nothing of the loop's body, or of the function outside
    loops, follows the block.
    """

    function: CallFlags
    loop: LoopFlags | None = None
    top: bool = False
    last: bool = True

    def within(self, last: bool) -> Exits:
        return Exits(self.function, self.loop, False, last)


@dataclass(slots=True)
class LoopFlags:
    """The flags of a loop, made where something needs them."""

    left: ir.Var
    skipped: ir.Var
    uses_left: bool = False
    uses_skipped: bool = False


@dataclass(slots=True)
class CallFlags:
    """A function under way: the variable of its result, and the flag that it has returned."""

    result: Place | None
    done: ir.Var
    uses_done: bool = False


class StatementReader(CallReader):
    """Statements, and functions of the shader, which are put where they are called."""

    def inlined(self, node: SyntaxNode, found: SyntaxNode, scope: Mapping[str, Value]) -> Value:
        """The value of a function of the shader: its statements are put here."""
        if self.depth > 40:
            raise self.refuse(node, f"{found.text} calls itself")
        inner: dict[str, Value] = {}
        for parameter, argument in zip(found.parts[2:], node.parts[1:], strict=True):
            assert parameter is not None and argument is not None
            kind = self.type(parameter.part(0))
            given = self.value(argument, scope)
            inner[parameter.text] = (
                given
                if isinstance(kind, PointerType | HandleType)
                else self.kept(parameter.text, self.converted(given, kind))
            )
        statements = found.part(0).pieces
        self.depth += 1
        # A function that returns once, at its end, is its value there.
        once = (
            statements and statements[-1].kind == "return" and not any("return" in exits_of(s) for s in statements[:-1])
        )
        result = None
        gives = self.type(found.part(1)) if found.parts[1] is not None else None
        if gives is not None and not once:
            result = self.declared("result", gives, None)
        call = CallFlags(result, ir.var("done", bool_))
        value: Value = 0
        if once and gives is not None:
            with_names = dict(inner)
            self.sequence(statements[:-1], with_names, Exits(call, last=False))
            value = self.converted(self.value(statements[-1].part(0), with_names), gives)
        else:
            with self.nested() as inside:
                self.sequence(statements, inner, Exits(call))
            if call.uses_done:
                self.out.append(ir.Declare(call.done, ir.const(False, bool_)))
            self.out += inside
            value = self.settled(result) if result is not None else 0
        self.depth -= 1
        return self.kept("result", value) if gives is not None else value

    # Statements.

    def body(self, block: SyntaxNode, scope: Mapping[str, Value], exits: Exits) -> ir.Block:
        with self.nested() as inside:
            self.sequence(block.pieces, dict(scope), exits)
        return tuple(inside)

    def sequence(self, nodes: Sequence[SyntaxNode], scope: dict[str, Value], exits: Exits) -> None:
        """Statements in order; what comes after one that may leave is done only where it did not."""
        for number, node in enumerate(nodes):
            self.line = node.line
            if node.kind == "switch":
                node = self.without_switch(node, scope)
            rest = nodes[number + 1 :]
            if node.kind in EXITS:
                self.leave(node, scope, exits)
                return
            found = exits_of(node)
            if node.kind == "if" and found:
                if self.early(node, rest, scope, exits):
                    return
                continue
            inner = exits.within(exits.last and not rest)
            if not found:
                self.statement(node, scope, inner)
                continue
            self.statement(node, scope, inner)
            if self.guarded(found, rest, scope, exits):
                return

    def guarded(self, found: set[str], rest: Sequence[SyntaxNode], scope: dict[str, Value], exits: Exits) -> bool:
        """The statements after one that may have set flags; whether they are done."""
        loop, flags = exits.loop, []
        if loop is not None and loop.uses_left and "break" in found:
            flags.append(loop.left)
        if loop is not None and loop.uses_skipped and "continue" in found:
            flags.append(loop.skipped)
        if exits.function.uses_done and "return" in found:
            flags.append(exits.function.done)
        if exits.top and flags:
            # In the body of the loop itself what ends the loop is said there.
            for flag in flags:
                if loop is None or flag is not loop.skipped:
                    self.out.append(ir.Break(flag, (), self.place))
            flags = [flag for flag in flags if loop is not None and flag is loop.skipped]
        if not flags or not rest:
            return not rest
        condition = ir.negated(_any(flags))
        with self.nested() as inside:
            self.sequence(rest, scope, exits.within(exits.last))
        self.out.append(ir.If(condition, tuple(inside), (), self.place))
        if exits.top and loop is not None:
            more = set().union(*(exits_of(node) for node in rest))
            self.guarded(more - {"continue"}, [], scope, exits)
        return True

    def early(self, node: SyntaxNode, rest: Sequence[SyntaxNode], scope: dict[str, Value], exits: Exits) -> bool:
        """An `if` with an exit in it; whether the statements after it are done, too."""
        then, other = node.part(1), node.parts[2]
        statements = then.pieces
        condition = self.scalar(self.value(node.part(0), scope), bool_)
        ends = statements and statements[-1].kind == "break" and not any(exits_of(s) for s in statements[:-1])
        if exits.top and ends and other is None:
            with self.nested() as inside:
                self.sequence(statements[:-1], dict(scope), exits.within(False))
            self.out.append(ir.Break(condition, tuple(inside), self.place))
            return False
        if always_leaves(then) and other is None and not (exits.top and any("break" in exits_of(s) for s in rest)):
            first = self.body(then, scope, exits.within(exits.last))
            with self.nested() as inside:
                self.sequence(rest, scope, exits.within(exits.last))
            self.out.append(ir.If(condition, first, tuple(inside), self.place))
            if exits.top:
                found = set().union(exits_of(node), *(exits_of(s) for s in rest))
                self.guarded(found - {"continue"}, [], scope, exits)
            return True
        last = exits.last and not rest
        first = self.body(then, scope, exits.within(last))
        second = self.body(other, scope, exits.within(last)) if other is not None else ()
        self.out.append(ir.If(condition, first, second, self.place))
        return self.guarded(exits_of(node), rest, scope, exits)

    def leave(self, node: SyntaxNode, scope: Mapping[str, Value], exits: Exits) -> None:
        loop, call = exits.loop, exits.function
        if node.kind == "return":
            if node.parts[0] is not None and call.result is not None:
                self.write(call.result, self.converted(self.value(node.part(0), scope), call.result.type))
            if loop is not None or not exits.last:
                call.uses_done = True
                self.out.append(ir.Assign(call.done, ir.const(True, bool_)))
                if exits.top:
                    self.out.append(ir.Break(call.done, (), self.place))
            return
        if loop is None:
            raise self.refuse(node, f"{node.kind} outside a loop")
        if node.kind == "continue":
            if not exits.last:
                loop.uses_skipped = True
                self.out.append(ir.Assign(loop.skipped, ir.const(True, bool_)))
        elif exits.top:
            self.out.append(ir.Break(ir.const(True, bool_), (), self.place))
        else:
            loop.uses_left = True
            self.out.append(ir.Assign(loop.left, ir.const(True, bool_)))

    def statement(self, node: SyntaxNode, scope: dict[str, Value], exits: Exits) -> None:
        match node.kind:
            case "let" | "const":
                kind = self.type(node.part(0)) if node.parts[0] is not None else None
                value = self.value(node.part(1), scope)
                pointer = node.part(1).kind == "unary" and node.part(1).text == "&"
                if pointer or (isinstance(value, Place) and isinstance(kind, PointerType)):
                    scope[node.text] = value
                elif node.kind == "const" and kind is None:
                    scope[node.text] = self.read(value)
                else:
                    scope[node.text] = self.kept(node.text, self.converted(value, kind))
            case "var":
                asked = self.type(node.part(0)) if node.parts[0] is not None else None
                start = None
                if node.parts[1] is not None:
                    start = self.settled(self.converted(self.value(node.part(1), scope), asked))
                made = asked if asked is not None else self.type_of(start if start is not None else 0)
                scope[node.text] = self.declared(node.text, made, start)
            case "assign":
                self.assign(node, scope)
            case "statement":
                self.value(node.part(0), scope)
            case "block":
                self.out += self.body(node, scope, exits)
            case "if":
                condition = self.scalar(self.value(node.part(0), scope), bool_)
                then = self.body(node.part(1), scope, exits)
                other = self.body(node.part(2), scope, exits) if node.parts[2] is not None else ()
                self.out.append(ir.If(condition, then, other, f"line {node.line}"))
            case "for" | "while" | "loop":
                self.loop(node, scope, exits)
            case "const_assert":
                pass
            case _:
                raise self.refuse(node, f"{node.kind} is not read")

    def assign(self, node: SyntaxNode, scope: Mapping[str, Value]) -> None:
        if node.text == "_":
            self.settled(self.value(node.part(1), scope))
            return
        early = self.value(node.part(0), scope) if self.calls(node.part(1)) else None
        pinned = self.pinned(early) if isinstance(early, Place) else None
        value = self.read(self.value(node.part(1), scope))
        place = pinned if pinned is not None else self.value(node.part(0), scope)
        if not isinstance(place, Place):
            raise self.refuse(node, "what is set is no variable")
        if node.text != "=":
            value = self.product(SyntaxNode("binary", node.line, node.text[:-1]), self.read(place), value)
        elif isinstance(place.type, StructType | ArrayType | VectorType):
            value = self.kept("value", self.converted(value, place.type))
        self.line = node.line
        self.write(place, self.converted(value, place.type))

    def without_switch(self, node: SyntaxNode, scope: dict[str, Value]) -> SyntaxNode:
        """A `switch` as an `if` with its `else`s; as a loop of one turn where a `break` is not the last of its case.

        What is chosen and the turn have names with blanks, which no shader can use.
        """
        line, name = node.line, f"switch of line {node.line}"
        scope[name] = self.kept("chosen", self.value(node.part(0), scope))
        chosen = SyntaxNode("name", line, name)
        other: SyntaxNode | None = None
        tested: list[tuple[SyntaxNode, SyntaxNode]] = []
        for case in node.pieces[1:]:
            block, selectors = case.part(0), case.pieces[1:]
            if block.parts and block.part(-1).kind == "break":
                block = SyntaxNode("block", block.line, "", block.parts[:-1])
            if any(selector.kind == "name" and selector.text == "default" for selector in selectors):
                other = block
            else:
                tests = [SyntaxNode("binary", line, "==", (chosen, selector)) for selector in selectors]
                tested.append((reduce(lambda a, b: SyntaxNode("binary", line, "|", (a, b)), tests), block))
        for test, block in reversed(tested):
            made = SyntaxNode("if", line, "", (test, block, other))
            other = SyntaxNode("block", line, "", (made,))
        found = exits_of(other)
        if other is None or "break" not in found:
            return other if other is not None else SyntaxNode("block", line)
        if "continue" in found:
            raise self.refuse(node, "a switch with a break inside a block and a continue is not read")
        turn, zero, one = (
            SyntaxNode("name", line, f"turn of line {line}"),
            SyntaxNode("number", line, "0"),
            SyntaxNode("number", line, "1"),
        )
        start = SyntaxNode("var", line, turn.text, (None, zero))
        test = SyntaxNode("binary", line, "<", (turn, one))
        return SyntaxNode("for", line, "", (start, test, SyntaxNode("assign", line, "+=", (turn, one)), other))

    # Loops.

    def loop(self, node: SyntaxNode, scope: Mapping[str, Value], exits: Exits) -> None:
        inner = dict(scope)
        loop = LoopFlags(ir.var("left", bool_), ir.var("skipped", bool_))
        inside = Exits(exits.function, loop, True, True)
        if node.kind == "for":
            if self.counted(node, inner, loop, inside):
                return
            if node.parts[0] is not None:
                self.statement(node.part(0), inner, inside)
        place = f"line {node.line}"
        with self.nested() as turn:
            test = {"for": 1, "while": 0}.get(node.kind)
            if test is not None and node.parts[test] is not None:
                condition = self.scalar(self.value(node.part(test), inner), bool_)
                self.out.append(ir.Break(ir.negated(condition), (), place))
            body = node.part({"for": 3, "while": 1, "loop": 0}[node.kind])
            names = dict(inner)
            self.sequence(body.pieces, names, inside)
            if node.kind == "for" and node.parts[2] is not None:
                self.statement(node.part(2), inner, inside)
            if node.kind == "loop" and node.parts[1] is not None:
                for part in node.part(1).pieces:
                    if part.kind == "break_if":
                        condition = self.scalar(self.value(part.part(0), names), bool_)
                        self.out.append(ir.Break(condition, (), f"line {part.line}"))
                    else:
                        self.statement(part, names, inside)
        counter = ir.var("turn")
        self.looped(ir.For(counter, ir.const(0), None, ir.const(1), self.with_flags(turn, loop), place), loop)

    def with_flags(self, turn: list[ir.Stmt], loop: LoopFlags) -> ir.Block:
        """A turn with its flag declared."""
        declared = [ir.Declare(loop.skipped, ir.const(False, bool_))] if loop.uses_skipped else []
        return (*declared, *turn)

    def looped(self, made: ir.For, loop: LoopFlags) -> None:
        if loop.uses_left:
            self.out.append(ir.Declare(loop.left, ir.const(False, bool_)))
        self.out.append(made)

    def counted(self, node: SyntaxNode, scope: dict[str, Value], loop: LoopFlags, exits: Exits) -> bool:
        """`for (var i = a; i < b; i += c)` where nothing else sets i, nor what b reads: a loop that counts."""
        start, test, update, body = node.parts
        if start is None or test is None or update is None or start.kind != "var" or start.parts[1] is None:
            return False
        name = start.text
        if (
            test.kind != "binary"
            or test.text not in ("<", "<=")
            or test.part(0).text != name
            or test.part(0).kind != "name"
        ):
            return False
        step = step_of(update, name)
        changed = assigned(body)
        if step is None or name in changed or names_in(test.part(1)) & changed or reads_memory(test.part(1)):
            return False
        kind = self.type(start.part(0)) if start.parts[0] is not None else None
        first = self.scalar(self.settled(self.converted(self.value(start.part(1), scope), kind)))
        by = self.scalar(self.value(step, scope), first.dtype)
        end = self.scalar(self.value(test.part(1), scope), first.dtype)
        if first.dtype.kind not in "iu" or not isinstance(by, ir.Const) or by.value <= 0:
            return False
        if test.text == "<=":
            if not isinstance(end, ir.Const):
                return False
            end = ir.const(int(end.value) + 1, first.dtype)
        counter = ir.var(name, first.dtype)
        names = {**scope, name: counter}
        with self.nested() as turn:
            self.sequence(node.part(3).pieces, names, exits)
        made = ir.For(counter, first, self.let("end", end), by, self.with_flags(turn, loop), f"line {node.line}")
        self.looped(made, loop)
        return True


def _any(conditions: Sequence[ir.Expr]) -> ir.Expr:
    """Whether one of them holds."""
    first, *rest = conditions
    return reduce(lambda a, b: ir.binary("|", a, b), rest, first)
