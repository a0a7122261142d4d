"""Questions about the text of a shader that need no names: how a statement ends, what it sets, what it reads."""

from __future__ import annotations

from collections.abc import Sequence

from .syntax import SyntaxNode

EXITS = ("break", "continue", "return")


def exits_of(node: SyntaxNode | None) -> set[str]:
    """How statements of `node` leave it: by break and continue of loops outside it, by return."""
    if node is None or node.kind in ("statement", "assign", "let", "var", "const"):
        return set()
    if node.kind in EXITS:
        return {node.kind}
    inner = set().union(*(exits_of(part) for part in node.parts))
    if node.kind in ("for", "while", "loop"):
        return inner & {"return"}
    return inner - {"break"} if node.kind == "switch" else inner


def always_leaves(block: SyntaxNode | None) -> bool:
    """Whether a block always ends by an exit."""
    if block is None or not block.parts:
        return False
    last = block.parts[-1]
    assert last is not None
    if last.kind == "if":
        return always_leaves(last.parts[1]) and always_leaves(last.parts[2])
    return last.kind in EXITS or (last.kind == "block" and always_leaves(last))


def names_in(node: SyntaxNode | None) -> set[str]:
    """All names in a piece of text."""
    if node is None:
        return set()
    own = {node.text} if node.kind == "name" else set()
    return own.union(*(names_in(part) for part in node.parts))


def root_of(node: SyntaxNode) -> str:
    """The variable that a place is a part of."""
    while node.kind in ("index", "member", "unary"):
        node = node.part(0)
    return node.text


def assigned(node: SyntaxNode | None) -> set[str]:
    """The variables that statements may set: those assigned, and those whose pointers are passed."""
    if node is None:
        return set()
    own = {root_of(node.part(0))} if node.kind == "assign" and node.text != "_" else set()
    if node.kind == "unary" and node.text == "&":
        own.add(root_of(node.part(0)))
    return own.union(*(assigned(part) for part in node.parts))


def reads_memory(node: SyntaxNode) -> bool:
    """Whether an expression indexes, or calls, what may be another value in each turn."""
    return node.kind in ("index", "call") or any(map(reads_memory, node.pieces))


def step_of(update: SyntaxNode, name: str) -> SyntaxNode | None:
    """c of `i += c` and `i = i + c`."""
    if update.kind != "assign" or update.part(0).kind != "name" or update.part(0).text != name:
        return None
    value = update.part(1)
    if update.text == "+=":
        return value
    if update.text == "=" and value.kind == "binary" and value.text == "+" and value.part(0).text == name:
        return value.part(1)
    return None


def written_by(module: Sequence[SyntaxNode]) -> set[str]:
    """The variables that any function sets, or passes on."""
    return set().union(*(assigned(part) for node in module if node.kind == "function" for part in node.parts))
