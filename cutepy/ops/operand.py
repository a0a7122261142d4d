"""Operands taken apart: a Python number is weak in its type, and is no tensor before the types have met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..layout import IntTuple
from ..tensor import Array, Tensor, as_tensor, load_all, mode_sizes, rules


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An operand: its tensor, or else a Python number."""

    tensor: Tensor | None
    number: rules.Number = 0

    @property
    def typed(self) -> rules.Typed:
        """What the type of the result depends on: the element type, or the number."""
        return self.number if self.tensor is None else self.tensor.dtype

    @property
    def shape(self) -> rules.Shape:
        """The size of each axis; of a number ()."""
        return () if self.tensor is None else mode_sizes(self.tensor)

    def array(self) -> Array:
        """The elements, one array axis a mode; a number in the type that it has alone. Not to be written."""
        return load_all(as_tensor(self.number) if self.tensor is None else self.tensor)


def value_of(operand: object) -> Value:
    """An operand taken apart: a NumPy scalar is a tensor of rank 0, and has its type.

    Raises TensorError as `as_tensor` does.
    """
    if isinstance(operand, int | float | complex) and not isinstance(operand, np.generic):
        return Value(None, operand)
    return Value(as_tensor(operand))


def common_nesting(values: Sequence[Value]) -> IntTuple | None:
    """The nested shape of the operands if all tensors have the same one."""
    shapes = {value.tensor.shape for value in values if value.tensor is not None}
    return shapes.pop() if len(shapes) == 1 else None
