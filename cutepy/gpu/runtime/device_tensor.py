"""Tensors whose elements are in a device's memory."""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from ...errors import TensorError
from ...layout import ComposedLayout, IntTuple, Layout, LayoutRight
from ...tensor import DType, Tensor, gpu_dtype
from ...tensor.bulk import on_host
from ...tensor.dtypes import as_dtype, c64
from ...tensor.engine import Mask, Scalars, Space, ViewEngine, check_writable
from ...tensor.make import in_words, make_tensor
from ...tensor.packed import words_as
from ...tensor.tensor import set_form
from . import Device, DeviceBuffer, default_device
from .device import PendingRead

Array = npt.NDArray[Any]  # of any element type


@dataclass(frozen=True, slots=True, eq=False, init=False)
class DeviceEngine:
    """`length` elements in a buffer of a device. Kernels use them in place; `load` and `store` go over the host.

    >>> from cutepy import gpu
    >>> device = gpu.default_device()
    >>> engine = gpu.array(np.arange(4, dtype=np.float32)).engine
    >>> engine.device is device, engine.host().tolist(), engine.fetch().result().tolist()
    (True, [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0])
    >>> engine.replace(np.ones(4, np.float32)); engine.load(np.array([0, 3])).tolist()
    [1.0, 1.0]
    """

    buffer: DeviceBuffer
    dtype: DType
    length: int
    space: Space
    name: str
    writable: bool
    confined: ClassVar[bool] = True

    def __init__(
        self,
        buffer: DeviceBuffer,
        dtype: DType,
        length: int,
        space: Space = "gmem",
        name: str = "",
        writable: bool = True,
    ) -> None:
        _set_buffer(self, buffer)
        _set_dtype(self, dtype)
        _set_length(self, length)
        _set_space(self, space)
        _set_name(self, name)
        _set_writable(self, writable)

    @property
    def device(self) -> Device:
        """The device that holds the elements."""
        return self.buffer.device

    def host(self, first: int = 0, last: int | None = None) -> Array:
        """The elements from number `first`, a multiple of 4, to before `last`, read back; all by default."""
        count = (self.length if last is None else last) - first
        return self.buffer.read(self.dtype.numpy, count, first * self.dtype.bytes)

    def fetch(self) -> PendingRead:
        """All elements, on their way back."""
        return self.device.read_async(self.buffer, self.dtype.numpy, self.length)

    def load(self, offsets: Scalars, where: Mask = None) -> Any:
        """The elements at `offsets`, by way of the host."""
        return ViewEngine(self.host(), self.dtype).load(offsets, where)

    def replace(self, elements: Array) -> None:
        """Write all elements."""
        self.buffer.write(elements)

    def store(self, offsets: Scalars, values: Scalars, where: Mask = None) -> None:
        """Write `values` at `offsets`, by way of the host."""
        check_writable(self)
        elements = self.host()
        ViewEngine(elements, self.dtype).store(offsets, values, where)
        self.replace(elements)


@dataclass(frozen=True, slots=True, eq=False)
class TensorForm:
    """What the launches of a call follow from of a tensor in the memory of a device, whichever memory that is; of a
    layout with a function outside that layout and None. Of equal tensors it is one object, as long as it is kept."""

    dtype: str
    writable: bool
    shape: Any
    stride: Any
    offset: Any
    length: int


_form = lru_cache(maxsize=4096, typed=True)(TensorForm)  # 1 is not True here


def form_of(tensor: Tensor) -> TensorForm | None:
    """The form of a tensor, which it keeps; None for one with a guard or in other memory than a device's.

    >>> from cutepy import gpu
    >>> x, y = (gpu.array(np.zeros((2, 3), np.float32)) for _ in "xy")
    >>> form_of(x) is form_of(y), form_of(x).shape, form_of(make_tensor(np.zeros(3)))
    (True, (2, 3), None)
    """
    engine, layout = tensor.engine, tensor.layout
    if tensor.guard is not None or not (type(engine) is DeviceEngine or settled(engine)):
        return None
    shape, stride = (layout.shape, layout.stride) if type(layout) is Layout else (layout, None)
    form = _form(engine.dtype.name, engine.writable, shape, stride, tensor.offset, engine.length)
    set_form(tensor, form)
    return form


