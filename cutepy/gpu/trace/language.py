"""What a kernel can say beyond the vocabulary of tensors: ids, loops, predicates, barriers, shared memory, atomics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import KernelError
from ...layout import IntTuple, Layout
from ...layout.values.composed import AnyLayout
from ...tensor.bulk import offset_range
from ...tensor.dtypes import DType, MatrixType, as_dtype, bool_, c64, f32, i32, u32
from ...tensor.engine import Engine, Scalars
from ...tensor.packed import words_as
from ...tensor.tensor import Tensor
from ..ir import Barrier, Expr, Var, Weak, as_expr, builtin, const, var
from ..ir.expr import describe
from ..ir.place import user_place
from ..ranges import domain, range_of
from ..simplify import simplify
from .engine import BufferEngine
from .source import assigned_name
from .state import Size3, Trace, current, tracing


def launch(*, grid: int | tuple[int, ...] = 1, threads: int | tuple[int, ...]) -> None:
    """How many workgroups run the kernel, along x, y and z, and how many threads each has. The first line of a kernel.

    A one-dimensional grid may have more than 65,535 workgroups. Raises KernelError for sizes below 1 (a grid may
    have a 0: nothing runs then) and for a second call.
    """
    trace = current("gpu.launch")
    trace.launch(_size3("grid", grid, least=0), _size3("threads", threads, least=1))


def _size3(what: str, given: int | tuple[int, ...], *, least: int) -> Size3:
    sizes = given if isinstance(given, tuple) else (given,)
    for value in sizes:
        if isinstance(value, Expr):
            raise KernelError(
                f"{user_place()}: gpu.launch({what}={given}): {value} is known only on the GPU; sizes of a launch come "
                "from shapes of tensors and static arguments, `def kernel(..., *, n)`: make n keyword-only"
            )
    if not 1 <= len(sizes) <= 3 or not all(isinstance(n, int | np.integer) and n >= least for n in sizes):
        raise KernelError(f"{user_place()}: gpu.launch({what}={given}): give 1 to 3 whole numbers from {least} on")
    x, y, z = (*map(int, sizes), 1, 1)[:3]
    return x, y, z


class Workgroup:
    """The ids of the workgroup: `gpu.workgroup.x`, `.y`, `.z`."""

    @property
    def x(self) -> Expr:
        return self._axis(0)

    @property
    def y(self) -> Expr:
        return self._axis(1)

    @property
    def z(self) -> Expr:
        return self._axis(2)

    def _axis(self, axis: int) -> Expr:
        trace = current("gpu.workgroup")
        trace.launched("gpu.workgroup")
        assert trace.group is not None
        return trace.group[axis]


workgroup = Workgroup()


def thread() -> Expr:
    """The index of the thread in its workgroup: `x + y * X + z * X * Y` of `gpu.thread.x`, `.y` and `.z`, where
    `gpu.launch(threads=(X, Y, Z))`."""
    return current("gpu.thread").thread


def _along(value: Expr, axis: int) -> Expr:
    trace = tracing()
    if trace is None or trace.workgroup is None or value is not trace.thread:
        raise AttributeError(f"{describe(value)} has no attribute {'xyz'[axis]!r}; gpu.thread has, and gpu.workgroup")
    x, y, _ = trace.workgroup
    return simplify((value % x, value // x % y, value // (x * y))[axis])


Expr.along = staticmethod(_along)


def _subgroup_id(name: str, most: int) -> Expr:
    trace = current(f"gpu.{name}")
    return builtin(name, 0, min(most, trace.threads) - 1)


def lane() -> Expr:
    """The index of the thread in its subgroup."""
    return _subgroup_id("subgroup_invocation_id", 128)


def subgroup() -> Expr:
    """The index of the subgroup in the workgroup."""
    return _subgroup_id("subgroup_id", 1 << 16)


def subgroup_size() -> Expr:
    """How many threads a subgroup of the running device has: 4 to 128, known only there."""
    current("gpu.subgroup_size")
    return builtin("subgroup_size", 4, 128)


@dataclass(frozen=True, slots=True)
class Loop:
    """What `gpu.loop` gives to a `for` in the text of a kernel: there it becomes a loop of the kernel."""

    start: Expr
    stop: Expr | None
    step: Expr
    bounds: tuple[int, int]
    uniform: bool
    place: str

    @property
    def divergent(self) -> str:
        return "" if self.uniform else f"the loop at {self.place}"

    def counter(self, name: str) -> Var:
        """The variable that counts, under the name that the user gives it."""
        counter = var(name, self.start.dtype, lo=self.bounds[0], hi=self.bounds[1])
        if self.uniform:
            current("gpu.loop").uniform.add(counter)
        return counter

    def __iter__(self) -> Iterator[Expr]:
        raise _unread("gpu.loop", self.place)


def _unread(what: str, place: str) -> KernelError:
    return KernelError(
        f"{place}: {what} outside a `for` or `with` that cutepy can read: it reads the text of a kernel and of the "
        "functions that it calls; keep them in a file or a notebook, and let the kernel call them itself"
    )


def loop(stop: Scalars, *, start: Scalars = 0, step: Scalars = 1) -> Iterable[Expr]:
    """`for k in gpu.loop(n):` stays a loop in the kernel; `k` counts from `start` below `stop` by `step`, as in range.

    It is an i32 where a bound is, or where a number is below 0, else a u32. What its body rebinds is carried from turn
    to turn, in registers.

    Raises KernelError for bounds of two types, numbers that do not fit them, a step that does not lead to the end.
    """
    trace = current("gpu.loop")
    place = user_place()
    first, last, by = _bounds(place, start, stop, step)
    (lo, _), (_, hi) = range_of(first), range_of(last)
    if hi <= lo:
        trace.skipped = True
        return ()
    return Loop(first, last, by, (lo, hi - 1), all(trace.is_uniform(value) for value in (first, last, by)), place)


def _bounds(place: str, start: Scalars, stop: Scalars, step: Scalars) -> list[Expr]:
    """Start, stop and step of a loop, of one type; numbers that give no turn in Python give none here."""
    given = [_whole(place, value) for value in (start, stop, step)]
    text = f"{place}: gpu.loop({stop}, start={start}, step={step})"
    types = {v.dtype for v in given if isinstance(v, Expr) and not isinstance(v, Weak)}
    weak = {v.dtype for v in given if isinstance(v, Weak)}
    types = types or ({i32} & weak or weak)
    numbers = [n for n in given if isinstance(n, int)]
    if len(types) > 1:
        raise KernelError(f"{text}: it counts in i32 and in u32; convert one with gpu.cast")
    turns = range(*numbers) if not types and given[2] != 0 else range(1)
    if not turns:
        return [const(0), const(0), const(1)]
    if isinstance(given[2], int) and given[2] < 1:
        raise KernelError(f"{text}: a loop counts up by 1 or more; turn it round, and subtract its counter")
    dtype = types.pop() if types else i32 if numbers[0] < 0 else u32
    for value in given:
        if isinstance(value, Weak):
            value.check_meets(dtype, wraps=False)
    least, most = domain(dtype)
    if isinstance(given[1], int) and given[1] < least:
        given[1] = least  # an end below all numbers of the type: no turn
    numbers = [n for n in given if isinstance(n, int)]
    if not all(least <= n <= most for n in numbers) or turns[-1] + turns.step > most:
        raise KernelError(f"{text}: it counts in {dtype}, from {least} to {most}; gpu.cast what is known on the GPU")
    return [simplify(as_expr(n, dtype)) for n in given]


def _whole(place: str, value: Scalars) -> Expr | int:
    """A bound of a loop: a number, or a simple integer expression."""
    if isinstance(value, Expr) and value.dtype.kind in "iu":
        return value if isinstance(value, Weak) else simplify(value)
    if isinstance(value, int | np.integer):
        return int(value)
    raise KernelError(f"{place}: gpu.loop counts with whole numbers, not with {value!r}")


@dataclass(frozen=True, slots=True)
class AtMost:
    """What `gpu.at_most` gives to a `while`."""

    turns: Scalars
    condition: object
    place: str

    def __bool__(self) -> bool:
        raise KernelError(
            f"{self.place}: gpu.at_most is the whole condition of a while: `while gpu.at_most(n, a < b):`"
        )


def at_most(turns: Scalars, condition: Any) -> Any:
    """`while gpu.at_most(n, condition):` turns as long as the condition holds, and n times at most.

    So a loop that ends by data is bounded: it needs no checks to be sure to end. n is a whole number, of Python's or of
    the GPU, and is asked once. Raises KernelError anywhere but as the whole condition of a `while`.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def halvings(x, y):
    ...     gpu.launch(threads=4)
    ...     v, turns = x[gpu.thread], 0
    ...     while gpu.at_most(10, v > 1.0):
    ...         v = v * 0.5
    ...         turns += 1
    ...     y[gpu.thread] = turns
    >>> y = np.zeros(4, np.uint32)
    >>> halvings.interpret(np.array([1, 8, 9, 1e30], np.float32), y)
    >>> y
    array([ 0,  3,  4, 10], dtype=uint32)
    """
    current("gpu.at_most")
    return AtMost(turns, condition, user_place())


def unroll(stop: int, *, start: int = 0, step: int = 1) -> range:
    """`for i in gpu.unroll(n):` writes the body n times, each with a number for `i`."""
    if not all(isinstance(n, int | np.integer) for n in (start, stop, step)) or step == 0:
        raise KernelError(f"{user_place()}: gpu.unroll({stop}): it needs numbers known now and a step; use gpu.loop")
    return range(int(start), int(stop), int(step))


@dataclass(frozen=True, slots=True)
class When:
    """What `gpu.when` gives to a `with` in the text of a kernel."""

    condition: object
    place: str

    def __enter__(self) -> None:
        raise _unread("gpu.when", self.place)

    def __exit__(self, *error: object) -> None:
        pass


def when(condition: Scalars) -> AbstractContextManager[None]:
    """`with gpu.when(i < n):` runs its block in the threads where the condition holds.

    A name that the block rebinds is a register after it.
    """
    current("gpu.when")
    if isinstance(condition, Expr) and condition.dtype is not bool_:
        raise KernelError(
            f"{user_place()}: gpu.when of a {condition.dtype} value; compare it, as in gpu.when({condition} != 0)"
        )
    return When(simplify(condition) if isinstance(condition, Expr) else condition, user_place())


def barrier(*, storage: bool = False) -> None:
    """Wait for all threads of the workgroup; what they wrote to shared memory is then seen (with `storage`, what they
    wrote to tensors). Raises KernelError where not all threads would come here."""
    trace = current("gpu.barrier")
    reason = trace.divergent[-1]
    if reason:
        raise KernelError(
            f"{user_place()}: gpu.barrier inside {reason}, which threads of a workgroup decide differently: "
            "some would wait forever; move it out, and keep only the accesses inside gpu.when"
        )
    trace.emit(Barrier(storage, user_place()))


class Solve:
    """What `gpu.shared` takes for a layout that is to be found."""

    def __repr__(self) -> str:
        return "gpu.solve"


solve = Solve()


def shared(
    kind: object,
    tile: AnyLayout | IntTuple,
    *,
    pad: int = 0,
    name: str = "",
    layout: Solve | None = None,
) -> Tensor:
    """A tensor in memory that the workgroup shares, of an element type or the type of a tensor; `tile` is its layout.

    A shape means columns of `pad` unused elements between one another: `(m, k):(1, m + pad)`; with `layout=gpu.solve`
    it means the layout in which no access of the kernel waits for another, found as `conflict_free` does from all that
    the kernel reads and writes. The memory starts undefined.

    Raises KernelError for an access that data decide, where the layout is to be found.
    """
    trace, place = current("gpu.shared"), user_place()
    dtype = kind.dtype if isinstance(kind, Tensor) else as_dtype(kind)
    wanted = name or assigned_name(f"s{kind.engine.name}" if isinstance(kind, Tensor) else "tile")
    note = "shared by a workgroup"
    if layout is not None:
        if not isinstance(layout, Solve) or isinstance(tile, AnyLayout) or pad:
            raise KernelError(
                f"{place}: gpu.shared(..., {tile}, pad={pad}, layout={layout}): layout=gpu.solve finds the layout of a "
                "shape, without pad; a layout goes in the place of the shape"
            )
        if dtype is c64:
            raise KernelError(
                f"{place}: gpu.shared({dtype}, {tile}, layout=gpu.solve): layouts are found for what takes one word or "
                'less; share the parts, gpu.shared("f32", (n, 2), layout=gpu.solve), or give a layout'
            )
        chosen, why = trace.solution(wanted, tile, dtype.bytes, place)
        note += why
    else:
        chosen = tile if isinstance(tile, AnyLayout) else _padded(tile, pad)
        if pad and chosen is tile:
            raise KernelError(f"{place}: gpu.shared(..., {tile}, pad={pad}): a layout has its strides already")
    low, high = offset_range(chosen)
    if low < 0:
        raise KernelError(f"{place}: gpu.shared(..., {chosen}): offsets from {low}; use strides from 0")
    engine = _memory(trace, dtype, high, "workgroup", wanted, str(chosen))
    trace.notes.append(f"{engine.name} {dtype} {chosen}, {note}")
    return Tensor(engine, chosen)


def note(**layouts: object) -> None:
    """Name layouts in the header of the printed kernel: those that share out work, beside the tensors' own.

    Keyword-only arguments of the kernel are named there already.
    """
    trace = current("gpu.note")
    trace.notes += [f"{name} {layout}" for name, layout in layouts.items()]


def _padded(shape: IntTuple, pad: int) -> Layout:
    plain = Layout(shape)
    if not pad:
        return plain
    modes = list(plain)
    strides: list[IntTuple] = [modes[0].stride]
    step = modes[0].size + pad
    for mode in modes[1:]:
        strides.append(Layout(mode.shape, _scaled(Layout(mode.shape).stride, step)).stride)
        step *= mode.size
    return Layout(plain.shape, tuple(strides))


def _scaled(stride: IntTuple, by: int) -> IntTuple:
    return tuple(_scaled(s, by) for s in stride) if isinstance(stride, tuple) else stride * by


def _memory(trace: Trace, dtype: DType, length: int, space: str, name: str, note: str = "") -> Engine:
    """An array of the kernel; complex numbers are pairs in it."""
    pairs = dtype is c64
    buffer = trace.local_array(f32 if pairs else dtype, length << pairs, space, name, note)
    engine = BufferEngine(trace, buffer)
    return words_as(engine, dtype) if pairs else engine


def allocate(trace: Trace, dtype: DType, length: int, name: str) -> Engine:
    """Registers for an owning tensor: what `make_fragment_like` gets inside a kernel."""
    if isinstance(dtype, MatrixType):
        trace.lanes = max(trace.lanes, dtype.threads)
    register = dtype if isinstance(dtype, MatrixType) else dtype.register
    return _memory(trace, register, length, "private", name or assigned_name("fragment"))
