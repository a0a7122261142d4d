"""The arguments of a launch: which are tensors, which numbers, and the key under which the traced kernel is kept."""

import inspect
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...errors import CutepyError, KernelError
from ...tensor.dtypes import DType, f32, gpu_dtype, i32, u32
from ...tensor.engine import ViewEngine
from ...tensor.make import make_tensor
from ...tensor.tensor import Tensor
from ..array import DeviceEngine

Array = npt.NDArray[Any]  # of any element type


@dataclass(frozen=True, slots=True)
class Argument:
    """A positional argument: a tensor over binding `slot`, or a number (`tensor` is None)."""

    name: str
    dtype: DType
    tensor: Tensor | None = None
    slot: int = 0
    offset: int = 0
    length: int = 0
    writable: bool = False
    value: float = 0


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of one call, and the key of the kernel traced for them."""

    name: str
    arguments: tuple[Argument, ...]
    static: Mapping[str, object]
    key: Hashable
    engines: tuple[ViewEngine | DeviceEngine, ...]

    @property
    def params(self) -> dict[str, float]:
        """The numbers, by name."""
        return {a.name: a.value for a in self.arguments if a.tensor is None}


def bind_call(
    function: Callable[..., None], signature: inspect.Signature, args: tuple[object, ...], static: Mapping[str, object]
) -> Call:
    """Sort the arguments of a call. Raises KernelError for ones that a kernel cannot take, naming each."""
    name = function.__name__
    try:
        bound = signature.bind(*args, **static)
    except TypeError as error:
        raise KernelError(f"{name}{signature}: {error}") from None
    bound.apply_defaults()
    arguments: list[Argument] = []
    fixed: dict[str, object] = {}
    engines: list[ViewEngine | DeviceEngine] = []
    for key, value in bound.arguments.items():
        if signature.parameters[key].kind is inspect.Parameter.KEYWORD_ONLY:
            fixed[key] = value
        else:
            arguments.append(_argument(f"{name}: argument {key}", key, value, engines))
    cache_key = (
        tuple(
            [
                (a.dtype, a.tensor.layout, a.offset, a.length, a.slot, a.writable) if a.tensor else a.dtype
                for a in arguments
            ]
        ),
        static_key(fixed),
    )
    try:
        hash(cache_key)
    except TypeError:
        wrong = [k for k, v in fixed.items() if not isinstance(v, Hashable)]
        raise KernelError(
            f"{name}: static arguments must be hashable, {', '.join(wrong)} is not; use a tuple"
        ) from None
    return Call(name, tuple(arguments), fixed, cache_key, tuple(engines))


def static_key(static: Mapping[str, object]) -> tuple[tuple[str, type, object], ...]:
    """The static arguments as part of a key; 1, 1.0 and True are three values."""
    return tuple([(name, type(value), value) for name, value in static.items()])


def _argument(where: str, name: str, value: object, engines: list[ViewEngine | DeviceEngine]) -> Argument:
    if isinstance(value, bool | np.bool_):
        raise KernelError(f"{where} is a bool; make it keyword-only, so that it is static")
    if isinstance(value, int | np.integer):
        return Argument(name, u32 if value >= 0 else i32, value=int(value))
    if isinstance(value, float | np.floating):
        return Argument(name, f32, value=float(value))
    try:
        tensor = value if isinstance(value, Tensor) else make_tensor(value)
        dtype = gpu_dtype(tensor.dtype)
    except CutepyError as error:
        raise KernelError(f"{where}: {error}") from error
    engine = tensor.engine
    if not isinstance(engine, ViewEngine | DeviceEngine):
        raise KernelError(f"{where} is {tensor}: a kernel takes tensors over arrays or over a device's memory")
    origin = engine.origin if isinstance(engine, ViewEngine) else 0
    length = len(engine.memory) if isinstance(engine, ViewEngine) else engine.length
    slot = _slot(where, engine, engines)
    offset = cast(int, tensor.offset) + origin
    return Argument(name, dtype, tensor, slot, offset, length, engine.writable)


def _slot(where: str, engine: ViewEngine | DeviceEngine, engines: list[ViewEngine | DeviceEngine]) -> int:
    """The binding of an engine: one memory is bound once, and memories that overlap in part are refused."""
    for slot, other in enumerate(engines):
        if other is engine:
            return slot
        if isinstance(engine, DeviceEngine) and isinstance(other, DeviceEngine):
            if engine.buffer is other.buffer and engine.dtype is other.dtype and engine.length == other.length:
                return slot
        elif isinstance(engine, ViewEngine) and isinstance(other, ViewEngine):
            if np.may_share_memory(engine.memory, other.memory):
                one, two = engine.memory, other.memory
                if one.ctypes.data == two.ctypes.data and one.shape == two.shape and one.dtype == two.dtype:
                    return slot
                if (engine.writable or other.writable) and np.shares_memory(one, two):
                    raise KernelError(f"{where} overlaps another argument in part; pass a copy of one of them")
    engines.append(engine)
    return len(engines) - 1
