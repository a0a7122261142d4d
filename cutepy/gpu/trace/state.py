"""What is known while a kernel is traced: the statements so far, the arrays, the launch."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from operator import and_
from types import CodeType, FrameType
from typing import Any, Protocol

from ...errors import KernelError
from ...layout import IntTuple, Layout
from ...layout.algebra.conflict_free import Found
from ...layout.values.composed import AnyLayout
from ...tensor.dtypes import DType, bool_, gpu_dtype
from ...tensor.engine import CURRENT_THREAD
from .. import ir
from ..inspect.solve_shared import Wish
from ..ir.expr import describe
from ..ir.place import user_place
from ..ir.ranges import range_of
from ..ir.simplify import simplify

Size3 = tuple[int, int, int]

#: Workgroups along one dimension of a grid; a longer one-dimensional grid is folded over two.
MOST_GROUPS = 65535
#: Statements that one trace writes: far more than a driver compiles.
MOST_STATEMENTS = 1 << 18


class Open(Protocol):
    """A block of the user's code that is being traced; `missing` are the names that it loses."""

    frame: FrameType
    place: str
    missing: set[str]

    def look(self, place: str = "") -> None: ...
    def caught(self, place: str) -> KernelError: ...


@dataclass(frozen=True, slots=True, eq=False)
class ElementBounds:
    """What the user says of the elements of an argument, in these words: they lie from `low` on and below `high`, to
    the end of the block."""

    buffer: ir.Buffer
    argument: str
    low: ir.Expr
    high: ir.Expr
    said: str
    place: str
    block: list[ir.Stmt]


