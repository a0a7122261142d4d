"""Random calls of the operations on whole tensors, each with what NumPy gives for it in float64."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from cutepy import gpu, ops
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.tensor import Tensor, make_tensor

TYPES = ("float32", "float32", "float16", "int32", "uint32", "bool")
FORMULAS: dict[str, tuple[Callable[..., object], str]] = {
    "a + alpha * b": (lambda a, alpha, b: a + alpha * b, "fi"),
    "a if a > b else 2 * b": (lambda a, b: np.where(a > b, a, 2 * b), "fi"),
    "a > b": (lambda a, b: a > b, "fi"),
    "max(a, -b)": (lambda a, b: np.maximum(a, -b), "f"),
    "a * a - b ** 3": (lambda a, b: a * a - b**3, "fi"),
    "exp(-abs(a)) / sqrt(1 + b * b)": (lambda a, b: np.exp(-np.abs(a)) / np.sqrt(1 + b * b), "f"),
    "where(~(a < b) & (a != 0), f32(a), 0.5)": (lambda a, b: np.where(~(a < b) & (a != 0), a, 0.5), "fi"),
}


@dataclass
class Case:
    """`run(engine)` gives `wanted`, exactly or within `tolerance` of the type's rounding, relative to `scale`."""

    name: str
    run: Callable[[str], object]
    wanted: np.ndarray
    tolerance: float = 0.0
    scale: np.ndarray | float = 0.0

    def check(self, engine: str) -> None:
        got = self.run(engine)
        found = got.numpy() if isinstance(got, Tensor) else np.asarray(got)
        assert found.shape == self.wanted.shape and found.dtype == self.wanted.dtype, f"{self}: {found.dtype} {found}"
        with np.errstate(all="ignore"):
            if self.tolerance:
                one, other = found.astype(np.float64), self.wanted.astype(np.float64)
                near = np.abs(one - other) <= self.tolerance * np.maximum(np.abs(other), self.scale)
                same = near | (one == other) | (np.isnan(one) & np.isnan(other))
                assert same.all(), f"{self}: {found}"
            else:
                np.testing.assert_array_equal(found, self.wanted, err_msg=self.name)


def values(g: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype == "bool":
        return g.random(shape) < 0.5
    if np.dtype(dtype).kind == "f":
        return (4 * g.standard_normal(shape)).astype(dtype)
    return g.integers(0 if dtype == "uint32" else -9, 9, shape).astype(dtype)


def view(g: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """An array of this shape in some order of storage, with steps, reversed axes or repeated ones."""
    steps = [int(g.choice([1, 1, 1, 2, -1])) for _ in shape]
    order = g.permutation(len(shape))
    stored = values(g, tuple(abs(steps[axis]) * shape[axis] for axis in order), dtype)
    array = stored.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    array = array[tuple(slice(0, size) for size in shape)]
    if shape and g.random() < 0.15:
        axis = int(g.integers(len(shape)))
        array = np.broadcast_to(array.take([0], axis), shape)
    return np.asarray(array)


def shape_of(g: np.random.Generator, largest: int = 40) -> tuple[int, ...]:
    rank = int(g.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]))
    room, sizes = 6000, []
    for _ in range(rank):
        sizes.append(int(g.integers(1, max(2, min(largest * (8 if rank == 1 else 1), room)))))
        room //= sizes[-1]
    return tuple(sizes)


def pointwise_case(seed: int) -> Case:
    g = np.random.default_rng(seed)
    text = list(FORMULAS)[seed % len(FORMULAS)]
    function, kinds = FORMULAS[text]
    dtype = str(g.choice([t for t in TYPES if np.dtype(t).kind in kinds]))
    shape = shape_of(g)
    other = tuple(1 if g.random() < 0.2 else size for size in shape[int(g.integers(0, len(shape) + 1)) :])
    a, b = view(g, shape, dtype), view(g, other, dtype)
    operands: dict[str, object] = {"a": a, "b": b}
    if "alpha" in text:
        operands["alpha"] = 2.5 if dtype.startswith("f") else -3
    wide = {k: v.astype(np.float32) if dtype == "float16" and k != "alpha" else v for k, v in operands.items()}
    with np.errstate(all="ignore"):
        wanted = np.asarray(function(**wide))
    if wanted.dtype.kind == "f":
        wanted = wanted.astype(dtype if dtype == "float16" and "f32(" not in text else "float32")
    exact = wanted.dtype.kind != "f"
    operation = gpu.pointwise(text)
    return Case(
        f"{text} of {dtype} {shape} {other}",
        lambda engine: operation(**operands, engine=engine),
        wanted,
        0 if exact else (2e-3 if wanted.dtype == np.float16 else 1e-5),
        0 if exact else np.abs(np.asarray(wide["a"], np.float64)).max(initial=1) ** 2,
    )