class Result(NamedTuple):
    """Where a call leaves its result: in its argument `argument`, in a buffer, as a tensor of its own, or nowhere."""

    argument: int | None = None
    buffer: int = 0
    dtype: DType | None = None
    length: int = 0
    layout: Layout | ComposedLayout | None = None
    offset: int = 0

    def over(self, buffer: DeviceBuffer, form: TensorForm | None = None, name: str = "") -> Tensor:
        """The tensor in this memory; its form, where that is known, spares the next call to find it."""
        assert self.dtype is not None and self.layout is not None
        tensor = Tensor(DeviceEngine(buffer, self.dtype, self.length, "gmem", name), self.layout, self.offset)
        set_form(tensor, form)
        return tensor


# As `object.__setattr__`, in a third of its time: each call makes an engine.
_set_buffer, _set_dtype, _set_length, _set_space, _set_name, _set_writable = (
    vars(DeviceEngine)[name].__set__ for name in ("buffer", "dtype", "length", "space", "name", "writable")
)


class Awaited(Protocol):
    """A result that is not there yet."""

    @property
    def device(self) -> Device:
        """Where it will be."""
        ...

    def computed(self) -> DeviceBuffer:
        """Its memory, which launches have filled."""
        ...


class _Promise:
    """What an engine has in the place of its buffer; it lives as long as the engine."""

    __slots__ = ("__weakref__", "awaited")

    def __init__(self, awaited: Awaited) -> None:
        self.awaited = awaited


class DeferredEngine(DeviceEngine):
    """An engine whose elements are computed when its buffer is asked for; from then on its class is `DeviceEngine`."""

    __slots__ = ()

    @property
    def buffer(self) -> DeviceBuffer:
        """The memory, which is filled first."""
        held: _Promise | DeviceBuffer = _held(self)
        buffer = held.awaited.computed() if isinstance(held, _Promise) else held
        _set_buffer(self, buffer)
        object.__setattr__(self, "__class__", DeviceEngine)
        return buffer

    @property
    def device(self) -> Device:
        """The device that holds the elements, or will."""
        held: _Promise | DeviceBuffer = _held(self)
        return held.awaited.device if isinstance(held, _Promise) else held.device


_held = vars(DeviceEngine)["buffer"].__get__


def settled(engine: object) -> TypeGuard[DeviceEngine]:
    """Whether an engine waited for its elements; now it does not."""
    return isinstance(engine, DeferredEngine) and engine.buffer is not None


def awaited_by(engine: object) -> Awaited | None:
    """The result that an engine waits for.

    >>> from cutepy import gpu, ops
    >>> device = gpu.default_device()
    >>> with gpu.fused():
    ...     waiting = ops.exp(gpu.array(np.zeros(4, np.float32)))
    ...     print(awaited_by(waiting.engine) is not None)
    True
    """
    held = _held(engine) if isinstance(engine, DeferredEngine) else None
    return held.awaited if isinstance(held, _Promise) else None


def deferred_engine(awaited: Awaited, dtype: DType, length: int) -> tuple[DeviceEngine, weakref.ref[object]]:
    """An engine of so many elements that waits for a result, and a reference that is dead when nobody holds the engine
    any more.

    >>> from cutepy import gpu, ops
    >>> from cutepy.tensor import f32
    >>> device = gpu.default_device()
    >>> with gpu.fused() as block:
    ...     y = ops.exp(gpu.array(np.zeros(4, np.float32)))
    ...     engine, held = deferred_engine(awaited_by(y.engine), f32, 4)
    ...     del y
    >>> held() is not None
    True
    """
    promise = _Promise(awaited)
    found = DeferredEngine.__new__(DeferredEngine)
    DeviceEngine.__init__(found, promise, dtype, length)  # type: ignore[arg-type]
    return found, weakref.ref(promise)


SMALL_ARRAY = 1 << 20
"""Bytes of an array up to which its copy has memory as results have it: what a step of a model takes from the host is
where that of the step before was, with the bind groups made for it."""


