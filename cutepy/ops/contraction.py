"""Contractions: matmul, dot, fused multiply-add over axes, einsum, tensordot. Operands are never copied, only blocks.

Law: each is `out[b, m, n] = sum over k of A[b, m, k] * B[b, n, k]`, with several axes behind each letter and broadcast
axes at stride 0; an `einsum` is a few of them, as NumPy has it. f16 is multiplied and summed in f32, integers wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import add, index
from string import ascii_letters
from typing import SupportsIndex

import numpy as np

from ..errors import KernelError, TensorError
from ..gpu import MatrixPlan, Plan
from ..gpu import matmul as kernels
from ..layout import from_modes
from ..tensor import (
    Array,
    DType,
    Tensor,
    TensorLike,
    as_tensor,
    bool_,
    common_refinement,
    copy,
    f32,
    from_array,
    functions,
    mode_layouts,
    mode_sizes,
    rules,
    with_layout,
)
from .blocks import BLOCK, Blocks, Gathered, arranged, blocks_of, pieces
from .engine import Engine, chosen, delivered
from .movement import contiguous, is_strided, permute, reshape
from .operand import value_of
from .pointwise import astype, conj, elementwise
from .reductions import sum


@dataclass(frozen=True, slots=True)
class AxisCounts:
    """Of a contraction's blocks: how many axes are batches, rows (m), columns (n), and how many are summed (k)."""

    batch: int
    m: int
    n: int
    k: int


def matmul(
    A: TensorLike,
    B: TensorLike,
    C: Tensor | None = None,
    *,
    engine: Engine | None = None,
    plan: Plan | MatrixPlan | None = None,
    sums: kernels.Sums = "f32",
    epilogue: kernels.EpilogueLike | None = None,
    out: Tensor | None = None,
    **operands: TensorLike,
) -> Tensor:
    """NumPy's matrix product, (..., m, k) by (..., k, n), into `C`, which may be called `out`, or a new tensor; batches
    broadcast at stride 0, and vectors lose their axis again. Floats are summed in f32, and rounded once, to the type of
    `C` where that is a float.

    `epilogue` is what kernels make of each element `c` before it is stored: a formula, or a function, of `c` and of
    `operands`, tensors that broadcast to the product's shape or numbers, which are launch parameters. Where a device
    grants matrices of a subgroup (tensor cores), f16 is multiplied by them, with sums in f32 or, if `sums` says so, in
    f16; `gpu.explain_matmul` tells which way a product takes, and why. `sums` of "i32" multiplies i8 exactly, "u32" u8.

    >>> matmul([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy().tolist()
    [3.0, 7.0]
    >>> A, B, bias = np.float32([[1, 2], [3, 4]]), np.float32([[1, 0], [1, 1]]), np.float32([-4, 10])
    >>> matmul(A, B, epilogue="max(c + s * bias, 0)", bias=bias, s=2, engine="interpreter").numpy().tolist()
    [[0.0, 22.0], [0.0, 24.0]]

    Raises TensorError where the inner sizes differ, the batches do not broadcast, or an operand is a number;
    KernelError for a `C` that does not fit, for an epilogue with other names, and for a plan or an epilogue with NumPy.
    """
    if C is not None and out is not None:
        raise KernelError(f"matmul(C={C}, out={out}): both say where the result goes; give one")
    C = out if C is None else C
    # A device, or the interpreter, runs kernels; NumPy has neither plans nor epilogues.
    beside = [x for x in (C, *operands.values()) if x is not None]
    engine = chosen("matmul", engine, A, B, *beside)
    if engine != "numpy":
        one, other = as_tensor(A), as_tensor(B)
        return kernels.matmul(one, other, C, plan=plan, engine=engine, sums=sums, epilogue=epilogue, **operands)
    if plan is not None or epilogue is not None or operands or sums == "f16":
        raise KernelError(
            "matmul: plans, epilogues and sums in f16 are of kernels, and these operands are on the host; "
            "engine='wgpu' brings them to a device, engine='interpreter' runs the kernel here"
        )
    if sums != "f32":
        A, B = (astype(x, sums) for x in kernels.of_8_bits(as_tensor(A), as_tensor(B), sums))
    found = _matmul(A, B)
    if C is None:
        return found
    if mode_sizes(C) != mode_sizes(found) or not (C.dtype is found.dtype or C.dtype.kind == found.dtype.kind == "f"):
        raise KernelError(f"matmul({A}, {B}, {C}): C must be {found.dtype} of shape {mode_sizes(found)}")
    copy(found, C)
    return C


