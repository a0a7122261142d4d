"""Reductions over any axes, in NumPy's meaning: sum, prod, max, min, mean, argmax, argmin.

Law: a named axis leaves the shape, or stays with size 1; no axes named means all, and gives a number. f16 is folded in
f32 and rounded once, integers wrap, NaN wins in max and min (and its first place in argmax and argmin); of no elements
the sum is 0, the product 1, the mean NaN, and there is no maximum. Equal inputs give equal bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import KernelError
from ...layout import ComposedLayout, Layout
from ...layout.rearrange import coalesce, joined
from ...tensor.dtypes import DType, f32, i32
from ...tensor.tensor import Tensor
from ..reduce import SumPlan, sum_all
from .domain import zipped
from .fold import Fold, accumulator, fold_rows
from .operand import Axes, Place, Shape, chosen_axes, modes_of, over, place_of, sizes_of, tensor_of
from .search import search_rows

Result = Tensor | np.generic


@dataclass(frozen=True, slots=True)
class Reduction:
    """A call made ready: `rows` (kept, reduced) of the operand and `out` (kept, 1) of the result."""

    place: Place
    tensor: Tensor
    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    keepdims: bool
    number: bool

    @property
    def count(self) -> int:
        """How many elements give one."""
        return _product(sizes_of(self.tensor)[axis] for axis in self.reduced)

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        sizes = sizes_of(self.tensor)
        if self.keepdims:
            return tuple(1 if axis in self.reduced else size for axis, size in enumerate(sizes))
        return tuple(sizes[axis] for axis in self.kept)

    def rows(self, out: Tensor, *, in_order: bool = False) -> tuple[Tensor, Tensor]:
        """The operand as (kept, reduced) and the result as (kept, 1), each mode with as few factors as it can have.

        With `in_order` an index of mode 1 counts the last axis fastest, as NumPy does; else the nearest elements.
        """
        modes = modes_of(self.tensor)
        targets = modes_of(out)
        if self.keepdims:
            targets = [targets[axis] for axis in self.kept]
        sources = [modes[axis] for axis in self.kept]
        rest = [modes[axis] for axis in self.reduced][::-1]
        pair = zipped([sources, targets]) or [joined(sources[::-1]), joined(targets[::-1])]
        if not in_order and not isinstance(self.tensor.layout, ComposedLayout):
            rest = zipped([rest]) or rest
        columns = rest[0] if len(rest) == 1 else coalesce(joined(rest))
        return over(self.tensor, joined([pair[0], columns])), over(out, joined([pair[1], Layout(1, 0)]))

    def result(self, out: Tensor) -> Result:
        """The tensor, or its only element as a number."""
        if not self.number:
            return out
        found: np.generic = out.numpy().ravel()[0]
        return found


def sum(
    x: object, axes: Axes = None, *, keepdims: bool = False, plan: SumPlan | None = None, engine: str = "wgpu"
) -> Result:
    """The sum over the axes of f16, f32, i32 or u32. That of all elements is cut up by `plan`, and of f16 given in f32.

    >>> sum(np.float32([[1, 2], [3, 4]]), 0, engine="numpy").numpy().tolist()
    [4.0, 6.0]

    Raises KernelError for an axis that is not there and for bools.
    """
    tensor = tensor_of("sum", x)
    if axes is None and not keepdims and tensor.size and tensor.dtype.kind != "b":
        one_mode = tensor if sizes_of(tensor) else over(tensor, Layout(1, 0))
        return sum_all(one_mode, plan=plan, engine=engine)
    return _fold("sum", tensor, axes, keepdims, engine)


def prod(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The product over the axes of f16, f32, i32 or u32; 1 where there is nothing to multiply.

    >>> print(prod(np.float32([2, 3, 4]), engine="numpy"))
    24.0
    """
    return _fold("prod", x, axes, keepdims, engine)


