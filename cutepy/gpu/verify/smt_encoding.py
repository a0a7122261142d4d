"""A kernel as formulas over 32-bit vectors, for z3: each access with its index and the conditions under which it is.

The translation reads the IR alone; it shares nothing with `collect`, `bounds` and `races`, which it judges. One
symbolic invocation runs through the text. Its rules:

* **Integers** are 32-bit vectors and wrap, as in WGSL: `+ - * & | ^ << >>` are z3's own, `//` and `%` are z3's
  truncating division with WGSL's values for a divisor 0. So no lemma about overflow is needed.
* **What is not followed is free**: floats, elements of arrays that the kernel writes, results of atomics and subgroups.
  A free value is an uninterpreted function of the invocation and of the iterations around it: one value each time that
  one invocation passes, no relation between two. More may happen than does, so what is unsatisfiable does not happen.
* **Arrays that are only read** are functions of the index: equal indices give equal elements, whoever reads.
* **A loop** is one iteration number k. A counter is `start + step * k` in 66 bits, so it is exact; where it may wrap
  past the end it is free below the end. Registers that the body sets have a closed form in k where the body, run from
  any value, adds a constant, shifts, or mirrors; else they are free. That no iteration before k left the loop is said
  of iteration k - 1 and of the first ones: fewer conditions than there are, so again more may happen.
* **Barriers**: `last` names the barrier that an invocation passed last, by its place in the text and the iterations
  around it. If every thread of a workgroup comes to the same barriers (`decide_barriers` proves that first), two
  accesses may meet exactly where both threads passed the same one last. In iteration k > 0 that is the one at the end
  of iteration k - 1, by substitution.

A model of the formulas is a candidate only: the interpreter replays it before a verdict says "refuted".
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import reduce
from itertools import count, islice
from typing import Any

from ...tensor.dtypes import DType, MatrixType, bool_, i32, u32
from .. import ir
from ..targets.wgsl import show
from .z3_library import z3

#: A z3 term; z3 has no static types. Vectors are tuples of terms, None is what is not followed.
Term = Any
Value = Any
#: Earlier iterations of which it is said that they did not leave a loop; shifts of 32 bits end by then.
_FIRST = 33
#: Levels of loops in which registers are followed: each is run through twice, to see what it does.
_DEEP = 4
#: Elements of a sorted array that are compared with one another.
_SORTED = 8
#: Nodes of a condition that is not repeated for early iterations.
_LARGE = 400
#: Statements of a kernel that are encoded, in every turn that is told apart: some seconds.
MOST = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicAccess:
    """An access of elements [index * width, + lanes) under the conditions `path`, after the barrier `last`.

    `order` is its place: numbers in the text and iterations of loops, outermost first. `sure` tells that it happens
    wherever `path` holds: no loop around it is left early or has a counter that is free. `coordinates` are claimed to
    be below their extents. `counters` are what loops count, for a witness.
    """

    verb: str
    buffer: ir.Buffer
    index: Term
    lanes: int
    path: tuple[Term, ...]
    last: tuple[Term, ...]
    order: tuple[Term, ...]
    sure: bool
    takes: bool
    text: str
    place: str
    coordinates: tuple[tuple[Term, int], ...]
    counters: tuple[tuple[str, Term], ...]
    data: bool


class NotEncoded(Exception):
    """Something in the kernel has no rule here."""


@dataclass(slots=True, eq=False)
class _Reread:
    """A name for what was loaded from an array that others may write meanwhile: another value at each use."""

    dtype: DType
    lanes: int


@dataclass(slots=True)
class _Path:
    """Where the walk is: the conditions, the iteration numbers around it, and whether it is sure to happen there."""

    conditions: tuple[Term, ...] = ()
    turns: tuple[Term, ...] = ()
    order: tuple[Term, ...] = ()
    sure: bool = True
    counters: tuple[tuple[str, Term], ...] = ()


@dataclass(slots=True)
class _Leave:
    """What is known where a loop is left early."""

    condition: Term
    last: dict[bool, tuple[Term, ...]]


class Encoding:
    """The accesses of `kernel`, and what two copies of an invocation have in common.

    `facts` hold of every invocation, `common` of the launch. An array of `racing` may change between two
    reads. Raises NotEncoded for what has no rule, and beyond `MOST` statements.
    """

    def __init__(self, kernel: ir.Kernel, racing: frozenset[str] = frozenset()) -> None:
        self._statements = 0
        if kernel.sizes is not None or any(b.shape for b in (*kernel.buffers, *kernel.local)):
            raise NotEncoded("arrays of unknown sizes")
        self.kernel, self.racing = kernel, racing
        self.accesses: list[SymbolicAccess] = []
        self.facts: list[Term] = []
        self.common: list[Term] = []
        self.written = {s.buffer for s in ir.statements(kernel.body) if isinstance(s, ir.Change)}
        self.contents: dict[ir.Buffer, Any] = {}
        # What is said of the order of arrays, from where on and how far, and the indices that are read of each array.
        self.orders: dict[tuple[ir.Buffer, ir.ElementOrder], tuple[Term, Term]] = {}
        self.looked_at: dict[ir.Buffer, list[Term]] = {}
        self.params: dict[ir.Param, Term] = {}
        self._numbers = count()
        self._leaves: list[list[_Leave]] = []
        self._turn_names: dict[tuple[int, int], Term] = {}
        self._barriers: dict[int, int] = {}
        self._trial = 0
        # Ids are short vectors, widened: their high bits are constants.
        self.tid, self.own_tid = self._id("tid", kernel.threads)
        self.groups = [self._id(f"group{axis}", max(n, 1)) for axis, n in enumerate(kernel.grid)]
        self.invocation = [x for x in (self.own_tid, *[own for _, own in self.groups]) if x is not None]
        self.workgroup = [own for _, own in self.groups if own is not None]
        self.log_lanes = z3.BitVec("log_subgroup", 32)
        self.common += [z3.ULE(2, self.log_lanes), z3.ULE(self.log_lanes, 7)]
        if kernel.lanes:
            self.common.append(z3.ULE(kernel.lanes, 1 << self.log_lanes))
        self.env: dict[Any, Value] = {}
        self.last: dict[bool, tuple[Term, ...]] = {}
        self.depth = _loops_deep(kernel.body)
        for storage in (False, True):
            self.last[storage] = (_number(0),) * (1 + self.depth)
        for buffer in kernel.local:
            if not buffer.is_shared and buffer.dtype in (u32, i32):
                zeros = z3.K(z3.BitVecSort(32), _number(0))
                told = ((_number(i), _number(int(n))) for i, n in enumerate(buffer.values))
                self.env[buffer] = reduce(lambda array, at: z3.Store(array, *at), told, zeros)
        self.block(kernel.body, _Path())
        self.facts += self.order_facts(lambda index: index)

    def order_facts(self, moved: Callable[[Term], Term]) -> list[Term]:
        """What is said of orders of arrays, at indices that an invocation reads and at those of one that is `moved`."""
        found: list[Term] = []
        for (buffer, order), (first, many) in self.orders.items():
            content, below = self.content(buffer), _law("<=", buffer.dtype)
            indices = list({x.get_id(): x for x in self.looked_at.get(buffer, ())}.values())[:_SORTED]
            for low, high in [(a, moved(b)) for a in indices for b in indices] + [
                (moved(a), b) for a in indices for b in indices
            ]:
                inside = z3.And(z3.ULE(first, low), z3.ULE(low, high), z3.ULT(high - first, many))
                said = (
                    content(low) != content(high)
                    if order is ir.ElementOrder.DISTINCT
                    else below(content(low), content(high))
                )
                found.append(z3.Implies(z3.And(inside, low != high), said))
        return found

    def _id(self, name: str, extent: int) -> tuple[Term, Term | None]:
        """An id below `extent`, and the short vector that it is made of; None for one that is 0."""
        if extent <= 1:
            return _number(0), None
        bits = (extent - 1).bit_length()
        own = z3.BitVec(name, bits)
        if extent != 1 << bits:
            self.facts.append(z3.ULT(own, extent))
        return z3.ZeroExt(32 - bits, own) if bits < 32 else own, own

    @property
    def turn_names(self) -> list[Term]:
        """The numbers of iterations."""
        return list(self._turn_names.values())

    # Free values

    def free(self, path: _Path, sort: Term, *, shared: bool = False) -> Term:
        """A value that nothing is known of: one for each invocation, or each workgroup, and each iteration."""
        args = [*(self.workgroup if shared else self.invocation), *path.turns]
        name = f"free{next(self._numbers)}"
        return z3.Function(name, *[a.sort() for a in args], sort)(*args) if args else z3.Const(name, sort)

    def unknown(self, path: _Path, dtype: DType, lanes: int) -> Value:
        """A value of a type that nothing is known of."""
        if lanes > 1:
            return tuple(self.unknown(path, dtype, 1) for _ in range(lanes))
        if dtype is bool_:
            return self.free(path, z3.BoolSort())
        return self.free(path, z3.BitVecSort(32)) if dtype in (u32, i32) else None

    # Expressions

    def value(self, expr: ir.Expr, path: _Path, memo: dict[ir.Expr, Value]) -> Value:
        """What `expr` is at this place; its loads become accesses. `memo` lasts for one statement."""
        for node in ir.nodes(expr, skip=memo):
            memo[node] = self._node(node, path, memo)
        return memo[expr]

    def _node(self, node: ir.Expr, path: _Path, memo: dict[ir.Expr, Value]) -> Value:
        match node:
            case ir.Const(value=number, dtype=dtype):
                if dtype is bool_:
                    return z3.BoolVal(bool(number))
                return _number(int(number)) if dtype in (u32, i32) else None
            case ir.Var():
                found = self.env.get(node)
                if isinstance(found, _Reread):
                    return self.unknown(path, found.dtype, found.lanes)
                return found
            case ir.Builtin():
                return self._builtin(node)
            case ir.Param(name=name, dtype=dtype):
                return self._param(node, name, dtype)
            case ir.Load():
                return self._load(node, path, memo)
            case ir.Vector(items=items):
                return tuple(memo[x] for x in items)
            case ir.Component(value=vector, lane=lane):
                lanes_ = memo[vector]
                if not isinstance(lanes_, tuple):
                    return self.unknown(path, node.dtype, 1)
                if isinstance(lane, int):
                    return lanes_[lane]
                at, chosen = memo[lane], lanes_[-1]
                for number, item in enumerate(lanes_[:-1]):
                    chosen = _choose(at == number, item, chosen)
                return chosen
            case ir.Select(condition=condition, then=then, other=other):
                return _choose(memo[condition], memo[then], memo[other])
            case ir.Unary() | ir.Binary() | ir.Cast() | ir.Call() if node.lanes > 1 or any(
                x.lanes > 1 for x in node.operands
            ):
                return self._lanes(node, path, [memo[x] for x in node.operands])
            case ir.Unary() | ir.Binary() | ir.Cast() | ir.Call():
                return self._scalar(node, path, [memo[x] for x in node.operands])
        return self.unknown(path, node.dtype, node.lanes) if not isinstance(node.dtype, MatrixType) else None

    def _lanes(self, node: Any, path: _Path, operands: list[Value]) -> Value:
        wide = [x if isinstance(x, tuple) else (x,) * node.lanes for x in operands]
        if isinstance(node, ir.Call) or any(len(x) != node.lanes for x in wide):
            return self.unknown(path, node.dtype, node.lanes)
        return tuple(self._scalar(node, path, list(row)) for row in zip(*wide, strict=True))

    def _scalar(self, node: Any, path: _Path, operands: list[Value]) -> Value:
        """The law of an operator on integers and truth values; free where an operand is not followed."""
        found = None
        if all(x is not None for x in operands):
            match node:
                case ir.Unary(op=op):
                    found = {"-": lambda x: -x, "~": lambda x: ~x, "!": z3.Not}[op](operands[0])
                case ir.Binary(op=op, left=left):
                    found = _binary(op, operands[0], operands[1], left.dtype)
                case ir.Cast(value=value, dtype=dtype):
                    found = _cast(operands[0], value.dtype, dtype)
                case ir.Call(name=name):
                    found = self._call(name, operands, node, path)
        return self.unknown(path, node.dtype, 1) if found is None else found

    def _call(self, name: str, operands: list[Value], node: ir.Call, path: _Path) -> Value:
        less = _law("<", node.dtype)
        if node.args[0].dtype not in (u32, i32):
            return self._vote(name, operands[0], path) if name in ("subgroup_all", "subgroup_any") else None
        match name:
            case "min":
                return z3.If(less(*operands), operands[0], operands[1])
            case "max":
                return z3.If(less(*operands), operands[1], operands[0])
            case "clamp":
                x, low, high = operands
                raised = z3.If(less(x, low), low, x)
                return z3.If(less(high, raised), high, raised)
            case "abs":
                return z3.If(less(operands[0], 0), -operands[0], operands[0])
        return None

    def _vote(self, name: str, own: Term, path: _Path) -> Term:
        """A vote follows from the thread's own vote, or there is a thread with the other one: that thread is free. It
        is in the workgroup, so it has the same ids; which iterations it is in is the same by convergence of the vote.
        """
        result = self.free(path, z3.BoolSort())
        mine, wanted = (result, own) if name == "subgroup_all" else (z3.Not(result), z3.Not(own))
        self.facts.append(z3.Implies(mine, wanted))
        if self.own_tid is not None:
            other = self.free(path, self.own_tid.sort())
            there = z3.substitute(own, (self.own_tid, other))
            self.facts += [z3.Or(mine, z3.Not(there) if name == "subgroup_all" else there)]
            self.facts.append(z3.ULT(z3.ZeroExt(1, other), self.kernel.threads))
        else:
            self.facts.append(result == own)
        return result

    def _builtin(self, node: ir.Builtin) -> Term:
        lanes = _number(1) << self.log_lanes
        match node.name, node.axis:
            case "local_invocation_index", _:
                return self.tid
            case "workgroup_id", int(axis):
                return self.groups[axis][0]
            case "num_workgroups", int(axis):
                return _number(self.kernel.grid[axis])
            case "subgroup_size", _:
                return lanes
            case "num_subgroups", _:
                return z3.LShR(self.kernel.threads - 1 + lanes, self.log_lanes)
            case "subgroup_id", _:
                return z3.LShR(self.tid, self.log_lanes)
            case "subgroup_invocation_id", _:
                return self.tid & (lanes - 1)
        raise NotEncoded(node.name)

    def _param(self, node: ir.Param, name: str, dtype: DType) -> Term:
        """The number of a launch, the same in all invocations, within its bounds; None for a float."""
        if dtype is bool_:
            return self.params.setdefault(node, z3.Bool(f"param_{name}"))
        if dtype not in (u32, i32):
            return None
        if node not in self.params:
            term = self.params[node] = z3.BitVec(f"param_{name}", 32)
            below = _law("<=", dtype)
            self.common += [below(_number(node.lo), term), below(term, _number(node.hi))]
        return self.params[node]

    def _load(self, node: ir.Load, path: _Path, memo: dict[ir.Expr, Value]) -> Value:
        where = None if node.where is None else memo[node.where]
        if where is not None and z3.is_false(where):
            return self._zero(node.dtype, node.lanes)
        here = path if where is None else _with(path, where)
        self.access(ir.Verb.READS, node, node.lanes, here, memo, takes=True)
        index, buffer = memo[node.index], node.buffer
        if isinstance(node.dtype, MatrixType):
            return None
        found: Value
        if buffer.dtype not in (u32, i32) or node.dtype is not buffer.dtype:
            found = self.unknown(path, node.dtype, node.lanes)
        else:
            at = [index * buffer.width + lane for lane in range(node.lanes)]
            if not buffer.is_shared:
                items = [z3.Select(self.env[buffer], x) for x in at]
            elif buffer.space == ir.AddressSpace.STORAGE and buffer not in self.written:
                items = [self.content(buffer)(x) for x in at]
                if not self._trial:
                    self.looked_at.setdefault(buffer, []).extend(at)
            else:
                items = [self.free(path, z3.BitVecSort(32)) for _ in at]
            found = items[0] if node.lanes == 1 else tuple(items)
        return found if where is None else _choose(where, found, self._zero(node.dtype, node.lanes))

    def content(self, buffer: ir.Buffer) -> Any:
        """The elements of an array that is only read."""
        if buffer not in self.contents:
            sort = z3.BitVecSort(32)
            self.contents[buffer] = z3.Function(f"content_{len(self.contents)}_{buffer.name}", sort, sort)
        return self.contents[buffer]

    @staticmethod
    def _zero(dtype: DType, lanes: int) -> Value:
        one = z3.BoolVal(False) if dtype is bool_ else _number(0) if dtype in (u32, i32) else None
        return one if lanes == 1 else (one,) * lanes

    # Accesses

    def access(self, verb: str, node: Any, lanes: int, path: _Path, memo: dict[ir.Expr, Value], *, takes: bool) -> None:
        """Note an access, but for a trial run of a loop's body."""
        kind = node.value.dtype if isinstance(node, ir.Change) else node.dtype
        if isinstance(kind, MatrixType):
            raise NotEncoded("a matrix of a subgroup")
        if memo[node.index] is None:
            memo[node.index] = self.free(path, z3.BitVecSort(32))
        index = memo[node.index]
        if self._trial:
            return
        found = SymbolicAccess(
            verb, node.buffer, index, lanes, path.conditions, self.last[node.buffer.space == ir.AddressSpace.STORAGE],
            (*path.order, _number(len(self.accesses))), path.sure, takes,
            f"{node.buffer.name}[{show(node.index)}]", node.place,
            tuple((memo[c], n) for c, n in zip(node.coordinates, node.shape, strict=True)), path.counters,
            bool(ir.loads(node.index)),
        )  # fmt: skip
        self.accesses.append(found)

    # Statements

    def block(self, block: ir.Block, path: _Path) -> _Path:
        """Run through statements; what is known after them is the path that is given back."""
        for stmt in block:
            self._statements += 1
            if self._statements > MOST:
                raise NotEncoded(f"the kernel: it has more than {MOST} statements, turns of loops included")
            memo: dict[ir.Expr, Value] = {}
            if isinstance(stmt, ir.For):
                path = self.loop(stmt, path)
                continue
            if isinstance(stmt, ir.UniformLoad):
                self.last[False] = self._passed(stmt.value, path)
            for expr in stmt.expressions:
                self.value(expr, path, memo)
            match stmt:
                case ir.Let(var=var, value=value) | ir.Declare(var=var, value=value):
                    rereads = value is not None and any(self._races(x.buffer) for x in ir.loads(value))
                    if value is None:
                        self.env[var] = self._zero(var.dtype, var.lanes)
                    else:
                        self.env[var] = _Reread(var.dtype, var.lanes) if rereads else memo.get(value)
                case ir.Assign(var=var, value=value, lane=lane):
                    self._assign(var, value, lane, memo)
                case ir.Change(buffer=buffer, value=value):
                    takes = stmt.takes if isinstance(stmt, ir.Atomic) else False
                    self.access(stmt.VERB, stmt, value.lanes, path, memo, takes=takes)
                    if buffer in self.env:
                        self._store(buffer, stmt, memo)
                    if stmt.binds is not None:
                        self.env[stmt.binds] = self.unknown(path, stmt.binds.dtype, stmt.binds.lanes)
                case ir.Assume(condition=condition):
                    path = _with(path, self._test(memo[condition], path))
                case ir.Elements() if stmt.buffer not in self.written and stmt in self.kernel.body:
                    self.orders[stmt.buffer, stmt.order] = memo[stmt.first], memo[stmt.count]
                case ir.UniformLoad(var=var):
                    if var.dtype in (u32, i32) and var.lanes == 1:
                        self.env[var] = self.free(path, z3.BitVecSort(32), shared=True)
                    self.last[False] = self._passed(stmt, path)
                case ir.Barrier(storage=storage):
                    self.last[storage] = self._passed(stmt, path)
                case ir.If():
                    self._branch(stmt, self._test(memo[stmt.condition], path), path)
                case ir.Break():
                    path = self._leave(stmt, self._test(memo[stmt.condition], path), path)
                case _ if stmt.blocks:
                    raise NotEncoded(type(stmt).__name__)
        return path

    def _passed(self, stmt: ir.Stmt | ir.Expr, path: _Path) -> tuple[Term, ...]:
        """The name of the barrier that is passed here and now."""
        turns = [_widened(t) for t in path.turns]
        number = self._barriers.setdefault(id(stmt), 1 + len(self._barriers))
        return (_number(number), *turns, *[_number(0)] * (self.depth - len(turns)))

    def _test(self, value: Value, path: _Path) -> Term:
        return self.free(path, z3.BoolSort()) if value is None else value

    def _races(self, buffer: ir.Buffer) -> bool:
        return buffer.name in self.racing and buffer.space != ir.AddressSpace.PRIVATE

    def _assign(self, var: ir.Var, value: ir.Expr, lane: int | None, memo: dict[ir.Expr, Value]) -> None:
        new = memo[value]
        if any(self._races(x.buffer) for x in ir.loads(value)):
            new = None if lane is not None else _Reread(var.dtype, var.lanes)
        if lane is not None:
            old = self.env.get(var)
            if not isinstance(old, tuple):
                return
            new = (*old[:lane], new, *old[lane + 1 :])
        self.env[var] = new

    def _store(self, buffer: ir.Buffer, stmt: Any, memo: dict[ir.Expr, Value]) -> None:
        """A store to registers that are indexed; of an atomic nothing is known afterwards."""
        value, index = memo[stmt.value], memo[stmt.index]
        values = value if isinstance(value, tuple) else (value,)
        for lane, item in enumerate(values):
            if not isinstance(stmt, ir.Store) or item is None:
                raise NotEncoded("an update of registers")
            self.env[buffer] = z3.Store(self.env[buffer], index * buffer.width + lane, item)

    def _branch(self, stmt: ir.If, test: Term, path: _Path) -> None:
        env, last = dict(self.env), dict(self.last)
        self.block(stmt.then, _with(path, test))
        then_env, then_last = self.env, self.last
        self.env, self.last = env, last
        self.block(stmt.orelse, _with(path, z3.Not(test)))
        self.env = {name: self._joined(test, then_env.get(name), self.env.get(name), name) for name in env}
        self.last = {s: _choose(test, then_last[s], self.last[s]) for s in self.last}

    def _joined(self, test: Term, then: Value, other: Value, name: Any) -> Value:
        if then is other:
            return then
        if isinstance(then, _Reread) or isinstance(other, _Reread):
            return _Reread(name.dtype, name.lanes)
        return _choose(test, then, other)

    def _leave(self, stmt: ir.Break, test: Term, path: _Path) -> _Path:
        env, last = dict(self.env), dict(self.last)
        self.block(stmt.last, _with(path, test))
        inside = path.conditions[self._inside :]
        self._leaves[-1].append(_Leave(z3.And(*inside, test), self.last))
        self.env, self.last = env, last
        return _with(path, z3.Not(test))

    _inside = 0

    @contextmanager
    def _tried(self) -> Iterator[None]:
        """Run without leaving a trace but for what is read off meanwhile."""
        env, last = dict(self.env), dict(self.last)
        self._trial += 1
        try:
            yield
        finally:
            self._trial -= 1
            self.env, self.last = env, last

    # Loops

    def loop(self, stmt: ir.For, path: _Path) -> _Path:
        """One iteration stands for all of them."""
        memo: dict[ir.Expr, Value] = {}
        start, step = (self.value(x, path, memo) for x in (stmt.start, stmt.step))
        stop = None if stmt.stop is None else self.value(stmt.stop, path, memo)
        changed = _set_in(stmt.body)
        before, before_last = dict(self.env), dict(self.last)
        waits = [s for s in (False, True) if any(ir.fences(x, storage=s) for x in ir.statements(stmt.body))]
        # 1. The number of the iteration, and the counter.
        most = _turns(start, stop, step, stmt.var.dtype)
        k = self._turn(stmt, path, most)
        wide = _widened(k)
        inner = _Path(
            path.conditions,
            (*path.turns, k),
            (*path.order, _number(len(self.accesses)), wide),
            path.sure,
            path.counters,
        )
        # 2. What the body does to registers: it is run from any values of them.
        closed: dict[Any, Callable[[Term], Value]] = {}
        names = [n for n in changed if n in before]
        if names and len(path.turns) < _DEEP:
            closed = self._closed(stmt, inner, before, names, k)
        for name in names:
            self.env[name] = closed[name](wide) if name in closed else self._anything(name, inner)
        # 3. That it comes to iteration k.
        conditions, counter, sure = self._reached(stmt, (start, stop, step), most, inner, k, changed)
        self.env[stmt.var] = counter
        inner.conditions, inner.sure = (*inner.conditions, *conditions), path.sure and sure
        inner.counters = (*path.counters, (stmt.var.name, counter))
        breaks = [s for s in stmt.body if isinstance(s, ir.Break)]
        left: list[_Leave] = []
        if breaks or waits:
            left = self._run(stmt, inner, trial=True)
        if breaks:
            inner.sure = False
            leaves = z3.Or([one.condition for one in left])
            inner.conditions += self._stayed(leaves, k, most)
        # 4. The barrier passed last, when iteration k begins: for any, where that depends on the one before.
        for storage in waits:
            marks = tuple(self.free(inner, z3.BitVecSort(32)) for _ in range(1 + self.depth))
            self.last[storage] = marks
        if waits:
            with self._tried():
                self._run(stmt, inner, trial=False)
                ends = dict(self.last)
            for storage in waits:
                marks = self.last[storage]
                if any(mentions(x, m) for x in ends[storage] for m in marks):
                    continue
                earlier = tuple(_at(x, k, k - 1) for x in ends[storage])
                self.last[storage] = _choose(k == 0, before_last[storage], earlier)
        # 5. The body.
        left = self._run(stmt, inner, trial=False)
        ends = dict(self.last)
        # 6. What is so afterwards.
        return self._after(
            stmt, path, (start, stop, step), left, ends, (before, before_last), closed, names, waits, k, sure
        )

    def _turn(self, stmt: ir.For, path: _Path, most: int | None) -> Term:
        bits = 32 if most is None else max(1, min(32, max(most - 1, 1).bit_length()))
        key = id(stmt), bits
        if key not in self._turn_names:
            self._turn_names[key] = z3.BitVec(f"turn{len(self._turn_names)}", bits)
        return self._turn_names[key]

    def _run(self, stmt: ir.For, path: _Path, *, trial: bool) -> list[_Leave]:
        """The body, and where it is left."""
        outer, self._inside = self._inside, len(path.conditions)
        self._leaves.append([])
        with self._tried() if trial else nullcontext():
            self.block(stmt.body, _with(path))
        self._inside = outer
        return self._leaves.pop()

    def _anything(self, name: Any, path: _Path) -> Value:
        if isinstance(name, ir.Buffer):
            return self.free(path, z3.ArraySort(z3.BitVecSort(32), z3.BitVecSort(32)))
        return self.unknown(path, name.dtype, name.lanes)

    def _closed(
        self, stmt: ir.For, path: _Path, before: dict[Any, Value], names: list[Any], k: Term
    ) -> dict[Any, Callable[[Term], Value]]:
        """Registers that are a formula of k: by one run of the body from any values."""
        integers = [n for n in names if isinstance(n, ir.Var) and n.lanes == 1 and n.dtype in (u32, i32)]
        integers = [n for n in integers if z3.is_bv(before[n])]
        with self._tried():
            heads = {n: z3.BitVec(f"head{next(self._numbers)}", 32) for n in integers}
            for n in names:
                self.env[n] = heads[n] if n in heads else self._anything(n, path)
            self.env[stmt.var] = self.free(path, z3.BitVecSort(32))
            self._run(stmt, path, trial=False)
            ends = {n: self.env[n] for n in integers}
        found: dict[Any, Callable[[Term], Value]] = {}
        for n, head in heads.items():
            if z3.is_bv(ends[n]):
                rule = _recurrence(head, ends[n], before[n], [*heads.values(), k])
                if rule is not None:
                    found[n] = rule
        return found

    def _reached(
        self, stmt: ir.For, bounds: tuple[Term, Term, Term], most: int | None, path: _Path, k: Term, changed: set[Any]
    ) -> tuple[tuple[Term, ...], Term, bool]:
        """The conditions on iteration k, its counter, and whether nothing but these decides that it happens."""
        start, stop, step = bounds
        signed = stmt.var.dtype is i32
        wide = _widened(k)
        if stop is None:
            counter = start + step * wide
            return (), counter, False
        memo: dict[ir.Expr, Value] = {}
        assert stmt.stop is not None
        now = self.value(stmt.stop, path, memo), self.value(stmt.step, path, memo)  # again in each iteration
        same = now[0].eq(stop) and now[1].eq(step)
        if most is not None and same:
            return (z3.ULT(z3.ZeroExt(1, k), most),), start + step * wide, True
        free = self.free(path, z3.BitVecSort(32))
        below = _law("<", stmt.var.dtype)
        if not same:
            return (below(free, now[0]),), free, False
        grown: Callable[[Term], Term] = (lambda x: z3.SignExt(34, x)) if signed else (lambda x: z3.ZeroExt(34, x))
        top = (1 << 31) - 1 if signed else (1 << 32) - 1
        wraps = z3.Or(step <= 0 if signed else step == 0, grown(stop) - 1 + grown(step) > top)
        wraps = z3.simplify(wraps)
        exact = start + step * wide
        comes = grown(start) + grown(step) * z3.ZeroExt(34, wide) < grown(stop)
        if z3.is_false(wraps):
            return (comes,), exact, True
        counter = z3.If(wraps, free, exact)
        return (z3.If(wraps, below(free, stop), comes),), counter, False

    def _stayed(self, leaves: Term, k: Term, most: int | None) -> tuple[Term, ...]:
        """That no earlier iteration left the loop: of the one before, and of the first ones."""
        found = [z3.Or(k == 0, z3.Not(_at(leaves, k, k - 1)))]
        for j in range(min(_FIRST, (1 << k.size()) - 1 if most is None else most) if _size(leaves) < _LARGE else 0):
            number = z3.BitVecVal(j, k.size())
            found.append(z3.Or(z3.ULE(k, number), z3.Not(_at(leaves, k, number))))
        return tuple(found)

    def _after(
        self, stmt: ir.For, path: _Path, bounds: tuple[Term, Term, Term], left: list[_Leave],
        ends: dict[bool, tuple[Term, ...]], before: tuple[dict[Any, Value], dict[bool, tuple[Term, ...]]],
        closed: dict[Any, Callable[[Term], Value]], names: list[Any], waits: list[bool], k: Term, exact: bool,
    ) -> _Path:  # fmt: skip
        """Registers and the last barrier after the loop, and what holds there."""
        start, stop, step = bounds
        leading = [s for s in stmt.body if not isinstance(s, ir.Let | ir.Comment)]
        one = stop is None and len(left) == 1 and isinstance(leading[0], ir.Break) and not leading[0].last
        total: Term = None
        if stop is not None and not left and exact:
            less = _law("<", stmt.var.dtype)(start, stop)
            total = z3.simplify(z3.If(less, z3.UDiv(stop - start - 1, step) + 1, _number(0)))
        elif one:
            total = self.free(path, z3.BitVecSort(32), shared=bool(waits))
            short = _narrowed(total, k)
            ends_now = _at(left[0].condition, k, short)
            stayed = tuple(_at(c, k, short) for c in self._stayed(left[0].condition, k, None))
            fits = () if k.size() == 32 else (z3.ULT(total, 1 << k.size()),)
            path = _with(path, ends_now, *stayed, *fits)
        # Registers: by their formula, where it is known how many iterations there were.
        for name in names:
            known = total is not None and name in closed
            self.env[name] = closed[name](total) if known else self._anything(name, path)
        # The last barrier: that of the last iteration, or the one before the loop.
        for storage in waits:
            never = before[1][storage]
            if total is None:
                turns = self.free(path, z3.BitVecSort(32), shared=True)
            else:
                turns = total
            last_turn = _narrowed(turns - 1, k)
            here = _choose(turns == 0, never, tuple(_at(x, k, last_turn) for x in ends[storage]))
            which = self.free(path, z3.BitVecSort(8), shared=True)
            this_turn = _narrowed(turns, k)
            for number, leave in enumerate(left):
                there = tuple(_at(x, k, this_turn) for x in leave.last[storage])
                here = _choose(which == number, there, here) if stop is not None or len(left) > 1 else there
            self.last[storage] = here
        for storage in self.last:
            if storage not in waits:
                self.last[storage] = before[1][storage]
        return path


