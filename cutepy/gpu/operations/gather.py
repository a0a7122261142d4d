"""Elements by numbers that are data: `take` along an axis, on a device.

Law: `out[b, i, a] = x[b, indices[i], a]`; a negative index counts from the end, and for an index that is still outside
the element is 0: nothing outside `x` is read, whatever the indices are.
"""

from __future__ import annotations

from math import prod

from ... import gpu
from ...layout import _ as ALL
from ...layout import ceil_div, from_modes, joined, leaves, size
from ...tensor import Tensor, copy, fill, i32, local_tile, mode_layouts, mode_sizes, with_layout
from .. import cached_launches
from .copies import copy as copied
from .domain import THREADS, VECTOR, coordinate_of, power_of_two, zipped
from .operand import place_of, tensor_of


@gpu.kernel(sizes={"x": "(B,N,A)", "indices": "(M)", "out": "(B,M,A)"})
def take_kernel(x: Tensor, indices: Tensor, out: Tensor, *, lanes: int, width: int) -> None:
    """out[b, i, a] = x[b, indices[i], a]: so many `lanes` share an index, each with `width` neighbours along b."""
    tile = lanes * width, THREADS // lanes, 1
    tiles = [ceil_div(extent, side) for extent, side in zip(leaves(out.shape), tile, strict=True)]
    gpu.launch(grid=prod(tiles), threads=THREADS)
    here, (lane, row) = coordinate_of(gpu.workgroup.x, tiles), coordinate_of(gpu.thread, (lanes, tile[1]))
    i, run = here[1] * tile[1] + row, here[0] * lanes + lane
    with gpu.when((i < size(indices)) & (run < ceil_div(size(out, 0), width))):
        index, count = indices[i], size(x, 1)
        met = gpu.cast(gpu.select(index < 0, index + count, index) if index.dtype is i32 else index, "u32")
        target = local_tile(out(ALL, i, here[2]), (width,), (run,))
        with gpu.when(met < count):
            copy(local_tile(x(ALL, met, here[2]), (width,), (run,)), target)
        with gpu.when(~(met < count)):
            fill(target, 0)


@cached_launches
def taken(x: object, indices: object, axis: int, engine: str) -> Tensor:
    """The elements of `x` at a vector of `indices` along an axis, i32 or u32, where `x` is or `engine` computes."""
    tensor, numbers = tensor_of("take", x), tensor_of("take", indices)
    place = place_of("take", engine, [tensor, numbers])
    sizes = mode_sizes(tensor)
    out = place.new((*sizes[:axis], numbers.size, *sizes[axis + 1 :]), tensor.dtype)
    if not out.size:
        return out
    # The other axes as two factors, those near in the result's memory first; of more factors a copy is taken.
    source = place.bring(tensor)
    targets, modes = mode_layouts(out), mode_layouts(source)
    along = targets.pop(axis), modes.pop(axis)
    rest = zipped([modes, targets])
    if rest is None or len(leaves(rest[0].shape)) > 2:
        source = place.new(sizes, tensor.dtype)
        copied(tensor, source, engine=place.engine)
        return taken(source, indices, axis, engine)
    views = []
    for t, layout, own in ((source, rest[0], along[1]), (out, rest[1], along[0])):
        (first, step), (second, stride) = [*zip(leaves(layout.shape), leaves(layout.stride), strict=True), (1, 0)][:2]
        whole = joined([from_modes([first], [step]), own, from_modes([second], [stride])])
        views.append(with_layout(t, whole))
    # Neighbouring threads have neighbours in memory: indices, where these are nearest, or else those along b.
    near, beside = size(views[1], 0), leaves(rest[1].stride)[:1] == (1,)
    lanes, width = (64, VECTOR) if near > 128 else (8, VECTOR)
    if not beside or near < VECTOR:
        lanes, width = power_of_two(near) if beside else 1, 1
    place.run(take_kernel, views[0], place.bring(numbers), views[1], lanes=lanes, width=width)
    return out
