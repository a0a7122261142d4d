"""Control of a kernel: launch, ids, loops, predicates, barriers, shared memory."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ...errors import KernelError, shown
from ...layout import IntTuple, Layout
from ...layout.values.composed import AnyLayout
from ...layout.values.int_tuple import leaves
from ...tensor.bulk import offset_range
from ...tensor.dtypes import as_dtype, bool_, c64
from ...tensor.engine import Scalars
from ...tensor.tensor import Tensor
from ..ir import AddressSpace, Barrier, Buffer, Expr, builtin, settled
from ..ir.expr import describe
from ..ir.operators import SUBGROUP_SIZES
from ..ir.place import user_place
from ..ir.simplify import simplify
from ..trace.memory import owned_memory
from ..trace.sizes import KernelSize
from ..trace.source import assigned_name
from ..trace.state import MOST_GROUPS, Size3, current, tracing
from ..trace.statements import AtMost, When, loop_over
from ..trace.uniform import uniform_value


def launch(*, grid: int | tuple[int, ...] = 1, threads: int | tuple[int, ...], subgroup: int = 0) -> None:
    """How many workgroups run the kernel, along x, y and z, and how many threads each has. The first line of a kernel.

    A one-dimensional grid may have more than 65,535 workgroups. With `subgroup` the kernel is for subgroups of so many
    threads, 4 to 128: its results are those of that size, and a device that has another one refuses it.

    Raises KernelError for sizes below 1 (a grid may have a 0: nothing runs then), for a subgroup of no such size, and
    for a second call.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def places(y):
    ...     gpu.launch(grid=2, threads=(2, 4))
    ...     y[gpu.workgroup.x, gpu.thread] = gpu.thread.y
    >>> y = np.zeros((2, 8), np.uint32)
    >>> places.interpret(y); y[1].tolist()
    [0, 0, 1, 1, 2, 2, 3, 3]
    """
    trace = current("gpu.launch")
    if subgroup not in (0, *SUBGROUP_SIZES):
        raise KernelError(
            f"{user_place()}: gpu.launch(subgroup={subgroup!r}): subgroups have {', '.join(map(str, SUBGROUP_SIZES))}"
        )
    trace.subgroup, trace.lanes = subgroup, max(trace.lanes, subgroup)
    sizes = grid if isinstance(grid, tuple) else (grid,)
    known = tuple([MOST_GROUPS if isinstance(n, KernelSize) else n for n in sizes])
    trace.formulas = (*sizes, 1, 1)[:3]
    trace.launch(_size3("grid", known, least=0), _size3("threads", threads, least=1))


def _size3(what: str, given: int | tuple[int, ...], *, least: int) -> Size3:
    """The argument `what` of `gpu.launch` along three axes, 1 where it says none. KernelError for sizes that only the
    GPU or the launch knows, and for numbers below `least`."""
    sizes = given if isinstance(given, tuple) else (given,)
    given = sizes[0] if len(sizes) == 1 else sizes  # as it was most likely written
    for value in sizes:
        if isinstance(value, KernelSize):
            raise KernelError(
                f"{user_place()}: gpu.launch({what}={given}): the size {value} is known only at the launch, and the "
                "text has a number there; give it a number, in the annotation of the argument, or make it keyword-only"
            )
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
    """The ids of the workgroup: `gpu.workgroup.x`, `.y`, `.z`.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def ids(y):
    ...     gpu.launch(grid=(2, 3), threads=1)
    ...     y[gpu.workgroup.x, gpu.workgroup.y] = gpu.workgroup.x + 10 * gpu.workgroup.y + gpu.workgroup.z
    >>> y = np.zeros((2, 3), np.uint32)
    >>> ids.interpret(y); y.tolist()
    [[0, 10, 20], [1, 11, 21]]
    """

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
    `gpu.launch(threads=(X, Y, Z))`.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def ids(y):
    ...     gpu.launch(threads=(2, 2))
    ...     y[gpu.thread] = gpu.thread.x + 10 * gpu.thread.y
    >>> y = np.zeros(4, np.uint32)
    >>> ids.interpret(y); y.tolist()
    [0, 1, 10, 11]
    """
    return current("gpu.thread").thread


