"""Kernels of packed words, and NumPy's answers."""

from typing import Any

import numpy as np

from cutepy import gpu
from cutepy.layout import _
from cutepy.tensor import Tensor, copy, local_tile, make_fragment_like, make_tensor, recast
from cutepy.tensor.functions import IN_KERNELS, Word

Array = np.ndarray[Any, Any]
WORDS = [f for f in IN_KERNELS.values() if isinstance(f, Word)]
KINDS = {"u8": np.uint8, "i8": np.int8, "u16": np.uint16, "i16": np.int16, "f16": np.float16}
BITS = {"i4": 4, "u4": 4, "i8": 8, "u8": 8, "i16": 16, "u16": 16, "f16": 16, "i32": 32, "f32": 32}
SMALL_FLOATS = {"bf16": 16, "e5m2": 8, "e4m3": 8}
BITS |= SMALL_FLOATS


def parts(words: Array, name: str) -> Array:
    """The elements of words of 32 bits, in order."""
    if BITS[name] == 4:
        fields = (words[:, None] >> np.arange(0, 32, 4, dtype=np.uint32)) & 15
        return ((fields.astype(np.int32) ^ 8) - 8 if name == "i4" else fields).ravel()
    if name == "bf16":  # f32 cut short
        return (words.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if name == "e5m2":  # f16 cut short
        return (words.view(np.uint8).astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    if name == "e4m3":
        bits = words.view(np.uint8).astype(int)
        exponent, fraction = bits >> 3 & 15, bits & 7
        numbers = np.ldexp(fraction + 8.0 * (exponent > 0), np.maximum(exponent, 1) - 10)
        return np.where(bits & 127 == 127, np.nan, np.where(bits > 127, -numbers, numbers)).astype(np.float32)
    found = words.view({"i32": np.int32, "f32": np.float32, **KINDS}[name])
    return found.astype({"i": np.int32, "u": np.uint32}.get(name[0], np.float32))


def operands(function: Word, count: int = 4096) -> list[Array]:
    """Operands of a function of words: for packed ones, every byte among them."""
    g = np.random.default_rng(len(function.name))
    kind = {"u": np.uint32, "i": np.int32, "f": np.float32}[function.takes]
    if kind is np.float32:
        edges = np.array([0, -0.0, 1, -1, 0.5, 2, -3, 1 / 254, 3 / 510, 65504, 6e-8], np.float32)
        return [
            np.concatenate([g.uniform(-1.2, 1.2, count).astype(kind), np.roll(edges, i)]) for i in range(function.arity)
        ]
    low, high = (-(1 << 31), (1 << 31) - 1) if kind is np.int32 else (0, (1 << 32) - 1)
    return [g.integers(low, high, count, kind, endpoint=True) for i in range(function.arity)]


@gpu.kernel
def applied(values: tuple[Tensor, ...], out: Tensor, *, name: str) -> None:
    """out[i] = the function of element i of each, with its values side by side."""
    count = values[0].size
    gpu.launch(grid=-(-count // 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    with gpu.when(i < count):
        found = getattr(gpu, name)(*[v[i] for v in values])
        for j, one in enumerate(found if isinstance(found, tuple) else (found,)):
            out[i, j] = one


@gpu.kernel
def spread(words: Tensor, out: Tensor, *, kind: str, through: str) -> None:
    """out = the elements that the words hold, by way of registers or of shared memory."""
    gpu.launch(grid=-(-words.size // 64), threads=32)
    mine = local_tile(words, (64,), (gpu.workgroup.x,))
    per = 32 // BITS[kind]
    if through == "memory":
        staged = gpu.shared("u32", (64,))
        for k in gpu.unroll(2):
            staged[gpu.thread * 2 + k] = mine[gpu.thread * 2 + k] if words.size % 64 == 0 else 0
        gpu.barrier()
        source = local_tile(recast(staged, kind), (2 * per,), (gpu.thread,))
    elif through == "registers":
        held = make_tensor("u32", (2,))
        copy(local_tile(mine, (2,), (gpu.thread,)), held)
        source = recast(held, kind)
    else:
        source = local_tile(recast(words, kind), (2 * per,), (gpu.workgroup.x * 32 + gpu.thread,))
    target = local_tile(out, (2 * per,), (gpu.workgroup.x * 32 + gpu.thread,))
    fragment = make_fragment_like(source, out.dtype)
    copy(source, fragment)
    copy(fragment, target)


@gpu.kernel
def one_by_one(words: Tensor, at: Tensor, out: Tensor, *, kind: str) -> None:
    """out[i] = element at[i] of the words."""
    gpu.launch(grid=1, threads=at.size)
    seen = recast(words, kind)
    out[gpu.thread] = seen[gpu.minimum(at[gpu.thread], seen.size - 1)]


@gpu.kernel
def joined(values: Tensor, words: Tensor, *, kind: str) -> None:
    """The words that hold the values, as many a thread as one word has."""
    gpu.launch(grid=1, threads=words.size)
    per = 32 // BITS[kind]
    target = local_tile(recast(words, kind), (per,), (gpu.thread,))
    copy(local_tile(values, (per,), (gpu.thread,)), target)


@gpu.kernel
def matvec(weights: Tensor, scales: Tensor, x: Tensor, y: Tensor) -> None:
    """y = (weights * scales by groups of 32 columns) @ x, int4 or int8 weights (rows, columns); a subgroup's worth of
    threads a row."""
    rows, columns = weights.shape
    gpu.launch(grid=rows, threads=32)
    row = weights(gpu.workgroup.x, _)
    total = 0.0
    for k in gpu.loop(columns // 256):
        w, v = (local_tile(t, (8,), (k * 32 + gpu.thread,)) for t in (row, x))
        part = 0.0
        for j in gpu.unroll(8):
            part = part + gpu.cast(w[j], "f32") * gpu.cast(v[j], "f32")
        total = total + part * scales[gpu.workgroup.x, (k * 32 + gpu.thread) // 4]
    found = gpu.workgroup_reduce(total)
    with gpu.when(gpu.thread == 0):
        y[gpu.workgroup.x] = found
