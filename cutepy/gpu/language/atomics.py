"""Accesses that say more than an index: under a condition with another value, and atomic ones.

Law: an atomic happens as if no other invocation were at its element meanwhile. Floats of 32 bits are updated by a loop
that the compiler makes, of compare-exchanges of their bits: WGSL has atomics of integers alone.
"""

from __future__ import annotations

from typing import Any

from ...errors import KernelError
from ...layout.values.int_tuple import moved
from ...tensor.dtypes import bool_, f32
from ...tensor.engine import Place, Scalars, check_writable, offset_of
from ...tensor.tensor import Tensor, _check, expect_tensors
from ..ir import AddressSpace, Assign, Atomic, Declare, Expr, If, as_expr, const, var
from ..ir.place import user_place
from ..ir.simplify import simplify
from ..trace.complex import Complex
from ..trace.engine import BufferEngine
from ..trace.state import current, is_known
from .functions import bitcast, select


def load(tensor: Tensor, crd: Place, *, where: Scalars = True, other: Scalars | Complex = 0) -> Any:
    """The element at `crd` where the condition holds and the tensor's guard does; `other` elsewhere, without an access.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def shifted(x, y):
    ...     gpu.launch(threads=8)
    ...     y[gpu.thread] = gpu.load(x, gpu.thread - 1, where=gpu.thread > 0, other=-1)
    >>> x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    >>> shifted.interpret(x, y); y[:3].tolist(), shifted.verify(x, y).ok
    ([-1.0, 0.0, 1.0], True)

    Raises KernelError for a condition that is no bool, TensorIndexError for a coordinate that does not fit.
    """
    holds, offset = _accessed("gpu.load", tensor, crd, where)
    value = tensor.engine_at(crd).load(offset, holds)
    unmet = isinstance(other, int | float | complex) and other == 0
    # Without an access the value is 0, so another one of 0 needs no select.
    chosen = value if holds is None or unmet else select(holds, value, other)
    return chosen if isinstance(chosen, Complex) else as_expr(chosen)


def store(tensor: Tensor, crd: Place, value: Scalars, *, where: Scalars = True) -> None:
    """Write `value` to the element at `crd` where the condition holds and the tensor's guard does: elsewhere nothing is
    accessed.

    Raises KernelError for a condition that is no bool, TensorIndexError for a coordinate that does not fit, TensorError
    for a tensor that is read-only.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def shifted(x, y):
    ...     gpu.launch(threads=8)
    ...     gpu.store(y, gpu.thread - 1, x[gpu.thread], where=gpu.thread > 0)
    >>> x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    >>> shifted.interpret(x, y); y.tolist(), shifted.verify(x, y).ok
    ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0], True)
    """
    holds, offset = _accessed("gpu.store", tensor, crd, where)
    check_writable(tensor.engine)
    tensor.engine_at(crd).store(offset, value, holds)


def _accessed(call: str, tensor: Tensor, crd: Place, where: Scalars) -> tuple[Expr | None, Scalars]:
    """The condition of an access, None where it always holds, and its offset."""
    current(call)
    expect_tensors(call, tensor)
    holds = as_expr(where, bool_)
    if holds.dtype is not bool_:
        raise KernelError(
            f"{user_place()}: {call}(where={where}): a {holds.dtype} value; compare it, as in {where} != 0"
        )
    if not is_known(holds, False):  # where it never holds nothing is accessed, and numbers may be outside
        _check(crd, tensor.layout.shape, tensor)
    # The condition and the tensor's guard are one predicate of the access.
    inside = None if tensor.guard is None else tensor.guard.inside(crd)
    if inside is not None:
        holds = holds & as_expr(inside, bool_)
    holds = simplify(holds)
    return None if is_known(holds, True) else holds, moved(tensor.offset, offset_of(tensor.layout, crd))


