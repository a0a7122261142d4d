"""`gemm`: the five forms of C += A * B over tensors.

Law: with the modes V (elements side by side), M, N and K, `C[v, m, n] += sum over k of
A[v, m, k] * B[v, n, k]`; a form leaves some of them out. Products are summed in the accumulation type of C.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import TensorError
from ..lazy import numpy as np
from .bulk import check_overlap, computed, mode_sizes, store_all, strided_modes
from .engine import Array, Scalars, check_writable
from .tensor import Tensor, expect_tensors

FORMS = {
    (1, 1, 1): ("v", "v", "v"),
    (1, 1, 2): ("m", "n", "mn"),
    (2, 2, 2): ("mk", "nk", "mn"),
    (2, 2, 3): ("vm", "vn", "vmn"),
    (3, 3, 3): ("vmk", "vnk", "vmn"),
}
"""The modes of A, B and C, by their ranks."""


def gemm(A: Tensor, B: Tensor, C: Tensor) -> None:
    """Add the product of A and B to C. The ranks choose the form:

    | A | B | C |
    |---|---|---|
    | (V) | (V) | (V), element by element |
    | (M) | (N) | (M,N), outer product |
    | (M,K) | (N,K) | (M,N), matrix product with B transposed |
    | (V,M) | (V,N) | (V,M,N) |
    | (V,M,K) | (V,N,K) | (V,M,N) |

    >>> from cutepy.tensor import make_tensor
    >>> A = make_tensor(np.float32([[1, 2], [3, 4]]))
    >>> C = make_tensor("f32", (2, 2))
    >>> gemm(A, A, C)
    >>> C.numpy().tolist()
    [[5.0, 11.0], [11.0, 25.0]]

    Raises TensorError for ranks or sizes that fit no form, and as `copy`. Source: CuTe, `algorithm/gemm.hpp`.
    """
    expect_tensors("gemm", A, B, C)
    sizes = _sizes(A, B, C)
    for source in (A, B):
        check_overlap("gemm", source, C)
    check_writable(C.engine)
    # All five forms are one: C[v, m, n] += sum_k A[v, m, k] * B[v, n, k], missing modes of size 1.
    v, m, n, k = (sizes[name] for name in "vmnk")
    on_host = (strided_modes(operand) is not None for operand in (A, B, C))
    if v == 1 and len(mode_sizes(C)) == 2 and all(on_host):  # by views; a temporary of the size of C is all it takes
        product = np.matmul(_factor(A, C).reshape((m, k)), _factor(B, C).reshape((n, k)).T)
        product += computed(C)
        store_all(C, product)
        return
    a = _factor(A, C).reshape((v, m, k), order="F")
    b = _factor(B, C).reshape((v, n, k), order="F")
    c = computed(C).reshape((v, m, n), order="F")
    if any(values.dtype == object for values in (a, b, c)):
        total = _by_element(a, b, c, getattr(C.engine, "fma", None) or (lambda a, b, c: a * b + c))
    else:
        # Batched matmul over V; a pure element-wise product needs no matmul.
        total = c + (a * b if m == n == k == 1 else np.matmul(a, b.swapaxes(1, 2)))
    store_all(C, total.reshape(mode_sizes(C), order="F"))


def _sizes(A: Tensor, B: Tensor, C: Tensor) -> dict[str, int]:
    """The sizes of V, M, N and K; 1 for a mode that the form leaves out."""
    tables = [mode_sizes(operand) for operand in (A, B, C)]
    form = FORMS.get((len(tables[0]), len(tables[1]), len(tables[2])))
    if form is None:
        ranks = ", ".join(str(len(table)) for table in tables)
        forms = "; ".join(",".join(f"({','.join(modes.upper())})" for modes in names) for names in FORMS.values())
        raise TensorError(
            f"gemm({A}, {B}, {C}): no form has the ranks {ranks}; there are {forms}; group modes to reach one"
        )
    sizes = {"v": 1, "m": 1, "n": 1, "k": 1}
    seen: dict[str, str] = {}
    for operand, modes, table in zip("ABC", form, tables, strict=True):
        for mode, extent in zip(modes, table, strict=True):
            # The first operand that has a mode fixes its size.
            if seen.setdefault(mode, operand) != operand and sizes[mode] != extent:
                raise TensorError(
                    f"gemm({A}, {B}, {C}): mode {mode.upper()} has size {sizes[mode]} in {seen[mode]} and {extent} in "
                    f"{operand}"
                )
            sizes[mode] = extent
    return sizes


def _factor(tensor: Tensor, C: Tensor) -> Array:
    """The elements of A or B, where they are numbers in a type that holds what C accumulates too."""
    values = computed(tensor)
    if values.dtype == object:
        return values
    return values.astype(np.promote_types(values.dtype, C.dtype.accumulator.numpy), copy=False)


def _by_element(a: Array, b: Array, c: Array, fused: Callable[[Scalars, Scalars, Scalars], Scalars]) -> Array:
    """The same sums as chains of fused multiply-adds, k innermost, neighbouring m side by side."""
    total: Array = np.empty(c.shape, object)
    v_size, m_size, k_size = a.shape
    # k innermost: one chain of fused multiply-adds per element of C.
    for v in range(v_size):
        for n in range(b.shape[1]):
            for m in range(m_size):
                value = c[v, m, n]
                for k in range(k_size):
                    value = fused(a[v, m, k], b[v, n, k], value)
                total[v, m, n] = value
    return total