def _matmul(a: TensorLike, b: TensorLike) -> Tensor:
    """The matrix product by NumPy: both operands as (batch, rows, k), broadcast at stride 0."""
    first, second = value_of(a), value_of(b)
    batch, m, n, inner = rules.matmul_shapes(first.shape, second.shape)
    dtype = rules.result_type("matmul", first.typed, second.typed)
    one, other = as_tensor(a), as_tensor(b)
    rows = list(range(len(first.shape)))[-2:]
    columns = list(range(len(second.shape)))[-2:]
    left = arranged(blocks_of(one), [*_aligned(first.shape[:-2], batch), *rows], (*batch, *m, inner))
    right = arranged(blocks_of(other), [*_aligned(second.shape[:-2], batch), *columns[::-1]], (*batch, *n, inner))
    return from_array(contract(left, right, AxisCounts(len(batch), len(m), len(n), 1), dtype), dtype)


def dot(a: TensorLike, b: TensorLike, *, engine: Engine | None = None, out: Tensor | None = None) -> Tensor:
    """NumPy's `dot`: over the last axis of `a` and the last but one of `b` (its only one for a vector); numbers scale.

    >>> dot(np.ones((2, 3, 4), np.float32), np.ones((5, 4, 6), np.float32)).shape
    (2, 3, 5, 6)

    Raises TensorError where the two axes differ in size.
    """
    first, second = value_of(a), value_of(b)
    if not first.shape or not second.shape:
        return elementwise(functions.FUNCTIONS["mul"], a, b, engine=engine, out=out)
    along = max(0, len(second.shape) - 2)
    if first.shape[-1] != second.shape[along]:
        raise TensorError(rules.inner_sizes_differ("dot", first.shape, second.shape, second.shape[along]))
    rules.result_type("dot", first.typed, second.typed)  # raises where the types do not meet
    return tensordot(a, b, ((-1,), (along,)), engine=engine, out=out)


def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: SupportsIndex = -1, engine: Engine | None = None) -> Tensor:
    """The sum along an axis, counted from the last, of the conjugate of `x1` times `x2`.

    >>> vecdot([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0]).numpy().tolist()
    [21.0, 43.0]

    Raises TensorError where the sizes along the axis differ, or the rest does not broadcast.
    """
    first, second = mode_sizes(as_tensor(x1)), mode_sizes(as_tensor(x2))
    along = index(axis)
    if not -min(len(first), len(second)) <= along < 0:
        raise TensorError(
            f"vecdot(axis={along}): give one from -1 down that both have; the shapes are {first}, {second}"
        )
    if first[along] != second[along]:
        raise TensorError(f"vecdot: of the shapes {first} and {second} the sizes along axis {along} differ")
    rank = max(len(first), len(second))
    return fused_multiply_add(conj(x1), x2, (rank + along,), engine=engine)