def _along(value: Expr, axis: int) -> Expr:
    trace = tracing()
    if trace is None or trace.workgroup is None or value is not trace.thread:
        raise AttributeError(f"{describe(value)} has no attribute {'xyz'[axis]!r}; gpu.thread has, and gpu.workgroup")
    x, y, _ = trace.workgroup
    return simplify((value % x, value // x % y, value // (x * y))[axis])


Expr._along = staticmethod(_along)


def _subgroup_id(name: str, builtin_name: str, most: int) -> Expr:
    trace = current(f"gpu.{name}")
    trace.ask_subgroup(f"gpu.{name}")
    return builtin(builtin_name, 0, min(most, trace.threads) - 1)


def lane() -> Expr:
    """The index of the thread in its subgroup.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def lanes(y):
    ...     gpu.launch(threads=64)
    ...     y[gpu.thread] = gpu.lane
    >>> y = np.zeros(64, np.uint32)
    >>> lanes.interpret(y); y[30:34].tolist()  # the interpreter has subgroups of 32
    [30, 31, 0, 1]

    Raises KernelError outside a kernel.
    """
    return _subgroup_id("lane", "subgroup_invocation_id", 128)


def subgroup() -> Expr:
    """The index of the subgroup in the workgroup.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def groups(y):
    ...     gpu.launch(threads=64)
    ...     y[gpu.thread] = gpu.subgroup
    >>> y = np.zeros(64, np.uint32)
    >>> groups.interpret(y); y[30:34].tolist()  # the interpreter has subgroups of 32
    [0, 0, 1, 1]

    Raises KernelError outside a kernel.
    """
    return _subgroup_id("subgroup", "subgroup_id", 1 << 16)


def subgroup_size() -> Expr:
    """How many threads a subgroup of the running device has: 4 to 128, known only there.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def sizes(y):
    ...     gpu.launch(threads=4)
    ...     y[gpu.thread] = gpu.subgroup_size
    >>> y = np.zeros(4, np.uint32)
    >>> sizes.interpret(y); y.tolist()  # the interpreter has subgroups of 32
    [32, 32, 32, 32]

    Raises KernelError outside a kernel.
    """
    current("gpu.subgroup_size").ask_subgroup("gpu.subgroup_size")
    return builtin("subgroup_size", 4, 128)


def loop(stop: Scalars, *, start: Scalars = 0, step: Scalars = 1) -> Iterable[Expr]:
    """`for k in gpu.loop(n):` stays a loop in the kernel; `k` counts from `start` below `stop` by `step`, as in range.

    It is an i32 where a bound is, or where a number is below 0, else a u32. What its body rebinds is carried from one
    iteration to the next, in registers.

    Raises KernelError for bounds of two types, numbers that do not fit them, a step that does not lead to the end.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def sums(y):
    ...     gpu.launch(threads=4)
    ...     total = 0
    ...     for k in gpu.loop(gpu.thread + 1):
    ...         total += k
    ...     y[gpu.thread] = total
    >>> y = np.zeros(4, np.uint32)
    >>> sums.interpret(y); y.tolist()
    [0, 1, 3, 6]
    """
    return loop_over(stop, start, step)


def at_most(turns: Scalars, condition: Any) -> Any:
    """`while gpu.at_most(n, condition):` iterates as long as the condition holds, and n times at most.

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
    """`for i in gpu.unroll(n):` writes the body n times, each with a number for `i`.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def three(y):
    ...     gpu.launch(threads=1)
    ...     for i in gpu.unroll(3):
    ...         y[i] = 2 * i
    >>> y = np.zeros(3, np.uint32)
    >>> three.wgsl(y).count("y[")
    3

    `stop`, `start` and `step` are integers, as of `range`. Raises KernelError for what is known only on the GPU, and
    for a step of 0.
    """
    if not all(isinstance(n, int | np.integer) for n in (start, stop, step)) or step == 0:
        raise KernelError(
            f"{user_place()}: gpu.unroll({shown(stop)}): it needs numbers known now and a step; use gpu.loop"
        )
    return range(int(start), int(stop), int(step))


def when(condition: Scalars) -> AbstractContextManager[None]:
    """`with gpu.when(i < n):` runs its block in the threads where the condition holds.

    A name that the block rebinds is a register after it.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def upper(y):
    ...     gpu.launch(threads=4)
    ...     with gpu.when(gpu.thread > 1):
    ...         y[gpu.thread] = 1
    >>> y = np.zeros(4, np.uint32)
    >>> upper.interpret(y); y.tolist()
    [0, 0, 1, 1]

    Raises KernelError for a condition that is no bool.
    """
    current("gpu.when")
    if isinstance(condition, Expr) and condition.dtype is not bool_:
        raise KernelError(
            f"{user_place()}: gpu.when of a {condition.dtype} value; compare it, as in gpu.when({condition} != 0)"
        )
    return When(simplify(condition) if isinstance(condition, Expr) else condition, user_place())


def barrier(*, storage: bool = False) -> None:
    """Wait for all threads of the workgroup; what they wrote to shared memory is then seen (with `storage`, what they
    wrote to tensors). Raises KernelError where not all threads would come here.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def reverse(y):
    ...     gpu.launch(threads=4)
    ...     s = gpu.shared("u32", 4)
    ...     s[gpu.thread] = gpu.thread
    ...     gpu.barrier()
    ...     y[gpu.thread] = s[3 - gpu.thread]
    >>> y = np.zeros(4, np.uint32)
    >>> reverse.interpret(y); y.tolist(), reverse.verify(y).ok
    ([3, 2, 1, 0], True)
    """
    trace = current("gpu.barrier")
    reason = trace.divergent[-1]
    if reason:
        raise KernelError(
            f"{user_place()}: gpu.barrier inside {reason}, which threads of a workgroup may decide differently: "
            "some would wait forever; move it out, and keep only the accesses inside gpu.when"
        )
    trace.emit(Barrier(storage, user_place()))


def uniform(value: Scalars) -> Any:
    """The value that thread 0 has, in every thread of the workgroup; of an element of shared memory what it holds when
    all have come. WGSL's `workgroupUniformLoad`: the threads wait for one another before and after.

    What depends on it alone is decided by all threads alike, so barriers may stand under it. What a workgroup reduces
    is made so where a condition asks for it.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def first(x, y):
    ...     gpu.launch(grid=2, threads=4)
    ...     y[gpu.workgroup.x * 4 + gpu.thread] = gpu.uniform(x[gpu.workgroup.x * 4 + gpu.thread])
    >>> y = np.zeros(8, np.float32)
    >>> first.interpret(np.arange(8, dtype=np.float32), y); y.tolist()
    [0.0, 0.0, 0.0, 0.0, 4.0, 4.0, 4.0, 4.0]

    Raises KernelError where not all threads would come here.
    """
    trace = current("gpu.uniform")
    if not isinstance(value, Expr):
        return value
    return uniform_value(trace, simplify(settled(value)), "gpu.uniform")


def in_order(*tensors: Tensor) -> None:
    """Loads of these tensors, which the kernel only reads, stay where it has them: a tile that is loaded before the
    products of the one before it is on its way meanwhile.

    Their bindings are declared `read_write`. NVIDIA's compiler moves loads of read-only bindings down to where the
    value is used. Raises KernelError for a tensor that is no argument of the kernel.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def sums(x, y):
    ...     gpu.launch(threads=4)
    ...     gpu.in_order(x)
    ...     following, total = x[gpu.thread, 0], 0.0
    ...     for k in gpu.loop(8):
    ...         value, following = following, x[gpu.thread, gpu.minimum(k + 1, 7)]
    ...         total += value
    ...     y[gpu.thread] = total
    >>> x, y = np.ones((4, 8), np.float32), np.zeros(4, np.float32)
    >>> sums.interpret(x, y); y.tolist(), "read_write> x" in sums.wgsl(x, y)
    ([8.0, 8.0, 8.0, 8.0], True)
    """
    current("gpu.in_order")
    for tensor in tensors:
        buffer = getattr(getattr(tensor.engine, "words", tensor.engine), "buffer", None)
        if not isinstance(buffer, Buffer) or buffer.space != AddressSpace.STORAGE:
            raise KernelError(f"{user_place()}: gpu.in_order({tensor}): give tensors that are arguments of the kernel")
        object.__setattr__(buffer, "in_order", True)


class Solve:
    """The marker by which `gpu.shared(layout=gpu.solve)` asks the library for the layout."""

    def __repr__(self) -> str:
        return "gpu.solve"


solve = Solve()


def shared(
    kind: object, tile: AnyLayout | IntTuple, *, pad: int = 0, name: str = "", layout: Solve | None = None
) -> Tensor:
    """A tensor in memory that the workgroup shares, of an element type or the type of a tensor; `tile` is its layout.

    A shape means columns of `pad` unused elements between one another: `(m, k):(1, m + pad)`; with `layout=gpu.solve`
    it means the layout without bank conflicts that `conflict_free` finds for all accesses of the kernel. The memory
    starts undefined.

    Raises KernelError for an access whose index depends on data, with `layout=gpu.solve`.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def kept(y):
    ...     gpu.launch(threads=4)
    ...     s = gpu.shared("u32", (2, 2), pad=1)
    ...     s[gpu.thread] = gpu.thread
    ...     y[gpu.thread] = s[gpu.thread]
    >>> y = np.zeros(4, np.uint32)
    >>> kept.interpret(y); y.tolist(), kept.ir(y).shared_bytes
    ([0, 1, 2, 3], 32)
    """
    trace, place = current("gpu.shared"), user_place()
    for extent in leaves(tile.shape if isinstance(tile, AnyLayout) else tile):
        if isinstance(extent, KernelSize):
            raise KernelError(
                f"{place}: gpu.shared(..., {tile}): the size {extent} is known only at the launch, and shared memory "
                "has a number of elements; give one that it does not exceed, and walk what is longer with gpu.loop"
            )
    # 1. Element type and name: of the tensor, else of the assignment in the kernel's text.
    dtype = kind.dtype if isinstance(kind, Tensor) else as_dtype(kind)
    wanted = name or assigned_name(f"s{kind.engine.name}" if isinstance(kind, Tensor) else "tile")
    note = "shared by a workgroup"
    # 2. The layout: solved for, given, or made of a shape and its padding.
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
    # 3. The memory: as many elements as the layout reaches.
    low, high = offset_range(chosen)
    if low < 0:
        raise KernelError(f"{place}: gpu.shared(..., {chosen}): offsets from {low}; use strides from 0")
    engine = owned_memory(trace, dtype, high, AddressSpace.WORKGROUP, wanted, str(chosen))
    trace.notes.append(f"{engine.name} {dtype} {chosen}, {note}")
    return Tensor(engine, chosen)


def note(**layouts: object) -> None:
    """Name layouts in the header of the printed kernel: those that share out work, beside the tensors' own.

    Keyword-only arguments of the kernel are named there already.

    >>> import numpy as np
    >>> from cutepy import Layout, gpu
    >>> @gpu.kernel
    ... def noted(y):
    ...     gpu.launch(threads=4)
    ...     tile = Layout((2, 2), (2, 1))
    ...     gpu.note(tile=tile)
    ...     y[gpu.thread] = tile(gpu.thread)
    >>> y = np.zeros(4, np.uint32)
    >>> "tile = (2,2):(2,1)" in noted.wgsl(y)
    False

    >>> import numpy as np
    >>> from cutepy import Layout, gpu
    >>> @gpu.kernel
    ... def noted(y):
    ...     gpu.launch(threads=4)
    ...     tile = Layout((2, 2), (2, 1))
    ...     gpu.note(tile=tile)
    ...     y[gpu.thread] = tile(gpu.thread)
    >>> [line for line in noted.wgsl(np.zeros(4, np.uint32)).splitlines() if "tile" in line]
    ['// tile (2,2):(2,1)']
    """
    trace = current("gpu.note")
    trace.notes += [f"{name} {layout}" for name, layout in layouts.items()]


def _padded(shape: IntTuple, pad: int) -> Layout:
    plain = Layout(shape)
    if not pad:
        return plain
    modes = list(plain)
    # The stride of each mode is the padded size of those before it: only the first is padded.
    strides: list[IntTuple] = [modes[0].stride]
    step = modes[0].size + pad
    for mode in modes[1:]:
        strides.append(Layout(mode.shape, _scaled(Layout(mode.shape).stride, step)).stride)
        step *= mode.size
    return Layout(plain.shape, tuple(strides))


def _scaled(stride: IntTuple, by: int) -> IntTuple:
    return tuple(_scaled(s, by) for s in stride) if isinstance(stride, tuple) else stride * by
