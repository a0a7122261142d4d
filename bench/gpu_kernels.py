"""Kernels and helpers of `bench/gpu.py`: a transpose through a tile of any layout, what the bank model says of it, the
two launches of a sum, and the host time of a launch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import wgpu

from cutepy import gpu
from cutepy.gpu.operations.fold import fold_kernel
from cutepy.gpu.operations.operand import ExecutionSite
from cutepy.gpu.operations.reductions import Reduction, launches
from cutepy.gpu.runtime import Device, Program
from cutepy.layout import ComposedLayout, Layout, Swizzle, ceil_div, composition, make_composed_layout, size
from cutepy.tensor import Tensor
from cutepy.tensor.algorithms import axpby, clear, copy
from cutepy.tensor.make import make_fragment_like
from cutepy.tensor.partition import local_partition, local_tile

SIDE, BANKS = 32, 32
ROWS = Layout((SIDE, SIDE), (SIDE, 1))
TILES: dict[str, Layout | ComposedLayout] = {
    **{f"pitch {pitch}": Layout((SIDE, SIDE), (pitch, 1)) for pitch in (32, 48, 40, 36, 34, 33)},
    "swizzled": make_composed_layout(Swizzle(5, 0, 5), 0, ROWS),
}


@gpu.kernel
def transpose(x: Tensor, y: Tensor, *, tile: Layout | ComposedLayout) -> None:
    """y[j, i] = x[i, j] through `tile`: rows go in, columns come out, so both tensors are met row by row."""
    gpu.launch(grid=(ceil_div(size(x, 1), SIDE), ceil_div(size(x, 0), SIDE)), threads=256)
    i, j = gpu.workgroup.y, gpu.workgroup.x
    shared = gpu.shared(x, tile)
    along_rows = Layout((8, SIDE), (SIDE, 1))
    copy(local_partition(local_tile(x, (SIDE, SIDE), (i, j)), along_rows), local_partition(shared, along_rows))
    gpu.barrier()
    turned = composition(shared, ROWS)
    copy(local_partition(turned, along_rows), local_partition(local_tile(y, (SIDE, SIDE), (j, i)), along_rows))


@gpu.kernel
def reread(rounds: int, x: Tensor, y: Tensor, *, tile: Layout | ComposedLayout) -> None:
    """y[j, i] = the sum over r < rounds of x[i, (j + r) % 32] in tiles of 32 x 32: columns, read over and over."""
    gpu.launch(grid=(ceil_div(size(x, 1), SIDE), ceil_div(size(x, 0), SIDE)), threads=256)
    i, j = gpu.workgroup.y, gpu.workgroup.x
    shared = gpu.shared(x, tile)
    along_rows = Layout((8, SIDE), (SIDE, 1))
    copy(local_partition(local_tile(x, (SIDE, SIDE), (i, j)), along_rows), local_partition(shared, along_rows))
    gpu.barrier()
    target = local_partition(local_tile(y, (SIDE, SIDE), (j, i)), along_rows)
    total = make_fragment_like(target)
    clear(total)
    lane, row = gpu.thread % SIDE, gpu.thread // SIDE
    for r in gpu.loop(rounds):
        for e in gpu.unroll(size(total)):
            total[e] = total[e] + shared[lane, (row + 8 * e + r) % SIDE]
    copy(total, target)


def conflict_ways(tile: Layout | ComposedLayout) -> int:
    """How many passes the banks take to read a column of the tile: the most words that one bank has to give."""
    words = np.unique(np.asarray(tile.offsets())[:, 0])
    return int(np.bincount(words % BANKS).max())


def sum_programs(x: Tensor) -> list[tuple[Program, tuple[Tensor, Tensor]]]:
    """The two launches that `ops.sum` makes for a large tensor, with their tensors."""
    call, place = Reduction(Tensor(x.engine, Layout(x.size)), (0,), keepdims=False), ExecutionSite(x.engine.device)
    steps = launches("sum", call, place, place.new((), x.dtype))
    return [(fold_kernel.program(*operands, **static), operands) for operands, static in steps]


def with_length(length: int, *tensors: Tensor) -> list[Tensor]:
    """The tensors as if their memory had `length` elements: for tracing, never for running."""
    return [Tensor(replace(t.engine, length=length), t.layout) for t in tensors]


@gpu.kernel
def saxpy(a: float, x: Tensor, y: Tensor) -> None:
    """y = a x + y."""
    gpu.launch(grid=ceil_div(size(x), 256), threads=64)
    mine = [local_partition(local_tile(t, (256,), (gpu.workgroup.x,)), (64,)) for t in (x, y)]
    axpby(a, mine[0], 1, mine[1])


def launch_times(device: Device, rounds: int) -> dict[str, float]:
    """Host seconds of a launch of saxpy, medians, in turn: called as a kernel, and dispatched by hand on wgpu with
    everything made before. One launch, submitted at once on an idle device; and one of a train of 100, which cutepy
    submits in batches."""
    x, y = (gpu.array(np.ones(1024, np.float32), device=device) for _ in "xy")
    hand = by_hand(device, saxpy.program(2.0, x, y))

    def launch() -> None:
        saxpy(2.0, x, y)

    def launch_now() -> None:
        launch()
        device.flush()

    def elapsed(call: Callable[[], None], count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            call()
        device.flush()
        seconds = (time.perf_counter() - start) / count
        device.wait()
        device.gpu._poll_wait()
        return seconds

    singles = [(elapsed(hand, 1), elapsed(launch_now, 1)) for _ in range(rounds)]
    trains = [(elapsed(hand, 100), elapsed(launch, 100)) for _ in range(max(3, rounds // 20))]
    names = ("one by hand", "one launch", "of a train by hand", "of a train of launches")
    columns = [*zip(*singles[1:], strict=True), *zip(*trains[1:], strict=True)]
    return {name: statistics.median(column) for name, column in zip(names, columns, strict=True)}


def by_hand(device: Device, program: Program) -> Callable[[], None]:
    """The same dispatch on wgpu alone: one submission a launch, the parameter written before it."""
    handle, storage = device.gpu, wgpu.BufferUsage.STORAGE
    uniform = wgpu.BufferUsage.UNIFORM | wgpu.BufferUsage.COPY_DST
    buffers = [handle.create_buffer(size=4096, usage=storage) for _ in program.bindings]
    params = handle.create_buffer(size=16, usage=uniform)
    module = handle.create_shader_module(code=program.wgsl)
    pipeline = handle.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": program.entry})
    groups = [
        handle.create_bind_group(
            layout=pipeline.get_bind_group_layout(index),
            entries=[
                {"binding": i, "resource": {"buffer": b, "offset": 0, "size": b.size}} for i, b in enumerate(bound)
            ],
        )
        for index, bound in enumerate((buffers, [params]))
    ]

    def dispatch() -> None:
        handle.queue.write_buffer(params, 0, program.pack((2.0,)))
        encoder = handle.create_command_encoder()
        record = encoder.begin_compute_pass()
        record.set_pipeline(pipeline)
        for index, group in enumerate(groups):
            record.set_bind_group(index, group)
        record.dispatch_workgroups(*program.grid)
        record.end()
        handle.queue.submit([encoder.finish()])

    return dispatch
