"""Elementwise operations: `pointwise("a + alpha * b")`, or a decorated function of one element of each operand.

Law: `result[i] == f(a[i], b[i], ...)` over shapes broadcast by NumPy's rule, for any layouts. Tensors of numbers meet
in one type (`common_type`), f16 being computed in f32, and bool tensors stay bool; Python numbers are launch
parameters, so a new value is no new kernel. The result is rounded once, to f16 where that was the common type.
"""
# mypy: disable-error-code="arg-type, index"
# In a kernel, coordinates and bounds are expressions where the layout layer is typed for numbers.

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, update_wrapper
from typing import cast

import numpy as np

from ...errors import KernelError
from ...layout import size
from ...layout.int_tuple import leaves
from ...tensor.algorithms import transform
from ...tensor.dtypes import DType, bool_, f16, f32
from ...tensor.engine import Scalars, ViewEngine
from ...tensor.partition import local_tile, thread_value_partition
from ...tensor.tensor import Tensor
from ..array import DeviceEngine
from ..ir import Expr, new_arena, var
from ..trace import functions
from ..trace import language as gpu
from ..trace.kernel import KernelFunction
from ..wgsl import Dialect
from .domain import Tiling, tiling_of, zipped
from .formula import read_formula
from .operand import Place, broadcast, broadcast_shape, common_type, modes_of, over, place_of, sizes_of, tensor_of

