"""Correct kernels and wrong ones: each pair differs by one planted fault. `python tests/gpu/mutants.py` counts them.

A fault is planted in the IR (a number of a guard, of a stride, of an extent; a barrier; two modes of an index; more
workgroup memory) or in the source (thread-value layouts that overlap or exchange their modes). A change that no
invocation and no result shows, judged by running all of them, is no fault, and another one is drawn.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent))

from oracle import faults, observe
from subjects import Subject, draw_subject

from cutepy.errors import CutepyError, KernelError
from cutepy.gpu.ir import (
    Atomic,
    Barrier,
    Binary,
    Block,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Kernel,
    Load,
    Stmt,
    Store,
    binary,
    const,
    load,
    new_arena,
    nodes,
    rewrite,
    statements,
    with_blocks,
    with_expressions,
)
from cutepy.gpu.ir.ranges import linear
from cutepy.gpu.ir.simplify import from_linear
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.verify import verify
from cutepy.layout import Layout
from cutepy.layout.affine import Congruent
from cutepy.layout.values.int_tuple import fold_profile, leaves

#: What the devices of the corpus have: one of the kernels needs more than the 256 threads of every WebGPU device.
LIMITS = Limits(invocations=1024, workgroup_size=(1024, 1024, 64))


@dataclass
class Mutant:
    """A planted fault: what it is, and the kernel, or the error that building it gave."""

    kind: str
    what: str
    kernel: Kernel | None
    error: str = ""


def put(block: Block, old: Stmt, new: tuple[Stmt, ...]) -> Block:
    """`block` with `new` in place of `old`, wherever that is inside."""
    out: list[Stmt] = []
    for stmt in block:
        if stmt is old:
            out += new
        else:
            inner = stmt.blocks
            out.append(with_blocks(stmt, tuple(put(b, old, new) for b in inner)) if inner else stmt)
    return tuple(out)


def _changed(kernel: Kernel, stmt: Stmt, old: Expr, new: Expr) -> Kernel:
    """`kernel` with `new` for `old` in one statement."""
    values = tuple(rewrite(x, lambda node: new if node is old else node, {}) for x in stmt.expressions)
    return replace(kernel, body=put(kernel.body, stmt, (with_expressions(stmt, values),)))


def _accesses(kernel: Kernel) -> Iterator[tuple[Stmt, Load | Store | Atomic]]:
    for stmt in statements(kernel.body):
        if isinstance(stmt, Store | Atomic) and stmt.buffer.space != "private":
            yield stmt, stmt
        for root in stmt.expressions:
            for node in nodes(root):
                if isinstance(node, Load) and node.buffer.space != "private":
                    yield stmt, node


def _with_index(kernel: Kernel, stmt: Stmt, access: Load | Store | Atomic, index: Expr) -> Kernel:
    if isinstance(access, Load):
        new = load(access.buffer, index, lanes=access.lanes, where=access.where, place=access.place)
        return _changed(kernel, stmt, access, new)
    return replace(kernel, body=put(kernel.body, stmt, (replace(access, index=index),)))


def _guard(kernel: Kernel, pick: random.Random) -> Mutant | None:
    """A comparison with a number that is one greater or less."""
    sites = []
    for stmt in statements(kernel.body):
        roots = (
            [stmt.condition]
            if isinstance(stmt, If)
            else [
                n.where for root in stmt.expressions for n in nodes(root) if isinstance(n, Load) and n.where is not None
            ]
        )
        for root in roots:
            for node in nodes(root):
                if isinstance(node, Binary) and node.op in ("<", "<=", ">", ">=") and isinstance(node.right, Const):
                    sites.append((stmt, node))
    if not sites:
        return None
    stmt, node = pick.choice(sites)
    number = int(node.right.value) + pick.choice([1, 1, -1])
    if number < 0:
        return None
    new = binary(node.op, node.left, const(number, node.right.dtype))
    return Mutant("guard off by one", f"{node.op} {number}", _changed(kernel, stmt, node, new))


def _index(kernel: Kernel, pick: random.Random, kind: str) -> Mutant | None:
    sites = [(s, a) for s, a in _accesses(kernel) if linear(a.index).terms or kind == "extent"]
    if not sites:
        return None
    stmt, access = pick.choice(sites)
    form = linear(access.index)
    terms = dict(form.terms)
    constant = form.constant
    if kind == "stride":
        atom = pick.choice(list(terms))
        terms[atom] += pick.choice([1, -1])
    elif kind == "mode":
        different = [(a, b) for a in terms for b in terms if terms[a] != terms[b]]
        if not different:
            return None
        one, two = pick.choice(different)
        terms[one], terms[two] = terms[two], terms[one]
    else:
        constant += pick.choice([1, -1])
    index = from_linear(Congruent({a: c for a, c in terms.items() if c}, constant), access.index.dtype)
    names = {"stride": "stride off by one", "mode": "modes exchanged", "extent": "extent off by one"}
    return Mutant(names[kind], f"of {access.buffer.name}", _with_index(kernel, stmt, access, index))


def _stride(kernel: Kernel, pick: random.Random) -> Mutant | None:
    return _index(kernel, pick, "stride")


def _mode(kernel: Kernel, pick: random.Random) -> Mutant | None:
    return _index(kernel, pick, "mode")


def _extent(kernel: Kernel, pick: random.Random) -> Mutant | None:
    """An array one element too short, a loop with an iteration more or less, a start one off, a workgroup too many."""
    loops = [s for s in statements(kernel.body) if isinstance(s, For) and isinstance(s.stop, Const)]
    arrays = [b for b in kernel.local if b.space == "workgroup"]
    ways: list[Callable[[], Mutant | None]] = [lambda: _index(kernel, pick, "extent")]
    if loops:
        ways.append(lambda: _loop(kernel, pick.choice(loops), pick.choice([1, -1])))
    if arrays:
        ways.append(lambda: _shorter(kernel, pick.choice(arrays), -1))
    ways.append(lambda: _longer_grid(kernel, pick.randrange(2)))
    return pick.choice(ways)()


def _loop(kernel: Kernel, stmt: For, by: int) -> Mutant | None:
    assert isinstance(stmt.stop, Const)
    number = int(stmt.stop.value) + by
    if number < 0:
        return None
    new = replace(stmt, stop=const(number, stmt.stop.dtype))
    return Mutant("extent off by one", f"loop to {number}", replace(kernel, body=put(kernel.body, stmt, (new,))))


def _longer_grid(kernel: Kernel, axis: int) -> Mutant:
    grid = list(kernel.grid)
    grid[axis] += 1
    return Mutant("extent off by one", f"grid {tuple(grid)}", replace(kernel, grid=(grid[0], grid[1], grid[2])))


def _shorter(kernel: Kernel, array: Buffer, by: int) -> Mutant:
    kind = "extent off by one" if by < 0 else "too much workgroup memory"
    new = replace(array, length=array.length + by)
    return Mutant(kind, f"{new.length} elements of {array.name}", _with_buffer(kernel, array, new))


def _with_buffer(kernel: Kernel, old: Buffer, new: Buffer) -> Kernel:
    memo: dict[Expr, Expr] = {}

    def change(node: Expr) -> Expr:
        if isinstance(node, Load) and node.buffer is old:
            return load(new, node.index, lanes=node.lanes, where=node.where, place=node.place)
        return node

    def walk(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            stmt = with_expressions(stmt, tuple(rewrite(x, change, memo) for x in stmt.expressions))
            if isinstance(stmt, Store | Atomic) and stmt.buffer is old:
                stmt = replace(stmt, buffer=new)
            out.append(with_blocks(stmt, tuple(walk(b) for b in stmt.blocks)) if stmt.blocks else stmt)
        return tuple(out)

    return replace(kernel, body=walk(kernel.body), local=tuple(new if b is old else b for b in kernel.local))


def _barrier(kernel: Kernel, pick: random.Random) -> Mutant | None:
    sites = [s for s in statements(kernel.body) if isinstance(s, Barrier)]
    if not sites:
        return None
    number = pick.randrange(len(sites))
    body = put(kernel.body, sites[number], ())
    return Mutant("barrier removed", f"{number + 1} of {len(sites)}", replace(kernel, body=body))


def _memory(kernel: Kernel, pick: random.Random) -> Mutant | None:
    arrays = [b for b in kernel.local if b.space == "workgroup"]
    return _shorter(kernel, pick.choice(arrays), pick.choice([4096, 5000, 16384])) if arrays else None


def _overlap(subject: Subject, pick: random.Random) -> Mutant | None:
    """A thread-value layout of the source in which one stride is halved, or 0, or the modes of two are exchanged."""
    names = [n for n, v in subject.static.items() if isinstance(v, Layout)]
    if not names:
        return None
    name = pick.choice(names)
    layout = subject.static[name]
    assert isinstance(layout, Layout)
    shapes, strides = list(leaves(layout.shape)), list(leaves(layout.stride))
    moving = [i for i, (s, d) in enumerate(zip(shapes, strides, strict=True)) if s > 1 and d > 0]
    if pick.random() < 0.5:
        i = pick.choice(moving)
        strides[i] = pick.choice([strides[i] // 2, 0, strides[i] + 1])
        kind = "overlapping layout"
    else:
        if len(moving) < 2:
            return None
        i, j = pick.sample(moving, 2)
        strides[i], strides[j] = strides[j], strides[i]
        kind = "modes exchanged"
    wrong = Layout(layout.shape, fold_profile(iter(strides), layout.shape))
    what = f"{name} {wrong} for {layout}"
    try:
        return Mutant(kind, what, subject.function.ir(*subject.arguments, **{**subject.static, name: wrong}))
    except CutepyError as error:
        return Mutant(kind, what, None, str(error))


OPERATORS: list[Callable[[Kernel, random.Random], Mutant | None]] = [
    _guard,
    _stride,
    _extent,
    _barrier,
    _mode,
    _memory,
]


@dataclass
class Pair:
    """A subject, its mutant, and how that was caught: "refused", "refuted", "differs", or "" if it was not."""

    subject: Subject
    mutant: Mutant
    original_ok: bool
    caught: str
    detail: str = ""


def plant(seed: int) -> tuple[Subject, Kernel, Mutant]:
    """The first fault that can be planted, of those that the seed draws."""
    pick = random.Random(seed)
    while True:
        subject = draw_subject(pick)
        kernel = subject.kernel()
        layouts = any(isinstance(v, Layout) for v in subject.static.values())
        if layouts and pick.random() < 0.7:
            mutant = _overlap(subject, pick)
        else:
            mutant = pick.choice(OPERATORS)(kernel, pick)
        if mutant is not None:
            return subject, kernel, mutant


def examine(seed: int) -> Pair | None:
    """One pair, or None where the change is no fault at all."""
    with new_arena():
        subject, kernel, mutant = plant(seed)
        original = verify(kernel, LIMITS)
        if mutant.kernel is None:
            return Pair(subject, mutant, original.ok, "refused", mutant.error)
        found = verify(mutant.kernel, LIMITS)
        if found.refuted:
            return Pair(subject, mutant, original.ok, "refuted", str(found.refuted[0]))
        try:
            got, wanted = subject.run(mutant.kernel), subject.run()
        except (KernelError, IndexError) as error:
            return Pair(subject, mutant, original.ok, "differs", str(error))
        if not all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(got, wanted, strict=True)):
            return Pair(subject, mutant, original.ok, "differs", "another result than the original's")
        if not faults(observe(mutant.kernel, subject.data(mutant.kernel))):
            return None
        return Pair(subject, mutant, original.ok, "", str(found))


def pairs(count: int, first: int = 0) -> tuple[list[Pair], int]:
    """`count` pairs, and how many changes were no faults."""
    found: list[Pair] = []
    harmless = 0
    seed = first
    while len(found) < count:
        pair = examine(seed)
        seed += 1
        if pair is None:
            harmless += 1
        else:
            found.append(pair)
    return found, harmless


def table(found: list[Pair], harmless: int) -> str:
    """How many of each kind were caught, and how."""
    ways = ("refused", "refuted", "differs", "")
    heads = ("refused when built", "refuted by verify", "another result", "missed")
    lines = [f"{'planted fault':<28}" + "".join(f"{h:>20}" for h in heads)]
    for kind in sorted({p.mutant.kind for p in found}):
        counts = Counter(p.caught for p in found if p.mutant.kind == kind)
        lines.append(f"{kind:<28}" + "".join(f"{counts[w]:>20}" for w in ways))
    totals = Counter(p.caught for p in found)
    lines.append(f"{'all ' + str(len(found)):<28}" + "".join(f"{totals[w]:>20}" for w in ways))
    wrong = sum(not p.original_ok for p in found)
    families = Counter(p.subject.name for p in found)
    lines.append(f"originals not proven: {wrong}; changes that were no faults, drawn again: {harmless}")
    lines.append("kernels: " + ", ".join(f"{n} {name}" for name, n in families.most_common()))
    return "\n".join(lines)


if __name__ == "__main__":
    result, skipped = pairs(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
    print(table(result, skipped))
    for pair in result:
        if not pair.caught or not pair.original_ok:
            print(pair.subject.name, pair.subject.static, pair.mutant.kind, pair.mutant.what, pair.detail)
