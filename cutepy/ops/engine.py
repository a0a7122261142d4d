"""Which engine computes a call, and where the result is.

Law: `engine=None` is where the operands live: a device where one is on a device, else NumPy on the host. A call that
names an engine runs there or is refused, and the result is where it was computed. Nothing else computes. A result for
`out` is `out`, which holds the elements that the call without it would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Literal, TypeAlias

import numpy as np

from ..errors import KernelError
from ..gpu import DeviceEngine, Expr, operations
from ..layout import is_injective
from ..tensor import CoordinateEngine, CountingEngine, DType, PackedEngine, Tensor, ViewEngine, copy, mode_sizes, rules

Engine: TypeAlias = Literal["numpy", "wgpu", "interpreter"]
"""NumPy on the host; kernels on a device; the same kernels run by NumPy, statement by statement, on the host."""


class Home(Enum):
    """Where the elements of an operand are."""

    HOST = "the host"
    DEVICE = "a device"
    KERNEL = "a kernel that is being traced"
    VALUE = "a single value of a kernel, or an object array of them"


def home_of(call: str, operand: object) -> Home:
    """Where an operand lives. Raises KernelError for a tensor over an engine that no array operation reads."""
    if isinstance(operand, Expr):
        return Home.VALUE
    if isinstance(operand, np.ndarray) and operand.dtype == object and operand.size:
        return Home.VALUE if isinstance(operand.flat[0], Expr) else Home.HOST
    if not isinstance(operand, Tensor):
        return Home.HOST
    engine = operand.engine.words if isinstance(operand.engine, PackedEngine) else operand.engine
    if isinstance(engine, DeviceEngine):
        return Home.DEVICE
    if isinstance(engine, ViewEngine | CountingEngine | CoordinateEngine):
        return Home.HOST
    if hasattr(engine, "trace"):
        return Home.KERNEL
    raise KernelError(f"{call}({operand}): nothing here computes over {type(engine).__name__}; copy it into an array")


def on_device(operands: Sequence[object]) -> bool:
    """Whether all operands are tensors of a device and Python numbers, with a tensor first: the common case, decided
    fast."""
    for at, operand in enumerate(operands):
        if type(operand) is Tensor:
            if type(operand.engine) is not DeviceEngine:
                return False
        elif not at or type(operand) not in (float, int):
            return False
    return True


def chosen(call: str, engine: Engine | None, *operands: object) -> Engine:
    """The engine that computes a call over these operands.

    >>> chosen("sum", None, [1, 2]), chosen("sum", "interpreter", [1, 2])
    ('numpy', 'interpreter')

    Raises KernelError for an engine that does not exist, for NumPy's over operands of a device, and for tensors and
    values inside a kernel.
    """
    if engine is None and on_device(operands):
        return "wgpu"
    homes = [home_of(call, operand) for operand in operands if operand is not None]
    if Home.KERNEL in homes or Home.VALUE in homes:
        raise KernelError(
            f"ops.{call}: of a tensor inside a kernel use transform(x, out, op=...), reduce(x, init, op), copy and "
            "gemm; single values take the functions of ops and of gpu"
        )
    if engine is None:
        return "wgpu" if Home.DEVICE in homes else "numpy"
    if engine not in ("numpy", "wgpu", "interpreter"):
        raise KernelError(f"{call}(engine={engine!r}): there are 'numpy', 'wgpu' and 'interpreter'")
    if engine != "wgpu" and Home.DEVICE in homes:
        there = [operand for operand in operands if operand is not None][homes.index(Home.DEVICE)]
        raise KernelError(f"{call}(engine={engine!r}): {there} is on a device; pass .numpy()")
    return engine


def delivered(call: str, found: Tensor, out: Tensor | None, engine: Engine) -> Tensor:
    """What a call found, as the caller sees it: itself, or `out`, which has these elements now.

    Raises KernelError for an `out` of another shape, of a type that does not hold them, or two elements of which share
    memory.
    """
    if out is None or out is found:
        return found
    check_out(call, mode_sizes(found), found.dtype, out)
    if engine == "numpy":
        copy(found, out)
    else:
        operations.copy(found, out, engine=engine)
    return out


def check_out(call: str, shape: rules.Shape, dtype: DType, out: Tensor) -> None:
    """Raises KernelError where `out` cannot take a result of this shape and type."""
    if not isinstance(out, Tensor):
        raise KernelError(f"{call}: out is {type(out).__name__}; give a tensor, such as make_tensor(array)")
    if mode_sizes(out) != shape:
        raise KernelError(f"{call}: out has the shape {mode_sizes(out)}, the operands give {shape}")
    if not np.can_cast(dtype.numpy, out.dtype.numpy, "same_kind"):
        raise KernelError(f"{call}: out holds {out.dtype}, the operands give {dtype}; convert with astype")
    if out.size and not is_injective(out.layout):
        raise KernelError(
            f"{call}(out={out}): elements of it share memory, and which is stored last is open; "
            "give a tensor whose elements lie apart"
        )