def _with(path: _Path, *tests: Term) -> _Path:
    """A path of its own, with more conditions."""
    return _Path((*path.conditions, *tests), path.turns, path.order, path.sure, path.counters)


def _number(value: int) -> Term:
    return z3.BitVecVal(value, 32)


def _widened(k: Term) -> Term:
    return z3.ZeroExt(32 - k.size(), k)


def _narrowed(number: Term, k: Term) -> Term:
    """The low bits of a number, as many as k has."""
    return z3.Extract(k.size() - 1, 0, number)


def _at(term: Term, k: Term, number: Term) -> Term:
    """`term` in iteration `number` of the loop that k counts."""
    return z3.substitute(term, (k, number))


def _nodes(term: Term) -> Iterator[Term]:
    """Every node of a term, once."""
    waiting: list[Term] = [term]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node.get_id() not in seen:
            seen.add(node.get_id())
            yield node
            waiting += node.children()


def _size(term: Term) -> int:
    """How many nodes a term has, up to `_LARGE`."""
    return sum(1 for _ in islice(_nodes(term), _LARGE))


def mentions(term: Term, what: Any) -> bool:
    """Whether a term without quantifiers has another one, or a function, in it."""
    return any(node.eq(what) if z3.is_expr(what) else node.decl().eq(what) for node in _nodes(term))


