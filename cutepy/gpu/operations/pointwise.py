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
from typing import Any, overload

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
    make_fragment_like,
    mode_layouts,
    mode_sizes,
    rules,
    thread_value_partition,
    transform,
    with_layout,
)
from .. import CallCache, Deferral, DeviceEngine, Dialect, Expr, KernelFunction
from .domain import (
    THREADS,
    VECTOR,
    Tiling,
    TransposedTile,
    coordinate_of,
    staged_layout,
    tiling_of,
    vector_width,
    zipped,
)
from .elements import Element, Operand, apply, in_one_type, read_formula, rounded, type_of, value_as
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
    """A call made ready: what the kernel gets, in order, its plan, and the results as the caller sees them."""

    arguments: tuple[Tensor | rules.Number | np.generic | tuple[Tensor, ...], ...]
    plan: PointwisePlan
    place: ExecutionSite
    results: tuple[Tensor, ...]


class ElementFunction:
    """A function of one element of each operand, which gives one element or `count`, as a kernel over tensors."""

    #: What kernels that call it depend on.
    __kernel_parts__ = ("element", "names", "name", "formula", "count")

    def __init__(
        self,
        element: Callable[..., Any],
        names: tuple[str, ...],
        name: str,
        *,
        formula: str = "",
        of_table: bool = False,
        count: int = 1,
    ) -> None:
        """`of_table` tells that it is made of functions of the table alone, which capture nothing that changes."""
        for taken, meaning in ((_RESULT, "what it gives"), ("plan", "how threads share it out")):
            if taken in names:
                raise KernelError(f"{name}: {taken!r} is the name of {meaning}; call the operand something else")
        self.element, self.names, self.name, self.formula = element, names, name, " ".join(formula.split())
        self.function: Callable[..., object] = element
        self.of_table, self.count = of_table, count
        self.kernel = KernelFunction(self._body())
        self._results: dict[Hashable, tuple[DType, ...]] = {}
        self._cache = CallCache()
        self.captured: Callable[[], Hashable] = tuple if of_table else self.kernel.captures.captured

    def __repr__(self) -> str:
        return f"<pointwise {self.name}({', '.join(self.names)})>"

    def _called(self, operands: tuple[object, ...], outs: tuple[Tensor, ...], engine: str) -> Tensor | None:
        """A call, its operands in order, recorded or to be recorded: into `outs`, or of one result a new tensor."""
        return self._cache.call(
            (*operands, *outs, engine),
            lambda *given: self._run(given[: len(operands)], given[len(operands) : -1], engine),
            key=self.captured,
            parameters=lambda: self._numbers(operands),
        )

    def _run(self, operands: tuple[object, ...], outs: tuple[Tensor, ...], engine: str) -> Tensor | None:
        """A call that is not recorded yet, its operands in order."""
        call = self._bind(operands, {}, outs, engine)
        if call.results[0].size:
            call.place.run(self.kernel, *call.arguments, plan=call.plan)
        return call.results[0] if self.count == 1 else None

    def _numbers(self, operands: tuple[object, ...]) -> tuple[str, ...]:
        """The names of those that are launch parameters."""
        return tuple([name for name, x in zip(self.names, operands, strict=True) if type(x) in (float, np.float32)])

    def wgsl(self, *operands: object, out: Tensor | None = None, dialect: Dialect = "naga", **named: object) -> str:
        """The WGSL text for these operands."""
        held = any(isinstance(getattr(x, "engine", None), DeviceEngine) for x in (*operands, *named.values(), out))
        call = self._bind(operands, named, () if out is None else (out,), "wgpu" if held else "interpreter")
        return self.kernel.wgsl(*call.arguments, plan=call.plan, dialect=dialect)

    def _bind(
        self, operands: tuple[object, ...], named: Mapping[str, object], outs: tuple[Tensor, ...], engine: str
    ) -> BoundCall:
        # The operands by name: tensors, and numbers, which are launch parameters.
        values = self._sorted(operands, named)
        numbers = {k: v for k, v in values.items() if isinstance(v, bool | int | float | complex | np.generic)}
        tensors = {k: tensor_of(self.name, v) for k, v in values.items() if k not in numbers}
        place = place_of(self.name, engine, [*tensors.values(), *outs])
        types = {k: tensors[k].dtype if k in tensors else type_of_number(numbers[k]) for k in self.names}
        # What the rules say of the results, and the tensors that take them.
        dtypes = self.result_types(types, numbers)
        shape = rules.broadcast_shape(self.name, *(mode_sizes(tensors[k]) if k in tensors else () for k in self.names))
        results = tuple(
            [target_of(self.name, out) for out in outs]
            or [place.new(shape, dtype, result_order(shape, tensors.values())) for dtype in dtypes]
        )
        for dtype, result in zip(dtypes, results, strict=True):
            if mode_sizes(result) != shape:
                raise KernelError(f"{self.name}: out has the shape {mode_sizes(result)}, the operands give {shape}")
            if not np.can_cast(dtype.numpy, result.dtype.numpy, "same_kind"):
                raise KernelError(
                    f"{self.name}: out holds {result.dtype}, the operands give {dtype}; convert with astype"
                )
            _check_alias(self.name, tensors, result)
        if any(shares_memory(a, b) for i, a in enumerate(results) for b in results[:i]):
            raise KernelError(f"{self.name}: two of its results share memory; give each a tensor of its own")
        plan = PointwisePlan(tuple(types.values()), None)
        if not results[0].size:
            return BoundCall((), plan, place, results)
        # The tensors over the modes that all of them share; results that lie in several orders, element by element.
        stretched = {k: broadcast_to(place.bring(t), shape) for k, t in tensors.items()}
        walked, tiling = walk([*stretched.values(), *results])
        targets = tuple(walked[len(stretched) :])
        tiling = of_a_run(place, walked, tiling)
        if any(target.layout != targets[0].layout for target in targets):
            tiling = None
        ready: dict[str, Tensor | rules.Number | np.generic] = dict(zip(stretched, walked, strict=False))
        ready |= {k: launch_parameter(number, types.values()) for k, number in numbers.items()}
        arguments = (*(ready[name] for name in self.names), targets[0] if self.count == 1 else targets)
        return BoundCall(arguments, PointwisePlan(plan.types, tiling), place, results)

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
        return self.result_types(types, numbers)[0]

    def result_types(
        self, types: Mapping[str, DType | rules.WeakNumber], numbers: Mapping[str, Any]
    ) -> tuple[DType, ...]:
        """The element types of all that it gives."""
        operands = [
            numbers[name] if isinstance(dtype, rules.WeakNumber) and dtype.kind != "f" else dtype
            for name, dtype in types.items()
        ]
        key = *operands, *map(type, operands)
        found = self._results.get(key)
        if found is None:
            # A number's value is not known in the kernel: it is a value of f32, and the rules know its kind.
            types_met = [operand.accumulator if isinstance(operand, DType) else f32 for operand in operands]
            given = gpu.abstract_eval(lambda *values: self._elements(map(Element, values, operands)), *types_met)
            found = tuple([gpu_dtype(rules.result_type(self.name, type_of(one))) for one in given])
            if len(self._results) >= TYPES_KEPT:
                self._results.clear()
            self._results[key] = found
        return found

    def _elements(self, operands: Iterable[Element]) -> tuple[Operand, ...]:
        """All that the function gives for these elements."""
        found = self.element(*operands)
        return (found,) if self.count == 1 else tuple(found)

    def of_elements(self, values: Iterable[Scalars], types: tuple[DType | rules.WeakNumber, ...], dtype: DType) -> Expr:
        """What the function gives, in a kernel, for one element of each operand, as an element of `dtype`."""
        return self._all_of_elements(values, types, (dtype,))[0]

    def _all_of_elements(
        self, values: Iterable[Scalars], types: tuple[DType | rules.WeakNumber, ...], dtypes: Iterable[DType]
    ) -> tuple[Expr, ...]:
        found = self._elements(map(_element, values, types))
        return tuple([value_as(one, dtype) for one, dtype in zip(found, dtypes, strict=True)])

    def _body(self) -> Callable[..., None]:
        """The function that is traced, with a parameter for each operand, by its name, for the result, and `plan`."""
        names, formula = self.names, self.formula

        def body(*values: Any, plan: PointwisePlan) -> None:
            *operands, result = values
            results = result if isinstance(result, tuple) else (result,)
            dtypes = [target.dtype for target in results]
            if formula:
                gpu.note(formula=formula)
            tensors = [v for v in operands if isinstance(v, Tensor)]

            def elements(*of_tensors: Expr) -> tuple[Expr, ...]:
                left = iter(of_tensors)
                given = (next(left) if isinstance(v, Tensor) else v for v in operands)
                return self._all_of_elements(given, plan.types, dtypes)

            each_element(tensors, results, elements, plan.tiling)

        # The kernel's parameters are told by a signature: their names are known only now.
        keep = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter(name, keep[0], annotation="(...)") for name in (*names, _RESULT)]
        vars(body)["__signature__"] = inspect.Signature([*parameters, inspect.Parameter("plan", keep[1])])
        body.__name__ = self.name
        return body


