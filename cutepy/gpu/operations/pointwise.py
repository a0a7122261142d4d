"""Elementwise operations: `pointwise("a + alpha * b")`, or a decorated function of one element of each operand.

Law: `result[i] == f(a[i], b[i], ...)` over shapes broadcast by NumPy's rule, for any layouts. A formula is the
composition of the functions of `ops`, and their types are those of `ops.rules`; for a Python function all operands meet
in one type before it is called, bool staying bool. f16 is computed in f32 and rounded once. Python numbers are launch
parameters, so a new value is no new kernel.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, update_wrapper
from math import prod
from typing import Any

import numpy as np

from ... import gpu
from ...errors import KernelError, shown
from ...layout import Layout, ceil_div, from_modes, leaves, size
from ...tensor import (
    DType,
    Scalars,
    Tensor,
    ViewEngine,
    bool_,
    broadcast_to,
    copy,
    f32,
    functions,
    gpu_dtype,
    least_strides,
    local_tile,
    mode_layouts,
    mode_sizes,
    rules,
    thread_value_partition,
    transform,
    with_layout,
)
from .. import CallCache, DeviceEngine, Dialect, Expr, KernelFunction
from .domain import THREADS, Tiling, TransposedTile, coordinate_of, staged_layout, tiling_of, vector_width, zipped
from .elements import Element, Operand, apply, in_one_type, read_formula, rounded, type_of
from .operand import ExecutionSite, place_of, target_of, tensor_of

TYPES_KEPT = 128
"""Types of results that one operation remembers, by the types of its operands."""
_RESULT = "result"
"""The name of what is written, in the text of every elementwise kernel."""


@gpu.static_type
@dataclass(frozen=True, slots=True)
class PointwisePlan:
    """How a call is launched: in `tiling` where the layouts share modes, else element by element in strides.

    `types` are those of the operands, in order: a parameter's own cannot tell a Python number from a NumPy scalar.
    """

    types: tuple[DType | rules.WeakNumber, ...]
    tiling: Tiling | None

    def __str__(self) -> str:
        return f"{self.tiling or 'element by element'}"


@dataclass(frozen=True, slots=True)
class BoundCall:
    """A call made ready: what the kernel gets, in order, its plan, and the result as the caller sees it."""

    arguments: tuple[Tensor | rules.Number | np.generic, ...]
    plan: PointwisePlan
    place: ExecutionSite
    result: Tensor


class Pointwise:
    """An elementwise operation on tensors, made of a function of one element of each; `pointwise` makes it."""

    #: What kernels that call it depend on.
    __kernel_parts__ = ("element", "names", "name", "formula")

    def __init__(
        self,
        element: Callable[..., Operand],
        names: tuple[str, ...],
        name: str,
        *,
        formula: str = "",
        of_table: bool = False,
    ) -> None:
        """`of_table` tells that it is made of functions of the table alone, which capture nothing that changes."""
        if _RESULT in names:
            raise KernelError(f"{name}: {_RESULT!r} is the name of what it gives; call the operand something else")
        self.element, self.names, self.name, self.formula = element, names, name, " ".join(formula.split())
        self.function: Callable[..., object] = element
        self.kernel = KernelFunction(self._body())
        self._results: dict[Hashable, DType] = {}
        self._cache = CallCache()
        self._captured: Callable[[], Hashable] = tuple if of_table else self.kernel.captures.captured

    def __repr__(self) -> str:
        return f"<pointwise {self.name}({', '.join(self.names)})>"

    def __call__(self, *operands: object, out: Tensor | None = None, engine: str = "wgpu", **named: object) -> Tensor:
        """The operation on tensors, arrays and numbers, in the order of its names or by name.

        The result is a new tensor, in the order of strides of the first operand that has its shape, or `out`.
        Raises KernelError for operands that do not broadcast, types that do not meet, and an `out` that does not fit.
        """
        values = (
            tuple(self._sorted(operands, named).values()) if named or len(operands) != len(self.names) else operands
        )
        return self._cache.call(
            (*values, out, engine),
            lambda: self._run(values, out, engine),
            key=self._captured,
            parameters=lambda: self._numbers(values),
        )

    def _run(self, operands: tuple[object, ...], out: Tensor | None, engine: str) -> Tensor:
        """A call that is not recorded yet, its operands in order."""
        call = self._bind(operands, {}, out, engine)
        if call.result.size:
            call.place.run(self.kernel, *call.arguments, plan=call.plan)
        return call.result

    def _numbers(self, operands: tuple[object, ...]) -> tuple[str, ...]:
        """The names of those that are launch parameters."""
        return tuple([name for name, x in zip(self.names, operands, strict=True) if type(x) in (float, np.float32)])

    def wgsl(self, *operands: object, out: Tensor | None = None, dialect: Dialect = "naga", **named: object) -> str:
        """The WGSL text for these operands."""
        held = any(isinstance(getattr(x, "engine", None), DeviceEngine) for x in (*operands, *named.values(), out))
        call = self._bind(operands, named, out, "wgpu" if held else "interpreter")
        return self.kernel.wgsl(*call.arguments, plan=call.plan, dialect=dialect)

    def _bind(
        self, operands: tuple[object, ...], named: Mapping[str, object], out: Tensor | None, engine: str
    ) -> BoundCall:
        # The operands by name: tensors, and numbers, which are launch parameters.
        values = self._sorted(operands, named)
        numbers = {k: v for k, v in values.items() if isinstance(v, bool | int | float | complex | np.generic)}
        tensors = {k: tensor_of(self.name, v) for k, v in values.items() if k not in numbers}
        place = place_of(self.name, engine, [*tensors.values(), *([out] if out is not None else [])])
        types = {k: tensors[k].dtype if k in tensors else type_of_number(numbers[k]) for k in self.names}
        # What the rules say of the result, and the tensor that takes it.
        dtype = self.result_type(types, numbers)
        shape = rules.broadcast_shape(self.name, *(mode_sizes(tensors[k]) if k in tensors else () for k in self.names))
        result = _new_result(place, shape, dtype, tensors.values()) if out is None else target_of(self.name, out)
        if mode_sizes(result) != shape:
            raise KernelError(f"{self.name}: out has the shape {mode_sizes(result)}, the operands give {shape}")
        if not np.can_cast(dtype.numpy, result.dtype.numpy, "same_kind"):
            raise KernelError(f"{self.name}: out holds {result.dtype}, the operands give {dtype}; convert with astype")
        _check_alias(self.name, tensors, result)
        plan = PointwisePlan(tuple(types.values()), None)
        if not result.size:
            return BoundCall((), plan, place, result)
        # The tensors over the modes that all of them share.
        stretched = {k: broadcast_to(place.bring(t), shape) for k, t in tensors.items()}
        walked, tiling = walk([*stretched.values(), result])
        ready: dict[str, Tensor | rules.Number | np.generic] = dict(zip(stretched, walked[:-1], strict=True))
        ready |= {k: launch_parameter(number, types.values()) for k, number in numbers.items()}
        arguments = (*(ready[name] for name in self.names), walked[-1])
        return BoundCall(arguments, PointwisePlan(plan.types, tiling), place, result)

    def _sorted(self, operands: tuple[object, ...], named: Mapping[str, object]) -> dict[str, object]:
        """The operands by name, in the order of the names. Raises KernelError unless each is given once."""
        given = dict(zip(self.names, operands, strict=False))
        twice = given.keys() & named.keys()
        if len(operands) > len(self.names) or twice or {*given, *named} != set(self.names):
            raise KernelError(
                f"{self!r} takes {', '.join(self.names)} once each; "
                f"given: {len(operands)} in order{''.join(f', {name}' for name in named)}"
            )
        return {name: given[name] if name in given else named[name] for name in self.names}

    def result_type(self, types: Mapping[str, DType | rules.WeakNumber], numbers: Mapping[str, Any]) -> DType:
        """The element type of what the function gives for elements of these types and these numbers.

        Raises TensorError as the rules do, also for a whole number beyond the type that it meets.
        """
        operands = [
            numbers[name] if isinstance(dtype, rules.WeakNumber) and dtype.kind != "f" else dtype
            for name, dtype in types.items()
        ]
        key = *operands, *map(type, operands)
        found = self._results.get(key)
        if found is None:
            # A number's value is not known in the kernel: it is a value of f32, and the rules know its kind.
            types_met = [operand.accumulator if isinstance(operand, DType) else f32 for operand in operands]
            given = gpu.abstract_eval(lambda *values: self.element(*map(Element, values, operands)), *types_met)
            found = gpu_dtype(rules.result_type(self.name, type_of(given)))
            if len(self._results) >= TYPES_KEPT:
                self._results.clear()
            self._results[key] = found
        return found

    def of_elements(self, values: Iterable[Scalars], types: tuple[DType | rules.WeakNumber, ...], dtype: DType) -> Expr:
        """What the function gives, in a kernel, for one element of each operand, as an element of `dtype`."""
        found = self.element(*map(_element, values, types))
        if not isinstance(found, Element):
            return gpu.constant(rounded(found, dtype), dtype)
        return gpu.cast(found.value, dtype)

    def _body(self) -> Callable[..., None]:
        """The function that is traced, with a parameter for each operand, by its name, for the result, and `plan`."""
        names, formula = self.names, self.formula

        def body(*values: Tensor | Expr, plan: PointwisePlan) -> None:
            *operands, result = values
            if formula:
                gpu.note(formula=formula)
            tensors = [v for v in operands if isinstance(v, Tensor)]

            def element(*of_tensors: Expr) -> Expr:
                left = iter(of_tensors)
                given = (next(left) if isinstance(v, Tensor) else v for v in operands)
                return self.of_elements(given, plan.types, result.dtype)

            assert isinstance(result, Tensor)
            each_element(tensors, result, element, plan.tiling)

        # The kernel's parameters are told by a signature: their names are known only now.
        keep = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter(name, keep[0], annotation="(...)") for name in (*names, _RESULT)]
        vars(body)["__signature__"] = inspect.Signature([*parameters, inspect.Parameter("plan", keep[1])])
        body.__name__ = self.name
        return body


def pointwise(what: str | Callable[..., Scalars]) -> Pointwise:
    """An elementwise operation from a formula, or from a function of one element of each operand.

    >>> axpy = pointwise("a + alpha * b")
    >>> axpy(np.float32([[1, 2], [3, 4]]), 10.0, np.float32([1, 2]), engine="interpreter").numpy().tolist()
    [[11.0, 22.0], [13.0, 24.0]]
    >>> @pointwise
    ... def relu(x):
    ...     return gpu.select(x > 0, x, 0)
    >>> relu(np.int32([-1, 5]), engine="interpreter").numpy().tolist()
    [0, 5]

    Raises KernelError, with a caret under the place, for a text that is no formula.
    """
    if isinstance(what, str):
        return _of_formula(what)
    if not inspect.isfunction(what):
        raise KernelError(f"pointwise({shown(what)}): give a formula as a text, or a function of elements")
    parameters = inspect.signature(what).parameters.values()
    if any(p.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for p in parameters):
        raise KernelError(f"pointwise({what.__name__}): give each operand a parameter; * and ** have no names")
    made = Pointwise(in_one_type(what.__name__, what), tuple(p.name for p in parameters), what.__name__)
    made.function = what
    update_wrapper(made, what)
    return made


@lru_cache(maxsize=256)
def _of_formula(text: str) -> Pointwise:
    """One operation, with its traced kernels, for all calls with one formula."""
    names, function = read_formula(text)
    return Pointwise(function, names, "pointwise", formula=text, of_table=True)


@lru_cache(maxsize=256)
def of_function(function: functions.Function) -> Pointwise:
    """One operation for all calls with one function of the table of `ops`."""
    names = tuple("abc"[: function.arity])
    return Pointwise(lambda *elements: apply(function, *elements), names, function.name, of_table=True)


def converted(x: Tensor, dtype: DType, *, engine: str) -> Tensor:
    """`x` in another element type; itself where it has that."""
    return x if x.dtype is dtype else pointwise(f"{dtype}(x)")(x, engine=engine)


def walk(tensors: list[Tensor]) -> tuple[list[Tensor], Tiling | None]:
    """Tensors of one shape, the last of which is written, over the modes that they share, and how to tile those.

    Where they share none, or one is swizzled, the tensors themselves and None.
    """
    layouts = None
    if all(type(t.layout) is Layout for t in tensors):
        layouts = _domain(tuple([tuple(mode_layouts(t)) for t in tensors]))
    if layouts is None:
        return tensors, None
    flat = [with_layout(t, layout) for t, layout in zip(tensors, layouts, strict=True)]
    return flat, _tiling(layouts, vector_width(flat))


@lru_cache(maxsize=512)
def _domain(modes: tuple[tuple[Layout, ...], ...]) -> tuple[Layout, ...] | None:
    """One flat layout for the modes of each operand, where they share factors."""
    layouts = zipped(modes)
    if layouts is None:
        return None
    # Domains have one mode or three, or five: each rank is a text of its own.
    more = len(leaves(layouts[0].shape)) // 2 * 2 + 1 - len(leaves(layouts[0].shape))
    if more:
        layouts = [from_modes([*leaves(l.shape), *[1] * more], [*leaves(l.stride), *[0] * more]) for l in layouts]
    return tuple(layouts)


@lru_cache(maxsize=512)
def _tiling(domain: tuple[Layout, ...], width: int) -> Tiling | None:
    return tiling_of(domain, width=width)


def each_element(tensors: list[Tensor], result: Tensor, element: Callable[..., Expr], tiling: Tiling | None) -> None:
    """The body of a kernel: `result[i] = element(*[t[i] for t in tensors])`, by tiles, or element by element."""
    extents = leaves(result.shape)
    # Counted through all modes: neighbouring threads take neighbouring coordinates, four each.
    if tiling is None:
        gpu.launch(grid=ceil_div(size(result), 4 * THREADS), threads=THREADS)
        alike = all(t.rank == len(leaves(t.shape)) == len(extents) for t in (*tensors, result))
        for turn in range(4):
            i = gpu.workgroup.x * (4 * THREADS) + turn * THREADS + gpu.thread
            with gpu.when(i < size(result)):
                at = coordinate_of(i, extents) if alike and len(extents) > 1 else i
                result[at] = element(*[t[at] for t in tensors])
        return
    tiles = [ceil_div(extent, side) for extent, side in zip(extents, tiling.tile, strict=True)]
    gpu.launch(grid=prod(tiles), threads=tiling.threads)
    here = coordinate_of(gpu.workgroup.x, tiles)
    parts = [local_tile(t, tiling.tile, here) for t in (*tensors, result)]
    if tiling.transposed is not None:
        parts = staged(parts, tiling.transposed, tiling.crossing)
    transform(*(thread_value_partition(part, tiling.owned) for part in parts), op=element)


def staged(tiles: list[Tensor], transposed: TransposedTile, crossing: Sequence[int]) -> list[Tensor]:
    """The tiles, those of these numbers as copies in shared memory."""
    found = list(tiles)
    for number in crossing:
        tile = tiles[number]
        found[number] = gpu.shared(tile.dtype, staged_layout(transposed))
        copy(thread_value_partition(tile, transposed.read), thread_value_partition(found[number], transposed.read))
    gpu.barrier()
    return found


def _new_result(place: ExecutionSite, shape: rules.Shape, dtype: DType, operands: Iterable[Tensor]) -> Tensor:
    """A new tensor for the result, its axes in memory in the order of the first operand that has its shape."""
    whole = next((t for t in operands if mode_sizes(t) == shape), None)
    if whole is None:
        return place.new(shape, dtype)
    steps = least_strides(whole)
    return place.new(shape, dtype, sorted(range(len(steps)), key=lambda axis: (steps[axis], -axis)))


def type_of_number(number: rules.Number | np.generic) -> DType | rules.WeakNumber:
    """What the rules know of a number: a NumPy scalar's type, or the kind of a Python number."""
    return gpu_dtype(number.dtype) if isinstance(number, np.generic) else rules.WeakNumber(rules.weak_kind(number))


