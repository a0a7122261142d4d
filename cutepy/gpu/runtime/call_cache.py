"""Operations whose launches are recorded at the first call, and replayed by calls with like operands.

Law: what an operation allocates and launches follows from its static arguments and from the layouts, types and lengths
of its tensors, so a call with an equal key is the same launches over other buffers. It is recorded where the call did
nothing else on the device; any other call is computed anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, wraps
from struct import pack
from typing import Any, ParamSpec, TypeVar, cast, overload
from weakref import WeakSet

import numpy as np

from ...layout.values.followed import forget_choices
from ...tensor import DType, Tensor
from ...tensor.functions import Function
from . import DeviceBuffer
from .batch import planning, running_tape, taped
from .call_recipe import CallRecipe, call_recipe, sized_call
from .deferral import Deferral, innermost
from .device import MadeMemory, scratch_of
from .device_tensor import DeviceEngine, Result, TensorForm, form_of
from .formulas import compiled
from .pipeline import BoundLaunch
from .recorded_call import CallKey, Recorded, recorded

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Kept = TypeVar("Kept", bound="dict[Hashable, Any] | set[int]")

KEPT = 1024
"""Calls that one operation remembers, and classes of calls with recipes."""
RECIPES_KEPT = 32
"""Recipes of one class of calls that are tried, at most: each try takes milliseconds, also where none comes of it. A
class of which so many calls could not be followed has none."""
_STATIC = {int, bool, str, type(None), DType, Function}


def static_type(kind: type[T]) -> type[T]:
    """Mark a class, as its decorator: objects that are equal are equal arguments of a `cached_launches` operation.

    Its objects must be hashable and never change, as those of a frozen dataclass of numbers. A call with an argument of
    any other class, beside tensors, numbers, texts, element types and tuples of integers, is not recorded.

    >>> from dataclasses import dataclass
    >>> @static_type
    ... @dataclass(frozen=True)
    ... class Tile:
    ...     rows: int
    """
    _STATIC.add(kind)
    return kind


def is_static(kind: type) -> bool:
    """Whether objects of this class that are equal are equal arguments, as its `static_type` says."""
    return kind in _STATIC


def key_of(args: Iterable[object], *, numbers: bool = False) -> CallKey | None:
    """The key of a call over tensors of one device; None for a call that is not recorded.

    With `numbers`, floats are launch parameters: the key has their type alone.
    """
    common: list[Hashable] = []
    sizes: list[Any] = []
    buffers: list[DeviceBuffer] = []
    given: list[float] = []
    for value in args:
        # Exact types: a subclass may hold state that its equality does not compare.
        kind: type = type(value)
        if type(value) is Tensor:
            form: TensorForm | None = value._form or form_of(value)
            if form is None:
                return None
            buffer = cast(DeviceEngine, value.engine).buffer
            # Buffers enter the key by their order of first use, so other buffers make the same key, and equal ones stay
            # equal.
            if buffer in buffers:
                slot = buffers.index(buffer)
            else:
                slot = len(buffers)
                buffers.append(buffer)
            common += slot, form.dtype, form.writable
            sizes += form.shape, form.stride, form.offset, form.length
        elif kind in _STATIC:
            common += kind, value
        elif numbers and (kind is float or kind is np.float32):
            common.append(kind)
            given.append(cast(float, value))
        elif kind is float:  # by its bits: 0.0 is not -0.0, and a NaN is itself
            common += kind, pack("d", value)
        elif type(value) is tuple and all(type(item) is int for item in value):
            common += kind, value
        else:
            return None
    if not buffers:
        return None
    device = buffers[0].device
    # A recording belongs to one device.
    for buffer in buffers:
        if buffer.device is not device:
            return None
    common.append(device.uid)
    return CallKey(tuple(common), tuple(sizes), device, buffers, given)


def with_room(kept: Kept) -> Kept:
    """What is kept, emptied where it is full: keys that vary without end would fill anything.

    >>> with_room({*range(3)}), with_room({*range(KEPT)})
    ({0, 1, 2}, set())
    """
    if len(kept) >= KEPT:
        kept.clear()
    return kept


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedCall:
    """What the device does again for a call (`Device._repeat`): `of` what its launches are kept, which memory it makes,
    and its result, in that memory, of this form, or an argument."""

    of: object
    made: MadeMemory
    result: Result
    form: TensorForm | None = None


class RepeatedCalls:
    """Calls that were made several times, by the forms of their tensors and by their other arguments.

    Law: `reader(args)(args, beside)` launches what the call launches and gives what it gives, or it gives None and
    launches nothing. What a call launches follows from what is `beside`, the forms, the other arguments and the device;
    its launches are bound for operands of the spans with which one was made, so an operand on another device, freed,
    too small, or twice the same finds none. Tapes and blocks hear of calls by the general way alone.

    >>> kept = RepeatedCalls()
    >>> kept.keep((1, 2.0), (), RepeatedCall("floats", (), Result(0)))
    >>> kept.reader((1, 2.0)) is None
    True
    """

    def __init__(self) -> None:
        self._readers: dict[Hashable, partial[Any]] = {}  # each with its calls: 1 is not True

    def reader(self, args: Sequence[object]) -> Callable[[Sequence[object], Hashable], object] | None:
        """What makes calls with arguments of these types again; None where they go the general way."""
        alone = running_tape() is None and innermost() is None
        return self._readers.get((*map(type, args),)) if alone else None

    def keep(
        self, args: Sequence[object], beside: Hashable, call: RepeatedCall, bound: BoundLaunch | None = None
    ) -> None:
        """Make calls like this one by `call` from now on, where they can be told; one that is `bound` by what makes
        them since the first, with this launch for these operands."""
        kinds = (*map(type, args),)
        read = self._readers.get(kinds)
        if read is None:
            if not all(kind in (Tensor, tuple) or kind in _STATIC for kind in kinds):
                return
            read = with_room(self._readers)[kinds] = partial(_reader(kinds), {})
        calls: dict[Hashable, RepeatedCall] = read.args[0]
        key = beside, *[value._form or form_of(value) if type(value) is Tensor else value for value in args]
        before = calls.get(key)
        if before is None or bound is None:
            with_room(calls)[key] = call
        else:
            buffers = [cast(DeviceEngine, value.engine).buffer for value in args if type(value) is Tensor]
            buffers[0].device._groups.play((before.of, tuple([buffer.span for buffer in buffers])), [bound])

    def clear(self) -> None:
        self._readers.clear()


@lru_cache(maxsize=KEPT)
def _reader(kinds: tuple[type, ...]) -> Callable[..., Any]:
    """`RepeatedCalls.reader` of arguments of these types, compiled, for any calls that are kept."""
    names = [f"a{at}" for at in range(len(kinds))]
    tensors = [name for name, kind in zip(names, kinds, strict=True) if kind is Tensor]
    whole = [name for name, kind in zip(names, kinds, strict=True) if kind is tuple]
    key = [f"{name}._form or form_of({name})" if name in tensors else name for name in names]
    text = f"""def recipe(calls, args, beside):
    {"".join(f"{name}, " for name in names)}= args
    {"".join(f"if not integers.issuperset(map(type, {name})): return None; " for name in whole)}
    call = calls.get((beside, {", ".join(key)}))
    if call is None: return None
    first = {tensors[0]}.engine.buffer
    spans = first.span, {"".join(f"{name}.engine.buffer.span, " for name in tensors[1:])}
    made = first.device._repeat(call.of, call.made, spans)
    if made is False: return None
    return args[call.result.argument] if made is True else call.result.over(made, call.form)
