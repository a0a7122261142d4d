"""Where an operation is computed: where its operands are. NumPy computes on the host, libraries for the rest register.

Law: an operand that is not on the host decides; the result is there too. `cutepy.gpu` registers the library of device
memory, and that of the values of a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import KernelError
from ..tensor.dtypes import DType
from ..tensor.engine import Array
from ..tensor.tensor import Tensor
from .functions import Function
from .rules import Axes


class Library:
    """The operations on operands of one home, by the rules of `rules` and the table of `functions`.

    What a library does not have is refused, in its words.
    """

    refusal = "ops: these operands are not for it"

    def elementwise(self, function: Function, operands: Sequence[Any]) -> Tensor:
        """`function` of each element."""
        raise KernelError(self.refusal)

    def converted(self, x: Any, dtype: DType) -> Tensor:
        """The elements in another type."""
        raise KernelError(self.refusal)

    def folded(self, call: str, x: Any, axes: Axes, keepdims: bool) -> Tensor:
        """The sum, the maximum ... over the axes."""
        raise KernelError(self.refusal)

    def statistic(self, call: str, x: Any, axes: Axes, option: float, keepdims: bool) -> Tensor:
        """The variance, a norm ... over the axes."""
        raise KernelError(self.refusal)

    def scanned(self, call: str, x: Any, axis: int) -> Tensor:
        """The sums or the products so far along an axis."""
        raise KernelError(self.refusal)

    def softmax(self, x: Any, axis: int) -> Tensor:
        """Exponentials divided by their sum along an axis."""
        raise KernelError(self.refusal)

    def matmul(self, a: Any, b: Any) -> Tensor:
        """The matrix product."""
        raise KernelError(self.refusal)

    def summed_products(self, a: Tensor, b: Tensor, axes: tuple[int, ...], dtype: DType) -> Tensor:
        """The sum over axes of a product of tensors of numbers, which is never stored."""
        raise KernelError(self.refusal)

    def placed(self, values: Array, like: Tensor) -> Tensor:
        """These elements of the host, brought where `like` is."""
        raise KernelError(self.refusal)


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