class Pointwise(ElementFunction):
    """An elementwise operation on tensors, made of a function of one element of each; `pointwise` makes it.

    >>> axpy = pointwise("a + alpha * b")
    >>> x = np.float32([1, 2])
    >>> axpy(x, 10.0, x, engine="interpreter").numpy().tolist()
    [11.0, 22.0]
    >>> "alpha" in axpy.wgsl(x, 10.0, x)
    True

    >>> from cutepy import gpu
    >>> from cutepy.tensor import f32, i32
    >>> types = {"a": i32, "alpha": f32, "b": f32}
    >>> str(axpy.result_type(types, {})), [str(dtype) for dtype in axpy.result_types(types, {})]
    ('f32', ['f32'])
    >>> @gpu.kernel
    ... def doubled(y):
    ...     gpu.launch(threads=2)
    ...     own, one = y[gpu.thread], gpu.constant(1.0, "f32")
    ...     y[gpu.thread] = axpy.of_elements([own, one, own], (f32, f32, f32), f32)
    >>> doubled.interpret(x); x.tolist()
    [2.0, 4.0]
    """

    def __call__(self, *operands: object, out: Tensor | None = None, engine: str = "wgpu", **named: object) -> Tensor:
        """The operation on tensors, arrays and numbers, in the order of its names or by name.

        The result is a new tensor, in the order of strides of the first operand that has its shape, or `out`.
        Raises KernelError for operands that do not broadcast, types that do not meet, and an `out` that does not fit.
        """
        values = (
            tuple(self._sorted(operands, named).values()) if named or len(operands) != len(self.names) else operands
        )
        if out is None and engine == "wgpu" and (block := Deferral.current()) is not None:
            taken = block.take(self, *values)
            if taken is not None:
                return taken
        found = self._called(values, () if out is None else (out,), engine)
        assert found is not None, "one result"
        return found