def _atomic(call: str, op: str, tensor: Tensor, crd: Place, value: Scalars, compare: Scalars | None = None) -> Expr:
    """`op` on the element at `crd` of a tensor, atomically; gives the value before, 0 where the tensor's guard keeps it
    from happening."""
    trace = current(call)
    expect_tensors(call, tensor)
    engine, place = tensor.engine, user_place()
    # 1. The memory must be shared, or a binding, of a type that has this operation.
    of_integers = op in ("And", "Or", "Xor")
    if (
        not isinstance(engine, BufferEngine)
        or engine.buffer.space == AddressSpace.PRIVATE
        or not (engine.dtype.kind in "iu" or (engine.dtype is f32 and not of_integers))
    ):
        kinds = "i32 or u32" if of_integers else "i32, u32 or f32"
        raise KernelError(f"{place}: an atomic on {tensor}: it needs a shared or global tensor of {kinds}")
    if not engine.writable:
        raise KernelError(f"{place}: an atomic on {engine.name}: it is read-only; pass a writable tensor")
    # 2. The element, and operands in its type; sums and bit operations may wrap.
    engine.mark_written()
    _check(crd, tensor.layout.shape, tensor)
    wraps = "+" if op in ("Add", "Sub", "And", "Or", "Xor") else ""
    operands = [None if x is None else as_expr(x, engine.dtype, wraps) for x in (value, compare)]
    for operand in operands:
        if operand is not None and operand.dtype is not engine.dtype:
            raise KernelError(f"{place}: an atomic on {engine.name} ({engine.dtype}) with a {operand.dtype} value")
    assert operands[0] is not None
    # 3. The old value is a name of its own: what an atomic returns is an unknown of the proofs.
    count = trace.counts["old"] = trace.counts.get("old", -1) + 1
    result = None if op == "Store" else var(f"old_{count}", engine.dtype)
    chosen = tensor.engine_at(crd)
    assert isinstance(chosen, BufferEngine)
    index, at = chosen.place(moved(tensor.offset, offset_of(tensor.layout, crd)))
    stmt = Atomic(op, engine.buffer, index, operands[0], operands[1], result, place, *at)
    inside = None if tensor.guard is None else tensor.guard.inside(crd)
    if inside is None or is_known(inside, True):
        trace.emit(stmt)
        return const(0, engine.dtype) if result is None else result
    # 4. Under a guard the old value outlives the branch: a variable, 0 where the atomic did not happen.
    kept = var(f"old_{count}", engine.dtype)
    trace.emit(Declare(kept))
    keeps = () if result is None else (Assign(kept, result),)
    trace.emit(If(as_expr(inside, bool_), (stmt, *keeps), place=place))
    return kept


def atomic_add(tensor: Tensor, crd: Place, value: Scalars) -> Expr:
    """Add `value` to the element at `crd`, atomically; gives what it was. Of floats the order of sums is open.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def each(cell):
    ...     gpu.launch(threads=4)
    ...     gpu.atomic_add(cell, 0, gpu.cast(gpu.thread + 1, "i32"))
    >>> cell = np.array([10], np.int32)
    >>> each.interpret(cell)
    >>> cell.tolist()
    [20]

    `crd` is a coordinate of the tensor. Raises KernelError for a tensor that is read-only or of another type than the
    value, and TensorIndexError for a coordinate that does not fit.
    """
    return _atomic("gpu.atomic_add", "Add", tensor, crd, value)


def atomic_sub(tensor: Tensor, crd: Place, value: Scalars) -> Expr:
    """Subtract `value`, atomically; gives what it was.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def each(cell):
    ...     gpu.launch(threads=4)
    ...     gpu.atomic_sub(cell, 0, gpu.cast(gpu.thread + 1, "i32"))
    >>> cell = np.array([10], np.int32)
    >>> each.interpret(cell)
    >>> cell.tolist()
    [0]

    Raises as `atomic_add`.
    """
    return _atomic("gpu.atomic_sub", "Sub", tensor, crd, value)


def atomic_min(tensor: Tensor, crd: Place, value: Scalars) -> Expr:
    """Keep the smaller, atomically; gives what it was. Of NaN the device decides.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def each(cell):
    ...     gpu.launch(threads=4)
    ...     gpu.atomic_min(cell, 0, gpu.cast(gpu.thread + 1, "i32"))
    >>> cell = np.array([10], np.int32)
    >>> each.interpret(cell)
    >>> cell.tolist()
    [1]

    Raises as `atomic_add`.
    """
    return _atomic("gpu.atomic_min", "Min", tensor, crd, value)


def atomic_max(tensor: Tensor, crd: Place, value: Scalars) -> Expr:
    """Keep the greater, atomically; gives what it was. Of NaN the device decides.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def each(cell):
    ...     gpu.launch(threads=4)
    ...     gpu.atomic_max(cell, 0, gpu.cast(gpu.thread + 1, "i32"))
    >>> cell = np.array([2], np.int32)
    >>> each.interpret(cell)
    >>> cell.tolist()
    [4]

    Raises as `atomic_add`.
    """
    return _atomic("gpu.atomic_max", "Max", tensor, crd, value)


def atomic_and(tensor: Tensor, crd: Place, value: Scalars) -> Expr:
    """Keep the common bits, atomically; gives what it was.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def each(cell):
    ...     gpu.launch(threads=4)
    ...     gpu.atomic_and(cell, 0, gpu.cast(gpu.thread + 1, "i32"))
    >>> cell = np.array([7], np.int32)
    >>> each.interpret(cell)
    >>> cell.tolist()
    [0]

    Raises as `atomic_add`.
    """
    return _atomic("gpu.atomic_and", "And", tensor, crd, value)


