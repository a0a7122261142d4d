"""Kernels of atomics, and what they must give whatever the order."""

from cutepy import gpu
from cutepy.tensor import Tensor


@gpu.kernel
def summed(keys: Tensor, values: Tensor, out: Tensor, olds: Tensor, *, op: str, shared: bool) -> None:
    """out[keys[i]] op= values[i]."""
    gpu.launch(grid=keys.size // 64, threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    bins = out.size
    update = getattr(gpu, f"atomic_{op}")
    key = gpu.minimum(keys[i], bins - 1)
    if shared:
        held = gpu.shared(out, (bins,))
        for k in gpu.loop(bins, start=gpu.thread, step=64):
            held[k] = gpu.constant(0, out.dtype)
        gpu.barrier()
        olds[i] = update(held, key, values[i])
        gpu.barrier()
        for k in gpu.loop(bins, start=gpu.thread, step=64):
            update(out, k, held[k])
    else:
        olds[i] = update(out, key, values[i])


@gpu.kernel
def locked(keys: Tensor, table: Tensor, wins: Tensor) -> None:
    """A set of keys in a table of their hashes: each slot is taken once, by the thread that finds it 0."""
    gpu.launch(grid=keys.size // 64, threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    key, placed = keys[i], gpu.constant(0, "u32")
    for probe in gpu.loop(table.size):
        if placed == 0:
            slot = (key + probe) % table.size
            old, done = gpu.atomic_compare_exchange(table, slot, 0, key)
            if done:
                placed = gpu.constant(1, "u32")
            if old == key:
                placed = gpu.constant(2, "u32")
    wins[i] = placed


@gpu.kernel
def floats(x: Tensor, y: Tensor) -> None:
    """Every other operation of a float, by one thread."""
    gpu.launch(threads=1)
    gpu.atomic_store(y, 0, x[0])
    y[1] = gpu.atomic_load(y, 0)
    y[2] = gpu.atomic_exchange(y, 0, x[1])
    old, done = gpu.atomic_compare_exchange(y, 0, x[1], x[2])
    y[3], y[4] = old, gpu.cast(done, "f32")
    old, done = gpu.atomic_compare_exchange(y, 0, x[1], x[3])
    y[5], y[6] = old, gpu.cast(done, "f32")
    gpu.atomic_sub(y, 0, 0.5)
