"""Runs a kernel on NumPy arrays: the reference for what a kernel means, and the engine where there is no GPU.

Every statement runs for all invocations of many workgroups at once, in lock step, so barriers hold by themselves.
A value is an array that broadcasts to (workgroups, threads), a vector one to (lanes, workgroups, threads); what is the
same for all invocations, such as a loop's counter, stays a 1x1 array. An expression is compiled to a Python closure
once; what is used more than once is kept until a loop turns, or, where it reads memory or a name that may be set
again, until the statement ends. Memory that a GPU would not clear holds NaN or 0xDEADBEEF. A floating `fma` rounds
twice.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count as numbers
from typing import Any

import numpy as np

from ...errors import KernelError
from ...tensor.dtypes import MatrixType
from .. import ir
from ..ir.laws import Array, lane_of
from ..ir.operators import SUBGROUP
from ..ir.waits import waiting
from .interpreter_memory import (
    Compute,
    InterpreterState,
    Reach,
    Run,
    Watch,
    atomic_update,
    both,
    by_subgroup,
    call_matrix,
    check_wait,
    gather,
    load_matrix,
    say,
    scatter,
    spread,
    store_matrix,
    subgroup_call,
)

#: Invocations that run at once, and the bytes that their private and workgroup memory may take.
LANES, MEMORY = 1 << 15, 1 << 27
#: Turns of a loop without an end of its own, after which it is taken to have none.
MOST_TURNS = 1 << 20
_POISON = {"f": float("nan"), "u": 0xDEADBEEF, "i": 0x5EADBEEF, "b": True}


def interpret(
    kernel: ir.Kernel,
    arrays: Sequence[Array],
    params: Mapping[str, float] | None = None,
    *,
    subgroup_size: int = 0,
    watch: Watch | None = None,
    only: int | None = None,
) -> None:
    """Run `kernel` on flat arrays, one for each binding, writing to those of writable bindings.

    `watch` looks on; of the workgroups, counted along x, then y, then z, `only` that one runs.

    Subgroups have 32 threads, or as many as the kernel asks for, if no `subgroup_size` is given.
    Raises KernelError where an access leaves its array, naming the kernel, the array, the index and the invocation, and
    for subgroups smaller than the kernel asks for.
    """
    subgroup_size = subgroup_size or max(32, kernel.lanes)
    if subgroup_size < kernel.lanes:
        raise KernelError(
            f"{kernel.name}: it shuffles within subgroups of {kernel.lanes} threads, here they have {subgroup_size}"
        )
    if len(arrays) != len(kernel.buffers):
        raise KernelError(f"{kernel.name}: {len(arrays)} arrays given for {len(kernel.buffers)} bindings")
    bound: dict[ir.Buffer, Array] = {}
    for buffer, array in zip(kernel.buffers, arrays, strict=True):
        if array.size < buffer.length:
            raise KernelError(
                f"{kernel.name}: {buffer.name} needs {buffer.length} elements, the array has {array.size}"
            )
        bound[buffer] = _bound(buffer, array)
    compiler = Compiler(ir.check(kernel))
    run = compiler.block(kernel.body)
    given: dict[ir.Expr, Array] = {p: np.full((1, 1), (params or {})[p.name], p.dtype.numpy) for p in kernel.params}
    with np.errstate(all="ignore"):
        for chunk in _chunks(kernel, compiler.held, only, alone=bool(compiler.waits)):
            state = InterpreterState(
                kernel, len(chunk[0]), dict(bound), {}, params=given, subgroup_size=subgroup_size, watch=watch
            )
            _prepare(state, chunk)
            if watch is not None:
                watch.begin(state)
            run(state)
    for buffer, array in zip(kernel.buffers, arrays, strict=True):
        if buffer.writable and bound[buffer] is not array:
            array[...] = bound[buffer][: array.size]


def _bound(buffer: ir.Buffer, array: Array) -> Array:
    """The array as the kernel sees it: in the buffer's type, and filled up to whole vectors as device buffers are."""
    missing = -buffer.length % buffer.width - (array.size - buffer.length)
    if missing > 0:
        array = np.concatenate([array, np.zeros(missing, array.dtype)])
    return array if array.dtype == buffer.dtype.numpy else array.astype(buffer.dtype.numpy)


