"""What is known while a kernel is traced: the statements so far, the arrays, the launch."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from types import CodeType
from typing import Any

from ...errors import KernelError
from ...tensor.dtypes import DType, bool_, gpu_dtype
from ...tensor.engine import CURRENT_THREAD
from ..ir import (
    Atomic,
    Binary,
    Block,
    Buffer,
    Builtin,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    Stmt,
    Var,
    builtin,
    children,
    const,
    expressions,
    nodes,
    var,
    variables,
)
from ..ir.expr import describe
from ..ir.place import user_place
from ..ranges import range_of
from ..simplify import simplify

Size3 = tuple[int, int, int]

#: Workgroups along one dimension of a grid; a longer one-dimensional grid is folded over two.
MOST_GROUPS = 65535


@dataclass(slots=True)
class Trace:
    """A kernel being written. `blocks` holds the open blocks, innermost last; `divergent` tells which of them some
    invocations of a workgroup may skip."""

    name: str
    blocks: list[list[Stmt]] = field(default_factory=lambda: [[]])
    divergent: list[str] = field(default_factory=lambda: [""])
    buffers: list[Buffer] = field(default_factory=list)
    local: list[Buffer] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    uniform: set[Expr] = field(default_factory=set)
    agreed: dict[Expr, bool] = field(default_factory=dict)
    held: list[Expr] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    grid: Size3 = (1, 1, 1)
    workgroup: Size3 | None = None
    group: tuple[Expr, Expr, Expr] | None = None
    folded: Stmt | None = None
    error: KernelError | None = None
    #: Whether a block was left out, for no thread would run it.
    skipped: bool = False
    #: Where the launch ("") and each array of shared memory (its name) were written.
    places: dict[str, str] = field(default_factory=dict)
    #: The names that blocks bound which are complete, with the block; and why a variable of the user's is not bound.
    closed: dict[Expr, str] = field(default_factory=dict)
    lost: dict[tuple[CodeType, str], str] = field(default_factory=dict)
    #: The register from which a name was read, for each register the name that was read last and still is in it, and
    #: the names of Python numbers, which meet their type later.
    read_from: dict[Expr, Buffer] = field(default_factory=dict)
    latest: dict[Buffer, Expr] = field(default_factory=dict)
    owners: dict[Buffer, tuple[int, str, int]] = field(default_factory=dict)
    weak: set[Expr] = field(default_factory=set)
    #: The blocks of the user's code that are being traced, innermost last.
    open: list[object] = field(default_factory=list)

    def emit(self, stmt: Stmt) -> None:
        """Add a statement to the innermost block. Raises KernelError for a value bound in a block that is complete."""
        if self.closed:
            for root in expressions(stmt):
                for name in variables(root):
                    if name in self.closed:
                        raise KernelError(
                            f"{user_place()}: {describe(name)} is bound inside {self.closed[name]} and used after it: "
                            "it has a value there only; keep it in a tensor, or in a name bound before the block"
                        )
        self.blocks[-1].append(stmt)

    def let(
        self,
        stem: str,
        value: Expr,
        *,
        uniform: bool | None = None,
        place: str = "",
        bounds: tuple[int, int] | None = None,
    ) -> Var:
        """Name a value now; the name is `stem` and a number. `uniform` says whether a workgroup agrees on it, `bounds`
        where an integer lies that says nothing itself."""
        count = self.counts[stem] = self.counts.get(stem, -1) + 1
        lo, hi = bounds or (range_of(value) if value.dtype.kind in "iub" else (0, 0))
        name = var(f"{stem}_{count}", value.dtype, lanes=value.lanes, lo=lo, hi=hi)
        if self.is_uniform(value) if uniform is None else uniform:
            self.uniform.add(name)
        self.emit(Let(name, value, place or user_place()))
        return name

    def name_deep(self, value: Expr) -> Expr:
        """A name for a value of so many levels that it is better computed here: what memory holds is read where it is
        asked for, so such a value is the same wherever it is computed."""
        return self.let("value", value) if self.workgroup is not None else value

    def unique(self, wish: str) -> str:
        """`wish`, with a number where it was given before."""
        count = self.counts[wish] = self.counts.get(wish, -1) + 1
        return f"{wish}_{count}" if count else wish

    def is_uniform(self, value: Expr) -> bool:
        """Whether all invocations of a workgroup are sure to agree on `value`."""
        known = self.agreed
        for node in nodes(value, known=known):
            match node:
                case Var():
                    known[node] = node in self.uniform
                case Builtin(name=name):
                    known[node] = name.startswith(("workgroup_id", "num_"))
                case _:
                    known[node] = all(known[x] for x in children(node))
            if isinstance(node, Load) and (node.buffer.space != "storage" or node.buffer.writable):
                known[node] = False
        return known[value]

    @contextmanager
    def block(self, what: str, *, divergent: str = "", holds: Expr | None = None) -> Iterator[list[Stmt]]:
        """An inner block, whose statements the caller puts where they belong when it is complete; `holds` is true
        all through it, and `what` says to a reader which block it is."""
        inner: list[Stmt] = []
        known = len(self.held)
        self.held += [] if holds is None else _conjuncts(holds)
        self.blocks.append(inner)
        self.divergent.append(divergent or self.divergent[-1])
        try:
            yield inner
        finally:
            self.blocks.pop()
            self.divergent.pop()
            del self.held[known:]
            for stmt in inner:
                bound = stmt.result if isinstance(stmt, Atomic) else stmt.var if isinstance(stmt, Let | For) else None
                if bound is not None:
                    self.closed[bound] = what

    def checkpoint(self) -> Callable[[], None]:
        """A function that takes back what is emitted, declared and counted from here on."""
        lists: tuple[list[Any], ...] = self.blocks[-1], self.local, self.notes
        tables: tuple[dict[Any, Any], ...] = self.counts, self.places, self.read_from, self.latest
        lengths, kept = [len(items) for items in lists], [dict(table) for table in tables]

        def back() -> None:
            for items, length in zip(lists, lengths, strict=True):
                del items[length:]
            for table, old in zip(tables, kept, strict=True):
                table.clear()
                table.update(old)

        return back

    def open_part(self, condition: Expr) -> Expr:
        """What of a simplified condition is not known to hold in the block being written."""
        if not self.held:
            return condition
        held = set(self.held)
        left = [part for part in _conjuncts(condition) if part not in held]
        return reduce(and_, left) if left else const(True, bool_)

    def local_array(self, dtype: DType, length: int, space: str, wish: str, note: str = "") -> Buffer:
        """A new workgroup or private array."""
        buffer = Buffer(self.unique(wish), gpu_dtype(dtype), length, space, writable=True, note=note)
        self.local.append(buffer)
        if space == "workgroup":
            self.places[buffer.name] = user_place()
        return buffer

    def launch(self, grid: Size3, workgroup: Size3) -> None:
        """Fix the launch: from here on ids have their ranges."""
        if self.workgroup is not None:
            raise KernelError(f"{user_place()}: {self.name}: gpu.launch is called twice; a kernel has one launch")
        self.workgroup = workgroup
        self.places[""] = user_place()
        x, y, z = grid
        if x > MOST_GROUPS and (y, z) == (1, 1):
            rows = -(-x // MOST_GROUPS)
            grid = MOST_GROUPS, rows, 1
            total = builtin("workgroup_id.y", 0, rows - 1) * MOST_GROUPS + builtin("workgroup_id.x", 0, MOST_GROUPS - 1)
            group = var("group_index", lo=0, hi=x - 1)
            self.uniform.add(group)
            self.emit(Let(group, simplify(total)))
            self.folded = If(simplify(total < x), ())
            first: Expr = group
        else:
            first = builtin("workgroup_id.x", 0, max(0, x - 1))
        self.grid = grid
        self.group = (first, builtin("workgroup_id.y", 0, max(0, y - 1)), builtin("workgroup_id.z", 0, max(0, z - 1)))
        CURRENT_THREAD.set(self.thread)

    @property
    def threads(self) -> int:
        """Invocations of a workgroup."""
        x, y, z = self.launched("the number of threads")
        return x * y * z

    @property
    def thread(self) -> Expr:
        """The index of the invocation in its workgroup."""
        return builtin("local_invocation_index", 0, self.threads - 1)

    def launched(self, what: str) -> Size3:
        """The workgroup's size, or a refusal to give `what` before it is known."""
        if self.workgroup is None:
            raise KernelError(
                f"{user_place()}: {what} is asked for before the launch is known; "
                "begin the kernel with gpu.launch(grid=..., threads=...)"
            )
        return self.workgroup

    def body(self) -> Block:
        """The whole body, complete."""
        body = tuple(self.blocks[0])
        if isinstance(self.folded, If):
            return (If(self.folded.condition, body),)
        return body


def _conjuncts(condition: Expr) -> list[Expr]:
    if isinstance(condition, Binary) and condition.op == "&":
        return _conjuncts(condition.left) + _conjuncts(condition.right)
    return [condition]


_TRACE: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current(what: str) -> Trace:
    """The trace that is running; KernelError outside one."""
    trace = _TRACE.get()
    if trace is None:
        raise KernelError(f"{what} has a meaning inside a @gpu.kernel function only")
    return trace


def tracing() -> Trace | None:
    """The trace that is running, if one is."""
    return _TRACE.get()


def is_known(value: object, truth: bool) -> bool:
    """Whether a condition is a constant of that truth."""
    if isinstance(value, Const):
        return bool(value.value) is truth
    return not isinstance(value, Expr) and bool(value) is truth
