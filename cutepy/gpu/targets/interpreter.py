"""Runs a kernel on NumPy arrays: the reference for what a kernel means, and the engine where there is no GPU.

Every statement runs for all invocations of many workgroups at once, in lock step, so barriers hold by themselves.
A value is an array that broadcasts to (workgroups, threads), a vector one to (lanes, workgroups, threads); what is the
same for all invocations, such as a loop's counter, stays a 1x1 array. An expression is compiled to a Python closure
once; what is used more than once is cached for an iteration of the innermost loop, or, where it reads memory or a
name that may be set again, for one statement. Memory that a GPU would not clear holds NaN or 0xDEADBEEF. A floating
`fma` rounds twice.
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
from . import interpreter_memory as memory
from .interpreter_memory import AccessCheck, Compute, InterpreterState, Run, Watch

#: LANES: invocations that run in lock step. MEMORY: bytes of their private and workgroup memory, 128 MiB.
LANES, MEMORY = 1 << 15, 1 << 27
#: Iterations of a loop without a bound, after which it is taken to be endless.
MAX_ITERATIONS = 1 << 20
#: What memory that a GPU leaves uninitialised holds, by kind of type.
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
    # 1. What the call gives must fit what the kernel was traced for.
    subgroup_size = subgroup_size or kernel.subgroup or max(32, kernel.lanes)
    if kernel.subgroup and subgroup_size != kernel.subgroup:
        raise KernelError(
            f"{kernel.name}: gpu.launch(subgroup={kernel.subgroup}) asks for that size, here it is {subgroup_size}"
        )
    if subgroup_size < kernel.lanes:
        raise KernelError(
            f"{kernel.name}: it shuffles within subgroups of {kernel.lanes} threads, here they have {subgroup_size}"
        )
    if len(arrays) != len(kernel.buffers):
        raise KernelError(f"{kernel.name}: {len(arrays)} arrays given for {len(kernel.buffers)} bindings")
    # 2. Bindings in the buffers' types, padded to whole vectors: a copy where the array is not such already.
    bound: dict[ir.Buffer, Array] = {}
    for buffer, array in zip(kernel.buffers, arrays, strict=True):
        if array.size < buffer.length:
            raise KernelError(
                f"{kernel.name}: {buffer.name} needs {buffer.length} elements, the array has {array.size}"
            )
        bound[buffer] = _bound(buffer, array)
    # 3. Closures are compiled once, and run chunk by chunk of workgroups.
    compiler = Compiler(ir.check(kernel))
    run = compiler.block(kernel.body)
    given: dict[ir.Expr, Array] = {p: np.full((1, 1), (params or {})[p.name], p.dtype.numpy) for p in kernel.params}
    with np.errstate(all="ignore"):
        for chunk in _chunks(kernel, compiler.thread_bytes, only, alone=bool(compiler.waits)):
            state = InterpreterState(
                kernel, len(chunk[0]), dict(bound), {}, params=given, subgroup_size=subgroup_size, watch=watch
            )
            _start_chunk(state, chunk)
            if watch is not None:
                watch.begin(state)
            run(state)
    # 4. Results in copies go back to the caller's arrays.
    for buffer, array in zip(kernel.buffers, arrays, strict=True):
        if buffer.writable and bound[buffer] is not array:
            array[...] = bound[buffer][: array.size]


def _bound(buffer: ir.Buffer, array: Array) -> Array:
    """The array as the kernel sees it: in the buffer's type, and filled up to whole vectors as device buffers are."""
    missing = -buffer.length % buffer.width - (array.size - buffer.length)
    if missing > 0:
        array = np.concatenate([array, np.zeros(missing, array.dtype)])
    return array if array.dtype == buffer.dtype.numpy else array.astype(buffer.dtype.numpy)


