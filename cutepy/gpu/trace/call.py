"""A call of a kernel: its arguments, the key under which the traced kernel is kept, and how it is run over them."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from ...errors import CutepyError, KernelError
from ...layout import ComposedLayout, Layout, is_surjective
from ...layout.symbolic.given import symbols_of
from ...layout.values.coordinates import has_basis
from ...layout.values.layout import flat_modes
from ...tensor.bulk import offset_range, share_elements
from ...tensor.dtypes import DType, as_dtype, f32, gpu_dtype, u32
from ...tensor.engine import ViewEngine
from ...tensor.make import in_words, make_tensor
from ...tensor.packed import PackedEngine
from ...tensor.tensor import Tensor
from ..ir import Kernel
from ..ir.operators import U32_LIMIT
from ..ir.weak import SCALARS
from ..runtime.device_tensor import DeviceEngine, settled, uploaded
from ..runtime.program import Limits, Program
from .captures import Captures, key_of
from .sizes import LARGEST, Facts
from .unknown_sizes import WIDEST, ArgumentSizes

Array = npt.NDArray[Any]  # of any element type


@dataclass(frozen=True, slots=True)
class Parts:
    """What holds several arguments: a tuple, a dictionary with these keys, or a named tuple or dataclass of `kind` with
    these fields."""

    kind: type
    names: tuple[Hashable, ...]
    parts: tuple[Structure, ...]

    def of(self, values: Sequence[object]) -> object:
        """The same with the values of all arguments in place, without the class's own `__new__` and `__init__`."""
        held: list[Any] = [part.of(values) if isinstance(part, Parts) else values[part] for part in self.parts]
        if self.kind is tuple:
            return tuple(held)
        if self.kind is dict:
            return dict(zip(self.names, held, strict=True))
        if issubclass(self.kind, tuple):
            return tuple.__new__(self.kind, held)
        record: object = object.__new__(self.kind)
        for name, value in zip(self.names, held, strict=True):
            object.__setattr__(record, str(name), value)
        return record


Structure = int | Parts
"""Which of all arguments a positional argument is, or what it is made of."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the first element of a view is, as a launch parameter: `unit` times a number from `low` to `high`, with
    which every element is in the memory."""

    unit: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Argument:
    """A tensor over binding `slot`, or a number (`tensor` is None), which is weak where it has no type of its own. With
    an `origin`, the traced kernel is one for every offset that it admits."""

    name: str
    dtype: DType
    tensor: Tensor | None = None
    slot: int = 0
    offset: int = 0
    length: int = 0
    writable: bool = False
    value: float = 0
    packed: bool = False
    weak: bool = False
    origin: Origin | None = None
    origin_name: str = ""
    sizes: ArgumentSizes | None = None
    parameter: str = ""
    """The parameter of the function that it is, or is in."""

    @property
    def key(self) -> Hashable:
        """What of it the traced kernel depends on."""
        if self.tensor is None:
            return self.dtype, self.weak
        if self.sizes is not None:
            return self.dtype, self.sizes, self.slot, self.writable
        guard = None if self.tensor.guard is None else key_of(self.tensor.guard, self.name)
        begins = self.offset if self.origin is None else self.origin
        return self.dtype, self.tensor.layout, begins, self.length, self.slot, self.writable, self.packed, guard

    @property
    def offset_names(self) -> dict[str, int]:
        """What a parameter with its offset is called, by what divides it there."""
        return {self.origin_name: 1, f"{self.origin_name}_{WIDEST}": WIDEST} if self.origin_name else {}

    @property
    def origin_param(self) -> str:
        """The parameter of the kernel that is traced for the origin."""
        return next(name for name, by in self.offset_names.items() if self.origin and by == self.origin.unit)


