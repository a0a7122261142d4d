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


@gpu.kernel
def looked_back(
    x: Tensor, out: Tensor, sums: Tensor, flags: Tensor, ticket: Tensor, *, turns: int, ahead: bool
) -> None:
    """out = the running sum of x, a tile a workgroup: each waits for the sum of those before it, by its ticket.

    `ahead` makes each wait for the next one, which is wrong.
    """
    gpu.launch(grid=x.size // 64, threads=64)
    mine, before = gpu.shared("u32", 1, name="mine"), gpu.shared(x, 1, name="before")
    with gpu.when(gpu.thread == 0):
        mine[0] = gpu.atomic_add(ticket, 0, 1)
    gpu.barrier()
    tile = mine[0]
    v = x[gpu.minimum(tile * 64 + gpu.thread, x.size - 1)]
    running, total = gpu.workgroup_scan(v), gpu.workgroup_reduce(v)
    with gpu.when(gpu.thread == 0):
        before[0] = gpu.constant(0, x.dtype)
        wanted = tile + 1 if ahead else tile
        if wanted > 0:
            other = gpu.minimum(wanted, flags.size) - 1 if not ahead else gpu.minimum(wanted, flags.size - 1)
            ready = gpu.constant(0, "u32")
            for _turn in gpu.loop(turns):
                if ready == 0:
                    ready = gpu.atomic_load(flags, other)
            before[0] = gpu.atomic_load(sums, other)
        gpu.atomic_store(sums, gpu.minimum(tile, sums.size - 1), before[0] + total)
        gpu.atomic_store(flags, gpu.minimum(tile, flags.size - 1), 1)
    gpu.barrier()
    out[gpu.minimum(tile * 64 + gpu.thread, out.size - 1)] = before[0] + running


@gpu.kernel
def looked_back_while(x: Tensor, out: Tensor, sums: Tensor, flags: Tensor, ticket: Tensor) -> None:
    """The same with `while`: from tile to tile backwards, over those whose own sum is known (1) to one whose running
    sum is (2)."""
    gpu.launch(grid=x.size // 64, threads=64)
    mine, before = gpu.shared("u32", 1, name="mine"), gpu.shared(x, 1, name="before")
    last = flags.size - 1
    with gpu.when(gpu.thread == 0):
        mine[0] = gpu.atomic_add(ticket, 0, 1)
    gpu.barrier()
    tile = gpu.minimum(mine[0], last)
    v = x[tile * 64 + gpu.thread]
    running, total = gpu.workgroup_scan(v), gpu.workgroup_reduce(v)
    if gpu.thread == 0:
        gpu.atomic_store(sums, (tile, 0), total)
        gpu.atomic_store(flags, tile, gpu.select(tile == 0, 2, 1))
        found, other = gpu.constant(0, x.dtype), gpu.cast(tile, "i32")
        gpu.atomic_store(sums, (tile, 1), total)
        while other > 0:
            state = gpu.atomic_load(flags, other - 1)
            if state == 2:
                found = found + gpu.atomic_load(sums, (other - 1, 1))
                break
            if state == 1:
                found = found + gpu.atomic_load(sums, (other - 1, 0))
                other = other - 1
        gpu.atomic_store(sums, (tile, 1), found + total)
        gpu.atomic_store(flags, tile, 2)
        before[0] = found
    gpu.barrier()
    out[tile * 64 + gpu.thread] = before[0] + running
