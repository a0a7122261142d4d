"""Elements by numbers that are data: `take` and `take_along_axis`, on a device.

Law: `out[b, i, a] = x[b, indices[i], a]`, or with an index for each element `x[b, indices[b, i, a], a]`; a negative
index counts from the end, and for an index that is still outside the element is 0: nothing outside `x` is read,
whatever the indices are.
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
from .operand import ExecutionSite, place_of, tensor_of


@gpu.kernel(sizes={"x": "(B,N,A)", "indices": "(...)", "out": "(B,M,A)"})
def take_kernel(x: Tensor, indices: Tensor, out: Tensor, *, lanes: int, width: int) -> None:
    """out[b, i, a] = x[b, indices[i], a], or x[b, indices[b, i, a], a]: so many `lanes` share an index or stand along
    b, each with `width` neighbours along b."""
    tile = lanes * width, THREADS // lanes, 1
    tiles = [ceil_div(extent, side) for extent, side in zip(leaves(out.shape), tile, strict=True)]
    gpu.launch(grid=prod(tiles), threads=THREADS)
    here, (lane, row) = coordinate_of(gpu.workgroup.x, tiles), coordinate_of(gpu.thread, (lanes, tile[1]))
    i, run = here[1] * tile[1] + row, here[0] * lanes + lane
    with gpu.when((i < size(out, 1)) & (run < ceil_div(size(out, 0), width))):
        index, count = indices[i] if indices.rank == 1 else indices[run, i, here[2]], size(x, 1)
        met = gpu.cast(gpu.select(index < 0, index + count, index) if index.dtype is i32 else index, "u32")
        target = local_tile(out(ALL, i, here[2]), (width,), (run,))
        with gpu.when(met < count):
            copy(local_tile(x(ALL, met, here[2]), (width,), (run,)), target)
        with gpu.when(~(met < count)):
            fill(target, 0)


@cached_launches
def taken(x: object, indices: object, axis: int, engine: str, each: bool = False) -> Tensor:
    """The elements of `x` at a vector of `indices` along an axis, i32 or u32, where `x` is or `engine` computes; or,
    with an index for `each`, at those of a tensor of the shape of `x` but for the axis."""
    call = "take_along_axis" if each else "take"
    tensor, numbers = tensor_of(call, x), tensor_of(call, indices)
    place = place_of(call, engine, [tensor, numbers])
    sizes, taken_from = mode_sizes(tensor), mode_sizes(numbers)[axis if each else 0]
    out = place.new((*sizes[:axis], taken_from, *sizes[axis + 1 :]), tensor.dtype)
    if not out.size:
        return out
    source, *own, target = around(
        place, [place.bring(t) for t in ((tensor, numbers) if each else (tensor,))], out, axis
    )
    # Neighbouring threads have neighbours in memory: indices, where these are nearest, or else those along b.
    near, beside = size(target, 0), leaves(target.stride)[0] == 1
    lanes, width = (64, VECTOR) if near > 128 else (8, VECTOR)
    if each or not beside or near < VECTOR:
        lanes, width = min(64, power_of_two(near)) if beside else 1, 1
    place.run(take_kernel, source, *(own or [place.bring(numbers)]), target, lanes=lanes, width=width)
    return out


def around(place: ExecutionSite, tensors: list[Tensor], out: Tensor, axis: int) -> list[Tensor]:
    """Tensors and a compact result, alike but for an axis, as (factor, axis, factor), in the order of the result's
    memory; copies where the axes beside this one are of more factors."""
    found = _factors([*tensors, out], axis)
    if found is None:
        copies = [place.new(mode_sizes(t), t.dtype) for t in tensors]
        for t, fresh in zip(tensors, copies, strict=True):
            copied(t, fresh, engine=place.engine)
        found = _factors([*copies, out], axis)
        assert found is not None, "compact tensors are two factors around an axis"
    return found


def _factors(tensors: list[Tensor], axis: int) -> list[Tensor] | None:
    """The same of these tensors, in the order of the last one's memory; None where there are more factors."""
    modes = [mode_layouts(t) for t in tensors]
    along = [own.pop(axis) for own in modes]
    rest = zipped(modes)
    if rest is None or len(leaves(rest[0].shape)) > 2:
        return None
    found = []
    for t, own, layout in zip(tensors, along, rest, strict=True):
        (first, step), (second, stride) = [*zip(leaves(layout.shape), leaves(layout.stride), strict=True), (1, 0)][:2]
        found.append(with_layout(t, joined([from_modes([first], [step]), own, from_modes([second], [stride])])))
    return found