"""
    return compiled(text, {"form_of": form_of, "integers": {int}})


def _repeated(entry: Recorded, call: CallKey, args: Sequence[object], result: object) -> RepeatedCall | None:
    """How a recorded call is made again; None where that is not for its operands, in their order, alone."""
    kept = entry.kept(call)
    scratch = scratch_of(entry.made, kept)
    if call.numbers or scratch is None or len(call.buffers) < sum(type(value) is Tensor for value in args):
        return None
    if not isinstance(result, Tensor) or (entry.result.argument is None and kept < 0):
        return None
    return RepeatedCall(entry, tuple(zip(scratch, entry.made, strict=True)), entry.result, form_of(result))


class CallCache:
    """The recorded calls of one operation, at most `KEPT`; `cached_launches` makes one for a function.

    A class is all calls that differ in sizes, strides, offsets and lengths alone. It has recipes from the second call
    that is recorded. Threads may share a cache: of what two of them write at once one may be lost, and is made again.

    >>> kept = CallCache()
    >>> kept.call((1, 2), lambda *_: "nothing of a device: computed")
    'nothing of a device: computed'
    >>> CallCache.clear_all(); len(kept.recorded)
    0
    """

    def __init__(self) -> None:
        self.recorded: dict[Hashable, Recorded] = {}
        self.recipes: dict[Hashable, list[CallRecipe | None]] = {}
        self.repeated = RepeatedCalls()
        _CACHES.add(self)

    def call(
        self,
        args: Sequence[object],
        uncached: Callable[..., R],
        *,
        key: Callable[[], Hashable] = tuple,
        parameters: Callable[[], tuple[str, ...]] | None = None,
    ) -> R:
        """What `uncached(*args)` gives and launches: by the recorded launches of an equal call, or the recipe of calls
        of other sizes, where there are any.

        `key()` is what a call depends on beside `args`. With `parameters`, floats among `args` are launch parameters,
        and `parameters()` names them in order: another value is the same call.

        While a recipe is made (`planning()`), the operation runs to list its launches and the device does nothing:
        calls inside it are computed, and none is kept.
        """
        read = self.repeated.reader(args)
        if read is not None and (again := read(args, key())) is not None:
            return cast(R, again)
        if planning() is not None:
            return uncached(*args)
        call = key_of(args, numbers=parameters is not None)
        if call is None:
            return uncached(*args)
        # The recorded launches of an equal call, else a first call under a tape.
        beside = key()
        whole = call.common, call.sizes, beside
        entry = self.recorded.get(whole)
        if entry is not None:
            result = cast(R, entry.run(call, args))
            # From its third run on, what it launches is kept bound.
            if entry.times > 2 and (repeated := _repeated(entry, call, args, result)) is not None:
                self.repeated.keep(args, beside, repeated)
            return result
        # By the recipe of a class, else by Python under a tape, from which a recipe is made where the class was met.
        # A call of nested or swizzled layouts is of no class.
        sized = sized_call(call)
        recipes = None if sized is None else self.recipes.get((sized.key, beside))
        if sized is not None and recipes:
            # In one step each: another thread finds the list with all its recipes.
            order = recipes[:]
            for recipe in order:
                if recipe is not None and (entry := recipe.run(sized.numbers)) is not None:
                    if recipe is not order[0]:
                        order.remove(recipe)
                        recipes[:] = [recipe, *order]
                    with_room(self.recorded)[whole] = entry
                    return cast(R, entry.run(call, args))
        outermost = running_tape() is None
        names = parameters() if parameters is not None else ()
        with taped(call.device) as tape:
            result = uncached(*args)
        made = recorded(tape, call, args, result, names)
        if made is not None:
            with_room(self.recorded)[whole] = made
            if sized is not None and outermost:
                if recipes is None:
                    with_room(self.recipes)[sized.key, beside] = []
                elif len(recipes) < RECIPES_KEPT:
                    recipes.insert(0, call_recipe(call, sized, args, uncached, made, names=names))
        return result

    @staticmethod
    def clear_all() -> None:
        """Drop the recorded calls and the recipes of every operation: what one would launch may have changed."""
        for cache in _CACHES:
            cache.recorded.clear()
            cache.recipes.clear()
            cache.repeated.clear()
        forget_choices()


_CACHES: WeakSet[CallCache] = WeakSet()


@overload
def cached_launches(operation: Callable[P, R]) -> Callable[P, R]: ...
@overload
def cached_launches(*, deferred: bool) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def cached_launches(operation: Callable[..., Any] | None = None, *, deferred: bool = False) -> Callable[..., Any]:
    """A decorator: an operation whose launches are recorded at the first call, and replayed by calls like it.

    Calls are alike whose tensors are on one device and have equal layouts and types, and whose other arguments are
    equal; what the operation allocates and launches must follow from these alone, not from elements. Its Python may run
    once more, without a device, to tell what it launches at other sizes (`call_recipe.py`). A call with
    arguments that are not static (`static_type`) is computed as if there were no decorator; and so is, inside a block
    such as `gpu.fused`, a call of an operation that is `deferred`, for it asks the block to take the call.

    >>> @cached_launches
    ... def doubled(x):
    ...     return x
    >>> doubled(3)
    3
    """
    if operation is None:
        return partial(_cached, deferred=deferred)
    return _cached(operation, deferred=deferred)


def _cached(operation: Callable[P, R], *, deferred: bool) -> Callable[P, R]:
    cache = CallCache()

    @wraps(operation)
    def call(*args: P.args, **named: P.kwargs) -> R:
        if deferred and Deferral.current() is not None:
            return operation(*args, **named)
        given: tuple[object, ...] = (*args, *named.values()) if named else args
        beside, count = tuple(named), len(args)
        # As `cache.call` begins: most calls were made before, and need nothing that it is told.
        read = cache.repeated.reader(given)
        if read is not None and (again := read(given, beside)) is not None:
            return cast(R, again)

        def uncached(*given: Any) -> R:
            return operation(*given[:count], **dict(zip(beside, given[count:], strict=True)))

        return cache.call(given, uncached, key=lambda: beside)

    return call
