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

import numpy as np

from ..errors import KernelError
from ..tensor.dtypes import DType
from .evaluate import atomic_update, meaning, subgroup_call
from .interpret_memory import Array, Reach, State, both, gather, lane_of, scatter, spread
from .ir import (
    Assign,
    Atomic,
    Barrier,
    Block,
    Buffer,
    Builtin,
    Call,
    Comment,
    Component,
    Const,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Load,
    Param,
    Stmt,
    Store,
    Var,
    Vector,
    check,
    children,
    expressions,
    nodes,
    statements,
)
from .ir.operators import SUBGROUP

Compute = Callable[[State], Array]
Run = Callable[[State], None]

#: Invocations that run at once, and the bytes that their private and workgroup memory may take.
LANES, MEMORY = 1 << 15, 1 << 27


def interpret(
    kernel: Kernel, arrays: Sequence[Array], params: Mapping[str, float] | None = None, *, subgroup_size: int = 32
) -> None:
    """Run `kernel` on flat arrays, one for each binding, writing to those of writable bindings.

    Raises KernelError where an access leaves its array, naming the kernel, the array, the index and the invocation.
    """
    if len(arrays) != len(kernel.buffers):
        raise KernelError(f"{kernel.name}: {len(arrays)} arrays given for {len(kernel.buffers)} bindings")
    bound: dict[Buffer, Array] = {}
    for buffer, array in zip(kernel.buffers, arrays, strict=True):
        if array.size < buffer.length:
            raise KernelError(
                f"{kernel.name}: {buffer.name} needs {buffer.length} elements, the array has {array.size}"
            )
        bound[buffer] = _bound(buffer, array)
    compiler = _Compiler(check(kernel))
    run = compiler.block(kernel.body)
    given: dict[Expr, Array] = {p: np.full((1, 1), (params or {})[p.name], p.dtype.numpy) for p in kernel.params}
    with np.errstate(all="ignore"):
        for chunk in _chunks(kernel, compiler.held):
            state = State(kernel, len(chunk[0]), dict(bound), {}, params=given, subgroup_size=subgroup_size)
            _prepare(state, chunk)
            run(state)
    for buffer, array in zip(kernel.buffers, arrays, strict=True):
        if buffer.writable and bound[buffer] is not array:
            array[...] = bound[buffer][: array.size]


def _bound(buffer: Buffer, array: Array) -> Array:
    """The array as the kernel sees it: in the buffer's type, and filled up to whole vectors as device buffers are."""
    missing = -buffer.length % buffer.width - (array.size - buffer.length)
    if missing > 0:
        array = np.concatenate([array, np.zeros(missing, array.dtype)])
    return array if array.dtype == buffer.dtype.numpy else array.astype(buffer.dtype.numpy)