def _choose(test: Term, then: Value, other: Value) -> Value:
    """`then` where the test holds; None where one of them is not followed."""
    if isinstance(then, tuple) and isinstance(other, tuple):
        return tuple(_choose(test, a, b) for a, b in zip(then, other, strict=True))
    if test is None or then is None or other is None or isinstance(then, tuple) or isinstance(other, tuple):
        return None
    return then if then.eq(other) else z3.If(test, then, other)


#: What operators of the IR are on vectors of bits, of both signs or of one; those of truth values.
_LAWS: dict[str, Callable[[Term, Term], Term]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "==": operator.eq, "!=": operator.ne, "<<": lambda a, b: a << (b & 31),
}  # fmt: skip
_SIGNED = _LAWS | {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, ">>": lambda a, b: a >> (b & 31),
    "//": operator.truediv, "%": z3.SRem,
}  # fmt: skip
_UNSIGNED = _LAWS | {
    "<": z3.ULT, "<=": z3.ULE, ">": z3.UGT, ">=": z3.UGE, ">>": lambda a, b: z3.LShR(a, b & 31),
    "//": z3.UDiv, "%": z3.URem,
}  # fmt: skip
_TRUTHS = {"&": z3.And, "|": z3.Or, "^": z3.Xor, "==": operator.eq, "!=": operator.ne}


