"""`recast`: the same memory seen as elements of another width.

Law: the bytes of the result are the bytes of the operand, in the same order.
"""

from __future__ import annotations

import numpy as np

from ..errors import TensorError
from ..layout import Layout
from ..layout.algebra.recast import recast_layout
from .dtypes import as_dtype
from .engine import ViewEngine
from .tensor import Tensor, expect_tensors


def recast(tensor: Tensor, dtype: object) -> Tensor:
    """`tensor` as elements of `dtype`: the mode of stride 1 shrinks or grows by the ratio of their widths.

    >>> from cutepy.tensor import make_tensor
    >>> A = make_tensor(np.arange(8, dtype=np.float32), (4, 2))
    >>> recast(A, "f16").layout, recast(recast(A, "f16"), "f32").numpy().tolist() == A.numpy().tolist()
    (Layout((8, 2), (1, 8)), True)

    Raises TensorError where it does not begin or end at a whole element, is guarded, or is not in host memory, and
    LayoutError where the new width does not fit the strides. Source: CuTe, `tensor_impl.hpp`.
    """
    expect_tensors("recast", tensor)
    wanted = as_dtype(dtype)
    old, new = (np.dtype(kind.numpy).itemsize for kind in (tensor.dtype, wanted))
    engine = tensor.engine
    if not isinstance(engine, ViewEngine) or tensor.guard is not None or not isinstance(tensor.layout, Layout):
        raise TensorError(f"recast({tensor}, {wanted}): only plain tensors in host memory are recast; copy it first")
    first = (tensor.offset + engine.origin) * old
    if first % new:
        raise TensorError(f"recast({tensor}, {wanted}): it begins {first % new} bytes into an element of {new} bytes")
    layout = tensor.layout if new == old else recast_layout(new * 8, old * 8, tensor.layout)
    if layout.size * new != tensor.size * old:
        raise TensorError(
            f"recast({tensor}, {wanted}): {tensor.size} elements of {old} bytes are no whole number of {new}"
        )
    whole = len(engine.memory) * old // new * new // old
    memory = engine.memory[:whole].view(wanted.numpy)
    view = ViewEngine(memory, wanted, engine.origin * old // new, engine.space, engine.name)
    return Tensor(view, layout, first // new - view.origin)