def _chunks(kernel: Kernel, held: int) -> Iterator[tuple[Array, Array, Array]]:
    """The ids of the workgroups that run together, chunk by chunk; the values of a thread take `held` bytes."""
    x, y, z = kernel.grid
    total, threads = x * y * z, kernel.threads
    private = sum(b.length * b.dtype.bytes for b in kernel.local if b.space == "private")
    each = threads * (private + held) + kernel.shared_bytes + 1
    step = max(1, min(LANES // threads, MEMORY // each))
    for start in range(0, total, step):
        group = np.arange(start, min(start + step, total), dtype=np.int64)
        ids = [part.astype(np.uint32) for part in (group % x, group // x % y, group // (x * y))]
        yield ids[0], ids[1], ids[2]


def _prepare(state: State, chunk: tuple[Array, Array, Array]) -> None:
    """Fill in the ids and the memory of these workgroups."""
    kernel, threads = state.kernel, state.kernel.threads
    thread, size = np.arange(threads, dtype=np.uint32)[None, :], state.subgroup_size
    for axis, part in zip("xyz", chunk, strict=True):
        state.ids[f"workgroup_id.{axis}"] = part[:, None]
    for axis, count in zip("xyz", kernel.grid, strict=True):
        state.ids[f"num_workgroups.{axis}"] = np.full((1, 1), count, np.uint32)
    state.ids["local_invocation_index"] = thread
    state.ids["subgroup_size"] = np.full((1, 1), size, np.uint32)
    state.ids["num_subgroups"] = np.full((1, 1), -(-threads // size), np.uint32)
    state.ids["subgroup_id"], state.ids["subgroup_invocation_id"] = thread // np.uint32(size), thread % np.uint32(size)
    for buffer in kernel.local:
        length = -(-buffer.length // buffer.width) * buffer.width
        if buffer.space == "workgroup":
            state.arrays[buffer] = np.full((state.groups, length), _poison(buffer.dtype), buffer.dtype.numpy)
        else:
            state.arrays[buffer] = np.zeros((length, *state.shape), buffer.dtype.numpy)


def _poison(dtype: DType) -> float | int | bool:
    return float("nan") if dtype.kind == "f" else {"u": 0xDEADBEEF, "i": 0x5EADBEEF, "b": True}[dtype.kind]


class _Compiler:
    """Turns expressions and statements into closures over a State."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.memo: dict[Expr, Compute] = {}
        self.fleeting: set[Expr] = {s.var for s in statements(kernel.body) if isinstance(s, Declare)}
        roots = [root for stmt in statements(kernel.body) for root in expressions(stmt)]
        order = nodes(*roots)
        uses = Counter(roots)
        for node in order:
            uses.update(children(node))
            changes = isinstance(node, Load) or (isinstance(node, Call) and node.name in SUBGROUP)
            if changes or any(x in self.fleeting for x in children(node)):
                self.fleeting.add(node)
        self.kept = {node for node in order if uses[node] > 1 and children(node)}
        named = [s.var for s in statements(kernel.body) if isinstance(s, Let | Declare)]
        self.held = sum(4 * value.lanes for value in (*named, *self.kept))

    def expr(self, value: Expr) -> Compute:
        known = self.memo.get(value)
        if known is None:
            compute = self._expr(value)
            known = self.memo[value] = self.once(value, compute) if value in self.kept else compute
        return known

    def once(self, value: Expr, compute: Compute) -> Compute:
        fleeting = value in self.fleeting

        def recall(s: State) -> Array:
            kept = s.fleeting if fleeting else s.lasting
            found = kept.get(value)
            if found is None:
                found = kept[value] = compute(s)
            return found

        return recall

    def _expr(self, value: Expr) -> Compute:
        match value:
            case Const(value=number, dtype=dtype):
                constant = np.full((1, 1), number, dtype.numpy)
                return lambda s: constant
            case Var():
                return lambda s: s.values[value]
            case Builtin(name=name):
                return lambda s: s.ids[name]
            case Param():
                return lambda s: s.params[value]
            case Call(name=name, args=args) if name in SUBGROUP:
                given = [self.expr(a) for a in args]
                return lambda s: subgroup_call(name, [a(s) for a in given], s.shape, s.active, s.subgroup_size)
            case Vector(items=items):
                parts = [self.expr(x) for x in items]
                if all(x is items[0] for x in items):
                    return lambda s: parts[0](s)[None]
                return lambda s: np.stack(np.broadcast_arrays(*[p(s) for p in parts]))
            case Component(value=whole, lane=lane):
                return self.component(self.expr(whole), lane, whole.lanes)
            case Load():
                return self.load(value)
        return self.computed(value)

    def computed(self, value: Expr) -> Compute:
        """What only its operands decide."""
        function, operands = meaning(value), [self.expr(x) for x in children(value)]
        assert function is not None, type(value).__name__
        match operands:
            case [only]:
                return lambda s: function(only(s))
            case [first, second]:
                return lambda s: function(first(s), second(s))
        return lambda s: function(*[x(s) for x in operands])

    def component(self, whole: Compute, lane: "int | Expr", lanes: int) -> Compute:
        if isinstance(lane, int):
            return lambda s: lane_of(whole(s), lane)
        at = self.expr(lane)

        def pick(s: State) -> Array:
            vector, index = whole(s), at(s)
            parts = [np.broadcast_to(lane_of(vector, i), s.shape) for i in range(lanes)]
            return np.choose(np.broadcast_to(index, s.shape).astype(np.intp), parts)

        return pick

    def load(self, node: Load) -> Compute:
        buffer, index, lanes = node.buffer, self.expr(node.index), node.lanes
        reach = Reach(self.kernel, buffer, lanes, node.place, "reads")
        where = None if node.where is None else self.expr(node.where)
        if buffer.space == "private" and isinstance(node.index, Const) and where is None:
            first = int(node.index.value) * buffer.width
            reach.check_constant(first)
            if lanes == 1:
                return lambda s: s.arrays[buffer][first].copy()
            return lambda s: s.arrays[buffer][first : first + lanes].copy()

        def read(s: State) -> Array:
            active = s.active if where is None else both(s.active, where(s))
            at = reach.elements(s, index(s), active)
            found = gather(s, buffer, at, lanes)
            return found if where is None else np.where(where(s), found, found.dtype.type(0))

        return read

    def block(self, block: Block) -> Run:
        runs = [self.stmt(stmt) for stmt in block if not isinstance(stmt, Comment | Barrier)]

        def run(s: State) -> None:
            for step in runs:
                s.fleeting.clear()
                step(s)

        return run

    def stmt(self, stmt: Stmt) -> Run:
        match stmt:
            case Let(var=var, value=value):
                compute = self.expr(value)

                def bind(s: State) -> None:
                    s.values[var] = compute(s)

                return bind
            case Declare(var=var, value=value):
                start = None if value is None else self.expr(value)
                zero = np.zeros((1,) * (2 if var.lanes == 1 else 3), var.dtype.numpy)

                def declare(s: State) -> None:
                    s.values[var] = zero if start is None else start(s)

                return declare
            case Assign():
                return self.assign(stmt)
            case Store():
                return self.store(stmt)
            case Atomic():
                return self.atomic(stmt)
            case If():
                return self.branch(stmt)
            case For():
                return self.loop(stmt)
        raise AssertionError(type(stmt).__name__)

    def assign(self, stmt: Assign) -> Run:
        var, compute, lane = stmt.var, self.expr(stmt.value), stmt.lane

        def assign(s: State) -> None:
            new, old = compute(s), s.values[var]
            if lane is not None:
                new = np.stack([new if i == lane else lane_of(old, i) for i in range(var.lanes)])
            s.values[var] = new if s.active is None else np.where(s.active, new, old)

        return assign

    def store(self, stmt: Store) -> Run:
        buffer, index, value, lanes = stmt.buffer, self.expr(stmt.index), self.expr(stmt.value), stmt.value.lanes
        reach = Reach(self.kernel, buffer, lanes, stmt.place, "writes")
        if buffer.space == "private" and isinstance(stmt.index, Const):
            first = int(stmt.index.value) * buffer.width
            reach.check_constant(first)
            part = slice(first, first + lanes) if lanes > 1 else first

            def keep(s: State) -> None:
                if s.active is None:
                    s.arrays[buffer][part] = value(s)
                else:
                    np.copyto(s.arrays[buffer][part], value(s), where=s.active)

            return keep

        def write(s: State) -> None:
            at = reach.elements(s, index(s), s.active)
            scatter(s, buffer, at, value(s), lanes)

        return write

    def atomic(self, stmt: Atomic) -> Run:
        buffer, index, value, result = stmt.buffer, self.expr(stmt.index), self.expr(stmt.value), stmt.result
        reach = Reach(self.kernel, buffer, 1, stmt.place, "updates")

        def update(s: State) -> None:
            at = np.broadcast_to(spread(s, buffer, reach.elements(s, index(s), s.active), 1), s.shape)
            active = np.ones(s.shape, bool) if s.active is None else np.broadcast_to(s.active, s.shape)
            operand = np.broadcast_to(value(s), s.shape)
            old = atomic_update(stmt.op, s.arrays[buffer].reshape(-1), at, operand, active, result is not None)
            if result is not None:
                assert old is not None
                s.values[result] = old

        return update

    def branch(self, stmt: If) -> Run:
        test, then, orelse = self.expr(stmt.condition), self.block(stmt.then), self.block(stmt.orelse)

        def run(s: State) -> None:
            outside, condition = s.active, test(s)
            for side, body in ((condition, then), (np.logical_not(condition), orelse)):
                here = both(outside, side)
                if (body is orelse and not stmt.orelse) or not here.any():
                    continue
                s.active = None if here.all() else here
                body(s)
                s.active = outside

        return run

    def loop(self, stmt: For) -> Run:
        start, stop, step = self.expr(stmt.start), self.expr(stmt.stop), self.expr(stmt.step)
        body, var = self.block(stmt.body), stmt.var

        def run(s: State) -> None:
            outside, at = s.active, start(s)
            going = outside
            while True:
                going = both(going, np.less(at, stop(s)))  # who has left is out, wherever its counter wraps to
                if not going.any():
                    break
                s.active, s.values[var] = None if going.all() else going, at
                s.lasting.clear()
                body(s)
                s.fleeting.clear()
                s.active, at = outside, at + step(s)

        return run
