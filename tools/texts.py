"""The WGSL of the library's own operations over many shapes, written to a folder, to compare two commits byte by byte.

    python tools/texts.py write FOLDER [--only sum,softmax]
                                              one file a launch, named by the call and the number of the launch
    python tools/texts.py compare OLD NEW     the files that differ or are missing; exit status 1 where there are any

Nothing runs: each launch is printed instead, so results that a later launch reads hold zeros.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np

from cutepy import Layout, Swizzle, composition, gpu, make_tensor, ops
from cutepy.gpu.matmul import cost_model
from cutepy.gpu.operations import operand

SHAPES = (
    *((1,), (7,), (64,), (1000,), (4096,), (70_001,), (1 << 22,)),
    *((3, 5), (64, 64), (70, 300), (300, 70), (5, 4096), (4096, 5), (2, 40_000), (40_000, 2), (2048, 2048)),
    *((513, 1025), (2, 3, 4), (8, 64, 32), (5, 7, 300), (4, 1, 1000), (2, 3, 4, 5), (1, 1 << 20), (16, 1, 64, 3)),
)
"""Shapes of operands of reductions, scans, softmax, copies and formulas."""
PRODUCTS = (
    *((64, 64, 32), (70, 33, 17), (1, 1, 1), (13, 150, 40), (256, 256, 256), (4, 512, 1024), (1024, 1, 300)),
    *((1, 1024, 300), (128, 10, 4096), (1000, 1000, 1000)),
)
"""(m, n, k) of matrix products."""
FOLDS = ("sum", "mean", "max", "any", "argmax", "argmin", "logsumexp", "var")


def views(shape: tuple[int, ...], dtype: str) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays of a shape: in C order, in Fortran's order, and each second element of the last axis."""
    yield "c", np.zeros(shape, dtype)
    if len(shape) > 1 and np.prod(shape) < 1 << 20:
        yield "f", np.zeros(shape, dtype, "F")
        yield "step", np.zeros((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]


def calls() -> Iterator[tuple[str, Callable[[], object]]]:
    """Each call with its name."""
    at = "interpreter"
    for shape, dtype in itertools.product(SHAPES, ("f4", "f2", "i4")):
        if dtype != "f4" and np.prod(shape) > 1 << 20:
            continue
        for order, x in views(shape, dtype):
            name = f"{dtype} {'x'.join(map(str, shape))} {order}"
            axes = [None, 0, len(shape) - 1] if len(shape) > 1 else [None]
            for fold, axis in itertools.product(FOLDS if dtype == "f4" else ("sum", "max", "argmax", "var"), axes):
                yield f"{fold} {name} {axis}", lambda f=fold, x=x, a=axis: getattr(ops, f)(x, a, engine=at)
            if dtype != "i4":
                yield f"norm {name}", lambda x=x: ops.norm(x, -1, order=2, engine=at)
                yield f"softmax {name}", lambda x=x: ops.softmax(x, -1, engine=at)
                yield f"softmax0 {name}", lambda x=x: ops.softmax(x, 0, engine=at)
            yield f"cumsum {name}", lambda x=x: ops.cumsum(x, -1, engine=at)
            yield f"cumprod0 {name}", lambda x=x: ops.cumprod(x, 0, engine=at)
            y = np.zeros(shape[-1:], dtype)
            yield f"axpy {name}", lambda x=x, y=y: gpu.pointwise("a + s * b")(x, 2.0, y, engine=at)
            yield f"to order C {name}", lambda x=x: gpu.copy(x, make_tensor(np.zeros(x.shape, x.dtype)), engine=at)
            yield f"as f4 {name}", lambda x=x: ops.astype(x, "f32", engine=at)
    tile = make_tensor(np.zeros(64 * 64, "f4"), composition(Swizzle(3, 2, 3), Layout((64, 64), (64, 1))))
    for fold in FOLDS:
        yield f"{fold} swizzled", lambda f=fold: getattr(ops, f)(tile, 1, engine=at)
    yield "softmax swizzled", lambda: ops.softmax(tile, engine=at)
    yield "cumsum swizzled", lambda: ops.cumsum(tile, 1, engine=at)
    few = *cost_model.PLANS_OF_FEW_ROWS[False], *cost_model.PLANS_OF_FEW_ROWS[True], *cost_model.PLANS_OF_SHORT_K
    fma = *cost_model.PLANS, cost_model.SQUARE, cost_model.SKINNY, *few, *cost_model.PLANS_OF_ONE_ROW
    matrices = [pace.plan for pace in cost_model.PACES]
    for m, n, k in PRODUCTS:
        for dtype in ("f4", "f2", "i4"):
            a, b, turned = np.zeros((m, k), dtype), np.zeros((k, n), dtype), np.zeros((n, k), dtype).T
            name = f"matmul {dtype} {m}x{n}x{k}"
            yield name, lambda a=a, b=b: ops.matmul(a, b, engine=at)
            yield f"{name} turned", lambda a=a, b=turned: ops.matmul(a, b, engine=at)
        a, b, halves = (
            np.zeros((m, k), "f4"),
            np.zeros((n, k), "f4").T,
            (np.zeros((m, k), "f2"), np.zeros((k, n), "f2")),
        )
        for number, plan in enumerate(fma):
            if max(m, n, k) <= 1024:
                yield f"{name} plan {number}", lambda p=plan, a=a, b=b: ops.matmul(a, b, plan=p, engine=at)
        for number, plan in enumerate(matrices):
            yield f"{name} matrices {number}", lambda p=plan, h=halves: ops.matmul(*h, plan=p, engine=at)
        bias = np.zeros(n, "f4")
        fused = lambda a=a, b=b, bias=bias: ops.matmul(a, b, epilogue="max(c + bias, 0)", bias=bias, engine=at)  # noqa: E731
        yield f"{name} epilogue", fused
    x = np.zeros((5, 64, 32), "f4")
    yield "batched", lambda: ops.matmul(x, np.zeros((32, 48), "f4"), engine=at)
    yield "einsum", lambda: ops.einsum("bik,bjk->bij", x, x.copy(), engine=at)
    yield "einsum of copies", lambda: ops.einsum("iik,jk->ij", np.zeros((6, 6, 9), "f4"), x[0, :, :9], engine=at)
    yield "summed", lambda: ops.fused_multiply_add(x, x[:, :1].copy(), (1,), engine=at)
    long = np.zeros((300, 70_000), "f4")
    yield "rows of splits", lambda: ops.matmul(long[:4], long[:9].copy().T, engine=at)
    yield "bytes", lambda: ops.matmul(np.zeros((64, 64), "i1"), np.zeros((64, 64), "i1"), sums="i32", engine=at)


def write(folder: Path, only: tuple[str, ...] = ("",)) -> None:
    """Print every launch of every call to a file of its own; `only` are beginnings of the calls' names."""
    folder.mkdir(parents=True, exist_ok=True)
    known: set[str] = set()
    for wide, (name, call) in itertools.product((False, True), calls()):
        if not name.startswith(only):
            continue
        if wide and not name.startswith(("sum", "max", "mean", "norm", "batched")):
            continue
        texts: list[str] = []

        def printed(self: gpu.KernelFunction, *args: object, texts: list[str] = texts, **static: object) -> None:
            texts.append(str(self.wgsl(*args, **static)))

        threads = property(lambda _, wide=wide: 1024 if wide else 256)  # what a device's workgroup may have
        with (
            patch.object(gpu.KernelFunction, "interpret", printed),
            patch.object(type(operand.place_of("", "interpreter", ())), "most_threads", threads),
        ):
            call()
        for number, text in enumerate(texts):
            (folder / f"{name.replace(' ', '_')}{'_wide' * wide}_{number}.wgsl").write_text(text)
        known.update(texts)
    print(f"{len(list(folder.iterdir()))} launches, {len(known)} different texts")


def compare(old: Path, new: Path) -> int:
    """Print what differs between two folders. Returns how many files do."""
    names = sorted({path.name for folder in (old, new) for path in folder.iterdir()})
    different = 0
    for name in names:
        one, other = ((folder / name).read_text() if (folder / name).exists() else "" for folder in (old, new))
        if one != other:
            different += 1
            if different <= 5:
                lines = one.splitlines(), other.splitlines()
                print(*[*difflib.unified_diff(*lines, f"old/{name}", f"new/{name}", lineterm="", n=1)][:40], sep="\n")
    print(f"{different} of {len(names)} launches differ")
    return different


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("write", "compare"))
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="beginnings of names of calls, with commas between them")
    asked = parser.parse_args()
    if asked.verb == "compare":
        sys.exit(bool(compare(*asked.folders)))
    write(*asked.folders, tuple(asked.only.split(",")))
