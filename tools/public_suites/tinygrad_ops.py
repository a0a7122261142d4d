"""tinygrad's test_ops.py on `cutepy.ops`, forward: its tests ask tinygrad's Tensor, PyTorch says what is right.

    pip download --no-binary :all: --no-deps tinygrad==0.12.0    # the last one whose source has the tests
    python tools/suites.py --tinygrad tinygrad-0.12.0/test/test_ops.py [--device]

The file is run as it is, with a module `tinygrad` that is this one: a method of `Tensor` is a call of `cutepy.ops`, or
a short formula of such calls; no other library computes. A method that is not here is not offered. It needs `torch`.
"""

from __future__ import annotations

import importlib.util
import math
import os
import sys
import unittest
from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from cutepy import Layout, gpu, make_tensor, ops
from cutepy.errors import CutepyError
from cutepy.tensor import as_dtype, mode_layouts, with_layout

from .rows import Row, missing


class NotOffered(BaseException):
    """A call that no function of `ops` says; no `Exception`, so that no test takes it for a refusal."""


home: Callable[[np.ndarray[Any, Any]], Any] = make_tensor
"""What makes tensors where the tests compute."""
Axes = int | Sequence[int] | None


def of(x: Any) -> Any:
    """An operand of `ops`."""
    if isinstance(x, Tensor):
        return x.t
    return home(np.asarray(x)) if isinstance(x, list | tuple) else x


def pair(n: Any, count: int) -> tuple[int, ...]:
    """A number for each of so many axes."""
    return (n,) * count if isinstance(n, int) else tuple(n)