def fused_multiply_add(
    a: TensorLike, b: TensorLike, axes: rules.Axes, *, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """The sum over `axes` of a * b, broadcast by NumPy's rule, without the product ever being stored.

    >>> x, y = np.ones((4, 1, 3), np.float32), np.ones((1, 5, 3), np.float32)
    >>> fused_multiply_add(x, y, 2).shape
    (4, 5)

    Raises TensorError where the shapes do not broadcast. Source: Tensorken, `RawTensor::fused_multiply_add`.
    """
    first, second = value_of(a), value_of(b)
    shape = rules.broadcast_shape("fused_multiply_add", first.shape, second.shape)
    summed = rules.chosen_axes("fused_multiply_add", len(shape), axes)
    dtype = rules.result_type("fused_multiply_add", first.typed, second.typed)
    engine = chosen("fused_multiply_add", engine, a, b, out)
    if engine != "numpy":
        if dtype is bool_ or first.tensor is None or second.tensor is None:
            product = elementwise(functions.FUNCTIONS["mul"], a, b, engine=engine)
            found = astype(sum(product, summed, engine=engine), dtype, engine=engine)
        else:
            found = kernels.summed_products(first.tensor, second.tensor, summed, dtype, engine)
        return delivered("fused_multiply_add", found, out, engine)
    # Each kept axis is a row, a column or a batch, by which operands vary along it.
    kept = [axis for axis in range(len(shape)) if axis not in summed]
    modes = [_aligned(value.shape, shape) for value in (first, second)]
    m = [axis for axis in kept if modes[1][axis] is None]
    n = [axis for axis in kept if axis not in m and modes[0][axis] is None]
    batch = [axis for axis in kept if axis not in m and axis not in n]
    # The operands as (batches, rows or columns, summed); the result has its axes in that order, and gets its own.
    blocks = [np.asarray(v.number, dtype.numpy) if v.tensor is None else blocks_of(v.tensor) for v in (first, second)]
    left, right = (
        arranged(block, [own[axis] for axis in order], [shape[axis] for axis in order])
        for block, own, order in zip(blocks, modes, ([*batch, *m, *summed], [*batch, *n, *summed]), strict=True)
    )
    sums = contract(left, right, AxisCounts(len(batch), len(m), len(n), len(summed)), dtype)
    order = batch + m + n
    found = from_array(sums.transpose([order.index(axis) for axis in kept]), dtype)
    return delivered("fused_multiply_add", found, out, engine)


def _aligned(sizes: tuple[int, ...], shape: tuple[int, ...]) -> list[int | None]:
    """For each axis of the broadcast `shape` the axis of an operand with these sizes, None where it is repeated."""
    first = len(shape) - len(sizes)
    return [None if axis < first or sizes[axis - first] != shape[axis] else axis - first for axis in range(len(shape))]


def contract(left: Blocks, right: Blocks, groups: AxisCounts, dtype: DType) -> Array:
    """`out[b, m, n] = sum over k of left[b, m, k] * right[b, n, k]`, each letter standing for its group of axes.

    The sums are in the type in which `dtype` is summed up.
    """
    working = np.dtype((f32 if dtype is bool_ else dtype.accumulator).numpy)
    if left.dtype == right.dtype == working == np.float32 and _fits_blas(left, right, groups):
        return _product(np.asarray(left), np.asarray(right))
    # Else piece by piece: copies of blocks in the type of the sums are multiplied, and added up over k.
    batch, m, n = np.cumsum([groups.batch, groups.m, groups.n]).tolist()
    shape = (*left.shape[:m], *right.shape[batch : batch + groups.n], *left.shape[m:])
    total = np.zeros(shape[:n], working)

    def fits(sizes: Sequence[int]) -> bool:
        b, rows, columns, k = prod(sizes[:batch]), prod(sizes[batch:m]), prod(sizes[m:n]), prod(sizes[n:])
        return b * max(rows * columns, rows * k, columns * k) <= BLOCK

    with np.errstate(all="ignore"):
        for part in pieces(shape, fits):
            one = _matrix(left[part[:m] + part[n:]], groups.batch, groups.k, working)
            other = _matrix(right[part[:batch] + part[m:]], groups.batch, groups.k, working)
            here = total[part[:n]]
            total[part[:n]] = here + _product(one, other).reshape(here.shape)
    return total


def _fits_blas(left: Blocks, right: Blocks, groups: AxisCounts) -> bool:
    """Whether BLAS takes the operands as they lie in memory: matrices with one axis contiguous, nothing repeated."""
    if (groups.m, groups.n, groups.k) != (1, 1, 1) or 0 in left.shape or 0 in right.shape:
        return False
    for operand in (left, right):
        if isinstance(operand, Gathered):
            return False
        steps = [step // 4 for step in operand.strides[-2:]]
        sizes = operand.shape[-2:]
        unit = [size == 1 or step == 1 for size, step in zip(sizes, steps, strict=True)]
        if not (unit[1] and steps[0] >= sizes[1]) and not (unit[0] and steps[1] >= sizes[0]):
            return False
    return True


def _matrix(block: Blocks, batch: int, inner: int, dtype: np.dtype[np.generic]) -> Array:
    """A block as (batches, rows, k), side by side in memory."""
    outer = block.ndim - inner
    rows, k = prod(block.shape[batch:outer]), prod(block.shape[outer:])
    return np.ascontiguousarray(np.asarray(block), dtype).reshape((*block.shape[:batch], rows, k))


def _product(left: Array, right: Array) -> Array:
    """left (..., m, k) by right (..., n, k) in their own type. NumPy has no BLAS for integers: those whose sums are
    below 2**53 are multiplied as f64, exactly."""
    turned, exact = right.swapaxes(-1, -2), False
    if left.dtype.kind not in "fc" and left.size and right.size:
        one, other = (max(int(part.max()), -int(part.min())) for part in (left, right))
        exact = one * other * left.shape[-1] < 1 << 53
    if exact:
        wide: Array = np.matmul(left.astype(np.float64), turned.astype(np.float64))
        return wide.astype(np.int64).astype(left.dtype)
    found: Array = np.matmul(left, turned)
    return found


def einsum(text: str, *operands: TensorLike, engine: Engine | None = None, out: Tensor | None = None) -> Tensor:
    """NumPy's `einsum`: letters name axes, those that are not behind the arrow are summed, from the left on.

    A letter that an operand has twice is its diagonal; `...` stands for the axes that have no letter, and broadcasts.
    Without an arrow the result has the axes of `...`, then the letters that occur once, in their order.

    >>> einsum("ij,jk->ki", [[1.0, 2.0], [3.0, 4.0]], [[1.0], [1.0]]).numpy().tolist()
    [[3.0, 7.0]]
    >>> einsum("...ii->...i", [[1.0, 2.0], [3.0, 4.0]]).numpy().tolist()
    [1.0, 4.0]

    Raises TensorError for letters that do not fit the operands, and for sizes that differ.
    """
    engine = chosen("einsum", engine, *operands, out)
    tensors = [as_tensor(x) for x in operands]
    named, order = _read_subscripts(text, [mode_sizes(x) for x in tensors])
    # From left to right: what later operands and the result do not name is summed as soon as it can be.
    (letters, found), *rest = (_diagonal(name, x) for name, x in zip(named, tensors, strict=True))
    for number, (others, other) in enumerate(rest, 1):
        later = {*order}.union(*named[number + 1 :])
        kept = order if number == len(rest) else "".join(dict.fromkeys(c for c in letters + others if c in later))
        summed = "".join(dict.fromkeys(c for c in letters + others if c not in kept))
        views = (_with_axes(found, letters, kept + summed), _with_axes(other, others, kept + summed))
        found = fused_multiply_add(*views, range(len(kept), len(kept + summed)), engine=engine)
        letters = kept
    # Of a single operand what the result does not name is still there.
    if len(order) < len(letters):
        found = sum(found, [axis for axis, letter in enumerate(letters) if letter not in order], engine=engine)
        letters = "".join(letter for letter in letters if letter in order)
    turned = permute(found, [letters.index(letter) for letter in order]) if order != letters else found
    return delivered("einsum", turned, out, engine)


def _diagonal(letters: str, x: Tensor) -> tuple[str, Tensor]:
    """The elements of `x` whose coordinates are equal along axes of one letter, with each letter once."""
    once = "".join(dict.fromkeys(letters))
    if once == letters:
        return letters, x
    if not is_strided(x):
        x = contiguous(x)
    modes = mode_layouts(x)
    diagonal = []
    for letter in once:
        # Along a diagonal all axes of the letter move at once: their strides add up, factor by factor.
        same = [mode for mode, name in zip(modes, letters, strict=True) if name == letter]
        shared = common_refinement(*same) if same[0].size else ((0,), *((0,) for _ in same))
        if shared is None:  # as of (2,3) and (3,2): in a copy each axis has one stride
            return _diagonal(letters, contiguous(x))
        shape, *strides = shared
        diagonal.append(from_modes(shape, [reduce(add, steps) for steps in zip(*strides, strict=True)]))
    return once, with_layout(x, diagonal)


def tensordot(
    a: TensorLike,
    b: TensorLike,
    axes: int | tuple[Sequence[SupportsIndex], Sequence[SupportsIndex]] = 2,
    *,
    engine: Engine | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """NumPy's `tensordot`: the sum over pairs of axes, the last ones of `a` and the first of `b` if a number is given.

    >>> tensordot([[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]], 1).numpy().tolist()
    [[3.0, 3.0], [7.0, 7.0]]

    Raises TensorError where the axes of a pair differ in size, or are not there.
    """
    one, other = (mode_sizes(as_tensor(x)) for x in (a, b))
    if isinstance(axes, int):
        pairs = [(len(one) - axes + axis, axis) for axis in range(axes)]
    else:
        pairs = [(index(i) % max(1, len(one)), index(j) % max(1, len(other))) for i, j in zip(*axes, strict=True)]
    letters = [chr(ord("A") + axis) for axis in range(len(one))]
    others = [chr(ord("a") + axis) for axis in range(len(other))]
    for i, j in pairs:
        if not (0 <= i < len(one) and j < len(other)):
            raise TensorError(f"tensordot({axes=}): of the shapes {one} and {other} one has no such axis")
        if one[i] != other[j]:
            raise TensorError(rules.inner_sizes_differ("tensordot", one[: i + 1], other, other[j]))
        others[j] = letters[i]
    kept = [c for c in letters if c not in others] + [c for c in others if c not in letters]
    return einsum(f"{''.join(letters)},{''.join(others)}->{''.join(kept)}", a, b, engine=engine, out=out)


def _read_subscripts(text: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[str], str]:
    """The letters of each operand's axes and of the result's, in order, of an `einsum` of operands of these shapes.

    Raises TensorError, with the text, for letters that do not fit the operands, and for sizes that differ.
    """
    # A name for each operand, with as many axes as it has.
    given, arrow, out = text.replace(" ", "").partition("->")
    named = given.split(",")
    if len(named) != len(shapes) or any(
        len(name.replace("...", "")) > len(shape) or ("..." not in name and len(name) < len(shape))
        for name, shape in zip(named, shapes, strict=False)
    ):
        raise TensorError(
            f"einsum({text!r}): the operands have the shapes {', '.join(map(str, shapes))}; name each axis"
        )
    # The axes of "..." get letters that the text has not, the same ones from the last axis on: they broadcast.
    unnamed = [len(shape) - len(name.replace("...", "")) for name, shape in zip(named, shapes, strict=True)]
    free = [c for c in ascii_letters if c not in text]
    most = max(unnamed, default=0)
    if most > len(free):
        raise TensorError(f"einsum({text!r}): more axes than letters")
    stretch = "".join(free[:most])
    named = [name.replace("...", stretch[most - count :], 1) for name, count in zip(named, unnamed, strict=True)]
    # Without an arrow the result has the letters that occur once.
    every = "".join(named)
    once = "".join(sorted(c for c in {*every} - {*stretch} if every.count(c) == 1))
    out = out.replace("...", stretch, 1) if arrow else stretch + once
    if not all(letter.isalpha() for letter in every + out) or len({*out}) < len(out):
        raise TensorError(f"einsum({text!r}): axes are letters, or one '...', each once in the result")
    if unknown := sorted({*out} - {*every}):
        raise TensorError(f"einsum({text!r}): no operand has an axis {', '.join(unknown)}")
    if not {*stretch} <= {*out}:
        raise TensorError(f"einsum({text!r}): the operands have axes for '...', which the result lacks")
    # A letter has one size; those of "..." may be 1 where others have more.
    sizes: dict[str, int] = {}
    for letter, size in [
        pair for name, shape in zip(named, shapes, strict=True) for pair in zip(name, shape, strict=True)
    ]:
        if sizes.setdefault(letter, size) != size:
            if letter not in stretch or 1 not in (size, sizes[letter]):
                raise TensorError(f"einsum({text!r}): axis {letter} has the sizes {sizes[letter]} and {size}")
            sizes[letter] = max(size, sizes[letter]) if 0 not in (size, sizes[letter]) else 0
    return named, out


def _with_axes(x: Tensor, letters: str, order: str) -> Tensor:
    """`x` with its axes in this order, and axes of size 1 for the letters that it does not have."""
    own = [letter for letter in order if letter in letters]
    turned = permute(x, [letters.index(letter) for letter in own])
    sizes = dict(zip(own, mode_sizes(turned), strict=True))
    return reshape(turned, tuple(sizes.get(letter, 1) for letter in order))