@dataclass(slots=True)
class Trace:
    """A kernel being written. `blocks` holds the open blocks, innermost last; `divergent` tells which of them some
    invocations of a workgroup may skip."""

    name: str
    blocks: list[list[ir.Stmt]] = field(default_factory=lambda: [[]])
    divergent: list[str] = field(default_factory=lambda: [""])
    buffers: list[ir.Buffer] = field(default_factory=list)
    local: list[ir.Buffer] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    uniform: set[ir.Expr] = field(default_factory=set)
    agreed: dict[ir.Expr, bool] = field(default_factory=dict)
    #: What a workgroup has computed together: equal in all its threads, though no compiler can tell.
    together: set[ir.Expr] = field(default_factory=set)
    held: list[tuple[ir.Expr, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: How many threads a subgroup must have for the shuffles that were asked for.
    lanes: int = 0
    #: How many threads a subgroup is to have; 0 for any.
    subgroup: int = 0
    #: Whether the device has subgroups, as far as is known, and whether that was asked.
    subgroups: bool = False
    asked: bool = False
    #: What the kernel asks of its subgroups that may depend on their size, each with its line; and whether what is
    #: being traced gives the same for every size.
    varying: dict[str, None] = field(default_factory=dict)
    settled: bool = False
    grid: Size3 = (1, 1, 1)
    #: The sizes that are not known, and the grid as it was given: numbers, or sizes.
    sizes: Any = None
    formulas: tuple[Any, ...] = ()
    workgroup: Size3 | None = None
    group: tuple[ir.Expr, ir.Expr, ir.Expr] | None = None
    folded: ir.Stmt | None = None
    error: KernelError | None = None
    #: Whether a block was left out, for no thread would run it.
    skipped: bool = False
    #: Where the launch ("") and each array of shared memory (its name) were written.
    places: dict[str, str] = field(default_factory=dict)
    #: The names that blocks bound which are complete, with the block; and why a variable of the user's is not bound.
    closed: dict[ir.Expr, str] = field(default_factory=dict)
    lost: dict[tuple[CodeType, str], str] = field(default_factory=dict)
    #: The register from which a name was read, for each register the name that was read last and still is in it.
    read_from: dict[ir.Expr, ir.Buffer] = field(default_factory=dict)
    latest: dict[ir.Buffer, ir.Expr] = field(default_factory=dict)
    owners: dict[ir.Buffer, tuple[int, str, int]] = field(default_factory=dict)
    #: The arrays of shared memory whose layouts are to be found, what stands for them, and what was found.
    wishes: dict[str, Wish] = field(default_factory=dict)
    placed: dict[str, Layout] = field(default_factory=dict)
    found: Mapping[str, Found] = field(default_factory=dict)
    #: Which order of the modes stands for them.
    order: int = 0
    #: What was found of the loop at a place when it was traced last: a guess, when it is traced again.
    guesses: dict[tuple[CodeType, str], Any] = field(default_factory=dict)
    #: What the user says of the elements of arguments.
    bounds: list[ElementBounds] = field(default_factory=list)
    #: What is stated where the launch is known.
    begins: Callable[[], None] | None = None
    #: Statements written so far, those that were taken back included.
    emitted: int = 0
    #: The blocks of the user's code that are being traced, innermost last.
    open: list[Open] = field(default_factory=list)

    def has_subgroups(self) -> bool:
        """Whether the kernel may ask what subgroups do without making its devices fewer."""
        self.asked = True
        return self.subgroups

    @contextmanager
    def for_every_size(self) -> Iterator[None]:
        """What is traced inside gives the same result for every size of subgroup, or for every one of `lanes` threads
        and more: the law of a collective, which tests run at all sizes."""
        before, self.settled = self.settled, True
        try:
            yield
        finally:
            self.settled = before

    def ask_subgroup(self, what: str) -> None:
        """Note that the kernel asks something of its subgroups."""
        if not self.settled:
            self.varying[f"{what} ({user_place()})"] = None

    def emit(self, stmt: ir.Stmt) -> None:
        """Add a statement to the innermost block. Raises KernelError for a value bound in a block that is complete."""
        if self.closed:
            for root in stmt.expressions:
                for name in ir.variables(root):
                    if name in self.closed:
                        raise KernelError(
                            f"{user_place()}: {describe(name)} is bound inside {self.closed[name]} and used after it: "
                            "it has a value there only; keep it in a tensor, or in a name bound before the block"
                        )
        self.blocks[-1].append(stmt)
        self.emitted += 1
        if self.emitted > MOST_STATEMENTS:
            raise KernelError(
                f"{user_place()}: more than {MOST_STATEMENTS} statements are written while {self.name} is traced: a "
                "loop of Python writes each turn out; count with gpu.loop, or let fewer turns do more"
            )

    def let(
        self,
        stem: str,
        value: ir.Expr,
        *,
        uniform: bool | None = None,
        place: str = "",
        bounds: tuple[int, int] | None = None,
    ) -> ir.Var:
        """Name a value now; the name is `stem` and a number. `uniform` says whether a workgroup agrees on it, `bounds`
        where an integer lies that says nothing itself."""
        count = self.counts[stem] = self.counts.get(stem, -1) + 1
        lo, hi = bounds or (range_of(value) if value.dtype.kind in "iub" else (0, 0))
        name = ir.var(f"{stem}_{count}", value.dtype, lanes=value.lanes, lo=lo, hi=hi)
        if self.is_uniform(value) if uniform is None else uniform:
            self.uniform.add(name)
        self.emit(ir.Let(name, value, place or user_place()))
        return name

    def name_deep(self, value: ir.Expr) -> ir.Expr:
        """A name for a value of so many levels that it is better computed here: what memory holds is read where it is
        asked for, so such a value is the same wherever it is computed."""
        return self.let("value", value) if self.workgroup is not None else value

    def unique(self, wish: str) -> str:
        """`wish`, with a number where it was given before."""
        name = self.next_name(wish)
        self.counts[wish] = self.counts.get(wish, -1) + 1
        return name

    def next_name(self, wish: str) -> str:
        """The name that `unique` will give."""
        count = self.counts.get(wish, -1) + 1
        return f"{wish}_{count}" if count else wish

    def solution(self, wanted: str, shape: IntTuple, element_bytes: int, place: str) -> tuple[AnyLayout, str]:
        """The layout found for an array that is to have this name, or what stands for it as long as none is; and a note
        on it."""
        name = self.next_name(wanted)
        wish = self.wishes[name] = Wish(shape, element_bytes, place)
        if name in self.found:
            found = self.found[name]
            return found.layout, f", found: {'free of conflicts; ' if found.free else ''}{found.certificate}"
        orders = wish.orders
        self.placed[name] = orders[min(self.order, len(orders) - 1)]
        return self.placed[name], ""

    def is_uniform(self, value: ir.Expr) -> bool:
        """Whether all invocations of a workgroup are sure to agree on `value`."""

        def agreed(leaf: ir.Expr) -> bool:
            shared = isinstance(leaf, ir.Builtin) and leaf.name.startswith(("workgroup_id", "num_"))
            return leaf in self.uniform or shared or isinstance(leaf, ir.Param)

        return ir.is_uniform(
            value, agreed, lambda b: b.space == ir.AddressSpace.STORAGE and not b.writable, self.agreed
        )

    def is_agreed(self, value: ir.Expr) -> bool:
        """Whether all invocations of a workgroup have the same `value`, of which a compiler need not know."""
        return all(
            node in self.together or self.is_uniform(node)
            for node in ir.nodes(value, skip=self.together)
            if not node.operands or not ir.is_pure(node)
        )

    def begin_block(self, divergent: str, holds: ir.Expr | None = None) -> list[ir.Stmt]:
        """An inner block, whose statements the caller puts where they belong when it is complete; `holds` is true
        all through it, and `divergent` says what some threads skip it by."""
        inner: list[ir.Stmt] = []
        self.held.append(() if holds is None else ir.conjuncts(holds))
        self.blocks.append(inner)
        self.divergent.append(divergent or self.divergent[-1])
        return inner

    def end_block(self, what: str) -> None:
        """The innermost block is complete; `what` says to a reader which it is."""
        self.divergent.pop()
        self.held.pop()
        for stmt in self.blocks.pop():
            if stmt.binds is not None:
                self.closed[stmt.binds] = what

    def checkpoint(self) -> Callable[[], None]:
        """A function that takes back the statements, arrays, notes and names that are written from here on.

        It is to be called where the block that is innermost now is so again. Facts of values (`uniform`) stay, for
        they hold of the values themselves.
        """
        lists: tuple[list[Any], ...] = self.blocks[-1], self.local, self.notes, self.bounds
        lengths = [len(items) for items in lists]
        tables = {name: dict(getattr(self, name)) for name in ("counts", "places", "read_from", "latest")}

        def back() -> None:
            for items, length in zip(lists, lengths, strict=True):
                del items[length:]
            for name, table in tables.items():
                setattr(self, name, dict(table))

        return back

    def open_part(self, condition: ir.Expr) -> ir.Expr:
        """What of a simplified condition is not known to hold in the block being written."""
        held = set(chain(*self.held))
        if not held:
            return condition
        left = [part for part in ir.conjuncts(condition) if part not in held]
        return reduce(and_, left) if left else ir.const(True, bool_)

    def local_array(self, dtype: DType, length: int, space: ir.AddressSpace, wish: str, note: str = "") -> ir.Buffer:
        """A new workgroup or private array."""
        buffer = ir.Buffer(self.unique(wish), gpu_dtype(dtype), length, space, writable=True, note=note)
        self.local.append(buffer)
        if space == ir.AddressSpace.WORKGROUP:
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
            columns = -(-x // rows)
            grid = columns, rows, 1
            total = ir.builtin("workgroup_id", 0, rows - 1, axis=1) * columns + ir.builtin(
                "workgroup_id", 0, columns - 1, axis=0
            )
            group = ir.var("group_index", lo=0, hi=x - 1)
            self.uniform.add(group)
            self.emit(ir.Let(group, simplify(total)))
            self.folded = ir.If(simplify(total < x), ())
            first: ir.Expr = group
        else:
            first = ir.builtin("workgroup_id", 0, max(0, x - 1), axis=0)
        self.grid = grid
        self.group = (
            first,
            ir.builtin("workgroup_id", 0, max(0, y - 1), axis=1),
            ir.builtin("workgroup_id", 0, max(0, z - 1), axis=2),
        )
        CURRENT_THREAD.set(self.thread)
        if self.begins is not None:
            self.begins()

    @property
    def threads(self) -> int:
        """Invocations of a workgroup."""
        x, y, z = self.launched("the number of threads")
        return x * y * z

    @property
    def thread(self) -> ir.Expr:
        """The index of the invocation in its workgroup."""
        return ir.builtin("local_invocation_index", 0, self.threads - 1)

    def launched(self, what: str) -> Size3:
        """The workgroup's size, or a refusal to give `what` before it is known."""
        if self.workgroup is None:
            raise KernelError(
                f"{user_place()}: {what} is asked for before the launch is known; "
                "begin the kernel with gpu.launch(grid=..., threads=...)"
            )
        return self.workgroup

    def body(self) -> ir.Block:
        """The whole body, complete."""
        body = tuple(self.blocks[0])
        if isinstance(self.folded, ir.If):
            return (ir.If(self.folded.condition, body),)
        return body


_TRACE: ContextVar[Trace | None] = ContextVar("trace", default=None)


def _undecided(value: ir.Expr) -> Exception | None:
    trace = _TRACE.get()
    found: Exception | None = None if trace is None or trace.sizes is None else trace.sizes.left_open(value)
    return found


ir.Expr._undecided = staticmethod(_undecided)


class OutsideKernelError(KernelError, AttributeError):
    """What only a kernel has is asked for outside of one; to `hasattr` and `help` it is no attribute there."""


def current(what: str) -> Trace:
    """The trace that is running; OutsideKernelError outside one."""
    trace = _TRACE.get()
    if trace is None:
        raise OutsideKernelError(f"{what} has a meaning inside a @gpu.kernel function only")
    return trace


def tracing() -> Trace | None:
    """The trace that is running, if one is."""
    return _TRACE.get()


def is_known(value: object, truth: bool) -> bool:
    """Whether a condition is a constant of that truth."""
    if isinstance(value, ir.Const):
        return bool(value.value) is truth
    return not isinstance(value, ir.Expr) and bool(value) is truth