class PointwiseTuple(ElementFunction):
    """An elementwise operation with several results, made by `pointwise(function, results=n)`."""

    def __call__(
        self, *operands: object, out: tuple[Tensor, ...] | None = None, engine: str = "wgpu", **named: object
    ) -> tuple[Tensor, ...]:
        """As a `Pointwise`, with a tensor for each result, from one launch."""
        values = tuple(self._sorted(operands, named).values())
        if out is not None and len(out) != self.count:
            raise KernelError(f"{self!r} gives {self.count} results; out has {len(out)} tensors")
        outs = self._bind(values, {}, (), engine).results if out is None else tuple(out)
        self._called(values, outs, engine)
        return outs


@overload
def pointwise(what: str | Callable[..., Scalars]) -> Pointwise: ...
@overload
def pointwise(what: Callable[..., tuple[Scalars, ...]], *, results: int) -> PointwiseTuple: ...
def pointwise(
    what: str | Callable[..., Scalars | tuple[Scalars, ...]], *, results: int = 0
) -> Pointwise | PointwiseTuple:
    """An elementwise operation from a formula, or from a function of one element of each operand.

    >>> axpy = pointwise("a + alpha * b")
    >>> axpy(np.float32([[1, 2], [3, 4]]), 10.0, np.float32([1, 2]), engine="interpreter").numpy().tolist()
    [[11.0, 22.0], [13.0, 24.0]]
    >>> @pointwise
    ... def relu(x):
    ...     return gpu.select(x > 0, x, 0)
    >>> relu(np.int32([-1, 5]), engine="interpreter").numpy().tolist()
    [0, 5]

    With `results`, the function gives a tuple of so many elements, and a call so many tensors from one launch:

    >>> wave = pointwise(lambda x, y: (x + y, x - y), results=2)
    >>> [t.numpy().tolist() for t in wave(np.float32([3, 4]), 1.0, engine="interpreter")]
    [[4.0, 5.0], [2.0, 3.0]]

    Raises KernelError, with a caret under the place, for a text that is no formula, for an operand that is named
    `result` or `plan`, and for `results` of 1.
    """
    if isinstance(what, str):
        if results:
            raise KernelError(f"pointwise({what!r}, results={results}): a formula gives one element; pass a function")
        return _of_formula(what)
    if not inspect.isfunction(what):
        raise KernelError(f"pointwise({shown(what)}): give a formula as a text, or a function of elements")
    if results < 0 or results == 1:
        raise KernelError(
            f"pointwise({what.__name__}, results={results}): 2 and more are a tuple; leave it out for one"
        )
    parameters = inspect.signature(what).parameters.values()
    if any(p.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for p in parameters):
        raise KernelError(f"pointwise({what.__name__}): give each operand a parameter; * and ** have no names")
    names = tuple(p.name for p in parameters)
    made: Pointwise | PointwiseTuple = (
        PointwiseTuple(in_one_type(what.__name__, what, results), names, what.__name__, count=results)
        if results
        else Pointwise(in_one_type(what.__name__, what), names, what.__name__)
    )
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
    plain = all(type(t.layout) is Layout for t in tensors)
    layouts = zipped([mode_layouts(t) for t in tensors]) if plain else None
    if layouts is None:
        return tensors, None
    # Domains have one mode or three, or five: each rank is a text of its own.
    more = len(leaves(layouts[0].shape)) // 2 * 2 + 1 - len(leaves(layouts[0].shape))
    if more:
        layouts = [from_modes([*leaves(l.shape), *[1] * more], [*leaves(l.stride), *[0] * more]) for l in layouts]
    flat = [with_layout(t, layout) for t, layout in zip(tensors, layouts, strict=True)]
    return flat, tiling_of(layouts, width=vector_width(flat))