def _chunks(
    kernel: ir.Kernel, thread_bytes: int, only: int | None, *, alone: bool
) -> Iterator[tuple[Array, Array, Array]]:
    """The ids of the workgroups that run together, chunk by chunk; the values of a thread take `thread_bytes` bytes.
    Where one may wait for another each runs `alone`, in their order."""
    x, y, z = kernel.grid
    total, threads = x * y * z, kernel.threads
    private = sum(b.length * b.dtype.bytes for b in kernel.local if b.space == ir.AddressSpace.PRIVATE)
    each = threads * (private + thread_bytes) + kernel.shared_bytes + 1
    # Workgroups a chunk: as many as fit the two budgets.
    step = 1 if alone else max(1, min(LANES // threads, MEMORY // each))
    for start in range(0, total, step) if only is None else (only,):
        step = step if only is None else 1
        group = np.arange(start, min(start + step, total), dtype=np.int64)
        ids = [axis.astype(np.uint32) for axis in (group % x, group // x % y, group // (x * y))]
        # A linear workgroup index counts along x, then y, then z.
        yield ids[0], ids[1], ids[2]


def _start_chunk(state: InterpreterState, chunk: tuple[Array, Array, Array]) -> None:
    """Fill in the ids of a chunk of workgroups and their arrays: workgroup memory poisoned, registers 0."""
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
        # Arrays by space: (workgroups, elements), constants (elements), matrices (elements, workgroups, subgroups,
        # rows, columns), registers (elements, workgroups, threads).
        if buffer.space == ir.AddressSpace.WORKGROUP:
            state.arrays[buffer] = np.full((state.groups, length), _POISON[buffer.dtype.kind], buffer.dtype.numpy)
        elif buffer.space == ir.AddressSpace.CONSTANT:
            state.arrays[buffer] = np.array(buffer.values, buffer.dtype.numpy)
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
        # Loops that wait for another workgroup, and the arrays that they wait on.
        self.waits = waiting(kernel)
        self.waited = {wait.atomic.buffer for wait in self.waits}
        self.unstable: set[ir.Expr] = {s.var for s in ir.statements(kernel.body) if isinstance(s, ir.Declare)}
        roots = [root for stmt in ir.statements(kernel.body) for root in stmt.expressions]
        order = ir.nodes(*roots)
        # What is impure, or reads a name that is set again, is stable within one statement only.
        uses = Counter(roots)
        for node in order:
            uses.update(node.operands)
            if not ir.is_pure(node) or any(x in self.unstable for x in node.operands):
                self.unstable.add(node)
        # Cached: what more than one expression or statement uses.
        self.kept = {node for node in order if uses[node] > 1 and node.operands}
        named = [s.var for s in ir.statements(kernel.body) if isinstance(s, ir.Let | ir.Declare)]
        self.thread_bytes = sum(max(4 * value.lanes, value.dtype.bytes) for value in (*named, *self.kept))

    def expr(self, value: ir.Expr) -> Compute:
        compiled = self.memo.get(value)
        if compiled is None:
            compute = self._expr(value)
            compiled = self.memo[value] = self.once(value, compute) if value in self.kept else compute
        return compiled

    def once(self, value: ir.Expr, compute: Compute) -> Compute:
        fleeting = value in self.unstable

        def recall(s: InterpreterState) -> Array:
            kept = s.statement_cache if fleeting else s.iteration_cache
            value_now = kept.get(value)
            if value_now is None:
                value_now = kept[value] = compute(s)
            return value_now

        return recall

    def _expr(self, value: ir.Expr) -> Compute:
        match value:
            # Made once: NumPy arrays of constants are not written to.
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
                return lambda s: memory.subgroup_call(name, [a(s) for a in given], s.shape, s.active, s.subgroup_size)
            case ir.MatrixLoad():
                return memory.load_matrix(self, value)
            case ir.MatrixCall():
                return memory.call_matrix(self, value)
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
        extents = zip(access.coordinates, access.shape, strict=True)
        return tuple([(self.expr(at), extent) for at, extent in extents if isinstance(extent, int)])

    def load(self, node: ir.Load) -> Compute:
        buffer, index, lanes = node.buffer, self.expr(node.index), node.lanes
        check = AccessCheck(
            self.kernel, buffer, lanes, node.place, ir.Verb.READS, node.index, coordinates=self.coordinates(node)
        )
        where = None if node.where is None else self.expr(node.where)
        # A register at a constant index is a view of its rows: no gather, and the bound is checked now.
        if buffer.space == ir.AddressSpace.PRIVATE and isinstance(node.index, ir.Const) and where is None:
            first = int(node.index.value) * buffer.width
            check.check_constant(first)
            if lanes == 1:
                return lambda s: s.arrays[buffer][first].copy()
            return lambda s: s.arrays[buffer][first : first + lanes].copy()

        def read(s: InterpreterState) -> Array:
            # A predicated load reads in the threads where the predicate holds, and is 0 in the others.
            active = s.active if where is None else memory.both(s.active, where(s))
            at = check.elements(s, index(s), active)
            check.check_coordinates(s, active)
            values = memory.gather(s, buffer, at, lanes)
            if s.watch is not None:
                s.watch.access(s, check, at, active, values)
            return values if where is None else np.where(where(s), values, values.dtype.type(0))

        return read

    def block(self, block: ir.Block) -> Run:
        runs = [self.counted(stmt, RUNS[type(stmt)](self, stmt)) for stmt in block if not isinstance(stmt, ir.Comment)]

        def run(s: InterpreterState) -> None:
            for step in runs:
                s.statement_cache.clear()
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
                # One lane of a vector: the others keep their values.
                lanes = [new if i == lane else lane_of(old, i) for i in range(var.lanes)]
                new = np.stack(np.broadcast_arrays(*lanes))
            active = memory.by_subgroup(s, kind, "", "sets") if isinstance(kind, MatrixType) else s.active
            s.values[var] = new if active is None else np.where(active, new, old)

        return assign

    def store(self, stmt: ir.Store) -> Run:
        buffer, index, value, lanes = stmt.buffer, self.expr(stmt.index), self.expr(stmt.value), stmt.value.lanes
        kind, at = buffer.dtype, self.coordinates(stmt)
        check = AccessCheck(
            self.kernel, buffer, lanes, stmt.place, ir.Verb.WRITES, stmt.index, takes=False, coordinates=at
        )
        if buffer.space == ir.AddressSpace.PRIVATE and isinstance(stmt.index, ir.Const):
            first = int(stmt.index.value) * buffer.width
            check.check_constant(first)
            part = slice(first, first + lanes) if lanes > 1 else first

            def keep(s: InterpreterState) -> None:
                put, active = value(s), s.active
                if isinstance(kind, MatrixType):
                    active = memory.by_subgroup(s, kind, stmt.place, "sets")
                # Inactive threads keep what they had.
                if active is None:
                    s.arrays[buffer][part] = put
                else:
                    np.copyto(s.arrays[buffer][part], put, where=active)

            return keep

        def write(s: InterpreterState) -> None:
            at = check.elements(s, index(s), s.active, value)
            check.check_coordinates(s, s.active)
            put = value(s)
            if s.watch is not None:
                s.watch.access(s, check, at, s.active, put)
            memory.scatter(s, buffer, at, put, lanes)

        return write

    def atomic(self, stmt: ir.Atomic) -> Run:
        buffer, index, value, result = stmt.buffer, self.expr(stmt.index), self.expr(stmt.value), stmt.result
        compare = None if stmt.compare is None else self.expr(stmt.compare)
        check = AccessCheck(
            self.kernel, buffer, 1, stmt.place, ir.Verb.UPDATES, stmt.index, stmt.takes, self.coordinates(stmt)
        )
        waits = any(wait.atomic is stmt for wait in self.waits)

        def update(s: InterpreterState) -> None:
            # The bounds of the index, then of the coordinates, then the update, thread after thread.
            first = check.elements(s, index(s), s.active, value)
            check.check_coordinates(s, s.active)
            at = np.broadcast_to(memory.spread(s, buffer, first, 1), s.shape)
            operand = np.broadcast_to(value(s), s.shape)
            if s.watch is not None:
                s.watch.access(s, check, first, s.active, operand)
            wanted = None if compare is None else np.broadcast_to(compare(s), s.shape)
            array = s.arrays[buffer].reshape(-1)
            old = memory.atomic_update(stmt.op, array, at, (operand, wanted), s.everyone, result is not None)
            if result is not None:
                assert old is not None
                s.values[result] = old
                if waits:
                    memory.check_wait(s, check, stmt, at, old)

        return update

    def branch(self, stmt: ir.If) -> Run:
        test, then, orelse = self.expr(stmt.condition), self.block(stmt.then), self.block(stmt.orelse)

        def run(s: InterpreterState) -> None:
            outside, condition = s.active, test(s)
            # Both sides run one after the other, each for the threads that take it, and not at all where none does.
            for side, body in ((condition, then), (np.logical_not(condition), orelse)):
                here = memory.both(outside, side)
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
            # A loop that is entered again may find the same value again without waiting for ever.
            for atomic in repeated:
                s.last_seen.pop(atomic, None)
            for iteration in numbers():
                if stop is None and iteration > MAX_ITERATIONS:
                    raise KernelError(
                        f"{stmt.place}: the while of {self.kernel.name} goes on after {iteration} turns, in some "
                        "threads: it may never end; gpu.at_most(n, condition) bounds it"
                    )
                s.values[var] = at
                # The bound is computed anew on each iteration, as WGSL's `for` does.
                if stop is not None:
                    # A thread that left stays out, even where its counter wraps around below the bound.
                    going = memory.both(going, np.less(at, stop(s)))
                if going is not None and not going.any():
                    break
                s.active = None if going is None or going.all() else going
                s.iteration_cache.clear()
                body(s)
                # A `break` has taken threads out of `s.active`.
                going = s.active
                s.statement_cache.clear()
                at = at + step(s)
            s.loops.pop()
            s.active = outside

        return run

    def leave(self, stmt: ir.Break) -> Run:
        test, last = self.expr(stmt.condition), self.block(stmt.last)

        def run(s: InterpreterState) -> None:
            condition = test(s)
            here = memory.both(s.active, condition)
            if here.any():
                # The block on leaving runs for the threads that leave; the others go on.
                staying = memory.both(s.active, np.logical_not(condition))
                s.active = here
                last(s)
                s.active = staying

        return run

    def say(self, stmt: ir.Print) -> Run:
        values = [self.expr(value) for value in stmt.values]
        return lambda s: memory.say(s, stmt.parts, [value(s) for value in values])

    def assumed(self, stmt: ir.Assume) -> Run:
        # Each part that must hold, with what it compares: an error says these numbers.
        parts = [
            (self.expr(part), [self.expr(x) for x in (part.left, part.right)], f" {part.op} ")
            if isinstance(part, ir.Binary)
            else (self.expr(part), [], "")
            for part in ir.conjuncts(stmt.condition)
        ]

        def check(s: InterpreterState) -> None:
            for holds, sides, compared in parts:
                broken = memory.both(s.active, np.logical_not(holds(s)))
                if broken.any():
                    at = memory.first_invocation(s, broken)
                    numbers = compared.join([f"{np.broadcast_to(side(s), s.shape)[at]}" for side in sides])
                    memory.refuse_stated(s, stmt, at, f"{numbers} is not so".strip())

        return check

    def elements(self, stmt: ir.Elements) -> Run:
        first, count, buffer = self.expr(stmt.first), self.expr(stmt.count), stmt.buffer

        def check(s: InterpreterState) -> None:
            start, many = (int(np.max(value(s))) for value in (first, count))
            held = s.arrays[buffer][start : start + many]
            places = np.argsort(held, kind="stable") if stmt.order is ir.ElementOrder.DISTINCT else np.arange(held.size)
            one, two = places[:-1], places[1:]
            wrong = held[one] == held[two] if stmt.order is ir.ElementOrder.DISTINCT else held[two] < held[one]
            if wrong.any():
                at = int(np.argmax(wrong))
                found = f"element {two[at]} is {held[two[at]]}, after {held[one[at]]} in element {one[at]}"
                memory.refuse_stated(s, stmt, memory.first_invocation(s, s.everyone), found)

        return check

    def uniform_load(self, stmt: ir.UniformLoad) -> Run:
        var, compute = stmt.var, self.expr(stmt.value)
        fence = self.barrier(ir.Barrier(False, stmt.place))

        def load(s: InterpreterState) -> None:
            fence(s)
            s.values[var] = compute(s)
            fence(s)

        return load

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
    ir.MatrixStore: memory.store_matrix,
    ir.Atomic: Compiler.atomic,
    ir.If: Compiler.branch,
    ir.For: Compiler.loop,
    ir.Break: Compiler.leave,
    ir.Barrier: Compiler.barrier,
    ir.UniformLoad: Compiler.uniform_load,
    ir.Print: Compiler.say,
    ir.Assume: Compiler.assumed,
    ir.Elements: Compiler.elements,
}