def _law(op: str, dtype: DType) -> Callable[[Term, Term], Term]:
    """An operator on numbers of a type."""
    laws: Mapping[str, Callable[[Term, Term], Term]] = _SIGNED if dtype is i32 else _UNSIGNED
    return laws[op]


def _binary(op: str, a: Term, b: Term, dtype: DType) -> Term:
    """An operator on values of a type; None where it has no rule."""
    if z3.is_bool(a):
        return _TRUTHS[op](a, b) if op in _TRUTHS else None
    found = _law(op, dtype)(a, b)
    if op not in ("//", "%"):
        return found
    zero = z3.simplify(b == 0)
    return found if z3.is_false(zero) else z3.If(zero, a if op == "//" else _number(0), found)


def _cast(value: Term, source: DType, target: DType) -> Term:
    whole = u32, i32
    if source in whole and target in whole:
        return value
    if source is bool_ and target in whole:
        return z3.If(value, _number(1), _number(0))
    if source in whole and target is bool_:
        return value != 0
    return value if source is target else None


def _turns(start: Term, stop: Term, step: Term, dtype: DType) -> int | None:
    """How many iterations a loop between numbers has; None where they are no numbers, or it may wrap past the end."""
    if stop is None or not all(map(z3.is_bv_value, (start, stop, step))):
        return None
    signed = dtype is i32
    a, b, c = (x.as_signed_long() if signed else x.as_long() for x in (start, stop, step))
    top = (1 << 31) - 1 if signed else (1 << 32) - 1
    return None if c < 1 or b - 1 + c > top else max(0, -(-(b - a) // c))


def _loops_deep(block: ir.Block) -> int:
    return max([isinstance(s, ir.For) + max(map(_loops_deep, s.blocks), default=0) for s in block], default=0)


def _set_in(block: ir.Block) -> set[Any]:
    """The variables and the private arrays that a block sets."""
    found: set[Any] = set()
    for stmt in ir.statements(block):
        if stmt.sets is not None:
            found.add(stmt.sets)
        if isinstance(stmt, ir.Change) and stmt.buffer.space == ir.AddressSpace.PRIVATE:
            found.add(stmt.buffer)
    return found


def _recurrence(head: Term, end: Term, start: Term, inner: list[Term]) -> Callable[[Term], Value] | None:
    """The value at the beginning of iteration k, where one iteration makes `end` of `head`; None where no rule fits.

    By induction over k: adding the same number d each time gives start + d * k; a shift of c bits gives one of c * k
    bits, 0 from the 32nd bit on, as z3's shifts do; mirroring c - x has period 2. `inner` are terms that change with k.
    """
    end = z3.simplify(end)
    difference = z3.simplify(end - head)
    if not any(mentions(difference, x) for x in inner):
        return lambda k: start + difference * k
    mirrored = z3.simplify(end + head)
    if z3.is_bv_value(mirrored):
        return lambda k: z3.If(k & 1 == 0, start, mirrored - start)
    flipped = z3.simplify(end ^ head)
    if z3.is_bv_value(flipped):
        return lambda k: z3.If(k & 1 == 0, start, start ^ flipped)
    doubled, halved = (z3.simplify(z3.substitute(end, (head, _number(x)))) for x in (1, 1 << 30))
    if not z3.is_bv_value(doubled) or not z3.is_bv_value(halved):
        return None

    def many(k: Term, bits: int) -> Term:
        return z3.If(z3.ULT(k, 32), k * bits, _number(32))

    up, down = doubled.as_long().bit_length() - 1, 31 - halved.as_long().bit_length()
    if up > 0 and _equal(end, head << up):
        return lambda k: start << many(k, up)
    if 0 < down < 31 and _equal(end, z3.LShR(head, down)):
        return lambda k: z3.LShR(start, many(k, down))
    if 0 < down < 31 and z3.is_true(z3.simplify(start >= 0)) and _equal(end, head >> down, given=head >= 0):
        return lambda k: z3.LShR(start, many(k, down))
    return None


def _equal(a: Term, b: Term, given: Term = True) -> bool:
    """Whether two terms are equal: asked of z3, for a moment of 200,000 steps."""
    solver = z3.Solver()
    solver.set("rlimit", 200_000)
    solver.add(given, a != b)
    return bool(solver.check() == z3.unsat)