def copy_case(seed: int) -> Case:
    g = np.random.default_rng(seed)
    shape, dtype = shape_of(g), str(g.choice(TYPES))
    source = view(g, shape, dtype)
    order = g.permutation(len(shape))
    store = np.zeros(tuple(shape[axis] for axis in order), dtype).transpose(np.argsort(order))
    if g.random() < 0.3:
        store = np.zeros((source.size,), dtype)
    wanted = source.ravel(order="F").reshape(store.shape, order="F")

    def run(engine: str) -> np.ndarray:
        target = store.copy(order="K")
        gpu.copy(source, make_tensor(target), engine=engine)
        return target

    return Case(f"copy {dtype} {shape} {source.strides} to {store.strides}", run, wanted)


def reduction_case(seed: int) -> Case:
    g = np.random.default_rng(seed)
    name = ("sum", "prod", "max", "min", "mean", "argmax", "argmin")[seed % 7]
    dtype = str(g.choice([t for t in TYPES if t != "bool" or name[-3:] in ("max", "min")]))
    shape = shape_of(g, 60)
    x = view(g, shape, dtype)
    if name[-3:] in ("max", "min") and x.dtype.kind == "f" and g.random() < 0.4:
        x = np.where(g.random(shape) < 0.1, g.choice([np.nan, np.inf, -np.inf], shape), x).astype(dtype)
    if name == "prod" and x.dtype.kind == "f":
        x = (1 + x / 64).astype(dtype)
    axes: object = None
    if shape and g.random() < 0.8:
        axes = tuple(int(a) for a in g.permutation(len(shape))[: int(g.integers(1, len(shape) + 1))])
        axes = axes[0] if name.startswith("arg") or len(axes) == 1 else axes
    keep = axes is not None and bool(g.random() < 0.3)
    wide = x.astype(np.float64) if x.dtype.kind == "f" or name == "mean" else x
    with np.errstate(all="ignore"):
        options = {"dtype": x.dtype} if name in ("sum", "prod") and x.dtype.kind in "iu" else {}
        wanted = np.asarray(getattr(np, name)(wide, axis=axes, keepdims=keep, **options))
        scale = np.sum(np.abs(wide), axis=axes, keepdims=keep) if name == "sum" else np.abs(wanted).max(initial=1)
    kind = "int32" if name.startswith("arg") else x.dtype if x.dtype.kind == "f" or name != "mean" else "float32"
    rounded = name in ("sum", "prod", "mean") and (x.dtype.kind == "f" or name == "mean")
    return Case(
        f"{name} of {dtype} {shape} over {axes}",
        lambda engine: getattr(ops, name)(x, axes, keepdims=keep, engine=engine),
        wanted.astype(kind),
        (2e-3 if kind == np.float16 else 2e-5 if name == "prod" else 2e-6) if rounded else 0,
        scale if rounded else 0,
    )


def softmax_case(seed: int) -> Case:
    g = np.random.default_rng(seed)
    shape = shape_of(g, 60) or (3,)
    x = view(g, shape, str(g.choice(["float32", "float32", "float16"])))
    axis = int(g.integers(-len(shape), len(shape)))
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    wanted = (e / e.sum(axis, keepdims=True)).astype(x.dtype)
    tolerance = 2e-3 if x.dtype == np.float16 else 2e-5
    return Case(
        f"softmax {shape} along {axis}", lambda engine: ops.softmax(x, axis, engine=engine), wanted, tolerance, 0.1
    )


FAMILIES: dict[str, Callable[[int], Case]] = {
    "pointwise": pointwise_case,
    "copy": copy_case,
    "reduction": reduction_case,
    "softmax": softmax_case,
}


@dataclass(frozen=True)
class Recorded:
    """One run of a kernel."""

    kernel: KernelFunction
    arguments: tuple[object, ...]
    static: dict[str, object]

    def wgsl(self, dialect: str) -> str:
        return self.kernel.wgsl(*self.arguments, dialect=dialect, **self.static)


@contextlib.contextmanager
def recorded() -> Iterator[list[Recorded]]:
    """Every kernel that the interpreter runs inside the block."""
    runs: list[Recorded] = []
    whole = KernelFunction.interpret

    def interpret(self: KernelFunction, *arguments: object, **static: object) -> None:
        runs.append(Recorded(self, arguments, static))
        whole(self, *arguments, **static)

    KernelFunction.interpret = interpret  # type: ignore[method-assign]
    try:
        yield runs
    finally:
        KernelFunction.interpret = whole  # type: ignore[method-assign]