def mean(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The sum over the axes, in f32, divided by how many they are; integers give f32.

    >>> mean(np.float32([[1, 2], [3, 6]]), 1, engine="numpy").numpy().tolist()
    [1.5, 4.5]
    """
    return _fold("mean", x, axes, keepdims, engine)


def max(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The greatest element over the axes; NaN where there is one.

    >>> print(max(np.float32([-3, -1, -2]), engine="numpy"))
    -1.0

    Raises KernelError over no elements, which have no greatest.
    """
    return _fold("max", x, axes, keepdims, engine)


def min(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The least element over the axes; NaN where there is one.

    >>> print(min(np.float32([3, -1, 2]), engine="numpy"))
    -1.0

    Raises KernelError over no elements.
    """
    return _fold("min", x, axes, keepdims, engine)


def argmax(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The index, as i32, of the first greatest element over the axes, the last axis fastest; NaN counts as greatest.

    >>> argmax(np.float32([[1, 7], [7, 2]]), 0, engine="numpy").numpy().tolist()
    [1, 0]

    Raises KernelError over no elements.
    """
    return _search("argmax", x, axes, keepdims, engine)


def argmin(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The index, as i32, of the first least element over the axes; NaN counts as least.

    >>> print(argmin(np.float32([3, -1, 2]), engine="numpy"))
    1

    Raises KernelError over no elements.
    """
    return _search("argmin", x, axes, keepdims, engine)


def _bind(call: str, x: object, axes: Axes, keepdims: bool, engine: str) -> Reduction:
    tensor = tensor_of(call, x)
    reduced = chosen_axes(call, len(sizes_of(tensor)), axes)
    kept = tuple(axis for axis in range(len(sizes_of(tensor))) if axis not in reduced)
    place = place_of(call, engine, [tensor])
    return Reduction(place, tensor, kept, reduced, keepdims, axes is None and not keepdims)


def _fold(name: str, x: object, axes: Axes, keepdims: bool, engine: str) -> Result:
    call = _bind(name, x, axes, keepdims, engine)
    dtype = call.tensor.dtype
    if dtype.kind == "b" and name in ("sum", "prod", "mean"):
        raise KernelError(f"{name}({call.tensor}): there is no {name} of bools; convert them to u32")
    wanted = f32 if name == "mean" and dtype.kind != "f" else dtype
    if call.count == 0:
        return call.result(_of_nothing(name, call, wanted))
    out = call.place.zeros(call.shape, wanted)
    if out.size:
        fold = Fold(name, accumulator(name, dtype), call.count)
        fold_rows(call.place, *_brought(call).rows(out), fold)
    return call.result(out)


def _search(name: str, x: object, axes: Axes, keepdims: bool, engine: str) -> Result:
    call = _bind(name, x, axes, keepdims, engine)
    if call.count == 0:
        return call.result(_of_nothing(name, call, i32))
    out = call.place.zeros(call.shape, i32)
    if out.size:
        search_rows(call.place, *_brought(call).rows(out, in_order=True), greatest=name == "argmax")
    return call.result(out)


def _brought(call: Reduction) -> Reduction:
    return Reduction(call.place, call.place.bring(call.tensor), call.kept, call.reduced, call.keepdims, call.number)


def _of_nothing(name: str, call: Reduction, dtype: DType) -> Tensor:
    """What is left of no elements: the identity, or a refusal where there is none and something is asked for."""
    of_nothing = {"sum": 0, "prod": 1, "mean": float("nan")}
    if name not in of_nothing and _product(call.shape):
        raise KernelError(
            f"{name} over the axes {call.reduced} of the shape {sizes_of(call.tensor)}: of no elements none is chosen"
        )
    return call.place.put(np.full(call.shape, of_nothing.get(name, 0), dtype.numpy))


def _product(sizes: object) -> int:
    return int(np.prod(list(sizes), dtype=np.int64))  # type: ignore[call-overload]
