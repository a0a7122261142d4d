"""One pipeline for many calls: offsets of views are parameters, and texts that say the same are compiled once."""

import numpy as np

from cutepy import gpu
from cutepy.gpu.runtime import Device
from cutepy.layout import _
from cutepy.tensor import Tensor, copy, local_partition


@gpu.kernel
def append(cache: Tensor, row: Tensor) -> None:
    gpu.launch(threads=32)
    copy(local_partition(row, (32,)), local_partition(cache, (32,)))


@gpu.kernel
def doubled(x: Tensor) -> None:
    gpu.launch(grid=x.shape[0], threads=64)
    row = x(gpu.workgroup.x, _)
    row[gpu.thread] = row[gpu.thread] * 2


def test_256_places_of_a_cache_make_two_pipelines_at_most(device: Device) -> None:
    for width in (64, 63):
        before = device.stats
        cache = gpu.array(np.zeros((256, width), np.float32), device=device)
        row = gpu.array(np.arange(width, dtype=np.float32), device=device)
        for place in range(256):
            append(cache(place, _), row)
        assert (cache.numpy() == np.arange(width)).all()
        assert device.stats.compiled - before.compiled <= 2
        assert device.stats.recompiled == before.recompiled


def test_texts_that_differ_in_comments_share_a_pipeline(device: Device) -> None:
    before = device.stats
    for rows in range(1, 40):
        x = np.full((rows, 64), rows, np.float32)
        doubled(on_device := gpu.array(x, device=device))
        assert (on_device.numpy() == 2 * x).all()
    assert device.stats.compiled - before.compiled <= 2  # one row is no workgroup's number