def _element(value: Scalars, dtype: DType | rules.WeakNumber) -> Element:
    """An operand of the kernel as an element: f16 in f32, bool as it is, a number in the type of its parameter."""
    assert isinstance(value, Expr)
    working = bool_ if dtype.kind == "b" else value.dtype if isinstance(dtype, rules.WeakNumber) else dtype.accumulator
    return Element(gpu.cast(value, working), dtype)


def launch_parameter(
    number: rules.Number | np.generic, types: Iterable[DType | rules.WeakNumber]
) -> rules.Number | np.generic:
    """A number as a launch parameter that holds it exactly: a float where one of the operands' `types` is."""
    as_float = any(isinstance(dtype, DType) and dtype.kind == "f" for dtype in types)
    value = number.item() if isinstance(number, np.generic) else number
    # An integer beyond 2**24 is no f32, and one beyond 32 bits is no whole number of a kernel.
    if not isinstance(value, int) or not -(1 << 31) <= value < 1 << 32 or (as_float and abs(value) <= 1 << 24):
        return rounded(value, f32)
    return np.uint32(value) if value >= 1 << 31 else np.int32(value)


def _check_alias(call: str, operands: Mapping[str, Tensor], result: Tensor) -> None:
    """A result may be an operand, element for element; other overlaps would be read after they are written."""
    for name, tensor in operands.items():
        same = tensor.layout == result.layout and tensor.offset == result.offset
        if not same and shares_memory(tensor, result):
            raise KernelError(f"{call}: out overlaps {name} in another layout; give a tensor of its own")


def shares_memory(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors may have elements in common; tensors of one device buffer count as such."""
    # A device's buffers are compared as wholes: which elements share memory there is not asked.
    first, second = one.engine, other.engine
    if isinstance(first, DeviceEngine) or isinstance(second, DeviceEngine):
        return getattr(first, "buffer", None) is getattr(second, "buffer", 0)
    if not isinstance(first, ViewEngine) or not isinstance(second, ViewEngine):
        return False
    return np.shares_memory(first.memory, second.memory)
