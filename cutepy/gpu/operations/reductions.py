"""Reductions over any axes, by the rules of `ops`: sum, prod, max, min, mean, any, all, argmax, argmin.

Law: `ops.rules` says types, axes and what is left of nothing. NaN wins in max and min, and its first place in argmax
and argmin. Equal inputs give equal bits. Here no axes named give a number; `ops` gives a tensor of rank 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...layout import ComposedLayout, Layout
from ...layout.rearrange import coalesce, joined
from ...ops.rules import OF_NOTHING, Axes, Shape, check_not_empty, chosen_axes, folded_shape, folded_type
from ...tensor.tensor import Tensor
from .domain import zipped
from .fold import Fold, Pass, accumulator, fold_kernel, passes
from .operand import Place, modes_of, over, place_of, sizes_of, tensor_of
from .search import search_rows

Result = Tensor | np.generic


@dataclass(frozen=True, slots=True)
class Reduction:
    """A call made ready: `rows` (kept, reduced) of the operand and `out` (kept, 1) of the result."""

    tensor: Tensor
    reduced: tuple[int, ...]
    keepdims: bool

    @property
    def kept(self) -> tuple[int, ...]:
        """The axes that are not folded."""
        return tuple(axis for axis in range(len(sizes_of(self.tensor))) if axis not in self.reduced)

    @property
    def count(self) -> int:
        """How many elements give one."""
        return int(np.prod([sizes_of(self.tensor)[axis] for axis in self.reduced], dtype=np.int64))

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return folded_shape(sizes_of(self.tensor), self.reduced, self.keepdims)

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


def launches(name: str, call: Reduction, place: Place, out: Tensor) -> Iterator[Pass]:
    """The launches of `fold_kernel` that give this reduction, which is no argmax or argmin."""
    fold = Fold(name, accumulator(name, call.tensor.dtype), call.count)
    return passes(place, *call.rows(out), fold)


def folded(name: str, x: object, axes: Axes, keepdims: bool, engine: str) -> Tensor:
    """What the reduction of this name gives, where `x` is or `engine` computes."""
    tensor = tensor_of(name, x)
    call = Reduction(tensor, chosen_axes(name, len(sizes_of(tensor)), axes), keepdims)
    wanted = folded_type(name, tensor.dtype)
    check_not_empty(name, sizes_of(tensor), call.reduced)
    place = place_of(name, engine, [tensor])
    if call.count == 0:
        return place.put(np.full(call.shape, OF_NOTHING.get(name, 0), wanted.numpy))
    out = place.zeros(call.shape, wanted)
    if not out.size:
        return out
    here = replace(call, tensor=place.bring(tensor))
    if name in ("argmax", "argmin"):
        search_rows(place, *here.rows(out, in_order=True), greatest=name == "argmax")
    else:
        for operands, static in launches(name, here, place, out):
            place.run(fold_kernel, *operands, **static)
    return out


def _given(name: str, x: object, axes: Axes, keepdims: bool, engine: str) -> Result:
    """The tensor, or where no axes are named its only element as a number."""
    out = folded(name, x, axes, keepdims, engine)
    if axes is not None or keepdims:
        return out
    found: np.generic = out.numpy().ravel()[0]
    return found


def sum(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The sum over the axes, f16 summed in f32; 0 where there is nothing to add.

    >>> sum(np.float32([[1, 2], [3, 4]]), 0, engine="numpy").numpy().tolist()
    [4.0, 6.0]

    Raises TensorError for an axis that is not there.
    """
    return _given("sum", x, axes, keepdims, engine)


def prod(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The product over the axes; 1 where there is nothing to multiply.

    >>> print(prod(np.float32([2, 3, 4]), engine="numpy"))
    24.0
    """
    return _given("prod", x, axes, keepdims, engine)


def mean(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The sum over the axes, in f32, divided by how many they are; integers give f32.

    >>> mean(np.float32([[1, 2], [3, 6]]), 1, engine="numpy").numpy().tolist()
    [1.5, 4.5]
    """
    return _given("mean", x, axes, keepdims, engine)


def max(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The greatest element over the axes; NaN where there is one.

    >>> max(np.float32([[-1, -5], [-3, np.nan]]), 1, engine="numpy").numpy().tolist()
    [-1.0, nan]

    Raises TensorError over no elements.
    """
    return _given("max", x, axes, keepdims, engine)


def min(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The least element over the axes; NaN where there is one.

    >>> print(min(np.float32([3, -1, 2]), engine="numpy"))
    -1.0

    Raises TensorError over no elements.
    """
    return _given("min", x, axes, keepdims, engine)


def any(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """True where an element over the axes is not 0.

    >>> any(np.int32([[0, 0], [0, 5]]), 1, engine="numpy").numpy().tolist()
    [False, True]
    """
    return _given("any", x, axes, keepdims, engine)


def all(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """True where every element over the axes is not 0.

    >>> print(all(np.int32([3, 0]), engine="numpy"))
    False
    """
    return _given("all", x, axes, keepdims, engine)


def argmax(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The index, as i32, of the first greatest element over the axes, the last axis fastest; NaN counts as greatest.

    >>> argmax(np.float32([[1, 7], [7, 2]]), 0, engine="numpy").numpy().tolist()
    [1, 0]

    Raises TensorError over no elements.
    """
    return _given("argmax", x, axes, keepdims, engine)


def argmin(x: object, axes: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The index, as i32, of the first least element over the axes; NaN counts as least.

    >>> print(argmin(np.float32([3, -1, 2]), engine="numpy"))
    1

    Raises TensorError over no elements.
    """
    return _given("argmin", x, axes, keepdims, engine)