@dataclass(frozen=True, slots=True)
class BoundArguments:
    """The arguments of one call, and the key of the kernel traced for them. A call of unknown sizes has the `values` of
    what formulas of its launch are made of, and the `facts` of sizes with which the kernel is traced."""

    name: str
    arguments: tuple[Argument, ...]
    structure: tuple[Structure, ...]
    static: Mapping[str, object]
    rest: Hashable
    engines: tuple[ViewEngine | DeviceEngine, ...]
    values: Mapping[str, int] | None = None
    facts: Facts = ()

    @property
    def key(self) -> Hashable:
        """What the traced kernel depends on."""
        return tuple([a.key for a in self.arguments]), self.rest, self.facts

    @property
    def params(self) -> dict[str, float]:
        """The numbers and where views begin, by name."""
        return {a.name: a.value for a in self.arguments if a.tensor is None} | self.offsets

    @property
    def offsets(self) -> dict[str, int]:
        """Where views begin, by the names of parameters."""
        return {n: a.offset // by for a in self.arguments for n, by in a.offset_names.items()}

    @property
    def has_origins(self) -> bool:
        """Whether views may begin elsewhere in a call of the same traced kernel."""
        return any(a.origin is not None for a in self.arguments)

    def with_any_origin(self) -> BoundArguments:
        """The same call of the kernel for offsets that nothing divides."""
        return self._with(lambda a: a.origin and origin_of(a.tensor, a.offset, a.length, unit=1))

    def with_offsets(self) -> BoundArguments:
        """The same call of the kernel for these offsets alone."""
        return self._with(lambda a: None)

    def _with(self, origin: Callable[[Argument], Origin | None]) -> BoundArguments:
        return replace(self, arguments=tuple([replace(a, origin=origin(a)) for a in self.arguments]))


@lru_cache(maxsize=1024)
def _reach(layout: Layout) -> tuple[int, int, int]:
    """The least and the greatest offset of a layout, and the largest of 1 and 4 that divides its strides but for 1."""
    low, end = offset_range(layout)
    steps = [step for extent, step in flat_modes(layout) if extent > 1 and step != 1]
    return low, end - 1, 1 if any(step % WIDEST for step in steps) else WIDEST


def origin_of(tensor: Tensor | None, offset: int, length: int, *, unit: int = 0) -> Origin | None:
    """The origin of a view that begins at `offset` of so many elements, in units of 1 or `WIDEST` elements.

    None for a tensor that is traced for its offset: one at 0, a swizzled one, one that reaches outside its memory, one
    of no elements, and one of other than plain integers.
    """
    if not offset or tensor is None or type(tensor.layout) is not Layout or tensor.guard is not None:
        return None
    layout = tensor.layout
    if layout.facts is not None or not layout.size or has_basis(layout.stride):
        return None
    low, high, widest = _reach(layout)
    if offset + low < 0 or offset + high >= length or length > U32_LIMIT // 2:
        return None
    by = unit or (widest if offset % WIDEST == 0 else 1)
    return Origin(by, -(low // by), (length - 1 - high) // by)


def bind_call(
    captures: Captures, signature: inspect.Signature, args: tuple[object, ...], static: Mapping[str, object]
) -> BoundArguments:
    """Sort the arguments of a call. Raises KernelError for ones that a kernel cannot take, naming each."""
    name = captures.function.__name__
    try:
        bound = signature.bind(*args, **static)
    except TypeError as error:
        raise KernelError(f"{name}{signature}: {error}") from None
    bound.apply_defaults()
    fixed: dict[str, object] = {}
    found = _Arguments(name, captures)
    structure: list[Structure] = []
    for key, value in bound.arguments.items():
        parameter = signature.parameters[key]
        found.parameter = key
        if parameter.kind is parameter.KEYWORD_ONLY:
            fixed[key] = value
        elif parameter.kind is parameter.VAR_KEYWORD:
            fixed |= value
        elif parameter.kind is parameter.VAR_POSITIONAL:
            annotation = parameter.annotation
            structure += [found.add(f"{key}_{i}", part, annotation) for i, part in enumerate(value)]
        else:
            structure.append(found.add(key, value, parameter.annotation))
    for key, value in fixed.items():
        if isinstance(value, Layout) and (unknown := sorted(map(str, symbols_of(value)))):
            raise KernelError(
                f"{name}: static argument {key} is {value}, and a kernel has to know {', '.join(unknown)}; "
                f"give it a number, {key}.subs({unknown[0]}=...)"
            )
    shapes = tuple(structure), tuple(found.holders)
    keys = shapes, captures.captured(), captures.static(fixed)
    return BoundArguments(name, found.with_origins(), tuple(structure), fixed, keys, tuple(found.engines))


class _Arguments:
    """The arguments of one call as they are met; tuples, lists, dictionaries and dataclasses are taken apart."""

    def __init__(self, kernel: str, captures: Captures) -> None:
        self.kernel, self.captures = kernel, captures
        self.parameter = ""
        self.holders: list[Hashable] = []
        self.arguments: list[Argument] = []
        self.engines: list[ViewEngine | DeviceEngine] = []
        self.tensors: list[list[Tensor]] = []  # those over each engine

    def add(self, name: str, value: object, annotation: object) -> Structure:
        """Where the argument is among all from now on."""
        where = f"{self.kernel}: argument {name}"
        if type(value) is list and any(isinstance(part, int | float) for part in value):
            raise KernelError(f"{where} is a list of numbers; write np.array({name}, np.float32) for a tensor of them")
        if (held := _held(value, annotation)) is not None:
            kind, entries = held
            parts = tuple([self.add(f"{name}_{key}", part, told) for key, part, told in entries])
            names = tuple([key for key, _, _ in entries])
            if kind is not tuple:
                self.holders.append(self.captures.holder(kind, names, name))
            return Parts(kind, names, parts)
        while any(a.name == name for a in self.arguments):
            name += "_"
        if isinstance(value, int | float | np.generic):
            self.arguments.append(_number(where, name, value, annotation))
        else:
            self.arguments.append(replace(self.tensor(where, name, value), parameter=self.parameter))
        return len(self.arguments) - 1

    def tensor(self, where: str, name: str, value: object) -> Argument:
        """A tensor, or an array as one."""
        if isinstance(value, Layout | ComposedLayout):
            raise KernelError(f"{where} is the layout {value}; make {name} keyword-only, so that it is static")
        try:
            tensor = value if isinstance(value, Tensor) else make_tensor(value)
            tensor, _ = in_words(tensor) or (tensor, None)
            dtype = tensor.dtype if isinstance(tensor.engine, PackedEngine) else gpu_dtype(tensor.dtype)
        except CutepyError as error:
            raise KernelError(f"{where}: {error}") from error
        packed = isinstance(tensor.engine, PackedEngine)
        engine = tensor.engine.words if isinstance(tensor.engine, PackedEngine) else tensor.engine
        if not isinstance(engine, ViewEngine | DeviceEngine):
            raise KernelError(f"{where} is {tensor}: a kernel takes tensors over arrays or over a device's memory")
        origin = engine.origin if isinstance(engine, ViewEngine) else 0
        length = len(engine.memory) if isinstance(engine, ViewEngine) else engine.length
        slot = self.slot(where, engine, tensor)
        offset = tensor.offset + origin
        _check_offsets(where, tensor, offset, length)
        return Argument(name, dtype, tensor, slot, offset, length, engine.writable, packed=packed)

    def with_origins(self) -> tuple[Argument, ...]:
        """The arguments, with the origins of views that have their memory for themselves: of two in one memory the
        kernel knows how they lie to each other."""
        names, found = {a.name for a in self.arguments}, []
        slots = Counter(a.slot for a in self.arguments if a.tensor is not None)
        for a in self.arguments:
            origin = None if a.packed or slots[a.slot] > 1 else origin_of(a.tensor, a.offset, a.length)
            if origin is not None:
                name = f"{a.name}_offset"
                while not names.isdisjoint((name, f"{name}_{WIDEST}")):
                    name += "_"
                a = replace(a, origin=origin, origin_name=name)
                names |= a.offset_names.keys()
            found.append(a)
        return tuple(found)

    def slot(self, where: str, engine: ViewEngine | DeviceEngine, tensor: Tensor) -> int:
        """The binding of an engine: one memory is bound once, and tensors that share some elements are refused."""
        for slot, other in enumerate(self.engines):
            if other is engine or _same_memory(engine, other):
                self.tensors[slot].append(tensor)
                return slot
            if isinstance(engine, ViewEngine) and isinstance(other, ViewEngine) and (engine.writable or other.writable):
                if any(share_elements(tensor, bound) for bound in self.tensors[slot]):
                    raise KernelError(f"{where} overlaps another argument in part; pass a copy of one of them")
        self.engines.append(engine)
        self.tensors.append([tensor])
        return len(self.engines) - 1


def _check_offsets(where: str, tensor: Tensor, offset: int, length: int) -> None:
    """Raise KernelError for a tensor of which some offset does not fit the u32 in which a kernel computes it."""
    words = 2 if tensor.dtype.kind == "c" else 1  # a complex number is a pair of floats
    plain = type(tensor.layout) is Layout and tensor.layout.facts is None
    bounds = [offset + bound for bound in offset_range(tensor.layout)] if plain else [0, length]
    low, end = (words * bound for bound in bounds)
    if low < 0 or end > U32_LIMIT:
        raise KernelError(
            f"{where} is {tensor}: its elements are at offsets {low} to {end - 1}, and a kernel counts them from 0 to "
            f"{U32_LIMIT - 1}, in 32 bits; pass parts of it, by rows for example"
        )


def views_of(call: BoundArguments) -> frozenset[str]:
    """The arrays of a call, by the name of the first argument over each, with other elements between those of some
    argument, or beside them: all but those that a plain layout covers."""
    names: dict[int, str] = {}
    partial: set[int] = set()
    for argument in call.arguments:
        if argument.tensor is None or argument.sizes is not None:
            continue
        names.setdefault(argument.slot, argument.name)
        layout, whole = argument.tensor.layout, argument.offset == 0 and argument.tensor.guard is None
        plain = type(layout) is Layout and layout.facts is None
        if argument.packed or not whole or not plain or layout.cosize != argument.length or not is_surjective(layout):
            partial.add(argument.slot)
    return frozenset(names[slot] for slot in partial)


def _held(value: object, annotation: object) -> tuple[type, list[tuple[Hashable, object, object]]] | None:
    """What kind of thing holds arguments: each with its key and its annotation. None for an argument itself."""
    if type(value) in (tuple, list) and isinstance(value, tuple | list):
        return tuple, [(i, part, annotation) for i, part in enumerate(value)]
    if type(value) is dict and isinstance(value, dict):
        return dict, [(key, part, annotation) for key, part in value.items()]
    if isinstance(value, tuple) and (names := getattr(value, "_fields", None)) is not None:
        told = getattr(type(value), "__annotations__", {})
        return type(value), [(key, part, told.get(key, "")) for key, part in zip(names, value, strict=True)]
    if is_dataclass(value) and not isinstance(value, type | Tensor | Layout | ComposedLayout):
        return type(value), [(f.name, getattr(value, f.name), f.type) for f in fields(value)]
    return None


def _number(where: str, name: str, value: float | np.generic, annotation: object) -> Argument:
    if isinstance(value, bool | np.bool_):
        raise KernelError(f"{where} is a bool; make it keyword-only, so that it is static")
    fixed = fixed_type(annotation)
    if fixed is None and isinstance(value, np.generic) and type(value) not in SCALARS:
        fitting = "np.float32" if isinstance(value, np.floating) else "np.int32 or np.uint32"
        plain = "float" if isinstance(value, np.floating) else "int"
        raise KernelError(
            f"{where} is {value!r}, and a GPU has no numbers of type {value.dtype}; give it a type by {fitting}, or "
            f"write {plain}({name}), a number that takes the type it meets"
        )
    number = value.item() if isinstance(value, np.generic) else value
    dtype = fixed or SCALARS.get(type(value))
    if dtype is not None and dtype.kind != "f" and isinstance(number, float):
        raise KernelError(f"{where} is {number!r}, and annotated as {dtype}; give a whole number")
    return Argument(name, dtype or (f32 if isinstance(number, float) else u32), value=number, weak=dtype is None)


def fixed_type(annotation: object) -> DType | None:
    """The type that the annotation of a parameter gives to numbers: `a: "f32"`, `a: np.int32`."""
    text = annotation.strip("'\"").removeprefix("np.") if isinstance(annotation, str) else annotation
    try:
        dtype = as_dtype(text)
    except CutepyError:
        return None
    return dtype if dtype in SCALARS.values() else None


def _same_memory(engine: ViewEngine | DeviceEngine, other: ViewEngine | DeviceEngine) -> bool:
    """Whether two engines are the same elements, from the first to the last."""
    if isinstance(engine, DeviceEngine) and isinstance(other, DeviceEngine):
        return engine.buffer is other.buffer and engine.dtype is other.dtype and engine.length == other.length
    if isinstance(engine, ViewEngine) and isinstance(other, ViewEngine):
        one, two = engine.memory, other.memory
        return one.ctypes.data == two.ctypes.data and one.shape == two.shape and one.dtype == two.dtype
    return False


if TYPE_CHECKING:
    from ..runtime import Device, DeviceBuffer


def launch_on_device(program: Program, call: BoundArguments, params: Mapping[str, float], device: Device) -> None:
    """Launch over the device's buffers. A host array is uploaded before, and where the kernel writes it, the elements
    that it changed are stored afterwards: memory between the elements of a view is others' to write meanwhile.
    """
    copies: dict[int, Array] = {}
    buffers = []
    for slot, engine in enumerate(call.engines):
        if isinstance(engine, DeviceEngine):
            buffers.append(engine.buffer)
        else:
            copies[slot] = np.array(engine.memory, order="C")
            buffers.append(uploaded(device, copies[slot], engine.name))
    device.launch(program, buffers, [params[p.name] for p in program.params])
    for slot, before in copies.items():
        engine = call.engines[slot]
        if isinstance(engine, ViewEngine) and program.bindings[slot].access == "read_write":
            after = buffers[slot].read(before.dtype, len(before))
            np.copyto(engine.memory, after, where=_bits(after) != _bits(before))


def _bits(array: Array) -> Array:
    """Its elements as whole numbers, so that -0 differs from 0 and no NaN from itself."""
    return array.view(f"u{array.itemsize}")


@dataclass(frozen=True, slots=True)
class Ready:
    """A program, and which of a call's numbers each of its parameters is, divided by what; number -1 is the divisor
    itself, a parameter that is the same in all calls of the key. The numbers of a call that are `sized` are to be no
    larger than a size, as the proof has it."""

    program: Program
    numbers: tuple[tuple[int, int], ...]
    sized: tuple[int, ...] = ()

    def takes(self, numbers: Sequence[float]) -> bool:
        """Whether the proof covers these numbers of a call."""
        return all(0 <= numbers[i] <= LARGEST for i in self.sized)


@dataclass(slots=True)
class Quick:
    """What a launch needs once its program is known; two calls with one key have the same program, unless it is one for
    these `offsets` of views alone."""

    key: Hashable
    offsets: tuple[int, ...]
    buffers: list[DeviceBuffer]
    numbers: list[float]
    device: Device

    def launch(self, ready: Ready) -> None:
        own = self.numbers
        numbers = [by if i < 0 else own[i] if by == 1 else own[i] // by for i, by in ready.numbers]
        self.device.launch(ready.program, self.buffers, numbers)


def ready(program: Program, call: BoundArguments, fixed: Mapping[str, int] | None = None) -> Ready:
    """The program as later calls of the same kind launch it, with `fixed` parameters. The numbers of a call are its
    arguments, for a tensor its offset."""
    places: dict[str, tuple[int, int]] = {}
    for number, a in enumerate(call.arguments):
        places |= {name: (number, by) for name, by in ({a.name: 1} if a.tensor is None else a.offset_names).items()}
    places |= {name: (-1, number) for name, number in (fixed or {}).items()}
    whole = {p.name for p in program.params if p.type == "u32"} if fixed is not None else set()
    sized = tuple([i for i, a in enumerate(call.arguments) if a.tensor is None and a.name in whole])
    return Ready(program, tuple([places[p.name] for p in program.params]), sized)


def quick_call(args: tuple[object, ...]) -> Quick | None:
    """A call over tensors of one device; None for any other, which goes the long way.

    Tensors of one buffer have one binding where their engines hold the same elements, as `Arguments.slot` has it.
    """
    key: list[Hashable] = []
    buffers: list[DeviceBuffer] = []
    numbers: list[float] = []
    bound: list[DeviceEngine] = []
    shared = False
    for value in args:
        kind: type = type(value)
        if type(value) is Tensor:
            engine, part = value.engine, ""
            if isinstance(engine, PackedEngine):
                engine, part = engine.words, engine.dtype.name
            if value.guard is not None or not (type(engine) is DeviceEngine or settled(engine)):
                return None
            slot = len(bound)
            if engine.buffer in buffers:
                slot = next((i for i, other in enumerate(bound) if _same_memory(engine, other)), slot)
            shared = shared or slot < len(bound)
            if slot == len(bound):
                bound.append(engine)
                buffers.append(engine.buffer)
            begins: Hashable = value.offset
            if value.offset and not part and (origin := origin_of(value, value.offset, engine.length)) is not None:
                begins = origin
            numbers.append(value.offset)
            key.append((slot, value.layout, begins, engine.dtype.name, part, engine.length, engine.writable))
        elif kind is float or kind is int or kind in SCALARS:
            key.append(kind)
            numbers.append(cast(float, value))
        else:
            return None
    if not buffers or any(b.device is not buffers[0].device for b in buffers):
        return None
    offsets = tuple([value.offset for value in args if type(value) is Tensor])
    key.append(("subgroups" in buffers[0].device.features, offsets if shared else ()))
    return Quick(tuple(key), offsets, buffers, numbers, buffers[0].device)


def device_of(call: BoundArguments) -> Device | None:
    """The one device of all device tensors; None where there are none. Raises KernelError for tensors of several."""
    devices = {id(e.device): e.device for e in call.engines if isinstance(e, DeviceEngine)}
    if len(devices) > 1:
        names = ", ".join(str(d) for d in devices.values())
        raise KernelError(f"{call.name}: the tensors are on {len(devices)} devices ({names}); move them to one")
    return next(iter(devices.values()), None)


def copies_on_host(call: BoundArguments, *, read_back: bool = False) -> list[Array]:
    """The memory of host arrays, as it is now; that of a device, where it is to be `read_back`."""
    return [array.copy() for array in _on_host(call, read_back=read_back)]


def _on_host(call: BoundArguments, *, read_back: bool = False) -> list[Array]:
    arrays: list[Array] = []
    for engine in call.engines:
        if isinstance(engine, DeviceEngine) and read_back:
            arrays.append(engine.host())
            continue
        if isinstance(engine, DeviceEngine):
            raise KernelError(
                f"{call.name}.interpret runs on arrays of the host; {engine.name or 'a tensor'} is on a device"
            )
        memory = engine.memory
        arrays.append(memory if memory.flags.c_contiguous else np.ascontiguousarray(memory))
    return arrays


def run_on_host(call: BoundArguments, run: Callable[[list[Array], dict[str, float]], None]) -> None:
    """Run on the memory of host arrays, in place."""
    arrays = _on_host(call)
    run(arrays, call.params)
    for engine, array in zip(call.engines, arrays, strict=True):
        if isinstance(engine, ViewEngine) and array is not engine.memory and engine.writable:
            engine.memory[...] = array


def limits_of(call: BoundArguments) -> Limits:
    """The limits of the device that holds the tensors; what every WebGPU device can, where none does."""
    for engine in call.engines:
        if isinstance(engine, DeviceEngine):
            return engine.device.limits
    return Limits()


def has_subgroups(call: BoundArguments) -> bool:
    """Whether the device that holds the tensors has subgroups; False where none does."""
    device = device_of(call)
    return device is not None and "subgroups" in device.features


def aliases(call: BoundArguments, kernel: Kernel) -> tuple[str, ...]:
    """The pairs of bindings over one memory of which the kernel writes one: WebGPU forbids that."""
    bound = list(zip(call.engines, kernel.buffers, strict=True))
    return tuple(
        f"{a.name} and {b.name}"
        for (one, a), (two, b) in combinations(bound, 2)
        if (a.writable or b.writable) and _memory(one) is _memory(two)
    )


def _memory(engine: ViewEngine | DeviceEngine) -> object:
    return engine.buffer if isinstance(engine, DeviceEngine) else engine.memory