def uploaded(device: Device, memory: Array, name: str) -> DeviceBuffer:
    """The elements of an array on a device, in memory of the pool where they are few."""
    return device.upload(memory, name, pooled=memory.nbytes <= SMALL_ARRAY)


def array(data: object, *, device: Device | None = None, name: str = "") -> Tensor:
    """A copy of an array or of a tensor in the memory of a device, with the same shape and strides.

    >>> from cutepy.errors import DeviceError
    >>> try:
    ...     print(array(np.float32([[1, 2], [3, 4]])).numpy().tolist())
    ... except DeviceError:  # no adapter here
    ...     print([[1.0, 2.0], [3.0, 4.0]])
    [[1.0, 2.0], [3.0, 4.0]]

    Raises DeviceError where there is no device, TensorError for data that is no array.
    """
    tensor = on_host(data) if isinstance(data, Tensor) else make_tensor(data)
    if (packed := in_words(tensor, copies=True)) is not None:
        found, words = packed
        moved = array(Tensor(words, Layout(len(words.memory))), device=device, name=name)
        return Tensor(words_as(moved.engine, found.dtype), found.layout, found.offset, found.guard)
    kind = gpu_dtype(tensor.dtype)
    if tensor.guard is not None or not isinstance(tensor.layout, Layout) or not isinstance(tensor.engine, ViewEngine):
        tensor = make_tensor(np.asfortranarray(tensor.numpy(), kind.numpy))
    engine = tensor.engine
    assert isinstance(engine, ViewEngine)
    target = device if device is not None else default_device()
    buffer = uploaded(target, engine.memory, name or engine.name)
    there = DeviceEngine(buffer, kind, len(engine.memory), name=name or engine.name)
    return Tensor(there, tensor.layout, tensor.offset + engine.origin)


def empty(
    shape: IntTuple, dtype: object = "f32", *, cleared: bool = False, device: Device | None = None, name: str = ""
) -> Tensor:
    """A tensor in the memory of a device, compact, the last mode fastest, that holds anything until it is written.

    Its memory may be that of a tensor that is gone, with the bind groups made for it: a result that is allocated for
    each call costs little. A `cleared` one has memory of its own, which holds zeros.

    >>> from cutepy import gpu
    >>> device = gpu.default_device()
    >>> empty((2, 3), "i32", cleared=True).numpy().tolist()
    [[0, 0, 0], [0, 0, 0]]

    Raises TensorError for more elements than 32-bit offsets reach, and DeviceError where there is no device.
    """
    # Exact types: True is no size, though it equals 1.
    plain = type(dtype) is str and (type(shape) is int or (type(shape) is tuple and {*map(type, shape)} == {int}))
    new, nbytes, form = (_NEW.get((shape, dtype)) if plain else None) or _new_of(shape, dtype, plain)
    if new.dtype is c64:
        words = empty(2 * new.length, "f32", cleared=cleared, device=device, name=name)
        assert new.layout is not None
        return Tensor(words_as(words.engine, c64), new.layout)
    target = device if device is not None else default_device()
    return new.over(target.allocate(nbytes, name, pooled=not cleared), form, name)


SHAPES_KEPT = 1024
"""Layouts that `empty` keeps: those of results are made again and again."""
_NEW: dict[tuple[Hashable, Hashable], tuple[Result, int, TensorForm | None]] = {}


def _new_of(shape: IntTuple, dtype: object, plain: bool) -> tuple[Result, int, TensorForm | None]:
    """A new tensor, its bytes and its form, kept for a shape and a type that are `plain`. Raises as `empty`."""
    layout = Layout(shape, LayoutRight)
    kind = c64 if as_dtype(dtype) is c64 else gpu_dtype(dtype)
    size = layout.size
    if size > 1 << 32:
        raise TensorError(f"empty({shape}): {size} elements are more than 32-bit offsets reach")
    nowhere: Any = None  # the form of a tensor tells nothing of its memory
    form = form_of(Tensor(DeviceEngine(nowhere, kind, size), layout)) if plain else None
    new = Result(None, 0, kind, size, layout), size * kind.bytes, form
    if plain:
        if len(_NEW) >= SHAPES_KEPT:
            _NEW.clear()
        _NEW[shape, dtype] = new
    return new
