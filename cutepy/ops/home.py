"""Where an operation is computed: where its operands are. NumPy computes on the host, libraries for the rest register.

Law: an operand that is not on the host decides; the result is there too. `cutepy.gpu` registers the library of device
memory, and that of the values of a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..tensor.dtypes import DType
from ..tensor.engine import Array
from ..tensor.tensor import Tensor
from .functions import Function
from .rules import Axes


class Library(Protocol):
    """The operations on operands of one home, by the rules of `rules` and the table of `functions`."""

    def elementwise(self, function: Function, operands: Sequence[object]) -> Tensor:
        """`function` of each element."""

    def converted(self, x: object, dtype: DType) -> Tensor:
        """The elements in another type."""

    def folded(self, call: str, x: object, axes: Axes, keepdims: bool) -> Tensor:
        """The sum, the maximum ... over the axes."""

    def softmax(self, x: object, axis: int) -> Tensor:
        """Exponentials divided by their sum along an axis."""

    def matmul(self, a: object, b: object) -> Tensor:
        """The matrix product."""

    def placed(self, values: Array, like: Tensor) -> Tensor:
        """These elements of the host, brought where `like` is."""


LIBRARIES: dict[type, Library] = {}
"""The library for tensors over an engine of this type, and for operands of this type."""


def library_of(*operands: object) -> Library | None:
    """The library that computes with these operands; None for NumPy."""
    for operand in operands:
        if isinstance(operand, np.ndarray) and operand.dtype == object and operand.size:
            operand = operand.flat[0]
        home = operand.engine if isinstance(operand, Tensor) else operand
        for kind in type(home).__mro__:
            if kind in LIBRARIES:
                return LIBRARIES[kind]
    return None