def _chunks(kernel: ir.Kernel, held: int, only: int | None, *, alone: bool) -> Iterator[tuple[Array, Array, Array]]:
    """The ids of the workgroups that run together, chunk by chunk; the values of a thread take `held` bytes. Where one
    may wait for another each runs `alone`, in their order."""
    x, y, z = kernel.grid
    total, threads = x * y * z, kernel.threads
    private = sum(b.length * b.dtype.bytes for b in kernel.local if b.space == "private")
    each = threads * (private + held) + kernel.shared_bytes + 1
    step = 1 if alone else max(1, min(LANES // threads, MEMORY // each))
    for start in range(0, total, step) if only is None else (only,):
        step = step if only is None else 1
        group = np.arange(start, min(start + step, total), dtype=np.int64)
        ids = [part.astype(np.uint32) for part in (group % x, group // x % y, group // (x * y))]
        yield ids[0], ids[1], ids[2]


def _prepare(state: InterpreterState, chunk: tuple[Array, Array, Array]) -> None:
    kernel, threads = state.kernel, state.kernel.threads
    thread, size = np.arange(threads, dtype=np.uint32)[None, :], state.subgroup_size
    for axis, (ids, count) in enumerate(zip(chunk, kernel.grid, strict=True)):
        state.ids["workgroup_id", axis] = ids[:, None]
        state.ids["num_workgroups", axis] = np.full((1, 1), count, np.uint32)
    subgroups = {
        "local_invocation_index": thread,
        "subgroup_size": np.full((1, 1), size, np.uint32),
        "num_subgroups": np.full((1, 1), -(-threads // size), np.uint32),
        "subgroup_id": thread // np.uint32(size),
        "subgroup_invocation_id": thread % np.uint32(size),
    }
    state.ids.update({(name, None): values for name, values in subgroups.items()})
    for buffer in kernel.local:
        length = -(-buffer.length // buffer.width) * buffer.width
        if buffer.space == "workgroup":
            state.arrays[buffer] = np.full((state.groups, length), _POISON[buffer.dtype.kind], buffer.dtype.numpy)
        elif isinstance(kind := buffer.dtype, MatrixType):
            held = state.groups, -(-threads // kind.threads), kind.rows, kind.columns
            state.arrays[buffer] = np.zeros((length, *held), kind.numpy)
        else:
            state.arrays[buffer] = np.zeros((length, *state.shape), buffer.dtype.numpy)


class Compiler:
    """Turns expressions and statements into closures over a State."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.kernel = kernel
        self.memo: dict[ir.Expr, Compute] = {}
        self.waits = waiting(kernel)
        self.waited = {wait.atomic.buffer for wait in self.waits}
        self.fleeting: set[ir.Expr] = {s.var for s in ir.statements(kernel.body) if isinstance(s, ir.Declare)}
        roots = [root for stmt in ir.statements(kernel.body) for root in stmt.expressions]
        order = ir.nodes(*roots)
        uses = Counter(roots)
        for node in order:
            uses.update(node.operands)
            if not ir.is_told(node) or any(x in self.fleeting for x in node.operands):
                self.fleeting.add(node)
        self.kept = {node for node in order if uses[node] > 1 and node.operands}
        named = [s.var for s in ir.statements(kernel.body) if isinstance(s, ir.Let | ir.Declare)]
        self.held = sum(max(4 * value.lanes, value.dtype.bytes) for value in (*named, *self.kept))

    def expr(self, value: ir.Expr) -> Compute:
        known = self.memo.get(value)
        if known is None:
            compute = self._expr(value)
            known = self.memo[value] = self.once(value, compute) if value in self.kept else compute
        return known

    def once(self, value: ir.Expr, compute: Compute) -> Compute:
        fleeting = value in self.fleeting

        def recall(s: InterpreterState) -> Array:
            kept = s.fleeting if fleeting else s.lasting
            found = kept.get(value)
            if found is None:
                found = kept[value] = compute(s)
            return found

        return recall

    def _expr(self, value: ir.Expr) -> Compute:
        match value:
            case ir.Const(value=number, dtype=dtype):
                constant = np.full((1, 1), number, dtype.numpy)
                return lambda s: constant
            case ir.Var():
                return lambda s: s.values[value]
            case ir.Builtin(name=name, axis=axis):
                return lambda s: s.ids[name, axis]
            case ir.Param():
                return lambda s: s.params[value]
            case ir.Call(name=name, args=args) if name in SUBGROUP:
                given = [self.expr(a) for a in args]
                return lambda s: subgroup_call(name, [a(s) for a in given], s.shape, s.active, s.subgroup_size)
            case ir.MatrixLoad():
                return load_matrix(self, value)
            case ir.MatrixCall():
                return call_matrix(self, value)
            case ir.Load():
                return self.load(value)
        return self.computed(value)

    def computed(self, value: ir.Expr) -> Compute:
        """What only its operands decide."""
        function, operands = ir.meaning(value), [self.expr(x) for x in value.operands]
        assert function is not None, type(value).__name__
        match operands:
            case [only]:
                return lambda s: function(only(s))
            case [first, second]:
                return lambda s: function(first(s), second(s))
        return lambda s: function(*[x(s) for x in operands])

    def coordinates(self, access: ir.Load | ir.Change) -> tuple[tuple[Compute, int], ...]:
        """The coordinates of an access, each with its extent; those of unknown sizes have none to compare with."""
        known = zip(access.coordinates, access.shape, strict=True)
        return tuple([(self.expr(at), extent) for at, extent in known if isinstance(extent, int)])

    def load(self, node: ir.Load) -> Compute:
        buffer, index, lanes = node.buffer, self.expr(node.index), node.lanes
        reach = Reach(self.kernel, buffer, lanes, node.place, "reads", node.index, coordinates=self.coordinates(node))
        where = None if node.where is None else self.expr(node.where)
        if buffer.space == "private" and isinstance(node.index, ir.Const) and where is None:
            first = int(node.index.value) * buffer.width
            reach.check_constant(first)
            if lanes == 1:
                return lambda s: s.arrays[buffer][first].copy()
            return lambda s: s.arrays[buffer][first : first + lanes].copy()

        def read(s: InterpreterState) -> Array:
            active = s.active if where is None else both(s.active, where(s))
            at = reach.elements(s, index(s), active)
            reach.check_coordinates(s, active)
            found = gather(s, buffer, at, lanes)
            if s.watch is not None:
                s.watch.access(s, reach, at, active, found)
            return found if where is None else np.where(where(s), found, found.dtype.type(0))

        return read

    def block(self, block: ir.Block) -> Run:
        runs = [self.counted(stmt, RUNS[type(stmt)](self, stmt)) for stmt in block if not isinstance(stmt, ir.Comment)]

        def run(s: InterpreterState) -> None:
            for step in runs:
                s.fleeting.clear()
                step(s)

        return run

    def counted(self, stmt: ir.Stmt, change: Run) -> Run:
        """A statement that may change what is waited for, counted where it does."""
        if not isinstance(stmt, ir.Change) or stmt.buffer not in self.waited:
            return change
        buffer = stmt.buffer

        def run(s: InterpreterState) -> None:
            before = s.arrays[buffer].tobytes()
            change(s)
            s.changes[buffer] += before != s.arrays[buffer].tobytes()

        return run

    def let(self, stmt: ir.Let) -> Run:
        var, compute = stmt.var, self.expr(stmt.value)

        def bind(s: InterpreterState) -> None:
            s.values[var] = compute(s)

        return bind

    def declare(self, stmt: ir.Declare) -> Run:
        var, start = stmt.var, None if stmt.value is None else self.expr(stmt.value)
        axes = 4 if var.dtype.kind == "m" else 2 if var.lanes == 1 else 3
        zero = np.zeros((1,) * axes, var.dtype.numpy)

        def declare(s: InterpreterState) -> None:
            s.values[var] = zero if start is None else start(s)

        return declare

    def assign(self, stmt: ir.Assign) -> Run:
        var, compute, lane, kind = stmt.var, self.expr(stmt.value), stmt.lane, stmt.var.dtype

        def assign(s: InterpreterState) -> None:
            new, old = compute(s), s.values[var]
            if lane is not None:
                lanes = [new if i == lane else lane_of(old, i) for i in range(var.lanes)]
                new = np.stack(np.broadcast_arrays(*lanes))
            active = by_subgroup(s, kind, "", "sets") if isinstance(kind, MatrixType) else s.active
            s.values[var] = new if active is None else np.where(active, new, old)

        return assign

    def store(self, stmt: ir.Store) -> Run:
        buffer, index, value, lanes = stmt.buffer, self.expr(stmt.index), self.expr(stmt.value), stmt.value.lanes
        kind, at = buffer.dtype, self.coordinates(stmt)
        reach = Reach(self.kernel, buffer, lanes, stmt.place, "writes", stmt.index, takes=False, coordinates=at)
        if buffer.space == "private" and isinstance(stmt.index, ir.Const):
            first = int(stmt.index.value) * buffer.width
            reach.check_constant(first)
            part = slice(first, first + lanes) if lanes > 1 else first

            def keep(s: InterpreterState) -> None:
                put, active = value(s), s.active
                if isinstance(kind, MatrixType):
                    active = by_subgroup(s, kind, stmt.place, "sets")
                if active is None:
                    s.arrays[buffer][part] = put
                else:
                    np.copyto(s.arrays[buffer][part], put, where=active)

            return keep

        def write(s: InterpreterState) -> None:
            at = reach.elements(s, index(s), s.active, value)
            reach.check_coordinates(s, s.active)
            put = value(s)
            if s.watch is not None:
                s.watch.access(s, reach, at, s.active, put)
            scatter(s, buffer, at, put, lanes)

        return write

    def atomic(self, stmt: ir.Atomic) -> Run:
        buffer, index, value, result = stmt.buffer, self.expr(stmt.index), self.expr(stmt.value), stmt.result
        compare = None if stmt.compare is None else self.expr(stmt.compare)
        reach = Reach(self.kernel, buffer, 1, stmt.place, "updates", stmt.index, stmt.takes, self.coordinates(stmt))
        waits = any(wait.atomic is stmt for wait in self.waits)

        def update(s: InterpreterState) -> None:
            first = reach.elements(s, index(s), s.active, value)
            reach.check_coordinates(s, s.active)
            at = np.broadcast_to(spread(s, buffer, first, 1), s.shape)
            operand = np.broadcast_to(value(s), s.shape)
            if s.watch is not None:
                s.watch.access(s, reach, first, s.active, operand)
            wanted = None if compare is None else np.broadcast_to(compare(s), s.shape)
            array = s.arrays[buffer].reshape(-1)
            old = atomic_update(stmt.op, array, at, (operand, wanted), s.everyone, result is not None)
            if result is not None:
                assert old is not None
                s.values[result] = old
                if waits:
                    check_wait(s, reach, stmt, at, old)

        return update

    def branch(self, stmt: ir.If) -> Run:
        test, then, orelse = self.expr(stmt.condition), self.block(stmt.then), self.block(stmt.orelse)

        def run(s: InterpreterState) -> None:
            outside, condition = s.active, test(s)
            for side, body in ((condition, then), (np.logical_not(condition), orelse)):
                here = both(outside, side)
                if (body is orelse and not stmt.orelse) or not here.any():
                    continue
                s.active = None if here.all() else here
                body(s)
                s.active = outside

        return run

    def loop(self, stmt: ir.For) -> Run:
        start, step = self.expr(stmt.start), self.expr(stmt.step)
        stop = None if stmt.stop is None else self.expr(stmt.stop)
        body, var = self.block(stmt.body), stmt.var
        repeated = [wait.atomic for wait in self.waits if wait.loop is stmt]

        def run(s: InterpreterState) -> None:
            outside, at = s.active, start(s)
            going = outside
            s.loops.append(var)
            for atomic in repeated:
                s.found.pop(atomic, None)
            for turn in numbers():
                if stop is None and turn > MOST_TURNS:
                    raise KernelError(
                        f"{stmt.place}: the while of {self.kernel.name} goes on after {turn} turns, in some threads: "
                        "it may never end; gpu.at_most(n, condition) bounds it"
                    )
                s.values[var] = at
                if stop is not None:
                    going = both(going, np.less(at, stop(s)))  # who has left is out, wherever its counter wraps to
                if going is not None and not going.any():
                    break
                s.active = None if going is None or going.all() else going
                s.lasting.clear()
                body(s)
                going = s.active
                s.fleeting.clear()
                at = at + step(s)
            s.loops.pop()
            s.active = outside

        return run

    def leave(self, stmt: ir.Break) -> Run:
        test, last = self.expr(stmt.condition), self.block(stmt.last)

        def run(s: InterpreterState) -> None:
            condition = test(s)
            here = both(s.active, condition)
            if here.any():
                staying = both(s.active, np.logical_not(condition))
                s.active = here
                last(s)
                s.active = staying

        return run

    def say(self, stmt: ir.Print) -> Run:
        values = [self.expr(value) for value in stmt.values]
        return lambda s: say(s, stmt.parts, [value(s) for value in values])

    def barrier(self, stmt: ir.Barrier) -> Run:
        def come(s: InterpreterState) -> None:
            if s.watch is not None:
                s.watch.barrier(s, stmt)

        return come


#: What each kind of statement does to a `InterpreterState`.
RUNS: dict[type[ir.Stmt], Callable[[Compiler, Any], Run]] = {
    ir.Let: Compiler.let,
    ir.Declare: Compiler.declare,
    ir.Assign: Compiler.assign,
    ir.Store: Compiler.store,
    ir.MatrixStore: store_matrix,
    ir.Atomic: Compiler.atomic,
    ir.If: Compiler.branch,
    ir.For: Compiler.loop,
    ir.Break: Compiler.leave,
    ir.Barrier: Compiler.barrier,
    ir.Print: Compiler.say,
}