def shaped(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape, given as one argument or as several."""
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], list | tuple) else shape


class OfClass(type):
    """A name that `Tensor` does not have is not offered, asked of the class too."""

    def __getattr__(cls, name: str) -> Any:
        if name[0] == "_":
            raise AttributeError(name)
        raise NotOffered(name)


class Tensor(metaclass=OfClass):
    """tinygrad's tensor, as far as `ops` says its methods."""

    def __init__(self, data: Any, dtype: Any = None, requires_grad: bool | None = None, device: Any = None) -> None:
        if type(data).__name__ == "Tensor" and hasattr(data, "t"):
            self.t = data.t
        elif hasattr(data, "engine"):
            self.t = data
        else:
            array = np.asarray(data, None if dtype is None else as_dtype(dtype).numpy)
            if dtype is None and not isinstance(data, np.ndarray | np.generic):
                array = array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))
            self.t = home(array)
        if dtype is not None:
            self.t = ops.astype(self.t, dtype)

    def __getattr__(self, name: str) -> Any:
        if name[0] == "_":
            raise AttributeError(name)
        raise NotOffered(name)

    # What is asked of a tensor.
    shape = property(lambda self: tuple(self.t.numpy().shape))
    ndim = property(lambda self: len(self.shape))
    dtype = property(lambda self: self.t.dtype)
    T = property(lambda self: Tensor(ops.permute(self.t, range(self.ndim)[::-1])))

    def numpy(self) -> Any:
        return self.t.numpy()

    def item(self) -> Any:
        return self.numpy().item()

    def tolist(self) -> Any:
        return self.numpy().tolist()

    def realize(self) -> Tensor:
        return self

    detach = contiguous = clone = realize

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __len__(self) -> int:
        return int(self.shape[0])

    def cast(self, dtype: Any) -> Tensor:
        return Tensor(ops.astype(self.t, dtype))

    def float(self) -> Tensor:
        return self.cast("f32")

    def half(self) -> Tensor:
        return self.cast("f16")

    def int(self) -> Tensor:
        return self.cast("i32")

    def bool(self) -> Tensor:
        return self.cast("bool")

    # What makes tensors.
    @staticmethod
    def full(shape: Any, value: Any, dtype: Any = None, **_: Any) -> Tensor:
        return Tensor(ops.full(shape, value, dtype, device=here()))

    @staticmethod
    def zeros(*shape: Any, dtype: Any = "f32", **_: Any) -> Tensor:
        return Tensor(ops.zeros(shaped(shape), dtype, device=here()))

    @staticmethod
    def ones(*shape: Any, dtype: Any = "f32", **_: Any) -> Tensor:
        return Tensor(ops.ones(shaped(shape), dtype, device=here()))

    @staticmethod
    def empty(*shape: Any, dtype: Any = "f32", **_: Any) -> Tensor:
        return Tensor(ops.zeros(shaped(shape), dtype, device=here()))

    @staticmethod
    def eye(n: int, m: int | None = None, **_: Any) -> Tensor:
        return Tensor(ops.eye(n, m, device=here()))

    @staticmethod
    def arange(*bounds: Any, dtype: Any = None, **_: Any) -> Tensor:
        return Tensor(ops.arange(*bounds, dtype=dtype, device=here()))

    @staticmethod
    def linspace(start: Any, stop: Any, count: int, dtype: Any = "f32", **_: Any) -> Tensor:
        return Tensor(ops.linspace(start, stop, count, dtype, device=here()))

    @staticmethod
    def randn(*shape: Any, **_: Any) -> Tensor:
        return Tensor(ops.randn(shaped(shape), device=here()))

    def full_like(self, value: Any, dtype: Any = None) -> Tensor:
        return Tensor(ops.full_like(self.t, value, dtype=dtype))

    def zeros_like(self, dtype: Any = None, **_: Any) -> Tensor:
        return Tensor(ops.zeros_like(self.t, dtype=dtype))

    def ones_like(self, dtype: Any = None, **_: Any) -> Tensor:
        return Tensor(ops.ones_like(self.t, dtype=dtype))

    # Reductions and scans.
    def _fold(self, name: str, axis: Axes, keepdim: bool, **more: Any) -> Tensor:
        axis = None if not self.ndim and axis in (0, -1) else axis  # an element has such an axis in PyTorch
        return Tensor(getattr(ops, name)(self.t, None if axis == () else axis, keepdims=keepdim, **more))

    def sum(self, axis: Axes = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
        return self._fold("sum", axis, keepdim, dtype=dtype)

    def prod(self, axis: Axes = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
        return self._fold("prod", axis, keepdim, dtype=dtype)

    def mean(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        return self._fold("mean", axis, keepdim)

    def max(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        return self._fold("max", axis, keepdim)

    def min(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        return self._fold("min", axis, keepdim)

    def any(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        return self._fold("any", axis, keepdim)

    def all(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        return self._fold("all", axis, keepdim)

    def argmax(self, axis: Any = None, keepdim: bool = False) -> Tensor:
        return self._fold("argmax", axis, keepdim)

    def argmin(self, axis: Any = None, keepdim: bool = False) -> Tensor:
        return self._fold("argmin", axis, keepdim)

    def var(self, axis: Axes = None, keepdim: bool = False, correction: Any = 1) -> Tensor:
        return self._fold("var", axis, keepdim, correction=correction)

    def std(self, axis: Axes = None, keepdim: bool = False, correction: Any = 1) -> Tensor:
        return self._fold("std", axis, keepdim, correction=correction)

    def std_mean(self, axis: Axes = None, keepdim: bool = False, correction: Any = 1) -> tuple[Tensor, Tensor]:
        return self.std(axis, keepdim, correction), self.mean(axis, keepdim)

    def logsumexp(self, axis: Axes = None, keepdim: bool = False) -> Tensor:
        return self._fold("logsumexp", axis, keepdim)

    def softmax(self, axis: int = -1, dtype: Any = None) -> Tensor:
        return Tensor(ops.softmax(self.t, axis)) if self.ndim else self.ones_like()

    def log_softmax(self, axis: int = -1, dtype: Any = None) -> Tensor:
        return Tensor(ops.log_softmax(self.t, axis)) if self.ndim else self.zeros_like()

    def _scan(self, name: str, axis: int) -> Tensor:
        row = self if self.ndim else self.reshape(1)  # an element has an axis in PyTorch
        return Tensor(getattr(ops, name)(row.t, axis)).reshape(self.shape)

    def cumsum(self, axis: int = 0) -> Tensor:
        return self._scan("cumsum", axis)

    def cumprod(self, axis: int = 0) -> Tensor:
        return self._scan("cumprod", axis)

    def cummax(self, axis: int = 0) -> Tensor:
        return self._scan("cummax", axis)

    def cummin(self, axis: int = 0) -> Tensor:
        return self._scan("cummin", axis)

    def dot(self, other: Any) -> Tensor:
        return Tensor(ops.matmul(self.t, of(other)))

    matmul = dot

    @staticmethod
    def einsum(text: str, *operands: Any) -> Tensor:
        given = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
        return Tensor(ops.einsum(text, *[of(x) for x in given]))

    # Movement.
    def reshape(self, *shape: Any) -> Tensor:
        wanted = [self.shape[i] if n is None else n for i, n in enumerate(shaped(shape))]
        return Tensor(ops.reshape(self.t, wanted))

    view = reshape

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        first, last = ((n + self.ndim if n < 0 else n) for n in (start_dim, end_dim))
        if not self.ndim or not 0 <= first < self.ndim or not 0 <= last < self.ndim:
            return Tensor(ops.ravel(self.t)) if not self.ndim else self._refused(f"flatten({start_dim}, {end_dim})")
        shape = self.shape
        return self.reshape(*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])

    def _refused(self, call: str) -> Tensor:
        raise IndexError(f"{call} of {self.shape}")

    def unflatten(self, dim: int, sizes: Sequence[int]) -> Tensor:
        at = dim % self.ndim
        return self.reshape(*self.shape[:at], *sizes, *self.shape[at + 1 :])

    def permute(self, *order: Any) -> Tensor:
        return Tensor(ops.permute(self.t, shaped(order)))

    def transpose(self, one: int = 1, other: int = 0) -> Tensor:
        order = list(range(self.ndim))
        order[one], order[other] = order[other], order[one]
        return self.permute(order)

    def expand(self, *shape: Any) -> Tensor:
        given = shaped(shape)
        own = (1,) * (len(given) - self.ndim) + self.shape
        sizes = [n if wanted in (-1, None) else wanted for n, wanted in zip(own, given, strict=True)]
        return Tensor(ops.expand(self.t, sizes))

    def flip(self, *axes: Any) -> Tensor:
        return Tensor(ops.flip(self.t, shaped(axes)))

    def squeeze(self, dim: int | None = None) -> Tensor:
        if dim is None:
            return self.reshape(*[n for n in self.shape if n != 1]) if 1 in self.shape else self
        if not -max(1, self.ndim) <= dim < max(1, self.ndim):
            return self._refused(f"squeeze({dim})")
        return Tensor(ops.squeeze(self.t, dim)) if self.ndim and self.shape[dim] == 1 else self

    def unsqueeze(self, dim: int) -> Tensor:
        return Tensor(ops.expand_dims(self.t, dim))

    def cat(self, *others: Any, dim: int = 0) -> Tensor:
        return Tensor(ops.concat([self.t, *map(of, others)], dim))

    def stack(self, *others: Any, dim: int = 0) -> Tensor:
        given = list(self) if isinstance(self, list | tuple) else [self, *others]
        return Tensor(ops.stack([of(x) for x in given], dim))

    def repeat(self, *counts: Any) -> Tensor:
        return Tensor(ops.tile(self.t, shaped(counts)))

    def repeat_interleave(self, count: int, dim: int | None = None) -> Tensor:
        return Tensor(ops.repeat(self.t, count, axis=dim))

    def split(self, sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
        size = self.shape[dim]
        parts = [min(sizes, size - at) for at in range(0, size, sizes)] if isinstance(sizes, int) else sizes
        ends = np.cumsum([0, *parts]).tolist()
        before = (slice(None),) * (dim % self.ndim)
        return tuple(self[(*before, slice(begin, end))] for begin, end in pairwise(ends))

    def chunk(self, count: int, dim: int = 0) -> tuple[Tensor, ...]:
        return self.split(max(1, -(-self.shape[dim] // count)), dim)

    def roll(self, shifts: Any, dims: Any = None) -> Tensor:
        return Tensor(ops.roll(self.t, shifts, axis=dims))

    def triu(self, diagonal: int = 0) -> Tensor:
        return Tensor(ops.triu(self.t, k=diagonal))

    def tril(self, diagonal: int = 0) -> Tensor:
        return Tensor(ops.tril(self.t, k=diagonal))

    def diagonal(self) -> Tensor:
        return Tensor(ops.diagonal(self.t))

    def diag(self) -> Tensor:
        return Tensor(ops.mul(ops.eye(len(self), device=here()), self.t))

    def meshgrid(self, *others: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
        if indexing not in ("ij", "xy"):
            raise RuntimeError(indexing)
        given = [ops.reshape(of(x), (-1,)) for x in (self, *others)]
        return tuple(Tensor(t) for t in ops.meshgrid(*given, indexing=indexing))

    def gather(self, dim: int, index: Tensor) -> Tensor:
        """Torch's: an index has no more elements than the tensor along the other axes, which are cut."""
        at = dim % max(1, self.ndim)
        if len(index.shape) != self.ndim or any(
            n > m for i, (n, m) in enumerate(zip(index.shape, self.shape, strict=True)) if i != at
        ):
            raise RuntimeError(f"gather({dim}, {index.shape}) of {self.shape}")
        if not self.ndim:
            return self
        kept = [m if i == at else n for i, (n, m) in enumerate(zip(index.shape, self.shape, strict=True))]
        cut = ops.crop(self.t, [(0, n) for n in kept])
        return Tensor(ops.take_along_axis(cut, index.t, axis=dim))

    def sort(self, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
        order = self.argsort(dim, descending)
        return Tensor(ops.sort(self.t, axis=dim, descending=descending)), order

    def argsort(self, dim: int = -1, descending: bool = False) -> Tensor:
        return Tensor(ops.argsort(self.t, axis=dim, descending=descending))

    def topk(self, k: int, dim: int = -1, largest: bool = True, sorted_: bool = True) -> tuple[Tensor, Tensor]:
        if largest:
            values, places = ops.top_k(self.t, k, axis=dim)
            return Tensor(values), Tensor(places)
        if k > self.shape[dim]:
            self._refused(f"topk({k})")
        before = (slice(None),) * (dim % self.ndim)
        return tuple(t[(*before, slice(0, k))] for t in self.sort(dim))  # type: ignore[return-value]

    def one_hot(self, classes: int = -1) -> Tensor:
        classes = int(self.max().item()) + 1 if classes == -1 else classes
        return Tensor(ops.astype(ops.eq(ops.expand_dims(self.t, -1), ops.arange(classes, device=here())), "i32"))

    def pad(self, padding: Any, mode: str = "constant", value: Any = 0.0) -> Tensor:
        """Widths of the last axes first, in a row, or in pairs for all; below 0 they cut."""
        if padding and (padding[0] is None or isinstance(padding[0], list | tuple)):
            widths = [(0, 0) if w is None else tuple(w) for w in padding]
        else:
            if len(padding) % 2:
                raise ValueError(f"pad({padding})")
            widths = [(padding[i], padding[i + 1]) for i in range(0, len(padding), 2)][::-1]
            widths = [(0, 0)] * (self.ndim - len(widths)) + widths
        names = {"constant": value, "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
        if mode not in names:
            raise NotImplementedError(mode)
        if len(widths) != self.ndim:
            raise ValueError(f"pad({padding}) of {self.ndim} axes")
        wide = ops.pad(self.t, [(max(a, 0), max(b, 0)) for a, b in widths], names[mode])
        kept = [(max(-a, 0), n + a + b + max(-a, 0)) for n, (a, b) in zip(self.shape, widths, strict=True)]
        return Tensor(ops.crop(wide, kept))

    def unfold(self, dim: int, size: int, step: int) -> Tensor:
        if not -self.ndim <= dim < self.ndim:
            self._refused(f"unfold({dim})")
        if not 0 <= size <= self.shape[dim] or step <= 0:
            raise RuntimeError(f"unfold({dim}, {size}, {step}) of {self.shape}")
        if not size:
            raise NotOffered("unfold of nothing")
        t, at = ops.contiguous(self.t), dim % self.ndim
        modes = mode_layouts(t)
        near = modes[at].stride
        modes[at] = Layout((self.shape[at] - size) // step + 1, near * step)
        return Tensor(with_layout(t, [*modes, Layout(size, near)]))

    def __getitem__(self, key: Any) -> Tensor:
        entries = key if isinstance(key, tuple) else (key,)
        if any(isinstance(entry, list | tuple | np.ndarray | bool | Tensor) for entry in entries):
            raise NotOffered("indices that are arrays")
        return Tensor(ops.indexed(self.t, key))

    # Windows: a convolution and a pool see their input through a layout whose windows overlap.
    def windows(self, size: tuple[int, ...], stride: Any, dilation: Any) -> Any:
        """The tensor as (..., windows along each of the last axes, places in a window along each)."""
        count = len(size)
        steps, apart = pair(stride, count), pair(dilation, count)
        t = ops.contiguous(self.t)
        modes, sizes = mode_layouts(t), self.shape[-count:]
        kept = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(sizes, size, steps, apart, strict=True)]
        if min(kept) < 1:
            raise RuntimeError(f"windows of {size} in {self.shape}")
        strides = [int(np.ravel(mode.stride)[0]) for mode in modes[-count:]]
        over = [Layout(n, s * d) for n, s, d in zip(kept, steps, strides, strict=True)]
        inside = [Layout(k, s * d) for k, s, d in zip(size, apart, strides, strict=True)]
        return with_layout(t, [*modes[:-count], *over, *inside])

    def conv2d(
        self, weight: Tensor, bias: Any = None, groups: int = 1, stride: Any = 1, dilation: Any = 1, padding: Any = 0
    ) -> Tensor:
        count = self.ndim - 2
        if len(weight.shape) != self.ndim or self.shape[1] != groups * weight.shape[1]:
            raise RuntimeError(f"conv2d({self.shape}, {weight.shape}, groups={groups})")
        if not isinstance(padding, int) and len(padding) == 2 * count:
            widths = [(padding[i], padding[i + 1]) for i in range(0, 2 * count, 2)][::-1]
        else:
            widths = [(p, p) for p in pair(padding, count)]
        wide = self.pad([(0, 0), (0, 0), *widths]) if any(map(any, widths)) else self
        seen = wide.windows(weight.shape[2:], stride, dilation)
        batch, outputs = self.shape[0], weight.shape[0]
        over, letters = seen.shape[2 : 2 + count], "xyz"[:count]
        modes = mode_layouts(seen)
        channel = int(np.ravel(modes[1].stride)[0])
        each = weight.shape[1]
        split = with_layout(seen, [modes[0], Layout(groups, channel * each), Layout(each, channel), *modes[2:]])
        kernel = ops.reshape(weight.t, (groups, outputs // groups, *weight.shape[1:]))
        text = f"ngc{letters}{letters.upper()},goc{letters.upper()}->ngo{letters}"
        found = Tensor(ops.einsum(text, split, kernel)).reshape(batch, outputs, *over)
        return found if bias is None else found + Tensor(bias).reshape(1, -1, *[1] * count)

    def _pool(
        self, size: Any, stride: Any, dilation: Any, padding: Any, ceil_mode: bool, value: float
    ) -> tuple[Any, tuple[int, ...]]:
        """The windows of a pool over the last axes, and those axes."""
        count = 2 if isinstance(size, int) else len(size)
        sizes, steps, apart = pair(size, count), pair(size if stride is None else stride, count), pair(dilation, count)
        if not isinstance(padding, int) and len(padding) not in (count, 2 * count):
            raise ValueError(f"padding {padding} of {count} axes")
        if isinstance(padding, int) or len(padding) == count:
            around = [(p, p) for p in pair(padding, count)]
        else:
            around = [(padding[i], padding[i + 1]) for i in range(0, 2 * count, 2)][::-1]
        if ceil_mode:  # a last window may end beyond, if it begins inside
            for axis in range(count):
                n, (a, b), reach = self.shape[axis - count], around[axis], apart[axis] * (sizes[axis] - 1) + 1
                windows = -(-(n + a + b - reach) // steps[axis]) + 1
                windows -= (windows - 1) * steps[axis] >= n + a
                around[axis] = a, max(b, (windows - 1) * steps[axis] + reach - n - a)
        widths = [(0, 0)] * (self.ndim - count) + around
        wide = Tensor(ops.pad(self.t, widths, value)) if any(map(any, widths)) else self
        return wide.windows(sizes, steps, apart), tuple(range(-count, 0))

    def max_pool2d(
        self, kernel_size: Any = (2, 2), stride: Any = None, dilation: Any = 1, padding: Any = 0,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Tensor:  # fmt: skip
        if return_indices:
            raise NotOffered("indices of a pool")
        least = -math.inf if self.t.dtype.kind == "f" else int(np.iinfo(self.t.dtype.numpy).min)
        seen, axes = self._pool(kernel_size, stride, dilation, padding, ceil_mode, least)
        return Tensor(ops.max(seen, axes))

    def avg_pool2d(
        self, kernel_size: Any = (2, 2), stride: Any = None, dilation: Any = 1, padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
    ) -> Tensor:  # fmt: skip
        if ceil_mode and count_include_pad:
            raise NotOffered("an average that counts a part of what is around")
        seen, axes = self._pool(kernel_size, stride, dilation, padding, ceil_mode, 0)
        if count_include_pad:
            return Tensor(ops.mean(seen, axes))
        ones, _ = self.ones_like()._pool(kernel_size, stride, dilation, padding, ceil_mode, 0)
        return Tensor(ops.div(ops.sum(seen, axes), ops.sum(ones, axes)))

    # Elements: formulas.
    def isinf(self, detect_positive: bool = True, detect_negative: bool = True) -> Tensor:
        ends = [n for n, asked in ((math.inf, detect_positive), (-math.inf, detect_negative)) if asked]
        return Tensor(reduce(ops.logical_or, [ops.eq(self.t, end) for end in ends]))

    def isclose(self, other: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Tensor:
        return Tensor(ops.isclose(self.t, of(other), rtol=rtol, atol=atol, equal_nan=equal_nan))

    def where(self, one: Any, other: Any) -> Tensor:
        return Tensor(ops.where(self.t, of(one), of(other)))

    def masked_fill(self, mask: Any, value: Any) -> Tensor:
        return Tensor(ops.where(of(mask), of(value), self.t))

    def clip(self, low: Any = None, high: Any = None) -> Tensor:
        if low is None and high is None:
            raise RuntimeError("clip without bounds")
        return Tensor(ops.clip(self.t, of(low), of(high)))

    clamp = clip

    def div(self, other: Any, rounding_mode: str | None = None) -> Tensor:
        if rounding_mode is None:
            return self / other
        if rounding_mode == "floor":
            return self // other
        if rounding_mode != "trunc":
            raise RuntimeError(rounding_mode)
        whole = self.t.dtype.kind in "iub" and as_dtype(getattr(of(other), "dtype", "i32")).kind in "iub"
        return self.idiv(other) if whole and not isinstance(other, float) else (self / other).trunc()

    def idiv(self, other: Any) -> Tensor:
        below, rest = self // other, self % other
        return below + ((rest != 0) & ((self < 0) ^ Tensor(ops.lt(of(other), 0)))).cast(below.dtype)

    def lerp(self, end: Any, weight: Any) -> Tensor:
        return self + (Tensor(end) - self) * weight

    def softplus(self, beta: float = 1.0) -> Tensor:
        return Tensor(ops.softplus((self * beta).t)) * (1 / beta)

    def elu(self, alpha: float = 1.0) -> Tensor:
        return Tensor(ops.where(ops.gt(self.t, 0), self.t, (Tensor(ops.expm1(self.t)) * alpha).t))

    def celu(self, alpha: float = 1.0) -> Tensor:
        return self.relu() + (Tensor(ops.expm1((self / alpha).t)) * alpha).minimum(0.0)

    def selu(self, alpha: float = 1.67326, gamma: float = 1.0507) -> Tensor:
        return self.elu(alpha) * gamma

    def mish(self) -> Tensor:
        return self * self.softplus().tanh()

    def hardtanh(self, low: float = -1, high: float = 1) -> Tensor:
        return self.clip(low, high)

    def hardsigmoid(self, alpha: float = 1 / 6, beta: float = 0.5) -> Tensor:
        return (self * alpha + beta).clip(0, 1)

    def hardswish(self) -> Tensor:
        return self * (self + 3).clip(0, 6) * (1 / 6)

    def relu6(self) -> Tensor:
        return self.clip(0, 6)

    def leaky_relu(self, slope: float = 0.01) -> Tensor:
        return Tensor(ops.where(ops.lt(self.t, 0), (self * slope).t, self.t))

    def gelu(self) -> Tensor:
        return self * 0.5 * ((self + self**3 * 0.044715) * math.sqrt(2 / math.pi)).tanh() + self * 0.5

    def quick_gelu(self) -> Tensor:
        return self * (self * 1.702).sigmoid()

    def softsign(self) -> Tensor:
        return self / (self.abs() + 1)

    def logsigmoid(self) -> Tensor:
        return -(-self).softplus()

    def lshift(self, other: int) -> Tensor:
        return self << other

    def rshift(self, other: int) -> Tensor:
        return self >> other

    def scaled_dot_product_attention(
        self, key: Tensor, value: Tensor, attn_mask: Any = None, is_causal: bool = False, enable_gqa: bool = False
    ) -> Tensor:
        if is_causal and attn_mask is not None:
            raise RuntimeError("a mask of causes and another one")
        if enable_gqa:
            count = self.shape[-3] // key.shape[-3]
            key, value = (x.repeat_interleave(count, -3) for x in (key, value))
        scores = self.dot(key.transpose(-2, -1)) * (1 / math.sqrt(self.shape[-1]))
        if is_causal:
            attn_mask = Tensor(ops.tril(ops.ones(scores.shape[-2:], "bool", device=here())))
        if attn_mask is not None:
            bare = attn_mask.dtype.kind == "b"
            scores = scores.masked_fill(Tensor(ops.logical_not(attn_mask.t)), -math.inf) if bare else scores + attn_mask
        return scores.softmax(-1).dot(value)

    def binary_crossentropy(self, y: Tensor, reduction: str = "mean") -> Tensor:
        return self._reduced(-(y * self.log() + (1 - y) * (1 - self).log()), reduction)

    def binary_crossentropy_logits(self, y: Tensor, reduction: str = "mean", pos_weight: Any = None) -> Tensor:
        weight = 1 if pos_weight is None else pos_weight
        return self._reduced(-(y * self.logsigmoid() * weight + (1 - y) * (-self).logsigmoid()), reduction)

    def _reduced(self, loss: Tensor, reduction: str) -> Tensor:
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(reduction)
        return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def _method(name: str, swapped: bool = False) -> Callable[..., Tensor]:
    def call(self: Any, *others: Any) -> Tensor:
        given = [of(x) for x in (self, *others)]
        return Tensor(getattr(ops, name)(*(given[::-1] if swapped else given)))

    return call


ELEMENTS = (
    "exp exp2 log log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt rsqrt abs sign ceil floor"
    " trunc round neg reciprocal relu sigmoid silu isnan isfinite square erf logical_not bitwise_not maximum minimum"
    " logaddexp copysign bitwise_and bitwise_or bitwise_xor add sub mul mod pow"
)
OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv", "mod": "mod", "pow": "power",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
    "matmul": "matmul",
}  # fmt: skip
for _name in ELEMENTS.split():
    setattr(Tensor, _name, _method(_name))
for _name, _own in OPERATORS.items():
    setattr(Tensor, f"__{_name}__", _method(_own))
    setattr(Tensor, f"__r{_name}__", _method(_own, swapped=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", _method(_name))
Tensor.__neg__, Tensor.__invert__, Tensor.__abs__ = _method("neg"), _method("bitwise_not"), _method("abs")  # type: ignore
Tensor.swish, Tensor.clone = _method("silu"), Tensor.realize  # type: ignore
Tensor.__hash__ = object.__hash__  # type: ignore[method-assign]


def here() -> Any:
    """The device of the tests, or None for the host."""
    return gpu.default_device() if home is gpu.array else None


def _modules(device: bool) -> dict[str, ModuleType]:
    """What test_ops.py imports, by this module."""
    names = {"float": "f32", "half": "f16", "int": "i32", "default_float": "f32", "default_int": "i32", "double": "f64"}
    names |= {n: f"{n[0]}{n.lstrip('uintfloa')}" for n in "int8 int16 int32 int64 float16 float32 float64".split()}
    names |= {n: f"u{n[4:]}" for n in "uint8 uint16 uint32 uint64".split()} | {"bool": "bool"}
    dtypes = SimpleNamespace(**{name: as_dtype(short) for name, short in names.items()})
    dtypes.bfloat16, dtypes.uchar = "bfloat16", dtypes.uint8
    limits = {"max": "max", "min": "min"}
    for name in limits:
        setattr(dtypes, name, lambda d, name=name: getattr((np.finfo if d.kind == "f" else np.iinfo)(d.numpy), name))
    found = {n: ModuleType(n) for n in ("tinygrad", *(f"tinygrad.{m}" for m in ("helpers", "tensor", "device")))}
    found |= {n: ModuleType(n) for n in ("tinygrad.renderer", "tinygrad.renderer.nir")}
    found["tinygrad"].__dict__.update(Tensor=Tensor, Device=SimpleNamespace(DEFAULT="CUTEPY"), dtypes=dtypes)
    helpers = dict.fromkeys(("IMAGE", "DEBUG", "TRANSCENDENTAL", "DEVECTORIZE", "CPU_LLVM", "AMD_LLVM", "EMULATE"), 0)
    found["tinygrad.helpers"].__dict__.update(helpers, CI=1, OSX=False, Context=_Context, getenv=_getenv)
    found["tinygrad.tensor"].__dict__.update(_to_np_dtype=lambda d: d.numpy)
    supported = [d for d in vars(dtypes).values() if hasattr(d, "numpy") and (d.on_gpu or not device)]
    found["tinygrad.device"].__dict__.update(is_dtype_supported=lambda d: d in supported)
    found["tinygrad.renderer.nir"].__dict__.update(NIRRenderer=type("NIRRenderer", (), {}))
    return found


class _Context:
    def __init__(self, **_: Any) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def _getenv(name: str, default: Any = 0) -> Any:
    return type(default)(os.environ.get(name, default))


BY_DESIGN = {
    "test_cast": "a float beyond the range of an integer is clamped, as in WGSL; C, and so PyTorch, leaves it open",
}
"""Tests whose values differ by a stated decision."""


class _Outcomes(unittest.TestResult):
    """The outcome of each test: what its first failure was."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        self.row, self.worst = row, ""
        self.missing: Counter[str] = Counter()
        self.others: list[str] = []

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.worst = ""

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        outcome, _, words = (self.worst or "right").partition(": ")
        self.row.add(outcome, f"{test.id().split('.')[-1]}: {words}")
        if outcome == "not offered":
            self.missing[words] += 1
        elif outcome != "right":
            self.others.append(f"{outcome}: {test.id().split('.')[-1]}: {words}")

    def _seen(self, test: unittest.TestCase, error: Any) -> None:
        if self.worst:
            return
        kind, value, _trace = error
        name, words = test.id().split(".")[-1], " ".join(str(value).split())[:200]
        if kind is NotOffered:
            self.worst = f"not offered: {words}"
        elif isinstance(value, CutepyError):
            self.worst = f"refused: {words}"
        elif kind is AssertionError and "not raised" in words:
            self.worst = "not refused where PyTorch refuses: as NumPy"
        else:
            self.worst = f"by design: {BY_DESIGN[name]}" if name in BY_DESIGN else f"wrong: {kind.__name__}: {words}"

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        self._seen(test, err)

    addFailure = addError

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._seen(test, err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.worst = f"skipped by the suite: {reason}"


def tinygrad_ops(path: str, *, device: bool = False, verbose: bool = False) -> Row:
    """tinygrad's tests of operations, forward, on the host or on a device."""
    global home
    name = f"tinygrad's test_ops.py, {'device' if device else 'host'}"
    if (row := missing(name, "torch", "torch")) is not None:
        return row
    row, home = Row(name), gpu.array if device else make_tensor
    os.environ["FORWARD_ONLY"] = "1"
    sys.modules.update(_modules(device))
    spec = importlib.util.spec_from_file_location("test_ops", Path(path))
    assert spec is not None and spec.loader is not None
    tests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tests)

    def refuses(
        self: Any, shps: Any, torch_fxn: Any, tinygrad_fxn: Any = None, expected: Any = None, **how: Any
    ) -> None:
        """What raises in PyTorch raises here; what does not any more is not asked."""
        how = {key: value for key, value in how.items() if key in ("vals", "low", "high")}
        ts, tst = tests.prepare_test_op(how.get("low", -1.5), how.get("high", 1.5), shps, how.get("vals"), True)
        try:
            torch_fxn(*ts)
        except expected:
            self.assertRaises(expected, tinygrad_fxn or torch_fxn, *tst)

    def raises(self: Any, expected: Any, *given: Any, **how: Any) -> Any:
        """A refusal is one, by whatever kind of error."""
        kinds = expected if isinstance(expected, tuple) else (expected,)
        return unittest.TestCase.assertRaises(self, (*kinds, CutepyError), *given, **how)

    tests.TestOps.assertRaises = raises
    tests.TestOps.assertRaisesRegex = lambda self, expected, _words: self.assertRaises(expected)
    tests.TestOps.helper_test_exception = refuses
    outcomes = _Outcomes(row)
    unittest.defaultTestLoader.loadTestsFromModule(tests).run(outcomes)
    if verbose:
        for words, count in outcomes.missing.most_common():
            print(f"  not offered: {words} ({count} tests)")
        for words in outcomes.others:
            print(f"  {words}")
    return row