LONG_RUN, WIDE_TILE = 1 << 24, (8192, 1024)
"""Elements of a walk over one run of memory from which its tile has so many elements and so many threads: a copy has
4,231 GB/s of 1 GiB on an H200, and 3,998 by the tiles of other walks."""


def of_a_run(place: ExecutionSite, tensors: Sequence[Tensor], tiling: Tiling | None) -> Tiling | None:
    """The tiling of a walk over these tensors: a wide one where they are one long run of memory each."""
    last = tensors[-1]
    if last.size < LONG_RUN or len(leaves(last.shape)) > 1 or place.most_threads < WIDE_TILE[1] or tiling is None:
        return tiling
    return tiling_of([mode_layouts(t)[0] for t in tensors], elements=WIDE_TILE[0], threads=WIDE_TILE[1])


def in_whole_vectors(tensors: list[Tensor], tiling: Tiling | None) -> list[tuple[list[Tensor], Tiling | None]]:
    """The walks that go over these tensors: where they are one long run of memory each, whose length no vector divides,
    one over whole vectors and one over the rest.

    >>> from cutepy.tensor import CountingEngine, f32
    >>> run = Tensor(CountingEngine(f32), Layout(LONG_RUN + 3))
    >>> [(pair[0].size, pair[0].offset) for pair, _ in in_whole_vectors([run, run], None)]
    [(16777216, 0), (3, 16777216)]
    """
    count = tensors[-1].size
    rest = count % VECTOR
    run = all(isinstance(t.layout, Layout) and leaves(t.layout.stride) == (1,) for t in tensors)
    if count < max(LONG_RUN, VECTOR) or not rest or not run or any(t.offset % VECTOR for t in tensors):
        return [(tensors, tiling)]
    found = []
    for first, length in ((0, count - rest), (count - rest, rest)):
        piece = [Tensor(t.engine, Layout(length), t.offset + first) for t in tensors]
        found.append((piece, tiling_of([mode_layouts(t)[0] for t in piece], width=vector_width(piece))))
    return found