def atomic_or(tensor: Tensor, crd: Place, value: Scalars) -> Expr:
    """Join the bits, atomically; gives what it was.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def each(cell):
    ...     gpu.launch(threads=4)
    ...     gpu.atomic_or(cell, 0, gpu.cast(gpu.thread + 1, "i32"))
    >>> cell = np.array([8], np.int32)
    >>> each.interpret(cell)
    >>> cell.tolist()
    [15]

    Raises as `atomic_add`.
    """
    return _atomic("gpu.atomic_or", "Or", tensor, crd, value)


def atomic_xor(tensor: Tensor, crd: Place, value: Scalars) -> Expr:
    """Flip the bits, atomically; gives what it was.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def each(cell):
    ...     gpu.launch(threads=4)
    ...     gpu.atomic_xor(cell, 0, gpu.cast(gpu.thread + 1, "i32"))
    >>> cell = np.array([0], np.int32)
    >>> each.interpret(cell)
    >>> cell.tolist()
    [4]

    Raises as `atomic_add`.
    """
    return _atomic("gpu.atomic_xor", "Xor", tensor, crd, value)


def atomic_exchange(tensor: Tensor, crd: Place, value: Scalars) -> Expr:
    """Write `value`, atomically; gives what was there.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def each(cell, before):
    ...     gpu.launch(threads=1)
    ...     before[0] = gpu.atomic_exchange(cell, 0, 7)
    >>> cell, before = np.array([3], np.int32), np.zeros(1, np.int32)
    >>> each.interpret(cell, before)
    >>> cell.tolist(), before.tolist()
    ([7], [3])

    Raises as `atomic_add`.
    """
    return _atomic("gpu.atomic_exchange", "Exchange", tensor, crd, value)


def atomic_load(tensor: Tensor, crd: Place) -> Expr:
    """The element at `crd`, read atomically, while other threads update it; 0 where the tensor's guard does not hold.

    It counts as an update, like all atomics: the tensor has to be writable, and a plain read of the element by another
    thread conflicts with it.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def counted(cell, last):
    ...     gpu.launch(threads=4)
    ...     gpu.atomic_add(cell, 0, 1)
    ...     gpu.barrier(storage=True)
    ...     last[gpu.thread] = gpu.atomic_load(cell, 0)
    >>> cell, last = np.zeros(1, np.int32), np.zeros(4, np.int32)
    >>> counted.interpret(cell, last)
    >>> last.tolist()
    [4, 4, 4, 4]

    Raises as `atomic_add`.
    """
    return _atomic("gpu.atomic_load", "Load", tensor, crd, 0)


def atomic_store(tensor: Tensor, crd: Place, value: Scalars) -> None:
    """Write an element that others update, atomically.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def marked(cell):
    ...     gpu.launch(threads=4)
    ...     gpu.atomic_store(cell, 0, 5)
    >>> cell = np.zeros(1, np.int32)
    >>> marked.interpret(cell)
    >>> cell.tolist(), marked.verify(cell).ok
    ([5], True)

    Raises as `atomic_add`.
    """
    _atomic("gpu.atomic_store", "Store", tensor, crd, value)


def atomic_compare_exchange(tensor: Tensor, crd: Place, compare: Scalars, value: Scalars) -> tuple[Expr, Expr]:
    """Write `value` where the element is `compare`, atomically; gives what it was, and whether it was written. Floats
    are compared by their bits.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def first(cell, won):
    ...     gpu.launch(threads=4)
    ...     before, written = gpu.atomic_compare_exchange(cell, 0, 0, gpu.cast(gpu.thread + 1, "i32"))
    ...     won[gpu.thread] = written
    >>> cell, won = np.zeros(1, np.int32), np.zeros(4, bool)
    >>> first.interpret(cell, won)
    >>> cell.tolist(), won.tolist()
    ([1], [True, False, False, False])

    Raises as `atomic_add`.
    """
    old = _atomic("gpu.atomic_compare_exchange", "CompareExchange", tensor, crd, value, compare)
    wanted = as_expr(compare, old.dtype)
    # As the device compares: bits of floats, so NaN may be exchanged and 0.0 is not -0.0.
    sides = [bitcast(x, "u32") if old.dtype is f32 else x for x in (old, wanted)]
    done = sides[0] == sides[1]
    inside = True if tensor.guard is None else tensor.guard.inside(crd)
    return old, done & as_expr(inside, bool_)
