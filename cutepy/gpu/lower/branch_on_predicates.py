"""Predicated loads become branches: a target has no load that is made only where a condition holds.

Law: every name has the same value; an element is loaded by the same threads as before.
"""

from dataclasses import replace

from .. import ir


def branch_on_predicates(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without a `where` on any load: `let v = load(b, i) where c` becomes
    `var v = 0; if (c) { v = load(b, i) }`. Neighbouring branches on one condition become one."""
    return replace(kernel, body=_block(kernel.body))


def _block(block: ir.Block) -> ir.Block:
    out: list[ir.Stmt] = []
    for stmt in block:
        if isinstance(stmt, ir.Let):
            # One load that is predicated guards the whole `let`: loads of one statement share their predicate.
            predicates = [n.where for n in ir.loads(stmt.value) if n.where is not None]
            if predicates:
                _guard(out, stmt, predicates[0])
                continue
        # Joined after the inner blocks, so that branches made of loads in them count too.
        stmt = ir.with_blocks(stmt, tuple([_block(b) for b in stmt.blocks]))
        last = out[-1] if out else None
        if isinstance(stmt, ir.If) and isinstance(last, ir.If) and _are_joinable(last, stmt):
            same = last.condition is stmt.condition
            out[-1] = replace(last, then=last.then + stmt.then) if same else replace(last, orelse=stmt.then)
        else:
            out.append(stmt)
    return tuple(out)


def _guard(out: list[ir.Stmt], stmt: ir.Let, condition: ir.Expr) -> None:
    """Emit the declaration of the name, and its assignment under `condition`: in the branch that ends `out`, if that is
    one of loads under the same condition."""
    zero = ir.Declare(stmt.var, ir.splat(ir.const(0, stmt.var.dtype), stmt.var.lanes))
    assigned = ir.Assign(stmt.var, ir.rewrite(stmt.value, _without_predicate, {}))
    match out[-1:]:
        # Loads next to each other under one predicate share a branch; the declarations stand before it.
        case [ir.If(then=(ir.Assign(), *_), orelse=()) as last] if last.condition is condition:
            out[-1:] = [zero, replace(last, then=(*last.then, assigned))]
        case _:
            out += [zero, ir.If(condition, (assigned,), place=stmt.place)]


def _without_predicate(node: ir.Expr) -> ir.Expr:
    if isinstance(node, ir.Load) and node.where is not None:
        return ir.load(node.buffer, node.index, lanes=node.lanes, place=node.place)
    return node


def _are_joinable(first: ir.If, second: ir.If) -> bool:
    """Whether two consecutive branches are one: on the same condition, or on opposites, that the first does not change.
    A condition that loads may see what the first stored."""
    one, other = first.condition, second.condition
    if first.orelse or second.orelse or ir.loads(one) or (one is not other and ir.negated(one) is not other):
        return False
    return {s.sets for s in ir.statements(first.then)}.isdisjoint(ir.variables(one))
