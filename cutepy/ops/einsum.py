"""Sums of products over named axes: `einsum` and `tensordot`, each a few contractions of two operands.

Law: `einsum("ij,jk->ik", a, b)[i, k]` is the sum over j of `a[i, j] * b[j, k]`, as NumPy has it; operands are never
copied, axes that one does not have are at stride 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from ..errors import TensorError
from ..tensor.bulk import mode_sizes
from ..tensor.tensor import Tensor
from .contraction import fused_multiply_add
from .movement import permute, reshape
from .operand import Operand, tensor_of
from .reductions import sum
from .rules import inner_sizes_differ


def einsum(text: str, *operands: Operand) -> Tensor:
    """NumPy's `einsum`: letters name axes, those that are not behind the arrow are summed, from the left on.

    >>> einsum("ij,jk->ki", [[1.0, 2.0], [3.0, 4.0]], [[1.0], [1.0]]).numpy().tolist()
    [[3.0, 7.0]]

    Without an arrow the result has the letters that occur once, in their order. Raises TensorError for letters that do
    not fit the operands, sizes that differ, and what is not said so: an ellipsis, or a letter twice in one operand.
    """
    tensors = [tensor_of(x) for x in operands]
    named, out = _read(text, [mode_sizes(x) for x in tensors])
    (letters, found), *rest = zip(named, tensors, strict=True)
    for number, (others, other) in enumerate(rest, 1):
        later = {*out}.union(*named[number + 1 :])
        kept = out if number == len(rest) else "".join(dict.fromkeys(c for c in letters + others if c in later))
        summed = "".join(dict.fromkeys(c for c in letters + others if c not in kept))
        views = (_with_axes(found, letters, kept + summed), _with_axes(other, others, kept + summed))
        found = fused_multiply_add(*views, range(len(kept), len(kept + summed)))
        letters = kept
    if len(out) < len(letters):
        found = sum(found, [axis for axis, letter in enumerate(letters) if letter not in out])
        letters = "".join(letter for letter in letters if letter in out)
    return permute(found, [letters.index(letter) for letter in out]) if out != letters else found


def tensordot(
    a: Operand, b: Operand, axes: int | tuple[Sequence[SupportsIndex], Sequence[SupportsIndex]] = 2
) -> Tensor:
    """NumPy's `tensordot`: the sum over pairs of axes, the last ones of `a` and the first of `b` if a number is given.

    >>> tensordot([[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]], 1).numpy().tolist()
    [[3.0, 3.0], [7.0, 7.0]]

    Raises TensorError where the axes of a pair differ in size, or are not there.
    """
    one, other = (mode_sizes(tensor_of(x)) for x in (a, b))
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
            raise TensorError(inner_sizes_differ("tensordot", one[: i + 1], other, other[j]))
        others[j] = letters[i]
    out = [c for c in letters if c not in others] + [c for c in others if c not in letters]
    return einsum(f"{''.join(letters)},{''.join(others)}->{''.join(out)}", a, b)


def _read(text: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[str], str]:
    """The letters of the operands and of the result."""
    given, arrow, out = text.replace(" ", "").partition("->")
    named = given.split(",")
    every = "".join(named)
    out = out if arrow else "".join(sorted(c for c in {*every} if every.count(c) == 1))
    sizes: dict[str, int] = {}
    if len(named) != len(shapes) or any(map(lambda n, s: len(n) != len(s), named, shapes)):
        raise TensorError(
            f"einsum({text!r}): the operands have the shapes {', '.join(map(str, shapes))}; name each axis"
        )
    if not all(letter.isalpha() for letter in every + out) or any(len({*n}) < len(n) for n in (*named, out)):
        raise TensorError(f"einsum({text!r}): axes are letters, each once in an operand and in the result")
    if not {*out} <= {*every}:
        raise TensorError(f"einsum({text!r}): no operand has an axis {', '.join(sorted({*out} - {*every}))}")
    for letter, size in [
        pair for name, shape in zip(named, shapes, strict=True) for pair in zip(name, shape, strict=True)
    ]:
        if sizes.setdefault(letter, size) != size:
            raise TensorError(f"einsum({text!r}): axis {letter} has the sizes {sizes[letter]} and {size}")
    return named, out


def _with_axes(x: Tensor, letters: str, order: str) -> Tensor:
    """`x` with its axes in this order, and axes of size 1 for the letters that it does not have."""
    own = [letter for letter in order if letter in letters]
    turned = permute(x, [letters.index(letter) for letter in own])
    sizes = dict(zip(own, mode_sizes(turned), strict=True))
    return reshape(turned, tuple(sizes.get(letter, 1) for letter in order))