def each_element(
    tensors: Sequence[Tensor],
    results: Sequence[Tensor],
    elements: Callable[..., tuple[Expr, ...]],
    tiling: Tiling | None,
) -> None:
    """The body of a kernel: `results[k][i] = elements(*[t[i] for t in tensors])[k]`, by tiles, or element by element.
    Of several results the operands are read once, into registers."""
    last = results[-1]
    extents = leaves(last.shape)
    # Counted through all modes: neighbouring threads take neighbouring coordinates, four each.
    if tiling is None:
        gpu.launch(grid=ceil_div(size(last), 4 * THREADS), threads=THREADS)
        alike = all(t.rank == len(leaves(t.shape)) == len(extents) for t in (*tensors, *results))
        for turn in range(4):
            i = gpu.workgroup.x * (4 * THREADS) + turn * THREADS + gpu.thread
            with gpu.when(i < size(last)):
                at = coordinate_of(i, extents) if alike and len(extents) > 1 else i
                for result, value in zip(results, elements(*[t[at] for t in tensors]), strict=True):
                    result[at] = value
        return
    tiles = [ceil_div(extent, side) for extent, side in zip(extents, tiling.tile, strict=True)]
    gpu.launch(grid=prod(tiles), threads=tiling.threads)
    here = coordinate_of(gpu.workgroup.x, tiles)
    parts = [local_tile(t, tiling.tile, here) for t in (*tensors, *results)]
    if tiling.transposed is not None:
        parts = staged(parts, tiling.transposed, tiling.crossing)
    mine = [thread_value_partition(part, tiling.owned) for part in parts]
    sources, targets = mine[: len(tensors)], mine[len(tensors) :]
    if len(targets) > 1:
        held = [make_fragment_like(source) for source in sources]
        for source, fragment in zip(sources, held, strict=True):
            copy(source, fragment)
        sources = held
    for number, target in enumerate(targets):
        transform(*sources, target, op=lambda *values, number=number: elements(*values)[number])


def staged(tiles: list[Tensor], transposed: TransposedTile, crossing: Sequence[int]) -> list[Tensor]:
    """The tiles, those of these numbers as copies in shared memory."""
    found = list(tiles)
    for number in crossing:
        tile = tiles[number]
        found[number] = gpu.shared(tile.dtype, staged_layout(transposed))
        copy(thread_value_partition(tile, transposed.read), thread_value_partition(found[number], transposed.read))
    gpu.barrier()
    return found


def result_order(shape: rules.Shape, operands: Iterable[Tensor]) -> list[int] | None:
    """The order in memory of a new result's axes, the fastest first: that of the first operand that has its shape."""
    whole = next((t for t in operands if mode_sizes(t) == shape), None)
    if whole is None:
        return None
    steps = least_strides(whole)
    return sorted(range(len(steps)), key=lambda axis: (steps[axis], -axis))


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