THREADS = 256
_RESULT = "result"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a call is launched: in `tiling` where the layouts share modes, else element by element in strides.

    `common` is the type in which the operands meet.
    """

    common: DType
    tiling: Tiling | None

    def __str__(self) -> str:
        return f"in {self.common.accumulator}, {self.tiling or 'element by element'}"


@dataclass(frozen=True, slots=True)
class Bound:
    """A call made ready: what the kernel gets, in order, its plan, and the result as the caller sees it."""

    arguments: tuple[Tensor | float, ...]
    plan: Plan
    place: Place
    result: Tensor


class Pointwise:
    """An elementwise operation on tensors; `pointwise` makes it."""

    def __init__(self, function: Callable[..., Scalars], names: tuple[str, ...], name: str, formula: str = "") -> None:
        if _RESULT in names:
            raise KernelError(f"{name}: {_RESULT!r} is the name of what it gives; call the operand something else")
        self.function, self.names, self.name, self.formula = function, names, name, " ".join(formula.split())
        self.kernel = KernelFunction(self._body(function))

    def __repr__(self) -> str:
        return f"<pointwise {self.name}({', '.join(self.names)})>"

    def __call__(self, *operands: object, out: Tensor | None = None, engine: str = "wgpu", **named: object) -> Tensor:
        """The operation on tensors, arrays and numbers, in the order of its names or by name; at least one is a tensor.

        The result is a new tensor, in the order of strides of the first operand that has its shape, or `out`.
        Raises KernelError for operands that do not broadcast, types that do not meet, and an `out` that does not fit.
        """
        call = self._bind(operands, named, out, engine)
        if call.result.size:
            call.place.run(self.kernel, *call.arguments, plan=call.plan)
        return call.result

    def wgsl(self, *operands: object, out: Tensor | None = None, dialect: Dialect = "naga", **named: object) -> str:
        """The WGSL text for these operands."""
        held = any(isinstance(getattr(x, "engine", None), DeviceEngine) for x in (*operands, *named.values(), out))
        call = self._bind(operands, named, out, "wgpu" if held else "numpy")
        return self.kernel.wgsl(*call.arguments, plan=call.plan, dialect=dialect)

    def _bind(
        self, operands: tuple[object, ...], named: Mapping[str, object], out: Tensor | None, engine: str
    ) -> Bound:
        values = self._sorted(operands, named)
        numbers = {k: v for k, v in values.items() if isinstance(v, bool | int | float | np.generic)}
        tensors = {k: tensor_of(self.name, v) for k, v in values.items() if k not in numbers}
        if not tensors:
            raise KernelError(f"{self.name}: of {', '.join(self.names)}, none is a tensor; give at least one")
        place = place_of(self.name, engine, [*tensors.values(), *([out] if out is not None else [])])
        shape = broadcast_shape(self.name, [sizes_of(t) for t in tensors.values()])
        common = common_type(self.name, [t.dtype for t in tensors.values()], numbers.values())
        result = self._result(place, shape, common, tensors, numbers) if out is None else tensor_of(self.name, out)
        if sizes_of(result) != shape:
            raise KernelError(f"{self.name}: out has the shape {sizes_of(result)}, the operands give {shape}")
        _check_alias(self.name, tensors, result)
        if not result.size:
            return Bound((), Plan(common, None), place, result)
        stretched = {k: broadcast(place.bring(t), shape) for k, t in tensors.items()}
        walked, tiling = walk([*stretched.values(), result])
        ready: dict[str, Tensor | float] = dict(zip(stretched, walked[:-1], strict=True))
        ready |= {k: _number(v, common) for k, v in numbers.items()}
        return Bound((*(ready[name] for name in self.names), walked[-1]), Plan(common, tiling), place, result)

    def _sorted(self, operands: tuple[object, ...], named: Mapping[str, object]) -> dict[str, object]:
        given = dict(zip(self.names, operands, strict=False))
        twice = given.keys() & named.keys()
        if len(operands) > len(self.names) or twice or {*given, *named} != set(self.names):
            raise KernelError(
                f"{self!r} takes {', '.join(self.names)} once each; "
                f"given: {len(operands)} in order{''.join(f', {name}' for name in named)}"
            )
        return {name: given[name] if name in given else named[name] for name in self.names}

    def _result(
        self,
        place: Place,
        shape: tuple[int, ...],
        common: DType,
        tensors: Mapping[str, Tensor],
        numbers: Mapping[str, object],
    ) -> Tensor:
        """A new tensor for the result: its type is what the function gives for elements of these types."""
        with new_arena():
            elements = [var(n, _met(tensors[n].dtype if n in tensors else f32, common)) for n in self.names]
            given = self.function(*elements)
        found = given.dtype if isinstance(given, Expr) else common
        whole = next((t for t in tensors.values() if sizes_of(t) == shape), None)
        order = None if whole is None else _axes_by_stride(whole)
        return place.zeros(shape, common if found is f32 and common is f16 else found, order)

    def _body(self, function: Callable[..., Scalars]) -> Callable[..., None]:
        """The function that is traced: its parameters are called as the operands are."""
        names, formula = self.names, self.formula

        def body(*values: Tensor | Expr, plan: Plan) -> None:
            *operands, result = values
            if formula:
                gpu.note(formula=formula)
            tensors = [v for v in operands if isinstance(v, Tensor)]
            numbers = [None if isinstance(v, Tensor) else functions.cast(v, plan.common.accumulator) for v in operands]

            def element(*of_tensors: Scalars) -> Scalars:
                left = iter(of_tensors)
                return function(*[_cast(next(left), plan.common) if n is None else n for n in numbers])

            each_element(tensors, result, element, plan.tiling)

        keep = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter(name, keep[0]) for name in (*names, _RESULT)]
        body.__signature__ = inspect.Signature([*parameters, inspect.Parameter("plan", keep[1])])  # type: ignore[attr-defined]
        body.__name__ = self.name
        return body


def pointwise(what: str | Callable[..., Scalars]) -> Pointwise:
    """An elementwise operation from a formula, or from a function of one element of each operand.

    >>> axpy = pointwise("a + alpha * b")
    >>> axpy(np.float32([[1, 2], [3, 4]]), 10.0, np.float32([1, 2]), engine="numpy").numpy().tolist()
    [[11.0, 22.0], [13.0, 24.0]]
    >>> @pointwise
    ... def relu(x):
    ...     return functions.select(x > 0, x, 0)
    >>> relu(np.int32([-1, 5]), engine="numpy").numpy().tolist()
    [0, 5]

    Raises KernelError, with a caret under the place, for a text that is no formula.
    """
    if isinstance(what, str):
        return _of_formula(what)
    parameters = inspect.signature(what).parameters.values()
    if any(p.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for p in parameters):
        raise KernelError(f"pointwise({what.__name__}): give each operand a parameter; * and ** have no names")
    made = Pointwise(what, tuple(p.name for p in parameters), what.__name__)
    update_wrapper(made, what)
    return made


@lru_cache(maxsize=256)
def _of_formula(text: str) -> Pointwise:
    """One operation, with its traced kernels, for all calls with one formula."""
    names, function = read_formula(text)
    return Pointwise(function, names, "pointwise", text)


def walk(tensors: list[Tensor]) -> tuple[list[Tensor], Tiling | None]:
    """Tensors of one shape, the last of which is written, over the modes that they share, and how to tile those.

    Where they share none, or one is swizzled, the tensors themselves and None.
    """
    layouts = None
    if all(type(t.layout).__name__ == "Layout" for t in tensors):
        layouts = zipped([modes_of(t) for t in tensors])
    if layouts is None:
        return tensors, None
    return [over(t, layout) for t, layout in zip(tensors, layouts, strict=True)], tiling_of(layouts)


def each_element(tensors: list[Tensor], result: Tensor, element: Callable[..., Scalars], tiling: Tiling | None) -> None:
    """The body of a kernel: `result[i] = element(*[t[i] for t in tensors])`."""
    if tiling is None:
        step = 4 * THREADS
        groups = min(-(-size(result) // step), 4096)
        gpu.launch(grid=groups, threads=THREADS)
        for i in gpu.loop(size(result), start=gpu.workgroup.x * THREADS + gpu.thread(), step=groups * THREADS):
            result[i] = element(*[t[i] for t in tensors])
        return
    gpu.launch(grid=tiling.groups(result.shape), threads=tiling.threads)
    parts = [
        thread_value_partition(local_tile(t, tiling.tile, gpu.workgroup.x), tiling.owned) for t in (*tensors, result)
    ]
    transform(*parts, op=element)


def _axes_by_stride(tensor: Tensor) -> list[int]:
    steps = [min(map(abs, leaves(mode.stride)), default=0) for mode in modes_of(tensor)]
    return sorted(range(len(steps)), key=lambda axis: (steps[axis], -axis))


def _met(dtype: DType, common: DType) -> DType:
    """The type in which an element of `dtype` takes part."""
    return bool_ if dtype is bool_ else common.accumulator


def _cast(value: Scalars, common: DType) -> Scalars:
    assert isinstance(value, Expr)
    return functions.cast(value, _met(value.dtype, common))


def _number(value: bool | float | np.generic, common: DType) -> float:
    """A number as a launch parameter of the common type."""
    number = value.item() if isinstance(value, np.generic) else value
    return float(number) if common.kind == "f" else int(number)


def _check_alias(call: str, operands: Mapping[str, Tensor], result: Tensor) -> None:
    """A result may be an operand, element for element; other overlaps would be read after they are written."""
    for name, tensor in operands.items():
        same = tensor.layout == result.layout and tensor.offset == result.offset
        if not same and shares_memory(tensor, result):
            raise KernelError(f"{call}: out overlaps {name} in another layout; give a tensor of its own")


def shares_memory(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors may have elements in common; tensors of one device buffer count as such."""
    first, second = one.engine, other.engine
    if isinstance(first, DeviceEngine) or isinstance(second, DeviceEngine):
        return getattr(first, "buffer", None) is getattr(second, "buffer", 0)
    return np.shares_memory(cast(ViewEngine, first).memory, cast(ViewEngine, second).memory)
